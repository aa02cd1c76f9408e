"""Whole fits: small ones by hand, why a fit stops, what it tells on the way, and which clusters are never empty."""

from __future__ import annotations

import numpy as np
import pytest

from cases import people
from fairclust import FairKMeans


def test_four_points_on_a_line_are_clustered_as_by_hand():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    model = FairKMeans(2, init=X[[0, 2]], fairness_weight=0).fit(X, sensitive_features=list("abab"))
    assert model.labels_.tolist() == [0, 0, 1, 1]
    assert model.cluster_centers_.ravel().tolist() == [0.5, 10.5]
    assert model.objective_ == 1.0
    assert model.fairness_error_ == 0
    assert model.balance_ == 1


def test_a_large_weight_mixes_two_blobs_of_two_groups():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    model = FairKMeans(2, init=X[[0, 3]], fairness_weight=100.0).fit(X, sensitive_features=list("aabb"))
    assert model.fairness_error_ == pytest.approx(0, abs=1e-12)
    assert np.bincount(model.labels_).tolist() == [2, 2]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"fairness_weight": 0, "tol": 0}, "labels unchanged"),
        ({"fairness_weight": 0, "tol": 0.05}, "parameters moved less than tol"),
        ({"fairness_weight": 0, "tol": 0, "max_iter": 2}, "max_iter reached"),
        ({"fairness_weight": 1000.0, "tol": 0.01, "solver": "bound"}, "energy changed less than tol"),
    ],
    ids=str,
)
def test_a_fit_says_why_it_stopped(options, reason):
    data = people(2000, n_clusters=8)
    model = FairKMeans(8, init=data.init, **options).fit(data.X, sensitive_features=data.groups)
    assert model.stop_reason_ == reason
    assert model.n_iter_ <= options.get("max_iter", 300)


def test_verbose_prints_a_line_per_iteration(capsys):
    data = people(100)
    model = FairKMeans(4, init=data.init, fairness_weight=10, verbose=1).fit(data.X, sensitive_features=data.groups)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert lines[0].startswith("iteration 1: energy ")


def test_empty_clusters_take_the_points_that_are_served_worst():
    X = np.array([[0.0], [1.0], [2.0], [50.0], [60.0]])
    model = FairKMeans(3, init=np.array([[1.0], [1000.0], [2000.0]]), fairness_weight=0).fit(X)
    assert model.labels_.tolist() in ([0, 0, 0, 1, 2], [0, 0, 0, 2, 1])
