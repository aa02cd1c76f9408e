"""Bounds on the clusters' sizes: a price that everyone pays for a full cluster, and gets for an empty one.

The bounds are one more part of the fairness term (:class:`SizeFairness`), with weights of their own that grow until the
sizes keep to them. A last step moves the few points that hard labels are off by.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack, kron, vstack

from .._fairness.sizes import SIZE_MARGIN
from .._goals.goals import Goal
from .._goals.rounding import move_to_counts
from .._sweep.memory import InMemorySweep
from .._typing import AnyArray, FloatArray
from .loop import FitResult
from .problem import Problem, WeightedFit
from .search import Aim, GoalAim, search_goal

_MOST_ROUNDS = 20
_STEP = 3.0  # largest factor by which a weight grows in a round
_LIMIT = 0.5 * np.log1p(SIZE_MARGIN) ** 2  # value of a size that is just at its bound


@dataclass(frozen=True)
class SizeBounds:
    """What every cluster may hold, as shares of all weight."""

    lower: float
    upper: float

    def ratio(self, masses: FloatArray) -> FloatArray:
        """How far each cluster is from its bounds, (n_clusters,): up to 1 inside them."""
        share = np.maximum(masses.sum(axis=1) / masses.sum(), 1e-12)
        beyond = np.maximum(np.log(np.maximum(self.lower / share, share / self.upper)) + np.log1p(SIZE_MARGIN), 0.0)
        return 0.5 * beyond**2 / _LIMIT

    def are_kept(self, masses: FloatArray) -> bool:
        """Whether all sizes are within the bounds, but for rounding."""
        share = masses.sum(axis=1) / masses.sum()
        return bool((share >= self.lower * (1 - 1e-9)).all() and (share <= self.upper * (1 + 1e-9)).all())


@dataclass(frozen=True)
class SizedGoal:
    """A goal and bounds on sizes: one column more than the goal has attributes."""

    goal: Goal
    bounds: SizeBounds

    def ratio(self, masses: FloatArray) -> FloatArray:
        """The goal's ratios, and those of the sizes."""
        return np.column_stack((self.goal.ratio(masses), self.bounds.ratio(masses)))

    def achieved(self, masses: FloatArray) -> float:
        """What the goal limits."""
        return self.goal.achieved(masses)

    def __str__(self) -> str:
        return str(self.goal)

    def obstacle(self, masses: FloatArray, names: AnyArray) -> str | None:
        """The goal's."""
        return self.goal.obstacle(masses, names)


@dataclass(frozen=True)
class SizedAim:
    """Any aim, with bounds on sizes."""

    aim: Aim
    bounds: SizeBounds
    weight: float = 0.0  # of the attributes, where the aim has no goal
    may_be_polished: bool = False

    @property
    def is_goal(self) -> bool:
        """Whether the aim has a goal."""
        return self.aim.is_goal

    def fit(self, problem: Problem, start: FloatArray) -> WeightedFit:
        """Search for weights that keep the sizes within bounds, then move what is left."""
        if isinstance(self.aim, GoalAim):
            fit = search_goal(problem, SizedGoal(self.aim.goal, self.bounds), start)
        else:
            fit = _search_sizes(problem, self.bounds, self.weight * problem.share, start)
        is_movable = isinstance(problem.sweep, InMemorySweep) and not problem.sweep.is_weighted
        if is_movable and not self.bounds.are_kept(fit.result.masses):
            fit = replace(fit, result=_moved(problem, self.bounds, fit))
        return fit

    def rank(self, problem: Problem, fit: WeightedFit) -> tuple[float, float]:
        """Fits that keep to the bounds first."""
        excess, value = self.aim.rank(problem, fit)
        beyond = 0.0 if self.bounds.are_kept(fit.result.masses) else float(self.bounds.ratio(fit.result.masses).max())
        return (max(excess, beyond), value)

    def is_met(self, problem: Problem, fit: WeightedFit) -> bool:
        """Whether the aim is met; sizes are told of by themselves."""
        return self.aim.is_met(problem, fit)

    def missed(self, problem: Problem, fit: WeightedFit) -> str:
        """What the aim says."""
        return self.aim.missed(problem, fit)


