"""Overlapping groups: Σ μ log(μ/p) − μ + p ≤ ε. p_j = κ·μ_j/(κ − θ_j), one root in κ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._core.mixes import falling_root
from .._fairness.notion import rows_of
from .._fairness.overlap import overlap_errors
from .._typing import FloatArray
from .cone import Cone, Mixes

_FLAT = 1e-9  # of the largest price, or of the softness: below this a row is flat, as for groups that do not overlap


@dataclass(frozen=True)
class OverlapCone(Cone):
    """Shares, each of everyone, whose error is at most ``limit``; they need not add up to 1.

    Parameters
    ----------
    target : ndarray of shape (n_groups,) or (n_clusters, n_groups)
    limit : float
        ε > 0.
    """

    target: FloatArray
    limit: float

    @property
    def center(self) -> FloatArray:
        """The target."""
        return self.target

    def mixes(self, theta: FloatArray, softness: float) -> Mixes:
        """The dearest shares: κ is the softness, or as much as the rim asks for."""
        target = np.broadcast_to(self.target, theta.shape)
        scale = abs(theta).max(axis=1)
        flat = scale <= max(_FLAT * max(float(scale.max()), softness), np.finfo(float).tiny ** 0.25)
        scale = np.where(flat, max(float(scale.max()), softness, np.finfo(float).tiny ** 0.25), scale)
        t = np.where(flat[:, None], 0.0, theta / scale[:, None])
        rim = np.where(flat & (softness == 0), 1.0, 0.0)
        rim[~flat] = _rim(t[~flat], target[~flat], self.limit)
        delta = softness / scale
        kappa = np.maximum(rim, delta)
        room = kappa[:, None] - t
        shares = kappa[:, None] * target / room
        speed = kappa[:, None] * target / room**2
        turn = np.zeros((*theta.shape, theta.shape[1]))
        diagonal = np.arange(theta.shape[1])
        turn[:, diagonal, diagonal] = speed
        pulled = speed * t
        length = (pulled * t).sum(axis=1)
        on_rim = (rim >= delta) & (length > 0)
        turn[on_rim] -= (pulled[:, :, None] * pulled[:, None, :])[on_rim] / length[on_rim, None, None]
        error = (target * (np.log(room / kappa[:, None]) - 1.0) + shares).sum(axis=1)
        worth = (theta * shares).sum(axis=1) - softness * np.clip(error, 0.0, self.limit)
        return Mixes(shares, worth, turn / scale[:, None, None])

    def beyond(self, masses: FloatArray, size: FloatArray, clusters: FloatArray | None = None) -> FloatArray:
        """Size · (error − ε) where that is positive."""
        error = overlap_errors(masses, size, rows_of(self.target, clusters))
        return np.maximum(size[:, 0] * (error - self.limit), 0.0)


def _rim(t: FloatArray, target: FloatArray, limit: float) -> FloatArray:
    """The κ at which the error is ``limit``: Newton on logarithms of κ above its least value, kept in a bracket."""
    least = np.maximum(t.max(axis=1), 0.0)
    x = np.log(np.sqrt((target * t**2).sum(axis=1) / (2 * limit)) + 1e-9)

    def gap_and_slope(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        kappa = least + np.exp(x)
        part = t / kappa[:, None]
        rest = np.maximum(1.0 - part, 1e-100)
        error = np.maximum((target * (np.log(rest) + part / rest)).sum(axis=1), 1e-300)
        # d error / d part = part / rest², and part falls as κ grows.
        slope = -np.exp(x) * (target * part**2 / rest**2).sum(axis=1) / kappa / error
        return np.log(error / limit), slope

    return least + np.exp(falling_root(x, gap_and_slope))
