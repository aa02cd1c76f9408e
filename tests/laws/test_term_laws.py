"""Laws of the terms: support functions for the dual, violation and rows for whole people, value and slope of costs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from cases import HARD_TERMS, PENALTIES, SOFT_TERMS, TERMS
from internals import KL, Balance, Interval

pytestmark = pytest.mark.filterwarnings("error")

N_ROWS = 4  # as many as terms with a row per cluster have
TEMPERATURES = [0.03, 0.3, 3.0]


def thetas(case, seed, scale=1.0):
    theta = np.random.default_rng(seed).normal(size=(N_ROWS, case.n_columns)) * scale
    theta[0] = 0.0
    return free(case, theta)


def free(case, theta):
    """Θ without the price of everyone, which is not needed where groups overlap."""
    if case.term.overlapping and not isinstance(case.term, Interval):
        theta = theta.copy()
        theta[:, -1] = 0.0
    return theta


def supports(case):
    """The support functions that a term has: of shares, of masses."""
    found = (case.term.share_support, case.term.mass_support)
    return [one for one in found if one(thetas(case, 0), 0.1) is not None]


def slopes(function, case, theta, step=1e-6):
    """Central differences by each entry of a row, (rows, …, columns)."""
    found = []
    for j in range(theta.shape[1]):
        there, here = theta.copy(), theta.copy()
        there[:, j] += step
        here[:, j] -= step
        found.append((function(there) - function(here)) / (2 * step))
    return np.stack(found, axis=-1)


def moving(case):
    """Columns whose prices are unknowns of the dual."""
    is_fixed = case.term.overlapping and not isinstance(case.term, Interval)
    return slice(None, -1 if is_fixed else None)


# --- support functions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", TERMS)
def test_a_term_has_a_support_function(case):
    assert supports(case)


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("case", TERMS)
def test_the_maximiser_is_the_gradient_of_the_support_function(case, temperature):
    theta, columns = thetas(case, 3), moving(case)
    for support in supports(case):
        found = support(theta, temperature)
        slope = slopes(lambda t, support=support: support(t, temperature).value, case, theta)
        np.testing.assert_allclose(slope[:, columns], found.argmax[:, columns], rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("case", TERMS)
def test_the_jacobian_is_the_derivative_of_the_maximiser(case, temperature):
    theta, columns = thetas(case, 4), moving(case)
    for support in supports(case):
        found = support(theta, temperature).jacobian
        slope = slopes(lambda t, support=support: support(t, temperature).argmax, case, theta)
        size = max(abs(found).max(), 1e-3)
        np.testing.assert_allclose(slope[:, columns, columns], found[:, columns, columns], atol=1e-3 * size)


@pytest.mark.parametrize(("scale", "temperature"), [(1e-9, 1e-11), (1.0, 0.1), (1e9, 1e7), (1.0, 1e-9)])
@pytest.mark.parametrize("case", TERMS)
def test_the_jacobian_is_symmetric_and_positive(case, scale, temperature):
    for support in supports(case):
        jacobian = support(thetas(case, 5, scale), temperature).jacobian
        assert np.isfinite(jacobian).all()
        size = max(abs(jacobian).max(), 1e-300)
        np.testing.assert_allclose(jacobian, jacobian.transpose(0, 2, 1), atol=1e-9 * size)
        assert np.linalg.eigvalsh(jacobian).min() >= -1e-6 * size


@pytest.mark.parametrize("case", HARD_TERMS)
@given(seed=st.integers(0, 10**6))
def test_no_allowed_composition_is_worth_more_than_the_support_function(case, seed):
    rng = np.random.default_rng(seed)
    theta = free(case, rng.normal(size=(N_ROWS, case.n_columns)))
    for support in supports(case):
        exact = support(theta, 0.0)
        np.testing.assert_allclose((theta * exact.argmax).sum(axis=1), exact.value, rtol=1e-6, atol=1e-7)
        # What others prices ask for is allowed, and so is what lies between.
        others = [support(free(case, rng.normal(size=theta.shape)), 0.05).argmax for _ in range(4)]
        between = np.tensordot(rng.dirichlet(np.ones(4)), others, 1)
        for allowed in (*others, between):
            assert ((theta * allowed).sum(axis=1) <= exact.value + 1e-6).all()


@pytest.mark.parametrize("case", HARD_TERMS)
@given(seed=st.integers(0, 10**6), factor=st.floats(1e-6, 1e6))
def test_the_support_function_is_homogeneous(case, seed, factor):
    theta = free(case, np.random.default_rng(seed).normal(size=(N_ROWS, case.n_columns)))
    for support in supports(case):
        one, other = support(theta, 0.0), support(factor * theta, 0.0)
        np.testing.assert_allclose(other.value, factor * one.value, rtol=1e-4, atol=1e-9 * factor)
        one, other = support(theta, 0.2), support(factor * theta, 0.2 * factor)
        np.testing.assert_allclose(other.value, factor * one.value, rtol=1e-4, atol=1e-9 * factor)
        np.testing.assert_allclose(other.argmax, one.argmax, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("case", HARD_TERMS)
@given(seed=st.integers(0, 10**6))
def test_smoothing_only_ever_takes(case, seed):
    theta = free(case, np.random.default_rng(seed).normal(size=(N_ROWS, case.n_columns)))
    for support in supports(case):
        values = np.array([support(theta, temperature).value for temperature in (0.0, 0.01, 0.1, 1.0)])
        assert (np.diff(values, axis=0) <= 1e-7).all()


@pytest.mark.parametrize("case", HARD_TERMS)
def test_what_shares_are_asked_for_is_allowed(case):
    term = case.term
    for seed, scale, temperature in ((1, 1.0, 0.0), (2, 1.0, 0.3), (3, 1e9, 1e5), (4, 1e-9, 1e-9)):
        found = term.share_support(thetas(case, seed, scale), temperature)
        if found is None:
            continue
        if isinstance(term, Interval):  # that shares add up to 1 is not for a box to say
            assert (found.argmax >= term.lower - 1e-9).all()
            assert (found.argmax <= term.upper + 1e-9).all()
        else:
            assert term.violation(1e7 * found.argmax).max() <= 10.0


@pytest.mark.parametrize("case", TERMS)
def test_prices_without_drift_are_the_same_prices(case):
    theta = thetas(case, 6)
    centered = case.term.centered(theta)
    before, after = (case.term.share_support(t, 0.1) for t in (theta, centered))
    if before is not None and not case.term.overlapping:
        own = before.value[:, None] if isinstance(case.term, Interval) else 0.0
        np.testing.assert_allclose(
            theta - before.value[:, None] + own, centered - after.value[:, None] + own, rtol=1e-9, atol=1e-9
        )


# --- whole people -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", TERMS)
def test_fair_clusters_violate_nothing(case):
    assert case.term.violation(case.fair).max() <= 1e-6 * case.fair.max()


@pytest.mark.parametrize("case", HARD_TERMS)
@given(seed=st.integers(0, 10**6), part=st.floats(0.0, 1.0))
def test_the_violation_is_convex(case, seed, part):
    rng = np.random.default_rng(seed)
    one, other = case.masses(rng), case.masses(rng)
    between = case.term.violation(part * one + (1 - part) * other)
    ends = part * case.term.violation(one) + (1 - part) * case.term.violation(other)
    assert (between <= ends + 1e-6).all()


@pytest.mark.parametrize("case", HARD_TERMS)
@given(seed=st.integers(0, 10**6))
def test_every_feasible_table_satisfies_the_rows(case, seed):
    """Hyperplanes at any composition leave every feasible one on their inner side."""
    rng = np.random.default_rng(seed)
    at = case.masses(rng)
    rows = case.term.rows(at)
    for table in [case.fair, *(case.whole(rng, largest=n) for n in (3, 6, 12, 40)), *near(case, rng)]:
        if not case.term.violation(table).any() and table.max() < 1e5:
            inside = rows.matrix @ table.astype(float).ravel()
            assert (inside >= rows.lower - 1e-6).all()
            assert (inside <= rows.upper + 1e-6).all()


def near(case, rng):
    """Whole counts near fair ones."""
    for size in (20, 60, 200):
        table = np.round(case.fair[:1] / max(case.fair[0].sum(), 1.0) * size) + rng.integers(-1, 2, case.fair.shape)
        yield np.maximum(table, 0.0)


@pytest.mark.parametrize("case", HARD_TERMS)
@given(seed=st.integers(0, 10**6))
def test_a_table_that_satisfies_its_own_rows_is_feasible(case, seed):
    rng = np.random.default_rng(seed)
    for table in (case.whole(rng, largest=8), *near(case, rng)):
        table = np.maximum(table, 1).astype(float)  # rows of a curved set touch it where everybody is there
        rows = case.term.rows(table)
        inside = rows.matrix @ table.ravel()
        is_inside = (inside >= rows.lower - 1e-9).all() and (inside <= rows.upper + 1e-9).all()
        assert is_inside == (case.term.violation(table).max() <= 1e-6)


@pytest.mark.parametrize("case", TERMS)
def test_rows_may_come_in_any_order_if_they_say_which_cluster_they_are(case):
    masses, which = case.masses(np.random.default_rng(0)), np.array([2, 0, 3])
    for judged in (case.term.violation, case.term.value):
        np.testing.assert_allclose(judged(masses[which], which), judged(masses)[which])
    every, some = case.term.rows(masses), case.term.rows(masses[which], which)
    assert some.matrix.shape[1] == 3 * case.n_columns
    assert len(every.lower) % N_ROWS == len(some.lower) % 3 == 0


@pytest.mark.parametrize("case", TERMS)
def test_an_empty_cluster_is_judged_without_a_warning(case):
    empty = np.zeros_like(case.fair)
    assert np.isfinite(case.term.violation(empty)).all()
    assert np.isfinite(case.term.value(empty)).all()


@pytest.mark.parametrize("case", HARD_TERMS)
def test_fixed_sizes_make_counts_of_shares(case):
    """At fixed sizes the same compositions are feasible."""
    rng, sizes = np.random.default_rng(1), np.full(N_ROWS, 12.0)
    fixed = case.term.at_sizes(sizes)
    for table in (case.whole(rng) for _ in range(200)):
        if (case.term.size(table) == 12).all():
            assert fixed.violation(table).any() == case.term.violation(table).any()


@pytest.mark.parametrize("size", [10, 1000, 10**6])
def test_a_share_that_is_a_whole_count_is_kept_to_the_person(size):
    exact = Interval(np.array([0.5, 0.5]), np.array([0.5, 0.5]), slack=1 - 1e-9)
    half = size / 2
    masses = np.array([[half, half], [half + 1, half - 1]])
    assert (exact.violation(masses) > 0).tolist() == [False, True]
    fixed = exact.at_sizes(np.full(2, float(size)))
    assert (fixed.violation(masses) > 0).tolist() == [False, True]


def test_floor_and_ceiling_are_exact():
    exact = Interval(np.array([0.5, 0.5]), np.array([0.5, 0.5]), slack=1 - 1e-9)
    assert exact.violation(np.array([[2.0, 3.0], [3.0, 2.0], [2.0, 2.0]])).tolist() == [0, 0, 0]
    assert (exact.violation(np.array([[1.0, 4.0], [1.0, 3.0]])) > 0.1).any()


def test_a_balance_counts_whom_groups_lack():
    assert Balance(0.5, np.array([0.5, 0.5])).violation(np.array([[1.0, 4.0], [2.0, 4.0]])) == pytest.approx([1.0, 0.0])


# --- costs ------------------------------------------------------------------------------------------------------------


def drawn(case, seed):
    return case.unfair(np.random.default_rng(seed))


def test_a_cluster_of_three_is_scored_as_by_hand():
    penalty = KL(np.array([0.5, 0.5]), weight=1.0)
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
    penalty = KL(np.array([0.5, 0.5, 0.0]), weight=1.0)
    value = penalty.value(np.array([[2.0, 2.0, 0.0], [2.0, 2.0, 4.0]]))
    assert value == pytest.approx([0.0, math.log(2)])
    assert penalty.slope(np.array([[2.0, 2.0, 4.0]]))[0, 2] == pytest.approx(1 / 8)


def test_one_group_has_no_slope():
    penalty = KL(np.array([1.0]), weight=1.0)
    masses = np.array([[3.0], [0.2]])
    assert penalty.value(masses).tolist() == [0.0, 0.0]
    assert penalty.slope(masses) == pytest.approx(np.zeros((2, 1)))


@pytest.mark.parametrize("case", SOFT_TERMS)
def test_the_next_round_has_the_rate_of_the_sizes_and_touches_the_value(case):
    """Dinkelbach: at the shares that prices ask for, the frozen cost is the value."""
    theta, masses = thetas(case, 7), case.fair
    updated = case.term.updated(masses, theta)
    np.testing.assert_allclose(updated.rate, case.term.weight / np.maximum(case.term.size(masses), 1.0))
    again = updated.share_support(theta, 0.0).argmax * case.term.size(masses)[:, None]
    expected = float(updated.value(again).sum())
    assert updated.correction(masses, theta) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("case", HARD_TERMS)
def test_a_constraint_costs_nothing_and_stays_as_it_is(case):
    masses, theta = case.masses(np.random.default_rng(1)), thetas(case, 1)
    assert not case.term.value(masses).any()
    assert not case.term.slope(masses).any()
    assert case.term.updated(masses, theta) is case.term
    assert case.term.correction(masses, theta) == 0.0
