"""A weight with bounds on the clusters' sizes: everyone pays for a full cluster, and is paid for an empty one.

The bounds are one more part of the fairness term (:class:`SizeFairness`), with weights of their own that grow until the
sizes keep to them. A last step moves the few points that hard labels are off by. (A goal has sizes among its
conditions.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack, kron, vstack

from .._fairness.sizes import SIZE_MARGIN
from .._goals.cone import ROUNDING
from .._goals.counts import move_to_counts
from .._goals.goals import Goal
from .._goals.sizes import SizeInterval
from .._sweep.question import HardAnswer
from .._typing import FloatArray
from .aims import Aim
from .polish import with_labels
from .problem import Problem, WeightedFit
from .records import FitResult, Start

_MOST_ROUNDS = 20  # in which weights grow: by _STEP each, more than nine decades
_STEP = 3.0  # largest factor by which a weight grows in a round
_LIMIT = 0.5 * np.log1p(SIZE_MARGIN) ** 2  # value of a size that is just at its bound


@dataclass(frozen=True)
class SizedWeightAim(Aim):
    """A fixed weight, with bounds on sizes as shares of all weight."""

    fairness_weight: float
    reported: Goal
    sizes: SizeInterval
    is_goal: bool = False

    def fit(self, problem: Problem, start: Start) -> WeightedFit:
        """Search for weights that keep the sizes within bounds, then move what is left."""
        fit = _search_sizes(problem, self.sizes, self.fairness_weight * problem.sample_fraction, start.parameters)
        is_movable = problem.sweep.can_move_points and not problem.sweep.is_weighted
        if is_movable and not self.sizes.are_kept(fit.result.masses.sum(axis=1)):
            fit = replace(fit, result=_moved(problem, self.sizes, fit))
        return fit

    def rank(self, problem: Problem, fit: WeightedFit) -> tuple[float, float]:
        """Fits that keep to the bounds first, then the lowest energy."""
        sizes = fit.result.masses.sum(axis=1)
        beyond = 0.0 if self.sizes.are_kept(sizes) else float(_ratio(self.sizes, sizes).max())
        return (beyond, fit.result.energy)

    def is_met(self, problem: Problem, fit: WeightedFit) -> bool:
        """Whether the goal would be met; sizes are told of by themselves."""
        return self.reported.is_met(fit.result.masses)


def _ratio(bounds: SizeInterval, sizes: FloatArray) -> FloatArray:
    """How far each size is from its bounds: up to 1 inside them."""
    fraction = np.maximum(sizes / sizes.sum(), np.finfo(float).tiny)
    with np.errstate(divide="ignore"):
        ratio = np.log(np.maximum(bounds.lower / fraction, fraction / bounds.upper))
    beyond = np.maximum(ratio + np.log1p(SIZE_MARGIN), 0.0)
    return 0.5 * beyond**2 / _LIMIT


def _search_sizes(problem: Problem, bounds: SizeInterval, fairness_weight: float, start: FloatArray) -> WeightedFit:
    """Fit at one weight for the attributes, with weights of the sizes that grow until these are within bounds."""
    n_before = problem.sweep.n_sweeps
    weights = problem.full_weights(fairness_weight)
    if problem.attribute_weights is not None:
        weights[:, :-1] *= problem.attribute_weights
    weights[:, -1] = 0.0
    result = problem.fit_weights(weights, Start(start))
    natural = problem.natural_weight(result.parameters)
    for _ in range(_MOST_ROUNDS):
        ratio = _ratio(bounds, result.masses.sum(axis=1))
        if (ratio <= 1.0).all():
            break
        growth = np.clip(ratio, 1.0, _STEP)
        weights[:, -1] = np.where(ratio > 1.0, np.maximum(weights[:, -1] * growth, natural), weights[:, -1])
        result = problem.fit_weights(weights, Start(result.parameters, result.warm))
    return WeightedFit(result, weights, problem.sweep.n_sweeps - n_before)


def _moved(problem: Problem, bounds: SizeInterval, fit: WeightedFit) -> FitResult:
    """The cheapest moves to sizes within the bounds."""
    sweep, result = problem.sweep, fit.result
    counts = bounded_counts(result.masses, bounds.lower * sweep.total, bounds.upper * sweep.total)
    if counts is None:
        return result
    problem.objective.fill(sweep, result.parameters)
    hard = HardAnswer(result.masses, 0.0, 0.0)
    labels = move_to_counts(sweep, result.labels, hard, counts, result.state.price).labels
    return with_labels(problem, problem.ask_at(fit.fairness_weights), result, labels, counts)


def bounded_counts(masses: FloatArray, lower: float, upper: float) -> FloatArray | None:
    """Whole counts by cell with cluster sizes within bounds, as few moves from ``masses`` as can be.

    Parameters
    ----------
    masses : ndarray of shape (n_clusters, n_cells)
        Counts of some labelling; whole numbers.
    lower, upper : float
        Bounds on the sizes.

    Returns
    -------
    counts : ndarray of shape (n_clusters, n_cells), or None where there are none
        With the totals of ``masses``.
    """
    n_clusters, n_cells = masses.shape
    size = masses.sum(axis=1)
    by_cell = kron(np.ones((1, n_clusters)), eye_array(n_cells))
    by_cluster = kron(eye_array(n_clusters), np.ones((1, n_cells)))
    # Unknowns: what enters each place of the table, then what leaves it. A network, so HiGHS' vertices are whole.
    sizes = csr_array(hstack((by_cluster, -by_cluster)))
    found = linprog(
        np.ones(2 * masses.size),
        A_eq=csr_array(hstack((by_cell, -by_cell))),
        b_eq=np.zeros(n_cells),
        A_ub=vstack((sizes, -sizes)),
        b_ub=np.concatenate((np.floor(min(upper, masses.sum()) + ROUNDING) - size, size - np.ceil(lower - ROUNDING))),
        bounds=[(0, None)] * masses.size + [(0, float(most)) for most in masses.ravel()],
        method="highs-ds",
    )
    if found.status != 0:
        return None
    enters, leaves = np.round(found.x).reshape(2, n_clusters, n_cells)
    counts: FloatArray = masses + enters - leaves
    return counts
