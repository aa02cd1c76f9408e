"""The dual solver: Newton steps on the K×J prices at a low temperature. Ten sweeps where Algorithm 1 takes hundreds.

At temperature τ the assignments are softmax(−(a + price)/τ), and the relaxed energy with entropy,

    E_τ = cost + Σ_k weight_k · fairness_k(masses) + τ Σ s·log s,

is stationary where ``price = weight · slope(masses)``. Along a change of the prices masses move by −H·Δprice (H is the
sweep's curvature over τ) and the slope by −bend·H·Δprice, so Newton's step solves

    (I + weight·bend·H) Δprice = weight·slope(masses) − price.

H and the bend are positive semi-definite, so the step goes downhill on E_τ; it is shortened until E_τ falls enough.

Labels hold other masses than soft assignments do. What they held more or less at the last point costs is added to the
masses that the term sees, so that prices are right for labels, at a temperature that need not be low.

A *cold* start follows the solution from hot to cool and from a small weight to the full one. A *warm* start, for point
costs that moved a little, goes on at the last temperature.

E_τ is not convex: a cluster that shrinks to nothing is fair at no cost. Where a step would lead there, or a warm start
would have to go far, the clusters' sizes are held instead (see :mod:`.held`), and what is left is convex, so that
prices lead there from anywhere. Where the labels of a warm start will not do, it starts cold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._algebra import Curvature, Look, Step, damped_weight_step, measured, newton_step, rounding, weighted_look
from .._sweep.question import Answer, HardAnswer, State, Sweep
from .._typing import FloatArray
from ._base import FairnessTerm, Solution
from .held import held
from .trust import ENOUGH, Trust

# Lengths of price steps, in temperatures: beyond a few the quadratic model says nothing.
_TRUSTED = 3.0  # longest first step that is tried
_SHORT = 2.0  # a warm start's step below this is taken unchecked: the next call's first sweep will tell
_SHORT_COLD = 0.3  # the same, in a cold start
_FAR = 20.0  # temperatures: prices that are so wrong lead anywhere, and a start without them is as short
_CLOSE = 1e-4  # of a temperature per point: a climb that promises less is done
_ROUGH = 10.0  # times that, on the way to cooler prices
_MOST_FAILED = 6  # steps in a row that do not lower the energy: then the model is wrong
_WEIGHT_GROWTH = 10.0  # factor from one weight of a cold start to the next
_PROMISE = 0.01  # of the relaxed energy that hard labels may lie above it; beyond, it is too hot
_COOLING = 3.0  # factor of the temperature from one to the next
_MOST_COOLINGS = 8  # to 1/6561 of the first temperature
_WORTH = 0.1  # of what labels cost more than they promise, that a lower temperature must save for the next to be tried
_FEW_PRICES = 256  # whose system takes a millisecond or two, whatever the sweeps take
_AS_DEAR = 10.0  # a system of n prices costs n³, a sweep about so much per point and cluster
_SETTLING = 5  # most steps on hard masses
_LARGEST_LOSS = 0.75  # no cluster may lose more of its mass in a step or a cooling: small fair clusters would vanish
_SMALLEST_REST = 0.02  # of its plain size that a cold start leaves to every cluster
_RESIZED = 1.1  # factor by which sizes of many clusters may follow prices from one call to the next
_MOST_ROUNDED = 2.0  # factor from soft masses to those of labels, or back: where few points are left it says little


class _At(NamedTuple):
    """E_τ at some prices: the sweep's answer, and what it says."""

    price: FloatArray
    scale: float
    answer: Answer
    look: Look
    membership: FloatArray

    @property
    def relaxed(self) -> float:
        """The energy without entropy."""
        return self.answer.cost + self.look.penalty

    @property
    def curvature(self) -> Curvature:
        """How masses answer to prices."""
        assert self.answer.curvature is not None
        return self.answer.curvature

    def step(self, trusted: FloatArray) -> Step:
        """Newton's step; where it is longer than unknowns are trusted, each alone goes as far as that."""
        newton, fall = self.look.newton, self.look.fall
        if newton is not None and (newton.lengths <= trusted).all():
            return newton
        step = damped_weight_step(self.curvature, self.scale, self.membership, self.look.bend, fall, trusted)
        return measured(step, self.scale, fall)

    def found(self, price: FloatArray) -> _Found:
        """A descent ends here, at these prices."""
        state = State(self.scale, price * self.scale)
        return _Found(state, self.price, self.answer.masses, self.curvature, self.relaxed)


