"""From a goal to weights: the cheapest clustering found whose clusters all meet it, by warm-started fits.

Each cluster has a weight of its own for each attribute, a Lagrange multiplier: it grows where the cluster misses the
goal and shrinks where it is fairer than asked, so that no cluster pays for more than it needs. Fits in between are a
few iterations long and start where the last one ended.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from .._goals.goals import Goal
from .._goals.margins import is_rounded, rounded_counts
from .._goals.rounding import move_to_counts
from .._sweep.memory import InMemorySweep
from .._typing import AnyArray, FloatArray
from .loop import FitResult, StopReason
from .problem import Problem, WeightedFit

_MOST_ROUNDS = 30
_SHORT = 5  # outer iterations of a fit in between
_SHORTEST = 2  # and where a sample has found the weights already
_PATIENCE = 4  # rounds without a clearly cheaper clustering that meets the goal
_CLEAR_GAIN = 1e-4
_AIM = 0.97  # of the goal, so that the last fit does not end just outside
_STEP = 4.0  # largest factor by which a weight changes in a round
_POWER = 0.8
_SLOWING = 0.6
_HASTE = 1.25
_SLOWEST = 0.15
_SMALLEST_WEIGHT = 1e-3  # of the natural weight: below this a cluster is as good as free
_CORRECTIONS = 16
_CORRECTION = 1.1
_EXACT_WEIGHT = 300.0  # natural weights at which clusters are proportional up to a few points
_EXACT_ROUNDS = 8
_LAST_RESORTS = (3.0, 10.0, 30.0, 100.0)  # natural weights
_PROPORTIONAL = 1e-12  # fairness error that nothing can lower
_HOPELESS_WEIGHT = 30.0  # natural weights, for a goal that cannot be met


@dataclass(frozen=True)
class _Tried:
    """A fit at some weights and how far its worst cluster is from the goal."""

    weights: FloatArray
    result: FitResult
    worst: float

    @property
    def is_met(self) -> bool:
        return self.worst <= 1.0


class Aim(Protocol):
    """What a fit is for: fits from a start, ranks fits, and says whether one will do."""

    @property
    def is_goal(self) -> bool: ...

    @property
    def may_be_polished(self) -> bool: ...

    def fit(self, problem: Problem, start: FloatArray) -> WeightedFit: ...

    def rank(self, problem: Problem, fit: WeightedFit) -> tuple[float, float]: ...

    def is_met(self, problem: Problem, fit: WeightedFit) -> bool: ...

    def missed(self, problem: Problem, fit: WeightedFit) -> str: ...


@dataclass(frozen=True)
class WeightAim:
    """A fixed weight."""

    weight: float
    reported: Goal
    is_goal: bool = False
    may_be_polished: bool = True

    def fit(self, problem: Problem, start: FloatArray) -> WeightedFit:
        """Fit at the weight; on a sample, at its share of it."""
        return problem.fit(self.weight * problem.share, start)

    def rank(self, problem: Problem, fit: WeightedFit) -> tuple[float, float]:
        """Lowest energy first."""
        return (0.0, fit.result.energy)

    def is_met(self, problem: Problem, fit: WeightedFit) -> bool:
        """Whether the goal would be met."""
        return bool(self.reported.ratio(fit.result.masses).max() <= 1.0)

    def missed(self, problem: Problem, fit: WeightedFit) -> str:
        """A fixed weight misses nothing."""
        return ""


@dataclass(frozen=True)
class GoalAim:
    """A goal that every cluster must meet, at the least cost."""

    goal: Goal
    names: AnyArray
    exactly: bool = False
    is_goal: bool = True

    @property
    def may_be_polished(self) -> bool:
        """Exact counts must stay."""
        return not self.exactly

    def fit(self, problem: Problem, start: FloatArray) -> WeightedFit:
        """Search; where the goal cannot be met by any clustering, come close without searching."""
        if self._obstacle(problem) is not None:
            return problem.fit(_HOPELESS_WEIGHT * problem.natural_weight(start), start)
        return search_goal(problem, self.goal, start, exactly=self.exactly)

    def rank(self, problem: Problem, fit: WeightedFit) -> tuple[float, float]:
        """Fits that meet the goal first, then the cheapest."""
        excess = 0.0 if self.is_met(problem, fit) else float(self.goal.ratio(fit.result.masses).max())
        return (excess, fit.result.objective)

    def is_met(self, problem: Problem, fit: WeightedFit) -> bool:
        """Whether every cluster meets the goal; for exact proportions, up to the rounding to whole points."""
        if self.exactly:
            return is_rounded(fit.result.masses, problem.fairness.membership)
        return bool(self.goal.ratio(fit.result.masses).max() <= 1.0)

    def missed(self, problem: Problem, fit: WeightedFit) -> str:
        """Say why or how close."""
        obstacle = self._obstacle(problem)
        if obstacle is not None:
            return f"{obstacle}. The clusters come as close as a large weight takes them."
        masses = fit.result.masses
        worst = int(self.goal.ratio(masses).max(axis=1).argmax())
        return (
            f"{self.goal} was not reached: cluster {worst} is the worst, with {self.goal.achieved(masses):.3g}. "
            "Allow more, or try fewer clusters or more starts (n_init)."
        )

    def _obstacle(self, problem: Problem) -> str | None:
        return self.goal.obstacle(problem.cell_masses, self.names)


@dataclass(frozen=True)
class CostAim:
    """The fairest clusters that cost at most so much more than plain ones."""

    most_increase: float
    is_goal: bool = True
    may_be_polished: bool = False

    def fit(self, problem: Problem, start: FloatArray) -> WeightedFit:
        """Search along the weight."""
        return search_cost(problem, self.most_increase, start)

    def rank(self, problem: Problem, fit: WeightedFit) -> tuple[float, float]:
        """Fairest first."""
        return (problem.error(fit.result), fit.result.objective)

    def is_met(self, problem: Problem, fit: WeightedFit) -> bool:
        """The search never spends more."""
        return True

    def missed(self, problem: Problem, fit: WeightedFit) -> str:
        """Never missed: plain clustering always qualifies."""
        return ""


def search_goal(problem: Problem, goal: Goal, start: FloatArray, *, exactly: bool = False) -> WeightedFit:
    """Find the cheapest clustering that meets the goal.

    Parameters
    ----------
    problem : Problem
        What to fit.
    goal : Goal
        What every cluster must meet.
    start : ndarray
        Parameters to start from.
    exactly : bool
        Ask for proportional counts, up to the rounding to whole points.

    Returns
    -------
    fit : WeightedFit
        The cheapest that meets the goal; where none does, the one that comes closest.
    """
    n_before = problem.sweep.n_sweeps
    coarse = problem.coarse()
    if coarse is not None and not exactly:
        rough = search_goal(coarse, goal, start)
        found = _Tried(rough.weights * (problem.sweep.total / coarse.sweep.total), rough.result, np.inf)
        n_spent = round(rough.n_sweeps * coarse.sweep.total / problem.sweep.total)
        best = _follow(problem, goal, _again(problem, goal, found), _SHORTEST)
    else:
        natural = problem.natural_weight(start)
        n_spent = 0
        best = _exact(problem, start, natural) if exactly else _adapt(problem, goal, start, natural)
    if not best.is_met:
        best = _resort(problem, goal, best, start)
    n_sweeps = problem.sweep.n_sweeps - n_before + n_spent
    result = best.result
    if result.stop_reason is StopReason.MAX_ITER and result.n_iter < problem.settings.max_iter:
        result = replace(result, stop_reason=StopReason.SEARCH_ENDED)  # of a short fit in between
    return WeightedFit(result, best.weights, n_sweeps)


def search_cost(problem: Problem, most_increase: float, start: FloatArray) -> WeightedFit:
    """Find the fairest clustering that costs at most ``1 + most_increase`` times plain clustering."""
    n_before = problem.sweep.n_sweeps
    plain = problem.fit(0.0, start)
    limit = plain.result.objective * (1.0 + most_increase)
    best, low, high = plain, 0.0, np.inf
    weight = problem.natural_weight(plain.result.parameters)
    last = plain.result
    for _ in range(14):
        tried = problem.fit(weight, last.parameters, last.warm_state)
        if tried.result.objective <= limit:
            low, last = weight, tried.result
            best = tried if problem.error(tried.result) < problem.error(best.result) else best
            if problem.error(best.result) <= _PROPORTIONAL:
                break
        else:
            high = weight
        if high < 1.03 * low or weight > 1e9 * problem.natural_weight(plain.result.parameters):
            break
        weight = weight * 5.0 if not np.isfinite(high) else (weight / 5.0 if low == 0 else float(np.sqrt(low * high)))
    return replace(best, n_sweeps=problem.sweep.n_sweeps - n_before)


def _adapt(problem: Problem, goal: Goal, start: FloatArray, natural: float) -> _Tried:
    """Let the weights find their level, then fit at the best of them until nothing moves."""
    weights = problem.full_weights(natural)
    tried = _try(problem, goal, weights, start, None)
    if tried.is_met:  # at a small weight: perhaps nothing needs to be done
        plain = _try(problem, goal, np.zeros_like(weights), start, None)
        if plain.is_met:
            return plain
    return _follow(problem, goal, tried, _SHORT)


def _again(problem: Problem, goal: Goal, found: _Tried) -> _Tried:
    """Fit all points briefly at the weights that a sample found."""
    return _try(problem, goal, found.weights, found.result.parameters, found.result, _SHORT)


def _follow(problem: Problem, goal: Goal, tried: _Tried, n_iter: int) -> _Tried:
    """Fit for so many iterations, change the weights, fit again; at the best weights, until nothing moves."""
    best: _Tried | None = None
    closest, stale = tried, 0
    pace, last_growth = np.ones_like(tried.weights), np.ones_like(tried.weights)
    least = _SMALLEST_WEIGHT * float(tried.weights.max())
    for n_left in reversed(range(_MOST_ROUNDS)):
        is_best = tried.is_met and (best is None or tried.result.objective < best.result.objective)
        is_clear = best is None or tried.result.objective < (1.0 - _CLEAR_GAIN) * best.result.objective
        stale = 0 if is_best and is_clear else stale + 1
        best = tried if is_best else best
        closest = tried if tried.worst < closest.worst else closest
        if (best is not None and stale >= _PATIENCE) or not n_left:
            break
        growth = _growth(goal, tried.result)
        # A weight that turns round went too far: it takes smaller steps, and longer ones again while it goes on.
        goes_on = (growth > 1) == (last_growth > 1)
        pace = np.clip(pace * np.where(goes_on, _HASTE, _SLOWING), _SLOWEST, 1.0)
        last_growth = growth
        weights = np.maximum(tried.weights * growth**pace, least)
        tried = _try(problem, goal, weights, tried.result.parameters, tried.result, n_iter)
    return _settle(problem, goal, best or closest)


def _resort(problem: Problem, goal: Goal, settled: _Tried, start: FloatArray) -> _Tried:
    """Weights of single clusters got stuck: one weight for all costs more, but few labellings resist it."""
    natural = problem.natural_weight(start)
    for factor in _LAST_RESORTS:
        weights = np.full_like(settled.weights, factor * natural)
        tried = _try(problem, goal, weights, settled.result.parameters, None)
        settled = tried if _is_better(tried, settled) else settled
        if settled.is_met:
            break
    return settled


def _settle(problem: Problem, goal: Goal, found: _Tried) -> _Tried:
    """Fit at these weights until nothing moves; raise those of clusters that miss the goal, a little at a time."""
    best, weights, last = found, found.weights, found.result
    for correction in range(_CORRECTIONS):
        tried = _try(problem, goal, weights, last.parameters, last)
        best = tried if _is_better(tried, best) else best
        if best.is_met:  # this fit's, or the one that it started from: that one is then the better
            break
        # What a cluster gives away others must take: after a while, all weights grow.
        misses = goal.ratio(tried.result.masses) > 1
        grown = np.maximum(_growth(goal, tried.result), _CORRECTION ** (1 + correction // 2))
        weights = tried.weights * np.where(misses, grown, _CORRECTION ** (correction // 4))
        last = tried.result
    return best


def _is_better(tried: _Tried, best: _Tried) -> bool:
    if tried.is_met and best.is_met:
        return tried.result.objective < best.result.objective
    return tried.worst < best.worst


def _growth(goal: Goal, result: FitResult) -> FloatArray:
    """Factor for each weight: the error falls about as a power of the weight."""
    ratio = np.maximum(goal.ratio(result.masses), 0.0) / _AIM
    return np.clip(ratio, 1.0 / _STEP, _STEP) ** _POWER


def _try(
    problem: Problem,
    goal: Goal,
    weights: FloatArray,
    parameters: FloatArray,
    last: FitResult | None,
    max_iter: int | None = None,
) -> _Tried:
    state = None if last is None else last.warm_state
    settings = problem.settings if max_iter is None else replace(problem.settings, max_iter=max_iter)
    result = problem.fit_weights(weights, parameters, state, settings)
    return _Tried(weights, result, float(goal.ratio(result.masses).max()))


def _exact(problem: Problem, start: FloatArray, natural: float) -> _Tried:
    """Nearly proportional prices, then whole counts; centres follow while that is cheaper."""
    weights = problem.full_weights(_EXACT_WEIGHT * natural)
    result = problem.fit_weights(weights / 30, start)
    result = problem.fit_weights(weights, result.parameters, result.state)
    best = _rounded(problem, weights, result)
    for _ in range(_EXACT_ROUNDS):
        # The point costs are at the means of the best labels already: _rounded filled them last.
        solution = problem.solver.solve(problem.sweep, *problem.fairness.weighted(weights), best.state)
        again = _rounded(problem, weights, replace(best, state=solution.state))
        if again.objective >= best.objective:
            break
        best = again
    return _Tried(weights, best, 0.0)


def _rounded(problem: Problem, weights: FloatArray, result: FitResult) -> FitResult:
    """The labels of these prices, with exactly proportional counts."""
    sweep, objective = problem.sweep, problem.objective
    assert isinstance(sweep, InMemorySweep)  # estimators refuse exact counts elsewhere
    masses = sweep.assign(result.state.price).masses
    if (masses.sum(axis=1) <= 0).any():
        masses = result.masses
    counts = rounded_counts(masses, problem.fairness.membership)
    labels = move_to_counts(sweep, result.state.price, counts)
    parameters = objective.parameters(sweep, labels, counts.sum(axis=1))
    value = objective.fill(sweep, parameters, labels)
    energy = value + float((weights * problem.fairness.errors(counts)).sum())
    return replace(
        result, labels=labels, masses=counts, parameters=parameters, objective=value, energy=energy,
        energy_history=np.append(result.energy_history[result.energy_history > energy], energy),
    )  # fmt: skip
