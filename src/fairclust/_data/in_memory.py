"""The oracle over a table of point costs in memory."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .._core import kernels
from .._core.tiles import TILE
from .._dual.oracle import Assignment, Evaluation, Moves
from .._memory import in_own_pages
from .._typing import FloatArray, IntArray
from .layout import Layout, build_layout

_PAIRS_PER_CLUSTER = 1 << 8  # rows of a cell per cluster that Hessians are summed over: a few per cent off will do
_PAIRS_PER_CELL = (1 << 12, 1 << 14)  # ... for few clusters at least, for many at most
_MANY_CELLS = 8  # with more than so many, these rows are shared out among them
_WARM = 0.05  # of the mean cost of a row: at lower temperatures few rows are near a tie, and more rows are summed over
_FAINT = 1e-3  # share of a cell below which a cluster may hold tiny parts of rows only, which kernels leave out


class Margins(NamedTuple):
    """What rows lose in their second-best cluster, without prices: units of temperatures.

    Attributes
    ----------
    typical : float
        The median, and at most the mean cost: of whatever rows are many.
    mean : float
        On heavy tails that of the outliers: so far away may prices be.
    """

    typical: float
    mean: float


class Plain(NamedTuple):
    """Labels without prices, and the margins of the rows."""

    assigned: Assignment
    margins: Margins

    @property
    def masses(self) -> FloatArray:
        """Of the labels."""
        return self.assigned.masses


class Sample(NamedTuple):
    """Some of the rows in memory, and their objective."""

    objective: Any
    rows: InMemory


class InMemory:
    """Oracle over point costs in memory.

    Costs are kept as the excess over the row's cheapest cluster, in single precision: assignments depend on differences
    alone. Rows are in *visiting order*: by cell, within stretches that fit in a cache.

    Parameters
    ----------
    layout : Layout
        Where the rows lie.
    n_clusters : int
    weights : ndarray of shape (n_samples,) or None
        Sample weights in visiting order.
    n_threads : int
        No answer depends on it.

    Attributes
    ----------
    excess : ndarray of shape (n_tiles, n_clusters, 64), float32
        The only big array. Objectives fill it, and set ``base_cost``.
    base_cost : float
        What the cheapest clusters cost together.
    """

    can_move_rows = True

    def __init__(self, layout: Layout, n_clusters: int, weights: FloatArray | None = None, n_threads: int = 1) -> None:
        self.plan = kernels.Plan(layout.order, layout.start, layout.size, layout.chunk, layout.chunk_cell)
        self.layout = replace(layout, order=self.plan.order)  # one of them is enough
        self.n_clusters, self.n_cells, self.n_samples = n_clusters, layout.n_cells, layout.n_samples
        self.weights, self.n_threads = weights, n_threads
        self.base_cost = 0.0
        self.filled: FloatArray | None = None  # centres that the point costs belong to
        self._excess: FloatArray | None = None

    @property
    def excess(self) -> FloatArray:
        """Room for the point costs, taken when it is first asked for."""
        if self._excess is None:
            self._excess = in_own_pages((self.layout.n_tiles, self.n_clusters, TILE), np.float32)
        return self._excess

    def release(self) -> None:
        """Give that room back."""
        self._excess = self.filled = None

    @property
    def is_weighted(self) -> bool:
        """Whether there are sample weights."""
        return self.weights is not None

    @cached_property
    def cell_totals(self) -> FloatArray:
        """Weight of each cell."""
        if self.weights is None:
            return self.layout.cell_counts.astype(float)
        return np.bincount(self.layout.cells, weights=self.weights, minlength=self.n_cells).astype(float)

    @cached_property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.cell_totals.sum())

    def evaluate(self, prices: FloatArray, temperature: float) -> Evaluation:
        """Sum softmins, shares and their products over the rows; a Hessian over some of the rows of large cells."""
        if temperature == 0:
            found = self.assign(prices)
            value = found.cost + float((prices * found.masses).sum())
            return Evaluation(
                value, found.cost, found.masses, np.zeros((self.n_cells, self.n_clusters, self.n_clusters))
            )
        masses, cost, log_partition, pairs, summed = kernels.sweep(
            self.plan, self.excess, self.weights, 1.0 / temperature, prices.T / temperature,
            self._pair_steps(temperature), None, self.n_threads,
        )  # fmt: skip
        hessian = hessian_of(pairs, masses, summed) / temperature
        value = self.base_cost - temperature * log_partition
        return Evaluation(value, self.base_cost + cost, masses.T, hessian)

    def _pair_steps(self, temperature: float) -> IntArray:
        """Products of shares are summed over one run of rows in so many, cell by cell."""
        mean_cost = self.base_cost / max(self.total, 1e-300)
        return steps_at(pair_steps(self.layout.cell_counts, self.n_clusters), temperature, mean_cost)

    def assign(self, prices: FloatArray, split: float = 0.0, gaps: FloatArray | None = None) -> Assignment:
        """Every row in the cluster where it costs least, prices included.

        Parameters
        ----------
        prices : ndarray of shape (n_clusters, n_cells)
        split : float
            An inverse temperature, at which rows near a tie are shared out as soft assignments say; 0: they are not.
        gaps : ndarray of shape (n_samples,), float32, or None
            OUT: what the second-best cluster costs more.
        """
        labels = in_own_pages(self.n_samples, np.int32, is_clear=False)
        masses, cost, _ = kernels.assign(
            self.plan, self.excess, self.weights, prices.T, labels, gaps, self.n_threads, split
        )
        return Assignment(labels, masses.T, self.base_cost + cost)

    def described(self, labels: IntArray) -> Assignment:
        """Masses and cost of any labels."""
        weights = np.ones(self.n_samples) if self.weights is None else self.weights
        where = labels.astype(np.int64) * self.n_cells + self.layout.cells
        masses = np.bincount(where, self.weights, self.n_clusters * self.n_cells).astype(float)
        cost = self.base_cost + float(weights @ self._own_excess(labels))
        return Assignment(labels, masses.reshape(self.n_clusters, self.n_cells), cost)

    def plain(self) -> Plain:
        """Every row in its cheapest cluster, and the margins of the rows."""
        zero = np.zeros((self.n_clusters, self.n_cells))
        if self.n_clusters == 1:
            return Plain(self.assign(zero), Margins(1.0, 1.0))
        gaps = np.empty(self.n_samples, dtype=np.float32)
        assigned = self.assign(zero, gaps=gaps)
        mean = float(np.average(gaps, weights=self.weights)) or 1.0  # 0: all rows are alike
        sizes = float(np.median(gaps)), self.base_cost / self.total
        return Plain(assigned, Margins(min((size for size in sizes if size > 0), default=mean), mean))

    def cheapest_moves(self, labels: IntArray, kinds: IntArray, count: int) -> Moves:
        """The cheapest ``count`` moves of each kind (cell, from, to)."""
        found = kernels.cheapest_moves(self.plan, self.excess, labels, np.ascontiguousarray(kinds), count)
        return Moves(found[:, 0].astype(np.int64), found[:, 1].astype(np.int64), found[:, 2])

    def moved(self, labels: IntArray, rows: IntArray, clusters: IntArray) -> IntArray:
        """Labels after some rows moved."""
        labels = labels.copy()
        labels[rows] = clusters
        return labels

    def costs_of(self, rows: IntArray) -> FloatArray:
        """Costs of some rows above their cheapest cluster, (n_rows, n_clusters)."""
        tile, lane = self.layout.places(rows)
        return self.excess[tile, :, lane].astype(float)

    def weights_of(self, rows: IntArray) -> FloatArray:
        """Sample weights of some rows."""
        return np.ones(len(rows)) if self.weights is None else self.weights[rows]

    def soft_rows(self, prices: FloatArray, temperature: float) -> FloatArray:
        """Soft assignments of all rows in the user's order, (n_samples, n_clusters)."""
        rows = np.empty((self.n_samples, self.n_clusters), dtype=np.float32)
        kernels.soft_rows(self.plan, self.excess, 1.0 / temperature, prices.T / temperature, rows, self.n_threads)
        return rows

    def shared_cost(self, shares: FloatArray) -> float:
        """Σ_p Σ_k s_pk·a_pk of soft assignments in the user's order."""
        own = shares[self.layout.order].astype(float)
        weights = np.ones(self.n_samples) if self.weights is None else self.weights
        return self.base_cost + float(weights @ np.einsum("pk,pk->p", own, self.costs_of(np.arange(self.n_samples))))

    def hold(self, costs: FloatArray) -> None:
        """Take point costs (n_samples, n_clusters) in visiting order, of objectives that have no kernel."""
        cheapest, every = costs.min(axis=1), np.arange(len(costs))
        tile, lane = self.layout.places(every)
        self.excess[tile, :, lane] = costs - cheapest[:, None]
        self.base_cost = float(cheapest.sum() if self.weights is None else self.weights @ cheapest)

    def subset(self, rows: IntArray, weights: FloatArray | None) -> InMemory:
        """The oracle over some rows (visiting order), with weights of their own."""
        layout = build_layout(self.layout.cells[rows], self.n_cells)
        weights = None if weights is None else layout.to_visiting_order(weights)
        return InMemory(layout, self.n_clusters, weights, self.n_threads)

    def sample(self, objective: Any, n_rows: int) -> Sample:
        """About so many rows, strata by cell and cheapest cluster; of a stratum every so-manieth row is taken."""
        labels = self.assign(np.zeros((self.n_clusters, self.n_cells))).labels
        n_strata = self.n_clusters * self.n_cells
        stratum = labels.astype(np.uint16 if n_strata < 1 << 16 else np.int64)
        stratum = stratum * self.n_cells + self.layout.cells.astype(stratum.dtype)
        order = np.argsort(stratum, kind="stable")
        counts = np.bincount(stratum, minlength=n_strata)
        wanted = np.ceil(counts * (n_rows / self.n_samples)).astype(np.int64)
        # The i-th of w rows out of n is the one at place (i + 1/2)·n/w.
        which = np.repeat(np.arange(n_strata), wanted)
        rank = np.arange(len(which)) - np.repeat(np.cumsum(wanted) - wanted, wanted)
        place = (np.cumsum(counts) - counts)[which] + ((rank + 0.5) * counts[which] / wanted[which]).astype(np.int64)
        taken = np.sort(order[place])
        own = np.ones(len(taken)) if self.weights is None else self.weights[taken]
        there, here = np.bincount(stratum, self.weights, n_strata), np.bincount(stratum[taken], own, n_strata)
        weights = own * (there / np.maximum(here, 1e-300))[stratum[taken]]
        return Sample(objective.sampled(self.layout.order[taken]), self.subset(taken, weights))

    def rows_of(self, positions: IntArray) -> IntArray:
        """Numbers in the user's order of some rows."""
        return self.layout.order[positions]

    def user_labels(self, labels: IntArray) -> IntArray:
        """Labels in the user's order."""
        return self.layout.to_user_order(labels)

    def _own_excess(self, labels: IntArray) -> FloatArray:
        tile, lane = self.layout.places(np.arange(self.n_samples))
        return self.excess[tile, labels, lane].astype(float)


def pair_steps(counts: IntArray, n_clusters: int) -> IntArray:
    """One run of rows in so many of each cell, by the cells' numbers of rows."""
    least, most = _PAIRS_PER_CELL
    enough = min(max(_PAIRS_PER_CLUSTER * n_clusters, least), most)
    per_cell = max(enough * min(len(counts), _MANY_CELLS) // max(len(counts), 1), TILE)
    return np.maximum(counts // per_cell, 1)


def steps_at(steps: IntArray, temperature: float, mean_cost: float) -> IntArray:
    """The same at low temperatures, where more rows are summed over."""
    warm = min(1.0, temperature / (_WARM * mean_cost)) if mean_cost > 0 else 1.0
    return np.maximum((warm * steps).astype(np.int64), 1)


def hessian_of(pairs: FloatArray, masses: FloatArray, summed: FloatArray) -> FloatArray:
    """Sums of products of shares → −∂masses/∂prices at temperature 1, (n_cells, n_clusters, n_clusters).

    Masses are (cells, clusters), as kernels write them; ``summed`` is the weight of the rows behind the products.
    """
    return np.array(kernels.laplacian(pairs, masses, summed, _FAINT))
