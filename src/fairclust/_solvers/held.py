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

from .._algebra import Curvature, HeldLook, Step, damped_cone_step, held_look, held_step, measured
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
    look: HeldLook

    @property
    def curvature(self) -> Curvature:
        """How masses answer to prices."""
        assert self.answer.curvature is not None
        return self.answer.curvature


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
        scale = state.scale
        start = np.minimum(state.price @ self.fairness.inverse, _STRIDE * self.line)
        at = self._at(sweep, np.where(self._is_free, start, self.line), scale)
        enough = tol / scale * float(at.answer.masses.sum())
        trust = Trust(start.shape)
        for _ in range(max_steps):
            taken = self._step(at, scale, trust.lengths)
            if taken.promise <= enough:
                price = at.price + taken.step * min(1.0, _SHORT / max(taken.longest, np.finfo(float).tiny))
                return Climbed(self._state(price, scale), self._state(at.price, scale).price, at.answer)
            tried = self._at(sweep, at.price + taken.step, scale)
            kept = (tried.look.value - at.look.value) / taken.promise
            trust.learn(taken.step, taken.lengths, at.look.slope, tried.look.slope, kept)
            if kept >= ENOUGH:
                at = tried
        return Climbed(self._state(at.price, scale), self._state(at.price, scale).price, at.answer)

    def _state(self, price: FloatArray, scale: float) -> State:
        return State(scale, self.fairness.by_cell(price) * scale)

    def _at(self, sweep: Sweep, price: FloatArray, scale: float) -> _At:
        answer = sweep(self._state(price, scale), curvature=True)
        masses = self.fairness.by_column(answer.masses)
        return _At(price, answer, held_look(masses, price, self.line, self.pull, scale, answer.log_partition))

    def _step(self, at: _At, scale: float, trusted: FloatArray) -> Step:
        """What clusters want grows by wanted²/pull per price. Where cells are columns, each has a system of its own."""
        if self.fairness.has_cells_as_columns:
            return held_step(at.curvature, scale, at.price, self.line, self.pull, at.look, trusted, _STRIDE)
        membership = self.fairness.membership
        through = np.ascontiguousarray(np.broadcast_to(membership, (len(self.line), *membership.shape)))
        bend = np.divide(at.look.wanted**2, self.pull, out=np.ones_like(self.pull), where=self._is_free)
        blocks = bend[:, :, None] * np.eye(bend.shape[1])
        step = damped_cone_step(at.curvature, scale, through, blocks, at.look.slope, trusted)
        return measured(
            np.where(self._is_free, np.minimum(step, _STRIDE * (self.line - at.price)), 0.0), scale, at.look.slope
        )


def held(fairness: FairnessTerm, fairness_weights: FloatArray, sizes: FloatArray, person: float) -> Held:
    """Hold the sizes, of one person at least; the term is log size less logarithms of masses."""
    logarithms, weights = fairness.logarithms(len(sizes)), fairness_weights[:, None]
    line = weights * logarithms.size / np.maximum(sizes, person)[:, None]
    return Held(fairness, line, weights * logarithms.masses)
