"""Help for methods whose knob is not the goal itself: turn it until the goal is just met."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fairclust.reproduce.field.goal import Goal
from fairclust.reproduce.tables import cheapest, search

_TRIES = 4  # fits of a method whose knob has to be found
_TRIES_OF_FEW = 8  # where a fit takes no time
_FEW = 1000  # rows


def along(fit: Callable[[float], Any], level: float, first: float, power: float, n_rows: int) -> Any:
    """Return the cheapest model whose Σ KL is at most a level, or the fairest.

    Parameters
    ----------
    fit : callable
        From a value of the knob to a fitted model with ``objective_`` and ``fairness_error_``.
    level : float
        Most Σ KL.
    first : float
        Value to begin with.
    power : float
        Σ KL goes about as knob^power.
    n_rows : int
        With few rows more values are tried.
    """

    def result(knob: float) -> dict[str, Any]:
        model = fit(knob)
        return {"objective": model.objective_, "fairness_error": model.fairness_error_, "model": model}

    tries = _TRIES_OF_FEW if n_rows <= _FEW else _TRIES
    return cheapest(search(result, level, first, tries, power), level)["model"]


def first_that_meets(fit: Callable[[Any], Any], values: Sequence[Any], goal: Goal, groups: Any, n_clusters: int) -> Any:
    """Return the first model whose labels meet the goal, or the last; values go from the loosest to the tightest."""
    model = None
    for value in values:
        model = fit(value)
        if goal.is_met(model.labels_, groups, n_clusters):
            break
    return model


def spread(X: Any) -> float:
    """Sum of squared distances of rows to their mean: the scale of λ."""
    return float(np.square(X - X.mean(axis=0)).sum())
