"""Starting centres: rows of the data, spread out, the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import kmeans_plusplus

from cases import people
from fairclust import FairKMeans
from internals import starting_centers

X = people(300, n_clusters=4).X


def start(init, seed=0, weights=None, X=X):
    return starting_centers(X, 4, init, np.random.RandomState(seed), weights)[0]


def rows_of(centers, X=X):
    """Index of each centre among the rows."""
    return [int(np.flatnonzero((center == X).all(axis=1))[0]) for center in centers]


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_centres_are_four_different_rows(init):
    assert len(set(rows_of(start(init)))) == 4


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_the_same_seed_gives_the_same_centres(init):
    assert np.array_equal(start(init, seed=3), start(init, seed=3))
    assert not np.array_equal(start(init, seed=3), start(init, seed=4))


@pytest.mark.parametrize("init", ["k-means++", "random"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_centres_have_the_type_of_the_data(init, dtype):
    centers = start(init, X=X.astype(dtype))
    assert centers.dtype == dtype
    assert centers.flags.c_contiguous


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_rows_of_weight_zero_are_never_drawn(init):
    weights = (np.arange(300) % 10 == 0).astype(float)
    for seed in range(10):
        assert all(row % 10 == 0 for row in rows_of(start(init, seed, weights)))


def test_an_array_is_taken_as_it_is():
    centers = start(X[:4].tolist())
    assert np.array_equal(centers, X[:4])


def test_a_callable_is_called_as_in_scikit_learn():
    asked = {}

    def init(data, n_clusters, random_state):
        asked.update(shape=data.shape, n_clusters=n_clusters, random_state=random_state)
        return data[:n_clusters]

    assert np.array_equal(start(init), X[:4])
    assert asked["shape"] == (300, 3)
    assert isinstance(asked["random_state"], np.random.RandomState)


def test_the_best_of_several_starts_is_kept():
    one = [FairKMeans(4, init="random", n_init=1, goal=None, random_state=s).fit(X).energy_ for s in range(5)]
    many = FairKMeans(4, init="random", n_init=20, goal=None, random_state=0).fit(X).energy_
    assert many <= min(one) * (1 + 1e-9)


@pytest.mark.parametrize("kind", ["rows", "single precision", "sparse"])
@pytest.mark.parametrize("is_weighted", [False, True], ids=["equal", "weights"])
def test_k_means_plus_plus_draws_the_rows_that_scikit_learn_draws(kind, is_weighted):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n_rows, n_clusters = int(rng.integers(30, 700)), int(rng.integers(2, 25))
        X = rng.normal(size=(n_rows, int(rng.integers(1, 9)))) * 10.0 ** rng.integers(-3, 4)
        X = X.astype(np.float32).astype(float)  # the same numbers in both precisions
        weights = rng.gamma(1.0, size=n_rows) if is_weighted else None
        wanted = [kmeans_plusplus(X, n_clusters, sample_weight=weights, random_state=seed)[0]]
        rows = {"rows": X, "single precision": X.astype(np.float32), "sparse": sparse.csr_array(X)}[kind]
        found = starting_centers(rows, n_clusters, "k-means++", np.random.RandomState(seed), weights)
        np.testing.assert_array_equal(found, wanted)
        assert found[0].dtype == rows.dtype
