"""Samples stand for all: a rare cell is kept whole, and weighs what it weighs in the data."""

from __future__ import annotations

import numpy as np
import pytest

from internals import sampled_weights, sampling_steps


@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weights"])
def test_every_cell_weighs_in_the_sample_what_it_weighs_in_the_data(weighted):
    rng = np.random.default_rng(0)
    cells = np.sort(rng.choice(3, 20_000, p=[0.7, 0.298, 0.002]))
    weights = rng.uniform(0.5, 2.0, len(cells)) if weighted else None
    steps = sampling_steps(np.bincount(cells), n_clusters=4, step=16)
    assert steps[0] == 16
    assert steps[2] == 1  # forty people: all of them
    rows = np.concatenate([np.flatnonzero(cells == j)[:: steps[j]] for j in range(3)])
    own = None if weights is None else weights[rows]
    masses = np.bincount(cells, weights=weights, minlength=3)
    found = sampled_weights(steps, 16, cells[rows], own, masses, len(cells))
    shares = np.bincount(cells[rows], weights=found, minlength=3)
    np.testing.assert_allclose(shares / shares.sum(), masses / masses.sum())


def test_a_sample_without_rare_cells_needs_no_weights():
    steps = np.array([16, 16])
    assert sampled_weights(steps, 16, np.array([0, 1]), None, np.array([16.0, 16.0]), 32) is None
