"""KL(target ‖ shares) ≤ ε: q_j = κ·target_j/(μ − θ_j), one root in μ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._algebra import error_mixes, rows
from .._fairness.kl import people_beyond
from .._fairness.notion import rows_of
from .._typing import FloatArray
from .cone import Cone, Mixes

_FLAT = 1e-9  # of the largest spread of prices in a row, or of the softness: below this a row is flat
_ABSENT = 1e-12  # a group that is not wanted takes room all the same: so much of it is as good as none


@dataclass(frozen=True)
class ErrorCone(Cone):
    """Compositions whose error, KL(target ‖ q), is at most ``limit``.

    Parameters
    ----------
    target : ndarray of shape (n_groups,) or (n_clusters, n_groups)
    limit : float
        ε > 0.
    """

    target: FloatArray
    limit: float

    @cached_property
    def center(self) -> FloatArray:
        """The target."""
        wanted = np.maximum(self.target, _ABSENT)
        return wanted / wanted.sum(axis=-1, keepdims=True)

    @cached_property
    def _center_rows(self) -> FloatArray:
        """The same as kernels take it."""
        return rows(self.center)

    @cached_property
    def _rows(self) -> FloatArray:
        """The target as kernels take it."""
        return rows(self.target)

    def mixes(self, theta: FloatArray, softness: float) -> Mixes:
        """The dearest mix: inside where softness keeps it there, else on the rim."""
        return Mixes(*error_mixes(theta, self._center_rows, self.limit, softness, _FLAT))

    def beyond(self, masses: FloatArray, size: FloatArray, clusters: FloatArray | None = None) -> FloatArray:
        """Size · (error − ε) where that is positive: a perspective, so convex."""
        return people_beyond(masses, size, rows_of(self._rows, clusters), self.limit)
