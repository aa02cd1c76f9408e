"""The oracle over blocks: what it answers is what the rows say, however they are cut."""

from __future__ import annotations

import numpy as np
import pytest

from fairclust.scaling import ArrayBlocks, InBlocks, StreamedKMeans, open_blocks

N_ROWS, N_CLUSTERS, N_CELLS = 600, 4, 3


@pytest.fixture(params=[False, True], ids=["equal", "weights"])
def rows(request):
    rng = np.random.default_rng(5)
    X, cells = rng.normal(size=(N_ROWS, 3)), rng.integers(N_CELLS, size=N_ROWS)
    weights = rng.uniform(0.5, 2.0, N_ROWS) if request.param else None
    return X, cells, weights


def oracle_over(rows, block_rows=130):
    X, cells, weights = rows
    columns = (X, cells) if weights is None else (X, cells, weights)
    blocks = [tuple(column[i : i + block_rows] for column in columns) for i in range(0, N_ROWS, block_rows)]
    data = open_blocks(ArrayBlocks(blocks), None, None, 1)

    class Cells:
        codes, n_cells = data.profiles.columns[0].astype(np.int32), N_CELLS

    oracle = InBlocks(data.with_cells(Cells), N_CLUSTERS)
    StreamedKMeans().fill(oracle, centers(rows))
    return oracle


def centers(rows):
    return rows[0][:N_CLUSTERS].copy()


def costs(rows):
    return ((rows[0][:, None] - centers(rows)) ** 2).sum(axis=2)


def prices():
    return np.random.default_rng(1).normal(size=(N_CLUSTERS, N_CELLS)) * 0.5


def weight(rows):
    return np.ones(N_ROWS) if rows[2] is None else rows[2]


def by_cell(rows, values):
    """Sums of the values of rows by cell, cells last."""
    return np.stack([(weight(rows)[:, None] * values)[rows[1] == c].sum(axis=0) for c in range(N_CELLS)], axis=-1)


@pytest.mark.parametrize("block_rows", [37, 130, N_ROWS])
@pytest.mark.parametrize("temperature", [0.0, 0.1, 2.0])
def test_an_evaluation_is_that_of_all_rows(rows, block_rows, temperature):
    found = oracle_over(rows, block_rows).evaluate(prices(), temperature)
    priced = costs(rows) + prices().T[rows[1]]
    least = priced.min(axis=1, keepdims=True)
    if temperature:
        shares = np.exp((least - priced) / temperature)
        value = least[:, 0] - temperature * np.log(shares.sum(axis=1))
        shares /= shares.sum(axis=1, keepdims=True)
    else:
        shares, value = (priced == least).astype(float), least[:, 0]
    assert found.value == pytest.approx(weight(rows) @ value, rel=1e-6)
    assert found.cost == pytest.approx(weight(rows) @ (shares * costs(rows)).sum(axis=1), rel=1e-6)
    np.testing.assert_allclose(found.masses, by_cell(rows, shares), atol=1e-4)
    if temperature:
        pairs = by_cell(rows, np.einsum("pk,pl->pkl", shares, shares).reshape(N_ROWS, -1))
        pairs = pairs.T.reshape(N_CELLS, N_CLUSTERS, N_CLUSTERS)
        hessian = (np.einsum("kc,kl->ckl", found.masses, np.eye(N_CLUSTERS)) - pairs) / temperature
        np.testing.assert_allclose(found.hessian, hessian, atol=0.01 * hessian.max())  # kernels leave faint shares out


@pytest.mark.parametrize("block_rows", [37, N_ROWS])
def test_labels_and_rows_that_moved_are_in_masses_cost_and_sums(rows, block_rows):
    oracle, a = oracle_over(rows, block_rows), costs(rows)
    found = oracle.assign(prices())
    labels = (a + prices().T[rows[1]]).argmin(axis=1)
    np.testing.assert_array_equal(oracle.user_labels(found.labels), labels)
    kinds = np.array([(0, 0, 1), (0, 0, 2), (1, 2, 0)])
    moves = oracle.cheapest_moves(found.labels, kinds, 5)
    for i, (cell, source, target) in enumerate(kinds):
        own = np.flatnonzero((labels == source) & (rows[1] == cell))
        extra = np.sort(a[own, target] - a[own, source])[:5]
        np.testing.assert_allclose(moves.extra[moves.kind == i], extra, atol=1e-5)
    moved, to = moves.row[moves.kind != 1], kinds[moves.kind[moves.kind != 1], 2]
    np.testing.assert_allclose(oracle.weights_of(moved), weight(rows)[moved])
    after = labels.copy()
    after[moved] = to
    assert_describe(oracle.moved(found.labels, moved, to), oracle, rows, after)
    again = oracle.moved(oracle.moved(found.labels, moved, to), moved[:1], np.array([3]))
    after[moved[0]] = 3
    assert_describe(again, oracle, rows, after)


def assert_describe(found, oracle, rows, labels):
    np.testing.assert_array_equal(oracle.user_labels(found), labels)
    own = labels[:, None] == np.arange(N_CLUSTERS)
    np.testing.assert_allclose(found.sizes, weight(rows) @ own)
    np.testing.assert_allclose(found.sums, (weight(rows)[:, None] * own).T @ rows[0], atol=1e-6)
    assert found.cost == pytest.approx(weight(rows) @ costs(rows)[np.arange(N_ROWS), labels], rel=1e-6)
    means = found.sums / found.sizes[:, None]
    value = weight(rows) @ ((rows[0] - means[labels]) ** 2).sum(axis=1)
    assert StreamedKMeans().fill(oracle, means, found) == pytest.approx(value, rel=1e-6)
    StreamedKMeans().fill(oracle, centers(rows))


@pytest.mark.parametrize("n_pool", [100, 1000])
def test_totals_of_a_sample_are_exact(rows, n_pool, monkeypatch):
    monkeypatch.setattr("fairclust.scaling.in_blocks._POOL", n_pool)
    monkeypatch.setattr("fairclust.scaling.in_blocks._RARE", 1)
    oracle = oracle_over(rows)
    sample = oracle.sample(StreamedKMeans(), 120)
    assert sample.rows.n_samples < N_ROWS
    np.testing.assert_allclose(sample.rows.cell_totals, oracle.cell_totals)
    sample.objective.fill(sample.rows, centers(rows))
    zero = np.zeros((N_CLUSTERS, N_CELLS))
    there, here = oracle.assign(zero).masses, sample.rows.assign(zero).masses
    np.testing.assert_allclose(here[:, (here > 0).all(axis=0)], there[:, (here > 0).all(axis=0)])
