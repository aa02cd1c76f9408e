"""The small algebra: compiled and in NumPy, the same numbers; and what they should be."""

import numpy as np
import pytest
from scipy.optimize import minimize

from fairclust._core import fallback, is_compiled, kernels

BOTH = [pytest.param(fallback, id="numpy")] + ([pytest.param(kernels, id="compiled")] if is_compiled else [])
FLAT = 1e-9


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


CASES = [
    pytest.param(n_groups, limit, scale, id=f"{n_groups} groups, limit {limit}, prices {scale:g}")
    for n_groups in (1, 2, 5)
    for limit in (1e-4, 0.01, 1.0)
    for scale in (1e-9, 1.0, 1e9)
]


def question(n_groups, scale, seed=0):
    rng = np.random.default_rng(seed)
    theta = scale * rng.normal(size=(6, n_groups))
    theta[1] = theta[1, 0]  # a row of equal prices
    theta[2, 0] += 50 * scale
    center = rng.dirichlet(np.full(n_groups, 2.0), 6)
    return theta, center


@pytest.mark.parametrize(("n_groups", "limit", "scale"), CASES)
@pytest.mark.parametrize("softness", [0.0, 0.01, 10.0])
def test_compiled_mixes_are_those_of_numpy(n_groups, limit, scale, softness):
    theta, center = question(n_groups, scale)
    one, other = (module.error_mixes(theta, center, limit, softness * scale, FLAT) for module in (kernels, fallback))
    for found, wanted, name in zip(one, other, ("shares", "worth", "turn"), strict=True):
        size = abs(wanted).max() if wanted.size else 0.0
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7 * size, err_msg=name)


@pytest.mark.parametrize("module", BOTH)
@pytest.mark.parametrize("limit", [0.001, 0.1])
def test_no_mix_within_the_limit_is_worth_more(module, limit):
    theta, center = question(4, 1.0)
    shares, worth, _ = module.error_mixes(theta, center, limit, 0.0, FLAT)
    errors = (center * np.log(center / shares)).sum(axis=1)
    assert (errors <= limit * (1 + 1e-6)).all()
    for row in (0, 3, 4):
        kept = {"type": "ineq", "fun": lambda q, row=row: limit - (center[row] * np.log(center[row] / q)).sum()}
        whole = {"type": "eq", "fun": lambda q: q.sum() - 1}
        best = minimize(
            lambda q, row=row: -theta[row] @ q, center[row], bounds=[(1e-6, 1)] * 4, constraints=[kept, whole]
        )
        assert worth[row] >= -best.fun - 1e-5


@pytest.mark.parametrize("module", BOTH)
@pytest.mark.parametrize("softness", [1e-3, 5.0])  # on the rim; inside
def test_mixes_turn_as_their_derivative_says(module, softness):
    theta, center = question(3, 1.0, seed=3)
    theta, center = theta[3:], center[3:]
    _, _, turn = module.error_mixes(theta, center, 0.05, softness, FLAT)
    step = 1e-6
    for j in range(3):
        moved = theta.copy()
        moved[:, j] += step
        after, before = (module.error_mixes(at, center, 0.05, softness, FLAT)[0] for at in (moved, theta))
        np.testing.assert_allclose((after - before) / step, turn[:, :, j], atol=2e-4)
