"""The trade-off: one call, a monotone curve, the same for any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from fairclust import FairKMeans, FairKMedian, MaxCostIncrease, MinBalance, Penalty, datasets, fairness_path, metrics
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


def test_select_takes_the_smallest_penalty_that_meets_the_level(path):
    level = float(path.max_fairness_errors[len(path) // 2])
    point = path.select(goal=level)
    assert point.max_fairness_error <= level
    lighter = np.array([goal.weight for goal in path.goals]) < point.goal.weight
    assert (path.max_fairness_errors[lighter] > level).all()


def test_select_takes_the_cheapest_that_meets_any_goal(path):
    point = path.select(goal=MinBalance(0.6))
    assert point.balance >= 0.6
    assert point.objective == path.objectives[path.balances >= 0.6].min()
    within = path.select(goal=MaxCostIncrease(0.01))
    assert within.objective <= 1.01 * path.objectives[0]
    assert within.fairness_error == path.fairness_errors[path.objectives <= 1.01 * path.objectives[0]].min()


@pytest.mark.parametrize("goal", [None, Penalty(3.0)])
def test_select_refuses_what_no_point_can_meet_or_miss(path, goal):
    with pytest.raises(InvalidInputError, match="is nothing that a point meets or misses"):
        path.select(goal=goal)


def test_select_says_how_close_the_path_comes(path):
    with pytest.raises(InvalidInputError, match=r"met nowhere on this path\. Where it is nearest to it, .* cluster 0"):
        path.select(goal=MinBalance(1.0))


@pytest.mark.parametrize(
    ("given", "followed"),
    [
        ([Penalty(500), None, Penalty(50), Penalty(50.0)], (None, Penalty(50), Penalty(500))),
        ([MinBalance(0.9), MinBalance(0.5), 0.1], None),
    ],
)
def test_given_goals_are_followed_from_the_loosest_and_once(data, given, followed):
    X, groups = data
    path = fairness_path(FairKMeans(3, random_state=0), X, sensitive_features=groups, goals=given)
    assert followed is None or path.goals == followed
    assert len(path) == 3
    assert path.goals_met.all()
    assert (np.diff(path.objectives) >= 0).all()


@pytest.mark.parametrize("goals", [[], 0.1, "all"])
def test_what_is_no_list_of_goals_is_refused(data, goals):
    X, groups = data
    with pytest.raises(InvalidInputError, match="a list of one or more goals or numbers is needed"):
        fairness_path(FairKMeans(3), X, sensitive_features=groups, goals=goals)


def test_a_path_needs_groups(data):
    with pytest.raises(InvalidInputError, match="fairness_path needs sensitive_features"):
        fairness_path(FairKMeans(3), data[0], sensitive_features=None)


def test_every_goal_of_a_path_is_met_at_the_least_cost_found(data):
    X, groups = data
    model = FairKMeans(4, random_state=0)
    path = fairness_path(model, X, sensitive_features=groups, goals=[0.1, 0.01, 0.001])
    assert path.goals_met.all()
    for i, limit in enumerate([0.1, 0.01, 0.001]):
        assert path.max_fairness_errors[i] <= limit * (1 + 1e-9)
        alone = model.set_params(goal=limit).fit(X, sensitive_features=groups)
        assert path.objectives[i] <= 1.01 * alone.objective_


def test_path_leaves_the_estimator_alone(data):
    X, groups = data
    model = FairKMeans(3, goal=0.2, random_state=0)
    fairness_path(model, X, sensitive_features=groups, goals=[0.1])
    assert model.get_params()["goal"] == 0.2
    assert not hasattr(model, "labels_")


def test_path_of_medoids_is_monotone_too(data):
    X, groups = data
    goals = [Penalty(weight) for weight in (0, 5, 50, 500)]
    path = fairness_path(FairKMedian(3, random_state=0), X[:800], sensitive_features=groups[:800], goals=goals)
    assert (np.diff(path.fairness_errors) <= 0).all()


def test_frame_and_html_have_a_row_per_goal(path):
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
    assert lines[1].split()[:2] == ["goal", "objective"]
    assert len(lines) == 2 + len(path)
    assert "array" not in str(path)


def test_a_path_shows_its_explorer(data, path, tmp_path):
    pytest.importorskip("vl_convert")
    X, groups = data
    page = path.explore(tmp_path / "path.html", X=X, sensitive_features=groups, title="Mine")
    assert "<h1>Mine</h1>" in (tmp_path / "path.html").read_text(encoding="utf-8")
    assert page._repr_html_().startswith("<iframe")
