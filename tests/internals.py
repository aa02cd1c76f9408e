"""The one way in: whatever tests need from behind the public names is asked for here, in the words of the field.

An *oracle* holds a cost for every point and cluster and the cell of each point; ``evaluate`` and ``assign`` ask it. A
*term* is what a goal or a weight asks of the masses of each cluster, a *subproblem* terms side by side. When the parts
behind these functions change, this file does, and no test: ``tests/test_cases.py`` holds the tests to that.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any, NamedTuple

import numpy as np

import oracles
from fairclust._core import fallback, is_compiled
from fairclust._core import kernels as installed
from fairclust._core.tiles import TILE
from fairclust._fairness.kl import KLFairness
from fairclust._fairness.overlap import OverlapFairness
from fairclust._fairness.term import one_attribute, representation
from fairclust._fit.loop import fit_once
from fairclust._fit.polish import PenaltyMoves, polish
from fairclust._fit.problem import PointsProblem
from fairclust._fit.records import Start
from fairclust._fit.settings import Settings
from fairclust._fit.sizes import bounded_counts
from fairclust._goals.balance import BalanceCone, OverlapBalanceCone
from fairclust._goals.bounds import BoundsCone
from fairclust._goals.conditions import Clause, Conditions
from fairclust._goals.counts import counts_between, is_rounded, proportional_counts, rounded_counts, smallest_error
from fairclust._goals.error import ErrorCone
from fairclust._goals.exact import ExactCone
from fairclust._goals.forgiving import ForgivingCone
from fairclust._goals.overlap import OverlapCone
from fairclust._goals.repair import repair
from fairclust._goals.sizes import SizeInterval
from fairclust._graph.levels import CutEnergy, GraphLevel, coarsen, cycle, heaviest_node
from fairclust._graph.spectral import embedding
from fairclust._objectives import (
    CodedKMeansObjective,
    KMeansObjective,
    KMedianObjective,
    NCutObjective,
    SparseKMeansObjective,
    kmedian,
)
from fairclust._objectives.centers import SQUARED_EUCLIDEAN
from fairclust._objectives.gower import GowerObjective
from fairclust._objectives.ncut import sufficient_shift
from fairclust._people.attributes import Cells
from fairclust._solvers import Bound, Dual
from fairclust._solvers.cone import ConeSolver, lower_bound
from fairclust._sweep.layout import build_layout, every_nth_of_each
from fairclust._sweep.memory import InMemorySweep
from fairclust._sweep.question import Answer, HardAnswer, State
from fairclust._sweep.sampling import sampled_weights, sampling_steps
from fairclust._sweep.seeding import starting_centers
from fairclust._table.coded import GAP, CodedRows, code_type
from fairclust._table.sparse import sparse_rows
from fairclust.scaling import ArrayBlocks, StreamedSweep, open_blocks
from fairclust.scaling.work import Costs

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
    return InMemorySweep(make_layout(cells, n_cells), n_clusters, weights, n_threads)


def make_oracle(costs, cells, n_cells, weights=None, n_threads=1):
    """An oracle in memory that holds these costs (N×K), as an objective would fill them in."""
    layout = make_layout(cells, n_cells)
    weights = None if weights is None else layout.to_visiting_order(np.asarray(weights, dtype=float))
    oracle = InMemorySweep(layout, costs.shape[1], weights, n_threads)
    oracle.hold(layout.to_visiting_order(costs))
    return oracle


def evaluate(oracle, scale, scaled_prices, *, curvature=False):
    """Masses (K×cells), cost, log-partition and curvature of softmax(−scale·costs − scaled_prices)."""
    return oracle(State(scale, scaled_prices), curvature=curvature)


def soft_rows(oracle, scale, scaled_prices):
    """That softmax, a row per point."""
    return oracle.soft_rows(State(scale, scaled_prices))


def soft_parameters(objective, oracle, scale, scaled_prices, sizes):
    """Parameters of an objective that suit that softmax."""
    return objective.soft_parameters(oracle, State(scale, scaled_prices), sizes)


def excess_costs(oracle):
    """What every point costs in every cluster above its cheapest, (N×K) in visiting order."""
    return np.concatenate([e[:, :n].T for e, n in zip(oracle.excess, oracle.layout.size, strict=True)])


class ReferenceOracle:
    """Evaluations of an N×K table of costs by the formulas of ``tests/oracles.py``."""

    def __init__(self, costs, codes, n_cells, weights=None):
        self.costs, self.codes, self.weights = costs, codes, weights
        self.n_samples, self.n_clusters, self.n_cells = len(costs), costs.shape[1], n_cells
        self.person = 1.0 if weights is None else float(np.mean(weights))
        self.n_sweeps = 0

    def __call__(self, state, *, curvature=False):
        self.n_sweeps += 1
        count = oracles.soft_count(self.costs, self.codes, self.n_cells, state.scale, state.scaled_price, self.weights)
        return Answer(count.masses, count.cost, count.log_partition, count.curvature if curvature else None)

    def assign(self, price):
        self.n_sweeps += 1
        count = oracles.hard_count(self.costs, self.codes, self.n_cells, price, self.weights)
        self.labels = count.labels
        return HardAnswer(count.masses, count.cost, count.gap)

    def weigh(self, price):
        return self.assign(price)


class _ShiftedOracle(StreamedSweep):
    """A streamed oracle whose points all cost too much, each by a known amount: less that amount, it must agree."""

    def __init__(self, data, n_clusters, excess):
        super().__init__(data, n_clusters)
        self.excess = excess

    def __call__(self, state, *, curvature=False):
        answer = super().__call__(state, curvature=curvature)
        log_partition = answer.log_partition + state.scale * self.excess
        return answer._replace(cost=answer.cost - self.excess, log_partition=log_partition)

    def assign(self, price):
        answer = super().assign(price)
        return answer._replace(cost=answer.cost - self.excess)

    def weigh(self, price):
        answer = super().weigh(price)
        return answer._replace(cost=answer.cost - self.excess)


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
    oracle = _ShiftedOracle(data.with_cells(cells), costs.shape[1], float(weight @ ((rows**2).sum(axis=1) + 1.0)))
    oracle.costs = Costs(SQUARED_EUCLIDEAN, np.eye(costs.shape[1]), n_cells)
    return oracle


# --- a fairness weight ------------------------------------------------------------------------------------------------


def make_penalty(target, membership=None):
    """What a weight multiplies: the KL error of one attribute, or of some (target, do groups overlap) over cells."""
    return one_attribute(np.asarray(target)) if membership is None else representation(target, membership)


def kl_penalty(target, *, overlap=False):
    """The same of one attribute alone, which reads the masses of its groups (and of all, where groups overlap)."""
    return (OverlapFairness if overlap else KLFairness)(np.asarray(target))


def make_solver(name="dual", **options):
    return {"dual": Dual, "bound": Bound}[name](**options)


class Solved(NamedTuple):
    """Where a solver ended, and what it can start from again."""

    scale: float
    scaled_prices: np.ndarray
    energy: float
    start: Any

    @property
    def prices(self):
        return self.scaled_prices / self.scale


def solve(solver, oracle, penalty, weights, start=None):
    """Minimise cost + weights·penalty at fixed point costs."""
    found = solver.solve(oracle, penalty, weights, **({} if start is None else {"start": start}))
    return Solved(found.state.scale, found.state.scaled_price, found.energy, found.state)


# --- a goal -----------------------------------------------------------------------------------------------------------

_TERMS = {
    "error": ErrorCone,
    "overlap": OverlapCone,
    "bounds": BoundsCone,
    "balance": BalanceCone,
    "overlap balance": OverlapBalanceCone,
    "forgiving": ForgivingCone,
    "exact": ExactCone,
}


def make_term(kind, target, *limits, **options):
    """A set of shares that a goal allows: ``make_term("error", target, 0.01)``."""
    return _TERMS[kind](np.asarray(target), *limits, **options)


class Support(NamedTuple):
    """The support function of a term at theta, smoothed by a temperature: maximiser, value and Jacobian.

    What the term asks of masses beside shares (of how many people it forgives) has a value and derivatives of its own.
    """

    maximiser: np.ndarray
    value: np.ndarray
    jacobian: np.ndarray
    offset: np.ndarray
    offset_slope: np.ndarray
    offset_jacobian: np.ndarray


def support(term, theta, temperature):
    found = term.mixes(theta, temperature)
    return Support(found.proportions, found.worth, found.turn, found.offset, found.offset_slope, found.offset_turn)


def people_off(term, shares, n_people):
    """How many of so many people are beyond what a term allows, a cluster per row of shares."""
    return term.beyond(shares * n_people, np.full((len(shares), 1), n_people))


def make_subproblem(term, sizes=None):
    """One term over cells that are groups; sizes: between which every cluster's is."""
    n_groups = len(term.target)
    return Conditions((Clause(term, n_groups),), np.eye(n_groups), None if sizes is None else SizeInterval(*sizes))


