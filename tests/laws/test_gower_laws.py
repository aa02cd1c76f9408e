"""Gower's distance: by hand, against the obvious version, exact medoids, neighbours, and what gaps do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cases import TABLES, FairNCut, table_rows
from fairclust import FairKMedian, Features, Penalty, load, solvers
from fairclust._table.coded import GAP, CodedRows
from fairclust._table.features import GOWER, learn_features, read_table
from fairclust._table.gower import NO_NUMBER, best_place, distances, nearest, places, sums_to_each
from fairclust.errors import InvalidInputError
from internals import GowerObjective, unfilled_oracle


def in_gower(rows):
    """The same rows, scaled so that numbers are between 0 and their weight, with a neutral distance for gaps."""
    numbers = rows.numbers - np.nan_to_num(rows.numbers, nan=np.inf).min(axis=0, initial=np.inf)
    neutral = np.linspace(0.1, 0.4, rows.n_numbers + len(rows.units))
    return CodedRows(numbers, rows.codes, rows.n_categories, rows.units, rows.has_gaps, neutral)


def between(rows, p, centers, k):
    """The distance of one row to one place, written out."""
    total = 0.0
    for m in range(rows.n_numbers):
        is_gap = np.isnan(rows.numbers[p, m]) or centers[k, m] == NO_NUMBER
        total += rows.neutral[m] if is_gap else abs(float(rows.numbers[p, m]) - float(centers[k, m]))
    for q, n in enumerate(rows.n_categories):
        code, other = int(rows.codes[p, q]), int(centers[k, rows.n_numbers + q])
        is_gap = n + GAP in (code, other)
        total += rows.neutral[rows.n_numbers + q] if is_gap else rows.units[q] * (code != other)
    return total


def test_two_rows_are_as_far_apart_as_the_columns_say():
    frame = pd.DataFrame({"age": [20.0, 30.0, 60.0], "job": ["cook", "clerk", "cook"], "owner": [True, True, False]})
    rows = learn_features(read_table(frame), Features(), distance=GOWER).encode(read_table(frame))
    expected = np.array([[0.0, 1.25 / 3, 2 / 3], [1.25 / 3, 0.0, 2.75 / 3], [2 / 3, 2.75 / 3, 0.0]])
    np.testing.assert_allclose(distances(rows, places(rows)), expected)


def test_a_gap_counts_what_two_rows_differ_by_on_average():
    frame = pd.DataFrame({"age": [20.0, 30.0, 60.0, None], "job": ["cook", "clerk", None, "cook"]})
    rows = learn_features(read_table(frame), Features(missing="observed"), distance=GOWER).encode(read_table(frame))
    ages, jobs = np.array([20.0, 30.0, 60.0]), np.array([0, 1, 0])
    age = np.abs(ages[:, None] - ages).mean() / 40.0 / 2
    job = (jobs[:, None] != jobs).mean() / 2
    np.testing.assert_allclose(rows.neutral, [age, job])
    found = distances(rows, places(rows))
    assert found[3, 0] == pytest.approx(age)  # the same job; the age is not known
    assert found[2, 1] == pytest.approx(30 / 40 / 2 + job)
    assert np.allclose(found, found.T)


@pytest.mark.parametrize("rows", TABLES)
def test_distances_sums_and_places_are_the_obvious_ones(rows):
    rows = in_gower(rows.take(np.arange(60)))
    every = places(rows)
    expected = np.array([[between(rows, p, every, k) for k in range(60)] for p in range(60)])
    np.testing.assert_allclose(distances(rows, every), expected, atol=1e-5)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 60)
    sums = sums_to_each(rows, weights)
    np.testing.assert_allclose(sums, weights @ expected, rtol=1e-5)
    place = best_place(rows, weights, every[0])
    assert weights @ distances(rows, place[None])[:, 0] <= sums.min() * (1 + 1e-6)


@pytest.mark.parametrize("rows", TABLES)
def test_neighbours_are_the_nearest_rows(rows):
    rows = in_gower(rows)
    expected = distances(rows, places(rows)).astype(float)
    np.fill_diagonal(expected, np.inf)
    found = nearest(rows, 7, n_threads=2)
    assert not (found == np.arange(len(rows))[:, None]).any()
    mine = np.sort(np.take_along_axis(expected, found, axis=1), axis=1)
    np.testing.assert_allclose(mine, np.sort(expected, axis=1)[:, :7], atol=1e-5)


def test_medoids_are_exact_and_rows_of_weight_zero_are_none():
    rows = in_gower(table_rows(200, gaps=0.1))
    rng = np.random.default_rng(1)
    labels, weights = rng.integers(3, size=200).astype(np.int32), rng.integers(0, 3, 200).astype(float)
    sweep = unfilled_oracle(np.zeros(200), 1, 3, weights)
    found = GowerObjective(rows).medoids(sweep, labels)
    costs = distances(rows, places(rows))
    for k in range(3):
        own = np.flatnonzero((labels == k) & (weights > 0))
        sums = weights[own] @ costs[np.ix_(own, own)]
        assert found.positions[k] in own
        assert sums[np.flatnonzero(own == found.positions[k])[0]] == pytest.approx(sums.min())
    assert found.is_exact


def people(n_rows=150, gaps=0.0):
    rng = np.random.default_rng(0)
    cloud = rng.integers(3, size=n_rows)
    frame = pd.DataFrame(
        {
            "age": rng.normal(30 + 12 * cloud, 4.0),
            "job": np.array(["cook", "clerk", "nurse"])[(cloud + (rng.random(n_rows) < 0.1)) % 3],
            "owner": rng.random(n_rows) < 0.3 + 0.2 * cloud,
        }
    )
    if gaps:
        frame = frame.astype({"owner": object}).mask(rng.random(frame.shape) < gaps)
    return frame, np.where(rng.random(n_rows) < 0.3 + 0.15 * cloud, "F", "M")


@pytest.mark.parametrize(
    "settings",
    [
        {"goal": None},
        {"goal": Penalty(5.0), "solver": "bound"},
        {"goal": Penalty(5.0), "solver": solvers.BoundOptimization(soft=True)},
        {"goal": 0.01},
        {"goal": 0.02, "center": "geometric"},
    ],
    ids=str,
)
@pytest.mark.parametrize("gaps", [0.0, 0.15])
def test_energy_falls_and_goals_are_met_in_gowers_distance(settings, gaps):
    frame, groups = people(gaps=gaps)
    options = {"metric": "gower", "features": Features(missing="observed"), "random_state": 0}
    model = FairKMedian(3, **settings, **options).fit(frame, sensitive_features=groups)
    assert (np.diff(model.energy_history_) <= 1e-9 * abs(model.energy_)).all()
    assert model.goal_met_
    if model.center == "medoid":
        own = frame.iloc[model.medoid_indices_].reset_index(drop=True)
        pd.testing.assert_frame_equal(model.cluster_profiles_, own, check_dtype=False)


def test_a_fit_in_gowers_distance_predicts_and_is_kept_in_files(tmp_path):
    frame, _ = people(gaps=0.1)
    model = FairKMedian(3, metric="gower", features=Features(missing="observed"), goal=None, random_state=0).fit(frame)
    np.testing.assert_array_equal(model.predict(frame), model.labels_)
    assert model.transform(frame).min(axis=1).sum() == pytest.approx(model.objective_)
    model.save(tmp_path / "m.fairclust")
    np.testing.assert_array_equal(load(tmp_path / "m.fairclust").predict(frame), model.labels_)
    again = FairKMedian(
        3, metric="gower", features=Features(missing="observed"), goal=None, init=frame.iloc[model.medoid_indices_]
    ).fit(frame)
    assert again.objective_ <= model.objective_ * (1 + 1e-12)


@pytest.mark.skipif(FairNCut is None, reason="no FairNCut")
@pytest.mark.parametrize("init", ["spectral", "k-means++"])
def test_ncut_cuts_the_graph_of_gowers_neighbours(init):
    frame, groups = people(gaps=0.05)
    model = FairNCut(
        3, metric="gower", features=Features(missing="observed"), n_neighbors=10, init=init, random_state=0
    )
    model.fit(frame, sensitive_features=groups)
    assert model.goal_met_
    assert model.affinity_matrix_.shape == (150, 150)


@pytest.mark.parametrize("estimator", [e for e in (FairKMedian, FairNCut) if e is not None])
def test_words_and_gaps_point_to_gowers_distance(estimator):
    frame, groups = people()
    with pytest.raises(InvalidInputError, match="metric='gower'"):
        estimator(3).fit(frame, sensitive_features=groups)
    with pytest.raises(InvalidInputError, match="goes with metric='gower'"):
        estimator(3, features=Features(weights=[2.0, 1.0])).fit(
            np.eye(2).repeat(9, axis=0), sensitive_features=["a", "b"] * 9
        )
    with pytest.raises(InvalidInputError, match="missing='observed'"):
        estimator(3, metric="gower").fit(people(gaps=0.1)[0], sensitive_features=groups)
    with pytest.raises(InvalidInputError, match="metric"):
        estimator(3, metric="cosine").fit(frame, sensitive_features=groups)
