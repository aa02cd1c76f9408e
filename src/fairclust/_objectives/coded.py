"""K-means on tables of numbers and categories, with or without gaps: exactly K-means on the matrix they stand for."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from .._core import kernels
from .._data.in_memory import InMemory
from .._table.coded import CodedRows
from .._typing import FloatArray, IntArray
from ._base import Sums
from .centers import some_of_each, two_means
from .means import MeansObjective


class CodedKMeansObjective(MeansObjective):
    """Σ_p Σ_f ‖x_pf − c_k(p)f‖² over the features f that row p has; c_kf is the mean over those in cluster k with f.

    A category counts as a coordinate of its own, so a centre holds the shares of the categories, times their unit.
    Without gaps, this is K-means on that matrix. With them a gap costs nothing, wherever the row goes.

    Parameters
    ----------
    table : CodedRows
        In the user's order.
    """

    can_search = True

    def __init__(self, table: CodedRows) -> None:
        self.table = table
        self.can_extrapolate = not table.has_gaps

    def fill(self, rows: InMemory, centers: FloatArray, labels: IntArray | None = None) -> float:
        """Squared distances over the features that a row has."""
        table = self.table
        numbers = np.ascontiguousarray(centers[:, : table.n_numbers].T, dtype=table.dtype)
        rows.base_cost, value = kernels.coded_distances(
            rows.plan, table.numbers, table.codes, table.first, numbers, table.tables(centers).astype(table.dtype),
            labels, rows.weights, rows.excess, rows.n_threads,
        )  # fmt: skip
        return float(value)

    def centers(self, rows: InMemory, labels: IntArray, sizes: FloatArray, before: FloatArray) -> FloatArray:
        """Means of what is there; where nobody in a cluster has a value, the mean of all."""
        return self._means(self._sums(rows, labels, rows.weights, rows.n_clusters), sizes, before)

    def soft_centers(
        self, rows: InMemory, prices: FloatArray, temperature: float, sizes: FloatArray, before: FloatArray
    ) -> FloatArray:
        """Means weighted by the soft assignments."""
        soft, together = rows.soft_rows(prices, temperature), np.zeros(rows.n_samples, dtype=np.int32)
        sums = []
        for k in range(rows.n_clusters):
            own = soft[rows.layout.order, k].astype(float)
            sums.append(self._sums(rows, together, own if rows.weights is None else own * rows.weights, 1))
        return self._means(np.concatenate(sums), sizes, before)

    def sampled(self, rows: IntArray) -> CodedKMeansObjective:
        """The same on some rows only."""
        return CodedKMeansObjective(self.table.take(rows))

    def halves(self, rows: InMemory, centers: FloatArray, labels: IntArray) -> list[tuple[float, FloatArray]]:
        """Two means per cluster, of some of its rows; what a row does not have is in the middle of all."""
        found = []
        for n_members, taken in some_of_each(labels, len(centers)):
            mass = np.ones(len(taken)) if rows.weights is None else rows.weights[taken]
            gain, pair = two_means(self._matrix(rows.layout.order[taken]), mass)
            found.append((gain * n_members / max(len(taken), 1), pair.astype(self.table.dtype)))
        return found

    def costs(self, centers: FloatArray, n_threads: int = 1) -> FloatArray:
        """Costs of all rows in every cluster, in double precision, one row each."""
        table = self.table
        result = np.empty((len(table), len(centers)))
        numbers = np.ascontiguousarray(centers[:, : table.n_numbers].T, dtype=np.float64)
        kernels.coded_costs(table.numbers, table.codes, table.first, numbers, table.tables(centers), result, n_threads)
        return result

    def sums(self, rows: InMemory, labels: IntArray) -> Sums:
        """Of numbers about the mean of all, of those that are there, and of codes."""
        sums, n = self._sums(rows, labels, None, rows.n_clusters), self.table.n_numbers
        sums[:, :n] -= sums[:, n : 2 * n] * self._middle[:n]
        squares = float(np.nansum((self.table.numbers - self._middle[:n]) ** 2))
        categories = self.table.observed(sums)[:, n:].sum(axis=0) @ self.table.units**2
        return Sums(sums, squares + float(categories))

    def row_sums(self, rows: InMemory, which: IntArray) -> FloatArray:
        """The same of single rows."""
        taken, n = self.table.take(rows.layout.order[which]), self.table.n_numbers
        is_there = ~np.isnan(taken.numbers)
        codes = np.zeros((len(which), int(taken.first[-1])))
        codes[np.arange(len(which))[:, None], taken.first[:-1] + taken.codes] = 1.0
        numbers = np.where(is_there, taken.numbers - self._middle[:n], 0.0)
        return np.concatenate((numbers, is_there, codes), axis=1)

    def cost_of_sums(self, sums: FloatArray, sizes: IntArray) -> FloatArray:
        """Σ |x|² − |S|²/n of every feature, without the first; n are those who have it."""
        table, n = self.table, self.table.n_numbers
        squares = [sums[:, :n] ** 2]
        for first, count, unit in zip(table.first[:-1], table.n_categories, table.units, strict=True):
            counts = sums[:, 2 * n + first :][:, :count]
            squares.append(unit**2 * np.einsum("kc,kc->k", counts, counts)[:, None])
        cost: FloatArray = -(np.concatenate(squares, axis=1) / np.maximum(table.observed(sums), 1.0)).sum(axis=1)
        return cost

    @cached_property
    def _middle(self) -> FloatArray:
        """The mean of all rows that have a feature."""
        return self.table.middle()

    def _matrix(self, taken: IntArray) -> FloatArray:
        """Rows of the matrix that coded rows stand for, built for those that are asked for only."""
        matrix = self.table.take(taken).matrix()
        return np.where(np.isnan(matrix), self._middle, matrix) if self.table.has_gaps else matrix

    def _sums(self, rows: InMemory, labels: IntArray, weights: FloatArray | None, n_clusters: int) -> FloatArray:
        table = self.table
        sums: FloatArray = kernels.coded_sums(
            rows.plan, table.numbers, table.codes, table.first, labels, weights, n_clusters, rows.n_threads
        )
        return sums

    def _means(self, sums: FloatArray, sizes: FloatArray, before: FloatArray) -> FloatArray:
        means = np.where(sizes[:, None] > 0, self.table.means(sums), before)
        return np.ascontiguousarray(means, dtype=self.table.dtype)
