"""Goals: what is asked for is met, and no more is paid than a uniform weight would."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import people
from fairclust import FairKMeans, datasets
from fairclust._fairness.term import one_attribute
from fairclust._fit.aims import CostAim, GoalAim
from fairclust._fit.problem import PointsProblem
from fairclust._fit.records import Start
from fairclust._fit.settings import Settings
from fairclust._goals.counts import move_to_counts, proportional_counts
from fairclust._goals.goals import Bounds, MaxFairnessError, MinBalance
from fairclust._objectives import KMeansObjective
from fairclust._solvers import Dual
from fairclust._sweep.layout import build_layout
from fairclust._sweep.memory import InMemorySweep
from fairclust.errors import FairnessGoalMissed

EVEN = one_attribute(np.array([0.5, 0.5]))
NAMES = np.array(["a", "b"])


def problem_of(data):
    names, codes = np.unique(data.groups, return_inverse=True)
    sweep = InMemorySweep(build_layout(codes.astype(np.int32), len(names)), len(data.init))
    fairness = one_attribute(np.bincount(codes) / len(codes))
    return PointsProblem(KMeansObjective(data.X), sweep, fairness, Dual(), Settings())


# --- goals ------------------------------------------------------------------------------------------------------------


def test_goals_are_read_from_the_masses_as_by_hand():
    masses = np.array([[3.0, 3.0], [1.0, 2.0]])
    assert MaxFairnessError(EVEN, 0.1).ratio(masses)[:, 0] == pytest.approx([0.0, EVEN.value(masses)[1] / 0.1])
    assert MinBalance(EVEN, 0.75).ratio(masses)[:, 0] == pytest.approx([0.0, 2.0])
    assert Bounds(EVEN, np.array([0.4, 0.4]), np.array([0.6, 0.6])).ratio(masses)[:, 0] == pytest.approx([0.0, 5 / 3])


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        (MaxFairnessError(EVEN, 0.01), r"max_fairness_error=0\.01 cannot be met: .* asks for 0\.500 of group .*'a'"),
        (MinBalance(EVEN, 0.5), r"min_balance=0\.5 cannot be met: the data have 1 of group .*'a'.* and 3 of .*'b'"),
        (Bounds(EVEN, np.full(2, 0.4), np.full(2, 0.6)), r"group .*'a'.* has a share of 0\.250 in the data"),
    ],
)
def test_a_goal_that_the_data_rule_out_says_why(goal, message):
    obstacle = goal.obstacle(np.array([[1.0, 1.0], [0.0, 2.0]]), NAMES)
    assert obstacle is not None
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(obstacle)
    assert goal.obstacle(np.array([[1.0, 1.0], [2.0, 2.0]]), NAMES) is None


# --- fits for a goal --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [0.1, 0.01, 0.001])
@pytest.mark.parametrize("seed", range(3))
def test_the_goal_is_met_and_costs_no_more_than_one_weight_for_all(seed, limit):
    data = people(800, n_clusters=4, n_groups=2, seed=seed)
    problem = problem_of(data)
    found = GoalAim(MaxFairnessError(problem.fairness, limit), NAMES).fit(problem, Start(data.init))
    assert problem.fairness.value(found.result.masses).max() <= limit
    uniform = [problem.fit(weight, Start(data.init)).result for weight in 10.0 ** np.arange(1, 7)]
    fair = [fit.objective for fit in uniform if problem.fairness.value(fit.masses).max() <= limit]
    assert found.result.objective <= min(fair, default=np.inf) * 1.01
    assert found.fairness_weights.shape == (4, 1)


@pytest.mark.parametrize("limit", [0.1, 0.01])
def test_many_people_are_fitted_roughly_first_and_meet_the_goal_to_the_person(limit):
    data = people(6000, n_clusters=4, n_groups=3, seed=1)
    problem = problem_of(data)
    aim = GoalAim(MaxFairnessError(problem.fairness, limit), NAMES)
    assert aim.ask(problem).are_many
    found = aim.fit(problem, Start(data.init)).result
    assert problem.fairness.value(found.masses).max() <= limit
    np.testing.assert_array_equal(found.masses, np.round(found.masses))
    assert (np.diff(found.energy_history) < 0).all()
    assert found.energy_history[-1] == pytest.approx(found.objective)
    whole = problem.fit_ask(aim.ask(problem), Start(data.init))  # people whole from the first iteration on
    assert found.objective <= whole.objective * 1.002


def test_what_a_goal_is_missed_by_is_taken_at_its_prices_where_people_are_many():
    data = people(6000, n_clusters=4, n_groups=2, seed=0)
    problem = problem_of(data)
    problem.objective.fill(problem.sweep, data.init)
    ask = GoalAim(MaxFairnessError(problem.fairness, 0.001), NAMES).ask(problem)
    rough = ask.on_sample(1.0)
    prices = rough.propose(problem.sweep, None, np.inf).warm
    plain = problem.sweep.assign(np.zeros((4, 2)))
    fair = problem.sweep.assign(prices.state.price)
    # By weak duality, to the softness of the prices: labels that miss the goal cost what those that meet it do.
    assert plain.cost < 0.99 * fair.cost
    assert plain.cost + rough.penalty(plain.masses, prices) >= 0.999 * (fair.cost + rough.penalty(fair.masses, prices))
    assert np.isinf(ask.penalty(plain.masses, prices))
    few = replace(rough, are_many=False)
    assert few.penalty(plain.masses, prices) == 0


def test_exact_proportions_differ_from_the_ideal_by_less_than_a_point():
    data = people(500, n_clusters=3, n_groups=3, seed=2)
    problem = problem_of(data)
    found = GoalAim(MaxFairnessError(problem.fairness, 0.0), NAMES).fit(problem, Start(data.init))
    masses = found.result.masses
    ideal = masses.sum(axis=1, keepdims=True) * problem.fairness.parts[0].target
    assert (abs(masses - ideal) < 1).all()
    np.testing.assert_array_equal(masses.sum(axis=0), np.bincount(problem.sweep.layout.cells))


def test_eighteen_groups_are_exactly_proportional_and_no_cluster_vanishes():
    data = datasets.make_census_like(6000, random_state=1)
    rng = np.random.default_rng(0)
    liking = data.data @ rng.normal(size=(25, 18)) * 3 + rng.gumbel(size=(6000, 18)) + np.linspace(0, 2, 18)
    groups = liking.argmax(axis=1)  # where people are decides much of what they are; the groups differ in size
    model = FairKMeans(8, max_fairness_error=0, random_state=0).fit(data.data, sensitive_features=groups)
    counts = np.zeros((8, 18))
    np.add.at(counts, (model.labels_, groups), 1)
    ideal = np.outer(counts.sum(axis=1), np.bincount(groups)) / 6000
    assert ((counts == np.floor(ideal + 1e-9)) | (counts == np.ceil(ideal - 1e-9))).all()
    assert counts.sum(axis=1).min() > 100
    assert model.fairness_goal_met_


@pytest.mark.parametrize("increase", [0.01, 0.1])
def test_fairness_at_a_price_keeps_to_the_price(increase):
    data = people(600, n_clusters=3, seed=1)
    problem = problem_of(data)
    plain = problem.fit(0.0, Start(data.init)).result
    found = CostAim(increase, NAMES).fit(problem, Start(data.init))
    assert found.result.objective <= plain.objective * (1 + increase)
    assert problem.error(found.result) < problem.error(plain)
    spent = found.result.objective / plain.objective - 1
    assert spent > 0.5 * increase or problem.fairness.errors(found.result.masses).max() < 1e-5


def test_a_goal_that_cannot_be_met_is_a_warning_that_says_how_close_it_came():
    # Three and two of five: no part of them has these shares.
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1]])
    model = FairKMeans(2, max_fairness_error=1e-6, random_state=0)
    with pytest.warns(FairnessGoalMissed, match=r"max_fairness_error=1e-06"):
        model.fit(X, sensitive_features=list("aaabb"))
    assert not model.fairness_goal_met_
    assert model.max_fairness_error_ > 1e-6


def test_auto_costs_no_more_than_a_much_larger_weight():
    data = people(800, n_clusters=3, n_groups=2, seed=9)
    auto = FairKMeans(3, max_fairness_error=0.02, init=data.init).fit(data.X, sensitive_features=data.groups)
    strict = FairKMeans(3, fairness_weight=1e4, init=data.init).fit(data.X, sensitive_features=data.groups)
    assert auto.fairness_goal_met_
    assert auto.objective_ <= strict.objective_ * (1 + 1e-6)


# --- rounding ---------------------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 5))
def test_proportional_counts_keep_sizes_and_totals_and_round_each_ideal(seed, n_clusters, n_groups):
    masses = np.random.default_rng(seed).integers(0, 20, (n_clusters, n_groups)).astype(float)
    masses[:, 0] += 1
    counts = proportional_counts(masses)
    ideal = np.outer(masses.sum(axis=1), masses.sum(axis=0)) / masses.sum()
    np.testing.assert_array_equal(counts.sum(axis=1), masses.sum(axis=1))
    np.testing.assert_array_equal(counts.sum(axis=0), masses.sum(axis=0))
    assert (counts >= np.floor(ideal + 1e-9) - 1e-9).all()
    assert (counts <= np.ceil(ideal - 1e-9) + 1e-9).all()


def test_points_move_to_the_counts_at_no_great_cost():
    data = people(300, n_clusters=3, n_groups=2, seed=4)
    problem = problem_of(data)
    problem.objective.fill(problem.sweep, data.init)
    price = np.zeros((3, 2))
    plain = problem.sweep.assign(price)
    counts = proportional_counts(plain.masses)
    before = problem.sweep.last_labels().copy()
    labels = move_to_counts(problem.sweep, before.copy(), plain, counts, price).labels
    masses = np.zeros((3, 2))
    np.add.at(masses, (labels, problem.sweep.layout.cells), 1)
    np.testing.assert_array_equal(masses, counts)
    n_moved = np.count_nonzero(labels != before)
    assert n_moved >= np.abs(counts - plain.masses).sum() / 2  # no fewer can do it


@pytest.mark.parametrize("n_clusters", [1, 2])
@pytest.mark.parametrize("goal", [{"min_balance": 0.9}, {"bounds": {"a": (0.5, 0.8)}}], ids=["balance", "bounds"])
def test_clusters_like_data_that_miss_the_goal_miss_it_too(goal, n_clusters):
    """Exactly the data's shares, which are not what was asked for."""
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    with pytest.warns(FairnessGoalMissed, match="cannot be met: .*'a'"):
        model = FairKMeans(n_clusters, random_state=0, **goal).fit(X, sensitive_features=list("abbabb"))
    assert not model.fairness_goal_met_
    np.testing.assert_allclose(model.proportions_, np.tile([1 / 3, 2 / 3], (n_clusters, 1)))


