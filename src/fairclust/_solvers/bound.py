"""Algorithm 1 of the paper: the bound optimiser, with its step size mended.

Each step multiplies the assignments by exp(−(a + λb)/L), where b is the slope of the fairness term, and normalises. In
terms of the state that is ``scale += 1/L; scaled_price += λb/L``. docs/decisions/0001 says why a is divided by L.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._sweep.question import Answer, State, Sweep
from .._typing import FloatArray
from ._base import FairnessTerm, Solution

_LARGEST_LIPSCHITZ = 1e12  # beyond it a step changes nothing but the last bits
_ROUNDING = 1e-9  # a relative rise of the energy below this is rounding, not a wrong step


@dataclass(frozen=True)
class Bound:
    """The bound optimiser.

    Parameters
    ----------
    lipschitz : float
        L, the inverse step size. It doubles whenever a step would raise the energy.
    tol : float
        Stop when the bound changes by less than this share of itself.
    max_steps : int
        Most inner steps per call.
    """

    lipschitz: float = 2.0
    tol: float = 1e-5
    max_steps: int = 10_000
    rests_on_energy: bool = True

    def solve(
        self,
        sweep: Sweep,
        fairness: FairnessTerm,
        fairness_weights: FloatArray,
        start: State | None = None,
        to_beat: float = np.inf,
    ) -> Solution:
        """Run inner steps until the bound does not change. Starts from softmax(−a), as Algorithm 1 does."""
        L = self.lipschitz
        state = State(1.0, np.zeros((sweep.n_clusters, sweep.n_cells)))
        answer = sweep(state)
        energy = _energy(answer, fairness, fairness_weights)
        last_bound = np.inf
        for step in range(self.max_steps):
            slope = fairness_weights[:, None] * fairness.slope(answer.masses)
            while True:
                proposal = State(state.scale + 1.0 / L, state.scaled_price + slope / L)
                reply = sweep(proposal)
                reached = _energy(reply, fairness, fairness_weights)
                if reached <= energy + _ROUNDING * abs(energy) or L > _LARGEST_LIPSCHITZ:
                    break
                L *= 2.0
            if L > _LARGEST_LIPSCHITZ:
                break
            # A(S) = Σ s·(a + λb) + Σ s·(log s − log s_before)
            linear = reply.cost + float((slope * reply.masses).sum())
            bound = linear * (1.0 - 1.0 / L) + answer.log_partition - reply.log_partition
            state, answer, energy = proposal, reply, reached
            if step > 1 and abs(bound - last_bound) <= self.tol * abs(last_bound):
                break
            last_bound = bound
        return Solution(state, energy)


def _energy(answer: Answer, fairness: FairnessTerm, fairness_weights: FloatArray) -> float:
    return answer.cost + float(fairness_weights @ fairness.value(answer.masses))
