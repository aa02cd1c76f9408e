"""Repaired labels: the goal holds, nobody moves in vain, and how few must move is proved."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from fairclust import (
    Bounds,
    ExactProportions,
    FairnessGoalMissed,
    Groups,
    MaxCostIncrease,
    MaxFairnessError,
    MinBalance,
    Penalty,
    audit,
    metrics,
    repair,
)
from fairclust.errors import InvalidInputError
from fairclust.goals import Goal

GOALS = [0.05, MaxFairnessError(0.2), ExactProportions(), MinBalance(0.4), Bounds(0.3), Bounds(0.2, rounded=True)]


@dataclass(frozen=True)
class MinShare(Goal):
    """A goal of a user's own."""

    group: str
    limit: float

    def term(self, attribute):
        return Bounds({self.group: (self.limit, 1.0)}).term(attribute)

    def figure(self, shares, attribute):
        return shares[:, list(attribute.names).index(self.group)]


def people(n=600, seed=0):
    rng = np.random.default_rng(seed)
    labels, sex = rng.integers(0, 4, n), rng.choice(["F", "M"], n)
    sex[labels == 0] = np.where(rng.random((labels == 0).sum()) < 0.8, "F", "M")
    return labels, sex, rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2]), rng.normal(size=(n, 3)) + labels[:, None]


def fewest_by_trying(labels, groups, goal):
    """The fewest rows in which labels that meet the goal, without an empty cluster, differ from these."""
    n_clusters = labels.max() + 1
    every = np.array(list(itertools.product(range(n_clusters), repeat=len(labels))))
    distance = (every != labels).sum(axis=1)
    for n_moved in range(len(labels) + 1):
        for tried in every[distance == n_moved]:
            if len(np.unique(tried)) == n_clusters and audit(tried, groups, goal=goal).passed:
                return n_moved
    return np.inf


@pytest.mark.parametrize("goal", GOALS, ids=str)
@pytest.mark.filterwarnings("ignore::fairclust.FairnessGoalMissed")
def test_no_labels_that_meet_the_goal_are_nearer(goal):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        labels, groups = np.arange(7) % 2, rng.integers(0, 2 + seed % 2, 7)
        labels[rng.integers(7, size=2)] = 0
        groups[:2] = 0, 1
        found = repair(labels, groups, goal=goal)
        assert found.fewest == fewest_by_trying(labels, groups, goal)
        assert found.goal_met == np.isfinite(found.fewest)
        assert not found.goal_met or found.n_moved == found.fewest


@pytest.mark.parametrize("goal", [*GOALS, MinShare("F", 0.5)], ids=str)
def test_every_goal_is_met_and_the_fewest_are_proved(goal):
    labels, sex, _, X = people()
    for data in (None, X):
        found = repair(labels, sex, goal=goal, X=data)
        assert found.goal_met
        assert audit(found.labels, sex, goal=goal).passed
        assert found.n_moved == (found.labels != labels).sum() == found.moved.sum()
        assert found.n_moved == found.fewest


def test_with_data_those_move_who_lose_least():
    labels, sex, _, X = people()
    blind, seeing = repair(labels, sex, goal=0.01), repair(labels, sex, goal=0.01, X=X)
    assert seeing.n_moved == blind.n_moved
    before = metrics.kmeans_objective(X, labels)
    assert seeing.cost_increase == pytest.approx(metrics.kmeans_objective(X, seeing.labels) / before - 1)
    assert metrics.kmeans_objective(X, seeing.labels) < metrics.kmeans_objective(X, blind.labels)
    assert np.isnan(blind.cost_increase)


def test_several_attributes_and_sizes_are_kept_together():
    labels, sex, place, X = people()
    table = pd.DataFrame({"sex": sex, "place": place})
    found = repair(labels, table, goal=0.02, X=X, cluster_sizes="equal")
    assert found.goal_met
    assert np.bincount(found.labels).tolist() == [150] * 4
    assert audit(found.labels, table, goal=0.02).passed
    assert found.fewest <= found.n_moved <= found.fewest + 3
    bounded = repair(labels, table, goal=MinBalance(0.3), min_cluster_size=140, max_cluster_size=0.27)
    assert bounded.goal_met
    assert np.bincount(bounded.labels).min() >= 140
    assert np.bincount(bounded.labels).max() <= 162


