"""Fair assignment to centres that are there already (Bera, Chakrabarty, Flores and Negahbani, NeurIPS 2019)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from .. import _checks as checks
from .._data.in_memory import InMemory
from .._data.layout import build_layout
from .._dual.shares import Interval
from .._dual.solver import solve
from .._dual.subproblem import Subproblem
from .._fit.loop import hottest
from .._fit.schedule import Schedule
from .._typing import AnyArray, FloatArray, IntArray
from ..errors import FairclustError, InvalidInputError
from ..goals import Attribute, Bounds
from . import _lp
from ._base import Baseline, Memberships, encode_memberships
from ._centers import OBJECTIVES, best_centers, plain_centers, point_costs, radius

_ALL_AT_ONCE = 8000  # points up to which every column is taken in from the beginning
_NEAR_TIES = 0.02  # of the points may choose between centres at first; more if infeasible
_WHOLE = 1e-6  # closer to a whole number than this is whole
_COLDEST = 1e-3  # temperature of the first prices, in typical margins: a vertex is for the program to find
_PRICED_OUT = 1e-9  # of the largest cost: reduced costs above minus this are zero


class FairAssignment(Baseline):
    """Plain centres, then the cheapest assignment in which every group's share lies between two bounds.

    "Fair" means that every cluster has, up to a few points, between ``lower`` and ``upper`` of each group. The linear
    program is solved to optimality by HiGHS and rounded without costing more than its optimum.

    Parameters
    ----------
    n_clusters : int, default=8
    objective : {"kmeans", "kmedian", "kcenter"}, default="kmeans"
        Which plain clustering the centres come from: means, medoids, or rows that are far from each other.
    bounds : float or dict, default=0.2
        A number δ for (1 − δ)·share to share/(1 − δ), where share is the group's share of the data, as in the paper's
        experiments; or a dict {group: (lower, upper)}.
    init : "plain" or array of shape (n_clusters, n_features), default="plain"
        The centres; "plain" finds them without fairness.
    n_init : int, default=10
        Starts of the plain clustering.
    max_iter : int, default=1
        Rounds of assignment. 1 is the paper's method; with more, the centres are re-estimated from the assignment
        while that lowers the cost (not for "kcenter").
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centres that points were assigned to.
    objective_ : float
        Cost of the labels with the best centres for them; for "kcenter", the largest distance to ``cluster_centers_``.
    assignment_cost_ : float
        Cost of the labels with ``cluster_centers_``.
    lp_cost_ : float
        Optimum of the linear program at ``cluster_centers_``: no fair assignment to them costs less, and
        ``assignment_cost_`` costs no more.
    lower_bounds_, upper_bounds_ : ndarray of shape (n_groups,)
        Bounds that were used.
    max_violation_ : float
        Most points by which a group exceeds or lacks what the bounds allow its cluster.
    violation_bound_ : int
        What the rounding promises: below 2 points where no point is in two groups, at most 4Δ + 3 where points are in
        up to Δ groups.
    n_iter_ : int
        Rounds of assignment.
    proportions_, group_names_ : ndarray
        Shares of the groups in each cluster; the names.
    fairness_error_, max_fairness_error_, balance_, target_proportions_
        As in :class:`fairclust.FairKMeans`, where every point is in one group.

    Notes
    -----
    ``sensitive_features`` may be a boolean table with a column per group; groups may then overlap.

    The program has n_samples · n_clusters columns, nearly all of which are 0 at the optimum: it is solved over points
    that are near a tie, the others are priced, and taken in where that would help, until none would. The result is
    the optimum over all columns. K-center needs a program over all columns per threshold, about 20 times.

    Examples
    --------
    >>> from fairclust.baselines import FairAssignment
    >>> from fairclust.datasets import make_synthetic
    >>> data = make_synthetic()
    >>> model = FairAssignment(2, bounds=0.1, random_state=0).fit(data.data, sensitive_features=data.sensitive_features)
    >>> bool(model.max_violation_ < 2)
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        objective: str = "kmeans",
        bounds: Any = 0.2,
        init: Any = "plain",
        n_init: int = 10,
        max_iter: int = 1,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.objective = objective
        self.bounds = bounds
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, sensitive_features: Any = None) -> Self:
        """Find centres, and assign.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sensitive_features : array-like of shape (n_samples,), or bool (n_samples, n_groups), or None
            Group of each row, or which groups it is in. None: plain clustering.

        Returns
        -------
        self : object
        """
        objective = checks.check_choice("objective", self.objective, OBJECTIVES)
        n_rounds = checks.check_count("max_iter", self.max_iter)
        n_init = checks.check_count("n_init", self.n_init)
        X = self._checked_points(X)
        random_state = check_random_state(self.random_state)
        members = encode_memberships(sensitive_features, len(X))
        limits = self._limits(members)
        centers = self._first_centers(X, objective, n_init, random_state)
        best: _Assigned | None = None
        for n_iter in range(1, n_rounds + 1):
            found = _assign(X, centers, objective, members, limits)
            if best is not None and found.value >= best.value:
                break
            best, self.n_iter_ = found, n_iter
            if objective == "kcenter":
                break
            held = np.bincount(found.labels, minlength=self.n_clusters) > 0
            centers = np.where(held[:, None], found.best_centers, centers)
        assert best is not None
        self.cluster_centers_, self.lp_cost_, self.assignment_cost_ = best.centers, best.lp_cost, best.cost
        self.lower_bounds_, self.upper_bounds_ = limits.lower, limits.upper
        self.violation_bound_ = 2 if members.most_per_point <= 1 else 4 * members.most_per_point + 3
        self.max_violation_ = limits.violation(members, best.labels, self.n_clusters)
        self._store_scores(best.labels, members, best.value)
        return self

    def _limits(self, members: Memberships) -> Limits:
        shares = members.table.mean(axis=0)
        if members.n_groups == 1 and not isinstance(self.bounds, dict):
            return Limits(np.zeros(1), np.ones(1))
        goal, attribute = Bounds(self.bounds), Attribute(members.names, np.eye(members.n_groups), shares)
        goal.check((attribute,))
        term = goal.term(attribute)
        assert isinstance(term, Interval)
        lower, upper = term.lower, term.upper
        outside = np.flatnonzero((shares < lower - 1e-12) | (shares > upper + 1e-12))
        if len(outside):
            j = int(outside[0])
            raise InvalidInputError(
                f"bounds cannot be met: group {members.names.tolist()[j]!r} has a share of {shares[j]:.3f} in the "
                f"data, but {lower[j]:.3f} to {upper[j]:.3f} is asked for in every cluster. Let the bounds include it."
            )
        return Limits(lower, upper)

    def _first_centers(
        self, X: FloatArray, objective: str, n_init: int, random_state: np.random.RandomState
    ) -> FloatArray:
        if isinstance(self.init, str):
            checks.check_choice("init", self.init, ("plain",))
            return plain_centers(X, self.n_clusters, objective, n_init, random_state)
        return np.asarray(checks.check_centers(np.asarray(self.init, dtype=X.dtype), self.n_clusters, X.shape[1]))


