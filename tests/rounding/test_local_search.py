"""Moves and swaps of single rows: each lowers the energy, and none makes a cluster worse in its hard terms."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from cases import people
from fairclust import FairKMeans, MinBalance, Penalty, solvers
from internals import KL, Assignment, Interval, improve, make_points, make_subproblem


def problem(seed, n_samples=60, n_clusters=3):
    data = people(n_samples, n_clusters=n_clusters, seed=seed)
    codes = np.unique(data.groups, return_inverse=True)[1].astype(np.int32)
    return data, codes, np.bincount(codes) / n_samples, make_points(data.X, codes, n_clusters)


def assigned_by(points, labels):
    masses = np.zeros((points.n_clusters, points.rows.n_cells))
    np.add.at(masses, (labels, points.rows.layout.cells), 1.0)
    return Assignment(labels.astype(np.int32), masses, np.nan)


def energy_of(points, X, subproblem):
    visited = X[points.rows.layout.order]

    def energy(labels):
        masses = assigned_by(points, labels).masses
        return oracles.kmeans_objective(visited, labels) + float(subproblem.value(masses).sum())

    return energy


TERMS = {
    "plain": lambda target: make_subproblem(memberships=[np.eye(2)]),
    "penalty": lambda target: make_subproblem(KL(target, weight=30.0)),
    "goal": lambda target: make_subproblem(KL(target, limit=0.02)),
    "exact": lambda target: make_subproblem(Interval(target, target, slack=1 - 1e-9)),
    "sizes": lambda target: make_subproblem(KL(target, limit=0.05), sizes=([15.0] * 3, [25.0] * 3)),
}


@pytest.mark.parametrize("name", TERMS)
@pytest.mark.parametrize("seed", range(3))
def test_neither_the_energy_nor_any_violation_rises(seed, name):
    data, _, target, points = problem(seed)
    subproblem = TERMS[name](target)
    subproblem = subproblem if subproblem.terms else make_subproblem(KL(target, weight=1e-12))
    energy = energy_of(points, data.X, subproblem)
    labels = points.oracle(data.init).assign(np.zeros((3, 2))).labels
    labels[:3] = np.arange(3)
    before = assigned_by(points, labels)
    own = points.own(before, data.init)
    found = improve(points, before, own.centers, subproblem)
    assert energy(found.labels) <= energy(labels) + 1e-9
    assert (subproblem.violation(found.masses) <= subproblem.violation(before.masses) + 1e-9).all()
    np.testing.assert_array_equal(found.masses, assigned_by(points, found.labels).masses)
    assert found.masses.sum(axis=1).all()


@pytest.mark.parametrize("seed", range(3))
def test_it_ends_where_no_single_move_lowers_the_energy_of_a_penalty(seed):
    data, _, target, points = problem(seed)
    subproblem = TERMS["penalty"](target)
    energy = energy_of(points, data.X, subproblem)
    labels = np.random.default_rng(seed).integers(3, size=60)
    before = assigned_by(points, labels)
    found = improve(points, before, points.own(before, data.init).centers, subproblem)
    lowest = energy(found.labels)
    n_better = 0
    for row in range(60):
        for cluster in range(3):
            moved = found.labels.copy()
            moved[row] = cluster
            n_better += len(np.unique(moved)) == 3 and energy(moved) < lowest - 1e-6
    assert not n_better


@pytest.mark.parametrize("goal", [0.01, MinBalance(0.3), Penalty(100.0)], ids=str)
def test_a_fit_with_local_search_costs_no_more_than_one_without(goal):
    data = people(600, n_clusters=4, seed=1)
    energies = []
    for is_searched in (True, False):
        model = FairKMeans(4, goal=goal, init=data.init, solver=solvers.Dual(local_search=is_searched))
        model.fit(data.X, sensitive_features=data.groups)
        assert model.goal_met_
        energies.append(model.energy_)
    assert energies[0] <= energies[1]