class _Found(NamedTuple):
    """Where a descent ended: the state, and prices, masses, curvature and relaxed energy at its last answer.

    And whether sizes were held on the way.
    """

    state: State
    price: FloatArray
    masses: FloatArray
    curvature: Curvature
    energy: float
    has_held: bool = False

    def labelled(self, price: FloatArray, hard: HardAnswer) -> State:
        """Prices from here, with what their labels hold."""
        scaled_price = price * self.state.scale
        before = self.price * self.state.scale
        held = rounding(self.curvature, self.masses, before, scaled_price, hard.masses, _MOST_ROUNDED)
        return State(self.state.scale, scaled_price, held, hard.masses.sum(axis=1))


class _Labels(NamedTuple):
    """Hard labels of what was found: their masses and cost, and what these cost besides."""

    found: _Found
    hard: HardAnswer
    penalty: float

    @property
    def energy(self) -> float:
        """Cost and penalty."""
        return self.hard.cost + self.penalty

    @property
    def keep_their_promise(self) -> bool:
        """Whether their energy is about what the soft assignments' is."""
        return self.energy <= self.found.energy + _PROMISE * abs(self.found.energy)

    def will_do(self, to_beat: float) -> bool:
        """Whether no cold start need be tried: with sizes held, labels that do not beat say little."""
        return self.keep_their_promise and (self.energy < to_beat or not self.found.has_held)


