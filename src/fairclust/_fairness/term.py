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

import numpy as np

from .._algebra import Expansion, Logarithms
from .._typing import FloatArray, IntArray
from .kl import KLFairness
from .notion import Part, rows_of
from .overlap import OverlapFairness
from .sizes import SizeFairness


@dataclass(frozen=True)
class Representation:
    """The fairness of all attributes: Σ_a weight_ka · error_a of every cluster k.

    Parameters
    ----------
    parts : tuple of Part
        One per attribute.
    membership : ndarray of shape (n_cells, n_columns)
        1 where a point of the cell counts in the column. The parts' columns stand side by side.
    part_weights : ndarray of shape (n_clusters, n_parts) or None
        How much each part counts in each cluster. None: 1 everywhere.
    """

    parts: tuple[Part, ...]
    membership: FloatArray
    part_weights: FloatArray | None = None

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return len(self.parts)

    @property
    def n_attributes(self) -> int:
        """Number of parts that are attributes; they come first."""
        return sum(part.target.shape[-1] > 0 for part in self.parts)

    @property
    def attribute_parts(self) -> tuple[Part, ...]:
        """The parts that are attributes."""
        return self.parts[: self.n_attributes]

    @property
    def attribute_membership(self) -> FloatArray:
        """The columns of the attributes alone."""
        return self.membership[:, : sum(part.n_columns for part in self.attribute_parts)]

    @property
    def is_constant(self) -> bool:
        """Whether all clusterings are alike: one attribute with one group, and no bound on sizes."""
        return all(part.target.shape[-1] == part.n_columns == 1 for part in self.parts)

    def scaled(self, fraction: float) -> Representation:
        """The same term for a sample with so much of the weight."""
        return replace(self, parts=tuple(part.scaled(fraction) for part in self.parts))

    def with_sizes(self, sizes: SizeFairness) -> Representation:
        """The same term, with bounds on sizes as its last part."""
        membership = np.column_stack((self.membership, np.ones(len(self.membership))))
        return Representation((*self.parts, sizes), membership)

    @cached_property
    def columns(self) -> tuple[slice, ...]:
        """The columns of each part."""
        ends = np.cumsum([part.n_columns for part in self.parts]).tolist()
        return tuple(slice(end - part.n_columns, end) for end, part in zip(ends, self.parts, strict=True))

    @cached_property
    def entropy(self) -> float:
        """Sum of the parts' entropies."""
        return sum(part.entropy for part in self.parts)

    def weighted(self, weights: FloatArray) -> tuple[Representation, FloatArray]:
        """Split weights per cluster and part: a term with the parts' own, and a weight per cluster, (n_clusters,)."""
        largest = weights.max(axis=1)
        part_weights = np.divide(weights, largest[:, None], out=np.ones_like(weights), where=largest[:, None] > 0)
        return replace(self, part_weights=None if (part_weights == 1.0).all() else part_weights), largest

    def by_part(self, masses: FloatArray) -> list[FloatArray]:
        """Masses by cell → each part's masses by column."""
        return self.split(self.by_column(masses))

    def by_column(self, masses: FloatArray) -> FloatArray:
        """Masses by cell → masses by column."""
        return masses if self.has_cells_as_columns else masses @ self.membership

    def by_cell(self, price: FloatArray) -> FloatArray:
        """Prices by column → prices by cell."""
        return price if self.has_cells_as_columns else price @ self.membership.T

    def split(self, table: FloatArray) -> list[FloatArray]:
        """Masses by column → each part's."""
        if len(self.parts) == 1:
            return [table]
        return [np.ascontiguousarray(table[:, columns]) for columns in self.columns]

    def by_attribute(self, masses: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
        """Masses of each attribute's groups, and what they are shares of: (n_clusters, n_groups), (n_clusters, 1)."""
        tables = []
        for part, table in list(zip(self.parts, self.by_part(masses), strict=True))[: self.n_attributes]:
            size = table[:, -1:] if part.overlaps else table.sum(axis=1, keepdims=True)
            tables.append((table[:, : part.target.shape[-1]], size))
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

    def lacks_a_group(self, masses: FloatArray) -> bool:
        """Whether a cluster has nobody of a group that it should have somebody of."""
        tables = zip(self.attribute_parts, self.by_attribute(masses), strict=True)
        return any(bool(((table <= 0) & (part.target > 0)).any()) for part, (table, _) in tables)

    def errors(self, masses: FloatArray) -> FloatArray:
        """Error of each cluster in each attribute, (n_clusters, n_attributes): what users are told."""
        tables = zip(self.attribute_parts, self.by_part(masses), strict=False)
        return np.stack([part.value(table) for part, table in tables], axis=1)

    def value(self, masses: FloatArray, clusters: IntArray | None = None) -> FloatArray:
        """Weighted error of each cluster, (n_clusters,): what is minimised."""
        return self.column_value(self.by_column(masses), clusters)

    def column_value(self, table: FloatArray, clusters: IntArray | None = None) -> FloatArray:
        """The same, from masses by column."""
        if len(self.parts) == 1 and self.part_weights is None:
            return self.parts[0].value(table, clusters)
        values = [part.value(own, clusters) for part, own in zip(self.parts, self.split(table), strict=True)]
        if self.part_weights is not None:
            values = [
                share * value for share, value in zip(rows_of(self.part_weights, clusters).T, values, strict=True)
            ]
        return sum(values[1:], start=values[0])

    def imbalance(self, table: FloatArray) -> FloatArray:
        """How far masses by column are from the targets: linear in the masses, 0 where every part is at its target."""
        columns = []
        for part, own in zip(self.parts, self.split(table), strict=True):
            target = part.target if part.target.ndim == 1 else part.target.mean(axis=0)
            if not len(target):
                continue
            if part.overlaps:
                columns.append(own[:, :-1] - own[:, -1:] * target)
            else:  # the last column follows from the others
                columns.append((own - own.sum(axis=1, keepdims=True) * target)[:, :-1])
        return np.concatenate(columns, axis=1)

    def slope(self, masses: FloatArray) -> FloatArray:
        """Derivative of each cluster's value by its masses by cell, (n_clusters, n_cells)."""
        slopes = [part.slope(table) for part, table in zip(self.parts, self.by_part(masses), strict=True)]
        if self.part_weights is not None:
            slopes = [self.part_weights[:, [a]] * slope for a, slope in enumerate(slopes)]
        return np.concatenate(slopes, axis=1) @ self.membership.T

    def expansion(self, masses: FloatArray) -> Expansion:
        """Value, slope and positive part of the second derivative, by column."""
        if self.part_weights is None and len(self.parts) == 1:
            return self.parts[0].expansion(self.by_column(masses))
        parts = [part.expansion(table) for part, table in zip(self.parts, self.by_part(masses), strict=True)]
        weights = np.ones((len(masses), len(parts))) if self.part_weights is None else self.part_weights
        n_columns = self.membership.shape[1]
        bend = np.zeros((len(masses), n_columns, n_columns))
        for part, own, weight in zip(parts, self.columns, weights.T, strict=True):
            bend[:, own, own] = weight[:, None, None] * part.bend
        return Expansion(
            np.add.reduce([weight * part.value for part, weight in zip(parts, weights.T, strict=True)]),
            np.concatenate(
                [weight[:, None] * part.slope for part, weight in zip(parts, weights.T, strict=True)], axis=1
            ),
            bend,
        )

    @cached_property
    def is_logarithmic(self) -> bool:
        """Whether it is logarithms of sizes less logarithms of masses, up to a constant."""
        return all(part.is_logarithmic for part in self.parts)

    def logarithms(self, n_clusters: int) -> Logarithms:
        """The term as logarithms of sizes and of masses, where it is that."""
        weights = np.ones((n_clusters, self.n_parts)) if self.part_weights is None else self.part_weights
        size = np.repeat(weights, [part.n_columns for part in self.parts], axis=1)
        target = np.concatenate(
            [np.broadcast_to(part.target, (n_clusters, part.n_columns)) for part in self.parts], axis=1
        )
        return Logarithms(size, size * target)

    def column_prices(self, price: FloatArray) -> FloatArray:
        """Prices by column, (n_clusters, n_columns), that add up to prices by cell: the smallest such."""
        return price @ self.inverse

    @cached_property
    def inverse(self) -> FloatArray:
        """Turns prices by cell into prices by column, (n_cells, n_columns)."""
        if self.has_cells_as_columns:
            return self.membership
        return np.ascontiguousarray(np.linalg.pinv(self.membership).T)

    @cached_property
    def has_cells_as_columns(self) -> bool:
        """Whether groups are cells: one attribute."""
        return np.array_equal(self.membership, np.eye(len(self.membership)))


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
