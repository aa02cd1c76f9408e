"""Algorithm 1 of the paper: the bound optimiser, with its step size mended.

Each step multiplies the assignments by exp(−(a + b)/L), where b is the slope of the fairness term, and normalises. In
terms of prices and a temperature that is ``1/temperature += 1/L; price/temperature += b/L``. Decision 1 says why a is
divided by L.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import FloatArray
from .oracle import Evaluation, Oracle
from .solver import Solution
from .subproblem import Subproblem

LARGEST_LIPSCHITZ = 1e12  # beyond it a step changes nothing but the last bits
ROUNDING = 1e-9  # a relative rise of the energy below this is rounding, not a wrong step
TOLERANCE = 1e-5  # relative change of the bound, at which the paper's code stops
MAX_STEPS = 10_000  # inner steps at the most, as in the paper's code


class _Step(NamedTuple):
    scale: float
    scaled_price: FloatArray
    evaluation: Evaluation
    energy: float

    @property
    def log_partition(self) -> float:
        return -self.scale * self.evaluation.value


def algorithm1(oracle: Oracle, subproblem: Subproblem, lipschitz: float, budget: float) -> Solution:
    """Run inner steps until the bound does not change, from softmax(−a). L doubles where a step would raise the energy.

    Parameters
    ----------
    lipschitz : float
        L, the inverse step size.
    budget : float
        Evaluations.
    """
    here = _at(oracle, subproblem, 1.0, np.zeros((oracle.n_clusters, oracle.n_cells)))
    n_evaluations, last_bound, is_converged = 1, np.inf, False
    for n_steps in range(MAX_STEPS):
        slope = subproblem.slope(here.evaluation.masses)
        while True:
            there = _at(oracle, subproblem, here.scale + 1.0 / lipschitz, here.scaled_price + slope / lipschitz)
            n_evaluations += 1
            is_lower = there.energy <= here.energy + ROUNDING * abs(here.energy)
            if is_lower or lipschitz > LARGEST_LIPSCHITZ or n_evaluations >= budget:
                break
            lipschitz *= 2.0
        if not is_lower:
            break
        # A(S) = Σ s·(a + b) + Σ s·(log s − log s_before)
        linear = there.evaluation.cost + float((slope * there.evaluation.masses).sum())
        bound = linear * (1.0 - 1.0 / lipschitz) + here.log_partition - there.log_partition
        here = there
        is_converged = n_steps > 1 and abs(bound - last_bound) <= TOLERANCE * abs(last_bound)
        if is_converged or n_evaluations >= budget:
            break
        last_bound = bound
    return Solution(
        theta=np.zeros((oracle.n_clusters, subproblem.n_unknowns)),
        prices=here.scaled_price / here.scale,
        temperature=1.0 / here.scale,
        value=here.energy,
        masses=here.evaluation.masses,
        residual=0.0,
        is_converged=is_converged,
        n_evaluations=n_evaluations,
    )


def _at(oracle: Oracle, subproblem: Subproblem, scale: float, scaled_price: FloatArray) -> _Step:
    evaluation = oracle.evaluate(scaled_price / scale, 1.0 / scale)
    energy = evaluation.cost + float(subproblem.value(evaluation.masses).sum())
    return _Step(scale, scaled_price, evaluation, energy)
