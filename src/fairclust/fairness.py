"""The fairness term: how far the clusters' compositions are from the target. The K×J world; no point is known here.

A term reads one table, ``masses`` (n_clusters, n_groups): how much of each group each cluster holds. It answers with a
value per cluster, its slope and its bend. Solvers and metrics use nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._typing import FloatArray

SMALLEST_SHARE = 1e-20
"""Shares are clipped here, so that a group missing from a cluster costs much, but not infinity."""


@dataclass(frozen=True)
class KLFairness:
    """KL(target ‖ P_k) of every cluster k, where P_k are the shares of the groups in the cluster.

    Parameters
    ----------
    target : ndarray of shape (n_groups,)
        The wanted share of each group; non-negative, sums to 1. A group with target 0 costs nothing by itself: it
        only takes room from the others.
    """

    target: FloatArray

    @property
    def entropy(self) -> float:
        """Entropy of the target: what the cross-entropy of the paper's Eq. (3) is when every cluster is fair."""
        wanted = self.target[self.target > 0]
        return float(-(wanted * np.log(wanted)).sum())

    def value(self, masses: FloatArray) -> FloatArray:
        """Fairness error of each cluster, shape (n_clusters,). An empty cluster counts as lacking every group."""
        size = masses.sum(axis=1, keepdims=True)
        shares = np.divide(masses, size, out=np.zeros_like(masses), where=size > 0)
        wanted = self.target > 0
        ratio = self.target[wanted] / np.maximum(shares[:, wanted], SMALLEST_SHARE)
        return np.maximum((self.target[wanted] * np.log(ratio)).sum(axis=1), 0.0)

    def slope(self, masses: FloatArray) -> FloatArray:
        """Derivative of each cluster's value by its masses, shape (n_clusters, n_groups)."""
        size, floored = self._floored(masses)
        # d/dm_j [log n − Σ_j μ_j log m_j] = 1/n − μ_j/m_j
        return 1.0 / size - self.target / floored

    def bend(self, masses: FloatArray) -> FloatArray:
        """Positive part of the second derivative, shape (n_clusters, n_groups, n_groups).

        The term is convex near the target only; the negative part is cut off, so that a step that trusts the bend
        goes downhill everywhere.
        """
        size, floored = self._floored(masses)
        n_groups = len(self.target)
        bend = np.zeros((len(masses), n_groups, n_groups))
        diagonal = np.arange(n_groups)
        bend[:, diagonal, diagonal] = self.target / floored**2
        bend -= (1.0 / size**2)[:, :, None]
        values, vectors = np.linalg.eigh(bend)
        return np.einsum("kij,kj,klj->kil", vectors, np.maximum(values, 0.0), vectors)

    def _floored(self, masses: FloatArray) -> tuple[FloatArray, FloatArray]:
        size = np.maximum(masses.sum(axis=1, keepdims=True), np.finfo(float).tiny ** 0.25)
        return size, np.maximum(masses, SMALLEST_SHARE * size)


def cluster_balances(masses: FloatArray) -> FloatArray:
    """Smallest ratio between two groups' masses in each cluster, shape (n_clusters,); 1 where there is one group."""
    largest = masses.max(axis=1)
    if masses.shape[1] == 1:
        return np.ones_like(largest)
    return np.divide(masses.min(axis=1), largest, out=np.zeros_like(largest), where=largest > 0)
