"""The outer loop: point costs → labels → parameters, until nothing moves. The same for every objective and every ask.

The energy of a labelling is F(labels) plus what the ask says that its masses cost. A proposal that does not lower it is
not taken, so the history falls strictly; under a goal it holds costs of labels that meet it, where people are whole.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._objectives import Objective
from .._sweep.question import DataSweep, State, same_labels
from .._typing import FloatArray
from .asks import Ask
from .records import FitResult, Start, StopReason

if TYPE_CHECKING:
    from .problem import Problem
    from .settings import Settings

_MOST_MOVED = 3  # clusters that cannot be what they should: more say that the goal is out of reach
_FALL_TOL = 3e-2  # of tol: a relative fall of the energy that is none worth another iteration
_CLEAR_FALL = 1e-4  # a fall that is, whatever tol is
_FALLS = 2  # as the last that a fit may hope for: each is smaller than the one before, so together they are few
_MOMENTUM = 3.0  # after n falls in a row, parameters run ahead by n/(n + 3) of their own last move: Nesterov's rule
_ROUNDING = 1e-9  # relative difference of two energies that is none
_MANY = 1 << 12  # points whose costs, in single precision, add up to nine digits: of fewer, rounding shows
_MOST_SAVED = 0.5  # of what labels cost that better parameters may save, for the rest to keep its digits


def fit_once(problem: Problem, ask: Ask, start: Start, settings: Settings | None = None) -> FitResult:
    """Fit from one start.

    Parameters
    ----------
    problem : Problem
        The parts: what the points cost, and who answers.
    ask : Ask
        What to fit for.
    start : Start
        Where to start: parameters (centres, for K-means), and prices when it is the end of a similar fit.
    settings : Settings or None
        When to stop. None: the problem's own.
    """
    settings = settings or problem.settings
    return settings.assignments.fit(problem.objective, problem.sweep, ask, start, settings)


class Assignments(ABC):
    """How points are assigned while a fit runs: the loop that goes with it."""

    are_hard: bool
    """Whether every point is in one cluster. Samples, moves of clusters and of points take that for granted."""

    @abstractmethod
    def fit(self, objective: Objective, sweep: DataSweep, ask: Ask, start: Start, settings: Settings) -> FitResult:
        """Run the loop."""


class Hard(Assignments):
    """Every point is in one cluster."""

    are_hard = True

    def fit(self, objective: Objective, sweep: DataSweep, ask: Ask, start: Start, settings: Settings) -> FitResult:
        """The energy of the labels falls."""
        return _fit_hard(objective, sweep, ask, start, settings)


class Soft(Assignments):
    """Points are shared by clusters, as the paper writes it; at the end each goes to one."""

    are_hard = False

    def fit(self, objective: Objective, sweep: DataSweep, ask: Ask, start: Start, settings: Settings) -> FitResult:
        """The relaxed energy falls; where nothing is asked that could be relaxed, that of the labels."""
        loop = _fit_soft if ask.can_be_soft else _fit_hard
        return loop(objective, sweep, ask, start, settings)


HARD = Hard()
ASSIGNMENTS: dict[str, Assignments] = {"hard": HARD, "soft": Soft()}


def _fit_hard(objective: Objective, sweep: DataSweep, ask: Ask, start: Start, settings: Settings) -> FitResult:
    n_before = sweep.n_sweeps
    objective.fill(sweep, start.parameters)
    best: _Taken | None = None
    history: list[float] = []
    reason, is_last, relaxed = StopReason.MAX_ITER, False, np.inf
    warm, to_beat, move = start.warm, np.inf, _Move(start.parameters, start.parameters)
    dearest = np.inf  # energy that labels must beat: of the last few
    n_moved = n_falls = 0
    for n_iter in range(1, settings.max_iter + 1):
        found = labels = None  # labels that were not taken are let go before others are made
        found = ask.propose(sweep, warm, to_beat)
        warm, labels = found.warm, found.labels
        hard = sweep.keep_in(objective.anchors(), labels, found.hard)
        # Masses tell most labels apart, and soonest as bytes: they are few, and zeros among them have no sign.
        if best is not None and hard.masses.tobytes() == best.masses.tobytes() and same_labels(labels, best.labels):
            reason = StopReason.LABELS_UNCHANGED if not is_last else reason
            best = best._replace(parameters=move.to, state=found.state, warm=warm)
            break
        failing = ask.failing(hard.masses) if best is None else None
        if failing is not None and n_moved < min(_MOST_MOVED, settings.max_iter - 1):
            # This cluster cannot be what it should, whoever is in it: its centre goes where it can.
            elsewhere = objective.relocated(sweep, move.to, labels, failing)
            if elsewhere is not None:
                n_moved += 1
                move, warm = _Move(elsewhere, elsewhere), None
                objective.fill(sweep, elsewhere)
                continue
        last, energy, penalty = move, np.inf, found.penalty if hard is found.hard else None
        penalty = ask.penalty(hard.masses, warm) if penalty is None else penalty
        if best is None or hard.cost + penalty <= to_beat + _ROUNDING * abs(to_beat):
            masses, sizes = hard.masses, hard.masses.sum(axis=1)
            if not min(sizes.tolist()) > 0:  # of few numbers, sooner than NumPy
                farthest = partial(objective.farthest, sweep, last.to, labels, sweep.n_samples)
                masses = sweep.fill_empty(labels, hard, farthest)
                sizes = masses.sum(axis=1)
            n_falls += 1
            reach = n_falls / (n_falls + _MOMENTUM) if settings.runs_ahead and not is_last else 0.0
            cost = hard.cost if masses is hard.masses and sweep.n_samples >= _MANY else None
            move = _move(objective, sweep, last, labels, sizes, cost, reach, settings.tol)
            energy = move.value + (penalty if masses is hard.masses else ask.penalty(masses, warm))
        if best is not None and energy >= dearest:
            if last.lead == 0 or last.saved <= settings.worth_a_step_back * abs(dearest):
                reason = StopReason.NO_IMPROVEMENT
                move = last
                break
            # The parameters ran too far ahead: back to the best labels' own.
            move, warm, to_beat, n_falls = _Move(last.own, last.own), best.warm, dearest, 0
            objective.fill(sweep, last.own)
            continue
        history.append(energy)
        best = _Taken(labels, last.to, found.state, masses, move.value, energy, warm, move.own)
        dearest = max(history[-settings.memory :])
        to_beat = dearest + move.lead
        if settings.on_iteration is not None:
            settings.on_iteration(n_iter, energy)
        if is_last:
            break
        n_falls_left = min(settings.max_iter - n_iter, _FALLS)
        if len(history) > 1 and energy - (history[-2] - energy) * n_falls_left > settings.to_reach:
            reason = StopReason.HOPELESS
            break
        # The next can save about as much as the parameters did, and a person of each group here or there.
        if _is_worth_little(history, move.saved + masses.size * sweep.person * hard.gap, settings.least_fall):
            reason = StopReason.SETTLED
            break
        if ask.rests_on_energy:
            if n_iter > 2 and _is_settled(relaxed, found.relaxed_energy, settings.tol, ask):
                reason = StopReason.ENERGY_SETTLED
                break
            relaxed = found.relaxed_energy if found.relaxed_energy is not None else np.inf
        elif move.length <= settings.tol or _is_slow(history, settings, ask):
            # One more round, so that the labels fit the parameters that are handed out.
            reason, is_last = StopReason.SETTLED, True
        if not move.is_filled:
            objective.fill(sweep, move.to)
    assert best is not None
    if math.isinf(best.energy):  # whole people cannot do what is asked: these labels are as near as any that were seen
        best, history = best._replace(energy=best.objective), [best.objective]
    history = [energy for energy in history if math.isfinite(energy)]  # from the first labels on that do as asked
    return FitResult(
        best.labels, best.parameters, best.state, best.masses, best.objective, best.energy,
        np.array(history), len(history), sweep.n_sweeps - n_before, reason, warm=best.warm, own=best.own,
    )  # fmt: skip


class _Taken(NamedTuple):
    """Labels that were taken, as :class:`FitResult` has them."""

    labels: Any
    parameters: FloatArray
    state: State
    masses: FloatArray
    objective: float
    energy: float
    warm: Any
    own: FloatArray


class _Move(NamedTuple):
    """Where the parameters went, the labels' own, how much more the labels cost there, F of the labels, how far.

    And how much less the labels cost at their own than at the last ones, and whether the sweep has the point costs
    there: the last move's are never asked for.
    """

    to: FloatArray
    own: FloatArray
    lead: float = 0.0
    value: float = 0.0
    length: float = np.inf
    saved: float = np.inf
    is_filled: bool = True


def _move(
    objective: Objective,
    sweep: DataSweep,
    last: _Move,
    labels: Any,
    sizes: FloatArray,
    cost: float | None,
    reach: float,
    tol: float,
) -> _Move:
    """Move the parameters to the labels' own, or ahead of them.

    Where it is known what it costs to be beside them, that tells F from what the labels ``cost`` at the last ones
    (None: nobody knows), unless few digits would be left of it. Elsewhere the sweep is filled with the point costs
    there.
    """
    own = objective.parameters(sweep, labels, sizes)
    length = objective.movement(last.to, own)
    if not objective.can_lead:
        return _Move(own, own, 0.0, objective.fill(sweep, own, labels), length)
    is_ahead = reach > 0 and length > tol
    to = objective.ahead(last.own, own, reach) if is_ahead else own
    lead = objective.lead(to, own, sizes) if is_ahead else 0.0
    saved = objective.lead(last.to, own, sizes)
    if cost is not None and saved < _MOST_SAVED * cost:
        return _Move(to, own, lead, cost - saved, length, saved, is_filled=False)
    return _Move(to, own, lead, objective.fill(sweep, to, labels) - lead, length, saved)


def _fit_soft(objective: Objective, sweep: DataSweep, ask: Ask, start: Start, settings: Settings) -> FitResult:
    """The same loop with soft assignments, as the paper writes it: the relaxed energy falls."""
    n_before = sweep.n_sweeps
    parameters, state = start.parameters, start.warm
    objective.fill(sweep, parameters)
    energy, history, reason = np.inf, [], StopReason.MAX_ITER
    for n_iter in range(1, settings.max_iter + 1):
        proposal = ask.soft_state(sweep, state)
        answer = sweep(proposal)
        moved = objective.soft_parameters(sweep, proposal, answer.masses.sum(axis=1))
        reached = objective.soft_value(answer, parameters, moved) + ask.penalty(answer.masses)
        if reached >= energy:
            reason = StopReason.NO_IMPROVEMENT
            break
        energy, state = reached, proposal
        history.append(energy)
        if settings.on_iteration is not None:
            settings.on_iteration(n_iter, energy)
        movement = objective.movement(parameters, moved)
        parameters = moved
        objective.fill(sweep, parameters)
        if movement <= settings.tol or _is_slow(history, settings, ask):
            reason = StopReason.SETTLED
            break
    assert state is not None
    hard = sweep.assign(state.price)
    labels = sweep.last_labels()
    masses = sweep.fill_empty(labels, hard, partial(objective.farthest, sweep, parameters, labels, sweep.n_samples))
    means = objective.parameters(sweep, labels, masses.sum(axis=1))
    value = objective.fill(sweep, means, labels)
    return FitResult(
        labels, parameters, state, masses, value, energy,
        np.array(history), len(history), sweep.n_sweeps - n_before, reason, warm=state,
    )  # fmt: skip


def _is_worth_little(history: list[float], to_save: float, least_fall: float) -> bool:
    """Whether the last iteration brought less than that, or leaves less to save."""
    if not least_fall > 0:
        return False
    fall = history[-2] - history[-1] if len(history) > 1 else np.inf
    return math.isfinite(history[-1]) and bool(min(fall, to_save) <= least_fall * abs(history[-1]))


def _is_slow(history: list[float], settings: Settings, ask: Ask) -> bool:
    """Whether the energy hardly falls any more: on a plateau parameters can creep for long, and gain nothing."""
    if len(history) <= settings.memory:
        return False
    least = min(_FALL_TOL * settings.tol, _CLEAR_FALL) * ask.scale(history[-1])
    return history[-1 - settings.memory] - history[-1] <= least


def _is_settled(before: float, now: float | None, tol: float, ask: Ask) -> bool:
    return now is not None and abs(now - before) <= tol * ask.scale(now)
