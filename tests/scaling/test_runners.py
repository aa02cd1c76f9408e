"""The order in which blocks' answers are added: one tree, whoever holds the blocks and whoever answers first."""

from __future__ import annotations

from math import fsum

import numpy as np
import pytest

from fairclust.scaling.runners import TreeSum


def numbers(n):
    """Numbers whose sum depends on the order, and on the way they are bracketed."""
    rng = np.random.default_rng(n)
    return rng.normal(size=n) * 10.0 ** rng.integers(-8, 8, size=n)


def summed(values, order):
    found = TreeSum(len(values))
    for i in order:
        found.put(i, values[i])
    return found.value


class Bracketed(str):
    """Shows how a sum was made."""

    def __add__(self, other):
        return Bracketed(f"({self}{other})")


@pytest.mark.parametrize(
    ("n", "expected"),
    [(1, "0"), (2, "(01)"), (3, "((01)2)"), (5, "(((01)(23))4)"), (7, "(((01)(23))((45)6))")],
)
def test_neighbours_are_added_first(n, expected):
    assert summed([Bracketed(i) for i in range(n)], range(n)[::-1]) == expected


@pytest.mark.parametrize("n", [1, 2, 3, 8, 13, 64, 100, 1025])
def test_any_order_of_arrival_gives_the_same_bits(n):
    values, rng = numbers(n), np.random.default_rng(0)
    expected = summed(values, range(n))
    assert expected == pytest.approx(fsum(values), abs=1e-12 * np.abs(values).sum())
    assert all(summed(values, rng.permutation(n)) == expected for _ in range(5))


@pytest.mark.parametrize("n_workers", [1, 2, 3, 7])
def test_any_way_to_share_the_blocks_out_gives_the_same_bits(n_workers):
    values, rng = numbers(300), np.random.default_rng(1)
    holder, together = rng.integers(n_workers, size=300), TreeSum(300)
    for worker in rng.permutation(n_workers):
        own = TreeSum(300)
        for i in np.flatnonzero(holder == worker):
            own.put(i, values[i])
        together.merge(own.nodes)
    assert together.value == summed(values, range(300))


def test_neighbours_on_one_worker_become_a_few_sums():
    own = TreeSum(10_000)
    for i in range(5_000, 10_000):
        own.put(i, 1.0)
    assert len(own.nodes) <= 2 * 14
    assert sum(own.nodes.values()) == 5_000
