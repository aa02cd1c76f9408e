"""Laws of terms side by side: prices by cell, the gradient and the Newton system of the dual."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from cases import OVERLAP, TERMS, U, several_attributes, with_everyone
from internals import KL, Balance, Interval, OverlapBalance, OverlapKL, ReferenceOracle, make_subproblem
from total_variation import Variation

N_CLUSTERS, N_SAMPLES = 4, 90
TEMPERATURE = 0.4
GROUPS = np.eye(4)
# Six cells: two groups × three; in the last of them nobody counts in the second attribute.
FIRST = np.array([[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]], dtype=float)
SECOND = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 0]], dtype=float)
MANY = np.array([[1, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1], [1, 1, 0, 1], [1, 1, 1, 1], [0, 0, 1, 1]], dtype=float)
TARGETS = np.array([0.6, 0.4]), np.array([0.5, 0.3, 0.2])
SIZES = np.full(N_CLUSTERS, 15.0), np.full(N_CLUSTERS, 30.0)

SUBPROBLEMS = [
    *(pytest.param(make_subproblem(c.values[0].term, memberships=[np.eye(c.values[0].n_columns)]), id=c.id)
      for c in TERMS if c.values[0].n_columns == 4 and not c.values[0].term.overlapping),
    pytest.param(
        make_subproblem(KL(TARGETS[0], limit=0.01), KL(TARGETS[1], weight=20.0, rate=0.5), memberships=[FIRST, SECOND]),
        id="two attributes, ignored people",
    ),
    pytest.param(make_subproblem(KL(U, limit=0.01), memberships=[GROUPS], sizes=SIZES), id="goal with sizes"),
    pytest.param(make_subproblem(KL(U, weight=9.0, rate=0.3), memberships=[GROUPS], sizes=SIZES), id="penalty, sizes"),
    pytest.param(make_subproblem(OverlapKL(OVERLAP, limit=0.02), memberships=[MANY]), id="overlap"),
    pytest.param(make_subproblem(OverlapBalance(0.3, OVERLAP), memberships=[MANY], sizes=SIZES), id="overlap balance"),
    pytest.param(
        make_subproblem(
            Interval(
                with_everyone(0.8 * OVERLAP), with_everyone(OVERLAP / 0.8), slack=0.9, center=with_everyone(OVERLAP),
                overlapping=True,
            ),
            memberships=[MANY],
        ),
        id="overlap bounds",
    ),
    pytest.param(
        make_subproblem(Balance(0.4, TARGETS[0]), Variation(TARGETS[1], 0.1), memberships=[FIRST, SECOND]),
        id="balance and a term of a user's own",
    ),
    pytest.param(
        make_subproblem(Interval(TARGETS[1], TARGETS[1], slack=0.99), memberships=[SECOND @ np.diag([1.0, 0.5, 0.25])]),
        id="parts of groups",
    ),
]  # fmt: skip


def oracle_of(subproblem, seed=0):
    rng = np.random.default_rng(seed)
    costs = rng.gamma(2.0, 1.0, (N_SAMPLES, N_CLUSTERS))
    cells = rng.integers(subproblem.n_cells, size=N_SAMPLES)
    return ReferenceOracle(costs, cells, subproblem.n_cells)


def theta_of(subproblem, seed=1):
    """Any θ; that of everyone, where groups overlap, stays 0."""
    theta = np.random.default_rng(seed).normal(size=(N_CLUSTERS, subproblem.n_unknowns))
    return subproblem.centered(theta)


def dual(subproblem, oracle, theta):
    priced = subproblem.prices(theta, TEMPERATURE)
    return oracle.evaluate(priced.prices, TEMPERATURE).value - priced.offset


def gradient(subproblem, oracle, theta):
    priced = subproblem.prices(theta, TEMPERATURE)
    return subproblem.gradient(priced, oracle.evaluate(priced.prices, TEMPERATURE).masses)


def unknowns(subproblem):
    """Whether each unknown is one: the price of everyone, where groups overlap, stays 0."""
    found = np.zeros(0, dtype=bool)
    for term, membership in zip(subproblem.terms, subproblem.memberships, strict=True):
        own = np.ones(membership.shape[1], dtype=bool)
        own[-1] = not term.overlapping or isinstance(term, Interval)
        found = np.append(found, own)
    return np.tile(found, N_CLUSTERS)


@pytest.mark.parametrize("temperature", [0.0, 0.5])
@pytest.mark.parametrize("subproblem", SUBPROBLEMS)
def test_a_cell_pays_the_prices_of_its_columns(subproblem, temperature):
    theta = theta_of(subproblem)
    by_column = subproblem.column_prices(theta, temperature)
    whole = [((m == 0) | (m == 1)).all() for m in subproblem.memberships]
    if all(whole):
        np.testing.assert_allclose(
            subproblem.prices(theta, temperature).prices, by_column @ subproblem.membership.T, rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("subproblem", SUBPROBLEMS)
def test_the_gradient_is_the_derivative_of_the_dual(subproblem):
    oracle, theta = oracle_of(subproblem), theta_of(subproblem)
    slope = oracles.finite_difference(lambda t: dual(subproblem, oracle, t), theta, step=1e-5).ravel()
    found = gradient(subproblem, oracle, theta).ravel()
    free = unknowns(subproblem)
    np.testing.assert_allclose(slope[free], found[free], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("subproblem", SUBPROBLEMS)
def test_the_newton_matrix_is_minus_the_derivative_of_the_gradient(subproblem):
    oracle, theta, size = oracle_of(subproblem), theta_of(subproblem), N_CLUSTERS * subproblem.n_unknowns
    priced = subproblem.prices(theta, TEMPERATURE)
    matrix = subproblem.newton_matrix(priced, oracle.evaluate(priced.prices, TEMPERATURE))
    slope = oracles.finite_difference(lambda t: gradient(subproblem, oracle, t), theta, step=1e-5)
    free = unknowns(subproblem)
    own = np.ix_(free, free)
    scale = abs(matrix).max()
    np.testing.assert_allclose(-slope.reshape(size, size)[own], matrix[own], rtol=1e-3, atol=1e-4 * scale)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-9 * scale)
    assert np.linalg.eigvalsh(matrix).min() >= -1e-8 * scale


@pytest.mark.parametrize("subproblem", SUBPROBLEMS)
def test_the_newton_product_is_the_newton_matrix(subproblem):
    oracle, theta = oracle_of(subproblem), theta_of(subproblem)
    priced = subproblem.prices(theta, TEMPERATURE)
    evaluation = oracle.evaluate(priced.prices, TEMPERATURE)
    matrix = subproblem.newton_matrix(priced, evaluation)
    product, blocks = subproblem.newton_product(priced, evaluation)
    x = np.random.default_rng(2).normal(size=theta.shape)
    np.testing.assert_allclose(product(x).ravel(), matrix @ x.ravel(), rtol=1e-9, atol=1e-9)
    square = matrix.reshape(2 * theta.shape)
    for k in range(N_CLUSTERS):
        np.testing.assert_allclose(blocks[k], square[k, :, k], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("subproblem", SUBPROBLEMS)
def test_the_dual_does_not_see_drift(subproblem):
    oracle, theta = oracle_of(subproblem), theta_of(subproblem)
    shifted = theta + np.random.default_rng(3).normal(size=(N_CLUSTERS, 1))
    there, back = (dual(subproblem, oracle, t) for t in (subproblem.centered(shifted), shifted))
    if not any(term.overlapping for term in subproblem.terms):
        assert there == pytest.approx(back, rel=1e-9)


@pytest.mark.parametrize("subproblem", SUBPROBLEMS)
def test_what_several_terms_say_of_masses_is_added_up(subproblem):
    rng = np.random.default_rng(4)
    masses = rng.gamma(1.0, 9.0, (N_CLUSTERS, subproblem.n_cells))
    parts = [masses @ m for m in subproblem.memberships]
    for name in ("violation", "value"):
        wanted = sum(getattr(t, name)(own) for t, own in zip(subproblem.terms, parts, strict=True))
        np.testing.assert_allclose(getattr(subproblem, name)(masses), wanted)
    rows = subproblem.rows(masses)
    inside = [t.rows(own).matrix @ own.ravel() for t, own in zip(subproblem.terms, parts, strict=True)]
    np.testing.assert_allclose(rows.matrix @ masses.ravel(), np.concatenate(inside), atol=1e-9)


def test_people_who_do_not_count_pay_nothing():
    subproblem = make_subproblem(KL(TARGETS[1], limit=0.01), memberships=[SECOND])
    prices = subproblem.prices(theta_of(subproblem), 0.1).prices
    assert not prices[:, -1].any()
    assert prices[:, :-1].any()


def test_a_penalty_of_several_attributes_is_the_sum_of_theirs():
    case = several_attributes()
    masses = case.unfair(np.random.default_rng(0))
    np.testing.assert_allclose(case.penalty.value(masses), case.oracle(masses))
    assert case.penalty.has_soft_terms
