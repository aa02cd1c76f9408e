"""The fairness term: how far the clusters' compositions are from the target. The K×J world; no point is known here.

A point is known by its *cell*: the combination of groups that it belongs to. A term reads one table, ``masses``
(n_clusters, n_cells): how much of each cell each cluster holds. It answers with a value per cluster, its slope and its
bend. Solvers and goals use nothing else.

:class:`Representation` is the term of a fit. Its 0/1 *membership* table (n_cells, n_columns) turns masses by cell into
masses by group, the groups of all attributes side by side; each attribute is a *part* that reads its own columns. With
one attribute a cell is a group and the membership is the identity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from .._typing import FloatArray, IntArray

SMALLEST_SHARE = 1e-20
"""Shares are clipped here, so that a group missing from a cluster costs much, but not infinity."""


class Part(Protocol):
    """The fairness of one attribute, read from a table (n_clusters, n_columns) of its own columns."""

    @property
    def target(self) -> FloatArray:
        """The wanted share of each group, (n_groups,) or (n_clusters, n_groups)."""
        ...

    @property
    def n_columns(self) -> int:
        """How many columns it reads."""
        ...

    @property
    def entropy(self) -> float:
        """What the paper's cross-entropy is when every cluster is fair."""
        ...

    def value(self, masses: FloatArray, clusters: IntArray | None = None) -> FloatArray:
        """Error of each row; ``clusters`` says which cluster each row is (None: row k is cluster k)."""
        ...

    def slope(self, masses: FloatArray) -> FloatArray:
        """Derivative of each cluster's value by its masses."""
        ...

    def bend(self, masses: FloatArray) -> FloatArray:
        """Positive part of the second derivative, (n_clusters, n_columns, n_columns)."""
        ...


@dataclass(frozen=True)
class KLFairness:
    """KL(target ‖ P_k) of every cluster k, where P_k are the shares of the groups in the cluster.

    Parameters
    ----------
    target : ndarray of shape (n_groups,) or (n_clusters, n_groups)
        The wanted share of each group, in all clusters or in each; non-negative, rows sum to 1. A group with target 0
        costs nothing by itself: it only takes room from the others.
    """

    target: FloatArray

    @property
    def n_columns(self) -> int:
        """One per group."""
        return int(self.target.shape[-1])

    @property
    def entropy(self) -> float:
        """Entropy of the target (mean over clusters): the cross-entropy of the paper's Eq. (3) in fair clusters."""
        wanted = self.target[self.target > 0]
        return float(-(wanted * np.log(wanted)).sum()) / (len(self.target) if self.target.ndim == 2 else 1)

    def value(self, masses: FloatArray, clusters: IntArray | None = None) -> FloatArray:
        """Fairness error of each cluster, shape (n_clusters,). An empty cluster counts as lacking every group."""
        target = _rows_of(self.target, clusters)
        size = masses.sum(axis=1, keepdims=True)
        shares = np.divide(masses, size, out=np.zeros_like(masses), where=size > 0)
        ratio = np.where(target > 0, target / np.maximum(shares, SMALLEST_SHARE), 1.0)
        return np.maximum((target * np.log(ratio)).sum(axis=1), 0.0)

    def slope(self, masses: FloatArray) -> FloatArray:
        """Derivative of each cluster's value by its masses, shape (n_clusters, n_groups)."""
        size, floored = _floored(masses, masses.sum(axis=1, keepdims=True))
        # d/dm_j [log n − Σ_j μ_j log m_j] = 1/n − μ_j/m_j
        return 1.0 / size - self.target / floored

    def bend(self, masses: FloatArray) -> FloatArray:
        """Positive part of the second derivative, shape (n_clusters, n_groups, n_groups).

        The term is convex near the target only; the negative part is cut off, so that a step that trusts the bend
        goes downhill everywhere.
        """
        size, floored = _floored(masses, masses.sum(axis=1, keepdims=True))
        bend = _diagonal(self.target / floored**2)
        bend -= (1.0 / size**2)[:, :, None]
        return _positive_part(bend)


