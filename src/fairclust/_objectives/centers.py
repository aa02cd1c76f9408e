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
    X: FloatArray, order: IntArray, labels: IntArray, weights: FloatArray | None, n_clusters: int, power: int
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
    """
    by_cluster = np.argsort(labels.astype(np.uint16) if n_clusters <= 1 << 16 else labels, kind="stable")  # radix sort
    ends = np.concatenate(([0], np.cumsum(np.bincount(labels, minlength=n_clusters))))
    found = []
    for k in range(n_clusters):
        members = by_cluster[ends[k] : ends[k + 1]]
        taken = members[:: max(1, -(-len(members) // SAMPLED_PER_CLUSTER))]
        mass = np.ones(len(taken)) if weights is None else weights[taken]
        points = X.take(order[taken], axis=0).astype(float, copy=False)
        gain, places = kernels.two_means(points, mass, power, _TURNS, ROUNDS)
        found.append((gain * len(members) / max(len(taken), 1), places.astype(X.dtype)))
    return found


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
