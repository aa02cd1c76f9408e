"""Goals as cones: fair mixes, the dual's bound, whole people; laws over every cone and every goal."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

from cases import in_memory_sweep, people
from fairclust import FairKMeans, FairKMedian, FairNCut, fairness_path
from fairclust._goals.balance import BalanceCone
from fairclust._goals.bounds import BoundsCone
from fairclust._goals.conditions import Clause, Conditions
from fairclust._goals.counts import smallest_error
from fairclust._goals.error import ErrorCone
from fairclust._goals.exact import ExactCone
from fairclust._goals.overlap import OverlapCone
from fairclust._goals.repair import repair
from fairclust._goals.sizes import SizeInterval
from fairclust._solvers.cone import ConeSolver, lower_bound

U = np.array([0.5, 0.3, 0.15, 0.05])
CONES = [
    pytest.param(ErrorCone(U, 0.01), id="error"),
    pytest.param(ErrorCone(U, 0.3), id="large error"),
    pytest.param(ErrorCone(np.array([0.0, 0.5, 0.3, 0.2]), 0.01), id="a group with target 0"),
    pytest.param(OverlapCone(np.array([0.5, 0.6, 0.2, 0.9]), 0.02), id="overlap"),
    pytest.param(BoundsCone(U, 0.8 * U, U / 0.8), id="bounds"),
    pytest.param(BalanceCone(U, 0.05), id="balance"),
    pytest.param(ExactCone(U), id="exact"),
]
SMOOTH = CONES[:6]


def thetas(seed, scale=1.0):
    theta = np.random.default_rng(seed).normal(size=(5, 4)) * scale
    theta[0] = 0.0
    return theta


@pytest.mark.parametrize("cone", CONES)
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("softness", [0.0, 0.01, 1.0])
def test_the_dearest_mix_is_fair(cone, scale, softness):
    found = cone.mixes(thetas(1, scale), softness * scale)
    n_people = 1e7
    size = np.full((5, 1), n_people)
    assert cone.beyond(found.proportions * n_people, size).max() <= 1e-6 * n_people
    assert np.linalg.eigvalsh(found.turn * scale).min() >= -1e-4 * max(abs(found.turn * scale).max(), 1e-12)


@pytest.mark.parametrize("cone", CONES)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_no_fair_mix_is_dearer_than_the_dearest(cone, seed):
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=(1, 4))
    worth = cone.mixes(theta, 0.0).worth[0]
    # Fair mixes at other prices, and what lies between them, are fair.
    others = cone.mixes(rng.normal(size=(6, 4)), 0.05).proportions
    between = rng.dirichlet(np.ones(6)) @ others
    for mix in (*others, between):
        assert theta[0] @ mix <= worth + 1e-7


@pytest.mark.parametrize("cone", SMOOTH)
def test_the_mix_is_the_slope_of_its_worth_and_turns_as_told(cone):
    theta, softness, step = thetas(3), 0.3, 1e-6
    found = cone.mixes(theta, softness)
    for j in range(4):
        there, here = theta.copy(), theta.copy()
        there[:, j] += step
        here[:, j] -= step
        more, less = cone.mixes(there, softness), cone.mixes(here, softness)
        np.testing.assert_allclose((more.worth - less.worth) / (2 * step), found.proportions[:, j], atol=2e-5)
        np.testing.assert_allclose((more.proportions - less.proportions) / (2 * step), found.turn[:, :, j], atol=2e-4)


def small(seed=0, n_samples=60, n_clusters=3, n_groups=3):
    rng = np.random.default_rng(seed)
    costs = rng.gamma(2.0, 1.0, (n_samples, n_clusters)).astype(np.float32).astype(float)
    codes = np.concatenate((np.arange(n_groups), rng.integers(n_groups, size=n_samples - n_groups))).astype(np.int32)
    return costs, codes, np.bincount(codes) / n_samples


def least_cost_by_highs(costs, codes, lower, upper):
    """The linear program over all fractional assignments with shares between bounds."""
    n_samples, n_clusters = costs.shape
    rows, limits = [], []
    for k in range(n_clusters):
        for j in range(len(lower)):
            member = np.zeros((n_samples, n_clusters))
            member[:, k] = codes == j
            everyone = np.zeros((n_samples, n_clusters))
            everyone[:, k] = 1.0
            rows += [(member - upper[j] * everyone).ravel(), (lower[j] * everyone - member).ravel()]
            limits += [0.0, 0.0]
    each = np.kron(np.eye(n_samples), np.ones((1, n_clusters)))
    found = linprog(costs.ravel(), A_ub=np.array(rows), b_ub=limits, A_eq=each, b_eq=np.ones(n_samples))
    return found.fun


def bound_of(costs, codes, conditions):
    sweep = in_memory_sweep(costs, codes, int(codes.max()) + 1)
    solver = ConeSolver(tol=1e-9)
    prices = solver.solve(sweep, conditions)
    while solver.can_cool(prices):
        prices = solver.cool(sweep, conditions, prices)
    for _ in range(4):  # colder than fits need
        prices = solver._climb(sweep, conditions, prices.theta, prices.temperature / 5, prices.gap)
    return lower_bound(sweep, conditions, prices.theta)


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_is_the_optimum_of_the_linear_program(seed):
    costs, codes, shares = small(seed)
    lower, upper = 0.9 * shares, shares / 0.9
    clause = Clause(BoundsCone(shares, lower, upper), 3)
    bound = bound_of(costs, codes, Conditions((clause,), np.eye(3)))
    wanted = least_cost_by_highs(costs, codes, lower, upper)
    assert bound == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_of_exact_proportions_is_the_optimum_too(seed):
    costs, codes, shares = small(seed)
    # Fractional people, who are not off by whole ones.
    cone = ExactCone(shares, rounding_slack=0.0)
    bound = bound_of(costs, codes, Conditions((Clause(cone, 3),), np.eye(3)))
    wanted = least_cost_by_highs(costs, codes, shares - 1e-12, shares + 1e-12)
    assert bound == pytest.approx(wanted, rel=1e-6)


def test_the_bound_of_an_error_is_the_optimum_of_an_independent_solver():
    costs, codes, shares = small(1, n_samples=14, n_clusters=2, n_groups=2)
    limit = 0.02
    bound = bound_of(costs, codes, Conditions((Clause(ErrorCone(shares, limit), 2),), np.eye(2)))

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
    assert bound == pytest.approx(best, rel=1e-6)


def test_sizes_are_conditions_too():
    costs, codes, shares = small(2, n_samples=90)
    free = Conditions((Clause(ErrorCone(shares, 0.05), 3),), np.eye(3))
    bound = Conditions(free.clauses, np.eye(3), SizeInterval(25.0, 40.0))
    assert bound_of(costs, codes, bound) >= bound_of(costs, codes, free) * (1 - 1e-6)
    tight = Conditions(free.clauses, np.eye(3), SizeInterval(30.0, 30.0))
    assert bound_of(costs, codes, tight) > bound_of(costs, codes, free)


def test_people_who_are_alike_are_split():
    # Everybody stands at the same two places: prices alone cannot tell anyone from the next.
    costs = np.tile([[0.0, 4.0], [4.0, 0.0]], (50, 1))
    codes = np.repeat([0, 1], 50).astype(np.int32)
    costs = np.where(codes[:, None] == 0, [[0.0, 4.0]], [[4.0, 0.0]])
    conditions = Conditions((Clause(ErrorCone(np.array([0.5, 0.5]), 0.01), 2),), np.eye(2))
    sweep = in_memory_sweep(costs, codes, 2)
    prices = ConeSolver().solve(sweep, conditions)
    hard = sweep.assign(prices.state.price, split=prices.state.scale)
    fixed = repair(sweep, conditions, sweep.last_labels(), hard, prices.state.price)
    assert not conditions.beyond(fixed.hard.masses).any()
    assert fixed.hard.cost >= lower_bound(sweep, conditions, prices.theta) - 1e-6


def test_the_smallest_error_of_few_people_is_found_by_trying_all():
    wanted = np.array([0.6, 0.3, 0.1])
    for size in (3, 4, 7, 10):
        tried = [
            (wanted * np.log(wanted * size / np.array([a, b, size - a - b]))).sum()
            for a in range(1, size)
            for b in range(1, size - a)
        ]
        assert smallest_error(wanted, size) == pytest.approx(min(tried))
    assert smallest_error(wanted, 2) == np.inf


GOALS = [
    pytest.param({"max_fairness_error": 0.02}, id="error"),
    pytest.param({"max_fairness_error": 0}, id="exact"),
    pytest.param({"min_balance": 0.4}, id="balance"),
    pytest.param({"bounds": 0.2}, id="bounds"),
    pytest.param({"max_cost_increase": 0.1}, id="cost"),
]


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("estimator", [FairKMeans, FairKMedian, FairNCut])
def test_every_goal_is_met_and_its_history_is_one_value_per_iteration(estimator, goal):
    data = people(500, n_clusters=3, seed=4)
    options = {} if estimator is FairNCut else {"init": data.init}
    model = estimator(3, random_state=0, **options, **goal).fit(data.X, sensitive_features=data.groups)
    assert model.fairness_goal_met_
    assert len(model.energy_history_) == model.n_iter_
    assert (np.diff(model.energy_history_) <= 1e-9 * abs(model.energy_history_[:-1])).all()
    assert model.n_sweeps_ <= 1000 or estimator is FairNCut
    if estimator is not FairNCut and "max_cost_increase" not in goal:
        assert -1e-6 <= model.assignment_gap_ < 0.2
        assert model.lower_bound_ <= model.objective_ * (1 + 1e-6)


def fitted_in(unit):
    data = people(300, n_clusters=3, seed=5)
    model = FairKMeans(3, max_fairness_error=0.02, init=data.init * unit)
    return model.fit(data.X * unit, sensitive_features=data.groups)


@pytest.mark.parametrize("power", [-50, 50])
def test_labels_do_not_depend_on_the_unit_of_the_data(power):
    np.testing.assert_array_equal(fitted_in(2.0**power).labels_, fitted_in(1.0).labels_)


@pytest.mark.parametrize("unit", [1e-15, 1e-6, 1e6, 1e15])
def test_a_unit_that_rounds_every_number_changes_next_to_nothing(unit):
    model = fitted_in(unit)
    assert model.fairness_goal_met_
    assert model.objective_ / unit**2 == pytest.approx(fitted_in(1.0).objective_, rel=5e-3)


@pytest.mark.parametrize("n_samples", [20, 60, 200])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_small_data_take_few_sweeps(n_samples, n_groups):
    for seed in range(3):
        data = people(n_samples, n_clusters=2, n_groups=n_groups, seed=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = FairKMeans(2, max_fairness_error=0.01, random_state=seed).fit(
                data.X, sensitive_features=data.groups
            )
        assert model.n_sweeps_ <= 1000


def test_outliers_of_one_group_do_not_hide_a_fair_clustering_at_any_weight():
    rng = np.random.default_rng(0)
    X = np.concatenate((rng.normal(size=(980, 2)), rng.normal(size=(20, 2)) * 0.1 + [10.0, 0.0]))
    groups = np.concatenate((rng.integers(2, size=980), np.ones(20, dtype=int)))
    model = FairKMeans(3, max_fairness_error=0.01, random_state=0).fit(X, sensitive_features=groups)
    assert model.fairness_goal_met_


def test_a_path_of_goals_meets_each_of_them():
    data = people(600, n_clusters=3, seed=6)
    wanted = [0.1, 0.03, 0.01]
    path = fairness_path(
        FairKMeans(3, random_state=0), data.X, sensitive_features=data.groups, max_fairness_errors=wanted
    )
    assert (path.max_fairness_errors <= np.array(wanted) + 1e-12).all()
    assert (np.diff(path.objectives) >= -1e-9).all()


@pytest.mark.parametrize("softness", [0.05, 1.0])
def test_the_mix_of_many_groups_keeps_the_balance_and_is_the_slope_of_its_worth(softness):
    """Above ten groups corners are no longer listed one by one."""
    cone, step = BalanceCone(np.full(12, 1 / 12), 0.4), 1e-6
    theta = np.random.default_rng(5).normal(size=(3, 12))
    found = cone.mixes(theta, softness)
    np.testing.assert_allclose(found.proportions.sum(axis=1), 1.0)
    assert (found.proportions.min(axis=1) >= 0.4 * found.proportions.max(axis=1) - 1e-12).all()
    for j in range(12):
        there, here = theta.copy(), theta.copy()
        there[:, j] += step
        here[:, j] -= step
        more, less = cone.mixes(there, softness), cone.mixes(here, softness)
        np.testing.assert_allclose((more.worth - less.worth) / (2 * step), found.proportions[:, j], atol=2e-5)
        np.testing.assert_allclose((more.proportions - less.proportions) / (2 * step), found.turn[:, :, j], atol=2e-4)