@dataclass(frozen=True)
class OverlapFairness:
    """The same for groups that overlap: Σ_j μ_j log(μ_j/p_kj) − μ_j + p_kj of every cluster k.

    p_kj is the share of the cluster's people who are in group j; the shares need not add up to 1. The sum is 0 where
    every share is the wanted one and positive elsewhere, and it is KL(target ‖ P_k) where everyone is in one group.

    Parameters
    ----------
    target : ndarray of shape (n_groups,) or (n_clusters, n_groups)
        The wanted shares, each between 0 and 1.

    Notes
    -----
    Reads one column more than there are groups: the last one counts everyone.
    """

    target: FloatArray

    @property
    def n_columns(self) -> int:
        """One per group, and one for everyone."""
        return int(self.target.shape[-1]) + 1

    @property
    def entropy(self) -> float:
        """Σ −μ log μ (mean over clusters)."""
        return KLFairness(self.target).entropy

    def value(self, masses: FloatArray, clusters: IntArray | None = None) -> FloatArray:
        """Fairness error of each cluster, shape (n_clusters,)."""
        target = _rows_of(self.target, clusters)
        size = masses[:, -1:]
        shares = np.divide(masses[:, :-1], size, out=np.zeros_like(masses[:, :-1]), where=size > 0)
        ratio = np.where(target > 0, target / np.maximum(shares, SMALLEST_SHARE), 1.0)
        return np.maximum((target * np.log(ratio) - target + shares).sum(axis=1), 0.0)

    def slope(self, masses: FloatArray) -> FloatArray:
        """Derivative of each cluster's value by its masses, shape (n_clusters, n_groups + 1)."""
        size, floored = _floored(masses[:, :-1], masses[:, -1:])
        everyone = (np.broadcast_to(self.target, floored.shape) - floored / size).sum(axis=1, keepdims=True) / size
        return np.concatenate((1.0 / size - self.target / floored, everyone), axis=1)

    def bend(self, masses: FloatArray) -> FloatArray:
        """Positive part of the second derivative, shape (n_clusters, n_groups + 1, n_groups + 1)."""
        size, floored = _floored(masses[:, :-1], masses[:, -1:])
        target = np.broadcast_to(self.target, floored.shape)
        everyone = (2.0 * floored / size - target).sum(axis=1, keepdims=True) / size**2
        bend = _diagonal(np.concatenate((target / floored**2, everyone), axis=1))
        bend[:, :-1, -1] = bend[:, -1, :-1] = -1.0 / size**2
        return _positive_part(bend)


SIZE_MARGIN = 0.02
"""Sizes are asked to keep so far inside their bounds, so that hard labels do not end just outside."""


@dataclass(frozen=True)
class SizeFairness:
    """Bounds on the clusters' sizes: ½ log² of how far a size is beyond its bound, less a margin; 0 inside.

    No attribute: it wants the same of everyone, and so reads the column that counts everyone.

    Parameters
    ----------
    lower, upper : ndarray of shape (n_clusters,)
        Masses; 0 and infinity where there is no bound.
    """

    lower: FloatArray
    upper: FloatArray

    @property
    def target(self) -> FloatArray:
        """No group has a share."""
        return np.zeros(0)

    @property
    def n_columns(self) -> int:
        """Everyone."""
        return 1

    @property
    def entropy(self) -> float:
        """None: the value is 0 where it is least."""
        return 0.0

    def value(self, masses: FloatArray, clusters: IntArray | None = None) -> FloatArray:
        """How far each size is beyond its bounds, shape (n_clusters,)."""
        few, many, _ = self._beyond(masses, clusters)
        return 0.5 * (few**2 + many**2)

    def slope(self, masses: FloatArray) -> FloatArray:
        """Derivative by the size, shape (n_clusters, 1)."""
        few, many, size = self._beyond(masses, None)
        return ((many - few) / size)[:, None]

    def bend(self, masses: FloatArray) -> FloatArray:
        """Positive part of the second derivative, shape (n_clusters, 1, 1)."""
        few, many, size = self._beyond(masses, None)
        bend = np.where(few > 0, 1.0 + few, 0.0) + np.where(many > 0, np.maximum(1.0 - many, 0.0), 0.0)
        return (bend / size**2)[:, None, None]

    def scaled(self, share: float) -> SizeFairness:
        """The same bounds for a sample."""
        return SizeFairness(self.lower * share, self.upper * share)

    def _beyond(self, masses: FloatArray, clusters: IntArray | None) -> tuple[FloatArray, FloatArray, FloatArray]:
        lower, upper = (bound if clusters is None else bound[clusters] for bound in (self.lower, self.upper))
        size = np.maximum(masses[:, 0], np.finfo(float).tiny ** 0.25)
        with np.errstate(divide="ignore"):
            few = np.maximum(np.log(lower * (1 + SIZE_MARGIN) / size), 0.0)
            many = np.maximum(np.log(size * (1 + SIZE_MARGIN) / upper), 0.0)
        return few, many, size


