"""Rows with weights: counts say nothing, so single rows near a tie are moved until the hard terms hold."""

from __future__ import annotations

import numpy as np

from .._dual.oracle import Assignment
from .._dual.subproblem import Subproblem
from .._typing import FloatArray
from .moves import Rows, kinds_of_moves

CANDIDATES = 8  # rows of each kind of move
MAX_MOVES = 1000  # of single rows
LEAST = 1e-12  # of the weight: a violation that falls by less does not fall


def with_moves(oracle: Rows, assigned: Assignment, subproblem: Subproblem) -> Assignment:
    """Labels after moves that lower the violation, each at the least cost per weight of it.

    Labels that share out rows near a tie hold the terms nearly: what is left is the weight of a few rows. No cluster is
    left without weight.
    """
    masses, cost = assigned.masses.copy(), assigned.cost
    violation = _violation(masses, subproblem)
    least = LEAST * float(masses.sum())
    kinds = kinds_of_moves(masses > 0)
    if violation.sum() <= least or not len(kinds):
        return assigned
    found = oracle.cheapest_moves(assigned.labels, kinds, CANDIDATES)
    weight, is_left = oracle.weights_of(found.row), np.ones(len(found.row), dtype=bool)
    cell, source, target = kinds[found.kind].T
    moved: dict[int, int] = {}
    for _ in range(MAX_MOVES):
        helps = is_left & ((violation[source] > 0) | (violation[target] > 0))
        which = np.flatnonzero(helps & (masses[source, cell] >= weight))
        if violation.sum() <= least or not len(which):
            break
        fall = _falls(masses, subproblem, violation, (cell[which], source[which], target[which]), weight[which])
        price = found.extra[which] * weight[which]
        is_better = fall > least
        if not is_better.any():
            break
        which, fall, price = which[is_better], fall[is_better], price[is_better]
        best = int(which[np.where(price > 0, price / fall, price * fall).argmin()])
        pair = [source[best], target[best]]
        masses[pair, cell[best]] += (-weight[best], weight[best])
        violation[pair] = _violation(masses[pair], subproblem, np.array(pair))
        cost += float(found.extra[best] * weight[best])
        moved[int(found.row[best])] = int(target[best])
        is_left &= found.row != found.row[best]
    rows, clusters = np.array(list(moved), dtype=np.int64), np.array(list(moved.values()), dtype=np.int64)
    return Assignment(oracle.moved(assigned.labels, rows, clusters), masses, cost)


def _falls(
    masses: FloatArray,
    subproblem: Subproblem,
    violation: FloatArray,
    moves: tuple[FloatArray, FloatArray, FloatArray],
    weight: FloatArray,
) -> FloatArray:
    """By how much each move lowers the violation of its two clusters."""
    cell, source, target = moves
    every = np.arange(len(cell))
    left, come = masses[source], masses[target]
    left[every, cell] -= weight
    come[every, cell] += weight
    after = _violation(left, subproblem, source) + _violation(come, subproblem, target)
    fall: FloatArray = violation[source] + violation[target] - after
    return fall


def _violation(masses: FloatArray, subproblem: Subproblem, clusters: FloatArray | None = None) -> FloatArray:
    """Weight outside the terms; a cluster without any is farther outside than all of it."""
    clusters = np.arange(len(masses)) if clusters is None else clusters
    masses = np.maximum(masses, 0.0)
    total = float(masses.sum())
    return subproblem.violation(masses, clusters) + np.where(masses.sum(axis=1) <= 0, total, 0.0)
