"""Graphs that shrink: labels are moved on coarse graphs first, where one node stands for many, then on finer ones.

A *level* is a graph whose nodes bring group masses along, so the energy of a labelling is the same number on every
level. One *cycle* shrinks the graph by joining strongly tied nodes of one cluster, moves coarse nodes while that lowers
the energy, and goes back level by level. Starts live on the coarsest level, where many are cheap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import cast

import numpy as np

from .._core import kernels
from .._dual.overlaps import OverlapKL
from .._dual.subproblem import Subproblem
from .._dual.terms import KL, rows_of
from .._typing import FloatArray, IntArray
from ..graphs import Graph, from_arrays

_SLOWEST_SHRINKING = 0.95  # a level that keeps more of its nodes than this is the last
_MOST_PASSES = 20  # over the nodes; they stop as soon as one gains too little
_LEAST_GAIN = 1e-4  # of the energy, in one pass: cycles come back for less
_SHUFFLED_TO_THE_LAST = 1 << 16  # nodes; of more, runs are shuffled, so that memory is read in order
_RUN = 64  # nodes


@dataclass(frozen=True)
class GraphLevel:
    """A graph whose nodes bring group masses along.

    Attributes
    ----------
    graph : Graph
    codes : ndarray of shape (n_nodes,), int32, or None
        Cell of each node, where every node is one point.
    masses : ndarray of shape (n_nodes, n_columns) or None
        What each node holds of each column of the fairness terms, where nodes are several points.
    """

    graph: Graph
    codes: IntArray | None
    masses: FloatArray | None

    def node_masses(self, membership: FloatArray) -> FloatArray:
        """Masses of each node by column, (n_nodes, n_columns)."""
        if self.masses is not None:
            return self.masses
        assert self.codes is not None
        return membership[self.codes]


@dataclass(frozen=True)
class Hierarchy:
    """Levels from fine to coarse; ``parents[i]`` maps nodes of level i to nodes of level i + 1."""

    levels: list[GraphLevel]
    parents: list[IntArray]

    @property
    def coarsest(self) -> GraphLevel:
        """The smallest level."""
        return self.levels[-1]


@dataclass(frozen=True, eq=False)
class CutEnergy:
    """Ncut plus weighted fairness errors of labels on any level.

    Parameters
    ----------
    fairness : Subproblem
        A term KL or OverlapKL per attribute; the weight of a term is its share of ``weight``.
    weight : float
        λ.
    n_clusters : int
    n_threads : int
    """

    fairness: Subproblem
    weight: float
    n_clusters: int
    n_threads: int = 1

    @property
    def is_alike(self) -> bool:
        """Whether all clusters are treated the same, so that labels may be renumbered."""
        tables = [np.atleast_2d(term.target) for term in errors_of(self.fairness)]
        return all(bool((table == table[0]).all()) for table in tables)

    def subproblem(self, unit: float) -> Subproblem:
        """The fairness of costs in units of Ncut: its terms at their weights, or none where all weights are 0."""
        terms = tuple(replace(term, weight=unit * self.weight * term.weight) for term in errors_of(self.fairness))
        if not any(term.is_soft for term in terms):
            return Subproblem((), (), self.fairness.n_cells)
        return replace(self.fairness, terms=terms)

    def cell_masses(self, level: GraphLevel, labels: IntArray) -> FloatArray:
        """How much of each cell each cluster holds, (n_clusters, n_cells), where nodes are points."""
        assert level.codes is not None
        n_cells = self.fairness.n_cells
        cells = labels.astype(np.int64) * n_cells + level.codes
        return np.bincount(cells, minlength=self.n_clusters * n_cells).reshape(-1, n_cells).astype(float)

    def masses(self, level: GraphLevel, labels: IntArray) -> FloatArray:
        """How much of each column each cluster holds, (n_clusters, n_columns)."""
        if level.masses is None:
            return self.cell_masses(level, labels) @ self.fairness.membership
        columns = [np.bincount(labels, column, self.n_clusters) for column in level.masses.T]
        return np.reshape(columns, (-1, self.n_clusters)).T

    def cut(self, level: GraphLevel, labels: IntArray) -> float:
        """Ncut of the labels."""
        return ncut_of(level.graph, labels, self.n_clusters, self.n_threads)

    def value(self, level: GraphLevel, labels: IntArray) -> float:
        """Ncut + weight · Σ_k errors of cluster k."""
        cut = self.cut(level, labels)
        if self.weight == 0:
            return cut
        parts = split(self.masses(level, labels), self.fairness)
        errors = [term.value(own).sum() for term, own in zip(self.fairness.terms, parts, strict=True)]
        return cut + self.weight * float(sum(errors))

    def move(self, level: GraphLevel, labels: IntArray, random_state: np.random.RandomState, size: float) -> None:
        """Move single nodes (IN/OUT labels) while that lowers the energy; ``size`` is what the energy is about."""
        order = _visiting_order(level.graph.n_nodes, random_state)
        kernels.move_nodes(
            *level.graph.arrays, level.graph.degree, level.codes, level.masses, *self._tables,
            order, _MOST_PASSES, _LEAST_GAIN * size, labels,
        )  # fmt: skip

    @cached_property
    def _tables(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, IntArray, IntArray]:
        """The fairness as the kernel reads it: membership, three tables of numbers, weights, first columns, overlaps.

        An error is Σ_j logs_j · log(wanted_j / share_j) + lines_j · (share_j − wanted_j): lines are 1 where groups
        overlap; the last column then counts everyone, and nothing is read for it.
        """
        terms, n_clusters = errors_of(self.fairness), self.n_clusters
        wanted, lines = np.zeros((2, n_clusters, self.fairness.n_unknowns))
        first = np.cumsum([0, *(m.shape[1] for m in self.fairness.memberships)])
        for term, start in zip(terms, first[:-1], strict=True):
            groups = slice(start, start + term.target.shape[-1])
            wanted[:, groups] = rows_of(term.target, None, n_clusters)
            lines[:, groups] = float(term.overlapping)
        weights = np.tile([self.weight * term.weight for term in terms], (n_clusters, 1))
        overlapping = np.array([term.overlapping for term in terms], dtype=np.uint8)
        membership = np.ascontiguousarray(self.fairness.membership)
        return membership, wanted, wanted, lines, weights, first, overlapping


def errors_of(fairness: Subproblem) -> tuple[KL | OverlapKL, ...]:
    """Its terms, which are fairness errors."""
    return cast("tuple[KL | OverlapKL, ...]", fairness.terms)


def split(table: FloatArray, fairness: Subproblem) -> list[FloatArray]:
    """The columns of each term in a table (n_rows, n_columns)."""
    first = np.cumsum([0, *(m.shape[1] for m in fairness.memberships)])
    return [table[:, start:end] for start, end in pairwise(first)]


def imbalance(level: GraphLevel, fairness: Subproblem) -> FloatArray:
    """How far nodes are from the targets, (n_nodes, n_constraints): linear in the masses, 0 at every target."""
    columns = []
    for term, own in zip(errors_of(fairness), split(level.node_masses(fairness.membership), fairness), strict=True):
        target = np.atleast_2d(term.target).mean(axis=0)
        off = own[:, : len(target)] - term.size(own)[:, None] * target
        columns.append(off if term.overlapping else off[:, :-1])  # the last column follows from the others
    return np.concatenate(columns, axis=1)


def ncut_of(graph: Graph, labels: IntArray, n_clusters: int, n_threads: int) -> float:
    """K − Σ_k S_kᵗWS_k / dᵗS_k of hard labels; a cluster without links adds 1."""
    inside, volume, _ = kernels.associations(*graph.arrays, graph.degree, labels, None, n_clusters, n_threads)
    kept = np.divide(inside, volume, out=np.zeros(n_clusters), where=volume > 0)
    return float((1.0 - kept).sum())


def coarsen(
    level: GraphLevel,
    membership: FloatArray,
    size: int,
    heaviest: float,
    random_state: np.random.RandomState,
    labels: IntArray | None = None,
) -> tuple[Hierarchy, IntArray | None]:
    """Shrink a level until it has ``size`` nodes at most, or does not shrink.

    Parameters
    ----------
    level : GraphLevel
    membership : ndarray of shape (n_cells, n_columns)
        Of the fairness terms.
    size : int
    heaviest : float
        Most degree that two joined nodes may have together.
    random_state : RandomState
        Order in which nodes look for partners.
    labels : ndarray of shape (n_nodes,) or None
        Only nodes of one label are joined.

    Returns
    -------
    hierarchy : Hierarchy
    labels : ndarray or None
        The labels on the coarsest level.
    """
    levels, parents = [level], []
    while levels[-1].graph.n_nodes > size:
        fine = levels[-1]
        order = _visiting_order(fine.graph.n_nodes, random_state)
        parent = np.empty(fine.graph.n_nodes, dtype=np.int32)
        n_parents = kernels.match_nodes(*fine.graph.arrays, fine.graph.degree, labels, order, heaviest, parent)
        if n_parents > _SLOWEST_SHRINKING * fine.graph.n_nodes:
            break
        levels.append(_joined(fine, membership, parent, n_parents))
        parents.append(parent)
        if labels is not None:
            coarse = np.empty(n_parents, dtype=np.int32)
            coarse[parent] = labels
            labels = coarse
    return Hierarchy(levels, parents), labels


def descend(
    hierarchy: Hierarchy,
    energy: CutEnergy,
    labels: IntArray,
    random_state: np.random.RandomState,
    start: int | None = None,
    end: int = 0,
) -> IntArray:
    """From labels of level ``start`` (None: the coarsest) to labels of level ``end``, moving nodes on every level."""
    start = len(hierarchy.levels) - 1 if start is None else start
    labels = labels.copy()
    size = max(energy.value(hierarchy.levels[start], labels), np.finfo(float).tiny)
    energy.move(hierarchy.levels[start], labels, random_state, size)
    for depth in range(start - 1, end - 1, -1):
        labels = labels[hierarchy.parents[depth]]
        energy.move(hierarchy.levels[depth], labels, random_state, size)
    return labels


def cycle(
    level: GraphLevel, energy: CutEnergy, labels: IntArray, size: int, random_state: np.random.RandomState
) -> IntArray:
    """Shrink within the clusters, move, and come back: labels whose energy is not higher, but for rounding."""
    heaviest = heaviest_node(level, energy.n_clusters)
    hierarchy, coarse = coarsen(level, energy.fairness.membership, size, heaviest, random_state, labels)
    assert coarse is not None
    return descend(hierarchy, energy, coarse, random_state)


def heaviest_node(level: GraphLevel, n_clusters: int) -> float:
    """A quarter of a cluster's fair share of the degrees: heavier nodes would decide too much at once."""
    return float(level.graph.degree.sum()) / (4 * n_clusters)


def _visiting_order(n_nodes: int, random_state: np.random.RandomState) -> IntArray:
    """All nodes in random order; of many nodes, runs of neighbouring numbers in random order."""
    if n_nodes <= _SHUFFLED_TO_THE_LAST:
        return random_state.permutation(n_nodes).astype(np.int32)
    runs = random_state.permutation(-(-n_nodes // _RUN)).astype(np.int32) * _RUN
    order = (runs[:, None] + np.arange(_RUN, dtype=np.int32)).ravel()
    return np.ascontiguousarray(order[order < n_nodes])


def _joined(level: GraphLevel, membership: FloatArray, parent: IntArray, n_parents: int) -> GraphLevel:
    graph = from_arrays(*(np.asarray(part) for part in kernels.contract(*level.graph.arrays, parent, n_parents)))
    columns = [np.bincount(parent, column, n_parents) for column in level.node_masses(membership).T]
    return GraphLevel(graph, None, np.ascontiguousarray(np.reshape(columns, (-1, n_parents)).T))
