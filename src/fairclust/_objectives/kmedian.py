"""K-median: distances to the clusters' medoids, or to their geometric medians."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._core import kernels
from .._data.in_memory import InMemory
from .._typing import FloatArray, IntArray
from . import centers as places
from ._base import Objective
from .centers import EUCLIDEAN, MANHATTAN

METRICS = {"euclidean": EUCLIDEAN, "manhattan": MANHATTAN}
CENTERS = ("medoid", "geometric")

_FREE = 1 << 26  # distances that an exact search in a cluster may take,
_MOST_PER_POINT = 1 << 9  # or so many per point
_MANY_ROWS = 1 << 16  # above, only the last medoids are exact: an exact search takes as long as all the rest of a fit
_MEDIAN_STEPS = 200  # at most; near the end of a fit, four bring all there is to gain
_MEDIAN_TOL = 1e-7  # relative fall of the sum of distances that a step of Weiszfeld's iteration must bring
_NEAR = 1e-6  # of the mean distance: a point this close to a centre is at the centre
_NO_WEIGHT = 1e-7  # soft assignments below this are nothing


@dataclass(frozen=True)
class Medoids:
    """Medoids of some labels.

    Attributes
    ----------
    positions : ndarray of shape (n_clusters,)
        Of the medoids, as the oracle numbers rows; −1 where a cluster is empty.
    centers : ndarray of shape (n_clusters, n_features)
        Their coordinates; of an empty cluster those of any row.
    value : float
        Sum of the distances of all rows to the medoid of their cluster.
    lower : float
        No choice of medoids has a smaller sum. Equal to ``value`` where the search was exact.
    """

    positions: IntArray
    centers: FloatArray
    value: float
    lower: float

    @property
    def is_exact(self) -> bool:
        """Whether no row of any cluster is a better medoid."""
        return self.lower >= self.value


@dataclass
class Effort:
    """Distances that medoid searches computed so far: one count for an objective and its samples."""

    n_distances: int = 0


class MedianObjective(Objective):
    """Σ_p d(x_p, c_k(p)), with c_k a row of cluster k or the best place anywhere. A subclass knows the distance.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The rows, as places that a centre can be at.
    center : {"medoid", "geometric"}
    effort : Effort or None
        Counts the distances.
    """

    def __init__(self, X: FloatArray, center: str, effort: Effort | None) -> None:
        self.X = X
        self.center = center
        self.effort = Effort() if effort is None else effort

    def centers(self, rows: InMemory, labels: IntArray, sizes: FloatArray, before: FloatArray) -> FloatArray:
        """Medoids, or medians, of the clusters.

        Of many rows, a medoid is the best of a few rows near the geometric median; :meth:`medoids` finds exact ones.
        """
        if self.center == "geometric":
            return self._medians(rows, labels, rows.weights, before)
        found = self._search(rows, labels, rows.weights, rows.n_clusters, is_exact=len(labels) <= _MANY_ROWS)
        return _or_before(found, before)

    def medoids(self, rows: InMemory, labels: IntArray) -> Medoids:
        """Medoids of these labels, exact unless that costs too many distances."""
        return self._search(rows, labels, rows.weights, rows.n_clusters, is_exact=True)

    def weighted_centers(
        self, rows: InMemory, prices: FloatArray, temperature: float, sizes: FloatArray, before: FloatArray
    ) -> FloatArray:
        """Medoids, or medians, of all rows weighted by the soft assignments."""
        soft, together = rows.soft_rows(prices, temperature), np.zeros(rows.n_samples, dtype=np.int32)
        found = []
        for k in range(rows.n_clusters):
            weights = soft[rows.layout.order, k].astype(float)
            weights[weights < _NO_WEIGHT] = 0.0
            if rows.weights is not None:
                weights *= rows.weights
            old = np.ascontiguousarray(before[k : k + 1])
            if self.center == "geometric":
                found.append(self._medians(rows, together, weights, old))
            else:
                found.append(_or_before(self._search(rows, together, weights, 1, is_exact=True), old))
        return np.concatenate(found)

    @abstractmethod
    def _search(
        self, rows: InMemory, labels: IntArray, weights: FloatArray | None, n_clusters: int, *, is_exact: bool
    ) -> Medoids:
        """The medoids of these labels."""

    @abstractmethod
    def _medians(self, rows: InMemory, labels: IntArray, weights: FloatArray | None, start: FloatArray) -> FloatArray:
        """The best places, none worse than where it starts; an empty cluster stays there."""


class KMedianObjective(MedianObjective):
    """Σ_p d(x_p, c_k(p)), with a_pk = d(x_p, c_k) and c_k the medoid or the geometric median of cluster k.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        float32 or float64, C-contiguous, in the user's order.
    metric : {"euclidean", "manhattan"}
    center : {"medoid", "geometric"}
        "geometric": anywhere in space; for manhattan the median of every feature.
    effort : Effort or None
        Counts the distances.
    """

    def __init__(
        self, X: FloatArray, metric: str = "euclidean", center: str = "medoid", effort: Effort | None = None
    ) -> None:
        super().__init__(X, center, effort)
        self.metric = metric
        self._metric = METRICS[metric]
        self.can_extrapolate = center == "geometric"

    def fill(self, rows: InMemory, centers: FloatArray, labels: IntArray | None = None) -> float:
        """Distances to the centres."""
        rows.base_cost, value = kernels.distances(
            rows.plan, self._metric, self.X, centers, labels, rows.weights, rows.excess, rows.n_threads
        )
        return float(value)

    def sampled(self, rows: IntArray) -> KMedianObjective:
        """K-median on some rows only; their medoids are rows of X all the same."""
        return KMedianObjective(self.X.take(rows, axis=0), self.metric, self.center, self.effort)

    def relaxed(self) -> KMedianObjective | None:
        """K-median with geometric medians: medoids are found among the rows near them."""
        return KMedianObjective(self.X, self.metric, "geometric", self.effort) if self.center == "medoid" else None

    def halves(self, rows: InMemory, centers: FloatArray, labels: IntArray) -> list[tuple[float, FloatArray]]:
        """Two centres per cluster, of some of its rows."""
        return places.halves(self.X, rows.layout.order, labels, rows.weights, len(centers), 1, rows.n_threads)

    def _search(
        self, rows: InMemory, labels: IntArray, weights: FloatArray | None, n_clusters: int, *, is_exact: bool
    ) -> Medoids:
        """Exact where asked, and for manhattan, where sorting finds the medoids in n·log n."""
        position, value, lower, evaluations = kernels.medoids(
            rows.plan, self._metric, self.X, labels, weights, n_clusters,
            is_exact or self.metric == "manhattan", float(_FREE), float(_MOST_PER_POINT), rows.n_threads,
        )  # fmt: skip
        self.effort.n_distances += int(evaluations.sum())
        positions = position.astype(np.int64)
        centers = np.ascontiguousarray(self.X[rows.layout.order[positions]])
        return Medoids(positions, centers, float(value.sum()), float(lower.sum()))

    def _medians(self, rows: InMemory, labels: IntArray, weights: FloatArray | None, start: FloatArray) -> FloatArray:
        """Geometric medians from ``start`` on, or medians of every feature."""
        if self.metric == "manhattan":
            centers = np.array(start, dtype=self.X.dtype, order="C")
            kernels.coordinate_medians(rows.plan, self.X, labels, weights, centers, rows.n_threads)
            return centers

        def sums_at(tried: FloatArray, near: FloatArray) -> FloatArray:
            sums: FloatArray = kernels.median_sums(rows.plan, self.X, tried, near, labels, weights, rows.n_threads)
            return sums

        weight = np.bincount(labels, weights=weights, minlength=len(start))
        return weiszfeld(sums_at, np.ascontiguousarray(start, dtype=self.X.dtype), weight)[0]


def weiszfeld(
    sums_at: Callable[[FloatArray, FloatArray], FloatArray], start: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Geometric medians from ``start`` on, never worse than it.

    Parameters
    ----------
    sums_at : callable
        Given centres and, for each, how near a point must be to be at it: what the kernel ``median_sums`` returns.
    start : ndarray of shape (n_clusters, n_features)
    weight : ndarray of shape (n_clusters,)
        Weight of each cluster's points.

    Returns
    -------
    medians : ndarray of shape (n_clusters, n_features)
    values, lower : ndarray of shape (n_clusters,)
        Sums of the distances to them, and what these sums are not less than at any point.
    """
    n_features = start.shape[1]
    tried, near = start, np.zeros(len(start))
    weight = np.maximum(weight, np.finfo(float).tiny)
    best, least, lower = tried, np.full(len(start), np.inf), np.zeros(len(start))
    for step in range(_MEDIAN_STEPS):
        sums = sums_at(tried, near)
        directions, total, here, cost = np.split(sums, [n_features, n_features + 1, n_features + 2], axis=1)
        # The points elsewhere pull with a force of this length; the points at the centre hold it with their weight.
        force = np.linalg.norm(directions, axis=1, keepdims=True)
        is_better = cost[:, 0] < least
        before, least = float(least.sum()), np.minimum(least, cost[:, 0])
        best = np.where(is_better[:, None], tried, best)
        # The sum f is convex, and no median lies farther away than 2 f / weight.
        slope = np.maximum(force - here, 0.0)[:, 0] / weight
        lower = np.maximum(lower, cost[:, 0] * (1.0 - 2.0 * slope))
        # The first step may be short: it starts close to a point, and does not know yet what close is.
        if step > 1 and before - float(least.sum()) <= _MEDIAN_TOL * float(least.sum()):
            break
        free = np.divide(force - here, force, out=np.zeros_like(force), where=force > here)
        moved_to = tried + free * np.divide(directions, total, out=np.zeros_like(directions), where=total > 0)
        tried = np.ascontiguousarray(moved_to, dtype=start.dtype)
        near = _NEAR * cost[:, 0] / weight
    return np.ascontiguousarray(best), least, np.minimum(lower, least)


def _or_before(found: Medoids, before: FloatArray) -> FloatArray:
    """Medoids; an empty cluster stays where it was before."""
    return np.ascontiguousarray(np.where(found.positions[:, None] >= 0, found.centers, before), found.centers.dtype)
