"""KL(target ‖ shares): the paper's notion, for groups that everyone is in one of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._algebra import Expansion, kl_beyond, kl_expansion, kl_value, rows
from .._typing import FloatArray, IntArray
from .notion import SMALLEST_SHARE, ShareTerms, rows_of, with_floor


@dataclass(frozen=True)
class KLFairness:
    """KL(target ‖ P_k) of every cluster k, where P_k are the shares of the groups in the cluster.

    Parameters
    ----------
    target : ndarray of shape (n_groups,) or (n_clusters, n_groups)
        The wanted share of each group, in all clusters or in each; non-negative, rows sum to 1. A group with target 0
        costs nothing by itself: it only takes room from the others.
    """

    target: FloatArray

    @cached_property
    def _rows(self) -> FloatArray:
        """The target as kernels take it."""
        return rows(self.target)

    @property
    def overlaps(self) -> bool:
        """Whether people may be in several groups, or in none."""
        return False

    @property
    def is_logarithmic(self) -> bool:
        """Whether it is log size − Σ target · log masses, up to a constant."""
        return True

    @property
    def n_columns(self) -> int:
        """One per group."""
        return int(self.target.shape[-1])

    @property
    def entropy(self) -> float:
        """Entropy of the target (mean over clusters): the cross-entropy of the paper's Eq. (3) in fair clusters."""
        wanted = self.target[self.target > 0]
        return float(-(wanted * np.log(wanted)).sum()) / (len(self.target) if self.target.ndim == 2 else 1)

    @property
    def share_terms(self) -> ShareTerms:
        """Σ μ log(μ/p)."""
        return ShareTerms(self.target, self.target, np.zeros_like(self.target))

    def scaled(self, fraction: float) -> KLFairness:
        """The same: proportions do not change with the weight."""
        return self

    def value(self, masses: FloatArray, clusters: IntArray | None = None) -> FloatArray:
        """Fairness error of each cluster, shape (n_clusters,). An empty cluster counts as lacking every group."""
        return kl_value(masses, None, rows_of(self._rows, clusters), SMALLEST_SHARE)

    def slope(self, masses: FloatArray) -> FloatArray:
        """Derivative of each cluster's value by its masses, shape (n_clusters, n_groups)."""
        size, floored = with_floor(masses, masses.sum(axis=1, keepdims=True))
        # d/dm_j [log n − Σ_j μ_j log m_j] = 1/n − μ_j/m_j
        return 1.0 / size - self.target / floored

    def expansion(self, masses: FloatArray) -> Expansion:
        """Value, slope, and the positive part of the second derivative.

        The term is convex near the target only; the negative part is cut off, so that a step that trusts the bend
        goes downhill everywhere.
        """
        return kl_expansion(masses, self._rows, SMALLEST_SHARE)


def people_beyond(masses: FloatArray, size: FloatArray, target: FloatArray, limit: float) -> FloatArray:
    """Size · (KL(target ‖ masses/size) − limit) of each row where that is positive, (n_rows,)."""
    return kl_beyond(masses, size, target, limit, SMALLEST_SHARE)
