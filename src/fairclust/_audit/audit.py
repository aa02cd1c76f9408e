"""A report on the make-up of clusters, for labels from any algorithm. Reads one table of counts; computes no new score.

"Fair" means proportional representation in every cluster and nothing more, and the report says so.
"""

from __future__ import annotations

import html
import importlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import metrics
from .._checks import check_number
from .._people.attributes import Groups, Population
from .._people.columns import to_column
from .._people.encode import encode_groups
from .._typing import AnyArray, FloatArray
from ..errors import MissingExtraError
from ..goals import Attribute, Goal, brief, read_checkable
from .hidden import HIDDEN, Hidden

__all__ = ["AuditReport", "AuditReports", "audit", "audit_each"]

_NOTION = "Fairness here means proportional representation: each group's share of every cluster, and nothing more."
_LONGEST_NAME = 40  # characters of a name in a table: eight groups still fit on a screen
_MOST_NAMED = 5  # clusters or groups in one sentence
_AT_TARGET = 1e-9  # shares this close differ by rounding only

# No colours of our own: text and lines take the page's, light or dark.
_CSS = (
    ".fairclust-audit table{border-collapse:collapse;margin:.5em 0;color:inherit}"
    ".fairclust-audit caption{text-align:left;font-weight:bold;padding:.2em 0;color:inherit}"
    ".fairclust-audit th,.fairclust-audit td{padding:.2em .8em;text-align:right;color:inherit;"
    "border-bottom:1px solid rgba(128,128,128,.45);font-variant-numeric:tabular-nums}"
    ".fairclust-audit tr.worst{font-weight:bold}"
)


