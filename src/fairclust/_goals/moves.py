"""What one person's move does to the tables: kept up to date move by move, for repairs and for the last touch."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

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
        one = unit * np.eye(masses.shape[1])
        # Rows per cluster: as it is, then with a person of each cell more, then with one less.
        self._changes = np.concatenate((np.zeros((1, masses.shape[1])), one, -one))
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
        n_cells = self.masses.shape[1]
        rows = np.maximum(self.masses[clusters, None, :] + self._changes, 0.0)
        owners = clusters.repeat(rows.shape[1])
        values = self.costs(rows.reshape(-1, n_cells), owners).reshape(len(clusters), -1)
        with np.errstate(invalid="ignore"):  # from one cluster that may not be to another
            change = values[:, 1:] - values[:, :1]
        self.value[clusters] = values[:, 0]
        self.enter[clusters] = change[:, :n_cells]
        self.leave[clusters] = change[:, n_cells:]
