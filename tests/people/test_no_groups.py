"""What is said where groups are not given, too small, or no groups at all."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from cases import ESTIMATORS, people
from fairclust import (
    ExactProportions,
    FairKMeans,
    FairnessGoalMissed,
    Groups,
    MaxCostIncrease,
    MinBalance,
    NoGroupsWarning,
    Penalty,
)
from fairclust._people import attributes
from fairclust._people.attributes import MOST_GROUPS
from fairclust._people.encode import encode_people
from fairclust.errors import InvalidInputError

DATA = people(200, n_clusters=3, n_groups=2, seed=2)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_fairness_without_groups_is_a_warning_and_no_perfect_score(estimator):
    with pytest.warns(NoGroupsWarning, match=r"no groups are given.*sensitive_features=.*goal=None"):
        model = estimator(3, random_state=0, goal=MinBalance(0.5)).fit(DATA.X)
    scores = [model.fairness_error_, model.max_fairness_error_, model.balance_, *model.fairness_errors_.ravel()]
    assert np.isnan(scores).all()
    assert model.goal_met_ is False


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_groups_in_the_place_of_y_are_noticed(estimator):
    with pytest.warns(NoGroupsWarning, match=r"y is ignored; it holds 2 different values \('g0', 'g1'\)") as said:
        estimator(3, random_state=0, goal=0.05).fit(DATA.X, DATA.groups)
    assert len(said) == 1
    with pytest.warns(NoGroupsWarning, match="y is ignored"):
        estimator(3, random_state=0, goal=0.05).fit_predict(DATA.X, DATA.groups)


def test_a_target_of_numbers_is_not_taken_for_groups():
    with pytest.warns(NoGroupsWarning, match="Pass sensitive_features=") as said:
        FairKMeans(3, goal=Penalty(5.0), random_state=0).fit(DATA.X, DATA.X[:, 0])
    assert "y is ignored" not in str(said[0].message)
    assert "goal=Penalty(weight=5.0" in str(said[0].message)


@pytest.mark.parametrize("options", [{"goal": None}, {"goal": Penalty(0.0)}, {}], ids=["plain", "weight 0", "default"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_plain_clustering_and_the_default_goal_are_silent(estimator, options):
    model = estimator(3, random_state=0, **options).fit(DATA.X, DATA.groups)
    assert np.isnan(model.balance_)


# --- groups smaller than the number of clusters -----------------------------------------------------------------------


def with_few(n_people=4, n_rows=120):
    rng = np.random.default_rng(0)
    groups = np.array(["few"] * n_people + ["many"] * (n_rows - n_people))
    return rng.normal(size=(n_rows, 2)), groups


def test_a_group_smaller_than_the_number_of_clusters_is_told_with_the_largest_number_that_would_do():
    X, groups = with_few()
    with pytest.warns(FairnessGoalMissed, match=r"of group few: 5 clusters need 5, and there are 4\. At most 4"):
        model = FairKMeans(5, random_state=0).fit(X, sensitive_features=groups)
    assert not model.goal_met_
    assert np.isnan(model.lower_bound_)
    # The best cluster that lacks the group holds the others in their proportions, here 100 % 'many'.
    share = 4 / 120
    least = share * np.log(share / 1e-20) + (1 - share) * np.log(1 - share)
    assert model.max_fairness_error_ >= least - 1e-9
    assert len(set(model.labels_)) == 5


@pytest.mark.parametrize("goal", [ExactProportions(), Penalty(10.0), MaxCostIncrease(0.1)])
def test_nothing_is_said_of_small_groups_where_no_goal_wants_them_everywhere(goal):
    X, groups = with_few()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FairKMeans(5, random_state=0, goal=goal).fit(X, sensitive_features=groups)


# --- columns that are no groups ---------------------------------------------------------------------------------------


def test_a_column_of_amounts_is_refused_and_bins_are_named():
    amounts = np.arange(MOST_GROUPS + 1) * 1.5
    X = np.random.default_rng(0).normal(size=(len(amounts), 2))
    with pytest.raises(InvalidInputError, match=r"1001 different values.*at most 1000.*bins=\{'group': 4\}"):
        FairKMeans(3).fit(X, sensitive_features=amounts)
    FairKMeans(3, groups=Groups(bins=4), random_state=0).fit(X, sensitive_features=amounts)


def test_a_column_of_names_is_refused_too():
    names = np.array([f"person {i}" for i in range(MOST_GROUPS + 1)])
    with pytest.raises(InvalidInputError, match="join its values into fewer"):
        encode_people(names)


def test_too_many_combinations_are_refused():
    rng = np.random.default_rng(0)
    columns = {"a": rng.integers(0, 60, 9000), "b": rng.integers(0, 60, 9000)}
    with pytest.raises(InvalidInputError, match="combinations of 'a', 'b'; at most 1000"):
        encode_people(columns, options=Groups(intersections=True))


def test_tables_beyond_memory_are_refused_before_they_are_made(monkeypatch):
    monkeypatch.setattr(attributes, "free_memory", lambda: 1e4)
    rng = np.random.default_rng(0)
    columns = {"a": rng.integers(0, 30, 9000), "b": rng.integers(0, 30, 9000)}
    with pytest.raises(InvalidInputError, match=r"900 combinations of 60 groups.*0\.0 GiB.*Groups\(bins="):
        encode_people(columns)


def test_names_in_messages_are_plain_text():
    X, _ = with_few()
    with pytest.warns(UserWarning, match=r"one group only \('Male'\)"):
        FairKMeans(2, random_state=0).fit(X, sensitive_features=np.array(["Male"] * len(X)))
