"""The page that helps to choose the number of clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._numbers.study import ClusterNumbers
from .._typing import FloatArray
from . import _charts as charts
from . import _sections as sections
from ._page import Page, build_page, figure, table, text

_CAUTION = (
    "No score proves a number right. Costs always fall with more clusters. Silhouettes favour few round clusters. "
    "Stability says that the same clusters come back on other rows, which they also do where a number is too small. "
    "What the clusters are for decides."
)


def numbers_report(
    numbers: ClusterNumbers,
    *,
    title: str = "How many clusters",
    settings: Mapping[str, Any] | None = None,
    remarks: Sequence[str] = (),
    command: str | None = None,
    min_cluster_size: float = 0,
) -> Page:
    """Tell in one HTML file what speaks for each number of clusters.

    Parameters
    ----------
    numbers : ClusterNumbers
        What :func:`fairclust.cluster_numbers` returned.
    title : str
        Heading of the page.
    settings : dict or None
        Arguments of the estimator, for the last section.
    remarks : sequence of str
        What was done to the data before.
    command : str or None
        The command that was typed.
    min_cluster_size : float
        Numbers with smaller clusters are left aside by the rule.

    Returns
    -------
    page : Page
        ``page.save("choose.html")`` writes it.

    Examples
    --------
    >>> from fairclust import FairKMeans, cluster_numbers
    >>> from fairclust.datasets import make_synthetic
    >>> from fairclust.report import numbers_report
    >>> numbers = cluster_numbers(FairKMeans(random_state=0), make_synthetic().data, range(2, 4))
    >>> numbers_report(numbers).save("choose.html")  # doctest: +SKIP
    """
    choice = numbers.select(min_cluster_size=min_cluster_size)
    specs: dict[str, dict[str, Any]] = {}
    body = [f"<h1>{text(title)}</h1>"]
    sure = "" if choice.is_clear else " (not clearly)"
    body.append(f'<p class="lead"><strong>{choice.n_clusters} clusters{sure}.</strong> {text(choice.reason)}</p>')
    body.append(f"<p>{_CAUTION}</p>")
    body.append("<h2>What speaks for each number</h2>")
    drawn: list[tuple[str, str, FloatArray, FloatArray | None]] = [
        ("silhouette", "silhouette", numbers.silhouettes, numbers.plain_silhouettes),
        ("stability", "stability (adjusted Rand index)", numbers.stabilities, None),
        ("cost", "cost", numbers.costs, numbers.plain_costs),
        ("price", "what the goal costs", numbers.cost_increases, None),
    ]
    for place, heading, values, plain in drawn[: 4 if numbers.has_groups else 3]:
        if np.isnan(values).all():
            continue
        specs[place] = _chart(numbers, heading, values, plain if numbers.has_groups else None, choice.n_clusters)
        body.append(figure(place, text(_CAPTIONS[place])))
    body.append("<h2>The numbers</h2>" + _table(numbers, choice.n_clusters))
    scored = f"Silhouettes and stability were measured on {numbers.n_scored} rows."
    body.append("<h2>How to repeat it</h2>" + sections.settings_section(settings or {}, [*remarks, scored], command))
    return build_page(title, "\n".join(body), specs)


_CAPTIONS = {
    "silhouette": "How much nearer rows are to their own cluster than to the next: 1 is far apart, 0 overlapping.",
    "stability": "How alike the clusters of overlapping halves of the rows are: 1 is the same, 0 is by chance.",
    "cost": "The clustering objective. It always falls; a bend may speak for a number.",
    "price": "How much more the clusters cost with the goal than without it.",
}


def _chart(numbers: ClusterNumbers, heading: str, values: FloatArray, plain: FloatArray | None, chosen: int) -> Any:
    alt = charts.altair()
    kinds = [("with the goal" if numbers.has_groups else "clusters", values)]
    kinds += [] if plain is None else [("without the goal", plain)]
    rows = [
        {"k": int(k), "value": float(value), "kind": kind}
        for kind, scores in kinds
        for k, value in zip(numbers.n_clusters, scores, strict=True)
        if np.isfinite(value)
    ]
    x = alt.X("k:Q", title="number of clusters", axis=alt.Axis(format="d", values=numbers.n_clusters.tolist()))
    names = [kind for kind, _ in kinds]
    color = alt.Color(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=names, range=["#4c8eda", "#999999"][: len(names)]),
        legend=alt.Legend(orient="top", labelColor="currentColor") if len(names) > 1 else None,
    )
    lines = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(point=True)
        .encode(
            x=x,
            y=alt.Y("value:Q", title=heading, scale=alt.Scale(zero=False)),
            color=color,
            tooltip=[
                alt.Tooltip("k:Q", title="clusters"),
                alt.Tooltip("kind:N", title=" "),
                alt.Tooltip("value:Q", title=heading, format=".4~g"),
            ],
        )
    )
    mark = alt.Chart(alt.Data(values=[{"k": chosen}])).mark_rule(color="#e4572e", strokeDash=[4, 3]).encode(x=x)
    return charts.finish((lines + mark).properties(width="container", height=200), f"{heading} by number of clusters.")


def _table(numbers: ClusterNumbers, chosen: int) -> str:
    fair = numbers.has_groups
    header = ["clusters", "silhouette", "stability", "Calinski–Harabasz", "smallest cluster", "cost"]
    header += ["what the goal costs", "worst fairness error", "goal met"] if fair else []
    rows = []
    for i, k in enumerate(numbers.n_clusters.tolist()):
        row = [
            f"{k}{' (chosen)' if k == chosen else ''}",
            _figure(numbers.silhouettes[i], ".3f"),
            _figure(numbers.stabilities[i], ".2f"),
            _figure(numbers.calinski_harabasz[i], ".1f"),
            f"{numbers.smallest_clusters[i]:g}",
            f"{numbers.costs[i]:.6g}",
        ]
        if fair:
            met = "yes" if numbers.goals_met[i] else "no"
            row += [f"{numbers.cost_increases[i]:+.1%}", f"{numbers.max_fairness_errors[i]:.4f}", met]
        rows.append(row)
    return table(header, rows, caption="Scores of every number of clusters")


def _figure(value: float, form: str) -> str:
    return format(value, form) if np.isfinite(value) else "–"
