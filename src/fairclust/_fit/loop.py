"""The outer loop: point costs → solver → labels → parameters, until nothing moves. The same for every objective.

The energy of a labelling is ``F(labels) + Σ_k weight_k · fairness_k(labels)``. A proposal that does not lower it is not
taken, so the history falls strictly.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._objectives import Anchored, Leading, Objective, Relaxed
from .._solvers import FairnessTerm, Solution, Solver
from .._sweep.memory import InMemorySweep
from .._sweep.question import DataSweep, HardAnswer, State, Sweep, same_labels
from .._typing import FloatArray

_ROUNDING = 1e-9
_SMALLEST_SAMPLE = 1 << 15  # points
_COARSEST = 16
_COARSE_TOL = 0.01  # of tol: on a sample, iterations are cheap, and a plateau is better left there
_REACH = 0.5
_PLAIN_TEMPERATURE = 0.05  # of soft assignments without a fairness term, in mean gaps


class StopReason(enum.StrEnum):
    """Why a fit stopped. Each member is also a word: ``model.stop_reason_ == "labels unchanged"``."""

    LABELS_UNCHANGED = "labels unchanged"
    SETTLED = "parameters moved less than tol"
    ENERGY_SETTLED = "energy changed less than tol"
    NO_IMPROVEMENT = "no proposal lowered the energy"
    MAX_ITER = "max_iter reached"
    SEARCH_ENDED = "no cheaper fit that meets the goal was found"


@dataclass(frozen=True)
class Settings:
    """How the outer loop runs.

    With a ``reach``, parameters run ahead of the labels by that share of their last move, while the energy falls: that
    shortens the way over plateaus.
    """

    max_iter: int = 300
    tol: float = 1e-4
    assignments: str = "hard"
    reach: float = 0.0
    on_iteration: Callable[[int, float], None] | None = None


@dataclass(frozen=True)
class FitResult:
    """What a fit found. Labels are as the sweep keeps them, and are argmin(a + price) at these parameters."""

    labels: Any
    parameters: FloatArray
    state: State
    masses: FloatArray
    objective: float
    energy: float
    energy_history: FloatArray = field(default_factory=lambda: np.zeros(0))
    n_iter: int = 0
    n_sweeps: int = 0
    stop_reason: StopReason = StopReason.MAX_ITER

    @property
    def warm_state(self) -> State | None:
        """Prices for a similar fit to start from; None where there are none, after plain clustering."""
        return self.state if self.state.pull.any() else None


def fit_once(
    objective: Objective,
    sweep: DataSweep,
    fairness: FairnessTerm,
    weight: FloatArray,
    solver: Solver,
    parameters: FloatArray,
    settings: Settings,
    state: State | None = None,
) -> FitResult:
    """Fit from one start.

    Parameters
    ----------
    objective, sweep, fairness, solver
        The parts: what the points cost, who answers, what fairness means, who solves.
    weight : ndarray of shape (n_clusters,)
        Weight of each cluster's fairness. Zero everywhere: plain clustering.
    parameters : ndarray
        Where to start: centres, for K-means.
    settings : Settings
        When to stop.
    state : State or None
        Prices to start from, when the start is the end of a similar fit.

    Returns
    -------
    result : FitResult
    """
    n_before = sweep.n_sweeps
    if not weight.any() or fairness.is_constant:
        solver = _Plain()
    elif settings.assignments == "soft":
        return _fit_soft(objective, sweep, fairness, weight, solver, parameters, settings, state)
    objective.fill(sweep, parameters)
    best: FitResult | None = None
    history: list[float] = []
    reason, is_last, relaxed = StopReason.MAX_ITER, False, np.inf
    to_beat, move = np.inf, _Move(parameters, parameters)
    for n_iter in range(1, settings.max_iter + 1):
        solution = solver.solve(sweep, fairness, weight, state, to_beat)
        state = solution.state
        hard = solution.hard or sweep.assign(state.price)
        labels = sweep.last_labels()
        hard = _anchored(objective, sweep, labels, hard)
        if best is not None and same_labels(labels, best.labels):
            reason = StopReason.LABELS_UNCHANGED if not is_last else reason
            best = replace(best, parameters=move.to, state=state)
            break
        last, energy = move, np.inf
        if hard.cost + _penalty(fairness, weight, hard.masses) <= to_beat + _ROUNDING * abs(to_beat):
            masses = _refill(objective, sweep, last.to, labels, hard)
            move = _move(objective, sweep, last.to, labels, masses, 0.0 if is_last else settings.reach, settings.tol)
            energy = move.value + _penalty(fairness, weight, masses)
        if best is not None and energy >= best.energy:
            if last.lead == 0:
                reason = StopReason.NO_IMPROVEMENT
                break
            # The parameters ran too far ahead: back to the best labels' own.
            move, state, to_beat = _Move(last.own, last.own), best.state, best.energy
            objective.fill(sweep, last.own)
            continue
        history.append(energy)
        best = FitResult(labels, last.to, state, masses, move.value, energy)
        to_beat = energy + move.lead
        if settings.on_iteration is not None:
            settings.on_iteration(n_iter, energy)
        if is_last:
            break
        if solver.rests_on_energy:
            if n_iter > 2 and _is_settled(relaxed, solution, settings.tol, fairness, weight):
                reason = StopReason.ENERGY_SETTLED
                break
            relaxed = solution.energy if solution.energy is not None else np.inf
        elif move.length <= settings.tol:
            # One more round, so that the labels fit the parameters that are handed out.
            reason, is_last = StopReason.SETTLED, True
    assert best is not None
    return replace(
        best,
        energy_history=np.array(history),
        n_iter=len(history),
        n_sweeps=sweep.n_sweeps - n_before,
        stop_reason=reason,
    )


@dataclass(frozen=True)
class _Move:
    """Where the parameters went, the labels' own, how much more the labels cost there, F of the labels, how far."""

    to: FloatArray
    own: FloatArray
    lead: float = 0.0
    value: float = 0.0
    length: float = np.inf


