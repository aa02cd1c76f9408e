"""Laws of the solvers, asked of sweeps with and without kernels: a solver never needs to know which."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import oracles
from cases import SOLVERS, SWEEPS, OracleSweep, in_memory_sweep, people
from fairclust._fairness.term import one_attribute
from fairclust._solvers import Bound, Dual, dual
from fairclust._solvers.held import held
from fairclust._sweep.question import State


@dataclasses.dataclass(frozen=True)
class Inner:
    """An inner problem: point costs of fixed centres, groups, target."""

    costs: np.ndarray
    codes: np.ndarray
    target: np.ndarray

    @property
    def n_groups(self):
        return len(self.target)

    @property
    def fairness(self):
        return one_attribute(self.target)

    def weights(self, fairness_weight):
        return np.full(self.costs.shape[1], float(fairness_weight))

    def soft_energy(self, state, fairness_weight):
        count = oracles.soft_count(self.costs, self.codes, self.n_groups, state.scale, state.scaled_price)
        return count.cost + fairness_weight * float(oracles.kl(self.target, count.masses).sum())

    def hard_energy(self, state, fairness_weight):
        count = oracles.hard_count(self.costs, self.codes, self.n_groups, state.price)
        return count.cost + fairness_weight * float(oracles.kl(self.target, count.masses).sum())


def inner(n_samples=120, n_clusters=3, n_groups=2, seed=0):
    data = people(n_samples, n_clusters, n_groups, seed)
    codes = np.unique(data.groups, return_inverse=True)[1].astype(np.int32)
    target = np.bincount(codes) / n_samples
    costs = oracles.point_costs(data.X, data.init).astype(np.float32).astype(float)
    return Inner(costs, codes, target)


INNER = [
    pytest.param(inner(), id="two groups"),
    pytest.param(inner(n_clusters=4, n_groups=3, seed=3), id="three groups"),
]
WEIGHTS = [0.1, 10.0, 100.0, 1000.0]


@pytest.mark.parametrize("problem", INNER)
@pytest.mark.parametrize("sweep", SWEEPS)
@pytest.mark.parametrize("fairness_weight", WEIGHTS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_solver_ends_at_an_energy_no_higher_than_its_start(solver, fairness_weight, sweep, problem):
    made = sweep(problem.costs, problem.codes, problem.n_groups)
    solution = solver.solve(made, problem.fairness, problem.weights(fairness_weight))
    start = State(solution.state.scale, np.zeros_like(solution.state.scaled_price))
    ended = problem.soft_energy(solution.state, fairness_weight)
    assert ended <= problem.soft_energy(start, fairness_weight) * (1 + 1e-3)


@pytest.mark.parametrize("problem", INNER)
@pytest.mark.parametrize("solver", SOLVERS)
def test_solver_gives_the_same_state_whoever_answers(solver, problem):
    states = [
        solver.solve(s(problem.costs, problem.codes, problem.n_groups), problem.fairness, problem.weights(50.0)).state
        for s in (OracleSweep, in_memory_sweep)
    ]
    energies = [problem.soft_energy(state, 50.0) for state in states]
    assert energies[0] == pytest.approx(energies[1], rel=1e-3)


@pytest.mark.parametrize("sweep", SWEEPS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_one_group_is_plain_clustering(solver, sweep):
    problem = inner(n_groups=2)
    costs, codes = problem.costs, np.zeros(len(problem.costs), dtype=np.int32)
    made = sweep(costs, codes, 1)
    solution = solver.solve(made, one_attribute(np.array([1.0])), problem.weights(100.0))
    np.testing.assert_allclose(solution.state.price, 0.0, atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_no_weight_means_no_price(solver):
    problem = inner()
    made = OracleSweep(problem.costs, problem.codes, problem.n_groups)
    solution = solver.solve(made, problem.fairness, problem.weights(0.0))
    np.testing.assert_allclose(solution.state.price, 0.0, atol=1e-9)


@pytest.mark.parametrize("sweep", SWEEPS)
@pytest.mark.parametrize("fairness_weight", [0.0, 1e-12, 1e-3, 1.0, 1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("solver", SOLVERS)
def test_no_weight_is_too_large_or_too_small(solver, fairness_weight, sweep):
    problem = inner(60)
    made = sweep(problem.costs, problem.codes, problem.n_groups)
    solver = dataclasses.replace(solver, max_steps=min(solver.max_steps, 60))
    state = solver.solve(made, problem.fairness, problem.weights(fairness_weight)).state
    assert np.isfinite(state.scale)
    assert np.isfinite(state.scaled_price).all()
    assert np.isfinite(problem.hard_energy(state, fairness_weight))


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("fairness_weight", WEIGHTS)
def test_dual_ends_no_higher_than_bound_in_fewer_sweeps(fairness_weight, n_groups):
    # On small problems a point more or less decides, so the law is one of the mean over several.
    ratios, n_sweeps = [], {Dual: 0, Bound: 0}
    for seed in range(8):
        problem, energy = inner(200, n_groups=n_groups, seed=seed), {}
        for solver in (Dual(), Bound()):
            made = in_memory_sweep(problem.costs, problem.codes, problem.n_groups)
            state = solver.solve(made, problem.fairness, problem.weights(fairness_weight)).state
            energy[type(solver)] = problem.hard_energy(state, fairness_weight)
            n_sweeps[type(solver)] += made.n_sweeps
        ratios.append(energy[Dual] / energy[Bound])
    assert np.exp(np.mean(np.log(ratios))) <= 1.005
    assert n_sweeps[Dual] <= n_sweeps[Bound] / 2


@pytest.mark.parametrize("lipschitz", [1.0, 2.0, 50.0])
@pytest.mark.parametrize("fairness_weight", [0.5, 20.0, 2000.0])
def test_bound_is_algorithm_1(fairness_weight, lipschitz):
    problem = inner(80, n_groups=3, seed=5)
    made = OracleSweep(problem.costs, problem.codes, problem.n_groups)
    solver = Bound(lipschitz, tol=0.0, max_steps=25)
    solution = solver.solve(made, problem.fairness, problem.weights(fairness_weight))
    run = oracles.algorithm_1(problem.costs, problem.codes, problem.target, fairness_weight, lipschitz, n_steps=25)
    soft = oracles.soft_count(
        problem.costs, problem.codes, problem.n_groups, solution.state.scale, solution.state.scaled_price
    ).soft
    np.testing.assert_allclose(soft, run.soft, atol=1e-7)
    assert solution.energy == pytest.approx(run.energy, rel=1e-9)
    assert (np.diff(run.energies) <= 2e-9 * np.abs(run.energies[1:])).all()


def test_bound_grows_its_lipschitz_constant_where_a_step_would_raise_the_energy():
    # At a tiny L and a large weight the first step overshoots; the mended rule halves the step until it does not.
    problem = inner()
    made = OracleSweep(problem.costs, problem.codes, problem.n_groups)
    solution = Bound(1e-3, max_steps=1).solve(made, problem.fairness, problem.weights(1e4))
    assert made.n_sweeps > 2
    assert solution.energy <= problem.soft_energy(State(1.0, np.zeros((3, 2))), 1e4)


@pytest.mark.parametrize("problem", INNER)
def test_dual_price_is_the_weighted_slope_of_the_fairness(problem):
    # Stationarity of the relaxed energy with entropy, as the solver's page states it.
    made = OracleSweep(problem.costs, problem.codes, problem.n_groups)
    solver = Dual(tol=1e-13, cooling=(0.3,))
    state = solver.solve(made, problem.fairness, problem.weights(50.0)).state
    for _ in range(10):  # from a warm start the solver goes on at the same temperature
        soft = State(state.scale, state.scaled_price)
        state = solver.solve(made, problem.fairness, problem.weights(50.0), start=soft).state
    count = oracles.soft_count(problem.costs, problem.codes, problem.n_groups, state.scale, state.scaled_price)
    wanted = 50.0 * problem.fairness.slope(count.masses)
    np.testing.assert_allclose(state.price, wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("n_groups", [2, 3])
def test_dual_price_is_the_weighted_slope_at_what_labels_hold(n_groups):
    # What labels held more or less than soft assignments is added to those: prices are right for labels at any
    # temperature, this one being high.
    problem, solver = inner(4000, n_groups=n_groups), Dual(tol=1e-13, cooling=(0.5,))
    made = in_memory_sweep(problem.costs, problem.codes, problem.n_groups)
    off = {}
    for knows_labels in (False, True):
        state = solver.solve(made, problem.fairness, problem.weights(500.0)).state
        for _ in range(10):
            start = state if knows_labels else State(state.scale, state.scaled_price)
            state = solver.solve(made, problem.fairness, problem.weights(500.0), start=start).state
        labels = oracles.hard_count(problem.costs, problem.codes, problem.n_groups, state.price)
        off[knows_labels] = abs(state.price - 500.0 * problem.fairness.slope(labels.masses)).max()
    assert off[True] < 0.1 * off[False]


def test_sizes_of_many_clusters_are_held_near_those_of_the_last_labels(monkeypatch):
    """At point costs that moved far, the last prices leave some clusters nobody: they are not what is held."""
    problem, seen = inner(n_samples=2000, n_clusters=150), []
    first = Dual().solve(in_memory_sweep(problem.costs, problem.codes, 2), problem.fairness, problem.weights(20.0))
    moved = np.roll(problem.costs, 1, axis=1)
    sweep = in_memory_sweep(moved, problem.codes, 2)
    monkeypatch.setattr(dual, "held", lambda *given: (seen.append(given[2]), held(*given))[1])
    start = dataclasses.replace(first.state, sizes=0.5 * first.state.sizes)  # as of a sample of half of them
    Dual().solve(sweep, problem.fairness, problem.weights(20.0), start)
    labels = first.state.sizes
    assert labels.sum() == 2000
    now = sweep(first.state).masses.sum(axis=1)
    assert (now < 0.5 * labels).any()
    assert (abs(np.log(seen[0] / labels)) < np.log(1.1) + 1e-6).all()
    assert (seen[0] != labels).any()


def test_what_labels_hold_is_bounded_where_nobody_is_left():
    made = in_memory_sweep(np.array([[0.0, 1.0], [0.0, 5.0], [0.0, 9.0]]), np.array([0, 0, 1], dtype=np.int32), 2)
    solution = Dual().solve(made, one_attribute(np.array([2 / 3, 1 / 3])), np.full(2, 1e-3))
    assert (solution.state.rounding >= 0.5).all()
    assert (solution.state.rounding <= 2.0).all()


@pytest.mark.parametrize("problem", INNER)
def test_a_warm_start_takes_fewer_sweeps_than_a_cold_one(problem):
    made = OracleSweep(problem.costs, problem.codes, problem.n_groups)
    cold = Dual().solve(made, problem.fairness, problem.weights(100.0))
    n_cold, made.n_sweeps = made.n_sweeps, 0
    warm = Dual().solve(made, problem.fairness, problem.weights(100.0), start=cold.state)
    assert made.n_sweeps < n_cold
    assert problem.hard_energy(warm.state, 100.0) <= problem.hard_energy(cold.state, 100.0) * (1 + 1e-2)


@pytest.mark.parametrize("seed", [2, 4])
def test_no_cluster_vanishes_as_the_dual_solver_cools(seed):
    # A tiny fair cluster costs nothing in the relaxed energy; cooling must not go there.
    problem = inner(150, n_clusters=4, n_groups=3, seed=seed)
    energy = []
    for solver in (Dual(), Bound()):
        made = in_memory_sweep(problem.costs, problem.codes, problem.n_groups)
        state = solver.solve(made, problem.fairness, problem.weights(150e3)).state
        energy.append(problem.soft_energy(state, 150e3))
        assert made(state).masses.sum(axis=1).min() > 1
    assert energy[0] <= 1.2 * energy[1]
