"""Fit: from points and a request to labels, with a proof of how good they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._dual.oracle import Assignment
from .._dual.solver import certify, solve
from .._rounding.feasible import Obstacle, obstacle
from .._rounding.local_search import improve
from .._rounding.moves import MoveCosts
from .._rounding.table import has_table_near, is_feasible, repaired, violation
from .._rounding.transport import with_counts
from .._typing import FloatArray
from ..goals import MaxFairnessError
from .loop import Candidate, Outcome, State, StopReason, at_own_centers, run, start, whole
from .points import Points, subsample
from .request import Request
from .schedule import Schedule, Stage
from .search import find_start, occupied

OnIteration = Callable[[int, float], None]


@dataclass(frozen=True, eq=False)
class Fit:
    """What came out of a fit.

    Attributes
    ----------
    assigned : Assignment
        Labels and masses.
    centers : ndarray
        At which prices and bound hold: for a penalty those that the labels are the cheapest at, else the labels' own.
    own_centers : ndarray
        Of the labels.
    cost, energy : float
        F of the labels; the same with what soft terms cost.
    theta, prices : ndarray
        Dual variables, and what a member of each cell pays in each cluster.
    column_prices : ndarray of shape (n_clusters, n_unknowns)
        The same by group: a cell pays for each of its groups.
    temperature : float
        For soft assignments at these prices.
    lower_bound : float
        No assignment to these centres that satisfies the terms costs less; NaN where that is not known.
    is_met : bool
        Whether the hard terms hold.
    obstacle : str
        Why they cannot hold, where that is known; empty else.
    history : ndarray
        Energies of the outer iterations with whole rows, falling.
    """

    assigned: Assignment
    centers: FloatArray
    own_centers: FloatArray
    cost: float
    energy: float
    theta: FloatArray
    prices: FloatArray
    column_prices: FloatArray
    temperature: float
    lower_bound: float
    is_met: bool
    obstacle: str
    history: FloatArray
    n_evaluations: int
    stop_reason: StopReason


def fit(
    points: Points,
    request: Request,
    starts: Sequence[FloatArray],
    schedule: Schedule,
    on_iteration: OnIteration | None = None,
) -> Fit:
    """Fit for a request; where no clustering can satisfy it, for the nearest one that can, without a search."""
    if request.goal is not None and request.goal.cost_limit is not None:
        return fit_within_cost(points, request, starts, schedule, on_iteration)
    found = _obstacle(request)
    if found is None:
        return fit_feasible(points, request, starts, schedule, on_iteration)
    nearest = fit_feasible(points, nearest_feasible(request), starts[:1], schedule.brief(), on_iteration)
    missed = nearest if request.goal is None else _nearest_labels(points, request, nearest)
    is_met = not request.subproblem.violation(missed.assigned.masses).any()
    return replace(missed, is_met=is_met, obstacle=found.sentence, lower_bound=np.nan)


def fit_feasible(
    points: Points,
    request: Request,
    starts: Sequence[FloatArray],
    schedule: Schedule,
    on_iteration: OnIteration | None = None,
) -> Fit:
    """Fit.

    1. Find where to start, on a subsample.
    2. Run the stages: prices settle, cool, and rows become whole.
    3. Improve the labels by moves and swaps of single rows.
    4. Prove a lower bound at the final centres.
    """
    smooth = points.relaxed()
    if not request.subproblem.terms and len(starts) == 1 and smooth is points:
        schedule = replace(schedule, stages=(schedule.lloyd,))
        centers = occupied(points, starts[0], schedule.search.rows or points.rows.n_samples)
        state, spent = start(points, request.subproblem, centers, schedule), 0.0
    else:
        found = find_start(smooth, request, starts, schedule)  # 1
        state, spent = found.best.following, found.n_evaluations
    outcome, spent, history = run_stages(points, state, schedule, spent, on_iteration)  # 2
    best, subproblem = outcome.best, outcome.best.following.subproblem
    assert best.assigned is not None
    assigned, own, cost = best.assigned, best.following.centers, best.cost
    is_soft = subproblem.has_soft_terms
    has_constraints = bool(subproblem.terms) and not is_soft
    wanted = schedule.local_search if schedule.local_search is not None else has_constraints
    if wanted and can_search(points, schedule):  # 3
        assigned = improve(points, assigned, own, subproblem)
        own, cost = points.own(assigned, own)
    energy = cost + float(subproblem.value(assigned.masses).sum())
    if not history or energy < history[-1]:
        history = [*history, energy]
    are_own = has_constraints or assigned is not best.assigned or _are_nearest(points, own, best)
    result = Fit(
        assigned=assigned,
        centers=own if are_own else best.centers,
        own_centers=own,
        cost=cost,
        energy=energy,
        theta=best.solution.theta,
        prices=best.solution.prices,
        column_prices=best.problem.column_prices(best.solution.theta, best.solution.temperature),
        temperature=best.following.unit * schedule.reported_temperature,
        lower_bound=np.nan,
        is_met=not subproblem.violation(assigned.masses).any(),
        obstacle="",
        history=np.array(history),
        n_evaluations=round(spent),
        stop_reason=outcome.stop_reason,
    )
    return proved(points, result, best.following, schedule) if has_constraints else result  # 4


def _are_nearest(points: Points, own: FloatArray, best: Candidate) -> bool:
    """Whether without terms the labels are the nearest of their own centres, too: a fit has then converged."""
    if best.problem.terms or best.assigned is None:
        return False
    again = points.oracle(own).assign(best.solution.prices)
    return bool((again.masses == best.assigned.masses).all()) and bool(
        np.isclose(again.cost, best.cost, rtol=CONVERGED, atol=0.0)
    )


CONVERGED = 1e-6  # relative difference of two costs that is the rounding of single precision


def run_stages(
    points: Points, state: State, schedule: Schedule, spent: float, on_iteration: OnIteration | None = None
) -> tuple[Outcome, float, list[float]]:
    """Run the stages from a state: the last outcome, the evaluations so far, and the energies of whole rows.

    Until rows are whole, centres may be anywhere in space. Where the last dual did not converge, the labels of the one
    before are better.
    """
    before: Candidate | None = None
    samples: dict[int, Points] = {}
    history: list[float] = []

    def told(energy: float) -> None:
        history.append(energy)
        if on_iteration is not None:
            on_iteration(len(history), energy)

    smooth = points.relaxed()
    for stage in schedule.stages:
        used = points if stage.is_whole else smooth
        if used is not smooth:
            state = at_own_centers(points, state)
        if stage.rows is not None and 2 * stage.rows <= points.rows.n_samples:
            if stage.rows not in samples:
                samples[stage.rows] = subsample(used, stage.rows, state.centers)
            used = samples[stage.rows]
        part = used.rows.n_samples / points.rows.n_samples
        left = schedule.part * (schedule.budget - spent) / part
        outcome = run(used, state, stage, schedule, left, on_iteration=told if stage.is_whole else None)
        if stage.is_whole and before is not None and not outcome.best.solution.is_converged:
            again = whole(points, replace(outcome.best.following, centers=before.centers), before.solution, schedule)
            outcome = outcome if outcome.best.rank <= again.rank else replace(outcome, best=again)
        before = outcome.best if points.relaxed() is points and outcome.best.solution.is_converged else before
        state, spent = outcome.best.following, spent + outcome.n_evaluations * part
    return outcome, spent, history


def proved(points: Points, result: Fit, state: State, schedule: Schedule) -> Fit:
    """The result with a lower bound at its centres, and the prices that prove it."""
    oracle, left = points.oracle(result.centers), schedule.budget - result.n_evaluations
    temperature = state.temperature * state.unit
    solution = solve(oracle, state.subproblem, state.theta, np.array([temperature]), schedule.precision, left)
    certificate = certify(
        oracle, state.subproblem, solution, result.cost, schedule.cooling, schedule.certainty, schedule.precision,
        left - solution.n_evaluations,
    )  # fmt: skip
    prices = state.subproblem.prices(certificate.theta, 0.0).prices
    return replace(
        result,
        theta=certificate.theta,
        prices=prices,
        column_prices=state.subproblem.column_prices(certificate.theta, 0.0),
        lower_bound=certificate.lower_bound if result.is_met else np.nan,
        n_evaluations=result.n_evaluations + solution.n_evaluations + certificate.n_evaluations,
    )


def can_search(points: Points, schedule: Schedule) -> bool:
    """Whether single rows are moved: rows in memory, without weights, and not too many."""
    rows = points.rows
    is_small = rows.n_samples <= schedule.local_search_rows
    return bool(points.objective.can_search and rows.can_move_rows and not rows.is_weighted and is_small)


def fit_within_cost(
    points: Points,
    request: Request,
    starts: Sequence[FloatArray],
    schedule: Schedule,
    on_iteration: OnIteration | None = None,
) -> Fit:
    """The fairest clusters that cost at most so much more than plain ones: the smallest error whose cost fits.

    A root in the logarithm of the error: by fits of a subsample in which rows are shared, all from the plain clusters;
    then whole fits at the root, a little farther where that costs too much.
    """
    goal = request.goal
    assert goal is not None
    assert goal.cost_limit is not None
    plain = fit_feasible(points, replace(request, goal=None), starts, schedule)
    limit = plain.cost * (1.0 + goal.cost_limit)
    spent = plain.n_evaluations
    if worst_error(request, plain.assigned.masses) <= FAIREST or not request.attributes:
        return plain
    sample = subsample(points, schedule.stages[0].rows or points.rows.n_samples, plain.own_centers)
    allowed = float(np.log1p(goal.cost_limit))
    reached = float(np.log(max(min(worst_error(request, plain.assigned.masses), 10.0), 2.0 * FAIREST)))
    low, high, centers = float(np.log(FAIREST)), reached, plain.own_centers
    base = sample.oracle(centers).plain().assigned.cost
    part = sample.rows.n_samples / points.rows.n_samples
    cold = replace(schedule.search, temperature=min(stage.temperature for stage in schedule.stages))
    for _ in range(schedule.cost_fits):
        middle = (low + high) / 2
        tried = replace(request, goal=MaxFairnessError(float(np.exp(middle))))
        state = start(sample, tried.subproblem, centers, schedule)
        left = schedule.part * (schedule.budget - spent) / schedule.cost_fits / part
        outcome = run(sample, state, cold, schedule, left)
        spent += round(outcome.n_evaluations * part)
        dearer = float(np.log(max(outcome.best.energy, 1e-300) / max(base, 1e-300)))
        low, high = (low, middle) if dearer <= allowed and outcome.best.violation == 0 else (middle, high)
    best, step = plain, 0.0
    while schedule.budget - spent > schedule.precision.max_steps:
        level = min(high + step, reached)
        tried = replace(request, goal=MaxFairnessError(float(np.exp(level))))
        brief = replace(schedule.brief(), budget=int(schedule.part * (schedule.budget - spent)))
        found = fit(points, tried, [centers], brief, on_iteration)
        spent += found.n_evaluations
        if found.cost <= limit:
            is_fairer = worst_error(request, found.assigned.masses) < worst_error(request, best.assigned.masses)
            best = found if is_fairer else best
            break
        step = max(2.0 * step, COST_STEP)
    energy = np.array([best.energy]) if best is plain else best.history
    return replace(best, is_met=True, obstacle="", lower_bound=np.nan, n_evaluations=spent, history=energy)


FAIREST = 1e-6  # a fairness error below which nobody can tell
COST_STEP = 0.05  # of the logarithm of an error, that a whole fit allows more where it cost too much


def worst_error(request: Request, masses: FloatArray) -> float:
    """The largest fairness error of any cluster and attribute."""
    goal = MaxFairnessError()
    return max((float(goal.figure(a.shares(masses), a).max()) for a in request.attributes), default=0.0)


def nearest_feasible(request: Request) -> Request:
    """The request with its goal loosened as little as lets an even split meet it; without it where that is unknown."""
    assert request.goal is not None
    low, high, best = 0.0, 1.0, replace(request, goal=None)
    even = np.tile(request.cell_totals / request.n_clusters, (request.n_clusters, 1))
    for _ in range(LOOSENINGS):
        middle = (low + high) / 2
        goal = request.goal.loosened(middle)
        if goal is None:
            break
        tried = replace(request, goal=goal)
        is_feasible = has_table_near(even, request.cell_totals, tried.subproblem)
        low, high = (low, middle) if is_feasible else (middle, high)
        best = tried if is_feasible else best
    return best


LOOSENINGS = 7  # halvings of the way to no goal at all


def _obstacle(request: Request) -> Obstacle | None:
    """What stands in the way of a request, where counts of people can tell."""
    subproblem = request.subproblem
    if request.is_weighted or not subproblem.terms or subproblem.has_soft_terms:
        return None
    return obstacle(subproblem, request.cell_totals, request.n_clusters, request.names)


def _nearest_labels(points: Points, request: Request, found: Fit) -> Fit:
    """The labels with as few people outside of what was asked as changes of counts lead to; no cluster is empty."""
    rows = points.rows
    counts = np.round(found.assigned.masses).astype(np.int64)
    if rows.is_weighted or is_feasible(counts, request.subproblem):
        return found
    assigned = points.oracle(found.own_centers).assign(found.prices)
    moves = MoveCosts(rows, assigned, found.prices)
    table = repaired(counts, request.subproblem, moves.pairs)
    before, after = (violation(request.subproblem, one).sum() for one in (counts, table))
    if after >= before:
        return found
    labelled = with_counts(moves, table)
    own, cost = points.own(labelled, found.own_centers)
    return replace(found, assigned=labelled, own_centers=own, centers=own, cost=cost, energy=cost)


__all__ = ["Fit", "Stage", "fit", "fit_feasible", "fit_within_cost", "proved", "run_stages"]