@dataclass(frozen=True, eq=False, repr=False)
class AuditReport:
    """What :func:`audit` found. Print it, show it in a notebook, or read its numbers.

    Attributes
    ----------
    composition : Composition
        The table that every score here is read from.
    n_samples : int
        Number of rows, those of weight 0 included.
    kmeans_objective : float or None
        Sum of squared distances to the clusters' means; None without X.
    suppress_below : float or None
        Counts below this are not shown in text and HTML.
    is_weighted : bool
        Whether the counts are weights.
    goal : Goal or None
        What the clusters were held against.
    person : float
        What a row weighs at most.

    Examples
    --------
    >>> from fairclust import MinBalance, audit
    >>> sex = ["F", "M", "M", "M", "F", "M"]
    >>> report = audit([0, 0, 0, 0, 1, 1], sensitive_features=sex, goal=MinBalance(0.5))
    >>> report.counts
    array([[1., 3.],
           [1., 1.]])
    >>> round(report.max_fairness_error, 4), round(report.balance, 3)
    (0.0566, 0.333)
    >>> report.passed, report.passed_clusters
    (False, array([False,  True]))
    """

    composition: metrics.Composition
    n_samples: int
    kmeans_objective: float | None = None
    suppress_below: float | None = None
    is_weighted: bool = False
    goal: Goal | None = None
    person: float = 1.0

    @property
    def cluster_names(self) -> AnyArray:
        """The labels, sorted, shape (n_clusters,)."""
        return self.composition.cluster_names

    @property
    def group_names(self) -> AnyArray:
        """The groups, sorted, shape (n_groups,)."""
        return self.composition.group_names

    @property
    def sizes(self) -> FloatArray:
        """Points (or weight) in each cluster, shape (n_clusters,)."""
        return self.composition.sizes

    @property
    def counts(self) -> FloatArray:
        """Points (or weight) of each group in each cluster, shape (n_clusters, n_groups)."""
        return self.composition.counts

    @property
    def proportions(self) -> FloatArray:
        """Share of each group in each cluster, shape (n_clusters, n_groups)."""
        return self.composition.proportions

    @property
    def target_proportions(self) -> FloatArray:
        """Wanted share of each group, shape (n_groups,)."""
        return self.composition.target

    @property
    def deviations(self) -> FloatArray:
        """``proportions − target``: above 0 the group has too much of the cluster, below 0 too little."""
        return self.proportions - self.target_proportions

    @property
    def fairness_errors(self) -> FloatArray:
        """KL(target ‖ shares) of each cluster, shape (n_clusters,)."""
        return self.composition.fairness_errors

    @property
    def fairness_error(self) -> float:
        """Sum of the clusters' fairness errors."""
        return float(self.fairness_errors.sum())

    @property
    def max_fairness_error(self) -> float:
        """Fairness error of the worst cluster."""
        return float(self.fairness_errors.max())

    @property
    def balances(self) -> FloatArray:
        """Smallest ratio between two group counts in each cluster, shape (n_clusters,)."""
        return self.composition.balances

    @property
    def balance(self) -> float:
        """Balance of the worst cluster."""
        return float(self.balances.min())

    @property
    def data_balance(self) -> float:
        """Balance of all the data: no clustering can exceed it."""
        return self.composition.data_balance

    @property
    def figures(self) -> FloatArray | None:
        """What the goal limits, of each cluster, in its own unit, shape (n_clusters,); None without a goal."""
        return None if self.goal is None else self.goal.figure(self.proportions, self._attribute)

    @property
    def passed_clusters(self) -> AnyArray | None:
        """Whether each cluster meets the goal, shape (n_clusters,), bool; None without a goal."""
        if self.goal is None:
            return None
        return np.asarray(self.goal.term(self._attribute).violation(_columns(self.composition)) <= 0)

    @property
    def passed(self) -> bool | None:
        """Whether every cluster meets the goal; None without a goal."""
        passed = self.passed_clusters
        return None if passed is None else bool(passed.all())

    @property
    def _attribute(self) -> Attribute:
        """The attribute as goals see it: every group is a cell, and so is everyone where groups overlap."""
        table = self.composition
        n_columns = len(table.group_names) + (table.everyone is not None)
        return Attribute(table.group_names, np.eye(n_columns), table.target, table.attribute, self.person)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, numbers and text, ready for JSON. Exact: ``suppress_below`` hides nothing here.

        Returns
        -------
        report : dict
        """
        per_cluster = zip(
            _json_names(self.cluster_names),
            self.sizes.tolist(),
            self.counts.tolist(),
            self.proportions.tolist(),
            self.deviations.tolist(),
            self.fairness_errors.tolist(),
            self.balances.tolist(),
            strict=True,
        )
        keys = ("name", "size", "counts", "proportions", "deviations", "fairness_error", "balance")
        clusters = [dict(zip(keys, values, strict=True)) for values in per_cluster]
        figures, passed = self.figures, self.passed_clusters
        if figures is not None and passed is not None:
            rows = zip(clusters, figures.tolist(), passed.tolist(), strict=True)
            clusters = [row | {"figure": figure, "passed": own} for row, figure, own in rows]
        return {
            "fairness_notion": _NOTION,
            **_goal_dict(self.goal, self.passed),
            "n_samples": self.n_samples,
            "attribute": self.composition.attribute,
            "group_names": _json_names(self.group_names),
            "target_proportions": self.target_proportions.tolist(),
            "fairness_error": self.fairness_error,
            "max_fairness_error": self.max_fairness_error,
            "balance": self.balance,
            "data_balance": self.data_balance,
            "kmeans_objective": self.kmeans_objective,
            "clusters": clusters,
        }

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row per cluster. Exact: ``suppress_below`` hides nothing here.

        Returns
        -------
        frame : pandas.DataFrame
            Columns ``size``, ``count[g]``, ``proportion[g]`` and ``deviation[g]`` for each group g,
            ``fairness_error``, ``balance``, and with a goal ``figure``, ``limit`` (where the goal has one) and
            ``passed``; the index holds the clusters' names.
        """
        try:
            pandas = importlib.import_module("pandas")
        except ImportError as error:
            raise MissingExtraError(
                "to_frame() needs pandas, which is not installed. Run `pip install pandas`, or use to_dict()."
            ) from error
        columns: dict[str, Any] = {"size": self.sizes}
        for name, table in (("count", self.counts), ("proportion", self.proportions), ("deviation", self.deviations)):
            columns |= {f"{name}[{group}]": table[:, j] for j, group in enumerate(self.group_names.tolist())}
        columns |= {"fairness_error": self.fairness_errors, "balance": self.balances}
        if self.goal is not None:
            limit = limit_of(self.goal)
            columns |= {"figure": self.figures} | ({} if limit is None else {"limit": np.full(len(self.sizes), limit)})
            columns |= {"passed": self.passed_clusters}
        return pandas.DataFrame(columns, index=pandas.Index(self.cluster_names.tolist(), name="cluster"))

    def __repr__(self) -> str:
        hidden = Hidden.of(self.composition, self.suppress_below)
        return (
            f"AuditReport(n_samples={self.n_samples}, n_clusters={len(self.cluster_names)}, "
            f"n_groups={len(self.group_names)}, fairness_error={_unless(hidden.any, f'{self.fairness_error:.4g}')}, "
            f"balance={_unless(hidden.any, f'{self.balance:.3g}')})"
        )

    def __str__(self) -> str:
        hidden = Hidden.of(self.composition, self.suppress_below)
        header, *rows = table_cells(self, hidden)
        parts = [_title(self), _aligned([header, *rows]), "\n".join(sentences(self, hidden))]
        return "\n\n".join(parts)

    def _repr_html_(self) -> str:
        hidden = Hidden.of(self.composition, self.suppress_below)
        header, *rows = table_cells(self, hidden)
        worst = _worst_cluster(self, hidden)
        head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in header)
        body = "".join(_html_row(row, is_worst=i == worst) for i, row in enumerate(rows))
        text = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in sentences(self, hidden))
        return (
            f'<div class="fairclust-audit"><style>{_CSS}</style><table><caption>{html.escape(_title(self))}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{text}</div>"
        )


