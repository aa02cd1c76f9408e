"""How Ncut is fitted: starts on a coarse graph, bound steps by the solver, then cycles of moves. The start wins.

Bound steps choose which nodes change cluster by prices, all at once; moves look at one node (or at one coarse node,
many at once) and at the true energy. No step is kept that does not lower the energy of the hard labels.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from .._fairness.term import Representation
from .._fit.asks import Ask, GoalAsk, PlainAsk, WeightAsk
from .._fit.loop import HARD, fit_once
from .._fit.problem import Problem
from .._fit.records import FitResult, Start, StopReason
from .._fit.settings import Settings
from .._objectives import NCutObjective
from .._objectives.ncut import sufficient_shift
from .._sweep.memory import InMemorySweep
from .._sweep.question import State
from .._typing import FloatArray, IntArray
from .levels import CutEnergy, GraphLevel, Hierarchy, coarsen, cycle, descend, heaviest_node
from .spectral import start_labels

COARSE = 2000  # nodes of the level where starts are made
_NODES_PER_CLUSTER = 40  # ... or more, with many clusters
_STARTS = 8  # K-means runs per embedding
_RACE = ((24, 4), (6, 12), (1, 0))  # coarse starts kept, and the cycles each goes through
_SAME = 1e-9  # relative difference of energies
_FEW_NODES = 10  # per cluster: where a cycle on the coarse graph ends
_RUNGS = (0.3, 3.0, 10.0)  # weights of a ladder: a large weight holds every node where it is, so fits climb up to it
_STEPS_PER_DECADE = 2  # of the weight, on the way up a ladder
_MOST_STEPS = 8  # of a ladder: four decades, then steps grow
_LADDER_NODES = 1 << 16  # the ladder leans on a graph of so many nodes at most
_CYCLES = (12, 3)  # most cycles: with up to so many links, and with more
MANY_LINKS = 4_000_000  # of a graph: beyond, the second of _CYCLES holds
_STEPS_PER_CYCLE = 5  # a fit that may take so many steps may take one cycle
_HOLDING = 2.0  # a shift at which no node wants to leave
_SHIFTS = (0.0, 0.25)  # tried before the shift that is known to be enough


_FIRST_WEIGHT = 1.0  # Ncut is of order 1, and so is its weight
_WEIGHT_STEP = 6.0  # factor until a goal is bracketed
_NEAR = 1.5  # ratio of the weights on either side of a goal
_MOST_WEIGHTS = 8  # fits that look for the weight of a goal, at most
_GOAL_ROUNDS = 3  # times that a goal is let go of and met again
_LETTING_GO = 0.3  # of the weight that nearly meets the goal


@dataclass(frozen=True)
class Opening:
    """One way to shrink the graph, and labels of its coarsest level to start from."""

    hierarchy: Hierarchy
    labels: list[IntArray]


@dataclass(frozen=True)
class _AtWeight:
    """A fit at one weight for all clusters."""

    fairness_weight: float
    result: FitResult


_Entrant = tuple[float, int, Opening, IntArray]
"""A start in a race: its energy, its number (it breaks ties), where it lives, its labels."""


@dataclass(frozen=True)
class _Climber:
    """Labels of one level of an opening on their way from a small weight to the wanted one."""

    opening: Opening
    depth: int
    labels: IntArray

    @property
    def level(self) -> GraphLevel:
        return self.opening.hierarchy.levels[self.depth]


@dataclass(frozen=True, kw_only=True)
class NCutProblem(Problem):
    """A graph with its parts; fits at any weight.

    Parameters are labels in the user's order; an empty array stands for the openings alone.

    Attributes
    ----------
    level : GraphLevel
        The graph with the nodes' groups.
    openings : tuple of Opening
        Starts, tried at every weight. None: fits start from their parameters.
    is_refined : bool
        Whether cycles of moves follow the bound steps.
    seed : int
        Of everything that is drawn during a fit.
    """

    sweep: InMemorySweep
    objective: NCutObjective
    level: GraphLevel
    openings: tuple[Opening, ...] = ()
    is_refined: bool = True
    seed: int = 0
    _known: dict[str, float] = field(default_factory=dict, repr=False)
    _raced: dict[float, _Climber] = field(default_factory=dict, repr=False)  # by weight: winners of the coarse race

    def fit_weights(self, fairness_weights: FloatArray, start: Start, settings: Settings | None = None) -> FitResult:
        """Fit at a weight per cluster and attribute, from labels and from the openings, whichever is lower."""
        settings, parameters = settings or self.settings, start.parameters
        energy = CutEnergy(*self.fairness.weighted(fairness_weights), self.sweep.n_threads)
        random_state = np.random.RandomState(self.seed)
        labels = self._start(energy, parameters, random_state)
        if not settings.assignments.are_hard and fairness_weights.any() and self.sweep.n_cells > 1:
            found = self._bound(self._sufficient_shift(), energy, labels, settings)
            if not self.is_refined:
                return found
            softened = self.sweep.layout.to_user_order(found.labels)
            labels = min(labels, softened, key=lambda tried: energy.value(self.level, tried))
            settings = replace(settings, assignments=HARD)
        return self._descend(energy, labels, settings, random_state)

    def fit_ask(self, ask: Ask, start: Start, settings: Settings | None = None) -> FitResult:
        """Fit for a goal; at weights, see :meth:`fit_weights`."""
        assert isinstance(ask, GoalAsk)
        n_before = self.sweep.n_sweeps
        if start.warm is not None:  # the end of a fit for a goal nearby
            near, n_rounds = [_AtWeight(np.nan, self._result_of(start.parameters))], 0
        else:
            near, n_rounds = self._near_goal(ask, start), _GOAL_ROUNDS
        found = [self._meet(ask, one.fairness_weight, one.result) for one in near]
        best = min(found, key=lambda one: one.energy)
        for _ in range(n_rounds):
            # A smaller weight lets the cut fall and fairness go; meeting the goal from there may end lower.
            weight = near[0].fairness_weight * _LETTING_GO
            looser = self.fit(weight, Start(best.parameters))
            again = self._meet(ask, weight, looser.result)
            if again.energy >= best.energy * (1.0 - self.settings.tol):
                break
            best = again
        if np.isinf(best.energy):  # no labels that were seen meet the goal
            best = replace(best, energy=best.objective)
        history = np.minimum.accumulate([one.energy for one in found if np.isfinite(one.energy)] or [best.energy])
        history = np.append(history[history > best.energy], best.energy)
        return replace(
            best, energy_history=history, n_iter=len(history), n_sweeps=self.sweep.n_sweeps - n_before,
            stop_reason=StopReason.SEARCH_ENDED,
        )  # fmt: skip

    def _result_of(self, labels: IntArray) -> FitResult:
        """Labels as a result: their masses and their cut."""
        own = self.sweep.layout.to_visiting_order(labels)
        masses = np.zeros((self.sweep.n_clusters, self.sweep.n_cells))
        np.add.at(masses, (own, self.sweep.layout.cells), 1.0)
        value = self.objective.value(labels, self.sweep.n_clusters, self.sweep.n_threads)
        return FitResult(own, labels, self._hold(labels), masses, value, value)

    def _near_goal(self, ask: GoalAsk, start: Start) -> list[_AtWeight]:
        """Fits at one weight for all clusters: one that just misses the goal, and one that just meets it."""
        weight = _FIRST_WEIGHT
        missed: _AtWeight | None = None
        met: _AtWeight | None = None
        for _ in range(_MOST_WEIGHTS):
            near = met or missed
            tried = _AtWeight(weight, self.fit(weight, start if near is None else Start(near.result.parameters)).result)
            if ask.goal.beyond(tried.result.masses).any():
                missed = tried
            else:
                met = tried
            if missed is None or met is None:
                weight *= _WEIGHT_STEP if met is None else 1.0 / _WEIGHT_STEP
            elif met.fairness_weight / missed.fairness_weight < _NEAR:
                break
            else:
                weight = float(np.sqrt(met.fairness_weight * missed.fairness_weight))
        return [one for one in (missed, met) if one is not None]

    def _meet(self, ask: GoalAsk, weight: float, near: FitResult) -> FitResult:
        """From labels that are near the goal to labels that meet it: bound steps, whose prices are solved for."""
        labels = near.parameters
        unit = float(self.objective.graph.n_nodes)
        best: FitResult | None = None
        if not ask.goal.beyond(near.masses).any():
            best = replace(near, energy=near.objective)
        for shift in (*_SHIFTS, self._sufficient_shift()):
            objective = replace(self.objective, shift=shift, unit=unit)
            quiet = replace(self.settings, on_iteration=None)
            found = fit_once(replace(self, objective=objective), ask, Start(labels), quiet)
            user = self.sweep.layout.to_user_order(found.labels)
            value = self.objective.value(user, self.sweep.n_clusters, self.sweep.n_threads)
            energy = value + ask.penalty(found.masses)
            if best is None or energy < best.energy:
                best = replace(found, parameters=user, objective=value, energy=energy)
        assert best is not None
        return replace(best, state=self._hold(best.parameters))

    def proved(self, ask: GoalAsk, found: FitResult) -> FitResult:
        """As it is: the bound on Ncut's majoriser is no bound on Ncut."""
        return found

    def coarse(self) -> None:
        """None: a sample of the nodes has few of the links. Starts are coarse instead."""

    def natural_weight(self, parameters: FloatArray) -> float:
        """Ncut is a number of order 1 whatever the graph, and so is its weight."""
        return 1.0

    def _start(self, energy: CutEnergy, parameters: FloatArray, random_state: np.random.RandomState) -> IntArray:
        """Labels of lowest energy among the given ones and the openings."""
        tried = []
        if len(parameters):
            hard = parameters if parameters.ndim == 1 else parameters.argmax(axis=1)
            tried.append(np.ascontiguousarray(hard, dtype=np.int32))
        # Openings do not know which cluster is which: with unequal weights only labels do.
        if self.openings and (not len(tried) or energy.is_alike):
            tried.append(self._opened(energy, random_state))
        if len(parameters) and len(tried) > 1 and self.is_refined:
            # The given labels suit another weight: they get a chance to adapt before they are compared.
            tried[0] = cycle(self.level, energy, tried[0], self._coarse_size, random_state)
        return min(tried, key=lambda labels: energy.value(self.level, labels))

    def _opened(self, energy: CutEnergy, random_state: np.random.RandomState) -> IntArray:
        """Races at several weights, whose winners climb to the wanted one; the best of them, on the whole graph."""
        wanted = float(energy.fairness_weights[0])
        rungs = [rung for rung in _RUNGS if rung < wanted] if self.is_refined else []
        if len(rungs) < len(_RUNGS):
            rungs.append(wanted)
        climbers = [self._climb(rung, energy, random_state) for rung in rungs]
        best = min(climbers, key=lambda climber: energy.value(climber.level, climber.labels))
        return descend(best.opening.hierarchy, energy, best.labels, random_state, best.depth)

    def _climb(self, weight: float, energy: CutEnergy, random_state: np.random.RandomState) -> _Climber:
        """From the winner at a small weight to labels at the wanted one: a cycle per step of the weight."""
        if weight not in self._raced:
            # A seed of its own: what a race finds must not depend on what was fitted before.
            self._raced[weight] = self._race(
                replace(energy, fairness_weights=np.full(energy.n_clusters, weight)), np.random.RandomState(self.seed)
            )
        found = self._raced[weight]
        labels = found.labels
        for step in _steps(weight, float(energy.fairness_weights[0])):
            on_the_way = replace(energy, fairness_weights=np.full(energy.n_clusters, step))
            labels = cycle(found.level, on_the_way, labels, self._coarse_size, random_state)
        return replace(found, labels=labels)

    def _race(self, energy: CutEnergy, random_state: np.random.RandomState) -> _Climber:
        """The best coarse start at this weight, taken down to where a ladder can lean."""
        opening, labels = self._promoted(energy, random_state)
        levels = opening.hierarchy.levels
        depth = next((i for i, level in enumerate(levels) if level.graph.n_nodes <= _LADDER_NODES), len(levels) - 1)
        labels = descend(opening.hierarchy, energy, labels, random_state, len(levels) - 1, depth)
        return _Climber(opening, depth, labels)

    def _promoted(self, energy: CutEnergy, random_state: np.random.RandomState) -> tuple[Opening, IntArray]:
        """The best coarse start at this weight: all are moved once, some go through cycles, one is returned."""
        ranked: list[_Entrant] = []
        for opening in self.openings:
            coarsest = opening.hierarchy.coarsest
            for start in opening.labels:
                labels = start.copy()
                energy.move(coarsest, labels, random_state, energy.value(coarsest, labels))
                ranked.append((energy.value(coarsest, labels), len(ranked), opening, labels))
        for n_kept, n_cycles in _RACE if self.is_refined else _RACE[-1:]:
            ranked = _best_distinct(ranked, n_kept)
            for i, (value, number, opening, labels) in enumerate(ranked):
                coarsest = opening.hierarchy.coarsest
                for _ in range(n_cycles):
                    labels = cycle(coarsest, energy, labels, _FEW_NODES * energy.n_clusters, random_state)
                    value = energy.value(coarsest, labels)
                ranked[i] = (value, number, opening, labels)
        _, _, opening, labels = ranked[0]
        return opening, labels

    def _descend(
        self, energy: CutEnergy, labels: IntArray, settings: Settings, random_state: np.random.RandomState
    ) -> FitResult:
        """Bound steps, then cycles; every kept step lowers the energy."""
        reached = energy.value(self.level, labels)
        history = [reached]
        n_sweeps, reason = 0, StopReason.NO_IMPROVEMENT
        for shift in self._shifts():
            found = self._bound(shift, energy, labels, settings)
            n_sweeps += found.n_sweeps
            fallen = found.energy_history[found.energy_history < history[-1]]
            if len(fallen):
                labels, reason = self.sweep.layout.to_user_order(found.labels), found.stop_reason
                history.extend(fallen.tolist())
        if self.is_refined and len(energy.fairness_weights) > 1:
            labels, reason = self._cycles(energy, labels, history, settings, random_state)
        state = self._hold(labels)
        masses = energy.cell_masses(self.level, labels)
        value = energy.cut(self.level, labels)
        return FitResult(
            self.sweep.layout.to_visiting_order(labels), labels, state, masses, value, history[-1], np.array(history),
            len(history), n_sweeps, reason,
        )  # fmt: skip

    def _cycles(
        self,
        energy: CutEnergy,
        labels: IntArray,
        history: list[float],
        settings: Settings,
        random_state: np.random.RandomState,
    ) -> tuple[IntArray, StopReason]:
        """Run cycles until two in a row gain less than tol (history is extended)."""
        n_idle = 0
        most = _CYCLES[len(self.level.graph.data) > MANY_LINKS]
        for _ in range(min(most, -(-settings.max_iter // _STEPS_PER_CYCLE))):
            moved = cycle(self.level, energy, labels, self._coarse_size // 2, random_state)
            value = energy.value(self.level, moved)
            n_idle = n_idle + 1 if history[-1] - value <= settings.tol * abs(history[-1]) else 0
            if value < history[-1]:
                labels = moved
                history.append(value)
                if settings.on_iteration is not None:
                    settings.on_iteration(len(history), value)
            if n_idle == 2:
                return labels, StopReason.ENERGY_SETTLED
        return labels, StopReason.MAX_ITER

    def _bound(self, shift: float, energy: CutEnergy, labels: IntArray, settings: Settings) -> FitResult:
        """The outer loop that all objectives share. It counts a cost of order 1 per point, the result is Ncut's."""
        unit = float(self.objective.graph.n_nodes)
        objective = replace(self.objective, shift=shift, unit=unit)
        if settings.on_iteration is not None:
            say = settings.on_iteration
            settings = replace(settings, on_iteration=lambda n_iter, value: say(n_iter, value / unit))
        weight = energy.fairness_weights * unit
        is_plain = not weight.any() or energy.fairness.is_constant
        ask = PlainAsk() if is_plain else WeightAsk(energy.fairness, weight, self.solver)
        found = fit_once(replace(self, objective=objective), ask, Start(labels), settings)
        return replace(
            found,
            objective=found.objective / unit,
            energy=found.energy / unit,
            energy_history=found.energy_history / unit,
        )

    def _hold(self, labels: IntArray) -> State:
        """Leave point costs behind whose cheapest clusters are the labels, and prices 0: rounding starts from them."""
        replace(self.objective, shift=_HOLDING).fill(self.sweep, labels)
        gap = self.sweep.assign(np.zeros((self.sweep.n_clusters, self.sweep.n_cells))).gap
        return State(1.0 / gap if gap > 0 else 1.0, np.zeros((self.sweep.n_clusters, self.sweep.n_cells)))

    def _shifts(self) -> tuple[float, ...]:
        """Shifts from small to sufficient. With moves to follow, the small ones do."""
        return _SHIFTS[:1] if self.is_refined else (*_SHIFTS, self._sufficient_shift())

    def _sufficient_shift(self) -> float:
        if "shift" not in self._known:
            self._known["shift"] = sufficient_shift(self.objective.graph, np.random.RandomState(self.seed))
        return self._known["shift"]

    @property
    def _coarse_size(self) -> int:
        return max(COARSE, _NODES_PER_CLUSTER * self.sweep.n_clusters)


def _best_distinct(ranked: list[_Entrant], n_kept: int) -> list[_Entrant]:
    """The best, each energy once: K-means often ends with the same clusters, and one of them is enough."""
    kept: list[_Entrant] = []
    for entrant in sorted(ranked):
        if not kept or entrant[0] - kept[-1][0] > _SAME * abs(kept[-1][0]):
            kept.append(entrant)
    return kept[:n_kept]


def _steps(weight: float, wanted: float) -> FloatArray:
    """Weights from one to another, the first left out."""
    if weight >= wanted:
        return np.zeros(0)
    n_steps = min(int(np.ceil(_STEPS_PER_DECADE * np.log10(wanted / weight))), _MOST_STEPS)
    return np.geomspace(weight, wanted, n_steps + 1)[1:]


def open_graph(
    level: GraphLevel, n_clusters: int, fairness: Representation, random_state: np.random.RandomState
) -> Opening:
    """Shrink the graph and make starts from its plain and its fair spectral embedding."""
    size = max(COARSE, _NODES_PER_CLUSTER * n_clusters)
    hierarchy, _ = coarsen(level, fairness.membership, size, heaviest_node(level, n_clusters), random_state)
    labels = start_labels(hierarchy.coarsest, n_clusters, None, _STARTS, random_state)
    if len(fairness.membership) > 1:
        labels += start_labels(hierarchy.coarsest, n_clusters, fairness, _STARTS, random_state)
    return Opening(hierarchy, labels)
