"""Fair Ncut: the bound, the moves, the starts, the estimator; on graphs that can be checked by hand or brute force."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from scipy import sparse

import fairclust
import oracles
from cases import GOALS, KERNELS, people
from fairclust import (
    ExactProportions,
    FairNCut,
    FairnessGoalMissed,
    MaxCostIncrease,
    Penalty,
    datasets,
    metrics,
    solvers,
)
from fairclust.errors import InvalidInputError
from fairclust.goals import Attribute
from fairclust.graphs import affinity_from_edges, check_affinity, nearest_neighbors_graph, to_graph
from internals import (
    KL,
    CutEnergy,
    GraphLevel,
    NCutObjective,
    OverlapKL,
    coarsen,
    cycle,
    embedding,
    excess_costs,
    heaviest_node,
    imbalance,
    make_subproblem,
    sufficient_shift,
    unfilled_oracle,
    using,
)

# Two squares joined by one edge; in each, one pair of each group.
SQUARES = [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4)]
SEXES = ["F", "F", "M", "M", "F", "F", "M", "M"]


def random_graph(n_nodes=60, n_groups=3, seed=0, loops=True, isolated=True, dtype=np.float64):
    """A weighted graph with self loops and isolated nodes, and the group of each node."""
    rng = np.random.default_rng(seed)
    A = sparse.random_array(
        (n_nodes, n_nodes), density=0.12, random_state=rng, data_sampler=lambda size: rng.uniform(0.1, 2, size)
    )
    W = (A + A.T).toarray()
    if not loops:
        np.fill_diagonal(W, 0)
    if isolated:
        W[[3, 17]] = W[:, [3, 17]] = 0
    return check_affinity(W.astype(dtype)), rng.integers(n_groups, size=n_nodes).astype(np.int32)


def level_of(W, codes):
    return GraphLevel(to_graph(W), codes, None)


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize(
    ("kind", "shift", "dtype"), [("hard", 0.0, np.float32), ("hard", 0.7, np.float64), ("soft", 0.7, np.float32)]
)
def test_point_costs_equal_the_formula(kernels, shift, kind, dtype):
    W, codes = random_graph(300, dtype=dtype)
    rng = np.random.default_rng(1)
    labels = rng.integers(4, size=300).astype(np.int32)
    S = np.eye(4)[labels] if kind == "hard" else rng.dirichlet(np.ones(4), 300).astype(np.float32).astype(float)
    objective = NCutObjective(to_graph(W), shift)
    with using(kernels):
        sweep = unfilled_oracle(codes, 3, 4)
        layout = sweep.layout
        value = objective.fill(
            sweep, labels if kind == "hard" else S.astype(np.float32), layout.to_visiting_order(labels)
        )
    expected = oracles.ncut_costs(W.toarray().astype(float), S, shift)
    found = layout.to_user_order(excess_costs(sweep))
    low = expected.min(axis=1)
    assert np.allclose(found, expected - low[:, None], rtol=2e-5, atol=1e-7)
    assert sweep.base_cost == pytest.approx(4 * (1 + shift) + low.sum(), rel=1e-6)
    assert value == pytest.approx(metrics.ncut_objective(W, labels), rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_sufficient_shift_makes_the_costs_an_upper_bound(seed):
    W, _ = random_graph(80, seed=seed)
    graph = to_graph(W)
    shift = sufficient_shift(graph, np.random.RandomState(0))
    held = graph.degree > 0
    scaled = (W.toarray() / np.sqrt(np.outer(graph.degree, graph.degree) + ~np.outer(held, held)))[held][:, held]
    assert np.linalg.eigvalsh(scaled).min() + shift >= 0
    rng = np.random.default_rng(seed)
    start = rng.integers(3, size=80).astype(np.int32)
    costs = oracles.ncut_costs(W.toarray(), np.eye(3)[start], shift)
    assert 3 * (1 + shift) + costs[np.arange(80), start].sum() == pytest.approx(metrics.ncut_objective(W, start))
    for _ in range(50):
        labels = np.where(rng.random(80) < rng.random(), rng.integers(3, size=80), start)
        if len(np.unique(labels)) == 3:
            bound = 3 * (1 + shift) + costs[np.arange(80), labels].sum()
            assert metrics.ncut_objective(W, labels) <= bound + 1e-9


def fairness(target):
    """The error of one attribute, whose groups are the cells."""
    return make_subproblem(KL(np.asarray(target), weight=1.0))


# Three cells: as one attribute, as two (the third cell does not count in the second), as groups that overlap.
TERMS = [
    pytest.param(fairness([0.2, 0.3, 0.5]), id="one attribute"),
    pytest.param(
        make_subproblem(
            KL(np.array([0.4, 0.6]), weight=1.0),
            KL(np.array([0.5, 0.5]), weight=0.5),
            memberships=[
                np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]),
                np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]),
            ],
        ),
        id="two attributes",
    ),
    pytest.param(
        make_subproblem(
            OverlapKL(np.array([0.6, 0.5]), weight=1.0),
            memberships=[np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])],
        ),
        id="overlapping groups",
    ),
    pytest.param(fairness([[0.2, 0.3, 0.5], [0.5, 0.3, 0.2], [0.4, 0.3, 0.3]]), id="a target per cluster"),
]


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize(("weight", "coarse"), [(0.0, False), (2.0, False), (2.0, True)])
@pytest.mark.parametrize("asked", TERMS)
def test_moves_end_where_no_single_move_pays(kernels, weight, coarse, asked):
    W, codes = random_graph(50)
    level = level_of(W, codes)
    if coarse:
        hierarchy, _ = coarsen(level, asked.membership, 30, np.inf, np.random.RandomState(0))
        level = hierarchy.levels[1]
    n_nodes = level.graph.n_nodes
    energy = CutEnergy(asked, weight, 3)
    labels = np.random.default_rng(0).integers(3, size=n_nodes).astype(np.int32)
    before = energy.value(level, labels)
    with using(kernels):
        energy.move(level, labels, np.random.RandomState(0), 0.0)
    after = energy.value(level, labels)
    assert after < before
    for node, cluster in itertools.product(range(n_nodes), range(3)):
        if (labels == labels[node]).sum() > 1:
            tried = labels.copy()
            tried[node] = cluster
            assert energy.value(level, tried) >= after - 1e-9


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numpy_graph_kernels_equal_the_compiled_ones(dtype):
    W, codes = random_graph(200, dtype=dtype)
    results = []
    for kernels in (case.values[0] for case in KERNELS):
        with using(kernels):
            level = level_of(W, codes)
            hierarchy, _ = coarsen(level, np.eye(3), 20, heaviest_node(level, 4), np.random.RandomState(0))
            energy = CutEnergy(fairness(np.bincount(codes) / 200), 3.0, 4)
            labels = np.random.default_rng(0).integers(4, size=200).astype(np.int32)
            moved = cycle(level, energy, labels, 30, np.random.RandomState(1))
            results.append((hierarchy, moved))
    assert all(np.array_equal(a, b) for a, b in zip(results[0][0].parents, results[1][0].parents, strict=True))
    coarse = [hierarchy.coarsest.graph.matrix.toarray() for hierarchy, _ in results]
    assert np.allclose(*coarse, rtol=1e-5)
    assert np.array_equal(results[0][1], results[1][1])


@pytest.mark.parametrize("asked", TERMS)
def test_energy_is_the_same_on_every_level(asked):
    W, codes = random_graph(200)
    labels = np.random.default_rng(2).integers(3, size=200).astype(np.int32)
    energy = CutEnergy(asked, 5.0, 3)
    level = level_of(W, codes)
    hierarchy, coarse = coarsen(level, asked.membership, 40, np.inf, np.random.RandomState(0), labels)
    assert hierarchy.coarsest.graph.n_nodes < 120
    assert energy.value(hierarchy.coarsest, coarse) == pytest.approx(energy.value(level, labels), rel=1e-9)


def test_fair_embedding_gives_every_group_its_share():
    W, codes = random_graph(700, isolated=False)
    level = level_of(W, codes)
    target = np.bincount(codes) / 700
    rows = embedding(level, 4, imbalance(level, fairness(target)), np.random.RandomState(0))
    unfair = (np.eye(3)[codes] - target).T @ rows
    plain = (np.eye(3)[codes] - target).T @ embedding(level, 4, None, np.random.RandomState(0))
    assert abs(unfair).max() < 1e-6 * abs(plain).max()


def test_two_squares_are_parted():
    W = affinity_from_edges(SQUARES)
    model = FairNCut(2, affinity="precomputed", goal=Penalty(1.0), random_state=0).fit(W, sensitive_features=SEXES)
    assert metrics.balance(model.labels_, SEXES) == 1
    assert len(set(model.labels_[:4])) == len(set(model.labels_[4:])) == 1
    assert model.objective_ == pytest.approx(2 / 9)


@pytest.mark.parametrize("weight", [0.0, 0.5, 5.0])
def test_small_graphs_are_cut_as_well_as_by_brute_force(weight):
    W, codes = random_graph(11, 2, seed=4, isolated=False)
    target = np.bincount(codes) / 11
    model = FairNCut(2, affinity="precomputed", goal=Penalty(weight), random_state=0)
    model.fit(W, sensitive_features=codes)
    energy = CutEnergy(fairness(target), weight, 2)
    level = level_of(W, codes)
    every = (np.array(labels, dtype=np.int32) for labels in itertools.product([0, 1], repeat=11))
    best = min(energy.value(level, labels) for labels in every if 0 < labels.sum() < 11)
    assert model.energy_ == pytest.approx(best)


@pytest.mark.parametrize("make", [datasets.make_synthetic, datasets.make_synthetic_unequal])
@pytest.mark.parametrize("asked", [0.01, Penalty(10.0), ExactProportions(), MaxCostIncrease(0.1)], ids=str)
def test_synthetic_sets_are_cut_nowhere_and_fair(make, asked):
    data = make()
    model = FairNCut(2, goal=asked, random_state=0)
    model.fit(data.data, sensitive_features=data.sensitive_features)
    assert model.objective_ == pytest.approx(0, abs=1e-9)
    assert model.fairness_error_ == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("solver", "init"),
    [
        (solvers.Dual(), "spectral"),
        (solvers.Dual(local_search=False), "k-means++"),
        ("bound", "k-means++"),
        (solvers.BoundOptimization(soft=True), "spectral"),
    ],
    ids=str,
)
def test_energy_never_rises_and_the_result_adds_up(solver, init):
    data = people(300, n_groups=3)
    model = FairNCut(
        4, goal=Penalty(2.0), n_neighbors=8, solver=solver, init=init, random_state=0, max_iter=20,
    ).fit(data.X, sensitive_features=data.groups)  # fmt: skip
    assert (np.diff(model.energy_history_) <= 0).all()
    assert len(model.energy_history_) == model.n_iter_
    W = model.affinity_matrix_
    assert model.objective_ == pytest.approx(metrics.ncut_objective(W, model.labels_), abs=1e-9)
    assert model.fairness_error_ == pytest.approx(metrics.fairness_error(model.labels_, data.groups), abs=1e-9)
    if not getattr(solver, "soft", False):
        assert model.energy_ == pytest.approx(model.objective_ + 2.0 * model.fairness_error_)
        assert model.energy_ == pytest.approx(model.energy_history_[-1])


def test_labels_are_bit_identical_for_1_2_and_4_threads():
    data = people(9000, n_clusters=3, n_groups=3)
    W = nearest_neighbors_graph(data.X, 8)
    fits = [
        FairNCut(3, affinity="precomputed", goal=Penalty(3.0), random_state=0, n_jobs=n_jobs, n_init=1).fit(
            W, sensitive_features=data.groups
        )
        for n_jobs in (1, 2, 4)
    ]
    for other in fits[1:]:
        assert np.array_equal(other.labels_, fits[0].labels_)
        assert np.array_equal(other.energy_history_, fits[0].energy_history_)


def test_more_weight_is_fairer_and_cuts_more():
    data = people(800, n_clusters=6, seed=3)
    W = nearest_neighbors_graph(data.X, 10)
    fits = [
        FairNCut(6, affinity="precomputed", goal=Penalty(weight), random_state=0).fit(W, sensitive_features=data.groups)
        for weight in (0.0, 1.0, 100.0)
    ]
    errors, cuts = [fit.fairness_error_ for fit in fits], [fit.objective_ for fit in fits]
    assert errors[0] > errors[1] > errors[2]
    assert cuts[0] < cuts[2]


def test_impossible_goal_is_missed_with_a_warning():
    W = affinity_from_edges(SQUARES)
    with pytest.warns(FairnessGoalMissed, match="MaxFairnessError"):
        FairNCut(2, affinity="precomputed", goal=1e-6, target_proportions={"F": 0.9, "M": 0.1}, random_state=0).fit(
            W, sensitive_features=SEXES
        )


def test_isolated_nodes_go_where_fairness_wants_them():
    W = affinity_from_edges([(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)], n_nodes=8)
    groups = ["F", "M", "M", "F", "F", "M", "F", "M"]  # nodes 6 and 7 have no links
    model = FairNCut(2, affinity="precomputed", goal=Penalty(5.0), random_state=0).fit(W, sensitive_features=groups)
    assert model.objective_ == pytest.approx(0)
    assert model.fairness_error_ == pytest.approx(0)


def test_parts_of_a_disconnected_graph_may_share_a_cluster():
    triangles = [(3 * i + a, 3 * i + b) for i in range(4) for a, b in [(0, 1), (1, 2), (0, 2)]]
    groups = np.repeat(["F", "F", "M", "M"], 3)
    W = affinity_from_edges(triangles)
    model = FairNCut(2, affinity="precomputed", goal=Penalty(5.0), random_state=0).fit(W, sensitive_features=groups)
    assert model.objective_ == pytest.approx(0)
    assert model.balance_ == 1


def test_self_loops_stay_inside():
    W = affinity_from_edges([*SQUARES, (0, 0), (4, 4)])
    model = FairNCut(2, affinity="precomputed", goal=None, random_state=0).fit(W)
    assert model.objective_ == pytest.approx(metrics.ncut_objective(W, model.labels_)) == pytest.approx(2 / 10)


def test_graph_can_be_used_again():
    data = people(300)
    first = FairNCut(3, goal=Penalty(1.0), random_state=0).fit(data.X, sensitive_features=data.groups)
    again = FairNCut(3, goal=Penalty(1.0), random_state=0, affinity="precomputed")
    again.fit(first.affinity_matrix_, sensitive_features=data.groups)
    assert np.array_equal(first.labels_, again.labels_)
    dense = FairNCut(3, goal=Penalty(1.0), random_state=0, affinity="precomputed")
    dense.fit(first.affinity_matrix_.toarray(), sensitive_features=data.groups)
    assert np.array_equal(first.labels_, dense.labels_)


def test_labels_to_start_from_are_taken():
    W = affinity_from_edges(SQUARES)
    start = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    model = FairNCut(2, affinity="precomputed", init=start, goal=Penalty(1.0)).fit(W, sensitive_features=SEXES)
    assert np.array_equal(model.labels_, start)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"affinity": "rbf"}, "affinity='rbf'"),
        ({"n_neighbors": 0}, "n_neighbors=0"),
        ({"affinity": "precomputed", "init": "k-means++"}, "needs points"),
        ({"affinity": "precomputed", "init": np.array([0, 1, 2, 0, 1, 2, 0, 5])}, "outside 0 to 2"),
        ({"affinity": "precomputed", "init": np.array([0, 1])}, "init has 2 rows"),
    ],
)
def test_wrong_arguments_are_refused(options, message):
    W = affinity_from_edges(SQUARES).toarray()
    with pytest.raises(InvalidInputError, match=message):
        FairNCut(3, **options).fit(W)


def changed(*entries):
    """The two squares' affinities with entries (row, column, value) changed."""
    W = affinity_from_edges(SQUARES).toarray()
    for row, column, value in entries:
        W[row, column] = value
    return W


