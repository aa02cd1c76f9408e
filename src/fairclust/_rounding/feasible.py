"""Why no clustering can satisfy the hard terms: told before fitting, from the cells' totals."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._dual.subproblem import Subproblem
from .._typing import FloatArray, IntArray
from .moves import FreeMoves
from .program import Needs, counted_flows, needs
from .table import has_table_near, is_feasible, largest_remainders, nearby_table, programmed_table

ANY = 1e9  # relative gap at which every feasible table is good enough
NOT_PROVED = " (Not proved: the search ended at its limit.)"


class Obstacle(NamedTuple):
    """What stands in the way."""

    sentence: str
    largest_k: int  # the most clusters for which a feasible table was found; 0: none


def obstacle(
    subproblem: Subproblem, cell_totals: FloatArray, n_clusters: int, names: Sequence[str] | None = None
) -> Obstacle | None:
    """Why people of these cells (C,) cannot be split into clusters that satisfy all hard terms.

    First what whole people need: the smallest feasible clusters, and the groups in each of them,
    must fit into the data. Then the table: an even split, whole, or the integer program.
    That also tells goals that are stricter than the data: where terms judge shares, feasible
    clusters add up to a feasible whole. None: nothing stands in the way.

    Parameters
    ----------
    names : sequence of str or None
        Names of the groups, in the order of the terms' columns.
    """
    if has_table_near(np.tile(cell_totals / n_clusters, (n_clusters, 1)), cell_totals, subproblem):
        return None
    least = needs(subproblem, cell_totals, n_clusters)
    names = names or [str(j) for j in range(least.weights.shape[1] - 1)]
    reason = _need_beyond_data(least, cell_totals, names) or _no_table(subproblem, cell_totals, n_clusters, least)
    if not reason:
        return None
    # Where terms judge shares two feasible clusters make one, so what does for k does for k − 1.
    fit_in = cell_totals @ least.weights // np.maximum(least.least.max(axis=0), 1)
    fewer = range(1, int(min(fit_in.min(), n_clusters - 1)) + 1)
    largest = bisect_left(fewer, True, key=lambda k: split(subproblem, cell_totals, k, least) is None)
    is_proved = largest == len(fewer) and NOT_PROVED not in reason
    advice = f"{'At most' if is_proved else 'About'} {largest} would do."
    return Obstacle(f"{reason} {advice if largest else 'Fewer would not do either.'}", largest)


def split(subproblem: Subproblem, cell_totals: FloatArray, n_clusters: int, least: Needs) -> IntArray | None:
    """A feasible table (K, C): an even split, repaired, or one by one at no cost; None: not found."""
    even = np.tile(cell_totals / n_clusters, (n_clusters, 1))
    return nearby_table(even, cell_totals, subproblem, FreeMoves(even), least.of(n_clusters))


def _need_beyond_data(least: Needs, cell_totals: FloatArray, names: Sequence[str]) -> str:
    """The first need of whole people that the data do not cover."""
    n_clusters = len(least.least)
    who = ["people", *(f"of group {name}" for name in names)]
    for needed, there, counted in zip(least.least.T, cell_totals @ least.weights, who, strict=True):
        if np.isinf(needed).any():
            k = np.isinf(needed).argmax()
            return f"No choice of these {there:,.0f} people makes up cluster {k} as it must be."
        if needed.sum() > there:
            return (
                f"A cluster that meets the goal has at least {needed.max():,.0f} {counted}: "
                f"{n_clusters} clusters need {needed.sum():,.0f}, and there are {there:,.0f}."
            )
    return ""


def _no_table(subproblem: Subproblem, cell_totals: FloatArray, n_clusters: int, least: Needs) -> str:
    """Why no feasible table was found; where no split is, by the integer program."""
    if split(subproblem, cell_totals, n_clusters, least) is not None:
        return ""
    even = np.tile(cell_totals / n_clusters, (n_clusters, 1))
    counts = largest_remainders(even, cell_totals)
    each = FreeMoves(counts).pairs
    table = programmed_table(counted_flows(counts), counts, subproblem, each, ANY)
    if is_feasible(table.counts, subproblem):
        return ""
    outside = float(subproblem.violation(even, np.arange(n_clusters)).sum())
    return (
        f"{cell_totals.sum():,.0f} people cannot be split into {n_clusters} clusters that meet the "
        + (f"goal: spread evenly, they miss it by {outside:,.1f}." if outside > 0 else "goal.")
        + ("" if np.isinf(table.bound) else NOT_PROVED)
    )
