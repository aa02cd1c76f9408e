"""Whole counts from masses, a few clusters at a time: the others have what is left.

At optimal prices the cost of a table falls into one part per cluster, −⟨prices, counts⟩ plus what those cost who come
or go, and no part is below that of the masses. So the smallest clusters can choose first, each few by a tiny integer
program. What they leave is feasible for the others together: it satisfies their terms added up. The last ones, the
largest, take all of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from .._dual.subproblem import Subproblem
from .._typing import FloatArray, IntArray
from .moves import FreeMoves, MoveCosts, steps_of
from .program import Needs, needs

COUNTS = 24  # in one program, so many clusters at a time: more take longer
GAP = 1e-5  # of the cost of all labels, in each program
MAX_NODES = 200  # of branch and bound, in each program
MAX_CUTS = 30  # programs for the same clusters, where terms are curved
WHOLE = 1e-5  # people: what HiGHS takes for a whole count is no farther from one


class Block(NamedTuple):
    """``lower <= matrix @ counts <= upper``: terms of one cluster, or of several together."""

    matrix: FloatArray  # (R, C); sparse for clusters side by side
    lower: FloatArray  # (R,)
    upper: FloatArray  # (R,)


class Choice(NamedTuple):
    """What a few clusters choose from."""

    now: FloatArray  # (B,): the clusters
    target: FloatArray  # (B, C): their masses, scaled to what is left
    left: FloatArray  # (C,): people whom no cluster has yet
    others: Block  # what those satisfy whom they leave


def one_by_one(
    masses: FloatArray,
    totals: FloatArray,
    subproblem: Subproblem,
    moves: MoveCosts | FreeMoves,
    least: Needs | None = None,
) -> IntArray | None:
    """Whole counts near masses, with these totals, in all terms; None: not found.

    Parameters
    ----------
    least : Needs or None
        What clusters hold at least, where that is known.
    """
    n_clusters, n_cells = masses.shape
    largest_first = np.argsort(-masses.sum(axis=1), kind="stable")
    least = needs(subproblem, totals, n_clusters) if least is None else least
    blocks = [_block(subproblem, totals / n_clusters, k) for k in range(n_clusters)]
    needed = [_at_least(people, least.weights) for people in least.least]
    blocks = [_stacked(*pair) for pair in zip(blocks, needed, strict=True)]
    left, counts = totals.astype(float), np.zeros(masses.shape, dtype=int)
    n_now = max(COUNTS // n_cells, 1)
    for start in reversed(range(0, n_clusters, n_now)):
        now, rest = largest_first[start : start + n_now], largest_first[:start]
        scale = left / np.maximum(masses[now].sum(axis=0) + masses[rest].sum(axis=0), WHOLE)
        target = np.minimum(masses[now] * scale, left)
        choice = Choice(now, target, left, _together([blocks[k] for k in rest], n_cells))
        found = _compositions(choice, [blocks[k] for k in now], subproblem, moves)
        if found is None:
            return None
        counts[now], left = found, left - found.sum(axis=0)
    return counts


def _compositions(
    choice: Choice, blocks: list[Block], subproblem: Subproblem, moves: MoveCosts | FreeMoves
) -> FloatArray | None:
    """The cheapest whole compositions (B, C); None: not found.

    Only counts of groups and sizes have to be integers: between these, the cells of two attributes
    are a network. Where cells come out as fractions all the same, they have to be integers too.
    """
    groups = np.column_stack([np.ones(len(choice.left)), *subproblem.memberships])
    counts, is_whole = np.zeros(choice.target.shape, dtype=int), False
    for _ in range(MAX_CUTS):
        found, before = _solve(choice, _side_by_side(blocks), groups, moves, is_whole), counts
        if found is None:
            return None
        counts = np.round(found).astype(int)
        if abs(found - counts).max() > WHOLE and not is_whole:
            is_whole = True
        elif (counts == before).all() or not subproblem.violation(counts, choice.now).any():
            return counts
        else:
            cuts = [_block(subproblem, row, k) for row, k in zip(counts, choice.now, strict=True)]
            blocks = [_stacked(*pair) for pair in zip(blocks, cuts, strict=True)]
    return None


def _solve(
    choice: Choice, terms: Block, groups: FloatArray, moves: MoveCosts | FreeMoves, is_whole: bool
) -> FloatArray | None:
    """The program by HiGHS. Unknowns: counts; counts of groups and sizes; steps from the target.

    Costs are linear between whole counts: the first step goes from the one below the target to the
    one above. The last unknown is 1: it adds the cost of all labels, to which the gap is relative.
    """
    now, target, left, others = choice
    n_now, n_counts, n_groups = len(now), target.size, len(now) * groups.shape[1]
    below = np.floor(target)
    above, enter, leave = (target - below)[..., None], moves.enter[now], moves.leave[now]
    first = (1.0 - above) * enter[..., :1] - above * leave[..., :1]
    steps = np.concatenate([first, np.maximum(enter, first), leave], axis=2)
    more, width = enter.shape[2], steps_of(enter.shape[2], left.sum())
    way = np.repeat([1.0, -1.0], [more + 1, more])[None]

    each, cells = sparse.eye_array(n_now), sparse.eye_array(n_counts)
    taken = sparse.csr_array(np.tile(np.eye(len(left)), n_now))
    matrix = sparse.block_array(
        [
            [cells, None, -sparse.kron(cells, way), sparse.csr_array((n_counts, 1))],
            [sparse.kron(each, groups.T), -sparse.eye_array(n_groups), None, None],
            [terms.matrix, None, None, None],
            [others.matrix @ taken, None, None, None],
        ],
        format="csr",
    )
    start, there = np.append(below, np.zeros(n_groups)), others.matrix @ left
    lower = np.concatenate([start, terms.lower, there - others.upper])
    upper = np.concatenate([start, terms.upper, there - others.lower])
    someone = np.tile(np.eye(1, groups.shape[1])[0], n_now)  # no cluster is empty
    least = np.concatenate([np.zeros(n_counts), someone, np.zeros(steps.size), [1.0]])
    most = np.append(np.tile(left, n_now), np.tile(left @ groups, n_now))
    most = np.concatenate([most, np.tile([1.0, *width, *width], n_counts), [1.0]])
    is_integer = np.repeat([float(is_whole), 1.0, 0.0], [n_counts, n_groups, steps.size + 1])
    prices = np.concatenate([-moves.prices[now].ravel(), np.zeros(n_groups), steps.ravel()])
    found = milp(
        np.append(prices, moves.cost),
        constraints=LinearConstraint(matrix, lower, upper),
        bounds=Bounds(least, most),
        integrality=is_integer,
        options={"node_limit": MAX_NODES, "mip_rel_gap": GAP},
    )
    return None if found.x is None else found.x[:n_counts].reshape(target.shape)


def _block(subproblem: Subproblem, composition: FloatArray, k: int) -> Block:
    """The terms of cluster k; of curved ones, hyperplanes at a composition (C,)."""
    rows = subproblem.rows(composition[None], np.array([k]))
    return Block(rows.matrix.toarray(), rows.lower, rows.upper)


def _at_least(people: FloatArray, weights: FloatArray) -> Block:
    """The fewest of everyone and each group: others that are whole need more than their terms."""
    return Block(weights.T, people, np.full(len(people), np.inf))


def _together(blocks: list[Block], n_cells: int) -> Block:
    """What the sum of clusters satisfies, by the sum of their bounds; nobody is left for none."""
    if not blocks:
        return Block(np.eye(n_cells), np.zeros(n_cells), np.zeros(n_cells))
    matrix = np.mean([b.matrix for b in blocks], axis=0)  # of clusters that are alike: the same
    lower, upper = (np.sum(bounds, axis=0) for bounds in list(zip(*blocks, strict=True))[1:])
    someone = np.vstack([np.eye(n_cells), np.ones(n_cells)])
    there = Block(someone, np.append(np.zeros(n_cells), len(blocks)), np.full(n_cells + 1, np.inf))
    return _stacked(Block(matrix, lower, upper), there)


def _stacked(first: Block, second: Block) -> Block:
    """The rows of both."""
    return Block(*(np.concatenate(parts) for parts in zip(first, second, strict=True)))


def _side_by_side(blocks: list[Block]) -> Block:
    """The rows of clusters side by side."""
    matrix = sparse.block_diag([b.matrix for b in blocks], format="csr")
    return Block(matrix, *(np.concatenate(parts) for parts in list(zip(*blocks, strict=True))[1:]))
