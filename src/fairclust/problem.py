"""The parts of a fit, put together: objective, sweep, fairness, solver. What estimators and paths call."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._typing import FloatArray
from .fairness import KLFairness
from .fitting import FitResult, Settings, fit_coarse_to_fine, fit_once
from .objectives import Objective, Relaxed
from .search import search_weight
from .solvers import Solver
from .sweep import InMemorySweep, State


@dataclass(frozen=True)
class WeightedFit:
    """A fit, its fairness weight, and the fairness error of its worst cluster."""

    result: FitResult
    weight: float
    worst_error: float
    n_sweeps: int

    def rank(self, goal: float) -> tuple[bool, float]:
        """Sort key: fits that meet the goal first, then the lowest energy."""
        return (self.worst_error > goal, self.result.energy)


@dataclass(frozen=True)
class Problem:
    """One data set with its parts; fits at any weight, from any start."""

    objective: Objective
    sweep: InMemorySweep
    fairness: KLFairness
    solver: Solver
    settings: Settings

    def fit(self, weight: float, parameters: FloatArray, state: State | None = None) -> WeightedFit:
        """Fit at a weight, from parameters and perhaps from prices."""
        weights = np.full(self.sweep.n_clusters, weight)
        parts = (self.objective, self.sweep, self.fairness, weights, self.solver, parameters, self.settings)
        is_new = state is None or isinstance(self.objective, Relaxed)
        result = fit_coarse_to_fine(*parts, state) if is_new else fit_once(*parts, state)
        return WeightedFit(result, weight, self.worst_error(result), result.n_sweeps)

    def fit_goal(self, goal: float, parameters: FloatArray) -> WeightedFit:
        """Fit at the smallest weight found whose clusters all meet the goal."""

        def fit_from(weight: float, start: FitResult | None) -> FitResult:
            if start is None:
                return self.fit(weight, parameters).result
            return self.fit(weight, start.parameters, start.state if start.state.pull.any() else None).result

        found = search_weight(fit_from, self.worst_error, goal, self.natural_weight(parameters))
        return WeightedFit(found.fit, found.weight, self.worst_error(found.fit), found.n_sweeps)

    def worst_error(self, result: FitResult) -> float:
        """Fairness error of the worst cluster, on the hard labels."""
        return float(self.fairness.value(result.masses).max())

    def natural_weight(self, parameters: FloatArray) -> float:
        """Return a weight of the right order: a cluster's fairness is worth moving its points by their gap."""
        self.objective.fill(self.sweep, parameters)
        gap = self.sweep.assign(np.zeros((self.sweep.n_clusters, self.sweep.n_groups))).gap
        return max(self.sweep.total * gap / self.sweep.n_clusters, 1e-12)
