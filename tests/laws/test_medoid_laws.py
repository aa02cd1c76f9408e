"""Laws of the medoid search: as good as brute force, whatever the data, the weights, the kernel or the threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from cases import COMPILED, KERNELS
from internals import KMedianObjective, fallback, installed, make_layout, plan_of, unfilled_oracle

METRICS = {1: "euclidean", 2: "cityblock"}
NO_LIMIT = 1e18


def clouds(n_samples=1500, n_features=4, n_clusters=3, seed=0, dtype=np.float64):
    """Points, and labels that overlap as those of fair clusters do."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features)) * rng.uniform(0.2, 2.0, size=n_features)
    labels = (X[:, 0] + rng.normal(scale=0.5, size=n_samples) > 0) + rng.integers(n_clusters - 1, size=n_samples)
    return X.astype(dtype), labels.astype(np.int32)


def search(kernels, X, labels, weights=None, *, metric=1, exact=True, most=NO_LIMIT, n_threads=1):
    """Ask a kernel; the layout has one group, so visiting order is the user's order."""
    plan = plan_of(kernels, make_layout(np.zeros(len(X)), 1))
    return kernels.medoids(plan, metric, X, labels, weights, int(labels.max()) + 1, exact, 0.0, most, n_threads)


def brute_force(X, labels, weights=None, metric=1):
    """Sum of distances to the best row of each cluster."""
    weights = np.ones(len(X)) if weights is None else weights
    best = []
    for k in range(labels.max() + 1):
        rows = np.flatnonzero((labels == k) & (weights > 0))
        best.append((cdist(X[rows], X[rows], METRICS[metric]) @ weights[rows]).min())
    return np.array(best)


