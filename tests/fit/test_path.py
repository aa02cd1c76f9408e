"""The trade-off: one call, a monotone curve, the same for any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from fairclust import FairKMeans, FairKMedian, datasets, fairness_path, metrics
from fairclust.errors import InvalidInputError


@pytest.fixture(scope="module")
def data():
    made = datasets.make_census_like(3000, random_state=3)
    return made.data, made.sensitive_features


@pytest.fixture(scope="module")
def path(data):
    X, groups = data
    return fairness_path(FairKMeans(4, random_state=0), X, sensitive_features=groups)


def test_two_blobs_per_group_go_from_unfair_to_fair():
    made = datasets.make_synthetic()
    X = datasets.standardize_and_normalize(made.data)
    path = fairness_path(FairKMeans(2, random_state=0), X, sensitive_features=made.sensitive_features)
    assert path.fairness_errors[0] > 1
    assert path.fairness_errors[-1] == pytest.approx(0.0, abs=1e-6)
    assert path.balances[-1] == 1.0


def test_errors_never_rise_and_objectives_never_fall_along_the_path(path):
    assert (np.diff(path.fairness_errors) <= 0).all()
    assert (np.diff(path.objectives) >= 0).all()


def test_scores_are_those_of_the_labels(path, data):
    X, groups = data
    for i in range(0, len(path), 5):
        assert path.objectives[i] == pytest.approx(metrics.kmeans_objective(X, path.labels[i]), rel=1e-5)
        assert path.fairness_errors[i] == pytest.approx(metrics.fairness_error(path.labels[i], groups))
        assert path.balances[i] == pytest.approx(metrics.balance(path.labels[i], groups))
        np.testing.assert_allclose(path.proportions[i], metrics.group_proportions(path.labels[i], groups))


def test_path_is_the_same_for_any_number_of_threads(path, data):
    X, groups = data
    again = fairness_path(FairKMeans(4, random_state=0), X, sensitive_features=groups, n_jobs=3)
    np.testing.assert_array_equal(again.labels, path.labels)
    np.testing.assert_array_equal(again.objectives, path.objectives)


def test_select_takes_the_smallest_weight_that_meets_the_level(path):
    level = float(path.max_fairness_errors[len(path) // 2])
    point = path.select(max_fairness_error=level)
    assert point.max_fairness_error <= level
    lighter = path.fairness_weights < point.fairness_weight
    assert (path.max_fairness_errors[lighter] > level).all()


def test_select_says_how_close_the_path_comes(path):
    with pytest.raises(InvalidInputError, match="met nowhere on this path: the fairest point is at"):
        path.select(max_fairness_error=0.0)


def test_given_weights_are_used_sorted_and_once(data):
    X, groups = data
    path = fairness_path(FairKMeans(3, random_state=0), X, sensitive_features=groups, fairness_weights=[500, 0, 50, 50])
    np.testing.assert_array_equal(path.fairness_weights, [0.0, 50.0, 500.0])


@pytest.mark.parametrize("weights", [[], [-1.0], [np.nan]])
def test_wrong_weights_are_refused(data, weights):
    X, groups = data
    with pytest.raises(InvalidInputError, match="one or more numbers ≥ 0 are needed"):
        fairness_path(FairKMeans(3), X, sensitive_features=groups, fairness_weights=weights)


def test_path_leaves_the_estimator_alone(data):
    X, groups = data
    model = FairKMeans(3, max_fairness_error=0.2, random_state=0)
    fairness_path(model, X, sensitive_features=groups, fairness_weights=[0.0, 10.0])
    assert model.get_params()["max_fairness_error"] == 0.2
    assert not hasattr(model, "labels_")


def test_path_of_medoids_is_monotone_too(data):
    X, groups = data
    path = fairness_path(
        FairKMedian(3, random_state=0), X[:800], sensitive_features=groups[:800], fairness_weights=[0, 5, 50, 500]
    )
    assert (np.diff(path.fairness_errors) <= 0).all()


def test_frame_and_html_have_a_row_per_weight(path):
    assert len(path.to_frame()) == len(path)
    assert path._repr_html_().count("<tr>") == len(path) + 1


def test_plot_names_its_axes(path):
    axes = path.plot()
    assert "fairness error" in axes.get_xlabel()
    assert axes.get_ylabel() == "clustering objective"


def test_a_path_is_printed_as_a_table_without_arrays(data, path):
    shown = f"FairnessPath(n_points={len(path)}, n_clusters=4, n_groups=2, n_samples=3000)"
    assert repr(path) == shown
    lines = str(path).splitlines()
    assert lines[0] == shown
    assert lines[1].split()[:2] == ["fairness", "weight"]
    assert len(lines) == 2 + len(path)
    assert "array" not in str(path)


def test_a_path_shows_its_explorer(data, path):
    pytest.importorskip("vl_convert")
    page = path.explore(*data, title="Mine")
    assert "<h1>Mine</h1>" in page.html
    assert page._repr_html_().startswith("<iframe")
