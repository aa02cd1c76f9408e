"""Laws of the sweep: every kernel answers as the oracle does, piece by piece as for the whole, for any threads."""

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
    evaluate,
    excess_costs,
    fallback,
    installed,
    make_oracle,
    plan_of,
    soft_rows,
    streamed_oracle,
    unfilled_oracle,
)

DENSE = 32  # clusters up to which all pairs of a point are counted
FEW = [q for q in QUESTIONS if q.id in ("weights", "one cluster", "many groups", "cold", "very many, weights")]
CLOSE = {"rtol": 2e-5, "atol": 1e-5}  # single-precision costs and exponentials


def sweep_of(q, **changes):
    return make_oracle(q.costs, q.codes, q.n_groups, q.weights, **changes)


def test_two_points_are_counted_as_by_hand(each_kernel):
    sweep = make_oracle(np.array([[0.0, 1.0], [3.0, 1.0]]), np.array([0, 1]), 2)
    answer = evaluate(sweep, 1.0, np.zeros((2, 2)))
    near, far = 1 / (1 + np.exp(-1.0)), 1 / (1 + np.exp(-2.0))
    np.testing.assert_allclose(answer.masses, [[near, 1 - far], [1 - near, far]], **CLOSE)
    assert answer.cost == pytest.approx((1 - near) + 1 + 2 * (1 - far), rel=1e-5)
    hard = sweep.assign(np.array([[0.0, 0.0], [0.0, 2.5]]))
    assert sweep.labels.tolist() == [0, 0]
    assert hard.masses.tolist() == [[1, 1], [0, 0]]
    assert hard.cost == 3.0
    assert hard.gap == pytest.approx((1.0 + 0.5) / 2)


@pytest.mark.parametrize("q", QUESTIONS)
def test_evaluations_and_labels_are_those_of_the_reference(each_kernel, q):
    sweep = sweep_of(q)
    answer = evaluate(sweep, q.scale, q.scaled_price, curvature=True)
    count = oracles.soft_count(q.costs, q.codes, q.n_groups, q.scale, q.scaled_price, q.weights)
    np.testing.assert_allclose(answer.masses, count.masses, rtol=2e-5, atol=1e-5 * max(count.masses.max(), 1.0))
    assert answer.cost == pytest.approx(count.cost, rel=2e-5)
    assert answer.log_partition == pytest.approx(count.log_partition, rel=2e-5, abs=1e-3)
    # Points that give less than a thousandth to their other choices may be left out of the curvature.
    weight = np.bincount(q.codes, weights=q.weights, minlength=q.n_groups)[:, None, None]
    assert (abs(answer.curvature - count.curvature) <= 1e-3 * abs(count.curvature) + 1e-4 * weight).all()
    hard = sweep.assign(q.scaled_price)
    count = oracles.hard_count(q.costs, q.codes, q.n_groups, q.scaled_price, q.weights)
    assert np.array_equal(sweep.layout.to_user_order(sweep.labels), count.labels)
    np.testing.assert_allclose(hard.masses, count.masses, rtol=1e-12)
    assert hard.cost == pytest.approx(count.cost, rel=1e-6)
    assert hard.gap == pytest.approx(count.gap, rel=1e-5)


@pytest.mark.parametrize("q", FEW)
def test_prices_may_lie_in_any_order(each_kernel, q):
    wide = np.full((2 * q.scaled_price.shape[0], 3 * q.scaled_price.shape[1]), np.nan)
    wide[::2, ::3] = q.scaled_price
    backwards = np.ascontiguousarray(q.scaled_price[::-1, ::-1])
    answers = []
    for price in (q.scaled_price, np.asfortranarray(q.scaled_price), wide[::2, ::3], backwards[::-1, ::-1]):
        sweep = sweep_of(q)
        soft, hard = evaluate(sweep, q.scale, price), sweep.assign(price)
        answers.append((soft.masses, soft.cost, soft.log_partition, hard.masses, hard.cost, sweep.labels.copy()))
    for other in answers[1:]:
        for one, same in zip(answers[0], other, strict=True):
            np.testing.assert_array_equal(one, same)


