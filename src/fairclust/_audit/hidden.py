"""Which numbers must not be shown: small counts, and what would give them away by subtraction."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .. import metrics
from .._typing import AnyArray, FloatArray

HIDDEN = "hidden"


@dataclass(frozen=True)
class Hidden:
    """Which numbers a report must not show: those below the limit, and those that would give one away.

    Attributes
    ----------
    limit : float
        Counts below this are hidden.
    cells : ndarray of shape (n_clusters, n_groups), bool
    sizes : ndarray of shape (n_clusters,), bool
    totals : ndarray of shape (n_groups,), bool
    """

    limit: float
    cells: AnyArray
    sizes: AnyArray
    totals: AnyArray

    @classmethod
    def of(cls, table: metrics.Composition, suppress_below: float | None) -> Hidden:
        """What to hide of a table."""
        limit = -math.inf if suppress_below is None else float(suppress_below)
        sizes = _with_partners(table.sizes[:, None], table.sizes[:, None] < limit)[:, 0]
        totals = _with_partners(table.totals[None], table.totals[None] < limit)[0]
        # A hidden size must not be the sum of a visible row, nor a hidden total that of a visible column.
        small = (table.counts < limit) | sizes[:, None] | totals[None]
        return cls(limit, _with_partners(table.counts, small), sizes, totals)

    @property
    def rows(self) -> AnyArray:
        """Clusters with a hidden cell: their scores would reveal it."""
        return np.asarray(self.cells.any(axis=1))

    @property
    def any(self) -> bool:
        """Whether anything is hidden."""
        return bool(self.cells.any())

    def number(self, value: float, text: str, hide: bool) -> str:
        """Show the text, or say why not."""
        return f"<{self.limit:g}" if value < self.limit else (HIDDEN if hide else text)


def _with_partners(table: FloatArray, hidden: AnyArray) -> AnyArray:
    """Hide a second cell beside each one that is hidden alone in its row or column.

    Sizes and totals are known, so a cell hidden alone is found by subtraction. The partner is the smallest visible
    cell, first among the lines that hide something already, so that little else must go.
    """
    hidden = hidden.copy()
    while True:
        before = int(hidden.sum())
        for lines, values in ((hidden, table), (hidden.T, table.T)):
            for i in np.flatnonzero((lines.sum(axis=1) == 1) & (lines.shape[1] > 1)):
                lines[i, np.lexsort((values[i], ~lines.any(axis=0), lines[i]))[0]] = True
        if int(hidden.sum()) == before:
            return hidden
