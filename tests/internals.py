"""The one way in: whatever tests need from behind the public names is asked for here, in the words of the field.

An *oracle* holds a cost for every point and cluster and the cell of each point; ``evaluate`` and ``assign`` ask it. A
*term* is what a goal, a penalty or bounds on sizes ask of the masses of each cluster, a *subproblem* terms side by
side. When the parts behind these functions change, this file does, and no test: ``tests/test_cases.py`` holds the tests
to that.
"""

from __future__ import annotations

import contextlib
import sys

import numpy as np

import oracles
from fairclust._core import fallback, is_compiled
from fairclust._core import kernels as installed
from fairclust._core.tiles import TILE
from fairclust._data.in_memory import InMemory
from fairclust._data.layout import build_layout, every_nth_of_each
from fairclust._data.seeding import starting_centers
from fairclust._dual import solver as _solver
from fairclust._dual.algorithm1 import algorithm1
from fairclust._dual.oracle import Assignment, Evaluation
from fairclust._dual.overlaps import OverlapBalance, OverlapKL
from fairclust._dual.shares import Balance, Interval
from fairclust._dual.solver import Precision, lower_bound
from fairclust._dual.subproblem import Subproblem
from fairclust._dual.terms import KL
from fairclust._fit.fit import fit
from fairclust._fit.loop import Step, StopReason, why_stop
from fairclust._fit.points import Points, subsample
from fairclust._fit.request import Request
from fairclust._fit.schedule import Schedule
from fairclust._graph.levels import CutEnergy, GraphLevel, coarsen, cycle, heaviest_node, imbalance
from fairclust._graph.spectral import embedding
from fairclust._objectives import (
    CodedKMeansObjective,
    KMeansObjective,
    KMedianObjective,
    SparseKMeansObjective,
    kmedian,
)
from fairclust._objectives.centers import SQUARED_EUCLIDEAN
from fairclust._objectives.gower import GowerObjective
from fairclust._objectives.ncut import NCutObjective, sufficient_shift
from fairclust._people.attributes import Cells
from fairclust._rounding.feasible import obstacle
from fairclust._rounding.local_search import improve
from fairclust._rounding.moves import FreeMoves, MoveCosts
from fairclust._rounding.table import largest_remainders, whole_table
from fairclust._rounding.transport import with_counts
from fairclust._rounding.weighted import with_moves
from fairclust._rounding.whole import whole_labels
from fairclust._table.coded import GAP, CodedRows, code_type
from fairclust._table.sparse import sparse_rows
from fairclust.goals import attributes_of
from fairclust.scaling import ArrayBlocks, InBlocks, open_blocks
from fairclust.scaling.work import Costs

__all__ = [
    "GAP",
    "KL",
    "TILE",
    "Assignment",
    "Balance",
    "CodedKMeansObjective",
    "CodedRows",
    "CutEnergy",
    "FreeMoves",
    "GowerObjective",
    "GraphLevel",
    "InMemory",
    "Interval",
    "KMeansObjective",
    "KMedianObjective",
    "MoveCosts",
    "NCutObjective",
    "OverlapBalance",
    "OverlapKL",
    "Points",
    "Precision",
    "Request",
    "Schedule",
    "SparseKMeansObjective",
    "Step",
    "StopReason",
    "Subproblem",
    "algorithm1",
    "attributes_of",
    "coarsen",
    "code_type",
    "cycle",
    "embedding",
    "every_nth_of_each",
    "fallback",
    "fit",
    "heaviest_node",
    "imbalance",
    "improve",
    "installed",
    "is_compiled",
    "largest_remainders",
    "lower_bound",
    "obstacle",
    "sparse_rows",
    "starting_centers",
    "subsample",
    "sufficient_shift",
    "whole_labels",
    "whole_table",
    "why_stop",
    "with_counts",
    "with_moves",
]  # fmt: skip

# --- kernels ----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def using(kernels):
    """Every module of the package that asks ``kernels`` asks these."""
    asking = [m for name, m in list(sys.modules.items()) if name.startswith("fairclust.") and hasattr(m, "kernels")]
    asking = [module for module in asking if module.__name__ != "fairclust._core" and module.kernels is installed]
    for module in asking:
        module.kernels = kernels
    try:
        yield
    finally:
        for module in asking:
            module.kernels = installed