@dataclass(frozen=True, eq=False, repr=False)
class AuditReports(Mapping[str, AuditReport]):
    """What :func:`audit` found for several sensitive attributes: a report of each, by name.

    Attributes
    ----------
    by_attribute : dict of str to AuditReport
    """

    by_attribute: dict[str, AuditReport]

    def __getitem__(self, attribute: str) -> AuditReport:
        return self.by_attribute[attribute]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_attribute)

    def __len__(self) -> int:
        return len(self.by_attribute)

    @property
    def fairness_error(self) -> float:
        """Sum of the fairness errors of all clusters in all attributes."""
        return sum(report.fairness_error for report in self.values())

    @property
    def max_fairness_error(self) -> float:
        """Fairness error of the worst cluster in its worst attribute."""
        return max(report.max_fairness_error for report in self.values())

    @property
    def balance(self) -> float:
        """Balance of the worst cluster in its worst attribute."""
        return min(report.balance for report in self.values())

    @property
    def kmeans_objective(self) -> float | None:
        """Sum of squared distances to the clusters' means; None without X."""
        return next(iter(self.values())).kmeans_objective

    @property
    def goal(self) -> Goal | None:
        """What the clusters were held against."""
        return next(iter(self.values())).goal

    @property
    def passed_clusters(self) -> AnyArray | None:
        """Whether each cluster meets the goal in all attributes, shape (n_clusters,), bool; None without a goal."""
        passed = [report.passed_clusters for report in self.values() if report.passed_clusters is not None]
        return np.all(passed, axis=0) if passed else None

    @property
    def passed(self) -> bool | None:
        """Whether every cluster meets the goal in all attributes; None without a goal."""
        passed = self.passed_clusters
        return None if passed is None else bool(passed.all())

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, numbers and text, ready for JSON. Exact: ``suppress_below`` hides nothing here.

        Returns
        -------
        report : dict
        """
        return {
            "fairness_notion": _NOTION,
            **_goal_dict(self.goal, self.passed),
            "fairness_error": self.fairness_error,
            "max_fairness_error": self.max_fairness_error,
            "balance": self.balance,
            "kmeans_objective": self.kmeans_objective,
            "attributes": {name: report.to_dict() for name, report in self.items()},
        }

    def to_frame(self) -> Any:
        """Return the attributes' data frames below each other, with the attribute as the outer index.

        Returns
        -------
        frame : pandas.DataFrame
        """
        frames = {name: report.to_frame() for name, report in self.items()}
        return importlib.import_module("pandas").concat(frames, names=["attribute"])

    def __repr__(self) -> str:
        return f"AuditReports({', '.join(f'{name}: {report!r}' for name, report in self.items())})"

    def __str__(self) -> str:
        parts = []
        for name, report in self.items():
            *own, last = str(report).rsplit("\n", 1)
            parts.append(f"{shown_name(name)} – {own[0] if last == _NOTION else report}")
        return "\n\n".join([*parts, _NOTION])

    def _repr_html_(self) -> str:
        return "".join(
            f"<h4>{html.escape(shown_name(name))}</h4>{report._repr_html_()}" for name, report in self.items()
        )


def audit(
    labels: Any,
    sensitive_features: Any,
    *,
    goal: Any = None,
    X: Any = None,
    target_proportions: metrics.Targets = None,
    groups: Groups | None = None,
    sample_weight: Any = None,
    suppress_below: float | None = None,
) -> AuditReport | AuditReports:
    """Report the make-up of clusters: how each group is represented in each, against a target.

    Fair means proportional representation in clusters and nothing more.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Cluster of each point, from any algorithm. A noise label such as DBSCAN's -1 is a label like any other; drop
        these rows first if noise is not to count as a cluster.
    sensitive_features : column, data frame, 2-D array or dict of columns
        Group of each point: one column per attribute, or a boolean membership matrix with a column per group.
    goal : Goal, float or None, default=None
        What every cluster is held against, as for the estimators: a number is the most KL(target ‖ shares) that a
        cluster may have. Adds the goal's own figure for each cluster, and whether it passes.
    X : array-like of shape (n_samples, n_features) or None, default=None
        The data; adds the K-means objective to the report.
    target_proportions : dict, array-like or None, default=None
        Wanted shares, by group name or in sorted group order, also one row per cluster; with several attributes a dict
        {attribute: shares}. None: the data's shares.
    groups : Groups or None, default=None
        How sensitive columns become groups.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights ≥ 0; a row of weight 0 counts as absent.
    suppress_below : float > 0 or None, default=None
        For privacy: counts below this are shown as ``<5`` (for 5) in text and HTML, and what would give them away by
        subtraction as ``hidden``. The attributes, ``to_dict()`` and ``to_frame()`` stay exact: do not publish them.

    Returns
    -------
    report : AuditReport, or AuditReports for several attributes

    Notes
    -----
    Suppression protects single cells of one report. It is no guarantee against someone who holds several reports, or
    other knowledge of the data.

    Examples
    --------
    >>> from fairclust import audit
    >>> print(audit([0, 0, 0, 0, 1, 1], sensitive_features=["F", "M", "M", "M", "F", "M"]))
    Fairness audit: 6 points, 2 clusters, 2 groups
    <BLANKLINE>
    cluster  size           F           M  fairness error  balance
          0     4  1 (25.0 %)  3 (75.0 %)          0.0174    0.333
          1     2  1 (50.0 %)  1 (50.0 %)          0.0566    1.000
        all     6  2 (33.3 %)  4 (66.7 %)          0.0000    0.500
     target            33.3 %      66.7 %
    <BLANKLINE>
    Cluster 1 is furthest from the target: too many 'F' (50 %, 33 % wanted), too few 'M' (50 %, 67 % wanted).
    Fairness error: 0.0566 in the worst cluster, 0.0740 in all clusters added up.
    The worst cluster's balance is 0.333; all the data together have 0.500.
    Fairness here means proportional representation: each group's share of every cluster, and nothing more.

    Held against a goal:

    >>> report = audit([0, 0, 0, 0, 1, 1], sensitive_features=["F", "M", "M", "M", "F", "M"], goal=0.05)
    >>> report.passed_clusters.tolist()
    [True, False]
    """
    reports = audit_each(
        labels, sensitive_features, goal=goal, X=X, target_proportions=target_proportions, groups=groups,
        sample_weight=sample_weight, suppress_below=suppress_below,
    )  # fmt: skip
    return next(iter(reports.values())) if len(reports) == 1 else reports


def audit_each(
    labels: Any,
    sensitive_features: Any,
    *,
    goal: Any = None,
    X: Any = None,
    target_proportions: metrics.Targets = None,
    groups: Groups | None = None,
    sample_weight: Any = None,
    suppress_below: float | None = None,
) -> AuditReports:
    """Do what :func:`audit` does; return a report by attribute, also where there is one attribute only."""
    if suppress_below is not None:
        check_number("suppress_below", suppress_below, lowest=0.0, above=True)
    wanted = read_checkable(goal)
    tables = metrics.compositions(
        labels, sensitive_features, target_proportions=target_proportions, sample_weight=sample_weight, groups=groups
    )
    objective = None if X is None else metrics.kmeans_objective(X, labels, sample_weight=sample_weight)
    weights = None if sample_weight is None else to_column(sample_weight, "sample_weight").astype(float)
    return _reports(tables, len(to_column(labels, "labels")), wanted, objective, suppress_below, weights)


def audit_encoded(
    labels: AnyArray,
    people: Population,
    *,
    goal: Goal | None = None,
    sample_weight: FloatArray | None = None,
    suppress_below: float | None = None,
) -> AuditReports:
    """Do what :func:`audit_each` does for people who are encoded already, as a fit encoded them.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
    people : Population
        The attributes with their targets, and the cell of each person.
    goal : Goal or None
        A constraint.
    sample_weight : ndarray of shape (n_samples,) or None
    suppress_below : float > 0 or None
    """
    if suppress_below is not None:
        check_number("suppress_below", suppress_below, lowest=0.0, above=True)
    clusters = encode_groups(labels, argument="labels")
    n_samples = len(clusters.codes)
    tables = metrics.count_cells(clusters, people, np.ones(n_samples) if sample_weight is None else sample_weight)
    return _reports(tables, n_samples, goal, None, suppress_below, sample_weight)


def _reports(
    tables: dict[str, metrics.Composition],
    n_samples: int,
    goal: Goal | None,
    objective: float | None,
    suppress_below: float | None,
    weights: FloatArray | None,
) -> AuditReports:
    """A report per table."""
    person = 1.0 if weights is None else float(weights.max())
    reports = AuditReports(
        {
            name: AuditReport(one, n_samples, objective, suppress_below, weights is not None, goal, person)
            for name, one in tables.items()
        }
    )
    if goal is not None:
        goal.check(tuple(report._attribute for report in reports.values()))
    return reports


def limit_of(goal: Goal) -> float | None:
    """The ``limit`` of a goal, which its figure is compared with; None where it has no such number."""
    limit = getattr(goal, "limit", None)
    return float(limit) if isinstance(limit, int | float) else None


def _goal_dict(goal: Goal | None, passed: bool | None) -> dict[str, Any]:
    return {} if goal is None else {"goal": str(goal), "limit": limit_of(goal), "passed": passed}


def _columns(table: metrics.Composition) -> FloatArray:
    """Counts of the groups, and of everyone where groups overlap."""
    return table.counts if table.everyone is None else np.column_stack([table.counts, table.everyone])


def _title(report: AuditReport) -> str:
    n_clusters, n_groups = report.counts.shape
    weight = float(report.sizes.sum())
    partly = f" ({weight:.0f} of them counted)" if not report.is_weighted else f" (total weight {weight:.6g})"
    weighed = "" if weight == report.n_samples else partly
    counted = [
        _counted(report.n_samples, "point") + weighed,
        _counted(n_clusters, "cluster"),
        _counted(n_groups, "group"),
    ]
    return f"Fairness audit: {', '.join(counted)}"


def table_cells(report: AuditReport, hidden: Hidden) -> list[list[str]]:
    """Write the table as text: a header, a row per cluster, the whole data and the target."""
    table = report.composition
    everybody = float(table.sizes.sum())
    errors, balances, proportions = table.fairness_errors, table.balances, table.proportions
    show = _count_format(table.counts)
    goal_head, goal_cells = _goal_cells(report)
    rows = [["cluster", "size", *map(shown_name, table.group_names.tolist()), "fairness error", "balance", *goal_head]]
    for k, name in enumerate(table.cluster_names.tolist()):
        held = [
            hidden.number(count, f"{show(count)} ({_percent(share)})", bool(hide))
            for count, share, hide in zip(table.counts[k], proportions[k], hidden.cells[k], strict=True)
        ]
        size = hidden.number(table.sizes[k], show(table.sizes[k]), bool(hidden.sizes[k]))
        scores = [f"{errors[k]:.4f}", f"{balances[k]:.3f}", *goal_cells[k]]
        rows.append([shown_name(name), size, *held, *(_unless(hidden.rows[k], text) for text in scores)])
    totals = [
        hidden.number(total, f"{show(total)} ({_percent(total / everybody)})", bool(hide))
        for total, hide in zip(table.totals, hidden.totals, strict=True)
    ]
    nothing = [""] * len(goal_head)
    # The rows as one cluster, like the rows above it: neither a sum nor a minimum of them.
    error, balance = _as_one_cluster(table)
    together = [_unless(hidden.totals.any(), text) for text in (error, f"{balance:.3f}")]
    rows.append(["all", show(everybody), *totals, *together, *nothing])
    # The target may be the data's own shares, so it is as telling as the totals.
    for name, target in _target_rows(table):
        wanted = [_unless(bool(hide), _percent(share)) for share, hide in zip(target, hidden.totals, strict=True)]
        rows.append([name, "", *wanted, "", "", *nothing])
    return rows


def _goal_cells(report: AuditReport) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of the columns that a goal adds: its figure, and whether the cluster passes."""
    figures, passed = report.figures, report.passed_clusters
    if report.goal is None or figures is None or passed is None:
        return [], [[] for _ in report.cluster_names]
    cells = [[f"{figure:.4g}", "passes" if own else "fails"] for figure, own in zip(figures, passed, strict=True)]
    return [shown_name(brief(report.goal)), "goal"], cells


