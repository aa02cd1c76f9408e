"""The outer loop: why it stops, what it never does, and what it hands out."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import oracles
from cases import SOLVERS, people
from fairclust import FairKMeans
from fairclust._fairness.term import one_attribute
from fairclust._fit import coarse as coarse_to_fine
from fairclust._fit import loop
from fairclust._fit.asks import PlainAsk
from fairclust._fit.coarse import fit_coarse_to_fine
from fairclust._fit.loop import ASSIGNMENTS, fit_once
from fairclust._fit.problem import PointsProblem
from fairclust._fit.records import Start, StopReason
from fairclust._fit.settings import Settings
from fairclust._objectives import KMeansObjective
from fairclust._solvers import Bound, Dual, Solution
from fairclust._sweep.layout import build_layout
from fairclust._sweep.memory import InMemorySweep
from fairclust._sweep.question import State


def parts_of(data):
    """Objective, sweep and fairness of some people."""
    names, codes = np.unique(data.groups, return_inverse=True)
    sweep = InMemorySweep(build_layout(codes.astype(np.int32), len(names)), len(data.init))
    return KMeansObjective(data.X), sweep, one_attribute(np.bincount(codes) / len(codes))


def fit(data, solver=None, weight=None, settings=None, state=None):
    problem = PointsProblem(*parts_of(data), solver or Dual(), settings or Settings())
    ask = problem.ask_at(problem.full_weights(data.weight if weight is None else weight))
    return fit_once(problem, ask, Start(data.init, state))


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


@pytest.mark.parametrize("runs_ahead", [False, True])
@pytest.mark.parametrize("solver", SOLVERS)
def test_labels_are_the_cheapest_at_the_parameters_and_prices_handed_out(solver, runs_ahead):
    data = people(300)
    objective, sweep, _ = parts_of(data)
    result = fit(data, solver, settings=Settings(runs_ahead=runs_ahead))
    objective.fill(sweep, result.parameters)
    hard = sweep.assign(result.state.price)
    assert np.array_equal(sweep.labels, result.labels)
    np.testing.assert_array_equal(hard.masses, result.masses)


@pytest.mark.parametrize("runs_ahead", [False, True])
@pytest.mark.parametrize("solver", SOLVERS)
def test_history_falls_strictly(solver, runs_ahead):
    for seed in range(4):
        result = fit(people(200, seed=seed), solver, settings=Settings(runs_ahead=runs_ahead))
        assert (np.diff(result.energy_history) < 0).all()
        assert result.energy == result.energy_history[-1]
        assert result.n_iter == len(result.energy_history)


@pytest.mark.parametrize("runs_ahead", [False, True])
def test_the_energy_is_that_of_the_labels_at_their_means_however_far_centres_ran_ahead(runs_ahead):
    data = people(300)
    result = fit(data, settings=Settings(runs_ahead=runs_ahead, max_iter=3))
    _, sweep, fairness = parts_of(data)
    labels = sweep.layout.to_user_order(result.labels)
    own = np.array([data.X[labels == k].mean(axis=0) for k in range(len(data.init))])
    assert result.objective == pytest.approx(((data.X - own[labels]) ** 2).sum())
    assert result.energy == pytest.approx(result.objective + data.weight * fairness.value(result.masses).sum())


def test_with_a_memory_labels_beat_the_dearest_of_the_last_ones():
    for seed in range(4):
        found = fit(people(200, seed=seed), settings=Settings(runs_ahead=True, memory=4)).energy_history
        assert all(energy < max(found[max(0, i - 4) : i]) for i, energy in enumerate(found) if i)


@pytest.mark.parametrize(
    ("history", "memory", "is_slow"),
    [([100.0], 1, False), ([100.0, 99.9], 1, False), ([101.0, 100.0, 99.9999], 1, True),
     ([101.0, 100.0, 99.9999], 2, False), ([100.0001, 101.0, 100.0], 2, True), ([100.0, 100.0], 2, False)],
)  # fmt: skip
def test_a_fall_below_three_hundredths_of_tol_is_none_worth_another_iteration(history, memory, is_slow):
    assert loop._is_slow(history, Settings(tol=1e-3, memory=memory), PlainAsk()) is is_slow


def test_a_fall_of_a_thousandth_is_worth_another_iteration_whatever_tol_is():
    assert not loop._is_slow([100.1, 100.0], Settings(tol=1.0), PlainAsk())


@pytest.mark.parametrize(
    ("history", "to_save", "least", "is_little"),
    [([100.0], 5.0, 0.01, False), ([100.0], 0.5, 0.01, True), ([110.0, 100.0], 5.0, 0.01, False),
     ([100.5, 100.0], 5.0, 0.01, True), ([100.5, 100.0], 0.0, 0.0, False), ([np.inf], 0.0, 0.01, False),
     ([np.inf, np.inf], 0.0, 0.01, False), ([0.0], 0.0, 0.01, True)],
)  # fmt: skip
def test_an_iteration_that_brings_or_leaves_little_is_the_last(history, to_save, least, is_little):
    assert loop._is_worth_little(history, to_save, least) is is_little


def test_a_fit_that_another_goes_on_from_makes_no_step_back_that_would_bring_little():
    found = [
        [fit(people(300, seed=seed), settings=Settings(runs_ahead=True, worth_a_step_back=worth)) for seed in range(8)]
        for worth in (0.0, 1.0)
    ]
    for full, short in zip(*found, strict=True):  # the same, until parameters ran too far ahead
        assert list(short.energy_history) == list(full.energy_history[: short.n_iter])
        assert short.n_sweeps <= full.n_sweeps
    assert sum(one.n_sweeps for one in found[1]) < sum(one.n_sweeps for one in found[0])


def test_stops_when_labels_do_not_change():
    result = fit(people(200), weight=0, settings=Settings(tol=0))
    assert result.stop_reason is StopReason.LABELS_UNCHANGED
    assert result.stop_reason == "labels unchanged"


def test_stops_when_parameters_settle():
    assert fit(people(2000), weight=0, settings=Settings(tol=0.05)).stop_reason is StopReason.SETTLED


def test_stops_at_max_iter():
    result = fit(people(2000, n_clusters=8), weight=0, settings=Settings(max_iter=2, tol=0))
    assert result.stop_reason is StopReason.MAX_ITER
    assert result.n_iter == 2


def test_bound_stops_when_its_energy_settles():
    result = fit(people(400), Bound(), settings=Settings(tol=0.01))
    assert result.stop_reason is StopReason.ENERGY_SETTLED


@dataclasses.dataclass
class Worsening:
    """A solver whose second proposal is terrible: all points in one cluster."""

    rests_on_energy: bool = False
    n_calls: int = 0

    def solve(self, sweep, fairness, weight, start=None, to_beat=np.inf):
        self.n_calls += 1
        price = np.zeros((sweep.n_clusters, sweep.n_cells))
        if self.n_calls > 1:
            price[1:] = 1e9
        return Solution(State(1.0, price))


def test_a_proposal_that_raises_the_energy_is_not_taken():
    result = fit(people(300), Worsening())
    assert result.stop_reason is StopReason.NO_IMPROVEMENT
    assert result.n_iter == 1
    assert (result.masses.sum(axis=1) > 0).all()


def test_a_warm_start_from_the_end_of_a_fit_does_not_lose_energy():
    data = people(600)
    first = fit(data)
    again = fit(dataclasses.replace(data, init=first.parameters), state=first.state)
    assert again.energy <= first.energy * (1 + 1e-3)
    assert again.n_sweeps < first.n_sweeps


def test_each_iteration_is_reported_with_its_energy():
    seen = []
    result = fit(people(300), settings=Settings(on_iteration=lambda n, energy: seen.append((n, energy))))
    assert [energy for _, energy in seen] == result.energy_history.tolist()
    assert [n for n, _ in seen] == list(range(1, result.n_iter + 1))


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


def test_many_rows_are_fitted_on_a_sample_first_and_end_as_low(monkeypatch):
    data = people(6000, n_clusters=4, seed=3)
    problem = PointsProblem(*parts_of(data), Dual(), Settings())
    ask, sweep = problem.ask_at(problem.full_weights(data.weight)), problem.sweep
    direct = fit(data)
    monkeypatch.setattr(coarse_to_fine, "_SMALLEST_SAMPLE", 1000)
    coarse = fit_coarse_to_fine(problem, ask, Start(data.init))
    assert coarse.energy <= direct.energy * 1.02
    assert (np.diff(coarse.energy_history) < 0).all()
    assert sweep.n_sweeps < coarse.n_sweeps + direct.n_sweeps


@pytest.mark.parametrize("solver", SOLVERS)
def test_soft_assignments_lower_the_relaxed_energy(solver):
    data = people(200, n_clusters=3)
    objective, sweep, fairness = parts_of(data)
    result = fit(data, solver, settings=Settings(assignments=ASSIGNMENTS["soft"]))
    assert (np.diff(result.energy_history) < 0).all()
    # The energy handed out is that of the soft assignments at their own means.
    objective.fill(sweep, result.parameters)
    assert result.objective == pytest.approx(
        oracles.kmeans_objective(data.X[sweep.layout.order], result.labels), rel=1e-6
    )
    assert np.isfinite(result.energy)
    assert fairness.value(result.masses).sum() < 1.0