@pytest.mark.parametrize("q", QUESTIONS)
def test_an_oracle_over_blocks_answers_as_the_reference(q):
    made = streamed_oracle(q.costs, q.codes, q.n_groups, q.weights)
    answer = evaluate(made, q.scale, q.scaled_price, curvature=True)
    count = oracles.soft_count(q.costs, q.codes, q.n_groups, q.scale, q.scaled_price, q.weights)
    np.testing.assert_allclose(answer.masses, count.masses, rtol=1e-4, atol=1e-4 * max(count.masses.max(), 1.0))
    assert answer.cost == pytest.approx(count.cost, rel=1e-4)
    assert answer.log_partition == pytest.approx(count.log_partition, rel=1e-4, abs=1e-2)
    weight = np.bincount(q.codes, weights=q.weights, minlength=q.n_groups)[:, None, None]
    assert (abs(answer.curvature - count.curvature) <= 1e-3 * abs(count.curvature) + 1e-4 * weight).all()
    hard = made.assign(q.scaled_price)
    wanted = oracles.hard_count(q.costs, q.codes, q.n_groups, q.scaled_price, q.weights)
    np.testing.assert_allclose(hard.masses, wanted.masses, rtol=1e-12)
    assert hard.cost == pytest.approx(wanted.cost, rel=1e-6)
    assert hard.gap == pytest.approx(wanted.gap, rel=1e-4)
    assert made.n_sweeps == 2


@pytest.mark.parametrize("n_clusters", [5, 120])
def test_nobody_goes_where_prices_are_beyond_all_others(each_kernel, n_clusters):
    q = question(n_clusters=n_clusters, scale=30.0)
    q.scaled_price[1] = 1e30
    count = oracles.soft_count(q.costs, q.codes, q.n_groups, q.scale, q.scaled_price)
    answer = evaluate(sweep_of(q), q.scale, q.scaled_price, curvature=True)
    np.testing.assert_allclose(answer.masses, count.masses, **CLOSE)
    assert answer.log_partition == pytest.approx(count.log_partition, rel=2e-5, abs=1e-3)
    q.scaled_price[2] = -1e30  # everybody does here
    answer = evaluate(sweep_of(q), q.scale, q.scaled_price, curvature=True)
    np.testing.assert_allclose(answer.masses[2], np.bincount(q.codes), rtol=1e-6)
    np.testing.assert_allclose(np.delete(answer.masses, 2, axis=0), 0.0, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-30, 1e30, 1e37])
def test_points_between_many_clusters_go_somewhere_at_any_temperature(each_kernel, scale):
    q = question(n_samples=150, n_clusters=120, scale=scale)
    answer = evaluate(sweep_of(q), q.scale, 0.0 * q.scaled_price, curvature=True)
    np.testing.assert_allclose(answer.masses.sum(axis=0), np.bincount(q.codes), rtol=1e-5)
    assert np.isfinite(answer.curvature).all()


@pytest.mark.parametrize("n_clusters", [5, 120])
def test_a_cluster_that_is_far_from_everybody_has_crumbs_that_tell_how_far(each_kernel, n_clusters):
    q = question(n_clusters=n_clusters)
    sweep, crumbs = sweep_of(q), []
    for far in (40.0, 50.0):
        price = np.zeros_like(q.scaled_price)
        price[3] = far
        crumbs.append(evaluate(sweep, 10.0, price, curvature=True).masses[3])
    assert (crumbs[0] > 0).all()
    np.testing.assert_allclose(np.log(crumbs[0] / crumbs[1]), 10.0, rtol=0.2)


@pytest.mark.parametrize(("weighted", "temperature"), [(False, 100.0), (True, 1.0), (False, 0.01)])
def test_costs_of_many_clusters_that_are_not_kept_give_the_same_bits(each_kernel, weighted, temperature):
    rng = np.random.default_rng(5)
    X, centers = rng.normal(size=(500, 4)).astype(np.float32), rng.normal(size=(120, 4)).astype(np.float32)
    cells = rng.integers(3, size=500)
    weights = rng.uniform(0.0, 2.0, 500) if weighted else None
    sweep = unfilled_oracle(cells, 3, 120, weights)
    plan = plan_of(each_kernel, sweep.layout)
    each_kernel.distances(plan, 0, X, centers, None, weights, sweep.excess, 1)
    how = (weights, 1.0 / temperature, rng.normal(size=(3, 120)), np.array([1, 2, 70]), np.array([0, 3, 5]), 2)
    _, answer = each_kernel.sweep_rows(plan, 0, X, centers, *how)
    for mine, kept in zip(answer, each_kernel.sweep(plan, sweep.excess, *how), strict=True):
        np.testing.assert_array_equal(mine, kept)


