"""Goals as terms: support functions, the dual's bound, whole people; laws over every term and every goal."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

from cases import GOALS, SMOOTH_TERMS, TERMS, U, fair, people
from fairclust import FairKMeans, FairKMedian, fairness_path
from fairclust.errors import InvalidInputError
from internals import (
    counts_between,
    make_oracle,
    make_subproblem,
    make_term,
    optimum,
    people_off,
    proved_cost,
    smallest_error,
    solve_goal,
    support,
    violation,
    whole_people,
)


def thetas(seed, scale=1.0):
    theta = np.random.default_rng(seed).normal(size=(5, 4)) * scale
    theta[0] = 0.0
    return theta


@pytest.mark.parametrize("term", TERMS)
@pytest.mark.parametrize(("scale", "softness"), [(1e-9, 0.01), (1.0, 0.0), (1.0, 1.0), (1e9, 0.01)])
def test_the_maximiser_is_allowed(term, scale, softness):
    found = support(term, thetas(1, scale), softness * scale)
    assert people_off(term, found.maximiser, 1e7).max() <= 10.0
    turn = found.jacobian * scale
    assert np.linalg.eigvalsh(turn).min() >= -1e-4 * max(abs(turn).max(), 1e-12)


@pytest.mark.parametrize("term", TERMS)
@given(seed=st.integers(0, 10**6))
def test_no_allowed_shares_are_worth_more_than_the_support_function(term, seed):
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=(1, 4))
    worth = support(term, theta, 0.0).value[0]
    # Shares at other prices, and what lies between them, are allowed.
    others = support(term, rng.normal(size=(6, 4)), 0.05).maximiser
    between = rng.dirichlet(np.ones(6)) @ others
    for shares in (*others, between):
        assert theta[0] @ shares <= worth + 1e-7


def slopes(function, theta, step=1e-6):
    """Central differences by each entry of a row, (rows, …, 4)."""
    found = []
    for j in range(theta.shape[1]):
        there, here = theta.copy(), theta.copy()
        there[:, j] += step
        here[:, j] -= step
        found.append((function(there) - function(here)) / (2 * step))
    return np.stack(found, axis=-1)


MANY_GROUPS = pytest.param(make_term("balance", np.full(12, 1 / 12), 0.4), id="balance of many groups")


@pytest.mark.parametrize("term", [*SMOOTH_TERMS, MANY_GROUPS])
def test_the_maximiser_is_the_slope_of_the_support_function_and_has_the_jacobian(term):
    theta = np.random.default_rng(3).normal(size=(5, len(term.target)))
    found = support(term, theta, 0.3)
    value = slopes(lambda theta: support(term, theta, 0.3).value, theta)
    np.testing.assert_allclose(value, found.maximiser, atol=2e-5)
    jacobian = slopes(lambda theta: support(term, theta, 0.3).maximiser, theta)
    np.testing.assert_allclose(jacobian, found.jacobian, atol=2e-4)


def test_what_is_forgiven_follows_prices_as_told():
    term, theta = make_term("forgiving", U, 0.8 * U, U / 0.8, 0.7), thetas(3)
    found = support(term, theta, 0.3)
    offset = slopes(lambda theta: support(term, theta, 0.3).offset, theta)
    np.testing.assert_allclose(offset, found.offset_slope, atol=1e-6)
    slope = slopes(lambda theta: support(term, theta, 0.3).offset_slope, theta)
    np.testing.assert_allclose(slope, found.offset_jacobian, atol=1e-6)
    np.testing.assert_allclose(support(term, theta, 1e-9).offset, 0.7 * abs(theta).sum(axis=1), atol=1e-7)
    assert (found.offset <= 0.7 * abs(theta).sum(axis=1)).all()  # softness only ever takes


def small(seed=0, n_samples=60, n_clusters=3, n_groups=3):
    rng = np.random.default_rng(seed)
    costs = rng.gamma(2.0, 1.0, (n_samples, n_clusters)).astype(np.float32).astype(float)
    codes = np.concatenate((np.arange(n_groups), rng.integers(n_groups, size=n_samples - n_groups))).astype(np.int32)
    return costs, codes, np.bincount(codes) / n_samples


def least_cost_by_highs(costs, codes, lower, upper, forgiven=0.0):
    """The linear program over all fractional assignments with shares between bounds, up to some people."""
    n_samples, n_clusters = costs.shape
    rows, limits = [], []
    for k in range(n_clusters):
        for j in range(len(lower)):
            member = np.zeros((n_samples, n_clusters))
            member[:, k] = codes == j
            everyone = np.zeros((n_samples, n_clusters))
            everyone[:, k] = 1.0
            rows += [(member - upper[j] * everyone).ravel(), (lower[j] * everyone - member).ravel()]
            limits += [forgiven, forgiven]
    each = np.kron(np.eye(n_samples), np.ones((1, n_clusters)))
    found = linprog(costs.ravel(), A_ub=np.array(rows), b_ub=limits, A_eq=each, b_eq=np.ones(n_samples))
    return found.fun


def bound_of(costs, codes, subproblem):
    return optimum(make_oracle(costs, codes, int(codes.max()) + 1), subproblem)


@pytest.mark.parametrize(("seed", "forgiven"), [(0, None), (1, None), (2, None), (0, 0.4), (1, 1.0), (2, 0.0)])
def test_the_bound_is_the_optimum_of_the_linear_program(seed, forgiven):
    costs, codes, shares = small(seed)
    lower, upper = 0.9 * shares, shares / 0.9
    term = make_term("bounds", shares, lower, upper)
    if forgiven is not None:
        term = make_term("forgiving", shares, lower, upper, forgiven)
    wanted = least_cost_by_highs(costs, codes, lower, upper, forgiven or 0.0)
    assert bound_of(costs, codes, make_subproblem(term)) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_of_exact_proportions_is_the_optimum_too(seed):
    costs, codes, shares = small(seed)
    # Fractional people, who are not off by whole ones.
    term = make_term("exact", shares, rounding_slack=0.0)
    wanted = least_cost_by_highs(costs, codes, shares - 1e-12, shares + 1e-12)
    assert bound_of(costs, codes, make_subproblem(term)) == pytest.approx(wanted, rel=1e-6)


def test_the_bound_of_an_error_is_the_optimum_of_an_independent_solver():
    costs, codes, shares = small(1, n_samples=14, n_clusters=2, n_groups=2)
    limit = 0.02
    bound = bound_of(costs, codes, make_subproblem(make_term("error", shares, limit)))

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
    term = make_term("error", shares, 0.05)
    free, bound, tight = (
        bound_of(costs, codes, make_subproblem(term, sizes)) for sizes in (None, (25.0, 40.0), (30.0, 30.0))
    )
    assert bound >= free * (1 - 1e-6)
    assert tight > free


def test_people_who_are_alike_are_split():
    # Everybody stands at the same two places: prices alone cannot tell anyone from the next.
    costs = np.tile([[0.0, 4.0], [4.0, 0.0]], (50, 1))
    codes = np.repeat([0, 1], 50).astype(np.int32)
    costs = np.where(codes[:, None] == 0, [[0.0, 4.0]], [[4.0, 0.0]])
    goal = make_subproblem(make_term("error", [0.5, 0.5], 0.01))
    oracle = make_oracle(costs, codes, 2)
    solution = solve_goal(oracle, goal)
    found = whole_people(oracle, goal, solution)
    assert not violation(goal, found.masses).any()
    assert found.cost >= proved_cost(oracle, goal, solution) - 1e-6


def test_two_people_move_together_where_every_single_move_leads_away():
    # One and two of two groups are just beyond the goal; one person more or less is farther, two and three meet it.
    codes = np.repeat([0, 1], [41, 62]).astype(np.int32)
    at_home = np.repeat([1, 0, 1, 0], [40, 1, 60, 2])
    far = np.arange(1.0, 104.0)  # what it costs to be elsewhere: people differ, and the first of each group is nearest
    costs = np.where(at_home[:, None] == [0, 1], 0.0, far[:, None])
    goal = make_subproblem(make_term("error", [0.4, 0.6], 0.009))
    oracle = make_oracle(costs, codes, 2)
    assert violation(goal, oracle.assign(np.zeros((2, 2))).masses).any()
    found = whole_people(oracle, goal)
    np.testing.assert_array_equal(found.masses, [[2, 3], [39, 59]])
    np.testing.assert_array_equal(np.flatnonzero(found.labels != at_home), [0, 41])
    assert found.cost == pytest.approx(1 + 42)


@given(st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_repairs_reach_every_goal_that_a_large_cluster_can_spare_people_for(seed):
    rng = np.random.default_rng(seed)
    target = rng.dirichlet([3.0] * int(rng.integers(2, 4)))
    few = rng.integers(0, 5, size=len(target))
    few[rng.integers(len(few))] += 1
    many = np.round(1000 * target).astype(int) + 20
    codes = np.repeat(np.arange(len(few)), few + many)
    at_home = np.concatenate([np.repeat([0, 1], counts) for counts in zip(few, many, strict=True)])
    costs = np.where(at_home[:, None] == [0, 1], 0.0, rng.random((len(codes), 1)))
    goal = make_subproblem(make_term("error", target, 0.02))
    found = whole_people(make_oracle(costs, codes, len(target)), goal)
    assert not violation(goal, found.masses).any()
    counted = np.array([np.bincount(codes[found.labels == k], minlength=len(target)) for k in range(2)])
    np.testing.assert_array_equal(found.masses, counted)


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


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("estimator", [FairKMeans, FairKMedian])
def test_every_goal_is_met_and_its_history_is_one_value_per_iteration(estimator, goal):
    data = people(500, n_clusters=3, seed=4)
    model = fair(estimator, 3, goal, random_state=0, init=data.init).fit(data.X, sensitive_features=data.groups)
    assert model.fairness_goal_met_
    assert len(model.energy_history_) == model.n_iter_
    assert (np.diff(model.energy_history_) <= 1e-9 * abs(model.energy_history_[:-1])).all()
    assert model.n_sweeps_ <= 1000
    if goal.kind != "cost":
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


@pytest.mark.parametrize("n_groups", [1, 2, 3])
def test_a_balance_of_groups_that_overlap_is_met_with_a_valid_bound(n_groups):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    groups = X[:, :1] + rng.normal(size=(1000, n_groups)) > np.linspace(-0.4, 0.4, n_groups)
    model = FairKMeans(4, min_balance=0.6, random_state=0).fit(X, sensitive_features=groups)
    counts = np.array([groups[model.labels_ == k].sum(axis=0) for k in range(4)])
    assert model.fairness_goal_met_
    assert (counts.min(axis=1) >= 0.6 * counts.max(axis=1) - 1e-9).all()
    assert -1e-6 <= model.assignment_gap_ < 0.05


def rare(seed=0):
    """Three groups, one of them of 1 %, and a far cluster that is too small for its share of it."""
    rng = np.random.default_rng(seed)
    X = np.concatenate((rng.normal(size=(1960, 2)), rng.normal(loc=(60.0, 0.0), size=(40, 2))))
    return X, rng.permutation(np.repeat(["common", "some", "rare"], [1680, 300, 20]))


def test_rounded_bounds_let_a_small_cluster_be():
    X, groups = rare()
    options = {"n_clusters": 3, "bounds": 0.05, "random_state": 0}
    rounded = FairKMeans(round_bounds=True, **options).fit(X, sensitive_features=groups)
    assert rounded.fairness_goal_met_
    assert min(np.bincount(rounded.labels_)) < 60
    for name in np.unique(groups):
        share = (groups == name).mean()
        for k in range(3):
            size, count = (rounded.labels_ == k).sum(), ((rounded.labels_ == k) & (groups == name)).sum()
            assert np.floor(0.95 * share * size + 1e-9) <= count <= np.ceil(share / 0.95 * size - 1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        strict = FairKMeans(**options).fit(X, sensitive_features=groups)
    assert not strict.fairness_goal_met_ or strict.objective_ > 2 * rounded.objective_


def test_rounded_bounds_of_several_attributes_are_met():
    data = people(800, n_clusters=4, seed=8)
    rng = np.random.default_rng(1)
    groups = {"one": data.groups, "two": rng.choice(["x", "y", "z"], 800, p=[0.9, 0.09, 0.01])}
    model = FairKMeans(4, bounds=0.02, round_bounds=True, random_state=0).fit(data.X, sensitive_features=groups)
    assert model.fairness_goal_met_
    assert -1e-6 <= model.assignment_gap_ < 0.2


def test_rounded_bounds_are_bounds_where_people_have_weights():
    data = people(300, n_clusters=3, seed=3)
    weights = np.random.default_rng(0).uniform(0.5, 1.5, 300)
    options = {"n_clusters": 3, "bounds": 0.2, "random_state": 0}
    both = [
        FairKMeans(round_bounds=is_rounded, **options).fit(
            data.X, sensitive_features=data.groups, sample_weight=weights
        )
        for is_rounded in (True, False)
    ]
    np.testing.assert_array_equal(both[0].labels_, both[1].labels_)


def test_rounding_is_asked_for_by_true_or_false():
    data = people(60, n_clusters=2, seed=3)
    with pytest.raises(InvalidInputError, match="round_bounds='up', but True or False is needed"):
        FairKMeans(2, bounds=0.2, round_bounds="up").fit(data.X, sensitive_features=data.groups)


@pytest.mark.parametrize("is_rounded", [False, True])
def test_bounds_on_groups_that_overlap_are_met_near_their_bound(is_rounded):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 2))
    noise = rng.normal(size=(1000, 2))
    groups = np.column_stack((X[:, 0] + noise[:, 0] > 0, rng.random(1000) < 0.6, X[:, 1] + noise[:, 1] > 0.3))
    model = FairKMeans(4, bounds=0.2, round_bounds=is_rounded, random_state=0).fit(X, sensitive_features=groups)
    assert model.fairness_goal_met_
    assert -1e-6 <= model.assignment_gap_ < 0.02


def test_counts_between_bounds_are_found_where_single_moves_get_stuck():
    # Of 100 people no whole number is 0.9 to 1.1 times 1.5 %; of 132 it is.
    shares = np.array([0.985, 0.015])
    masses = np.array([[99.0, 1.0], [886.0, 14.0]])
    lower, upper = 0.9 * shares, np.minimum(shares / 0.9, 1.0)
    counts = counts_between(masses, np.eye(2), lower, upper)
    np.testing.assert_array_equal(counts.sum(axis=0), masses.sum(axis=0))
    size = counts.sum(axis=1, keepdims=True)
    assert (counts >= lower * size - 1e-6).all()
    assert (counts <= upper * size + 1e-6).all()
    assert abs(counts - masses).sum() <= 2 * 40
    # Fewer people than clusters cannot be everywhere.
    assert counts_between(np.array([[50.0, 1.0], [49.0, 0.0]]), np.eye(2), lower, upper) is None
