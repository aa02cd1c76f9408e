"""Single moves: each pays by what the penalty and the objective say, and their sum is the fall of the energy."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from cases import people
from fairclust import FairKMeans
from fairclust._fairness.term import one_attribute
from fairclust._fit.loop import fit_once
from fairclust._fit.polish import PenaltyMoves, polish
from fairclust._fit.problem import PointsProblem
from fairclust._fit.records import Start
from fairclust._fit.settings import Settings
from fairclust._objectives import KMeansObjective
from fairclust._solvers import Dual
from fairclust._sweep.layout import build_layout
from fairclust._sweep.memory import InMemorySweep


def test_penalty_of_a_move_is_the_change_of_the_weighted_errors():
    fairness, weight = one_attribute(np.array([0.5, 0.3, 0.2])), np.array([10.0, 20.0])
    masses = np.array([[3.0, 2.0, 4.0], [5.0, 1.0, 1.0]])
    penalty = PenaltyMoves(fairness, weight, masses)
    before = weight @ fairness.value(masses)
    promised = penalty.leave[1, 0] + penalty.enter[0, 0]
    penalty.move(0, 1, 0)
    assert penalty.masses.tolist() == [[4.0, 2.0, 4.0], [4.0, 1.0, 1.0]]
    assert weight @ fairness.value(penalty.masses) - before == pytest.approx(promised)


@pytest.mark.parametrize("seed", range(3))
def test_polishing_ends_where_no_single_move_pays(each_kernel, seed):
    data = people(60, n_clusters=3, seed=seed)
    codes = np.unique(data.groups, return_inverse=True)[1].astype(np.int32)
    sweep = InMemorySweep(build_layout(codes, 2), 3)
    fairness, weight = one_attribute(np.bincount(codes) / 60), np.full(3, 30.0)
    objective = KMeansObjective(data.X)
    problem = PointsProblem(objective, sweep, fairness, Dual(), Settings(max_iter=1))
    ask = problem.ask_at(weight[:, None])
    rough = fit_once(problem, ask, Start(data.init))
    polished, is_done = polish(problem, ask, rough, PenaltyMoves(fairness, weight, rough.masses))
    assert is_done
    assert polished.energy <= rough.energy
    X, codes = data.X[sweep.layout.order], sweep.layout.cells

    def energy(labels):
        errors = oracles.kl(fairness.parts[0].target, oracles.masses_of(labels, codes, 3, 2))
        return oracles.kmeans_objective(X, labels) + 30.0 * errors.sum()

    assert polished.energy == pytest.approx(energy(polished.labels), rel=1e-9)
    for point in range(60):
        for cluster in range(3):
            moved = polished.labels.copy()
            moved[point] = cluster
            if len(np.unique(moved)) == 3:
                assert energy(moved) >= polished.energy - 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_polishing_never_makes_a_goal_dearer(seed):
    data = people(600, n_clusters=4, seed=seed)
    options = {"n_clusters": 4, "max_fairness_error": 0.01, "init": data.init, "random_state": 0}
    plain = FairKMeans(**options, polish=False).fit(data.X, sensitive_features=data.groups)
    polished = FairKMeans(**options).fit(data.X, sensitive_features=data.groups)
    assert polished.fairness_goal_met_ >= plain.fairness_goal_met_
    if polished.fairness_goal_met_ == plain.fairness_goal_met_:
        assert polished.objective_ <= plain.objective_


@pytest.mark.parametrize("seed", [0, 1])
def test_no_cluster_lacks_a_group_whose_people_would_lower_the_energy(seed):
    """Heavy tails: clusters of an outlier or two, whom somebody of the other group must join, however far."""
    rng = np.random.default_rng(seed)
    X, groups = rng.standard_t(1.5, (3000, 3)), (rng.random(3000) < 0.2).astype(int)
    options = {"n_clusters": 10, "fairness_weight": 1e4, "n_init": 1, "random_state": 0}
    left = FairKMeans(**options, polish=False).fit(X, sensitive_features=groups)
    given = FairKMeans(**options).fit(X, sensitive_features=groups)
    assert left.balance_ == 0
    assert given.polished_
    assert given.balance_ > 0
    assert given.energy_ < left.energy_


def test_a_fit_whose_clusters_lack_no_group_is_not_polished():
    data = people(300, 3, 2, 0)
    model = FairKMeans(3, fairness_weight=50.0, random_state=0).fit(data.X, sensitive_features=data.groups)
    assert model.balance_ > 0
    assert not model.polished_