SPLIT = [
    *FEW,
    pytest.param(question(n_samples=3000, n_clusters=200), id="200 clusters"),
    pytest.param(question(n_samples=700, n_clusters=300, n_groups=2), id="300 clusters"),
]


@pytest.mark.parametrize("q", SPLIT)
@pytest.mark.parametrize("scale", [0.02, 1.0, 50.0])
def test_points_that_are_split_go_where_the_oracle_sends_them(each_kernel, q, scale):
    sweep = sweep_of(q)
    hard = sweep.assign(q.scaled_price, split=scale)
    count = oracles.split_count(q.costs, q.codes, q.n_groups, q.scaled_price, scale, q.weights)
    assert np.array_equal(sweep.layout.to_user_order(sweep.labels), count.labels)
    np.testing.assert_allclose(hard.masses, count.masses, rtol=1e-12)
    assert hard.cost == pytest.approx(count.cost, rel=1e-6)


@pytest.mark.parametrize("q", FEW)
def test_soft_rows_equal_oracle_and_sum_to_one(each_kernel, q):
    rows = soft_rows(sweep_of(q), q.scale, q.scaled_price)
    count = oracles.soft_count(q.costs, q.codes, q.n_groups, q.scale, q.scaled_price)
    np.testing.assert_allclose(rows, count.soft, rtol=2e-4, atol=1e-6)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-5)


@pytest.mark.parametrize("q", FEW)
def test_blocks_add_up_to_whole(each_kernel, q):
    half = len(q.codes) // 2
    whole = evaluate(sweep_of(q), q.scale, q.scaled_price, curvature=True)
    parts = []
    for rows in (slice(0, half), slice(half, None)):
        weights = None if q.weights is None else q.weights[rows]
        part = make_oracle(q.costs[rows], q.codes[rows], q.n_groups, weights)
        parts.append(evaluate(part, q.scale, q.scaled_price, curvature=True))
    np.testing.assert_allclose(parts[0].masses + parts[1].masses, whole.masses, **CLOSE)
    # Of many clusters, choices that are left out are guessed by each part for itself.
    off = 1e-3 if q.costs.shape[1] > DENSE else 1e-4
    together = np.asarray(parts[0].curvature) + parts[1].curvature
    np.testing.assert_allclose(together, whole.curvature, rtol=1e-4, atol=off)
    assert parts[0].cost + parts[1].cost == pytest.approx(whole.cost, rel=1e-6)
    assert parts[0].log_partition + parts[1].log_partition == pytest.approx(whole.log_partition, rel=1e-6, abs=1e-6)


def test_curvature_is_minus_the_derivative_of_masses_by_pull(each_kernel):
    q = question(n_samples=200, n_clusters=4, n_groups=2)
    sweep = sweep_of(q)
    curvature = evaluate(sweep, q.scale, q.scaled_price, curvature=True).curvature
    slopes = oracles.finite_difference(lambda price: evaluate(sweep, q.scale, price).masses, q.scaled_price, step=1e-2)
    for j in range(q.n_groups):
        np.testing.assert_allclose(-slopes[:, j, :, j], curvature[j], atol=0.02)
        np.testing.assert_allclose(slopes[:, j, :, 1 - j], 0.0, atol=1e-6)


@pytest.mark.parametrize("q", FEW)
def test_curvature_is_symmetric_positive_and_blind_to_a_common_pull(each_kernel, q):
    curvature = np.asarray(evaluate(sweep_of(q), q.scale, q.scaled_price, curvature=True).curvature)
    np.testing.assert_allclose(curvature, curvature.transpose(0, 2, 1), atol=1e-9)
    np.testing.assert_allclose(curvature.sum(axis=2), 0.0, atol=1e-9)
    assert np.linalg.eigvalsh(curvature).min() >= -1e-9


