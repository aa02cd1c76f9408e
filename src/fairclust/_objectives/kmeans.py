"""K-means: squared euclidean distances to the clusters' means."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from .._core import kernels
from .._data.in_memory import InMemory
from .._typing import FloatArray, IntArray
from . import centers as places
from ._base import Sums
from .centers import SQUARED_EUCLIDEAN, moments
from .means import MeansObjective, means_of


class KMeansObjective(MeansObjective):
    """Σ_p ‖x_p − c_k(p)‖², with a_pk = ‖x_p − c_k‖² and c_k the mean of cluster k.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        float32 or float64, C-contiguous, in the user's order.
    """

    can_search = True

    def __init__(self, X: FloatArray) -> None:
        self.X = X

    def fill(self, rows: InMemory, centers: FloatArray, labels: IntArray | None = None) -> float:
        """Squared distances to the centres."""
        rows.base_cost, value = kernels.distances(
            rows.plan, SQUARED_EUCLIDEAN, self.X, centers, labels, rows.weights, rows.excess, rows.n_threads
        )
        return float(value)

    def centers(self, rows: InMemory, labels: IntArray, sizes: FloatArray, before: FloatArray) -> FloatArray:
        """Means of the clusters."""
        sums = kernels.label_sums(rows.plan, self.X, labels, rows.weights, rows.n_clusters, rows.n_threads)
        return means_of(sums, sizes, before)

    def soft_centers(
        self, rows: InMemory, prices: FloatArray, temperature: float, sizes: FloatArray, before: FloatArray
    ) -> FloatArray:
        """Means weighted by the soft assignments."""
        sums = kernels.soft_sums(
            rows.plan, rows.excess, self.X, rows.weights, 1.0 / temperature, prices.T / temperature, rows.n_threads
        )
        return means_of(sums, sizes, before)

    def sampled(self, rows: IntArray) -> KMeansObjective:
        """K-means on some rows only."""
        return KMeansObjective(self.X.take(rows, axis=0))

    def halves(self, rows: InMemory, centers: FloatArray, labels: IntArray) -> list[tuple[float, FloatArray]]:
        """Two means per cluster, of some of its rows."""
        return places.halves(self.X, rows.layout.order, labels, rows.weights, len(centers), 2, rows.n_threads)

    def sums(self, rows: InMemory, labels: IntArray) -> Sums:
        """Of rows about the mean of all, so that squares keep their digits."""
        sums = kernels.label_sums(rows.plan, self.X, labels, None, rows.n_clusters, rows.n_threads)
        sizes = np.bincount(labels, minlength=rows.n_clusters)
        return Sums(sums - sizes[:, None] * self._middle, self._moments[1])

    def row_sums(self, rows: InMemory, which: IntArray) -> FloatArray:
        """The rows themselves."""
        return self.X[rows.layout.order[which]] - self._middle

    def cost_of_sums(self, sums: FloatArray, sizes: IntArray) -> FloatArray:
        """Σ |x|² − |S|²/n, without the first."""
        return -np.einsum("km,km->k", sums, sums) / np.maximum(sizes, 1)

    @cached_property
    def _moments(self) -> tuple[FloatArray, float]:
        mean, squares = moments(self.X)
        return mean, float(squares.sum())

    @property
    def _middle(self) -> FloatArray:
        return self._moments[0]
