"""What a solver is: something that asks sweeps until it knows a good state. It never sees a point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from .._typing import FloatArray
from ..sweep import State, Sweep


class FairnessTerm(Protocol):
    """What a solver needs from a fairness term: per-cluster value, slope and bend of a K×J table."""

    @property
    def entropy(self) -> float: ...  # noqa: D102

    def value(self, masses: FloatArray) -> FloatArray: ...  # noqa: D102

    def slope(self, masses: FloatArray) -> FloatArray: ...  # noqa: D102

    def bend(self, masses: FloatArray) -> FloatArray: ...  # noqa: D102


@dataclass(frozen=True)
class Solution:
    """A state, and (where the solver knows it) its relaxed energy: cost + Σ_k weight_k · fairness_k, soft."""

    state: State
    energy: float | None = None


class Solver(Protocol):
    """Minimises cost + Σ_k weight_k · fairness_k over soft assignments, for point costs that stay as they are."""

    rests_on_energy: bool
    """Whether an outer iteration that changes the relaxed energy by less than ``tol`` is the last (Algorithm 1)."""

    def solve(self, sweep: Sweep, fairness: FairnessTerm, weight: FloatArray, start: State | None) -> Solution:
        """Solve; ``weight`` has shape (n_clusters,), ``start`` is the last state for nearby point costs, if any."""
        ...