@pytest.mark.parametrize(
    ("W", "message"),
    [
        (changed((0, 1, 2.0)), "not symmetric: it and its transpose differ by up to 1. Pass"),
        (changed((0, 1, -1.0), (1, 0, -1.0)), r"negative affinities \(down to -1\)"),
        (changed((2, 5, np.nan), (5, 2, np.nan)), "X has 2 NaN or infinite affinities, the first in row 2, column 5"),
        (changed((2, 5, np.inf), (5, 2, np.inf)), "X has 2 NaN or infinite affinities, the first in row 2, column 5"),
        (changed((0, 1, 1e308), (1, 0, 1e308)), "whose sum overflows. Divide them by the largest"),
        (changed()[:5], r"X has shape \(5, 8\), but affinity='precomputed' needs one row and one column per node"),
        (changed() * 0, "no links at all"),
    ],
    ids=["asymmetric", "negative", "NaN", "infinite", "overflow", "not square", "no links"],
)
def test_graphs_that_cannot_be_cut_are_refused(W, message):
    for kind in (np.asarray, sparse.csr_array):
        with pytest.raises(InvalidInputError, match=message):
            FairNCut(2, affinity="precomputed").fit(kind(W), sensitive_features=SEXES)


def test_networkx_graph_is_refused_with_the_helpers_name():
    networkx = pytest.importorskip("networkx")
    with pytest.raises(InvalidInputError, match="affinity_from_networkx"):
        FairNCut(2, affinity="precomputed").fit(networkx.path_graph(8), sensitive_features=SEXES)


