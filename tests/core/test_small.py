"""The small algebra: compiled and in NumPy, the same numbers; and what they should be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairclust._core import fallback, is_compiled, kernels
from fairclust._core.tiles import in_blocks

BOTH = [pytest.param(fallback, id="numpy")] + ([pytest.param(kernels, id="compiled")] if is_compiled else [])


def tables(n_cells=3, n_clusters=5, seed=0):
    """Pairs, masses and sampled weights as a sweep counts them, of points with known assignments."""
    rng = np.random.default_rng(seed)
    soft = rng.dirichlet(np.full(n_clusters, 0.4), (n_cells, 40))
    pairs = np.triu(np.einsum("cpk,cpl->ckl", soft, soft), 1)
    every = np.arange(n_clusters)
    pairs[:, every, every] = (soft**2).sum(axis=1)
    return soft, pairs, soft.sum(axis=1), np.full(n_cells, 40.0)


@pytest.mark.parametrize("module", BOTH)
def test_the_laplacian_is_how_masses_answer_to_prices(module):
    soft, *counted = tables()
    found = module.laplacian(*counted, 1e-3)
    every = np.arange(soft.shape[2])
    wanted = -np.einsum("cpk,cpl->ckl", soft, soft)
    wanted[:, every, every] += soft.sum(axis=1)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("module", BOTH)
def test_the_response_is_a_sum_over_cells(module):
    rng = np.random.default_rng(1)
    laplacians, through = rng.normal(size=(3, 4, 4)), rng.normal(size=(4, 3, 2))
    laplacians += laplacians.transpose(0, 2, 1)
    found = module.response(laplacians, through)
    for k, t, j, u in np.ndindex(4, 2, 4, 2):
        wanted = sum(through[k, c, t] * laplacians[c, k, j] * through[j, c, u] for c in range(3))
        assert found[2 * k + t, 2 * j + u] == pytest.approx(wanted, rel=1e-12, abs=1e-12)


def thetas(n_groups, scale, seed=0):
    """Unknowns of seven clusters, and the target of each; one has equal ones, one a very large one."""
    rng = np.random.default_rng(seed)
    theta = scale * rng.normal(size=(7, n_groups))
    theta[1] = theta[1, 0]
    theta[2, 0] += 50 * scale
    return theta, rng.dirichlet(np.full(n_groups, 2.0), 7)


@given(
    n_groups=st.integers(1, 6),
    limit=st.sampled_from([1e-4, 0.01, 1.0, 1e9]),
    scale=st.sampled_from([1e-9, 1.0, 1e9]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=60)
def test_support_functions_are_the_same_compiled_or_not(n_groups, limit, scale, seed):
    theta, center = thetas(n_groups, scale, seed)
    softness = scale * np.array([0.01, 10.0, 0.01, 0.01, 0.3, 10.0, 1e-6])
    if limit < 1e9:
        softness[[1, 3]] = 0.0
    one, other = (module.kl_support(theta, center, limit, softness) for module in (kernels, fallback))
    for found, wanted, name in zip(one, other, ("argmax", "value", "jacobian"), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7 * abs(wanted).max(), err_msg=name)


@pytest.mark.parametrize("module", BOTH)
@pytest.mark.parametrize(("limit", "softness"), [(0.01, 0.0), (0.01, 0.002), (0.05, 5.0), (1e9, 0.5)])
@pytest.mark.parametrize("n_groups", [2, 3, 5])
def test_a_maximiser_is_feasible_and_the_gradient_of_the_maximum(module, n_groups, limit, softness):
    theta, center = thetas(n_groups, 1.0)
    theta, center = np.delete(theta, 1, axis=0), np.delete(center, 1, axis=0)  # one with equal unknowns has several
    softness = np.full(len(theta), softness)
    shares, value, jacobian = module.kl_support(theta, center, limit, softness)
    divergence = (center * np.log(center / shares)).sum(axis=1)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
    assert (divergence <= limit * (1 + 1e-8)).all()
    np.testing.assert_allclose(value, (theta * shares).sum(axis=1) - softness * divergence, rtol=1e-7, atol=1e-9)
    for j in range(n_groups):
        step = 1e-5 * np.eye(n_groups)[j]
        after, before = (module.kl_support(theta + sign * step, center, limit, softness) for sign in (1, -1))
        np.testing.assert_allclose((after[1] - before[1]) / 2e-5, shares[:, j], rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose((after[0] - before[0]) / 2e-5, jacobian[:, :, j], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("module", BOTH)
def test_of_equal_unknowns_the_target_is_the_maximiser(module):
    theta, center = np.full((2, 3), 4.0), np.array([[0.2, 0.3, 0.5]])
    shares, value, _ = module.kl_support(theta, center, 0.01, np.array([0.0, 1.0]))
    np.testing.assert_allclose(shares, np.repeat(center, 2, axis=0), rtol=1e-12)
    np.testing.assert_allclose(value, 4.0, rtol=1e-12)


def two_means(module, points, mass, power=2):
    """Two centres of all points, and what they gain."""
    every, alone = np.arange(len(points), dtype=np.int32), np.zeros(len(points), dtype=np.int32)
    gains, places = module.halves(points, every, alone, mass, 1, 512, power, 8, 6, 1)
    return gains[0], places[0]


@pytest.mark.parametrize("module", BOTH)
@pytest.mark.parametrize("power", [1, 2])
def test_two_means_find_two_heaps(module, power):
    rng = np.random.default_rng(6)
    points = np.concatenate((rng.normal(size=(40, 3)), rng.normal((9.0, 0.0, 4.0), 1.0, (60, 3))))
    mass = rng.uniform(0.5, 2.0, 100)
    gain, places = two_means(module, points, mass, power)
    heaps = [np.average(points[part], axis=0, weights=mass[part]) for part in (slice(40), slice(40, None))]
    np.testing.assert_allclose(np.sort(places, axis=0), np.sort(heaps, axis=0), rtol=1e-9)
    one = np.linalg.norm(points - np.average(points, axis=0, weights=mass), axis=1) ** power
    two = np.min([np.linalg.norm(points - heap, axis=1) for heap in heaps], axis=0) ** power
    assert gain == pytest.approx(mass @ (one - two), rel=1e-9)


@pytest.mark.parametrize("module", BOTH)
@pytest.mark.parametrize("points", [np.ones((1, 2)), np.ones((5, 2)), np.zeros((0, 2))], ids=["one", "alike", "none"])
def test_what_cannot_be_cut_in_two_gains_nothing(module, points):
    gain, places = two_means(module, points, np.ones(len(points)))
    assert gain == 0.0
    assert places.shape == (2, 2)


@pytest.mark.parametrize(
    ("n_features", "power", "is_weighted", "dtype"),
    [(1, 1, False, np.float32), (3, 2, True, np.float64), (40, 2, False, np.float32), (40, 1, True, np.float64),
     (3, 1, True, np.float32), (1, 2, False, np.float64)],
)  # fmt: skip
def test_halves_are_the_same_compiled_or_not(dtype, is_weighted, power, n_features):
    """Of clusters that are sampled, taken whole, of one point, and empty; for any number of threads."""
    rng = np.random.default_rng(11)
    X = (5.0 + rng.normal(size=(2000, n_features)) * rng.gamma(1.0, size=n_features)).astype(dtype)
    order = rng.permutation(2000).astype(np.int32)
    labels = rng.choice(3, 2000, p=[0.9, 0.1, 0.0]).astype(np.int32)
    labels[7] = 3
    weights = rng.gamma(1.0, size=2000) if is_weighted else None
    arguments = (X, order, labels, weights, 4, 100, power, 8, 6)
    gains, places = kernels.halves(*arguments, 1)
    expected, places_expected = fallback.halves(*arguments, 1)
    np.testing.assert_allclose(gains, expected, rtol=1e-9)
    np.testing.assert_allclose(places, places_expected, rtol=1e-9)
    assert (gains[:2] > 0).all()
    assert (gains[2:] == 0).all()
    np.testing.assert_array_equal(kernels.halves(*arguments, 3)[1], places)


@pytest.mark.parametrize("module", BOTH)
@pytest.mark.parametrize(("n_cells", "n_rows"), [(1, 0), (5, 1), (300, 1000), (5, 1024), (1, 1000)])
def test_rows_are_visited_by_cell_within_stretches(module, n_cells, n_rows):
    codes = np.random.default_rng(12).integers(0, n_cells, n_rows).astype(np.int32)
    order = np.empty(n_rows, dtype=np.int32)
    counts = module.visiting_order(codes, n_cells, 256, order)
    parts = [np.arange(first, min(first + 256, n_rows)) for first in range(0, n_rows, 256)]
    expected = [row for part in parts for row in sorted(part.tolist(), key=codes.__getitem__)]
    assert order.tolist() == expected
    assert counts.tolist() == [[int((codes[part] == cell).sum()) for cell in range(n_cells)] for part in parts]


@pytest.mark.parametrize("module", BOTH)
@pytest.mark.parametrize(
    ("n_points", "n_features", "is_weighted"), [(1, 1, False), (31, 3, True), (64, 1, True), (500, 7, False)]
)
def test_trials_cost_what_the_nearest_seed_does(module, n_points, n_features, is_weighted):
    rng = np.random.default_rng(13)
    X, closest = 1e6 + rng.normal(size=(n_points, n_features)), rng.gamma(n_features, size=n_points)
    trials = rng.integers(0, n_points, 4)
    weights = rng.gamma(1.0, size=n_points) if is_weighted else None
    costs = np.full((4, n_points), np.nan)
    totals = module.trial_costs(in_blocks(X), trials, weights, closest, costs)
    wanted = [[min(closest[i], sum((X[i] - X[t]) ** 2)) for i in range(n_points)] for t in trials]
    np.testing.assert_allclose(costs, wanted, rtol=1e-12)
    np.testing.assert_allclose(totals, costs @ (np.ones(n_points) if weights is None else weights), rtol=1e-12)
