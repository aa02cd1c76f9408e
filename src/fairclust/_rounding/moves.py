"""What it costs to move rows between clusters, near labels that are argmin of costs + prices."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from .._dual.oracle import Assignment, Moves, Oracle
from .._typing import FloatArray, IntArray

FIRST = 16  # moves of each kind that are looked up at first
RANKS = (10, 100, 1000)  # of sorted moves: by decades, few prices follow the whole curve


class Rows(Oracle, Protocol):
    """An oracle whose rows can be put into clusters and moved."""

    can_move_rows: bool
    """Whether ``costs_of`` is known: the rows are in memory."""

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights: then counts say nothing."""
        ...

    def assign(self, prices: FloatArray, split: float = 0.0) -> Assignment:
        """Every row in its cheapest cluster."""
        ...

    def cheapest_moves(self, labels: Any, kinds: IntArray, count: int) -> Moves:
        """The cheapest moves of each kind (cell, from, to)."""
        ...

    def moved(self, labels: Any, rows: IntArray, clusters: IntArray) -> Any:
        """Labels after some rows moved."""
        ...

    def weights_of(self, rows: IntArray) -> FloatArray:
        """Sample weights of some rows."""
        ...

    def costs_of(self, rows: IntArray) -> FloatArray:
        """Costs of some rows above their cheapest cluster."""
        ...


@dataclass(frozen=True, eq=False)
class MoveCosts:
    """What the counts of each cluster and cell cost, near those of some labels.

    A row that moves from k to l costs price_k − price_l and its reduced cost, which is what costs + prices of l are
    above those of k.

    Parameters
    ----------
    oracle : Rows
    assigned : Assignment
        Labels that are argmin of costs + prices.
    prices : ndarray of shape (n_clusters, n_cells)
    """

    oracle: Rows
    assigned: Assignment
    prices: FloatArray

    @cached_property
    def counts(self) -> IntArray:
        """Rows of each cluster and cell."""
        return np.round(self.assigned.masses).astype(np.int64)

    @property
    def cost(self) -> float:
        """Of the labels."""
        return self.assigned.cost

    @cached_property
    def first(self) -> tuple[IntArray, Moves]:
        """Kinds of moves (cell, from, to), and the first ``FIRST`` moves of each."""
        kinds = kinds_of_moves(self.counts > 0)
        return kinds, self.oracle.cheapest_moves(self.assigned.labels, kinds, FIRST)

    @cached_property
    def pairs(self) -> FloatArray:
        """The cost of the first row that moves from k to l, (n_cells, from, to); infinity: nobody is there."""
        kinds, moves = self.first
        n_clusters, n_cells = self.prices.shape
        pairs = np.full((n_cells, n_clusters, n_clusters), np.inf)
        np.minimum.at(pairs, tuple(kinds[moves.kind].T), moves.extra)
        return pairs

    @property
    def enter(self) -> FloatArray:
        """Mean reduced costs of those nearest to a cluster, up to each of ``RANKS`` and beyond, (K, C, S)."""
        return self._by_decades[0]

    @property
    def leave(self) -> FloatArray:
        """The same of those who leave a cluster, each to their second best."""
        return self._by_decades[1]

    @cached_property
    def _by_decades(self) -> tuple[FloatArray, FloatArray]:
        n_cells = self.prices.shape[1]
        kinds = kinds_of_moves(self.counts > 0)
        moves = self.oracle.cheapest_moves(self.assigned.labels, kinds, RANKS[-1])
        cell, source, target = kinds[moves.kind].T
        reduced = np.maximum(moves.extra + self.prices[target, cell] - self.prices[source, cell], 0.0)
        first = np.argsort(reduced, kind="stable")
        enter = _means_by_decades(reduced[first], (target * n_cells + cell)[first], self.prices.size)
        # Of a row's moves only that to its second best counts among those who leave.
        first = first[np.sort(np.unique(moves.row[first], return_index=True)[1])]
        leave = _means_by_decades(reduced[first], (source * n_cells + cell)[first], self.prices.size)
        return enter.reshape(*self.prices.shape, -1), leave.reshape(*self.prices.shape, -1)


@dataclass(frozen=True, eq=False)
class FreeMoves:
    """The same where every table near some counts is as good as every other; a person moved costs 1."""

    counts: IntArray
    cost: float = 0.0

    @property
    def prices(self) -> FloatArray:
        """None."""
        return np.zeros(self.counts.shape)

    @property
    def pairs(self) -> FloatArray:
        """1 each."""
        n_clusters, n_cells = self.counts.shape
        return np.ones((n_cells, n_clusters, n_clusters))

    @property
    def enter(self) -> FloatArray:
        """Nothing."""
        return np.zeros((*self.counts.shape, 1))

    @property
    def leave(self) -> FloatArray:
        """Nothing."""
        return np.zeros((*self.counts.shape, 1))


def kinds_of_moves(has_rows: FloatArray) -> IntArray:
    """All kinds (cell, from, to) where somebody is, from a table (n_clusters, n_cells)."""
    cell, source = np.nonzero(has_rows.T)
    n_clusters = len(has_rows)
    kinds = np.column_stack([
        np.repeat(cell, n_clusters), np.repeat(source, n_clusters), np.tile(np.arange(n_clusters), len(cell))
    ])  # fmt: skip
    return kinds[kinds[:, 1] != kinds[:, 2]]


def steps_of(n_steps: int, n_people: float) -> FloatArray:
    """How many people each step of prices holds."""
    return np.append(np.diff((0, *RANKS[: n_steps - 1])), n_people)


def _means_by_decades(values: FloatArray, place: IntArray, n_places: int) -> FloatArray:
    """Means of ascending values between ``RANKS``, place by place, (n_places, n_ranks + 1); of none: the largest."""
    order = np.argsort(place, kind="stable")
    counts = np.bincount(place, minlength=n_places)
    rank = np.arange(len(values)) - np.repeat(np.cumsum(counts) - counts, counts)
    step = np.searchsorted(RANKS, rank, side="right")
    where = place[order] * (len(RANKS) + 1) + step
    n = np.bincount(where, minlength=n_places * (len(RANKS) + 1))
    sums = np.bincount(where, values[order], len(n))
    means = np.where(n > 0, sums / np.maximum(n, 1), np.nan).reshape(n_places, -1)
    largest = float(values.max(initial=0.0))
    last = np.full(n_places, largest)
    np.maximum.at(last, place, 0.0)
    ends = np.cumsum(counts)[counts > 0] - 1
    last[counts > 0] = values[order][ends]
    return np.where(np.isnan(means), last[:, None], means)
