"""The cone solver: the cheapest assignment whose clusters all meet a goal, for point costs that stay as they are.

That problem is convex, whatever the clusters' sizes. Its dual has one unknown per cluster and group,

    D(θ) = Σ_p min_k (a_pk + price_k,cell(p)(θ)) − offset(θ),

is concave, and every θ gives a lower bound on the cost of any assignment that meets the goal, fractional ones too. The
minimum is softened by a temperature τ and the fair mixes by two of them; Newton's steps on θ, then it is cooled. The
gradient is what each cluster holds less its own fair mix: zero where the goal is met.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .._algebra import Step, cone_slope, cone_step
from .._goals.conditions import Conditions, Priced
from .._sweep.question import Answer, State, Sweep
from .._typing import FloatArray
from .trust import ENOUGH, TRUSTED, Trust

_COOLING = 0.2  # of the temperature, from one to the next
_ROUNDING = 1e-9  # relative difference of two temperatures that is none
_SOFTNESS = 2.0  # temperatures, for the mixes: sharper ones turn faster than points change, and steps overshoot
_COLD_TRUSTED = 2.0  # temperatures of the first step at the coldest: few points say how all will turn
_LEAST_TRUSTED = 1e-3  # temperatures of the longest step: below this the model is wrong for other reasons, rounding
_NEARLY = 2e-4  # of a cluster's people that may be beyond the goal when a temperature is done with: repair moves them
_ONE = 1.0  # or one person, as people weigh on average
_SHORT = 1.0  # temperatures that a last step on a sample may go unchecked: the next climb's first sweep will tell
_ROUGH = 10.0  # times the tolerance, on the way to cooler prices, and on samples, which differ from all points by more


@dataclass(frozen=True)
class Prices:
    """Where the solver ended.

    Attributes
    ----------
    theta : ndarray of shape (n_clusters, n_unknowns)
    temperature : float
    gap : float
        Mean gap between a point's best and second-best cost, when it started cold: what temperatures are relative to.
    state : State
        Scale and prices by cell.
    offset : float
        What the dual loses beside the prices.
    """

    theta: FloatArray
    temperature: float
    gap: float
    state: State
    offset: float = 0.0

    def on_balance(self, masses: FloatArray) -> float:
        """What people with these masses pay beyond what the goal lets them; nothing where they are well within it."""
        return max(float((self.state.price * masses).sum()) - self.offset, 0.0)


class _At(NamedTuple):
    """The dual at some θ: prices, the state that has them, the sweep's answer, value and slope."""

    theta: FloatArray
    priced: Priced
    state: State
    answer: Answer
    value: float
    slope: FloatArray


