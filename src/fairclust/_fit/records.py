"""What goes into a fit and what comes out of it: records, nothing that computes."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._sweep.question import State
from .._typing import FloatArray


class StopReason(enum.StrEnum):
    """Why a fit stopped. Each member is also a word: ``model.stop_reason_ == "labels unchanged"``."""

    LABELS_UNCHANGED = "labels unchanged"
    SETTLED = "parameters moved less than tol"
    ENERGY_SETTLED = "energy changed less than tol"
    NO_IMPROVEMENT = "no proposal lowered the energy"
    MAX_ITER = "max_iter reached"
    HOPELESS = "too far from what was to be reached"
    SEARCH_ENDED = "no cheaper fit that meets the goal was found"


@dataclass(frozen=True)
class Start:
    """Where a fit starts: parameters, and what a similar fit knew when it ended (None: nothing).

    A rough start is worth refining on a sample first: it is new, or comes from few points.
    """

    parameters: FloatArray
    warm: Any = None
    from_few: bool = False

    @property
    def is_rough(self) -> bool:
        """Whether it is new, or comes from few points."""
        return self.warm is None or self.from_few


@dataclass(frozen=True)
class FitResult:
    """What a fit found. Labels are as the sweep keeps them; at a weight they are argmin(a + price) at these parameters.

    Attributes
    ----------
    warm : object or None
        What the same ask can go on from: prices.
    lower_bound : float
        What no assignment to the labels' own parameters that meets the goal costs less than; NaN: unknown.
    own : ndarray or None
        The labels' own parameters, where they are known.
    """

    labels: Any
    parameters: FloatArray
    state: State
    masses: FloatArray
    objective: float
    energy: float
    energy_history: FloatArray = field(default_factory=lambda: np.zeros(0))
    n_iter: int = 0
    n_sweeps: int = 0
    stop_reason: StopReason = StopReason.MAX_ITER
    warm: Any = None
    lower_bound: float = np.nan
    own: FloatArray | None = None
