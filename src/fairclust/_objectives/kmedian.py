"""K-median: distances to the clusters' medoids, or to their geometric medians."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._core import kernels
from .._sweep.memory import InMemorySweep
from .._sweep.question import Answer, State
from .._typing import FloatArray, IntArray
from . import centers
from ._base import Objective
from .centers import EUCLIDEAN, MANHATTAN, movement, slices

METRICS = {"euclidean": EUCLIDEAN, "manhattan": MANHATTAN}
CENTERS = ("medoid", "geometric")

_FREE = 1 << 26  # distances that an exact search in a cluster may take,
_MOST_PER_POINT = 1 << 9  # or so many per point
_FEW_CHANGES = 0.05  # share of the labels that change between two steps; below it medoids are exact
_MANY_ROWS = 1 << 18  # above, only the last medoids are exact
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
        Of the medoids in visiting order; −1 where a cluster is empty.
    centers : ndarray of shape (n_clusters, n_features)
        Their coordinates.
    value : float
        Sum of the distances of all points to the medoid of their cluster.
    lower : float
        No choice of medoids has a smaller sum. Equal to ``value`` where the search was exact.
    """

    positions: IntArray
    centers: FloatArray
    value: float
    lower: float

    @property
    def is_exact(self) -> bool:
        """Whether no point of any cluster is a better medoid."""
        return self.lower >= self.value


@dataclass(frozen=True)
class PricedCenters:
    """Centres, and the sum of distances to them of the points that they were found for."""

    centers: FloatArray
    value: float

    def are_at(self, centers: FloatArray) -> bool:
        """Whether these are the same places."""
        return np.array_equal(self.centers, centers)


@dataclass
class Effort:
    """Distances that medoid searches computed so far: one count for an objective and its samples."""

    n_distances: int = 0


