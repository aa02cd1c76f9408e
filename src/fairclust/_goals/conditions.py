"""The conditions of a fit, all attributes and sizes together, as a solver sees them: from a table θ to prices.

θ (n_clusters, n_unknowns) has a column per group of every attribute, and one for everyone where sizes are bounded.
Where an attribute's groups make up everyone, each of them pays θ_j − h(θ); where groups overlap, each pays θ_j, and
everyone pays −h(θ). Prices of the attributes add up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._typing import FloatArray, IntArray
from .cone import Cone, Mixes
from .sizes import SizeInterval


@dataclass(frozen=True)
class Clause:
    """One attribute's condition: its cone, and whether its groups make up everyone, or overlap within everyone."""

    cone: Cone
    n_groups: int
    overlaps: bool = False

    @cached_property
    def eye(self) -> FloatArray:
        """How θ is its own."""
        return np.eye(self.n_groups)

    def prices(self, theta: FloatArray, mixes: Mixes) -> tuple[FloatArray, FloatArray]:
        """What each column pays, and how that follows θ: (n_clusters, n_columns [, n_groups])."""
        if not self.overlaps:
            return theta - mixes.worth[:, None], self.eye - mixes.proportions[:, None, :]
        own = np.broadcast_to(self.eye, (len(theta), *self.eye.shape))
        jacobian = np.concatenate((own, -mixes.proportions[:, None, :]), axis=1)
        return np.column_stack((theta, -mixes.worth)), np.ascontiguousarray(jacobian)

    @property
    def is_free_of_constants(self) -> bool:
        """Whether a constant added to a row of its θ changes no price."""
        return self.cone.is_free_of_constants and not self.overlaps

    @property
    def n_columns(self) -> int:
        """Columns of the membership: overlapping groups have one that counts everyone."""
        return self.n_groups + self.overlaps

    def split(self, table: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Masses of the groups, and what they are shares of, (n_rows, 1)."""
        if self.overlaps:
            return table[:, :-1], table[:, -1:]
        return table, table.sum(axis=1, keepdims=True)


class Priced(NamedTuple):
    """Prices at some θ, and how they follow it.

    Attributes
    ----------
    by_column : ndarray of shape (n_clusters, n_columns)
        What a member of each column pays to enter each cluster.
    offset : float
        What the dual loses beside the prices: for sizes, and for people that are forgiven.
    jacobian : ndarray of shape (n_clusters, n_columns, n_unknowns)
        ∂price/∂θ, cluster by cluster.
    offset_slope : ndarray of shape (n_clusters, n_unknowns)
        ∂offset/∂θ.
    turn : ndarray of shape (n_clusters, n_unknowns, n_unknowns)
        How mixes turn, per person.
    offset_turn : ndarray of shape (n_clusters, n_unknowns, n_unknowns)
        ∂offset_slope/∂θ: of a size, how it grows.
    """

    by_column: FloatArray
    offset: float
    jacobian: FloatArray
    offset_slope: FloatArray
    turn: FloatArray
    offset_turn: FloatArray


def _priced(clause: Clause, theta: FloatArray, softness: float) -> Priced:
    """Prices of one clause alone, from its own θ."""
    found = clause.cone.mixes(theta, softness)
    price, jacobian = clause.prices(theta, found)
    offset, slope, turn = 0.0, np.zeros(theta.shape), np.zeros(found.turn.shape)
    if isinstance(found.offset, np.ndarray):
        offset = float(np.sum(found.offset))
        slope[:], turn[:] = found.offset_slope, found.offset_turn
    return Priced(price, offset, jacobian, slope, found.turn, turn)


@dataclass(frozen=True)
class Conditions:
    """What every cluster must keep to.

    Parameters
    ----------
    clauses : tuple of Clause
        One per attribute.
    membership : ndarray of shape (n_cells, n_columns)
        What each cell counts in; the clauses' columns stand side by side.
    sizes : SizeInterval or None
        Bounds on the clusters' sizes; they read one more column, which counts everyone.
    """

    clauses: tuple[Clause, ...]
    attribute_membership: FloatArray
    sizes: SizeInterval | None = None

    @cached_property
    def membership(self) -> FloatArray:
        """What each cell counts in, (n_cells, n_columns), with everyone's column where sizes are bounded."""
        if self.sizes is None:
            return np.ascontiguousarray(self.attribute_membership)
        return np.column_stack((self.attribute_membership, np.ones(len(self.attribute_membership))))

    @cached_property
    def n_unknowns(self) -> int:
        """Columns of θ."""
        return sum(clause.n_groups for clause in self.clauses) + (self.sizes is not None)

    @cached_property
    def _places(self) -> list[tuple[slice, slice]]:
        """Where each clause stands: its columns, and its unknowns."""
        places, column, unknown = [], 0, 0
        for clause in self.clauses:
            places.append((slice(column, column + clause.n_columns), slice(unknown, unknown + clause.n_groups)))
            column, unknown = column + clause.n_columns, unknown + clause.n_groups
        return places

    def prices(self, theta: FloatArray, softness: float) -> Priced:
        """Prices that no fair mix pays on balance."""
        if len(self.clauses) == 1 and self.sizes is None:
            return _priced(self.clauses[0], theta, softness)
        n_clusters, n_columns = len(theta), self.membership.shape[1]
        price = np.empty((n_clusters, n_columns))
        jacobian = np.zeros((n_clusters, n_columns, self.n_unknowns))
        turn = np.zeros((n_clusters, self.n_unknowns, self.n_unknowns))
        offset, offset_slope, offset_turn = 0.0, np.zeros((n_clusters, self.n_unknowns)), np.zeros_like(turn)
        for clause, (columns, unknowns) in zip(self.clauses, self._places, strict=True):
            own = _priced(clause, theta[:, unknowns], softness)
            price[:, columns], jacobian[:, columns, unknowns] = own.by_column, own.jacobian
            turn[:, unknowns, unknowns] = own.turn
            offset += own.offset
            offset_slope[:, unknowns], offset_turn[:, unknowns, unknowns] = own.offset_slope, own.offset_turn
        if self.sizes is not None:
            rho = theta[:, -1]
            size, worth, growth = self.sizes.at(rho, softness)
            price[:, -1], jacobian[:, -1, -1] = rho, 1.0
            offset += float(worth.sum())
            offset_slope[:, -1], offset_turn[:, -1, -1] = size, growth
        return Priced(price, offset, jacobian, offset_slope, turn, offset_turn)

    def people(self, masses: FloatArray) -> FloatArray:
        """People of each cluster whose mix turns with each unknown, (n_clusters, n_unknowns): all of the clause's."""
        return masses @ self._counted

    @cached_property
    def _counted(self) -> FloatArray:
        """Whether a person of each cell counts in the clause of each unknown, (n_cells, n_unknowns)."""
        counted = np.zeros((len(self.membership), self.n_unknowns))
        for clause, (columns, unknowns) in zip(self.clauses, self._places, strict=True):
            counted[:, unknowns] = clause.split(self.membership[:, columns])[1]
        return counted

    def by_cell(self, price: FloatArray) -> FloatArray:
        """Prices by column → what a person of each cell pays, (n_clusters, n_cells)."""
        return price if self._has_cells_as_columns else price @ self.membership.T

    @cached_property
    def _has_cells_as_columns(self) -> bool:
        return np.array_equal(self.membership, np.eye(len(self.membership)))

    def centered(self, theta: FloatArray) -> FloatArray:
        """The same prices from a θ whose rows do not drift: a constant added to a row changes nothing."""
        if self._centering is not None:
            return theta @ self._centering
        result = theta.copy()
        for clause, (_, unknowns) in zip(self.clauses, self._places, strict=True):
            if clause.is_free_of_constants:
                result[:, unknowns] -= (theta[:, unknowns] * clause.cone.center).sum(axis=1, keepdims=True)
        return result

    @cached_property
    def _centering(self) -> FloatArray | None:
        """What takes its mean off each clause's part of a row of θ; None: clusters have centres of their own."""
        centering = np.eye(self.n_unknowns)
        for clause, (_, unknowns) in zip(self.clauses, self._places, strict=True):
            if clause.is_free_of_constants and clause.cone.center.ndim > 1:
                return None
            if clause.is_free_of_constants:
                centering[unknowns, unknowns] -= clause.cone.center[:, None]
        return centering

    def beyond(self, masses: FloatArray, clusters: IntArray | None = None) -> FloatArray:
        """How many people each row is away from all clauses together (and from the sizes), (n_rows,)."""
        table = masses if self._has_cells_as_columns else masses @ self.membership
        if len(self.clauses) == 1 and self.sizes is None:
            return self.clauses[0].cone.beyond(*self.clauses[0].split(table), clusters)
        found = 0.0 if self.sizes is None else self.sizes.beyond(table[:, -1])
        for clause, (columns, _) in zip(self.clauses, self._places, strict=True):
            found = found + clause.cone.beyond(*clause.split(table[:, columns]), clusters)
        return np.asarray(found)

    def off_by_whole_people(self, priced: Priced) -> float:
        """What counts may save at these prices by being off by whole people, where the goal lets them."""
        spans = zip(self.clauses, self._places, strict=True)
        return sum(
            clause.cone.rounding_slack * float(abs(priced.by_column[:, columns]).sum())
            for clause, (columns, _) in spans
        )

    def scaled(self, fraction: float) -> Conditions:
        """The same for a sample with so much of the weight."""
        clauses = tuple(replace(clause, cone=clause.cone.scaled(fraction)) for clause in self.clauses)
        sizes = None if self.sizes is None else self.sizes.scaled(fraction)
        return replace(self, clauses=clauses, sizes=sizes)

    def multipliers(self, theta: FloatArray) -> FloatArray:
        """How strongly each clause holds each cluster, (n_clusters, n_clauses): the spread of its prices."""
        return np.stack([np.ptp(theta[:, unknowns], axis=1) for _, unknowns in self._places], axis=1)
