"""Local search: moves and swaps of rows that lower the exact cost plus the terms' value.

Where centres are means, the cost of a cluster at its own centre is a function of the sums of its rows: for K-means
Σ_p |x_p|² − |S|²/n. So the clusters that a change touches tell what it does (Hartigan's rule; a swap is two moves at
once). Where sizes have no slack, swaps are all that is left; those of one cell change no count at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .._dual.oracle import Assignment
from .._dual.subproblem import Subproblem
from .._typing import FloatArray, IntArray
from .moves import Rows, kinds_of_moves
from .table import exchanges

PARTNERS = 4  # rows of a cell that are tried for moves and swaps between two clusters: those nearest to a tie
MAX_ROUNDS = 50  # of looking at every pair of clusters; ten do nearly always
MAX_TRIED = 1 << 16  # changes in one round: those that promise most
MAX_NUMBERS = 1 << 22  # held at a time
MAX_EXCHANGES = 1 << 20  # compositions in the table of exchanges: with more cells only moves are tried
LEAST = 1e-10  # of the cost: a change that lowers it by less is rounding


class Change(NamedTuple):
    """Rows, and the clusters that they go to."""

    rows: IntArray
    clusters: IntArray


def improve(points: Any, assigned: Assignment, centers: FloatArray, subproblem: Subproblem) -> Assignment:
    """Labels that no move and no swap near a tie improves, from labels with no empty cluster.

    A change is made if it lowers the energy (the cost plus the terms' value) and no cluster is farther outside its hard
    terms.
    """
    now = Labelling(points, assigned, subproblem)
    for _ in range(MAX_ROUNDS):
        n_made = sum(now.change(one) for proposed in (moves, swaps) for one in proposed(now, centers))
        if not n_made:
            break
        found = Assignment(now.labels, now.counts.astype(float), np.nan)
        centers = points.own(found, centers).centers
    return Assignment(now.labels, now.counts.astype(float), np.nan)


class Labelling:
    """Labels, and what is known of their clusters."""

    def __init__(self, points: Any, assigned: Assignment, subproblem: Subproblem) -> None:
        self.points, self.subproblem = points, subproblem
        self.rows: Rows = points.rows
        self.cells: IntArray = points.rows.layout.cells
        self.labels: IntArray = np.array(assigned.labels)
        self.counts = np.round(assigned.masses).astype(np.int64)
        self.sums, constant = points.objective.sums(points.rows, self.labels)
        self.least = LEAST * max(constant, 1e-300)
        self.energy, self.violation = self._judged(self.sums, self.counts, np.arange(len(self.counts)))

    def row_sums(self, rows: IntArray) -> FloatArray:
        """What some rows add to the sums of their clusters."""
        sums: FloatArray = self.points.objective.row_sums(self.points.rows, rows)
        return sums

    def cost(self, sums: FloatArray, sizes: IntArray) -> FloatArray:
        """What clusters with these sums cost, up to a constant."""
        cost: FloatArray = self.points.objective.cost_of_sums(sums, sizes)
        return cost

    def extra_costs(self, rows: IntArray, back: IntArray | None, source: IntArray, target: IntArray) -> FloatArray:
        """What each row adds to the cost by going from source to target, in exchange for one that comes back or none.

        Some at a time: sums may be long.
        """
        sizes, n_gone = self.counts.sum(axis=1), int(back is None)
        before, extra = self.cost(self.sums, sizes), np.empty(len(rows))
        for part in np.array_split(np.arange(len(rows)), len(rows) * self.sums.shape[1] // MAX_NUMBERS + 1):
            gone = self.row_sums(rows[part]) - (0.0 if back is None else self.row_sums(back[part]))
            k, other = source[part], target[part]
            left = self.cost(self.sums[k] - gone, sizes[k] - n_gone) - before[k]
            extra[part] = left + self.cost(self.sums[other] + gone, sizes[other] + n_gone) - before[other]
        return extra

    def change(self, one: Change) -> bool:
        """Move rows to other clusters if that helps; whether it did."""
        sources = self.labels[one.rows]
        clusters, places = np.unique(np.append(sources, one.clusters), return_inverse=True)
        sums, counts, each = self.sums[clusters], self.counts[clusters], self.row_sums(one.rows)
        n = len(one.rows)
        for i in range(n):
            for place, sign in ((places[i], -1), (places[n + i], 1)):
                sums[place] += sign * each[i]
                counts[place, self.cells[one.rows[i]]] += sign
        if not counts.any(axis=1).all():
            return False
        energy, violation = self._judged(sums, counts, clusters)
        is_lower = energy.sum() < self.energy[clusters].sum() - self.least
        if not is_lower or (violation > self.violation[clusters]).any():
            return False
        self.labels[one.rows] = one.clusters
        self.sums[clusters], self.counts[clusters] = sums, counts
        self.energy[clusters], self.violation[clusters] = energy, violation
        return True

    def exchange_values(self) -> FloatArray:
        """What a person of a who leaves and one of b who comes add to a cluster's value of terms.

        Of shape (n_clusters, n_cells + 1, n_cells + 1). The last index is nobody; infinity where there is no person of
        a, or where hard terms do not allow it.
        """

        def judge(rows: IntArray, clusters: IntArray) -> FloatArray:
            rows = np.maximum(rows, 0)
            is_outside = self.subproblem.violation(rows, clusters) > self.violation[clusters]
            is_outside |= ~rows.any(axis=1)
            return np.where(is_outside, np.inf, self.subproblem.value(rows, clusters))

        after = exchanges(self.counts, np.arange(len(self.counts)), judge)
        return after - after[:, -1:, -1:]

    def near_ties(self, centers: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Kinds (cell, from, to), and of each the rows nearest to a tie (−1: no more) with their extra costs."""
        oracle = self.points.oracle(centers)
        kinds = kinds_of_moves(self.counts > 0)
        found = oracle.cheapest_moves(self.labels, kinds, PARTNERS)
        starts = np.searchsorted(found.kind, np.arange(len(kinds)))
        rank = np.arange(len(found.kind)) - starts[found.kind]
        rows, extra = np.full((len(kinds), PARTNERS), -1), np.full((len(kinds), PARTNERS), np.inf)
        rows[found.kind, rank], extra[found.kind, rank] = found.row, found.extra
        return kinds, rows, extra

    def _judged(self, sums: FloatArray, counts: IntArray, clusters: IntArray) -> tuple[FloatArray, FloatArray]:
        """Energy of clusters up to a constant, and people outside their hard terms."""
        energy = self.cost(sums, counts.sum(axis=1)) + self.subproblem.value(counts, clusters)
        return energy, self.subproblem.violation(counts, clusters)


def moves(now: Labelling, centers: FloatArray) -> Iterator[Change]:
    """Single moves that help at the present means, the best first."""
    values = now.exchange_values()
    kinds, rows, extra = now.near_ties(centers)
    kind, place = np.nonzero(np.isfinite(extra))
    first = np.argsort(extra[kind, place], kind="stable")[:MAX_TRIED]
    kind, row = kind[first], rows[kind[first], place[first]]
    cell, source, target = kinds[kind].T
    change = values[source, cell, -1] + values[target, -1, cell]
    allowed = np.isfinite(change)
    row, source, target, change = row[allowed], source[allowed], target[allowed], change[allowed]
    delta = now.extra_costs(row, None, source, target) + change
    for i in best_first(delta, now.least):
        yield Change(row[i, None], target[i, None])


def swaps(now: Labelling, centers: FloatArray) -> Iterator[Change]:
    """Swaps near a tie that help at the present means: the best of each two clusters and cells."""
    n_clusters, n_cells = now.counts.shape
    if n_clusters < 2 or n_clusters * (n_cells + 1) ** 2 > MAX_EXCHANGES:
        return
    values = now.exchange_values()
    kinds, rows, extra = now.near_ties(centers)
    number = np.full((n_cells, n_clusters, n_clusters), -1)
    number[tuple(kinds.T)] = np.arange(len(kinds))
    least = np.where(number >= 0, extra[number, 0], np.inf)  # (cell, from, to)
    k, other = np.triu_indices(n_clusters, 1)
    change = values[k, :-1, :-1] + values[other, :-1, :-1].swapaxes(1, 2)  # (pair, a leaves k, b comes)
    together = least[:, k, other].T[:, :, None] + least[:, other, k].T[:, None, :] + change
    # A swap saves at most the square of the rows' distance over sizes; a first guess is that of the centres.
    promising = np.argsort(together, axis=None, kind="stable")
    promising = promising[np.isfinite(together.ravel()[promising])][: MAX_TRIED // PARTNERS**2]
    pair, a, b = np.unravel_index(promising, together.shape)
    x, y = rows[number[a, k[pair], other[pair]]], rows[number[b, other[pair], k[pair]]]
    one, two = (np.broadcast_to(part, (len(pair), PARTNERS, PARTNERS)) for part in (x[:, :, None], y[:, None, :]))
    is_there = (one >= 0) & (two >= 0)
    where = np.nonzero(is_there)[0]
    one, two = one[is_there], two[is_there]
    source, target = k[pair[where]], other[pair[where]]
    delta = now.extra_costs(one, two, source, target) + change[pair[where], a[where], b[where]]
    used = np.zeros(len(now.labels), dtype=bool)
    for i in best_first(delta, now.least):
        if not used[one[i]] and not used[two[i]]:
            used[[one[i], two[i]]] = True
            yield Change(np.array([one[i], two[i]]), np.array([target[i], source[i]]))


def best_first(delta: FloatArray, least: float) -> IntArray:
    """Where the change of energy is below 0, from the lowest on."""
    order = np.argsort(delta, kind="stable")
    return order[delta[order] < -least]
