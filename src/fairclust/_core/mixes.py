"""What the fair mixes of several notions have in common, in NumPy: how they turn, where an error meets its limit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._typing import AnyArray, FloatArray

_MOST_STEPS = 60  # of a root search that halves its bracket where Newton's step leaves it; ten do nearly always
_FAR = 300.0  # logarithms that are looked at: squares of their inverses are still numbers


def softened(mixes: FloatArray, center: FloatArray, kappa: FloatArray, free: AnyArray | bool = True) -> FloatArray:
    """∂q/∂θ where q_j = κ·centre_j/(μ − θ_j) for the free groups, κ and the others stay, and each mix adds up to 1."""
    least = np.finfo(float).tiny ** 0.5  # so that products of two speeds are numbers
    speed = np.where(free, mixes**2 / np.maximum(kappa * center, least), 0.0)
    turn = -speed[:, :, None] * speed[:, None, :]
    turn /= np.maximum(speed.sum(axis=1), np.finfo(float).tiny)[:, None, None]
    diagonal = np.arange(mixes.shape[1])
    turn[:, diagonal, diagonal] += speed
    return turn


def falling_root(x: FloatArray, gap_and_slope: Callable[[FloatArray], tuple[FloatArray, FloatArray]]) -> FloatArray:
    """Where falling functions are 0, one for each value of x: Newton's steps, kept in a bracket.

    Functions are logarithms of ratios, and x logarithms too: 1e-11 is a relative error, 1e-14 the last bits.
    """
    low, high = np.full(len(x), -_FAR), np.full(len(x), _FAR)
    for _ in range(_MOST_STEPS):
        gap, slope = gap_and_slope(x)
        low, high = np.where(gap > 0, x, low), np.where(gap > 0, high, x)
        if (abs(gap) < 1e-11).all():
            break
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            step = x - gap / slope
        inside = np.isfinite(step) & (step > low) & (step < high)
        after = np.where(inside, step, (low + high) / 2)
        if (abs(after - x) < 1e-14 * np.maximum(abs(x), 1.0)).all():
            break
        x = after
    return x
