"""Clusters that cost more than they are worth are moved: one is closed, another is cut in two, while that pays.

A fit ends where no small change helps. Closing the cluster whose people are served nearly as well elsewhere, and
cutting in two the one that gains most by it, is the large change that helps most often: under a goal, where a cluster
of outliers can be dear, and at a weight. Changes are tried on a sample, before all points are fitted, once, from the
best.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .._typing import FloatArray
from .asks import Ask
from .loop import fit_once
from .records import FitResult, Start

if TYPE_CHECKING:
    from .problem import Problem
    from .settings import Settings

_SAMPLE = 1 << 13  # points that tell whether a change helps
_FEWEST = 16  # of them in a cluster, on average: fewer tell nothing of all points
_FEWEST_IF_FAIR = 128  # the same where fairness decides: fewer can be made fair in ways that all points cannot
_DECIDES = 4.0  # natural weights from which on fairness decides more than distance
_MOST_MOVED = 3  # starts whose clusters are moved: the moves lead most starts to the same place
_MOST_TRIES = 30  # changes in all, whether they help or not
_PATIENCE = 5  # changes in a row that do not help
_LEAST_PATIENCE = 3  # where tries take a good part of a fit: of few clusters the first changes are the best
_SMALL_PART = 1 / 64  # of all points: what is tried on a sample so small takes hardly any time
_CLUSTERS_PER_CHANGE = 10  # one for so many clusters, from the least to that
_BRIEF = 8  # outer iterations of a fit of a sample: what is left to gain from more is less than what a move gains
_ROUGH_TOL = 1e-2  # and the tolerance of such a fit
_CLEAR_GAIN = 1e-4  # of the energy: on a sample, less is chance


@dataclass(frozen=True)
class Moved:
    """Where to start on all points, and the sweeps over them that it took to find that out."""

    start: Start
    n_sweeps: float


def can_move(problem: Problem, few: Callable[[], Problem], ask: Ask, parameters: FloatArray) -> bool:
    """Whether whole clusters are moved: not by the paper's algorithm, which is left as it is, and not of two.

    Nor of so many that a sample would have few points of each.
    """
    is_as_published = ask.is_plain or ask.rests_on_energy or not problem.settings.assignments.are_hard
    is_movable = problem.sweep.n_clusters > 2 and problem.objective.can_relocate and not is_as_published
    return is_movable and _can_tell(problem, few, ask, parameters)


def _can_tell(problem: Problem, few: Callable[[], Problem], ask: Ask, parameters: FloatArray) -> bool:
    """Whether a sample has enough points of each cluster to tell what a change does to all points."""
    step = few_step(problem.sweep.n_samples)
    of_each = problem.sweep.n_samples // step / problem.sweep.n_clusters if step > 1 else np.inf
    if not _FEWEST <= of_each < _FEWEST_IF_FAIR:
        return bool(of_each >= _FEWEST)
    natural_weight = few().natural_weight(parameters) / few().sample_fraction
    return not ask.weighs_more_than(_DECIDES * natural_weight)


def few_step(n_samples: int) -> int:
    """A sample that clusterings can be compared by takes every so-manieth point."""
    return max(1, round(n_samples / _SAMPLE))


def few_points(problem: Problem) -> Problem:
    """The same problem on such a sample, which tells nobody of its iterations."""
    sample = problem.sampled(few_step(problem.sweep.n_samples))
    return replace(sample, settings=replace(problem.settings, on_iteration=None))


def best_moved(
    problem: Problem, sample: Problem, ask_of: Callable[[Problem], Ask | None], starts: Sequence[FloatArray]
) -> Moved:
    """Fit a sample from every start, move clusters of the best while that pays, and say where the best of those ended.

    Parameters
    ----------
    problem : Problem
        All points.
    sample : Problem
        Few of them.
    ask_of : callable
        What is asked of a problem.
    starts : sequence of ndarray
        Parameters.
    """
    asked = ask_of(sample)
    assert asked is not None
    ask = asked.on_sample(1.0)  # whole people can wait; weights and sizes are the sample's already
    # A sample that is all there is is fitted to the end: then nothing is ever lost by trying moves.
    is_all = sample.sweep.n_samples == problem.sweep.n_samples
    first = sample.settings if is_all else _brief(sample.settings)
    n_before = sample.sweep.n_sweeps
    fits = sorted((fit_once(sample, ask, Start(start), first) for start in starts), key=lambda one: one.energy)
    is_small = sample.sweep.n_samples <= _SMALL_PART * problem.sweep.n_samples
    few = max(_LEAST_PATIENCE, sample.sweep.n_clusters // _CLUSTERS_PER_CHANGE)
    patience = _PATIENCE if is_all or is_small else min(few, _PATIENCE)
    best = min((_moved(sample, ask, one, patience) for one in fits[:_MOST_MOVED]), key=lambda one: one.energy)
    n_sweeps = (sample.sweep.n_sweeps - n_before) * sample.sweep.n_samples / problem.sweep.n_samples
    return Moved(Start(best.parameters, ask.rewarmed(best.warm), from_few=True), n_sweeps)


def _moved(problem: Problem, ask: Ask, best: FitResult, patience: int) -> FitResult:
    """Move clusters while that lowers the energy."""
    n_failed, changes = 0, _Changes(problem, ask, best)
    for _ in range(_MOST_TRIES):
        change = changes.next()
        if change is None:
            break
        to_reach = (1.0 - _CLEAR_GAIN) * best.energy
        after = fit_once(problem, ask, change.start, _brief(problem.settings, to_reach))
        if after.energy < to_reach:
            best, n_failed, changes = after, 0, _Changes(problem, ask, after)
        else:
            n_failed += 1
            changes.learn(change, best.energy - after.energy)
        if n_failed == patience:
            break
    return best


def _brief(settings: Settings, to_reach: float = np.inf) -> Settings:
    max_iter, tol = min(_BRIEF, settings.max_iter), max(_ROUGH_TOL, settings.tol)
    return replace(settings, max_iter=max_iter, tol=tol, to_reach=to_reach)


@dataclass(frozen=True)
class _Change:
    """One cluster closed, another cut in two: where to start after it, and the fall of the energy that it promises."""

    closed: int
    cut: int
    start: Start
    promise: float


class _Changes:
    """The changes of a fit, those that promise most first."""

    def __init__(self, problem: Problem, ask: Ask, found: FitResult) -> None:
        self._ask, self._found = ask, found
        halves = problem.objective.halves(problem.sweep, found.parameters, found.labels) or []
        self._halves = [parameters for _, parameters in halves]
        gain = np.array([one for one, _ in halves])
        self._promise = gain[None, :] - _losses(problem, found)[:, None]  # (closed, cut)
        np.fill_diagonal(self._promise, -np.inf)

    def next(self) -> _Change | None:
        """The change that promises most of those not tried yet; None: all were tried."""
        closed, cut = (int(one) for one in np.unravel_index(self._promise.argmax(), self._promise.shape))
        promise = float(self._promise[closed, cut])
        if not np.isfinite(promise):
            return None
        self._promise[closed, cut] = -np.inf
        parameters = self._found.parameters.copy()
        parameters[[cut, closed]] = self._halves[cut]
        return _Change(closed, cut, Start(parameters, self._ask.copied(self._found.warm, cut, closed)), promise)

    def learn(self, change: _Change, gained: float) -> None:
        """A change gained other than it promised: half of that is put down to what it closed, half to what it cut."""
        missed = change.promise - gained
        self._promise[change.closed] -= missed / 2
        self._promise[:, change.cut] -= missed / 2


def _losses(problem: Problem, found: FitResult) -> FloatArray:
    """What closing each cluster costs: how much dearer its people's second choice is, prices included."""
    problem.objective.fill(problem.sweep, found.parameters)
    gaps = problem.sweep.gaps(found.state.price)
    return np.bincount(found.labels, weights=gaps, minlength=problem.sweep.n_clusters)