@dataclass(frozen=True)
class Representation:
    """The fairness of all attributes: Σ_a share_ka · error_a of every cluster k.

    Parameters
    ----------
    parts : tuple of Part
        One per attribute.
    membership : ndarray of shape (n_cells, n_columns)
        1 where a point of the cell counts in the column. The parts' columns stand side by side.
    shares : ndarray of shape (n_clusters, n_parts) or None
        How much each part counts in each cluster. None: 1 everywhere.
    """

    parts: tuple[Part, ...]
    membership: FloatArray
    shares: FloatArray | None = None

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return len(self.parts)

    @property
    def n_attributes(self) -> int:
        """Number of parts that are attributes; they come first."""
        return sum(part.target.shape[-1] > 0 for part in self.parts)

    @property
    def is_constant(self) -> bool:
        """Whether all clusterings are alike: one attribute with one group, and no bound on sizes."""
        return all(part.target.shape[-1] == part.n_columns == 1 for part in self.parts)

    def scaled(self, share: float) -> Representation:
        """The same term for a sample with so much of the weight."""
        if self.n_attributes == self.n_parts:
            return self
        return replace(
            self, parts=tuple(part.scaled(share) if isinstance(part, SizeFairness) else part for part in self.parts)
        )

    def with_sizes(self, sizes: SizeFairness) -> Representation:
        """The same term, with bounds on sizes as its last part."""
        membership = np.column_stack((self.membership, np.ones(len(self.membership))))
        return Representation((*self.parts, sizes), membership)

    @cached_property
    def columns(self) -> tuple[slice, ...]:
        """The columns of each part."""
        ends = np.cumsum([part.n_columns for part in self.parts]).tolist()
        return tuple(slice(end - part.n_columns, end) for end, part in zip(ends, self.parts, strict=True))

    @property
    def entropy(self) -> float:
        """Sum of the parts' entropies."""
        return sum(part.entropy for part in self.parts)

    def weighted(self, weights: FloatArray) -> tuple[Representation, FloatArray]:
        """Split a weight per cluster and part into a weight per cluster, (n_clusters,), and a term with shares."""
        largest = weights.max(axis=1)
        shares = np.divide(weights, largest[:, None], out=np.ones_like(weights), where=largest[:, None] > 0)
        return replace(self, shares=shares), largest

    def by_part(self, masses: FloatArray) -> list[FloatArray]:
        """Masses by cell → each part's masses by column."""
        return self.split(masses @ self.membership)

    def split(self, table: FloatArray) -> list[FloatArray]:
        """Masses by column → each part's."""
        return [np.ascontiguousarray(table[:, columns]) for columns in self.columns]

    def by_attribute(self, masses: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
        """Masses of each attribute's groups, and what they are shares of: (n_clusters, n_groups), (n_clusters, 1)."""
        tables = []
        for part, table in list(zip(self.parts, self.by_part(masses), strict=True))[: self.n_attributes]:
            n_groups = part.target.shape[-1]
            size = table.sum(axis=1, keepdims=True) if n_groups == table.shape[1] else table[:, -1:]
            tables.append((table[:, :n_groups], size))
        return tables

    def proportions(self, masses: FloatArray) -> FloatArray:
        """Share of each group in each cluster, the groups of all attributes side by side."""
        shares = [
            np.divide(table, size, out=np.zeros_like(table), where=size > 0)
            for table, size in self.by_attribute(masses)
        ]
        return np.concatenate(shares, axis=1)

    def balances(self, masses: FloatArray) -> FloatArray:
        """Smallest ratio between two groups' masses of one attribute in each cluster, (n_clusters,)."""
        return np.min([cluster_balances(table) for table, _ in self.by_attribute(masses)], axis=0)

    def errors(self, masses: FloatArray) -> FloatArray:
        """Error of each cluster in each attribute, (n_clusters, n_attributes): what users are told."""
        return self._errors(masses @ self.membership, None)[:, : self.n_attributes]

    def value(self, masses: FloatArray, clusters: IntArray | None = None) -> FloatArray:
        """Weighted error of each cluster, (n_clusters,): what is minimised."""
        return self.column_value(masses @ self.membership, clusters)

    def column_value(self, table: FloatArray, clusters: IntArray | None = None) -> FloatArray:
        """The same, from masses by column."""
        errors = self._errors(table, clusters)
        return (errors if self.shares is None else errors * _rows_of(self.shares, clusters)).sum(axis=1)

    def _errors(self, table: FloatArray, clusters: IntArray | None) -> FloatArray:
        own = zip(self.parts, self.split(table), strict=True)
        return np.stack([part.value(columns, clusters) for part, columns in own], axis=1)

    def imbalance(self, table: FloatArray) -> FloatArray:
        """How far masses by column are from the targets: linear in the masses, 0 where every part is at its target."""
        columns = []
        for part, own in zip(self.parts, self.split(table), strict=True):
            target = part.target if part.target.ndim == 1 else part.target.mean(axis=0)
            if not len(target):
                continue
            if len(target) == own.shape[1]:  # the last column follows from the others
                columns.append((own - own.sum(axis=1, keepdims=True) * target)[:, :-1])
            else:
                columns.append(own[:, :-1] - own[:, -1:] * target)
        return np.concatenate(columns, axis=1)

    def column_slope(self, masses: FloatArray) -> FloatArray:
        """Derivative of each cluster's value by its masses by column, (n_clusters, n_columns)."""
        slopes = [part.slope(table) for part, table in zip(self.parts, self.by_part(masses), strict=True)]
        if self.shares is not None:
            slopes = [self.shares[:, [a]] * slope for a, slope in enumerate(slopes)]
        return np.concatenate(slopes, axis=1)

    def slope(self, masses: FloatArray) -> FloatArray:
        """Derivative of each cluster's value by its masses by cell, (n_clusters, n_cells)."""
        return self.column_slope(masses) @ self.membership.T

    def bend(self, masses: FloatArray) -> FloatArray:
        """Positive part of the second derivative by columns, (n_clusters, n_columns, n_columns)."""
        n_columns = self.membership.shape[1]
        bend = np.zeros((len(masses), n_columns, n_columns))
        for a, (part, table, own) in enumerate(zip(self.parts, self.by_part(masses), self.columns, strict=True)):
            share = 1.0 if self.shares is None else self.shares[:, a, None, None]
            bend[:, own, own] = share * part.bend(table)
        return bend

    def column_prices(self, price: FloatArray) -> FloatArray:
        """Prices by column, (n_clusters, n_columns), that add up to prices by cell: the smallest such."""
        return price @ self._inverse

    @cached_property
    def _inverse(self) -> FloatArray:
        return np.linalg.pinv(self.membership).T


def representation(parts: Sequence[tuple[FloatArray, bool]], membership: FloatArray) -> Representation:
    """The term of several attributes: the target of each, and whether its groups overlap."""
    made = tuple(OverlapFairness(target) if overlaps else KLFairness(target) for target, overlaps in parts)
    return Representation(made, membership)


def one_attribute(target: FloatArray | Sequence[float]) -> Representation:
    """The term of one attribute whose groups are the cells."""
    target = np.asarray(target, dtype=float)
    return Representation((KLFairness(target),), np.eye(target.shape[-1]))


def cluster_balances(masses: FloatArray) -> FloatArray:
    """Smallest ratio between two groups' masses in each cluster, shape (n_clusters,); 1 where there is one group."""
    largest = masses.max(axis=1)
    if masses.shape[1] == 1:
        return np.ones_like(largest)
    return np.divide(masses.min(axis=1), largest, out=np.zeros_like(largest), where=largest > 0)


def _rows_of(table: FloatArray, clusters: IntArray | None) -> FloatArray:
    """The rows of some clusters, where each cluster has a row of its own."""
    return table if clusters is None or table.ndim == 1 else table[clusters]


def _floored(masses: FloatArray, size: FloatArray) -> tuple[FloatArray, FloatArray]:
    size = np.maximum(size, np.finfo(float).tiny ** 0.25)
    return size, np.maximum(masses, SMALLEST_SHARE * size)


def _diagonal(values: FloatArray) -> FloatArray:
    """One diagonal table per row."""
    n = values.shape[1]
    table = np.zeros((len(values), n, n))
    table[:, np.arange(n), np.arange(n)] = values
    return table


def _positive_part(tables: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh(tables)
    return np.einsum("kij,kj,klj->kil", vectors, np.maximum(values, 0.0), vectors)
