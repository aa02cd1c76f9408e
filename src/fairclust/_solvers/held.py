"""Prices at a weight while the clusters' sizes are held: a concave problem, from wherever it starts.

KL(target ‖ shares) is log size − Σ target·log masses, and only log size bends downwards: a cluster that loses all its
people loses its error with them. Held straight at some sizes n it is a bound that touches there, and what is left,

    Σ_k weight_k · (size_k / n_k − Σ_j target_j · log masses_kj),

is convex. Its dual, with a price per cluster and column,

    D = Σ_p softmin_k(a_pk + price) + Σ pull · (1 − log wanted),   wanted = pull / (line − price),

is concave: pull = weight·target, line = weight/n. Its slope is what clusters hold less what they want, which is finite
however little that is. So a cluster cannot vanish, and one that lacks a group gets it in a few Newton steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._algebra import damped_cell_steps, damped_cone_step
from .._sweep.question import Answer, State, Sweep
from .._typing import FloatArray
from ._base import FairnessTerm
from .trust import ENOUGH, Trust

_STRIDE = 0.9  # of the room between a price and its line that a step may take: there a cluster would want everyone
_SHORT = 1.0  # temperatures that the last step may go unchecked


@dataclass(frozen=True)
class Climbed:
    """Where a climb ended: the state, and the sweep's last answer with its prices by cell."""

    state: State
    price: FloatArray
    answer: Answer


@dataclass(frozen=True)
class _At:
    """The dual at some prices by column."""

    price: FloatArray
    answer: Answer
    value: float
    wanted: FloatArray
    slope: FloatArray


@dataclass(frozen=True)
class Held:
    """The bound at some sizes.

    Parameters
    ----------
    fairness : FairnessTerm
    line, pull : ndarray of shape (n_clusters, n_columns)
        What a person costs in size, and the weighted targets. Where there is no target a price is its line.
    """

    fairness: FairnessTerm
    line: FloatArray
    pull: FloatArray

    @cached_property
    def _is_free(self) -> FloatArray:
        return self.pull > 0

    def climb(self, sweep: Sweep, state: State, tol: float, max_steps: int) -> Climbed:
        """Newton's steps at the state's temperature, until one promises less than ``tol`` of it per point."""
        scale, is_free = state.scale, self._is_free
        start = np.minimum(state.price @ self.fairness.inverse, _STRIDE * self.line)
        at = self._at(sweep, np.where(is_free, start, self.line), scale)
        enough = tol / scale * float(at.answer.masses.sum())
        trust = Trust(start.shape)
        for _ in range(max_steps):
            step = np.where(is_free, np.minimum(self._newton(at, scale, trust.lengths), self._reach(at.price)), 0.0)
            length = abs(step) * scale
            gain = float(np.vdot(step, at.slope))
            if gain <= enough:
                price = at.price + step * min(1.0, _SHORT / max(float(length.max()), np.finfo(float).tiny))
                return Climbed(self._state(price, scale), self._state(at.price, scale).price, at.answer)
            tried = self._at(sweep, at.price + step, scale)
            kept = (tried.value - at.value) / gain
            trust.learn(step, length, at.slope, tried.slope, kept)
            if kept >= ENOUGH:
                at = tried
        return Climbed(self._state(at.price, scale), self._state(at.price, scale).price, at.answer)

    def _reach(self, price: FloatArray) -> FloatArray:
        return _STRIDE * (self.line - price)

    def _state(self, price: FloatArray, scale: float) -> State:
        return State(scale, price @ self.fairness.membership.T * scale)

    def _at(self, sweep: Sweep, price: FloatArray, scale: float) -> _At:
        answer = sweep(self._state(price, scale), curvature=True)
        is_free = self._is_free
        masses = answer.masses @ self.fairness.membership
        wanted = np.divide(self.pull, self.line - price, out=masses.copy(), where=is_free)
        conjugate = self.pull * (1.0 - np.log(np.where(is_free, wanted, 1.0)))
        return _At(price, answer, -answer.log_partition / scale + float(conjugate.sum()), wanted, masses - wanted)

    def _newton(self, at: _At, scale: float, trusted: FloatArray) -> FloatArray:
        """What clusters want grows by wanted²/pull per price. Where cells are columns, each has a system of its own."""
        assert at.answer.curvature is not None
        bend = np.divide(at.wanted**2, self.pull, out=np.ones_like(self.pull), where=self._is_free)
        membership = self.fairness.membership
        if self.fairness.has_cells_as_columns:
            return damped_cell_steps(at.answer.curvature, scale, bend, at.slope, trusted)
        through = np.ascontiguousarray(np.broadcast_to(membership, (len(bend), *membership.shape)))
        blocks = bend[:, :, None] * np.eye(bend.shape[1])
        return damped_cone_step(at.answer.curvature, scale, through, blocks, at.slope, trusted)


def held(fairness: FairnessTerm, fairness_weights: FloatArray, sizes: FloatArray, person: float) -> Held | None:
    """Hold the sizes, of one person at least; None: the term is not log size less logarithms of masses."""
    logarithms = fairness.logarithms(len(sizes))
    if logarithms is None:
        return None
    weights = fairness_weights[:, None]
    line = weights * logarithms.size / np.maximum(sizes, person)[:, None]
    return Held(fairness, line, weights * logarithms.masses)
