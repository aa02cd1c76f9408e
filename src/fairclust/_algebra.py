"""The small algebra of the K×J world, between two sweeps: compiled where a compiler was at hand. Sees no point."""

from __future__ import annotations

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
