"""Answers from point costs in memory."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .._algebra import laplacian
from .._core import kernels
from .._core.sparse_small import pair_table
from .._core.tiles import MOST_IN_TABLES, TILE
from .._memory import give_back, in_own_pages, on_lines
from .._typing import FloatArray, IntArray
from .layout import Layout, build_layout
from .question import Answer, Candidates, HardAnswer, State
from .sampling import coarsened, cold_steps, curvature_steps, sampled_weights, sampling_steps
from .undecided import Tables, Undecided, is_cold, sort_points

_FEW_COSTS = 1 << 20  # point costs: room for fewer is at hand after a first fit; fresh pages take longer than a fill
_MANY_COSTS = 1 << 22  # point costs: for fewer, it does not matter what the C library keeps


class InMemorySweep:
    """Answers from point costs held in memory.

    Parameters
    ----------
    layout : Layout
        Where the points lie.
    n_clusters : int
        Number of clusters.
    weights : ndarray of shape (n_samples,) or None
        Sample weights in visiting order, float64.
    n_threads : int
        Threads to use; no answer depends on it.

    Attributes
    ----------
    excess : ndarray of shape (n_tiles, n_clusters, 64), float32
        Point costs above the point's cheapest cluster: the only big array. Objectives fill it.
    base_cost : float
        What the cheapest clusters cost together. Objectives set it.
    labels : ndarray of shape (n_samples,), int32
        Of the last call of :meth:`assign`, in visiting order.
    n_sweeps : int
        Passes over the point costs so far, soft and hard.
    """

    can_move_points = True

    def __init__(self, layout: Layout, n_clusters: int, weights: FloatArray | None = None, n_threads: int = 1) -> None:
        self.plan = kernels.Plan(layout.order, layout.start, layout.size, layout.chunk, layout.chunk_cell)
        self.layout = replace(layout, order=self.plan.order)  # one of them is enough
        self.n_clusters = n_clusters
        self.n_cells = layout.n_cells
        self.weights = weights
        self.is_weighted = weights is not None
        self.n_threads = n_threads
        self.n_samples = layout.n_samples
        self.total = float(layout.n_samples if weights is None else weights.sum())
        self._excess: FloatArray | None = None
        self._undecided: Undecided | None = None
        self._whose: tuple[object, ...] | None = None
        self._are_mixed = False
        self._gap = 0.0  # of the last labels
        self.base_cost = 0.0
        self.labels: IntArray = _room_for_labels(layout.n_samples)
        self._has_handed_out = False
        self.n_sweeps = 0
        self._steps = curvature_steps(layout.cell_counts, n_clusters)
        self._cold_steps = cold_steps(self._steps)
        counts_all_if_cold = bool((self._cold_steps == 1).all())
        self._can_sort = self.has_few_costs and counts_all_if_cold and n_clusters <= MOST_IN_TABLES

    @property
    def excess(self) -> FloatArray:
        """Room for the point costs, which is taken when it is first asked for."""
        if self._excess is None:
            self._make_room()
            shape = (self.layout.n_tiles, self.n_clusters, TILE)
            is_small = math.prod(shape) < _FEW_COSTS
            self._excess = (on_lines if is_small else in_own_pages)(shape, np.float32)
        return self._excess

    @property
    def base_cost(self) -> float:
        """What the cheapest clusters cost together."""
        return self._base_cost

    @base_cost.setter
    def base_cost(self, cost: float) -> None:
        self._base_cost, self._undecided, self._are_mixed = cost, None, False  # who sets it has filled in other costs
        self._whose = None

    def holds(self, *whose: object) -> bool:
        """Whether the point costs are known to be just these objects': an objective's, at some parameters."""
        return self._whose is not None and all(map(operator.is_, self._whose, whose))

    def remember(self, *whose: object) -> None:
        """Know whose point costs these are, until there are others."""
        self._whose = whose

    def _make_room(self) -> None:
        """Many bytes are needed next: what the C library keeps of others goes back first."""
        if not self.has_few_costs:
            give_back()

    def forget(self) -> None:
        """Give the room back: a sample is fitted next, and then the costs are filled anew."""
        self._excess = self._undecided = self._whose = None

    @property
    def person(self) -> float:
        """What a point weighs on average."""
        return self.total / max(self.n_samples, 1)

    def sampled(self, step: int) -> tuple[InMemorySweep, IntArray]:
        """Every step-th point of each cell: a sample with the data's group shares. Also its rows of X.

        Where that would be very many, fewer are taken, as from data that do not fit in memory. Of a rare cell more
        points are kept, with smaller weights: a few people more or less in a cluster must not decide whether it looks
        fair.
        """
        step = coarsened(step, self.n_samples)
        steps = sampling_steps(self.layout.cell_counts, self.n_clusters, step)
        kept, cells = self.layout.every_nth(steps)
        own = None if self.weights is None else self.weights[kept]
        weights = sampled_weights(steps, step, cells, own, self.cell_masses[0], self.n_samples)
        layout = build_layout(cells, self.n_cells)
        weights = None if weights is None else layout.to_visiting_order(weights)
        return InMemorySweep(layout, self.n_clusters, weights, self.n_threads), self.layout.order[kept]

    @property
    def cell_masses(self) -> FloatArray:
        """Weight of each cell, as one row (1, n_cells)."""
        if self.weights is None:
            return self.layout.cell_counts[None].astype(float)
        return np.bincount(self.layout.cells, weights=self.weights, minlength=self.n_cells)[None].astype(float)

    def last_labels(self) -> IntArray:
        """The labels, to keep and to change: the next ones are written elsewhere."""
        if self._has_handed_out:
            return self.labels.copy()
        self._has_handed_out = True
        return self.labels

    def rows_of(self, positions: IntArray) -> IntArray:
        """Positions are in visiting order."""
        return self.layout.order[positions]

    def user_labels(self, labels: IntArray) -> IntArray:
        """Labels in the user's order."""
        return self.layout.to_user_order(labels)

    def __call__(self, state: State, *, curvature: bool = False) -> Answer:
        """Count softmax(−scale·a − scaled_price) by group."""
        self.n_sweeps += 1
        masses, cost, log_partition, pairs, sampled = self._count(state, curvature=curvature)
        base = self._base_cost
        curved = (
            None if pairs is None or sampled is None else laplacian(pair_table(pairs, self.n_clusters), masses, sampled)
        )
        return Answer(masses.T, base + cost, log_partition - state.scale * base, curved)

    def _count(self, state: State, *, curvature: bool) -> Tables:
        """Of all points; where most are sure of their clusters, of the others, and of these once."""
        steps = self._steps
        if is_cold(state, self._gap):
            steps = self._cold_steps
            self._sort(state)
            if self._undecided is not None:
                return self._undecided.count(state, curvature=curvature, n_threads=self.n_threads)
        self._undecided = None
        return kernels.sweep(
            self.plan, self.excess, self.weights, state.scale, state.scaled_price.T,
            steps if curvature else None, None, self.n_threads,
        )  # fmt: skip

    def _sort(self, state: State) -> None:
        """Tell the undecided from the sure, unless that is done, or would bring nothing.

        They are copied: not of many rows, where room is dear, and curvature counts some of their runs only. Of very
        many clusters there are too few points to make a difference.
        """
        if self._undecided is not None and not self._undecided.has_sorted(state):
            self._undecided = None
        if self._undecided is None and self._can_sort and not self._are_mixed:
            self._undecided = sort_points(
                self.plan, self.layout, self.excess, self.weights, self.cell_masses[0], state, self.n_threads
            )
            self._are_mixed = self._undecided is None  # the mean gap is that of far people, and tells nothing

    @property
    def has_few_costs(self) -> bool:
        """Whether a second array of labels, or a few of the costs, takes no room to speak of."""
        return self.n_samples * self.n_clusters < _MANY_COSTS

    def assign(self, price: FloatArray, gaps: FloatArray | None = None, *, split: float = 0.0) -> HardAnswer:
        """Label every point argmin(a + price) and count the labels by cell; gaps to the second best go to ``gaps``.

        With a scale to ``split`` at, points that are undecided there are split by their soft assignments.
        """
        self.n_sweeps += 1
        if self._has_handed_out:
            self.labels = np.empty(0, dtype=np.int32)  # the old ones may be nobody's any more: first they go
            self._make_room()
            self.labels, self._has_handed_out = _room_for_labels(self.n_samples), False
        masses, cost, gap = kernels.assign(
            self.plan, self.excess, self.weights, price.T, self.labels, gaps, self.n_threads, split
        )
        self._gap = gap = gap / self.total if self.n_clusters > 1 and self.total > 0 else 0.0
        return HardAnswer(masses.T, self.base_cost + cost, gap)

    def weigh(self, price: FloatArray) -> HardAnswer:
        """The same."""
        return self.assign(price)

    def hold(self, costs: FloatArray) -> None:
        """Take point costs (n_samples, n_clusters) in visiting order: for objectives that have no kernel."""
        cheapest = costs.min(axis=1)
        every = np.arange(len(costs))
        tile = np.repeat(np.arange(self.layout.n_tiles), self.layout.size)
        self.excess[tile, :, every - self.layout.start[tile]] = costs - cheapest[:, None]
        self.base_cost = float(cheapest.sum() if self.weights is None else self.weights @ cheapest)

    def candidates(self, labels: IntArray, move_kinds: IntArray, count: int) -> Candidates:
        """Points whose moves cost least."""
        kinds = np.ascontiguousarray(move_kinds, dtype=np.int64)
        kind, position, extra = kernels.cheapest_moves(self.plan, self.excess, labels, kinds, count).T
        position = position.astype(np.int64)
        mass = np.ones(len(position)) if self.weights is None else self.weights[position]
        return Candidates(kind.astype(np.int64), position, extra, mass)

    def gaps(self, price: FloatArray) -> FloatArray:
        """How much dearer each point's second choice is, times its weight."""
        gaps = np.empty(self.n_samples, dtype=np.float32)
        self.assign(price, gaps)
        return gaps.astype(float) if self.weights is None else gaps * self.weights

    def costs_of_cell(self, cell: int) -> tuple[IntArray, FloatArray]:
        """Points of a cell, and their costs above the cheapest cluster, a row each."""
        members = np.flatnonzero(self.layout.cells == cell)
        return members, self.cost_rows(members)

    def move_points(self, labels: IntArray, moves: dict[int, int]) -> IntArray:
        """The same array: as many labels again would take room where costs, and labels to beat, have most of it."""
        labels[np.fromiter(moves, dtype=np.int64)] = np.fromiter(moves.values(), dtype=np.int32)
        return labels

    def keep_in(self, anchors: IntArray | None, labels: IntArray, hard: HardAnswer) -> HardAnswer:
        """Bring anchors back."""
        if anchors is None:
            return hard
        strays = [(k, int(p)) for k, p in enumerate(anchors) if p >= 0 and labels[p] != k]
        masses, cost = hard.masses.copy(), hard.cost
        for cluster, point in strays:
            mass = self._mass(point)
            excess, cell = self.cost_rows(np.array([point]))[0], self.layout.cells[point]
            masses[labels[point], cell] -= mass
            masses[cluster, cell] += mass
            cost += mass * float(excess[cluster] - excess[labels[point]])
            labels[point] = cluster
        return HardAnswer(masses, cost, hard.gap) if strays else hard

    def fill_empty(self, labels: IntArray, hard: HardAnswer, farthest: Callable[[], IntArray]) -> FloatArray:
        """The worst served points that leave nobody alone."""
        sizes = hard.masses.sum(axis=1)
        if sizes.min() > 0:
            return hard.masses
        empty = np.flatnonzero(sizes <= 0)
        masses, cells = hard.masses.copy(), self.layout.cells
        spare = iter(farthest())
        for cluster in empty:
            for point in spare:
                mass = self._mass(point)
                if mass > 0 and masses[labels[point]].sum() > mass:
                    masses[labels[point], cells[point]] -= mass
                    masses[cluster, cells[point]] += mass
                    labels[point] = cluster
                    break
        return masses

    def _mass(self, point: int) -> float:
        return 1.0 if self.weights is None else float(self.weights[point])

    def cost_rows(self, positions: IntArray) -> FloatArray:
        """Excess costs of some points (positions in visiting order), one row each."""
        tile, lane = self.layout.places(positions)
        return self.excess[tile, :, lane]

    def soft_rows(self, state: State) -> FloatArray:
        """Write the soft assignments out, (n_samples, n_clusters), in the user's order."""
        rows = np.empty((self.layout.n_samples, self.n_clusters), dtype=np.float32)
        kernels.soft_rows(self.plan, self.excess, state.scale, state.scaled_price.T, rows, self.n_threads)
        return rows


def _room_for_labels(n_samples: int) -> IntArray:
    """Every one of them is written before any is read."""
    return in_own_pages(n_samples, np.int32, is_clear=False)
