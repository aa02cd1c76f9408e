"""K-means: squared euclidean distances to the clusters' means."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from .._core import kernels
from .._sweep.memory import InMemorySweep
from .._sweep.question import State
from .._typing import FloatArray, IntArray
from . import centers
from .centers import SQUARED_EUCLIDEAN
from .known_sums import KnownSums, LabelChanges
from .means import MeansObjective

if TYPE_CHECKING:
    from .._goals.moves import MoveTable

_TINY = float(np.finfo(float).tiny)


class KMeansObjective(MeansObjective):
    """Σ_p ‖x_p − c_k(p)‖², with a_pk = ‖x_p − c_k‖² and c_k the mean of cluster k.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        float32 or float64, C-contiguous, in the user's order.
    weights : ndarray of shape (n_samples,) or None
        Sample weights, for the variance that ``tol`` is relative to.
    """

    can_polish = True

    def __init__(self, X: FloatArray, weights: FloatArray | None = None) -> None:
        self.X = X
        self._weights = weights
        self.variance = centers.mean_variance(X, weights)
        self._known = KnownSums()

    def parameters(self, sweep: InMemorySweep, labels: IntArray, sizes: FloatArray) -> FloatArray:
        """Means of the clusters; an empty cluster's mean is zero."""
        add_up, changes_from = partial(self._add_up, sweep, labels), partial(self._changes, sweep, labels)
        return self._means(self._known.of(sweep, labels, add_up, changes_from, keeps_labels=sweep.has_few_costs), sizes)

    def soft_parameters(self, sweep: InMemorySweep, state: State, sizes: FloatArray) -> FloatArray:
        """Means weighted by the soft assignments."""
        price = state.scaled_price.T
        sums = kernels.soft_sums(sweep.plan, sweep.excess, self.X, sweep.weights, state.scale, price, sweep.n_threads)
        return self._means(sums, sizes)

    def fill(self, sweep: InMemorySweep, parameters: FloatArray, labels: IntArray | None = None) -> float:
        """Squared distances to the centres; nothing has to be done where they are there."""
        if labels is None and sweep.holds(self, parameters):
            return 0.0
        sweep.base_cost, value = kernels.distances(
            sweep.plan, SQUARED_EUCLIDEAN, self.X, parameters, labels, sweep.weights, sweep.excess, sweep.n_threads
        )
        sweep.remember(self, parameters)
        return float(value)

    def sampled(self, rows: IntArray) -> KMeansObjective:
        """K-means on some rows only."""
        weights = None if self._weights is None else self._weights[rows]
        return KMeansObjective(self.X.take(rows, axis=0), weights)

    def farthest(self, sweep: InMemorySweep, parameters: FloatArray, labels: IntArray, count: int) -> IntArray:
        """Points farthest from their centre."""
        distance = np.empty(len(labels))
        for rows in centers.slices(len(labels)):
            difference = self.X[sweep.layout.order[rows]] - parameters[labels[rows]]
            distance[rows] = (difference.astype(float) ** 2).sum(axis=1)
        return centers.most_remote(distance, sweep.weights, count)

    def halves(self, sweep: InMemorySweep, parameters: FloatArray, labels: IntArray) -> list[tuple[float, FloatArray]]:
        """Two means per cluster, of some of its points."""
        return centers.halves(self.X, sweep.layout.order, labels, sweep.weights, len(parameters), 2, sweep.n_threads)

    def sums(self, sweep: InMemorySweep, labels: IntArray) -> FloatArray:
        """Of the rows."""
        return np.asarray(kernels.label_sums(sweep.plan, self.X, labels, None, sweep.n_clusters, sweep.n_threads))

    def improve(
        self, sweep: InMemorySweep, labels: IntArray, sums: FloatArray, moves: MoveTable, least: float, near: float
    ) -> int:
        """Hartigan's moves: a cluster's mean follows each point that enters or leaves."""
        sizes = moves.masses.sum(axis=1)
        found = kernels.find_moves(
            sweep.plan, SQUARED_EUCLIDEAN, self.X, self._means(sums, sizes), labels,
            np.ascontiguousarray(moves.enter.T), np.ascontiguousarray(moves.leave.T),
            sizes / (sizes + 1.0), sizes / np.maximum(sizes - 1.0, 1e-300), -near, sweep.n_threads,
        )  # fmt: skip
        rows, cells = sweep.layout.order[found], sweep.layout.cells[found]
        n_moves = 0
        while made := kernels.make_moves(
            self.X, rows, found, cells, labels, sums, sizes, moves.enter, moves.leave, least, moves.move
        ):
            n_moves += made
        return n_moves

    def _add_up(self, sweep: InMemorySweep, labels: IntArray) -> FloatArray:
        sums = kernels.label_sums(sweep.plan, self.X, labels, sweep.weights, sweep.n_clusters, sweep.n_threads)
        return np.asarray(sums)

    def _changes(self, sweep: InMemorySweep, labels: IntArray, known: IntArray) -> LabelChanges | None:
        changes = kernels.label_changes(sweep.plan, self.X, labels, sweep.weights, known, sweep.n_clusters)
        return None if changes is None else LabelChanges(*changes)

    def _means(self, sums: FloatArray, sizes: FloatArray) -> FloatArray:
        means = sums / np.maximum(sizes, _TINY)[:, None]  # of nobody: zero
        return means.astype(self.X.dtype, copy=False)
