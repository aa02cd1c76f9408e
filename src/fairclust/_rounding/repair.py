"""Labels that exist: the fewest people moved so that all hard terms hold, and a proof.

Without point costs the rows of one cluster and cell are interchangeable. So the fewest people who leave their clusters
are a problem of the table of counts, whatever the number of rows, and the bound of its program is the proof.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._dual.subproblem import Subproblem
from .._typing import FloatArray, IntArray
from .moves import FreeMoves, MoveCosts
from .program import NEAR, cheapest_table, counted_flows, priced_flows
from .table import RARE, Table, is_feasible, largest_remainders, nearby_table, programmed_table, repaired
from .transport import with_counts

GAP = 0.05  # relative, of what the moves cost: prices by decades are no better known
NO_GAP = 0.005  # relative, of how many move: of up to 200 nobody


def nearest_table(start: IntArray, subproblem: Subproblem) -> Table:
    """Counts that satisfy all hard terms with the fewest people moved, and a bound: no feasible counts move fewer.

    Where no counts are found to be feasible, counts with few people outside the terms.
    """
    if is_feasible(start, subproblem):
        return Table(start, 0.0)
    free, totals = FreeMoves(start), start.sum(axis=0)
    tables, bound = [repaired(start, subproblem, free.pairs)], 0.0

    def rank(table: IntArray) -> tuple[bool, int]:
        return (not is_feasible(table, subproblem), people_moved(start, table))

    # First only rare cells are whole, which is quicker; rounding the others may then move a few more.
    is_rare = totals < RARE * len(start)
    for is_whole in (is_rare, np.ones_like(is_rare)):
        if min(map(rank, tables)) <= (False, bound * (1.0 + NO_GAP)):
            break
        plan = cheapest_table(counted_flows(start), subproblem, is_whole, NO_GAP)
        if plan is None:
            bound = np.inf
            break
        bound = max(bound, float(np.ceil(plan.bound - NEAR)))
        if plan.counts is not None:
            tables.append(repaired(largest_remainders(plan.counts, totals), subproblem, free.pairs))
        if is_whole.all():
            break
    if np.isfinite(bound) and min(map(rank, tables))[0]:
        near = nearby_table(start.astype(float), totals, subproblem, free)
        tables += [] if near is None else [near]
    return Table(min(tables, key=rank), bound)


def people_moved(start: IntArray, counts: IntArray) -> int:
    """How many people leave their cluster between two tables, at least."""
    return int(np.maximum(start - counts, 0).sum())


def counted(labels: IntArray, cells: IntArray, shape: tuple[int, int]) -> IntArray:
    """People of each cluster and cell."""
    place = labels.astype(np.int64) * shape[1] + cells
    return np.bincount(place, minlength=shape[0] * shape[1]).reshape(shape)


def nearest_labels(labels: IntArray, cells: IntArray, counts: IntArray) -> IntArray:
    """Labels with counts (n_clusters, n_cells) that differ in the fewest rows: the first of each kind move."""
    n_clusters, n_cells = counts.shape
    change = counts.T - counted(labels, cells, (n_clusters, n_cells)).T
    place = cells.astype(np.int64) * n_clusters + labels
    order = np.argsort(place, kind="stable")
    size = np.bincount(place, minlength=counts.size)
    rank = np.arange(len(labels)) - np.repeat(np.cumsum(size) - size, size)
    leaving = order[rank < np.repeat(np.maximum(-change, 0).ravel(), size)]
    nearest = labels.copy()
    nearest[leaving] = np.repeat(np.tile(np.arange(n_clusters), n_cells), np.maximum(change, 0).ravel())
    return nearest


def penalised(costs: FloatArray, labels: IntArray) -> FloatArray:
    """Point costs (n_samples, n_clusters) at which few moves come first, and the given labels are the cheapest.

    A row that moves pays more than any rearrangement between all clusters can save.
    """
    extra = costs - np.take_along_axis(costs, labels[:, None].astype(np.int64), axis=1)
    extra += 2.0 * (costs.shape[1] + 1) * max(float(abs(extra).max()), np.finfo(float).tiny)
    np.put_along_axis(extra, labels[:, None].astype(np.int64), 0.0, axis=1)
    return extra


def cheapest_labels(oracle: Any, labels: IntArray, counts: IntArray, subproblem: Subproblem) -> IntArray:
    """The cheapest labels found that move no more rows than it takes to ``counts``.

    Parameters
    ----------
    oracle : Rows
        Holds :func:`penalised` costs of these labels; without weights.
    labels, counts : ndarrays of shapes (n_samples,) and (n_clusters, n_cells)
        Where to start, and counts to end at; labels are in the oracle's order.
    """
    moves = MoveCosts(oracle, oracle.described(labels), np.zeros(counts.shape))
    n_moved = people_moved(moves.counts, counts)
    cheaper = programmed_table(priced_flows(moves), counts, subproblem, moves.pairs, GAP).counts
    is_as_good = people_moved(moves.counts, cheaper) <= n_moved and is_feasible(cheaper, subproblem)
    found = [with_counts(moves, table) for table in ([counts, cheaper] if is_as_good else [counts])]
    best: IntArray = min(found, key=lambda one: float(one.cost)).labels
    return best
