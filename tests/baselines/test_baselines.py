"""The baselines against oracles: brute force, SciPy's matching, the whole linear program, a dense eigensolver."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.linalg import eigh, null_space
from scipy.optimize import linear_sum_assignment, linprog
from scipy.spatial.distance import cdist
from sklearn.utils.estimator_checks import parametrize_with_checks

from cases import people
from fairclust import baselines, datasets, metrics
from fairclust.baselines import (
    FairAssignment,
    Fairlets,
    FairSpectral,
    ScalableFairlets,
    _assignment,
    fair_coreset,
    merge_coresets,
)
from fairclust.baselines import _fairlets as flow
from fairclust.baselines import _scalable_fairlets as tree
from fairclust.baselines._centers import plain_centers
from fairclust.errors import InvalidInputError
from fairclust.graphs import nearest_neighbors_graph

# --- the contract -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@parametrize_with_checks(
    [
        Fairlets(3, n_init=1),
        ScalableFairlets(3, n_init=1),
        FairAssignment(3, n_init=1),
        FairSpectral(3, n_neighbors=5, n_init=1),
    ]
)
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize("method", [Fairlets, ScalableFairlets])
def test_fairlets_refuse_three_groups(method):
    data = people(n_groups=3)
    with pytest.raises(InvalidInputError, match=r"has 3 groups, but \w+ is defined for two"):
        method(3).fit(data.X, sensitive_features=data.groups)


def test_a_balance_that_the_data_do_not_have_is_refused_with_one_they_have():
    X, groups = np.arange(8.0)[:, None], [0] * 2 + [1] * 6
    with pytest.raises(InvalidInputError, match=r"balance=\(1, 2\) cannot be met: .* for example \(1, 3\)"):
        Fairlets(2, balance=(1, 2)).fit(X, sensitive_features=groups)
    with pytest.raises(InvalidInputError, match="balance='half', but 'auto' or two whole numbers"):
        Fairlets(2, balance="half").fit(X, sensitive_features=groups)


def test_more_clusters_than_fairlets_are_refused():
    with pytest.raises(InvalidInputError, match="n_clusters=3 but the points make only 2 fairlets"):
        Fairlets(3).fit(np.arange(8.0)[:, None], sensitive_features=[0] * 2 + [1] * 6)


def test_bounds_that_exclude_the_data_are_refused():
    data = people()
    with pytest.raises(InvalidInputError, match="bounds cannot be met: group 'g0' has a share of"):
        FairAssignment(3, bounds={"g0": (0.99, 1.0)}).fit(data.X, sensitive_features=data.groups)


def test_several_columns_must_be_boolean():
    data = people()
    with pytest.raises(InvalidInputError, match="Several columns must be boolean"):
        FairAssignment(3).fit(data.X, sensitive_features=np.zeros((len(data.X), 2), dtype=int))


def test_without_groups_they_cluster_plainly():
    data = people()
    plain = FairAssignment(4, random_state=0).fit(data.X)
    nearest = cdist(data.X, plain.cluster_centers_).argmin(axis=1)
    assert (plain.labels_ == nearest).all()
    assert len(set(Fairlets(4, random_state=0).fit(data.X).fairlets_)) == len(data.X)


def test_every_name_of_the_contract_is_there():
    assert {"Fairlets", "ScalableFairlets", "FairAssignment", "FairSpectral", "fair_coreset"} <= set(baselines.__all__)


# --- fairlets ---------------------------------------------------------------------------------------------------------


def test_fairlets_one_to_one_are_the_cheapest_matching():
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(300, 2)), np.repeat([0, 1], 150)
    distances = cdist(X[codes == 0], X[codes == 1])
    best = distances[linear_sum_assignment(distances)].sum()
    assert flow.decompose(X, codes, 1, 1, "kmedian").cost == pytest.approx(best)


def _cheapest_stars(X, codes, q):
    """Least cost of stars, by trying every choice of centres and owners (tiny inputs)."""
    left, right = np.flatnonzero(codes == 0), np.flatnonzero(codes == 1)
    distances = cdist(X[left], X[right])
    best = np.inf
    # A set of links in which every point has 1 to q of them; minimal sets are stars.
    for links in itertools.product([0, 1], repeat=distances.size):
        chosen = np.array(links).reshape(distances.shape)
        degrees = np.concatenate((chosen.sum(axis=1), chosen.sum(axis=0)))
        if degrees.min() >= 1 and degrees.max() <= q:
            best = min(best, (chosen * distances).sum())
    return best


@pytest.mark.parametrize("seed", range(3))
def test_the_flow_finds_the_cheapest_stars(seed):
    X, codes = np.random.default_rng(seed).normal(size=(7, 2)), np.array([0, 0, 0, 1, 1, 1, 1])
    assert flow.decompose(X, codes, 1, 2, "kmedian").cost == pytest.approx(_cheapest_stars(X, codes, 2))


@pytest.mark.parametrize("ratio", [(1, 2), (2, 3)])
def test_the_flow_over_priced_links_is_the_optimum_over_all_links(ratio, monkeypatch):
    monkeypatch.setattr(flow, "_ALL_AT_ONCE", 0)
    p, q = ratio
    rng = np.random.default_rng(1)
    X, codes = rng.normal(size=(120, 3)), np.r_[np.zeros(50, int), np.ones(70, int)]
    X[codes == 1] += 1.0
    distances = cdist(X[codes == 0], X[codes == 1])
    degrees = np.concatenate((np.kron(np.eye(50), np.ones(70)), np.kron(np.ones(50), np.eye(70))), axis=0)
    whole = linprog(distances.ravel(), np.concatenate((degrees, -degrees)), np.r_[np.full(120, q), np.full(120, -p)])
    assert flow.decompose(X, codes, p, q, "kmedian").cost == pytest.approx(whole.fun)


@pytest.mark.parametrize("seed", range(3))
def test_kcenter_fairlets_have_the_shortest_longest_link(seed):
    X, codes = np.random.default_rng(seed).normal(size=(7, 2)), np.array([0, 0, 0, 1, 1, 1, 1])
    distances = cdist(X[codes == 0], X[codes == 1])
    best = np.inf
    for links in itertools.product([0, 1], repeat=distances.size):
        chosen = np.array(links).reshape(distances.shape)
        degrees = np.concatenate((chosen.sum(axis=1), chosen.sum(axis=0)))
        if degrees.min() >= 1 and degrees.max() <= 2:
            best = min(best, (chosen * distances).max())
    assert flow.decompose(X, codes, 1, 2, "kcenter").cost == pytest.approx(best)


@pytest.mark.parametrize("method", [Fairlets, ScalableFairlets])
@pytest.mark.parametrize("make", [datasets.make_synthetic, datasets.make_synthetic_unequal])
def test_fairlets_on_the_papers_synthetic_sets_give_proportional_clusters(method, make):
    data = make()
    X, groups = datasets.standardize_and_normalize(data.data)[::2], data.sensitive_features[::2]
    model = method(2, random_state=0).fit(X, sensitive_features=groups)
    assert model.fairness_error_ < 0.02


def test_fairlets_of_the_tree_are_far_tighter_than_chance_and_cost_a_few_times_the_flows():
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(2000, 2)), (rng.random(2000) < 0.4).astype(int)
    cheap = tree.spread(X, flow.decompose(X, codes, 1, 2, "kmedian").fairlets)
    fast = np.mean([tree.spread(X, tree.decompose(X, codes, 1, 2, np.random.RandomState(s))) for s in range(5)])
    chance = tree.spread(X[rng.permutation(2000)], tree.decompose(X, codes, 1, 2, np.random.RandomState(0)))
    assert cheap <= fast <= 3.0 * cheap
    assert fast <= 0.3 * chance


@pytest.mark.slow
def test_a_million_points_get_fairlets_and_clusters():
    data = datasets.make_census_like(1_000_000)
    model = ScalableFairlets(20, n_init=1, random_state=0).fit(data.data, sensitive_features=data.sensitive_features)
    assert model.balance_ >= 0.5


# --- fair assignment --------------------------------------------------------------------------------------------------


def _whole_program(costs, table, lower, upper):
    """The assignment program with every column and dense rows."""
    n_samples, k = costs.shape
    belong = np.kron(np.eye(n_samples), np.ones(k))
    rows = []
    for c, j in itertools.product(range(k), range(table.shape[1])):
        inside = np.zeros((n_samples, k))
        inside[:, c] = table[:, j] - upper[j]
        rows.append(inside.ravel())
        inside = np.zeros((n_samples, k))
        inside[:, c] = lower[j] - table[:, j]
        rows.append(inside.ravel())
    return linprog(costs.ravel(), np.array(rows), np.zeros(len(rows)), belong, np.ones(n_samples)).fun


@pytest.mark.parametrize("n_groups", [2, 3])
def test_the_assignment_program_is_solved_to_its_optimum(n_groups, monkeypatch):
    data = people(n_samples=120, n_clusters=3, n_groups=n_groups, seed=1)
    model = FairAssignment(3, bounds=0.1, init=data.init, random_state=0)
    costs = cdist(data.X, data.init) ** 2
    table = (data.groups[:, None] == np.unique(data.groups)).astype(float)
    everything = model.fit(data.X, sensitive_features=data.groups).lp_cost_
    best = _whole_program(costs, table, model.lower_bounds_, model.upper_bounds_)
    # The same from a few columns, priced.
    monkeypatch.setattr(_assignment, "_ALL_AT_ONCE", 0)
    priced = model.fit(data.X, sensitive_features=data.groups).lp_cost_
    assert everything == pytest.approx(best)
    assert priced == pytest.approx(best)


def test_the_program_of_groups_that_overlap_is_solved_from_a_few_columns_too(monkeypatch):
    data = people(n_samples=200, n_clusters=3, seed=2)
    rng = np.random.default_rng(0)
    members = np.column_stack((data.X[:, 0] > 0, rng.random(200) < 0.6, rng.random(200) < 0.3))
    model = FairAssignment(3, bounds=0.1, init=data.init, random_state=0)
    everything = model.fit(data.X, sensitive_features=members).lp_cost_
    monkeypatch.setattr(_assignment, "_ALL_AT_ONCE", 0)
    assert model.fit(data.X, sensitive_features=members).lp_cost_ == pytest.approx(everything)


@pytest.mark.parametrize("seed", range(4))
def test_no_fair_assignment_of_whole_points_is_cheaper_than_the_program(seed):
    rng = np.random.default_rng(seed)
    X, groups = rng.normal(size=(8, 2)), np.array([0, 1] * 4)
    init = X[:2]
    model = FairAssignment(2, bounds={0: (0.4, 0.6), 1: (0.4, 0.6)}, init=init).fit(X, sensitive_features=groups)
    costs = cdist(X, init) ** 2
    fair = []
    for labels in itertools.product([0, 1], repeat=8):
        labels = np.array(labels)
        shares = [np.mean(groups[labels == c] == 0) for c in (0, 1) if (labels == c).any()]
        if all(0.4 <= share <= 0.6 for share in shares):
            fair.append(costs[np.arange(8), labels].sum())
    assert model.lp_cost_ <= min(fair) + 1e-9


def test_kcenter_assignment_has_the_least_radius_of_any_split():
    rng = np.random.default_rng(3)
    X, groups = rng.normal(size=(40, 2)), np.array([0, 1] * 20)
    model = FairAssignment(3, objective="kcenter", bounds=0.1, init=X[:3]).fit(X, sensitive_features=groups)
    distances = cdist(X, X[:3])
    table = (groups[:, None] == np.arange(2)).astype(float)
    for reach, is_enough in ((model.lp_cost_, True), (model.lp_cost_ - 1e-9, False)):
        costs = np.where(distances <= reach + 1e-12, 0.0, 1.0)
        least = _whole_program(costs, table, model.lower_bounds_, model.upper_bounds_)
        assert (least < 1e-7) is is_enough
    assert model.objective_ == pytest.approx(model.lp_cost_)
    assert model.max_violation_ < 2


def test_one_attribute_and_its_table_of_memberships_are_the_same_problem():
    data = people(n_groups=3, n_clusters=3)
    table = data.groups[:, None] == np.unique(data.groups)
    by_name = FairAssignment(3, random_state=0).fit(data.X, sensitive_features=data.groups)
    by_table = FairAssignment(3, random_state=0).fit(data.X, sensitive_features=table)
    assert by_name.lp_cost_ == pytest.approx(by_table.lp_cost_)
    assert (by_name.proportions_ == by_table.proportions_).all()


# --- fair spectral ----------------------------------------------------------------------------------------------------


def _fair_subspace(W, groups, n_vectors, normalized):
    """The paper's Algorithms 2 and 3 as written, with dense matrices."""
    degrees = np.asarray(W.sum(axis=0)).ravel()
    laplacian = np.diag(degrees) - W
    members = (groups[:, None] == np.unique(groups)).astype(float)
    basis = null_space((members - members.mean(axis=0))[:, :-1].T)
    weigh = np.diag(degrees) if normalized else np.eye(len(W))
    values, vectors = eigh(basis.T @ laplacian @ basis, basis.T @ weigh @ basis)
    return values[: n_vectors + 1], basis @ vectors[:, :n_vectors]


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("n_samples", [150, 700])  # dense and iterative
def test_the_fair_coordinates_are_those_of_a_dense_eigensolver(normalized, n_samples):
    data = people(n_samples=n_samples, n_groups=3, seed=2)
    W = nearest_neighbors_graph(data.X, 12)
    model = FairSpectral(4, affinity="precomputed", normalized=normalized, random_state=0)
    found = model.fit(W, sensitive_features=data.groups).embedding_
    values, wanted = _fair_subspace(W.toarray().astype(float), data.groups, 4, normalized)
    assert values[4] - values[3] > 1e-4, "the subspace is well defined"
    weigh = np.diag(W.toarray().sum(axis=0)) if normalized else np.eye(n_samples)
    overlap = np.linalg.svd(wanted.T @ weigh @ found)[1]
    lengths = np.sqrt(np.einsum("ij,ij->j", found, weigh @ found))
    assert overlap / lengths.max() == pytest.approx(np.ones(4), abs=1e-3)
    members = (data.groups[:, None] == np.unique(data.groups)).astype(float)
    assert np.abs((members - members.mean(axis=0)).T @ found).max() < 1e-6


