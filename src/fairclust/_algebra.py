"""The small algebra of the K×J world, between two sweeps: compiled where a compiler was at hand. Sees no point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ._core import fallback, kernels, sparse_small
from ._core.fallback_small import measured as measured_step
from ._core.sparse_small import Pairs, SparseCurvature
from ._typing import FloatArray, IntArray

_FAINT = 1e-3  # share of a group below which a cluster may hold crumbs only
_MOST_UNKNOWNS = 96  # of a system that is solved between two calls; of larger ones LAPACK makes short work


Curvature = FloatArray | SparseCurvature


def laplacian(pairs: Pairs, masses: FloatArray, sampled: FloatArray) -> Curvature:
    """Turn Σ s_k s_l over the sampled points (above the diagonal) into −∂masses/∂scaled_price of all points.

    ``masses`` are (cells, clusters), as kernels write them, ``sampled`` the weight of each cell's sampled points.
    """
    if isinstance(pairs, sparse.csr_array):
        return SparseCurvature.laplacian(pairs, masses, sampled, _FAINT)
    return kernels.laplacian(pairs, masses, sampled, _FAINT)


class Expansion(NamedTuple):
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


class Step(NamedTuple):
    """A step for unknowns of clusters.

    Attributes
    ----------
    step : ndarray of shape (n_clusters, n_unknowns)
    lengths : ndarray of the same shape
        In temperatures, without sign.
    longest : float
    promise : float
        Twice what it promises.
    """

    step: FloatArray
    lengths: FloatArray
    longest: float
    promise: float


class Look(NamedTuple):
    """What a sweep says of the relaxed energy at a weight, by column.

    Attributes
    ----------
    energy : float
    penalty : float
        Its part that is the weighted term.
    want : ndarray of shape (n_clusters, n_columns)
        What prices should change by: weight·slope − price.
    fall : ndarray of shape (n_clusters, n_columns)
        −∂energy/∂price.
    bend : ndarray of shape (n_clusters, n_columns, n_columns)
        The term's bend, times the weights.
    newton : Step or None
        Newton's step, however long; None: a cluster lost a group.
    """

    energy: float
    penalty: float
    want: FloatArray
    fall: FloatArray
    bend: FloatArray
    newton: Step | None


def weighted_look(
    curvature: Curvature, masses: FloatArray, price: FloatArray, scale: float, log_partition: float,
    membership: FloatArray, inverse: FloatArray, weights: FloatArray, term: Expansion,
) -> Look:  # fmt: skip
    """Look at a sweep's answer. ``masses`` and ``price`` are (clusters, cells); ``price @ inverse`` is by column."""
    is_small, curvature = term.slope.size <= _MOST_UNKNOWNS, np.asarray(curvature)
    energy, penalty, want, fall, bend, newton = kernels.weighted_look(
        curvature, np.ascontiguousarray(masses.T), np.ascontiguousarray(price), scale, log_partition, membership,
        inverse, weights, term.value, term.slope, term.bend, is_small,
    )  # fmt: skip
    if is_small:
        return Look(energy, penalty, want, fall, bend, None if newton is None else Step(*newton))
    step = fallback.newton_step(curvature, scale, membership, bend, want)
    return Look(energy, penalty, want, fall, bend, None if step is None else measured(step, scale, fall))


def measured(step: FloatArray, scale: float, slope: FloatArray) -> Step:
    """A step with its lengths and what it promises along a slope."""
    return Step(*measured_step(step, scale, slope))


def newton_step(
    curvature: Curvature, scale: float, membership: FloatArray, bend: FloatArray, want: FloatArray
) -> FloatArray | None:
    """Newton's step for prices by column, (I + B·A) x = want; None: a cluster lost a group.

    B = ``bend`` is a block per cluster; A is how column masses answer to column prices.
    """
    return _for_systems_of(want.size).newton_step(np.asarray(curvature), scale, membership, bend, want)


def damped_weight_step(
    curvature: Curvature, scale: float, membership: FloatArray, bend: FloatArray, fall: FloatArray, lengths: FloatArray
) -> FloatArray:
    """Newton's step at a weight, where an unknown alone goes no farther than its length, in temperatures."""
    solver = _for_systems_of(fall.size)
    return solver.damped_weight_step(np.asarray(curvature), scale, membership, bend, fall, lengths)


def damped_cone_step(
    curvature: Curvature, scale: float, through: FloatArray, bend: FloatArray, slope: FloatArray, lengths: FloatArray
) -> FloatArray:
    """The same for a goal, whose unknowns prices follow: ``through`` is ∂price/∂unknown."""
    solver = _for_systems_of(slope.size)
    return solver.damped_cone_step(np.asarray(curvature), scale, through, bend, slope, lengths)


def cone_slope(
    masses: FloatArray, membership: FloatArray, jacobian: FloatArray, offset_slope: FloatArray
) -> FloatArray:
    """Slope of a goal's dual by θ. ``masses`` are (clusters, cells), ``jacobian`` is ∂price/∂θ by column."""
    return kernels.cone_slope(np.ascontiguousarray(masses.T), membership, jacobian, offset_slope)


