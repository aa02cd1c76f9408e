"""Clusters are moved where a sample tells what that does to all points."""

from __future__ import annotations

import numpy as np
import pytest

from fairclust import FairKMeans, datasets
from fairclust._fairness.term import one_attribute
from fairclust._fit import restarts
from fairclust._fit.asks import WeightAsk
from fairclust._solvers import Dual
from fairclust._sweep.question import State


class _MovesTriedError(Exception):
    """Moves were about to be tried."""


@pytest.fixture(scope="module")
def census():
    return datasets.make_census_like(20_000, random_state=3)


def _tries_moves(monkeypatch, data, n_clusters, weight):
    """Whether a fit at this weight, in parts of N/K, would move clusters."""

    def best_moved(*_):
        raise _MovesTriedError

    monkeypatch.setattr(restarts, "best_moved", best_moved)
    centers = data.data[np.random.default_rng(0).choice(len(data.data), n_clusters, replace=False)]
    model = FairKMeans(
        n_clusters, init=centers, n_init=1, max_iter=1, fairness_weight=weight * len(data.data) / n_clusters
    )
    try:
        model.fit(data.data, sensitive_features=data.sensitive_features)
    except _MovesTriedError:
        return True
    return False


@pytest.mark.parametrize(
    ("n_clusters", "weight", "tries"),
    [
        (20, 0.05, True),
        (20, 3.0, True),  # 500 sampled points per cluster tell at any weight
        (120, 0.02, True),  # 83, where distance decides, do as well
        (120, 3.0, False),  # and where fairness does, they do not
        (800, 0.02, False),  # 12 tell nothing
    ],
)
def test_clusters_are_moved_where_a_sample_tells(monkeypatch, census, n_clusters, weight, tries):
    assert _tries_moves(monkeypatch, census, n_clusters, weight) is tries


def test_a_cluster_that_is_cut_in_two_shares_its_people():
    ask = WeightAsk(one_attribute(np.array([0.5, 0.5])), np.ones(3), Dual())
    warm = State(1.0, np.arange(6.0).reshape(3, 2), sizes=np.array([10.0, 20.0, 3.0]))
    found = ask.copied(warm, 1, 2)
    np.testing.assert_array_equal(found.scaled_price, [[0, 1], [2, 3], [2, 3]])
    np.testing.assert_array_equal(found.sizes, [10, 10, 10])
    np.testing.assert_array_equal(warm.sizes, [10, 20, 3])
    assert ask.copied(State(1.0, warm.scaled_price), 1, 2).sizes is None
