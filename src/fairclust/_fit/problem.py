"""The parts of a fit, put together: objective, sweep, fairness, solver. What estimators and paths call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .._fairness.term import Representation
from .._goals.conditions import Conditions
from .._objectives import Objective
from .._solvers import Solver
from .._solvers.cone import Prices
from .._sweep.question import DataSweep
from .._typing import FloatArray
from .asks import Ask, GoalAsk, PlainAsk, WeightAsk
from .coarse import fit_coarse_to_fine, sampling_step
from .loop import fit_once
from .records import FitResult, Start
from .settings import Settings

_WORTH_PROVING = 0.1  # of what is still open: a proof that closes less is the last
_PROVED = 1e-3  # of the cost: a bound as near as that needs no better prices
_FAR_OFF = 0.1  # of the cost: prices that prove less may have gone astray


@dataclass(frozen=True)
class WeightedFit:
    """A fit, the fairness weight of each cluster and attribute (K×A), and the sweeps that it took to find both."""

    result: FitResult
    fairness_weights: FloatArray
    n_sweeps: int


@dataclass(frozen=True)
class Problem(ABC):
    """One data set with its parts; fits for any ask, from any start."""

    objective: Objective
    sweep: DataSweep
    fairness: Representation
    solver: Solver
    settings: Settings
    sample_fraction: float = 1.0  # of the weight of the full data, where this is a sample of them
    attribute_weights: FloatArray | None = None  # (n_parts,); None: 1 for each
    n_people: int | None = None  # of the full data; None: this is it

    @property
    def is_whole(self) -> bool:
        """Whether these are all points, and no sample of them, whose points weigh more than a person."""
        return self.n_people is None

    @property
    def cell_masses(self) -> FloatArray:
        """Weight of each cell, as one row (1, n_cells)."""
        return self.sweep.cell_masses

    def fit(self, fairness_weight: float, start: Start) -> WeightedFit:
        """Fit at one weight for all clusters (times those of the attributes)."""
        weights = self.uniform_weights(fairness_weight)
        result = self.fit_weights(weights, start)
        return WeightedFit(result, weights, result.n_sweeps)

    def full_weights(self, fairness_weight: float) -> FloatArray:
        """One weight for all clusters and attributes, (n_clusters, n_parts)."""
        return np.full((self.sweep.n_clusters, self.fairness.n_parts), float(fairness_weight))

    def uniform_weights(self, fairness_weight: float) -> FloatArray:
        """One weight for all clusters, times those of the attributes."""
        weights = self.full_weights(fairness_weight)
        return weights if self.attribute_weights is None else weights * self.attribute_weights

    def ask_at(self, fairness_weights: FloatArray) -> Ask:
        """What a weight per cluster and attribute, (n_clusters, n_parts), asks for."""
        fairness, weights = self.fairness.weighted(fairness_weights)
        if not weights.any() or fairness.is_constant:
            return PlainAsk()
        return WeightAsk(fairness, weights, self.solver)

    def sampled(self, step: int) -> Problem:
        """The same problem on every step-th point."""
        sample, rows = self.sweep.sampled(step)
        fraction = sample.total / self.sweep.total
        return replace(
            self,
            sweep=sample,
            objective=self.objective.sampled(rows),
            fairness=self.fairness.scaled(fraction),
            sample_fraction=self.sample_fraction * fraction,
            n_people=self.n_people or self.sweep.n_samples,
        )

    def error(self, result: FitResult) -> float:
        """Fairness error, summed over clusters and attributes, on the hard labels."""
        return float(self.fairness.errors(result.masses).sum())

    def own_parameters(self, found: FitResult) -> FloatArray:
        """The labels' own parameters: polishing may have left those of the fit behind."""
        if found.own is not None:
            return found.own
        return self.objective.parameters(self.sweep, found.labels, found.masses.sum(axis=1))

    @abstractmethod
    def fit_weights(self, fairness_weights: FloatArray, start: Start, settings: Settings | None = None) -> FitResult:
        """Fit at a weight per cluster and attribute."""

    @abstractmethod
    def fit_ask(self, ask: Ask, start: Start, settings: Settings | None = None) -> FitResult:
        """Fit for what is asked."""

    @abstractmethod
    def proved(self, ask: GoalAsk, found: FitResult) -> FitResult:
        """The result, with a proof of how far from the cheapest it can be, where there is one."""

    @abstractmethod
    def coarse(self) -> Problem | None:
        """The same problem on a sample of the points; None where there are too few to need one."""

    @abstractmethod
    def natural_weight(self, parameters: FloatArray) -> float:
        """A weight of the right order, at these parameters."""


@dataclass(frozen=True)
class PointsProblem(Problem):
    """Points in space, whose costs are sums over the points."""

    def fit_weights(self, fairness_weights: FloatArray, start: Start, settings: Settings | None = None) -> FitResult:
        """Fit at a weight per cluster and attribute."""
        return self.fit_ask(self.ask_at(fairness_weights), start, settings)

    def fit_ask(self, ask: Ask, start: Start, settings: Settings | None = None) -> FitResult:
        """Fit for what is asked; something easier first where the start is new."""
        if start.is_rough or self.objective.relaxed() is not None:
            return fit_coarse_to_fine(self, ask, start, settings)
        return fit_once(self, ask, start, settings)

    def proved(self, ask: GoalAsk, found: FitResult) -> FitResult:
        """The result at its labels' own parameters, with a proof of how far from the cheapest they can be there."""
        n_before, own = self.sweep.n_sweeps, self.own_parameters(found)
        self.objective.fill(self.sweep, own)
        # Prices of the last iteration; where these prove little, the same for these costs, and cooler ones.
        prices = ask.proof_of(found.warm)
        better: Callable[[DataSweep, Conditions, Prices], Prices] = ask.solver.solve
        bound = ask.prove(self.sweep, prices)
        if found.objective - bound > _FAR_OFF * abs(found.objective):
            # Prices that prove less than none at all went astray, where a cluster has few people: from cold.
            plain = ask.prove(self.sweep, replace(prices, theta=np.zeros_like(prices.theta)))
            if plain > bound:
                prices, better = ask.solver.solve(self.sweep, ask.goal), ask.solver.cool
                bound = max(plain, ask.prove(self.sweep, prices))
        while found.objective - bound > _PROVED * abs(found.objective):
            before, tried = bound, better(self.sweep, ask.goal, prices)
            proved, better = ask.prove(self.sweep, tried), ask.solver.cool
            if proved > bound:
                prices, bound = tried, proved
            is_worth_it = proved - before > _WORTH_PROVING * (found.objective - before)
            if not is_worth_it or not ask.solver.can_cool(tried):
                break
        return replace(
            found, parameters=own, warm=prices, state=prices.state, lower_bound=max(bound, 0.0),  # no cost is negative
            n_sweeps=found.n_sweeps + self.sweep.n_sweeps - n_before,
        )  # fmt: skip

    def coarse(self) -> Problem | None:
        """The same problem on a sample of the points; None where there are too few to need one."""
        step = sampling_step(self.sweep, self.solver, self.settings)
        return self.sampled(step) if step > 1 else None

    def natural_weight(self, parameters: FloatArray) -> float:
        """Return a weight of the right order: a cluster's fairness is worth moving its points by their gap."""
        self.objective.fill(self.sweep, parameters)
        gap = self.sweep.assign(np.zeros((self.sweep.n_clusters, self.sweep.n_cells))).gap
        return max(self.sweep.total * gap / self.sweep.n_clusters, np.finfo(float).tiny ** 0.5)