def test_only_self_loops_leave_nothing_to_cut():
    model = FairNCut(2, affinity="precomputed", random_state=0).fit(np.eye(6), sensitive_features=list("FMFMFM"))
    assert model.objective_ == pytest.approx(0)
    assert model.goal_met_


# --- goals and paths, with both solvers -------------------------------------------------------------------------------


def neighborhood():
    """A graph of people whose plain clusters are unfair."""
    data = people(300, n_clusters=3, n_groups=3, seed=7)
    return nearest_neighbors_graph(data.X, 10), data.groups


@functools.cache
def plain_cut():
    W, groups = neighborhood()
    return FairNCut(3, affinity="precomputed", goal=None, random_state=0).fit(W, sensitive_features=groups)


@pytest.mark.parametrize("goal", GOALS)
def test_every_goal_is_met(goal):
    (W, groups), plain = neighborhood(), plain_cut()
    model = FairNCut(3, goal=goal, affinity="precomputed", random_state=0)
    model.fit(W, sensitive_features=groups)
    counts = np.array(
        [[((model.labels_ == k) & (groups == name)).sum() for name in np.unique(groups)] for k in range(3)]
    )
    if isinstance(goal, MaxCostIncrease):
        assert model.objective_ <= plain.objective_ * (1 + goal.limit) + 1e-12
    else:
        attribute = Attribute(model.group_names_, np.eye(3), model.target_proportions_)
        assert not goal.term(attribute).violation(counts.astype(float)).any()
    assert model.goal_met_
    assert model.fairness_error_ < 0.5 * plain.fairness_error_
    assert model.objective_ == pytest.approx(metrics.ncut_objective(W, model.labels_))
    assert (np.diff(model.energy_history_) <= 0).all()


