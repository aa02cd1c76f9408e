"""A goal of a user's own, in one file outside of the package: total variation distance from the target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import logsumexp, softmax

from fairclust.goals import ROUNDING, Attribute, Goal, Rows, Support, Term


@dataclass(frozen=True)
class MaxVariation(Goal):
    """½ Σ_j |share_j − target_j| of every cluster at most ``limit``."""

    limit: float
    range, example = "between 0 and 1", 0.05
    help = "largest share of a cluster's people in the wrong group"

    def term(self, attribute: Attribute) -> Term:
        return Variation(attribute.target, self.limit)

    def figure(self, shares: Any, attribute: Attribute) -> Any:
        return abs(shares - attribute.target).sum(axis=1) / 2


@dataclass(frozen=True, eq=False)
class Variation(Term):
    """The same as a term: h(θ) = ⟨θ, target⟩ + limit·(max θ − min θ)."""

    target: Any
    limit: float

    def share_support(self, theta: Any, temperature: float) -> Support:
        n = theta.shape[1]
        if temperature == 0:
            moved = np.eye(n)[theta.argmax(axis=1)] - np.eye(n)[theta.argmin(axis=1)]
            argmax = self.target + self.limit * moved
            return Support((theta * argmax).sum(axis=1), argmax, np.zeros((*theta.shape, n)))
        x = theta / temperature
        spread = temperature * (logsumexp(x, axis=1) + logsumexp(-x, axis=1) - 2.0 * np.log(n))
        gains, loses = softmax(x, axis=1), softmax(-x, axis=1)
        jacobian = sum(p[:, :, None] * (np.eye(n) - p[:, None, :]) for p in (gains, loses))
        argmax = self.target + self.limit * (gains - loses)
        return Support(theta @ self.target + self.limit * spread, argmax, self.limit / temperature * jacobian)

    def violation(self, masses: Any, clusters: Any = None) -> Any:
        size = masses.sum(axis=1)
        moved = abs(masses - self.target * size[:, None]).sum(axis=1) / 2
        return np.maximum(moved - (self.limit + ROUNDING) * size, 0.0)

    def rows(self, masses: Any, clusters: Any = None) -> Rows:
        sign = np.sign(masses - self.target * masses.sum(axis=1, keepdims=True))
        gradient = sign - (sign @ self.target)[:, None] - 2.0 * self.limit
        matrix = sparse.csr_array(sparse.block_diag([row[None, :] for row in gradient], format="csr"))
        return Rows(matrix, np.full(len(masses), -np.inf), np.zeros(len(masses)))