@contextlib.contextmanager
def few_distances(per_point):
    """Medoids are searched for within so many distances per point, instead of millions in all."""
    before = kmedian._FREE, kmedian._MOST_PER_POINT
    kmedian._FREE, kmedian._MOST_PER_POINT = 0, per_point
    try:
        yield
    finally:
        kmedian._FREE, kmedian._MOST_PER_POINT = before


# --- oracles: who knows the point costs -------------------------------------------------------------------------------


def make_layout(cells, n_cells):
    """The order in which points are visited: sorted by cell within stretches, in tiles and chunks."""
    return build_layout(np.asarray(cells, dtype=np.int32), n_cells)


def plan_of(kernels, layout):
    """The same, as kernels take it."""
    return kernels.Plan(*(getattr(layout, a) for a in ("order", "start", "size", "chunk", "chunk_cell")))


def unfilled_oracle(cells, n_cells, n_clusters, weights=None, n_threads=1):
    """An oracle in memory whose point costs an objective fills in; weights are in visiting order."""
    return InMemory(make_layout(cells, n_cells), n_clusters, weights, n_threads)


def make_oracle(costs, cells, n_cells, weights=None, n_threads=1):
    """An oracle in memory that holds these costs (N×K), as an objective would fill them in."""
    layout = make_layout(cells, n_cells)
    weights = None if weights is None else layout.to_visiting_order(np.asarray(weights, dtype=float))
    oracle = InMemory(layout, costs.shape[1], weights, n_threads)
    oracle.hold(layout.to_visiting_order(np.asarray(costs, dtype=float)))
    return oracle


def excess_costs(oracle):
    """What every point costs in every cluster above its cheapest, (N×K) in visiting order."""
    return np.concatenate([e[:, :n].T for e, n in zip(oracle.excess, oracle.layout.size, strict=True)])


class ReferenceOracle:
    """Evaluations of an N×K table of costs by the formulas of ``tests/oracles.py``."""

    def __init__(self, costs, codes, n_cells, weights=None):
        self.costs, self.codes, self.weights = costs, codes, weights
        self.n_samples, self.n_clusters, self.n_cells = len(costs), costs.shape[1], n_cells
        self.cell_totals = np.bincount(codes, weights=weights, minlength=n_cells).astype(float)
        self.n_evaluations = 0

    def evaluate(self, prices, temperature):
        self.n_evaluations += 1
        if temperature == 0:
            found = self.assign(prices)
            value = found.cost + float((prices * found.masses).sum())
            return Evaluation(value, found.cost, found.masses, np.zeros((self.n_cells, *2 * (self.n_clusters,))))
        scale = 1.0 / temperature
        count = oracles.soft_count(self.costs, self.codes, self.n_cells, scale, prices * scale, self.weights)
        return Evaluation(-count.log_partition / scale, count.cost, count.masses, count.curvature * scale)

    def assign(self, prices, split=0.0):
        count = oracles.hard_count(self.costs, self.codes, self.n_cells, prices, self.weights)
        return Assignment(count.labels, count.masses, count.cost)


class Counting:
    """An oracle that counts its evaluations."""

    def __init__(self, oracle):
        self._oracle, self.n_evaluations = oracle, 0

    def __getattr__(self, name):
        return getattr(self._oracle, name)

    def evaluate(self, prices, temperature):
        self.n_evaluations += 1
        return self._oracle.evaluate(prices, temperature)


class _ShiftedOracle(InBlocks):
    """An oracle over blocks whose points all cost too much, each by a known amount: less that amount, it must agree."""

    excess_cost = 0.0

    def evaluate(self, prices, temperature):
        found = super().evaluate(prices, temperature)
        if temperature == 0:
            return found._replace(value=found.value - self.excess_cost, cost=found.cost - self.excess_cost)
        return found._replace(value=found.value - self.excess_cost, cost=found.cost - self.excess_cost)

    def assign(self, prices, split=0.0):
        found = super().assign(prices, split)
        return found._replace(cost=found.cost - self.excess_cost)