@dataclass(frozen=True)
class Limits:
    """Bounds on every group's share of a cluster."""

    lower: FloatArray
    upper: FloatArray

    def violation(self, members: Memberships, labels: IntArray, n_clusters: int) -> float:
        """Most points by which a group is outside of its bounds in a cluster."""
        masses = members.masses(labels, n_clusters)
        sizes = np.bincount(labels, minlength=n_clusters)[:, None]
        outside = np.maximum(masses - self.upper * sizes, self.lower * sizes - masses)
        return float(max(outside.max(), 0.0))


@dataclass(frozen=True)
class _Assigned:
    """Labels, the centres they were assigned to, and what that costs."""

    labels: IntArray
    centers: FloatArray
    best_centers: FloatArray
    cost: float
    value: float
    lp_cost: float


@dataclass(frozen=True)
class _Fractional:
    """An optimum of the program: labels of whole points, and columns of the others."""

    labels: IntArray  # −1 where a point is split
    points: IntArray
    clusters: IntArray
    parts: FloatArray
    cost: float


def _assign(
    X: FloatArray,
    centers: FloatArray,
    objective: str,
    members: Memberships,
    limits: Limits,
) -> _Assigned:
    costs = point_costs(X, centers, objective)
    program = _Program(costs, members.table.astype(float), limits)
    optimum = program.within_radius() if objective == "kcenter" else program.optimum()
    labels = _round(optimum, costs, members)
    cost = float(costs[np.arange(len(labels)), labels].sum())
    if objective == "kcenter":
        reach = radius(costs, labels)
        return _Assigned(labels, centers, centers, reach, reach, optimum.cost)
    best = best_centers(X, labels, len(centers), objective)
    return _Assigned(labels, centers, best.centers, cost, best.value, optimum.cost)


