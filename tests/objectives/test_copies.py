"""An objective knows its centres and labels by their values: whoever copies an array on the way changes nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cases import people
from fairclust import FairKMeans, FairKMedian
from fairclust._objectives.kmeans import KMeansObjective
from fairclust._objectives.kmedian import KMedianObjective
from fairclust.scaling import ArrayBlocks, StreamedSweep
from fairclust.scaling.objectives import StreamedKMeans, StreamedKMedian

DATA = people(n_samples=5000, n_clusters=4, seed=3)
BLOCKS = ArrayBlocks([(DATA.X[i : i + 700], DATA.groups[i : i + 700]) for i in range(0, 5000, 700)])


def copied(found):
    if isinstance(found, np.ndarray):
        return found.copy()
    if isinstance(found, tuple):
        return tuple(copied(one) for one in found)
    if hasattr(found, "positions"):  # a sample of streamed rows
        return replace(found, positions=found.positions.copy(), X=found.X.copy())
    return found


def everything_is_copied(monkeypatch):
    """Centres, samples and labels are passed on as copies."""
    for kind in (KMeansObjective, KMedianObjective, StreamedKMeans, StreamedKMedian, StreamedSweep):
        for name in ("parameters", "soft_parameters", "sampled"):
            if not hasattr(kind, name):
                continue
            original = getattr(kind, name)
            monkeypatch.setattr(kind, name, lambda *given, original=original: copied(original(*map(copied, given))))
    fill = KMedianObjective.fill
    monkeypatch.setattr(KMedianObjective, "fill", lambda self, sweep, *given: fill(self, sweep, *map(copied, given)))


@pytest.mark.parametrize("center", ["medoid", "geometric"])
@pytest.mark.parametrize("assignments", ["hard", "soft"])
def test_copies_change_no_fit_of_medians(monkeypatch, center, assignments):
    data = people(n_samples=300, n_clusters=3, seed=1)
    options = {"center": center, "assignments": assignments, "fairness_weight": 100.0, "random_state": 0}
    before = FairKMedian(3, **options).fit(data.X, sensitive_features=data.groups)
    everything_is_copied(monkeypatch)
    after = FairKMedian(3, **options).fit(data.X, sensitive_features=data.groups)
    np.testing.assert_array_equal(after.labels_, before.labels_)
    np.testing.assert_array_equal(after.energy_history_, before.energy_history_)


def test_medoids_are_known_by_the_values_of_centres_and_labels():
    data = people(n_samples=300, n_clusters=3, seed=1)
    problem, _, starts = FairKMedian(3, random_state=0)._problem(data.X, None, None)
    objective, sweep = problem.objective, problem.sweep
    objective.fill(sweep, starts[0])
    sizes = sweep.assign(np.zeros((3, 1))).masses.sum(axis=1)
    for _ in range(2):  # medoids of labels that stay as they are become exact
        found = objective.parameters(sweep, sweep.labels.copy(), sizes)
    n_distances = objective.effort.n_distances
    medoids = objective.medoids(sweep, sweep.labels.copy())
    assert medoids.is_exact
    assert objective.effort.n_distances == n_distances  # not searched for again
    objective.fill(sweep, found.copy())
    np.testing.assert_array_equal(objective.anchors(), medoids.positions)
    objective.fill(sweep, found + 1.0)
    assert objective.anchors() is None


@pytest.mark.parametrize("model", [FairKMeans(4), FairKMedian(4), FairKMedian(4, center="geometric")], ids=str)
def test_copies_change_no_fit_of_blocks(monkeypatch, model):
    model.set_params(fairness_weight=1000.0, random_state=0, n_init=2)
    before = model.fit(BLOCKS).labels_
    everything_is_copied(monkeypatch)
    np.testing.assert_array_equal(model.fit(BLOCKS).labels_, before)


def test_labels_of_blocks_are_priced_at_any_centres():
    model = FairKMedian(4, center="geometric", fairness_weight=0.0, random_state=0).fit(BLOCKS)
    problem, _, starts = model._problem(BLOCKS, None, None)
    problem.objective.fill(problem.sweep, starts[0])
    problem.sweep.assign(np.zeros((4, problem.sweep.n_cells)))
    labels = problem.sweep.last_labels()
    elsewhere = starts[0] + 0.5
    distances = np.linalg.norm(DATA.X - elsewhere[problem.sweep.user_labels(labels)], axis=1)
    assert problem.objective.fill(problem.sweep, elsewhere, labels) == pytest.approx(distances.sum())
