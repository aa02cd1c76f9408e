"""The medoid kernels in NumPy: the same functions over the same arrays as the compiled ones. See ``medoids.hpp``.

D(x) = Σ_q w_q·d(x, q) over the points q of a cluster; the medoid is the point of the cluster with the least D.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from .._typing import FloatArray, IntArray

_MANHATTAN = 2  # as the compiled kernels number metrics
_NEAREST = 8  # points nearest the geometric median that are tried: as kNearest
_BRUTE = 128  # points of a cluster up to which all pairs are looked at: as kBrute
_BATCH = 16  # candidates that are compared with all points at a time: as kBatch
_NUMBERS = 1 << 20  # held at a time by a block of differences
_MEDIAN_STEPS = 40  # of Weiszfeld: a start for the search only; as kMedianSteps


class _Plan(Protocol):
    order: IntArray


def medoids(
    plan: _Plan,
    metric: int,
    X: FloatArray,
    labels: IntArray,
    weights: FloatArray | None,
    n_clusters: int,
    exact: bool,
    free: float,
    per_point: float,
    n_threads: int,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Medoid (position or −1), its D, a lower bound of D (equal: exact) and the distances computed, per cluster."""
    answer = np.zeros((4, n_clusters))
    answer[0] = -1
    for k in range(n_clusters):
        members = np.flatnonzero((labels == k) if weights is None else (labels == k) & (weights > 0))
        if not len(members):
            continue
        points = X[plan.order[members]].astype(float)
        w = np.ones(len(members)) if weights is None else weights[members]
        budget = max(free, per_point * len(members))
        best, value, lower, count = _find(points, w, metric, exact, budget, plan.order[members])
        answer[:, k] = members[best], value, lower, count
    return answer[0], answer[1], answer[2], answer[3]


def coordinate_medians(
    plan: _Plan, X: FloatArray, labels: IntArray, weights: FloatArray | None, centers: FloatArray, n_threads: int
) -> None:
    """Write the weighted median of every feature into ``centers`` (OUT; left alone where a cluster has no weight)."""
    for k in range(len(centers)):
        members = np.flatnonzero((labels == k) if weights is None else (labels == k) & (weights > 0))
        if len(members):
            w = np.ones(len(members)) if weights is None else weights[members]
            centers[k] = [_weighted_median(column, w) for column in X[plan.order[members]].T]


