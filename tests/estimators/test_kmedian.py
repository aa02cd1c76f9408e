"""FairKMedian: medoids that are medoids, an energy that falls, and what the rest of the contract asks."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from cases import SOLVER_NAMES, people
from fairclust import FairKMedian, Penalty, datasets, metrics
from fairclust.errors import InvalidInputError
from fairclust.solvers import BoundOptimization
from internals import few_distances

VARIANTS = [(center, metric) for center in ("medoid", "geometric") for metric in ("euclidean", "manhattan")]


def best_rows(X, labels, metric="euclidean"):
    """Brute force: the first best row of each cluster."""
    rows = [np.flatnonzero(labels == k) for k in range(labels.max() + 1)]
    name = "euclidean" if metric == "euclidean" else "cityblock"
    return np.array([r[cdist(X[r], X[r], name).sum(axis=1).argmin()] for r in rows])


def test_two_pairs_are_found_by_hand():
    X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [13.0]])
    model = FairKMedian(2, goal=None, init=np.array([[0.0], [13.0]])).fit(X)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    assert model.medoid_indices_.tolist() == [1, 4]
    assert model.cluster_centers_.tolist() == [[1.0], [11.0]]
    assert model.objective_ == 1 + 1 + 1 + 2
    assert model.medoid_search_ == "exact"


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize("solver", SOLVER_NAMES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_medoids_are_the_best_rows_of_the_final_clusters(metric, solver, dtype):
    data = people(900, n_clusters=4, n_groups=3, dtype=dtype)
    model = FairKMedian(4, metric=metric, solver=solver, goal=Penalty(data.weight), init=data.init)
    model.fit(data.X, sensitive_features=data.groups)
    np.testing.assert_array_equal(data.X[model.medoid_indices_], model.cluster_centers_)
    np.testing.assert_array_equal(model.labels_[model.medoid_indices_], np.arange(4))
    best = best_rows(data.X.astype(float), model.labels_, metric)
    np.testing.assert_array_equal(data.X[best], model.cluster_centers_)
    assert model.objective_ == pytest.approx(metrics.kmedian_objective(data.X, model.labels_, metric), rel=1e-5)
    assert model.n_distance_evaluations_ > 0


@pytest.mark.parametrize(("center", "metric"), VARIANTS)
@pytest.mark.parametrize("solver", [*SOLVER_NAMES, BoundOptimization(soft=True)], ids=["dual", "bound", "soft"])
def test_energy_falls_at_every_step(center, metric, solver):
    data = people(500, n_clusters=4, n_groups=3, seed=7)
    model = FairKMedian(
        4, center=center, metric=metric, solver=solver, goal=Penalty(data.weight),
        init=data.init,
    ).fit(data.X, sensitive_features=data.groups)  # fmt: skip
    assert (np.diff(model.energy_history_) < 0).all()
    assert model.energy_history_[-1] == model.energy_
    if not isinstance(solver, BoundOptimization):
        expected = model.objective_ + model.fairness_weight_ * model.fairness_error_
        assert model.energy_ == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("center", "metric"), VARIANTS)
def test_a_larger_weight_makes_fairer_clusters(center, metric):
    data = people(600, n_clusters=4, n_groups=2, seed=3)
    errors = []
    for weight in (100.0, 1000.0, 3000.0):
        model = FairKMedian(4, center=center, metric=metric, goal=Penalty(weight), init=data.init)
        errors.append(model.fit(data.X, sensitive_features=data.groups).fairness_error_)
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.1 * errors[0]


def test_geometric_medians_cost_no_more_than_medoids():
    data = people(800, n_clusters=4)
    fits = [
        FairKMedian(4, center=center, goal=Penalty(data.weight), init=data.init).fit(
            data.X, sensitive_features=data.groups
        )
        for center in ("geometric", "medoid")
    ]
    assert fits[0].energy_ <= fits[1].energy_
    assert not hasattr(fits[0], "medoid_indices_")


@pytest.mark.parametrize(("center", "metric"), VARIANTS)
def test_labels_are_bit_identical_for_1_2_and_4_threads(center, metric):
    data = people(5000, n_clusters=5, n_groups=3, dtype=np.float32)
    fits = [
        FairKMedian(5, center=center, metric=metric, goal=Penalty(data.weight), random_state=0, n_jobs=n_jobs).fit(
            data.X, sensitive_features=data.groups
        )
        for n_jobs in (1, 2, 4)
    ]
    for other in fits[1:]:
        np.testing.assert_array_equal(fits[0].labels_, other.labels_)
        np.testing.assert_array_equal(fits[0].cluster_centers_, other.cluster_centers_)
        assert fits[0].energy_ == other.energy_


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_transform_and_score_use_the_metric(metric):
    data = people(300)
    model = FairKMedian(4, metric=metric, goal=None, init=data.init).fit(data.X)
    name = "euclidean" if metric == "euclidean" else "cityblock"
    distances = cdist(data.X, model.cluster_centers_, name)
    np.testing.assert_allclose(model.transform(data.X), distances, atol=1e-6)
    assert model.score(data.X) == pytest.approx(-distances.min(axis=1).sum())
    assert model.score(data.X, sample_weight=np.full(300, 2.0)) == pytest.approx(2 * model.score(data.X))
    np.testing.assert_array_equal(model.predict(data.X), distances.argmin(axis=1))


def test_a_row_of_weight_zero_is_no_medoid():
    X = np.array([[0.0], [1.0], [1.1], [2.0], [50.0], [51.0], [52.0]])
    weights = np.array([1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    model = FairKMedian(2, goal=None, init=X[[0, 4]]).fit(X, sample_weight=weights)
    assert model.medoid_indices_.tolist() == [1, 5]


def test_a_search_that_gives_way_says_so():
    data = people(4000, n_clusters=2, n_features=6)
    with few_distances(per_point=20):
        model = FairKMedian(2, goal=Penalty(100), init=data.init[:2]).fit(data.X, sensitive_features=data.groups)
    assert model.medoid_search_.startswith("approximate: the objective is at most ")
    percent = float(model.medoid_search_.split("at most ")[1].split(" %")[0])
    best = metrics.kmedian_objective(data.X, model.labels_)
    assert best <= model.objective_ * (1 + 1e-12)
    assert model.objective_ <= best * (1 + 1.05 * percent / 100)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"metric": "cosine"}, "metric='cosine', but 'euclidean' or 'manhattan' or 'gower' is needed"),
        ({"center": "mean"}, "center='mean', but 'medoid' or 'geometric' is needed"),
    ],
)
def test_an_unknown_setting_is_named(setting, message):
    with pytest.raises(InvalidInputError, match=message):
        FairKMedian(2, **setting).fit(np.arange(10.0)[:, None])


def test_the_goal_is_reached():
    data = people(1500, n_clusters=4, n_groups=2, seed=4)
    model = FairKMedian(4, goal=0.005, random_state=0).fit(data.X, sensitive_features=data.groups)
    assert model.goal_met_
    assert model.max_fairness_error_ <= 0.005
    np.testing.assert_array_equal(data.X[model.medoid_indices_], model.cluster_centers_)


# --- the authors' figures ---------------------------------------------------------------------------------------------

# Objective and Σ KL of the authors' code at λ=9000 from common seeds 0, 1, 2.
AUTHORS = {
    "adult": [(18285.31, 0.0076), (17482.15, 0.0088), (17729.23, 0.0085)],
    "bank": [(20033.20, 0.0384), (20017.52, 0.0424), (20502.37, 0.0353)],
}


def common_start(name, seed):
    folder = os.environ.get("FAIRCLUST_SEEDS") or Path(os.environ.get("FAIRCLUST_DATA", ".")).parent / "figures/seeds"
    file = Path(folder) / f"{name}_seed{seed}.npz"
    if not file.exists():
        pytest.skip(f"{file.name} is not here")
    return np.load(file)["C_init"]


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("adult", 0),
        *(pytest.param("adult", seed, marks=pytest.mark.slow) for seed in (1, 2)),
        *(pytest.param("bank", seed, marks=pytest.mark.slow) for seed in (0, 1, 2)),
    ],
)
def test_energy_from_common_starts_is_below_the_authors_code(name, seed):
    start = common_start(name, seed)
    data = (datasets.fetch_adult if name == "adult" else datasets.fetch_bank)(download=False)
    X = np.ascontiguousarray(data.data)
    model = FairKMedian(10, goal=Penalty(9000), init=start).fit(X, sensitive_features=data.sensitive_features)
    objective, error = AUTHORS[name][seed]
    assert model.energy_ <= objective + 9000 * error
    assert (np.diff(model.energy_history_) < 0).all()
    np.testing.assert_array_equal(X[best_rows(X, model.labels_)], model.cluster_centers_)
