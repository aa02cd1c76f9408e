"""Cold sweeps count what all points count, while they visit the undecided only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cases import in_memory_sweep, question
from fairclust._sweep.question import State

QUESTIONS = [
    pytest.param(question(n_samples=3000), id="three groups"),
    pytest.param(question(n_samples=3000, weighted=True), id="weights"),
    pytest.param(question(n_samples=3000, n_clusters=2, n_groups=1), id="one group, two clusters"),
    pytest.param(question(n_samples=2000, n_clusters=40, n_groups=9), id="many clusters and groups"),
    pytest.param(replace(question(n_samples=500), costs=np.tile(question(n_samples=1).costs, (500, 1))), id="twins"),
]
FAR = question(n_samples=500, n_clusters=2)
QUESTIONS += [
    pytest.param(
        replace(FAR, costs=np.where(FAR.costs == FAR.costs.max(axis=1, keepdims=True), 99.0, 0.0)), id="all sure"
    ),
    pytest.param(
        replace(FAR, costs=FAR.costs * np.where(np.arange(500) < 3, 1e6, 1e-6)[:, None]), id="three far people"
    ),
]
COLD = 500.0  # scale: temperatures of 1/500 where second choices cost about 1 more


def both(q):
    """A sweep that has sorted its points by the first question, and one that never does."""
    sorting, plain = (in_memory_sweep(q.costs, q.codes, q.n_groups, q.weights) for _ in range(2))
    sorting.assign(q.scaled_price)
    plain._steps[:] = 1  # curvature of every point: of the undecided, who are few, that is so anyhow
    return sorting, plain


def agree(one, other):
    np.testing.assert_allclose(one.masses, other.masses, rtol=1e-5, atol=1e-6)
    assert one.cost == pytest.approx(other.cost, rel=1e-6)
    assert one.log_partition == pytest.approx(other.log_partition, rel=1e-6)
    np.testing.assert_allclose(one.curvature, other.curvature, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("q", QUESTIONS)
def test_cold_sweeps_count_what_all_points_count(each_kernel, q):
    sorting, plain = both(q)
    rng = np.random.default_rng(1)
    price = q.scaled_price
    for move in (0.0, 0.01, 0.02, 0.3, -0.01):  # beyond what the margin allows, points are sorted again
        price = price + move * rng.normal(size=price.shape)
        state = State(COLD, COLD * price)
        agree(sorting(state, curvature=True), plain(state, curvature=True))
    assert plain._undecided is None


def test_cold_sweeps_visit_few_points():
    sorting, _ = both(question(n_samples=3000))
    price = question().scaled_price
    sorting(State(COLD, COLD * price))
    few = sorting._undecided
    assert few is not None
    assert few.excess.shape[0] * 64 < 0.3 * 3000
    sorting(State(COLD, COLD * (price + 0.01)))  # everyone pays more: nobody changes their mind
    assert sorting._undecided is few
    sorting(State(1.0, price))
    assert sorting._undecided is None


def test_everybody_is_sure_of_the_only_cluster(each_kernel):
    sweep = in_memory_sweep(np.ones((100, 1)), np.repeat([0, 1], 50).astype(np.int32), 2)
    masses, _, places = each_kernel.open_places(sweep.plan, sweep.excess, None, np.zeros((2, 1)), 1.0, 1)
    assert masses.tolist() == [[50.0], [50.0]]
    assert len(places) == 0


def test_other_costs_are_sorted_anew():
    q = question(n_samples=3000)
    sorting, plain = both(q)
    state = State(COLD, COLD * q.scaled_price)
    sorting(state)
    for sweep in (sorting, plain):
        sweep.hold(1.5 * q.costs[sweep.layout.order])
    agree(sorting(state, curvature=True), plain(state, curvature=True))


def test_cold_sweeps_have_the_same_bits_for_any_number_of_threads():
    q = question(n_samples=20_000)
    answers = []
    for n_threads in (1, 2, 3):
        sweep = in_memory_sweep(q.costs, q.codes, q.n_groups, q.weights, n_threads=n_threads)
        sweep.assign(q.scaled_price)
        answers.append(sweep(State(COLD, COLD * q.scaled_price), curvature=True))
        assert sweep._undecided is not None
    for other in answers[1:]:
        assert np.array_equal(answers[0].masses, other.masses)
        assert np.array_equal(answers[0].curvature, other.curvature)
        assert (answers[0].cost, answers[0].log_partition) == (other.cost, other.log_partition)
