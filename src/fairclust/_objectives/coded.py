"""K-means on tables of numbers and categories, with or without gaps: exactly K-means on the matrix they stand for."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from .._core import kernels
from .._sweep.memory import InMemorySweep
from .._sweep.question import Answer, State
from .._table.coded import CodedRows
from .._typing import FloatArray, IntArray
from . import centers
from .known_sums import KnownSums, LabelChanges
from .means import MeansObjective

if TYPE_CHECKING:
    from .._goals.moves import MoveTable


_FEW = 8  # one in so many labels that change: adding up the changes takes less than adding up all


class CodedKMeansObjective(MeansObjective):
    """Σ_p Σ_f ‖x_pf − c_k(p)f‖² over the features f that row p has; c_kf is the mean over those in cluster k with f.

    A category counts as a coordinate of its own, so a centre holds the shares of the categories, times their unit.
    Without gaps, this is K-means on that matrix. With them a gap costs nothing, wherever the row goes.

    Parameters
    ----------
    rows : CodedRows
        In the user's order.
    weights : ndarray of shape (n_samples,) or None
        Sample weights, for the variance that ``tol`` is relative to.
    """

    can_polish = True

    def __init__(self, rows: CodedRows, weights: FloatArray | None = None) -> None:
        self.can_lead = not rows.has_gaps  # with gaps, what leading costs is not known
        self.rows = rows
        self._weights = weights
        self.variance = _mean_variance(rows, weights)
        self._known = KnownSums()

    def parameters(self, sweep: InMemorySweep, labels: IntArray, sizes: FloatArray) -> FloatArray:
        """Means of what is there; where nobody in a cluster has a value, the mean of all."""
        add_up, changes_from = partial(self._add_up, sweep, labels), partial(self._changes, sweep, labels)
        return self._as_centers(self.rows.means(self._known.of(sweep, labels, add_up, changes_from)))

    def soft_parameters(self, sweep: InMemorySweep, state: State, sizes: FloatArray) -> FloatArray:
        """Means weighted by the soft assignments."""
        soft = sweep.soft_rows(state).astype(float)
        if sweep.weights is not None:
            soft *= sweep.layout.to_user_order(sweep.weights)[:, None]
        sums = np.empty((sweep.n_clusters, 2 * self.rows.n_numbers + int(self.rows.first[-1])))
        one_cluster = np.zeros(len(self.rows), dtype=np.int32)
        for k in range(sweep.n_clusters):
            own = np.ascontiguousarray(soft[sweep.layout.order, k])
            sums[k] = self._sums(sweep, one_cluster, own, 1)[0]
        return self._as_centers(self.rows.means(sums))

    def fill(self, sweep: InMemorySweep, parameters: FloatArray, labels: IntArray | None = None) -> float:
        """Squared distances over the features that a row has."""
        numbers = np.ascontiguousarray(parameters[:, : self.rows.n_numbers].T, dtype=self.rows.dtype)
        tables = self.rows.tables(parameters).astype(self.rows.dtype)
        sweep.base_cost, value = kernels.coded_distances(
            sweep.plan, self.rows.numbers, self.rows.codes, self.rows.first, numbers, tables,
            labels, sweep.weights, sweep.excess, sweep.n_threads,
        )  # fmt: skip
        return float(value)

    def soft_value(self, answer: Answer, old: FloatArray, new: FloatArray) -> float:
        """Moving c_k to the mean saves n_k ‖Δc_k‖²; with gaps less, so the value is an upper bound there."""
        return answer.cost if self.rows.has_gaps else super().soft_value(answer, old, new)

    def sampled(self, rows: IntArray) -> CodedKMeansObjective:
        """The same on some rows only."""
        return CodedKMeansObjective(self.rows.take(rows), None if self._weights is None else self._weights[rows])

    def farthest(self, sweep: InMemorySweep, parameters: FloatArray, labels: IntArray, count: int) -> IntArray:
        """Points farthest from their centre."""
        distance = np.empty(len(labels))
        for part in centers.slices(len(labels)):
            costs = self.costs(parameters, sweep.layout.order[part], sweep.n_threads)
            distance[part] = costs[np.arange(len(costs)), labels[part]]
        return centers.most_remote(distance, sweep.weights, count)

    def costs(
        self,
        parameters: FloatArray,
        rows: IntArray | None = None,
        n_threads: int = 1,
        factors: FloatArray | None = None,
    ) -> FloatArray:
        """Costs of some rows (None: all) in every cluster, in double precision, one row each.

        ``factors`` (n_clusters, n_features) multiply the cost of each feature.
        """
        taken = np.arange(len(self.rows), dtype=np.int32) if rows is None else np.ascontiguousarray(rows, np.int32)
        n_clusters, n_numbers = len(parameters), self.rows.n_numbers
        result = np.empty((len(taken), n_clusters))
        numbers = np.ascontiguousarray(parameters[:, :n_numbers].T, dtype=np.float64)
        scales = np.ones_like(numbers) if factors is None else np.ascontiguousarray(factors[:, :n_numbers].T)
        tables = self.rows.tables(parameters, None if factors is None else factors[:, n_numbers:])
        kernels.coded_costs(
            taken, self.rows.numbers, self.rows.codes, self.rows.first, numbers, scales, tables, result, n_threads
        )
        return result

    def halves(self, sweep: InMemorySweep, parameters: FloatArray, labels: IntArray) -> list[tuple[float, FloatArray]]:
        """Two means per cluster, of some of its rows; what a row does not have is in the middle of all."""
        points, found = _Points(self.rows), []
        for n_members, taken in centers.some_of_each(labels, len(parameters)):
            mass = np.ones(len(taken)) if sweep.weights is None else sweep.weights[taken]
            gain, places = centers.two_means(points.take(sweep.layout.order[taken]), mass)
            found.append((gain * n_members / max(len(taken), 1), places.astype(self.rows.dtype)))
        return found

    def sums(self, sweep: InMemorySweep, labels: IntArray) -> FloatArray:
        """Of numbers, of those that are there, and of codes."""
        return self._sums(sweep, labels, None)

    def improve(
        self, sweep: InMemorySweep, labels: IntArray, sums: FloatArray, moves: MoveTable, least: float, near: float
    ) -> int:
        """Hartigan's moves: a cluster's mean follows each point that enters or leaves."""
        rows, layout = self.rows, sweep.layout
        sizes = moves.masses.sum(axis=1)
        observed, means = rows.observed(sums), rows.means(sums)
        entering = observed / (observed + 1.0)
        leaving = np.divide(observed, observed - 1.0, out=np.zeros_like(observed), where=observed > 1.0)
        found = [np.zeros(0, dtype=np.int32)]
        for part in centers.slices(len(labels)):
            at, own, cells = np.arange(part.stop - part.start), labels[part], layout.cells[part]
            go = self.costs(means, layout.order[part], sweep.n_threads, entering) + moves.enter.T[cells]
            go[at, own] = np.inf
            stay = self.costs(means, layout.order[part], sweep.n_threads, leaving)[at, own] - moves.leave[own, cells]
            found.append((np.flatnonzero(go.min(axis=1) < stay + near) + part.start).astype(np.int32))
        positions = np.concatenate(found)
        n_moves = 0
        while made := kernels.coded_moves(
            rows.numbers, rows.codes, rows.first, rows.units**2, layout.order[positions], positions,
            layout.cells[positions], labels, sums, sizes, moves.enter, moves.leave, least, moves.move,
        ):  # fmt: skip
            n_moves += made
        return n_moves

    def _sums(
        self, sweep: InMemorySweep, labels: IntArray, weights: FloatArray | None, n_clusters: int | None = None
    ) -> FloatArray:
        sums: FloatArray = kernels.coded_sums(
            sweep.plan, self.rows.numbers, self.rows.codes, self.rows.first, labels, weights,
            sweep.n_clusters if n_clusters is None else n_clusters, sweep.n_threads,
        )  # fmt: skip
        return sums

    def _add_up(self, sweep: InMemorySweep, labels: IntArray) -> FloatArray:
        return self._sums(sweep, labels, sweep.weights)

    def _changes(self, sweep: InMemorySweep, labels: IntArray, known: IntArray) -> LabelChanges | None:
        changed = np.flatnonzero(labels != known)
        if len(changed) > len(labels) // _FEW:
            return None
        rows = self.rows.take(sweep.layout.order[changed])
        mass = np.ones(len(changed)) if sweep.weights is None else sweep.weights[changed]
        come, gone = (rows.sums(those[changed], mass, sweep.n_clusters) for those in (labels, known))
        return LabelChanges(come - gone, np.abs(come) + np.abs(gone))

    def _as_centers(self, means: FloatArray) -> FloatArray:
        return np.ascontiguousarray(means, dtype=self.rows.dtype)


class _Points:
    """Rows of the matrix that coded rows stand for, built for those that are asked for only."""

    def __init__(self, rows: CodedRows) -> None:
        self._rows = rows
        self._middle = rows.middle() if rows.has_gaps else None

    def take(self, taken: IntArray) -> FloatArray:
        """Some of them."""
        matrix = self._rows.take(taken).matrix()
        return np.ascontiguousarray(
            matrix if self._middle is None else np.where(np.isnan(matrix), self._middle, matrix)
        )


def _mean_variance(rows: CodedRows, weights: FloatArray | None) -> float:
    """Mean over the coordinates of their variance, among the rows that have the feature."""
    total = 0.0
    for m in range(rows.n_numbers):
        is_there = ~np.isnan(rows.numbers[:, m])
        values, w = rows.numbers[is_there, m].astype(float), None if weights is None else weights[is_there]
        if len(values) and (w is None or w.sum() > 0):
            total += float(np.average((values - np.average(values, weights=w)) ** 2, weights=w))
    for q, n in enumerate(rows.n_categories):
        counts = np.bincount(rows.codes[:, q], weights=weights, minlength=n)[:n]
        share = counts / max(counts.sum(), np.finfo(float).tiny)
        total += float(rows.units[q] ** 2 * (1.0 - (share**2).sum()))
    return total / max(rows.shape[1], 1)
