"""Laws of the solver: it ends at the maximum of the dual, whichever oracle it asks, and no clustering costs less."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

import oracles
from cases import ORACLES, U, people
from internals import (
    KL,
    Balance,
    Counting,
    Interval,
    OverlapKL,
    Precision,
    ReferenceOracle,
    algorithm1,
    certify,
    lower_bound,
    make_oracle,
    make_subproblem,
    solve,
    solved_penalty,
)
from total_variation import Variation


@dataclass(frozen=True)
class Inner:
    """An inner problem: point costs of fixed centres, groups, target."""

    costs: np.ndarray
    codes: np.ndarray
    target: np.ndarray

    @property
    def n_clusters(self):
        return self.costs.shape[1]

    @property
    def n_groups(self):
        return len(self.target)

    def oracle(self, make=ReferenceOracle):
        return make(self.costs, self.codes, self.n_groups)

    def penalty(self, weight):
        return make_subproblem(KL(self.target, weight=weight), memberships=[np.eye(self.n_groups)])

    def soft_energy(self, prices, temperature, weight):
        count = oracles.soft_count(self.costs, self.codes, self.n_groups, 1 / temperature, prices / temperature)
        return count.cost + weight * float(oracles.kl(self.target, count.masses).sum())

    def hard_energy(self, prices, weight):
        count = oracles.hard_count(self.costs, self.codes, self.n_groups, prices)
        return count.cost + weight * float(oracles.kl(self.target, count.masses).sum())


def inner(n_samples=120, n_clusters=3, n_groups=2, seed=0):
    data = people(n_samples, n_clusters, n_groups, seed)
    codes = np.unique(data.groups, return_inverse=True)[1].astype(np.int32)
    target = np.bincount(codes) / n_samples
    costs = oracles.point_costs(data.X, data.init).astype(np.float32).astype(float)
    return Inner(costs, codes, target)


def random_costs(seed=0, n_samples=60, n_clusters=3, n_groups=3):
    rng = np.random.default_rng(seed)
    costs = rng.gamma(2.0, 1.0, (n_samples, n_clusters)).astype(np.float32).astype(float)
    codes = np.concatenate((np.arange(n_groups), rng.integers(n_groups, size=n_samples - n_groups))).astype(np.int32)
    return Inner(costs, codes, np.bincount(codes) / n_samples)


INNER = [
    pytest.param(inner(), id="two groups"),
    pytest.param(inner(n_clusters=4, n_groups=3, seed=3), id="three groups"),
    pytest.param(random_costs(1), id="random costs"),
]
WEIGHTS = [0.1, 10.0, 100.0, 1000.0]


def goals_of(target):
    """Terms that every composition near the target meets."""
    return {
        "error": KL(target, limit=0.02),
        "bounds": Interval(0.8 * target, target / 0.8, center=target),
        "rounded bounds": Interval(0.9 * target, target / 0.9, slack=0.99, center=target),
        "exact": Interval(target, target, slack=0.99, center=target),
        "balance": Balance(0.8 * target.min() / target.max(), target),
        "total variation": Variation(target, 0.05),
    }


NAMES = list(goals_of(U))


# --- where Newton ends ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("problem", INNER)
def test_newton_ends_where_the_gradient_is_small(problem, name):
    subproblem = make_subproblem(goals_of(problem.target)[name], memberships=[np.eye(problem.n_groups)])
    found = solve(problem.oracle(make_oracle), subproblem, 0.05, precision=Precision(precision=1e-5))
    assert found.is_converged
    assert found.residual <= 0.02 * len(problem.costs)
    assert found.n_evaluations <= 150


@pytest.mark.parametrize("problem", INNER)
@pytest.mark.parametrize("name", NAMES)
def test_the_solution_is_the_same_whichever_oracle_is_asked(problem, name):
    subproblem = make_subproblem(goals_of(problem.target)[name], memberships=[np.eye(problem.n_groups)])
    found = [solve(problem.oracle(make.values[0]), subproblem, 0.2) for make in ORACLES]
    values = [one.value for one in found]
    assert values == pytest.approx([values[0]] * len(ORACLES), rel=1e-3)


def test_what_a_solution_tells_is_true():
    problem = random_costs(2)
    subproblem = make_subproblem(KL(problem.target, limit=0.02), sizes=([15.0] * 3, [25.0] * 3))
    oracle = Counting(problem.oracle(make_oracle))
    found = solve(oracle, subproblem, 0.1)
    assert found.n_evaluations == oracle.n_evaluations
    priced = subproblem.prices(found.theta, 0.1)
    np.testing.assert_allclose(found.prices, priced.prices)
    evaluation = oracle.evaluate(found.prices, 0.1)
    np.testing.assert_allclose(found.masses, evaluation.masses)
    assert found.value == pytest.approx(evaluation.value - priced.offset)
    assert found.temperature == 0.1


@pytest.mark.parametrize("budget", [1, 5, 20])
def test_a_budget_is_kept(budget):
    problem = random_costs(3)
    oracle = Counting(problem.oracle(make_oracle))
    found = solve(oracle, make_subproblem(KL(problem.target, limit=1e-4)), 1e-4, budget=budget)
    assert oracle.n_evaluations == found.n_evaluations <= budget


@pytest.mark.parametrize("problem", INNER)
def test_a_warm_start_takes_fewer_evaluations_than_one_from_scratch(problem):
    oracle, subproblem = problem.oracle(make_oracle), make_subproblem(KL(problem.target, limit=0.01))
    scratch = solve(oracle, subproblem, 0.02)
    warm = solve(oracle, subproblem, 0.02, theta=scratch.theta, highest=0.02)
    assert warm.n_evaluations < scratch.n_evaluations
    assert warm.value == pytest.approx(scratch.value, rel=1e-4)


def test_many_unknowns_are_solved_as_few_are():
    """Beyond 512 unknowns Newton's systems are solved by conjugate gradients."""
    rng = np.random.default_rng(0)
    costs, codes = rng.gamma(2.0, 1.0, (4000, 300)), rng.integers(2, size=4000).astype(np.int32)
    target = np.bincount(codes) / 4000
    oracle, subproblem = make_oracle(costs, codes, 2), make_subproblem(Interval(0.9 * target, target / 0.9))
    found = solve(oracle, subproblem, 0.05)
    assert found.is_converged
    assert found.n_evaluations <= 200


