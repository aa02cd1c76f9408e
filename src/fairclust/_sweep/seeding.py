"""Starting centres."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import config_context
from sklearn.cluster import kmeans_plusplus

from .._checks import check_centers
from .._typing import AnyArray, FloatArray, IntArray
from ..errors import InvalidInputError

Init = str | AnyArray | Callable[..., Any]
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
    own = X.dtype
    if isinstance(init, str) and not sparse.issparse(X):
        X = X.astype(np.float64, copy=False)  # scikit-learn would do so in pieces, in every step
    starts = (_centers(X, n_clusters, init, random_state, weights) for _ in range(n_starts))
    return [centers.astype(own, copy=False) for centers in starts]


def _centers(
    X: Any, n_clusters: int, init: Init, random_state: np.random.RandomState, weights: FloatArray | None
) -> FloatArray:
    if callable(init):
        return _as_centers(np.asarray(init(X, n_clusters, random_state=random_state)), X, n_clusters)
    if not isinstance(init, str):
        return _as_centers(np.asarray(init), X, n_clusters)
    if init == "random":
        chance = None if weights is None else weights / weights.sum()
        chosen = X[random_state.choice(X.shape[0], n_clusters, replace=False, p=chance)]
        return np.ascontiguousarray(chosen.toarray() if sparse.issparse(chosen) else chosen)
    with config_context(assume_finite=True, skip_parameter_validation=True):  # we have looked
        centers, _ = kmeans_plusplus(X, n_clusters, sample_weight=weights, random_state=random_state)
    return np.ascontiguousarray(centers)


def sampled_rows(n_rows: int, n_clusters: int, random_state: np.random.RandomState) -> IntArray:
    """Numbers of the rows that starting centres are chosen from, ascending: all of them where they are few."""
    size = _sample_size(n_clusters)
    return np.arange(n_rows) if n_rows <= size else np.unique(random_state.randint(n_rows, size=size))


def _sample_size(n_clusters: int) -> int:
    return max(_SAMPLE, _PER_CLUSTER * n_clusters)


def _as_centers(centers: AnyArray, X: FloatArray, n_clusters: int) -> FloatArray:
    return np.ascontiguousarray(check_centers(centers, n_clusters, X.shape[1]), dtype=X.dtype)
