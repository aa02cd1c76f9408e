"""What a fit is asked for: nothing but cost, fairness at a weight, or a goal. An ask proposes labels for point costs.

The outer loop knows no more of it than this: it hands over a sweep, gets labels with their masses and cost, and asks
what labels with these masses cost besides: the weighted errors, or nothing where a goal is met and infinity where it is
not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from .._goals.conditions import Conditions
from .._goals.counts import Rounding
from .._goals.repair import repair
from .._solvers import FairnessTerm, Solver
from .._solvers.cone import ConeSolver, Prices, lower_bound
from .._sweep.question import DataSweep, HardAnswer, State
from .._typing import FloatArray

_NOISE = 1e-6  # of a cost: point costs are kept in single precision
_PLAIN_TEMPERATURE = 0.05  # of soft assignments without a fairness term, in mean gaps


class Proposal(NamedTuple):
    """Labels that an ask proposes.

    Attributes
    ----------
    labels : object
        As the sweep keeps them.
    hard : HardAnswer
        Their masses and cost.
    state : State
        Prices behind them.
    warm : object
        What the next proposal, for nearby point costs, can start from.
    relaxed_energy : float or None
        Of the soft assignments, where a stopping rule needs it.
    penalty : float or None
        What labels with these masses cost besides, where that is known.
    """

    labels: Any
    hard: HardAnswer
    state: State
    warm: Any
    relaxed_energy: float | None = None
    penalty: float | None = None


class Ask(ABC):
    """What a fit is for."""

    is_plain: bool = False
    can_be_soft: bool = False
    """Whether soft assignments can be asked for: see :meth:`soft_state`."""

    rests_on_energy: bool = False
    """Whether an outer iteration that changes the relaxed energy by less than ``tol`` is the last (Algorithm 1)."""

    @abstractmethod
    def propose(self, sweep: DataSweep, warm: Any, to_beat: float) -> Proposal:
        """Labels for the sweep's point costs, if possible cheaper than ``to_beat``."""

    @abstractmethod
    def penalty(self, masses: FloatArray, warm: Any = None) -> float:
        """What labels with these masses cost beside F; where they need not do as asked, at these prices."""

    @abstractmethod
    def on_sample(self, fraction: float) -> Self:
        """The same for a sample with so much of the weight."""

    def soft_state(self, sweep: DataSweep, warm: State | None) -> State:
        """The soft assignments that suit the sweep's point costs best."""
        raise NotImplementedError

    def failing(self, masses: FloatArray) -> int | None:
        """A cluster that cannot be what it is asked to be, however its people are chosen; None: there is none."""
        return None

    def copied(self, warm: Any, source: int, destination: int) -> Any:
        """What is known, when a cluster starts again as half of another: its prices are that one's."""
        return None

    def rewarmed(self, warm: Any) -> Any:
        """What is known from a sample, for all points."""
        return warm

    def weighs_more_than(self, fairness_weight: float) -> bool:
        """Whether fairness has a larger weight than that in some cluster; what is no weight has none."""
        return False

    def prove(self, sweep: DataSweep, warm: Any) -> float:
        """What no labels that do as asked cost less than, at these point costs; NaN: unknown."""
        return np.nan

    def scale(self, energy: float) -> float:
        """Size of the energy that a relative change is relative to."""
        return abs(energy)


@dataclass(frozen=True)
class PlainAsk(Ask):
    """Nothing but cost: every price is zero."""

    is_plain: bool = True

    def propose(self, sweep: DataSweep, warm: Any, to_beat: float) -> Proposal:
        """The cheapest cluster of every point."""
        price = np.zeros((sweep.n_clusters, sweep.n_cells))
        hard = sweep.assign(price)
        gap = _PLAIN_TEMPERATURE * hard.gap
        return Proposal(sweep.last_labels(), hard, State(1.0 / gap if gap > 0 else 1.0, price), None)

    def penalty(self, masses: FloatArray, warm: Any = None) -> float:
        """Nothing."""
        return 0.0

    def on_sample(self, fraction: float) -> PlainAsk:
        """The same."""
        return self


@dataclass(frozen=True)
class WeightAsk(Ask):
    """Fairness at a weight per cluster: the paper's energy.

    Parameters
    ----------
    fairness : FairnessTerm
    fairness_weights : ndarray of shape (n_clusters,)
    solver : Solver
    """

    fairness: FairnessTerm
    fairness_weights: FloatArray
    solver: Solver

    can_be_soft = True

    @property
    def rests_on_energy(self) -> bool:  # type: ignore[override]
        """As the solver says."""
        return self.solver.rests_on_energy

    def soft_state(self, sweep: DataSweep, warm: State | None) -> State:
        """As the solver says; what labels would hold is beside the point."""
        soft = None if warm is None else State(warm.scale, warm.scaled_price)
        return self.solver.solve(sweep, self.fairness, self.fairness_weights, soft).state

    def propose(self, sweep: DataSweep, warm: Any, to_beat: float) -> Proposal:
        """argmin(a + price) at the solver's prices."""
        solution = self.solver.solve(sweep, self.fairness, self.fairness_weights, warm, to_beat)
        hard = solution.hard or sweep.assign(solution.state.price)
        return Proposal(sweep.last_labels(), hard, solution.state, solution.state, solution.energy, solution.penalty)

    def penalty(self, masses: FloatArray, warm: Any = None) -> float:
        """Σ_k weight_k · fairness_k."""
        return float(self.fairness_weights @ self.fairness.value(masses))

    def weighs_more_than(self, fairness_weight: float) -> bool:
        """Whether some cluster's weight does."""
        return bool(self.fairness_weights.max() > fairness_weight)

    def copied(self, warm: State | None, source: int, destination: int) -> State | None:
        """The prices of the one are those of the other, and they share its people."""
        if warm is None:
            return None
        scaled_price, sizes = warm.scaled_price.copy(), warm.sizes
        scaled_price[destination] = scaled_price[source]
        if sizes is not None:
            sizes = sizes.copy()
            sizes[[source, destination]] = sizes[source] / 2
        return replace(warm, scaled_price=scaled_price, sizes=sizes)

    def on_sample(self, fraction: float) -> WeightAsk:
        """Costs shrink with the sample, so the weights do."""
        fairness, weights = self.fairness.scaled(fraction), self.fairness_weights * fraction
        return replace(self, fairness=fairness, fairness_weights=weights)

    def scale(self, energy: float) -> float:
        """Size of the paper's energy: its Eq. (3) has the cross-entropy, which the KL energy lacks by a constant."""
        return abs(energy + self._least)

    @cached_property
    def _least(self) -> float:
        """What fair clusters cost in the paper's energy."""
        return float(self.fairness_weights.sum()) * self.fairness.entropy


