"""Balance at least b: no group is smaller than b times another. The s dearest groups share alike, so do the others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.special import expit

from .._typing import FloatArray
from .cone import ROUNDING, Cone, Mixes

_MANY_GROUPS = 10  # up to so many, every corner of the set is looked at: 2^10


@dataclass(frozen=True)
class BalanceCone(Cone):
    """Compositions whose smallest share is at least ``limit`` times the largest.

    Parameters
    ----------
    target : ndarray of shape (n_groups,) or (n_clusters, n_groups)
    limit : float
        b, between 0 and 1.
    """

    target: FloatArray
    limit: float

    @property
    def center(self) -> FloatArray:
        """Equal shares."""
        n_groups = self.target.shape[-1]
        return np.full(n_groups, 1.0 / n_groups)

    @cached_property
    def _corners(self) -> FloatArray:
        """Mixes with some groups (dear ones) at t and the others at b·t."""
        n_groups = self.target.shape[-1]
        rows = []
        for n_dear in range(1, n_groups):
            for dear in combinations(range(n_groups), n_dear):
                row = np.full(n_groups, self.limit)
                row[list(dear)] = 1.0
                rows.append(row / row.sum())
        return np.array(rows) if rows else np.ones((1, 1))

    def mixes(self, theta: FloatArray, softness: float) -> Mixes:
        """The dearest corner; with softness, corners weighted by how dear they are."""
        n_groups = theta.shape[1]
        corners = self._corners if n_groups <= _MANY_GROUPS else None
        if softness == 0 or corners is None:
            return self._dearest(theta, softness)
        worth = theta @ corners.T
        top = worth.max(axis=1, keepdims=True)
        weight = np.exp((worth - top) / softness)
        total = weight.sum(axis=1, keepdims=True)
        weight /= total
        shares = weight @ corners
        turn = np.einsum("kv,vi,vj->kij", weight, corners, corners, optimize=True)
        turn -= shares[:, :, None] * shares[:, None, :]
        # A mean of the corners, so never below the dearest one by more than softness · log(corners).
        smooth = top[:, 0] + softness * (np.log(total[:, 0]) - np.log(len(corners)))
        return Mixes(shares, smooth, turn / softness)

    def _dearest(self, theta: FloatArray, softness: float) -> Mixes:
        """Best number of dear groups; with many groups, how dear is spread over neighbours in order."""
        n_groups = theta.shape[1]
        order = np.argsort(-theta, axis=1, kind="stable")
        rank = np.argsort(order, axis=1, kind="stable")
        n_dear = np.arange(1, max(n_groups, 2))
        t = 1.0 / (n_dear + self.limit * (n_groups - n_dear))
        level = np.where(rank[:, None, :] < n_dear[None, :, None], 1.0, self.limit) * t[None, :, None]
        worth = (level * theta[:, None, :]).sum(axis=2)
        top = worth.max(axis=1)
        if softness == 0:
            shares = level[np.arange(len(theta)), worth.argmax(axis=1)]
            return Mixes(shares, top, np.zeros((*theta.shape, n_groups)))
        weight = np.exp((worth - top[:, None]) / softness)
        total = weight.sum(axis=1)
        weight /= total[:, None]
        shares = np.einsum("ks,ksj->kj", weight, level)
        turn = (
            np.einsum("ks,ksi,ksj->kij", weight, level, level, optimize=True) - shares[:, :, None] * shares[:, None, :]
        )
        return Mixes(shares, top + softness * (np.log(total) - np.log(len(n_dear))), turn / softness)

    def beyond(self, masses: FloatArray, size: FloatArray, clusters: FloatArray | None = None) -> FloatArray:
        """People that groups lack beside the largest."""
        return _lacking(masses, size, self.limit)


@dataclass(frozen=True)
class OverlapBalanceCone(Cone):
    """The same for shares of groups that overlap: all of them between b·t and t, for any t up to 1.

    The dearest has t = 1, with the groups that are worth something at 1 and the others at b, or nobody at all.

    Parameters
    ----------
    target : ndarray of shape (n_groups,) or (n_clusters, n_groups)
    limit : float
        b, between 0 and 1.
    """

    target: FloatArray
    limit: float

    is_free_of_constants = False

    @property
    def center(self) -> FloatArray:
        """What softness pulls to: half of each group's room, half of t."""
        return np.full(self.target.shape[-1], 0.25 * (1.0 + self.limit))

    def mixes(self, theta: FloatArray, softness: float) -> Mixes:
        """Each group by itself, and then all or nobody; with softness, logistic functions of both."""
        if softness == 0:
            shares = np.where(theta > 0, 1.0, self.limit)
            worth = (theta * shares).sum(axis=1)
            return Mixes(
                shares * (worth > 0)[:, None], np.maximum(worth, 0.0), np.zeros((*theta.shape, theta.shape[1]))
            )
        x = theta / softness
        part, free = expit(x), 1.0 - self.limit
        all_in = (self.limit * x + free * (np.logaddexp(0.0, x) - np.log(2.0))).sum(axis=1)
        slope, held = self.limit + free * part, expit(all_in)
        turn = (free * held[:, None] * part * (1.0 - part))[:, :, None] * np.eye(theta.shape[1])
        turn = turn + (held * (1.0 - held))[:, None, None] * slope[:, :, None] * slope[:, None, :]
        worth = softness * (np.logaddexp(0.0, all_in) - np.log(2.0))
        return Mixes(held[:, None] * slope, worth, turn / softness)

    def beyond(self, masses: FloatArray, size: FloatArray, clusters: FloatArray | None = None) -> FloatArray:
        """People that groups lack beside the largest."""
        return _lacking(masses, size, self.limit)


def _lacking(masses: FloatArray, size: FloatArray, limit: float) -> FloatArray:
    lacking = limit * masses.max(axis=1, keepdims=True) - masses
    return np.maximum(np.maximum(lacking, 0.0).sum(axis=1) - ROUNDING * size[:, 0], 0.0)
