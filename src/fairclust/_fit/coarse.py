"""Something easier first: a sample of the points, an objective with parameters anywhere in space, or both.

Where there are many points, early iterations on a sample cost a sixteenth. (Plain clustering is fitted on all points
from the first iteration.) Where the parameters come from a discrete set, a fit gets stuck early, and starts from a
smooth one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .._solvers import Solver
from .._sweep.question import DataSweep
from .asks import Ask
from .loop import fit_once
from .records import FitResult, Start
from .settings import Settings

if TYPE_CHECKING:
    from .problem import Problem

_SMALLEST_SAMPLE = 1 << 14  # points: fewer rank neither centres nor prices well
_FINEST = 4  # one point in so many: a sample of more costs what it saves
_COARSEST = 16  # one point in so many: the sample's iterations are then a small part of a fit
_MEMORY = 5  # iterations of a sample that its energy may rise for: its labels are noisy, and plateaus are cheap there


def sampling_step(sweep: DataSweep, solver: Solver, settings: Settings) -> int:
    """A sample for the first iterations takes every so-manieth point; 1: there are too few points to gain."""
    if sweep.n_cells == 1 or solver.rests_on_energy or not settings.assignments.are_hard:
        return 1
    step = min(_COARSEST, sweep.n_samples // _SMALLEST_SAMPLE)
    return step if step >= _FINEST else 1


def fit_coarse_to_fine(problem: Problem, ask: Ask, start: Start, settings: Settings | None = None) -> FitResult:
    """Fit something easier first, where there is such a thing, and go on from its parameters and prices."""
    settings = settings or problem.settings
    coarse = _fit_coarse(problem, ask, start, settings)
    if coarse is None:
        return fit_once(problem, ask, start, replace(settings, runs_ahead=start.from_few))
    fine = fit_once(problem, ask, Start(coarse.parameters, coarse.warm), replace(settings, runs_ahead=True))
    return replace(fine, n_sweeps=fine.n_sweeps + coarse.n_sweeps)


def _fit_coarse(problem: Problem, ask: Ask, start: Start, settings: Settings) -> FitResult | None:
    """Fit a sample, a relaxed objective, or both; None: neither helps."""
    if ask.rests_on_energy or not settings.assignments.are_hard:
        return None
    relaxed = problem.objective.relaxed()
    easier = problem if relaxed is None else replace(problem, objective=relaxed)
    step = sampling_step(problem.sweep, problem.solver, settings)
    if step > 1 and (relaxed is not None or not ask.is_plain):
        problem.sweep.forget()
        sample = easier.sampled(step)
        fraction = sample.sample_fraction / problem.sample_fraction
        longer = replace(settings, runs_ahead=True, memory=_MEMORY)
        found = fit_once(sample, ask.on_sample(fraction), start, longer)
        return replace(found, n_sweeps=round(found.n_sweeps * fraction))
    return None if relaxed is None else fit_once(easier, ask, start, settings)
