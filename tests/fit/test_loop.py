"""Whole fits: small ones by hand, why a fit stops, what it tells on the way, and which clusters are never empty."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from cases import people
from fairclust import FairKMeans, FairnessGoalMissed, Penalty, solvers
from internals import Schedule, Step, StopReason, why_stop


def test_four_points_on_a_line_are_clustered_as_by_hand():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    model = FairKMeans(2, init=X[[0, 2]], goal=None).fit(X, sensitive_features=list("abab"))
    assert model.labels_.tolist() == [0, 0, 1, 1]
    assert model.cluster_centers_.ravel().tolist() == [0.5, 10.5]
    assert model.objective_ == 1.0
    assert model.fairness_error_ == 0
    assert model.balance_ == 1


def test_a_large_weight_mixes_two_blobs_of_two_groups():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    model = FairKMeans(2, init=X[[0, 3]], goal=Penalty(100.0)).fit(X, sensitive_features=list("aabb"))
    assert model.fairness_error_ == pytest.approx(0, abs=1e-12)
    assert np.bincount(model.labels_).tolist() == [2, 2]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"goal": None, "tol": 0}, "no proposal lowered the energy"),
        ({"goal": Penalty(100.0), "tol": 0.05}, "energy changed less than tol"),
        ({"goal": Penalty(100.0), "tol": 0, "max_iter": 1}, "max_iter reached"),
        ({"goal": 0.01, "solver": solvers.Dual(max_evaluations=5)}, "the budget of evaluations is used up"),
        ({"goal": Penalty(1000.0), "tol": 0.01, "solver": "bound"}, "energy changed less than tol"),
    ],
    ids=str,
)
def test_a_fit_says_why_it_stopped(options, reason):
    data = people(2000, n_clusters=8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairnessGoalMissed)
        model = FairKMeans(8, init=data.init, **options).fit(data.X, sensitive_features=data.groups)
    assert model.stop_reason_ == reason
    assert model.n_iter_ <= options.get("max_iter", 300)


def step(energy, *, violation=0.0, is_accepted=True, was_ahead=False, n_evaluations=1.0):
    return Step((violation, energy), is_accepted, was_ahead, n_evaluations)


STAGE = Schedule().stages[0]


@pytest.mark.parametrize(
    ("steps", "to_beat", "reason"),
    [
        ([step(10.0)], np.inf, None),
        ([step(10.0), step(9.0)], np.inf, None),
        ([step(10.0), step(10.0 - 1e-6)], np.inf, StopReason.SETTLED),
        ([step(10.0), step(10.0 - 1e-6, violation=-1.0)], np.inf, None),
        ([step(10.0), step(11.0, is_accepted=False)], np.inf, StopReason.NO_IMPROVEMENT),
        ([step(10.0), step(11.0, is_accepted=False, was_ahead=True)], np.inf, None),
        ([step(10.0), step(9.0)], 5.0, StopReason.BEATEN),
        ([step(10.0), step(9.0)], 7.0, None),
        ([step(10.0), step(9.0, n_evaluations=100.0)], np.inf, StopReason.BUDGET),
        ([step(200.0 - n) for n in range(100)], np.inf, StopReason.MAX_ITER),
    ],
)
def test_why_a_loop_stops_follows_from_its_steps(steps, to_beat, reason):
    assert why_stop(steps, STAGE, Schedule(), budget=101.0, to_beat=to_beat) is reason


def test_temperatures_fall_at_equal_ratios():
    found = Schedule().temperatures(10.0, 0.05)
    assert found[0] == pytest.approx(10.0)
    assert found[-1] == pytest.approx(0.05)
    ratios = found[1:] / found[:-1]
    np.testing.assert_allclose(ratios, ratios[0])
    assert ratios[0] >= Schedule().cooling * (1 - 1e-9)
    assert Schedule().temperatures(0.01, 0.05).tolist() == [0.05]


def test_verbose_prints_a_line_per_iteration(capsys):
    data = people(100)
    model = FairKMeans(4, init=data.init, goal=Penalty(10), verbose=1).fit(data.X, sensitive_features=data.groups)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert lines[0].startswith("iteration 1: energy ")


def test_no_cluster_stays_empty_where_centres_are_far_from_everybody():
    X = np.array([[0.0], [1.0], [2.0], [50.0], [60.0]])
    model = FairKMeans(3, init=np.array([[1.0], [1000.0], [2000.0]]), goal=None).fit(X)
    assert len(set(model.labels_)) == 3
