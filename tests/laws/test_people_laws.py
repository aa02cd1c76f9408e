"""Laws of several attributes, overlapping groups, weights, gaps and unseen people."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairclust
import oracles
from cases import ESTIMATORS, PROTOTYPE_ESTIMATORS, FairNCut, people, several_attributes
from fairclust import (
    Bounds,
    ExactProportions,
    FairKMeans,
    Groups,
    MinBalance,
    Penalty,
    audit,
    metrics,
    solvers,
)
from fairclust._people.encode import encode_people
from fairclust.errors import FairnessGoalMissed, InvalidInputError
from internals import KL, OverlapKL, ReferenceOracle, solved_penalty


def crowd(n_samples=400, seed=0, n_clusters=4):
    """Points, and a table of three attributes that depend on where a person is."""
    data = people(n_samples, n_clusters=n_clusters, n_groups=3, seed=seed)
    rng = np.random.default_rng(seed + 1)
    table = pd.DataFrame(
        {
            "origin": data.groups,
            "sex": np.where(data.X[:, 0] + rng.normal(size=n_samples) > 0, "F", "M"),
            "age": (40 + 8 * data.X[:, 1] + 6 * rng.normal(size=n_samples)).round(),
        }
    )
    return data, table


def fitted(estimator, data, table, **changes):
    weights = changes.pop("sample_weight", None)
    bins = {"age": 3} if "age" in table else None
    options = {"init": data.init, "groups": Groups(bins=bins), "goal": 0.05, **changes}
    return estimator(len(data.init), **options).fit(data.X, sensitive_features=table, sample_weight=weights)


# --- the term ---------------------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6))
def test_overlap_equals_kl_where_everyone_is_in_one_group(seed):
    masses = np.random.default_rng(seed).uniform(0.1, 9, (4, 3))
    target = np.array([0.5, 0.3, 0.2])
    whole = np.concatenate((masses, masses.sum(axis=1, keepdims=True)), axis=1)
    overlapping = OverlapKL(target, weight=1.0).value(whole)
    np.testing.assert_allclose(overlapping, KL(target, weight=1.0).value(masses), rtol=1e-9)


def test_prices_of_several_attributes_are_the_slope_of_the_penalty():
    rng = np.random.default_rng(3)
    costs, codes = rng.gamma(2.0, 1.0, (600, 4)), rng.integers(6, size=600)
    penalty = several_attributes().penalty
    heavy = replace(penalty, terms=tuple(replace(term, weight=60.0) for term in penalty.terms))
    found, _ = solved_penalty(ReferenceOracle(costs, codes, 6), heavy, 0.05)
    wanted = heavy.slope(found.masses)
    assert abs(wanted - found.prices).max() <= 0.05 * abs(wanted).max()


# --- several attributes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "intersections"), [*((e.values[0], False) for e in ESTIMATORS), (FairKMeans, True)]
)
def test_the_goal_holds_for_every_attribute(estimator, intersections):
    data, table = crowd(600 if intersections else 400, n_clusters=3)
    groups = Groups(bins={"age": 3}, intersections=intersections)
    model = estimator(3, random_state=0, groups=groups, goal=0.1).fit(data.X, sensitive_features=table)
    assert model.goal_met_
    errors = metrics.fairness_error(model.labels_, table, average=None, groups=groups).reshape(3, -1)
    np.testing.assert_allclose(model.fairness_errors_, errors, rtol=1e-9)
    assert errors.max() <= 0.1
    assert model.max_fairness_error_ == pytest.approx(errors.max())
    np.testing.assert_allclose(
        model.proportions_,
        metrics.group_proportions(model.labels_, table, groups=groups),
    )


@pytest.mark.parametrize("estimator", PROTOTYPE_ESTIMATORS)
def test_exact_proportions_hold_for_every_group_of_every_attribute(estimator):
    data, table = crowd(n_clusters=3)
    model = fitted(estimator, data, table, goal=ExactProportions())
    assert model.goal_met_
    sizes = np.bincount(model.labels_)[:, None]
    assert (abs(model.proportions_ * sizes - model.target_proportions_ * sizes) < 1).all()


@pytest.mark.parametrize("estimator", PROTOTYPE_ESTIMATORS)
def test_an_attribute_with_one_group_changes_nothing(estimator):
    data, table = crowd()
    model = fitted(estimator, data, table, goal=0.2)
    more = fitted(estimator, data, table.assign(planet="earth"), goal=0.2)
    np.testing.assert_array_equal(more.labels_, model.labels_)
    assert more.max_fairness_error_ == pytest.approx(model.max_fairness_error_)


def test_the_order_of_the_attributes_does_not_matter():
    data, table = crowd(1000)
    model = fitted(FairKMeans, data, table, goal=Penalty(300.0))
    turned = fitted(FairKMeans, data, table[["age", "sex", "origin"]], goal=Penalty(300.0))
    assert (turned.labels_ == model.labels_).mean() > 0.99  # cells are visited in another order: ties may turn
    assert turned.energy_ == pytest.approx(model.energy_, rel=1e-3)


def test_a_larger_attribute_weight_gives_a_smaller_error():
    data, table = crowd(800)
    table = table[["origin", "sex"]]
    light, heavy = (fitted(FairKMeans, data, table, goal=Penalty(50.0, {"sex": share})) for share in (0.1, 10.0))
    assert heavy.fairness_errors_[:, 1].sum() < light.fairness_errors_[:, 1].sum()
    off = fitted(FairKMeans, data, table, goal=Penalty(50.0, {"sex": 0}))
    alone = fitted(FairKMeans, data, table[["origin"]], goal=Penalty(50.0))
    assert off.energy_ == pytest.approx(alone.energy_, rel=1e-3)
    with pytest.raises(InvalidInputError, match="attribute_weights names 'race', but the attributes are"):
        fitted(FairKMeans, data, table, goal=Penalty(1.0, {"race": 1}))


def test_bounds_and_balance_hold_for_every_attribute():
    data, table = crowd(800)
    table = table[["origin", "sex"]]
    model = FairKMeans(4, init=data.init, goal=Bounds(0.3)).fit(data.X, sensitive_features=table)
    assert model.goal_met_
    assert (model.proportions_ >= 0.7 * model.target_proportions_).all()
    named = FairKMeans(4, init=data.init, goal=Bounds({"sex": {"F": (0.3, 0.6)}})).fit(data.X, sensitive_features=table)
    women = named.proportions_[:, named.group_names_ == "sex=F"]
    assert named.goal_met_
    assert ((women >= 0.3) & (women <= 0.6)).all()
    even = FairKMeans(4, init=data.init, goal=MinBalance(0.5)).fit(data.X, sensitive_features=table)
    assert even.goal_met_
    assert metrics.balance(even.labels_, table) == pytest.approx(even.balance_)
    assert even.balance_ >= 0.5


def test_a_path_of_several_attributes_falls_in_error_and_rises_in_cost():
    data, table = crowd()
    model = FairKMeans(4, init=data.init, groups=Groups(bins={"age": 3}))
    path = fairclust.fairness_path(
        model, data.X, sensitive_features=table, goals=[Penalty(weight) for weight in (0, 10, 100, 1000)]
    )
    assert (np.diff(path.fairness_errors) <= 1e-12).all()
    assert (np.diff(path.objectives) >= -1e-9).all()
    assert path.cluster_errors.shape == (4, 4, 3)
    assert path.cluster_errors.max(axis=(1, 2)) == pytest.approx(path.max_fairness_errors)


# --- overlapping groups -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_membership_matrix_without_overlap_equals_codes(estimator):
    data, _ = crowd()
    names, codes = np.unique(data.groups, return_inverse=True)
    matrix = np.eye(len(names), dtype=bool)[codes]
    start = {} if estimator is FairNCut else {"init": data.init}
    by_code = estimator(4, random_state=0, **start).fit(data.X, sensitive_features=data.groups)
    by_matrix = estimator(4, random_state=0, **start).fit(data.X, sensitive_features=matrix)
    np.testing.assert_array_equal(by_matrix.labels_, by_code.labels_)
    np.testing.assert_array_equal(by_matrix.proportions_, by_code.proportions_)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_overlapping_groups_get_their_shares(estimator):
    data, _ = crowd(600, n_clusters=3)
    matrix = np.stack([data.groups == "g0", data.X[:, 0] > 0.5, data.X[:, 1] > 1], axis=1)
    model = estimator(3, random_state=0, goal=0.02).fit(data.X, sensitive_features=matrix)
    assert model.goal_met_
    shares = np.stack([matrix[model.labels_ == k].mean(axis=0) for k in range(3)])
    np.testing.assert_allclose(model.proportions_, shares)
    np.testing.assert_allclose(model.target_proportions_, matrix.mean(axis=0))
    plain = estimator(3, random_state=0, goal=None).fit(data.X, sensitive_features=matrix)
    assert abs(shares - matrix.mean(axis=0)).max() < 0.5 * abs(plain.proportions_ - matrix.mean(axis=0)).max()
    report = audit(model.labels_, matrix)
    assert report.max_fairness_error == pytest.approx(model.max_fairness_error_)


# --- weights and gaps -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", PROTOTYPE_ESTIMATORS)
def test_duplicated_rows_equal_weights(estimator):
    data, table = crowd(300)
    counts = np.random.default_rng(2).integers(1, 4, 300)
    options = {"goal": Penalty(200.0)}
    weighted = fitted(estimator, data, table, sample_weight=counts.astype(float), **options)
    repeat = np.repeat(np.arange(300), counts)
    start = {"init": data.init, "groups": Groups(bins={"age": 3})}
    repeated = estimator(4, **start, **options).fit(data.X[repeat], sensitive_features=table.iloc[repeat])
    assert weighted.target_proportions_ == pytest.approx(repeated.target_proportions_)
    # Copies of a row may be split where that costs less, which a row with a weight cannot be.
    together = np.array([len(set(repeated.labels_[repeat == i])) == 1 for i in range(300)])
    assert together.mean() > 0.95
    assert (weighted.labels_[repeat] == repeated.labels_)[together[repeat]].mean() > 0.99
    assert weighted.energy_ == pytest.approx(repeated.energy_, rel=1e-3)
    labels = weighted.labels_
    groups = {"groups": Groups(bins={"age": 3})}
    np.testing.assert_allclose(
        metrics.fairness_error(labels, table, average=None, sample_weight=counts, **groups),
        metrics.fairness_error(labels[repeat], table.iloc[repeat], average=None, **groups),
    )
    heavy = audit(labels, table, sample_weight=counts, **groups)
    long = audit(labels[repeat], table.iloc[repeat], **groups)
    np.testing.assert_allclose(heavy["sex"].counts, long["sex"].counts)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_ignored_people_cost_distance_but_do_not_count_in_fairness(estimator):
    data, table = crowd(n_clusters=3)
    table = table[["origin", "sex"]].astype(object)
    table.loc[::5, "sex"] = None
    model = estimator(3, random_state=0, groups=Groups(missing="ignore"), goal=0.02)
    model.fit(data.X, sensitive_features=table)
    known = table["sex"].notna().to_numpy()
    assert model.goal_met_
    assert len(model.labels_) == len(data.X)
    errors = metrics.fairness_error(model.labels_[known], table["sex"][known], average=None)
    np.testing.assert_allclose(model.fairness_errors_[:, 1], errors, rtol=1e-9)


def test_missing_groups_of_their_own_are_balanced_like_any_other():
    data, table = crowd()
    sex = table["sex"].astype(object)
    sex[::5] = None
    goal = {"init": data.init, "goal": 0.05}
    model = FairKMeans(4, groups=Groups(missing="own"), **goal).fit(data.X, sensitive_features=sex)
    named = FairKMeans(4, **goal).fit(data.X, sensitive_features=sex.fillna("missing"))
    assert model.group_names_.tolist() == ["F", "M", "missing"]
    assert model.goal_met_
    assert model.target_proportions_ == pytest.approx(named.target_proportions_)


# --- targets ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", PROTOTYPE_ESTIMATORS)
def test_clusters_may_want_different_mixes(estimator):
    rng = np.random.default_rng(0)
    X = np.concatenate((rng.normal(0, 1, (300, 2)), rng.normal(3, 1, (300, 2))))
    groups = np.array(["a", "b"] * 300)
    target = np.array([[0.7, 0.3], [0.3, 0.7]])
    init = np.array([[0.0, 0.0], [3.0, 3.0]])
    model = estimator(2, init=init, target_proportions=target, goal=0.002)
    model.fit(X, sensitive_features=groups)
    assert model.goal_met_
    np.testing.assert_allclose(model.proportions_, target, atol=0.04)
    errors = metrics.fairness_error(model.labels_, groups, target, average=None)
    np.testing.assert_allclose(model.fairness_errors_[:, 0], errors)


def test_a_group_with_target_zero_only_takes_room():
    data, table = crowd()
    target = {"sex": {"F": 0.5, "M": 0.5}, "origin": {"g0": 0.5, "g1": 0.5, "g2": 0.0}}
    model = fitted(FairKMeans, data, table[["sex", "origin"]], target_proportions=target, goal=Penalty(500.0))
    masses = oracles.masses_of(model.labels_, np.unique(data.groups, return_inverse=True)[1], 4, 3)
    shares = masses / masses.sum(axis=1, keepdims=True)
    wanted = np.log(0.5 / shares[:, :2]).mean(axis=1)
    np.testing.assert_allclose(model.fairness_errors_[:, 1], wanted, rtol=1e-9)


# --- unseen people ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", PROTOTYPE_ESTIMATORS)
def test_predict_of_the_training_people_gives_their_labels(estimator):
    data, table = crowd(600)
    model = fitted(estimator, data, table, solver=solvers.Dual(local_search=False))
    # All but the few whole people that were moved to meet the goal: up to one per cluster and group (4 × 8) of 600.
    assert (model.predict(data.X, table) == model.labels_).mean() > 0.95
    priced = fitted(estimator, data, table, solver=solvers.Dual(local_search=False), goal=Penalty(100.0))
    assert (priced.predict(data.X, table) == priced.labels_).mean() > 0.995
    soft = model.predict_proba(data.X, table)
    np.testing.assert_allclose(soft.sum(axis=1), 1.0, rtol=1e-5)


@pytest.mark.parametrize("estimator", PROTOTYPE_ESTIMATORS)
def test_prices_keep_unseen_people_nearer_to_the_target_and_a_batch_meets_the_goal(estimator):
    data, table = crowd(3000)
    half = np.arange(3000) % 2 == 0
    options = {"init": data.init, "groups": Groups(bins={"age": 3}), "goal": 0.02}
    model = estimator(4, **options).fit(data.X[half], sensitive_features=table[half])
    X, new = data.X[~half], table[~half]

    def error(labels):
        parts = [
            metrics.compositions(labels, new[[name]], target_proportions=target) for name, target in wanted.items()
        ]
        return max(float(one.fairness_errors.max()) for part in parts for one in part.values())

    wanted = {a.name: a.target for a in model.attributes_ if a.name != "age"}
    nearest, priced = error(model.predict(X)), error(model.predict(X, new))
    assert priced < 0.3 * nearest
    assert error(model.predict_batch(X, new)) <= 0.02


def test_a_batch_can_be_exact():
    data, table = crowd(1000)
    table = table[["origin", "sex"]]
    model = fitted(FairKMeans, data, table, goal=ExactProportions())
    batch, new = data.X[:300] + 0.01, table[:300]
    labels = model.predict_batch(batch, new, target="batch")
    for name in table:
        counts = metrics.composition(labels, new[name]).counts
        ideal = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / 300
        assert (abs(counts - ideal) < 1).all()


def test_a_batch_that_cannot_meet_the_goal_is_told():
    data, table = crowd()
    model = fitted(FairKMeans, data, table[["sex"]])
    women = (table["sex"] == "F").to_numpy()
    with pytest.warns(FairnessGoalMissed, match=r"No choice of these 182 people makes up cluster 0 as it must be"):
        model.predict_batch(data.X[women], table.loc[women, ["sex"]])


def test_clusters_far_from_a_batch_stay_empty():
    data, table = crowd(800)
    model = fitted(FairKMeans, data, table[["sex"]], goal=0.2)
    near = np.argsort(((data.X - model.cluster_centers_[2]) ** 2).sum(axis=1))[:60]
    labels = model.predict_batch(data.X[near], table.iloc[near][["sex"]], target="batch")
    assert len(labels) == 60
    assert len(set(labels)) < 4
    assert metrics.fairness_error(labels, table.iloc[near][["sex"]], average="max") <= 0.2


@pytest.mark.parametrize("estimator", PROTOTYPE_ESTIMATORS)
def test_a_group_never_seen_is_an_error_or_goes_to_the_nearest_centre(estimator):
    data, table = crowd()
    new = table.assign(sex=np.where(np.arange(len(table)) < 50, "X", table["sex"]))
    model = fitted(estimator, data, table, goal=0.2)
    with pytest.raises(InvalidInputError, match=r"has 'X' in column 'sex', which fit\(\) did not see"):
        model.predict(data.X, new)
    model.set_params(groups=Groups(bins={"age": 3}, unknown="nearest"))
    labels = model.predict(data.X, new)
    np.testing.assert_array_equal(labels[:50], model.predict(data.X)[:50])
    np.testing.assert_array_equal(labels[50:], model.predict(data.X, table)[50:])
    assert len(model.predict_batch(data.X, new)) == len(data.X)


def test_encoding_twice_gives_the_same_cells():
    _, table = crowd()
    options = Groups(bins={"age": 4})
    made = encode_people(table, options=options)
    again = made.attributes.encode(table)
    np.testing.assert_array_equal(again.membership[again.codes], made.cells.membership[made.cells.codes])