def _as_one_cluster(table: metrics.Composition) -> tuple[str, float]:
    """Fairness error of everybody together (no text where each cluster has a target of its own), and their balance."""
    if table.target.ndim == 2:
        return "", table.data_balance
    everyone = None if table.everyone is None else table.everyone.sum(keepdims=True)
    together = replace(table, cluster_names=np.zeros(1), counts=table.totals[None], everyone=everyone)
    return f"{together.fairness_errors[0]:.4f}", table.data_balance


def _target_rows(table: metrics.Composition) -> list[tuple[str, FloatArray]]:
    """The target, or the target of each cluster, by name."""
    if table.target.ndim == 1:
        return [("target", table.target)]
    names = (shown_name(name) for name in table.cluster_names.tolist())
    return [(f"target of {name}", row) for name, row in zip(names, table.target, strict=True)]


def sentences(report: AuditReport, hidden: Hidden) -> list[str]:
    """What is worth saying about a report, with nothing that must stay hidden."""
    table = report.composition
    found = [*_judged(report, hidden), _worst(report, hidden), *_absent(report, hidden)]
    if not hidden.any and len(table.cluster_names) > 1:
        found.append(
            f"Fairness error: {report.max_fairness_error:.4f} in the worst cluster, {report.fairness_error:.4f} in all "
            "clusters added up."
        )
    if not hidden.any and len(table.group_names) > 1:
        found.append(
            f"The worst cluster's balance is {report.balance:.3f}; "
            f"all the data together have {report.data_balance:.3f}."
        )
    if hidden.any:
        found.append(f"Counts below {hidden.limit:g}, and numbers that would give them away, are not shown.")
    if report.kmeans_objective is not None:
        found.append(f"K-means objective: {report.kmeans_objective:.6g}.")
    return [*found, _NOTION]


