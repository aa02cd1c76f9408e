"""What the baselines promise, on data of many shapes: balance of fairlets, violation of assignments, weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import people
from fairclust import FairKMeans, FairKMedian, Penalty, metrics
from fairclust.baselines import FairAssignment, Fairlets, FairSpectral, ScalableFairlets, fair_coreset, merge_coresets
from fairclust.baselines import _fairlets as flow
from fairclust.baselines import _scalable_fairlets as tree

RATIOS = [(1, 1), (1, 2), (1, 3), (2, 3), (2, 5), (4, 5), (3, 7), (12, 25)]


@st.composite
def two_groups(draw):
    """Points of two groups, perhaps with repeats, and a ratio that the whole has."""
    p, q = draw(st.sampled_from(RATIOS))
    few = draw(st.integers(1, 60))
    many = draw(st.integers(few, few * q // p))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = rng.normal(size=(few + many, draw(st.integers(1, 3))))
    if draw(st.booleans()):
        X = np.round(X)  # many points at the same place
    codes = rng.permutation(np.r_[np.zeros(few, int), np.ones(many, int)])
    X[codes == 1] += draw(st.sampled_from([0.0, 3.0]))
    return X, codes if draw(st.booleans()) else 1 - codes, p, q


def counts_of(fairlets, codes):
    n_fairlets = fairlets.max() + 1
    return np.stack([np.bincount(fairlets[codes == j], minlength=n_fairlets) for j in (0, 1)], axis=1)


def is_balanced(counts, p, q):
    return (p * counts.max(axis=1) <= q * counts.min(axis=1)).all()


@given(two_groups())
@settings(max_examples=60, deadline=None)
def test_every_fairlet_of_the_tree_has_the_balance_and_few_points(case):
    X, codes, p, q = case
    fairlets = tree.decompose(X, codes, p, q, np.random.RandomState(0))
    counts = counts_of(fairlets, codes)
    assert is_balanced(counts, p, q)
    assert counts.sum(axis=1).max() <= p + q
    assert counts.sum() == len(X)
    assert counts.sum(axis=1).min() > 0


@given(two_groups(), st.sampled_from(["kmedian", "kcenter"]))
@settings(max_examples=25, deadline=None)
def test_every_fairlet_of_the_flow_has_the_balance(case, objective):
    X, codes, p, q = case
    found = flow.decompose(X, codes, p, q, objective)
    counts = counts_of(found.fairlets, codes)
    assert is_balanced(counts, p, q)
    if p == 1 and objective == "kmedian" and len(np.unique(X, axis=0)) == len(X):
        assert counts.min(axis=1).max() == 1, "a fairlet is a star"


@pytest.mark.parametrize("method", [Fairlets, ScalableFairlets])
@pytest.mark.parametrize("ratio", [(1, 2), (2, 3)])
def test_clusters_of_fairlets_are_whole_fairlets_and_as_balanced(method, ratio):
    data = people(n_samples=300, n_clusters=5, seed=4)
    groups = np.where(np.random.default_rng(0).random(300) < 0.6, data.groups, "g0")
    few, many = sorted(np.unique(groups, return_counts=True)[1])
    if few * ratio[1] < many * ratio[0]:
        ratio = "auto"
    model = method(5, balance=ratio, random_state=0).fit(data.X, sensitive_features=groups)
    assert metrics.balance(model.labels_, groups) >= model.ratio_[0] / model.ratio_[1] - 1e-12
    assert model.balance_ == metrics.balance(model.labels_, groups)
    for fairlet in np.unique(model.fairlets_):
        assert len(set(model.labels_[model.fairlets_ == fairlet])) == 1


@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(2, 4), st.sampled_from([0.02, 0.2, 0.5]))
@settings(max_examples=20, deadline=None)
def test_an_assignment_is_within_two_points_of_its_bounds_and_costs_no_more_than_the_program(seed, k, n_groups, delta):
    data = people(n_samples=150, n_clusters=k, n_groups=n_groups, seed=seed)
    model = FairAssignment(k, bounds=delta, n_init=1, random_state=0).fit(data.X, sensitive_features=data.groups)
    masses = np.array([[np.sum((model.labels_ == c) & (data.groups == name)) for name in model.group_names_]
                       for c in range(k)])  # fmt: skip
    sizes = masses.sum(axis=1, keepdims=True)
    outside = np.maximum(masses - model.upper_bounds_ * sizes, model.lower_bounds_ * sizes - masses)
    assert outside.max() < model.violation_bound_ == 2
    assert model.max_violation_ == pytest.approx(max(outside.max(), 0.0))
    assert model.assignment_cost_ <= model.lp_cost_ * (1 + 1e-9)
    assert model.objective_ <= model.assignment_cost_ * (1 + 1e-6)


@given(st.integers(0, 10**6), st.integers(2, 4))
@settings(max_examples=15, deadline=None)
def test_with_overlapping_groups_an_assignment_is_within_the_stated_number_of_points(seed, n_groups):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 2))
    table = X @ rng.normal(size=(2, n_groups)) + rng.normal(size=(120, n_groups)) > 0
    table[0] = True
    model = FairAssignment(5, bounds=0.05, n_init=1, random_state=0).fit(X, sensitive_features=table)
    assert model.violation_bound_ == 4 * n_groups + 3
    assert model.max_violation_ <= model.violation_bound_
    assert model.assignment_cost_ <= model.lp_cost_ * (1 + 1e-9)


@pytest.mark.parametrize("objective", ["kmeans", "kmedian"])
def test_more_rounds_of_assignment_never_cost_more(objective):
    data = people(n_samples=400, n_clusters=4, n_groups=3, seed=3)
    costs = [
        FairAssignment(4, objective=objective, bounds=0.1, max_iter=rounds, random_state=0)
        .fit(data.X, sensitive_features=data.groups)
        .objective_
        for rounds in (1, 2, 5)
    ]
    assert sorted(costs, reverse=True) == costs


@given(st.integers(0, 10**6), st.integers(40, 120), st.booleans())
@settings(max_examples=25, deadline=None)
def test_a_coreset_keeps_the_weight_of_every_group(seed, n_points, weighted):
    data = people(n_samples=500, n_groups=3, seed=seed)
    weights = np.random.default_rng(seed).uniform(0.1, 2.0, 500) if weighted else np.ones(500)
    small = fair_coreset(data.X, data.groups, n_points, sample_weight=weights, random_state=0)
    assert len(small) <= max(n_points, 30)
    for name in np.unique(data.groups):
        assert small.sample_weight[small.sensitive_features == name].sum() == pytest.approx(
            weights[data.groups == name].sum()
        )
    assert (data.X[small.indices] == small.X).all()


@pytest.mark.parametrize("objective", ["kmeans", "kmedian"])
def test_coresets_of_parts_cost_what_the_whole_costs_in_every_group(objective):
    data = people(n_samples=6000, n_clusters=6, n_groups=2, seed=5)
    parts = [fair_coreset(data.X[i::3], data.groups[i::3], 500, objective=objective, random_state=i) for i in range(3)]
    merged = merge_coresets(parts)
    again = fair_coreset(
        merged.X, merged.sensitive_features, 800, objective=objective, sample_weight=merged.sample_weight,
        random_state=9,
    )  # fmt: skip
    power = 2 if objective == "kmeans" else 1
    for seed in range(5):
        centers = np.random.default_rng(seed).normal(scale=2.0, size=(6, 3))
        for name in np.unique(data.groups):
            whole, few, fewer = (
                (weights * (np.linalg.norm(X[:, None] - centers, axis=2).min(axis=1) ** power))[groups == name].sum()
                for X, groups, weights in (
                    (data.X, data.groups, np.ones(6000)),
                    (merged.X, merged.sensitive_features, merged.sample_weight),
                    (again.X, again.sensitive_features, again.sample_weight),
                )
            )
            assert few == pytest.approx(whole, rel=0.08)
            assert fewer == pytest.approx(whole, rel=0.12)


@pytest.mark.parametrize("estimator", [FairKMeans, FairKMedian])
def test_a_fit_to_a_coreset_labels_the_whole_nearly_as_well(estimator):
    data = people(n_samples=8000, n_clusters=5, seed=6)
    weight = 2000.0
    small = fair_coreset(data.X, data.groups, 1200, n_clusters=5, random_state=0)
    whole = estimator(5, goal=Penalty(weight), n_init=3, random_state=0).fit(data.X, sensitive_features=data.groups)
    part = estimator(5, goal=Penalty(weight * 8000 / small.sample_weight.sum()), n_init=3, random_state=0)
    part.fit(small.X, sensitive_features=small.sensitive_features, sample_weight=small.sample_weight)
    labels = part.predict(data.X, sensitive_features=data.groups)
    score = metrics.kmeans_objective if estimator is FairKMeans else metrics.kmedian_objective
    energy = score(data.X, labels) + weight * metrics.fairness_error(labels, data.groups)
    assert energy <= 1.05 * whole.energy_


BASELINES = [Fairlets, ScalableFairlets, FairAssignment, FairSpectral]


@pytest.mark.parametrize("method", BASELINES)
def test_the_same_seed_gives_the_same_labels(method):
    data = people(n_samples=200, seed=7)
    labels = [method(3, random_state=5).fit_predict(data.X, sensitive_features=data.groups) for _ in range(2)]
    assert (labels[0] == labels[1]).all()


@pytest.mark.parametrize("method", BASELINES)
def test_scores_are_those_of_the_metrics(method):
    data = people(n_samples=200, seed=8)
    model = method(3, random_state=0).fit(data.X, sensitive_features=data.groups)
    assert model.fairness_error_ == pytest.approx(metrics.fairness_error(model.labels_, data.groups))
    assert model.max_fairness_error_ == pytest.approx(metrics.fairness_error(model.labels_, data.groups, average="max"))
    assert model.balance_ == pytest.approx(metrics.balance(model.labels_, data.groups))
    scores = {
        Fairlets: lambda: metrics.kmedian_objective(data.X, model.labels_),
        ScalableFairlets: lambda: metrics.kmedian_objective(data.X, model.labels_),
        FairAssignment: lambda: metrics.kmeans_objective(data.X, model.labels_),
        FairSpectral: lambda: metrics.ncut_objective(model.affinity_matrix_, model.labels_),
    }
    assert model.objective_ == pytest.approx(scores[method]())
