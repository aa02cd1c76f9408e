"""Laws of the bound with sizes held: it touches the term, and its dual bounds it from below and meets it."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from cases import OracleSweep, in_memory_sweep, people
from fairclust import FairKMeans, datasets
from fairclust._fairness.overlap import OverlapFairness
from fairclust._fairness.term import Representation, one_attribute, representation
from fairclust._solvers.held import held
from fairclust._sweep.question import State

TARGETS = [
    pytest.param(np.array([0.7, 0.3]), id="two groups"),
    pytest.param(np.array([0.5, 0.3, 0.2]), id="three groups"),
    pytest.param(np.array([0.6, 0.4, 0.0]), id="a group nobody asks for"),
]


def bound(logarithms, sizes, masses, target):
    """log n + size/n − 1 − Σ target·log masses + Σ target·log target, cluster by cluster."""
    wanted = target[target > 0]
    straight = np.log(sizes) + masses.sum(axis=1) / sizes - 1
    return straight - (logarithms.masses * np.log(masses)).sum(axis=1) + wanted @ np.log(wanted)


@pytest.mark.parametrize("target", TARGETS)
def test_bound_lies_above_the_term_and_touches_it(target):
    rng = np.random.default_rng(0)
    masses, sizes = rng.gamma(2.0, 5.0, (6, len(target))), rng.gamma(2.0, 10.0, 6)
    term = one_attribute(target)
    logarithms = term.logarithms(6)
    assert (bound(logarithms, sizes, masses, target) >= term.value(masses) - 1e-12).all()
    np.testing.assert_allclose(bound(logarithms, masses.sum(axis=1), masses, target), term.value(masses), atol=1e-12)


def test_terms_of_other_kinds_are_not_held():
    term = Representation((OverlapFairness(np.array([0.5])),), np.array([[1.0, 1.0], [0.0, 1.0]]))
    assert not term.is_logarithmic
    assert one_attribute(np.array([0.5, 0.5])).is_logarithmic


@pytest.mark.parametrize("make", [OracleSweep, in_memory_sweep], ids=["oracle", "memory"])
@pytest.mark.parametrize("target", TARGETS)
def test_prices_of_a_climb_are_the_slope_of_the_bound(target, make):
    data = people(300, 4, len(target), 1)
    codes = np.unique(data.groups, return_inverse=True)[1].astype(np.int32)
    sweep = make(oracles.point_costs(data.X, data.init).astype(np.float32).astype(float), codes, len(target))
    weight, sizes = 40.0, np.array([90.0, 80.0, 70.0, 60.0])
    holding = held(one_attribute(target), np.full(4, weight), sizes, 1.0)
    found = holding.climb(sweep, State(20.0, np.zeros((4, len(target)))), 1e-12, 60)
    wanted = weight * (1.0 / sizes[:, None] - target / found.answer.masses)
    np.testing.assert_allclose(found.state.price, wanted, rtol=1e-3)  # kernels count in single precision


def test_prices_of_two_attributes_add_up_in_a_cell():
    membership = np.array([[1.0, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]])
    data = people(300, 3, 4, 2)
    codes = np.unique(data.groups, return_inverse=True)[1].astype(np.int32)
    sweep = OracleSweep(oracles.point_costs(data.X, data.init), codes, 4)
    target, sizes, weight = np.array([0.6, 0.4, 0.5, 0.5]), np.array([120.0, 100.0, 80.0]), np.array([40.0, 30.0, 20.0])
    term = representation([(target[:2], False), (target[2:], False)], membership)
    found = held(term, weight, sizes, 1.0).climb(sweep, State(20.0, np.zeros((3, 4))), 1e-12, 60)
    wanted = weight[:, None] * (1.0 / sizes[:, None] - target / (found.answer.masses @ membership))
    np.testing.assert_allclose(found.state.price, wanted @ membership.T, rtol=1e-4)


def test_a_cluster_that_lacks_a_group_gets_it_in_few_sweeps():
    """Of the second group nobody is near the first cluster: at the first look it has a millionth of a person of it."""
    costs = np.repeat([[0.0, 4.0], [0.0, 4.0], [4.0, 0.0], [4.0, 0.0]], 25, axis=0)
    costs += np.random.default_rng(0).random(costs.shape)
    codes = np.repeat(np.array([0, 0, 0, 1], dtype=np.int32), 25)
    sweep = OracleSweep(costs, codes, 2)
    term = one_attribute(np.array([0.75, 0.25]))
    holding = held(term, np.full(2, 500.0), np.array([50.0, 50.0]), 1.0)
    found = holding.climb(sweep, State(5.0, np.zeros((2, 2))), 1e-6, 60)
    assert term.value(found.answer.masses).max() < 0.05
    assert sweep.n_sweeps < 15


def test_many_clusters_at_a_weight_lack_no_group():
    """Twenty-five people a cluster, and plain clusters all but of one group: some vanished, others kept no second."""
    data = datasets.make_census_like(2000, random_state=0)
    X = data.data.astype(np.float32)
    model = FairKMeans(80, init=X[::25], n_init=1, fairness_weight=40.0).fit(
        X, sensitive_features=data.sensitive_features
    )
    assert model.balance_ > 0
    assert model.fairness_error_ < 5
