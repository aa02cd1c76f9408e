"""Goals: what is asked for is met, and no more is paid than a uniform weight would."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from cases import people
from fairclust import (
    Bounds,
    ExactProportions,
    FairKMeans,
    MaxCostIncrease,
    MaxFairnessError,
    MinBalance,
    Penalty,
    datasets,
)
from fairclust.errors import FairnessGoalMissed

# --- fits for a goal --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("goal", "target"),
    [(0.01, {"a": 0.5, "b": 0.5}), (MinBalance(0.5), None), (Bounds({"a": (0.4, 0.6)}), None)],
    ids=str,
)
def test_a_goal_that_the_data_rule_out_says_why(goal, target):
    model = FairKMeans(1, target_proportions=target, random_state=0, goal=goal)
    with pytest.warns(FairnessGoalMissed, match=r"of these 4 people makes up cluster 0|4 people cannot be split"):
        model.fit(np.array([[0.0], [0.1], [5.0], [5.1]]), sensitive_features=list("abbb"))
    assert not model.goal_met_
    assert np.isnan([model.lower_bound_, model.assignment_gap_]).all()
    assert model.n_evaluations_ <= 300


def masses_of(model, groups):
    codes = np.unique(groups, return_inverse=True)[1]
    return oracles.masses_of(model.labels_, codes, model.n_clusters, codes.max() + 1)


@pytest.mark.parametrize("limit", [0.1, 0.01, 0.001])
@pytest.mark.parametrize("seed", range(3))
def test_the_goal_is_met_and_costs_no_more_than_one_weight_for_all(seed, limit):
    data = people(800, n_clusters=4, n_groups=2, seed=seed)

    def fitted(**asked):
        return FairKMeans(4, init=data.init, **asked).fit(data.X, sensitive_features=data.groups)

    found = fitted(goal=MaxFairnessError(limit))
    assert oracles.kl(found.target_proportions_, masses_of(found, data.groups)).max() <= limit
    uniform = [fitted(goal=Penalty(weight)) for weight in 10.0 ** np.arange(1, 7)]
    fair = [model.objective_ for model in uniform if model.max_fairness_error_ <= limit]
    assert found.objective_ <= min(fair, default=np.inf) * 1.01
    assert found.cluster_weights_.shape[0] == 4


@pytest.mark.parametrize("limit", [0.1, 0.01])
def test_many_people_meet_the_goal_to_the_person(limit):
    data = people(6000, n_clusters=4, n_groups=3, seed=1)
    found = FairKMeans(4, init=data.init, goal=MaxFairnessError(limit)).fit(data.X, sensitive_features=data.groups)
    assert oracles.kl(found.target_proportions_, masses_of(found, data.groups)).max() <= limit
    assert (np.diff(found.energy_history_) < 0).all()
    assert found.assignment_gap_ < 0.01


def test_exact_proportions_differ_from_the_ideal_by_less_than_a_point():
    data = people(500, n_clusters=3, n_groups=3, seed=2)
    found = FairKMeans(3, init=data.init, goal=ExactProportions()).fit(data.X, sensitive_features=data.groups)
    masses = masses_of(found, data.groups)
    assert (abs(masses - masses.sum(axis=1, keepdims=True) * found.target_proportions_) < 1).all()


def test_eighteen_groups_are_exactly_proportional_and_no_cluster_vanishes():
    data = datasets.make_census_like(6000, random_state=1)
    rng = np.random.default_rng(0)
    liking = data.data @ rng.normal(size=(25, 18)) * 3 + rng.gumbel(size=(6000, 18)) + np.linspace(0, 2, 18)
    groups = liking.argmax(axis=1)  # where people are decides much of what they are; the groups differ in size
    model = FairKMeans(8, goal=ExactProportions(), random_state=0).fit(data.data, sensitive_features=groups)
    counts = np.zeros((8, 18))
    np.add.at(counts, (model.labels_, groups), 1)
    ideal = np.outer(counts.sum(axis=1), np.bincount(groups)) / 6000
    assert ((counts == np.floor(ideal + 1e-9)) | (counts == np.ceil(ideal - 1e-9))).all()
    assert counts.sum(axis=1).min() > 100
    assert model.goal_met_


@pytest.mark.parametrize("increase", [0.01, 0.1])
def test_fairness_at_a_price_keeps_to_the_price(increase):
    data = people(600, n_clusters=3, seed=1)
    plain = FairKMeans(3, init=data.init, goal=None).fit(data.X, sensitive_features=data.groups)
    found = FairKMeans(3, init=data.init, goal=MaxCostIncrease(increase)).fit(data.X, sensitive_features=data.groups)
    assert found.objective_ <= plain.objective_ * (1 + increase)
    assert found.fairness_error_ < plain.fairness_error_
    spent = found.objective_ / plain.objective_ - 1
    assert spent > 0.5 * increase or found.max_fairness_error_ < 1e-5


def test_a_goal_that_cannot_be_met_is_a_warning_that_says_how_close_it_came():
    # Three and two of five: no part of them has these shares.
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1]])
    model = FairKMeans(2, goal=1e-6, random_state=0)
    with pytest.warns(FairnessGoalMissed, match=r"cannot be split into 2 clusters|clusters need"):
        model.fit(X, sensitive_features=list("aaabb"))
    assert not model.goal_met_
    assert model.max_fairness_error_ > 1e-6


def test_auto_costs_no_more_than_a_much_larger_weight():
    data = people(800, n_clusters=3, n_groups=2, seed=9)
    auto = FairKMeans(3, goal=0.02, init=data.init).fit(data.X, sensitive_features=data.groups)
    strict = FairKMeans(3, goal=Penalty(1e4), init=data.init).fit(data.X, sensitive_features=data.groups)
    assert auto.goal_met_
    assert auto.objective_ <= strict.objective_ * (1 + 1e-6)


@pytest.mark.parametrize("n_clusters", [1, 2])
@pytest.mark.parametrize(
    "goal", [{"goal": MinBalance(0.9)}, {"goal": Bounds({"a": (0.5, 0.8)})}], ids=["balance", "bounds"]
)
def test_clusters_like_data_that_miss_the_goal_miss_it_too(goal, n_clusters):
    """Exactly the data's shares, which are not what was asked for."""
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    with pytest.warns(FairnessGoalMissed, match="MinBalance|Bounds"):
        model = FairKMeans(n_clusters, random_state=0, **goal).fit(X, sensitive_features=list("abbabb"))
    assert not model.goal_met_
    np.testing.assert_allclose(model.proportions_, np.tile([1 / 3, 2 / 3], (n_clusters, 1)))


