"""What a fairness notion is: one attribute's error per cluster, read from the cluster's masses, with its derivatives.

A notion is one file beside this one. It knows nothing of points, solvers or other attributes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .._algebra import Expansion
from .._typing import FloatArray, IntArray

SMALLEST_SHARE = 1e-20
"""Shares are clipped here, so that a group missing from a cluster costs much, but not infinity."""


@dataclass(frozen=True)
class ShareTerms:
    """A notion in numbers: Σ_j logs_j · log(wanted_j / share_j) + lines_j · (share_j − wanted_j), where it is above 0.

    Kernels that move single nodes read these, so they need not know which notion they serve.

    Attributes
    ----------
    wanted, logs, lines : ndarray of shape (n_groups,) or (n_clusters, n_groups)
    counts_everyone : bool
        Whether the column after the groups counts everyone, and so is what shares are shares of. Otherwise the groups'
        sum is.
    """

    wanted: FloatArray
    logs: FloatArray
    lines: FloatArray
    counts_everyone: bool = False


class Part(Protocol):
    """The fairness of one attribute, read from a table (n_clusters, n_columns) of its own columns."""

    @property
    def target(self) -> FloatArray:
        """The wanted share of each group, (n_groups,) or (n_clusters, n_groups)."""
        ...

    @property
    def overlaps(self) -> bool:
        """Whether people may be in several groups, or in none."""
        ...

    @property
    def is_logarithmic(self) -> bool:
        """Whether it is log size − Σ target · log masses, up to a constant."""
        ...

    @property
    def n_columns(self) -> int:
        """How many columns it reads."""
        ...

    @property
    def entropy(self) -> float:
        """What the paper's cross-entropy is when every cluster is fair."""
        ...

    @property
    def share_terms(self) -> ShareTerms:
        """The notion in numbers."""
        ...

    def scaled(self, fraction: float) -> Part:
        """The same for a sample with so much of the weight."""
        ...

    def value(self, masses: FloatArray, clusters: IntArray | None = None) -> FloatArray:
        """Error of each row; ``clusters`` says which cluster each row is (None: row k is cluster k)."""
        ...

    def slope(self, masses: FloatArray) -> FloatArray:
        """Derivative of each cluster's value by its masses."""
        ...

    def expansion(self, masses: FloatArray) -> Expansion:
        """Value, slope, and the positive part of the second derivative."""
        ...


def rows_of(table: FloatArray, clusters: IntArray | None) -> FloatArray:
    """The rows of some clusters, where each cluster has a row of its own; one row stands for all."""
    return table if clusters is None or table.ndim == 1 or len(table) == 1 else table[clusters]


def with_floor(masses: FloatArray, size: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sizes and masses that can be divided by: an absent group counts as its smallest share."""
    size = np.maximum(size, np.finfo(float).tiny ** 0.25)
    return size, np.maximum(masses, SMALLEST_SHARE * size)


def diagonal(values: FloatArray) -> FloatArray:
    """One diagonal table per row."""
    n = values.shape[1]
    table = np.zeros((len(values), n, n))
    table[:, np.arange(n), np.arange(n)] = values
    return table


def positive_part(tables: FloatArray) -> FloatArray:
    """Symmetric tables without their negative eigenvalues."""
    values, vectors = np.linalg.eigh(tables)
    return np.einsum("kij,kj,klj->kil", vectors, np.maximum(values, 0.0), vectors)
