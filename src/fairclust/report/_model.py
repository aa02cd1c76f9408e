"""The report on one fitted model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._audit.audit import AuditReport, AuditReports, audit_encoded, sentences
from .._audit.hidden import Hidden
from .._audit.moves import Moves, compare_encoded
from .._people.attributes import Population
from .._people.columns import read_columns
from .._typing import FloatArray, IntArray
from ..errors import InvalidInputError
from ..estimators import PlainBaseline, Stability
from ..goals import Goal, is_checkable
from . import _charts as charts
from . import _sections as sections
from ._moves import moves_section
from ._page import Page, build_page, figure, name, short_names, table, text


def model_report(
    model: Any,
    X: Any = None,
    sensitive_features: Any = None,
    *,
    baseline: PlainBaseline | None = None,
    moves: Moves | None = None,
    stability: Stability | None = None,
    sample_weight: Any = None,
    feature_names: Sequence[str] | None = None,
    units: tuple[FloatArray, FloatArray] | None = None,
    title: str = "Fair clustering report",
    suppress_below: float | None = None,
    example_rows: int = 0,
    remarks: Sequence[str] = (),
    command: str | None = None,
    config: str | None = None,
) -> Page:
    """Tell in one HTML file what a fitted model found, how fair it is and what that cost.

    Fair means proportional representation in clusters and nothing more; the page says so.

    Parameters
    ----------
    model : fitted estimator
        ``FairKMeans`` and its siblings.
    X : array-like of shape (n_samples, n_features) or None, default=None
        What the model was fitted to. None: no features and no picture of the points.
    sensitive_features : array-like of shape (n_samples,)
        The groups it was fitted with.
    baseline : PlainBaseline or None, default=None
        The same clustering without fairness, to tell what fairness cost. None: the model's ``plain_``, if
        ``model.compare_to_plain`` was called.
    moves : Moves or None, default=None
        Who was moved. None: the model's ``moves_``, or found out from the baseline.
    stability : Stability or None, default=None
        What :func:`fairclust.stability` found, to tell how sure the clusters are.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        The weights that the model was fitted with.
    feature_names : sequence of str or None, default=None
        Names of the columns of X. None: the model's, or x0, x1, …
    units : (means, stds) or None, default=None
        What turns X back into the units of the data: ``X * stds + means``.
    title : str
        Heading of the page.
    suppress_below : float or None, default=None
        For privacy: counts below this, and what would give them away, are not shown; nor are single points.
    example_rows : int, default=0
        How many rows nearest to each cluster's mean are shown, with their feature values. 0: no raw row is in the file.
    remarks : sequence of str
        What was done to the data before, for the section on how to repeat the run.
    command, config : str or None
        The command that was typed, and the TOML that repeats it.

    Returns
    -------
    page : Page
        ``page.save("report.html")`` writes it.

    Notes
    -----
    The file holds about 1 MB of charting code and at most 5,000 sampled points, and loads nothing from anywhere.

    Examples
    --------
    >>> from fairclust import FairKMeans
    >>> from fairclust.datasets import make_synthetic
    >>> from fairclust.report import model_report
    >>> blobs = make_synthetic()
    >>> model = FairKMeans(2, random_state=0).fit(blobs.data, sensitive_features=blobs.sensitive_features)
    >>> page = model_report(model, blobs.data, blobs.sensitive_features)
    >>> page.html.startswith("<!DOCTYPE html>")
    True
    """
    if sensitive_features is None:
        raise InvalidInputError("model_report needs sensitive_features: the groups that the model was fitted with.")
    people = encoded_people(model, sensitive_features)
    baseline = getattr(model, "plain_", None) if baseline is None else baseline
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
    counting: dict[str, Any] = {"sample_weight": weights, "suppress_below": suppress_below}
    reports = audit_encoded(model.labels_, people, goal=_goal(model), **counting)
    beside = None if baseline is None else audit_encoded(baseline.model.labels_, people, **counting)
    report = next(iter(reports.values()))  # for what is the same in all: sizes and names of the clusters
    X = as_features(X, len(people.cells.codes))
    names = name_features(model, X, feature_names)
    is_hidden = _is_hidden(reports)
    specs: dict[str, dict[str, Any]] = {}

    moves = _moves(model, people, baseline, moves, X, counting)
    body = [f"<h1>{text(title)}</h1>", sections.headline(reports, is_hidden, _figures(model, baseline, moves))]
    if not model.goal_met_:
        body.append(_goal_missed(model, is_hidden))
    body.append("<h2>Which fairness is meant</h2>" + sections.NOTION)
    body.append("<h2>Who is in each cluster</h2>")
    for i, (attribute, one) in enumerate(reports.items()):
        number = "composition" if i == 0 else f"composition-{i}"
        place, specs[number] = sections.composition_figure(one, number)
        heading = "" if len(reports) == 1 else f"<h3>{name(attribute)}</h3>"
        *said, _ = sentences(one, Hidden.of(one.composition, suppress_below))  # the notion stands above
        body.append(heading + place + sections.listed_sentences(said))
        body.append(f"<details open><summary>The numbers</summary>{sections.composition_table(one)}</details>")
        body.append(sections.error_in_shares(one, _goal(model)))
    if baseline is not None and beside is not None:
        body.append("<h2>What fairness cost</h2>" + _cost(model, baseline, reports, beside, is_hidden, specs))
    if moves is not None:
        body.append("<h2>Who was moved</h2>" + moves_section(moves, specs))
    if stability is not None:
        body.append("<h2>How sure it is</h2>" + _how_sure(stability, report, is_hidden))
    if X is not None:
        place, chart = sections.feature_section(report, model.labels_, X, names, units)
        body.append("<h2>What makes each cluster different</h2>" + place)
        if chart is not None:
            specs["features"] = chart
            body.append(
                figure("features", "Difference of the cluster's mean from the mean of all, in standard deviations.")
            )
        body.append(_points(model, report, X, people, names, is_hidden, specs))
        if example_rows:
            body.append(_examples(model, report, X, names, units, example_rows, suppress_below))
    body.append("<h2>How the fit went</h2>" + _convergence(model, specs))
    settings = {key: value for key, value in model.get_params().items() if key not in ("init", "verbose")}
    settings |= {"estimator": type(model).__name__}
    body.append("<h2>How to repeat it</h2>" + sections.settings_section(settings, remarks, command, config))
    body.append(sections.privacy(suppress_below, has_rows=bool(example_rows)))
    return build_page(title, "\n".join(body), specs)


def encoded_people(model: Any, sensitive_features: Any) -> Population:
    """The people that a model was fitted to, in its own groups."""
    n_rows = read_columns(sensitive_features).n_rows
    if n_rows != len(model.labels_):
        raise InvalidInputError(
            f"sensitive_features has {n_rows} rows, but the model was fitted to {len(model.labels_)}."
        )
    return Population(model.attributes_, model.attributes_.encode(sensitive_features))


def _is_hidden(reports: AuditReports) -> bool:
    return any(Hidden.of(report.composition, report.suppress_below).any for report in reports.values())


def _goal_missed(model: Any, is_hidden: bool) -> str:
    reached = "" if is_hidden else f": the worst cluster's fairness error is {model.max_fairness_error_:.4g}"
    return f'<p class="warn">The goal {text(model.goal_)} was not reached in every cluster{text(reached)}.</p>'


def _goal(model: Any) -> Goal | None:
    """What was asked for, if labels meet or miss it."""
    return model.goal_ if model.goal_ is not None and is_checkable(model.goal_) else None


def _moves(
    model: Any,
    people: Population,
    baseline: PlainBaseline | None,
    moves: Moves | None,
    X: FloatArray | None,
    counting: dict[str, Any],
) -> Moves | None:
    """Who was moved: as given, or against the baseline, with what must be hidden on this page."""
    if moves is None and baseline is not None:
        return compare_encoded(baseline.model.labels_, model.labels_, people, X=X, **counting)
    return None if moves is None else replace(moves, suppress_below=counting["suppress_below"])


def _figures(model: Any, baseline: PlainBaseline | None, moves: Moves | None) -> list[tuple[str, str]]:
    """Figures to remember beside those of the make-up."""
    found = []
    if baseline is not None and np.isfinite(baseline.cost_of_fairness):
        found.append((f"{100 * baseline.cost_of_fairness:+.1f} %", "cost of fairness (objective)"))
    if moves is not None and moves.suppress_below is None:
        found.append((f"{100 * moves.share_moved:.1f} %", "of all people changed cluster"))
    gap = getattr(model, "assignment_gap_", None)
    if gap is not None and np.isfinite(gap):
        found.append(
            (f"{100 * gap:.2g} %", "at most above the cheapest possible labels for these centres and this goal")
        )
    return found


def _cost(
    model: Any,
    baseline: PlainBaseline,
    reports: AuditReports,
    besides: AuditReports,
    is_hidden: bool,
    specs: dict[str, dict[str, Any]],
) -> str:
    rows = [
        {"what": what, "value": value, "shown": f"{value:.6g}"}
        for what, value in (("without fairness", baseline.objective), ("with fairness", baseline.fair_objective))
    ]
    specs["cost"] = charts.cost_chart(rows)
    rise, unlucky = (f"{100 * cost:+.2f} %" if np.isfinite(cost) else "–" for cost in baseline.cost_range)
    lines = [["clustering objective", f"{baseline.objective:.6g}", f"{baseline.fair_objective:.6g}", rise]]
    if not is_hidden and not _is_hidden(besides):
        for attribute, report in reports.items():
            beside, of = besides[attribute], "" if len(reports) == 1 else f"{name(attribute)}: "
            worst = _pair(beside.max_fairness_error, report.max_fairness_error)
            lines.append([f"{of}fairness error, worst cluster", *worst])
            lines.append([f"{of}fairness error, sum", *_pair(beside.fairness_error, report.fairness_error)])
            lines.append([f"{of}balance, worst cluster", *_pair(beside.balance, report.balance)])
    seeds = baseline.objectives
    words = (
        "<p>The same rows were also clustered without regard to groups. The objective measures how loose the clusters "
        "are (lower is tighter); what it rises by is the price of representation. Plain clustering was started from "
        f"{len(seeds)} seeds and from the fair clusters, and the best is the baseline. The seeds alone "
        f"gave {seeds.min():.6g} to {seeds.max():.6g}: against the unluckiest of them the price would be "
        f"{text(unlucky)}.</p>"
    )
    gap = getattr(model, "assignment_gap_", None)
    if gap is not None and np.isfinite(gap):
        words += (
            f"<p>The fair labels are within {100 * gap:.2g} % of the cheapest possible for these centres and this "
            f"goal: no assignment that meets it costs less than {getattr(model, 'lower_bound_', float('nan')):.6g}.</p>"
        )
    head = ["score", "without fairness", "with fairness", "change"]
    return words + figure("cost", "The objective.") + table(head, lines, caption="Scores without and with fairness")


def _how_sure(stability: Stability, report: AuditReport, is_hidden: bool) -> str:
    """What stays over other seeds and samples: sentences, and a row per cluster."""
    words = (
        "<p>The fit was repeated from other seeds, and on samples drawn from the same people with replacement; "
        "clusters were matched with the ones above. This says how much depends on chance, not whether the clusters are "
        "right.</p>"
    )
    if is_hidden:
        return words + "<p class='soft'>Counts are too small to show the spread.</p>"
    head = ["cluster", "pairs that stay together", "people on its border", "shares over all runs"]
    spread = np.abs(stability.highest_shares - stability.lowest_shares)
    rows = [
        [
            name(label),
            f"{100 * stability.kept_pairs[k]:.0f} %",
            f"{100 * stability.border_shares[k]:.1f} %",
            f"within {100 * float(spread[k].max()):.1f} points",
        ]
        for k, label in enumerate(sections.cluster_labels(report))
        if k < len(stability.kept_pairs)
    ]
    return (
        words + sections.listed_sentences(stability.sentences()) + table(head, rows, caption="How sure each cluster is")
    )


def _pair(before: float, after: float) -> list[str]:
    return [f"{before:.4g}", f"{after:.4g}", ""]


def _points(
    model: Any,
    report: AuditReport,
    X: FloatArray,
    people: Population,
    names: list[str],
    is_hidden: bool,
    specs: dict[str, dict[str, Any]],
) -> str:
    if is_hidden:
        return "<p class='soft'>Single points are not shown, because they could be counted.</p>"
    codes, group_names = shapes_of(people)
    view = sections.project(X, [model.labels_], codes)
    clusters, shown_groups = sections.cluster_labels(report), short_names(group_names)
    position = {label: i for i, label in enumerate(report.cluster_names.tolist())}
    rows = [
        {"x": x, "y": y, "cluster": clusters[position[label]], "group": shown_groups[code]}
        for (x, y), label, code in zip(view.plane.tolist(), view.labels[0].tolist(), view.codes.tolist(), strict=True)
    ]
    specs["projection"] = charts.projection_chart(rows, clusters, shown_groups, view.axes(names))
    return "<h2>The clusters in two dimensions</h2>" + figure("projection", text(view.caption(len(X))))


def shapes_of(people: Population) -> tuple[IntArray, list[str]]:
    """Which group a point's shape shows, and the groups' names: those of the first attribute, if people are in one."""
    attribute = next(iter(people.attributes))
    member = people.cells.membership[:, : attribute.n_groups]
    known = member.sum(axis=1) == 1
    names = [str(label) for label in attribute.labels(len(people.attributes) == 1)]
    if known.all():
        return member.argmax(axis=1)[people.cells.codes].astype(np.int32), names
    codes = np.where(known, member.argmax(axis=1), len(names))
    return codes[people.cells.codes].astype(np.int32), [*names, "several or none"]


def _examples(
    model: Any,
    report: AuditReport,
    X: FloatArray,
    names: list[str],
    units: tuple[FloatArray, FloatArray] | None,
    n_rows: int,
    suppress_below: float | None,
) -> str:
    """Show the rows nearest to each cluster's mean: asked for, so raw values are shown."""
    back, scale = units if units is not None else (np.zeros(X.shape[1]), np.ones(X.shape[1]))
    lines = []
    for label, size, shown in zip(report.cluster_names, report.sizes, sections.cluster_labels(report), strict=True):
        if suppress_below is not None and size < suppress_below:
            continue
        rows = np.flatnonzero(model.labels_ == label)
        distance = ((X[rows] - X[rows].mean(axis=0)) ** 2).sum(axis=1)
        for row in rows[np.argsort(distance, kind="stable")[:n_rows]]:
            lines.append([name(shown), str(row), *(f"{value:.5g}" for value in X[row] * scale + back)])
    head = ["cluster", "row", *(name(feature) for feature in names)]
    caption = "Rows nearest to the clusters' means"
    return f"<h2>{caption}</h2>" + table(head, lines, caption=caption)


