"""How Ncut is fitted: starts on a coarse graph, bound steps by the solver, then cycles of moves. The start wins.

Bound steps choose which nodes change cluster by prices, all at once; moves look at one node (or at one coarse node,
many at once) and at the true energy. No step is kept that does not lower the energy of the hard labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._data.in_memory import InMemory
from .._dual.oracle import Assignment
from .._dual.subproblem import Subproblem
from .._fit.fit import FAIREST, Fit, nearest_feasible, worst_error
from .._fit.loop import Outcome, StopReason, run, start
from .._fit.points import Points
from .._fit.published import fit_as_published
from .._fit.request import Request
from .._fit.schedule import Schedule, Stage
from .._objectives.ncut import NCutObjective, sufficient_shift
from .._rounding.feasible import obstacle
from .._typing import IntArray
from ..goals import Attribute, Goal, MaxFairnessError, Penalty
from ..solvers import BoundOptimization
from .levels import CutEnergy, GraphLevel, cycle
from .starts import Starts, coarse_size

MANY_LINKS = 4_000_000  # of a graph: beyond, the second of _CYCLES holds
_CYCLES = (12, 3)  # most cycles: with up to so many links, and with more
_STEPS_PER_CYCLE = 5  # a fit that may take so many steps may take one cycle
_SHIFTS = (0.0, 0.25)  # tried before the shift that is known to be enough
_LEAST_FALL = 0.03  # of tol: a bound step that lowers the energy by less is the last
_FIRST_WEIGHT = 1.0  # Ncut is of order 1, and so is its weight
_WEIGHT_STEP = 6.0  # factor until a goal is bracketed
_NEAR = 1.5  # ratio of the weights on either side of a goal
_MOST_WEIGHTS = 8  # fits that look for the weight of a goal, at most
_GOAL_ROUNDS = 3  # times that a goal is let go of and met again
_LETTING_GO = 0.3  # of the weight that nearly meets the goal
_MOST_LIMITS = 9  # fairness errors that are tried within a budget
_CLOSE = 0.02  # relative difference of two errors: the costs of fits differ by chance below it


@dataclass(frozen=True, eq=False)
class Cut:
    """A graph, its nodes by cell, and what fits of it may share.

    Parameters
    ----------
    level : GraphLevel
    rows : InMemory
    starts : Starts or None
        Openings, tried at every weight. None: fits start from labels.
    seed : int
        Of everything that is drawn during a fit.
    """

    level: GraphLevel
    rows: InMemory
    starts: Starts | None = None
    seed: int = 0

    @cached_property
    def sufficient_shift(self) -> float:
        """The shift with which costs bound Ncut from above."""
        return sufficient_shift(self.level.graph, np.random.RandomState(self.seed))

    def points(self, shift: float, unit: float) -> Points:
        """The nodes with the costs of the bound."""
        self.rows.filled = None
        return Points(NCutObjective(self.level.graph, shift, unit), self.rows)


def fit_graph(
    cut: Cut,
    request: Request,
    labels: Sequence[IntArray] = (),
    schedule: Schedule | None = None,
    *,
    max_iter: int = 300,
    tol: float = 1e-4,
    is_refined: bool = True,
    published: BoundOptimization | None = None,
    on_iteration: Callable[[int, float], None] | None = None,
) -> Fit:
    """Fit for a penalty, a goal, or a budget of cost; of several labels to start from, the best fit.

    1. At a penalty: bound steps from the start, then cycles of moves.
    2. For a goal: fits at penalties near it, then bound steps whose prices are solved for the goal itself.
    3. For a budget: the smallest fairness error whose fit costs no more.

    Parameters
    ----------
    cut : Cut
    request : Request
    labels : sequence of ndarray of shape (n_samples,), int32
        Starts in the user's order; the graph's own are tried as well, where it has some.
    schedule : Schedule or None
        How bound steps are solved. None: the usual one.
    max_iter : int
        Bound steps of one shift.
    tol : float
        Cycles that lower the energy by less than this share of it are the last.
    is_refined : bool
        Whether cycles of moves follow the bound steps.
    published : BoundOptimization or None
        Bound steps of a penalty by Algorithm 1 of the paper. None: by the dual.
    on_iteration : callable or None
        Is told each step and its energy.

    Returns
    -------
    Fit
        ``centers`` are the labels in the user's order. There are no prices and no lower bound (NaN): the bound on
        Ncut's majoriser is no bound on Ncut.
    """
    fitter = _Fitter(cut, request, schedule or Schedule(), max_iter, tol, is_refined, published, on_iteration)
    fits = [fitter.fit(one) for one in labels or (None,)]
    return replace(min(fits, key=_rank), n_evaluations=round(sum(fitter.spent)))


def fairness_of(attributes: Sequence[Attribute], n_cells: int, goal: Goal | None = None) -> Subproblem:
    """The errors of the attributes, with weight 1 in all or their shares in a penalty."""
    unit = replace(goal, weight=1.0) if isinstance(goal, Penalty) else Penalty(1.0)
    return Subproblem(tuple(unit.term(a) for a in attributes), tuple(a.membership for a in attributes), n_cells)


@dataclass(frozen=True, eq=False)
class _Fitter:
    """Fits of a graph, with their options."""

    cut: Cut
    request: Request
    schedule: Schedule
    max_iter: int
    tol: float
    is_refined: bool
    published: BoundOptimization | None
    on_iteration: Callable[[int, float], None] | None
    spent: list[float] = field(default_factory=list)  # evaluations of all bound steps

    def fit(self, labels: IntArray | None) -> Fit:
        goal = self.request.goal
        if goal is None or isinstance(goal, Penalty):
            return self.at_weight(0.0 if goal is None else goal.weight, labels)
        if goal.cost_limit is not None:
            return self.spend(goal.cost_limit, labels)
        request = self.request
        found = obstacle(request.subproblem, request.cell_totals, request.n_clusters, request.names)
        if found is None:
            return self.for_goal(labels)
        nearest = replace(self, request=nearest_feasible(request), schedule=self.schedule.brief()).fit(labels)
        return replace(nearest, is_met=self.is_met(nearest), obstacle=found.sentence)

    @property
    def left(self) -> float:
        """Evaluations that are left."""
        return self.schedule.budget - sum(self.spent)

    # --- at a weight ---

    def at_weight(self, weight: float, labels: IntArray | None) -> Fit:
        """Bound steps, then cycles; every kept step lowers the energy."""
        level, unit = self.cut.level, float(self.cut.level.graph.n_nodes)
        random_state = np.random.RandomState(self.cut.seed)
        energy = self.energy(weight)
        labels = self.start(energy, labels, random_state)
        history, reason = [energy.value(level, labels)], StopReason.NO_IMPROVEMENT
        if self.published is not None and self.published.soft and energy.subproblem(1.0).terms:
            relaxed = self.as_published(self.cut.sufficient_shift, labels, self.published)
            softened = self.cut.rows.user_labels(relaxed.assigned.labels)
            if not self.is_refined:
                return self.result(softened, (relaxed.history / unit).tolist(), relaxed.stop_reason)
            labels = min(labels, softened, key=lambda one: energy.value(level, one))
            history = [energy.value(level, labels)]
        for shift in _SHIFTS[:1] if self.is_refined else (*_SHIFTS, self.cut.sufficient_shift):
            if self.published is not None and energy.subproblem(1.0).terms:
                found = self.as_published(shift, labels, replace(self.published, soft=False))
                after, energies, why = found.own_centers, found.history, found.stop_reason
            else:
                outcome = self.bound_steps(shift, unit, energy.subproblem(unit), labels)
                after, why = outcome.best.following.centers, outcome.stop_reason
                energies = np.array([step.rank[1] for step in outcome.steps if step.is_accepted])
            fallen = energies[energies / unit < history[-1]] / unit
            if len(fallen):
                labels, reason = after, why
                for value in fallen.tolist():
                    self.tell(history, value)
        if self.is_refined and energy.n_clusters > 1:
            labels, reason = self.cycles(energy, labels, history, random_state)
        return self.result(labels, history, reason)

    def energy(self, weight: float) -> CutEnergy:
        """Ncut with the attributes' errors at a weight."""
        request, rows = self.request, self.cut.rows
        fairness = fairness_of(request.attributes, rows.n_cells, request.goal)
        return CutEnergy(fairness, weight, rows.n_clusters, rows.n_threads)

    def start(self, energy: CutEnergy, labels: IntArray | None, random_state: np.random.RandomState) -> IntArray:
        """Labels of lowest energy among the given ones and the openings."""
        level, starts = self.cut.level, self.cut.starts
        # Openings do not know which cluster is which: with unequal targets only labels do.
        if starts is not None and (labels is None or energy.is_alike):
            opened = starts.labels(energy, self.is_refined, random_state)
            if labels is not None and self.is_refined:
                # The given labels suit another weight: they get a chance to adapt before they are compared.
                labels = cycle(level, energy, labels, coarse_size(energy.n_clusters), random_state)
            tried = [opened] if labels is None else [labels, opened]
            labels = min(tried, key=lambda one: energy.value(level, one))
        assert labels is not None
        return filled(level, labels, energy.n_clusters)

    def bound_steps(self, shift: float, unit: float, subproblem: Subproblem, labels: IntArray) -> Outcome:
        """The outer loop that all objectives share, with labels as centres and ``unit`` times Ncut as the cost."""
        points = self.cut.points(shift, unit)
        stage = Stage(None, self.schedule.stages[-1].temperature, _LEAST_FALL * self.tol, self.max_iter, is_whole=True)
        state = start(points, subproblem, labels, self.schedule)
        outcome = run(points, state, stage, self.schedule, self.schedule.part * self.left)
        self.spent.append(outcome.n_evaluations)
        return outcome

    def as_published(self, shift: float, labels: IntArray, options: BoundOptimization) -> Fit:
        """The same by Algorithm 1 of the paper, at the request's penalty: costs and energies are n_nodes times Ncut.

        Algorithm 1 compares costs with logarithms of shares, so they must be of order 1.
        """
        unit, goal = float(self.cut.level.graph.n_nodes), self.request.goal
        assert isinstance(goal, Penalty)
        found = fit_as_published(
            self.cut.points(shift, unit), replace(self.request, goal=replace(goal, weight=unit * goal.weight)), labels,
            lipschitz=options.lipschitz, soft=options.soft, max_iter=self.max_iter, tol=self.tol,
            budget=self.schedule.published_budget,
        )  # fmt: skip
        self.spent.append(found.n_evaluations)
        return found

    def cycles(
        self, energy: CutEnergy, labels: IntArray, history: list[float], random_state: np.random.RandomState
    ) -> tuple[IntArray, StopReason]:
        """Run cycles until two in a row gain less than tol (history is extended)."""
        level, n_idle = self.cut.level, 0
        most = _CYCLES[len(level.graph.data) > MANY_LINKS]
        for _ in range(min(most, -(-self.max_iter // _STEPS_PER_CYCLE))):
            moved = cycle(level, energy, labels, coarse_size(energy.n_clusters) // 2, random_state)
            value = energy.value(level, moved)
            n_idle = n_idle + 1 if history[-1] - value <= self.tol * abs(history[-1]) else 0
            if value < history[-1]:
                labels = moved
                self.tell(history, value)
            if n_idle == 2:
                return labels, StopReason.SETTLED
        return labels, StopReason.MAX_ITER

    # --- for a goal ---

    def bracketed(self, labels: IntArray | None, is_enough: Callable[[Fit], bool]) -> list[_AtWeight]:
        """Fits at one weight for all clusters: the last that is not fair enough, and the first that is."""
        weight = _FIRST_WEIGHT
        short: _AtWeight | None = None
        enough: _AtWeight | None = None
        for _ in range(_MOST_WEIGHTS):
            near = enough or short
            tried = _AtWeight(weight, self.at_weight(weight, labels if near is None else near.fit.centers))
            short, enough = (short, tried) if is_enough(tried.fit) else (tried, enough)
            if short is None or enough is None:
                weight *= _WEIGHT_STEP if enough is None else 1.0 / _WEIGHT_STEP
            elif enough.weight / short.weight < _NEAR:
                break
            else:
                weight = float(np.sqrt(enough.weight * short.weight))
        return [one for one in (short, enough) if one is not None]

    def is_met(self, fit: Fit) -> bool:
        """Whether the goal holds."""
        return not self.request.subproblem.violation(fit.assigned.masses).any()

    def for_goal(self, labels: IntArray | None) -> Fit:
        """Meet the goal from fits near it; then let go of it, and meet it again."""
        near = self.bracketed(labels, self.is_met)
        met = [self.met(one.fit) for one in near]
        best = min(met, key=_rank)
        for _ in range(_GOAL_ROUNDS if self.left > 0 else 0):
            # A smaller weight lets the cut fall and fairness go; meeting the goal from there may end lower.
            again = self.met(self.at_weight(_LETTING_GO * near[0].weight, best.centers))
            if _rank(again) >= (not best.is_met, best.energy * (1.0 - self.tol)):
                break
            met.append(again)
            best = again
        energies = np.array([one.energy for one in met if one.is_met == best.is_met])
        return replace(best, history=np.unique(np.minimum.accumulate(energies))[::-1])

    def met(self, near: Fit) -> Fit:
        """From labels that are near the goal to labels that meet it: bound steps, whose prices are solved for."""
        subproblem = self.request.subproblem
        violation = float(subproblem.violation(near.assigned.masses).sum())
        penalty = float(subproblem.value(near.assigned.masses).sum())
        best = replace(near, energy=near.cost + penalty, is_met=violation == 0)
        for shift in (*_SHIFTS, self.cut.sufficient_shift):
            outcome = self.bound_steps(shift, 1.0, subproblem, near.centers)
            found = outcome.best
            if found.rank < (violation, best.energy):
                violation, labels = found.violation, found.following.centers
                best = replace(
                    self.result(labels, [found.energy], StopReason.NO_IMPROVEMENT),
                    theta=found.solution.theta,
                    column_prices=found.problem.column_prices(found.solution.theta, found.solution.temperature),
                    temperature=found.following.unit * self.schedule.reported_temperature,
                    is_met=violation == 0,
                )
        return best

    def spend(self, most_increase: float, labels: IntArray | None) -> Fit:
        """The fairest clusters found that cost at most 1 + ``most_increase`` times plain ones.

        Fits at weights bracket the cost; then goals between their fairness errors are met from both sides.
        """
        plain = self.at_weight(0.0, labels)
        limit = plain.cost * (1.0 + most_increase)
        near = [plain, *(one.fit for one in self.bracketed(plain.centers, lambda fit: fit.cost > limit))]
        best = min((one for one in near if one.cost <= limit), key=self.error)
        high, low = self.error(best), max(self.error(best) / 2.0, FAIREST)
        for _ in range(_MOST_LIMITS):
            if high <= low * (1.0 + _CLOSE) or self.left <= 0:
                break
            error = float(np.sqrt(low * high))
            fitter = replace(self, request=replace(self.request, goal=MaxFairnessError(error)))
            met = fitter.met(best)
            if met.is_met and met.cost <= limit:
                best = met
                high = min(self.error(best), error)
            else:
                low = error
        return replace(best, energy=best.cost, history=np.array([best.cost]), is_met=True)

    # --- what fits are made of ---

    def error(self, fit: Fit) -> float:
        """The largest fairness error of a cluster in an attribute."""
        return worst_error(self.request, fit.assigned.masses)

    def tell(self, history: list[float], energy: float) -> None:
        """Write a step down, and tell it."""
        history.append(energy)
        if self.on_iteration is not None:
            self.on_iteration(len(history), energy)

    def result(self, labels: IntArray, history: list[float], reason: StopReason) -> Fit:
        """Labels as a fit."""
        rows, energy = self.cut.rows, self.energy(0.0)
        masses, cost = energy.cell_masses(self.cut.level, labels), energy.cut(self.cut.level, labels)
        no_prices = np.zeros((rows.n_clusters, self.request.subproblem.n_unknowns))
        return Fit(
            assigned=Assignment(rows.layout.to_visiting_order(labels), masses, cost),
            centers=labels,
            own_centers=labels,
            cost=cost,
            energy=history[-1],
            theta=no_prices,
            prices=np.full(masses.shape, np.nan),
            column_prices=no_prices,
            temperature=np.nan,
            lower_bound=np.nan,
            is_met=True,
            obstacle="",
            history=np.array(history),
            n_evaluations=0,
            stop_reason=reason,
        )


class _AtWeight(NamedTuple):
    """A fit at one weight for all clusters."""

    weight: float
    fit: Fit


def _rank(fit: Fit) -> tuple[bool, float]:
    """Fits that meet the goal first, then the one of least energy."""
    return (not fit.is_met, fit.energy)


def filled(level: GraphLevel, labels: IntArray, n_clusters: int) -> IntArray:
    """Labels without empty clusters: these take the nodes whose links leave their cluster most."""
    sizes = np.bincount(labels, minlength=n_clusters)
    if sizes.all():
        return labels
    graph, labels = level.graph, labels.copy()
    kept = graph.matrix.tocoo()
    inside = np.bincount(kept.row, kept.data * (labels[kept.row] == labels[kept.col]), graph.n_nodes)
    share = np.divide(inside, graph.degree, out=np.zeros(graph.n_nodes), where=graph.degree > 0)
    for empty in np.flatnonzero(sizes == 0):
        movable = np.flatnonzero(sizes[labels] > 1)
        node = movable[share[movable].argmin()]
        sizes[labels[node]] -= 1
        sizes[empty] += 1
        labels[node] = empty
    return labels
