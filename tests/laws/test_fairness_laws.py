"""Laws of the fairness terms: zero at the target alone, never negative, blind to size; slope and bend are true."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from cases import FAIRNESS_TERMS
from fairclust._fairness.kl import KLFairness

pytestmark = pytest.mark.filterwarnings("error")


def masses_for(term, seed, n_clusters=4):
    return np.random.default_rng(seed).uniform(0.05, 30.0, (n_clusters, len(term.target)))


def test_a_cluster_of_three_is_scored_as_by_hand():
    term = KLFairness(np.array([0.5, 0.5]))
    assert term.value(np.array([[1.0, 2.0]]))[0] == pytest.approx(0.5 * math.log(1.5) + 0.5 * math.log(0.75))
    assert term.slope(np.array([[1.0, 2.0]])).tolist() == pytest.approx(np.array([[1 / 3 - 0.5, 1 / 3 - 0.25]]))
    assert term.entropy == pytest.approx(math.log(2))


@pytest.mark.parametrize("term", FAIRNESS_TERMS)
@given(st.integers(0, 10**6))
def test_value_equals_oracle_and_is_never_negative(term, seed):
    masses = masses_for(term, seed)
    np.testing.assert_allclose(term.value(masses), oracles.kl(term.target, masses), rtol=1e-9, atol=1e-15)
    assert (term.value(masses) >= 0).all()


@pytest.mark.parametrize("term", FAIRNESS_TERMS)
@given(st.floats(1e-6, 1e9))
def test_value_is_zero_at_the_target(term, size):
    assert term.value(size * term.target[None, :]) == pytest.approx([0.0], abs=1e-15)


@pytest.mark.parametrize("term", FAIRNESS_TERMS)
@given(st.integers(0, 10**6), st.floats(1e-3, 0.5))
def test_value_is_positive_away_from_the_target(term, seed, shift):
    shares = term.target.copy()
    giver, taker = np.random.default_rng(seed).permutation(len(shares))[:2]
    moved = shift * shares[giver]
    shares[giver] -= moved
    shares[taker] += moved
    assert term.value(shares[None, :])[0] > 0


@pytest.mark.parametrize("term", FAIRNESS_TERMS)
@given(st.integers(0, 10**6), st.floats(1e-6, 1e8))
def test_value_does_not_depend_on_size(term, seed, factor):
    masses = masses_for(term, seed)
    np.testing.assert_allclose(term.value(factor * masses), term.value(masses), rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(term.slope(factor * masses), term.slope(masses) / factor, rtol=1e-9)


@pytest.mark.parametrize("term", FAIRNESS_TERMS)
@given(st.integers(0, 10**6))
def test_slope_is_the_derivative_of_value(term, seed):
    masses = masses_for(term, seed)
    slopes = oracles.finite_difference(term.value, masses, step=1e-6)
    for k in range(len(masses)):
        np.testing.assert_allclose(slopes[k, k], term.slope(masses)[k], rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("term", FAIRNESS_TERMS)
@given(st.integers(0, 10**6))
def test_bend_is_symmetric_and_never_negative(term, seed):
    bend = term.bend(masses_for(term, seed))
    np.testing.assert_allclose(bend, bend.transpose(0, 2, 1), atol=1e-9 * abs(bend).max())
    assert np.linalg.eigvalsh(bend).min() >= -1e-9 * abs(bend).max()


@pytest.mark.parametrize("term", FAIRNESS_TERMS)
def test_bend_at_the_target_is_the_second_derivative(term):
    # The value is least at the target, so nothing of its second derivative is cut off there.
    masses = 10.0 * term.target[None, :]
    second = oracles.finite_difference(term.slope, masses, step=1e-5)[0, :, 0, :]
    np.testing.assert_allclose(term.bend(masses)[0], second, rtol=1e-4, atol=1e-6 * abs(second).max())


@pytest.mark.parametrize("term", FAIRNESS_TERMS)
def test_missing_groups_and_empty_clusters_cost_much_but_not_infinity(term):
    lacking = 10.0 * np.tile(term.target, (2, 1))
    lacking[0, 0] = 0.0
    lacking[1] = 0.0
    value = term.value(lacking)
    assert np.isfinite(value).all()
    assert (value > 10 * term.target[0]).all()
    assert np.isfinite(term.slope(lacking)).all()
    assert term.slope(lacking)[0, 0] < 0
    assert np.isfinite(term.bend(lacking)).all()


def test_a_group_with_target_zero_costs_nothing_but_takes_room():
    term = KLFairness(np.array([0.5, 0.5, 0.0]))
    value = term.value(np.array([[2.0, 2.0, 0.0], [2.0, 2.0, 4.0]]))
    assert value == pytest.approx([0.0, math.log(2)])
    assert term.slope(np.array([[2.0, 2.0, 4.0]]))[0, 2] == pytest.approx(1 / 8)


def test_one_group_has_no_slope():
    term = KLFairness(np.array([1.0]))
    masses = np.array([[3.0], [0.2]])
    assert term.value(masses).tolist() == [0.0, 0.0]
    assert term.slope(masses) == pytest.approx(np.zeros((2, 1)))
