"""The small tables between two sweeps, in NumPy: see small_bindings.cpp."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from .._typing import FloatArray, IntArray
from .mixes import falling_root, softened

Measured = tuple[FloatArray, FloatArray, float, float]
"""A step, its lengths, the longest of them, its promise."""

_MOST_STEPS = 60  # of Newton's search from below, which doubles its digits near the end; ten do nearly always
RIDGE = 1e-10  # of the diagonal: prices have a free constant
_ROUNDING = 1e-12  # of the largest eigenvalue: what is left of one that is none


def laplacian(pairs: FloatArray, masses: FloatArray, sampled: FloatArray, faint: float) -> FloatArray:
    """Turn Σ s_k s_l over the sampled points (above the diagonal) into −∂masses/∂scaled_price of all points.

    The diagonal of ``pairs`` holds Σ s_k² over all points: ``masses`` less that is what is not decided yet.
    ``masses`` are (cells, clusters), as kernels write them, ``sampled`` the weight of each cell's sampled points.
    """
    weight = masses.sum(axis=1)
    grow = np.divide(weight, sampled, out=np.zeros_like(weight), where=sampled > 0)
    diagonal = np.arange(masses.shape[1])
    undecided = np.maximum(masses - pairs[:, diagonal, diagonal], 0.0)
    pairs = np.triu(pairs, 1)
    pairs = (pairs + pairs.transpose(0, 2, 1)) * grow[:, None, None]
    pairs += _crumbs(pairs, masses, undecided, faint)
    table = -pairs
    table[:, diagonal, diagonal] = pairs.sum(axis=2)
    return table


def _crumbs(pairs: FloatArray, masses: FloatArray, undecided: FloatArray, faint: float) -> FloatArray:
    """What the kernels leave out: points that give next to nothing to a cluster, Σ s_k s_l over them.

    All a cluster has of a group may be such crumbs, s_k(1 − s_k) = s_k. The others hold the points behind them. People
    who are decided, however few, are no crumbs.
    """
    weight = masses.sum(axis=1, keepdims=True)
    missing = np.where(masses < faint * weight, np.maximum(undecided - pairs.sum(axis=2), 0.0), 0.0)
    rest = np.maximum(weight - masses, np.finfo(float).tiny)
    crumbs = (missing / rest)[:, :, None] * masses[:, None, :]
    diagonal = np.arange(masses.shape[1])
    crumbs[:, diagonal, diagonal] = 0.0
    return crumbs + crumbs.transpose(0, 2, 1)


def response(laplacians: FloatArray, through: FloatArray) -> FloatArray:
    """Σ_c through_kct · L_ckl · through_lcu, as a matrix over (k, t) and (l, u): how slopes answer to unknowns."""
    n_clusters, _, n_unknowns = through.shape
    table = np.einsum("kct,ckl,lcu->ktlu", through, laplacians, through, optimize=True)
    return np.ascontiguousarray(table.reshape(n_clusters * n_unknowns, -1))


def kl_value(masses: FloatArray, sizes: FloatArray | None, target: FloatArray, smallest: float) -> FloatArray:
    """KL(target ‖ masses/size) of each row; shares below ``smallest`` count as that. No sizes: the sums."""
    size = (masses.sum(axis=1) if sizes is None else sizes)[:, None]
    shares = np.divide(masses, size, out=np.zeros_like(masses), where=size > 0)
    ratio = np.where(target > 0, target / np.maximum(shares, smallest), 1.0)
    return np.maximum((target * np.log(ratio)).sum(axis=1), 0.0)


def kl_beyond(masses: FloatArray, sizes: FloatArray, target: FloatArray, limit: float, smallest: float) -> FloatArray:
    """People by which each row is beyond an error: size · (KL − limit) where that is positive. Sizes: (n_rows, 1)."""
    return np.maximum(sizes[:, 0] * (kl_value(masses, sizes[:, 0], target, smallest) - limit), 0.0)


def kl_expansion(masses: FloatArray, target: FloatArray, smallest: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Value, slope and second derivative by the masses, diag(target/masses²) − 1/size², without the negative part."""
    size = np.maximum(masses.sum(axis=1, keepdims=True), np.finfo(float).tiny ** 0.25)
    shares = np.maximum(masses / size, smallest)
    # d/dm_j [log n − Σ_j μ_j log m_j] = 1/n − μ_j/m_j
    slope = 1.0 / size - target / (shares * size)
    tables = (target / shares**2)[:, :, None] * np.eye(masses.shape[1]) - 1.0
    values, vectors = np.linalg.eigh(tables)
    bend = np.einsum("kij,kj,klj->kil", vectors, np.maximum(values, 0.0), vectors) / size[:, :, None] ** 2
    return kl_value(masses, size[:, 0], target, smallest), slope, bend