def test_curvature_of_many_points_is_near_that_of_all(each_kernel):
    q = question(n_samples=80_000, n_clusters=3, n_groups=2)
    curvature = evaluate(sweep_of(q), q.scale, q.scaled_price, curvature=True).curvature
    exponent = -q.scale * q.costs - q.scaled_price.T[q.codes]
    soft = np.exp(exponent - exponent.max(axis=1, keepdims=True))
    soft /= soft.sum(axis=1, keepdims=True)
    for cell in range(2):
        mine = soft[q.codes == cell]
        np.testing.assert_allclose(curvature[cell], np.diag(mine.sum(axis=0)) - mine.T @ mine, rtol=0.05)


@pytest.mark.parametrize(
    ("n_clusters", "weighted", "scale"),
    [(4, False, 1.6), (4, True, 500.0), (120, True, 48.0), (600, False, 240.0)],
)
def test_answers_do_not_depend_on_threads(n_clusters, weighted, scale):
    n_samples = 30_000 if n_clusters < 500 else 10_000
    q = question(n_samples, n_clusters, 3, weighted=weighted, scale=scale)
    answers = []
    for n_threads in (1, 2, 4, 7):
        sweep = sweep_of(q, n_threads=n_threads)
        soft, hard = evaluate(sweep, scale, q.scaled_price, curvature=True), sweep.assign(q.scaled_price)
        scalars = np.array([soft.cost, soft.log_partition, hard.cost, hard.gap])
        answers.append((soft.masses, soft.curvature, hard.masses, sweep.labels, scalars))
        answers[-1] += (soft_rows(sweep, scale, q.scaled_price),)
    for other in answers[1:]:
        assert all(np.array_equal(mine, first) for mine, first in zip(other, answers[0], strict=True))


def test_a_sample_has_the_shares_of_the_data_and_keeps_its_weights():
    q = question(n_samples=5000, weighted=True)
    sample, rows = sweep_of(q).sampled(5)
    assert len(rows) == 1000
    # Position i of the sample's own visiting order is row rows[order[i]] of the user's data.
    visited = rows[sample.layout.order]
    np.testing.assert_array_equal(sample.weights, q.weights[visited])
    np.testing.assert_array_equal(sample.layout.cells, q.codes[visited])
    shares = np.bincount(q.codes) / len(q.codes)
    np.testing.assert_allclose(np.bincount(q.codes[rows]) / len(rows), shares, atol=0.002)


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
    ("least", "dtype"), [(-3.0, np.float32), (-0.1, np.float64), (0.0, np.float32), (0.1, np.float64)]
)
def test_moves_that_are_found_are_those_that_gain_so_much_or_lose_less(each_kernel, dtype, least):
    rng = np.random.default_rng(3)
    X, centers = rng.normal(size=(500, 5)).astype(dtype), rng.normal(size=(4, 5)).astype(dtype)
    codes, labels = rng.integers(2, size=500).astype(np.int32), rng.integers(4, size=500).astype(np.int32)
    sweep = unfilled_oracle(codes, 2, 4)
    enter, leave = rng.normal(size=(2, 2, 4))  # by cell
    enter[0, 2] = leave[1, 3] = np.inf  # may not be
    share, other = rng.uniform(0.9, 1.0, 4), rng.uniform(1.0, 1.1, 4)
    found = each_kernel.find_moves(sweep.plan, 0, X, centers, labels, enter, leave, share, other, least, 2)
    order, cells = sweep.layout.order, sweep.layout.cells
    costs = ((X[order].astype(float)[:, None] - centers.astype(float)) ** 2).sum(axis=2)
    every = np.arange(500)
    stay = costs[every, labels] * other[labels] - leave[cells, labels]
    go = costs * share + enter[cells]
    go[every, labels] = np.inf
    gain = stay - go.min(axis=1)
    assert set(found) >= set(np.flatnonzero(gain > least + 1e-4))
    assert set(found) <= set(np.flatnonzero(gain > least - 1e-4))


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
    sweep = sweep_of(q)
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
def test_sweep_laws_hold_for_every_instruction_set(isa):
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