def _judged(report: AuditReport, hidden: Hidden) -> list[str]:
    """Say whether the goal is met, and where not."""
    passed = report.passed_clusters
    if report.goal is None or passed is None or hidden.any:
        return []
    if passed.all():
        return [f"Goal {report.goal}: every cluster passes."]
    failed = [_quoted(name) for name in report.cluster_names[~passed].tolist()]
    more = f" and {len(failed) - _MOST_NAMED} more" if len(failed) > _MOST_NAMED else ""
    return [
        f"Goal {report.goal}: {passed.sum()} of {_counted(len(passed), 'cluster')} pass. "
        f"{'Cluster' if len(failed) == 1 else 'Clusters'} {', '.join(failed[:_MOST_NAMED])}{more} "
        f"{'does' if len(failed) == 1 else 'do'} not."
    ]


def _worst_cluster(report: AuditReport, hidden: Hidden) -> int | None:
    """Find the cluster furthest from the target, if there is one and it may be named."""
    k = int(report.fairness_errors.argmax())
    at_target = np.abs(report.deviations).max() <= _AT_TARGET
    return None if at_target or hidden.rows[k] else k


def _worst(report: AuditReport, hidden: Hidden) -> str:
    """Name the cluster furthest from the target, and the groups that make most of its error."""
    k = _worst_cluster(report, hidden)
    if k is None and hidden.any:  # the same words at the target and off it, or they would tell
        return "Counts are too small to show which cluster is furthest from the target."
    if k is None:
        return "Every cluster has the wanted shares."
    added = report.composition.error_parts[k]
    gaps = report.deviations[k]
    said = []
    for is_too_few in (True, False):
        side = np.flatnonzero(gaps < -_AT_TARGET if is_too_few else gaps > _AT_TARGET)
        if len(side):
            j = int(side[np.argmax(added[side])])
            said.append((float(added[j]), f"too {'few' if is_too_few else 'many'} {_off_by(report, k, j)}"))
    parts = [words for _, words in sorted(said, key=lambda one: -one[0])]
    return f"Cluster {_quoted(report.cluster_names.tolist()[k])} is furthest from the target: {', '.join(parts)}."


