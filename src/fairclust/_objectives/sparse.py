"""K-means on sparse rows: the same objective as on a matrix of numbers, without making the rows dense."""

from __future__ import annotations

import numpy as np

from .._core import kernels
from .._data.in_memory import InMemory
from .._table.sparse import SparseRows
from .._typing import FloatArray, IntArray
from .centers import ROUNDS, some_of_each
from .means import MeansObjective, means_of


class SparseKMeansObjective(MeansObjective):
    """Σ_p ‖x_p − c_k(p)‖², with ‖x − c‖² = ‖x‖² − 2 x·c + ‖c‖². The centres are dense.

    Parameters
    ----------
    X : SparseRows
        In the user's order.
    """

    def __init__(self, X: SparseRows) -> None:
        self.X = X

    def fill(self, rows: InMemory, centers: FloatArray, labels: IntArray | None = None) -> float:
        """Squared distances to the centres."""
        X = self.X
        rows.base_cost, value = kernels.sparse_distances(
            rows.plan, X.begin, X.columns, X.values, X.squares, centers, labels, rows.weights, rows.excess,
            rows.n_threads,
        )  # fmt: skip
        return max(float(value), 0.0)  # |x|² − 2x·c + |c|² is rounded

    def centers(self, rows: InMemory, labels: IntArray, sizes: FloatArray, before: FloatArray) -> FloatArray:
        """Means of the clusters."""
        X = self.X
        sums = kernels.sparse_sums(
            rows.plan, X.begin, X.columns, X.values, labels, rows.weights, rows.n_clusters, X.shape[1], rows.n_threads
        )
        return means_of(sums, sizes, before)

    def soft_centers(
        self, rows: InMemory, prices: FloatArray, temperature: float, sizes: FloatArray, before: FloatArray
    ) -> FloatArray:
        """Means weighted by the soft assignments."""
        soft = rows.soft_rows(prices, temperature).astype(float)
        if rows.weights is not None:
            soft *= rows.layout.to_user_order(rows.weights)[:, None]
        return means_of((self.X.matrix.T @ soft).T, sizes, before)

    def sampled(self, rows: IntArray) -> SparseKMeansObjective:
        """The same on some rows only."""
        return SparseKMeansObjective(self.X.take(rows))

    def halves(self, rows: InMemory, centers: FloatArray, labels: IntArray) -> list[tuple[float, FloatArray]]:
        """Two means per cluster, of some of its rows."""
        found = []
        for n_members, taken in some_of_each(labels, len(centers)):
            mass = np.ones(len(taken)) if rows.weights is None else rows.weights[taken]
            gain, pair = _two_means(self.X.take(rows.layout.order[taken]), mass)
            found.append((gain * n_members / max(len(taken), 1), pair.astype(self.X.dtype)))
        return found


def _two_means(X: SparseRows, mass: FloatArray) -> tuple[float, FloatArray]:
    """From the row farthest from the mean and the row farthest from that one, Lloyd's steps; and what they save."""
    if len(X) < 2 or mass.sum() <= 0:
        return 0.0, np.zeros((2, X.shape[1]))

    def mean_of(weights: FloatArray) -> FloatArray:
        mean: FloatArray = np.asarray(X.matrix.T @ weights) / weights.sum()
        return mean

    def squares_to(place: FloatArray) -> FloatArray:
        return np.maximum(X.squares - 2.0 * np.asarray(X.matrix @ place) + float(place @ place), 0.0)

    before = squares_to(mean_of(mass))
    far = int(np.where(mass > 0, before, -1.0).argmax())
    first = np.asarray(X.matrix[[far]].todense(), dtype=float).ravel()
    other = int(np.where(mass > 0, squares_to(first), -1.0).argmax())
    places = np.stack((first, np.asarray(X.matrix[[other]].todense(), dtype=float).ravel()))
    best, least = places, np.inf
    for _ in range(ROUNDS):
        distance = np.stack([squares_to(place) for place in places])
        cost, nearer = float(mass @ distance.min(axis=0)), distance[1] < distance[0]
        if cost >= least:
            break
        best, least = places, cost
        if mass[nearer].sum() <= 0 or mass[~nearer].sum() <= 0:
            break
        places = np.stack((mean_of(mass * ~nearer), mean_of(mass * nearer)))
    return max(float(mass @ before) - least, 0.0), best
