"""Fairlets in near-linear time, through a tree (Backurs, Indyk, Onak, Schieber, Vakilian and Wagner, ICML 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from .. import _checks as checks
from .._typing import AnyArray, FloatArray, IntArray
from ._base import Baseline, Memberships, encode_two_groups
from ._centers import best_centers
from ._joined import check_ratio, join

_MOST_LEVELS = 40  # halvings of the box: float64 tells no two points apart below 2⁻⁵²


class ScalableFairlets(Baseline):
    """Fairlets from a randomly shifted quadtree, then plain K-median on the fairlets: for millions of points.

    "Fair" means that in every cluster p times the larger group is at most q times the smaller: a balance of at least
    p/q. Every fairlet has it, clusters are made of whole fairlets, and so have it too.

    Parameters
    ----------
    n_clusters : int, default=8
    balance : (p, q) or "auto", default="auto"
        Two whole numbers 1 ≤ p ≤ q. "auto": 1 and the smallest q that the data allow.
    n_trees : int, default=5
        Trees that are tried; the one whose fairlets are the tightest is kept.
    n_init : int, default=10
        Starts of the K-median on the fairlets' centres.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    fairlets_ : ndarray of shape (n_samples,)
        Fairlet of each row; at most p + q rows each.
    fairlet_cost_ : float
        Sum of the distances of the points to the mean of their fairlet.
    ratio_ : tuple of two int
        p and q.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
    objective_ : float
        Sum of distances to the best medoids of the clusters.
    proportions_, group_names_, target_proportions_, fairness_error_, max_fairness_error_, balance_
        As in :class:`fairclust.FairKMeans`.

    Notes
    -----
    A cell of the tree is split into cells of half the side. Points that a cell has too many of, for the balance, leave
    it and meet at the parent, which takes as few points of the other group from the cells that can spare them as it
    takes to balance what came together. Everything is counted level by level, for all cells at once: O(n_samples ·
    n_features) per level, up to 40 levels, and sorting.

    Examples
    --------
    >>> from fairclust.baselines import ScalableFairlets
    >>> from fairclust.datasets import make_synthetic
    >>> data = make_synthetic()
    >>> ScalableFairlets(2, random_state=0).fit(data.data, sensitive_features=data.sensitive_features).balance_
    1.0
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        balance: Any = "auto",
        n_trees: int = 5,
        n_init: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.balance = balance
        self.n_trees = n_trees
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
        n_init = checks.check_count("n_init", self.n_init)
        n_trees = checks.check_count("n_trees", self.n_trees)
        X = self._checked_points(X)
        random_state = check_random_state(self.random_state)
        groups = encode_two_groups(sensitive_features, len(X), "ScalableFairlets")
        self.ratio_ = check_ratio(self.balance, groups)
        self.fairlets_, self.fairlet_cost_ = np.arange(len(X)), 0.0
        if groups.n_groups == 2:
            tried = [decompose(X, groups.codes, *self.ratio_, random_state) for _ in range(n_trees)]
            costs = [spread(X, fairlets) for fairlets in tried]
            best = int(np.argmin(costs))
            self.fairlets_, self.fairlet_cost_ = tried[best], costs[best]
        joined = join(X, self.fairlets_, self.n_clusters, "kmedian", n_init, random_state)
        self.cluster_centers_ = joined.centers
        value = best_centers(X, joined.labels, self.n_clusters, "kmedian").value
        members = Memberships.of(groups)
        self._store_scores(joined.labels, members, value)
        return self


def spread(X: FloatArray, fairlets: IntArray) -> float:
    """Sum of the distances of the points to the mean of their fairlet."""
    sizes = np.bincount(fairlets)
    means = np.stack([np.bincount(fairlets, X[:, f], len(sizes)) for f in range(X.shape[1])], axis=1) / sizes[:, None]
    return float(np.linalg.norm(X - means[fairlets], axis=1).sum())


def decompose(X: FloatArray, codes: IntArray, p: int, q: int, random_state: np.random.RandomState) -> IntArray:
    """Split points of two groups into fairlets of balance at least p/q, of at most p + q points.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    codes : ndarray of shape (n_samples,)
        0 or 1.
    p, q : int
        Coprime, 1 ≤ p ≤ q, and the whole data have that balance.
    random_state : RandomState
        The tree's shift.

    Returns
    -------
    fairlets : ndarray of shape (n_samples,)
    """
    tree = _Tree(X, random_state)
    meeting = np.full(len(X), -1, dtype=np.int64)  # the set in which a point is matched
    active = np.arange(len(X))
    parents = np.zeros(len(X), dtype=np.int64)
    n_sets = 0
    for level in range(1, _MOST_LEVELS + 1):
        cells = tree.cells(active, parents, level)
        leaving = _leaving(codes[active], parents, cells, p, q)
        met, inverse = np.unique(parents[leaving], return_inverse=True)
        meeting[active[leaving]] = n_sets + inverse
        n_sets += len(met)
        active, cells = active[~leaving], cells[~leaving]
        if not len(active):
            break
        _, parents = np.unique(cells, return_inverse=True)
    meeting[active] = n_sets + parents[: len(active)]
    return _cut(meeting, codes, p, q)


