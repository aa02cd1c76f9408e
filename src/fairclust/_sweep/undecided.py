"""Sweeps at low temperatures visit the undecided: a point that is sure of its cluster is counted once.

A point is sure at some prices when its second choice costs so much more that nothing of the point goes there. It stays
so while prices change by less than what its second choice costs beyond that. So the masses, and all else that a sweep
counts, are the same to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core import kernels
from .._core.tiles import TILE
from .._memory import on_lines
from .._typing import FloatArray
from .layout import Layout, build_layout
from .question import State

_SURE = 24.0  # temperatures beyond the best: exp(-24) of everyone is nobody
_MARGIN = 2 * _SURE  # as much again that prices may change by, one against another, until points are sorted again
_MOST = 0.25  # of the mean gap to the second choice that margins may be: then about as many points are undecided
_MANY = 0.5  # of all points, however: then nothing is gained

Tables = tuple[FloatArray, float, float, Any, FloatArray | None]
"""What the kernel ``sweep`` counts."""


@dataclass(frozen=True)
class Undecided:
    """The undecided points, and what the others count.

    Attributes
    ----------
    price : ndarray of shape (n_clusters, n_cells)
        At which points were sorted.
    margin : float
        What every other point's second choice costs more than its first, at least.
    masses : ndarray of shape (n_cells, n_clusters)
        Of the sure points.
    cost : float
        Their excess cost.
    growth : ndarray of shape (n_cells,)
        Weight of all points over that of the undecided ones.
    """

    price: FloatArray
    margin: float
    masses: FloatArray
    cost: float
    growth: FloatArray
    plan: kernels.Plan
    excess: FloatArray
    weights: FloatArray | None

    def has_sorted(self, state: State) -> bool:
        """Whether the sure points are sure at this state, too."""
        moved = np.ptp(state.price - self.price, axis=0).max()
        return bool(moved + _SURE / state.scale <= self.margin)

    def count(self, state: State, *, curvature: bool, n_threads: int) -> Tables:
        """What the kernel counts over all points."""
        scaled_price = state.scaled_price.T
        steps = np.ones(len(scaled_price), dtype=np.int64) if curvature else None
        masses, cost, log_partition, pairs, sampled = kernels.sweep(
            self.plan, self.excess, self.weights, state.scale, scaled_price, steps, None, n_threads
        )
        log_partition -= state.scale * self.cost + float((self.masses * scaled_price).sum())
        if pairs is not None:
            n_clusters = masses.shape[1]
            pairs.reshape(-1, n_clusters**2)[:, :: n_clusters + 1] += self.masses  # the diagonals
            sampled *= self.growth
        return masses + self.masses, cost + self.cost, log_partition, pairs, sampled


def is_cold(state: State, gap: float) -> bool:
    """Whether few points are undecided at this temperature, where second choices cost so much more on average."""
    return _MARGIN / state.scale <= _MOST * gap


def sort_points(
    plan: kernels.Plan,
    layout: Layout,
    excess: FloatArray,
    weights: FloatArray | None,
    cell_masses: FloatArray,
    state: State,
    n_threads: int,
) -> Undecided | None:
    """Tell the undecided from the sure; None: they are many."""
    price, margin = state.price, _MARGIN / state.scale
    masses, cost, places = kernels.open_places(plan, excess, weights, price.T, margin, n_threads)
    if len(places) > _MANY * layout.n_samples:
        return None
    positions = layout.start[places // TILE] + places % TILE
    few = build_layout(layout.cells[positions], layout.n_cells)
    own = kernels.Plan(few.order, few.start, few.size, few.chunk, few.chunk_cell)
    copy = on_lines((few.n_tiles, excess.shape[1], TILE), np.float32)
    kernels.copy_costs(excess, places[few.order], own, copy)
    undecided = cell_masses - masses.sum(axis=1)
    growth = np.divide(cell_masses, undecided, out=np.ones_like(undecided), where=undecided > 0)
    return Undecided(
        price, margin, masses, cost, growth, own, copy, None if weights is None else weights[positions[few.order]]
    )
