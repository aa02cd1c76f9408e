"""Graphs that shrink: labels are moved on coarse graphs first, where one node stands for many, then on finer ones.

A *level* is a graph whose nodes bring group masses along, so the energy of a labelling is the same number on every
level. One *cycle* shrinks the graph by joining strongly tied nodes of one cluster, moves coarse nodes while that lowers
the energy, and goes back level by level. Starts live on the coarsest level, where many are cheap.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._core import kernels
from .._fairness.term import Representation
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
        What each node holds of each column of the fairness term, where nodes are several points.
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


@dataclass(frozen=True)
class CutEnergy:
    """Ncut plus weighted fairness of labels on any level.

    Parameters
    ----------
    fairness : Representation
    fairness_weights : ndarray of shape (n_clusters,)
        Weight of each cluster's fairness.
    n_threads : int
    """

    fairness: Representation
    fairness_weights: FloatArray
    n_threads: int = 1

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.fairness_weights)

    @property
    def is_alike(self) -> bool:
        """Whether all clusters are treated the same, so that labels may be renumbered."""
        tables = [self.fairness_weights, *(part.target for part in self.fairness.parts if part.target.ndim == 2)]
        tables += [] if self.fairness.part_weights is None else [self.fairness.part_weights]
        return all(bool((table == table[0]).all()) for table in tables)

    def cell_masses(self, level: GraphLevel, labels: IntArray) -> FloatArray:
        """How much of each cell each cluster holds, (n_clusters, n_cells), where nodes are points."""
        assert level.codes is not None
        n_cells = len(self.fairness.membership)
        cells = labels.astype(np.int64) * n_cells + level.codes
        return np.bincount(cells, minlength=self.n_clusters * n_cells).reshape(-1, n_cells).astype(float)

    def masses(self, level: GraphLevel, labels: IntArray) -> FloatArray:
        """How much of each column each cluster holds, (n_clusters, n_columns)."""
        if level.codes is not None:
            return self.cell_masses(level, labels) @ self.fairness.membership
        assert level.masses is not None
        columns = [np.bincount(labels, column, self.n_clusters) for column in level.masses.T]
        return np.stack(columns, axis=1)

    def cut(self, level: GraphLevel, labels: IntArray) -> float:
        """Ncut of the labels."""
        return ncut_of(level.graph, labels, self.n_clusters, self.n_threads)

    def value(self, level: GraphLevel, labels: IntArray) -> float:
        """Ncut + Σ_k weight_k · fairness_k."""
        penalty = 0.0
        if self.fairness_weights.any():
            penalty = float(self.fairness_weights @ self.fairness.column_value(self.masses(level, labels)))
        return self.cut(level, labels) + penalty

    def move(self, level: GraphLevel, labels: IntArray, random_state: np.random.RandomState, size: float) -> None:
        """Move single nodes (IN/OUT labels) while that lowers the energy; ``size`` is what the energy is about."""
        order = _visiting_order(level.graph.n_nodes, random_state)
        kernels.move_nodes(
            *level.graph.arrays, level.graph.degree, level.codes, level.masses, *self._columns,
            order, _MOST_PASSES, _LEAST_GAIN * size, labels,
        )  # fmt: skip

    @cached_property
    def _columns(
        self,
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, IntArray, IntArray]:
        """The fairness term as the kernel reads it: membership, its numbers, weight, first columns, who is counted."""
        fairness, n_clusters = self.fairness, self.n_clusters
        terms = [part.share_terms for part in fairness.parts]
        wanted, logs, lines = (np.zeros((n_clusters, fairness.membership.shape[1])) for _ in range(3))
        for own, columns in zip(terms, fairness.columns, strict=True):
            groups = slice(columns.start, columns.start + own.wanted.shape[-1])
            wanted[:, groups], logs[:, groups], lines[:, groups] = own.wanted, own.logs, own.lines
        even = np.ones((n_clusters, fairness.n_parts))
        part_weights = even if fairness.part_weights is None else fairness.part_weights
        first = np.array([0, *(own.stop for own in fairness.columns)], dtype=np.int64)
        counted = np.array([own.counts_everyone for own in terms], dtype=np.uint8)
        membership = np.ascontiguousarray(fairness.membership)
        fairness_weights = np.ascontiguousarray(self.fairness_weights[:, None] * part_weights)
        return membership, wanted, logs, lines, fairness_weights, first, counted


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
        Of the fairness term.
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
    if level.codes is None:
        columns = list(level.node_masses(membership).T)
    else:
        columns = [column[level.codes] for column in membership.T]
    masses = np.stack([np.bincount(parent, column, n_parents) for column in columns], axis=1)
    return GraphLevel(graph, None, np.ascontiguousarray(masses))