def _move(
    objective: Objective,
    sweep: DataSweep,
    parameters: FloatArray,
    labels: Any,
    masses: FloatArray,
    reach: float,
    tol: float,
) -> _Move:
    """Move the parameters to the labels' own, or a little ahead of them; fill the sweep with the point costs there."""
    sizes = masses.sum(axis=1)
    own = objective.parameters(sweep, labels, sizes)
    length = objective.movement(parameters, own)
    if reach == 0 or length <= tol or not isinstance(objective, Leading):
        return _Move(own, own, 0.0, objective.fill(sweep, own, labels), length)
    to = objective.ahead(parameters, own, reach)
    lead = objective.lead(to, own, sizes)
    return _Move(to, own, lead, objective.fill(sweep, to, labels) - lead, length)


def sampling_step(sweep: DataSweep, solver: Solver, settings: Settings) -> int:
    """A sample for the first iterations takes every so-manieth point; below 2, there are too few points to gain."""
    if sweep.n_cells == 1 or solver.rests_on_energy or settings.assignments != "hard":
        return 1
    return min(_COARSEST, sweep.n_samples // _SMALLEST_SAMPLE)


def fit_coarse_to_fine(
    objective: Objective,
    sweep: DataSweep,
    fairness: FairnessTerm,
    weight: FloatArray,
    solver: Solver,
    parameters: FloatArray,
    settings: Settings,
    state: State | None = None,
) -> FitResult:
    """Fit something easier first, where there is such a thing, and go on from its parameters and prices.

    Where there are many points, that is a sample: early iterations then cost a sixteenth. (Plain clustering is
    fitted on all points from the first iteration.) Where the parameters come from a discrete set, it is
    the relaxed objective, of a sample if there are many points.
    """
    coarse = _fit_coarse(objective, sweep, fairness, weight, solver, parameters, settings, state)
    if coarse is None:
        return fit_once(objective, sweep, fairness, weight, solver, parameters, settings, state)
    settings = replace(settings, reach=_REACH)
    fine = fit_once(objective, sweep, fairness, weight, solver, coarse.parameters, settings, coarse.state)
    return replace(fine, n_sweeps=fine.n_sweeps + coarse.n_sweeps)


def _fit_coarse(
    objective: Objective,
    sweep: DataSweep,
    fairness: FairnessTerm,
    weight: FloatArray,
    solver: Solver,
    parameters: FloatArray,
    settings: Settings,
    state: State | None,
) -> FitResult | None:
    """Fit a sample, a relaxed objective, or both; None: neither helps."""
    is_plain = not weight.any() or fairness.is_constant
    if (solver.rests_on_energy and not is_plain) or settings.assignments != "hard":
        return None
    relaxed = objective.relaxed() if isinstance(objective, Relaxed) else None
    easier = objective if relaxed is None else relaxed
    step = sampling_step(sweep, solver, settings)
    if step >= 2 and (relaxed is not None or weight.any()):
        sample, rows = sweep.sampled(step)
        share = sample.total / sweep.total
        longer = replace(settings, tol=settings.tol * _COARSE_TOL, reach=_REACH)
        part = fairness.scaled(share)
        found = fit_once(easier.sampled(rows), sample, part, weight * share, solver, parameters, longer, state)
        return replace(found, n_sweeps=round(found.n_sweeps * share))
    if relaxed is None:
        return None
    return fit_once(relaxed, sweep, fairness, weight, solver, parameters, settings, state)


def _fit_soft(
    objective: Objective,
    sweep: DataSweep,
    fairness: FairnessTerm,
    weight: FloatArray,
    solver: Solver,
    parameters: FloatArray,
    settings: Settings,
    state: State | None,
) -> FitResult:
    """The same loop with soft assignments, as the paper writes it: the relaxed energy falls."""
    n_before = sweep.n_sweeps
    objective.fill(sweep, parameters)
    energy, history, reason = np.inf, [], StopReason.MAX_ITER
    for n_iter in range(1, settings.max_iter + 1):
        proposal = solver.solve(sweep, fairness, weight, state).state
        answer = sweep(proposal)
        moved_to = objective.soft_parameters(sweep, proposal, answer.masses.sum(axis=1))
        reached = objective.soft_value(answer, parameters, moved_to) + _penalty(fairness, weight, answer.masses)
        if reached >= energy:
            reason = StopReason.NO_IMPROVEMENT
            break
        change, energy, state = energy - reached, reached, proposal
        history.append(energy)
        if settings.on_iteration is not None:
            settings.on_iteration(n_iter, energy)
        movement = objective.movement(parameters, moved_to)
        parameters = moved_to
        objective.fill(sweep, parameters)
        if movement <= settings.tol or change <= settings.tol * _scale(energy, fairness, weight) * 1e-2:
            reason = StopReason.SETTLED
            break
    assert state is not None
    hard = sweep.assign(state.price)
    labels = sweep.last_labels()
    masses = _refill(objective, sweep, parameters, labels, hard)
    means = objective.parameters(sweep, labels, masses.sum(axis=1))
    value = objective.fill(sweep, means, labels)
    return FitResult(
        labels, parameters, state, masses, value, energy,
        np.array(history), len(history), sweep.n_sweeps - n_before, reason,
    )  # fmt: skip


@dataclass(frozen=True)
class _Plain:
    """No fairness: every price is zero. Plain clustering goes through the same loop."""

    rests_on_energy: bool = False

    def solve(
        self,
        sweep: Sweep,
        fairness: FairnessTerm,
        weight: FloatArray,
        start: State | None = None,
        to_beat: float = np.inf,
    ) -> Solution:
        price = np.zeros((sweep.n_clusters, sweep.n_cells))
        hard = sweep.assign(price)
        gap = _PLAIN_TEMPERATURE * hard.gap
        return Solution(State(1.0 / gap if gap > 0 else 1.0, price), hard=hard)


def _penalty(fairness: FairnessTerm, weight: FloatArray, masses: FloatArray) -> float:
    return float(weight @ fairness.value(masses)) if weight.any() else 0.0


def _scale(energy: float, fairness: FairnessTerm, weight: FloatArray) -> float:
    """Size of the paper's energy: its Eq. (3) has the cross-entropy, which the KL energy lacks by a constant."""
    return abs(energy + float(weight.sum()) * fairness.entropy)


def _is_settled(before: float, now: Solution, tol: float, fairness: FairnessTerm, weight: FloatArray) -> bool:
    return now.energy is not None and abs(now.energy - before) <= tol * _scale(now.energy, fairness, weight)


def _anchored(objective: Objective, sweep: DataSweep, labels: Any, hard: HardAnswer) -> HardAnswer:
    """Bring the points that must stay in a cluster back into it (IN/OUT labels); return the answer after that."""
    anchors = objective.anchors() if isinstance(objective, Anchored) else None
    if anchors is None or not isinstance(sweep, InMemorySweep):
        return hard
    strays = [(k, int(p)) for k, p in enumerate(anchors) if p >= 0 and labels[p] != k]
    masses, cost, layout = hard.masses.copy(), hard.cost, sweep.layout
    for cluster, point in strays:
        mass = 1.0 if sweep.weights is None else float(sweep.weights[point])
        block = int(np.searchsorted(layout.start, point, side="right")) - 1
        excess = sweep.excess[block, :, point - layout.start[block]]
        group = layout.chunk_cell[np.searchsorted(layout.chunk, block, side="right") - 1]
        masses[labels[point], group] -= mass
        masses[cluster, group] += mass
        cost += mass * float(excess[cluster] - excess[labels[point]])
        labels[point] = cluster
    return HardAnswer(masses, cost, hard.gap) if strays else hard


def _refill(
    objective: Objective, sweep: DataSweep, parameters: FloatArray, labels: Any, hard: HardAnswer
) -> FloatArray:
    """Give every empty cluster the point that is served worst (IN/OUT labels); return the masses after that.

    Labels that are a rule cannot be changed point by point: there the objective moves the cluster's centre instead.
    """
    empty = np.flatnonzero(hard.masses.sum(axis=1) <= 0)
    if not len(empty) or not isinstance(sweep, InMemorySweep):
        return hard.masses
    masses = hard.masses.copy()
    group = sweep.layout.cells
    spare = iter(objective.farthest(sweep, parameters, labels, sweep.n_samples))
    for cluster in empty:
        for point in spare:
            mass = 1.0 if sweep.weights is None else float(sweep.weights[point])
            if mass > 0 and masses[labels[point]].sum() > mass:
                masses[labels[point], group[point]] -= mass
                masses[cluster, group[point]] += mass
                labels[point] = cluster
                break
    return masses
