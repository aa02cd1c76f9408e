"""Centres in space: metrics, and how clusters are best cut in two."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._core import kernels
from .._typing import FloatArray, IntArray

SQUARED_EUCLIDEAN, EUCLIDEAN, MANHATTAN = 0, 1, 2  # metrics, as the kernels number them
SAMPLED_PER_CLUSTER = 512  # points of a cluster that tell how it is best cut in two
_TURNS = 8  # of an axis towards the longest: Lloyd's steps mend the rest
ROUNDS = 6  # of two means: nearly all there is to gain
_MOMENT_ROWS = 4096  # whose moments are found about their own mean, and then put together


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


def moments(X: FloatArray, weights: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Weighted mean of each feature, and the weighted sum of squares about it, in double precision."""
    total, mean, squares = 0.0, np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for first in range(0, len(X), _MOMENT_ROWS):
        part = X[first : first + _MOMENT_ROWS].astype(float)
        own = np.ones(len(part)) if weights is None else weights[first : first + _MOMENT_ROWS]
        weight = own.sum()
        if not weight > 0:
            continue
        middle = np.einsum("p,pm->m", own, part) / weight
        part -= middle
        apart, share = middle - mean, weight / (total + weight)
        squares += np.einsum("p,pm,pm->m", own, part, part) + total * share * apart**2
        mean += share * apart
        total += weight
    return mean, squares


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