@dataclass(frozen=True)
class GoalAsk(Ask):
    """A goal that every cluster must meet, on whole people, at the least cost.

    Parameters
    ----------
    goal : Conditions
        The goal.
    inside : Conditions
        The same, a little stricter: what prices are solved for, so that whole people fit in.
    filled : Conditions
        The same, with sizes at which whole people can meet the goal: what prices are solved for where a cluster has
        fewer.
    rounding : callable or None
        How whole people are made to meet the goal. None: they are left as prices have them, on a sample, where a person
        stands for many.
    solver : ConeSolver
    are_many : bool
        Whether a person more or less in a cluster is next to nothing.
    """

    goal: Conditions
    inside: Conditions
    filled: Conditions
    rounding: Rounding | None = repair
    solver: ConeSolver = field(default_factory=ConeSolver)
    are_many: bool = True

    def propose(self, sweep: DataSweep, warm: Prices | None, to_beat: float) -> Proposal:
        """Solved prices, near-ties split, whole people moved until the goal holds; cooler while that does not beat."""
        conditions = self._conditions(warm)
        prices = self.solver.solve(sweep, conditions, warm)
        while True:
            hard = sweep.assign(prices.state.price, split=prices.state.scale)
            if conditions is not self.filled and self._is_too_small(hard.masses):
                conditions = self.filled  # from cold: prices of a few people lead far away
                prices = self.solver.solve(sweep, conditions)
                continue
            found = self._repaired(sweep, prices, hard)
            is_cheaper = found.hard.cost + self.penalty(found.hard.masses) < to_beat - _NOISE * abs(to_beat)
            if is_cheaper or np.isinf(to_beat) or not self.solver.can_cool(prices):
                return found
            del found  # its labels take room
            prices = self.solver.cool(sweep, conditions, prices)

    def _conditions(self, warm: Prices | None) -> Conditions:
        """With sizes where they were needed before."""
        has_sizes = warm is not None and warm.theta.shape[1] > self.inside.n_unknowns
        return self.filled if has_sizes else self.inside

    def _is_too_small(self, masses: FloatArray) -> bool:
        sizes = self.filled.sizes
        return sizes is not None and bool((masses.sum(axis=1) < sizes.lower).any())

    def _repaired(self, sweep: DataSweep, prices: Prices, hard: HardAnswer) -> Proposal:
        if self.rounding is None:
            return Proposal(sweep.last_labels(), hard, prices.state, prices)
        fixed = self.rounding(sweep, self.goal, sweep.last_labels(), hard, prices.state.price)
        return Proposal(fixed.labels, fixed.hard, prices.state, prices)

    def penalty(self, masses: FloatArray, warm: Prices | None = None) -> float:
        """Nothing where the goal is met, infinity elsewhere. Where people are not whole, what they pay on balance.

        Labels that miss the goal a little are a little cheaper than those that meet it, by their prices. Where people
        are few, labels miss it by whole people, and prices say little.
        """
        if self.rounding is not None:
            return 0.0 if not self.goal.beyond(masses).any() else np.inf
        return warm.on_balance(masses) if self.are_many and warm is not None else 0.0

    def failing(self, masses: FloatArray) -> int | None:
        """The cluster farthest from the goal for its size."""
        if self.rounding is None:
            return None
        beyond = self.goal.beyond(masses)
        return int((beyond / np.maximum(masses.sum(axis=1), 1.0)).argmax()) if beyond.any() else None

    def copied(self, warm: Prices | None, source: int, destination: int) -> Prices | None:
        """θ of the one is θ of the other; hotter, for all others' people are elsewhere now."""
        if warm is None:
            return None
        theta = warm.theta.copy()
        theta[destination] = theta[source]
        return replace(warm, theta=theta, temperature=self.solver.reheated * warm.gap)

    def rewarmed(self, warm: Prices | None) -> Prices | None:
        """At the temperature of a cold start's end."""
        return None if warm is None else replace(warm, temperature=self.solver.cooling[-1] * warm.gap)

    def on_sample(self, fraction: float) -> GoalAsk:
        """Sizes shrink with the sample, people are not whole, and the last decimals not worth cooling for."""
        goal, inside, filled = (one.scaled(fraction) for one in (self.goal, self.inside, self.filled))
        return replace(self, goal=goal, inside=inside, filled=filled, rounding=None, solver=self.solver.rough())

    def prove(self, sweep: DataSweep, warm: Prices) -> float:
        """The dual at these prices, without temperature."""
        return lower_bound(sweep, self.goal, warm.theta)

    def proof_of(self, prices: Prices) -> Prices:
        """Prices to prove with: of the goal itself, which bounds no sizes by itself."""
        return replace(prices, theta=np.ascontiguousarray(prices.theta[:, : self.goal.n_unknowns]))