@pytest.mark.parametrize("kind", ["log-normal columns", "heavy tails"])
def test_a_cluster_that_prices_leave_empty_gets_people_who_meet_the_goal(kind):
    """Far rows would be clusters of one person; put there after repairs, somebody would break the goal again."""
    rng = np.random.default_rng(1)
    if kind == "heavy tails":
        X, groups = rng.standard_t(1.5, size=(2000, 3)), (rng.random(2000) < 0.2).astype(int)
    else:
        X = np.exp(2.0 * rng.normal(size=(2000, 5))) * 10.0 ** np.array([0, 1, 3, 5, 7])
        groups = rng.integers(0, 3, 2000)
    model = FairKMeans(8, goal=0.01, random_state=0).fit(X, sensitive_features=groups)
    assert model.goal_met_
    assert model.cluster_sizes_.min() >= 1
    assert 0 <= model.assignment_gap_ <= 1


@pytest.mark.parametrize(
    ("kind", "seed"), [("log-normal", 7), ("heavy tails", 0), ("heavy tails", 2), ("heavy tails", 5)]
)
def test_clusters_of_three_far_people_meet_a_goal_by_moves_of_two(kind, seed):
    rng = np.random.default_rng(seed)
    X = rng.lognormal(0, 2, (5000, 5)) if kind == "log-normal" else rng.standard_t(1.5, (5000, 5))
    groups = rng.random(5000) < 0.6
    model = FairKMeans(8, goal=0.01, random_state=0).fit(X, sensitive_features=groups)
    assert model.goal_met_
