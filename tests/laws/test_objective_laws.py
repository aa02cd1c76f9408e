"""Laws of the objectives: what they are worth, and that their point costs bound them from above, touching."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from cases import OBJECTIVES, people
from internals import excess_costs, unfilled_oracle

N_CLUSTERS, N_SAMPLES = 3, 150
ZERO = np.zeros((N_CLUSTERS, 2))
SEARCHED = [o for o in OBJECTIVES if o.values[0].make(np.zeros((4, 2))).can_search]


def settled(objective, dtype=np.float64, seed=0):
    """An objective of some rows, its oracle, labels in visiting order and centres that suit them, filled in."""
    data = people(N_SAMPLES, n_clusters=N_CLUSTERS, dtype=dtype, seed=seed)
    codes = np.unique(data.groups, return_inverse=True)[1].astype(np.int32)
    rows = unfilled_oracle(codes, 2, N_CLUSTERS)
    made = objective.make(data.X)
    labels = np.random.default_rng(seed).integers(N_CLUSTERS, size=N_SAMPLES).astype(np.int32)
    before = np.ascontiguousarray(data.X[:N_CLUSTERS])
    centers = made.centers(rows, labels, np.bincount(labels).astype(float), before)
    value = made.fill(rows, centers, labels)
    return data.X, codes, made, rows, labels, centers, value


def cost_of(rows, labels):
    """What the point costs say of some labels."""
    return rows.described(labels).cost


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_objective_is_worth_what_the_reference_says_and_so_are_its_point_costs(each_kernel, objective, dtype):
    X, codes, _, rows, labels, centers, value = settled(objective, dtype)
    assert value == pytest.approx(objective.value(X[rows.layout.order], labels), rel=1e-5)
    assert cost_of(rows, labels) == pytest.approx(value, rel=1e-5)  # they touch it
    count = oracles.soft_count(objective.point_costs(X, centers), codes, 2, 2.0, ZERO)
    found = rows.evaluate(ZERO, 0.5)
    assert found.cost == pytest.approx(count.cost, rel=1e-4)
    np.testing.assert_allclose(found.masses, count.masses, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_point_costs_bound_the_objective_from_above(objective):
    X, _, _, rows, labels, _, _ = settled(objective)
    rng = np.random.default_rng(0)
    for chance in (0.02, 0.02, 0.2, 0.2, 1.0, 1.0):
        others = np.where(rng.random(N_SAMPLES) < chance, rng.integers(N_CLUSTERS, size=N_SAMPLES), labels)
        others = others.astype(np.int32)
        bound = cost_of(rows, others)
        # A medoid that left its cluster is no centre of it, so the sum of distances is a bound up to its own.
        assert objective.value(X[rows.layout.order], others) <= bound * (1 + 1e-6) + medoids_off(objective, X, bound)


def medoids_off(objective, X, bound):
    made = objective.make(X)
    return 0.05 * bound if getattr(made, "center", "") == "medoid" else 0.0


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_cheapest_labels_lower_the_objective(objective):
    X, _, _, rows, _, _, value = settled(objective)
    better = rows.assign(ZERO).labels
    assert (np.bincount(better, minlength=N_CLUSTERS) > 0).all()
    assert objective.value(X[rows.layout.order], better) < value


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_all_rows_are_a_sample_too(objective):
    X, _, made, rows, labels, centers, value = settled(objective)
    again = made.sampled(np.arange(len(X)))
    assert again.fill(rows, centers, labels) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_centre_of_an_empty_cluster_stays(objective):
    _, _, made, rows, labels, centers, _ = settled(objective)
    labels = np.where(labels == 2, 1, labels).astype(np.int32)
    sizes = np.bincount(labels, minlength=N_CLUSTERS).astype(float)
    np.testing.assert_allclose(made.centers(rows, labels, sizes, centers)[2], centers[2])


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_soft_centres_at_a_low_temperature_are_those_of_the_labels(objective):
    _, _, made, rows, _, centers, _ = settled(objective)
    assigned = rows.assign(ZERO)
    sizes = assigned.masses.sum(axis=1)
    hard = made.centers(rows, assigned.labels, sizes, centers)
    for soft in (made.soft_centers, made.weighted_centers):
        np.testing.assert_allclose(soft(rows, ZERO, 1e-9, sizes, centers), hard, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_centres_anywhere_in_space_cost_no_more(objective):
    _, _, made, rows, labels, centers, value = settled(objective)
    relaxed = made.relaxed()
    if relaxed is not None:
        free = relaxed.centers(rows, labels, np.bincount(labels).astype(float), centers)
        assert relaxed.fill(rows, free, labels) <= value * (1 + 1e-6)
        assert relaxed.relaxed() is None


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_halves_tell_what_a_cluster_gains_by_being_two(objective):
    X, _, made, rows, labels, centers, _ = settled(objective)
    halves = made.halves(rows, centers, labels)
    assert len(halves) == N_CLUSTERS
    visited = X[rows.layout.order].astype(float)
    for k, (gain, pair) in enumerate(halves):
        own = objective.point_costs(visited[labels == k], np.stack([centers[k], *pair]))
        # What the two save is told in Euclidean distances.
        assert 0.5 * gain < own[:, 0].sum() - own[:, 1:].min(axis=1).sum() < 2 * gain


@pytest.mark.parametrize("objective", SEARCHED)
def test_sums_tell_what_a_move_costs(objective):
    X, _, made, rows, labels, _, value = settled(objective)
    sums, constant = made.sums(rows, labels)
    sizes = np.bincount(labels, minlength=N_CLUSTERS)
    assert constant + made.cost_of_sums(sums, sizes).sum() == pytest.approx(value, rel=1e-6)
    visited = X[rows.layout.order]
    for row in range(0, N_SAMPLES, 17):
        source, target = labels[row], (labels[row] + 1) % N_CLUSTERS
        one = made.row_sums(rows, np.array([row]))[0]
        moved, after = sums.copy(), sizes.copy()
        moved[source] -= one
        moved[target] += one
        after[[source, target]] += (-1, 1)
        other = labels.copy()
        other[row] = target
        expected = objective.value(visited, other)
        assert constant + made.cost_of_sums(moved, after).sum() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_costs_that_are_kept_are_those_above_the_cheapest(objective):
    X, _, _, rows, _, centers, _ = settled(objective)
    costs = objective.point_costs(X, centers)[rows.layout.order]
    np.testing.assert_allclose(excess_costs(rows), costs - costs.min(axis=1, keepdims=True), rtol=1e-3, atol=1e-3)
    assert rows.base_cost == pytest.approx(costs.min(axis=1).sum(), rel=1e-4)
