"""Any objective with parameters that stay as they are: what labels a batch of new points by known centres."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._sweep.memory import InMemorySweep
from .._sweep.question import Answer, State
from .._typing import FloatArray, IntArray
from ._base import Objective


class FixedObjective(Objective):
    """Point costs of an objective at given parameters, whatever the labels.

    Parameters
    ----------
    objective : Objective
        Knows the points.
    parameters : ndarray
        Centres.
    """

    def __init__(self, objective: Objective, parameters: FloatArray) -> None:
        self._objective = objective
        self._parameters = parameters

    def parameters(self, sweep: InMemorySweep, labels: IntArray, sizes: FloatArray) -> FloatArray:
        """The given ones."""
        return self._parameters

    def soft_parameters(self, sweep: InMemorySweep, state: State, sizes: FloatArray) -> FloatArray:
        """The given ones."""
        return self._parameters

    def fill(self, sweep: InMemorySweep, parameters: FloatArray, labels: IntArray | None = None) -> float:
        """Point costs of the objective."""
        return self._objective.fill(sweep, parameters, labels)

    def soft_value(self, answer: Answer, old: FloatArray, new: FloatArray) -> float:
        """Cost of the assignments."""
        return answer.cost

    def sampled(self, rows: Any) -> FixedObjective:
        """The same on some rows only."""
        return FixedObjective(self._objective.sampled(rows), self._parameters)

    def movement(self, old: FloatArray, new: FloatArray) -> float:
        """Nothing moves."""
        return 0.0

    def farthest(self, sweep: InMemorySweep, parameters: FloatArray, labels: IntArray, count: int) -> IntArray:
        """Nobody: a cluster that no point of a batch is near to stays empty."""
        return np.zeros(0, dtype=np.int64)
