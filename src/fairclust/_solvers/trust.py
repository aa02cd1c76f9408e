"""How far each unknown's step is trusted: by what the last ones kept of their promises.

A quadratic model holds for a few temperatures. Where an unknown's slope points back after a step, the step was too long
in that unknown, and the two slopes tell by how much; the others need not wait for it.
"""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray

_TRUSTED = 8.0  # temperatures that an unknown may change by in the first step; what succeeds is trusted twice as far
_LEAST = 1e-12  # of any unknown's: it must be able to grow again
_GROWTH = 2.0  # of trust after a step that kept its promise
_MATTERS = 0.1  # of the farthest overshoot: less is no reason to be careful
_KEPT = 0.1  # of its promise that a step must keep to be trusted farther
ENOUGH = 1e-4  # of its promise that a step must keep to be taken


class Trust:
    """Lengths, in temperatures, that unknowns may change by.

    Parameters
    ----------
    shape : tuple of int
        Of the unknowns.
    first : float
        The first step's.
    """

    def __init__(self, shape: tuple[int, ...], first: float = _TRUSTED) -> None:
        self.lengths = np.full(shape, first)

    def learn(self, step: FloatArray, length: FloatArray, before: FloatArray, after: FloatArray, kept: float) -> None:
        """Trust more or less, after a step.

        Parameters
        ----------
        step, length : ndarray
            What was tried; the same in temperatures, without sign.
        before, after : ndarray
            Slopes at its ends, that of a function that is to rise.
        kept : float
            Part of its promise that the step kept. Below ``ENOUGH`` it is not taken.
        """
        back = np.minimum(after * step, 0.0)
        too_far = back < _MATTERS * back.min()
        turning = abs(before) / np.maximum(abs(before) + abs(after), np.finfo(float).tiny)
        if kept < ENOUGH:
            shorter = np.minimum(turning, 0.5) * length
            self.lengths = np.where(too_far, np.minimum(shorter, self.lengths), self.lengths)
        else:
            farther = _GROWTH * (self.lengths if kept >= _KEPT else np.maximum(self.lengths / _GROWTH, length))
            overshot = too_far & (turning < 0.5)
            self.lengths = np.where(overshot, np.minimum(2.0 * turning * length, self.lengths), farther)
        self.lengths = np.maximum(self.lengths, _LEAST)

    def shorten(self, which: FloatArray | slice) -> None:
        """Trust some unknowns half as far."""
        self.lengths[which] = np.maximum(0.5 * self.lengths[which], _LEAST)
