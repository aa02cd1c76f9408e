"""Point costs in memory: candidates for moves against the obvious, and labels that are moved where they are."""

from __future__ import annotations

import numpy as np
import pytest

from fairclust._core import kernels
from fairclust._memory import in_own_pages, on_lines
from fairclust._objectives import KMeansObjective
from fairclust._sweep.layout import build_layout
from fairclust._sweep.memory import InMemorySweep


def filled(n_samples: int = 40_000, n_clusters: int = 4) -> tuple[InMemorySweep, np.ndarray]:
    rng = np.random.default_rng(0)
    sweep = InMemorySweep(build_layout(rng.integers(2, size=n_samples), 2), n_clusters)
    costs = rng.random((n_samples, n_clusters))
    sweep.hold(costs)
    sweep.assign(np.zeros((n_clusters, 2)))
    return sweep, costs


def test_candidates_are_the_cheapest_of_their_kind():
    sweep, costs = filled()
    labels, kinds = sweep.last_labels(), np.array([[1, 2, 0], [0, 3, 1], [1, 2, 3]])
    found = sweep.candidates(labels, kinds, 5)
    for i, (cell, source, destination) in enumerate(kinds):
        own = np.flatnonzero((labels == source) & (sweep.layout.cells == cell))
        extra = costs[own, destination] - costs[own, source]
        assert set(found.position[found.kind == i]) == set(own[np.argsort(extra)[:5]])


def test_moved_points_take_no_second_array_of_labels():
    sweep, _ = filled()
    labels = sweep.last_labels()
    assert sweep.move_points(labels, {7: 3, 11: 0}) is labels
    assert labels[[7, 11]].tolist() == [3, 0]


def test_large_arrays_in_pages_of_their_own_are_zeros_to_write_to():
    for length in (10, 1 << 20):
        array = in_own_pages(length, np.int32)
        assert array.shape == (length,)
        assert not array.any()
        array[-1] = 5
        assert array[-1] == 5


@pytest.mark.parametrize("shape", [1, 5, 64, (3, 7), (2, 10, 64)])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.float64])
@pytest.mark.parametrize("make", [on_lines, in_own_pages])
def test_room_begins_at_a_cache_line_and_is_empty(make, shape, dtype):
    made = make(shape, dtype)
    assert made.dtype == dtype
    assert made.shape == (shape if isinstance(shape, tuple) else (shape,))
    assert made.flags.c_contiguous
    assert made.flags.writeable
    assert made.ctypes.data % 64 == 0
    assert not made.any()


def test_costs_that_are_there_are_not_filled_again(monkeypatch):
    rng = np.random.default_rng(0)
    X, centers, labels = rng.normal(size=(300, 3)), rng.normal(size=(2, 3)), np.zeros(300, dtype=np.int32)
    sweep = InMemorySweep(build_layout(rng.integers(2, size=300), 2), 2)
    one, other, filled = KMeansObjective(X), KMeansObjective(X), []
    fill = kernels.distances
    monkeypatch.setattr(kernels, "distances", lambda *args: filled.append(args) or fill(*args))
    one.fill(sweep, centers)
    before = sweep.excess.copy()
    one.fill(sweep, centers)
    assert len(filled) == 1
    np.testing.assert_array_equal(sweep.excess, before)
    for again in (
        lambda: one.fill(sweep, centers, labels),  # somebody wants to know what the labels cost
        lambda: one.fill(sweep, centers.copy()),
        lambda: other.fill(sweep, centers),
        lambda: (sweep.forget(), other.fill(sweep, centers)),
        lambda: (sweep.hold(np.ones((300, 2))), other.fill(sweep, centers)),
    ):
        count = len(filled)
        again()
        assert len(filled) == count + 1
        np.testing.assert_array_equal(sweep.excess, before)
