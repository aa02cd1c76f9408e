"""``repair``: labels from any algorithm, changed in as few people as possible so that a goal holds."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from .. import metrics
from .._checks import check_same_length, check_sparse, resolve_threads
from .._data.in_memory import InMemory
from .._data.layout import build_layout
from .._people.attributes import Groups, Population, read_options
from .._people.columns import read_columns, to_column
from .._people.encode import EncodedGroups, encode_groups, encode_people
from .._rounding.feasible import obstacle
from .._rounding.repair import cheapest_labels, counted, nearest_labels, nearest_table, penalised
from .._rounding.weighted import with_moves
from .._typing import AnyArray, FloatArray, IntArray
from ..errors import FairnessGoalMissed, InvalidInputError, MissingExtraError
from ..goals import Attribute, Goal, attributes_of, read_checkable
from .request import Request, read_sizes

__all__ = ["Repair", "repair"]

DEARER = 4.0  # times as dear are moves of rows without weight: they help nobody


@dataclass(frozen=True, eq=False, repr=False)
class Repair:
    """What :func:`repair` found. Print it, or read its numbers.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
        The repaired labels, in the names of the given ones.
    moved : ndarray of shape (n_samples,), bool
        Who changed cluster.
    fewest : float
        Proved: no labels that meet the goal differ from the given ones in fewer rows. Infinity: proved that no labels
        meet it. NaN with sample weights, where it is not known.
    goal : Goal or None
        What was asked for.
    goal_met : bool
        Whether the goal and the sizes hold in every cluster.
    cost_increase : float
        By which part the K-means objective rose; NaN without X.

    Examples
    --------
    >>> from fairclust import MinBalance, repair
    >>> found = repair([0, 0, 0, 0, 1, 1, 1, 1], list("FFFMFMMM"), goal=MinBalance(1.0))
    >>> found.n_moved, found.fewest, found.goal_met
    (2, 2.0, True)
    """

    labels: AnyArray
    moved: AnyArray
    fewest: float
    goal: Goal | None
    goal_met: bool
    cost_increase: float
    obstacle: str = ""
    _clusters: AnyArray = field(default_factory=lambda: np.zeros(0), repr=False)
    _attributes: tuple[Attribute, ...] = field(default=(), repr=False)
    _before: FloatArray = field(default_factory=lambda: np.zeros((0, 0)), repr=False)  # masses by cluster and cell
    _after: FloatArray = field(default_factory=lambda: np.zeros((0, 0)), repr=False)

    @property
    def n_moved(self) -> int:
        """Number of rows that changed cluster."""
        return int(self.moved.sum())

    def to_frame(self) -> Any:
        """Return a pandas data frame with a row per cluster: its size and the goal's figure, before and after.

        Returns
        -------
        frame : pandas.DataFrame
            Columns ``size_before``, ``size_after``, and for each attribute ``figure_before[attribute]`` and
            ``figure_after[attribute]``; the index holds the clusters' names.
        """
        try:
            pandas = importlib.import_module("pandas")
        except ImportError as error:
            raise MissingExtraError("to_frame() needs pandas. Install it with: pip install pandas") from error
        tables = {"before": self._before, "after": self._after}
        columns = {f"size_{when}": masses.sum(axis=1) for when, masses in tables.items()}
        goal = self.goal
        if goal is not None:
            columns |= {
                f"figure_{when}[{attribute.name}]": goal.figure(attribute.shares(masses), attribute)
                for attribute in self._attributes
                for when, masses in tables.items()
            }
        return pandas.DataFrame(columns, index=pandas.Index(self._clusters.tolist(), name="cluster"))

    def sentences(self) -> list[str]:
        """Tell it in words."""
        share = 100 * self.n_moved / max(len(self.moved), 1)
        met = "is met" if self.goal_met else "is not met"
        what = "what was asked for" if self.goal is None else f"goal {self.goal}"
        found = [f"{self.n_moved:,} of {len(self.moved):,} people ({share:.1f} %) changed cluster; {what} {met}."]
        if self.goal_met and self.n_moved == self.fewest:
            found.append("No labels that meet it move fewer people.")
        elif self.goal_met and np.isfinite(self.fewest):
            found.append(f"At least {self.fewest:,.0f} people must move.")
        if np.isfinite(self.cost_increase):
            found.append(f"The K-means objective changed by {100 * self.cost_increase:+.2f} %.")
        return [*found, self.obstacle] if self.obstacle else found

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def __repr__(self) -> str:
        return f"Repair(n_moved={self.n_moved}, fewest={self.fewest:g}, goal_met={self.goal_met})"


def repair(
    labels: Any,
    sensitive_features: Any,
    *,
    goal: Any = 0.01,
    X: Any = None,
    target_proportions: metrics.Targets = None,
    groups: Groups | None = None,
    sample_weight: Any = None,
    cluster_sizes: Any = None,
    min_cluster_size: Any = None,
    max_cluster_size: Any = None,
) -> Repair:
    """Change labels from any algorithm in as few people as possible, so that every cluster meets a goal.

    Fair means proportional representation in clusters and nothing more.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Cluster of each row. Clusters stay; none is added, and none becomes empty.
    sensitive_features : column, data frame, 2-D array or dict of columns
        Group of each row: one column per attribute, or a boolean membership matrix with a column per group.
    goal : Goal, float or None, default=0.01
        As for the estimators; a number is the most KL(target ‖ shares) that a cluster may have. None: sizes only.
    X : array-like or sparse matrix of shape (n_samples, n_features) or None, default=None
        The data: of the rows that could move, those move that raise the K-means objective least.
    target_proportions : dict, array-like or None, default=None
        Wanted shares, by group name or in sorted group order, also one row per cluster; with several attributes a dict
        {attribute: shares}. None: the data's shares.
    groups : Groups or None, default=None
        How sensitive columns become groups.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights ≥ 0. Single rows near a tie are then moved until the goal holds, and ``fewest`` is not known.
    cluster_sizes : "equal", list of counts or None, default=None
        Sizes to keep, in the sorted order of the labels.
    min_cluster_size, max_cluster_size : int, float, list or None, default=None
        A count, a share below 1, or one per cluster.

    Returns
    -------
    found : Repair
        A goal that cannot be met is also a :class:`FairnessGoalMissed` warning that says why; the labels are then as
        close to it as was found.

    Notes
    -----
    Without X the work is that of an integer program over the table of clusters by cells (combinations of groups),
    whatever the number of rows. Its bound proves ``fewest``. With X a table of n_samples × n_clusters distances to the
    clusters' means is held in memory.

    Examples
    --------
    >>> from fairclust import audit, repair
    >>> labels, sex = [0] * 6 + [1] * 6, list("FFFFFMFMMMMM")
    >>> found = repair(labels, sex, goal=0.05)
    >>> print(found)
    3 of 12 people (25.0 %) changed cluster; goal MaxFairnessError(limit=0.05) is met.
    No labels that meet it move fewer people.
    >>> audit(found.labels, sex, goal=0.05).passed
    True
    """
    wanted = read_checkable(goal)
    column = to_column(labels, "labels")
    table = read_columns(sensitive_features)
    _check_rows(column, table.columns[0])
    weights = None if sample_weight is None else metrics.checked_weights(sample_weight, len(column), "labels")
    clusters = encode_groups(column, argument="labels")
    people = encode_people(
        table,
        options=read_options(groups),
        target_proportions=target_proportions,
        weights=weights,
        n_clusters=clusters.n_groups,
    )
    sizes = (cluster_sizes, min_cluster_size, max_cluster_size)
    request = _request(clusters, people, wanted, weights, sizes)
    costs = None if X is None else _costs(X, clusters, weights)
    fewest = float("nan")
    if weights is None:
        codes, fewest = _fewest_moved(clusters.codes, people.cells.codes, request, costs)
    else:
        codes = _weighted(clusters.codes, people.cells.codes, request, costs, weights)
    before, after = (_masses(one, people, clusters.n_groups, weights) for one in (clusters.codes, codes))
    is_met = not request.subproblem.violation(after).any() and (after.sum(axis=1) > 0).all()
    found = Repair(
        labels=np.where(codes == clusters.codes, column, clusters.names[codes]).astype(column.dtype),
        moved=codes != clusters.codes,
        fewest=fewest,
        goal=wanted,
        goal_met=bool(is_met),
        cost_increase=_cost_increase(X, clusters.codes, codes, weights),
        obstacle="" if is_met else _why(request, after, clusters.names),
        _clusters=clusters.names,
        _attributes=request.attributes,
        _before=before,
        _after=after,
    )
    if not is_met:
        warnings.warn(found.obstacle, FairnessGoalMissed, stacklevel=2)
    return found


def _check_rows(labels: AnyArray, groups: AnyArray) -> None:
    if not len(labels):
        raise InvalidInputError("labels is empty. Pass one cluster label per row.")
    if len(labels) != len(groups):
        raise InvalidInputError(
            f"sensitive_features has {len(groups)} rows but labels has {len(labels)}. Pass one value per row of labels."
        )


def _request(
    clusters: EncodedGroups, people: Population, goal: Goal | None, weights: FloatArray | None, sizes: Sequence[Any]
) -> Request:
    """What the labels must satisfy."""
    cells, n_samples, n_clusters = people.cells, len(clusters.codes), clusters.n_groups
    totals = np.bincount(cells.codes, weights=weights, minlength=cells.n_cells).astype(float)
    person = 1.0 if weights is None else float(weights.max())
    seen = attributes_of(people.attributes, cells.membership, person)
    if goal is not None:
        goal.check(seen)
    is_weighted = weights is not None
    smallest, largest = read_sizes(n_clusters, float(totals.sum()), n_samples, is_weighted, *sizes)
    asked = None if people.attributes.is_trivial else goal
    return Request(n_clusters, totals, seen, asked, smallest, largest, is_weighted, person)


def _costs(X: Any, clusters: EncodedGroups, weights: FloatArray | None) -> FloatArray:
    """Squared distances of all rows to the means of the clusters, (n_samples, n_clusters)."""
    X = metrics.checked_data(check_sparse(X))
    check_same_length("labels", clusters.codes, X.shape[0])
    means = metrics.cluster_means(X, clusters.codes, np.ones(X.shape[0]) if weights is None else weights)
    distances: FloatArray = euclidean_distances(X, means.astype(X.dtype), squared=True)
    return distances.astype(float)


def _fewest_moved(
    labels: IntArray, cells: IntArray, request: Request, costs: FloatArray | None
) -> tuple[IntArray, float]:
    """Labels after the fewest moves found, and a bound on these."""
    start = counted(labels, cells, (request.n_clusters, len(request.cell_totals)))
    table = nearest_table(start, request.subproblem)
    if costs is None or (table.counts == start).all():
        return nearest_labels(labels, cells, table.counts), table.bound
    oracle = _oracle(cells, request, penalised(costs, labels), None)
    own = oracle.layout.to_visiting_order(labels)
    found = oracle.user_labels(cheapest_labels(oracle, own, table.counts, request.subproblem))
    nearest = nearest_labels(labels, cells, table.counts)
    is_fewest = (found != labels).sum() <= (nearest != labels).sum()
    return (found if is_fewest else nearest), table.bound


def _weighted(
    labels: IntArray, cells: IntArray, request: Request, costs: FloatArray | None, weights: FloatArray
) -> IntArray:
    """Labels after moves of single rows, some at a time, until the terms hold or no move helps."""
    known = penalised(1.0 - np.eye(request.n_clusters)[labels] if costs is None else costs, labels)
    known[weights <= 0] *= DEARER
    oracle, terms = _oracle(cells, request, known, weights), request.subproblem
    assigned = oracle.described(oracle.layout.to_visiting_order(labels))
    while True:
        moved = with_moves(oracle, assigned, terms)
        before, after = (float(terms.violation(one.masses).sum()) for one in (assigned, moved))
        assigned = oracle.described(moved.labels)
        if not 0 < after < before:
            return oracle.user_labels(assigned.labels)


def _oracle(cells: IntArray, request: Request, costs: FloatArray, weights: FloatArray | None) -> InMemory:
    """Rows in memory that hold these costs."""
    layout = build_layout(cells.astype(np.int32), len(request.cell_totals))
    own = None if weights is None else layout.to_visiting_order(weights)
    oracle = InMemory(layout, request.n_clusters, own, resolve_threads(None))
    oracle.hold(layout.to_visiting_order(costs))
    return oracle


def _masses(labels: IntArray, people: Population, n_clusters: int, weights: FloatArray | None) -> FloatArray:
    place = labels.astype(np.int64) * people.cells.n_cells + people.cells.codes
    masses = np.bincount(place, weights=weights, minlength=n_clusters * people.cells.n_cells)
    return masses.reshape(n_clusters, people.cells.n_cells).astype(float)


def _cost_increase(X: Any, before: IntArray, after: IntArray, weights: FloatArray | None) -> float:
    if X is None:
        return float("nan")
    old, new = (metrics.kmeans_objective(X, labels, sample_weight=weights) for labels in (before, after))
    return new / old - 1.0 if old > 0 else float("inf") if new > 0 else 0.0


def _why(request: Request, masses: FloatArray, names: AnyArray) -> str:
    """Why the goal cannot be met, where that is known, and how close the labels come."""
    found = None
    if not request.is_weighted:
        found = obstacle(request.subproblem, request.cell_totals, request.n_clusters, request.names)
    empty = [repr(name) for name in names[masses.sum(axis=1) <= 0].tolist()]
    close = f"nobody is left in cluster {', '.join(empty)}." if empty else request.missed(masses)
    return close if found is None else f"{found.sentence} The clusters come as close as was found: {close}"
