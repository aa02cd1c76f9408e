"""The outer loop: prices at fixed centres, assignments at fixed prices, their own centres."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .._dual.oracle import Assignment
from .._dual.solver import Solution, solve
from .._dual.subproblem import Subproblem
from .._rounding.whole import whole_labels
from .._typing import FloatArray
from .points import Points
from .schedule import Schedule, Stage


class StopReason(enum.StrEnum):
    """Why a loop ended. Each member is also a word: ``model.stop_reason_ == "no improvement"``."""

    SETTLED = "energy changed less than tol"
    NO_IMPROVEMENT = "no proposal lowered the energy"
    MAX_ITER = "max_iter reached"
    BEATEN = "too far above what is to be beaten"
    BUDGET = "the budget of evaluations is used up"


@dataclass(frozen=True, eq=False)
class State:
    """What a proposal starts from.

    Attributes
    ----------
    centers : ndarray
    theta : ndarray of shape (n_clusters, n_unknowns)
    subproblem : Subproblem
        With Dinkelbach's parameters of this round.
    temperature : float
        That θ is for, in units.
    unit : float
        Of temperatures: the typical margin at the first centres.
    """

    centers: FloatArray
    theta: FloatArray
    subproblem: Subproblem
    temperature: float
    unit: float


@dataclass(frozen=True, eq=False)
class Candidate:
    """Assignments, what they cost, and the state that follows from them.

    Attributes
    ----------
    solution : Solution
    assigned : Assignment or None
        None: rows are shared.
    energy, cost : float
        With and without the terms' values.
    violation : float
        People outside the terms; of shared rows those of a dual that did not converge.
    centers : ndarray
        At which the prices were found.
    problem : Subproblem
        That they solve.
    following : State
    """

    solution: Solution
    assigned: Assignment | None
    energy: float
    cost: float
    violation: float
    centers: FloatArray
    problem: Subproblem
    following: State

    @property
    def rank(self) -> tuple[float, float]:
        """Fewest people outside the terms first, then the least energy."""
        return (self.violation, self.energy)


class Step(NamedTuple):
    """What ``why_stop`` reads of an iteration."""

    rank: tuple[float, float]
    is_accepted: bool
    was_ahead: bool  # its centres were ahead of the assignments' own
    n_evaluations: float


@dataclass(frozen=True, eq=False)
class Outcome:
    """The best candidate of a loop, its steps, and why it ended."""

    best: Candidate
    steps: tuple[Step, ...]
    stop_reason: StopReason

    @property
    def n_evaluations(self) -> float:
        """Evaluations of all steps."""
        return sum(step.n_evaluations for step in self.steps)


def run(
    points: Points,
    state: State,
    stage: Stage,
    schedule: Schedule,
    budget: float,
    to_beat: float = np.inf,
    on_iteration: Any = None,
) -> Outcome:
    """Run the outer loop from a state.

    1. Propose: prices that maximise the dual at the state's centres, the assignments at these prices, their energy.
    2. Accept the proposal if it is better than the best one.
    3. Advance from the best one: centres are those of its assignments, and Dinkelbach's parameters those of its masses.
       After several better ones in a row centres go ahead in the same direction (Nesterov's rule).
    4. Stop when ``why_stop`` gives a reason.
    """
    best: Candidate | None = None
    steps: list[Step] = []
    n_better, was_ahead, reason = 0, False, None
    can_go_ahead = points.objective.can_extrapolate and bool(state.subproblem.terms)
    while reason is None:
        left = budget - sum(step.n_evaluations for step in steps)
        proposal = propose(points, state, stage, schedule, left)  # 1
        is_accepted = best is None or proposal.rank < best.rank  # 2
        spent = proposal.solution.n_evaluations + 1.0
        steps.append(Step(proposal.rank, is_accepted, was_ahead, spent))
        if is_accepted and on_iteration is not None:
            on_iteration(proposal.energy)
        last, best = best, proposal if is_accepted or best is None else best
        n_better = n_better + 1 if is_accepted else 0  # 3
        state, was_ahead = best.following, n_better > 1 and can_go_ahead
        if was_ahead and last is not None:
            reach = n_better / (n_better + schedule.momentum)
            ahead = state.centers + reach * (state.centers - last.following.centers)
            state = replace(state, centers=np.ascontiguousarray(ahead, dtype=state.centers.dtype))
        reason = why_stop(steps, stage, schedule, budget, to_beat)  # 4
    assert best is not None
    return Outcome(best, tuple(steps), reason)


def why_stop(
    steps: Sequence[Step], stage: Stage, schedule: Schedule, budget: float, to_beat: float
) -> StopReason | None:
    """The reason to stop after these steps, if there is one."""
    if sum(step.n_evaluations for step in steps) >= budget:
        return StopReason.BUDGET
    if not steps[-1].is_accepted and not steps[-1].was_ahead:
        return StopReason.NO_IMPROVEMENT
    accepted = [step.rank for step in steps if step.is_accepted]
    if steps[-1].is_accepted and len(accepted) > 1:
        (violation_before, before), (violation, energy) = accepted[-2:]
        is_steady, fall = violation == violation_before, before - energy
        if is_steady and fall <= stage.tolerance * abs(energy):
            return StopReason.SETTLED
        if is_steady and energy - schedule.hope * fall > to_beat:
            return StopReason.BEATEN
    return StopReason.MAX_ITER if len(steps) >= stage.max_iter else None


def propose(points: Points, state: State, stage: Stage, schedule: Schedule, budget: float) -> Candidate:
    """Assignments for the point costs at the state's centres.

    The energy of shared rows is the dual's value at these centres, with the true value of soft terms in place of the
    frozen one: as a function of the centres it is what the loop minimises. The energy of whole rows is that of their
    labels at their own centres. Without terms no row is shared.
    """
    oracle, subproblem = points.oracle(state.centers), state.subproblem
    solution = solved(oracle, state, stage, schedule, budget - 1)
    if stage.is_whole or not subproblem.terms:
        return whole(points, state, solution, schedule)
    sizes = solution.masses.sum(axis=1)
    centers = points.objective.soft_centers(oracle, solution.prices, solution.temperature, sizes, state.centers)
    energy = solution.value + subproblem.correction(solution.masses, solution.theta)
    violation = 0.0 if solution.is_converged else solution.residual
    following = advanced(state, centers, solution)
    return Candidate(solution, None, energy, solution.value, violation, state.centers, subproblem, following)


def whole(points: Points, state: State, solution: Solution, schedule: Schedule) -> Candidate:
    """Whole labels near a solution for the state's centres."""
    subproblem = state.subproblem
    assigned = whole_labels(points.oracle(state.centers), solution, subproblem, schedule.split_gain)
    centers, cost = points.own(assigned, state.centers)
    energy = cost + float(subproblem.value(assigned.masses).sum())
    violation = float(subproblem.violation(assigned.masses).sum())
    following = advanced(state, centers, solution)
    return Candidate(solution, assigned, energy, cost, violation, state.centers, subproblem, following)


def advanced(state: State, centers: FloatArray, solution: Solution) -> State:
    """The state that follows from a solution: its prices, and Dinkelbach's parameters of its masses."""
    updated = state.subproblem.updated(solution.masses, solution.theta)
    return State(centers, solution.theta, updated, solution.temperature / state.unit, state.unit)


def solved(oracle: Any, state: State, stage: Stage, schedule: Schedule, budget: float) -> Solution:
    """Solve from the state's prices; from scratch where centres moved too far for these to help."""
    if not state.subproblem.terms:
        prices, temperature = np.zeros((oracle.n_clusters, oracle.n_cells)), state.unit * stage.temperature
        return Solution(state.theta, prices, temperature, np.nan, prices, 0.0, True, 0)
    temperatures = state.unit * schedule.temperatures(state.temperature, stage.temperature)
    solution = solve(oracle, state.subproblem, state.theta, temperatures, schedule.precision, budget)
    left = budget - solution.n_evaluations
    if solution.is_converged or not state.theta.any() or left < 1:
        return solution
    temperatures = state.unit * schedule.temperatures(hottest(oracle, state.unit, schedule), stage.temperature)
    theta = np.zeros_like(state.theta)
    again = solve(oracle, state.subproblem, theta, temperatures, schedule.precision, left)
    return again._replace(n_evaluations=solution.n_evaluations + again.n_evaluations)


def start(points: Points, subproblem: Subproblem, centers: FloatArray, schedule: Schedule) -> State:
    """A state from scratch: no prices, a high temperature, and the parameters of plain clusters."""
    oracle = points.oracle(centers)
    theta = np.zeros((points.n_clusters, subproblem.n_unknowns))
    if not subproblem.terms:
        return State(centers, theta, subproblem, 1.0, 1.0)
    plain = oracle.plain()
    unit = plain.margins.typical
    highest = schedule.highest_temperature * max(plain.margins.mean / unit, 1.0)
    return State(centers, theta, subproblem.updated(plain.masses, theta), highest, unit)


def at_own_centers(points: Points, state: State) -> State:
    """The state with centres of the labels at its prices: of medoids where they were anywhere in space before."""
    oracle = points.oracle(state.centers)
    prices = state.subproblem.prices(state.theta, state.temperature * state.unit).prices
    return replace(state, centers=points.own(oracle.assign(prices), state.centers).centers)


def hottest(oracle: Any, unit: float, schedule: Schedule) -> float:
    """The temperature from scratch, in units: prices of outliers may be as far away as their margins."""
    return schedule.highest_temperature * max(oracle.plain().margins.mean / unit, 1.0)