def violation(subproblem, masses):
    """How many people too many or too few are in each cluster."""
    return subproblem.beyond(masses)


def solve_goal(oracle, subproblem):
    """Prices that meet a goal: a record for ``proved_cost`` and ``whole_people``."""
    return ConeSolver().solve(oracle, subproblem)


def proved_cost(oracle, subproblem, solution):
    """What no assignment that meets the goal costs less than, by these prices."""
    return lower_bound(oracle, subproblem, solution.theta)


def optimum(oracle, subproblem):
    """The same at prices that are cooled much further than a fit needs."""
    solver = ConeSolver(tol=1e-9)
    prices = solver.solve(oracle, subproblem)
    while solver.can_cool(prices):
        prices = solver.cool(oracle, subproblem, prices)
    for _ in range(5):
        prices = solver._climb(oracle, subproblem, prices.theta, prices.temperature / 5, prices.gap)
    return proved_cost(oracle, subproblem, prices)


class Whole(NamedTuple):
    """Whole people: labels in visiting order, their masses and cost."""

    labels: np.ndarray
    masses: np.ndarray
    cost: float


def whole_people(oracle, subproblem, solution=None):
    """Labels of these prices (of none: the cheapest), moved until the goal holds."""
    if solution is None:
        prices, split = np.zeros((oracle.n_clusters, oracle.n_cells)), 0.0
    else:
        prices, split = solution.state.price, solution.state.scale
    hard = oracle.assign(prices, split=split)
    fixed = repair(oracle, subproblem, oracle.last_labels(), hard, prices)
    return Whole(fixed.labels, fixed.hard.masses, fixed.hard.cost)


# --- a problem: rows, groups and what is asked ------------------------------------------------------------------------


def make_problem(X, cells, n_clusters, solver="dual", **settings):
    """K-means of these rows with one attribute, whose target is the data's own shares."""
    counts = np.bincount(cells)
    oracle = unfilled_oracle(cells, len(counts), n_clusters)
    penalty = make_penalty(counts / len(cells))
    return PointsProblem(KMeansObjective(X), oracle, penalty, make_solver(solver), Settings(**settings))


def improve(problem, weight, init):
    """A fit of one iteration from these centres, and the same after a local search over single points."""
    ask = problem.ask_at(problem.full_weights(weight))
    rough = fit_once(problem, ask, Start(init), Settings(max_iter=1))
    weights = np.full(len(init), weight)
    better, is_done = polish(problem, ask, rough, PenaltyMoves(problem.fairness, weights, rough.masses))
    assert is_done
    return rough, better
