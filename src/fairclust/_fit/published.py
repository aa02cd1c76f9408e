"""Algorithm 1 of the paper with its outer loop, as published: no subsample, no splits and merges, its own stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .._dual.algorithm1 import algorithm1
from .._dual.subproblem import Subproblem
from .._dual.terms import Divergence
from .._rounding.whole import whole_labels
from .._typing import FloatArray
from .fit import Fit
from .loop import StopReason
from .points import Points
from .request import Request


def fit_as_published(
    points: Points,
    request: Request,
    centers: FloatArray,
    *,
    lipschitz: float,
    soft: bool,
    max_iter: int,
    tol: float,
    budget: float,
    on_iteration: Callable[[int, float], None] | None = None,
) -> Fit:
    """Fit at a penalty from these centres: point costs, Algorithm 1, centres, until the relaxed energy settles.

    Parameters
    ----------
    soft : bool
        Whether centres are those of the soft assignments, as the paper writes, and not of the hard labels, as its code
        does and its tables need.
    tol : float
        Relative change of the relaxed energy.
    budget : float
        Evaluations.
    """
    subproblem, plain = request.subproblem, Subproblem((), (), points.rows.n_cells)
    shift = _cross_entropy(subproblem, points.n_clusters)
    best: Fit | None = None
    history: list[float] = []
    spent, relaxed = 0.0, np.inf
    reason = StopReason.MAX_ITER
    for n_iter in range(1, max_iter + 1):
        oracle = points.oracle(centers)
        solution = algorithm1(oracle, subproblem, lipschitz, budget - spent)
        spent += solution.n_evaluations
        assigned = whole_labels(oracle, solution, plain, 0.0)
        if soft:
            shares = oracle.soft_rows(solution.prices, solution.temperature)
            sizes = solution.masses.sum(axis=1)
            following = points.objective.weighted_centers(oracle, solution.prices, solution.temperature, sizes, centers)
            cost = points.oracle(following).shared_cost(shares)
            energy = cost + float(subproblem.value(solution.masses).sum())
        else:
            following, cost = points.own(assigned, centers)
            energy = cost + float(subproblem.value(assigned.masses).sum())
        if best is not None and energy >= best.energy:
            reason = StopReason.NO_IMPROVEMENT
            break
        history.append(energy)
        if on_iteration is not None:
            on_iteration(n_iter, energy)
        best = Fit(
            assigned=assigned, centers=centers, own_centers=following, cost=cost, energy=energy, theta=solution.theta,
            prices=solution.prices, column_prices=solution.prices @ np.linalg.pinv(subproblem.membership.T),
            temperature=solution.temperature, lower_bound=np.nan, is_met=True, obstacle="",
            history=np.array(history), n_evaluations=round(spent), stop_reason=reason,
        )  # fmt: skip
        settled = abs(relaxed - solution.value) <= tol * abs(solution.value + shift)
        centers, relaxed = following, solution.value
        if settled and n_iter > 2:
            reason = StopReason.SETTLED
            break
        if spent >= budget:
            reason = StopReason.BUDGET
            break
    assert best is not None
    if soft:
        own = points.own(best.assigned, best.centers)
        best = replace(best, cost=own.cost)
    return replace(best, stop_reason=reason, n_evaluations=round(spent))


def _cross_entropy(subproblem: Subproblem, n_clusters: int) -> float:
    """What fair clusters cost in the paper's energy, Eq. (3), which has the cross-entropy in place of KL."""
    total = 0.0
    for term in subproblem.terms:
        if not isinstance(term, Divergence):
            continue
        target = np.broadcast_to(term.target, (n_clusters, np.shape(term.target)[-1]))
        logs = np.log(np.where(target > 0, target, 1.0))
        total -= term.weight * float((target * logs).sum())
    return total
