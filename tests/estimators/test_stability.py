"""How sure clusters are: what stays over seeds and samples."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cases import ESTIMATORS, people
from fairclust import FairKMeans, NoGroupsWarning, Penalty, stability


def islands(n_people=200):
    rng = np.random.default_rng(0)
    middles = np.array([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0]])
    X = np.concatenate([rng.normal(middle, 1.0, size=(n_people, 2)) for middle in middles])
    return X, rng.choice(["a", "b"], len(X))


def test_islands_stay_and_nobody_is_on_a_border():
    X, groups = islands()
    model = FairKMeans(3, goal=Penalty(1e-3), n_init=5, random_state=0).fit(X, sensitive_features=groups)
    found = stability(model, X, sensitive_features=groups, n_runs=3)
    assert found.kinds.tolist() == ["seed"] * 3 + ["bootstrap"] * 3
    assert found.kept_pairs == pytest.approx(np.ones(3))
    assert not found.on_border.any()
    assert found.objectives[:3] == pytest.approx(np.full(3, model.objective_))


def test_one_cloud_cut_in_four_has_borders():
    rng = np.random.default_rng(1)
    X, groups = rng.normal(size=(600, 2)), rng.choice(["a", "b"], 600)
    model = FairKMeans(4, goal=Penalty(1e-3), random_state=0).fit(X, sensitive_features=groups)
    found = stability(model, X, sensitive_features={"group": groups}, n_runs=4)
    assert 0 < found.on_border.mean() < 1
    assert found.kept_pairs.max() < 1
    assert (found.lowest_shares <= model.proportions_ + 1e-12).all()
    assert (found.highest_shares >= model.proportions_ - 1e-12).all()
    assert found.border_shares @ model.cluster_sizes_ == pytest.approx(found.on_border.sum())
    json.dumps(found.to_dict(), allow_nan=False)
    assert "people" in str(found)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_estimator_can_be_asked(estimator):
    data = people(240, n_clusters=3, n_groups=2, seed=2)
    model = estimator(3, goal=Penalty(5.0), random_state=0).fit(data.X, sensitive_features=data.groups)
    found = stability(model, data.X, sensitive_features=data.groups, n_runs=1)
    assert len(found.kinds) == (2 if hasattr(model, "predict") else 1)


# --- in a notebook ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_fitted_estimator_shows_its_clusters_beside_the_diagram(estimator):
    data = people(240, n_clusters=3, n_groups=2, seed=2)
    model = estimator(3, goal=Penalty(5.0), random_state=0)
    before = model._repr_html_()
    shown = model.fit(data.X, sensitive_features=np.where(data.groups == "g0", "<b>", "g1"))._repr_html_()
    assert "fairclust-fit" not in before
    assert "sk-" in shown
    assert f"{100 * model.proportions_[1, 0]:.1f} %" in shown
    assert "&lt;b&gt;" in shown
    assert "fairclust-fit" in model._repr_mimebundle_()["text/html"]


def test_without_groups_the_notebook_shows_no_perfect_score():
    data = people(240, n_clusters=3, n_groups=2, seed=2)
    with pytest.warns(NoGroupsWarning):
        model = FairKMeans(3, goal=0.05, random_state=0).fit(data.X)
    assert "3 clusters without groups" in model._repr_html_()
    assert "goal is met" not in model._repr_html_()