@pytest.mark.parametrize("solver", ["dual", "bound"])
def test_path_rises_in_cost_and_falls_in_error(solver):
    W, groups = neighborhood()
    path = fairclust.fairness_path(
        FairNCut(3, affinity="precomputed", solver=solver, random_state=0), W, sensitive_features=groups,
        goals=[Penalty(weight) for weight in (0, 0.1, 1, 10, 100)],
    )  # fmt: skip
    assert (np.diff(path.fairness_errors) <= 0).all()
    assert (np.diff(path.objectives) >= 0).all()
    assert path.fairness_errors[-1] < 0.01 * path.fairness_errors[0]
    for labels, objective in zip(path.labels, path.objectives, strict=True):
        assert metrics.ncut_objective(W, labels) == pytest.approx(objective, abs=1e-9)


def test_progress_is_printed(capsys):
    data = people(200)
    FairNCut(3, goal=Penalty(1.0), verbose=1, random_state=0).fit(data.X, sensitive_features=data.groups)
    printed = capsys.readouterr().out
    assert "graph: neighbours of 200 points" in printed
    assert "energy" in printed


def test_coarse_starts_race_to_a_lower_energy_than_the_papers_start():
    data = people(4000, n_clusters=6, n_groups=3, seed=5)
    W = nearest_neighbors_graph(data.X, 10)
    ours = FairNCut(6, affinity="precomputed", goal=Penalty(3.0), random_state=0).fit(W, sensitive_features=data.groups)
    paper = FairNCut(
        6, n_neighbors=10, goal=Penalty(3.0), init="k-means++", solver=solvers.Dual(local_search=False), random_state=0
    )
    paper.fit(data.X, sensitive_features=data.groups)
    assert ours.energy_ < paper.energy_
