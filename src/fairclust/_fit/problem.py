"""The parts of a fit, put together: objective, sweep, fairness, solver. What estimators and paths call."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._fairness.term import Representation
from .._objectives import Objective, Relaxed
from .._solvers import Solver
from .._sweep.question import DataSweep, State
from .._typing import FloatArray
from .loop import FitResult, Settings, fit_coarse_to_fine, fit_once, sampling_step


@dataclass(frozen=True)
class WeightedFit:
    """A fit, the fairness weight of each cluster and attribute (K×A), and the sweeps that it took to find both."""

    result: FitResult
    weights: FloatArray
    n_sweeps: int


@dataclass(frozen=True)
class Problem:
    """One data set with its parts; fits at any weight, from any start."""

    objective: Objective
    sweep: DataSweep
    fairness: Representation
    solver: Solver
    settings: Settings
    share: float = 1.0  # of the full data that this is a sample of
    attribute_weights: FloatArray | None = None  # (n_parts,); None: 1 for each

    @property
    def cell_masses(self) -> FloatArray:
        """Weight of each cell, as one row (1, n_cells)."""
        return self.sweep.cell_masses

    def fit(self, weight: float, parameters: FloatArray, state: State | None = None) -> WeightedFit:
        """Fit at one weight for all clusters (times those of the attributes), perhaps from prices."""
        weights = self.full_weights(weight)
        if self.attribute_weights is not None:
            weights = weights * self.attribute_weights
        result = self.fit_weights(weights, parameters, state)
        return WeightedFit(result, weights, result.n_sweeps)

    def full_weights(self, weight: float) -> FloatArray:
        """One weight for all clusters and attributes, (n_clusters, n_parts)."""
        return np.full((self.sweep.n_clusters, self.fairness.n_parts), weight)

    def fit_weights(
        self,
        weights: FloatArray,
        parameters: FloatArray,
        state: State | None = None,
        settings: Settings | None = None,
    ) -> FitResult:
        """Fit at a weight per cluster and attribute, (n_clusters, n_parts)."""
        fairness, weight = self.fairness.weighted(weights)
        parts = (self.objective, self.sweep, fairness, weight, self.solver, parameters, settings or self.settings)
        is_new = state is None or isinstance(self.objective, Relaxed)
        return fit_coarse_to_fine(*parts, state) if is_new else fit_once(*parts, state)

    def coarse(self) -> Problem | None:
        """The same problem on a sample of the points; None where there are too few to need one."""
        step = sampling_step(self.sweep, self.solver, self.settings)
        return self.sampled(step) if step >= 2 else None

    def sampled(self, step: int) -> Problem:
        """The same problem on every step-th point."""
        sample, rows = self.sweep.sampled(step)
        share = sample.total / self.sweep.total
        return replace(
            self,
            sweep=sample,
            objective=self.objective.sampled(rows),
            fairness=self.fairness.scaled(share),
            share=self.share * share,
        )

    def error(self, result: FitResult) -> float:
        """Fairness error, summed over clusters and attributes, on the hard labels."""
        return float(self.fairness.errors(result.masses).sum())

    def natural_weight(self, parameters: FloatArray) -> float:
        """Return a weight of the right order: a cluster's fairness is worth moving its points by their gap."""
        self.objective.fill(self.sweep, parameters)
        gap = self.sweep.assign(np.zeros((self.sweep.n_clusters, self.sweep.n_cells))).gap
        return max(self.sweep.total * gap / self.sweep.n_clusters, 1e-12)
