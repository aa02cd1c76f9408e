"""The explorer of a fairness path: the whole trade-off in one page, a point of it chosen by slider, click or keys."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._audit.along_path import is_hidden_at
from .._people.attributes import Population
from .._typing import AnyArray
from ..errors import InvalidInputError
from ..goals import brief, read_goal
from . import _charts as charts
from . import _sections as sections
from ._model import as_features, name_features, shapes_of
from ._page import Page, build_page, figure, name, short_names, text

_MOST_POINTS = 2_000  # drawn anew at every step of the slider
_MOST_LABELS = 2_000_000  # characters of packed labels in the file

_CONTROL = """
<div class="control" role="group" aria-label="Choose a point of the trade-off">
<div class="track"><label for="point">tightest</label>
<input type="range" id="point" min="0" max="{last}" step="1" value="0" aria-label="Point of the trade-off">
<span aria-hidden="true">fairest</span></div>
<button type="button" id="plain">No fairness</button>
{goal}
<button type="button" id="fairest">Fairest</button>
</div>
<div class="tiles" aria-live="polite">
<div class="tile"><b id="asked">–</b><span>what was asked for</span></div>
<div class="tile"><b id="objective">–</b><span>clustering objective (lower is tighter)</span></div>
<div class="tile"><b id="rise">–</b><span>cost against no fairness</span></div>
<div class="tile"><b id="error">–</b><span>fairness error, all clusters together</span></div>
<div class="tile"><b id="worst">–</b><span>fairness error, worst cluster</span></div>
<div class="tile"><b id="balance">–</b><span>balance, worst cluster</span></div>
</div>
"""


def path_report(
    path: Any,
    X: Any = None,
    sensitive_features: Any = None,
    *,
    feature_names: Sequence[str] | None = None,
    title: str = "The price of fair clusters",
    goal: Any = 0.01,
    suppress_below: float | None = None,
    row_numbers: AnyArray | None = None,
    remarks: Sequence[str] = (),
    settings: dict[str, Any] | None = None,
    command: str | None = None,
    config: str | None = None,
) -> Page:
    """Show a whole fairness path in one HTML file in which a point of it can be chosen.

    Fair means proportional representation in clusters and nothing more; the page says so.

    Parameters
    ----------
    path : FairnessPath
        What :func:`fairclust.fairness_path` returned.
    X : array-like of shape (n_samples, n_features) or None, default=None
        The data, for the picture of the points.
    sensitive_features : array-like of shape (n_samples,) or None, default=None
        The groups; needed with X.
    feature_names : sequence of str or None, default=None
        Names of the columns of X.
    title : str
        Heading of the page.
    goal : Goal or float, default=0.01
        A button chooses the cheapest point that meets this; a number is the most KL that a cluster may have.
    suppress_below : float or None, default=None
        For privacy: points of the path with a count below this in a cluster are left out, and so are single points of
        the data and the labels.
    row_numbers : array-like of shape (n_samples,) or None, default=None
        What the downloaded labels call the rows. None: 1, 2, …
    remarks : sequence of str
        What was done to the data before.
    settings : dict or None
        Settings of the fits, for the section on how to repeat them.
    command, config : str or None
        The command that was typed, and the TOML that repeats it.

    Returns
    -------
    page : Page
        ``page.save("path.html")`` writes it.

    Examples
    --------
    >>> from fairclust import FairKMeans, fairness_path
    >>> from fairclust.datasets import make_synthetic
    >>> from fairclust.report import path_report
    >>> blobs = make_synthetic()
    >>> path = fairness_path(FairKMeans(2, random_state=0), blobs.data, sensitive_features=blobs.sensitive_features)
    >>> page = path_report(path, blobs.data, blobs.sensitive_features)
    >>> page.html.startswith("<!DOCTYPE html>")
    True
    """
    shown = _points_to_show(path, suppress_below)
    labels = [np.asarray(path.labels[i]) for i in shown]
    clusters = short_names(range(path.proportions.shape[1]))
    groups = short_names(path.group_names.tolist())
    drawn = sorted(np.argsort(-path.sizes[shown[0]], kind="stable")[:60].tolist())
    target = path.target_proportions if path.target_proportions.ndim == 1 else path.target_proportions.mean(axis=0)
    attribute, members_of = _attribute_to_draw(path)
    parts, part_names = sections.join_small_groups(target[members_of], [groups[j] for j in members_of])
    parts = [[members_of[j] for j in members] for members in parts]
    data: dict[str, Any] = {
        "points": [_point(path, i) for i in shown],
        "clusters": clusters,
        "drawn": drawn,
        "groups": groups,
        "shapes": groups,
        "target": target,
        "parts": parts,
        "part_names": part_names,
        "met": _point_that_meets(path, goal, shown),
    }
    specs = {"tradeoff": _curve(data["points"])}
    boundaries = np.cumsum([target[members].sum() for members in parts])[:-1].round(6).tolist()
    first = _bars(data, 0)
    specs["composition"] = charts.composition_chart(first, [clusters[k] for k in drawn], part_names, boundaries)
    cloud = _cloud(path, X, sensitive_features, labels, feature_names, clusters, groups, suppress_below, data, specs)
    others = f" The bars show {attribute}, the table all attributes." if attribute else ""
    download = _labels(labels, row_numbers, suppress_below, data)
    body = [
        f"<h1>{text(title)}</h1>",
        f'<p class="lead">{path.labels.shape[1]:,} rows in {len(clusters)} clusters, {len(shown)} ways to do it: '
        "from the tightest clusters to the fairest. Choose one with the slider, the arrow keys, or a click on the "
        "curve; everything below follows.</p>",
        _CONTROL.format(last=len(shown) - 1, goal=_goal_button(data, goal)),
        figure("tradeoff", "Each point is one clustering. Left is fairer, down is tighter; the circle is the choice."),
        "<h2>Who is in each cluster</h2>",
        figure("composition", f"Dashed lines: where the groups meet if every share is as wanted.{text(others)}"),
        '<details open><summary>The numbers</summary><div class="scroll" tabindex="0" '
        'role="region" aria-label="Shares of the groups in every cluster"><table class="numbers"><caption>Shares of '
        'the groups in every cluster, at the chosen point</caption><thead id="head">'
        '</thead><tbody id="rows"></tbody></table></div></details>',
        f'<p>{download} <button type="button" id="save-shares">Download these numbers (CSV)</button></p>',
        cloud,
        "<h2>Which fairness is meant</h2>" + sections.NOTION,
        "<h2>How to repeat it</h2>" + sections.settings_section(settings or {}, remarks, command, config),
        "<p class='soft'>This file stands alone and loads nothing from the network. It holds no raw rows.</p>",
    ]
    script = (Path(__file__).parent / "explorer.js").read_text(encoding="utf-8")
    return build_page(title, "\n".join(body), specs, data=data, script=script)


def _points_to_show(path: Any, suppress_below: float | None) -> list[int]:
    """Leave out repeated labellings, and those with a count that must not be shown."""
    shown: list[int] = []
    for i in range(len(path)):
        if shown and np.array_equal(path.labels[i], path.labels[shown[-1]]):
            continue
        if not is_hidden_at(path, i, suppress_below):
            shown.append(i)
    if not shown:
        raise InvalidInputError(
            f"suppress_below={suppress_below:g} hides every point of the path. Use fewer clusters, or a smaller limit."
        )
    return shown


def _attribute_to_draw(path: Any) -> tuple[str, list[int]]:
    """The attribute that is furthest from its target at first (no name where it is the only one), and its groups."""
    names = list(dict.fromkeys(path.group_attributes.tolist()))
    chosen = names[int(path.cluster_errors[0].max(axis=0).argmax())]
    members = np.flatnonzero(path.group_attributes == chosen).tolist()
    return ("" if len(names) == 1 else chosen), members


def _point(path: Any, i: int) -> dict[str, Any]:
    errors = path.cluster_errors[i].sum(axis=1)
    return {
        "goal": brief(path.goals[i]),
        "objective": float(path.objectives[i]),
        "error": float(path.fairness_errors[i]),
        "worst": float(path.max_fairness_errors[i]),
        "balance": float(path.balances[i]),
        "sizes": path.sizes[i].round(6),
        "shares": path.proportions[i].round(8),
        "errors": errors,
    }


def _curve(points: list[dict[str, Any]]) -> Any:
    rows = [
        {"index": i, "x": point["error"], "y": point["objective"], "goal": point["goal"]}
        for i, point in enumerate(points)
    ]
    return charts.tradeoff_chart(rows, "fairness error (sum over clusters)", "clustering objective")


def _bars(data: dict[str, Any], i: int) -> charts.Rows:
    """Give the bars of one point, as the page's script lays them out for the others."""
    point, rows = data["points"][i], []
    for k in data["drawn"]:
        start = 0.0
        for part, members in zip(data["part_names"], data["parts"], strict=True):
            share = float(point["shares"][k][members].sum())
            wanted = float(data["target"][members].sum())
            count = f"{share * point['sizes'][k]:.10g}"
            row = {"cluster": data["clusters"][k], "group": part, "share": share, "wanted": wanted, "count": count}
            rows.append(row | {"start": start, "end": min(1.0, start + share)})
            start += share
    return rows