def newton_system(
    curvature: FloatArray, scale: float, membership: FloatArray, bend: FloatArray, want: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """I + Rᵀ·A·R, Rᵀ·A·want and R, with R·Rᵀ = bend and A how column masses answer to column prices."""
    values, vectors = np.linalg.eigh(bend)
    values = np.where(values > _ROUNDING * values.max(axis=1, keepdims=True, initial=0.0), values, 0.0)
    rank = int((values > 0).sum(axis=1).max(initial=0))
    n_columns = bend.shape[1]
    roots = (vectors * np.sqrt(values)[:, None, :])[:, :, n_columns - rank :]
    through = np.ascontiguousarray(membership @ roots)
    system = scale * response(curvature, through) + np.eye(len(want) * rank)
    answers = scale * np.einsum("ckl,lc->kc", curvature, want @ membership.T)
    return system, np.einsum("kct,kc->kt", through, answers).ravel(), np.ascontiguousarray(roots)


def newton_step(
    curvature: FloatArray, scale: float, membership: FloatArray, bend: FloatArray, want: FloatArray
) -> FloatArray | None:
    """Newton's step for prices by column; None: a cluster lost a group."""
    system, right, roots = newton_system(curvature, scale, membership, bend, want)
    _, found, failed = lapack.dposv(system, right) if len(right) else (None, right, 0)
    step: FloatArray = want - (roots @ found.reshape(len(want), -1, 1))[:, :, 0]
    return None if failed or not np.isfinite(step).all() else step


def weighted_look(
    curvature: FloatArray, masses: FloatArray, price: FloatArray, scale: float, log_partition: float,
    membership: FloatArray, inverse: FloatArray, weights: FloatArray, value: FloatArray, slope: FloatArray,
    bend: FloatArray, solves: bool,
) -> tuple[float, float, FloatArray, FloatArray, FloatArray, Measured | None]:  # fmt: skip
    """The relaxed energy, its penalty, what prices by column should change by, how it falls along them, the bend.

    And Newton's step, measured, if asked for and if there is one.
    """
    penalty = float(weights @ value)
    energy = -log_partition / scale - float((price.T * masses).sum()) + penalty
    want = weights[:, None] * slope - price @ inverse
    fall = (scale * (curvature @ (membership @ want.T)[:, :, None])[:, :, 0]).T @ membership
    weighted = weights[:, None, None] * bend
    step = newton_step(curvature, scale, membership, weighted, want) if solves else None
    return energy, penalty, want, fall, weighted, None if step is None else measured(step, scale, fall)


def measured(step: FloatArray, scale: float, slope: FloatArray) -> Measured:
    """A step, its lengths in temperatures, the longest of them, and what it promises along a slope."""
    lengths = scale * abs(step)
    return step, lengths, float(lengths.max(initial=0.0)), float(np.vdot(slope, step))


def _damped(system: FloatArray, slope: FloatArray, lengths: FloatArray, scale: float) -> FloatArray:
    """Solve (system + damping) · step = slope; zeros where that cannot be done. Overwrites the system.

    With |slope| / length as damping, an unknown alone goes no farther than that length. A factorisation needs no units:
    it is the same in those of the diagonal, but for rounding.
    """
    own = system.reshape(-1)[:: len(system) + 1]  # the diagonal
    own += (abs(slope) * scale / lengths).ravel()
    own += RIDGE * np.maximum(own, np.finfo(float).tiny ** 0.5)
    _, step, failed = lapack.dposv(system.T, slope.ravel(), overwrite_a=True)  # columns are LAPACK's rows
    step = step.reshape(slope.shape)
    return np.zeros_like(slope) if failed or not np.isfinite(step).all() else step


def damped_weight_step(
    curvature: FloatArray, scale: float, membership: FloatArray, bend: FloatArray, slope: FloatArray,
    lengths: FloatArray,
) -> FloatArray:  # fmt: skip
    """(A + A·bend·A + damping) x = slope, with A how column masses answer to column prices."""
    n_clusters, n_columns = slope.shape
    through = np.ascontiguousarray(np.broadcast_to(membership, (n_clusters, *membership.shape)))
    A = scale * response(curvature, through)
    system = A + A @ (bend @ A.reshape(n_clusters, n_columns, -1)).reshape(A.shape)
    return _damped(system, slope, lengths, scale)


def damped_cone_step(
    curvature: FloatArray, scale: float, through: FloatArray, bend: FloatArray, slope: FloatArray, lengths: FloatArray
) -> FloatArray:
    """(A + bend + damping) x = slope, with A how slopes answer to θ."""
    n_clusters, n_unknowns = slope.shape
    system = scale * response(curvature, through)  # (k·t, l·u)
    blocks, every = system.reshape(n_clusters, n_unknowns, n_clusters, n_unknowns), np.arange(n_clusters)
    blocks[every, :, every, :] += bend
    return _damped(system, slope, lengths, scale)


def cone_slope(
    masses: FloatArray, membership: FloatArray, jacobian: FloatArray, offset_slope: FloatArray
) -> FloatArray:
    """What clusters hold, as θ moves their prices, less the offset's slope."""
    return np.einsum("ck,cj,kju->ku", masses, membership, jacobian, optimize=True) - offset_slope


def cone_step(
    curvature: FloatArray, scale: float, membership: FloatArray, jacobian: FloatArray, turn: FloatArray,
    offset_turn: FloatArray, people: FloatArray, slope: FloatArray, lengths: FloatArray,
) -> Measured:  # fmt: skip
    """(A + people · turn + offset_turn + damping) x = slope, with A how slopes answer to θ."""
    through, bend = np.ascontiguousarray(membership @ jacobian), people[:, :, None] * turn + offset_turn
    return measured(damped_cone_step(curvature, scale, through, bend, slope, lengths), scale, slope)


def held_look(
    masses: FloatArray, price: FloatArray, line: FloatArray, pull: FloatArray, scale: float, log_partition: float
) -> tuple[float, FloatArray, FloatArray]:
    """The dual's value, what clusters want, and its slope. Without a pull nothing is wanted but what is."""
    is_free = pull > 0
    wanted = np.divide(pull, line - price, out=masses.copy(), where=is_free)
    conjugate = pull * (1.0 - np.log(np.where(is_free, wanted, 1.0)))
    return float(conjugate.sum()) - log_partition / scale, wanted, masses - wanted


def held_step(
    curvature: FloatArray, scale: float, price: FloatArray, line: FloatArray, pull: FloatArray, wanted: FloatArray,
    slope: FloatArray, lengths: FloatArray, stride: float,
) -> Measured:  # fmt: skip
    """(curvature + diag(wanted²/pull) + damping) x = slope, cell by cell, up to so much of the way to the line."""
    bend = held_bend(pull, wanted)
    steps = np.empty_like(slope)
    for c, own in enumerate(curvature):
        system = scale * own
        system.reshape(-1)[:: len(own) + 1] += bend[:, c]
        steps[:, c] = _damped(system, slope[:, c], lengths[:, c], scale)
    return measured(np.where(pull > 0, np.minimum(steps, stride * (line - price)), 0.0), scale, slope)


def held_bend(pull: FloatArray, wanted: FloatArray) -> FloatArray:
    """How what clusters want answers to prices; 1 where nothing is pulled."""
    return np.divide(wanted**2, pull, out=np.ones_like(pull), where=pull > 0)


def rounding(
    curvature: FloatArray, masses: FloatArray, before: FloatArray, after: FloatArray, labelled: FloatArray, most: float
) -> FloatArray:
    """What labels hold over what soft assignments hold after a change of the scaled prices; from 1/most to most."""
    return rounded(masses - (curvature @ (after - before).T[:, :, None])[:, :, 0], labelled, most)


def rounded(soft: FloatArray, labelled: FloatArray, most: float) -> FloatArray:
    """What labels hold over what soft assignments hold, (cells, clusters) both; by cluster and cell."""
    least = np.maximum(labelled / most, np.finfo(float).tiny)
    return np.ascontiguousarray(np.maximum(labelled / np.maximum(soft, least), 1.0 / most).T)


def move_rows(masses: FloatArray, clusters: IntArray, unit: float) -> FloatArray:
    """Rows of masses, for each of some clusters: as it is, with a person of each cell more, then with one less."""
    one = unit * np.eye(masses.shape[1])
    changes = np.concatenate((np.zeros((1, masses.shape[1])), one, -one))
    return np.maximum(masses[clusters, None, :] + changes, 0.0).reshape(-1, masses.shape[1])


def note_moves(values: FloatArray, clusters: IntArray, value: FloatArray, enter: FloatArray, leave: FloatArray) -> None:
    """What those rows cost, taken apart: as they are, and what it costs more when a person enters or leaves."""
    values = values.reshape(len(clusters), -1)
    with np.errstate(invalid="ignore"):  # from one cluster that may not be to another
        change = values[:, 1:] - values[:, :1]
    value[clusters] = values[:, 0]
    enter[clusters], leave[clusters] = np.split(change, 2, axis=1)


def learned_lengths(
    lengths: FloatArray, step: FloatArray, length: FloatArray, before: FloatArray, after: FloatArray,
    is_taken: bool, is_kept: bool, matters: float, growth: float,
) -> None:  # fmt: skip
    """Shorter where a slope points back, about to where it turned; farther elsewhere, if the step kept its promise."""
    back = np.minimum(after * step, 0.0)
    too_far = back < matters * back.min()
    turning = abs(before) / np.maximum(abs(before) + abs(after), np.finfo(float).tiny)
    if not is_taken:
        lengths[:] = np.where(too_far, np.minimum(np.minimum(turning, 0.5) * length, lengths), lengths)
        return
    farther = growth * (lengths if is_kept else np.maximum(lengths / growth, length))
    overshot = too_far & (turning < 0.5)
    lengths[:] = np.where(overshot, np.minimum(2.0 * turning * length, lengths), farther)


def halves(
    X: FloatArray, order: IntArray, labels: IntArray, weights: FloatArray | None, n_clusters: int, most: int,
    power: int, turns: int, rounds: int, n_threads: int,
) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    """For each cluster two centres of every so-manieth of its points, and what all of them gain, about."""
    by_cluster, counts = np.argsort(labels, kind="stable"), np.bincount(labels, minlength=n_clusters)
    gains, places = np.zeros(n_clusters), np.zeros((n_clusters, 2, X.shape[1]))
    for k, members in enumerate(np.split(by_cluster, np.cumsum(counts)[:-1])):
        taken = members[:: max(1, -(-len(members) // most))]
        mass = np.ones(len(taken)) if weights is None else weights[taken]
        gain, places[k] = _two_means(X[order[taken]].astype(float), mass, power, turns, rounds)
        gains[k] = gain * len(members) / max(len(taken), 1)
    return gains, places


def _two_means(points: FloatArray, mass: FloatArray, power: int, turns: int, rounds: int) -> tuple[float, FloatArray]:
    """Cut along the longest axis, then Lloyd's steps; what one centre costs more than the two, and the two."""
    if len(points) < 2 or not mass.sum() > 0:
        return 0.0, np.zeros((2, points.shape[1]))
    mean = mass @ points / mass.sum()
    centered = points - mean
    axis = np.zeros(points.shape[1])
    axis[(mass @ centered**2).argmax()] = 1.0
    for _ in range(turns):  # power iteration
        turned = (mass * (centered @ axis)) @ centered
        largest = abs(turned).max()
        if not largest > 0 or not np.isfinite(largest):
            break
        axis = turned / largest
        axis /= np.linalg.norm(axis)
    side = centered @ axis > 0
    for _ in range(rounds):
        if not mass[side].sum() > 0 or not mass[~side].sum() > 0:
            return 0.0, np.stack((mean, mean))
        places = np.stack([mass[half] @ points[half] / mass[half].sum() for half in (~side, side)])
        distance = ((points[:, None, :] - places) ** 2).sum(axis=2)
        nearer = distance[:, 1] < distance[:, 0]
        if (nearer == side).all():
            break
        side = nearer
    before = (centered**2).sum(axis=1) ** (power / 2)
    after = distance.min(axis=1) ** (power / 2)
    return float(mass @ (before - after)), places


def error_mixes(
    theta: FloatArray, center: FloatArray, limit: float, softness: float, flat: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The dearest mixes with KL(centre ‖ q) ≤ limit: inside where softness keeps them there, else on the rim."""
    t, center = theta - theta.max(axis=1, keepdims=True), np.broadcast_to(center, theta.shape)
    # In units of each row's spread: −1 … 0. A row of equal prices has no dearest mix: it keeps the middle one.
    spread = -t.min(axis=1)
    is_flat = spread <= max(flat * max(float(spread.max()), softness), np.finfo(float).tiny ** 0.25)
    spread = np.where(is_flat, max(float(spread.max()), softness, np.finfo(float).tiny ** 0.25), spread)
    t = np.where(is_flat[:, None], 0.0, t / spread[:, None])
    delta = softness / spread
    rim = np.zeros(len(t))
    rim[~is_flat] = _rim(t[~is_flat], center[~is_flat], limit)
    height = np.maximum(rim, np.where(is_flat & (softness == 0), 1.0, _inside(t, center, delta)))
    weight = center / (height[:, None] - t)
    kappa = 1.0 / weight.sum(axis=1)
    shares = kappa[:, None] * weight
    turn = softened(shares, center, kappa[:, None])
    on_rim = ~is_flat & (height <= rim)
    if on_rim.any():
        turn[on_rim] = _turn_on_rim(shares[on_rim], center[on_rim], kappa[on_rim])
    worth = (theta * shares).sum(axis=1) - softness * np.minimum(_error(height, t, center), limit)
    return shares, worth, turn / spread[:, None, None]


def _error(height: FloatArray, t: FloatArray, center: FloatArray) -> FloatArray:
    """KL(centre ‖ q) of the mix at this height of μ above the dearest group: log of a mean over a geometric mean."""
    w = height[:, None] - t
    return np.maximum((center * np.log(w)).sum(axis=1) + np.log((center / w).sum(axis=1)), 0.0)


def _rim(t: FloatArray, center: FloatArray, limit: float) -> FloatArray:
    """The height at which the error is ``limit``: it falls as that grows. Newton on logarithms, in a bracket."""
    mean = (center * t).sum(axis=1, keepdims=True)
    variance = (center * (t - mean) ** 2).sum(axis=1)
    # Far away the error is variance / (2 height²), from the mean.
    x = np.log(np.maximum(np.sqrt(variance / (2 * limit)) + mean[:, 0], 1e-3 * np.sqrt(variance) + 1e-290))

    def gap_and_slope(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        height = np.exp(x)
        w = height[:, None] - t
        inverse = center / w
        total = inverse.sum(axis=1)
        error = np.maximum((center * np.log(w)).sum(axis=1) + np.log(total), 1e-300)
        # d log error / d log height, ≤ 0
        return np.log(error / limit), height * (total - (inverse / w).sum(axis=1) / total) / error

    return np.exp(falling_root(x, gap_and_slope))


def _inside(t: FloatArray, center: FloatArray, delta: FloatArray) -> FloatArray:
    """The height at which κ = δ: κ is concave and grows with it, so that Newton's steps from below stay below."""
    if not delta.any():
        return np.zeros(len(t))
    height = np.maximum(center[np.arange(len(t)), t.argmax(axis=1)] * delta, 1e-290)
    for _ in range(_MOST_STEPS):
        w = height[:, None] - t
        inverse = center / w
        kappa = 1.0 / inverse.sum(axis=1)
        rest = delta - kappa
        if (rest <= 1e-13 * delta).all():
            break
        height = height + np.maximum(rest, 0.0) / (kappa**2 * (inverse / w).sum(axis=1))
    return height


def _turn_on_rim(shares: FloatArray, center: FloatArray, kappa: FloatArray) -> FloatArray:
    """∂q/∂θ along the rim: q_j = κ U_j/(μ − θ_j) with Σ q = 1 and Σ U log q fixed. Only θ's direction counts."""
    # With s_j = q_j/U_j · q_j = q_j² / U_j and 1/(μ − θ_j) = q_j/(κ U_j):
    #   dq_j = q_j dlogκ − (q_j²/(κU_j)) (dμ − dθ_j)
    #   Σ dq = 0 and Σ (U_j/q_j) dq_j = 0  →  two equations for dlogκ and dμ.
    a = shares**2 / (kappa[:, None] * center)  # q²/(κU)
    b = shares / kappa[:, None]  # U/q · a
    A, B = a.sum(axis=1), b.sum(axis=1)  # B = 1/κ
    # Σ dq = L − A·dμ + a·dθ = 0;  Σ (U/q) dq = L − B·dμ + b·dθ = 0   (L = dlogκ; Σ U = Σ q = 1)
    #   → dμ = (a − b)·dθ / (A − B),  L = A·dμ − a·dθ
    scale = A - B
    safe = np.where(abs(scale) > 1e-14 * np.maximum(A, B), scale, np.inf)
    dmu = (a - b) / safe[:, None]
    dlog = A[:, None] * dmu - a
    turn = shares[:, :, None] * dlog[:, None, :] - a[:, :, None] * dmu[:, None, :]
    diagonal = np.arange(shares.shape[1])
    turn[:, diagonal, diagonal] += a
    return (turn + turn.transpose(0, 2, 1)) / 2
