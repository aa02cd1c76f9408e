"""Whole counts: tables of people by cluster and cell whose groups are proportional up to one person, and the way there.

Prices make labels nearly proportional; what is left is a matter of whole people. Small linear programs finish it: one
chooses the counts (each group's the floor or the ceiling of its ideal), one per cell moves the cheapest points. With
one attribute both have network matrices, so that HiGHS' vertices are whole numbers, and a table of counts always
exists. With several, every group of every attribute is a sum over cells, and an integer program looks for the table
nearest to the labels; where none is found, each cell is rounded by itself, and the caller says that the goal was
missed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import coo_array, csr_array, kron

from .._sweep.question import DataSweep, HardAnswer
from .._typing import FloatArray, IntArray
from .conditions import Conditions
from .cone import ROUNDING
from .repair import Repaired, repair

_SPARE = 16  # candidates per pair of clusters beyond what could be needed
_MORE = 8  # times as many, where those looked at were too few
_FIRST_CANDIDATES = 512  # points of a cell that are looked at first, those nearest to a tie
_PATIENCE = 20.0  # seconds for the integer program
_GAP = 0.02  # of the fewest moves: near enough
_MOST_NODES = 50  # of the search for counts between bounds: what is not found soon is not there
_MOST_SEARCHES = 6  # in a fit: each may take a second
_WITHIN = 1e-7  # people beyond a bound that are rounding

Rounding = Callable[[DataSweep, Conditions, Any, HardAnswer, FloatArray], Repaired]
"""From labels (with their masses and cost, and the prices behind them) to labels that meet a goal on whole people."""


def exact_rounding(membership: FloatArray) -> Rounding:
    """Labels with exactly proportional counts, at the least cost."""

    def move(sweep: DataSweep, goal: Conditions, labels: Any, hard: HardAnswer, price: FloatArray) -> Repaired:
        if (hard.masses.sum(axis=1) <= 0).any():
            return Repaired(labels, hard)
        counts = rounded_counts(hard.masses, membership)
        return move_to_counts(sweep, labels, hard, counts, price)

    return move


def rounding_between(membership: FloatArray, lower: FloatArray, upper: FloatArray) -> Rounding:
    """Labels with every group's share between its bounds: by single moves; where they get stuck, by a table of counts.

    Few people of a rare group are a share within narrow bounds at some sizes of a cluster only, and single moves lead
    from one such size to the next through others.
    """
    n_searched = 0

    def move(sweep: DataSweep, goal: Conditions, labels: Any, hard: HardAnswer, price: FloatArray) -> Repaired:
        nonlocal n_searched
        fixed = repair(sweep, goal, labels, hard, price)
        if n_searched == _MOST_SEARCHES or not goal.beyond(fixed.hard.masses).any():
            return fixed
        n_searched += 1
        counts = counts_between(fixed.hard.masses, membership, lower, upper)
        return fixed if counts is None else move_to_counts(sweep, fixed.labels, fixed.hard, counts, price)

    return move


def counts_between(
    masses: FloatArray, membership: FloatArray, lower: FloatArray, upper: FloatArray
) -> FloatArray | None:
    """Whole counts by cell with every column's share of its cluster between bounds, few moves from ``masses``.

    Parameters
    ----------
    masses : ndarray of shape (n_clusters, n_cells)
        Counts of some labelling; whole numbers.
    membership : ndarray of shape (n_cells, n_columns)
        What each cell is a member of.
    lower, upper : ndarray of shape (n_columns,)
        Bounds on shares.

    Returns
    -------
    counts : ndarray of shape (n_clusters, n_cells), or None where none were found
        With the totals of ``masses``; no cluster is empty.
    """
    n_cells = masses.shape[1]
    few, many = (csr_array((membership - share).T) for share in (lower, upper))  # people above a bound, by cell
    every = csr_array(np.ones((1, n_cells)))
    return _nearest_counts(
        masses, [(few, -_WITHIN, np.inf), (many, -np.inf, _WITHIN), (every, 1.0, np.inf)], {"node_limit": _MOST_NODES}
    )


def smallest_error(target: FloatArray, size: float) -> float:
    """The least KL(target ‖ shares) of a cluster of so many whole people: given out one by one, where it helps most."""
    wanted = target if target.ndim == 1 else target[0]
    wanted = wanted[wanted > 0]
    n_people = int(size)
    if n_people < len(wanted):
        return np.inf
    counts = np.maximum(np.floor(wanted * (n_people - len(wanted))), 1.0)
    while counts.sum() < n_people:
        counts[(wanted * np.log1p(1.0 / counts)).argmax()] += 1
    return float((wanted * np.log(wanted * counts.sum() / counts)).sum())


def smallest_size(target: FloatArray, limit: float, most: int) -> int:
    """The fewest whole people with KL(target ‖ shares) ≤ limit; ``most`` where fewer do not do."""
    wanted = target if target.ndim == 1 else target[0]
    wanted = wanted[wanted > 0]
    counts = np.ones(len(wanted))
    rest = float((wanted * np.log(wanted)).sum())
    gains = wanted * np.log(2.0)
    for n_people in range(len(wanted), most):
        if rest + np.log(n_people) <= limit:
            return n_people
        best = int(gains.argmax())
        rest -= gains[best]
        counts[best] += 1
        gains[best] = wanted[best] * np.log1p(1.0 / counts[best])
    return most


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
    floor = np.floor(ideal + ROUNDING)
    rest_rows, rest_columns = sizes - floor.sum(axis=1), totals - floor.sum(axis=0)
    clusters, groups = np.nonzero(ideal - floor > ROUNDING)
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


def rounded_counts(masses: FloatArray, membership: FloatArray) -> FloatArray:
    """Whole counts by cell whose groups are the floor or the ceiling of size · total / n_samples.

    Parameters
    ----------
    masses : ndarray of shape (n_clusters, n_cells)
        Counts of some labelling; whole numbers.
    membership : ndarray of shape (n_cells, n_columns)
        What each cell is a member of.

    Returns
    -------
    counts : ndarray of shape (n_clusters, n_cells)
        The same sizes and totals.
    """
    if len(membership) == membership.shape[1] and (membership.sum(axis=1) == 1).all():  # cells are groups
        return proportional_counts(masses)
    found = _nearest_table(masses, membership)
    return proportional_counts(masses) if found is None else found


def is_rounded(masses: FloatArray, membership: FloatArray) -> bool:
    """Whether every group's count is the floor or the ceiling of its share of the cluster."""
    gap = np.abs(masses @ membership - _ideal(masses, membership))
    return bool((gap < 1.0 - ROUNDING).all() or (gap <= ROUNDING).all())


