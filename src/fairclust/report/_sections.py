"""The parts that pages are made of: numbers in, HTML and chart data out. Small counts are hidden here, once."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from .. import __version__
from .._audit.audit import AuditReport, AuditReports, table_cells
from .._audit.epsilon import allowed_shares, describe_error, one_person_more
from .._audit.hidden import Hidden
from .._typing import AnyArray, FloatArray
from ..goals import Attribute, Goal, brief
from . import _charts as charts
from ._page import figure, name, short_names, table, text

MOST_POINTS = 5_000  # of the map: more make the page slow and large
_MOST_BARS = 60  # clusters of a chart: as many as can be told apart on a screen
_MOST_PARTS = 12  # groups of a chart, one colour each; the others are one part
_MOST_FEATURES = 20  # rows of the table of averages, those that differ most
_GROUPS_PER_TABLE = 8  # as many columns as fit on a page of paper
_TELLING = 0.3  # standard deviations from the average that are worth a word

NOTION = """
<div class="means">
<div><h3>What fair means here</h3><p>Proportional representation: in every cluster, each group should have the share
that the target gives it. How far a cluster is off is its <em>fairness error</em>, KL(target&nbsp;‖&nbsp;shares): 0 is
exact, and it grows as shares drift apart.</p></div>
<div class="not"><h3>What it does not mean</h3><p>Not that similar people are treated alike, not that a cluster serves
each group equally well, and not that a decision taken with these clusters is right. It says nothing about groups that
are not listed here, and nothing about why the groups differ.</p></div>
</div>
"""


@dataclass(frozen=True)
class Composition:
    """What the bars show: rows of the chart, the order of bars and parts, and the lines of the target."""

    rows: charts.Rows
    clusters: list[str]
    groups: list[str]
    boundaries: list[float]
    n_not_drawn: int


def composition_rows(report: AuditReport) -> Composition:
    """Lay the bars out, the cluster that is furthest off first; clusters with hidden counts are left out."""
    table_ = report.composition
    hidden = Hidden.of(table_, report.suppress_below)
    parts, names = join_small_groups(table_.totals, short_names(table_.group_names.tolist()))
    targets = np.broadcast_to(table_.target, table_.counts.shape)
    labels = cluster_labels(report)
    order = [int(k) for k in np.argsort(-report.fairness_errors, kind="stable") if not hidden.rows[k]]
    drawn = order[:_MOST_BARS]
    rows: charts.Rows = []
    overlaps = table_.everyone is not None
    for k in drawn:
        start = 0.0
        for group, members in zip(names, parts, strict=True):
            share = float(report.proportions[k, members].sum())
            rows.append(
                {
                    "cluster": labels[k],
                    "group": group,
                    "share": round(share, 6),
                    "start": round(start, 6),
                    "end": round(start + share if overlaps else min(start + share, 1.0), 6),
                    "wanted": round(float(targets[k, members].sum()), 6),
                    "count": f"{table_.counts[k, members].sum():.10g}",
                }
            )
            start += share
    boundaries = np.cumsum([targets[0, members].sum() for members in parts])[:-1].round(6).tolist()
    show_target = not hidden.totals.any() and table_.target.ndim == 1
    return Composition(
        rows, [labels[k] for k in drawn], names, boundaries if show_target else [], len(labels) - len(drawn)
    )


def cluster_labels(report: AuditReport) -> list[str]:
    """Names of the clusters as the charts show them."""
    return short_names(report.cluster_names.tolist())


def composition_table(report: AuditReport) -> str:
    """Give the counts and shares of every cluster, with small counts hidden; many groups in several tables."""
    hidden = Hidden.of(report.composition, report.suppress_below)
    header, *rows = table_cells(report, hidden)
    worst = -1
    if not hidden.rows.any() and np.abs(report.deviations).max() > 1e-9:
        worst = int(report.fairness_errors.argmax())
    n_clusters, n_groups = len(report.cluster_names), len(report.group_names)
    classes = ["worst" if k == worst else "" for k in range(n_clusters)]
    classes = [*classes, "all", *[""] * (len(rows) - n_clusters - 1)]
    tables = []
    # The columns of a goal take as much room as two groups.
    n_tables = -(-n_groups // (_GROUPS_PER_TABLE - (0 if report.goal is None else 2)))
    width = -(-n_groups // n_tables)  # about as many groups in each
    for first in range(0, n_groups, width):
        columns = [0, 1, *range(2 + first, 2 + min(first + width, n_groups))]
        if first + width >= n_groups:
            columns += range(2 + n_groups, len(header))  # the scores
        cells = [[name(row[i]) if i == 0 else _stacked(row[i]) for i in columns] for row in rows]
        heads = [name(header[i]) for i in columns]
        which = f", groups {first + 1} to {min(first + width, n_groups)}" if n_tables > 1 else ""
        caption = f"Counts and shares of the groups in every cluster{which}"
        tables.append(table(heads, cells, classes=classes, caption=caption))
    return "".join(tables)


def _stacked(cell: str) -> str:
    """A count with its share below it, so that tables of many groups stay narrow."""
    count, found, share = cell.partition(" (")
    return f"{text(count)}<br><small>{text(share.removesuffix(')'))}</small>" if found else text(cell)


def listed_sentences(said: Sequence[str]) -> str:
    """Sentences as a list."""
    return f"<ul>{''.join(f'<li>{text(sentence)}</li>' for sentence in said)}</ul>"


def error_in_shares(report: AuditReport, goal: Goal | None) -> str:
    """Say what the goal (or the error of the worst cluster) means in shares, and what one person weighs."""
    table_ = report.composition
    hidden = Hidden.of(table_, report.suppress_below)
    if hidden.any or table_.target.ndim == 2 or table_.everyone is not None or len(table_.group_names) < 2:
        return ""
    names = np.array(short_names(table_.group_names.tolist()))
    if goal is not None:
        attribute = Attribute(names, np.eye(len(names)), table_.target, table_.attribute, report.person)
        what = f"In a cluster of {table_.sizes.mean():,.4g} people, the goal {brief(goal)}"
        said = allowed_shares(goal, attribute, float(table_.sizes.mean()))
    elif 0 < report.max_fairness_error < 10:
        what = f"The error of the worst cluster, {report.max_fairness_error:.2g},"
        said = describe_error(report.max_fairness_error, dict(zip(names, table_.target, strict=True))).sentences()
    else:
        return ""
    named = sorted(zip(table_.target, said, strict=True), key=lambda one: -one[0])[:_MOST_PARTS]
    smallest = int(np.argmin(table_.sizes))
    person = (
        ""
        if report.is_weighted
        else (
            f" In the smallest cluster ({table_.sizes[smallest]:.0f} people) one person more or fewer changes the "
            f"fairness error by up to {one_person_more(table_.counts[smallest], table_.target):.2g}."
        )
    )
    items = listed_sentences([sentence for _, sentence in named])
    return (
        f"<details><summary>What this means in shares</summary><p>{text(what)} allows one group at "
        f"a time these shares, while the others keep their proportions:</p>{items}<p>{text(person)}</p></details>"
    )


def headline(reports: AuditReports, is_hidden: bool, more: Sequence[tuple[str, str]] = ()) -> str:
    """The first sentence, and the figures to remember; ``more`` are figures of the page's own."""
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
    passed = reports.passed_clusters
    if passed is not None and not is_hidden:
        tiles.append((f"{passed.sum()} of {len(passed)}", f"clusters meet {brief(reports.goal)}"))
    if not is_hidden:
        tiles.append((f"{reports.max_fairness_error:.4f}", "fairness error of the worst cluster (0 is exact)"))
        if len(reports) > 1:
            tiles.append((f"{len(reports)}", "sensitive attributes"))
        elif n_groups > 1:
            tiles.append(
                (f"{report.balance:.3f}", f"balance of the worst cluster ({report.data_balance:.3f} in all data)")
            )
    tiles += more
    boxes = "".join(f'<div class="tile"><b>{text(number)}</b><span>{text(what)}</span></div>' for number, what in tiles)
    return f'<p class="lead">{text(lead)}</p><div class="tiles">{boxes}</div>'


