"""The last touch: single points change clusters while that lowers the energy of the hard labels.

The bound treats a cluster's centre and masses as fixed while it labels the points; moving one point at a time does not.
What a move costs splits in two: the objective knows its distances, :class:`Moves` its effect on what is asked for,
which depends on the two clusters and the point's cell only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .._goals.conditions import Conditions
from .._goals.moves import MoveTable
from .._solvers import FairnessTerm
from .._typing import FloatArray, IntArray
from .asks import Ask
from .records import FitResult

if TYPE_CHECKING:
    from .problem import Problem

_MOST_ROUNDS = 100  # of looking at every point; ten do nearly always
_LEAST_GAIN = 1e-12  # of the energy; below this a gain is rounding
_AHEAD = 32.0  # moves that a round is ready for


class PenaltyMoves(MoveTable):
    """Moves that change Σ_k weight_k · fairness_k."""

    def __init__(self, fairness: FairnessTerm, fairness_weights: FloatArray, masses: FloatArray) -> None:
        self._fairness = fairness
        self._fairness_weights = fairness_weights
        super().__init__(masses)

    def costs(self, rows: FloatArray, clusters: IntArray) -> FloatArray:
        """Weighted fairness."""
        return self._fairness_weights[clusters] * self._fairness.value(rows, clusters)


class GoalMoves(MoveTable):
    """Moves that keep a goal: they cost nothing, or may not be made."""

    def __init__(self, goal: Conditions, masses: FloatArray) -> None:
        self._goal = goal
        super().__init__(masses)

    def costs(self, rows: FloatArray, clusters: IntArray) -> FloatArray:
        """Nothing, or infinity."""
        is_met = self._goal.beyond(rows, clusters) <= 0
        return np.where(is_met & rows.any(axis=1), 0.0, np.inf)


def polish(problem: Problem, ask: Ask, result: FitResult, moves: MoveTable) -> tuple[FitResult, bool]:
    """Move single points until no move lowers the energy; also say whether that was reached.

    The labels are then no longer argmin(a + price) for every point.
    """
    objective, sweep = problem.objective, problem.sweep
    labels = result.labels.copy()
    least = _LEAST_GAIN * max(abs(result.energy), np.finfo(float).tiny)
    # A mean follows a point that moves by one part of its cluster's size: others' costs change by about as much of one.
    near = _AHEAD * abs(result.objective) * sweep.n_clusters / sweep.n_samples**2
    n_moves, sums = 0, objective.sums(sweep, labels)
    for _ in range(_MOST_ROUNDS):
        made = objective.improve(sweep, labels, sums, moves, least, near)
        n_moves += made
        if not made:
            break
    if not n_moves:
        return result, True
    polished = with_labels(problem, ask, result, labels, moves.masses)
    if polished.energy >= result.energy:
        return result, not made
    return polished, not made


def with_labels(problem: Problem, ask: Ask, result: FitResult, labels: IntArray, masses: FloatArray) -> FitResult:
    """The result with other labels: their own objective and energy, which end the history."""
    parameters = problem.objective.parameters(problem.sweep, labels, masses.sum(axis=1))
    value = problem.objective.fill(problem.sweep, parameters, labels)
    energy = value + ask.penalty(masses)
    history = np.append(result.energy_history[result.energy_history > energy], energy)
    return replace(
        result, labels=labels, masses=masses, objective=value, energy=energy, energy_history=history,
        n_iter=len(history), own=parameters,
    )  # fmt: skip
