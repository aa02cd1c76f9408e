"""Fairlets by minimum-cost flow (Chierichetti, Kumar, Lattanzi and Vassilvitskii, NeurIPS 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components, maximum_flow
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state

from .. import _checks as checks
from .._typing import FloatArray, IntArray
from . import _lp
from ._base import Baseline, Memberships, encode_two_groups
from ._centers import best_centers, point_costs, radius
from ._joined import check_ratio, join

_ALL_AT_ONCE = 100_000  # links up to which every link is taken in from the beginning
_FIRST_LINKS = 8  # nearest points of the other group that a point is linked to from the beginning
_NEW_LINKS = 5  # links per point and round, the most promising
_ROWS = 1 << 10  # points of one group that are priced at a time
_WHOLE = 1e-6  # flows are whole numbers; the linear program returns them with less rounding than this


class Fairlets(Baseline):
    """Minimum-cost fairlets of two groups, then plain K-median or K-center on the fairlets.

    "Fair" means that in every cluster p times the larger group is at most q times the smaller: a balance of at least
    p/q. Every fairlet has it, clusters are made of whole fairlets, and so have it too.

    Parameters
    ----------
    n_clusters : int, default=8
    balance : (p, q) or "auto", default="auto"
        Two whole numbers 1 ≤ p ≤ q. "auto": 1 and the smallest q that the data allow.
    objective : {"kmedian", "kcenter"}, default="kmedian"
        "kmedian": fairlets with the least sum of distances, then K-median on their centres. "kcenter": fairlets with
        the least longest link, then K-center.
    n_init : int, default=10
        Starts of the K-median on the fairlets.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    fairlets_ : ndarray of shape (n_samples,)
        Fairlet of each row.
    fairlet_cost_ : float
        "kmedian": sum of the distances along the links, the optimum of the flow. "kcenter": the longest link, as short
        as the balance allows.
    ratio_ : tuple of two int
        p and q.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
    objective_ : float
        Sum of distances to the best medoids of the clusters; for "kcenter", largest distance to ``cluster_centers_``.
    proportions_, group_names_, target_proportions_, fairness_error_, max_fairness_error_, balance_
        As in :class:`fairclust.FairKMeans`.

    Notes
    -----
    The flow: every point sends or receives between p and q units along links to the other group; a linked set of points
    is a fairlet. Counting the units of a fairlet from both sides gives its balance. For p = 1 this is the network of
    the paper (fairlets are then stars, and the K-median cost is within a constant of the best fair one); for p > 1,
    where minimum-cost fairlets are NP-hard, it is its natural extension, with the same balance but without that
    constant. Solved to optimality by HiGHS (SciPy's ``linprog``) over links that are taken in as their prices ask for;
    "kcenter" looks for the longest link by SciPy's ``maximum_flow`` over all links. Time grows at least as the product
    of the groups' sizes: for thousands of points. :class:`ScalableFairlets` is for more.

    Examples
    --------
    >>> from fairclust.baselines import Fairlets
    >>> from fairclust.datasets import make_synthetic
    >>> data = make_synthetic()
    >>> Fairlets(2, random_state=0).fit(data.data, sensitive_features=data.sensitive_features).balance_
    1.0
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        balance: Any = "auto",
        objective: str = "kmedian",
        n_init: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.balance = balance
        self.objective = objective
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, sensitive_features: Any = None) -> Self:
        """Make fairlets, then clusters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sensitive_features : array-like of shape (n_samples,) or None
            Group of each row, at most two groups. None: plain clustering.

        Returns
        -------
        self : object
        """
        objective = checks.check_choice("objective", self.objective, ("kmedian", "kcenter"))
        n_init = checks.check_count("n_init", self.n_init)
        X = self._checked_points(X)
        groups = encode_two_groups(sensitive_features, len(X), "Fairlets")
        self.ratio_ = check_ratio(self.balance, groups)
        self.fairlets_, self.fairlet_cost_ = np.arange(len(X)), 0.0
        if groups.n_groups == 2:
            found = decompose(X, groups.codes, *self.ratio_, objective)
            self.fairlets_, self.fairlet_cost_ = found.fairlets, found.cost
        joined = join(X, self.fairlets_, self.n_clusters, objective, n_init, check_random_state(self.random_state))
        self.cluster_centers_ = joined.centers
        if objective == "kcenter":
            value = radius(point_costs(X, joined.centers, objective), joined.labels)
        else:
            value = best_centers(X, joined.labels, self.n_clusters, objective).value
        members = Memberships.of(groups)
        self._store_scores(joined.labels, members, value)
        return self