def test_without_groups_fair_spectral_is_plain_spectral_clustering():
    data = people(n_samples=200, seed=3)
    W = nearest_neighbors_graph(data.X, 12)
    found = FairSpectral(3, affinity="precomputed", random_state=0).fit(W).embedding_
    degrees = np.asarray(W.sum(axis=0)).ravel()
    _, wanted = eigh(np.diag(degrees) - W.toarray(), np.diag(degrees))
    overlap = np.linalg.svd(wanted[:, :3].T @ np.diag(degrees) @ found)[1]
    assert overlap == pytest.approx(np.ones(3), abs=1e-6)


# --- coresets ---------------------------------------------------------------------------------------------------------


def test_a_coreset_of_more_rows_than_there_are_is_the_data():
    data = people(n_samples=60)
    small = fair_coreset(data.X, data.groups, 100, random_state=0)
    assert sorted(small.indices) == list(range(60))
    assert (small.sample_weight == 1).all()


def test_overlapping_groups_are_sampled_by_signature():
    rng = np.random.default_rng(0)
    X, table = rng.normal(size=(400, 2)), rng.random((400, 2)) < 0.5
    small = fair_coreset(X, table, 100, n_clusters=3, random_state=0)
    for signature in itertools.product([False, True], repeat=2):
        mine = (small.sensitive_features == signature).all(axis=1)
        assert small.sample_weight[mine].sum() == pytest.approx((table == signature).all(axis=1).sum())


