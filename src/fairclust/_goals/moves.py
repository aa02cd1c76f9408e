"""What one person's move does to the tables: kept up to date move by move, for repairs and for the last touch."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from .._algebra import move_rows, note_moves
from .._typing import FloatArray, IntArray


class MoveTable(ABC):
    """What one person's move does beside its distance.

    Parameters
    ----------
    masses : ndarray of shape (n_clusters, n_cells)
        Of the labels to start with; copied.
    unit : float
        What a person weighs.

    Attributes
    ----------
    masses : ndarray of shape (n_clusters, n_cells)
        Of the labels so far.
    value : ndarray of shape (n_clusters,)
        What each cluster costs as it is.
    enter, leave : ndarray of shape (n_clusters, n_cells)
        What it costs when a person of each cell enters or leaves each cluster; infinity where it may not.
    """

    def __init__(self, masses: FloatArray, unit: float = 1.0) -> None:
        self.masses = masses.copy()
        self.unit = unit
        self.value = np.zeros(len(masses))
        self.enter, self.leave = np.zeros_like(self.masses), np.zeros_like(self.masses)
        self.refresh(np.arange(len(masses)))

    @abstractmethod
    def costs(self, rows: FloatArray, clusters: IntArray) -> FloatArray:
        """What rows of masses cost, each the cluster's own."""

    def move(self, cell: int, source: int, destination: int) -> None:
        """Record a person's move."""
        self.masses[source, cell] -= self.unit
        self.masses[destination, cell] += self.unit
        self.refresh(np.array([source, destination]))

    def refresh(self, clusters: IntArray) -> None:
        """Bring the tables of some clusters up to date."""
        rows = move_rows(self.masses, clusters, self.unit)
        owners = clusters.repeat(len(rows) // len(clusters))
        note_moves(self.costs(rows, owners), clusters, self.value, self.enter, self.leave)
