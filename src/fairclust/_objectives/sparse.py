"""K-means on sparse rows: the same objective as on a matrix of numbers, without making the rows dense."""

from __future__ import annotations

import numpy as np

from .._core import kernels
from .._sweep.memory import InMemorySweep
from .._sweep.question import State
from .._table.sparse import SparseRows
from .._typing import FloatArray, IntArray
from . import centers
from .means import MeansObjective


class SparseKMeansObjective(MeansObjective):
    """Σ_p ‖x_p − c_k(p)‖², with ‖x − c‖² = ‖x‖² − 2 x·c + ‖c‖². The centres are dense.

    Parameters
    ----------
    rows : SparseRows
        In the user's order.
    weights : ndarray of shape (n_samples,) or None
        Sample weights, for the variance that ``tol`` is relative to.
    """

    def __init__(self, rows: SparseRows, weights: FloatArray | None = None) -> None:
        self.rows = rows
        self._weights = weights
        self.variance = _mean_variance(rows, weights)

    def parameters(self, sweep: InMemorySweep, labels: IntArray, sizes: FloatArray) -> FloatArray:
        """Means of the clusters; an empty cluster's mean is zero."""
        rows = self.rows
        sums = kernels.sparse_sums(
            sweep.plan, rows.begin, rows.columns, rows.values, labels, sweep.weights, sweep.n_clusters,
            rows.shape[1], sweep.n_threads,
        )  # fmt: skip
        return self._means(sums, sizes)

    def soft_parameters(self, sweep: InMemorySweep, state: State, sizes: FloatArray) -> FloatArray:
        """Means weighted by the soft assignments."""
        soft = sweep.soft_rows(state).astype(float)
        if sweep.weights is not None:
            soft *= sweep.layout.to_user_order(sweep.weights)[:, None]
        return self._means(np.ascontiguousarray((self.rows.matrix.T @ soft).T), sizes)

    def fill(self, sweep: InMemorySweep, parameters: FloatArray, labels: IntArray | None = None) -> float:
        """Squared distances to the centres."""
        rows = self.rows
        sweep.base_cost, value = kernels.sparse_distances(
            sweep.plan, rows.begin, rows.columns, rows.values, rows.squares, parameters, labels, sweep.weights,
            sweep.excess, sweep.n_threads,
        )  # fmt: skip
        return max(float(value), 0.0)  # |x|² − 2x·c + |c|² is rounded

    def sampled(self, rows: IntArray) -> SparseKMeansObjective:
        """The same on some rows only."""
        return SparseKMeansObjective(self.rows.take(rows), None if self._weights is None else self._weights[rows])

    def farthest(self, sweep: InMemorySweep, parameters: FloatArray, labels: IntArray, count: int) -> IntArray:
        """Points farthest from their centre."""
        own = sweep.layout.to_user_order(labels)
        lengths = (parameters.astype(float) ** 2).sum(axis=1)
        distance = self.rows.squares + lengths[own]
        for k in range(len(parameters)):
            distance[own == k] -= 2.0 * (self.rows.matrix[own == k] @ parameters[k].astype(float))
        distance = distance[sweep.layout.order]
        return centers.most_remote(distance, sweep.weights, count)

    def halves(self, sweep: InMemorySweep, parameters: FloatArray, labels: IntArray) -> list[tuple[float, FloatArray]]:
        """Two means per cluster, of some of its rows."""
        found = []
        for n_members, taken in centers.some_of_each(labels, len(parameters)):
            mass = np.ones(len(taken)) if sweep.weights is None else sweep.weights[taken]
            gain, places = _two_means(self.rows.take(sweep.layout.order[taken]), mass)
            found.append((gain * n_members / max(len(taken), 1), places.astype(self.rows.dtype)))
        return found

    def _means(self, sums: FloatArray, sizes: FloatArray) -> FloatArray:
        means = np.divide(sums, sizes[:, None], out=np.zeros_like(sums), where=sizes[:, None] > 0)
        return np.ascontiguousarray(means, dtype=self.rows.dtype)


def _mean_variance(rows: SparseRows, weights: FloatArray | None) -> float:
    """Mean over the features of their variance: E‖x‖² − ‖E x‖², by the number of features."""
    w = np.ones(len(rows)) if weights is None else weights
    total = float(w.sum())
    mean = (rows.matrix.T @ w) / total
    return max(float(w @ rows.squares) / total - float(mean @ mean), 0.0) / max(rows.shape[1], 1)


def _two_means(rows: SparseRows, mass: FloatArray) -> tuple[float, FloatArray]:
    """From the row farthest from the mean and the row farthest from that one, Lloyd's steps; and what they save."""
    if len(rows) < 2 or mass.sum() <= 0:
        return 0.0, np.zeros((2, rows.shape[1]))

    def mean_of(weights: FloatArray) -> FloatArray:
        mean: FloatArray = np.asarray(rows.matrix.T @ weights) / weights.sum()
        return mean

    def squares_to(place: FloatArray) -> FloatArray:
        return np.maximum(rows.squares - 2.0 * np.asarray(rows.matrix @ place) + float(place @ place), 0.0)

    before = squares_to(mean_of(mass))
    far = int(np.where(mass > 0, before, -1.0).argmax())
    first = np.asarray(rows.matrix[[far]].todense(), dtype=float).ravel()
    other = int(np.where(mass > 0, squares_to(first), -1.0).argmax())
    places = np.stack((first, np.asarray(rows.matrix[[other]].todense(), dtype=float).ravel()))
    best, least = places, np.inf
    for _ in range(centers.ROUNDS):
        distance = np.stack([squares_to(place) for place in places])
        cost, nearer = float(mass @ distance.min(axis=0)), distance[1] < distance[0]
        if cost >= least:
            break
        best, least = places, cost
        if mass[nearer].sum() <= 0 or mass[~nearer].sum() <= 0:
            break
        places = np.stack((mean_of(mass * ~nearer), mean_of(mass * nearer)))
    return max(float(mass @ before) - least, 0.0), best
