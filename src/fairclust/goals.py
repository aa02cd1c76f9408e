"""What a user may ask for instead of a weight. A goal reads the K×J masses and tells each cluster how far it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ._typing import AnyArray, FloatArray
from .fairness import KLFairness, cluster_balances


class Goal(Protocol):
    """A goal holds when every cluster's ratio is at most 1."""

    def ratio(self, masses: FloatArray) -> FloatArray:
        """Return how far each cluster is from the goal, (n_clusters,): 0 at the target, 1 just met, more if missed."""
        ...

    def achieved(self, masses: FloatArray) -> float:
        """The figure that the goal limits, of the worst cluster."""
        ...

    def obstacle(self, masses: FloatArray, names: AnyArray) -> str | None:
        """Why no clustering of these data can meet the goal, or None."""
        ...


@dataclass(frozen=True)
class MaxFairnessError:
    """KL(target ‖ shares) of every cluster at most ``limit``; 0 asks for exact proportions."""

    fairness: KLFairness
    limit: float

    def ratio(self, masses: FloatArray) -> FloatArray:
        """Error over limit."""
        return self.fairness.value(masses) / max(self.limit, 1e-15)

    def achieved(self, masses: FloatArray) -> float:
        """Largest error."""
        return float(self.fairness.value(masses).max())

    def __str__(self) -> str:
        return f"max_fairness_error={self.limit:g}"

    def obstacle(self, masses: FloatArray, names: AnyArray) -> str | None:
        """The clusters' compositions average to the data's, so one of them is as far from the target as the data."""
        whole = masses.sum(axis=0, keepdims=True)
        least = float(self.fairness.value(whole)[0])
        if least <= self.limit * (1 + 1e-9) + 1e-12:
            return None
        shares = whole[0] / whole.sum()
        worst = int(np.argmax(np.abs(shares - self.fairness.target)))
        return (
            f"max_fairness_error={self.limit:g} cannot be met: target_proportions asks for "
            f"{self.fairness.target[worst]:.3f} of group {names[worst]!r}, of which the data have "
            f"{shares[worst]:.3f}, so some cluster has an error of at least {least:.3g}"
        )


@dataclass(frozen=True)
class MinBalance:
    """Smallest ratio between two groups' counts in every cluster at least ``limit``."""

    fairness: KLFairness
    limit: float

    def ratio(self, masses: FloatArray) -> FloatArray:
        """Distance from the target's own balance, over the distance allowed."""
        best = float(self.fairness.target.min() / self.fairness.target.max())
        return (best - cluster_balances(masses)) / max(best - self.limit, 1e-12)

    def achieved(self, masses: FloatArray) -> float:
        """Smallest balance."""
        return float(cluster_balances(masses).min())

    def __str__(self) -> str:
        return f"min_balance={self.limit:g}"

    def obstacle(self, masses: FloatArray, names: AnyArray) -> str | None:
        """No clustering is more balanced than the data."""
        whole = masses.sum(axis=0)
        if whole.min() / whole.max() >= self.limit * (1 - 1e-9):
            return None
        few, many = int(whole.argmin()), int(whole.argmax())
        return (
            f"min_balance={self.limit:g} cannot be met: the data have {whole[few]:g} of group {names[few]!r} and "
            f"{whole[many]:g} of {names[many]!r}, a balance of {whole[few] / whole[many]:.3g}"
        )


@dataclass(frozen=True)
class Bounds:
    """Share of each group in every cluster between ``lower`` and ``upper``."""

    fairness: KLFairness
    lower: FloatArray
    upper: FloatArray

    def ratio(self, masses: FloatArray) -> FloatArray:
        """Largest deviation from the target over the deviation allowed on that side."""
        size = masses.sum(axis=1, keepdims=True)
        shares = np.divide(masses, size, out=np.zeros_like(masses), where=size > 0)
        target = self.fairness.target
        above = (shares - target) / np.maximum(self.upper - target, 1e-12)
        below = (target - shares) / np.maximum(target - self.lower, 1e-12)
        return np.maximum(above, below).max(axis=1)

    def achieved(self, masses: FloatArray) -> float:
        """Largest deviation from the target, in units of what is allowed."""
        return float(self.ratio(masses).max())

    def __str__(self) -> str:
        return "bounds"

    def obstacle(self, masses: FloatArray, names: AnyArray) -> str | None:
        """The data's shares must lie between the bounds."""
        shares = masses.sum(axis=0) / masses.sum()
        outside = np.flatnonzero((shares < self.lower - 1e-12) | (shares > self.upper + 1e-12))
        if not len(outside):
            return None
        j = int(outside[0])
        return (
            f"bounds cannot be met: group {names[j]!r} has a share of {shares[j]:.3f} in the data, but "
            f"{self.lower[j]:.3f} to {self.upper[j]:.3f} is asked for in every cluster"
        )
