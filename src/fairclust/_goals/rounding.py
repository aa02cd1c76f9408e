"""Exact proportions: few points change clusters so that every group's count is what its share asks for, rounded.

Prices make labels nearly proportional; what is left is a matter of whole points. Two small linear programs finish it:
one chooses the counts (each the floor or the ceiling of its ideal), one per group moves the cheapest points. Both have
network matrices, so that HiGHS' vertices are whole numbers.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from .._sweep.memory import InMemorySweep
from .._typing import FloatArray, IntArray

_SPARE = 16  # candidates per pair of clusters beyond what could be needed


def proportional_counts(masses: FloatArray) -> FloatArray:
    """Whole counts nearest to proportional ones, for the cluster sizes and group totals of ``masses``.

    Parameters
    ----------
    masses : ndarray of shape (n_clusters, n_groups)
        Counts of some labelling; whole numbers.

    Returns
    -------
    counts : ndarray of shape (n_clusters, n_groups)
        The same sizes and totals; every count is the floor or the ceiling of size · total / n_samples. Such a table
        always exists.
    """
    sizes, totals = masses.sum(axis=1), masses.sum(axis=0)
    ideal = np.outer(sizes, totals) / masses.sum()
    floor = np.floor(ideal + 1e-9)
    rest_rows, rest_columns = sizes - floor.sum(axis=1), totals - floor.sum(axis=0)
    clusters, groups = np.nonzero(ideal - floor > 1e-9)
    if not len(clusters):
        return floor
    n_clusters, n_groups = masses.shape
    n = len(clusters)
    rows = np.concatenate((clusters, n_clusters + groups))
    matrix = csr_array((np.ones(2 * n), (rows, np.tile(np.arange(n), 2))), shape=(n_clusters + n_groups, n))
    # Prefer to round up where the labels have more already.
    gain = (masses - ideal)[clusters, groups]
    found = linprog(
        -gain, A_eq=matrix, b_eq=np.concatenate((rest_rows, rest_columns)), bounds=(0, 1), method="highs-ds"
    )
    counts = floor.copy()
    counts[clusters, groups] += np.round(found.x)
    return counts


def move_to_counts(sweep: InMemorySweep, price: FloatArray, counts: FloatArray) -> IntArray:
    """Labels argmin(a + price), changed at the least cost so that the counts are met.

    Parameters
    ----------
    sweep : InMemorySweep
        With the point costs; unit weights.
    price : ndarray of shape (n_clusters, n_groups)
        Prices whose labels are near the counts.
    counts : ndarray of shape (n_clusters, n_groups)
        Whole numbers that add up to the group totals.

    Returns
    -------
    labels : ndarray of shape (n_samples,), in visiting order
    """
    gaps = np.empty(sweep.layout.n_samples, dtype=np.float32)
    masses = sweep.assign(price, gaps).masses
    labels = sweep.labels.copy()
    for group in range(sweep.n_cells):
        surplus = np.round(masses[:, group] - counts[:, group])
        members = np.flatnonzero(sweep.layout.cells == group)
        n_wanted = 64
        while surplus.any():
            n_wanted = min(n_wanted * 8, len(members))
            near = members[np.argpartition(gaps[members], n_wanted - 1)[:n_wanted]]
            moves = _cheapest_moves(sweep.cost_rows(near) + price[:, group], labels[near], surplus)
            if moves is not None:
                points, destinations = moves
                labels[near[points]] = destinations
                break
            if n_wanted == len(members):
                raise AssertionError("no moves reach counts that add up to the group's total")
    return labels


def _cheapest_moves(costs: FloatArray, labels: IntArray, surplus: FloatArray) -> tuple[IntArray, IntArray] | None:
    """The cheapest moves that take ``surplus`` away from each cluster, among these points; None: too few points."""
    n_clusters = len(surplus)
    most = int(surplus[surplus > 0].sum()) * 2 + _SPARE
    extra = costs - costs[np.arange(len(labels)), labels][:, None]
    pairs: list[tuple[IntArray, IntArray]] = []
    for source in range(n_clusters):
        own = np.flatnonzero(labels == source)
        for destination in range(n_clusters):
            if destination == source or not len(own):
                continue
            cheapest = own[np.argsort(extra[own, destination], kind="stable")[:most]]
            pairs.append((cheapest, np.full(len(cheapest), destination)))
    point = np.concatenate([points for points, _ in pairs])
    goes_to = np.concatenate([destinations for _, destinations in pairs])
    n = len(point)
    used, row_of_point = np.unique(point, return_inverse=True)
    # A move takes one from its source and gives one to its destination; a point moves at most once.
    sides = np.concatenate((labels[point], goes_to))
    signs = np.concatenate((np.ones(n), -np.ones(n)))
    balance = csr_array((signs, (sides, np.tile(np.arange(n), 2))), shape=(n_clusters, n))
    once = csr_array((np.ones(n), (row_of_point, np.arange(n))), shape=(len(used), n))
    found = linprog(
        extra[point, goes_to], A_ub=once, b_ub=np.ones(len(used)), A_eq=balance, b_eq=surplus,
        bounds=(0, 1), method="highs-ds",
    )  # fmt: skip
    if found.status != 0:
        return None
    chosen = found.x > 0.5
    return point[chosen], goes_to[chosen]
