"""The small algebra of the K×J world, between two sweeps: compiled where a compiler was at hand. Sees no point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._core import fallback, kernels
from ._typing import FloatArray

_FAINT = 1e-3  # share of a group below which a cluster may hold crumbs only
_MOST_UNKNOWNS = 96  # of a system that is solved between two calls; of larger ones LAPACK makes short work


def laplacian(pairs: FloatArray, masses: FloatArray, sampled: FloatArray) -> FloatArray:
    """Turn Σ s_k s_l over the sampled points (above the diagonal) into −∂masses/∂scaled_price of all points.

    ``masses`` are (cells, clusters), as kernels write them, ``sampled`` the weight of each cell's sampled points.
    """
    return kernels.laplacian(pairs, masses, sampled, _FAINT)


@dataclass(frozen=True)
class Expansion:
    """A fairness term about some masses: to the second order, without the part that bends downwards.

    Attributes
    ----------
    value : ndarray of shape (n_clusters,)
    slope : ndarray of shape (n_clusters, n_columns)
    bend : ndarray of shape (n_clusters, n_columns, n_columns)
    """

    value: FloatArray
    slope: FloatArray
    bend: FloatArray


@dataclass(frozen=True)
class Logarithms:
    """A fairness term that is, up to a constant, logarithms of sizes less logarithms of masses.

    Attributes
    ----------
    size : ndarray of shape (n_clusters, n_columns)
        Weight of the log size of the part that the column belongs to.
    masses : ndarray of shape (n_clusters, n_columns)
        Weight of the log mass of each column.
    """

    size: FloatArray
    masses: FloatArray


@dataclass(frozen=True)
class Look:
    """What a sweep says of the relaxed energy at a weight, by column.

    Attributes
    ----------
    energy : float
    want : ndarray of shape (n_clusters, n_columns)
        What prices should change by: weight·slope − price.
    fall : ndarray of shape (n_clusters, n_columns)
        −∂energy/∂price.
    bend : ndarray of shape (n_clusters, n_columns, n_columns)
        The term's bend, times the weights.
    """

    energy: float
    want: FloatArray
    fall: FloatArray
    bend: FloatArray


def weighted_look(
    curvature: FloatArray, masses: FloatArray, price: FloatArray, scale: float, log_partition: float,
    membership: FloatArray, inverse: FloatArray, weights: FloatArray, term: Expansion,
) -> Look:  # fmt: skip
    """Look at a sweep's answer. ``masses`` and ``price`` are (clusters, cells); ``price @ inverse`` is by column."""
    found = kernels.weighted_look(
        curvature, np.ascontiguousarray(masses.T), np.ascontiguousarray(price), scale, log_partition, membership,
        inverse, weights, term.value, term.slope, term.bend,
    )  # fmt: skip
    return Look(*found)


def newton_step(
    curvature: FloatArray, scale: float, membership: FloatArray, bend: FloatArray, want: FloatArray
) -> FloatArray | None:
    """Newton's step for prices by column, (I + B·A) x = want; None: a cluster lost a group.

    B = ``bend`` is a block per cluster; A is how column masses answer to column prices.
    """
    return _for_systems_of(want.size).newton_step(curvature, scale, membership, bend, want)


def damped_weight_step(
    curvature: FloatArray, scale: float, membership: FloatArray, bend: FloatArray, fall: FloatArray, lengths: FloatArray
) -> FloatArray:
    """Newton's step at a weight, where an unknown alone goes no farther than its length, in temperatures."""
    solver = _for_systems_of(fall.size)
    return solver.damped_weight_step(curvature, scale, membership, bend, fall, lengths)


def damped_cone_step(
    curvature: FloatArray, scale: float, through: FloatArray, bend: FloatArray, slope: FloatArray, lengths: FloatArray
) -> FloatArray:
    """The same for a goal, whose unknowns prices follow: ``through`` is ∂price/∂unknown."""
    solver = _for_systems_of(slope.size)
    return solver.damped_cone_step(curvature, scale, through, bend, slope, lengths)


def damped_cell_steps(
    curvature: FloatArray, scale: float, bend: FloatArray, slope: FloatArray, lengths: FloatArray
) -> FloatArray:
    """The same where each cell has prices of its own, which bend by themselves: a system of clusters per cell."""
    return _for_systems_of(len(slope)).damped_cell_steps(curvature, scale, bend, slope, lengths)


def learned_lengths(
    lengths: FloatArray, step: FloatArray, length: FloatArray, before: FloatArray, after: FloatArray,
    is_taken: bool, is_kept: bool, matters: float, growth: float,
) -> None:  # fmt: skip
    """How far each unknown is trusted (IN/OUT), after a step, from its slopes at the step's ends."""
    step, length, before, after = (np.ascontiguousarray(table) for table in (step, length, before, after))
    kernels.learned_lengths(lengths, step, length, before, after, is_taken, is_kept, matters, growth)


def _for_systems_of(n_unknowns: int) -> Any:
    """Who solves them: large ones are LAPACK's."""
    return kernels if n_unknowns <= _MOST_UNKNOWNS else fallback


def kl_value(masses: FloatArray, size: FloatArray | None, target: FloatArray, smallest: float) -> FloatArray:
    """KL(target ‖ masses/size) of each row; shares below ``smallest`` count as that. No size: the sum of the masses."""
    sizes = None if size is None else np.ascontiguousarray(size, dtype=float).ravel()
    return kernels.kl_value(_rows(masses), sizes, _rows(target), smallest)


def kl_expansion(masses: FloatArray, target: FloatArray, smallest: float) -> Expansion:
    """The same with its slope and its bend."""
    return Expansion(*kernels.kl_expansion(_rows(masses), _rows(target), smallest))


def error_mixes(
    theta: FloatArray, center: FloatArray, limit: float, softness: float, flat: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The dearest mixes with KL(centre ‖ q) ≤ limit, their worth, and how they turn with θ."""
    return kernels.error_mixes(_rows(theta), _rows(center), limit, softness, flat)


def _rows(values: FloatArray) -> FloatArray:
    """As kernels take it; one row stands for all."""
    return np.ascontiguousarray(values if values.ndim == 2 else values[None], dtype=float)
