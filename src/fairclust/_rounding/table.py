"""Whole counts (clusters × cells) that satisfy all hard terms, near the masses of the dual."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._dual.subproblem import Subproblem
from .._typing import FloatArray, IntArray
from .compositions import one_by_one
from .moves import FreeMoves, MoveCosts
from .program import Flows, Needs, cheapest_table, counted_flows

LEAST = 1e-9  # people: a violation that falls by less does not fall
EMPTY = 100.0  # people that an empty cluster counts for: one alone is outside by fewer, log(1/1e-20) and less
RARE = 100  # people of a cell per cluster: of more, one is less than the margin of a goal, 1 %
GAP = 0.05  # of what moves cost: prices by decades are no better known


class Table(NamedTuple):
    """Whole counts, and a bound: no feasible table costs less; infinity: proved that none is feasible."""

    counts: IntArray
    bound: float


def whole_table(
    masses: FloatArray, cell_totals: FloatArray, subproblem: Subproblem, moves: MoveCosts | FreeMoves
) -> IntArray:
    """Whole counts with these totals, feasible if such are found; no cluster is empty.

    1. The masses rounded by largest remainders, and few changes of one person or two.
    2. A few clusters after the others, by tiny integer programs, at prices of real moves.
    3. The integer program over the whole table for the fewest moves.

    Parameters
    ----------
    masses : ndarray of shape (n_clusters, n_cells)
        Of the dual's solution.
    moves : MoveCosts
        Of labels at the same prices.

    Returns
    -------
    counts : ndarray of shape (n_clusters, n_cells)
        Where none are found to be feasible, counts with few people outside the terms: ask ``subproblem.violation``.
    """
    counts = nearby_table(masses, cell_totals, subproblem, moves)
    if counts is not None:
        return counts
    flows, rounded = counted_flows(moves.counts), largest_remainders(masses, cell_totals)
    counts = repaired(rounded, subproblem, moves.pairs)
    return programmed_table(flows, counts, subproblem, moves.pairs, GAP).counts


def nearby_table(
    masses: FloatArray,
    cell_totals: FloatArray,
    subproblem: Subproblem,
    moves: MoveCosts | FreeMoves,
    least: Needs | None = None,
) -> IntArray | None:
    """The first two of these ways; None: they lead to no feasible table."""
    rounded = largest_remainders(masses, cell_totals)
    if is_feasible(rounded, subproblem):
        return rounded
    changed = repaired(rounded, subproblem, moves.pairs)
    if is_feasible(changed, subproblem):
        return changed
    found = one_by_one(masses, cell_totals, subproblem, moves, least)
    return found if found is not None and is_feasible(found, subproblem) else None


def has_table_near(masses: FloatArray, cell_totals: FloatArray, subproblem: Subproblem) -> bool:
    """Whether rounding these masses and few changes lead to a feasible table, whatever people cost."""
    rounded = largest_remainders(masses, cell_totals)
    return is_feasible(repaired(rounded, subproblem, FreeMoves(rounded).pairs), subproblem)


def programmed_table(flows: Flows, counts: IntArray, subproblem: Subproblem, price: FloatArray, gap: float) -> Table:
    """The cheapest table, up to a relative gap, that is found; ``counts`` if none is.

    First only rare cells are whole: between those, the others are nearly a network, and rounding them leaves little to
    repair. Where it leaves too much, all cells are.
    """
    totals = flows.start.sum(axis=0)
    is_rare, bound = totals < RARE * len(flows.start), 0.0
    for is_whole in (is_rare, np.ones_like(is_rare)):
        plan = cheapest_table(flows, subproblem, is_whole, gap)
        if plan is None:
            return Table(counts, np.inf)
        bound = plan.bound
        if plan.counts is None:
            continue
        found = repaired(largest_remainders(plan.counts, totals), subproblem, price)
        if is_feasible(found, subproblem):
            return Table(found, bound)
    return Table(counts, bound)


def largest_remainders(masses: FloatArray, totals: FloatArray) -> IntArray:
    """Masses rounded down or, in each cell, up: those with the largest remainders, to its total."""
    counts = np.floor(masses + LEAST).astype(np.int64)
    rest = np.round(totals).astype(np.int64) - counts.sum(axis=0)
    rank = (counts - masses).argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
    counts += rank < rest
    more = np.round(totals).astype(np.int64) - counts.sum(axis=0)  # masses that do not add up to the totals
    every = np.arange(counts.shape[1])
    np.add.at(counts, (counts.argmax(axis=0), every), more)
    return counts


def repaired(counts: IntArray, subproblem: Subproblem, price: FloatArray) -> IntArray:
    """Counts after changes that lower the violation, each at the least price per person of it.

    A change is a move of a person between two clusters, at a price (n_cells, from, to), or a swap of two. There are at
    most as many as counts, about what rounding can leave. It may end outside the terms, where only more people together
    would help.
    """
    counts = counts.copy()
    n_clusters, n_cells = counts.shape
    price = np.concatenate([price, np.zeros((1, n_clusters, n_clusters))])  # of nobody
    person = np.eye(n_cells + 1, n_cells, dtype=np.int64)

    def judged(clusters: IntArray) -> FloatArray:
        return exchanges(counts, clusters, lambda rows, owners: violation(subproblem, rows, owners))

    now = violation(subproblem, counts)
    if not now.any():
        return counts
    after = judged(np.arange(n_clusters))
    for _ in range(counts.size):
        now = after[:, -1, -1]
        farthest_first = np.argsort(-now, kind="stable")[: np.count_nonzero(now)]
        change = next(filter(None, (best_change(k, after, price) for k in farthest_first)), None)
        if change is None:
            break
        pair, a, b = change
        counts[pair] += np.array([person[b] - person[a], person[a] - person[b]])
        after[pair] = judged(pair)
    return counts


def settled(counts: IntArray, subproblem: Subproblem, price: FloatArray) -> IntArray:
    """Counts after moves of single persons that lower the value of soft terms by more than the moves cost.

    A cluster that lacks a group pays for it like for nothing else: one person decides.
    """
    counts = counts.copy()
    n_clusters, n_cells = counts.shape
    person = np.eye(n_cells, dtype=np.int64)
    for _ in range(counts.size):
        alone = exchanges(counts, np.arange(n_clusters), lambda rows, owners: soft_value(subproblem, rows, owners))
        now = alone[:, -1, -1]
        leaves, comes = alone[:, :-1, -1] - now[:, None], alone[:, -1, :-1] - now[:, None]
        change = leaves.T[:, :, None] + comes.T[:, None, :] + price  # (cell, from, to)
        change[:, np.arange(n_clusters), np.arange(n_clusters)] = np.inf
        cell, source, target = np.unravel_index(change.argmin(), change.shape)
        if not change[cell, source, target] < -LEAST * abs(now).sum():
            break
        counts[[source, target]] += np.array([-person[cell], person[cell]])
    return counts


def soft_value(subproblem: Subproblem, rows: IntArray, clusters: IntArray) -> FloatArray:
    """What rows of counts cost; infinity where a cluster is empty or outside hard terms."""
    rows = np.maximum(rows, 0)
    is_outside = (subproblem.violation(rows, clusters) > 0) | ~rows.any(axis=1)
    return np.where(is_outside, np.inf, subproblem.value(rows, clusters))


def best_change(k: int, after: FloatArray, price: FloatArray) -> tuple[IntArray, int, int] | None:
    """Clusters (k, l), cells a, b: k gives l a person of a and takes one of b. None: none helps."""
    now = after[:, -1, -1]
    fall = now[k] - after[k] + now[:, None, None] - after.swapaxes(1, 2)  # (l, a, b)
    fall[k] = 0.0
    cost = price[:, k].T[:, :, None] + price[:, :, k].T[:, None, :]
    other, a, b = np.nonzero((fall > LEAST) & np.isfinite(cost))
    if not len(other):
        return None
    cost, fall = cost[other, a, b], fall[other, a, b]
    best = np.where(cost > 0, cost / fall, cost * fall).argmin()
    return np.array([k, other[best]]), int(a[best]), int(b[best])


def is_feasible(counts: IntArray, subproblem: Subproblem) -> bool:
    """Whether counts satisfy all hard terms and no cluster is empty."""
    return not violation(subproblem, counts).any()


def violation(subproblem: Subproblem, rows: FloatArray, clusters: IntArray | None = None) -> FloatArray:
    """People too many or too few in each row of counts; an empty cluster is worse than any one person in it."""
    clusters = np.arange(len(rows)) if clusters is None else clusters
    return subproblem.violation(rows, clusters) + EMPTY * (rows.sum(axis=1) == 0)


def exchanges(counts: IntArray, clusters: IntArray, judge: Callable[[IntArray, IntArray], FloatArray]) -> FloatArray:
    """What ``judge`` says of each cluster after a person of cell a left and one of b came, (clusters, a, b).

    The last index is nobody, so that a move is a swap with nobody; infinity where there is no person of a.
    """
    n_cells = counts.shape[1]
    person = np.eye(n_cells + 1, n_cells, dtype=np.int64)
    rows = counts[clusters, None, None] - person[:, None] + person
    shape = rows.shape[:3]
    judged = judge(rows.reshape(-1, n_cells), np.repeat(clusters, shape[1] * shape[2])).reshape(shape)
    judged[:, :-1][counts[clusters] == 0] = np.inf
    return judged
