"""Bounds on the clusters' sizes, as one more part of the term."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._algebra import Expansion
from .._typing import FloatArray, IntArray
from .notion import ShareTerms

SIZE_MARGIN = 0.02
"""Sizes are asked to keep so far inside their bounds, so that hard labels do not end just outside."""


@dataclass(frozen=True)
class SizeFairness:
    """Bounds on the clusters' sizes: ½ log² of how far a size is beyond its bound, less a margin; 0 inside.

    No attribute: it wants the same of everyone, and so reads the column that counts everyone.

    Parameters
    ----------
    lower, upper : ndarray of shape (n_clusters,)
        Masses; 0 and infinity where there is no bound.
    """

    lower: FloatArray
    upper: FloatArray

    @property
    def target(self) -> FloatArray:
        """No group has a share."""
        return np.zeros(0)

    @property
    def overlaps(self) -> bool:
        """Whether people may be in several groups, or in none."""
        return False

    @property
    def is_logarithmic(self) -> bool:
        """Whether it is log size − Σ target · log masses, up to a constant."""
        return False

    @property
    def n_columns(self) -> int:
        """Everyone."""
        return 1

    @property
    def entropy(self) -> float:
        """None: the value is 0 where it is least."""
        return 0.0

    @property
    def share_terms(self) -> ShareTerms:
        """None: sizes have no shares. Whoever moves single nodes looks at them afterwards."""
        return ShareTerms(np.zeros(0), np.zeros(0), np.zeros(0), counts_everyone=True)

    def value(self, masses: FloatArray, clusters: IntArray | None = None) -> FloatArray:
        """How far each size is beyond its bounds, shape (n_clusters,)."""
        few, many, _ = self._beyond(masses, clusters)
        return 0.5 * (few**2 + many**2)

    def slope(self, masses: FloatArray) -> FloatArray:
        """Derivative by the size, shape (n_clusters, 1)."""
        few, many, size = self._beyond(masses, None)
        return ((many - few) / size)[:, None]

    def expansion(self, masses: FloatArray) -> Expansion:
        """Value, slope, and the positive part of the second derivative."""
        few, many, size = self._beyond(masses, None)
        bend = np.where(few > 0, 1.0 + few, 0.0) + np.where(many > 0, np.maximum(1.0 - many, 0.0), 0.0)
        return Expansion(self.value(masses), self.slope(masses), (bend / size**2)[:, None, None])

    def scaled(self, fraction: float) -> SizeFairness:
        """The same bounds for a sample."""
        return SizeFairness(self.lower * fraction, self.upper * fraction)

    def _beyond(self, masses: FloatArray, clusters: IntArray | None) -> tuple[FloatArray, FloatArray, FloatArray]:
        lower, upper = (bound if clusters is None else bound[clusters] for bound in (self.lower, self.upper))
        size = np.maximum(masses[:, 0], np.finfo(float).tiny ** 0.25)
        with np.errstate(divide="ignore"):
            few = np.maximum(np.log(lower * (1 + SIZE_MARGIN) / size), 0.0)
            many = np.maximum(np.log(size * (1 + SIZE_MARGIN) / upper), 0.0)
        return few, many, size