@dataclass(frozen=True)
class ConeSolver:
    """Newton's method on θ, from hot to cool.

    Parameters
    ----------
    cooling : tuple of float
        Temperatures of a cold start, in mean gaps between a point's best and second-best cost. The last is kept for
        later calls, until only a cooler one brings cheaper labels.
    reheated : float
        Where prices go on when a cluster starts again elsewhere: the others' are not far off.
    coldest : float
        The last of those cooler ones.
    tol : float
        A temperature is done with when Newton's step promises less than this share of it per point.
    trusted : float
        Temperatures that an unknown may change by in the first step.
    max_steps : int
        Most sweeps per temperature.
    is_rough : bool
        Whether a goal that is missed by what costs next to nothing will do: a few people, far from all others.
    short : float
        Temperatures that the last step of a climb may go unchecked.
    """

    cooling: tuple[float, ...] = (1.0, 0.2, 0.05)
    reheated: float = 0.2
    coldest: float = 0.002
    tol: float = 1e-4
    trusted: float = TRUSTED
    max_steps: int = 60
    is_rough: bool = False
    short: float = 0.0

    def solve(self, sweep: Sweep, conditions: Conditions, start: Prices | None = None) -> Prices:
        """Solve; from prices for nearby point costs, at their temperature, or cold."""
        if start is None:
            gap = sweep.assign(np.zeros((sweep.n_clusters, sweep.n_cells))).gap
            gap = max(gap, np.finfo(float).tiny ** 0.5) if gap > 0 else 1.0  # one cluster: nobody has a choice
            theta = np.zeros((sweep.n_clusters, conditions.n_unknowns))
            tau = self.cooling[0] * gap
        else:
            gap, theta, tau = start.gap, start.theta, start.temperature
        for heat in self.cooling:
            if heat * gap < 0.99 * tau:  # on the way to where it is kept
                theta = self._climb(sweep, conditions, theta, tau, gap, rough=True).theta
                tau = heat * gap
        return self._climb(sweep, conditions, theta, tau, gap)

    def rough(self) -> ConeSolver:
        """The same without cooling beyond a cold start's end, and less exact: for samples, and for samples of those."""
        if self.is_rough:
            return self
        return replace(self, coldest=self.cooling[-1], tol=_ROUGH * self.tol, is_rough=True, short=_SHORT)

    def checked(self) -> ConeSolver:
        """The same with every step checked: of all points steps that were not right cost iterations."""
        return replace(self, short=0.0)

    def for_many(self) -> ConeSolver:
        """The same where a person is next to nothing: at the coldest, as many digits of the cost as after a start."""
        return replace(self, tol=self.tol * self.cooling[-1] / self.coldest, trusted=_COLD_TRUSTED)

    def can_cool(self, prices: Prices) -> bool:
        """Whether a cooler temperature is left."""
        return prices.temperature > self.coldest * prices.gap * (1 + _ROUNDING)

    def cool(self, sweep: Sweep, conditions: Conditions, prices: Prices) -> Prices:
        """Go on at a fifth of the temperature."""
        tau = max(_COOLING * prices.temperature, self.coldest * prices.gap)
        return self._climb(sweep, conditions, prices.theta, tau, prices.gap)

    def _climb(
        self, sweep: Sweep, conditions: Conditions, theta: FloatArray, tau: float, gap: float, *, rough: bool = False
    ) -> Prices:
        """Newton's steps at one temperature, each unknown's as long as its last ones let it be trusted."""
        at = self._at(sweep, conditions, theta, tau)
        trust = Trust(theta.shape, self.trusted)
        enough = (_ROUGH if rough else 1.0) * self.tol * tau * float(at.answer.masses.sum())
        for _ in range(self.max_steps):
            taken = _newton(at, tau, conditions, trust.lengths)
            if taken.promise <= enough and (
                rough or self.is_rough or _is_nearly_met(conditions, at.answer.masses, sweep.person)
            ):
                break
            if taken.longest <= self.short and not trust.holds_back(taken.lengths):
                theta = conditions.centered(at.theta + taken.step)
                priced, state = _priced(conditions, theta, tau)
                return Prices(theta, tau, gap, state, priced.offset)
            tried = self._at(sweep, conditions, conditions.centered(at.theta + taken.step), tau)
            kept = (tried.value - at.value) / taken.promise if taken.promise > 0 else 0.0
            if kept < ENOUGH and taken.longest < _LEAST_TRUSTED:
                break
            trust.learn(taken.step, taken.lengths, at.slope, tried.slope, kept)
            if kept >= ENOUGH:
                at = tried
        return Prices(at.theta, tau, gap, at.state, at.priced.offset)

    def _at(self, sweep: Sweep, conditions: Conditions, theta: FloatArray, tau: float) -> _At:
        priced, state = _priced(conditions, theta, tau)
        answer = sweep(state, curvature=True)
        slope = cone_slope(answer.masses, conditions.membership, priced.jacobian, priced.offset_slope)
        return _At(theta, priced, state, answer, -tau * answer.log_partition - priced.offset, slope)


def _priced(conditions: Conditions, theta: FloatArray, tau: float) -> tuple[Priced, State]:
    """Prices at some θ and a temperature, and the state that has them."""
    priced, scale = conditions.prices(theta, _SOFTNESS * tau), 1.0 / tau
    return priced, State(scale, conditions.by_cell(priced.by_column) * scale)


def _is_nearly_met(conditions: Conditions, masses: FloatArray, person: float) -> bool:
    allowed = np.maximum(_NEARLY * masses.sum(axis=1), _ONE * person)
    return bool((conditions.beyond(masses) <= allowed).all())


def lower_bound(sweep: Sweep, conditions: Conditions, theta: FloatArray) -> float:
    """What no assignment that meets the goal costs less than, fractional ones included: one hard pass."""
    priced = conditions.prices(theta, 0.0)
    price = conditions.by_cell(priced.by_column)
    hard = sweep.weigh(price)
    slack = conditions.off_by_whole_people(priced)
    return hard.cost + float((price * hard.masses).sum()) - priced.offset - slack


def _newton(at: _At, tau: float, conditions: Conditions, trusted: FloatArray) -> Step:
    """Newton's step for θ; it promises, twice, so much of a rise of D.

    Where no point is near to changing its mind the model is flat, and its step has no end: so far per step.
    """
    curvature, priced = at.answer.curvature, at.priced
    assert curvature is not None
    return cone_step(
        curvature, 1.0 / tau, conditions.membership, priced.jacobian, priced.turn, priced.offset_turn,
        conditions.people(at.answer.masses), at.slope, trusted,
    )  # fmt: skip