# --- the bound --------------------------------------------------------------------------------------------------------


def assignments(n_samples, n_clusters):
    return np.array(list(itertools.product(range(n_clusters), repeat=n_samples)))


@pytest.mark.parametrize("with_sizes", [False, True], ids=["free", "sizes"])
@pytest.mark.parametrize("name", NAMES)
def test_no_feasible_assignment_costs_less_than_the_dual(name, with_sizes):
    """At any prices: every labelling of eight people is tried."""
    rng = np.random.default_rng(5)
    codes, costs = np.arange(8, dtype=np.int32) % 2, rng.gamma(2.0, 1.0, (8, 2)).astype(np.float32).astype(float)
    sizes = ([3.0, 3.0], [5.0, 5.0]) if with_sizes else None
    subproblem = make_subproblem(goals_of(np.array([0.5, 0.5]))[name], sizes=sizes)
    best = np.inf
    for labels in assignments(8, 2):
        masses = oracles.masses_of(labels, codes, 2, 2)
        if not subproblem.violation(masses).any() and masses.sum(axis=1).all():
            best = min(best, costs[np.arange(8), labels].sum())
    assert np.isfinite(best)
    oracle = make_oracle(costs, codes, 2)
    for scale in (0.0, 0.1, 1.0, 10.0):
        theta = scale * rng.normal(size=(2, subproblem.n_unknowns))
        assert lower_bound(oracle, subproblem, theta) <= best + 1e-5
    solution = solve(oracle, subproblem, 0.01)
    certificate = certify(oracle, subproblem, solution, best)
    assert 0.6 * best <= certificate.lower_bound <= best + 1e-5
    assert certificate.lower_bound >= lower_bound(oracle, subproblem, solution.theta) - 1e-9


