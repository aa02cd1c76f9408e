"""Centres in space: metrics, how far they moved, who is far from them, how clusters are best cut in two."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._core import kernels
from .._typing import FloatArray, IntArray

SQUARED_EUCLIDEAN, EUCLIDEAN, MANHATTAN = 0, 1, 2  # metrics, as the kernels number them
_ROWS = 1 << 12  # in float64 at a time, for passes in NumPy: 0.8 MB with 25 features, meant for a core's second cache
SAMPLED_PER_CLUSTER = 512  # points of a cluster that tell how it is best cut in two
_TURNS = 8  # of an axis towards the longest: Lloyd's steps mend the rest
ROUNDS = 6  # of two means: nearly all there is to gain


def movement(old: FloatArray, new: FloatArray, variance: float) -> float:
    """Σ_k ‖Δc_k‖² over the mean variance of the features, as scikit-learn measures it."""
    change = np.subtract(new, old, dtype=float)
    moved = float(np.vdot(change, change))
    return moved / variance if variance > 0 else 0.0


def most_remote(distances: FloatArray, weights: FloatArray | None, count: int) -> IntArray:
    """Positions of the points with the largest distances (IN/OUT), the first of equals first; weightless ones last."""
    if weights is not None:
        distances[weights == 0] = -1.0
    return np.argsort(-distances, kind="stable")[:count]


def halves(
    X: FloatArray,
    order: IntArray,
    labels: IntArray,
    weights: FloatArray | None,
    n_clusters: int,
    power: int,
    n_threads: int = 1,
) -> list[tuple[float, FloatArray]]:
    """For each cluster two centres, and what the sum of distances to the ``power`` falls by with them, about.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    order : ndarray of shape (n_samples,)
        Visiting order → row of X.
    labels, weights : ndarray of shape (n_samples,)
        In visiting order.
    n_clusters : int
    power : {1, 2}
    n_threads : int
    """
    X = np.ascontiguousarray(X)
    order, labels = (np.ascontiguousarray(one, dtype=np.int32) for one in (order, labels))
    gains, places = kernels.halves(
        X, order, labels, weights, n_clusters, SAMPLED_PER_CLUSTER, power, _TURNS, ROUNDS, n_threads
    )
    return list(zip(gains.tolist(), places.astype(X.dtype, copy=False), strict=True))


def two_means(points: FloatArray, mass: FloatArray) -> tuple[float, FloatArray]:
    """Two centres of some points, and what the sum of squared distances falls by with them."""
    every, alone = np.arange(len(points), dtype=np.int32), np.zeros(len(points), dtype=np.int32)
    gains, places = kernels.halves(points, every, alone, mass, 1, max(len(points), 1), 2, _TURNS, ROUNDS, 1)
    return float(gains[0]), places[0]


def some_of_each(labels: IntArray, n_clusters: int) -> Iterator[tuple[int, IntArray]]:
    """For each cluster how many points it has, and the positions of some of them: :func:`halves` looks at these."""
    order, counts = np.argsort(labels, kind="stable"), np.bincount(labels, minlength=n_clusters)
    for members in np.split(order, np.cumsum(counts)[:-1]):
        yield len(members), members[:: max(1, -(-len(members) // SAMPLED_PER_CLUSTER))]


def nearest_rows(X: FloatArray, places: FloatArray) -> FloatArray:
    """The rows of X nearest to some places."""
    return np.stack([X[int(((X - place) ** 2).sum(axis=1).argmin())] for place in places])


def mean_variance(X: FloatArray, weights: FloatArray | None) -> float:
    """Mean over the features of their variance, in double precision and without a copy of X."""
    _, squares = kernels.feature_moments(X, weights, 1)
    return float(np.mean(squares) / (len(X) if weights is None else weights.sum()))


def slices(n_rows: int) -> Iterator[slice]:
    """Rows of passes in NumPy, so many at a time that their copies stay small."""
    for first in range(0, n_rows, _ROWS):
        yield slice(first, min(first + _ROWS, n_rows))
