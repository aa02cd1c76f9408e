"""The lists that the laws run over: a new kernel, sweep, notion, solver, objective or estimator is one line here."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import oracles
from fairclust import FairKMeans, FairKMedian, FairNCut
from fairclust._core import fallback, is_compiled
from fairclust._core import kernels as installed
from fairclust._core.tiles import TILE
from fairclust._fairness.kl import KLFairness
from fairclust._fairness.overlap import OverlapFairness
from fairclust._fairness.sizes import SIZE_MARGIN, SizeFairness
from fairclust._fairness.term import representation
from fairclust._objectives import CodedKMeansObjective, KMeansObjective, NCutObjective, SparseKMeansObjective
from fairclust._objectives.centers import SQUARED_EUCLIDEAN
from fairclust._objectives.kmedian import KMedianObjective
from fairclust._people.attributes import Cells
from fairclust._solvers import Bound, Dual
from fairclust._sweep.layout import build_layout
from fairclust._sweep.memory import InMemorySweep
from fairclust._sweep.question import Answer, HardAnswer
from fairclust._table.coded import GAP, CodedRows, code_type
from fairclust._table.sparse import sparse_rows
from fairclust.graphs import check_affinity, to_graph
from fairclust.scaling import ArrayBlocks, StreamedSweep, open_blocks
from fairclust.scaling.work import Costs

# --- kernels: what passes over the points -----------------------------------------------------------------------------

KERNELS = [
    pytest.param(installed, id="compiled", marks=pytest.mark.skipif(not is_compiled, reason="no compiled kernels")),
    pytest.param(fallback, id="numpy"),
]


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


# --- sweeps: who answers a solver's question --------------------------------------------------------------------------


class OracleSweep:
    """The question answered from an N×K table of costs by the oracles."""

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


def in_memory_sweep(costs, codes, n_cells, weights=None, n_threads=1):
    """An InMemorySweep that holds these costs (N×K), as an objective would fill them in."""
    layout = build_layout(codes, n_cells)
    weights = None if weights is None else layout.to_visiting_order(np.asarray(weights, dtype=float))
    sweep = InMemorySweep(layout, costs.shape[1], weights, n_threads)
    sweep.hold(layout.to_visiting_order(costs))
    return sweep


class ShiftedStreamedSweep(StreamedSweep):
    """A streamed sweep whose points all cost too much, each by a known amount: less that amount, it must agree."""

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


def streamed_sweep(costs, codes, n_cells, weights=None):
    """A StreamedSweep with these costs (N×K) in blocks of 37 rows.

    It knows distances only. Rows −a_p/2 have squared distances a_pk + ‖a_p‖²/4 + 1 to the K unit vectors.
    """
    rows, weight = -costs / 2, np.ones(len(costs)) if weights is None else weights
    columns = (rows, codes) if weights is None else (rows, codes, weights)
    blocks = ArrayBlocks([tuple(column[i : i + 37] for column in columns) for i in range(0, len(rows), 37)])
    data = open_blocks(blocks, None, None, 1)
    codes = data.profiles.columns[0].astype(np.int32)
    counts = np.bincount(codes, minlength=n_cells)
    cells = Cells(codes, np.eye(n_cells), np.ones(n_cells, dtype=bool), counts)
    sweep = ShiftedStreamedSweep(data.with_cells(cells), costs.shape[1], float(weight @ ((rows**2).sum(axis=1) + 1.0)))
    sweep.costs = Costs(SQUARED_EUCLIDEAN, np.eye(costs.shape[1]), n_cells)
    return sweep


SWEEPS = [
    pytest.param(OracleSweep, id="oracle"),
    pytest.param(in_memory_sweep, id="in-memory"),
    pytest.param(streamed_sweep, id="streamed"),
]


@dataclass(frozen=True)
class Question:
    """Costs, groups and weights of some points, and a state to ask about."""

    costs: np.ndarray
    codes: np.ndarray
    n_groups: int
    weights: np.ndarray | None
    scale: float
    scaled_price: np.ndarray


def question(n_samples=300, n_clusters=5, n_groups=3, seed=0, weighted=False, scale=1.7):
    """A random question. Costs are rounded to single precision, as the sweep stores them."""
    rng = np.random.default_rng(seed)
    costs = rng.gamma(2.0, 1.0, (n_samples, n_clusters)).astype(np.float32).astype(float)
    codes = rng.choice(n_groups, n_samples, p=_uneven(n_groups)).astype(np.int32)
    weights = rng.uniform(0.0, 3.0, n_samples) if weighted else None
    return Question(costs, codes, n_groups, weights, scale, rng.normal(size=(n_clusters, n_groups)))


def _uneven(n_groups):
    shares = np.arange(1.0, n_groups + 1)
    return shares / shares.sum()


QUESTIONS = [
    pytest.param(question(), id="three groups"),
    pytest.param(question(weighted=True), id="weights"),
    pytest.param(question(n_groups=1), id="one group"),
    pytest.param(question(n_clusters=1), id="one cluster"),
    pytest.param(question(n_samples=TILE, n_groups=1), id="one full tile"),
    pytest.param(question(n_samples=7, n_groups=5), id="fewer points than a tile"),
    pytest.param(question(n_samples=1000, n_clusters=17, n_groups=9), id="many groups"),
    pytest.param(question(scale=300.0), id="cold"),
    pytest.param(question(scale=1e-3), id="hot"),
    pytest.param(question(n_samples=500, n_clusters=120, n_groups=2, scale=40.0), id="many clusters"),
    pytest.param(question(n_samples=500, n_clusters=120, n_groups=2, scale=40.0, weighted=True), id="many, weights"),
    pytest.param(question(n_samples=500, n_clusters=120, scale=3000.0), id="many, cold"),
    pytest.param(question(n_samples=500, n_clusters=120, scale=25.0), id="many, hot"),
    pytest.param(question(n_samples=150, n_clusters=520, n_groups=2, scale=150.0), id="very many clusters"),
    pytest.param(question(n_samples=150, n_clusters=520, scale=60.0, weighted=True), id="very many, weights"),
]

# --- fairness terms ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FairnessCase:
    """A fairness notion, masses at which it is 0, random masses at which it is not, and its value by the oracles."""

    term: Any
    fair: np.ndarray
    unfair: Callable[[np.random.Generator], np.ndarray]
    oracle: Callable[[np.ndarray], np.ndarray]
    is_blind_to_size: bool = True

    def bend(self, masses):
        """Second derivative by the masses; a term of several attributes gives it by column."""
        bend = self.term.expansion(masses).bend
        membership = getattr(self.term, "membership", None)
        return bend if membership is None else membership @ bend @ membership.T


def kl_case(*target):
    target = np.array(target)
    return FairnessCase(
        KLFairness(target),
        np.outer([10.0, 0.3, 1e6], target),
        lambda rng: rng.uniform(0.05, 30.0, (4, len(target))),
        lambda masses: oracles.kl(target, masses),
    )


def overlap_case(*target):
    target = np.array(target)

    def unfair(rng):
        size = rng.uniform(5, 50, (3, 1))
        return np.concatenate((size * rng.uniform(0.05, 0.95, (3, len(target))), size), axis=1)

    return FairnessCase(
        OverlapFairness(target),
        np.outer([10.0, 0.3, 1e6], [*target, 1.0]),
        unfair,
        lambda masses: oracles.overlap_error(target, masses),
    )


def size_case(lower, upper):
    lower, upper = np.array(lower), np.array(upper)
    return FairnessCase(
        SizeFairness(lower, upper),
        np.array([[15.0], [1.0], [1000.0]]),
        lambda rng: np.array([[30.0], [30.0], [2.0]]) * rng.uniform(0.9, 1.1, (3, 1)),
        lambda masses: oracles.size_error(lower, upper, SIZE_MARGIN, masses),
        is_blind_to_size=False,
    )


def several_attributes():
    """Two attributes and overlapping groups over six cells, one of which does not count in the second attribute."""
    membership = np.array(
        [
            [1, 0, 1, 0, 0, 1, 1, 1],
            [1, 0, 0, 1, 0, 0, 1, 1],
            [0, 1, 0, 1, 0, 0, 0, 1],
            [0, 1, 0, 0, 1, 1, 0, 1],
            [0, 1, 0, 1, 0, 0, 1, 1],
            [1, 0, 0, 0, 0, 1, 1, 1],
        ],
        dtype=float,
    )  # fmt: skip
    fair = np.array([20.0, 15.0, 10.0, 30.0, 25.0, 5.0])
    mass = fair @ membership
    targets = [mass[:2] / mass[:2].sum(), mass[2:5] / mass[2:5].sum(), mass[5:7] / mass[7]]
    term = representation([(targets[0], False), (targets[1], False), (targets[2], True)], membership)

    def oracle(masses):
        by_column = masses @ membership
        errors = [oracles.kl(targets[0], by_column[:, :2]), oracles.kl(targets[1], by_column[:, 2:5])]
        return sum([*errors, oracles.overlap_error(targets[2], by_column[:, 5:])])

    return FairnessCase(term, np.outer([1.0, 0.01, 1e4], fair), lambda rng: rng.uniform(0.5, 9.0, (4, 6)), oracle)


FAIRNESS_TERMS = [
    pytest.param(kl_case(0.5, 0.5), id="KL even"),
    pytest.param(kl_case(0.7, 0.2, 0.1), id="KL uneven"),
    pytest.param(kl_case(*np.full(6, 1 / 6)), id="KL six groups"),
    pytest.param(kl_case(0.999, 0.001), id="KL rare group"),
    pytest.param(overlap_case(0.5, 0.7), id="overlap"),
    pytest.param(overlap_case(0.05, 0.9, 0.3), id="overlap three groups"),
    pytest.param(overlap_case(0.4, 0.0), id="overlap target zero"),
    pytest.param(size_case([10.0, 0.0, 8.0], [20.0, 15.0, np.inf]), id="sizes"),
    pytest.param(several_attributes(), id="several attributes"),
]

# --- solvers ----------------------------------------------------------------------------------------------------------

SOLVERS = [pytest.param(Dual(), id="dual"), pytest.param(Bound(max_steps=500), id="bound")]
SOLVER_NAMES = ["dual", "bound"]

# --- objectives -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ObjectiveCase:
    """How to make an objective of rows, what its point costs are, and what its value is, by the oracles."""

    make: Callable[..., Any]
    point_costs: Callable[..., np.ndarray]
    value: Callable[..., float]


def kmedian_case(metric, center):
    code = {"euclidean": 1, "manhattan": 2}[metric]
    return ObjectiveCase(
        lambda X: KMedianObjective(X, metric, center),
        lambda X, centers: oracles.point_costs(X, centers, code),
        lambda X, labels: oracles.kmedian_objective(X, labels, code, center),
    )


def ncut_costs(X, labels):
    W = oracles.gaussian_affinities(X)
    n_clusters = labels.max() + 1
    costs = oracles.ncut_costs(W, np.eye(n_clusters)[labels])
    return costs + n_clusters / len(X)  # the K of K − Σ …, spread over the points


def ncut_of_points(X):
    return NCutObjective(to_graph(check_affinity(oracles.gaussian_affinities(X))))


def kmeans_case(make):
    return ObjectiveCase(make, oracles.point_costs, oracles.kmeans_objective)


def sparse_kmeans(X):
    return SparseKMeansObjective(sparse_rows(sparse.csr_array(X)))


def coded_kmeans(X):
    """Numbers only: rows with categories and gaps have laws of their own."""
    nothing = np.zeros(0)
    return CodedKMeansObjective(CodedRows(X, np.zeros((len(X), 0), dtype=np.uint8), nothing.astype(np.int64), nothing))


OBJECTIVES = [
    pytest.param(kmeans_case(KMeansObjective), id="kmeans"),
    pytest.param(kmeans_case(sparse_kmeans), id="kmeans of sparse rows"),
    pytest.param(kmeans_case(coded_kmeans), id="kmeans of a table"),
    pytest.param(kmedian_case("euclidean", "medoid"), id="medoids"),
    pytest.param(kmedian_case("euclidean", "geometric"), id="geometric medians"),
    pytest.param(kmedian_case("manhattan", "medoid"), id="manhattan medoids"),
    pytest.param(kmedian_case("manhattan", "geometric"), id="manhattan medians"),
    pytest.param(ObjectiveCase(ncut_of_points, ncut_costs, oracles.ncut_objective), id="ncut"),
]

# --- rows of numbers and categories -----------------------------------------------------------------------------------


def table_rows(n_rows=300, seed=0, n_numbers=3, n_categories=(2, 5, 3), gaps=0.0, dtype=np.float64):
    """Random rows with numbers and categories, and a share of gaps."""
    rng = np.random.default_rng(seed)
    n_categories = np.array(n_categories, dtype=np.int64)
    numbers = rng.normal(size=(n_rows, n_numbers)).astype(dtype)
    columns = [rng.choice(n, n_rows, p=rng.dirichlet(np.ones(n))) for n in n_categories]
    codes = np.zeros((n_rows, len(columns)), dtype=code_type(n_categories))
    codes[:] = np.transpose(columns) if columns else codes
    if gaps:
        numbers[rng.random(numbers.shape) < gaps] = np.nan
        codes = np.where(rng.random(codes.shape) < gaps, n_categories + GAP, codes).astype(codes.dtype)
    return CodedRows(numbers, codes, n_categories, rng.uniform(0.5, 2.0, len(columns)), gaps > 0)


TABLES = [
    pytest.param(table_rows(), id="numbers and categories"),
    pytest.param(table_rows(dtype=np.float32), id="float32"),
    pytest.param(table_rows(n_numbers=0), id="categories alone"),
    pytest.param(table_rows(n_categories=()), id="numbers alone"),
    pytest.param(table_rows(n_categories=(300, 2)), id="codes of two bytes"),
    pytest.param(table_rows(gaps=0.2), id="gaps"),
    pytest.param(table_rows(gaps=0.2, dtype=np.float32, n_categories=(300,)), id="gaps float32"),
]

# --- estimators -------------------------------------------------------------------------------------------------------

ESTIMATORS = [
    pytest.param(FairKMeans, id="FairKMeans"),
    pytest.param(FairKMedian, id="FairKMedian"),
    pytest.param(FairNCut, id="FairNCut"),
]
"""Every estimator: fit, labels_, energy_history_ and the rest of the contract."""

PROTOTYPE_ESTIMATORS = [pytest.param(FairKMeans, id="FairKMeans"), pytest.param(FairKMedian, id="FairKMedian")]
"""Those with cluster_centers_, which label new rows and start from an array."""


@dataclass(frozen=True)
class People:
    """Points, their groups, centres to start from, and a fairness weight that matters."""

    X: np.ndarray
    groups: np.ndarray
    init: np.ndarray
    weight: float


def people(n_samples=400, n_clusters=4, n_groups=2, seed=0, dtype=np.float64, n_features=3):
    """Clouds of points; which group is common in a cloud depends on the cloud, so plain clusters are unfair."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(scale=2.0, size=(n_clusters, n_features))
    cloud = rng.integers(n_clusters, size=n_samples)
    X = (centers[cloud] + rng.normal(size=(n_samples, n_features))).astype(dtype)
    chance = rng.dirichlet(np.full(n_groups, 1.5), size=n_clusters)
    codes = np.array([rng.choice(n_groups, p=chance[c]) for c in cloud])
    groups = np.array([f"g{code}" for code in codes])
    init = X[rng.choice(n_samples, n_clusters, replace=False)]
    return People(X, groups, init, weight=float(n_samples) * 0.5)


PEOPLE = [
    pytest.param(people(), id="two groups"),
    pytest.param(people(n_groups=4, n_clusters=3, seed=1), id="four groups"),
    pytest.param(people(n_samples=900, n_clusters=6, n_groups=3, seed=2, dtype=np.float32), id="float32"),
]
