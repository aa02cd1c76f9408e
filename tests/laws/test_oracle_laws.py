"""Laws of the oracles: evaluations are those of the reference, piece by piece as for the whole, for any threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from cases import COMPILED, QUESTIONS, people, question
from internals import (
    excess_costs,
    fallback,
    installed,
    make_oracle,
    make_points,
    plan_of,
    streamed_oracle,
    unfilled_oracle,
)

DENSE = 32  # clusters up to which all pairs of a point are counted
FEW = [q for q in QUESTIONS if q.id in ("weights", "one cluster", "many groups", "cold", "very many, weights")]
CLOSE = {"rtol": 2e-5, "atol": 1e-5}  # single-precision costs and exponentials


def oracle_of(q, **changes):
    return make_oracle(q.costs, q.codes, q.n_groups, q.weights, **changes)


def in_user_order(oracle, assigned):
    return oracle.user_labels(assigned.labels)


def test_two_points_are_counted_as_by_hand(each_kernel):
    oracle = make_oracle(np.array([[0.0, 1.0], [3.0, 1.0]]), np.array([0, 1]), 2)
    found = oracle.evaluate(np.zeros((2, 2)), 1.0)
    near, far = 1 / (1 + np.exp(-1.0)), 1 / (1 + np.exp(-2.0))
    np.testing.assert_allclose(found.masses, [[near, 1 - far], [1 - near, far]], **CLOSE)
    assert found.cost == pytest.approx((1 - near) + 1 + 2 * (1 - far), rel=1e-5)
    gaps = np.empty(2, dtype=np.float32)
    assigned = oracle.assign(np.array([[0.0, 0.0], [0.0, 2.5]]), gaps=gaps)
    assert assigned.labels.tolist() == [0, 0]
    assert assigned.masses.tolist() == [[1, 1], [0, 0]]
    assert assigned.cost == 3.0
    assert gaps.tolist() == [1.0, 0.5]


def reference(q, prices=None):
    """The same evaluation by the formulas."""
    prices = q.prices if prices is None else prices
    return oracles.soft_count(q.costs, q.codes, q.n_groups, q.scale, prices * q.scale, q.weights)


def is_that_of(found, count, q, digits=1e-5):
    """Whether an evaluation is that of the reference, but for single precision."""
    np.testing.assert_allclose(found.masses, count.masses, rtol=2 * digits, atol=digits * max(count.masses.max(), 1.0))
    assert found.cost == pytest.approx(count.cost, rel=2 * digits)
    assert found.value == pytest.approx(-count.log_partition / q.scale, rel=2 * digits, abs=100 * digits / q.scale)
    # Points that give less than a thousandth to their other choices may be left out of the Hessian.
    weight = np.bincount(q.codes, weights=q.weights, minlength=q.n_groups)[:, None, None]
    hessian = found.hessian / q.scale
    assert (abs(hessian - count.curvature) <= 1e-3 * abs(count.curvature) + 1e-4 * weight).all()


@pytest.mark.parametrize("q", QUESTIONS)
def test_evaluations_and_labels_are_those_of_the_reference(each_kernel, q):
    oracle = oracle_of(q)
    is_that_of(oracle.evaluate(q.prices, q.temperature), reference(q), q)
    assigned = oracle.assign(q.scaled_price)
    count = oracles.hard_count(q.costs, q.codes, q.n_groups, q.scaled_price, q.weights)
    assert np.array_equal(in_user_order(oracle, assigned), count.labels)
    np.testing.assert_allclose(assigned.masses, count.masses, rtol=1e-12)
    assert assigned.cost == pytest.approx(count.cost, rel=1e-6)


@pytest.mark.parametrize("q", QUESTIONS)
def test_an_oracle_over_blocks_answers_as_the_reference(q):
    made = streamed_oracle(q.costs, q.codes, q.n_groups, q.weights)
    is_that_of(made.evaluate(q.prices, q.temperature), reference(q), q, digits=5e-5)
    assigned = made.assign(q.scaled_price)
    wanted = oracles.hard_count(q.costs, q.codes, q.n_groups, q.scaled_price, q.weights)
    np.testing.assert_allclose(assigned.masses, wanted.masses, rtol=1e-12)
    assert assigned.cost == pytest.approx(wanted.cost, rel=1e-6)
    np.testing.assert_array_equal(made.user_labels(assigned.labels), wanted.labels)


@pytest.mark.parametrize("make", [make_oracle, streamed_oracle], ids=["in memory", "in blocks"])
@pytest.mark.parametrize("q", FEW)
def test_at_temperature_0_the_value_is_that_of_the_cheapest_labels(make, q):
    oracle = make(q.costs, q.codes, q.n_groups, q.weights)
    found, assigned = oracle.evaluate(q.prices, 0.0), oracle.assign(q.prices)
    np.testing.assert_allclose(found.masses, assigned.masses)
    assert found.cost == pytest.approx(assigned.cost)
    assert found.value == pytest.approx(assigned.cost + (q.prices * assigned.masses).sum())
    assert not found.hessian.any()


@pytest.mark.parametrize("make", [make_oracle, streamed_oracle], ids=["in memory", "in blocks"])
@pytest.mark.parametrize("q", [q for q in FEW if q.id in ("weights", "many groups")])
def test_no_evaluation_depends_on_the_one_before(make, q):
    oracle = make(q.costs, q.codes, q.n_groups, q.weights)
    first = oracle.evaluate(q.prices, q.temperature)
    oracle.assign(3.0 * q.prices, split=2.0)
    oracle.evaluate(-q.prices, 0.1 * q.temperature)
    again = oracle.evaluate(q.prices, q.temperature)
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("q", FEW)
def test_prices_may_lie_in_any_order(each_kernel, q):
    wide = np.full((2 * q.prices.shape[0], 3 * q.prices.shape[1]), np.nan)
    wide[::2, ::3] = q.prices
    backwards = np.ascontiguousarray(q.prices[::-1, ::-1])
    oracle, answers = oracle_of(q), []
    for prices in (q.prices, np.asfortranarray(q.prices), wide[::2, ::3], backwards[::-1, ::-1]):
        soft, hard = oracle.evaluate(prices, q.temperature), oracle.assign(prices)
        answers.append((soft.masses, soft.cost, soft.value, hard.masses, hard.cost, hard.labels))
    for other in answers[1:]:
        for one, same in zip(answers[0], other, strict=True):
            np.testing.assert_array_equal(one, same)


@pytest.mark.parametrize("n_clusters", [5, 120])
def test_nobody_goes_where_prices_are_beyond_all_others(each_kernel, n_clusters):
    q = question(n_clusters=n_clusters, scale=30.0)
    prices = q.prices.copy()
    prices[1] = 1e30
    is_that_of(oracle_of(q).evaluate(prices, q.temperature), reference(q, prices), q)
    prices[2] = -1e30  # everybody does here
    masses = oracle_of(q).evaluate(prices, q.temperature).masses
    np.testing.assert_allclose(masses[2], np.bincount(q.codes), rtol=1e-6)
    np.testing.assert_allclose(np.delete(masses, 2, axis=0), 0.0, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-30, 1e30, 1e37])
def test_points_between_many_clusters_go_somewhere_at_any_temperature(each_kernel, scale):
    q = question(n_samples=150, n_clusters=120, scale=scale)
    found = oracle_of(q).evaluate(0.0 * q.prices, q.temperature)
    np.testing.assert_allclose(found.masses.sum(axis=0), np.bincount(q.codes), rtol=1e-5)
    assert np.isfinite(found.hessian).all()


@pytest.mark.parametrize("n_clusters", [5, 120])
def test_a_cluster_that_is_far_from_everybody_has_masses_that_tell_how_far(each_kernel, n_clusters):
    q = question(n_clusters=n_clusters)
    oracle, masses = oracle_of(q), []
    for far in (4.0, 5.0):
        prices = np.zeros_like(q.prices)
        prices[3] = far
        masses.append(oracle.evaluate(prices, 0.1).masses[3])
    assert (masses[0] > 0).all()
    np.testing.assert_allclose(np.log(masses[0] / masses[1]), 10.0, rtol=0.2)


@pytest.mark.parametrize(("weighted", "temperature"), [(False, 100.0), (True, 1.0), (False, 0.01)])
def test_costs_of_many_clusters_that_are_not_kept_give_the_same_bits(each_kernel, weighted, temperature):
    rng = np.random.default_rng(5)
    X, centers = rng.normal(size=(500, 4)).astype(np.float32), rng.normal(size=(120, 4)).astype(np.float32)
    cells = rng.integers(3, size=500)
    weights = rng.uniform(0.0, 2.0, 500) if weighted else None
    oracle = unfilled_oracle(cells, 3, 120, weights)
    plan = plan_of(each_kernel, oracle.layout)
    each_kernel.distances(plan, 0, X, centers, None, weights, oracle.excess, 1)
    how = (weights, 1.0 / temperature, rng.normal(size=(3, 120)), np.array([1, 2, 70]), np.array([0, 3, 5]), 2)
    _, answer = each_kernel.sweep_rows(plan, 0, X, centers, *how)
    for mine, kept in zip(answer, each_kernel.sweep(plan, oracle.excess, *how), strict=True):
        np.testing.assert_array_equal(mine, kept)


SPLIT = [
    *FEW,
    pytest.param(question(n_samples=3000, n_clusters=200), id="200 clusters"),
    pytest.param(question(n_samples=700, n_clusters=300, n_groups=2), id="300 clusters"),
]


@pytest.mark.parametrize("q", SPLIT)
@pytest.mark.parametrize("scale", [0.02, 1.0, 50.0])
def test_points_that_are_split_go_where_the_reference_sends_them(each_kernel, q, scale):
    oracle = oracle_of(q)
    assigned = oracle.assign(q.scaled_price, split=scale)
    count = oracles.split_count(q.costs, q.codes, q.n_groups, q.scaled_price, scale, q.weights)
    assert np.array_equal(in_user_order(oracle, assigned), count.labels)
    np.testing.assert_allclose(assigned.masses, count.masses, rtol=1e-12)
    assert assigned.cost == pytest.approx(count.cost, rel=1e-6)


@pytest.mark.parametrize("q", FEW)
def test_soft_rows_are_the_soft_assignments(each_kernel, q):
    oracle = oracle_of(q)
    rows, count = oracle.soft_rows(q.prices, q.temperature), reference(q)
    np.testing.assert_allclose(rows, count.soft, rtol=2e-4, atol=1e-6)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-5)
    assert oracle.shared_cost(rows) == pytest.approx(count.cost, rel=1e-4)


@pytest.mark.parametrize("q", FEW)
def test_blocks_add_up_to_whole(each_kernel, q):
    half = len(q.codes) // 2
    whole = oracle_of(q).evaluate(q.prices, q.temperature)
    parts = []
    for rows in (slice(0, half), slice(half, None)):
        weights = None if q.weights is None else q.weights[rows]
        part = make_oracle(q.costs[rows], q.codes[rows], q.n_groups, weights)
        parts.append(part.evaluate(q.prices, q.temperature))
    one, other = parts
    np.testing.assert_allclose(one.masses + other.masses, whole.masses, **CLOSE)
    # Of many clusters, choices that are left out are guessed by each part for itself.
    off = 1e-3 if q.costs.shape[1] > DENSE else 1e-4
    np.testing.assert_allclose(one.hessian + other.hessian, whole.hessian, rtol=1e-4, atol=off * q.scale)
    assert one.cost + other.cost == pytest.approx(whole.cost, rel=1e-6)
    assert one.value + other.value == pytest.approx(whole.value, rel=1e-6, abs=1e-6 / q.scale)


@pytest.mark.parametrize("make", [make_oracle, streamed_oracle], ids=["in memory", "in blocks"])
def test_masses_are_the_derivative_of_the_value_and_the_hessian_is_minus_theirs(make):
    q = question(n_samples=200, n_clusters=4, n_groups=2)
    oracle = make(q.costs, q.codes, q.n_groups)
    found = oracle.evaluate(q.prices, q.temperature)
    slope = oracles.finite_difference(lambda p: oracle.evaluate(p, q.temperature).value, q.prices, step=1e-2)
    np.testing.assert_allclose(slope, found.masses, rtol=2e-3, atol=0.05)
    slopes = oracles.finite_difference(lambda p: oracle.evaluate(p, q.temperature).masses, q.prices, step=1e-2)
    for cell in range(q.n_groups):
        np.testing.assert_allclose(-slopes[:, cell, :, cell], found.hessian[cell], atol=0.04)
        np.testing.assert_allclose(slopes[:, cell, :, 1 - cell], 0.0, atol=1e-6)


@pytest.mark.parametrize("q", FEW)
def test_the_hessian_is_symmetric_positive_and_blind_to_a_price_that_all_clusters_have(each_kernel, q):
    hessian = oracle_of(q).evaluate(q.prices, q.temperature).hessian / q.scale
    np.testing.assert_allclose(hessian, hessian.transpose(0, 2, 1), atol=1e-9)
    np.testing.assert_allclose(hessian.sum(axis=2), 0.0, atol=1e-9)
    assert np.linalg.eigvalsh(hessian).min() >= -1e-9


def test_the_hessian_of_many_points_is_near_that_of_all(each_kernel):
    q = question(n_samples=80_000, n_clusters=3, n_groups=2)
    hessian = oracle_of(q).evaluate(q.prices, q.temperature).hessian / q.scale
    exponent = -q.scale * q.costs - q.scaled_price.T[q.codes]
    soft = np.exp(exponent - exponent.max(axis=1, keepdims=True))
    soft /= soft.sum(axis=1, keepdims=True)
    for cell in range(2):
        mine = soft[q.codes == cell]
        np.testing.assert_allclose(hessian[cell], np.diag(mine.sum(axis=0)) - mine.T @ mine, rtol=0.05)


@pytest.mark.parametrize(
    ("n_clusters", "weighted", "scale"),
    [(4, False, 1.6), (4, True, 500.0), (120, True, 48.0), (600, False, 240.0)],
)
def test_answers_do_not_depend_on_threads(n_clusters, weighted, scale):
    n_samples = 30_000 if n_clusters < 500 else 10_000
    q = question(n_samples, n_clusters, 3, weighted=weighted, scale=scale)
    answers = []
    for n_threads in (1, 2, 4, 7):
        oracle = oracle_of(q, n_threads=n_threads)
        soft, hard = oracle.evaluate(q.prices, q.temperature), oracle.assign(q.scaled_price)
        scalars = np.array([soft.cost, soft.value, hard.cost])
        answers.append((soft.masses, soft.hessian, hard.masses, hard.labels, scalars))
        answers[-1] += (oracle.soft_rows(q.prices, q.temperature),)
    for other in answers[1:]:
        assert all(np.array_equal(mine, first) for mine, first in zip(other, answers[0], strict=True))


# --- samples ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weights"])
def test_a_sample_weighs_what_all_rows_weigh_in_each_cell_and_cluster(weighted):
    """Strata by cell and cheapest cluster, so that rare cells stay and totals are exact."""
    data = people(5000, n_clusters=3, n_groups=3, seed=1)
    codes = np.unique(data.groups, return_inverse=True)[1].astype(np.int32)
    codes[:3] = 3  # three people of a group of their own
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 5000) if weighted else None
    points = make_points(data.X, codes, 3, weights=weights)
    oracle = points.oracle(data.init)
    sample = oracle.sample(points.objective, 500)
    assert 500 <= sample.rows.n_samples <= 520
    np.testing.assert_allclose(sample.rows.cell_totals, oracle.cell_totals)
    sample.objective.fill(sample.rows, data.init)
    zero = np.zeros((3, 4))
    np.testing.assert_allclose(sample.rows.assign(zero).masses, oracle.assign(zero).masses)


# --- compiled and NumPy kernels are twins -----------------------------------------------------------------------------


# Numbers of features: less than a vector of any instruction set, whole ones, and more; every pair of the rest.
ROWS = pytest.mark.parametrize(
    ("n_features", "dtype", "weighted"),
    [
        (1, np.float32, False), (1, np.float64, True), (3, np.float64, True), (5, np.float32, True),
        (8, np.float64, False), (13, np.float32, False), (16, np.float64, True), (16, np.float32, False),
        (17, np.float32, True), (70, np.float64, False), (70, np.float32, True),
    ],
)  # fmt: skip


def rows_of(seed, dtype, weighted, n_samples=500, n_features=70):
    data = people(n_samples, n_clusters=3, n_groups=3, seed=seed, dtype=dtype, n_features=n_features)
    codes = np.unique(data.groups, return_inverse=True)[1].astype(np.int32)
    weights = np.random.default_rng(seed).uniform(0, 2, n_samples) if weighted else None
    sweep = unfilled_oracle(codes, 3, 3, weights)
    labels = np.random.default_rng(seed).integers(3, size=n_samples).astype(np.int32)
    return data, sweep, labels


@ROWS
@pytest.mark.parametrize("metric", [0, 1, 2], ids=["squared", "euclidean", "manhattan"])
def test_distances_equal_oracle(each_kernel, metric, dtype, weighted, n_features):
    data, sweep, labels = rows_of(0, dtype, weighted, n_features=n_features)
    plan = plan_of(each_kernel, sweep.layout)
    cheapest, labelled = each_kernel.distances(
        plan, metric, data.X, data.init, labels, sweep.weights, sweep.excess, n_threads=2
    )
    costs = oracles.point_costs(data.X, data.init, metric)[sweep.layout.order]
    w = np.ones(len(labels)) if sweep.weights is None else sweep.weights
    assert cheapest == pytest.approx(w @ costs.min(axis=1), rel=1e-5)
    assert labelled == pytest.approx(w @ costs[np.arange(len(costs)), labels], rel=1e-5)
    excess = excess_costs(sweep)
    np.testing.assert_allclose(excess, costs - costs.min(axis=1, keepdims=True), rtol=2e-4, atol=2e-3)


@ROWS
def test_sums_of_rows_equal_oracle(each_kernel, dtype, weighted, n_features):
    data, sweep, labels = rows_of(1, dtype, weighted, n_features=n_features)
    plan = plan_of(each_kernel, sweep.layout)
    X, w = data.X[sweep.layout.order].astype(float), np.ones(len(labels)) if sweep.weights is None else sweep.weights
    sums = each_kernel.label_sums(plan, data.X, labels, sweep.weights, 3, n_threads=2)
    np.testing.assert_allclose(sums, [(w * (labels == k)) @ X for k in range(3)], rtol=1e-6, atol=1e-4)
    each_kernel.distances(plan, 0, data.X, data.init, None, sweep.weights, sweep.excess, 1)
    scaled_price = np.random.default_rng(0).normal(size=(3, 3))
    soft = each_kernel.soft_sums(plan, sweep.excess, data.X, sweep.weights, 0.01, scaled_price, n_threads=2)
    costs, codes = oracles.point_costs(data.X, data.init)[sweep.layout.order], sweep.layout.cells
    wanted = (oracles.soft_count(costs, codes, 3, 0.01, scaled_price.T).soft * w[:, None]).T @ X
    np.testing.assert_allclose(soft, wanted, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("count", [1, 5, 10**6])
def test_cheapest_moves_are_those_of_all_points(each_kernel, count):
    data, sweep, labels = rows_of(3, np.float64, False)
    plan = plan_of(each_kernel, sweep.layout)
    each_kernel.distances(plan, 0, data.X, data.init, None, None, sweep.excess, 1)
    costs = excess_costs(sweep).astype(float)
    kinds = np.array([[0, 1, 2], [0, 1, 0], [2, 0, 1], [7, 0, 1]])  # there is no cell 7
    found = each_kernel.cheapest_moves(plan, sweep.excess, labels, kinds, count)
    for i, (cell, source, destination) in enumerate(kinds):
        own = np.flatnonzero((sweep.layout.cells == cell) & (labels == source))
        rise = costs[own, destination] - costs[own, source]
        first = np.lexsort((own, rise))[:count]
        np.testing.assert_array_equal(found[found[:, 0] == i, 1], own[first])
        np.testing.assert_array_equal(found[found[:, 0] == i, 2], rise[first])


@pytest.mark.parametrize(
    ("order", "weighted", "dtype"),
    [("C", False, np.float32), ("C", True, np.float64), ("F", True, np.float32), ("F", False, np.float64)],
)
def test_costs_that_are_not_kept_give_the_same_bits(each_kernel, dtype, weighted, order):
    data, sweep, labels = rows_of(2, dtype, weighted)
    plan = plan_of(each_kernel, sweep.layout)
    X, scaled_price = np.asarray(data.X, order=order), np.random.default_rng(0).normal(size=(3, 3))
    base, _ = each_kernel.distances(plan, 0, X, data.init, None, sweep.weights, sweep.excess, 1)
    how = (sweep.weights, 0.01, scaled_price, np.array([1, 2, 70]), np.array([0, 3, 5]), 2)
    passing, answer = each_kernel.sweep_rows(plan, 0, X, data.init, *how)
    assert passing == base
    for mine, kept in zip(answer, each_kernel.sweep(plan, sweep.excess, *how), strict=True):
        np.testing.assert_array_equal(mine, kept)
    passing, answer, sums = each_kernel.assign_rows(plan, 0, X, data.init, sweep.weights, scaled_price, labels, 2)
    found = np.empty_like(labels)
    for mine, kept in zip(
        answer, each_kernel.assign(plan, sweep.excess, sweep.weights, scaled_price, found, None, 2), strict=True
    ):
        np.testing.assert_array_equal(mine, kept)
    assert passing == base
    np.testing.assert_array_equal(labels, found)
    np.testing.assert_array_equal(sums, each_kernel.label_sums(plan, X, labels, sweep.weights, 3, 2))
    again = np.empty_like(labels)
    how = (sweep.weights, scaled_price, again, 2)
    without = each_kernel.assign_rows(plan, 0, X, data.init, *how, with_sums=False)
    assert not without[2].any()
    np.testing.assert_array_equal(again, labels)
    np.testing.assert_array_equal(without[1][0], answer[0])


def test_a_plan_keeps_the_order_that_it_was_given(each_kernel):
    layout = rows_of(2, np.float32, False)[1].layout
    plan = plan_of(each_kernel, layout)
    np.testing.assert_array_equal(plan.order, layout.order)
    kept = plan.order
    del plan
    np.testing.assert_array_equal(kept, layout.order)


@COMPILED
@given(st.integers(0, 10_000), st.integers(1, 300), st.integers(1, 6), st.integers(1, 5), st.floats(0.01, 50))
def test_numpy_kernels_answer_as_compiled_kernels(seed, n_samples, n_clusters, n_groups, scale):
    q = question(n_samples, n_clusters, n_groups, seed, weighted=seed % 2 == 0, scale=scale)
    sweep = oracle_of(q)
    scaled_price, price = np.ascontiguousarray(q.scaled_price.T), np.ascontiguousarray(q.scaled_price.T)
    steps = 1 + np.arange(n_groups, dtype=np.int64) % 3
    before = np.arange(n_groups, dtype=np.int64) * 5
    replies, labels, undecided = [], [], []
    for kernels in (installed, fallback):
        plan = plan_of(kernels, sweep.layout)
        masses, cost, log_partition, pairs, sampled = kernels.sweep(
            plan, sweep.excess, sweep.weights, scale, scaled_price, steps, before, 1
        )
        labels.append(np.zeros(n_samples, dtype=np.int32))
        counted, hard_cost, gap = kernels.assign(plan, sweep.excess, sweep.weights, price, labels[-1], None, 1)
        gap = gap if n_clusters > 1 else 0.0  # there is no second best
        replies.append([masses, cost, log_partition, sampled, counted, hard_cost, gap])
        undecided.append(np.triu(pairs, 1))
    assert np.array_equal(*labels)
    for mine, other in zip(*replies, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-3)
    weight = replies[1][0].sum(axis=1)[:, None, None]
    assert (abs(undecided[0] - undecided[1]) <= 2e-3 * undecided[1] + 2e-3 * weight).all()


@COMPILED
@pytest.mark.skipif("FAIRCLUST_ISA" in os.environ, reason="this run is one of those that the test starts")
@pytest.mark.parametrize("isa", ["baseline", "avx2"])
def test_oracle_laws_hold_for_every_instruction_set(isa):
    if isa == installed.name:
        pytest.skip(f"the laws of this run were asked of {isa}")
    environment = {**os.environ, "FAIRCLUST_ISA": isa}
    ask = [sys.executable, "-c", "from fairclust._core import kernels; print(kernels.name)"]
    chosen = subprocess.run(ask, env=environment, capture_output=True, text=True, check=True).stdout.strip()
    if isa != chosen:
        assert isa != "baseline", "every machine has the baseline"
        pytest.skip(f"this machine has no {isa}")
    laws = "not numpy and not instruction_set and not compiled_kernels and not 600"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", laws, __file__]
    run = subprocess.run(
        command, env=environment, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout[-3000:]
    assert " passed" in run.stdout
