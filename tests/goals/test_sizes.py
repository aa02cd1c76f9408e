"""Bounds on the clusters' sizes: kept exactly, with and without fairness."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import oracles
from cases import people
from fairclust import ExactProportions, FairKMeans, FairKMedian, MinBalance, Penalty
from fairclust.errors import InvalidInputError


def uneven(n_samples=600, seed=0):
    """Clouds of very different sizes."""
    rng = np.random.default_rng(seed)
    cloud = rng.choice(3, n_samples, p=[0.7, 0.2, 0.1])
    X = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])[cloud] + rng.normal(size=(n_samples, 2))
    groups = np.where(rng.random(n_samples) < np.array([0.2, 0.8, 0.5])[cloud], "a", "b")
    return X, groups, np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])


@pytest.mark.parametrize("estimator", [FairKMeans, FairKMedian])
@pytest.mark.parametrize("goal", [{"goal": None}, {"goal": Penalty(100.0)}, {"goal": 0.02}], ids=str)
def test_every_cluster_keeps_to_its_bounds(estimator, goal):
    X, groups, init = uneven()
    model = estimator(3, init=init, min_cluster_size=150, max_cluster_size=0.4, **goal).fit(
        X, sensitive_features=groups
    )
    sizes = np.bincount(model.labels_, minlength=3)
    np.testing.assert_array_equal(model.cluster_sizes_, sizes)
    assert sizes.min() >= 150
    assert sizes.max() <= 240
    assert model.goal_met_


def test_bounds_that_do_not_bind_change_nothing():
    data = people()
    free = FairKMeans(4, init=data.init, goal=Penalty(50.0)).fit(data.X, sensitive_features=data.groups)
    bound = FairKMeans(4, init=data.init, goal=Penalty(50.0), min_cluster_size=1, max_cluster_size=1.0)
    bound.fit(data.X, sensitive_features=data.groups)
    assert bound.energy_ == pytest.approx(free.energy_, rel=1e-6)
    np.testing.assert_array_equal(bound.labels_, free.labels_)


def test_sizes_are_bounded_without_groups():
    X, _, init = uneven()
    model = FairKMeans(3, init=init, max_cluster_size=210, goal=None).fit(X)
    assert np.bincount(model.labels_).max() <= 210


def test_many_rows_keep_to_their_bounds():
    X, groups, init = uneven(70_000, seed=1)
    model = FairKMeans(3, init=init, goal=0.01, max_cluster_size=0.4).fit(X, sensitive_features=groups)
    assert model.cluster_sizes_.max() <= 28_000
    assert model.goal_met_


def test_weights_count_in_sizes():
    X, groups, init = uneven()
    weights = np.random.default_rng(3).uniform(0.5, 2.0, len(X))
    model = FairKMeans(3, init=init, goal=Penalty(50.0), max_cluster_size=0.45)
    model.fit(X, sensitive_features=groups, sample_weight=weights)
    sizes = np.bincount(model.labels_, weights=weights)
    np.testing.assert_allclose(model.cluster_sizes_, sizes)
    assert sizes.max() <= 0.45 * weights.sum() + weights.max()


@pytest.mark.parametrize("goal", [None, Penalty(100.0), 0.05, ExactProportions(), MinBalance(0.5)], ids=str)
@pytest.mark.parametrize("estimator", [FairKMeans, FairKMedian])
def test_equal_sizes_are_floor_or_ceiling(estimator, goal):
    X, groups, init = uneven(601)
    model = estimator(3, init=init, cluster_sizes="equal", goal=goal).fit(X, sensitive_features=groups)
    assert sorted(model.cluster_sizes_) == [200, 200, 201]
    assert model.goal_met_


@pytest.mark.parametrize("goal", [None, Penalty(100.0), 0.05, ExactProportions()], ids=str)
def test_sizes_that_are_given_are_kept_one_by_one(goal):
    X, groups, init = uneven()
    model = FairKMeans(3, init=init, cluster_sizes=[300, 250, 50], goal=goal).fit(X, sensitive_features=groups)
    assert model.cluster_sizes_.tolist() == [300, 250, 50]
    assert model.goal_met_


def test_bounds_may_differ_by_cluster():
    X, groups, init = uneven()
    model = FairKMeans(3, init=init, min_cluster_size=[0.5, 150, 0], max_cluster_size=[1.0, 160, 120], goal=0.05)
    model.fit(X, sensitive_features=groups)
    assert model.cluster_sizes_[0] >= 300
    assert 150 <= model.cluster_sizes_[1] <= 160
    assert model.cluster_sizes_[2] <= 120
    assert model.goal_met_


def test_groups_of_five_hold_floor_or_ceiling_of_every_share():
    rng = np.random.default_rng(0)
    X, sex = rng.normal(size=(100, 2)), np.array(["F", "M"] * 50)
    model = FairKMeans(20, cluster_sizes="equal", goal=ExactProportions(), random_state=0)
    model.fit(X, sensitive_features=sex)
    assert (model.cluster_sizes_ == 5).all()
    assert model.goal_met_
    counts = np.round(model.proportions_ * 5)
    assert np.isin(counts, [2, 3]).all()


def test_equal_sizes_cost_no_more_than_moving_people_one_by_one():
    """Sizes of plain clusters made equal by the cheapest moves are a clustering too."""
    X, _, init = uneven()
    plain = FairKMeans(3, init=init, goal=None).fit(X)
    equal = FairKMeans(3, init=init, cluster_sizes="equal", goal=None).fit(X)
    costs = ((X[:, None] - plain.cluster_centers_) ** 2).sum(axis=2)
    rows, columns = linear_sum_assignment(np.repeat(costs, 200, axis=1))
    labels = columns[np.argsort(rows)] // 200
    assert equal.objective_ <= oracles.kmeans_objective(X, labels) * (1 + 1e-9)
    assert equal.lower_bound_ <= equal.objective_


def test_sizes_that_whole_weights_cannot_have_are_kept_up_to_a_weight():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    model = FairKMeans(2, init=X[[0, 2]], goal=None, min_cluster_size=0.5)
    model.fit(X, sample_weight=[10.0, 1.0, 1.0, 1.0])
    assert model.cluster_sizes_.sum() == 13
    assert len(set(model.labels_)) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"min_cluster_size": 300}, r"cannot be kept by 3 clusters of 600 rows .* but 200 is needed"),
        ({"max_cluster_size": 0.3}, "cannot be kept by 3 clusters"),
        ({"max_cluster_size": 1.5}, r"max_cluster_size=1\.5, but a whole number of rows, or a share between 0 and 1"),
        ({"min_cluster_size": [100, 100]}, "min_cluster_size has 2 values, but there are 3 clusters"),
        ({"min_cluster_size": True}, "min_cluster_size=True, but a whole number"),
        ({"cluster_sizes": "same"}, "cluster_sizes='same', but 'equal' or 3 counts"),
        ({"cluster_sizes": [300, 300]}, "but 'equal' or 3 counts"),
        ({"cluster_sizes": [300, 300, 300]}, "add up to 900, but there are 600 rows"),
        ({"cluster_sizes": "equal", "max_cluster_size": 300}, "so min_cluster_size and max_cluster_size say nothing"),
        ({"solver": "bound", "goal": Penalty(1.0), "max_cluster_size": 300}, "solver='bound' knows no bounds on sizes"),
    ],
)
def test_wrong_sizes_are_explained(change, message):
    X, groups, init = uneven()
    with pytest.raises(InvalidInputError, match=message):
        FairKMeans(3, init=init, **change).fit(X, sensitive_features=groups)


def test_sizes_that_whole_people_cannot_have_are_explained():
    X = np.arange(7.0)[:, None]
    with pytest.raises(InvalidInputError, match=r"min_cluster_size=0\.3 cannot be kept by 3 clusters of 7 rows"):
        FairKMeans(3, min_cluster_size=0.3, goal=None).fit(X)
    with pytest.raises(InvalidInputError, match=r"max_cluster_size=0\.4 cannot be kept by 3 clusters of 7 rows"):
        FairKMeans(3, max_cluster_size=0.4, goal=None).fit(X)
