"""Labels with given counts at the least cost, cell by cell: successive shortest paths.

A row that moves from cluster k to l is an edge k → l at its extra cost, and of these rows only the cheapest is needed:
a graph of K clusters, whatever the number of rows. Labels are the cheapest with their own counts if and only if the
graph has no negative cycle. Labels that are argmin of costs + prices have none, and moving rows along shortest paths
makes none, so the last labels are the optimum of the linear program over rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from .._dual.oracle import Assignment, Moves
from .._typing import FloatArray, IntArray
from .moves import FIRST, MoveCosts

MORE = 8  # times as many rows of an edge are looked up, when the first have moved
ROUNDING = 1e-6  # of the largest cost of a move: point costs are kept in single precision


def with_counts(moves: MoveCosts, counts: IntArray) -> Assignment:
    """The cheapest labels with counts (n_clusters, n_cells), from labels that are argmin of costs + prices."""
    assigned, surplus = moves.assigned, moves.counts - counts
    rows: list[int] = []
    clusters: list[int] = []
    extra = 0.0
    for cell in np.flatnonzero(surplus.any(axis=0)):
        graph = Graph(moves, int(cell))
        graph.settle(surplus[:, cell])
        rows += list(graph.moved)
        clusters += list(graph.moved.values())
        extra += graph.cost
    labels = moves.oracle.moved(assigned.labels, np.array(rows, dtype=np.int64), np.array(clusters, dtype=np.int64))
    return Assignment(labels, (counts + surplus).astype(float), assigned.cost + extra)


Heap = list[tuple[float, int]]


class Graph:
    """Clusters, with the cheapest rows of one cell that could move from each to each other."""

    def __init__(self, moves: MoveCosts, cell: int) -> None:
        n_clusters = len(moves.counts)
        self.oracle, self.labels, self.cell = moves.oracle, moves.assigned.labels, cell
        self.moved: dict[int, int] = {}  # row → where it is now
        self.cost = 0.0
        self.heaps: list[list[Heap]] = [[[] for _ in range(n_clusters)] for _ in range(n_clusters)]
        self.looked_up = np.zeros((n_clusters, n_clusters), dtype=np.int64)  # rows that were asked for on each edge
        self.extra = np.full((n_clusters, n_clusters), np.inf)  # of each edge
        kinds, found = moves.first
        own = np.flatnonzero(kinds[:, 0] == cell)
        self._fill(kinds, own, found, FIRST)
        self._refresh(range(n_clusters))
        # Costs are as precise as the prices that they were compared at.
        finite = abs(self.extra[np.isfinite(self.extra)])
        self._least = ROUNDING * max(float(finite.max(initial=0.0)), float(np.ptp(moves.prices[:, cell])))

    def _fill(self, kinds: IntArray, which: IntArray, found: Moves, count: int) -> None:
        """Fill the heaps of some edges with the moves that were found; those that were there come again."""
        ends = np.searchsorted(found.kind, np.arange(len(kinds) + 1))
        for i in which.tolist():
            _, source, target = kinds[i].tolist()
            own = slice(ends[i], ends[i + 1])
            pairs = zip(found.extra[own].tolist(), found.row[own].tolist(), strict=True)
            heap = self.heaps[source][target]
            heap += [pair for pair in pairs if self._is_in(pair[1], source)]
            heapify(heap)
            self.looked_up[source, target] = count if ends[i + 1] - ends[i] == count else 0  # 0: there are no more

    def settle(self, surplus: IntArray) -> None:
        """Move rows from clusters with a surplus to those that lack some (IN/OUT), each along a shortest path.

        With distances as prices no edge has a negative reduced cost, and on shortest paths it is 0. Moving rows over
        such edges keeps it so: one search serves all paths whose edges still have their cheapest rows.
        """
        while (surplus > 0).any():
            extra, before = self.extra.copy(), self.shortest_paths(surplus > 0)
            paths = [edges_to(sink, before) for sink in np.flatnonzero(surplus < 0)]
            paths = [path for path in paths if path and surplus[path[0][0]] > 0] or self._direct(surplus)
            if not paths:
                break  # nobody can go where somebody is missing
            for path in paths:
                source, sink = path[0][0], path[-1][1]
                while surplus[source] > 0 > surplus[sink] and all(self.extra[e] <= extra[e] for e in path):
                    self.move(path)
                    surplus[[source, sink]] += (-1, 1)

    def _direct(self, surplus: IntArray) -> list[list[tuple[int, int]]]:
        """The cheapest edge from a surplus to a lack, where rounding has made paths go round in circles."""
        ends = np.where((surplus > 0)[:, None] & (surplus < 0), self.extra, np.inf)
        source, sink = np.unravel_index(ends.argmin(), ends.shape)
        return [[(int(source), int(sink))]] if np.isfinite(ends[source, sink]) else []

    def shortest_paths(self, sources: FloatArray) -> IntArray:
        """The cluster before each on a shortest path from any source; -1: none (Bellman-Ford)."""
        n_clusters = len(self.extra)
        distance, before = np.where(sources, 0.0, np.inf), np.full(n_clusters, -1)
        for _ in range(n_clusters):
            through = distance[:, None] + self.extra
            best, through = through.argmin(axis=0), through.min(axis=0)
            is_closer = through < distance - self._least
            if not is_closer.any():
                break
            distance[is_closer], before[is_closer] = through[is_closer], best[is_closer]
        return before

    def move(self, path: list[tuple[int, int]]) -> None:
        """Move the cheapest row over every edge of a path."""
        edges = [(source, target, *self.heaps[source][target][0]) for source, target in path]
        for _, target, extra, row in edges:
            self.moved[row] = target
            self.cost += extra
        if self.oracle.can_move_rows:
            costs = self.oracle.costs_of(np.array([row for *_, row in edges]))
            for (_, target, _, row), own in zip(edges, costs, strict=True):
                for heap, extra in zip(self.heaps[target], (own - own[target]).tolist(), strict=True):
                    heappush(heap, (extra, row))
        self._refresh({k for edge in path for k in edge})

    def _refresh(self, clusters: Iterable[int]) -> None:
        """Update the edges of some clusters: heaps keep rows that have left, and only the first of many rows."""
        for k in clusters:
            for target, heap in enumerate(self.heaps[k]):
                while heap and not self._is_in(heap[0][1], k):
                    heappop(heap)
                if not heap and self.looked_up[k, target] > 0:
                    kind, count = np.array([[self.cell, k, target]]), MORE * int(self.looked_up[k, target])
                    found = self.oracle.cheapest_moves(self.labels, kind, count)
                    self._fill(kind, np.zeros(1, dtype=np.int64), found, count)
                self.extra[k, target] = heap[0][0] if heap and target != k else np.inf

    def _is_in(self, row: int, cluster: int) -> bool:
        """Whether a row on an edge from this cluster is still there."""
        return self.moved.get(row, cluster) == cluster


def edges_to(sink: Any, before: IntArray) -> list[tuple[int, int]]:
    """The edges of the shortest path to a cluster, from its source to it; none where rounding made it a circle."""
    path: list[tuple[int, int]] = []
    while before[sink] >= 0:
        if len(path) == len(before):
            return []
        path.append((int(before[sink]), int(sink)))
        sink = before[sink]
    return path[::-1]
