"""Point costs in memory: candidates for moves against the obvious, and labels that are moved where they are."""

from __future__ import annotations

import numpy as np

from fairclust._memory import in_own_pages
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
