"""Centres without fairness: where the baselines start, and what a labelling costs. All by the estimators' own parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import euclidean_distances

from .._data.in_memory import InMemory
from .._data.layout import build_layout
from .._objectives import KMeansObjective, KMedianObjective
from .._typing import FloatArray, IntArray
from ..estimators import FairKMedian

OBJECTIVES = ("kmeans", "kmedian", "kcenter")
_ROWS = 1 << 16  # in float64 at a time: 13 MB with 25 features


@dataclass(frozen=True)
class Fitted:
    """The best centres of some labels, and what the labels cost with them."""

    centers: FloatArray
    value: float


def plain_centers(
    X: FloatArray,
    n_clusters: int,
    objective: str,
    n_init: int,
    random_state: np.random.RandomState,
    weights: FloatArray | None = None,
) -> FloatArray:
    """Centres of the best of ``n_init`` plain clusterings: means, medoids, or rows far from each other."""
    if objective == "kcenter":
        return farthest_first(X, n_clusters, random_state)
    seed = int(random_state.randint(np.iinfo(np.int32).max))
    if objective == "kmeans":  # scikit-learn's: every start in full, on all rows
        model = KMeans(n_clusters, n_init=n_init, random_state=seed)
    else:
        model = FairKMedian(n_clusters, goal=None, n_init=n_init, random_state=seed)
    centers: FloatArray = model.fit(X, sample_weight=weights).cluster_centers_
    return centers


def farthest_first(X: FloatArray, n_clusters: int, random_state: np.random.RandomState) -> FloatArray:
    """Gonzalez's rows: each the farthest from those before; at most twice the best radius."""
    chosen = [int(random_state.randint(len(X)))]
    nearest = _to_row(X, chosen[0])
    for _ in range(n_clusters - 1):
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, _to_row(X, chosen[-1]))
    return np.ascontiguousarray(X[chosen])


def point_costs(X: FloatArray, centers: FloatArray, objective: str) -> FloatArray:
    """What each point pays for each centre, (n_samples, n_clusters): distances, squared for K-means."""
    costs: FloatArray = np.empty((len(X), len(centers)))
    for first in range(0, len(X), _ROWS):
        rows = slice(first, first + _ROWS)
        costs[rows] = euclidean_distances(
            X[rows].astype(np.float64), centers.astype(np.float64), squared=objective == "kmeans"
        )
    return costs


def best_centers(X: FloatArray, labels: IntArray, n_clusters: int, objective: str) -> Fitted:
    """Means or medoids of the clusters, and the cost. K-center keeps its centres: see :func:`radius`."""
    layout = build_layout(np.zeros(len(X), dtype=np.int32), 1)
    rows = InMemory(layout, n_clusters)
    visited = np.ascontiguousarray(layout.to_visiting_order(labels.astype(np.int32)))
    if objective == "kmeans":
        means, sizes = KMeansObjective(X), np.bincount(labels, minlength=n_clusters).astype(float)
        centers = means.centers(rows, visited, sizes, np.zeros((n_clusters, X.shape[1]), dtype=X.dtype))
        return Fitted(centers, means.fill(rows, centers, visited))
    found = KMedianObjective(X).medoids(rows, visited)
    return Fitted(found.centers, found.value)


def radius(costs: FloatArray, labels: IntArray) -> float:
    """K-center's objective: the largest distance of a point to its centre."""
    return float(costs[np.arange(len(labels)), labels].max())


def _to_row(X: FloatArray, row: int) -> FloatArray:
    distances: FloatArray = euclidean_distances(X, X[row : row + 1])[:, 0]
    return distances
