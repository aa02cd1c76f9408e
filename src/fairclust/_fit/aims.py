"""What an estimator aims at: a weight, a goal, or a cost. An aim fits, ranks fits, and says what was missed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .._fairness.term import Representation
from .._goals.conditions import Conditions
from .._goals.goals import Goal, MaxFairnessError
from .._goals.sizes import SizeInterval
from .._typing import AnyArray, FloatArray
from .asks import Ask, GoalAsk
from .budget import spend
from .polish import GoalMoves, PenaltyMoves, polish
from .problem import Problem, WeightedFit
from .records import FitResult, Start

_SATURATED = 300.0  # natural weights; beyond, a person in the wrong place costs more than any distance
_AS_GOOD_AS_PROPORTIONAL = 1e-4  # fairness error that nobody can tell from 0
_FELT = 2.0  # temperatures
_MANY = 1000  # people per cluster, on average: one more or less is a tenth of what goals are about
_COLD_ITERATIONS = 5  # after a fit has settled: what is left is a few people near a tie
_WORTH_COLD = 1e-4  # of the cost that an iteration must save for another: single moves, which come next, save as much
_ROUNDING = 1e-9  # relative difference of two energies that is none
_FEW = 10  # people: clusters as small as that are rare, and are repaired
_MOST_NEEDED = 0.5  # of a cluster of average size: a goal that needs more is met, if at all, by fewer clusters
_SLACK = 0.01  # of a goal that prices leave to whole people: about one in clusters of a thousand


class Aim(ABC):
    """What a fit is for."""

    is_goal: bool = True

    @abstractmethod
    def fit(self, problem: Problem, start: Start) -> WeightedFit:
        """Fit from a start."""

    @abstractmethod
    def rank(self, problem: Problem, fit: WeightedFit) -> tuple[float, float]:
        """Orders fits, best first."""

    @abstractmethod
    def is_met(self, problem: Problem, fit: WeightedFit) -> bool:
        """Whether a fit will do."""

    def missed(self, problem: Problem, fit: WeightedFit) -> str:
        """Say why it does not, or how close it comes."""
        return ""

    def resolved(self, problem: Problem, few: Callable[[], Problem], parameters: FloatArray) -> Aim:
        """What this comes to for a problem, of which a few points tell enough, about these parameters."""
        return self

    def ask(self, problem: Problem) -> Ask | None:
        """What labels are asked to be, where that is one thing for the whole fit; None: it changes on the way."""
        return None

    def polished(self, problem: Problem, fit: WeightedFit) -> tuple[WeightedFit, bool]:
        """Single moves; also whether no move is left that helps."""
        return fit, False

    def proved(self, problem: Problem, fit: WeightedFit) -> WeightedFit:
        """How far from the cheapest a fit can be, where that can be told."""
        return fit


@dataclass(frozen=True)
class WeightAim(Aim):
    """A fixed weight."""

    fairness_weight: float
    reported: Goal
    is_goal: bool = False

    def fit(self, problem: Problem, start: Start) -> WeightedFit:
        """Fit at the weight; on a sample, at its share of it."""
        return problem.fit(self.fairness_weight * problem.sample_fraction, start)

    def resolved(self, problem: Problem, few: Callable[[], Problem], parameters: FloatArray) -> Aim:
        """A weight that drowns the costs is a goal."""
        can_be = self.fairness_weight > 0 and problem.objective.can_relocate and not problem.solver.rests_on_energy
        if not can_be or not problem.settings.assignments.are_hard or problem.fairness.is_constant:
            return self
        is_saturated = self.fairness_weight * few().sample_fraction > _SATURATED * few().natural_weight(parameters)
        return SaturatedAim(self, problem.fairness) if is_saturated else self

    def ask(self, problem: Problem) -> Ask:
        """Fairness at the weight."""
        return problem.ask_at(problem.uniform_weights(self.fairness_weight * problem.sample_fraction))

    def rank(self, problem: Problem, fit: WeightedFit) -> tuple[float, float]:
        """Lowest energy first."""
        return (0.0, fit.result.energy)

    def is_met(self, problem: Problem, fit: WeightedFit) -> bool:
        """Whether the goal would be met."""
        return bool(self.reported.ratio(fit.result.masses).max() <= 1.0)

    def polished(self, problem: Problem, fit: WeightedFit) -> tuple[WeightedFit, bool]:
        """Moves that lower the energy."""
        fairness, weights = problem.fairness.weighted(fit.fairness_weights)
        moves = PenaltyMoves(fairness, weights, fit.result.masses)
        result, is_done = polish(problem, problem.ask_at(fit.fairness_weights), fit.result, moves)
        return replace(fit, result=result), is_done


@dataclass(frozen=True)
class SaturatedAim(Aim):
    """A weight so large that a person in the wrong place costs more than any distance.

    The cheapest clusters that are as good as proportional, with the energy that the weight gives them.
    """

    aim: WeightAim
    fairness: Representation
    is_goal: bool = False

    @property
    def _goal(self) -> GoalAim:
        return GoalAim(MaxFairnessError(self.fairness, _AS_GOOD_AS_PROPORTIONAL), np.zeros(0))

    def fit(self, problem: Problem, start: Start) -> WeightedFit:
        """Fit for the goal."""
        weights = problem.uniform_weights(self.aim.fairness_weight * problem.sample_fraction)
        found = self._goal.fit(problem, start)
        result = found.result
        energy = result.objective + problem.ask_at(weights).penalty(result.masses)
        history = np.array([energy])
        result = replace(result, energy=energy, energy_history=history, n_iter=1, warm=result.state)
        return WeightedFit(result, weights, found.n_sweeps)

    def ask(self, problem: Problem) -> Ask:
        """The goal."""
        return self._goal.ask(problem)

    def rank(self, problem: Problem, fit: WeightedFit) -> tuple[float, float]:
        """As at the weight."""
        return self.aim.rank(problem, fit)

    def is_met(self, problem: Problem, fit: WeightedFit) -> bool:
        """As at the weight."""
        return self.aim.is_met(problem, fit)


@dataclass(frozen=True)
class GoalAim(Aim):
    """A goal that every cluster must meet, at the least cost.

    Parameters
    ----------
    goal : Goal
    names : ndarray
        Of the groups, for messages.
    sizes : SizeInterval or None
        Bounds on the clusters' sizes besides, as shares of all weight.
    """

    goal: Goal
    names: AnyArray
    sizes: SizeInterval | None = None

    def fit(self, problem: Problem, start: Start) -> WeightedFit:
        """Fit; where no clustering can meet the goal, as near to it as one can."""
        ask = self.ask(problem)
        is_in_space = problem.objective.can_relocate and problem.objective.relaxed() is None
        if problem.is_whole and is_in_space and ask.are_many:
            result = _roughly_first(problem, ask, start)
        elif problem.is_whole and is_in_space:
            result = _cooled(problem, ask, problem.fit_ask(ask, start))
        else:
            result = problem.fit_ask(ask, start)
        return WeightedFit(result, multipliers(ask, result), result.n_sweeps)

    def proved(self, problem: Problem, fit: WeightedFit) -> WeightedFit:
        """The goal's dual at the labels' own parameters."""
        ask = self.ask(problem)
        result = problem.proved(ask, fit.result)
        n_sweeps = fit.n_sweeps + result.n_sweeps - fit.result.n_sweeps
        return WeightedFit(result, multipliers(ask, result), n_sweeps)

    def ask(self, problem: Problem) -> GoalAsk:
        """What the goal asks of this problem's clusters."""
        goal = self._nearest(problem)
        membership = problem.fairness.attribute_membership
        sizes, sizes_of_whole = (
            None if bounds is None else bounds.scaled(problem.sweep.total)
            for bounds in (self.sizes, self._sizes_of_whole(goal, problem))
        )
        itself, inside = (
            replace(Conditions(goal.clauses(slack), membership).scaled(problem.sample_fraction), sizes=sizes)
            for slack in (0.0, _SLACK)
        )
        filled = inside if sizes_of_whole is None else replace(inside, sizes=sizes_of_whole)
        are_many = problem.sweep.n_samples >= _MANY * problem.sweep.n_clusters
        ask = GoalAsk(itself, inside, filled, goal.rounding(membership, problem.sweep), are_many=are_many)
        return ask if problem.is_whole else ask.on_sample(1.0)  # the conditions are the sample's already

    def _sizes_of_whole(self, goal: Goal, problem: Problem) -> SizeInterval | None:
        """Sizes at which whole people can meet the goal, where that bounds them."""
        n_people = problem.n_people or problem.sweep.n_samples
        most = int(_MOST_NEEDED * n_people / problem.sweep.n_clusters)
        fewest = goal.fewest(most)
        if not _FEW < fewest < most:
            return self.sizes
        lower, upper = (0.0, 1.0) if self.sizes is None else (self.sizes.lower, self.sizes.upper)
        return SizeInterval(max(lower, fewest / n_people), upper)

    def _nearest(self, problem: Problem) -> Goal:
        """The goal, or the nearest one that the data allow."""
        return self.goal if self._obstacle(problem) is None else self.goal.relaxed(problem.cell_masses)

    def rank(self, problem: Problem, fit: WeightedFit) -> tuple[float, float]:
        """Fits that meet the goal first, then the cheapest; on a sample nobody is moved to meet it: the cheapest."""
        is_fine = not problem.is_whole or self.is_met(problem, fit)
        excess = 0.0 if is_fine else float(self.goal.ratio(fit.result.masses).max())
        return (excess, fit.result.objective)

    def is_met(self, problem: Problem, fit: WeightedFit) -> bool:
        """Whether every cluster meets the goal."""
        return self.goal.is_met(fit.result.masses)

    def polished(self, problem: Problem, fit: WeightedFit) -> tuple[WeightedFit, bool]:
        """Moves that lower the cost and keep the goal."""
        ask = self.ask(problem)
        if ask.penalty(fit.result.masses) > 0:
            return fit, False
        result, is_done = polish(problem, ask, fit.result, GoalMoves(ask.goal, fit.result.masses))
        return replace(fit, result=result), is_done

    def missed(self, problem: Problem, fit: WeightedFit) -> str:
        """Say why or how close."""
        obstacle = self._obstacle(problem)
        if obstacle is not None:
            return f"{obstacle}. The clusters come as close as they can."
        masses = fit.result.masses
        worst = int(self.goal.ratio(masses).max(axis=1).argmax())
        size = masses[worst].sum()
        return (
            f"{self.goal} was not reached: cluster {worst}, with {size:g} people, is the worst, with "
            f"{self.goal.achieved(masses):.3g}. {self.goal.least_for(size)}"
            "Allow more, use fewer clusters, or let max_iter and n_init be larger."
        )

    def _obstacle(self, problem: Problem) -> str | None:
        return self.goal.obstacle(problem.cell_masses, self.names)


