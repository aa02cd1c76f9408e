"""How far each unknown's step is trusted: by what the last ones kept of their promises.

A quadratic model holds for a few temperatures. Where an unknown's slope points back after a step, the step was too long
in that unknown, and the two slopes tell by how much; the others need not wait for it.
"""

from __future__ import annotations

import numpy as np

from .._algebra import learned_lengths
from .._typing import FloatArray

TRUSTED = 8.0  # temperatures that an unknown may change by in the first step; what succeeds is trusted twice as far
_LEAST = 1e-12  # of any unknown's: it must be able to grow again
_GROWTH = 2.0  # of trust after a step that kept its promise
_MATTERS = 0.1  # of the farthest overshoot: less is no reason to be careful
_KEPT = 0.1  # of its promise that a step must keep to be trusted farther
_HELD_BACK = 0.5  # of its trusted length that an unknown alone goes when it wants to go just so far
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

    def __init__(self, shape: tuple[int, ...], first: float = TRUSTED) -> None:
        self.lengths = np.empty(shape)
        self.lengths.fill(first)

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
        is_taken, is_kept = bool(kept >= ENOUGH), bool(kept >= _KEPT)
        learned_lengths(self.lengths, step, length, before, after, is_taken, is_kept, _MATTERS, _GROWTH)
        np.maximum(self.lengths, _LEAST, out=self.lengths)

    def holds_back(self, length: FloatArray) -> bool:
        """Whether a step, in temperatures, would be longer if it were trusted: that it is short then says little."""
        return bool((length > _HELD_BACK * self.lengths).any())

    def shorten(self, which: FloatArray | slice) -> None:
        """Trust some unknowns half as far."""
        self.lengths[which] = np.maximum(0.5 * self.lengths[which], _LEAST)
