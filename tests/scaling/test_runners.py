"""The order in which blocks' answers are added: one tree."""

from __future__ import annotations

from math import fsum

import numpy as np
import pytest

from fairclust.scaling.runners import tree_sum


class Bracketed(str):
    """Shows how a sum was made."""

    def __add__(self, other):
        return Bracketed(f"({self}{other})")


@pytest.mark.parametrize(
    ("n", "expected"),
    [(1, "0"), (2, "(01)"), (3, "((01)2)"), (5, "(((01)(23))4)"), (7, "(((01)(23))((45)6))")],
)
def test_neighbours_are_added_first(n, expected):
    assert tree_sum(map(Bracketed, range(n))) == expected


def test_rounding_errors_are_smaller_than_those_of_a_running_sum():
    values = np.full(100_000, 0.1)
    exact = fsum(values)
    assert abs(tree_sum(values) - exact) < 0.01 * abs(sum(values) - exact)
