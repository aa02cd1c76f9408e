"""The report on one fitted model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._audit.audit import AuditReport, AuditReports, audit_encoded
from .._audit.hidden import Hidden
from .._people.attributes import Population
from .._people.columns import read_columns
from .._typing import FloatArray, IntArray
from ..errors import InvalidInputError
from . import _charts as charts
from . import _sections as sections
from ._page import Page, build_page, figure, name, short_names, table, text


def model_report(
    model: Any,
    X: Any = None,
    sensitive_features: Any = None,
    *,
    plain: Any = None,
    feature_names: Sequence[str] | None = None,
    units: tuple[FloatArray, FloatArray] | None = None,
    title: str = "Fair clustering report",
    suppress_below: float | None = None,
    example_rows: int = 0,
    remarks: Sequence[str] = (),
    command: str | None = None,
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
    plain : fitted estimator or None, default=None
        The same clustering without fairness (``fairness_weight=0``), to tell what fairness cost.
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
    command : str or None
        The command that was typed.

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
    reports = audit_encoded(model.labels_, people, suppress_below=suppress_below)
    beside = None if plain is None else audit_encoded(plain.labels_, people, suppress_below=suppress_below)
    report = next(iter(reports.values()))  # for what is the same in all: sizes and names of the clusters
    X = as_features(X, len(people.cells.codes))
    names = name_features(model, X, feature_names)
    is_hidden = _is_hidden(reports)
    specs: dict[str, dict[str, Any]] = {}

    body = [f"<h1>{text(title)}</h1>", _headline(model, reports, plain, is_hidden)]
    if not model.fairness_goal_met_:
        body.append(_goal_missed(model, is_hidden))
    body.append("<h2>Which fairness is meant</h2>" + sections.NOTION)
    body.append("<h2>Who is in each cluster</h2>")
    for i, (attribute, one) in enumerate(reports.items()):
        number = "composition" if i == 0 else f"composition-{i}"
        place, specs[number] = sections.composition_figure(one, number)
        heading = "" if len(reports) == 1 else f"<h3>{name(attribute)}</h3>"
        body.append(heading + place)
        body.append(f"<details open><summary>The numbers</summary>{sections.composition_table(one)}</details>")
    if plain is not None and beside is not None:
        body.append("<h2>What fairness cost</h2>" + _cost(model, plain, reports, beside, is_hidden, specs))
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
    settings |= {"fairness_weight (used)": float(model.fairness_weight_), "estimator": type(model).__name__}
    body.append("<h2>How to repeat it</h2>" + sections.settings_section(settings, remarks, command))
    body.append(_privacy(suppress_below, example_rows))
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


def _headline(model: Any, reports: AuditReports, plain: Any, is_hidden: bool) -> str:
    report = next(iter(reports.values()))
    n_clusters, n_groups = len(report.cluster_names), sum(len(one.group_names) for one in reports.values())
    furthest = max(float(np.abs(one.deviations).max()) for one in reports.values())
    lead = (
        f"{report.n_samples:,} rows in {n_clusters} clusters and {n_groups} groups."
        if is_hidden
        else f"{report.n_samples:,} rows in {n_clusters} clusters. In no cluster is a group's share more than "
        f"{100 * furthest:.1f} percentage points from the wanted one."
    )
    tiles = [(f"{n_clusters}", "clusters"), (f"{n_groups}", "groups")]
    if not is_hidden:
        tiles.append((f"{reports.max_fairness_error:.4f}", "fairness error of the worst cluster (0 is exact)"))
        if len(reports) > 1:
            tiles.append((f"{len(reports)}", "sensitive attributes"))
        elif n_groups > 1:
            tiles.append(
                (f"{report.balance:.3f}", f"balance of the worst cluster ({report.data_balance:.3f} in all data)")
            )
    if plain is not None and plain.objective_ > 0:
        tiles.append((f"{100 * (model.objective_ / plain.objective_ - 1):+.1f} %", "cost of fairness (objective)"))
    boxes = "".join(f'<div class="tile"><b>{text(number)}</b><span>{text(what)}</span></div>' for number, what in tiles)
    return f'<p class="lead">{text(lead)}</p><div class="tiles">{boxes}</div>'


def _goal_missed(model: Any, is_hidden: bool) -> str:
    reached = "" if is_hidden else f": the worst cluster is at {model.max_fairness_error_:.4g}"
    return (
        f'<p class="warn">The goal of a fairness error of at most {text(f"{model.max_fairness_error:g}")} in every '
        f"cluster was not reached{text(reached)}.</p>"
    )


def _cost(
    model: Any,
    plain: Any,
    reports: AuditReports,
    besides: AuditReports,
    is_hidden: bool,
    specs: dict[str, dict[str, Any]],
) -> str:
    rows = [
        {"what": what, "value": float(fit.objective_), "shown": f"{fit.objective_:.6g}"}
        for what, fit in (("without fairness", plain), ("with fairness", model))
    ]
    specs["cost"] = charts.cost_chart(rows)
    rise = f"{100 * (model.objective_ / plain.objective_ - 1):+.2f} %" if plain.objective_ > 0 else "–"
    lines = [["clustering objective", f"{plain.objective_:.6g}", f"{model.objective_:.6g}", rise]]
    if not is_hidden and not _is_hidden(besides):
        for attribute, report in reports.items():
            beside, of = besides[attribute], "" if len(reports) == 1 else f"{name(attribute)}: "
            worst = _pair(beside.max_fairness_error, report.max_fairness_error)
            lines.append([f"{of}fairness error, worst cluster", *worst])
            lines.append([f"{of}fairness error, sum", *_pair(beside.fairness_error, report.fairness_error)])
            lines.append([f"{of}balance, worst cluster", *_pair(beside.balance, report.balance)])
    words = (
        "<p>The same rows were also clustered without regard to groups. The objective measures how loose the clusters "
        "are (lower is tighter); what it rises by is the price of representation.</p>"
    )
    return words + figure("cost") + table(["", "without fairness", "with fairness", "change"], lines)


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
    return "<h2>Rows nearest to the clusters' means</h2>" + table(head, lines)


def _convergence(model: Any, specs: dict[str, dict[str, Any]]) -> str:
    history = np.asarray(model.energy_history_, dtype=float)
    words = (
        f"<p>{model.n_iter_} outer iterations, {model.n_sweeps_} passes over the data in all. Stopped because: "
        f"{text(model.stop_reason_)}.</p>"
    )
    if len(history) < 2:
        return words
    rows = [{"x": i, "y": energy} for i, energy in enumerate(history.tolist(), start=1)]
    specs["convergence"] = charts.line_chart(rows, "outer iteration", "energy")
    return words + figure("convergence", "Energy: the objective plus the weighted fairness errors. It never rises.")


def _privacy(suppress_below: float | None, example_rows: int) -> str:
    rows = "It holds raw rows, as asked." if example_rows else "It holds no raw rows."
    hidden = (
        f"Counts below {suppress_below:g} and what would give them away are hidden."
        if suppress_below is not None
        else "All counts are shown; small ones can be hidden (--suppress-below 5)."
    )
    return f"<p class='soft'>This file stands alone and loads nothing from the network. {rows} {text(hidden)}</p>"


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
