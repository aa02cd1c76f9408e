"""Laws of the solvers, asked of sweeps with and without kernels: a solver never needs to know which."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import oracles
from cases import ORACLES, SOLVERS, people
from internals import ReferenceOracle, evaluate, make_oracle, make_penalty, make_solver, solve


@dataclasses.dataclass(frozen=True)
class Inner:
    """An inner problem: point costs of fixed centres, groups, target."""

    costs: np.ndarray
    codes: np.ndarray
    target: np.ndarray

    @property
    def n_groups(self):
        return len(self.target)

    def oracle(self, make=ReferenceOracle):
        return make(self.costs, self.codes, self.n_groups)

    def solve(self, solver, oracle, fairness_weight, start=None):
        weights = np.full(self.costs.shape[1], float(fairness_weight))
        return solve(solver, oracle, make_penalty(self.target), weights, start)

    def soft_energy(self, scale, scaled_prices, fairness_weight):
        count = oracles.soft_count(self.costs, self.codes, self.n_groups, scale, scaled_prices)
        return count.cost + fairness_weight * float(oracles.kl(self.target, count.masses).sum())

    def hard_energy(self, prices, fairness_weight):
        count = oracles.hard_count(self.costs, self.codes, self.n_groups, prices)
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
@pytest.mark.parametrize("fairness_weight", WEIGHTS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_solver_ends_at_an_energy_no_higher_than_its_start(solver, fairness_weight, problem):
    found = problem.solve(solver, problem.oracle(make_oracle), fairness_weight)
    ended = problem.soft_energy(found.scale, found.scaled_prices, fairness_weight)
    started = problem.soft_energy(found.scale, 0.0 * found.scaled_prices, fairness_weight)
    assert ended <= started * (1 + 1e-3)


@pytest.mark.parametrize("problem", INNER)
@pytest.mark.parametrize("solver", SOLVERS)
def test_solver_ends_at_the_same_energy_whichever_oracle_it_asks(solver, problem):
    found = [problem.solve(solver, problem.oracle(make.values[0]), 50.0) for make in ORACLES]
    energies = [problem.soft_energy(one.scale, one.scaled_prices, 50.0) for one in found]
    assert energies == pytest.approx([energies[0]] * len(ORACLES), rel=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_one_group_is_plain_clustering(solver):
    costs = inner(n_groups=2).costs
    problem = Inner(costs, np.zeros(len(costs), dtype=np.int32), np.array([1.0]))
    np.testing.assert_allclose(problem.solve(solver, problem.oracle(make_oracle), 100.0).prices, 0.0, atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_no_weight_means_no_price(solver):
    problem = inner()
    np.testing.assert_allclose(problem.solve(solver, problem.oracle(), 0.0).prices, 0.0, atol=1e-9)


@pytest.mark.parametrize("fairness_weight", [0.0, 1e-12, 1e-3, 1.0, 1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("solver", SOLVERS)
def test_no_weight_is_too_large_or_too_small(solver, fairness_weight):
    problem = inner(60)
    solver = dataclasses.replace(solver, max_steps=min(solver.max_steps, 60))
    found = problem.solve(solver, problem.oracle(make_oracle), fairness_weight)
    assert np.isfinite(found.scale)
    assert np.isfinite(found.scaled_prices).all()
    assert np.isfinite(problem.hard_energy(found.prices, fairness_weight))


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("fairness_weight", WEIGHTS)
def test_dual_ends_no_higher_than_bound_in_fewer_sweeps(fairness_weight, n_groups):
    # On small problems a point more or less decides, so the law is one of the mean over several.
    ratios, n_sweeps = [], {"dual": 0, "bound": 0}
    for seed in range(8):
        problem, energy = inner(200, n_groups=n_groups, seed=seed), {}
        for name in n_sweeps:
            oracle = problem.oracle(make_oracle)
            energy[name] = problem.hard_energy(
                problem.solve(make_solver(name), oracle, fairness_weight).prices, fairness_weight
            )
            n_sweeps[name] += oracle.n_sweeps
        ratios.append(energy["dual"] / energy["bound"])
    assert np.exp(np.mean(np.log(ratios))) <= 1.005
    assert n_sweeps["dual"] <= n_sweeps["bound"] / 2


@pytest.mark.parametrize(("fairness_weight", "lipschitz"), [(0.5, 1.0), (20.0, 2.0), (2000.0, 50.0), (2000.0, 1.0)])
def test_bound_is_algorithm_1(fairness_weight, lipschitz):
    problem = inner(80, n_groups=3, seed=5)
    solver = make_solver("bound", lipschitz=lipschitz, tol=0.0, max_steps=25)
    found = problem.solve(solver, problem.oracle(), fairness_weight)
    run = oracles.algorithm_1(problem.costs, problem.codes, problem.target, fairness_weight, lipschitz, n_steps=25)
    soft = oracles.soft_count(problem.costs, problem.codes, problem.n_groups, found.scale, found.scaled_prices).soft
    np.testing.assert_allclose(soft, run.soft, atol=1e-7)
    assert found.energy == pytest.approx(run.energy, rel=1e-9)
    assert (np.diff(run.energies) <= 2e-9 * np.abs(run.energies[1:])).all()


def test_bound_grows_its_lipschitz_constant_where_a_step_would_raise_the_energy():
    # At a tiny L and a large weight the first step overshoots; the mended rule halves the step until it does not.
    problem = inner()
    oracle = problem.oracle()
    found = problem.solve(make_solver("bound", lipschitz=1e-3, max_steps=1), oracle, 1e4)
    assert oracle.n_sweeps > 2
    assert found.energy <= problem.soft_energy(1.0, np.zeros((3, 2)), 1e4)


@pytest.mark.parametrize("problem", INNER)
def test_a_warm_start_takes_fewer_sweeps_than_a_cold_one(problem):
    oracle, dual = problem.oracle(), make_solver("dual")
    cold = problem.solve(dual, oracle, 100.0)
    n_cold, oracle.n_sweeps = oracle.n_sweeps, 0
    warm = problem.solve(dual, oracle, 100.0, start=cold.start)
    assert oracle.n_sweeps < n_cold
    assert problem.hard_energy(warm.prices, 100.0) <= problem.hard_energy(cold.prices, 100.0) * (1 + 1e-2)


@pytest.mark.parametrize("seed", [2, 4])
def test_no_cluster_vanishes_as_the_dual_solver_cools(seed):
    # A tiny fair cluster costs nothing in the relaxed energy; cooling must not go there.
    problem = inner(150, n_clusters=4, n_groups=3, seed=seed)
    energy = []
    for name in ("dual", "bound"):
        oracle = problem.oracle(make_oracle)
        found = problem.solve(make_solver(name), oracle, 150e3)
        energy.append(problem.soft_energy(found.scale, found.scaled_prices, 150e3))
        assert evaluate(oracle, found.scale, found.scaled_prices).masses.sum(axis=1).min() > 1
    assert energy[0] <= 1.2 * energy[1]
