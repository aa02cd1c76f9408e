"""Shares between bounds: the dearest groups first, up to their upper bounds, the rest at their lower ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._core.mixes import softened
from .._typing import FloatArray
from .cone import Cone, Mixes

_MOST_STEPS = 40  # Newton's, from one side: a handful do
_SMALLEST = 1e-6  # share of the middle mix: softness needs some of every group


@dataclass(frozen=True)
class BoundsCone(Cone):
    """Compositions with every share between its bounds.

    Parameters
    ----------
    target : ndarray of shape (n_groups,) or (n_clusters, n_groups)
        What softness pulls towards.
    lower, upper : ndarray of shape (n_groups,)
        Bounds that some composition keeps to.
    """

    target: FloatArray
    lower: FloatArray
    upper: FloatArray

    @property
    def center(self) -> FloatArray:
        """The target, moved between the bounds."""
        wanted = np.clip(self.target, np.maximum(self.lower, _SMALLEST), np.maximum(self.upper, _SMALLEST))
        return wanted / wanted.sum(axis=-1, keepdims=True)

    def mixes(self, theta: FloatArray, softness: float) -> Mixes:
        """The dearest mix; with softness, q_j = δ·centre_j/(μ − θ_j) between the bounds."""
        lower, upper = np.broadcast_to(self.lower, theta.shape), np.broadcast_to(self.upper, theta.shape)
        if softness == 0:
            shares = _dearest(theta, lower, upper)
            return Mixes(shares, (theta * shares).sum(axis=1), np.zeros((*theta.shape, theta.shape[1])))
        center = np.broadcast_to(self.center, theta.shape)
        shares, free = _soft_mix(theta, center, lower, upper, softness)
        error = (center * np.log(center / np.maximum(shares, 1e-300))).sum(axis=1)
        turn = softened(shares, center, np.full((len(theta), 1), softness), free)
        return Mixes(shares, (theta * shares).sum(axis=1) - softness * error, turn)

    def beyond(self, masses: FloatArray, size: FloatArray, clusters: FloatArray | None = None) -> FloatArray:
        """People too few or too many."""
        few = np.maximum(self.lower * size - masses, 0.0).sum(axis=1)
        many = np.maximum(masses - self.upper * size, 0.0).sum(axis=1)
        # Bounds of whole people are kept to rounding.
        return np.maximum(few + many - 1e-9 * size[:, 0], 0.0)


def _dearest(theta: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    order = np.argsort(-theta, axis=1, kind="stable")
    room = np.take_along_axis(upper - lower, order, axis=1)
    rest = 1.0 - lower.sum(axis=1, keepdims=True)
    before = np.cumsum(room, axis=1) - room
    shares = lower.copy()
    np.put_along_axis(
        shares, order, np.take_along_axis(lower, order, axis=1) + np.clip(rest - before, 0.0, room), axis=1
    )
    return shares


def _soft_mix(
    theta: FloatArray, center: FloatArray, lower: FloatArray, upper: FloatArray, delta: float
) -> tuple[FloatArray, FloatArray]:
    """The mix, and which shares are between their bounds. Σ q(μ) falls from Σ upper to Σ lower as μ grows."""
    wanted = delta * center
    with np.errstate(divide="ignore", over="ignore"):
        ends = np.concatenate(
            (theta + wanted / np.maximum(upper, 1e-300), theta + wanted / np.maximum(lower, 1e-300)), axis=1
        )
    sums = _shares_at(ends, theta, wanted, lower, upper).sum(axis=2)
    # The interval between two ends in which the sum passes 1.
    left = np.where(sums >= 1.0, ends, -np.inf).max(axis=1)
    right = np.where(sums <= 1.0, ends, np.inf).min(axis=1)
    left = np.where(np.isfinite(left), left, ends.min(axis=1))
    middle = np.where(np.isfinite(right), left + (right - left) / 2, left + delta)
    free = (middle[:, None] > ends[:, : theta.shape[1]]) & (middle[:, None] < ends[:, theta.shape[1] :])
    at_top = ~free & (middle[:, None] <= ends[:, : theta.shape[1]])
    fixed = np.where(free, 0.0, np.where(at_top, upper, lower))
    rest = 1.0 - fixed.sum(axis=1)
    mu = left
    for _ in range(_MOST_STEPS):  # a convex, falling sum: Newton's steps from the left stay on the left
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse = np.where(free, wanted / (mu[:, None] - theta), 0.0)
            slope = np.where(free, inverse / (mu[:, None] - theta), 0.0).sum(axis=1)
            step = np.where(slope > 0, (inverse.sum(axis=1) - rest) / slope, 0.0)
        if (step <= 1e-14 * np.maximum(abs(mu), delta)).all():
            break
        mu = mu + np.maximum(step, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(free, np.clip(wanted / (mu[:, None] - theta), lower, upper), fixed)
    return shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300), free


def _shares_at(
    mu: FloatArray, theta: FloatArray, wanted: FloatArray, lower: FloatArray, upper: FloatArray
) -> FloatArray:
    """Shares at several μ per row, (n_rows, n_mu, n_groups)."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        room = mu[:, :, None] - theta[:, None, :]
        free = np.where(room > 0, wanted[:, None, :] / np.maximum(room, 1e-300), np.inf)
    return np.clip(free, lower[:, None, :], upper[:, None, :])
