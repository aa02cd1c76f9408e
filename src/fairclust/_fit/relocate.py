"""Clusters that cost more than they are worth are moved: one is closed, another is cut in two, while that pays.

A fit ends where no small change helps. Closing the cluster whose people are served nearly as well elsewhere, and
cutting in two the one that gains most by it, is the large change that helps most often: under a goal, where a cluster
of outliers can be dear, at a weight, and without either. Changes are tried on a sample; all points are fitted once,
from the best.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .._typing import FloatArray
from .asks import Ask
from .loop import fit_once
from .records import FitResult, Start

if TYPE_CHECKING:
    from .problem import Problem

_SAMPLE = 1 << 13  # points that tell whether a change helps
_MOST_TRIES = 30
_PATIENCE = 5  # changes in a row that do not help
_BRIEF = 8  # outer iterations of a try
_CLEAR_GAIN = 1e-4  # of the energy: on a sample, less is chance


def relocate(problem: Problem, ask: Ask, found: FitResult) -> FitResult:
    """Move clusters while that lowers the energy; a result that is no worse, and the same where nothing helps."""
    settings = replace(problem.settings, on_iteration=None)
    is_as_the_paper_says = ask.rests_on_energy or settings.assignments != "hard"
    if problem.sweep.n_clusters < 3 or is_as_the_paper_says or not problem.objective.can_relocate:
        return found
    step = max(1, problem.sweep.n_samples // _SAMPLE)
    sample = problem.sampled(step)
    fraction = sample.share / problem.share
    asked = ask.on_sample(fraction) if step > 1 else ask
    brief = replace(settings, max_iter=_BRIEF)
    n_before = sample.sweep.n_sweeps
    best = fit_once(sample, asked, Start(found.parameters, found.warm), brief)
    start, n_failed, tried = best.energy, 0, set[tuple[int, int]]()
    for _ in range(_MOST_TRIES):
        change = _next_change(sample, asked, best, tried)
        if change is None:
            break
        after = fit_once(sample, asked, change, brief)
        if after.energy < (1.0 - _CLEAR_GAIN) * best.energy:
            best, n_failed = after, 0
            tried.clear()
        else:
            n_failed += 1
        if n_failed == _PATIENCE:
            break
    n_sweeps = round((sample.sweep.n_sweeps - n_before) * fraction)
    if best.energy >= start:
        return replace(found, n_sweeps=found.n_sweeps + n_sweeps)
    moved = fit_once(problem, ask, Start(best.parameters, best.warm), settings)
    n_sweeps += found.n_sweeps + moved.n_sweeps
    if moved.energy >= found.energy:
        return replace(found, n_sweeps=n_sweeps)
    fallen = moved.energy_history[moved.energy_history < found.energy]
    history = np.concatenate((found.energy_history, fallen))
    if problem.settings.on_iteration is not None:
        for i, energy in enumerate(fallen):
            problem.settings.on_iteration(len(found.energy_history) + i + 1, float(energy))
    return replace(moved, energy_history=history, n_iter=len(history), n_sweeps=n_sweeps)


def _next_change(problem: Problem, ask: Ask, found: FitResult, tried: set[tuple[int, int]]) -> Start | None:
    """Where to start after the change that promises most of those not tried yet; None: all were tried."""
    halves = problem.objective.halves(problem.sweep, found.parameters, found.labels)
    if halves is None:
        return None
    gain = np.array([one for one, _ in halves])
    loss = _losses(problem, found)
    promise = gain[None, :] - loss[:, None]  # (closed, cut)
    np.fill_diagonal(promise, -np.inf)
    for pair in tried:
        promise[pair] = -np.inf
    closed, cut = np.unravel_index(promise.argmax(), promise.shape)
    if not np.isfinite(promise[closed, cut]):
        return None
    tried.add((int(closed), int(cut)))
    parameters = found.parameters.copy()
    parameters[[cut, closed]] = halves[cut][1]
    return Start(parameters, ask.copied(found.warm, int(cut), int(closed)))


def _losses(problem: Problem, found: FitResult) -> FloatArray:
    """What closing each cluster costs: how much dearer its people's second choice is, prices included."""
    problem.objective.fill(problem.sweep, found.parameters)
    gaps = problem.sweep.gaps(found.state.price)
    return np.bincount(found.labels, weights=gaps, minlength=problem.sweep.n_clusters)