def _roughly_first(problem: Problem, ask: GoalAsk, start: Start) -> FitResult:
    """Fit as on a sample, people not being whole; then cold, and to the person. What is left is a few near a tie.

    Where that is not so, for clusters of a few people, they are whole from the start.
    """
    settings = problem.settings
    rough = replace(settings, max_iter=max(settings.max_iter - 1, 1), worth_a_step_back=_WORTH_COLD)
    fractional = ask.on_sample(1.0)
    first = problem.fit_ask(replace(fractional, solver=fractional.solver.checked()), start, rough)
    first = replace(first, labels=None)  # room for as many again
    if first.masses.sum(axis=1).min() >= _MANY * problem.sweep.person:
        many = replace(ask, solver=ask.solver.for_many())
        last = _cold(problem, many, first, max(settings.max_iter - first.n_iter, 1), _WORTH_COLD)
        if ask.penalty(last.masses) == 0:
            return last
    again = _cooled(problem, ask, problem.fit_ask(ask, start))
    return replace(again, n_sweeps=first.n_sweeps + again.n_sweeps)


def _cooled(problem: Problem, ask: GoalAsk, result: FitResult) -> FitResult:
    """A few more iterations at the coldest prices, where a fit settled before it had to cool."""
    n_left = min(_COLD_ITERATIONS, problem.settings.max_iter - result.n_iter)
    if n_left < 1 or not ask.solver.can_cool(result.warm):
        return result
    after = _cold(problem, ask, result, n_left)
    if ask.penalty(after.masses) > 0 or after.energy >= result.energy - _ROUNDING * abs(result.energy):
        return replace(result, n_sweeps=after.n_sweeps)
    return after


