"""The small tables between two sweeps, in NumPy: see small_bindings.cpp."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._typing import AnyArray, FloatArray, IntArray


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


_FLAT = 1e-9  # of the widest row, or of the softness: rows of prices no wider are rows of equal prices
_MOST_STEPS = 60  # of a root search; ten do nearly always
_FAR = 300.0  # logarithms that are looked at: squares of their inverses are still numbers


def kl_support(
    theta: FloatArray, center: FloatArray, limit: float, softness: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Max ⟨θ, q⟩ − softness·KL(centre ‖ q) over q with KL <= limit: the maximisers, the maxima, the Jacobian.

    With t = (θ − max θ) in units of each row's spread, q_j = κ·centre_j/(height − t_j). κ grows with the height and KL
    falls, so the height is the larger one of that where κ is the softness and that where KL is the limit.
    """
    t, center = theta - theta.max(axis=1, keepdims=True), np.broadcast_to(center, theta.shape)
    spread, least = -t.min(axis=1), np.finfo(float).tiny ** 0.25
    widest = np.maximum(spread.max(), softness)
    is_flat = spread <= np.maximum(_FLAT * widest, least)  # any composition is a maximiser: the target
    unit = np.where(is_flat, np.maximum(widest, least), spread)
    t = np.where(is_flat[:, None], 0.0, t / unit[:, None])
    delta = softness / unit
    on_limit, inside = np.zeros(len(t)), np.where(is_flat, 1.0, 0.0)
    on_limit[~is_flat] = _height_at_limit(t[~is_flat], center[~is_flat], limit)
    inside[delta > 0] = _height_at_kappa(t[delta > 0], center[delta > 0], delta[delta > 0])
    height = np.maximum(on_limit, inside)
    weight = center / (height[:, None] - t)
    kappa = 1.0 / weight.sum(axis=1)
    shares = kappa[:, None] * weight
    value = (theta * shares).sum(axis=1) - softness * np.minimum(_divergence(height, t, center)[0], limit)
    jacobian = _jacobian(shares, center, kappa, ~is_flat & (height <= on_limit))
    return shares, value, jacobian / unit[:, None, None]


def _divergence(height: FloatArray, t: FloatArray, center: FloatArray) -> tuple[FloatArray, FloatArray]:
    """KL(centre ‖ q) at a height, the log of a mean over a geometric mean, and its slope by log height."""
    w = height[:, None] - t
    inverse = center / w
    total = inverse.sum(axis=1)
    value = np.maximum((center * np.log(w)).sum(axis=1) + np.log(total), 0.0)
    return value, height * (total - (inverse / w).sum(axis=1) / total)


def _height_at_limit(t: FloatArray, center: FloatArray, limit: float) -> FloatArray:
    mean = (center * t).sum(axis=1)
    deviation = np.sqrt((center * (t - mean[:, None]) ** 2).sum(axis=1))

    def gap(height: FloatArray) -> tuple[FloatArray, FloatArray]:
        value, slope = _divergence(height, t, center)
        value = np.maximum(value, 1e-300)
        return np.log(value / limit), slope / value

    # Far away the divergence is variance / (2 height²), from the mean.
    return _falling_root(np.maximum(deviation / np.sqrt(2 * limit) + mean, 1e-3 * deviation + 1e-290), gap)


def _height_at_kappa(t: FloatArray, center: FloatArray, delta: FloatArray) -> FloatArray:
    def gap(height: FloatArray) -> tuple[FloatArray, FloatArray]:
        w = height[:, None] - t
        inverse = center / w
        return np.log(delta * inverse.sum(axis=1)), -height * (inverse / w).sum(axis=1) / inverse.sum(axis=1)

    return _falling_root(delta, gap)


def _falling_root(start: FloatArray, gap: Callable[[FloatArray], tuple[FloatArray, FloatArray]]) -> FloatArray:
    """Where falling functions are 0: Newton's steps on logarithms, kept in a bracket that is halved otherwise."""
    x, low, high = np.log(start), np.full(len(start), -_FAR), np.full(len(start), _FAR)
    for _ in range(_MOST_STEPS):
        value, slope = gap(np.exp(x))
        low, high = np.where(value > 0, x, low), np.where(value > 0, high, x)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            after = x - value / slope
        after = np.where((after > low) & (after < high), after, (low + high) / 2)
        is_found = (abs(value) < 1e-13) | (abs(after - x) < 1e-15 * np.maximum(abs(x), 1.0))
        if is_found.all():
            break
        x = np.where(is_found, x, after)
    return np.exp(x)


def _jacobian(shares: FloatArray, center: FloatArray, kappa: FloatArray, on_limit: AnyArray) -> FloatArray:
    """diag(v), v = q²/(κ·centre), less its projections on the gradients of Σ q = 1 and, on the boundary, of KL."""
    v = shares**2 / np.maximum(kappa[:, None] * center, np.finfo(float).tiny)
    jacobian = v[:, :, None] * np.eye(shares.shape[1])
    jacobian -= v[:, :, None] * v[:, None, :] / np.maximum(v.sum(axis=1), np.finfo(float).tiny)[:, None, None]
    slope = np.divide(center, shares, out=np.zeros_like(shares), where=shares > 0)  # of −KL
    across = (jacobian @ slope[:, :, None])[:, :, 0]
    bend = (across * slope).sum(axis=1)
    is_bent = on_limit & (bend > 1e-14 * (v * slope**2).sum(axis=1))
    across /= np.sqrt(np.where(is_bent, bend, np.inf))[:, None]
    return jacobian - across[:, :, None] * across[:, None, :]
