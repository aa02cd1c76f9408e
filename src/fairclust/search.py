"""From a fairness goal to a weight: the smallest λ whose clusters all meet it, by warm-started fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .fitting import FitResult

Fit = Callable[[float, FitResult | None], FitResult]
"""Fit at a weight, starting from the end of another fit (None: from the beginning)."""

_MOST_FITS = 16
_NEAR_ENOUGH = 0.7  # a goal met with an error of at least this share of it is met by a small enough weight
_STEPS = (1.5, 30.0)  # smallest and largest factor between two weights
_LARGEST_GROWTH = 1e12


@dataclass(frozen=True)
class GoalResult:
    """The fit that was chosen, its weight, and whether it meets the goal."""

    fit: FitResult
    weight: float
    is_met: bool
    n_sweeps: int


def search_weight(fit: Fit, worst_error: Callable[[FitResult], float], goal: float, first_weight: float) -> GoalResult:
    """Look for the smallest weight whose worst cluster is within the goal.

    The worst error falls about as a power of the weight, so a secant in logarithms needs a handful of fits; every one
    starts where the nearest less fair one ended.

    Parameters
    ----------
    fit : callable
        Fits at a weight.
    worst_error : callable
        Fairness error of the worst cluster of a fit's hard labels.
    goal : float
        What that must not exceed.
    first_weight : float
        A weight of the right order.
    """
    plain = fit(0.0, None)
    n_sweeps = plain.n_sweeps
    if worst_error(plain) <= goal:
        return GoalResult(plain, 0.0, True, n_sweeps)
    below: tuple[float, float, FitResult] = (0.0, worst_error(plain), plain)
    above: tuple[float, float, FitResult] | None = None
    closest = below
    weight, ceiling = first_weight, first_weight * _LARGEST_GROWTH
    for _ in range(_MOST_FITS):
        found = fit(weight, below[2])
        n_sweeps += found.n_sweeps
        error = worst_error(found)
        tried = (weight, error, found)
        if error <= goal:
            above = tried if above is None or found.objective <= above[2].objective else above
            if error >= _NEAR_ENOUGH * goal:
                break
        else:
            below = tried if above is None or weight < above[0] else below
            closest = tried if error < closest[1] else closest
        weight = _next_weight(weight, error, goal, below, above)
        if (above is not None and (below[0] > 0 and weight / below[0] < 1.02)) or weight > ceiling:
            break
    if above is None:
        return GoalResult(closest[2], closest[0], False, n_sweeps)
    return GoalResult(above[2], above[0], True, n_sweeps)


def _next_weight(
    weight: float,
    error: float,
    goal: float,
    below: tuple[float, float, FitResult],
    above: tuple[float, float, FitResult] | None,
) -> float:
    """Aim a little inside the goal, along the power law; halve the bracket (in logarithms) where that leaves it."""
    aim = max(0.85 * goal, 1e-12)
    factor = float(np.clip(max(error, 1e-15) / aim, 1 / _STEPS[1], _STEPS[1])) ** 0.8
    if above is None:
        return weight * max(factor, _STEPS[0])
    if below[0] <= 0:
        return weight * min(factor, 1 / _STEPS[0])
    guess = weight * factor
    low, high = below[0], above[0]
    if low * 1.05 < guess < high / 1.05:
        return guess
    return float(np.sqrt(low * high))
