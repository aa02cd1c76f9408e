"""Laws of tables: rows of numbers and categories cost what they cost in the one-hot matrix that they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import oracles
from cases import TABLES, table_rows
from internals import CodedKMeansObjective, KMeansObjective, excess_costs, unfilled_oracle


def sweep_of(n_rows, n_clusters=4, weighted=False, seed=0, n_threads=2):
    rng = np.random.default_rng(seed)
    cells = rng.integers(3, size=n_rows)
    weights = rng.uniform(0, 2, n_rows) if weighted else None
    return unfilled_oracle(cells, 3, n_clusters, weights, n_threads), rng.integers(n_clusters, size=n_rows).astype(
        np.int32
    )


def close(rows):
    return {"rtol": 1e-4, "atol": 1e-3} if rows.dtype == np.float32 else {"rtol": 1e-9, "atol": 1e-9}


def test_a_row_costs_what_it_costs_by_hand(each_kernel):
    rows = table_rows(2, seed=0, n_numbers=1, n_categories=(2,))
    rows.numbers[:] = [[1.0], [3.0]]
    rows.codes[:] = [[0], [1]]
    rows.units[:] = 2.0
    made = CodedKMeansObjective(rows)
    # In the matrix: (1, 2, 0) and (3, 0, 2); the centres are (0, 1, 1) and (3, 0, 2).
    costs = made.costs(np.array([[0.0, 1.0, 1.0], [3.0, 0.0, 2.0]]))
    np.testing.assert_allclose(costs, [[1 + 1 + 1, 4 + 4 + 4], [9 + 1 + 1, 0]], atol=1e-12)


@pytest.mark.parametrize("rows", TABLES)
def test_means_and_costs_are_those_of_the_matrix(each_kernel, rows):
    sweep, labels = sweep_of(len(rows), weighted=rows.n_numbers != 3 or rows.has_gaps)
    made, X = CodedKMeansObjective(rows), rows.matrix()
    w = np.ones(len(rows)) if sweep.weights is None else sweep.weights
    visited = X[sweep.layout.order]
    means = made.centers(sweep, labels, np.bincount(labels, weights=w, minlength=4), np.zeros((4, X.shape[1])))
    np.testing.assert_allclose(means, oracles.observed_means(visited, labels, 4, w), **close(rows))
    value = made.fill(sweep, means, labels)
    costs = oracles.observed_costs(visited, means)
    assert value == pytest.approx(w @ costs[np.arange(len(costs)), labels], rel=1e-5)
    assert sweep.base_cost == pytest.approx(w @ costs.min(axis=1), rel=1e-5)
    excess = excess_costs(sweep)
    np.testing.assert_allclose(excess, costs - costs.min(axis=1, keepdims=True), rtol=2e-4, atol=2e-3)


@pytest.mark.parametrize("rows", TABLES)
def test_soft_means_are_those_of_the_matrix(each_kernel, rows):
    sweep, labels = sweep_of(len(rows), weighted=True)
    made, prices, before = CodedKMeansObjective(rows), np.random.default_rng(1).normal(size=(4, 3)), zeros(rows)
    made.fill(sweep, made.centers(sweep, labels, np.ones(4), before))
    soft = sweep.soft_rows(prices, 3.0) * sweep.layout.to_user_order(sweep.weights)[:, None]
    wanted = [oracles.observed_means(rows.matrix(), np.zeros(len(rows), int), 1, soft[:, k])[0] for k in range(4)]
    found = made.soft_centers(sweep, prices, 3.0, soft.sum(axis=0), before)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def zeros(rows):
    return np.zeros((4, rows.matrix().shape[1]))


@pytest.mark.parametrize("rows", TABLES)
def test_costs_do_not_depend_on_the_number_of_threads(rows):
    answers = []
    for n_threads in (1, 2, 5):
        sweep, labels = sweep_of(len(rows), n_threads=n_threads)
        made = CodedKMeansObjective(rows)
        means = made.centers(sweep, labels, np.ones(4), zeros(rows))
        answers.append((means, made.fill(sweep, means, labels), sweep.excess.copy()))
    for other in answers[1:]:
        for mine, first in zip(other, answers[0], strict=True):
            np.testing.assert_array_equal(mine, first)


@pytest.mark.parametrize("rows", TABLES)
def test_sums_tell_what_moves_cost(each_kernel, rows):
    rows = rows.take(np.arange(80))
    sweep, labels = sweep_of(80)
    made = CodedKMeansObjective(rows)

    def value(these):
        return made.fill(sweep, made.centers(sweep, these, np.ones(4), zeros(rows)), these)

    def by_sums(these):
        sums, constant = made.sums(sweep, these)
        return constant + made.cost_of_sums(sums, np.bincount(these, minlength=4)).sum()

    sums = made.sums(sweep, labels).sums
    each = made.row_sums(sweep, np.arange(80))
    np.testing.assert_allclose(sums, [each[labels == k].sum(axis=0) for k in range(4)], rtol=1e-5, atol=1e-5)
    for row in range(0, 80, 7):
        moved = labels.copy()
        moved[row] = (labels[row] + 1) % 4
        assert by_sums(moved) == pytest.approx(value(moved), rel=1e-5)


def test_without_gaps_the_objective_is_kmeans(each_kernel):
    rows = table_rows(500, seed=3)
    sweep, labels = sweep_of(500)
    X, sizes = rows.matrix(), np.bincount(labels, minlength=4).astype(float)
    mine, matrix = CodedKMeansObjective(rows), KMeansObjective(X)
    means = mine.centers(sweep, labels, sizes, zeros(rows))
    np.testing.assert_allclose(means, matrix.centers(sweep, labels, sizes, zeros(rows)), atol=1e-12)
    assert mine.fill(sweep, means, labels) == pytest.approx(matrix.fill(sweep, means, labels), rel=1e-12)


@pytest.mark.parametrize(("dtype", "weighted"), [(np.float32, True), (np.float64, False)])
def test_sparse_rows_cost_and_sum_as_dense_ones(each_kernel, dtype, weighted):
    sweep, labels = sweep_of(400, n_clusters=11, weighted=weighted)
    X = sparse.random_array((400, 70), density=0.1, format="csr", dtype=dtype, random_state=np.random.default_rng(0))
    parts = X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data
    w = np.ones(400) if sweep.weights is None else sweep.weights
    visited = X.toarray()[sweep.layout.order].astype(float)
    sums = each_kernel.sparse_sums(sweep.plan, *parts, labels, sweep.weights, 11, 70, 2)
    np.testing.assert_allclose(sums, [(w * (labels == k)) @ visited for k in range(11)], atol=1e-5)
    centers = np.ascontiguousarray(sums / 40, dtype=dtype)
    squares = (X.toarray().astype(float) ** 2).sum(axis=1)
    cheapest, labelled = each_kernel.sparse_distances(
        sweep.plan, *parts, squares, centers, labels, sweep.weights, sweep.excess, 2
    )
    costs = oracles.point_costs(visited, centers)
    assert cheapest == pytest.approx(w @ costs.min(axis=1), rel=1e-5)
    assert labelled == pytest.approx(w @ costs[np.arange(400), labels], rel=1e-5)
    excess = excess_costs(sweep)
    np.testing.assert_allclose(excess, costs - costs.min(axis=1, keepdims=True), rtol=2e-4, atol=1e-4)
