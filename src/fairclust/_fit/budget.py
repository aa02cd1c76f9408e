"""Spending a budget: the fairest clusters that cost at most so much more than plain ones. A root in ε."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .._typing import FloatArray
from .problem import Problem, WeightedFit
from .records import Start

_MOST_FITS = 9  # the cost is a smooth function of log ε: a handful of secants do
_FAIREST = 1e-6  # ε below which nobody can tell
_SPENT = 0.005  # of the budget that may be left
_CLOSE = 0.02  # between the logarithms of two goals: the costs of fits differ by chance below it
_EDGE = 0.1  # of a bracket that a guess by the costs stays away from its ends

FitGoal = Callable[[Problem, float, Start], WeightedFit]


def spend(problem: Problem, most_increase: float, start: FloatArray, fit_goal: FitGoal) -> WeightedFit:
    """Find the smallest ε whose cheapest clustering found costs at most ``1 + most_increase`` times plain clustering.

    Parameters
    ----------
    problem : Problem
    most_increase : float
    start : ndarray
        Parameters to start from.
    fit_goal : callable
        Fits a problem for an ε from a start.
    """
    plain = problem.fit(0.0, Start(start))
    limit = plain.result.objective * (1.0 + most_increase)
    worst = float(problem.fairness.errors(plain.result.masses).max())
    best, spent = plain, plain.n_sweeps
    if worst <= _FAIREST:
        return plain
    low, high = np.log(_FAIREST), np.log(min(worst, 10.0))  # too dear, affordable
    dear: float | None = None
    cheap = plain.result.objective
    x = low
    near = Start(plain.result.parameters)
    for _ in range(_MOST_FITS):
        tried = fit_goal(problem, float(np.exp(x)), near)
        spent += tried.n_sweeps
        cost, error = tried.result.objective, float(problem.fairness.errors(tried.result.masses).max())
        if cost <= limit:
            is_fairer = error < float(problem.fairness.errors(best.result.masses).max())
            best = tried if is_fairer else best
            high, cheap = min(high, x), cost
            if limit - cost <= _SPENT * max(limit - plain.result.objective, 0.0) or x <= np.log(_FAIREST):
                break
        else:
            low, dear = x, cost
        near = Start(tried.result.parameters, tried.result.warm)
        if high - low < _CLOSE:
            break
        position = 0.5 if dear is None or dear <= cheap else (dear - limit) / (dear - cheap)
        x = low + float(np.clip(position, _EDGE, 1 - _EDGE)) * (high - low)
    return replace(best, n_sweeps=spent)
