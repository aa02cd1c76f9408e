"""Requests that broke solvers before: each ends, within its budget, with the goal met or a sentence that says why."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import oracles
from cases import GOALS, people
from fairclust import (
    Bounds,
    ExactProportions,
    FairKMeans,
    FairKMedian,
    FairnessGoalMissed,
    Groups,
    MaxCostIncrease,
    MinBalance,
    Penalty,
)

MOST_EVALUATIONS = 1600  # the budget, and what every stage needs at least


def ended(model, X, groups, **given):
    """Fit; the goal is met, or a warning says why not."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(X, sensitive_features=groups, **given)
    missed = [str(w.message) for w in told if issubclass(w.category, FairnessGoalMissed)]
    assert model.goal_met_ == (not missed)
    assert np.isfinite([model.energy_, model.objective_]).all()
    assert model.n_evaluations_ <= MOST_EVALUATIONS
    assert len(set(model.labels_)) == model.n_clusters
    if not model.goal_met_:
        assert np.isnan(model.lower_bound_)
    return model


def far(n_rows=2000):
    rng = np.random.default_rng(0)
    X = np.concatenate((rng.normal(size=(n_rows, 2)), np.full((3, 2), 60.0) + rng.normal(size=(3, 2)) * 0.01))
    return X, rng.integers(2, size=n_rows + 3)


def duplicates(n_rows=400):
    rng = np.random.default_rng(1)
    return rng.integers(0, 4, (n_rows, 2)).astype(float), rng.choice(3, n_rows, p=[0.6, 0.3, 0.1])


def heavy(n_rows=500):
    rng = np.random.default_rng(2)
    return rng.standard_t(1.5, (n_rows, 3)), (rng.random(n_rows) < 0.3).astype(int)


def log_normal(n_rows=500):
    rng = np.random.default_rng(3)
    return rng.lognormal(0, 2, (n_rows, 4)), rng.choice(3, n_rows)


def tiny(n_rows=20):
    rng = np.random.default_rng(4)
    return rng.normal(size=(n_rows, 2)), np.arange(n_rows) % 2


TABLES = [pytest.param(make, id=make.__name__) for make in (far, duplicates, heavy, log_normal, tiny)]


@pytest.mark.parametrize("n_clusters", [2, 7])
@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("make", TABLES)
def test_every_goal_ends_met_or_told_on_strange_rows(make, goal, n_clusters):
    X, groups = make()
    ended(FairKMeans(n_clusters, goal=goal, random_state=0), X, groups)


@pytest.mark.parametrize("unit", [1e-15, 1.0, 1e15])
@pytest.mark.parametrize("goal", [0.02, ExactProportions(), Bounds(0.2), MinBalance(0.4)], ids=str)
def test_the_unit_of_the_data_changes_next_to_nothing(goal, unit):
    data = people(300, n_clusters=3, seed=5)
    model = FairKMeans(3, goal=goal, init=data.init * unit)
    here = FairKMeans(3, goal=goal, init=data.init).fit(data.X, sensitive_features=data.groups)
    ended(model, data.X * unit, data.groups)
    assert model.goal_met_
    assert model.objective_ / unit**2 == pytest.approx(here.objective_, rel=5e-3)


@pytest.mark.parametrize("power", [-50, 50])
def test_labels_do_not_depend_on_a_unit_that_is_a_power_of_two(power):
    data = people(300, n_clusters=3, seed=5)
    labels = [
        FairKMeans(3, goal=0.02, init=data.init * unit).fit(data.X * unit, sensitive_features=data.groups).labels_
        for unit in (1.0, 2.0**power)
    ]
    np.testing.assert_array_equal(*labels)