def _ideal(masses: FloatArray, membership: FloatArray) -> FloatArray:
    return np.outer(masses.sum(axis=1), masses.sum(axis=0) @ membership) / masses.sum()


def _nearest_table(masses: FloatArray, membership: FloatArray) -> FloatArray | None:
    """The table that the fewest moves lead to; None: not found."""
    ideal, size = _ideal(masses, membership), masses.sum(axis=1, keepdims=True)
    of_columns = (csr_array(membership.T), np.floor(ideal + ROUNDING), np.ceil(ideal - ROUNDING))
    of_sizes = (csr_array(np.ones((1, masses.shape[1]))), size, size)
    return _nearest_counts(masses, [of_columns, of_sizes], {"time_limit": _PATIENCE})


def _nearest_counts(
    masses: FloatArray, rules: list[tuple[csr_array, Any, Any]], effort: dict[str, float]
) -> FloatArray | None:
    """The table that the fewest moves lead to; a rule bounds sums over a cluster's cells. None: not found."""
    n_clusters, n_cells = masses.shape
    # Unknowns: what enters each place of the table, then what leaves it.
    sign, clusters = np.array([[1.0, -1.0]]), csr_array(np.eye(n_clusters))
    by_cell = kron(sign, kron(csr_array(np.ones((1, n_clusters))), csr_array(np.eye(n_cells))))
    constraints = [LinearConstraint(coo_array(by_cell).tocsr(), 0.0, 0.0)]
    for sums, least, most in rules:
        held = masses @ sums.T
        constraints.append(
            LinearConstraint(
                coo_array(kron(sign, kron(clusters, sums))).tocsr(), (least - held).ravel(), (most - held).ravel()
            )
        )
    found = milp(
        np.ones(2 * masses.size),
        constraints=constraints,
        bounds=Bounds(0.0, np.concatenate((np.full(masses.size, np.inf), masses.ravel()))),
        integrality=np.ones(2 * masses.size),
        options={"mip_rel_gap": _GAP, **effort},
    )
    if found.x is None:
        return None
    enters, leaves = np.round(found.x).reshape(2, n_clusters, n_cells)
    counts: FloatArray = masses + enters - leaves
    return counts


def move_to_counts(sweep: DataSweep, labels: Any, hard: HardAnswer, counts: FloatArray, price: FloatArray) -> Repaired:
    """Change labels at the least cost so that the counts are met.

    Parameters
    ----------
    sweep : DataSweep
        With the point costs; points can be moved, and weigh 1.
    labels : ndarray of shape (n_samples,), IN/OUT
        In visiting order.
    hard : HardAnswer
        Their masses and cost.
    counts : ndarray of shape (n_clusters, n_cells)
        Whole numbers that add up to the cells' totals.
    price : ndarray of shape (n_clusters, n_cells)
        Prices behind the labels: points near a tie are looked at first.
    """
    moves: dict[int, int] = {}
    cost = hard.cost
    for cell in range(sweep.n_cells):
        surplus = np.round(hard.masses[:, cell] - counts[:, cell])
        if not surplus.any():
            continue
        members, costs = sweep.costs_of_cell(cell)
        own = labels[members]
        reduced = costs + price[:, cell]
        best = np.partition(reduced, 1, axis=1)[:, :2] if costs.shape[1] > 1 else reduced
        nearness = np.argsort(best[:, -1] - best[:, 0], kind="stable")
        n_wanted = _FIRST_CANDIDATES // _MORE
        found = None
        while found is None:
            n_wanted = min(n_wanted * _MORE, len(members))
            near = nearness[:n_wanted]
            found = _cheapest_moves(costs[near].astype(float), own[near], surplus)
            if found is None and n_wanted == len(members):
                raise AssertionError("no moves reach counts that add up to the cell's total")
        points, destinations = found
        cost += float((costs[near[points], destinations] - costs[near[points], own[near[points]]]).sum())
        moves.update(zip(members[near[points]].tolist(), destinations.tolist(), strict=True))
    return Repaired(sweep.move_points(labels, moves), HardAnswer(counts, cost, hard.gap))


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
    price = extra[point, goes_to]
    price = np.ldexp(price, -int(np.frexp(abs(price).max())[1]))  # about 1: HiGHS takes 1e20 for infinite
    found = linprog(
        price, A_ub=once, b_ub=np.ones(len(used)), A_eq=balance, b_eq=surplus,
        bounds=(0, 1), method="highs-ds",
    )  # fmt: skip
    if found.status != 0:
        return None
    chosen = found.x > 0.5
    return point[chosen], goes_to[chosen]
