"""Bounds on the clusters' sizes: kept exactly, with and without fairness."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import people
from fairclust import FairKMeans, FairKMedian
from fairclust.errors import ClusterSizeWarning, InvalidInputError
from internals import bounded_counts


def uneven(n_samples=600, seed=0):
    """Clouds of very different sizes."""
    rng = np.random.default_rng(seed)
    cloud = rng.choice(3, n_samples, p=[0.7, 0.2, 0.1])
    X = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])[cloud] + rng.normal(size=(n_samples, 2))
    groups = np.where(rng.random(n_samples) < np.array([0.2, 0.8, 0.5])[cloud], "a", "b")
    return X, groups, np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 4))
def test_bounded_counts_keep_totals_and_bounds(seed, n_clusters, n_cells):
    masses = np.random.default_rng(seed).integers(0, 30, (n_clusters, n_cells)).astype(float)
    mean = masses.sum() / n_clusters
    counts = bounded_counts(masses, np.floor(0.9 * mean), np.ceil(1.1 * mean))
    assert counts is not None
    np.testing.assert_array_equal(counts.sum(axis=0), masses.sum(axis=0))
    assert (counts >= 0).all()
    assert (counts.sum(axis=1) >= np.floor(0.9 * mean)).all()
    assert (counts.sum(axis=1) <= np.ceil(1.1 * mean)).all()
    assert bounded_counts(masses, masses.sum() + 1, np.inf) is None


@pytest.mark.parametrize("estimator", [FairKMeans, FairKMedian])
@pytest.mark.parametrize(
    "goal", [{"fairness_weight": 0.0}, {"fairness_weight": 100.0}, {"max_fairness_error": 0.02}], ids=str
)
def test_every_cluster_keeps_to_its_bounds(estimator, goal):
    X, groups, init = uneven()
    model = estimator(3, init=init, min_cluster_size=150, max_cluster_size=0.4, **goal).fit(
        X, sensitive_features=groups
    )
    sizes = np.bincount(model.labels_, minlength=3)
    np.testing.assert_array_equal(model.cluster_sizes_, sizes)
    assert sizes.min() >= 150
    assert sizes.max() <= 240
    assert model.fairness_goal_met_ or "fairness_weight" in goal


def test_bounds_that_do_not_bind_change_nothing():
    data = people()
    free = FairKMeans(4, init=data.init, fairness_weight=50.0).fit(data.X, sensitive_features=data.groups)
    bound = FairKMeans(4, init=data.init, fairness_weight=50.0, min_cluster_size=1, max_cluster_size=1.0)
    bound.fit(data.X, sensitive_features=data.groups)
    assert bound.energy_ == pytest.approx(free.energy_, rel=1e-6)
    np.testing.assert_array_equal(bound.labels_, free.labels_)


def test_sizes_are_bounded_without_groups():
    X, _, init = uneven()
    model = FairKMeans(3, init=init, max_cluster_size=210, fairness_weight=0).fit(X)
    assert np.bincount(model.labels_).max() <= 210


def test_many_rows_keep_to_their_bounds():
    X, groups, init = uneven(70_000, seed=1)
    model = FairKMeans(3, init=init, max_fairness_error=0.01, max_cluster_size=0.4).fit(X, sensitive_features=groups)
    assert model.cluster_sizes_.max() <= 28_000
    assert model.fairness_goal_met_


def test_weights_count_in_sizes():
    X, groups, init = uneven()
    weights = np.random.default_rng(3).uniform(0.5, 2.0, len(X))
    model = FairKMeans(3, init=init, fairness_weight=50.0, max_cluster_size=0.45)
    model.fit(X, sensitive_features=groups, sample_weight=weights)
    sizes = np.bincount(model.labels_, weights=weights)
    np.testing.assert_allclose(model.cluster_sizes_, sizes)
    assert sizes.max() <= 0.45 * weights.sum()


def test_sizes_that_whole_weights_cannot_have_are_told():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    model = FairKMeans(2, init=X[[0, 2]], fairness_weight=0.0, min_cluster_size=0.5)
    with pytest.warns(ClusterSizeWarning, match="sizes from 3 to 10, but min_cluster_size=0.5"):
        model.fit(X, sample_weight=[10.0, 1.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"min_cluster_size": 300}, r"cannot be kept by 3 clusters of 600 rows .*: a cluster has 200 on average"),
        ({"max_cluster_size": 0.3}, "cannot be kept by 3 clusters"),
        ({"max_cluster_size": 1.5}, r"max_cluster_size=1\.5, but a whole number of rows ≥ 1, or a share"),
        ({"min_cluster_size": 0.2, "max_fairness_error": 0}, "not with exact proportions or max_cost_increase"),
        ({"min_cluster_size": 0.2, "max_cost_increase": 0.1}, "not with exact proportions or max_cost_increase"),
    ],
)
def test_wrong_sizes_are_explained(change, message):
    X, groups, init = uneven()
    with pytest.raises(InvalidInputError, match=message):
        FairKMeans(3, init=init, **change).fit(X, sensitive_features=groups)


def test_sizes_that_whole_people_cannot_have_are_explained():
    X = np.arange(7.0)[:, None]
    with pytest.raises(
        InvalidInputError, match="mean 3 to 7 whole people in each cluster, but 3 clusters of that size"
    ):
        FairKMeans(3, min_cluster_size=0.3, fairness_weight=0).fit(X)
    with pytest.raises(InvalidInputError, match="mean 0 to 2 whole people"):
        FairKMeans(3, max_cluster_size=0.4, fairness_weight=0).fit(X)
    with pytest.warns(ClusterSizeWarning, match="min_cluster_size=0.3"):  # weights need not be people
        FairKMeans(3, min_cluster_size=0.3, fairness_weight=0, random_state=0).fit(X, sample_weight=np.full(7, 1.5))