def _off_by(report: AuditReport, k: int, j: int) -> str:
    target = report.target_proportions if report.target_proportions.ndim == 1 else report.target_proportions[k]
    found, wanted = _told_apart(float(report.proportions[k, j]), float(target[j]))
    return f"{_quoted(report.group_names.tolist()[j])} ({found} %, {wanted} % wanted)"


def _absent(report: AuditReport, hidden: Hidden) -> list[str]:
    """Name the groups that are wanted in a cluster and have nobody there, whatever their error."""
    wanted = np.broadcast_to(report.target_proportions, report.counts.shape) > 0
    lacking = wanted & (report.counts <= 0) & ~hidden.cells
    found = []
    for j in np.flatnonzero(lacking.any(axis=0)).tolist():
        clusters = [_quoted(name) for name in report.cluster_names[lacking[:, j]].tolist()]
        where = f"cluster{'s' if len(clusters) > 1 else ''} {', '.join(clusters[:_MOST_NAMED])}"
        more = f" and {len(clusters) - _MOST_NAMED} more" if len(clusters) > _MOST_NAMED else ""
        found.append(f"{_quoted(report.group_names.tolist()[j])} is absent from {where}{more}.")
    n_more = len(found) - _MOST_NAMED
    return [*found[:_MOST_NAMED], *([f"{n_more} more groups are absent somewhere."] if n_more > 0 else [])]