def streamed_oracle(costs, codes, n_cells, weights=None):
    """An oracle over blocks of 37 rows with these costs (N×K).

    It knows distances only. Rows −a_p/2 have squared distances a_pk + ‖a_p‖²/4 + 1 to the K unit vectors.
    """
    rows, weight = -costs / 2, np.ones(len(costs)) if weights is None else weights
    columns = (rows, codes) if weights is None else (rows, codes, weights)
    blocks = ArrayBlocks([tuple(column[i : i + 37] for column in columns) for i in range(0, len(rows), 37)])
    data = open_blocks(blocks, None, None, 1)
    codes = data.profiles.columns[0].astype(np.int32)
    counts = np.bincount(codes, minlength=n_cells)
    cells = Cells(codes, np.eye(n_cells), np.ones(n_cells, dtype=bool), counts)
    oracle = _ShiftedOracle(data.with_cells(cells), costs.shape[1])
    oracle.excess_cost = float(weight @ ((rows**2).sum(axis=1) + 1.0))
    oracle.costs = Costs(SQUARED_EUCLIDEAN, np.eye(costs.shape[1]), n_cells)
    return oracle


# --- terms and the subproblem -----------------------------------------------------------------------------------------


def make_subproblem(*terms, memberships=None, sizes=None):
    """Terms over cells that are groups, or that have these memberships; sizes: between which every cluster's is."""
    memberships = [np.eye(_n_columns(term)) for term in terms] if memberships is None else list(memberships)
    n_cells = len(memberships[0])
    if sizes is not None:
        lower, upper = (np.atleast_1d(np.asarray(bound, dtype=float))[:, None] for bound in sizes)
        terms = (*terms, Interval(lower, upper, is_cone=False))
        memberships.append(np.ones((n_cells, 1)))
    return Subproblem(tuple(terms), tuple(memberships), n_cells)


def _n_columns(term):
    table = term.lower if isinstance(term, Interval) else term.target
    own = np.asarray(table).shape[-1]
    return own + 1 if term.overlapping and not isinstance(term, Interval) else own


def solve(oracle, subproblem, temperature=0.01, *, theta=None, highest=None, precision=None, budget=np.inf):
    """Prices that maximise the dual at a temperature, cooled down to it."""
    theta = np.zeros((oracle.n_clusters, subproblem.n_unknowns)) if theta is None else theta
    highest = 1e3 * temperature if highest is None else highest
    temperatures = Schedule().temperatures(max(highest, temperature), temperature)
    return _solver.solve(oracle, subproblem, theta, temperatures, precision or Precision(), budget)


def certify(oracle, subproblem, solution, cost, certainty=1e-9, budget=2000):
    """A lower bound at prices that are cooled as far as that helps."""
    precision = Precision(precision=1e-7, max_steps=60)
    return _solver.certify(oracle, subproblem, solution, cost, 0.25, certainty, precision, budget)


def solved_penalty(oracle, subproblem, temperature=0.01, rounds=30):
    """Prices, and the subproblem whose parameters they belong to (Dinkelbach's rounds)."""
    theta = np.zeros((oracle.n_clusters, subproblem.n_unknowns))
    plain = oracle.evaluate(np.zeros((oracle.n_clusters, oracle.n_cells)), 0.0)
    subproblem = subproblem.updated(plain.masses, theta)
    for _ in range(rounds):
        found = solve(oracle, subproblem, temperature, theta=theta if theta.any() else None)
        theta, after = found.theta, subproblem.updated(found.masses, found.theta)
        if after is subproblem:
            break
        subproblem = after
    return found, subproblem


# --- a problem: rows, groups and what is asked ------------------------------------------------------------------------


def make_points(X, cells, n_clusters, objective=KMeansObjective, weights=None):
    """Rows with their objective."""
    return Points(objective(X), unfilled_oracle(cells, int(np.max(cells)) + 1, n_clusters, weights))


def make_request(points, attributes, goal=None, smallest=0.0, largest=np.inf):
    """What a fit of these points must satisfy."""
    n_clusters, totals = points.n_clusters, points.rows.cell_totals
    smallest, largest = np.full(n_clusters, smallest), np.minimum(np.full(n_clusters, largest), totals.sum())
    return Request(n_clusters, totals, attributes, goal, smallest, largest, points.rows.is_weighted)