class _Tree:
    """A quadtree with a random shift: the cells of a level are cubes, half as wide as those of the level above."""

    def __init__(self, X: FloatArray, random_state: np.random.RandomState) -> None:
        self.X = X
        low = X.min(axis=0)
        width = max(float((X.max(axis=0) - low).max()), np.finfo(float).tiny ** 0.5)
        # Twice the width of the data: the shifted root covers them all.
        self.corner = low - random_state.uniform(0.0, width, X.shape[1])
        self.width = 2.0 * width
        odd = random_state.randint(1 << 31, size=(X.shape[1], 2)).astype(np.uint64)
        self.factors = (odd[:, 0] << np.uint64(32)) + (odd[:, 1] << np.uint64(1)) + np.uint64(1)

    def cells(self, points: IntArray, parents: IntArray, level: int) -> IntArray:
        """Number of each point's cell at a level; cells are told apart by a 64-bit sum of their coordinates."""
        side = self.width / 2.0**level
        key = np.zeros(len(points), dtype=np.uint64)
        for feature, factor in enumerate(self.factors):
            at = np.floor((self.X[points, feature] - self.corner[feature]) / side)
            key += at.astype(np.int64).astype(np.uint64) * factor
        key = (key ^ (key >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
        key += parents.astype(np.uint64) * np.uint64(0xBF58476D1CE4E5B9)
        _, cells = np.unique(key, return_inverse=True)
        return cells.reshape(-1)


@dataclass
class _Cells:
    """Cells of one level: their parents, and how many points of each group stay and leave."""

    parent: IntArray  # (n_cells,)
    stay: IntArray  # (n_cells, 2)
    leave: IntArray  # (n_cells, 2)

    def take(self, cells: IntArray, group: IntArray, number: IntArray) -> None:
        """Let some points of a group leave."""
        self.stay[cells, group] -= number
        self.leave[cells, group] += number


def _leaving(codes: IntArray, parents: IntArray, cells: IntArray, p: int, q: int) -> AnyArray:
    """Which points leave their cell to be matched at the parent. Every parent is balanced; afterwards every cell is."""
    n_parents = int(parents.max()) + 1
    n_cells = int(cells.max()) + 1
    counts = np.bincount(cells * 2 + codes, minlength=2 * n_cells).reshape(-1, 2)
    parent = np.empty(n_cells, dtype=np.int64)
    parent[cells] = parents
    table = _Cells(parent, counts, np.zeros_like(counts))
    for group in (0, 1):  # too many of a group for the other: they must leave
        table.take(
            np.arange(n_cells), np.full(n_cells, group),
            np.maximum(table.stay[:, group] - (q * table.stay[:, 1 - group]) // p, 0),
        )  # fmt: skip
    _spare(table, n_parents, p, q)
    _release(table, n_parents, p, q)
    together = np.stack([np.bincount(parent, table.leave[:, j], n_parents) for j in (0, 1)], axis=1)
    # Whole cells' worth of small fairlets can overshoot: then all of the parent is one set, balanced as it is.
    bad = ~_is_balanced(together, p, q)
    bad |= np.bincount(parent, ~_is_balanced(table.stay, p, q), n_parents) > 0
    table.leave[bad[parent]] = counts[bad[parent]] + table.leave[bad[parent]]
    return _first_of_each(codes, cells, table.leave)


def _is_balanced(counts: AnyArray, p: int, q: int) -> AnyArray:
    return np.asarray(p * counts.max(axis=1) <= q * counts.min(axis=1))


def _needs(table: _Cells, n_parents: int, p: int, q: int) -> tuple[IntArray, IntArray]:
    """Per parent: which group is wanted to balance what left, and p·(other) − q·(wanted), which must come to ≤ 0."""
    met = np.stack([np.bincount(table.parent, table.leave[:, j], n_parents) for j in (0, 1)], axis=1).astype(np.int64)
    lack = np.stack([p * met[:, 1] - q * met[:, 0], p * met[:, 0] - q * met[:, 1]], axis=1)
    return lack.argmax(axis=1), np.maximum(lack.max(axis=1), 0)


def _spare(table: _Cells, n_parents: int, p: int, q: int) -> None:
    """Take wanted points from cells that stay balanced without them, cell by cell until there are enough."""
    wanted, lack = _needs(table, n_parents, p, q)
    cells = np.flatnonzero(lack[table.parent] > 0)
    group = wanted[table.parent[cells]]
    have, others = table.stay[cells, group], table.stay[cells, 1 - group]
    free = np.maximum(have - -(-p * others // q), 0)
    need = -(-lack // q)
    before = _running(free, table.parent[cells], cells)
    table.take(cells, group, np.clip(need[table.parent[cells]] - before, 0, free))


def _release(table: _Cells, n_parents: int, p: int, q: int) -> None:
    """Where whole points that can be spared were not enough, take each cell's last, unsaturated fairlet."""
    wanted, lack = _needs(table, n_parents, p, q)
    cells = np.flatnonzero(lack[table.parent] > 0)
    if not len(cells):
        return
    group = wanted[table.parent[cells]]
    have, others = table.stay[cells, group], table.stay[cells, 1 - group]
    taken = np.where(have > 0, (have - 1) % p + 1, 0)
    along = np.maximum(others - q * ((have - taken) // p), 0)
    gain = np.maximum(q * taken - p * along, 0)
    before = _running(gain, table.parent[cells], cells)
    chosen = (gain > 0) & (before < lack[table.parent[cells]])
    table.take(cells[chosen], group[chosen], taken[chosen])
    table.take(cells[chosen], 1 - group[chosen], along[chosen])


def _running(values: IntArray, parents: IntArray, cells: IntArray) -> IntArray:
    """Sum of the values of the cells before each cell within its parent."""
    order = np.lexsort((cells, parents))
    total = np.cumsum(values[order]) - values[order]
    first = np.concatenate(([True], np.diff(parents[order]) > 0)) if len(order) else np.zeros(0, dtype=bool)
    base = total[first][np.cumsum(first) - 1] if len(order) else total
    before = np.empty_like(total)
    before[order] = total - base
    return before


def _ranks(keys: IntArray) -> IntArray:
    """Position of each element among those with the same key, in order of appearance."""
    order = np.argsort(keys, kind="stable")
    sizes = np.bincount(keys)
    starts = np.cumsum(sizes) - sizes
    ranks = np.empty(len(keys), dtype=np.int64)
    ranks[order] = np.arange(len(keys)) - np.repeat(starts, sizes)
    return ranks


def _first_of_each(codes: IntArray, cells: IntArray, numbers: IntArray) -> AnyArray:
    """Mark the first so many points of each cell and group."""
    return np.asarray(_ranks(cells * 2 + codes) < numbers[cells, codes])


def _cut(sets: IntArray, codes: IntArray, p: int, q: int) -> IntArray:
    """Cut balanced sets into fairlets of at most p + q points.

    While the larger group is ahead by q − p, a fairlet takes q and p; the next takes what keeps the rest even, and the
    rest go in pairs.
    """
    n_sets = int(sets.max()) + 1
    counts = np.bincount(sets * 2 + codes, minlength=2 * n_sets).reshape(-1, 2)
    larger = counts.argmax(axis=1)
    many, few = counts.max(axis=1), counts.min(axis=1)
    ahead = many - few
    full = np.minimum(ahead // (q - p), few // p) if q > p else np.zeros_like(few)
    many_left, few_left = many - full * q, few - full * p
    # One fairlet for the lead that is left: p (or all) of the few, and as many more of the others.
    odd_few = np.where(many_left > few_left, np.minimum(few_left, p), 0)
    odd_many = np.where(odd_few == few_left, many_left, odd_few + many_left - few_left)
    odd_many = np.where(odd_few > 0, odd_many, 0)
    is_large = codes == larger[sets]
    rank = _ranks(sets * 2 + codes)
    per_full = np.where(is_large, q, p)
    in_odd = np.where(is_large, odd_many[sets], odd_few[sets])
    after_full = rank - full[sets] * per_full
    index = np.where(after_full < 0, rank // per_full, full[sets])
    index = np.where(after_full >= in_odd, full[sets] + (in_odd > 0) + after_full - in_odd, index)
    _, fairlets = np.unique(sets * (np.int64(len(sets)) + 1) + index, return_inverse=True)
    return fairlets.reshape(-1)
