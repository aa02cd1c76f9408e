"""Sizes between bounds: a price for everyone. The dual gains −max(upper·ρ, lower·ρ)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import FloatArray
from .cone import ROUNDING


@dataclass(frozen=True)
class SizeInterval:
    """What every cluster may hold.

    Parameters
    ----------
    lower, upper : float
        Masses.
    """

    lower: float
    upper: float

    def at(self, rho: FloatArray, softness: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The dearest size of each cluster at price ρ, what it is worth, and how it grows with ρ."""
        if softness == 0 or self.upper <= self.lower:
            size = np.where(rho > 0, self.upper, self.lower)
            return size, size * rho, np.zeros_like(rho)
        middle, stiffness = (self.lower + self.upper) / 2, 2.0 * softness / (self.upper - self.lower)
        free = middle + rho / stiffness
        size = np.clip(free, self.lower, self.upper)
        worth = size * rho - stiffness * (size - middle) ** 2 / 2
        return size, worth, np.where(size == free, 1.0 / stiffness, 0.0)

    def scaled(self, fraction: float) -> SizeInterval:
        """The same bounds for a sample."""
        return SizeInterval(self.lower * fraction, self.upper * fraction)

    def are_kept(self, sizes: FloatArray) -> bool:
        """Whether these sizes are within the bounds, as shares of all weight, but for rounding."""
        fraction = sizes / sizes.sum()
        return bool((fraction >= self.lower * (1 - ROUNDING)).all() and (fraction <= self.upper * (1 + ROUNDING)).all())

    def beyond(self, size: FloatArray) -> FloatArray:
        """People too few or too many."""
        return np.maximum(
            np.maximum(np.ceil(self.lower - ROUNDING) - size, size - np.floor(self.upper + ROUNDING)), 0.0
        )