def median_sums(
    plan: _Plan,
    X: FloatArray,
    centers: FloatArray,
    near: FloatArray,
    labels: IntArray,
    weights: FloatArray | None,
    n_threads: int,
) -> FloatArray:
    """Per cluster: Σ w·(x − c)/‖x − c‖ and Σ w/‖x − c‖ beyond ``near``, the weight within, Σ w·‖x − c‖; (K, M + 3)."""
    n_clusters, n_features = centers.shape
    sums = np.zeros((n_clusters, n_features + 3))
    step = max(1, _NUMBERS // n_features)
    for first in range(0, len(labels), step):
        rows = slice(first, first + step)
        label = labels[rows]
        w = np.ones(len(label)) if weights is None else weights[rows]
        difference = X[plan.order[rows]].astype(float) - centers[label].astype(float)
        distance = np.sqrt((difference**2).sum(axis=1))
        is_far = distance > near[label]
        nearness = np.divide(w, distance, out=np.zeros_like(distance), where=is_far)
        table = np.column_stack([difference * nearness[:, None], nearness, w * ~is_far, w * distance])
        np.add.at(sums, label, table)
    return sums


def _find(
    points: FloatArray, w: FloatArray, metric: int, exact: bool, budget: float, rows: IntArray
) -> tuple[int, float, float, int]:
    """Best point (index), its D, a lower bound of D, distances computed."""
    n = len(points)
    if n <= _BRUTE or (exact and metric == _MANHATTAN):
        is_sorted = exact and metric == _MANHATTAN
        value = _sorted_sums(points, w) if is_sorted else _sums(points, w, points, metric)
        best = _first(np.arange(n), value, rows)
        return best, float(value[best]), float(value[best]), n if is_sorted else n * n
    middle, count = _middle(points, w, metric)
    near = np.argsort(_distances(points, middle[None], metric)[:, 0], kind="stable")[:_NEAREST]
    tried = np.sort(near)
    value = _sums(points[tried], w, points, metric)
    best = int(_first(tried, value, rows))
    least = float(value[tried == best][0])
    count += n + n * len(tried)
    if not exact:
        return best, least, 0.0, count
    mean, weight, quota, radius = _cells(points, w, metric)
    far = _distances(points, mean, metric)
    bound = far @ weight + (quota / (far + radius)).sum(axis=1)
    count += far.size
    alive = np.setdiff1d(np.flatnonzero(bound <= least * (1 + 1e-12)), tried)
    alive = alive[np.argsort(bound[alive], kind="stable")]
    while len(alive):
        batch, alive = alive[:_BATCH], alive[_BATCH:]
        if count + len(batch) * n > budget:
            return best, least, min(least, float(bound[batch[0]])), count
        both = np.concatenate(([best], batch))
        value = np.concatenate(([least], _sums(points[batch], w, points, metric)))
        best = int(_first(both, value, rows))
        least = float(value[both == best][0])
        count += len(batch) * n
        alive = alive[bound[alive] <= least * (1 + 1e-12)]
    return best, least, least, count


def _first(candidates: IntArray, value: FloatArray, rows: IntArray) -> int:
    """The candidate of least value; among equals the first row of X."""
    equal = candidates[value == value.min()]
    return int(equal[rows[equal].argmin()])


def _distances(points: FloatArray, places: FloatArray, metric: int) -> FloatArray:
    columns = []
    for place in places:
        difference = points - place
        columns.append(np.abs(difference).sum(axis=1) if metric == _MANHATTAN else np.sqrt((difference**2).sum(axis=1)))
    return np.column_stack(columns)


def _sums(candidates: FloatArray, w: FloatArray, points: FloatArray, metric: int) -> FloatArray:
    return w @ _distances(points, candidates, metric)


def _sorted_sums(points: FloatArray, w: FloatArray) -> FloatArray:
    """Manhattan D of every point: a sum over features of functions of one coordinate, which sorting tabulates."""
    total = np.zeros(len(points))
    for column in points.T:
        order = np.argsort(column, kind="stable")
        x, weight = column[order] - column[order[0]], w[order]
        below = np.cumsum(weight) - weight
        steps = np.diff(x, prepend=0.0) * (2 * below - w.sum())
        total[order] += weight @ x + np.cumsum(steps)
    return total


def _middle(points: FloatArray, w: FloatArray, metric: int) -> tuple[FloatArray, int]:
    """The (nearly) geometric or coordinate-wise median, and the distances that took."""
    if metric == _MANHATTAN:
        return np.array([_weighted_median(column, w) for column in points.T]), 0
    place, count = np.average(points, axis=0, weights=w), 0
    for _ in range(_MEDIAN_STEPS):
        distance = _distances(points, place[None], metric)[:, 0]
        count += len(points)
        mean = np.average(distance, weights=w)
        if mean <= 0:
            break
        moved_to = np.average(points, axis=0, weights=w / np.maximum(distance, 1e-6 * mean))
        moved, place = float(((moved_to - place) ** 2).sum()), moved_to
        if moved <= 1e-8 * mean**2:
            break
    return place, count


def _cells(points: FloatArray, w: FloatArray, metric: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """About √n cells, by halving: mean, weight, quota (tr C − largest eigenvalue)/2, radius."""
    smallest = int(np.sqrt(len(points)))
    waiting, means, weights, quotas, radii = [np.arange(len(points))], [], [], [], []
    while waiting:
        cell = waiting.pop()
        if len(cell) >= 2 * smallest:
            widest = points[cell].var(axis=0).argmax()
            by_value = cell[np.argsort(points[cell, widest], kind="stable")]
            waiting += [by_value[: len(cell) // 2], by_value[len(cell) // 2 :]]
            continue
        mean = np.average(points[cell], axis=0, weights=w[cell])
        offset = points[cell] - mean
        moments = (offset * w[cell][:, None]).T @ offset
        across = max(0.0, float(np.trace(moments) - np.linalg.eigvalsh(moments)[-1])) * (1 - 1e-9)
        means.append(mean)
        weights.append(w[cell].sum())
        quotas.append(0.0 if metric == _MANHATTAN else across / 2)
        radii.append(np.sqrt((offset**2).sum(axis=1).max()) * (1 + 1e-6) + np.finfo(np.float32).tiny)
    return np.array(means), np.array(weights), np.array(quotas), np.array(radii)


def _weighted_median(values: FloatArray, w: FloatArray) -> float:
    """The middle value; between the two middle ones where half of the weight lies on either side."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(w[order])
    half = below[-1] / 2
    at = min(int(np.searchsorted(below, half)), len(values) - 1)
    if below[at] == half and at + 1 < len(values):
        return float(values[order[at]] + (values[order[at + 1]] - values[order[at]]) / 2)
    return float(values[order[at]])