class _Program:
    """Minimise Σ c_pk x_pk with Σ_k x_pk = 1 and lower_j·size_k ≤ mass_kj ≤ upper_j·size_k for clusters k, groups j.

    A price is what a point pays on top of its cost for a cluster: Σ over the limits of dual value · coefficient.
    """

    def __init__(self, costs: FloatArray, table: FloatArray, limits: Limits) -> None:
        self.costs, self.table, self.limits = costs, table, limits
        self.n_samples, self.n_clusters = costs.shape
        self.n_groups = table.shape[1]
        self.tolerance = _PRICED_OUT * max(float(costs.max()), np.finfo(float).tiny)

    def optimum(self) -> _Fractional:
        """Solve over points near a tie, price the others, until no column left out would help.

        Which points are near a tie is told by nearly right prices.
        """
        if self.n_samples <= _ALL_AT_ONCE:
            found = self._solve(np.ones_like(self.costs, dtype=bool))
            assert found is not None, "the same split of every point is feasible"
            return self._as_fractional(*found)
        paid = self.costs + self._first_prices()
        for share in (_NEAR_TIES, 5 * _NEAR_TIES, 25 * _NEAR_TIES, 1.0):
            taken = self._near_ties(paid, share)
            found = self._solve(taken)
            while found is not None:
                missing = self._missing(taken, *found)
                if not missing.any():
                    return self._as_fractional(*found)
                taken |= missing
                found = self._solve(taken)
        raise FairclustError(
            "the assignment program came out infeasible, which bounds around the data's shares exclude."
        )

    def within_radius(self) -> _Fractional:
        """K-center: the least radius at which a fair split exists, and the cheapest one there."""
        reaches = np.unique(self.costs)
        reaches = reaches[reaches >= self.costs.min(axis=1).max()]
        low, high = 0, len(reaches) - 1
        while low < high:
            middle = (low + high) // 2
            if self._solve(self.costs <= reaches[middle], is_priced=False) is None:
                low = middle + 1
            else:
                high = middle
        found = self._solve(self.costs <= reaches[low])
        assert found is not None
        split = self._as_fractional(*found)
        return replace(split, cost=float(reaches[low]))

    def _solve(
        self, taken: AnyArray, *, is_priced: bool = True
    ) -> tuple[AnyArray, IntArray, IntArray, IntArray, _lp.Optimum] | None:
        """Solve over the columns taken. Points with a single column are constants."""
        n_taken = taken.sum(axis=1)
        free = np.flatnonzero(n_taken > 1)
        settled = np.flatnonzero(n_taken == 1)
        labels = np.full(self.n_samples, -1)
        labels[settled] = taken[settled].argmax(axis=1)
        rows, clusters = np.nonzero(taken[free])
        points = free[rows]
        n_columns = len(points)
        belong = sparse.csr_array((np.ones(n_columns), (rows, np.arange(n_columns))), shape=(len(free), n_columns))
        matrix, limits = self._limit_rows(points, clusters, labels, settled)
        cost = self.costs[points, clusters] if is_priced else np.zeros(n_columns)
        if not n_columns:
            return None if (limits < -1e-9).any() else (free, points, clusters, labels, _nothing(len(limits)))
        found = _lp.solve(cost, belong, np.ones(len(free)), matrix, limits)
        return None if found is None else (free, points, clusters, labels, found)

    def _limit_rows(
        self, points: IntArray, clusters: IntArray, labels: IntArray, settled: IntArray
    ) -> tuple[sparse.csr_array, FloatArray]:
        """Rows mass − upper·size ≤ 0, then lower·size − mass ≤ 0; settled points go to the right-hand side."""
        above = self.table[points] - self.limits.upper
        below = self.limits.lower - self.table[points]
        first = clusters[:, None] * self.n_groups + np.arange(self.n_groups)
        n_rows = self.n_clusters * self.n_groups
        rows = np.concatenate((first, first + n_rows), axis=1)
        columns = np.repeat(np.arange(len(points)), 2 * self.n_groups)
        values = np.concatenate((above, below), axis=1)
        matrix = sparse.csr_array((values.ravel(), (rows.ravel(), columns)), shape=(2 * n_rows, len(points)))
        held = np.zeros((self.n_clusters, self.n_groups))
        np.add.at(held, labels[settled], self.table[settled])
        sizes = np.bincount(labels[settled], minlength=self.n_clusters)[:, None]
        used = np.concatenate((held - self.limits.upper * sizes, self.limits.lower * sizes - held))
        return matrix, -used.reshape(-1)

    def _prices(self, dual: FloatArray) -> FloatArray:
        """What each point pays for each cluster on top of its cost, (n_samples, n_clusters)."""
        shape = (self.n_clusters, self.n_groups)
        above, below = (part.reshape(shape) for part in np.split(dual, 2))
        # Dual values of ≤ are ≤ 0 in a minimum.
        constant = above @ self.limits.upper - below @ self.limits.lower
        return self.table @ (below - above).T + constant

    def _first_prices(self) -> FloatArray:
        """Nearly right prices: the dual of the same problem, smoothed a little."""
        cells, codes = np.unique(self.table, axis=0, return_inverse=True)
        codes = codes.ravel().astype(np.int32)
        layout = build_layout(codes, len(cells))
        oracle = InMemory(layout, self.n_clusters)
        oracle.hold(layout.to_visiting_order(self.costs))
        center, lower, upper = self.table.mean(axis=0), self.limits.lower, self.limits.upper
        overlapping = not (cells.sum(axis=1) == 1).all()
        if overlapping:  # one more column counts everyone
            cells = np.column_stack((cells, np.ones(len(cells))))
            center, lower, upper = (np.append(shares, 1.0) for shares in (center, lower, upper))
        term = Interval(lower, upper, center=center, overlapping=overlapping)
        subproblem = Subproblem((term,), (cells,), layout.n_cells)
        schedule, unit = Schedule(), oracle.plain().margins.typical
        temperatures = unit * schedule.temperatures(hottest(oracle, unit, schedule), _COLDEST)
        theta = np.zeros((self.n_clusters, subproblem.n_unknowns))
        solution = solve(oracle, subproblem, theta, temperatures, schedule.precision, schedule.budget)
        return solution.prices.T[codes]

    def _near_ties(self, paid: FloatArray, share: float) -> AnyArray:
        """Columns within a margin of the cheapest, such that this share of the points has a choice."""
        excess = paid - paid.min(axis=1, keepdims=True)
        if share >= 1 or self.n_clusters == 1:
            return np.ones_like(excess, dtype=bool)
        second = np.partition(excess, 1, axis=1)[:, 1]
        return np.asarray(excess <= np.quantile(second, share))

    def _missing(
        self,
        taken: AnyArray,
        free: IntArray,
        points: IntArray,
        clusters: IntArray,
        labels: IntArray,
        found: _lp.Optimum,
    ) -> AnyArray:
        """Columns left out whose reduced cost is negative."""
        paid = self.costs + self._prices(found.limit_prices)
        pays = np.empty(self.n_samples)
        pays[free] = found.equality_prices
        settled = labels >= 0
        pays[settled] = paid[settled, labels[settled]]
        return np.asarray((paid < pays[:, None] - self.tolerance) & ~taken)

    def _as_fractional(
        self, free: IntArray, points: IntArray, clusters: IntArray, labels: IntArray, found: _lp.Optimum
    ) -> _Fractional:
        settled = labels >= 0
        cost = found.value if len(points) else 0.0
        cost += float(self.costs[np.flatnonzero(settled), labels[settled]].sum())
        labels = labels.copy()
        whole = found.x > 1 - _WHOLE
        labels[points[whole]] = clusters[whole]
        split = (found.x > _WHOLE) & ~whole & (labels[points] < 0)
        return _Fractional(labels, points[split], clusters[split], found.x[split], cost)


