"""Starting centres."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from .._checks import check_centers
from .._core import kernels
from .._core.tiles import in_blocks
from .._typing import AnyArray, FloatArray, IntArray
from ..errors import InvalidInputError

Init = str | AnyArray | Callable[..., Any]
Seeding = Callable[[IntArray, FloatArray], tuple[FloatArray, FloatArray]]
"""Some rows, and what every row costs so far → what it costs with each of them as one more seed, and weighted sums."""
_PER_CLUSTER = 100  # rows at the least, with many clusters
_SAMPLE = 1 << 13  # k-means++ looks at no more rows than this where that is enough: more do not make better seeds


def starting_centers(
    X: Any,
    n_clusters: int,
    init: Init,
    random_state: np.random.RandomState,
    weights: FloatArray | None,
    n_starts: int = 1,
) -> list[FloatArray]:
    """Centres to start from, several times.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n_samples, n_features)
    n_clusters : int
    init : {"k-means++", "random"}, array of shape (n_clusters, n_features) or callable
        A callable is called as ``init(X, n_clusters, random_state=random_state)``, as in scikit-learn.
    random_state : RandomState
    weights : ndarray of shape (n_samples,) or None
    n_starts : int
        All of them are chosen from one sample of the rows, where there are many.

    Returns
    -------
    starts : list of ndarray of shape (n_clusters, n_features), of X's type
    """
    if isinstance(init, str) and init not in ("k-means++", "random"):
        raise InvalidInputError(f"init={init!r}, but 'k-means++', 'random', an array or a callable is needed.")
    if isinstance(init, str) and X.shape[0] > _sample_size(n_clusters):
        rows = sampled_rows(X.shape[0], n_clusters, random_state)
        rows = rows if weights is None else rows[weights[rows] > 0]
        X, weights = X[rows], None if weights is None else weights[rows]
    if not isinstance(init, str):
        given = (init(X, n_clusters, random_state=random_state) if callable(init) else init for _ in range(n_starts))
        return [_as_centers(np.asarray(centers), X, n_clusters) for centers in given]
    picks = drawn_rows(init, X.shape[0], n_clusters, random_state, weights, n_starts, lambda: _seeding(X, weights))
    return [np.ascontiguousarray(X[pick].toarray() if sparse.issparse(X) else X[pick]) for pick in picks]


def drawn_rows(
    init: str,
    n_rows: int,
    n_clusters: int,
    random_state: np.random.RandomState,
    weights: FloatArray | None,
    n_starts: int,
    seeding: Callable[[], Seeding],
) -> list[IntArray]:
    """Numbers of the rows to start from, several times: at random, or by k-means++, which asks what seeds cost."""
    if init == "random":
        chance = None if weights is None else weights / weights.sum()
        return [random_state.choice(n_rows, n_clusters, replace=False, p=chance) for _ in range(n_starts)]
    costs = seeding()
    return [_plus_plus(costs, n_rows, n_clusters, random_state, weights) for _ in range(n_starts)]


def _plus_plus(
    seeding: Seeding, n_rows: int, n_clusters: int, random_state: np.random.RandomState, weights: FloatArray | None
) -> IntArray:
    """Greedy k-means++ as in scikit-learn: of a few rows drawn by their cost, the one that lowers the cost most."""
    n_trials, w = 2 + int(np.log(n_clusters)), np.ones(n_rows) if weights is None else weights
    chosen = np.empty(n_clusters, dtype=np.int64)
    chosen[0] = random_state.choice(n_rows, p=w / w.sum())
    costs, _ = seeding(chosen[:1], np.full(n_rows, np.inf))
    closest = costs[0]
    for k in range(1, n_clusters):
        reached = np.cumsum(closest if weights is None else weights * closest)
        trials = np.searchsorted(reached, random_state.uniform(size=n_trials) * reached[-1])
        trials = np.minimum(trials, n_rows - 1)  # rounding
        costs, totals = seeding(trials, closest)
        best = totals.argmin()
        chosen[k], closest = trials[best], costs[best]
    return chosen


def _seeding(X: Any, weights: FloatArray | None) -> Seeding:
    """What seeds cost: squared distances, in double precision."""
    if sparse.issparse(X):
        return seeding_by(_sparse_distances(X.astype(np.float64)), weights)
    blocks = in_blocks(X)

    def tried(trials: IntArray, closest: FloatArray) -> tuple[FloatArray, FloatArray]:
        costs = np.empty((len(trials), len(closest)))
        return costs, kernels.trial_costs(blocks, trials, weights, closest, costs)

    return tried


def _sparse_distances(X: Any) -> Callable[[IntArray], FloatArray]:
    """Squared distances of all rows from some of them, a row each: |x|² + |y|² − 2x·y, without filling them."""
    squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()

    def distances(rows: IntArray) -> FloatArray:
        return np.maximum(squares[rows][:, None] + squares - 2.0 * (X[rows] @ X.T).toarray(), 0.0)

    return distances


def seeding_by(costs_from: Callable[[IntArray], FloatArray], weights: FloatArray | None) -> Seeding:
    """The same, from a function that tells what each row costs with each of some rows as a centre, a row each."""

    def tried(trials: IntArray, closest: FloatArray) -> tuple[FloatArray, FloatArray]:
        costs = np.minimum(costs_from(trials), closest)
        return costs, costs.sum(axis=1) if weights is None else costs @ weights

    return tried


def sampled_rows(n_rows: int, n_clusters: int, random_state: np.random.RandomState) -> IntArray:
    """Numbers of the rows that starting centres are chosen from, ascending: all of them where they are few."""
    size = _sample_size(n_clusters)
    return np.arange(n_rows) if n_rows <= size else np.unique(random_state.randint(n_rows, size=size))


def _sample_size(n_clusters: int) -> int:
    return max(_SAMPLE, _PER_CLUSTER * n_clusters)


def _as_centers(centers: AnyArray, X: FloatArray, n_clusters: int) -> FloatArray:
    return np.ascontiguousarray(check_centers(centers, n_clusters, X.shape[1]), dtype=X.dtype)