def _convergence(model: Any, specs: dict[str, dict[str, Any]]) -> str:
    history = np.asarray(model.energy_history_, dtype=float)
    words = (
        f"<p>{model.n_iter_} outer iterations, {model.n_evaluations_} evaluations of the dual in all. Stopped because: "
        f"{text(model.stop_reason_)}.</p>"
    )
    if len(history) < 2:
        return words
    rows = [{"x": i, "y": energy} for i, energy in enumerate(history.tolist(), start=1)]
    specs["convergence"] = charts.line_chart(rows, "outer iteration", "energy")
    return words + figure("convergence", "Energy: the objective plus the weighted fairness errors. It never rises.")


def as_features(X: Any, n_rows: int) -> FloatArray | None:
    """Give X as an array; None where there are no features (no X, or a sparse affinity)."""
    if X is None or hasattr(X, "tocsr"):
        return None
    array = np.asarray(X)
    if array.dtype.kind != "f":
        array = array.astype(np.float64)
    if array.ndim != 2 or len(array) != n_rows:
        raise InvalidInputError(f"X has shape {array.shape}, but sensitive_features has {n_rows} rows.")
    return array


def name_features(model: Any, X: FloatArray | None, given: Sequence[str] | None) -> list[str]:
    """Name the features: as given, as the model knows them, or x0, x1 and so on."""
    if X is None:
        return []
    if given is None:
        given = list(getattr(model, "feature_names_in_", [f"x{i}" for i in range(X.shape[1])]))
    if len(given) != X.shape[1]:
        raise InvalidInputError(f"feature_names has {len(given)} names, but X has {X.shape[1]} columns.")
    return [str(feature) for feature in given]