@dataclass(frozen=True)
class Dual:
    """Newton's method on the prices.

    Parameters
    ----------
    tol : float
        Stop when the promised fall of the energy is below this share of the cost.
    cooling : tuple of float
        Temperatures of a cold start, in units of the mean gap between a point's best and second-best cost. The last
        one is kept for all later calls.
    max_steps : int
        Most Newton steps per temperature.
    """

    tol: float = 1e-6
    cooling: tuple[float, ...] = (0.3, 0.1)
    max_steps: int = 30
    rests_on_energy: bool = False

    def solve(
        self,
        sweep: Sweep,
        fairness: FairnessTerm,
        fairness_weights: FloatArray,
        start: State | None = None,
        to_beat: float = np.inf,
    ) -> Solution:
        """Go on from ``start`` at its temperature; start cold where there is none, or where its labels will not do."""
        found = None if start is None else self._warm(sweep, fairness, fairness_weights, start)
        labels = None if found is None else self._labelled(sweep, fairness, fairness_weights, found)
        if labels is None or not labels.will_do(to_beat):
            has_held = labels is not None and labels.found.has_held
            cold = self._cool(sweep, fairness, fairness_weights, holds_sizes=has_held)
            labels = self._keep(sweep, fairness, fairness_weights, cold)
        return self._settle(sweep, fairness, fairness_weights, labels, to_beat)

    def _labelled(self, sweep: Sweep, fairness: FairnessTerm, fairness_weights: FloatArray, found: _Found) -> _Labels:
        """Labels of a warm start: as they are, or, of held sizes, cooler where that helps."""
        if found.has_held:
            return self._keep(sweep, fairness, fairness_weights, found)
        return _label(sweep, found, fairness, fairness_weights)

    def _warm(self, sweep: Sweep, fairness: FairnessTerm, fairness_weights: FloatArray, start: State) -> _Found | None:
        """Go on at the last temperature; where that is far to go, with sizes held at what clusters have now.

        Of many clusters some have nobody at all now, or their neighbours' people too, as prices are far off for a few:
        theirs are held near those of the last labels.
        """
        answer = _answer(sweep, start.price, start.scale)
        are_many = _are_many(fairness, sweep)
        found = None if are_many else self._descend(sweep, fairness, fairness_weights, start, answer=answer)
        if found is not None or not fairness.is_logarithmic:
            return found
        gap = max(sweep.assign(np.zeros_like(start.price)).gap, np.finfo(float).tiny ** 0.5)
        scale = min(1.0 / (self.cooling[-1] * gap), start.scale)
        sizes = answer.masses.sum(axis=1)
        if are_many and start.sizes is not None:
            labels = start.sizes * (sizes.sum() / start.sizes.sum())  # they may be a sample's
            sizes = np.clip(sizes, labels / _RESIZED, labels * _RESIZED)
        return self._climb(sweep, fairness, fairness_weights, State(scale, start.price * scale), sizes)

    def _cool(
        self, sweep: Sweep, fairness: FairnessTerm, fairness_weights: FloatArray, *, holds_sizes: bool = False
    ) -> _Found:
        """From plain clustering: small weights first, then lower temperatures."""
        price = np.zeros((sweep.n_clusters, sweep.n_cells))
        plain = sweep.assign(price)
        gap = max(plain.gap, np.finfo(float).tiny ** 0.5)
        state = State(1.0 / (self.cooling[0] * gap), price)
        sizes = plain.masses.sum(axis=1)
        if holds_sizes or _are_many(fairness, sweep):
            return self._cool_held(sweep, fairness, fairness_weights, gap, sizes)
        floor = _SMALLEST_REST * sizes
        found: _Found | None = None
        for grown in _growing(fairness_weights, gap * float(plain.masses.sum()) / sweep.n_clusters):
            found = self._descend(sweep, fairness, grown, state, floor=floor)
            if found is None:
                return self._cool_held(sweep, fairness, fairness_weights, gap, sizes)
            state = found.state
        for fraction in self.cooling[1:]:
            scale = 1.0 / (fraction * gap)
            cooler = self._descend(sweep, fairness, fairness_weights, State(scale, state.price * scale), floor=floor)
            if cooler is None:
                return self._cool_held(sweep, fairness, fairness_weights, gap, sizes)
            assert found is not None
            if _is_lost(cooler, found):
                break
            found, state = cooler, cooler.state
        assert found is not None
        return found

    def _cool_held(
        self, sweep: Sweep, fairness: FairnessTerm, fairness_weights: FloatArray, gap: float, sizes: FloatArray
    ) -> _Found:
        """The same with sizes held, at each temperature at those of the last: the full weight from the first."""
        price, found = np.zeros((sweep.n_clusters, sweep.n_cells)), None
        for fraction in self.cooling:
            scale = 1.0 / (fraction * gap)
            tol = _CLOSE if fraction == self.cooling[-1] else _ROUGH * _CLOSE
            found = self._climb(sweep, fairness, fairness_weights, State(scale, price * scale), sizes, tol)
            price, sizes = found.state.price, found.masses.sum(axis=1)
        assert found is not None
        return found

    def _climb(
        self,
        sweep: Sweep,
        fairness: FairnessTerm,
        fairness_weights: FloatArray,
        state: State,
        sizes: FloatArray,
        tol: float = _CLOSE,
    ) -> _Found:
        """Newton's steps at one temperature with these sizes."""
        holding = held(fairness, fairness_weights, sizes, sweep.person)
        found = holding.climb(sweep, state, tol, self.max_steps)
        masses, curvature = found.answer.masses, found.answer.curvature
        assert curvature is not None
        relaxed = found.answer.cost + float(fairness_weights @ fairness.value(masses))
        return _Found(found.state, found.price, masses, curvature, relaxed, has_held=True)

    def _settle(
        self, sweep: Sweep, fairness: FairnessTerm, fairness_weights: FloatArray, taken: _Labels, to_beat: float
    ) -> Solution:
        """With a large weight a few points decide: Newton steps on the labels' own masses, while they do not beat."""
        found, first = taken.found, taken
        price, scale = found.state.price, found.state.scale
        for _ in range(_SETTLING):
            if taken.energy < to_beat:
                return Solution(found.labelled(price, taken.hard), hard=taken.hard, penalty=taken.penalty)
            if _are_many(fairness, sweep):
                break
            term = fairness.expansion(taken.hard.masses)
            want = fairness_weights[:, None] * term.slope - price @ fairness.inverse
            bend = fairness_weights[:, None, None] * term.bend
            step = newton_step(found.curvature, scale, fairness.membership, bend, want)
            if step is None:
                break
            price = price + fairness.by_cell(step)
            taken = _label(sweep, found, fairness, fairness_weights, price)
        return Solution(found.labelled(found.state.price, first.hard))

    def _keep(self, sweep: Sweep, fairness: FairnessTerm, fairness_weights: FloatArray, found: _Found) -> _Labels:
        """Cool until the labels keep what the soft assignments promise, while that brings something.

        Where points are few or alike, all of them are a little soft before one changes its label: it must be cooler.
        """
        labels = best = _label(sweep, found, fairness, fairness_weights)
        for _ in range(_MOST_COOLINGS):
            if labels.keep_their_promise:
                break
            scale = _COOLING * labels.found.state.scale
            state = State(scale, labels.found.state.price * scale)
            cooler = None if found.has_held else self._descend(sweep, fairness, fairness_weights, state)
            if cooler is None:
                cooler = self._climb(sweep, fairness, fairness_weights, state, labels.found.masses.sum(axis=1))
            if _is_lost(cooler, labels.found):
                break
            labels = _label(sweep, cooler, fairness, fairness_weights)
            gained = best.energy - labels.energy
            best = labels if gained > 0 else best
            if gained < _WORTH * (best.energy - best.found.energy):
                break
        return best if best is labels else _label(sweep, best.found, fairness, fairness_weights)

    def _descend(
        self,
        sweep: Sweep,
        fairness: FairnessTerm,
        fairness_weights: FloatArray,
        state: State,
        floor: FloatArray | float = 0.0,
        *,
        answer: Answer | None = None,
    ) -> _Found | None:
        """Newton steps at one temperature, warm where there is an answer to start with.

        None: a warm start leads nowhere, or another to where a cluster vanishes.
        """
        scale, is_warm = state.scale, answer is not None
        short = _SHORT if is_warm else _SHORT_COLD
        answer = answer or _answer(sweep, state.price, scale)
        more = None if state.rounding is None else (state.rounding - 1.0) * answer.masses  # that labels hold
        at = _look(answer, state.price, scale, fairness, fairness_weights, more)
        newton = at.look.newton
        if is_warm and (newton is None or newton.longest > _FAR):
            return None
        if is_warm and newton is not None and newton.longest < short:  # most are, and then there is nothing to learn
            return at.found(at.price + fairness.by_cell(newton.step))
        trust, n_failed, last = Trust(at.look.want.shape, _TRUSTED), 0, at.price
        for _ in range(self.max_steps):
            taken = at.step(trust.lengths)
            change = fairness.by_cell(taken.step)
            if taken.longest < short or taken.promise <= self.tol * abs(at.answer.cost):
                last = at.price + change * min(1.0, short / max(taken.longest, 1e-300))
                break
            price = at.price + change
            tried = _look(_answer(sweep, price, scale), price, scale, fairness, fairness_weights, more)
            sizes, before = tried.answer.masses.sum(axis=1), at.answer.masses.sum(axis=1)
            is_alive = (sizes > np.maximum(floor, (1.0 - _LARGEST_LOSS) * before)) | (sizes >= before)
            are_alive = bool(is_alive.all())
            if not is_warm and not are_alive and fairness.is_logarithmic:
                return None
            kept = (at.look.energy - tried.look.energy) / taken.promise if are_alive else 0.0
            trust.learn(taken.step, taken.lengths, at.look.fall, tried.look.fall, kept)
            if kept >= ENOUGH:
                at, last, n_failed = tried, tried.price, 0
                continue
            trust.shorten(slice(None) if are_alive else ~is_alive)
            n_failed += 1
            if n_failed == _MOST_FAILED:
                if is_warm:
                    return None
                break
        return at.found(last)