def _cold(problem: Problem, ask: GoalAsk, first: FitResult, max_iter: int, least_fall: float = 0.0) -> FitResult:
    """Go on at the coldest prices, while that saves so much of the cost; the history goes on where it falls."""
    cold = replace(first.warm, temperature=ask.solver.coldest * first.warm.gap)
    settings = replace(problem.settings, max_iter=max_iter, least_fall=least_fall)
    last = problem.fit_ask(ask, Start(problem.own_parameters(first), cold), settings)
    history = np.append(first.energy_history[first.energy_history > last.energy_history[0]], last.energy_history)
    return replace(last, energy_history=history, n_iter=len(history), n_sweeps=first.n_sweeps + last.n_sweeps)


def multipliers(ask: GoalAsk, result: FitResult) -> FloatArray:
    """How strongly the goal holds each cluster in each attribute: what a person of its dearest group pays more there.

    Times the people of the cluster, so that it has the units of a weight. Zero where nothing holds it.
    """
    sizes = result.masses.sum(axis=1, keepdims=True)
    if result.warm is None:
        return np.zeros((len(sizes), len(ask.goal.clauses)))
    spread = ask.goal.multipliers(result.warm.theta)
    # Prices that differ by less than temperatures hold nobody.
    return np.where(spread > _FELT * result.warm.temperature, spread, 0.0) * sizes


@dataclass(frozen=True)
class CostAim(Aim):
    """The fairest clusters that cost at most so much more than plain ones: the smallest ε whose cost fits."""

    most_increase: float
    names: AnyArray

    def fit(self, problem: Problem, start: Start) -> WeightedFit:
        """Root finding on ε, warm from one to the next."""

        def fit_goal(problem: Problem, limit: float, start: Start) -> WeightedFit:
            return GoalAim(MaxFairnessError(problem.fairness, limit), self.names).fit(problem, start)

        return spend(problem, self.most_increase, start.parameters, fit_goal)

    def rank(self, problem: Problem, fit: WeightedFit) -> tuple[float, float]:
        """Fairest first."""
        return (float(problem.fairness.errors(fit.result.masses).max()), fit.result.objective)

    def is_met(self, problem: Problem, fit: WeightedFit) -> bool:
        """The search never spends more."""
        return True
