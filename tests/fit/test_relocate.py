"""Clusters are moved where a sample tells what that does to all points."""

from __future__ import annotations

import numpy as np
import pytest

from fairclust import FairKMeans, datasets
from fairclust._fit import restarts


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
