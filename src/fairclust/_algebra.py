"""The small algebra of the K×J world, between two sweeps: compiled where a compiler was at hand. Sees no point."""

from __future__ import annotations

import numpy as np

from ._core import kernels
from ._typing import FloatArray

_FAINT = 1e-3  # share of a group below which a cluster may hold crumbs only


def laplacian(pairs: FloatArray, masses: FloatArray, sampled: FloatArray) -> FloatArray:
    """Turn Σ s_k s_l over the sampled points (above the diagonal) into −∂masses/∂scaled_price of all points.

    ``masses`` are (cells, clusters), as kernels write them, ``sampled`` the weight of each cell's sampled points.
    """
    return kernels.laplacian(pairs, masses, sampled, _FAINT)


def response(laplacians: FloatArray, through: FloatArray) -> FloatArray:
    """How slopes answer to unknowns that prices follow: Σ_c through_kct · L_ckl · through_lcu over (k, t) and (l, u).

    ``laplacians`` are (cells, clusters, clusters), ``through`` is ∂price/∂unknown, (clusters, cells, unknowns).
    """
    return kernels.response(laplacians, through)


def newton_system(
    curvature: FloatArray, scale: float, membership: FloatArray, bend: FloatArray, want: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Newton's system for prices by column, (I + B·A) x = want, in the space where B = R·Rᵀ bends.

    Returns I + Rᵀ·A·R, which is symmetric and positive, Rᵀ·A·want, and R, (clusters, columns, rank): x = want − R·y.
    B = ``bend`` is a block per cluster; A is how column masses answer to column prices.
    """
    return kernels.newton_system(curvature, scale, membership, bend, want)


def kl_value(masses: FloatArray, size: FloatArray, target: FloatArray, smallest: float) -> FloatArray:
    """KL(target ‖ masses/size) of each row; shares below ``smallest`` count as that."""
    return kernels.kl_value(_rows(masses), np.ascontiguousarray(size, dtype=float).ravel(), _rows(target), smallest)


def kl_bend(masses: FloatArray, target: FloatArray, smallest: float) -> FloatArray:
    """Its second derivative by the masses without the negative part, (rows, groups, groups)."""
    return kernels.kl_bend(_rows(masses), _rows(target), smallest)


def error_mixes(
    theta: FloatArray, center: FloatArray, limit: float, softness: float, flat: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The dearest mixes with KL(centre ‖ q) ≤ limit, their worth, and how they turn with θ."""
    return kernels.error_mixes(_rows(theta), center, limit, softness, flat)


def _rows(values: FloatArray) -> FloatArray:
    """As kernels take it; one row stands for all."""
    return np.ascontiguousarray(np.atleast_2d(values), dtype=float)
