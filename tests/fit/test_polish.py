"""Single moves: each pays by what the penalty and the objective say, and their sum is the fall of the energy."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from cases import people
from fairclust import FairKMeans
from internals import improve, make_problem


@pytest.mark.parametrize("seed", range(3))
def test_polishing_ends_where_no_single_move_pays(each_kernel, seed):
    data = people(60, n_clusters=3, seed=seed)
    codes = np.unique(data.groups, return_inverse=True)[1]
    problem = make_problem(data.X, codes, 3)
    rough, polished = improve(problem, 30.0, data.init)
    assert polished.energy <= rough.energy
    layout = problem.sweep.layout
    X, codes, target = data.X[layout.order], layout.cells, np.bincount(codes) / 60

    def energy(labels):
        errors = oracles.kl(target, oracles.masses_of(labels, codes, 3, 2))
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
