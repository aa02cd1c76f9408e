"""KL(target ‖ shares) ≤ ε: q_j = κ·target_j/(μ − θ_j), one root in μ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._fairness.notion import SMALLEST_SHARE, rows_of
from .._typing import FloatArray
from .cone import Cone, Mixes, softened

_MOST_STEPS = 60  # of a root search that halves its bracket where Newton's step leaves it; ten do nearly always
_FLAT = 1e-9  # of the largest spread of prices in a row, or of the softness: below this a row is flat
_FAR = 300.0  # logarithms of heights that are looked at: squares of their inverses are still numbers
_ABSENT = 1e-12  # a group that is not wanted takes room all the same: so much of it is as good as none


@dataclass(frozen=True)
class ErrorCone(Cone):
    """Compositions whose error, KL(target ‖ q), is at most ``limit``.

    Parameters
    ----------
    target : ndarray of shape (n_groups,) or (n_clusters, n_groups)
    limit : float
        ε > 0.
    """

    target: FloatArray
    limit: float

    @property
    def center(self) -> FloatArray:
        """The target."""
        wanted = np.maximum(self.target, _ABSENT)
        return wanted / wanted.sum(axis=-1, keepdims=True)

    def mixes(self, theta: FloatArray, softness: float) -> Mixes:
        """The dearest mix: inside where softness keeps it there, else on the rim."""
        center = np.broadcast_to(self.center, theta.shape)
        t = theta - theta.max(axis=1, keepdims=True)
        # In units of each row's spread: −1 … 0. A row of equal prices has no dearest mix: it keeps the middle one.
        spread = -t.min(axis=1)
        flat = spread <= max(_FLAT * max(float(spread.max()), softness), np.finfo(float).tiny ** 0.25)
        spread = np.where(flat, max(float(spread.max()), softness, np.finfo(float).tiny ** 0.25), spread)
        t = np.where(flat[:, None], 0.0, t / spread[:, None])
        delta = softness / spread
        rim = np.zeros(len(t))
        rim[~flat] = _rim(t[~flat], center[~flat], self.limit)
        height = np.maximum(rim, np.where(flat & (softness == 0), 1.0, _inside(t, center, delta)))
        weight = center / (height[:, None] - t)
        kappa = 1.0 / weight.sum(axis=1)
        shares = kappa[:, None] * weight
        turn = softened(shares, center, kappa[:, None], np.ones_like(shares, dtype=bool))
        on_rim = ~flat & (height <= rim)
        if on_rim.any():
            turn[on_rim] = _turn_on_rim(shares[on_rim], center[on_rim], kappa[on_rim])
        worth = (theta * shares).sum(axis=1) - softness * np.minimum(_error(height, t, center), self.limit)
        return Mixes(shares, worth, turn / spread[:, None, None])

    def beyond(self, masses: FloatArray, size: FloatArray, clusters: FloatArray | None = None) -> FloatArray:
        """Size · (error − ε) where that is positive: a perspective, so convex."""
        target = rows_of(self.target, clusters)
        shares = np.divide(masses, size, out=np.zeros_like(masses), where=size > 0)
        ratio = np.where(target > 0, target / np.maximum(shares, SMALLEST_SHARE), 1.0)
        error = (target * np.log(ratio)).sum(axis=1)
        return np.maximum(size[:, 0] * (error - self.limit), 0.0)


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
    low, high = np.full(len(t), -_FAR), np.full(len(t), _FAR)
    for _ in range(_MOST_STEPS):
        height = np.exp(x)
        w = height[:, None] - t
        inverse = center / w
        total = inverse.sum(axis=1)
        error = np.maximum((center * np.log(w)).sum(axis=1) + np.log(total), 1e-300)
        slope = height * (total - (inverse / w).sum(axis=1) / total) / error  # d log error / d log height, ≤ 0
        gap = np.log(error / limit)
        low, high = np.where(gap > 0, x, low), np.where(gap > 0, high, x)
        if (abs(gap) < 1e-11).all():
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            step = x - gap / slope
        inside = np.isfinite(step) & (step > low) & (step < high)
        after = np.where(inside, step, (low + high) / 2)
        if (abs(after - x) < 1e-14 * np.maximum(abs(x), 1.0)).all():
            break
        x = after
    return np.exp(x)


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
