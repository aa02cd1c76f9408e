"""The layout: every row is visited once, blocks and chunks lie within one group, nothing depends on chance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from internals import TILE, every_nth_of_each, make_layout


def test_five_rows_of_two_groups_are_laid_out_as_by_hand():
    layout = make_layout(np.array([1, 0, 1, 0, 0]), 2)
    assert layout.order.tolist() == [1, 3, 4, 0, 2]
    assert layout.start.tolist() == [0, 3]
    assert layout.size.tolist() == [3, 2]
    assert layout.chunk.tolist() == [0, 1, 2]
    assert layout.chunk_cell.tolist() == [0, 1]
    assert layout.cells.tolist() == [0, 0, 0, 1, 1]


@pytest.mark.parametrize(
    ("n_rows", "n_cells"),
    [(1, 2), (63, 7), (64, 1), (65, 300), (8191, 1), (8192, 2), (8193, 7), (30_000, 300), (30_000, 1)],
)
def test_every_row_is_visited_once_in_blocks_of_its_own_group(n_rows, n_cells):
    codes = np.random.default_rng(n_rows).integers(n_cells, size=n_rows).astype(np.int32)
    layout = make_layout(codes, n_cells)
    assert sorted(layout.order.tolist()) == list(range(n_rows))
    assert layout.n_samples == n_rows
    assert np.array_equal(layout.cells, codes[layout.order])
    assert layout.size.min() >= 1
    assert layout.size.max() <= TILE
    assert np.array_equal(layout.start, np.concatenate(([0], np.cumsum(layout.size)[:-1])))
    assert layout.n_tiles == len(layout.size)
    for begin, end, cell in zip(layout.chunk[:-1], layout.chunk[1:], layout.chunk_cell, strict=True):
        rows = slice(layout.start[begin], layout.start[end - 1] + layout.size[end - 1])
        assert set(codes[layout.order[rows]]) == {cell}
        assert (layout.size[begin : end - 1] == TILE).all()  # only a chunk's last tile may be short


def test_a_group_without_points_gets_no_chunk():
    layout = make_layout(np.array([2, 2, 0]), 4)
    assert layout.chunk_cell.tolist() == [0, 2]
    assert layout.n_cells == 4


@given(st.lists(st.integers(0, 4), min_size=1, max_size=200))
def test_there_and_back_is_the_same_array(codes):
    layout = make_layout(np.array(codes), 5)
    values = np.arange(2 * len(codes)).reshape(-1, 2)
    assert np.array_equal(layout.to_user_order(layout.to_visiting_order(values)), values)


@pytest.mark.parametrize(
    ("n_rows", "steps"), [(1, (5000, 2, 64)), (500, (1, 1, 1)), (30_000, (7, 1, 3)), (30_000, (5000, 2, 64))]
)
def test_a_sample_of_the_layout_is_that_of_the_rows(n_rows, steps):
    codes = np.random.default_rng(n_rows).choice(3, p=[0.6, 0.39, 0.01], size=n_rows)
    layout = make_layout(codes, 3)
    positions, cells = layout.every_nth(np.array(steps))
    rows = layout.order[positions]
    np.testing.assert_array_equal(rows, every_nth_of_each(codes, np.array(steps)))
    np.testing.assert_array_equal(cells, codes[rows])
