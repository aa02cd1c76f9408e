"""The integer program over a table of counts: the cheapest moves of people to a feasible table.

Unknowns are the counts and the flows of people between clusters; no row of the data is one. Between whole counts the
flows are a network, whose vertices are whole, so only counts need to be integers. Terms give linear rows; of a curved
set they give supporting hyperplanes, and more of them where a solution is outside (Kelley's cutting planes). Every
solution is then the optimum over a larger set, and its bound a bound for the set itself.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from .._dual.subproblem import Subproblem
from .._dual.terms import Rows
from .._typing import FloatArray, IntArray
from .moves import FreeMoves, MoveCosts, steps_of

MAX_WORK = 300_000  # nodes of branch and bound × unknowns; not seconds, so that results repeat
MAX_CUTS = 30  # rounds of cutting planes: a digit takes about three, and every round gives a bound
MAX_NEEDS = 8  # the same for what one cluster holds at least: a bound after any of them
MAX_WHOLE = 2  # the same with branch and bound in each: moves and swaps repair what they leave
NEAR = 0.01  # people by which fractional counts may be outside a hyperplane
ROUNDING = 1e-6  # the same for whole counts: the tolerance of HiGHS
INFEASIBLE = 2  # status of SciPy's milp


class Flows(NamedTuple):
    """Edges over which people of a cell move between clusters; cluster K is a hub between edges.

    Attributes
    ----------
    start : ndarray of shape (n_clusters, n_cells)
        Counts to start from.
    cell, source, target : ndarray of shape (n_edges,)
    price : ndarray of shape (n_edges,)
        Per person.
    capacity : ndarray of shape (n_edges,)
        People.
    """

    start: IntArray
    cell: IntArray
    source: IntArray
    target: IntArray
    price: FloatArray
    capacity: FloatArray


class Plan(NamedTuple):
    """Counts (None: no whole counts were found within the limits), and a bound: no feasible table costs less."""

    counts: FloatArray | None
    bound: float


class Needs(NamedTuple):
    """What every cluster of whole people holds at least.

    Attributes
    ----------
    weights : ndarray of shape (n_cells, n_counted)
        Who counts: first everyone, then each group.
    least : ndarray of shape (n_clusters, n_counted)
        People; infinity: no choice of people satisfies the cluster's terms.
    """

    weights: FloatArray
    least: FloatArray

    def of(self, n_clusters: int) -> Needs:
        """The needs of the first clusters."""
        return Needs(self.weights, self.least[:n_clusters])

    @property
    def rows(self) -> Rows:
        """The same as rows of a table: they cut off fractions of people, far from whole tables."""
        least = self.least.ravel()
        matrix = sparse.kron(sparse.eye_array(len(self.least)), self.weights.T, format="csr")
        return Rows(matrix, least, np.full(len(least), np.inf))


def priced_flows(moves: MoveCosts | FreeMoves) -> Flows:
    """Who moves pays the price that they leave, less the one they come to, and a reduced cost."""
    return flows(moves.counts, moves.prices, moves.enter - moves.prices[..., None])


def counted_flows(start: IntArray) -> Flows:
    """Everyone who leaves a cluster costs 1, wherever they go."""
    return flows(start, np.ones(start.shape), np.zeros((*start.shape, 1)))


def flows(start: IntArray, leave: FloatArray, enter: FloatArray) -> Flows:
    """Through the hub of their cell, at prices to leave and rising prices to come, one for each step."""
    n_steps, hub = enter.shape[2], np.full(start.size, len(start))
    k, cell = (index.ravel() for index in np.indices(start.shape))
    k_to, cell_to, hub_from = (np.repeat(index, n_steps) for index in (k, cell, hub))
    capacity = np.append(start, np.tile(steps_of(n_steps, start.sum()), start.size))
    price = np.append(leave, np.maximum.accumulate(enter, axis=2))
    cells = np.append(cell, cell_to)
    return Flows(start, cells, np.append(k, hub_from), np.append(hub, k_to), price, capacity)


def cheapest_table(flows: Flows, subproblem: Subproblem, is_whole: FloatArray, gap: float) -> Plan | None:
    """Counts in the rows of all terms at the least cost, up to a relative gap; None: proved that there are none.

    Cells ``is_whole`` have whole counts, if such are found. Hyperplanes come from fractional counts first, which are
    quicker to find.
    """
    totals, every = flows.start.sum(axis=0), np.arange(len(flows.start))
    least = needs(subproblem, totals, len(every))
    if (least.least.sum(axis=0) > totals @ least.weights).any():
        return None
    rows, plan = stacked(subproblem.rows(flows.start.astype(float), every), least.rows), Plan(None, 0.0)
    fractional = np.zeros_like(is_whole)
    for integers, n_rounds, near in ((fractional, MAX_CUTS, NEAR), (is_whole, MAX_WHOLE, ROUNDING)):
        for _ in range(n_rounds):
            found = solve(flows, rows, integers, gap)
            if found is None:
                return None
            if found.counts is None:
                return plan
            plan = found
            more = broken(subproblem.rows(found.counts, every), found.counts, near)
            if not len(more.lower):
                break
            rows = stacked(rows, more)
    return plan


def solve(flows: Flows, rows: Rows, integers: FloatArray, gap: float) -> Plan | None:
    """The program with these rows by HiGHS; None: proved infeasible. No cluster is empty."""
    n_clusters, n_cells = flows.start.shape
    n_counts, n_flows, n_nodes = flows.start.size, len(flows.cell), flows.start.size + n_cells
    nodes = np.append(flows.source, flows.target) * n_cells + np.tile(flows.cell, 2)
    signs, edges = np.repeat([1.0, -1.0], n_flows), np.tile(np.arange(n_flows), 2)
    leaves = sparse.csr_array((signs, (nodes, edges)), shape=(n_nodes, n_flows))
    stays = sparse.eye_array(n_nodes, n_counts)
    sizes = sparse.kron(sparse.eye_array(n_clusters), np.ones((1, n_cells)))
    matrix = sparse.block_array([[stays, leaves], [sizes, None], [rows.matrix, None]], format="csr")
    start = np.append(flows.start.ravel(), np.zeros(n_cells))
    lower = np.concatenate([start, np.ones(n_clusters), rows.lower])
    upper = np.concatenate([start, np.full(n_clusters, np.inf), rows.upper])
    totals = np.tile(flows.start.sum(axis=0), n_clusters)
    found = milp(
        np.append(np.zeros(n_counts), flows.price),
        constraints=LinearConstraint(matrix, lower, upper),
        bounds=Bounds(0.0, np.append(totals, flows.capacity)),
        integrality=np.append(np.tile(integers.astype(float), n_clusters), np.zeros(n_flows)),
        options={"node_limit": MAX_WORK // (n_counts + n_flows), "mip_rel_gap": gap},
    )
    if found.status == INFEASIBLE:
        return None
    bound = found.mip_dual_bound if integers.any() else found.fun
    bound = 0.0 if bound is None else float(bound)
    if found.x is None:
        return Plan(None, bound)
    counts = found.x[:n_counts].reshape(flows.start.shape)
    return Plan(np.where(integers, np.round(counts), counts), bound)


def needs(subproblem: Subproblem, cell_totals: FloatArray, n_clusters: int) -> Needs:
    """The least of everyone and of each group in a cluster, by programs over one row of the table.

    Clusters with equal terms are solved once: at equal masses their rows are equal. The answer is kept, as a fit asks
    several times and the programs may take a second.
    """
    return _needs(subproblem, tuple(cell_totals.tolist()), n_clusters)


@lru_cache(maxsize=8)  # subproblems are compared by identity
def _needs(subproblem: Subproblem, totals: tuple[float, ...], n_clusters: int) -> Needs:
    cell_totals = np.array(totals)
    weights = np.column_stack([np.ones(len(cell_totals)), *subproblem.memberships])
    known: dict[bytes, list[float]] = {}
    least = []
    for k in range(n_clusters):
        rows = subproblem.rows(cell_totals[None] / n_clusters, np.array([k]))
        key = b"".join(part.tobytes() for part in (rows.matrix.toarray(), rows.lower, rows.upper))
        if key not in known:
            known[key] = least_people(weights, subproblem, k, rows, cell_totals)
        least.append(known[key])
    return Needs(weights, np.array(least))


def least_people(weights: FloatArray, subproblem: Subproblem, k: int, rows: Rows, totals: FloatArray) -> list[float]:
    """The fewest people who count in cluster k, which is not empty; of curved sets a bound."""
    n_cells, n_weights = weights.shape
    counted = sparse.csr_array(weights.T)
    link = LinearConstraint(sparse.hstack([counted, -sparse.eye_array(n_weights)]), 0.0, 0.0)
    is_whole = np.repeat([0.0, 1.0], [n_cells, n_weights])  # groups and sizes: fewer than cells
    most, least = np.append(totals, totals @ weights), np.eye(1, n_cells + n_weights, n_cells)[0]
    for w in range(n_weights):
        price = np.eye(1, n_cells + n_weights, n_cells + w)[0]
        for _ in range(MAX_NEEDS):
            matrix = sparse.hstack([rows.matrix, sparse.csr_array((len(rows.lower), n_weights))])
            found = milp(
                price, constraints=[link, LinearConstraint(matrix, rows.lower, rows.upper)],
                bounds=Bounds(least, most), integrality=is_whole, options={"node_limit": MAX_WORK // n_cells},
            )  # fmt: skip
            if found.x is None:
                return [np.inf] * n_weights
            counts = found.x[:n_cells]
            more = broken(subproblem.rows(counts[None], np.array([k])), counts, ROUNDING)
            if not len(more.lower):
                break
            rows = stacked(rows, more)
        least[n_cells + w] = np.ceil(found.mip_dual_bound - NEAR)
    fewest: list[float] = least[n_cells:].tolist()
    return fewest


def broken(rows: Rows, counts: FloatArray, near: float) -> Rows:
    """The rows that counts are outside of by more than ``near`` people."""
    at, person = rows.matrix @ counts.ravel(), abs(rows.matrix).max(axis=1).toarray().ravel()
    outside = np.maximum(rows.lower - at, at - rows.upper) > near * person
    return Rows(rows.matrix[outside], rows.lower[outside], rows.upper[outside])


def stacked(rows: Rows, more: Rows) -> Rows:
    """All rows of both."""
    matrix = sparse.csr_array(sparse.vstack([rows.matrix, more.matrix], format="csr"))
    return Rows(matrix, np.append(rows.lower, more.lower), np.append(rows.upper, more.upper))