def least_cost_by_highs(problem, lower, upper, slack=0.0, sizes=None):
    """The linear program over all fractional assignments with shares between bounds, up to some people."""
    n_samples, n_clusters = problem.costs.shape
    rows, limits = [], []
    for k in range(n_clusters):
        everyone = np.zeros((n_samples, n_clusters))
        everyone[:, k] = 1.0
        for j in range(len(lower)):
            member = np.zeros((n_samples, n_clusters))
            member[:, k] = problem.codes == j
            rows += [(member - upper[j] * everyone).ravel(), (lower[j] * everyone - member).ravel()]
            limits += [slack, slack]
        if sizes is not None:
            rows += [everyone.ravel(), -everyone.ravel()]
            limits += [sizes[1], -sizes[0]]
    each = np.kron(np.eye(n_samples), np.ones((1, n_clusters)))
    return linprog(problem.costs.ravel(), A_ub=np.array(rows), b_ub=limits, A_eq=each, b_eq=np.ones(n_samples)).fun


def best_bound(problem, subproblem):
    oracle = problem.oracle(make_oracle)
    solution = solve(oracle, subproblem, 0.01, precision=Precision(precision=1e-6))
    return certify(oracle, subproblem, solution, np.inf, certainty=0.0, budget=1000).lower_bound


@pytest.mark.parametrize(("seed", "slack", "sizes"), [
    (0, 0.0, None), (1, 0.0, None), (0, 0.4, None), (1, 1.0, None), (2, 0.0, (18.0, 22.0)), (3, 0.5, (20.0, 20.0)),
])  # fmt: skip
def test_the_bound_is_the_optimum_of_the_linear_program(seed, slack, sizes):
    problem = random_costs(seed)
    lower, upper = 0.9 * problem.target, problem.target / 0.9
    term = Interval(lower, upper, slack=slack, center=problem.target)
    bounds = None if sizes is None else ([sizes[0]] * 3, [sizes[1]] * 3)
    wanted = least_cost_by_highs(problem, lower, upper, slack, sizes)
    assert best_bound(problem, make_subproblem(term, sizes=bounds)) == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_of_exact_shares_is_the_optimum_too(seed):
    problem = random_costs(seed)
    wanted = least_cost_by_highs(problem, problem.target - 1e-12, problem.target + 1e-12)
    exact = Interval(problem.target, problem.target)
    assert best_bound(problem, make_subproblem(exact)) == pytest.approx(wanted, rel=1e-4)


def test_the_bound_of_an_error_is_the_optimum_of_an_independent_solver():
    problem = random_costs(1, n_samples=14, n_clusters=2, n_groups=2)
    costs, codes, shares, limit = problem.costs, problem.codes, problem.target, 0.02
    bound = best_bound(problem, make_subproblem(KL(shares, limit=limit)))

    def slack(s):
        s = np.column_stack((s, 1 - s))
        masses = np.array([[s[codes == j, k].sum() for j in (0, 1)] for k in (0, 1)])
        part = np.maximum(masses / np.maximum(masses.sum(axis=1, keepdims=True), 1e-9), 1e-12)
        return masses.sum(axis=1) * (limit - (shares * np.log(shares / part)).sum(axis=1))

    best = np.inf
    for start in (0.5, 0.3, 0.7):
        found = minimize(
            lambda s: float(costs[:, 0] @ s + costs[:, 1] @ (1 - s)), np.full(14, start), bounds=[(0, 1)] * 14,
            constraints={"type": "ineq", "fun": slack}, method="SLSQP", options={"maxiter": 500, "ftol": 1e-12},
        )  # fmt: skip
        if (slack(found.x) > -1e-7).all():
            best = min(best, found.fun)
    assert bound == pytest.approx(best, rel=1e-4)


def test_sizes_only_ever_cost():
    problem = random_costs(2, n_samples=90)
    term = KL(problem.target, limit=0.05)
    free, loose, tight = (
        best_bound(problem, make_subproblem(term, sizes=sizes))
        for sizes in (None, ([25.0] * 3, [40.0] * 3), ([30.0] * 3, [30.0] * 3))
    )
    assert loose >= free * (1 - 1e-4)
    assert tight >= loose * (1 - 1e-4)


