"""Several starts, raced: all run on a sample, the best of them on all points.

The start matters more than the solver, and a sample ranks starts nearly as well as all points do. So ``n_init``
starts buy four times as many candidates, fitted on a tenth of the points; the best third of ``n_init`` goes on to all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ._typing import FloatArray
from .problem import Problem, WeightedFit

CANDIDATES_PER_START = 4
_SHARE = 10  # one point in so many
_SMALLEST_SAMPLE = 2048
_PROMOTED = 3  # one start in so many

Fit = Callable[[Problem, FloatArray], WeightedFit]
Rank = Callable[[Problem, WeightedFit], tuple[float, float]]


def is_worth_racing(n_samples: int, n_starts: int) -> bool:
    """Whether a sample would be large enough to tell starts apart."""
    return n_starts > 1 and n_samples >= 2 * _SMALLEST_SAMPLE


def best_of(problem: Problem, starts: Sequence[FloatArray], n_starts: int, fit: Fit, rank: Rank) -> WeightedFit:
    """Fit from the starts and return the best; race them first where that is worth it.

    Parameters
    ----------
    problem : Problem
        The full data.
    starts : sequence of ndarray
        Parameters to start from: ``n_starts`` of them, or ``CANDIDATES_PER_START`` times as many for a race.
    n_starts : int
        What the user asked for.
    fit : callable
        Fits a problem from a start.
    rank : callable
        Orders fits, best first.
    """
    spent = 0
    if len(starts) > n_starts:
        step = max(2, min(_SHARE, problem.sweep.layout.n_samples // _SMALLEST_SAMPLE))
        sample = problem.sampled(step)
        fits = [fit(sample, start) for start in starts]
        order = sorted(range(len(fits)), key=lambda i: rank(sample, fits[i]))
        starts = [fits[i].result.parameters for i in order[: -(-n_starts // _PROMOTED)]]
        spent = round(sum(one.n_sweeps for one in fits) * sample.sweep.total / problem.sweep.total)
    fits = [fit(problem, start) for start in starts]
    best = min(fits, key=lambda one: rank(problem, one))
    return WeightedFit(best.result, best.weights, spent + sum(one.n_sweeps for one in fits))
