"""What objectives share whose centres are means: what it costs to be beside them, how far they moved. Knows no row."""

from __future__ import annotations

import numpy as np

from .._sweep.question import Answer
from .._typing import FloatArray
from ._base import Objective
from .centers import movement


class MeansObjective(Objective):
    """Σ_p ‖x_p − c_k(p)‖², whatever the rows are. A subclass knows them."""

    can_lead = True
    can_relocate = True

    variance: float
    """Mean variance of the coordinates: what ``tol`` is relative to."""

    def soft_value(self, answer: Answer, old: FloatArray, new: FloatArray) -> float:
        """Moving c_k to the mean saves n_k ‖Δc_k‖²."""
        return answer.cost - self.lead(old, new, answer.masses.sum(axis=1))

    def ahead(self, old: FloatArray, new: FloatArray, reach: float) -> FloatArray:
        """Go on from old to new, and a part of that way farther."""
        return np.ascontiguousarray(new + reach * (new - old), dtype=new.dtype)

    def lead(self, at: FloatArray, own: FloatArray, sizes: FloatArray) -> float:
        """Labels cost Σ_k n_k ‖c_k − mean_k‖² more than at their means."""
        change = np.subtract(at, own, dtype=float)
        return float(np.vdot(sizes[:, None] * change, change))

    def movement(self, old: FloatArray, new: FloatArray) -> float:
        """Σ_k ‖Δc_k‖² over the variance, as scikit-learn measures it."""
        return movement(old, new, self.variance)