def privacy(suppress_below: float | None, *, has_rows: bool) -> str:
    """The last words: what the file holds and what it hides."""
    rows = "It holds raw rows, as asked." if has_rows else "It holds no raw rows."
    hidden = (
        f"Counts below {suppress_below:g} and what would give them away are hidden."
        if suppress_below is not None
        else "All counts are shown; small ones can be hidden (--suppress-below 5)."
    )
    return f"<p class='soft'>This file stands alone and loads nothing from the network. {rows} {text(hidden)}</p>"


def feature_section(
    report: AuditReport,
    labels: AnyArray,
    X: FloatArray,
    feature_names: Sequence[str],
    units: tuple[FloatArray, FloatArray] | None,
) -> tuple[str, dict[str, Any] | None]:
    """Tell what makes each cluster different: sentences and a heat map of the features that differ most."""
    center, spread = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    means = _cluster_means(X, labels, report.cluster_names)
    z = np.divide(means - center, spread, out=np.zeros_like(means), where=spread > 0)
    back, scale = units if units is not None else (np.zeros(len(center)), np.ones(len(center)))
    raw, raw_center = means * scale + back, center * scale + back
    rounding = 1e-7 * (np.abs(back) + spread * scale)  # what is left of a 0 that was standardised is no number to show
    raw[np.abs(raw) < rounding], raw_center[np.abs(raw_center) < rounding] = 0.0, 0.0
    show = [_percent if is_share else number for is_share in _are_shares(X, back, scale)]
    names = short_names(feature_names)
    limit = report.suppress_below
    shown = [k for k in range(len(means)) if limit is None or report.sizes[k] >= limit]
    clusters = cluster_labels(report)
    strongest = np.argsort(-np.abs(z[shown]).max(axis=0, initial=0.0), kind="stable")[:_MOST_FEATURES]
    rows: charts.Rows = [
        {
            "cluster": clusters[k],
            "feature": names[m],
            "difference": round(float(z[k, m]), 3),
            "shown": show[m](float(raw[k, m])),
        }
        for k in shown[:_MOST_BARS]
        for m in strongest
    ]
    lines = [[name(clusters[k]), _described(z[k], raw[k], raw_center, names, show)] for k in shown]
    body = (
        table(
            ["cluster", "what makes it different (its mean against the mean of all)"],
            lines,
            kind="words",
            caption="What makes each cluster different",
        )
        if lines
        else "<p>Every cluster is too small to be described.</p>"
    )
    if not rows:
        return body, None
    largest = max(1.0, min(3.0, float(np.abs(z[shown]).max())))
    chart = charts.features_chart(rows, [clusters[k] for k in shown], [names[m] for m in strongest], largest)
    return body, chart