def _are_many(fairness: FairnessTerm, sweep: Sweep) -> bool:
    """Whether there are so many prices that Newton's system of all of them would cost more than the sweeps.

    With sizes held it falls apart into one of clusters per group, where groups are cells.
    """
    n_clusters, n_columns = sweep.n_clusters, fairness.membership.shape[1]
    are_few = n_clusters * n_columns <= _FEW_PRICES
    if are_few or n_clusters**2 * n_columns**3 <= _AS_DEAR * sweep.n_samples:
        return False
    return fairness.has_cells_as_columns and fairness.is_logarithmic


def _is_lost(cooler: _Found, found: _Found) -> bool:
    """Whether a cluster all but vanished. A large weight can make that pay: its last points would be few and unfair."""
    return bool((cooler.masses.sum(axis=1) < (1.0 - _LARGEST_LOSS) * found.masses.sum(axis=1)).any())


def _label(
    sweep: Sweep,
    found: _Found,
    fairness: FairnessTerm,
    fairness_weights: FloatArray,
    price: FloatArray | None = None,
) -> _Labels:
    """The hard labels of what was found, or of prices from there, and their energy at these point costs."""
    hard = sweep.assign(found.state.price if price is None else price)
    return _Labels(found, hard, float(fairness_weights @ fairness.value(hard.masses)))


def _growing(fairness_weights: FloatArray, first: float) -> list[FloatArray]:
    """Weights from about ``first`` up to the wanted ones, by factors."""
    largest = float(fairness_weights.max(initial=0.0))
    if largest <= first or first <= 0:
        return [fairness_weights]
    n_steps = int(np.ceil(np.log(largest / first) / np.log(_WEIGHT_GROWTH)))
    return [fairness_weights * _WEIGHT_GROWTH ** (i - n_steps) for i in range(1, n_steps + 1)]


def _answer(sweep: Sweep, price: FloatArray, scale: float) -> Answer:
    return sweep(State(scale, price * scale), curvature=True)


def _look(
    answer: Answer,
    price: FloatArray,
    scale: float,
    fairness: FairnessTerm,
    fairness_weights: FloatArray,
    more: FloatArray | None,
) -> _At:
    """What a sweep says of E_τ: −τ·log-partition is Σ s·(a + price) + τ Σ s·log s. Labels hold so much more."""
    assert answer.curvature is not None
    term = fairness.expansion(_rounded(answer.masses, more))
    look = weighted_look(
        answer.curvature, answer.masses, price, scale, answer.log_partition, fairness.membership, fairness.inverse,
        fairness_weights, term,
    )  # fmt: skip
    return _At(price, scale, answer, look, fairness.membership)


def _rounded(masses: FloatArray, more: FloatArray | None) -> FloatArray:
    """What labels will hold."""
    return masses if more is None else np.maximum(masses + more, masses / _MOST_ROUNDED)
