"""Several starts, raced: all run on a small sample, the best of them on a larger one, the best of those on all points.

The start matters more than the solver, and a sample ranks starts nearly as well as all points do. So ``n_init``
starts buy four times as many candidates, fitted on a tenth of the points; as many as ``n_init`` go on to a third of the
points, and a third of ``n_init`` to all. Many starts end in the same place: only one of them goes on.

One start is the best of eight plain fits of a sample: they cost little, and a fit from there is shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from .._typing import FloatArray
from .aims import Aim
from .asks import PlainAsk
from .loop import fit_once
from .problem import Problem, WeightedFit
from .records import Start
from .relocate import best_moved, can_move, few_points

CANDIDATES_PER_START = 4  # starts that are drawn for each that was asked for; heats on samples choose among them
_HEATS = ((10, 1), (3, 3))  # one point in so many; one start in so many goes on
_SMALLEST_SAMPLE = 2048  # points of a heat: fewer do not tell starts apart
_PLAIN_FITS = 8  # with 4 the best plain clustering of Adult, K=5, was missed by 3 seeds of 5
_ROUNDING = 1e-6  # of an energy that is a sum of point costs in single precision
_ALIKE = 0.1  # movement between the parameters of two fits that ended in the same place


def n_candidates(n_samples: int, n_starts: int) -> int:
    """How many starts to draw, where so many are asked for: more, unless a sample could not tell them apart."""
    if n_starts == 1:
        return _PLAIN_FITS
    return n_starts * CANDIDATES_PER_START if n_samples >= 2 * _SMALLEST_SAMPLE else n_starts


def best_of(
    problem: Problem, starts: Sequence[FloatArray], n_starts: int, aim: Aim, *, with_moves: bool = True
) -> WeightedFit:
    """Fit from the starts and return the best; race them first where that is worth it, and move clusters.

    Parameters
    ----------
    problem : Problem
        The full data.
    starts : sequence of ndarray
        Parameters to start from: ``n_starts`` of them, or ``CANDIDATES_PER_START`` times as many to choose from.
    n_starts : int
        What the user asked for.
    aim : Aim
        What fits are for, and which is best.
    with_moves : bool
        Whether clusters may be moved.
    """
    few = cache(partial(few_points, problem))
    aim, spent = aim.resolved(problem, few, starts[0]), 0.0
    if n_starts == 1 and len(starts) > 1:
        starts, spent = _best_plain(problem, few, starts)
    elif len(starts) > n_starts:
        largest_step = problem.sweep.n_samples // _SMALLEST_SAMPLE
        for step, promoted in _HEATS:
            sample = problem.sampled(max(2, min(step, largest_step)))
            fits = [aim.fit(sample, Start(start)) for start in starts]
            spent += sum(one.n_sweeps for one in fits) * sample.sweep.total / problem.sweep.total
            fits.sort(key=partial(aim.rank, sample))
            starts = _distinct(sample, fits, -(-n_starts // promoted))
    asked = aim.ask(problem)
    if with_moves and asked is not None and can_move(problem, few, asked, starts[0]):
        moved = best_moved(problem, few(), aim.ask, starts)
        few.cache_clear()  # it has told what it can, and all points need the room
        fits, spent = [aim.fit(problem, moved.start)], spent + moved.n_sweeps
    else:
        fits = [aim.fit(problem, Start(start)) for start in starts]
    best = min(fits, key=partial(aim.rank, problem))
    return WeightedFit(best.result, best.fairness_weights, round(spent) + sum(one.n_sweeps for one in fits))


def _best_plain(
    problem: Problem, few: Callable[[], Problem], starts: Sequence[FloatArray]
) -> tuple[list[FloatArray], float]:
    """The start from which plain clustering of a sample ends best, moved there; and the sweeps that it took.

    The paper's algorithm starts where it is told to, and a plain fit of medoids costs more than it gains.
    """
    is_as_published = problem.solver.rests_on_energy or not problem.settings.assignments.are_hard
    if is_as_published or problem.objective.relaxed() is not None:
        return list(starts[:1]), 0.0
    sample = few()
    n_before = sample.sweep.n_sweeps
    fits = [fit_once(sample, PlainAsk(), Start(start)) for start in starts]
    # Several end in the same place: the first of them, however their energies are rounded.
    least = min(one.energy for one in fits)
    best = next(one for one in fits if one.energy <= least + _ROUNDING * abs(least))
    return [best.parameters], (sample.sweep.n_sweeps - n_before) * sample.sweep.n_samples / problem.sweep.n_samples


def _distinct(problem: Problem, fits: Sequence[WeightedFit], count: int) -> list[FloatArray]:
    """Parameters of the first so many fits that ended in places of their own."""
    chosen: list[FloatArray] = []
    for one in fits:
        found = one.result.parameters
        if all(_distance(problem, found, other) > _ALIKE for other in chosen):
            chosen.append(found)
        if len(chosen) == count:
            break
    return chosen


def _distance(problem: Problem, one: FloatArray, other: FloatArray) -> float:
    """Movement from one to the other, however their clusters are numbered."""
    rows, columns = linear_sum_assignment(cdist(one, other, "sqeuclidean"))
    return problem.objective.movement(np.ascontiguousarray(one[rows]), np.ascontiguousarray(other[columns]))
