"""Exact proportions of several attributes at once: whole counts by cell whose groups add up as each share asks for.

With one attribute a table of such counts always exists, and a small linear program finds it (:mod:`rounding`). With
several, every group of every attribute is a sum over cells, and an integer program looks for the table nearest to the
labels. It nearly always exists where clusters have many more points than there are cells; where none is found, each
cell is rounded by itself, and the caller says that the goal was missed.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, csr_array, kron

from .._typing import FloatArray
from .rounding import proportional_counts

_PATIENCE = 20.0  # seconds for the integer program
_GAP = 0.02  # of the fewest moves: near enough


def rounded_counts(masses: FloatArray, membership: FloatArray) -> FloatArray:
    """Whole counts by cell whose groups are the floor or the ceiling of size · total / n_samples.

    Parameters
    ----------
    masses : ndarray of shape (n_clusters, n_cells)
        Counts of some labelling; whole numbers.
    membership : ndarray of shape (n_cells, n_columns)
        What each cell is a member of.

    Returns
    -------
    counts : ndarray of shape (n_clusters, n_cells)
        The same sizes and totals.
    """
    if len(membership) == membership.shape[1] and (membership.sum(axis=1) == 1).all():  # cells are groups
        return proportional_counts(masses)
    found = _nearest_table(masses, membership)
    return proportional_counts(masses) if found is None else found


def is_rounded(masses: FloatArray, membership: FloatArray) -> bool:
    """Whether every group's count is the floor or the ceiling of its share of the cluster."""
    gap = np.abs(masses @ membership - _ideal(masses, membership))
    return bool((gap < 1.0 - 1e-9).all() or (gap <= 1e-9).all())


def _ideal(masses: FloatArray, membership: FloatArray) -> FloatArray:
    return np.outer(masses.sum(axis=1), masses.sum(axis=0) @ membership) / masses.sum()


def _nearest_table(masses: FloatArray, membership: FloatArray) -> FloatArray | None:
    """The table that the fewest moves lead to; None: not found."""
    n_clusters, n_cells = masses.shape
    ideal = _ideal(masses, membership)
    lowest, highest = np.floor(ideal + 1e-9), np.ceil(ideal - 1e-9)
    # Unknowns: what enters each place of the table, then what leaves it.
    sign = np.array([[1.0, -1.0]])
    by_column = kron(sign, kron(csr_array(np.eye(n_clusters)), csr_array(membership.T)))
    by_cluster = kron(sign, kron(csr_array(np.eye(n_clusters)), csr_array(np.ones((1, n_cells)))))
    by_cell = kron(sign, kron(csr_array(np.ones((1, n_clusters))), csr_array(np.eye(n_cells))))
    held = (masses @ membership).ravel()
    constraints = [
        LinearConstraint(coo_array(by_column).tocsr(), lowest.ravel() - held, highest.ravel() - held),
        LinearConstraint(coo_array(by_cluster).tocsr(), 0.0, 0.0),
        LinearConstraint(coo_array(by_cell).tocsr(), 0.0, 0.0),
    ]
    found = milp(
        np.ones(2 * masses.size),
        constraints=constraints,
        bounds=Bounds(0.0, np.concatenate((np.full(masses.size, np.inf), masses.ravel()))),
        integrality=np.ones(2 * masses.size),
        options={"time_limit": _PATIENCE, "mip_rel_gap": _GAP},
    )
    if found.x is None:
        return None
    enters, leaves = np.round(found.x).reshape(2, n_clusters, n_cells)
    counts: FloatArray = masses + enters - leaves
    return counts
