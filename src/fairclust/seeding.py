"""Starting centres."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import kmeans_plusplus

from ._typing import AnyArray, FloatArray, IntArray
from .checks import check_centers
from .errors import InvalidInputError

Init = str | AnyArray | Callable[..., Any]
_SAMPLE = 1 << 16  # k-means++ looks at no more rows than this: more of them do not make better seeds


def starting_centers(
    X: FloatArray,
    n_clusters: int,
    init: Init,
    random_state: np.random.RandomState,
    weights: FloatArray | None,
) -> FloatArray:
    """Centres to start from.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    n_clusters : int
    init : {"k-means++", "random"}, array of shape (n_clusters, n_features) or callable
        A callable is called as ``init(X, n_clusters, random_state=random_state)``, as in scikit-learn.
    random_state : RandomState
    weights : ndarray of shape (n_samples,) or None

    Returns
    -------
    centers : ndarray of shape (n_clusters, n_features), of X's type
    """
    if callable(init):
        centers = np.asarray(init(X, n_clusters, random_state=random_state))
        return _as_centers(centers, X, n_clusters)
    if not isinstance(init, str):
        return _as_centers(np.asarray(init), X, n_clusters)
    if init not in ("k-means++", "random"):
        raise InvalidInputError(f"init={init!r}, but 'k-means++', 'random', an array or a callable is needed.")
    sample, sample_weight = X, weights
    if len(X) > _sample_size(n_clusters):
        rows = sampled_rows(len(X), n_clusters, random_state)
        rows = rows if weights is None else rows[weights[rows] > 0]
        sample, sample_weight = X[rows], None if weights is None else weights[rows]
    if init == "random":
        chance = None if sample_weight is None else sample_weight / sample_weight.sum()
        return np.ascontiguousarray(sample[random_state.choice(len(sample), n_clusters, replace=False, p=chance)])
    centers, _ = kmeans_plusplus(sample, n_clusters, sample_weight=sample_weight, random_state=random_state)
    return np.ascontiguousarray(centers)


def sampled_rows(n_rows: int, n_clusters: int, random_state: np.random.RandomState) -> IntArray:
    """Numbers of the rows that starting centres are chosen from, ascending: all of them where they are few."""
    size = _sample_size(n_clusters)
    return np.arange(n_rows) if n_rows <= size else np.unique(random_state.randint(n_rows, size=size))


def _sample_size(n_clusters: int) -> int:
    return max(_SAMPLE, 20 * n_clusters)


def _as_centers(centers: AnyArray, X: FloatArray, n_clusters: int) -> FloatArray:
    return np.ascontiguousarray(check_centers(centers, n_clusters, X.shape[1]), dtype=X.dtype)
