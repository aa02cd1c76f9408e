"""The one solver: Newton's method on the dual, from high to low temperatures."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from .._typing import FloatArray
from .oracle import Evaluation, Oracle
from .subproblem import Priced, Subproblem
from .terms import TINY

NOISE = 1e-15  # of the largest entry of a matrix: less is the rounding of sums
RIDGE = 1e-10  # of the diagonal: constants are free, and all prices are where no row is near a tie
MAX_DENSE = 512  # unknowns of a system that is factorised; larger ones are solved by conjugate gradients
CG_PRECISION = 1e-3  # of the first residual: a Newton step is a guess, and the next evaluation tells
CG_STEPS = 500  # systems are well scaled: some tens are usual
LEAST_RISE = 1e-4  # of the predicted increase, from which on a step is accepted


class Precision(NamedTuple):
    """How exactly a dual is solved.

    Attributes
    ----------
    trusted : float
        Temperatures by which an unknown may change in the first step at a temperature.
    precision : float
        A temperature is done when the predicted increase is less than this share of it per row.
    max_steps : int
        Evaluations at one temperature.
    """

    trusted: float = 4.0
    precision: float = 1e-4
    max_steps: int = 30


class Solution(NamedTuple):
    """Where the solver ended.

    Attributes
    ----------
    theta : ndarray of shape (n_clusters, n_unknowns)
    prices : ndarray of shape (n_clusters, n_cells)
    temperature : float
    value : float
        Of the smoothed dual.
    masses : ndarray of shape (n_clusters, n_cells)
    residual : float
        The gradient, in people: masses less the maximisers of the terms. The value of a dual that has not converged is
        too low, and would win every comparison.
    is_converged : bool
    n_evaluations : int
    """

    theta: FloatArray
    prices: FloatArray
    temperature: float
    value: float
    masses: FloatArray
    residual: float
    is_converged: bool
    n_evaluations: int


class Certificate(NamedTuple):
    """A lower bound on the cost at fixed point costs, and the θ that proves it."""

    lower_bound: float
    theta: FloatArray
    n_evaluations: int


class _Point(NamedTuple):
    theta: FloatArray
    priced: Priced
    evaluation: Evaluation
    value: float
    gradient: FloatArray


def solve(
    oracle: Oracle,
    subproblem: Subproblem,
    theta: FloatArray,
    temperatures: FloatArray,
    precision: Precision,
    budget: float,
) -> Solution:
    """Maximise the dual at one temperature after the other.

    A climb starts where the line through the last two ended: prices of ties between few rows change in proportion to
    the temperature. Prices of other centres, not 0, may lead nowhere.
    """
    n_evaluations, slope, last, is_warm = 0, 0.0, temperatures[0], bool(theta.any())
    for temperature in temperatures:
        start, left = theta + slope * (temperature - last), budget - n_evaluations
        solution = maximise(oracle, subproblem, start, temperature, precision, left, is_warm)
        n_evaluations += solution.n_evaluations
        if n_evaluations >= budget or (is_warm and not solution.is_converged):
            break
        if temperature < last:
            slope = (solution.theta - theta) / (temperature - last)
        theta, last = solution.theta, temperature
    is_done = solution.is_converged and temperature == temperatures[-1]
    return solution._replace(n_evaluations=n_evaluations, is_converged=is_done)


def maximise(
    oracle: Oracle,
    subproblem: Subproblem,
    theta: FloatArray,
    temperature: float,
    precision: Precision,
    budget: float,
    is_warm: bool = False,
) -> Solution:
    """Newton's method at one temperature, with a trust radius per unknown.

    The quadratic model of a softmin holds over some temperatures, and for each unknown over another range: prices of
    clusters of outliers are thousands of temperatures away, those of crowded ones a few. So every unknown has a radius
    of its own, which enters as damping |gradient| / radius (an unknown alone then goes no farther), and the gradients
    at both ends of a step tell which unknowns went too far. Of a step that was refused the larger gradient counts:
    others may push an unknown far whose own was 0.

    A warm climb is hopeless where people are more than a temperature away from their prices: from scratch is quicker.
    """
    here = _at(oracle, subproblem, theta, temperature)
    unit = temperature * float(oracle.cell_totals.sum())
    radius, force = np.full(theta.shape, precision.trusted * temperature), abs(here.gradient)
    n_evaluations, most, is_converged = 1, min(precision.max_steps, budget), not theta.size
    while not is_converged:
        step = _newton_step(subproblem, here, force / radius)
        predicted = float((step * here.gradient).sum()) / 2
        is_converged = predicted <= precision.precision * unit
        is_hopeless = is_warm and predicted > unit
        if is_converged or is_hopeless or n_evaluations >= most:
            break
        there = _at(oracle, subproblem, subproblem.centered(here.theta + step), temperature)
        n_evaluations += 1
        is_accepted = there.value - here.value > LEAST_RISE * predicted
        radius = _learned(radius, step, here.gradient, there.gradient, is_accepted)
        force = np.maximum(abs(there.gradient), 0.0 if is_accepted else abs(here.gradient))
        here = there if is_accepted else here
    return Solution(
        here.theta,
        here.priced.prices,
        temperature,
        here.value,
        here.evaluation.masses,
        float(abs(here.gradient).sum()),
        is_converged,
        n_evaluations,
    )


def certify(
    oracle: Oracle,
    subproblem: Subproblem,
    solution: Solution,
    cost: float,
    cooling: float,
    certainty: float,
    precision: Precision,
    budget: float,
) -> Certificate:
    """The best lower bound found while cooling on: smoothing costs about a temperature per row.

    No assignment to these point costs that meets the terms costs less. Soft terms have no such bound: it would be one
    of the frozen problem of a round only.

    Parameters
    ----------
    solution : Solution
        Where to start.
    cost : float
        Of the labels: cooling ends when the bound is as near to it as ``certainty``, a share of it, or rises by less.
    cooling : float
        Ratio of one temperature to the one before.
    """
    theta, bound, rise, n_evaluations = solution.theta, -np.inf, np.inf, 0
    while True:
        found = lower_bound(oracle, subproblem, solution.theta)
        n_evaluations += 1
        if found > bound:
            theta, bound, rise = solution.theta, found, found - bound
        else:
            rise = 0.0
        if min(rise, cost - bound) <= certainty * cost or n_evaluations + 1 >= budget:
            break
        temperature, left = cooling * solution.temperature, budget - n_evaluations - 1
        solution = maximise(oracle, subproblem, solution.theta, temperature, precision, left)
        n_evaluations += solution.n_evaluations
    return Certificate(min(max(bound, 0.0), cost), theta, n_evaluations)  # what is above the cost is rounding


def lower_bound(oracle: Oracle, subproblem: Subproblem, theta: FloatArray) -> float:
    """The dual itself, at temperature 0."""
    priced = subproblem.prices(theta, 0.0)
    return oracle.evaluate(priced.prices, 0.0).value - priced.offset


def _at(oracle: Oracle, subproblem: Subproblem, theta: FloatArray, temperature: float) -> _Point:
    priced = subproblem.prices(theta, temperature)
    evaluation = oracle.evaluate(priced.prices, temperature)
    gradient = subproblem.gradient(priced, evaluation.masses)
    return _Point(theta, priced, evaluation, evaluation.value - priced.offset, gradient)


def _newton_step(subproblem: Subproblem, here: _Point, damping: FloatArray) -> FloatArray:
    """Solve (matrix + diag(damping)) step = gradient."""
    if damping.size > MAX_DENSE:
        return _iterated_step(subproblem, here, damping)
    matrix = subproblem.newton_matrix(here.priced, here.evaluation)
    diagonal = np.einsum("ii->i", matrix)
    diagonal += damping.ravel()
    # In units in which the diagonal is 1.
    unit = 1.0 / np.sqrt(np.maximum(diagonal, NOISE * max(float(abs(matrix).max(initial=0.0)), TINY**0.5)))
    matrix *= unit
    matrix *= unit[:, None]
    diagonal += RIDGE
    right = here.gradient.ravel() * unit
    try:
        step = linalg.solve(matrix, right, assume_a="pos", overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:  # rounding has made a small eigenvalue negative
        step = linalg.lstsq(matrix, right, check_finite=False)[0]
    return np.reshape(step * unit, damping.shape)


def _iterated_step(subproblem: Subproblem, here: _Point, damping: FloatArray) -> FloatArray:
    """The same by conjugate gradients, preconditioned by the blocks of clusters; they end uphill wherever they end."""
    product, blocks = subproblem.newton_product(here.priced, here.evaluation)
    every = np.arange(damping.shape[1])
    blocks[:, every, every] += damping
    largest = max(float(blocks[:, every, every].max()), TINY**0.5)
    ridge = RIDGE * np.maximum(blocks[:, every, every], NOISE * largest)
    blocks[:, every, every] += ridge
    inverse = np.linalg.pinv(blocks, hermitian=True)
    step, left = np.zeros_like(here.gradient), here.gradient.copy()
    scaled = np.matmul(inverse, left[:, :, None])[:, :, 0]
    along, length = scaled, float((left * scaled).sum())
    enough = CG_PRECISION**2 * length
    for _ in range(CG_STEPS):
        if not length > enough:
            break
        turned = product(along) + (damping + ridge) * along
        curvature = float((along * turned).sum())
        if not (curvature > 0 and np.isfinite(curvature)):
            break
        step += (length / curvature) * along
        left -= (length / curvature) * turned
        scaled = np.matmul(inverse, left[:, :, None])[:, :, 0]
        before, length = length, float((left * scaled).sum())
        along = scaled + (length / before) * along
    return step


def _learned(
    radius: FloatArray, step: FloatArray, before: FloatArray, after: FloatArray, is_accepted: bool
) -> FloatArray:
    """Radii for the next step.

    Where the gradient points back after a step, that unknown passed its maximum; on a straight line between the two
    gradients it lies at ``part`` of the step. Unknowns whose gradient hardly points back, beside others', are not to
    blame.
    """
    back = after * step
    went_too_far = back < 0.1 * back.min(initial=0.0)
    part = np.clip(abs(before) / np.maximum(abs(before) + abs(after), TINY), 0.1, 0.5)
    farther, shorter = (2.0 * radius, 2.0 * part * abs(step)) if is_accepted else (radius, part * abs(step))
    return np.maximum(np.where(went_too_far, np.minimum(shorter, farther), farther), TINY**0.5)
