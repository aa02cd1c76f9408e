"""A goal of a user's own, written outside of the package, works wherever ``goal=`` does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from cases import PROTOTYPE_ESTIMATORS, people
from fairclust import FairKMeans, FairnessGoalMissed
from fairclust.goals import GOALS, read_goal
from total_variation import MaxVariation

DATA = people(600, n_clusters=3, n_groups=3, seed=7)
SEX = np.where(DATA.X[:, 0] + np.random.default_rng(0).normal(size=600) > 0, "F", "M")


def variation(labels, groups):
    """Largest total variation distance of a cluster's shares from the data's."""
    target = pd.Series(groups).value_counts(normalize=True).sort_index()
    shares = [pd.Series(groups[labels == k]).value_counts(normalize=True) for k in np.unique(labels)]
    return max(float(abs(own.reindex(target.index, fill_value=0.0) - target).sum()) / 2 for own in shares)


@pytest.mark.parametrize("options", [{}, {"cluster_sizes": "equal"}, {"max_cluster_size": 0.4}], ids=str)
@pytest.mark.parametrize("estimator", PROTOTYPE_ESTIMATORS)
def test_it_is_met_with_and_without_sizes(estimator, options):
    model = estimator(3, goal=MaxVariation(0.05), init=DATA.init, **options)
    model.fit(DATA.X, sensitive_features=DATA.groups)
    assert model.goal_met_
    assert variation(model.labels_, DATA.groups) <= 0.05 + 1e-9
    assert 0 <= model.assignment_gap_ < 0.1
    plain = estimator(3, goal=None, init=DATA.init).fit(DATA.X)
    assert variation(plain.labels_, DATA.groups) > 0.05
    if options.get("cluster_sizes"):
        assert (model.cluster_sizes_ == 200).all()


def test_it_is_met_by_two_attributes():
    table = pd.DataFrame({"origin": DATA.groups, "sex": SEX})
    model = FairKMeans(3, goal=MaxVariation(0.05), init=DATA.init).fit(DATA.X, sensitive_features=table)
    assert model.goal_met_
    assert variation(model.labels_, DATA.groups) <= 0.05 + 1e-9
    assert variation(model.labels_, SEX) <= 0.05 + 1e-9


def test_a_batch_and_new_rows_are_labelled_for_it():
    model = FairKMeans(3, goal=MaxVariation(0.05), init=DATA.init).fit(DATA.X, sensitive_features=DATA.groups)
    assert np.mean(model.predict(DATA.X, DATA.groups) == model.labels_) > 0.9
    labels = model.predict_batch(DATA.X[:300], DATA.groups[:300])
    assert len(labels) == 300


def test_what_cannot_be_met_is_told():
    groups = np.array(["few"] * 2 + ["many"] * 598)
    with pytest.warns(FairnessGoalMissed, match="MaxVariation|clusters"):
        model = FairKMeans(5, goal=MaxVariation(1e-6), random_state=0).fit(DATA.X, sensitive_features=groups)
    assert not model.goal_met_


def test_it_is_cloned_searched_and_shown():
    model = FairKMeans(3, goal=MaxVariation(0.05))
    assert clone(model).goal == MaxVariation(0.05) == read_goal(MaxVariation(0.05))
    assert "MaxVariation(limit=0.05)" in str(model)
    search = GridSearchCV(FairKMeans(3, init=DATA.init), {"goal": [MaxVariation(0.3), MaxVariation(0.02)]}, cv=2)
    search.fit(DATA.X, sensitive_features=DATA.groups)
    assert search.best_params_["goal"] in (MaxVariation(0.3), MaxVariation(0.02))


def test_an_option_of_the_command_line_is_registered_by_declaring_it():
    try:

        @dataclass(frozen=True)
        class Named(MaxVariation):
            option = "named-in-a-test"

        assert GOALS["named-in-a-test"] is Named
        assert Named.from_text("0.2") == Named(0.2)
    finally:
        GOALS.pop("named-in-a-test", None)
