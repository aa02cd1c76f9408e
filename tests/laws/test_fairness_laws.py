"""Laws of the fairness terms: zero at the target alone, never negative, blind to size; slope is its derivative."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from cases import PENALTIES
from internals import kl_penalty

pytestmark = pytest.mark.filterwarnings("error")


def drawn(case, seed):
    return case.unfair(np.random.default_rng(seed))


def test_a_cluster_of_three_is_scored_as_by_hand():
    penalty = kl_penalty(np.array([0.5, 0.5]))
    assert penalty.value(np.array([[1.0, 2.0]]))[0] == pytest.approx(0.5 * math.log(1.5) + 0.5 * math.log(0.75))
    assert penalty.slope(np.array([[1.0, 2.0]])).tolist() == pytest.approx(np.array([[1 / 3 - 0.5, 1 / 3 - 0.25]]))


@pytest.mark.parametrize("case", PENALTIES)
@given(st.integers(0, 10**6))
def test_value_equals_oracle_and_is_positive_away_from_the_target(case, seed):
    masses = drawn(case, seed)
    np.testing.assert_allclose(case.value(masses), case.oracle(masses), rtol=1e-9, atol=1e-15)
    assert (case.value(masses) > 0).all()


@pytest.mark.parametrize("case", PENALTIES)
def test_value_and_slope_are_zero_at_the_target(case):
    np.testing.assert_allclose(case.value(case.fair), 0.0, atol=1e-14)
    np.testing.assert_allclose(case.slope(case.fair) * case.fair, 0.0, atol=1e-12)


@pytest.mark.parametrize("case", PENALTIES)
@given(st.integers(0, 10**6), st.floats(1e-6, 1e8))
def test_value_of_shares_does_not_depend_on_size(case, seed, factor):
    masses = drawn(case, seed)
    np.testing.assert_allclose(case.value(factor * masses), case.value(masses), rtol=1e-9, atol=1e-14)
    slope = case.slope(masses)
    np.testing.assert_allclose(factor * case.slope(factor * masses), slope, rtol=1e-9, atol=1e-12 * abs(slope).max())


@pytest.mark.parametrize("case", PENALTIES)
@given(st.integers(0, 10**6))
def test_slope_is_the_derivative_of_value(case, seed):
    masses = drawn(case, seed)
    slopes = oracles.finite_difference(case.value, masses, step=1e-6)
    for k in range(len(masses)):
        np.testing.assert_allclose(slopes[k, k], case.slope(masses)[k], rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("case", PENALTIES)
def test_rows_may_come_in_any_order_if_they_say_which_cluster_they_are(case):
    masses = drawn(case, 0)
    swapped = np.array([2, 0])
    np.testing.assert_allclose(case.value(masses[swapped], swapped), case.value(masses)[swapped])


@pytest.mark.parametrize("case", PENALTIES)
def test_missing_groups_and_empty_clusters_cost_much_but_not_infinity(case):
    lacking = case.fair[[0, 0, 0]].copy()
    lacking[0, 0] = 0.0
    lacking[1] = 0.0
    value, slope = case.value(lacking), case.slope(lacking)
    assert np.isfinite(value).all()
    assert value[0] > 0
    assert np.isfinite(slope).all()
    assert slope[0, 0] < 0


def test_a_group_with_target_zero_costs_nothing_but_takes_room():
    penalty = kl_penalty(np.array([0.5, 0.5, 0.0]))
    value = penalty.value(np.array([[2.0, 2.0, 0.0], [2.0, 2.0, 4.0]]))
    assert value == pytest.approx([0.0, math.log(2)])
    assert penalty.slope(np.array([[2.0, 2.0, 4.0]]))[0, 2] == pytest.approx(1 / 8)


def test_one_group_has_no_slope():
    penalty = kl_penalty(np.array([1.0]))
    masses = np.array([[3.0], [0.2]])
    assert penalty.value(masses).tolist() == [0.0, 0.0]
    assert penalty.slope(masses) == pytest.approx(np.zeros((2, 1)))
