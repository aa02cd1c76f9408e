"""Any objective with centres that stay where they are: what labels a batch of new rows by known centres."""

from __future__ import annotations

from typing import Any

from .._typing import FloatArray, IntArray
from ._base import Objective


class FixedObjective(Objective):
    """Point costs of an objective at given centres, whatever the labels.

    Parameters
    ----------
    objective : Objective
        Knows the rows.
    centers : ndarray
    """

    def __init__(self, objective: Objective, centers: FloatArray) -> None:
        self._objective = objective
        self._centers = centers

    def fill(self, rows: Any, centers: FloatArray, labels: Any = None) -> float:
        """Point costs of the objective."""
        return self._objective.fill(rows, centers, labels)

    def centers(self, rows: Any, labels: Any, sizes: FloatArray, before: FloatArray) -> FloatArray:
        """The given ones."""
        return self._centers

    def soft_centers(
        self, rows: Any, prices: FloatArray, temperature: float, sizes: FloatArray, before: FloatArray
    ) -> FloatArray:
        """The given ones."""
        return self._centers

    def sampled(self, rows: IntArray) -> FixedObjective:
        """The same on some rows only."""
        return FixedObjective(self._objective.sampled(rows), self._centers)