# --- penalties --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", INNER)
@pytest.mark.parametrize("weight", WEIGHTS)
def test_a_penalty_ends_no_higher_than_plain_assignments(problem, weight):
    found, _ = solved_penalty(problem.oracle(make_oracle), problem.penalty(weight), 0.05)
    ended = problem.soft_energy(found.prices, 0.05, weight)
    assert ended <= problem.soft_energy(0.0 * found.prices, 0.05, weight) * (1 + 1e-3)


@pytest.mark.parametrize("weight", [1e-12, 1e-3, 1.0, 1e3, 1e6, 1e9, 1e12])
def test_no_weight_is_too_large_or_too_small(weight):
    problem = inner(60)
    found, _ = solved_penalty(problem.oracle(make_oracle), problem.penalty(weight), 0.05, rounds=5)
    assert np.isfinite(found.prices).all()
    assert np.isfinite(problem.hard_energy(found.prices, weight))
    bound = algorithm1(problem.oracle(make_oracle), problem.penalty(weight), 2.0, 100)
    assert np.isfinite(bound.prices).all()
    assert bound.n_evaluations <= 100


def test_one_group_has_no_prices():
    costs = inner().costs
    problem = Inner(costs, np.zeros(len(costs), dtype=np.int32), np.array([1.0]))
    found, _ = solved_penalty(problem.oracle(make_oracle), problem.penalty(100.0), 0.05)
    np.testing.assert_allclose(found.prices, 0.0, atol=1e-6)
    np.testing.assert_allclose(algorithm1(problem.oracle(), problem.penalty(100.0), 2.0, 100).prices, 0.0, atol=1e-6)


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("weight", WEIGHTS)
def test_the_dual_ends_no_higher_than_algorithm_1(weight, n_groups):
    # On small problems a point more or less decides, so the law is one of the mean over several.
    ratios = []
    for seed in range(8):
        problem = inner(200, n_groups=n_groups, seed=seed)
        dual, _ = solved_penalty(problem.oracle(make_oracle), problem.penalty(weight), 0.005, rounds=6)
        bound = algorithm1(problem.oracle(make_oracle), problem.penalty(weight), 2.0, 10_000)
        ratios.append(problem.hard_energy(dual.prices, weight) / problem.hard_energy(bound.prices, weight))
    assert np.exp(np.mean(np.log(ratios))) <= 1.005


@pytest.mark.parametrize("weight", [0.5, 20.0, 2000.0])
def test_algorithm_1_is_that_of_the_paper(weight):
    problem = inner(80, n_groups=3, seed=5)
    oracle = problem.oracle()
    found = algorithm1(oracle, problem.penalty(weight), 50.0, 26)
    run = oracles.algorithm_1(problem.costs, problem.codes, problem.target, weight, 50.0, n_steps=100)
    assert found.value == pytest.approx(run.energies[found.n_evaluations - 1], rel=1e-9)
    scale = 1 / found.temperature
    assert scale == pytest.approx(1.0 + (found.n_evaluations - 1) / 50.0)
    assert (np.diff(run.energies) <= 2e-9 * np.abs(run.energies[1:])).all()


def test_algorithm_1_grows_its_lipschitz_constant_where_a_step_would_raise_the_energy():
    # At a tiny L and a large weight the first step overshoots; the mended rule halves the step until it does not.
    problem = inner()
    found = algorithm1(problem.oracle(), problem.penalty(1e4), 1e-3, 200)
    assert found.value <= problem.soft_energy(np.zeros((3, 2)), 1.0, 1e4)


def test_overlapping_shares_end_at_most_at_1():
    """A target near everyone: the maximiser p is at most 1, and the residual small all the same."""
    rng = np.random.default_rng(0)
    costs, cells = rng.gamma(2.0, 1.0, (200, 3)), rng.integers(4, size=200)
    membership = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]], dtype=float)
    counts = np.bincount(cells) @ membership
    target = counts[:-1] / counts[-1]
    subproblem = make_subproblem(OverlapKL(np.minimum(1.2 * target, 0.999), limit=0.2), memberships=[membership])
    found = solve(make_oracle(costs, cells, 4), subproblem, 0.05)
    assert found.is_converged
    assert subproblem.prices(found.theta, 0.05).argmax.max() <= 1.0