def _search_sizes(problem: Problem, bounds: SizeBounds, weight: float, start: FloatArray) -> WeightedFit:
    """Fit at one weight for the attributes, with weights of the sizes that grow until these are within bounds."""
    n_before = problem.sweep.n_sweeps
    weights = problem.full_weights(weight)
    if problem.attribute_weights is not None:
        weights[:, :-1] *= problem.attribute_weights
    weights[:, -1] = 0.0
    result = problem.fit_weights(weights, start)
    natural = problem.natural_weight(result.parameters)
    for _ in range(_MOST_ROUNDS):
        ratio = bounds.ratio(result.masses)
        if (ratio <= 1.0).all():
            break
        growth = np.clip(ratio, 1.0, _STEP)
        weights[:, -1] = np.where(ratio > 1.0, np.maximum(weights[:, -1] * growth, natural), weights[:, -1])
        result = problem.fit_weights(weights, result.parameters, result.warm_state)
    return WeightedFit(result, weights, problem.sweep.n_sweeps - n_before)


def _moved(problem: Problem, bounds: SizeBounds, fit: WeightedFit) -> FitResult:
    """The cheapest moves to sizes within the bounds."""
    sweep, objective, result = problem.sweep, problem.objective, fit.result
    assert isinstance(sweep, InMemorySweep)
    counts = bounded_counts(result.masses, bounds.lower * sweep.total, bounds.upper * sweep.total)
    if counts is None:
        return result
    objective.fill(sweep, result.parameters)
    labels = move_to_counts(sweep, result.state.price, counts)
    parameters = objective.parameters(sweep, labels, counts.sum(axis=1))
    value = objective.fill(sweep, parameters, labels)
    fairness, weight = problem.fairness.weighted(fit.weights)
    energy = value + float(weight @ fairness.value(counts))
    return replace(
        result, labels=labels, masses=counts, objective=value, energy=energy,
        energy_history=np.append(result.energy_history[result.energy_history > energy], energy),
    )  # fmt: skip


def bounded_counts(masses: FloatArray, lower: float, upper: float) -> FloatArray | None:
    """Whole counts by cell with cluster sizes within bounds, as few moves from ``masses`` as can be.

    Parameters
    ----------
    masses : ndarray of shape (n_clusters, n_cells)
        Counts of some labelling; whole numbers.
    lower, upper : float
        Bounds on the sizes.

    Returns
    -------
    counts : ndarray of shape (n_clusters, n_cells), or None where there are none
        With the totals of ``masses``.
    """
    n_clusters, n_cells = masses.shape
    size = masses.sum(axis=1)
    by_cell = kron(np.ones((1, n_clusters)), eye_array(n_cells))
    by_cluster = kron(eye_array(n_clusters), np.ones((1, n_cells)))
    # Unknowns: what enters each place of the table, then what leaves it. A network, so HiGHS' vertices are whole.
    sizes = csr_array(hstack((by_cluster, -by_cluster)))
    found = linprog(
        np.ones(2 * masses.size),
        A_eq=csr_array(hstack((by_cell, -by_cell))),
        b_eq=np.zeros(n_cells),
        A_ub=vstack((sizes, -sizes)),
        b_ub=np.concatenate((np.floor(min(upper, masses.sum()) + 1e-9) - size, size - np.ceil(lower - 1e-9))),
        bounds=[(0, None)] * masses.size + [(0, float(most)) for most in masses.ravel()],
        method="highs-ds",
    )
    if found.status != 0:
        return None
    enters, leaves = np.round(found.x).reshape(2, n_clusters, n_cells)
    counts: FloatArray = masses + enters - leaves
    return counts
