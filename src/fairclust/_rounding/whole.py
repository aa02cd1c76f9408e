"""From prices to whole people: a table of counts, then the cheapest labels that have them."""

from __future__ import annotations

import numpy as np

from .._dual.oracle import Assignment
from .._dual.solver import Solution
from .._dual.subproblem import Subproblem
from .moves import MoveCosts, Rows
from .table import is_feasible, settled, whole_table
from .transport import with_counts
from .weighted import with_moves


def whole_labels(oracle: Rows, solution: Solution, subproblem: Subproblem, least_gain: float) -> Assignment:
    """Labels near the solution in cost whose counts satisfy the hard terms, where that is possible.

    Where all terms are soft, labels are argmin of costs + prices, unless others lower the energy by more than
    ``least_gain`` of it: rows that are alike go to one cluster by their prices, and may belong into several.
    """
    if oracle.is_weighted and not subproblem.has_soft_terms:
        shared = oracle.assign(solution.prices, split=1.0 / solution.temperature if subproblem.terms else 0.0)
        return with_moves(oracle, shared, subproblem)
    assigned = oracle.assign(solution.prices)
    if oracle.is_weighted:
        return assigned
    counts = np.round(assigned.masses).astype(np.int64)
    is_fine = is_feasible(counts, subproblem)
    if is_fine and (not subproblem.terms or subproblem.has_soft_terms):
        energy = assigned.cost + float(subproblem.value(assigned.masses).sum())
        fractional = solution.value + subproblem.correction(solution.masses, solution.theta)
        if not subproblem.terms or energy - fractional <= least_gain * abs(energy):
            return assigned
    masses = solution.masses if subproblem.terms else assigned.masses
    moves = MoveCosts(oracle, assigned, solution.prices)
    table = whole_table(masses, oracle.cell_totals, subproblem, moves)
    if subproblem.has_soft_terms:
        table = settled(table, subproblem, moves.pairs)
    split = with_counts(moves, table)
    if not is_fine or not subproblem.has_soft_terms:
        return split
    after = split.cost + float(subproblem.value(split.masses).sum())
    return split if after < energy - least_gain * abs(energy) else assigned
