"""Laws of the objectives: what they are worth, and that their point costs bound them from above, touching."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from cases import OBJECTIVES, people
from internals import evaluate, unfilled_oracle

N_CLUSTERS = 3


def settled(objective, dtype=np.float64, seed=0):
    """An objective of some rows, its sweep, labels in visiting order and parameters that suit them, filled in."""
    data = people(150, n_clusters=N_CLUSTERS, dtype=dtype, seed=seed)
    codes = np.unique(data.groups, return_inverse=True)[1].astype(np.int32)
    sweep = unfilled_oracle(codes, 2, N_CLUSTERS)
    made = objective.make(data.X)
    labels = np.random.default_rng(seed).integers(N_CLUSTERS, size=150).astype(np.int32)
    for _ in range(2):  # medoids of labels that stay as they are become exact
        parameters = made.parameters(sweep, labels, np.bincount(labels).astype(float))
        value = made.fill(sweep, parameters, labels)
    return data.X, codes, made, sweep, labels, parameters, value


def cost_of(sweep, labels):
    """What the point costs say of some labels."""
    every = np.arange(len(labels))
    return sweep.base_cost + float(sweep.cost_rows(every)[every, labels].astype(float).sum())


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_objective_is_worth_what_the_reference_says_and_so_are_its_point_costs(each_kernel, objective, dtype):
    X, codes, _, sweep, labels, parameters, value = settled(objective, dtype)
    assert value == pytest.approx(objective.value(X[sweep.layout.order], labels), rel=1e-5)
    assert cost_of(sweep, labels) == pytest.approx(value, rel=1e-5)  # they touch it
    count = oracles.soft_count(objective.point_costs(X, parameters), codes, 2, 2.0, np.zeros((N_CLUSTERS, 2)))
    answer = evaluate(sweep, 2.0, np.zeros((N_CLUSTERS, 2)))
    assert answer.cost == pytest.approx(count.cost, rel=1e-4)
    np.testing.assert_allclose(answer.masses, count.masses, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_point_costs_bound_the_objective_from_above(objective):
    X, _, made, sweep, labels, _, _ = settled(objective)
    anchors = made.anchors() if hasattr(made, "anchors") else None
    rng = np.random.default_rng(0)
    for chance in (0.02, 0.02, 0.2, 0.2, 1.0, 1.0):
        others = np.where(rng.random(150) < chance, rng.integers(N_CLUSTERS, size=150), labels).astype(np.int32)
        if anchors is not None:  # medoids stay
            others[anchors] = np.arange(N_CLUSTERS)
        bound = cost_of(sweep, others)
        assert objective.value(X[sweep.layout.order], others) <= bound * (1 + 1e-6)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_cheapest_labels_lower_the_objective(objective):
    X, _, made, sweep, _, _, value = settled(objective)
    anchors = made.anchors() if hasattr(made, "anchors") else None
    sweep.assign(np.zeros((N_CLUSTERS, 2)))
    better = sweep.labels.copy()
    if anchors is not None:
        better[anchors] = np.arange(N_CLUSTERS)
    assert (np.bincount(better, minlength=N_CLUSTERS) > 0).all()
    assert objective.value(X[sweep.layout.order], better) < value


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_all_rows_are_a_sample_too_and_parameters_that_stay_have_not_moved(objective):
    X, _, made, sweep, labels, parameters, value = settled(objective)
    again = made.sampled(np.arange(len(X)))
    assert again.fill(sweep, parameters, labels) == pytest.approx(value, rel=1e-9)
    assert made.movement(parameters, parameters.copy()) == 0.0


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_farthest_points_are_some_of_the_points_each_once(objective):
    _, _, made, sweep, labels, parameters, _ = settled(objective)
    farthest = made.farthest(sweep, parameters, labels, 7)
    assert len(set(farthest.tolist())) == 7
    assert (farthest >= 0).all()
    assert (farthest < len(labels)).all()
