"""Sums of rows by label, brought up to date where few labels changed since they were asked for last. Knows no row."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._sweep.memory import InMemorySweep
from .._typing import FloatArray, IntArray

_MOST_CHANGES = 20  # in a row, so that rounding cannot add up
_MOST_LOST = 2.0**20  # a sum of a millionth of what it was, or of what came and went, has lost six digits


class LabelChanges(NamedTuple):
    """What changes of labels add to sums by label, and how much, without signs, comes and goes."""

    change: FloatArray
    moved: FloatArray


class KnownSums:
    """The last sums that were asked for, and their labels."""

    def __init__(self) -> None:
        self._plan: object = None  # where the labels' points lie
        self._labels = np.zeros(0, dtype=np.int32)
        self._sums = np.zeros((0, 0))
        self._n_changes = 0

    def of(
        self,
        sweep: InMemorySweep,
        labels: IntArray,
        add_up: Callable[[], FloatArray],
        changes_from: Callable[[IntArray], LabelChanges | None],
        *,
        keeps_labels: bool = True,
    ) -> FloatArray:
        """Sums by label, nobody else's to keep: they are changed in place.

        Parameters
        ----------
        sweep : InMemorySweep
            Where the points lie.
        labels : ndarray of shape (n_samples,)
            In visiting order.
        add_up : callable
            The sums of all rows.
        changes_from : callable
            What has changed since other labels; None: too much.
        keeps_labels : bool
            Whether there is room to keep them until next time.
        """
        if self._plan is sweep.plan and self._n_changes < _MOST_CHANGES:
            changes = changes_from(self._labels)
            if changes is not None and _keep_digits(self._sums, changes):
                self._n_changes += 1
                self._labels[:] = labels
                self._sums += changes.change
                return self._sums
        self._plan, self._n_changes = sweep.plan if keeps_labels else None, 0
        self._sums = add_up()
        self._labels = labels.copy() if keeps_labels else self._labels[:0]
        return self._sums


def _keep_digits(sums: FloatArray, changes: LabelChanges) -> bool:
    """Whether rounding is nothing beside the new sums: a far row that left may have been all that was seen of a sum."""
    before = np.abs(sums) + changes.moved
    return bool(((before <= _MOST_LOST * np.abs(sums + changes.change)) | (changes.moved == 0)).all())