@pytest.mark.parametrize("kernels", KERNELS)
def test_the_medoid_of_five_numbers_is_the_middle_one(kernels):
    X = np.array([[0.0], [1.0], [2.0], [10.0], [50.0]])
    position, value, lower, evaluations = search(kernels, X, np.zeros(5, dtype=np.int32))
    assert position.tolist() == [2]
    assert value.tolist() == lower.tolist() == [2 + 1 + 0 + 8 + 48]
    assert evaluations.tolist() == [25]


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("n_features", "dtype"), [(1, np.float32), (2, np.float64), (5, np.float32), (17, np.float64)])
def test_exact_medoids_are_as_good_as_brute_force(kernels, metric, n_features, dtype):
    X, labels = clouds(n_features=n_features, dtype=dtype, seed=n_features)
    position, value, lower, _ = search(kernels, X, labels, metric=metric)
    close = {"rtol": 1e-12 if dtype is np.float64 else 1e-5}
    np.testing.assert_allclose(value, brute_force(X.astype(float), labels, metric=metric), **close)
    np.testing.assert_array_equal(lower, value)
    assert labels[position.astype(int)].tolist() == [0, 1, 2]


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("metric", METRICS)
def test_a_weighted_medoid_is_as_good_as_brute_force_and_has_weight(kernels, metric):
    X, labels = clouds()
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 30.0], size=len(X))
    position, value, _, _ = search(kernels, X, labels, weights, metric=metric)
    np.testing.assert_allclose(value, brute_force(X, labels, weights, metric), rtol=1e-12)
    assert (weights[position.astype(int)] > 0).all()


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_samples=st.integers(1, 700),
    n_features=st.integers(1, 6),
    offset=st.sampled_from([0.0, 1e4]),
    decimals=st.sampled_from([0, 1, 8]),
)
def test_exact_medoids_are_as_good_as_brute_force_for_any_cluster(seed, n_samples, n_features, offset, decimals):
    rng = np.random.default_rng(seed)
    X = offset + rng.standard_t(2, size=(n_samples, n_features)).round(decimals)  # few decimals: many equal rows
    labels = np.zeros(n_samples, dtype=np.int32)
    position, value, lower, _ = search(installed, X, labels)
    best = brute_force(X, labels)
    np.testing.assert_allclose(value, best, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(lower, value)
    reached = np.linalg.norm(X - X[int(position[0])], axis=1).sum()
    assert reached == pytest.approx(best[0], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kernels", KERNELS)
def test_the_exact_search_looks_at_a_tenth_of_the_pairs(kernels):
    X, labels = clouds(6000, n_features=4, n_clusters=2)
    evaluations = search(kernels, X, labels)[3]
    assert (evaluations <= 0.1 * np.bincount(labels).astype(float) ** 2).all()


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("most", [0.0, 30.0, 100.0])
def test_a_search_that_gives_way_bounds_what_it_missed(kernels, most):
    X, labels = clouds(4000, n_features=6, n_clusters=2)
    _, value, lower, evaluations = search(kernels, X, labels, most=most)
    best = brute_force(X, labels)
    assert (lower <= best * (1 + 1e-12)).all()
    assert (best <= value * (1 + 1e-12)).all()
    assert (lower > 0.5 * best).all()
    if most > 0 and kernels is not fallback:  # what comes before the first choice is not up to the limit
        assert (evaluations <= most * np.bincount(labels)).all()


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("metric", METRICS)
def test_a_quick_search_finds_a_row_of_each_cluster_that_costs_little_more(kernels, metric):
    X, labels = clouds(2000, n_features=6)
    position, value, _, _ = search(kernels, X, labels, metric=metric, exact=False)
    own = [cdist(X[[int(p)]], X[labels == k], METRICS[metric]).sum() for k, p in enumerate(position)]
    np.testing.assert_allclose(value, own, rtol=1e-9)
    assert labels[position.astype(int)].tolist() == [0, 1, 2]
    best = brute_force(X, labels, metric=metric)
    assert (value <= 1.02 * best).all()


@COMPILED
@pytest.mark.parametrize("n_samples", [3000, 80_000])  # small clusters share out the threads; big ones use them all
@pytest.mark.parametrize("exact", [False, True])
def test_medoids_and_counts_are_the_same_for_any_threads(n_samples, exact):
    X, labels = clouds(n_samples, n_features=3, n_clusters=2, dtype=np.float32)
    answers = [search(installed, X, labels, exact=exact, most=200.0, n_threads=n) for n in (1, 2, 4)]
    for answer in answers[1:]:
        for one, other in zip(answers[0], answer, strict=True):
            np.testing.assert_array_equal(one, other)


@COMPILED
@pytest.mark.parametrize("metric", METRICS)
def test_both_kernels_find_the_same_medoids(metric):
    X, labels = clouds(seed=3)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=len(X))
    mine, other = (search(kernels, X, labels, weights, metric=metric) for kernels in (installed, fallback))
    np.testing.assert_array_equal(mine[0], other[0])
    np.testing.assert_allclose(mine[1], other[1], rtol=1e-12)


@pytest.mark.parametrize("kernels", KERNELS)
def test_equal_rows_give_the_first_of_them(kernels):
    X = np.repeat(np.random.default_rng(0).normal(size=(300, 2)), 3, axis=0)
    position = search(kernels, X, np.zeros(900, dtype=np.int32))[0]
    assert position[0] % 3 == 0


@pytest.mark.parametrize("kernels", KERNELS)
def test_a_cluster_without_weight_has_no_medoid(kernels):
    X = np.arange(6.0)[:, None]
    labels = np.array([0, 0, 0, 2, 2, 2], dtype=np.int32)
    position, value, _, _ = search(kernels, X, labels, np.array([1.0, 1, 1, 0, 0, 0]))
    assert position.tolist() == [1, -1, -1]
    assert value.tolist() == [2, 0, 0]


# --- the objective's centres ------------------------------------------------------------------------------------------


def sweep_over(X, weights=None):
    return unfilled_oracle(np.zeros(len(X)), 1, 3, weights)


@pytest.mark.parametrize(
    ("center", "metric", "weighted"),
    [("medoid", "euclidean", True), ("medoid", "manhattan", False), ("geometric", "euclidean", False),
     ("geometric", "manhattan", True), ("geometric", "euclidean", True)],
)  # fmt: skip
def test_centres_never_raise_the_objective(each_kernel, center, metric, weighted):
    X, labels = clouds(1200, seed=5)
    weights = np.random.default_rng(2).uniform(0, 2, size=len(X)) if weighted else None
    sweep = sweep_over(X, weights)
    objective = KMedianObjective(X, metric, center)
    sizes = np.bincount(labels, weights=weights)
    # Start at rows of the clusters themselves, as a fit does after its first step.
    centers = np.ascontiguousarray([X[np.flatnonzero(labels == k)[0]] for k in range(3)])
    values = [objective.fill(sweep, centers, labels)]
    for _ in range(4):
        centers = objective.centers(sweep, labels, sizes, centers)
        values.append(objective.fill(sweep, centers, labels))
    assert (np.diff(values) <= 1e-12 * values[0]).all()
    assert values[1] < values[0]


def test_a_geometric_median_leaves_a_point_that_it_starts_at(each_kernel):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    labels = np.zeros(500, dtype=np.int32)
    sweep = unfilled_oracle(labels, 1, 1)
    objective = KMedianObjective(X, "euclidean", "geometric")
    for start in (X[:1], X[:1] + 1e-12):
        objective.fill(sweep, np.ascontiguousarray(start))
        center = objective.centers(sweep, labels, np.array([500.0]), np.ascontiguousarray(start))[0]
        pull = ((X - center) / np.linalg.norm(X - center, axis=1)[:, None]).sum(axis=0)
        assert np.linalg.norm(pull) < 0.5  # of 500 unit vectors


def test_a_geometric_median_stays_at_a_point_that_outweighs_the_rest(each_kernel):
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [5.0, 5.0]])
    labels = np.zeros(4, dtype=np.int32)
    sweep = unfilled_oracle(labels, 1, 1, np.array([10.0, 1, 1, 1]))
    objective = KMedianObjective(X, "euclidean", "geometric")
    for start in X:
        objective.fill(sweep, np.ascontiguousarray(start[None]))
        center = objective.centers(sweep, labels, np.array([13.0]), np.ascontiguousarray(start[None]))[0]
        np.testing.assert_allclose(center, [0.0, 0.0], atol=1e-5)


def test_manhattan_medians_are_those_of_every_feature(each_kernel):
    X, labels = clouds(301)
    objective = KMedianObjective(X, "manhattan", "geometric")
    centers = objective.centers(sweep_over(X), labels, np.bincount(labels).astype(float), X[:3])
    np.testing.assert_allclose(centers, [np.median(X[labels == k], axis=0) for k in range(3)], rtol=1e-12)


def test_weight_two_is_a_row_twice_for_a_manhattan_median(each_kernel):
    X = np.array([[0.0], [1.0], [4.0]])
    labels = np.zeros(3, dtype=np.int32)
    sweep = unfilled_oracle(labels, 1, 1, np.array([2.0, 1.0, 1.0]))
    center = KMedianObjective(X, "manhattan", "geometric").centers(sweep, labels, np.array([4.0]), X[:1])
    assert center.tolist() == [[0.5]]  # the median of 0, 0, 1, 4