@dataclass(frozen=True)
class Decomposition:
    """Fairlets and what they cost."""

    fairlets: IntArray
    cost: float


def decompose(X: FloatArray, codes: IntArray, p: int, q: int, objective: str) -> Decomposition:
    """Split points of two groups into fairlets of balance at least p/q at the least cost of the links.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    codes : ndarray of shape (n_samples,)
        0 or 1.
    p, q : int
        1 ≤ p ≤ q, and the whole data have that balance.
    objective : {"kmedian", "kcenter"}

    Returns
    -------
    decomposition : Decomposition
    """
    sides = (np.flatnonzero(codes == 0), np.flatnonzero(codes == 1))
    network = _Network(X[sides[0]].astype(float), X[sides[1]].astype(float), p, q)
    if objective == "kcenter":
        longest = network.shortest_longest_link()
        left, right, _ = network.cheapest(longest)
        cost = longest
    else:
        left, right, cost = network.cheapest(np.inf)
    n_samples = len(X)
    links = sparse.csr_array((np.ones(len(left)), (sides[0][left], sides[1][right])), shape=(n_samples, n_samples))
    _, fairlets = connected_components(links, directed=False)
    return Decomposition(fairlets.astype(np.int64), cost)


class _Network:
    """Units between two groups: every point has p to q of them, a unit costs the distance that it goes."""

    def __init__(self, left: FloatArray, right: FloatArray, p: int, q: int) -> None:
        self.left, self.right, self.p, self.q = left, right, p, q
        self.n_left, self.n_right = len(left), len(right)

    def cheapest(self, longest: float) -> tuple[IntArray, IntArray, float]:
        """Links that are used in a flow of the least cost, none of them longer than ``longest``; and that cost."""
        rows, columns = self._first_links(longest)
        penalty = 4.0 * self._diameter()
        while True:
            distance = np.linalg.norm(self.left[rows] - self.right[columns], axis=1)
            found = self._solve(rows, columns, distance, penalty)
            new_rows, new_columns = self._promising(found.limit_prices, rows, columns, longest)
            if len(new_rows):
                rows, columns = np.concatenate((rows, new_rows)), np.concatenate((columns, new_columns))
                continue
            if found.x[len(rows) :].max(initial=0.0) <= _WHOLE:
                break
            penalty *= 10.0  # so far it is cheaper to leave points out
        used = found.x[: len(rows)] > _WHOLE
        return rows[used], columns[used], float(distance @ found.x[: len(rows)])

    def shortest_longest_link(self) -> float:
        """Least length such that links up to it carry a flow."""
        distances = cdist(self.left, self.right)
        lengths = np.unique(distances)
        lengths = lengths[lengths >= max(distances.min(axis=1).max(), distances.min(axis=0).max())]
        low, high = 0, len(lengths) - 1
        while low < high:
            middle = (low + high) // 2
            if self._carries_flow(distances <= lengths[middle]):
                high = middle
            else:
                low = middle + 1
        return float(lengths[low])

    def _carries_flow(self, linked: Any) -> bool:
        """Whether every point can have p to q units: a flow with lower limits, as a maximum flow."""
        n = self.n_left + self.n_right
        source, sink, more, most = n, n + 1, n + 2, n + 3  # "more": source of what must flow; "most": its sink
        left, right = np.arange(self.n_left), self.n_left + np.arange(self.n_right)
        rows, columns = np.nonzero(linked)
        parts: list[tuple[Any, Any, int]] = [
            (rows, self.n_left + columns, self.q),
            (np.full(self.n_left, source), left, self.q - self.p),
            (np.full(self.n_left, more), left, self.p),
            (right, np.full(self.n_right, sink), self.q - self.p),
            (right, np.full(self.n_right, most), self.p),
            ([source], [most], self.p * self.n_left),
            ([more], [sink], self.p * self.n_right),
            ([sink], [source], self.q * n),
        ]
        tail = np.concatenate([part[0] for part in parts]).astype(np.int32)  # all that SciPy 1.13's flow takes
        head = np.concatenate([part[1] for part in parts]).astype(np.int32)
        room = np.concatenate([np.full(len(part[0]), part[2]) for part in parts]).astype(np.int32)
        graph = sparse.csr_array((room, (tail, head)), shape=(n + 4, n + 4))
        return int(maximum_flow(graph, more, most).flow_value) == self.p * n

    def _solve(self, rows: IntArray, columns: IntArray, distance: FloatArray, penalty: float) -> _lp.Optimum:
        """Least cost over these links; what a point lacks of p units costs ``penalty`` each."""
        n = self.n_left + self.n_right
        n_links = len(rows)
        at = np.concatenate((rows, self.n_left + columns))
        links = sparse.csr_array((np.ones(2 * n_links), (at, np.tile(np.arange(n_links), 2))), shape=(n, n_links))
        lacking = sparse.eye_array(n, format="csr")
        most = sparse.hstack((links, sparse.csr_array((n, n))))
        least = sparse.hstack((-links, -lacking))
        limits = np.concatenate((np.full(n, float(self.q)), np.full(n, -float(self.p))))
        cost = np.concatenate((distance, np.full(n, penalty)))
        found = _lp.solve(cost, None, None, sparse.vstack((most, least)).tocsr(), limits)
        assert found is not None, "lacking everything is feasible"
        return found

    def _first_links(self, longest: float) -> tuple[IntArray, IntArray]:
        """Each point with its nearest of the other group; all, where they are few."""
        if self.n_left * self.n_right <= _ALL_AT_ONCE:
            near = np.nonzero(cdist(self.left, self.right) <= longest)
            return near[0], near[1]
        n_near = min(_FIRST_LINKS, self.n_right)
        length, to_right = NearestNeighbors(n_neighbors=n_near).fit(self.right).kneighbors(self.left)
        near = length.ravel() <= longest
        rows, columns = np.repeat(np.arange(self.n_left), n_near)[near], to_right.ravel()[near]
        n_near = min(_FIRST_LINKS, self.n_left)
        length, to_left = NearestNeighbors(n_neighbors=n_near).fit(self.left).kneighbors(self.right)
        near = length.ravel() <= longest
        pairs = np.unique(
            np.concatenate(
                (
                    rows * np.int64(self.n_right) + columns,
                    to_left.ravel()[near] * np.int64(self.n_right) + np.repeat(np.arange(self.n_right), n_near)[near],
                )
            )
        )
        return pairs // self.n_right, pairs % self.n_right

    def _promising(
        self, dual: FloatArray, rows: IntArray, columns: IntArray, longest: float
    ) -> tuple[IntArray, IntArray]:
        """Links left out whose reduced cost is negative, the best few of each point."""
        n = self.n_left + self.n_right
        worth = dual[:n] - dual[n:]
        tolerance = 1e-9 * self._diameter()
        found = []
        order = np.argsort(rows, kind="stable")
        borders = np.searchsorted(rows[order], np.arange(0, self.n_left + _ROWS, _ROWS))
        n_new = min(_NEW_LINKS, self.n_right)
        for block, first in enumerate(range(0, self.n_left, _ROWS)):
            part = slice(first, min(first + _ROWS, self.n_left))
            distances = cdist(self.left[part], self.right)
            reduced = distances - worth[part, None] - worth[self.n_left :]
            reduced[distances > longest] = np.inf
            held = order[borders[block] : borders[block + 1]]
            reduced[rows[held] - first, columns[held]] = np.inf
            best = np.argpartition(reduced, n_new - 1, axis=1)[:, :n_new]
            helps = np.take_along_axis(reduced, best, axis=1) < -tolerance
            links = (first + np.nonzero(helps)[0]) * np.int64(self.n_right) + best[helps]
            for_right = reduced.argmin(axis=0)
            helps = reduced[for_right, np.arange(self.n_right)] < -tolerance
            more = (first + for_right[helps]) * np.int64(self.n_right) + np.flatnonzero(helps)
            found.append(np.union1d(links, more))
        pairs = np.concatenate(found)
        return pairs // self.n_right, pairs % self.n_right

    def _diameter(self) -> float:
        low = np.minimum(self.left.min(axis=0), self.right.min(axis=0))
        high = np.maximum(self.left.max(axis=0), self.right.max(axis=0))
        return max(float(np.linalg.norm(high - low)), np.finfo(float).tiny ** 0.5)