class MedianObjective(Objective):
    """Σ_p d(x_p, c_k(p)), with c_k a row of cluster k or the best place anywhere. A subclass knows the distance.

    A medoid is a point of its own cluster. So that the point costs bound the objective from above, the medoids that
    the costs were computed from stay in their clusters (:meth:`anchors`): every labelling that is then proposed has
    medoids at least as good as the old ones.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The rows, as places that a centre can be at.
    center : {"medoid", "geometric"}
    effort : Effort or None
        Counts the distances.
    weights : ndarray of shape (n_samples,) or None
        Sample weights.
    """

    can_relocate = True

    def __init__(self, X: FloatArray, center: str, effort: Effort | None, weights: FloatArray | None) -> None:
        self.X = X
        self.center = center
        self.effort = Effort() if effort is None else effort
        self._weights = weights
        # What is known of centres and labels is looked up by their values: arrays may be copied on the way.
        self._filled: FloatArray | None = None  # the centres that the point costs are distances to
        self._medoids: Medoids | None = None  # the last ones found,
        self._labels: IntArray | None = None  # and the labels they belong to
        self._soft: PricedCenters | None = None  # the last soft centres

    def parameters(self, sweep: InMemorySweep, labels: IntArray, sizes: FloatArray) -> FloatArray:
        """Medoids, or medians, of the clusters: never worse than the centres of the last :meth:`fill`.

        While many labels still change (or where there are many rows) a medoid is the best of the old one and a few
        points near the geometric median; :meth:`medoids` finds the exact ones.
        """
        if self.center == "geometric":
            return self._medians(sweep, labels, sweep.weights, self._start(sweep, labels, sizes))
        old = self.anchors()
        if old is None:
            old = np.full(sweep.n_clusters, -1)
        has_many_rows = len(labels) > _MANY_ROWS
        is_late = not has_many_rows and _share_changed(self._labels, labels) <= _FEW_CHANGES
        found = self._search(sweep, labels, old, is_exact=is_late)
        if not is_late and not has_many_rows and np.array_equal(found.positions, old):
            found = self._search(sweep, labels, old, is_exact=True)
        # The labels of many rows would be one more array of that length.
        self._medoids, self._labels = found, None if has_many_rows else labels.copy()
        return found.centers

    def medoids(self, sweep: InMemorySweep, labels: IntArray) -> Medoids:
        """Medoids of these labels, exact unless that costs too many distances."""
        if self._medoids is not None and self._medoids.is_exact and _share_changed(self._labels, labels) == 0.0:
            return self._medoids
        return self._search(sweep, labels, np.full(sweep.n_clusters, -1), is_exact=True)

    def anchors(self) -> IntArray | None:
        """Positions of the medoids that the point costs are distances to (−1: none), where they are known."""
        if self._medoids is None or self._filled is None or not np.array_equal(self._filled, self._medoids.centers):
            return None
        return self._medoids.positions

    def soft_parameters(self, sweep: InMemorySweep, state: State, sizes: FloatArray) -> FloatArray:
        """Medoids, or medians, of all points weighted by the soft assignments."""
        soft = sweep.soft_rows(state)
        together = np.zeros(sweep.layout.n_samples, dtype=np.int32)
        centers, value = np.empty((sweep.n_clusters, self.X.shape[1]), dtype=self.X.dtype), 0.0
        for k in range(sweep.n_clusters):
            soft_weights = soft[sweep.layout.order, k].astype(np.float64)
            soft_weights[soft_weights < _NO_WEIGHT] = 0.0
            if sweep.weights is not None:
                soft_weights *= sweep.weights
            start = np.array(self._filled[k : k + 1] if self._filled is not None else self.X[:1])
            centers[k], cost = self._soft_center(sweep, together, soft_weights, start)
            value += cost
        self._soft = PricedCenters(centers.copy(), value)
        return centers

    def soft_value(self, answer: Answer, old: FloatArray, new: FloatArray) -> float:
        """Sum of distances to the new centres, as the search for them found it."""
        assert self._soft is not None
        assert self._soft.are_at(new)
        return min(self._soft.value, answer.cost)

    def _soft_center(
        self, sweep: InMemorySweep, together: IntArray, soft_weights: FloatArray, start: FloatArray
    ) -> tuple[FloatArray, float]:
        """One centre of all points with these weights, no worse than ``start``; and the sum of distances to it."""
        if self.center == "geometric":
            place = self._medians(sweep, together, soft_weights, start)
            return place[0], self._cost(sweep, together, soft_weights, place)
        found = self._search(sweep, together, np.array([-1]), is_exact=True, weights=soft_weights)
        before = self._cost(sweep, together, soft_weights, start)
        is_medoid = found.positions[0] >= 0 and found.value <= before
        return (found.centers[0], found.value) if is_medoid else (start[0], before)

    @abstractmethod
    def _search(
        self,
        sweep: InMemorySweep,
        labels: IntArray,
        old: IntArray,
        *,
        is_exact: bool,
        weights: FloatArray | None = None,
    ) -> Medoids:
        """The medoids of these labels; ``old`` are the positions of those in use, or −1."""

    @abstractmethod
    def _cost(self, sweep: InMemorySweep, labels: IntArray, weights: FloatArray, centers: FloatArray) -> float:
        """Weighted sum of the distances to these centres."""

    @abstractmethod
    def _start(self, sweep: InMemorySweep, labels: IntArray, sizes: FloatArray) -> FloatArray:
        """Where the search for the best places starts."""

    @abstractmethod
    def _medians(
        self, sweep: InMemorySweep, labels: IntArray, weights: FloatArray | None, start: FloatArray
    ) -> FloatArray:
        """The best places, none worse than where it starts."""


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
    weights : ndarray of shape (n_samples,) or None
        Sample weights, for the variance that ``tol`` is relative to.
    """

    def __init__(
        self,
        X: FloatArray,
        metric: str = "euclidean",
        center: str = "medoid",
        effort: Effort | None = None,
        weights: FloatArray | None = None,
    ) -> None:
        super().__init__(X, center, effort, weights)
        self.metric = metric
        self._metric = METRICS[metric]
        self._variance = centers.mean_variance(X, weights)

    def fill(self, sweep: InMemorySweep, parameters: FloatArray, labels: IntArray | None = None) -> float:
        """Distances to the centres."""
        sweep.base_cost, value = kernels.distances(
            sweep.plan, self._metric, self.X, parameters, labels, sweep.weights, sweep.excess, sweep.n_threads
        )
        self._filled = parameters.copy()
        return float(value)

    def sampled(self, rows: IntArray) -> KMedianObjective:
        """K-median on some rows only; their medoids are rows of X all the same."""
        weights = None if self._weights is None else self._weights[rows]
        return KMedianObjective(self.X.take(rows, axis=0), self.metric, self.center, self.effort, weights)

    def relaxed(self) -> KMedianObjective | None:
        """K-median with geometric medians: medoids are found among the points near them."""
        if self.center != "medoid":
            return None
        return KMedianObjective(self.X, self.metric, "geometric", self.effort, self._weights)

    def halves(self, sweep: InMemorySweep, parameters: FloatArray, labels: IntArray) -> list[tuple[float, FloatArray]]:
        """Two centres per cluster, of some of its points; medoids are points."""
        found = centers.halves(self.X, sweep.layout.order, labels, sweep.weights, len(parameters), 1, sweep.n_threads)
        if self.center != "medoid":
            return found
        return [(gain, centers.nearest_rows(self.X, places)) for gain, places in found]

    def movement(self, old: FloatArray, new: FloatArray) -> float:
        """Σ_k ‖Δc_k‖² over the mean variance of the features; 0 when no medoid changed."""
        return movement(old, new, self._variance)

    def farthest(self, sweep: InMemorySweep, parameters: FloatArray, labels: IntArray, count: int) -> IntArray:
        """Points farthest from their centre."""
        distance = np.empty(len(labels))
        for rows in slices(len(labels)):
            difference = self.X[sweep.layout.order[rows]].astype(float) - parameters[labels[rows]]
            distance[rows] = np.linalg.norm(difference, ord=self._order, axis=1)
        return centers.most_remote(distance, sweep.weights, count)

    @property
    def _order(self) -> int:
        """Which norm the metric is."""
        return 2 if self.metric == "euclidean" else 1

    def _search(
        self,
        sweep: InMemorySweep,
        labels: IntArray,
        old: IntArray,
        *,
        is_exact: bool,
        weights: FloatArray | None = None,
    ) -> Medoids:
        """Exact where asked, and for manhattan, where sorting finds the medoids in n·log n."""
        position, value, lower, evaluations = kernels.medoids(
            sweep.plan, self._metric, self.X, labels, sweep.weights if weights is None else weights,
            np.ascontiguousarray(old, dtype=np.int64), is_exact or self.metric == "manhattan", float(_FREE),
            float(_MOST_PER_POINT), sweep.n_threads,
        )  # fmt: skip
        self.effort.n_distances += int(evaluations.sum())
        positions = position.astype(np.int64)
        centers = np.ascontiguousarray(self.X[sweep.layout.order[positions]])
        if self._filled is not None and len(self._filled) == len(centers):
            centers[positions < 0] = self._filled[positions < 0]
        return Medoids(positions, centers, float(value.sum()), float(lower.sum()))

    def _cost(self, sweep: InMemorySweep, labels: IntArray, weights: FloatArray, centers: FloatArray) -> float:
        total = 0.0
        for rows in slices(len(labels)):
            difference = self.X[sweep.layout.order[rows]].astype(float) - centers[labels[rows]]
            total += float(weights[rows] @ np.linalg.norm(difference, ord=self._order, axis=1))
        return total

    def _start(self, sweep: InMemorySweep, labels: IntArray, sizes: FloatArray) -> FloatArray:
        """The centres in use, or the means."""
        if self._filled is not None and len(self._filled) == sweep.n_clusters:
            return self._filled
        sums = kernels.label_sums(sweep.plan, self.X, labels, sweep.weights, sweep.n_clusters, sweep.n_threads)
        return np.ascontiguousarray(sums / np.maximum(sizes, np.finfo(float).tiny)[:, None], dtype=self.X.dtype)

    def _medians(
        self, sweep: InMemorySweep, labels: IntArray, weights: FloatArray | None, start: FloatArray
    ) -> FloatArray:
        """Geometric medians from ``start`` on, or medians of every feature."""
        if self.metric == "manhattan":
            centers = np.array(start, dtype=self.X.dtype, order="C")
            kernels.coordinate_medians(sweep.plan, self.X, labels, weights, centers, sweep.n_threads)
            return centers
        return self._weiszfeld(sweep, labels, weights, start)

    def _weiszfeld(
        self, sweep: InMemorySweep, labels: IntArray, weights: FloatArray | None, start: FloatArray
    ) -> FloatArray:
        """Weiszfeld's iteration with the step of Vardi and Zhang where a centre meets a point."""
        weight = np.bincount(labels, weights=weights, minlength=len(start))
        start = np.ascontiguousarray(start, dtype=self.X.dtype)

        def sums_at(tried: FloatArray, near: FloatArray) -> FloatArray:
            sums: FloatArray = kernels.median_sums(sweep.plan, self.X, tried, near, labels, weights, sweep.n_threads)
            return sums

        return weiszfeld(sums_at, start, weight)[0]


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


def _share_changed(before: IntArray | None, now: IntArray) -> float:
    return 1.0 if before is None or len(before) != len(now) else float(np.mean(before != now))