def test_prices_that_went_astray_are_not_what_a_fit_is_proved_with():
    data = people(800, n_clusters=4, n_groups=2, seed=0)
    problem = problem_of(data)
    aim = GoalAim(MaxFairnessError(problem.fairness, 0.01), NAMES)
    found = aim.fit(problem, Start(data.init))
    wild = np.random.default_rng(0).normal(size=found.result.warm.theta.shape) * 1e9
    astray = replace(found, result=replace(found.result, warm=replace(found.result.warm, theta=wild)))
    proved, usual = aim.proved(problem, astray).result, aim.proved(problem, found).result
    assert proved.lower_bound >= 0.98 * usual.lower_bound > 0
    assert proved.lower_bound <= proved.objective * (1 + 1e-6)


@pytest.mark.parametrize("kind", ["log-normal columns", "heavy tails"])
def test_a_cluster_that_prices_leave_empty_gets_people_who_meet_the_goal(kind):
    """Far rows would be clusters of one person; put there after repairs, somebody would break the goal again."""
    rng = np.random.default_rng(1)
    if kind == "heavy tails":
        X, groups = rng.standard_t(1.5, size=(2000, 3)), (rng.random(2000) < 0.2).astype(int)
    else:
        X = np.exp(2.0 * rng.normal(size=(2000, 5))) * 10.0 ** np.array([0, 1, 3, 5, 7])
        groups = rng.integers(0, 3, 2000)
    model = FairKMeans(8, max_fairness_error=0.01, random_state=0).fit(X, sensitive_features=groups)
    assert model.fairness_goal_met_
    assert model.cluster_sizes_.min() >= 1
    assert 0 <= model.assignment_gap_ <= 1


@pytest.mark.parametrize(
    ("kind", "seed"), [("log-normal", 7), ("heavy tails", 0), ("heavy tails", 2), ("heavy tails", 5)]
)
def test_clusters_of_three_far_people_meet_a_goal_by_moves_of_two(kind, seed):
    rng = np.random.default_rng(seed)
    X = rng.lognormal(0, 2, (5000, 5)) if kind == "log-normal" else rng.standard_t(1.5, (5000, 5))
    groups = rng.random(5000) < 0.6
    model = FairKMeans(8, max_fairness_error=0.01, random_state=0).fit(X, sensitive_features=groups)
    assert model.fairness_goal_met_
