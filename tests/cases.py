"""The lists that the laws run over: a new kernel, oracle, term, solver, objective or estimator is one line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import oracles
from fairclust import (
    Bounds,
    ExactProportions,
    FairKMeans,
    FairKMedian,
    FairNCut,
    MaxCostIncrease,
    MaxFairnessError,
    MinBalance,
    Penalty,
    solvers,
)
from internals import (
    GAP,
    KL,
    TILE,
    Balance,
    CodedKMeansObjective,
    CodedRows,
    Interval,
    KMeansObjective,
    KMedianObjective,
    OverlapBalance,
    OverlapKL,
    ReferenceOracle,
    SparseKMeansObjective,
    code_type,
    fallback,
    installed,
    is_compiled,
    make_oracle,
    make_subproblem,
    sparse_rows,
    streamed_oracle,
)
from total_variation import MaxVariation, Variation

# --- kernels: what passes over the points -----------------------------------------------------------------------------

COMPILED = pytest.mark.skipif(not is_compiled, reason="no compiled kernels")
KERNELS = [pytest.param(installed, id="compiled", marks=COMPILED), pytest.param(fallback, id="numpy")]

# --- oracles: who answers a solver ------------------------------------------------------------------------------------

ORACLES = [
    pytest.param(ReferenceOracle, id="reference"),
    pytest.param(make_oracle, id="in-memory"),
    pytest.param(streamed_oracle, id="streamed"),
]


@dataclass(frozen=True)
class Question:
    """Costs, groups and weights of some points, and prices and a temperature to evaluate at."""

    costs: np.ndarray
    codes: np.ndarray
    n_groups: int
    weights: np.ndarray | None
    scale: float
    scaled_price: np.ndarray

    @property
    def temperature(self):
        return 1.0 / self.scale

    @property
    def prices(self):
        return self.scaled_price / self.scale


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

# --- terms: what goals, penalties and sizes ask of the masses of each cluster -----------------------------------------


@dataclass(frozen=True)
class TermCase:
    """A term, and masses of clusters in which it holds, or costs nothing."""

    term: Any
    fair: np.ndarray

    @property
    def n_columns(self):
        return self.fair.shape[1]

    def masses(self, rng, n_clusters=4):
        """Random masses."""
        found = rng.gamma(1.0, 8.0, (n_clusters, self.n_columns))
        if self.term.overlapping:  # the last column counts everyone
            found[:, -1] = found[:, :-1].max(axis=1) * rng.uniform(1.0, 2.0, n_clusters)
        return found

    def whole(self, rng, n_clusters=4, largest=12):
        """Random counts of people."""
        found = rng.integers(0, largest, (n_clusters, self.n_columns))
        if self.term.overlapping:
            found[:, -1] = found[:, :-1].max(axis=1) + rng.integers(0, largest, n_clusters)
        return found


U = np.array([0.5, 0.3, 0.15, 0.05])
OVERLAP = np.array([0.5, 0.6, 0.2])


def fair_in(*shares):
    return np.outer([10.0, 0.3, 1e6, 50.0], shares)


def with_everyone(shares):
    return np.append(shares, 1.0)


TERMS = [
    pytest.param(TermCase(KL(U, limit=0.01), fair_in(*U)), id="error"),
    pytest.param(TermCase(KL(U, limit=0.3), fair_in(*U)), id="large error"),
    pytest.param(TermCase(KL(np.array([0.0, 0.5, 0.5]), limit=0.01), fair_in(0.0, 0.5, 0.5)), id="target 0"),
    pytest.param(TermCase(KL(U, weight=30.0, rate=0.7, credit=0.02), fair_in(*U)), id="penalty"),
    pytest.param(TermCase(Interval(0.8 * U, U / 0.8, center=U), fair_in(*U)), id="bounds"),
    pytest.param(TermCase(Interval(np.zeros(4), np.ones(4), center=U), fair_in(*U)), id="bounds of nothing"),
    pytest.param(TermCase(Interval(0.9 * U, U / 0.9, slack=0.99, center=U), fair_in(*U)), id="rounded bounds"),
    pytest.param(TermCase(Interval(U, U, slack=0.99, center=U), fair_in(*U)), id="exact"),
    pytest.param(
        TermCase(Interval(np.array([5.0]), np.array([25.0]), is_cone=False), np.array([[5.0], [9.0], [25.0], [14.0]])),
        id="sizes",
    ),
    pytest.param(
        TermCase(
            Interval(np.array([[5.0], [9.0], [0.0], [3.0]]), np.array([[5.0], [40.0], [1.0], [4.0]]), is_cone=False),
            np.array([[5.0], [9.0], [0.0], [4.0]]),
        ),
        id="sizes, one by one",
    ),
    pytest.param(
        TermCase(
            Interval(np.array([2.0, 0.0, 1.0]), np.array([4.0, 3.0, 1.0]), is_cone=False),
            np.array([[2.0, 0.0, 1.0], [4.0, 3.0, 1.0], [3.0, 1.0, 1.0], [2.0, 2.0, 1.0]]),
        ),
        id="counts",
    ),
    pytest.param(TermCase(Balance(0.05, U), fair_in(*U)), id="balance"),
    pytest.param(TermCase(Balance(1.0, np.array([0.5, 0.5])), fair_in(0.5, 0.5)), id="balance 1"),
    pytest.param(TermCase(Balance(0.3, np.array([1.0])), fair_in(1.0)), id="balance of one group"),
    pytest.param(TermCase(Balance(0.4, np.full(12, 1 / 12)), fair_in(*np.full(12, 1 / 12))), id="balance, many groups"),
    pytest.param(TermCase(OverlapKL(OVERLAP, limit=0.02), fair_in(*OVERLAP, 1.0)), id="overlap"),
    pytest.param(
        TermCase(OverlapKL(np.array([0.99, 0.9, 0.0]), limit=0.05), fair_in(0.99, 0.9, 0.0, 1.0)), id="shares at 1"
    ),
    pytest.param(TermCase(OverlapKL(OVERLAP, weight=9.0, rate=0.4), fair_in(*OVERLAP, 1.0)), id="overlap penalty"),
    pytest.param(TermCase(OverlapBalance(0.3, OVERLAP), fair_in(*OVERLAP, 1.0)), id="overlap balance"),
    pytest.param(
        TermCase(
            Interval(
                with_everyone(0.8 * OVERLAP), with_everyone(OVERLAP / 0.8), center=with_everyone(OVERLAP),
                overlapping=True,
            ),
            fair_in(*OVERLAP, 1.0),
        ),
        id="overlap bounds",
    ),
    pytest.param(TermCase(Variation(U, 0.05), fair_in(*U)), id="total variation"),
]  # fmt: skip
HARD_TERMS = [case for case in TERMS if not case.values[0].term.is_soft]
SOFT_TERMS = [case for case in TERMS if case.values[0].term.is_soft]

# --- penalties, against the reference --------------------------------------------------------------------------------


@dataclass(frozen=True)
class PenaltyCase:
    """A penalty, masses at which it is 0, random masses at which it is not, and its value by the oracles."""

    penalty: Any
    fair: np.ndarray
    unfair: Callable[[np.random.Generator], np.ndarray]
    oracle: Callable[[np.ndarray], np.ndarray]

    def value(self, masses, clusters=None):
        return self.penalty.value(masses, clusters)

    def slope(self, masses):
        return self.penalty.slope(masses)


def kl_case(*target):
    target = np.array(target)
    return PenaltyCase(
        KL(target, weight=1.0),
        np.outer([10.0, 0.3, 1e6], target),
        lambda rng: rng.uniform(0.05, 30.0, (4, len(target))),
        lambda masses: oracles.kl(target, masses),
    )


def overlap_case(*target):
    target = np.array(target)

    def unfair(rng):
        size = rng.uniform(5, 50, (3, 1))
        return np.concatenate((size * rng.uniform(0.05, 0.95, (3, len(target))), size), axis=1)

    return PenaltyCase(
        OverlapKL(target, weight=1.0),
        np.outer([10.0, 0.3, 1e6], [*target, 1.0]),
        unfair,
        lambda masses: oracles.overlap_error(target, masses),
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
    terms = KL(targets[0], weight=1.0), KL(targets[1], weight=1.0), OverlapKL(targets[2], weight=1.0)
    parts = membership[:, :2], membership[:, 2:5], membership[:, 5:]
    penalty = make_subproblem(*terms, memberships=parts)

    def oracle(masses):
        by_column = masses @ membership
        errors = [oracles.kl(targets[0], by_column[:, :2]), oracles.kl(targets[1], by_column[:, 2:5])]
        return sum([*errors, oracles.overlap_error(targets[2], by_column[:, 5:])])

    return PenaltyCase(penalty, np.outer([1.0, 0.01, 1e4], fair), lambda rng: rng.uniform(0.5, 9.0, (4, 6)), oracle)


PENALTIES = [
    pytest.param(kl_case(0.5, 0.5), id="KL even"),
    pytest.param(kl_case(0.7, 0.2, 0.1), id="KL uneven"),
    pytest.param(kl_case(*np.full(6, 1 / 6)), id="KL six groups"),
    pytest.param(kl_case(0.999, 0.001), id="KL rare group"),
    pytest.param(overlap_case(0.5, 0.7), id="overlap"),
    pytest.param(overlap_case(0.05, 0.9, 0.3), id="overlap three groups"),
    pytest.param(overlap_case(0.4, 0.0), id="overlap target zero"),
    pytest.param(several_attributes(), id="several attributes"),
]

# --- solvers ----------------------------------------------------------------------------------------------------------

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


# --- goals ------------------------------------------------------------------------------------------------------------

GOALS = [
    pytest.param(MaxFairnessError(0.01), id="error"),
    pytest.param(ExactProportions(), id="exact"),
    pytest.param(MinBalance(0.4), id="balance"),
    pytest.param(Bounds(0.2), id="bounds"),
    pytest.param(Bounds(0.01, rounded=True), id="rounded bounds"),
    pytest.param(MaxCostIncrease(0.5), id="cost"),
    pytest.param(MaxVariation(0.05), id="a user's own"),
]
"""Every constraint."""

ASKED = [
    pytest.param({"goal": None}, id="plain"),
    pytest.param({"goal": Penalty(60.0)}, id="penalty"),
    pytest.param({"goal": Penalty(60.0), "solver": "bound"}, id="bound"),
    pytest.param({"goal": Penalty(60.0), "solver": solvers.BoundOptimization(soft=True)}, id="soft"),
    pytest.param({"goal": Penalty(60.0), "min_cluster_size": 100}, id="penalty with sizes"),
    pytest.param({"goal": 0.02, "max_cluster_size": 0.5}, id="goal with sizes"),
]
"""Options of an estimator beside the goals."""

# --- people -----------------------------------------------------------------------------------------------------------


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
