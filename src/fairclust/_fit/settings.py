"""How the outer loop runs: when it stops, how points are assigned while it does, whom it tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .loop import HARD, Assignments


@dataclass(frozen=True)
class Settings:
    """How the outer loop runs.

    Parameters that run ahead of the labels, the farther the longer the energy has been falling, are sooner over
    plateaus; when they ran too far, the fit goes back to the labels' own, if these saved more than
    ``worth_a_step_back`` of the energy. A fit is given up when two more iterations as good as the last would not bring
    it below ``to_reach``, and ends at once after one that lowers the energy by at most ``least_fall`` of it, or leaves
    no more to save (0: never). Labels must beat the dearest of the last ``memory``: on a sample, the energy of labels
    is noisy.
    """

    max_iter: int = 300
    tol: float = 1e-4
    assignments: Assignments = HARD
    runs_ahead: bool = False
    to_reach: float = np.inf
    worth_a_step_back: float = 0.0
    least_fall: float = 0.0
    memory: int = 1
    on_iteration: Callable[[int, float], None] | None = None