@pytest.mark.parametrize("weight", [1e-9, 1e-3, 1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("estimator", [FairKMeans, FairKMedian])
def test_penalties_of_any_size_end_no_worse_than_fair_or_plain_clusters(estimator, weight):
    data = people(400, n_clusters=3, seed=5)
    fitted = [
        ended(estimator(3, goal=goal, init=data.init), data.X, data.groups)
        for goal in (Penalty(weight), None, ExactProportions())
    ]
    energies = [model.objective_ + weight * model.fairness_error_ for model in fitted]
    assert energies[0] <= min(energies[1:]) * 1.01


def test_people_who_are_ignored_count_in_no_share_but_in_sizes():
    data = people(400, n_clusters=3, seed=1)
    groups = data.groups.astype(object)
    groups[::4] = None
    model = FairKMeans(3, goal=0.01, init=data.init[:3], cluster_sizes=[140, 130, 130], groups=Groups(missing="ignore"))
    ended(model, data.X, groups)
    assert model.goal_met_
    assert model.cluster_sizes_.tolist() == [140, 130, 130]
    known = np.array([group is not None for group in groups])
    codes = np.unique(data.groups[known], return_inverse=True)[1]
    masses = oracles.masses_of(model.labels_[known], codes, 3, 2)
    assert oracles.kl(model.target_proportions_, masses).max() <= 0.01


@pytest.mark.parametrize("goal", [0.05, MinBalance(0.3), Bounds(0.3), ExactProportions(), Penalty(200.0)], ids=str)
def test_groups_that_overlap_and_nearly_cover_everyone(goal):
    """Shares near 1, which they cannot pass."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    groups = np.column_stack([rng.random(500) < 0.97, X[:, 0] > -1.2, rng.random(500) < 0.5])
    model = ended(FairKMeans(4, goal=goal, random_state=0), X, groups)
    assert model.goal_met_


@pytest.mark.parametrize("goal", [0.01, ExactProportions(), Bounds(0.2), Penalty(100.0)], ids=str)
def test_a_target_of_zero_for_a_group_that_is_there(goal):
    data = people(300, n_clusters=2, n_groups=3, seed=3)
    target = {"g0": 0.5, "g1": 0.5, "g2": 0.0}
    ended(FairKMeans(2, goal=goal, target_proportions=target, init=data.init[:2]), data.X, data.groups)


@pytest.mark.parametrize("goal", [0.005, Bounds(0.2), Penalty(1e5)], ids=str)
def test_targets_by_cluster(goal):
    rng = np.random.default_rng(0)
    X = np.concatenate((rng.normal(0, 1, (300, 2)), rng.normal(3, 1, (300, 2))))
    groups, target = np.array(["a", "b"] * 300), np.array([[0.7, 0.3], [0.3, 0.7]])
    model = FairKMeans(2, goal=goal, target_proportions=target, init=np.array([[0.0, 0.0], [3.0, 3.0]]))
    ended(model, X, groups)
    assert model.goal_met_
    np.testing.assert_allclose(model.proportions_, target, atol=0.15)


@pytest.mark.parametrize("goal", [*(case.values[0] for case in GOALS), None, Penalty(10.0)], ids=str)
def test_as_many_clusters_as_rows(goal):
    """Nobody can be balanced alone: met only where the goal asks for nothing else."""
    model = ended(FairKMeans(6, goal=goal, random_state=0), np.arange(6.0)[:, None], list("ababab"))
    assert sorted(model.labels_) == list(range(6))
    allows_one = Bounds(0.01, rounded=True), ExactProportions(), None
    assert model.goal_met_ == (goal in allows_one or isinstance(goal, Penalty | MaxCostIncrease))


def test_one_person_clusters_meet_what_allows_them():
    """Three far people: exact shares of one person are floor or ceiling."""
    X, groups = far()
    model = ended(FairKMeans(5, goal=ExactProportions(), random_state=0), X, groups)
    assert model.goal_met_


def test_an_impossible_request_is_told_within_300_evaluations():
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(2000, 3)), np.repeat(["rare", "common"], [20, 1980])
    for goal in (Bounds(0.05), 0.0001, MinBalance(0.5)):
        with pytest.warns(FairnessGoalMissed, match="would do|would not do|cannot be split"):
            model = FairKMeans(30, goal=goal, random_state=0).fit(X, sensitive_features=groups)
        assert model.n_evaluations_ <= 300
        assert len(set(model.labels_)) == 30


@pytest.mark.parametrize("name", ["weights", "zero weights"])
@pytest.mark.parametrize("goal", [0.02, Bounds(0.3), MinBalance(0.3), ExactProportions(), Penalty(100.0)], ids=str)
def test_rows_with_weights_end_met_or_told(goal, name):
    data, rng = people(400, n_clusters=3, seed=6), np.random.default_rng(1)
    weights = rng.uniform(0.2, 3.0, 400) if name == "weights" else rng.integers(0, 3, 400).astype(float)
    model = ended(FairKMeans(3, goal=goal, init=data.init), data.X, data.groups, sample_weight=weights)
    np.testing.assert_allclose(model.cluster_sizes_, np.bincount(model.labels_, weights))