def cone_step(
    curvature: Curvature, scale: float, membership: FloatArray, jacobian: FloatArray, turn: FloatArray,
    offset_turn: FloatArray, people: FloatArray, slope: FloatArray, lengths: FloatArray,
) -> Step:  # fmt: skip
    """Newton's step for θ, where an unknown alone goes no farther than its length. ``people``: whose mixes turn."""
    solver, turn = _for_systems_of(slope.size, curvature), np.ascontiguousarray(turn)
    return Step(*solver.cone_step(curvature, scale, membership, jacobian, turn, offset_turn, people, slope, lengths))


class HeldLook(NamedTuple):
    """What a sweep says of the dual with sizes held, by column: its value, what clusters want, its slope."""

    value: float
    wanted: FloatArray
    slope: FloatArray


def held_look(
    masses: FloatArray, price: FloatArray, line: FloatArray, pull: FloatArray, scale: float, log_partition: float
) -> HeldLook:
    """Look at a sweep's answer, by column: wanted = pull / (line − price)."""
    return HeldLook(*kernels.held_look(np.ascontiguousarray(masses), price, line, pull, scale, log_partition))


def held_step(
    curvature: Curvature, scale: float, price: FloatArray, line: FloatArray, pull: FloatArray, look: HeldLook,
    lengths: FloatArray, stride: float,
) -> Step:  # fmt: skip
    """A damped step where cells are columns: each has a system of clusters. Up to so much of the way to the line."""
    solver = _for_systems_of(len(price), curvature)
    return Step(*solver.held_step(curvature, scale, price, line, pull, look.wanted, look.slope, lengths, stride))


def rounding(
    curvature: Curvature, masses: FloatArray, before: FloatArray, after: FloatArray, labelled: FloatArray, most: float
) -> FloatArray:
    """What labels hold over what soft assignments hold after a change of the scaled prices; by cluster and cell."""
    masses, labelled = np.ascontiguousarray(masses.T), np.ascontiguousarray(labelled.T)
    solver = sparse_small if isinstance(curvature, SparseCurvature) else kernels
    return np.asarray(solver.rounding(curvature, masses, before, after, labelled, most))


def learned_lengths(
    lengths: FloatArray, step: FloatArray, length: FloatArray, before: FloatArray, after: FloatArray,
    is_taken: bool, is_kept: bool, matters: float, growth: float,
) -> None:  # fmt: skip
    """How far each unknown is trusted (IN/OUT), after a step, from its slopes at the step's ends."""
    step, length = np.ascontiguousarray(step), np.ascontiguousarray(length)
    before, after = np.ascontiguousarray(before), np.ascontiguousarray(after)
    kernels.learned_lengths(lengths, step, length, before, after, is_taken, is_kept, matters, growth)


def _for_systems_of(n_unknowns: int, curvature: Curvature | None = None) -> Any:
    """Who solves them: large ones are LAPACK's, those without most pairs of clusters take products alone."""
    if isinstance(curvature, SparseCurvature):
        return sparse_small
    return kernels if n_unknowns <= _MOST_UNKNOWNS else fallback


def kl_value(masses: FloatArray, size: FloatArray | None, target: FloatArray, smallest: float) -> FloatArray:
    """KL(target ‖ masses/size) of each row; shares below ``smallest`` count as that. No size: the sum of the masses.

    The target is what :func:`rows` makes of it, here and below.
    """
    sizes = None if size is None else np.ascontiguousarray(size, dtype=float).ravel()
    return kernels.kl_value(masses, sizes, target, smallest)


def kl_beyond(masses: FloatArray, size: FloatArray, target: FloatArray, limit: float, smallest: float) -> FloatArray:
    """People by which each row is beyond an error: size · (KL − limit), where that is positive."""
    return kernels.kl_beyond(masses, size, target, limit, smallest)


def kl_expansion(masses: FloatArray, target: FloatArray, smallest: float) -> Expansion:
    """The same as :func:`kl_value`, with its slope and its bend."""
    return Expansion(*kernels.kl_expansion(masses, target, smallest))


def move_rows(masses: FloatArray, clusters: IntArray, unit: float) -> FloatArray:
    """Rows of masses, for each of some clusters: as it is, with a person of each cell more, then with one less."""
    return kernels.move_rows(masses, clusters, unit)


def note_moves(values: FloatArray, clusters: IntArray, value: FloatArray, enter: FloatArray, leave: FloatArray) -> None:
    """Take what those rows cost apart (OUT, of these clusters): as they are, and what entering and leaving costs."""
    kernels.note_moves(values, clusters, value, enter, leave)


def error_mixes(
    theta: FloatArray, center: FloatArray, limit: float, softness: float, flat: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The dearest mixes with KL(centre ‖ q) ≤ limit, their worth, and how they turn with θ."""
    return kernels.error_mixes(np.ascontiguousarray(theta), center, limit, softness, flat)


def rows(values: FloatArray) -> FloatArray:
    """A table as kernels take it; one row stands for all. What is such a table is left as it is."""
    return np.ascontiguousarray(values if values.ndim == 2 else values[None], dtype=float)