def test_sizes_alone_can_be_repaired():
    found = repair([0] * 8 + [1] * 2, ["F", "M"] * 5, goal=None, cluster_sizes="equal")
    assert found.n_moved == found.fewest == 3
    assert np.bincount(found.labels).tolist() == [5, 5]


def test_labels_that_meet_the_goal_stay():
    found = repair(["b", "b", "a", "a"], ["F", "M", "F", "M"], goal=0)
    assert found.n_moved == found.fewest == 0
    assert found.labels.tolist() == ["b", "b", "a", "a"]
    assert found.cost_increase != found.cost_increase


def test_labels_keep_their_names_and_type():
    found = repair(pd.Series(["north"] * 6 + ["far south"] * 6), list("FFFFFMFMMMMM"), goal=0.05)
    assert set(found.labels) == {"north", "far south"}
    assert repair(np.array([7] * 6 + [-1] * 6, dtype=np.int8), list("FFFFFMFMMMMM")).labels.dtype == np.int8


def test_what_cannot_be_met_is_told_with_the_reason():
    with pytest.warns(FairnessGoalMissed, match="A cluster that meets the goal has at least 1 of group F: 3 clusters"):
        found = repair([0, 0, 1, 1, 2, 2], list("FMMMMM"), goal=MinBalance(0.1))
    assert not found.goal_met
    assert found.fewest == np.inf


def test_rows_with_weights_are_moved_one_by_one():
    labels, sex, _, X = people(300)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 300)
    for data in (None, X):
        found = repair(labels, sex, goal=0.01, X=data, sample_weight=weight)
        assert found.goal_met
        assert audit(found.labels, sex, goal=0.01, sample_weight=weight).passed
        assert np.isnan(found.fewest)
        assert 0 < found.n_moved < 60
    weight[:40] = 0.0
    many = repair(labels, np.where(labels < 2, sex, "M"), goal=0.005, X=X, sample_weight=weight)
    assert many.goal_met
    assert not many.moved[:40].any()


def test_groups_are_read_as_everywhere():
    age = np.r_[np.arange(20, 40), np.arange(30, 50)].astype(float)
    found = repair(np.repeat([0, 1], 20), age, goal=MinBalance(0.8), groups=Groups(bins=2))
    assert found.goal_met
    sex = np.array(["F", "M", None, "M"] * 5, dtype=object)
    assert repair(np.arange(20) % 2, sex, goal=0.1, groups=Groups(missing="ignore")).goal_met


def test_a_frame_has_sizes_and_figures_before_and_after():
    labels, sex, _, _ = people()
    frame = repair(labels, sex, goal=MinBalance(0.6)).to_frame()
    assert frame["size_before"].tolist() == np.bincount(labels).tolist()
    assert frame["figure_before[group]"].min() < 0.6 <= frame["figure_after[group]"].min()


def test_it_is_told_in_words():
    found = repair([0] * 6 + [1] * 6, list("FFFFFMFMMMMM"), goal=0.05)
    assert "No labels that meet it move fewer people." in str(found)
    assert repr(found) == "Repair(n_moved=3, fewest=3, goal_met=True)"


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"goal": Penalty(3.0)}, "says what clusters may cost"),
        ({"goal": MaxCostIncrease(0.1)}, "says what clusters may cost"),
        ({"goal": "fair"}, "goal='fair' is no goal"),
        ({"goal": Bounds({"X": (0.1, 0.2)})}, "Bounds names group 'X'"),
        ({"cluster_sizes": [1, 2]}, "cluster_sizes add up to 3"),
        ({"min_cluster_size": 3}, "min_cluster_size=3 cannot be kept"),
        ({"X": np.zeros((3, 1))}, "labels has 4 rows but X has 3"),
        ({"sensitive_features": ["F", "M"]}, "sensitive_features has 2 rows but labels has 4"),
        ({"labels": [], "sensitive_features": []}, "labels is empty"),
        ({"groups": {"bins": 2}}, "is no record of options"),
    ],
)
def test_bad_input_is_told(arguments, match):
    with pytest.raises(InvalidInputError, match=match):
        repair(**{"labels": [0, 0, 1, 1], "sensitive_features": ["F", "M", "F", "M"]} | arguments)