def _cloud(
    path: Any,
    X: Any,
    sensitive_features: Any,
    labels: list[AnyArray],
    feature_names: Sequence[str] | None,
    clusters: list[str],
    groups: list[str],
    suppress_below: float | None,
    data: dict[str, Any],
    specs: dict[str, Any],
) -> str:
    """Make room for the points in the plane where there are features and single points may be shown."""
    if X is None or suppress_below is not None:
        return ""
    if sensitive_features is None:
        raise InvalidInputError("path_report needs sensitive_features to draw the points of X.")
    features = as_features(X, path.labels.shape[1])
    if features is None:
        return ""
    codes, names = shapes_of(Population(path.attributes, path.attributes.encode(sensitive_features)))
    groups = data["shapes"] = short_names(names)
    view = sections.project(features, labels, codes, most=_MOST_POINTS)
    data["cloud"] = {
        "x": view.plane[:, 0],
        "y": view.plane[:, 1],
        "group": view.codes,
        "labels": [of_point.tolist() for of_point in view.labels],
    }
    rows = [
        {"x": x, "y": y, "cluster": clusters[label], "group": groups[code]}
        for (x, y), label, code in zip(view.plane.tolist(), view.labels[0].tolist(), view.codes.tolist(), strict=True)
    ]
    axes = view.axes(name_features(None, features, feature_names))
    specs["projection"] = charts.projection_chart(rows, clusters, groups, axes)
    return "<h2>The clusters in two dimensions</h2>" + figure("projection", text(view.caption(len(features))))