def _told_apart(found: float, wanted: float) -> tuple[str, str]:
    """Percentages with as many digits as it takes to see that they differ."""
    for digits in range(10):
        texts = f"{100 * found:.{digits}f}", f"{100 * wanted:.{digits}f}"
        if texts[0] != texts[1]:
            break
    return texts


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def _html_row(row: Sequence[str], *, is_worst: bool) -> str:
    name, *cells = (html.escape(cell) for cell in row)
    opening = '<tr class="worst">' if is_worst else "<tr>"
    return f'{opening}<th scope="row">{name}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'


def _count_format(counts: FloatArray) -> Any:
    return "{:.0f}".format if (counts == np.round(counts)).all() else "{:.6g}".format


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _unless(hide: bool | np.bool_, text: str) -> str:
    return HIDDEN if hide else text


def shown_name(name: Any) -> str:
    """Fit a name in one line of a terminal: no control characters, no more than a column can bear."""
    text = str(name)
    text = text if text.isprintable() and text.strip() else repr(text)
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"


def _quoted(name: Any) -> str:
    if isinstance(name, str):
        return f"'{shown_name(name)}'" if name.isprintable() and name.strip() else shown_name(name)
    return shown_name(name)


def _json_names(names: AnyArray) -> list[Any]:
    plain = (bool, int, str)
    return [
        name if isinstance(name, plain) or (isinstance(name, float) and math.isfinite(name)) else str(name)
        for name in names.tolist()
    ]