def _described(
    z: FloatArray, raw: FloatArray, overall: FloatArray, names: Sequence[str], show: Sequence[Callable[[float], str]]
) -> str:
    order = [int(m) for m in np.argsort(-np.abs(z), kind="stable")[:4] if abs(z[m]) >= _TELLING]
    if not order:
        return "close to the average in every feature"
    parts = [
        f"{'high' if z[m] > 0 else 'low'} {name(names[m])} ({show[m](float(raw[m]))} against "
        f"{show[m](float(overall[m]))})"
        for m in order
    ]
    return "; ".join(parts)


def _are_shares(X: FloatArray, back: FloatArray, scale: FloatArray) -> list[bool]:
    """Which features are 0 or 1 in every row, in the data's units: their means are shares."""
    found = []
    for m in range(X.shape[1]):
        raw = X[:, m].astype(np.float64) * scale[m] + back[m]
        found.append(bool((np.minimum(np.abs(raw), np.abs(raw - 1.0)) < 1e-5).all()))
    return found


def _percent(share: float) -> str:
    return f"{100 * abs(share):.1f} %"


def number(value: float) -> str:
    """Write a number as people read it: four digits, and no powers of ten for everyday sizes."""
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e12 else f"{value:.4g}"


def project(X: FloatArray, labels_of: Sequence[AnyArray], codes: AnyArray, *, most: int = MOST_POINTS) -> Projection:
    """Project a sample of the rows on the two directions in which they differ most."""
    rng = np.random.default_rng(0)
    rows = np.arange(len(X)) if len(X) <= most else np.sort(rng.choice(len(X), most, replace=False))
    sample = X[rows].astype(np.float64)
    if sample.shape[1] <= 2:
        plane = sample if sample.shape[1] == 2 else np.column_stack([sample[:, 0], np.zeros(len(sample))])
        return Projection(rows, plane.round(3), [labels[rows] for labels in labels_of], codes[rows], None)
    pca = PCA(n_components=2, svd_solver="full" if sample.shape[1] < 200 else "randomized", random_state=0)
    plane = pca.fit_transform(sample)
    return Projection(
        rows,
        plane.round(3),
        [labels[rows] for labels in labels_of],
        codes[rows],
        float(pca.explained_variance_ratio_.sum()),
    )


