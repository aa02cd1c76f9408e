"""Exactly proportional: one fair mix, the target. Whole people are within one of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._fairness.notion import rows_of
from .._typing import FloatArray
from .cone import ROUNDING, Cone, Mixes


@dataclass(frozen=True)
class ExactCone(Cone):
    """The target alone: its cone is a ray.

    Parameters
    ----------
    target : ndarray of shape (n_groups,) or (n_clusters, n_groups)
    """

    target: FloatArray
    rounding_slack: float = 1.0

    @property
    def center(self) -> FloatArray:
        """The target."""
        return self.target

    def mixes(self, theta: FloatArray, softness: float) -> Mixes:
        """The target, whatever the prices."""
        shares = np.broadcast_to(self.target, theta.shape)
        return Mixes(shares, (theta * shares).sum(axis=1), np.zeros((*theta.shape, theta.shape[1])))

    def beyond(self, masses: FloatArray, size: FloatArray, clusters: FloatArray | None = None) -> FloatArray:
        """People beyond the whole number on either side of the ideal."""
        ideal = rows_of(self.target, clusters) * size
        few, many = np.floor(ideal + ROUNDING) - masses, masses - np.ceil(ideal - ROUNDING)
        return np.maximum(np.maximum(few, many) - ROUNDING, 0.0).sum(axis=1)