def _nothing(n_limits: int) -> _lp.Optimum:
    return _lp.Optimum(np.zeros(0), 0.0, np.zeros(0), np.zeros(n_limits))


def _round(optimum: _Fractional, costs: FloatArray, members: Memberships) -> IntArray:
    """Whole points, at no more cost: sizes and masses become their floor or ceiling, as far as the groups allow.

    Groups that do not overlap give a flow problem, whose vertices are whole. Where groups overlap, a vertex may still
    be split; a limit that few split points bear on is then dropped, and the rest solved again (Bera et al., section 4).
    """
    n_clusters = costs.shape[1]
    labels = optimum.labels.copy()
    points, clusters, parts = optimum.points, optimum.clusters, optimum.parts
    whole = labels >= 0
    # Column 0 stands for the size of a cluster, the others for its groups.
    table = np.concatenate((np.ones((len(labels), 1)), members.table), axis=1)
    held = np.zeros((n_clusters, table.shape[1]))
    np.add.at(held, labels[whole], table[whole])
    wanted = held.copy()
    np.add.at(wanted, clusters, parts[:, None] * table[points])
    lowest, highest = np.floor(wanted + _WHOLE), np.ceil(wanted - _WHOLE)
    bites = np.ones_like(wanted, dtype=bool)
    few = 2 * (members.most_per_point + 1)
    while len(points):
        found = _solve_rounding(costs[points, clusters], points, clusters, table, lowest - held, highest - held, bites)
        assert found is not None, "the last split satisfies the limits that are left"
        done = found.x > 1 - _WHOLE
        labels[points[done]] = clusters[done]
        np.add.at(held, clusters[done], table[points[done]])
        left = (found.x > _WHOLE) & (labels[points] < 0)
        if left.sum() == len(points):
            bearing = np.zeros_like(wanted)
            np.add.at(bearing, clusters, (table[points] > 0).astype(float))
            droppable = bites & (bearing <= max(few, float(bearing[bites].min(initial=np.inf))))
            bites &= ~droppable
        points, clusters = points[left], clusters[left]
    return labels.astype(np.int32)


def _solve_rounding(
    cost: FloatArray,
    points: IntArray,
    clusters: IntArray,
    table: FloatArray,
    lowest: FloatArray,
    highest: FloatArray,
    bites: AnyArray,
) -> _lp.Optimum | None:
    """Minimise the cost with every point in one cluster and the limits that still bite."""
    _, rows = np.unique(points, return_inverse=True)
    columns = np.arange(len(points))
    belong = sparse.csr_array((np.ones(len(points)), (rows, columns)), shape=(rows.max() + 1, len(points)))
    n_limits = table.shape[1]
    at = (clusters[:, None] * n_limits + np.arange(n_limits)).ravel()
    counts = sparse.csr_array(
        (table[points].ravel(), (at, np.repeat(columns, n_limits))), shape=(bites.size, len(points))
    )[np.flatnonzero(bites.ravel())]
    matrix = sparse.vstack((counts, -counts)).tocsr()
    limits = np.concatenate((highest[bites], -lowest[bites]))
    return _lp.solve(cost, belong, np.ones(rows.max() + 1), matrix, limits, upper=1.0)