@dataclass(frozen=True)
class Projection:
    """A sample of the rows in the plane; ``explained`` is None where the plane is the features themselves."""

    rows: AnyArray
    plane: FloatArray
    labels: list[AnyArray]
    codes: AnyArray
    explained: float | None

    def axes(self, feature_names: Sequence[str]) -> tuple[str, str]:
        """Titles of the axes."""
        if self.explained is not None:
            return "first principal direction", "second principal direction"
        names = short_names(feature_names)
        return names[0], names[1] if len(names) > 1 else ""

    def caption(self, n_rows: int) -> str:
        """What the points are."""
        sampled = f"A random sample of {len(self.rows):,} of {n_rows:,} rows" if len(self.rows) < n_rows else "All rows"
        how = (
            f"projected on the two directions in which they differ most ({self.explained:.0%} of the variance)"
            if self.explained is not None
            else "by the features themselves"
        )
        return f"{sampled}, {how}. Clusters that overlap here may be apart in other directions."


def settings_section(
    settings: Mapping[str, Any], remarks: Sequence[str], command: str | None, config: str | None = None
) -> str:
    """Tell how to repeat the run: settings, versions, what was done to the data."""
    rows = [[text(key), text(_setting(value))] for key, value in settings.items()]
    versions = [f"fairclust {__version__}", f"Python {platform.python_version()}"]
    versions += [f"{package} {metadata.version(package)}" for package in ("numpy", "scipy", "scikit-learn")]
    said = "".join(f"<li>{text(remark)}</li>" for remark in remarks)
    typed = f"<p>Command:</p><pre>{text(command)}</pre>" if command else ""
    if config:
        typed += f"<p>The same as a file, for <code>--config run.toml</code>:</p><pre>{text(config)}</pre>"
    return (
        (f"<ul>{said}</ul>" if said else "")
        + (table(["setting", "value"], rows, kind="words", caption="Settings of the fit") if rows else "")
        + f"<p class='soft'>{text(', '.join(versions))} on {text(platform.system())} {text(platform.machine())}.</p>"
        + typed
    )


def _setting(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        shown = [f"{key}: {_setting(share)}" for key, share in list(value.items())[:20]]
        return ", ".join(short_names(shown)) + (f" and {len(value) - 20} more" if len(value) > 20 else "")
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    return short_names([value])[0]


def join_small_groups(target: FloatArray, names: list[str]) -> tuple[list[list[int]], list[str]]:
    """Join the smallest groups where there are too many to tell apart by colour."""
    if len(names) <= _MOST_PARTS:
        return [[j] for j in range(len(names))], names
    large = sorted(np.argsort(-target, kind="stable")[: _MOST_PARTS - 1].tolist())
    rest = [j for j in range(len(names)) if j not in large]
    return [*([j] for j in large), rest], [*(names[j] for j in large), f"{len(rest)} smaller groups"]


def _cluster_means(X: FloatArray, labels: AnyArray, names: AnyArray) -> FloatArray:
    means = np.empty((len(names), X.shape[1]))
    for i, label in enumerate(names):
        means[i] = X[labels == label].mean(axis=0, dtype=np.float64)
    return means


def composition_figure(report: AuditReport, place: str = "composition") -> tuple[str, dict[str, Any]]:
    """Give the place for the bars, with what to know about them, and the chart."""
    bars = composition_rows(report)
    caption = "One bar per cluster, the one furthest from the target first."
    if bars.boundaries:
        caption += " Dashed lines: where the groups meet if every share is as wanted."
    if bars.n_not_drawn:
        why = "have counts too small to show" if report.suppress_below is not None else "are nearer to the target"
        caption += f" {bars.n_not_drawn} clusters are not drawn: they {why}."
    chart = charts.composition_chart(bars.rows, bars.clusters, bars.groups, bars.boundaries)
    if report.composition.everyone is not None:
        caption += " People may be in several groups or in none, so bars may be longer or shorter than a cluster."
    return figure(place, caption), chart