def _labels(
    labels: list[AnyArray], row_numbers: AnyArray | None, suppress_below: float | None, data: dict[str, Any]
) -> str:
    """Pack every labelling for the download, where that is allowed and not too large."""
    if suppress_below is not None:
        return ""
    kind = "<u1" if len(data["clusters"]) <= 256 else "<u2"
    packed = [_packed(of_point.astype(kind)) for of_point in labels]
    if sum(map(len, packed)) > _MOST_LABELS:
        return (
            "<span class='soft'>There are too many rows to keep the labels in this file; fit for the chosen goal to "
            "get them.</span>"
        )
    data["labels"] = packed
    data["label_bytes"] = 1 if kind == "<u1" else 2
    if row_numbers is not None:
        data["row_numbers"] = _packed(np.asarray(row_numbers).astype("<u4"))
    return '<button type="button" id="save-labels">Download these labels (CSV)</button>'


def _packed(values: AnyArray) -> str:
    return base64.b64encode(zlib.compress(values.tobytes(), 9)).decode()


def _point_that_meets(path: Any, goal: Any, shown: list[int]) -> int:
    """The cheapest of the points shown that meets a goal; -1: none does."""
    met = path.meets(goal)[shown]
    return int(np.where(met, path.objectives[shown], np.inf).argmin()) if met.any() else -1


def _goal_button(data: dict[str, Any], goal: Any) -> str:
    if data["met"] < 0:
        return ""
    return f'<button type="button" id="goal">Cheapest that meets {name(brief(read_goal(goal)))}</button>'
