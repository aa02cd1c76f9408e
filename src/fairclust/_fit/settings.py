"""How the outer loop runs: when it stops, how points are assigned while it does, whom it tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .loop import HARD, Assignments


@dataclass(frozen=True)
class Settings:
    """How the outer loop runs.

    With a ``reach``, parameters run ahead of the labels by that part of their last move, while the energy falls: that
    shortens the way over plateaus.
    """

    max_iter: int = 300
    tol: float = 1e-4
    assignments: Assignments = HARD
    reach: float = 0.0
    on_iteration: Callable[[int, float], None] | None = None
