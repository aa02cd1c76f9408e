"""Whole people: tables of counts, labels with these counts, and why there are none."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import oracles
from cases import OVERLAP, with_everyone
from internals import (
    KL,
    Balance,
    FreeMoves,
    Interval,
    MoveCosts,
    OverlapBalance,
    OverlapKL,
    largest_remainders,
    lower_bound,
    make_oracle,
    make_subproblem,
    obstacle,
    solve,
    whole_labels,
    whole_table,
    with_counts,
    with_moves,
)
from total_variation import Variation

HALF = np.array([0.5, 0.5])


def goals_of(target):
    """Terms of two groups or three that whole people of few clusters can meet, and their memberships."""
    return {
        "error": KL(target, limit=0.05),
        "bounds": Interval(0.7 * target, np.minimum(target / 0.7, 1.0), center=target),
        "rounded bounds": Interval(0.95 * target, np.minimum(target / 0.95, 1.0), slack=1 - 1e-9, center=target),
        "exact": Interval(target, target, slack=1 - 1e-9, center=target),
        "balance": Balance(0.7 * target.min() / target.max(), target),
        "total variation": Variation(target, 0.1),
    }


NAMES = list(goals_of(HALF))


def crowd(seed, n_samples=120, n_clusters=3, n_groups=2):
    rng = np.random.default_rng(seed)
    costs = rng.gamma(1.0, 1.0, (n_samples, n_clusters)).astype(np.float32).astype(float)
    codes = rng.choice(n_groups, n_samples, p=rng.dirichlet(np.full(n_groups, 5.0)))
    costs[:, 0] += codes * 0.5  # plain clusters are unfair
    return costs, codes, np.bincount(codes, minlength=n_groups) / n_samples


def feasible(subproblem, counts):
    return not subproblem.violation(np.asarray(counts, dtype=float)).any() and np.asarray(counts).sum(axis=1).all()


# --- tables -----------------------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 5))
def test_largest_remainders_keep_totals_and_round_each_mass(seed, n_clusters, n_cells):
    rng = np.random.default_rng(seed)
    totals = rng.integers(0, 40, n_cells)
    masses = rng.dirichlet(np.ones(n_clusters), n_cells).T * totals
    counts = largest_remainders(masses, totals)
    np.testing.assert_array_equal(counts.sum(axis=0), totals)
    assert (counts >= np.floor(masses)).all()
    assert (counts <= np.ceil(masses + 1e-6)).all()


@pytest.mark.parametrize("sizes", [None, (35.0, 45.0), (40.0, 40.0)], ids=["free", "sizes", "equal sizes"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_groups", [2, 3])
def test_whole_tables_keep_totals_are_feasible_and_leave_no_cluster_empty(n_groups, name, sizes):
    for seed in range(4):
        costs, codes, target = crowd(seed, n_groups=n_groups)
        bounds = None if sizes is None else ([sizes[0]] * 3, [sizes[1]] * 3)
        term = goals_of(target)[name]
        term = term.at_sizes(np.full(3, 40.0)) if sizes == (40.0, 40.0) else term
        subproblem = make_subproblem(term, memberships=[np.eye(n_groups)], sizes=bounds)
        oracle = make_oracle(costs, codes, n_groups)
        solution = solve(oracle, subproblem, 0.005)
        moves = MoveCosts(oracle, oracle.assign(solution.prices), solution.prices)
        counts = whole_table(solution.masses, oracle.cell_totals, subproblem, moves)
        np.testing.assert_array_equal(counts.sum(axis=0), np.bincount(codes, minlength=n_groups))
        assert (counts >= 0).all()
        assert feasible(subproblem, counts)
        assert abs(counts - solution.masses).max() <= 6


def test_a_cluster_that_must_grow_takes_as_many_people_as_it_needs():
    # Of 100 people no whole number is 0.9 to 1.1 times 1.5 %; of 132 it is.
    shares = np.array([0.985, 0.015])
    masses = np.array([[99.0, 1.0], [886.0, 14.0]])
    subproblem = make_subproblem(Interval(0.9 * shares, np.minimum(shares / 0.9, 1.0), center=shares))
    counts = whole_table(masses, masses.sum(axis=0), subproblem, FreeMoves(masses.astype(int)))
    np.testing.assert_array_equal(counts.sum(axis=0), masses.sum(axis=0))
    assert feasible(subproblem, counts)
    assert abs(counts - masses).sum() <= 2 * 40


# --- transport --------------------------------------------------------------------------------------------------------


def least_cost(costs, codes, counts):
    """The linear program over rows: each in one cluster, so many of each cell in each."""
    n_samples, n_clusters = costs.shape
    rows, totals = [np.kron(np.eye(n_samples), np.ones(n_clusters))], [np.ones(n_samples)]
    for cell in range(counts.shape[1]):
        rows.append(np.kron(codes == cell, np.eye(n_clusters)))
        totals.append(counts[:, cell])
    return linprog(costs.ravel(), A_eq=np.vstack(rows), b_eq=np.concatenate(totals)).fun


@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 3))
def test_transport_is_the_optimum_of_the_linear_program_over_rows(seed, n_clusters, n_cells):
    rng = np.random.default_rng(seed)
    n_samples = int(rng.integers(n_clusters, 40))
    costs = rng.gamma(1.0, 1.0, (n_samples, n_clusters)).astype(np.float32).astype(float)
    codes = rng.integers(n_cells, size=n_samples)
    prices = rng.normal(size=(n_clusters, n_cells))
    counts = oracles.masses_of(rng.integers(n_clusters, size=n_samples), codes, n_clusters, n_cells).astype(int)
    oracle = make_oracle(costs, codes, n_cells)
    found = with_counts(MoveCosts(oracle, oracle.assign(prices), prices), counts)
    np.testing.assert_array_equal(found.masses, counts)
    labels = oracle.user_labels(found.labels)
    np.testing.assert_array_equal(oracles.masses_of(labels, codes, n_clusters, n_cells), counts)
    assert found.cost == pytest.approx(costs[np.arange(n_samples), labels].sum(), rel=1e-6)
    assert found.cost == pytest.approx(least_cost(costs, codes, counts), rel=1e-5)


def test_transport_moves_more_people_than_are_looked_up_at_first():
    rng = np.random.default_rng(0)
    costs = rng.gamma(1.0, 1.0, (400, 2)).astype(np.float32).astype(float)
    codes, zero = np.zeros(400, dtype=int), np.zeros((2, 1))
    oracle = make_oracle(costs, codes, 1)
    found = with_counts(MoveCosts(oracle, oracle.assign(zero), zero), np.array([[350], [50]]))
    np.testing.assert_array_equal(found.masses, [[350], [50]])
    assert found.cost == pytest.approx(least_cost(costs, codes, np.array([[350], [50]])), rel=1e-5)


# --- labels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_whole_labels_are_feasible_and_cost_no_less_than_the_dual(name):
    for seed in range(3):
        costs, codes, target = crowd(seed)
        subproblem = make_subproblem(goals_of(target)[name])
        oracle = make_oracle(costs, codes, 2)
        solution = solve(oracle, subproblem, 0.005)
        found = whole_labels(oracle, solution, subproblem, 1e-4)
        assert feasible(subproblem, found.masses)
        labels = oracle.user_labels(found.labels)
        np.testing.assert_array_equal(found.masses, oracles.masses_of(labels, codes, 3, 2))
        assert found.cost == pytest.approx(costs[np.arange(len(costs)), labels].sum(), rel=1e-5)
        bound = lower_bound(oracle, subproblem, solution.theta)
        assert bound <= found.cost * (1 + 1e-6) <= 1.1 * bound


def test_people_who_are_alike_are_split():
    # Everybody of a group stands at the same place: prices alone cannot tell anyone from the next.
    codes = np.repeat([0, 1], 50)
    costs = np.where(codes[:, None] == 0, [[0.0, 4.0]], [[4.0, 0.0]])
    subproblem = make_subproblem(KL(HALF, limit=0.01))
    oracle = make_oracle(costs, codes, 2)
    found = whole_labels(oracle, solve(oracle, subproblem, 0.01), subproblem, 1e-4)
    assert feasible(subproblem, found.masses)
    assert found.cost <= 50 * 4.0 + 1e-6


@pytest.mark.parametrize(
    ("term", "membership"),
    [
        (OverlapKL(OVERLAP, limit=0.05), None),
        (OverlapBalance(0.25, OVERLAP), None),
        (
            Interval(
                with_everyone(0.8 * OVERLAP), with_everyone(OVERLAP / 0.8), center=with_everyone(OVERLAP),
                overlapping=True,
            ),
            None,
        ),
    ],
    ids=["error", "balance", "bounds"],
)  # fmt: skip
def test_groups_that_overlap_are_whole_too(term, membership):
    rng = np.random.default_rng(0)
    membership = np.array([[*bits, 1] for bits in itertools.product((0, 1), repeat=3)], dtype=float)
    chance = np.prod(np.where(membership[:, :3] > 0, OVERLAP, 1 - OVERLAP), axis=1)
    cells = rng.choice(8, 400, p=chance)
    costs = rng.gamma(1.0, 1.0, (400, 3)).astype(np.float32).astype(float)
    costs[:, 0] += membership[cells, 0]
    subproblem = make_subproblem(term, memberships=[membership])
    oracle = make_oracle(costs, cells, 8)
    found = whole_labels(oracle, solve(oracle, subproblem, 0.01), subproblem, 1e-4)
    assert feasible(subproblem, found.masses)


@pytest.mark.parametrize("name", ["error", "bounds", "balance"])
def test_rows_with_weights_are_moved_until_the_terms_hold(name):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        costs, codes, _ = crowd(seed, n_samples=300)
        weights = rng.uniform(0.5, 1.5, 300)
        totals = np.bincount(codes, weights)
        subproblem = make_subproblem(goals_of(totals / totals.sum())[name])
        oracle = make_oracle(costs, codes, 2, weights)
        solution = solve(oracle, subproblem, 0.01)
        before = oracle.assign(solution.prices)
        found = with_moves(oracle, before, subproblem)
        assert feasible(subproblem, found.masses)
        labels = oracle.user_labels(found.labels)
        np.testing.assert_allclose(found.masses, oracles.masses_of(labels, codes, 3, 2, weights))
        assert found.cost == pytest.approx(weights @ costs[np.arange(300), labels], rel=1e-5)


# --- what cannot be met -----------------------------------------------------------------------------------------------


def tables(totals, n_clusters):
    """Every table with these totals and no empty cluster."""
    columns = [
        [split for split in itertools.product(range(t + 1), repeat=n_clusters) if sum(split) == t] for t in totals
    ]
    for columns_of_one in itertools.product(*columns):
        table = np.array(columns_of_one).T
        if table.sum(axis=1).all():
            yield table


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("sizes", [None, (2.0, 4.0)], ids=["free", "sizes"])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_told_to_be_infeasible_is_so_by_trying_all_tables(name, sizes, n_clusters):
    n_impossible = 0
    for totals in ([3, 3], [2, 5], [1, 6], [4, 4], [2, 2]):
        totals = np.array(totals)
        term = goals_of(totals / totals.sum())[name]
        bounds = None if sizes is None else ([sizes[0]] * n_clusters, [sizes[1]] * n_clusters)
        subproblem = make_subproblem(term, sizes=bounds)
        is_possible = any(feasible(subproblem, table) for table in tables(totals, n_clusters))
        found = obstacle(subproblem, totals.astype(float), n_clusters, ["a", "b"])
        assert (found is None) == is_possible, (totals, found)
        if found is not None:
            n_impossible += 1
            assert found.sentence.endswith(".")
            assert 0 <= found.largest_k < n_clusters
    assert n_impossible or name in ("exact", "rounded bounds")


def test_an_obstacle_says_how_many_clusters_would_do():
    """Of 120 people one is of the rare group: six of them make six clusters at most."""
    target = np.array([119 / 120, 1 / 120])
    subproblem = make_subproblem(Interval(0.9 * target, np.minimum(target / 0.9, 1.0), center=target))
    found = obstacle(subproblem, np.array([714.0, 6.0]), 10, ["common", "rare"])
    assert found.largest_k == 6
    assert "At most 6 would do" in found.sentence
