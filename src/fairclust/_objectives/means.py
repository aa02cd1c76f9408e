"""What objectives share whose centres are means. Knows no row."""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray
from ._base import Objective

_TINY = float(np.finfo(float).tiny)


class MeansObjective(Objective):
    """Σ_p ‖x_p − c_k(p)‖², whatever the rows are. A subclass knows them."""

    can_extrapolate = True


def means_of(sums: FloatArray, sizes: FloatArray, before: FloatArray) -> FloatArray:
    """Sums over sizes, in the type of the centres before; a cluster without rows keeps its centre."""
    is_there = sizes[:, None] > 0
    means = np.where(is_there, sums / np.maximum(sizes, _TINY)[:, None], before)
    return np.ascontiguousarray(means, dtype=before.dtype)
