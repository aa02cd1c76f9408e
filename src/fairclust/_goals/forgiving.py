"""Every count between bounds of its own, which a few people may be beyond: each group by itself.

Counts between l_j·size − p and u_j·size + p are no cone, but nearly: a price θ_j pays for the side that holds group j,
its sign says which, and being p people beyond is worth p·|θ_j|, however large the cluster is. That is an offset of the
dual, as bounds on sizes have one. That the shares add up to 1 follows from the masses, so that a constant added to a
row of θ is not free here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from .._typing import FloatArray
from .cone import ROUNDING, Cone, Mixes

_INNER = 0.02  # of the room between bounds: softness pulls no nearer to one of them


@dataclass(frozen=True)
class ForgivingCone(Cone):
    """Compositions with every share between its bounds, up to a number of people.

    Parameters
    ----------
    target, lower, upper : ndarray of shape (n_groups,)
        What softness pulls towards, and the bounds.
    forgiven : float
        People that a group may be beyond a bound.
    """

    target: FloatArray
    lower: FloatArray
    upper: FloatArray
    forgiven: float

    is_free_of_constants = False

    @property
    def center(self) -> FloatArray:
        """The target, moved between the bounds."""
        return np.clip(self.target, self.lower, self.upper)

    def scaled(self, fraction: float) -> ForgivingCone:
        """A person of a sample stands for several."""
        return replace(self, forgiven=self.forgiven * fraction)

    def mixes(self, theta: FloatArray, softness: float) -> Mixes:
        """The bound that each price holds; with softness, between the two as a logistic function of it."""
        room = self.upper - self.lower
        if softness == 0:
            shares = np.where(theta > 0, self.upper, self.lower)
            flat = np.zeros((*theta.shape, theta.shape[1]))
            return Mixes(shares, (theta * shares).sum(axis=1), flat, self.forgiven * abs(theta).sum(axis=1))
        inner = np.clip((self.center - self.lower) / np.maximum(room, 1e-300), _INNER, 1.0 - _INNER)
        at_rest = np.log(inner / (1.0 - inner))
        x = theta / softness
        part = expit(x + at_rest)
        # log(1 + e^(x + rest)) less what it is at 0, without overflow.
        grown = softness * (np.logaddexp(0.0, x + at_rest) - np.logaddexp(0.0, at_rest))
        worth = (theta * self.lower + room * grown).sum(axis=1)
        side = np.tanh(0.5 * x)
        offset = self.forgiven * (2.0 * softness * (np.logaddexp(0.5 * x, -0.5 * x) - np.log(2.0))).sum(axis=1)
        eye = np.eye(theta.shape[1])
        return Mixes(
            self.lower + room * part, worth, (room * part * (1.0 - part) / softness)[:, :, None] * eye,
            offset, self.forgiven * side, (self.forgiven * (1.0 - side**2) / (2.0 * softness))[:, :, None] * eye,
        )  # fmt: skip

    def beyond(self, masses: FloatArray, size: FloatArray, clusters: FloatArray | None = None) -> FloatArray:
        """People too few or too many, beside those that are forgiven."""
        few = np.maximum(self.lower * size - masses - self.forgiven, 0.0).sum(axis=1)
        many = np.maximum(masses - self.upper * size - self.forgiven, 0.0).sum(axis=1)
        return np.maximum(few + many - ROUNDING * size[:, 0], 0.0)
