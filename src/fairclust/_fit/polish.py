"""The last touch: single points change clusters while that lowers the energy of the hard labels.

The bound treats a cluster's centre and masses as fixed while it labels the points; moving one point at a time does not.
What a move costs splits in two: the objective knows its distances, the :class:`Penalty` its effect on fairness, which
depends on the two clusters and the point's group only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np

from .._solvers import FairnessTerm
from .._sweep.memory import InMemorySweep
from .._typing import FloatArray, IntArray
from .loop import FitResult

_MOST_ROUNDS = 100
_LEAST_GAIN = 1e-12  # of the energy; below this a gain is rounding


class Penalty:
    """What one point's move does to the fairness term, kept up to date move by move.

    Attributes
    ----------
    masses : ndarray of shape (n_clusters, n_groups)
        Of the labels so far.
    enter, leave : ndarray of shape (n_clusters, n_groups)
        Change of Σ_k weight_k · fairness_k when a point of each group enters or leaves each cluster.
    """

    def __init__(self, fairness: FairnessTerm, weight: FloatArray, masses: FloatArray) -> None:
        self.masses = masses.copy()
        self._fairness = fairness
        self._weight = weight
        unit = np.eye(masses.shape[1])
        self._changes = np.concatenate((np.zeros((1, masses.shape[1])), unit, -unit))
        self.enter = np.zeros_like(self.masses)
        self.leave = np.zeros_like(self.masses)
        self._refresh(np.arange(len(masses)))

    def move(self, group: int, source: int, destination: int) -> None:
        """Record a move."""
        self.masses[source, group] -= 1.0
        self.masses[destination, group] += 1.0
        self._refresh(np.array([source, destination]))

    def _refresh(self, clusters: IntArray) -> None:
        n_groups = self.masses.shape[1]
        # Rows per cluster: as it is, then with a point of each group more, then with one less.
        rows = np.maximum(self.masses[clusters, None, :] + self._changes, 0.0)
        owners = np.repeat(clusters, rows.shape[1])
        values = self._fairness.value(rows.reshape(-1, n_groups), owners).reshape(len(clusters), -1)
        change = self._weight[clusters, None] * (values[:, 1:] - values[:, :1])
        self.enter[clusters] = change[:, :n_groups]
        self.leave[clusters] = change[:, n_groups:]


@runtime_checkable
class Polishable(Protocol):
    """An objective that can try single moves."""

    def improve(self, sweep: InMemorySweep, labels: IntArray, penalty: Penalty, least: float) -> int:
        """Make moves that lower the energy by more than ``least`` (IN/OUT labels, penalty); return how many.

        0 means that no such move exists.
        """
        ...


def polish(
    objective: Polishable,
    sweep: InMemorySweep,
    fairness: FairnessTerm,
    weight: FloatArray,
    result: FitResult,
) -> tuple[FitResult, bool]:
    """Move single points until no move lowers the energy; also say whether that was reached.

    The labels are then no longer argmin(a + price) for every point.
    """
    labels = result.labels.copy()
    penalty = Penalty(fairness, weight, result.masses)
    least = _LEAST_GAIN * max(abs(result.energy), np.finfo(float).tiny)
    n_moves = 0
    for _ in range(_MOST_ROUNDS):
        made = objective.improve(sweep, labels, penalty, least)
        n_moves += made
        if not made:
            break
    if not n_moves:
        return result, True
    masses = penalty.masses
    parameters = objective.parameters(sweep, labels, masses.sum(axis=1))  # type: ignore[attr-defined]
    value = objective.fill(sweep, parameters, labels)  # type: ignore[attr-defined]
    energy = value + float(weight @ fairness.value(masses))
    if energy >= result.energy:
        return result, not made
    history = np.append(result.energy_history, energy)
    polished = replace(
        result,
        labels=labels,
        masses=masses,
        objective=value,
        energy=energy,
        energy_history=history,
        n_iter=len(history),
    )
    return polished, not made
