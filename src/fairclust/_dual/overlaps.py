"""Terms for groups that overlap: a person may be in several groups or in none, so shares need not add up to 1.

The last column of every table counts everyone. Its own price is not needed, as the prices of the groups pay for all
that these terms ask for, so its θ stays 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .._typing import FloatArray, IntArray
from .shares import Balance, barrier
from .terms import (
    ROUNDING,
    SMALLEST_SHARE,
    SMALLEST_TARGET,
    TINY,
    Divergence,
    Rows,
    Support,
    block_rows,
    no_rows,
    rows_of,
)

_MAX_HALVINGS = 80  # of a bracket of logarithms: the last bits of a number


@dataclass(frozen=True, eq=False)
class OverlapKL(Divergence):
    """Σ_j μ_j log(μ_j/p_j) − μ_j + p_j, where p_j is the share of everyone who is in group j, at most 1."""

    overlapping: bool = True

    def share_support(self, theta: FloatArray, temperature: float) -> Support:
        """p_j = κ·μ_j / (κ − θ_j), at most 1; κ is the rate or the temperature, or on the boundary its multiplier."""
        t, n_clusters = theta[:, :-1], len(theta)
        target = np.maximum(rows_of(self.target, None, n_clusters), SMALLEST_TARGET)
        softness = np.maximum(np.broadcast_to(self.rate, n_clusters), temperature)
        kappa = self._multiplier(t, target, softness)
        p = _shares(t, target, kappa)
        error = generalised_divergence(target, p)
        is_free = p < 1.0
        v = np.where(is_free, p * p / (kappa[:, None] * target), 0.0)
        jacobian = np.zeros((n_clusters, theta.shape[1], theta.shape[1]))
        every = np.arange(t.shape[1])
        jacobian[:, every, every] = v
        on_boundary = kappa > softness * (1.0 + ROUNDING)
        slope = 1.0 - target / p  # of the error by p
        norm = np.maximum((v * slope * slope).sum(axis=1), TINY)
        along = np.where(on_boundary[:, None], v * slope, 0.0)
        jacobian[:, :-1, :-1] -= along[:, :, None] * along[:, None, :] / norm[:, None, None]
        value = (t * p).sum(axis=1) - softness * error + np.asarray(self.rate) * self.credit
        return Support(value, np.column_stack([p, np.ones(n_clusters)]), jacobian)

    def _multiplier(self, t: FloatArray, target: FloatArray, softness: FloatArray) -> FloatArray:
        """The least κ, from the softness on, at which the error is within the limit: it falls as κ grows."""
        is_enough = generalised_divergence(target, _shares(t, target, softness)) <= self.limit
        if is_enough.all():
            return np.maximum(softness, TINY**0.25)
        largest = np.maximum(abs(t).max(axis=1), TINY**0.25)
        low = np.log(np.maximum(softness, 1e-12 * largest))
        high = np.maximum(np.log(largest) + np.log1p(np.sqrt(1.0 / self.limit)) + 2.0, low)
        for _ in range(_MAX_HALVINGS):
            middle = (low + high) / 2
            inside = generalised_divergence(target, _shares(t, target, np.exp(middle))) <= self.limit
            low, high = np.where(inside, low, middle), np.where(inside, middle, high)
        return np.where(is_enough, np.maximum(softness, TINY**0.25), np.exp(high))

    def slope(self, masses: FloatArray) -> FloatArray:
        """By the groups weight · (1/n − target/m), by everyone what that leaves of a function of shares."""
        size = np.maximum(masses[:, -1:], TINY**0.25)
        groups = np.maximum(masses[:, :-1], SMALLEST_SHARE * size)
        everyone = (self.target - groups / size).sum(axis=1, keepdims=True) / size
        return self.weight * np.hstack([1.0 / size - self.target / groups, everyone])

    def rows(self, masses: FloatArray, clusters: IntArray | None = None) -> Rows:
        """n·(error − limit) is homogeneous and convex in the masses and the size, so its gradient is a valid row."""
        if not np.isfinite(self.limit):
            return no_rows(masses.size)
        target = rows_of(self.target, clusters, len(masses))
        size = np.maximum(masses[:, -1:], 1.0)
        m = np.maximum(masses[:, :-1], 0.5 * np.maximum(target, SMALLEST_TARGET))
        by_group = 1.0 - target * size / m
        by_size = (target * np.log(np.maximum(target, SMALLEST_SHARE) * size / m)).sum(axis=1) - self.limit
        gradient = np.column_stack([by_group, by_size])
        return Rows(block_rows(gradient), np.full(len(m), -np.inf), np.zeros(len(m)))

    def centered(self, theta: FloatArray) -> FloatArray:
        """Nothing drifts but the price of everyone, which stays 0."""
        return theta * (np.arange(theta.shape[1]) < theta.shape[1] - 1)

    def error(self, masses: FloatArray, clusters: IntArray | None = None) -> FloatArray:
        """The generalised divergence of each row."""
        shares = masses[:, :-1] / np.maximum(masses[:, -1:], SMALLEST_SHARE)
        return generalised_divergence(rows_of(self.target, clusters, len(masses)), shares)

    def error_asked(self, theta: FloatArray) -> FloatArray:
        """The same of the maximisers."""
        return generalised_divergence(self.target, self.share_support(theta, 0.0).argmax[:, :-1])


@dataclass(frozen=True, eq=False)
class OverlapBalance(Balance):
    """No group smaller than ``limit`` times another, where groups overlap.

    Counts lie between limit·t and t, with t at most the size: h(θ) is the largest t·S(θ), 0 <= t <= 1, where S is the
    sum of what each price is worth between limit and 1.
    """

    overlapping: bool = True

    def share_support(self, theta: FloatArray, temperature: float) -> Support:
        """Two barriers, one inside the other: of the counts below t, and of t."""
        center = self.center
        value, z, curvature = barrier(theta[:, :-1], center - self.limit, 1.0 - center, temperature)
        worth, parts = (center * theta[:, :-1] + value).sum(axis=1), center + z
        start = np.clip(np.atleast_2d(self.target).max(axis=1), 0.05, 0.95)  # of t: where smoothing is neutral
        outer = barrier(worth, start, 1.0 - start, temperature)
        t = start + outer.argmax
        jacobian = np.zeros((len(theta), theta.shape[1], theta.shape[1]))
        every = np.arange(parts.shape[1])
        jacobian[:, every, every] = t[:, None] * curvature
        jacobian[:, :-1, :-1] += outer.jacobian[:, None, None] * parts[:, :, None] * parts[:, None, :]
        argmax = np.column_stack([t[:, None] * parts, np.ones(len(theta))])
        return Support(start * worth + outer.value, argmax, jacobian)

    def violation(self, masses: FloatArray, clusters: IntArray | None = None) -> FloatArray:
        """People that groups lack beside the largest."""
        return super().violation(masses[:, :-1], clusters)

    def rows(self, masses: FloatArray, clusters: IntArray | None = None) -> Rows:
        """limit·(one group) <= another, for every pair."""
        found, n_groups = super().rows(masses[:, :-1], clusters), masses.shape[1] - 1
        without_everyone = sparse.kron(sparse.eye_array(len(masses)), np.eye(n_groups, n_groups + 1), format="csr")
        return Rows(found.matrix @ without_everyone, found.lower, found.upper)

    def centered(self, theta: FloatArray) -> FloatArray:
        """Nothing drifts but the price of everyone, which stays 0."""
        return theta * (np.arange(theta.shape[1]) < theta.shape[1] - 1)


def generalised_divergence(target: FloatArray, shares: FloatArray) -> FloatArray:
    """Σ_j μ_j log(μ_j/p_j) − μ_j + p_j of each row of shares."""
    logs = np.log(np.maximum(target, SMALLEST_SHARE) / np.maximum(shares, SMALLEST_SHARE))
    return np.maximum((target * logs - target + shares).sum(axis=1), 0.0)


def _shares(t: FloatArray, target: FloatArray, kappa: FloatArray) -> FloatArray:
    """The maximiser of ⟨t, p⟩ − κ·error(p) over 0 <= p <= 1."""
    room = kappa[:, None] - t
    free = kappa[:, None] * target / np.where(room > 0, room, 1.0)
    shares: FloatArray = np.clip(np.where(room > 0, free, 1.0), TINY**0.25, 1.0)
    return shares
