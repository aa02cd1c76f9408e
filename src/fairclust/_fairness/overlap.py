"""Groups that overlap: the generalised KL of shares that need not add up to 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._algebra import Expansion
from .._typing import FloatArray, IntArray
from .kl import KLFairness
from .notion import SMALLEST_SHARE, ShareTerms, diagonal, positive_part, rows_of, with_floor


@dataclass(frozen=True)
class OverlapFairness:
    """The same for groups that overlap: Σ_j μ_j log(μ_j/p_kj) − μ_j + p_kj of every cluster k.

    p_kj is the share of the cluster's people who are in group j; the shares need not add up to 1. The sum is 0 where
    every share is the wanted one and positive elsewhere, and it is KL(target ‖ P_k) where everyone is in one group.

    Parameters
    ----------
    target : ndarray of shape (n_groups,) or (n_clusters, n_groups)
        The wanted shares, each between 0 and 1.

    Notes
    -----
    Reads one column more than there are groups: the last one counts everyone.
    """

    target: FloatArray

    @property
    def overlaps(self) -> bool:
        """Whether people may be in several groups, or in none."""
        return True

    @property
    def is_logarithmic(self) -> bool:
        """Whether it is log size − Σ target · log masses, up to a constant."""
        return False

    @property
    def n_columns(self) -> int:
        """One per group, and one for everyone."""
        return int(self.target.shape[-1]) + 1

    @property
    def entropy(self) -> float:
        """Σ −μ log μ (mean over clusters)."""
        return KLFairness(self.target).entropy

    @property
    def share_terms(self) -> ShareTerms:
        """Σ μ log(μ/p) + p − μ."""
        return ShareTerms(self.target, self.target, np.ones_like(self.target), counts_everyone=True)

    def scaled(self, fraction: float) -> OverlapFairness:
        """The same: proportions do not change with the weight."""
        return self

    def value(self, masses: FloatArray, clusters: IntArray | None = None) -> FloatArray:
        """Fairness error of each cluster, shape (n_clusters,)."""
        return overlap_errors(masses[:, :-1], masses[:, -1:], rows_of(self.target, clusters))

    def slope(self, masses: FloatArray) -> FloatArray:
        """Derivative of each cluster's value by its masses, shape (n_clusters, n_groups + 1)."""
        size, floored = with_floor(masses[:, :-1], masses[:, -1:])
        everyone = (np.broadcast_to(self.target, floored.shape) - floored / size).sum(axis=1, keepdims=True) / size
        return np.concatenate((1.0 / size - self.target / floored, everyone), axis=1)

    def expansion(self, masses: FloatArray) -> Expansion:
        """Value, slope, and the positive part of the second derivative."""
        size, floored = with_floor(masses[:, :-1], masses[:, -1:])
        target = np.broadcast_to(self.target, floored.shape)
        everyone = (2.0 * floored / size - target).sum(axis=1, keepdims=True) / size**2
        bend = diagonal(np.concatenate((target / floored**2, everyone), axis=1))
        bend[:, :-1, -1] = bend[:, -1, :-1] = -1.0 / size**2
        return Expansion(self.value(masses), self.slope(masses), positive_part(bend))


def overlap_errors(masses: FloatArray, size: FloatArray, target: FloatArray) -> FloatArray:
    """Σ_j μ_j log(μ_j/p_j) − μ_j + p_j of each row, (n_rows,), where p = masses/size."""
    proportions = np.divide(masses, size, out=np.zeros_like(masses), where=size > 0)
    ratio = np.where(target > 0, target / np.maximum(proportions, SMALLEST_SHARE), 1.0)
    return np.maximum((target * np.log(ratio) - target + proportions).sum(axis=1), 0.0)