def test_merging_nothing_is_refused():
    with pytest.raises(InvalidInputError, match="parts is empty"):
        merge_coresets([])


# --- the figures of others --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_on_adult_fair_assignment_is_where_others_measured_it():
    try:
        data = datasets.fetch_adult(download=False)
    except OSError as reason:
        pytest.skip(str(reason))
    model = FairAssignment(10, bounds=0.2, random_state=0).fit(data.data, sensitive_features=data.sensitive_features)
    assert model.objective_ == pytest.approx(9774.5, rel=2e-3)
    assert model.fairness_error_ == pytest.approx(0.068, abs=0.003)
    assert metrics.balance(model.labels_, data.sensitive_features) == pytest.approx(model.balance_)


@pytest.mark.slow
def test_on_adult_fair_spectral_is_where_others_measured_it():
    try:
        data = datasets.fetch_adult(download=False)
    except OSError as reason:
        pytest.skip(str(reason))
    model = FairSpectral(10, n_neighbors=19, random_state=0).fit(data.data, sensitive_features=data.sensitive_features)
    assert model.objective_ == pytest.approx(0.464, abs=0.003)
    assert model.fairness_error_ == pytest.approx(0.0615, abs=0.002)


@pytest.mark.parametrize("seed", range(3))
def test_farthest_first_is_within_twice_the_best_radius(seed):
    X = np.random.default_rng(seed).normal(size=(12, 2))
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    best = min(distances[list(rows)].min(axis=0).max() for rows in itertools.combinations(range(12), 3))
    centers = plain_centers(X, 3, "kcenter", 1, np.random.RandomState(seed))
    radius = np.linalg.norm(X[:, None] - centers[None], axis=2).min(axis=1).max()
    assert best <= radius + 1e-12
    assert radius <= 2 * best
