"""Centres in space: metrics, how far they moved, and what means ahead of their labels cost. In memory and in blocks."""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray

SQUARED_EUCLIDEAN, EUCLIDEAN, MANHATTAN = 0, 1, 2  # metrics, as the kernels number them


def movement(old: FloatArray, new: FloatArray, variance: float) -> float:
    """Σ_k ‖Δc_k‖² over the mean variance of the features, as scikit-learn measures it."""
    moved = float(((new.astype(float) - old.astype(float)) ** 2).sum())
    return moved / variance if variance > 0 else 0.0


def ahead(old: FloatArray, new: FloatArray, reach: float) -> FloatArray:
    """Go on from old to new, and a share of that way farther."""
    return np.ascontiguousarray(new + reach * (new - old), dtype=new.dtype)


def lead(at: FloatArray, own: FloatArray, sizes: FloatArray) -> float:
    """Labels cost Σ_k n_k ‖c_k − mean_k‖² more than at their means."""
    return float(sizes @ ((at.astype(float) - own.astype(float)) ** 2).sum(axis=1))
