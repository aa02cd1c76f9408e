"""Sums by label that follow the labels are the sums of these labels."""

from __future__ import annotations

import numpy as np
import pytest

from fairclust._objectives import KMeansObjective
from fairclust._sweep.layout import build_layout
from fairclust._sweep.memory import InMemorySweep


def problem(X, n_clusters):
    sweep = InMemorySweep(build_layout(np.zeros(len(X), dtype=np.int32), 1), n_clusters)
    return KMeansObjective(X), sweep


def means(X, sweep, labels, n_clusters):
    rows = X[sweep.layout.order]
    return np.array([rows[labels == k].mean(axis=0) for k in range(n_clusters)])


def test_means_follow_labels_that_change_a_little_and_all_at_once():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    objective, sweep = problem(X, 4)
    labels = rng.integers(4, size=1000).astype(np.int32)
    for step in range(60):
        changed = rng.choice(1000, 900 if step % 7 == 6 else 20, replace=False)
        labels = labels.copy()
        labels[changed] = rng.integers(4, size=len(changed))
        found = objective.parameters(sweep, labels, np.bincount(labels, minlength=4))
        np.testing.assert_allclose(found, means(X, sweep, labels, 4), rtol=0, atol=1e-14)


def test_labels_that_change_in_place_are_not_missed():
    X = np.arange(200.0)[:, None]
    objective, sweep = problem(X, 2)
    labels = np.repeat(np.array([0, 1], dtype=np.int32), 100)
    objective.parameters(sweep, labels, np.bincount(labels))
    labels[:5] = 1
    found = objective.parameters(sweep, labels, np.bincount(labels))
    np.testing.assert_allclose(found, means(X, sweep, labels, 2))


@pytest.mark.parametrize("far", [1e6, 1e12, 1e18, -1e18])
def test_rows_far_away_take_no_digits_with_them_when_they_leave(far):
    X = np.random.default_rng(1).normal(size=(500, 2))
    X[0] = far
    objective, sweep = problem(X, 2)
    stays = np.repeat(np.array([0, 1], dtype=np.int32), 250)
    leaves = np.where(sweep.layout.order == 0, 1, stays).astype(np.int32)
    for labels in (stays, leaves, stays, leaves):
        found = objective.parameters(sweep, labels, np.bincount(labels))
        np.testing.assert_allclose(found, means(X, sweep, labels, 2), rtol=1e-9)


def test_another_sweep_is_another_matter():
    X = np.arange(100.0)[:, None]
    objective, sweep = problem(X, 2)
    other = problem(X, 2)[1]
    labels = np.repeat(np.array([0, 1], dtype=np.int32), 50)
    first = objective.parameters(sweep, labels, np.bincount(labels))
    np.testing.assert_array_equal(objective.parameters(other, labels, np.bincount(labels)), first)
