"""How many clusters: scores against scikit-learn's, the rule, and that nothing depends on threads or calls."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import calinski_harabasz_score, silhouette_score

from fairclust import FairKMeans, FairKMedian, FairNCut, Penalty, cluster_numbers
from fairclust._numbers.choice import choose
from fairclust._numbers.scores import calinski_harabasz, silhouettes
from fairclust.errors import InvalidInputError

WEIGHTED = FairKMeans(goal=Penalty(1.0), random_state=0)


def clouds(n_clouds=3, n_rows=240, seed=0, spread=0.25):
    """Clouds that are well apart; which group is common in a cloud depends on the cloud."""
    rng = np.random.default_rng(seed)
    cloud = np.arange(n_rows) % n_clouds
    centers = 4.0 * np.column_stack((np.cos(np.arange(n_clouds) * 2.4), np.sin(np.arange(n_clouds) * 2.4)))
    X = centers[cloud] + spread * rng.normal(size=(n_rows, 2))
    return X, np.where(rng.random(n_rows) < 0.45 + 0.1 * (cloud % 2), "F", "M")


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_scores_are_scikit_learns(make):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5)) * (rng.random((300, 5)) < 0.6)
    labellings = [rng.integers(k, size=300) for k in (2, 3, 8)] + [np.where(np.arange(300) == 7, 1, 0)]
    found = silhouettes(make(X), labellings)
    for labels, score in zip(labellings, found, strict=True):
        assert score == pytest.approx(silhouette_score(X, labels), abs=1e-5)
        assert calinski_harabasz(make(X), labels) == pytest.approx(calinski_harabasz_score(X, labels), rel=1e-9)
    assert np.isnan(silhouettes(make(X), [np.zeros(300, dtype=int)])).all()
    assert np.isnan(calinski_harabasz(make(X), np.zeros(300, dtype=int)))


def test_clouds_that_are_there_are_found_and_said_to_be_clear():
    X, groups = clouds()
    numbers = cluster_numbers(FairKMeans(random_state=0), X, [2, 3, 4], sensitive_features=groups, n_jobs=1)
    choice = numbers.select()
    assert choice.n_clusters == 3
    assert choice.is_clear
    assert "3 clusters: the highest silhouette" in choice.reason
    assert numbers.stabilities[1] > 0.95
    assert numbers.goals_met.all()
    assert (np.diff(numbers.plain_costs) < 0).all()
    assert numbers.cost_increases == pytest.approx(numbers.costs / numbers.plain_costs - 1)
    assert numbers.smallest_clusters[0] >= numbers.smallest_clusters[-1]
    assert numbers.n_scored == len(X)


def test_noise_is_not_said_to_have_a_clear_number():
    X = np.random.default_rng(0).normal(size=(300, 6))
    choice = cluster_numbers(FairKMeans(random_state=0), X, range(2, 6), n_jobs=1).select()
    assert not choice.is_clear
    assert "no clear number" in choice.reason


def test_no_result_depends_on_threads_or_calls():
    X, groups = clouds(4)
    one, two = (cluster_numbers(WEIGHTED, X, [2, 3, 4], sensitive_features=groups, n_jobs=n) for n in (1, 3))
    for name, values in one.columns().items():
        np.testing.assert_array_equal(values, two.columns()[name])


def test_without_groups_there_is_one_price():
    X, _ = clouds()
    numbers = cluster_numbers(FairKMeans(random_state=0), X, [2, 3], n_jobs=1)
    assert not numbers.has_groups
    np.testing.assert_array_equal(numbers.costs, numbers.plain_costs)
    assert np.isnan(numbers.max_fairness_errors).all()


@pytest.mark.parametrize("estimator", [FairKMeans, FairKMedian, FairNCut])
def test_every_estimator_can_be_asked(estimator, capsys):
    X, groups = clouds(3, 90)
    numbers = cluster_numbers(
        estimator(random_state=0, goal=Penalty(1.0)), X, [2, 3], sensitive_features=groups, n_jobs=1, verbose=1
    )
    assert np.isfinite(numbers.silhouettes).all()
    assert capsys.readouterr().out.splitlines()[0] == "2 clusters without the goal"
    assert numbers.to_frame().shape == (2, 12)


def test_a_graph_has_no_silhouette():
    X, groups = clouds(3, 90)
    W = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    numbers = cluster_numbers(
        FairNCut(affinity="precomputed", goal=Penalty(0.1), random_state=0), W, [2, 3], sensitive_features=groups
    )
    assert np.isnan(numbers.silhouettes).all()
    assert np.isfinite(numbers.stabilities).all()


def test_tables_with_named_groups_can_be_asked():
    X, groups = clouds(3, 150)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(job=np.array(["x", "y", "z"])[np.arange(150) % 3], sex=groups)
    numbers = cluster_numbers(WEIGHTED, frame, [2, 3, 4], sensitive_features="sex", n_jobs=1)
    assert numbers.select().n_clusters == 3


def test_the_rule_leaves_aside_what_is_too_small_and_names_what_is_as_good():
    numbers = np.array([2, 3, 4, 5])
    choice = choose(numbers, np.array([0.5, 0.7, 0.69, 0.9]), np.array([0.9, 0.9, 0.9, 0.2]), np.array([9, 5, 5, 1]), 2)
    assert choice.n_clusters == 3
    assert choice.also_possible == (4,)
    assert not choice.is_clear
    assert "fewer than 2 rows: 5" in choice.reason
    unstable = choose(numbers, np.full(4, 0.3), np.full(4, 0.1), np.full(4, 9), 0)
    assert "None of them has clusters that come back" in unstable.reason


def test_the_plot_has_a_line_for_each_fit():
    plt = pytest.importorskip("matplotlib.pyplot")
    X, groups = clouds(3, 90)
    axes = cluster_numbers(WEIGHTED, X, [2, 3], sensitive_features=groups, n_jobs=1).plot()
    assert len(axes[0].lines) == 3
    plt.close("all")


@pytest.mark.parametrize(
    ("n_clusters", "match"),
    [([], "n_clusters is empty"), ([0], "n_clusters=0"), ([500], "n_clusters=500 but X has 240")],
)
def test_numbers_that_cannot_be_are_refused(n_clusters, match):
    X, groups = clouds()
    with pytest.raises(InvalidInputError, match=match):
        cluster_numbers(FairKMeans(), X, n_clusters, sensitive_features=groups)
