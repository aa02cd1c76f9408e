"""The small algebra: compiled and in NumPy, the same numbers; and what they should be."""

import dataclasses

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from fairclust._core import fallback, is_compiled, kernels, sparse_small
from fairclust._core.sparse_small import SparseCurvature
from fairclust._core.tiles import in_blocks

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


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds:RuntimeWarning")  # SciPy 1.13's SLSQP
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


def compositions(n_clusters=6, n_groups=3, seed=3):
    """Masses with an absent group and an empty cluster among them, and targets, one of them 0."""
    rng = np.random.default_rng(seed)
    masses = rng.gamma(0.5, 10.0, (n_clusters, n_groups))
    masses[1, 0] = 0.0
    masses[2] = 0.0
    target = rng.dirichlet(np.ones(n_groups), n_clusters)
    if n_groups > 2:
        target[3, 1], target[3, 2] = 0.0, target[3, 1] + target[3, 2]
    masses[4] = 17.0 * target[4]  # fair
    return masses, target


@pytest.mark.parametrize("n_groups", [1, 2, 3, 9])
@pytest.mark.parametrize("is_shared", [False, True], ids=["a target each", "one target"])
def test_compiled_errors_and_bends_are_those_of_numpy(n_groups, is_shared):
    masses, target = compositions(n_groups=n_groups)
    target = target[:1] if is_shared else target
    np.testing.assert_allclose(
        *(module.kl_value(masses, masses.sum(axis=1), target, 1e-20) for module in (kernels, fallback)),
        rtol=1e-12,
        atol=1e-15,
    )
    size = masses.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        *(module.kl_beyond(masses, size, target, 0.1, 1e-20) for module in (kernels, fallback)), rtol=1e-12, atol=1e-12
    )
    one, other = (module.kl_expansion(masses, target, 1e-20) for module in (kernels, fallback))
    np.testing.assert_allclose(one[0], other[0], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(
        one[0], kernels.kl_value(masses, masses.sum(axis=1), target, 1e-20), rtol=1e-12, atol=1e-15
    )
    for k in range(len(masses)):
        for found, wanted, least in zip(one[1:], other[1:], (1e-6, 0.0), strict=True):
            size = max(abs(wanted[k]).max(), least)
            np.testing.assert_allclose(found[k], wanted[k], rtol=1e-9, atol=1e-9 * size)


@pytest.mark.parametrize("module", BOTH)
def test_a_bend_is_the_positive_part_of_the_second_derivative(module):
    masses, target = compositions()
    masses = masses[[0, 3, 5]]
    target = target[[0, 3, 5]]
    _, _, bend = module.kl_expansion(masses, target, 1e-20)
    for k in range(3):
        second = np.diag(target[k] / masses[k] ** 2) - 1.0 / masses[k].sum() ** 2
        values, vectors = np.linalg.eigh(second)
        wanted = vectors * np.maximum(values, 0.0) @ vectors.T
        np.testing.assert_allclose(bend[k], wanted, atol=1e-9 * abs(wanted).max())


@dataclasses.dataclass(frozen=True)
class TwoAttributes:
    """Curvature, membership and bend of two attributes whose columns share cells, five clusters."""

    curvature: np.ndarray
    masses: np.ndarray
    membership: np.ndarray
    bend: np.ndarray
    want: np.ndarray
    scale: float = 7.0

    @property
    def answers(self):
        """How column masses answer to column prices, (k·i, l·j)."""
        made = np.einsum("ci,ckl,cj->kilj", self.membership, self.curvature, self.membership)
        return self.scale * made.reshape(25, 25)

    @property
    def bends(self):
        made = np.zeros((5, 5, 5, 5))
        made[np.arange(5), :, np.arange(5), :] = self.bend
        return made.reshape(25, 25)


def two_attributes():
    rng = np.random.default_rng(5)
    _, pairs, masses, sampled = tables(n_cells=6)
    membership = np.zeros((6, 5))
    membership[np.arange(6), np.arange(6) % 3] = membership[np.arange(6), 3 + np.arange(6) % 2] = 1.0
    bend = np.zeros((5, 5, 5))
    bend[:, :3, :3] = kernels.kl_expansion(rng.gamma(2.0, 5.0, (5, 3)), np.full((1, 3), 1 / 3), 1e-20)[2]
    bend[:, 3:, 3:] = kernels.kl_expansion(rng.gamma(2.0, 5.0, (5, 2)), np.full((1, 2), 1 / 2), 1e-20)[2]
    curvature = kernels.laplacian(pairs, masses, sampled, 1e-3)
    return TwoAttributes(curvature, masses, membership, bend, rng.normal(size=(5, 5)))


@pytest.mark.parametrize("module", BOTH)
def test_newtons_system_is_symmetric_and_has_no_direction_of_size(module):
    case = two_attributes()
    system, _, roots = module.newton_system(case.curvature, case.scale, case.membership, case.bend, case.want)
    np.testing.assert_allclose(roots @ roots.transpose(0, 2, 1), case.bend, atol=1e-9 * abs(case.bend).max())
    assert roots.shape[2] <= 3  # each attribute lacks a direction: that of its size
    np.testing.assert_allclose(system, system.T, rtol=1e-12)


@pytest.mark.parametrize("module", BOTH)
def test_newtons_step_solves_its_own_equation(module):
    """(I + B·A) x = want."""
    case = two_attributes()
    x = module.newton_step(case.curvature, case.scale, case.membership, case.bend, case.want)
    np.testing.assert_allclose(
        x.ravel() + case.bends @ case.answers @ x.ravel(), case.want.ravel(), rtol=1e-8, atol=1e-10
    )


@pytest.mark.parametrize("module", BOTH)
def test_newtons_step_is_none_where_the_answer_is_no_number(module):
    case = two_attributes()
    assert module.newton_step(np.full_like(case.curvature, np.inf), 1.0, case.membership, case.bend, case.want) is None


@pytest.mark.parametrize("module", BOTH)
def test_a_look_tells_energy_want_and_fall(module):
    case = two_attributes()
    rng = np.random.default_rng(8)
    price, value, slope = rng.normal(size=(5, 6)), rng.gamma(1.0, size=5), rng.normal(size=(5, 5))
    weights, inverse = rng.gamma(1.0, size=5), np.ascontiguousarray(np.linalg.pinv(case.membership).T)
    asked = (case.curvature, case.masses, price, case.scale, -3.0, case.membership, inverse, weights, value, slope)
    energy, penalty, want, fall, bend, newton = module.weighted_look(*asked, case.bend, True)
    assert penalty == pytest.approx(weights @ value)
    assert energy == pytest.approx(3.0 / case.scale - (price * case.masses.T).sum() + weights @ value)
    np.testing.assert_allclose(want, weights[:, None] * slope - price @ inverse, atol=1e-12)
    np.testing.assert_allclose(fall.ravel(), case.answers @ want.ravel(), atol=1e-9 * abs(fall).max())
    np.testing.assert_allclose(bend, weights[:, None, None] * case.bend)
    step, lengths, longest, promise = newton
    np.testing.assert_allclose(
        step, module.newton_step(case.curvature, case.scale, case.membership, bend, want), rtol=1e-9
    )
    np.testing.assert_allclose(lengths, case.scale * abs(step))
    assert longest == lengths.max()
    assert promise == pytest.approx((fall * step).sum())
    assert module.weighted_look(*asked, case.bend, False)[-1] is None


@pytest.mark.parametrize("module", BOTH)
def test_damped_steps_solve_their_equations_in_units_of_the_diagonal(module):
    case = two_attributes()
    rng = np.random.default_rng(9)
    slope, lengths = rng.normal(size=(5, 5)), rng.gamma(1.0, size=(5, 5))
    A, B, damping = case.answers, case.bends, np.diag((abs(slope) * case.scale / lengths).ravel())
    found = module.damped_weight_step(case.curvature, case.scale, case.membership, case.bend, slope, lengths)
    np.testing.assert_allclose((A + A @ B @ A + damping) @ found.ravel(), slope.ravel(), rtol=1e-6, atol=1e-7)
    through = rng.normal(size=(5, 6, 3))
    slope, lengths, bend = slope[:, :3].copy(), lengths[:, :3].copy(), np.ascontiguousarray(case.bend[:, :3, :3])
    A = case.scale * module.response(case.curvature, through)
    for k in range(5):
        A[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] += bend[k]
    A += np.diag((abs(slope) * case.scale / lengths).ravel())
    found = module.damped_cone_step(case.curvature, case.scale, through, bend, slope, lengths)
    np.testing.assert_allclose(A @ found.ravel(), slope.ravel(), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("module", BOTH)
def test_slope_and_step_of_a_goal_are_those_of_prices_by_cell(module):
    case = two_attributes()
    rng = np.random.default_rng(11)
    jacobian, offset_slope = rng.normal(size=(5, 5, 3)), rng.normal(size=(5, 3))
    roots = rng.normal(size=(2, 5, 3, 3))
    turn, offset_turn = roots @ roots.transpose(0, 1, 3, 2)
    people, lengths = rng.gamma(2.0, size=(2, 5, 3))
    people[:] = people[:, :1]  # one attribute: all its unknowns concern the same people
    through = np.ascontiguousarray(case.membership @ jacobian)
    slope = module.cone_slope(case.masses, case.membership, jacobian, offset_slope)
    np.testing.assert_allclose(slope, np.einsum("ck,kcu->ku", case.masses, through) - offset_slope, rtol=1e-9)
    found = module.cone_step(
        case.curvature, case.scale, case.membership, jacobian, turn, offset_turn, people, slope, lengths
    )
    bend = people[:, :, None] * turn + offset_turn
    wanted = module.damped_cone_step(case.curvature, case.scale, through, bend, slope, lengths)
    np.testing.assert_allclose(found[0], wanted, rtol=1e-9)
    np.testing.assert_allclose(found[1], case.scale * abs(wanted), rtol=1e-9)
    assert found[2] == found[1].max()
    assert found[3] == pytest.approx((found[0] * slope).sum())


@pytest.mark.parametrize("module", BOTH)
def test_a_damped_step_without_a_solution_is_none_at_all(module):
    case = two_attributes()
    slope = np.ones((5, 5))
    broken = np.full_like(case.curvature, np.nan)
    assert not module.damped_weight_step(broken, 1.0, case.membership, case.bend, slope, slope).any()


@pytest.mark.parametrize("module", BOTH)
def test_a_held_look_is_the_dual_and_its_slope(module):
    """One price is free, the other has no pull: it wants what it has."""
    masses, price, line = np.array([[3.0, 5.0]]), np.array([[-1.0, 0.5]]), np.array([[1.0, 1.0]])
    pull = np.array([[4.0, 0.0]])
    value, wanted, slope = module.held_look(masses, price, line, pull, 2.0, -6.0)
    np.testing.assert_allclose(wanted, [[2.0, 5.0]])
    np.testing.assert_allclose(slope, [[1.0, 0.0]])
    assert value == pytest.approx(3.0 + 4.0 * (1.0 - np.log(2.0)))


@pytest.mark.parametrize("module", BOTH)
def test_held_steps_are_those_of_one_system_per_cell(module):
    rng = np.random.default_rng(8)
    roots = rng.normal(size=(3, 5, 5))
    curvature, scale = roots @ roots.transpose(0, 2, 1), 2.5
    price, slope = rng.normal(size=(2, 5, 3))
    pull, wanted, lengths = rng.gamma(2.0, size=(3, 5, 3))
    line = price + rng.gamma(0.5, 0.1, size=(5, 3))
    pull[0, 0] = 0.0
    step, in_temperatures, longest, promise = module.held_step(
        curvature, scale, price, line, pull, wanted, slope, lengths, 0.9
    )
    is_short = False
    for c in range(3):
        bend = np.where(pull[:, c] > 0, wanted[:, c] ** 2 / np.where(pull[:, c] > 0, pull[:, c], 1.0), 1.0)
        system = scale * curvature[c] + np.diag(bend + abs(slope[:, c]) * scale / lengths[:, c])
        free = np.minimum(np.linalg.solve(system, slope[:, c]), 0.9 * (line - price)[:, c])
        is_short |= bool((free < np.linalg.solve(system, slope[:, c])).any())
        np.testing.assert_allclose(step[:, c], np.where(pull[:, c] > 0, free, 0.0), rtol=1e-6)
    assert is_short
    np.testing.assert_allclose(in_temperatures, scale * abs(step))
    assert longest == in_temperatures.max()
    assert promise == pytest.approx((step * slope).sum())


@pytest.mark.parametrize("module", BOTH)
def test_rounding_is_what_labels_hold_over_soft_masses(module):
    rng = np.random.default_rng(4)
    curvature, before, change = rng.normal(size=(2, 3, 3)), rng.normal(size=(3, 2)), 0.01 * rng.normal(size=(3, 2))
    masses = rng.gamma(9.0, size=(2, 3))
    soft = masses - np.einsum("ckl,lc->ck", curvature, change)
    labelled = soft * np.array([[1.1, 0.9, 5.0], [0.0, 0.01, 1.0]])
    found = module.rounding(curvature, masses, before, before + change, labelled, 2.0)
    np.testing.assert_allclose(found, np.array([[1.1, 0.9, 2.0], [0.5, 0.5, 1.0]]).T, rtol=1e-12)


@pytest.mark.parametrize("module", BOTH)
def test_errors_are_the_same_however_masses_are_stored(module):
    masses, target = compositions()
    size, stored = masses.sum(axis=1, keepdims=True), np.asfortranarray(masses)
    for name, *others in (("kl_value", None), ("kl_value", size[:, 0])):
        call = getattr(module, name)
        np.testing.assert_array_equal(call(stored, *others, target, 1e-20), call(masses, *others, target, 1e-20))
    everyone = np.column_stack((masses, size))  # whose columns are strided
    found = module.kl_beyond(everyone[:, :-1], everyone[:, -1:], target, 0.1, 1e-20)
    np.testing.assert_array_equal(found, module.kl_beyond(masses, size, target, 0.1, 1e-20))
    for one, other in zip(*(module.kl_expansion(each, target, 1e-20) for each in (stored, masses)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("module", BOTH)
def test_moves_are_weighed_row_by_row(module):
    masses = np.array([[5.0, 0.0], [1.0, 2.0], [7.0, 7.0]])
    rows = module.move_rows(masses, np.array([1, 0]), 1.0)
    wanted = [[1, 2], [2, 2], [1, 3], [0, 2], [1, 1], [5, 0], [6, 0], [5, 1], [4, 0], [5, 0]]  # nobody leaves nobody
    np.testing.assert_array_equal(rows, wanted)
    value, enter, leave = np.zeros(3), np.zeros((3, 2)), np.zeros((3, 2))
    costs = np.array([1.0, 3.0, 4.0, 0.0, np.inf, 10.0, 10.5, 11.0, 12.0, 13.0])
    module.note_moves(costs, np.array([1, 0]), value, enter, leave)
    np.testing.assert_array_equal(value, [10.0, 1.0, 0.0])
    np.testing.assert_array_equal(enter, [[0.5, 1.0], [2.0, 3.0], [0.0, 0.0]])
    np.testing.assert_array_equal(leave, [[2.0, 3.0], [-1.0, np.inf], [0.0, 0.0]])


@pytest.mark.parametrize("is_taken", [False, True])
@pytest.mark.parametrize("is_kept", [False, True])
def test_both_learn_the_same_lengths(is_taken, is_kept):
    rng = np.random.default_rng(7)
    for _ in range(20):
        step, before, after = rng.normal(size=(3, 6, 4))
        length, lengths = rng.gamma(1.0, size=(2, 6, 4))
        one, other = lengths.copy(), lengths.copy()
        kernels.learned_lengths(one, step, length, before, after, is_taken, is_kept, 0.1, 2.0)
        fallback.learned_lengths(other, step, length, before, after, is_taken, is_kept, 0.1, 2.0)
        np.testing.assert_allclose(one, other, rtol=1e-14)
        assert (one != lengths).any()


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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("n_features", [1, 3, 40])
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
@pytest.mark.parametrize("n_cells", [1, 5, 300])
@pytest.mark.parametrize("n_rows", [0, 1, 1000, 1024])
def test_rows_are_visited_by_cell_within_stretches(module, n_cells, n_rows):
    codes = np.random.default_rng(12).integers(0, n_cells, n_rows).astype(np.int32)
    order = np.empty(n_rows, dtype=np.int32)
    counts = module.visiting_order(codes, n_cells, 256, order)
    parts = [np.arange(first, min(first + 256, n_rows)) for first in range(0, n_rows, 256)]
    expected = [row for part in parts for row in sorted(part.tolist(), key=codes.__getitem__)]
    assert order.tolist() == expected
    assert counts.tolist() == [[int((codes[part] == cell).sum()) for cell in range(n_cells)] for part in parts]


@pytest.mark.parametrize("module", BOTH)
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize(("n_points", "n_features"), [(1, 1), (31, 3), (64, 1), (500, 7)])
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


@pytest.mark.parametrize("module", BOTH)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_moments_are_those_of_all_rows_at_once(module, dtype, is_weighted):
    """Of more rows than are looked at together, one of them far away and some without weight."""
    rng = np.random.default_rng(10)
    X = (1e3 + rng.normal(size=(9000, 3))).astype(dtype)
    X[0] = 1e9
    weights = rng.gamma(1.0, size=9000) if is_weighted else None
    if is_weighted:
        weights[:5000] = 0.0
    mean, squares = module.feature_moments(X, weights, 2)
    w = np.ones(9000) if weights is None else weights
    wanted = np.average(X.astype(float), axis=0, weights=w)
    np.testing.assert_allclose(mean, wanted, rtol=1e-12)
    np.testing.assert_allclose(squares, w @ (X.astype(float) - wanted) ** 2, rtol=1e-9)


def sparse_tables(n_cells=3, n_clusters=12):
    """Points of three clusters each: as a table, and as rows without zeros."""
    rng = np.random.default_rng(3)
    soft = np.zeros((n_cells, 60, n_clusters))
    for own in soft.reshape(-1, n_clusters):
        own[rng.choice(n_clusters, 3, replace=False)] = rng.dirichlet(np.ones(3))
    soft[0, :, 0] *= 1e-4  # crumbs
    masses = soft.sum(axis=1)
    pairs = np.triu(np.einsum("cpk,cpl->ckl", soft, soft), 1)
    pairs[0, 0] = 0.0  # which nobody counted
    every = np.arange(n_clusters)
    pairs[:, every, every] = (soft**2).sum(axis=1)
    return pairs, masses, np.full(n_cells, 40.0)


def test_a_sparse_laplacian_is_the_table():
    pairs, masses, sampled = sparse_tables()
    wanted = fallback.laplacian(pairs, masses, sampled, 1e-3)
    found = SparseCurvature.laplacian(sparse.csr_array(pairs.reshape(-1, 12)), masses, sampled, 1e-3)
    assert found.crumbs[0, 0] > 0
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-12, atol=1e-12)
    x = np.random.default_rng(0).normal(size=masses.shape)
    np.testing.assert_allclose(found.times(x), np.einsum("ckl,cl->ck", wanted, x), rtol=1e-9, atol=1e-9)


def test_sparse_steps_are_those_of_tables(monkeypatch):
    monkeypatch.setattr(sparse_small, "_CLOSE", 1e-9)
    pairs, masses, sampled = sparse_tables()
    curvature = SparseCurvature.laplacian(sparse.csr_array(pairs.reshape(-1, 12)), masses, sampled, 1e-3)
    table, rng = np.asarray(curvature), np.random.default_rng(2)
    price, slope = rng.normal(size=(2, 12, 3))
    pull, wanted, lengths = rng.gamma(2.0, size=(3, 12, 3))
    line = price + rng.gamma(0.5, 0.1, size=(12, 3))
    pull[0, 0] = 0.0
    held = (price, line, pull, wanted, slope, lengths, 0.9)
    for one, other in zip(
        sparse_small.held_step(curvature, 2.5, *held), fallback.held_step(table, 2.5, *held), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)
    membership, jacobian = rng.normal(size=(3, 4)), rng.normal(size=(12, 4, 2))
    roots = rng.normal(size=(2, 12, 2, 2))
    turn, offset_turn = roots @ roots.transpose(0, 1, 3, 2)
    people, lengths = rng.gamma(2.0, size=(2, 12, 2))
    people[:] = people[:, :1]
    cone = (membership, jacobian, turn, offset_turn, people, rng.normal(size=(12, 2)), lengths)
    for one, other in zip(
        sparse_small.cone_step(curvature, 2.5, *cone), fallback.cone_step(table, 2.5, *cone), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)
    before, labelled = rng.normal(size=(12, 3)), rng.gamma(9.0, size=(3, 12))
    rounding = (masses, before, before + 0.01, labelled, 2.0)
    np.testing.assert_allclose(
        sparse_small.rounding(curvature, *rounding), fallback.rounding(table, *rounding), rtol=1e-9
    )


def test_sparse_steps_without_a_solution_are_none_at_all():
    found = sparse_small._solved(lambda x: np.full_like(x, np.nan), lambda x: x, np.ones((2, 3)))
    assert not found.any()
