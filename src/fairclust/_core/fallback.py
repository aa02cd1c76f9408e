"""The kernels in NumPy: the same functions over the same arrays as the compiled module, for machines without it.

They work chunk by chunk, so that no temporary is larger than a chunk, and add the chunks in order. ``n_threads`` is
accepted and ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray
from .fallback_graph import associations, contract, link_costs, match_nodes, move_nodes
from .fallback_medoids import coordinate_medians, median_sums, medoids
from .fallback_rows import coded_costs, coded_distances, coded_sums, sparse_distances, sparse_sums
from .fallback_small import halves, kl_support, laplacian, response
from .tiles import RUN, TILE, to_tiles

__all__ = [
    "Plan",
    "assign",
    "assign_rows",
    "associations",
    "cheapest_moves",
    "coded_costs",
    "coded_distances",
    "coded_sums",
    "contract",
    "coordinate_medians",
    "distances",
    "halves",
    "kl_support",
    "label_sums",
    "laplacian",
    "link_costs",
    "match_nodes",
    "median_sums",
    "medoids",
    "move_nodes",
    "name",
    "response",
    "soft_rows",
    "soft_sums",
    "sparse_distances",
    "sparse_sums",
    "sweep",
    "sweep_rows",
    "trial_costs",
    "visiting_order",
]  # fmt: skip

name = "numpy"
_DECIDED = 16.0  # temperatures between best and second best, beyond which a point is not split


@dataclass(frozen=True)
class Plan:
    """Where the points lie; see :class:`fairclust._data.layout.Layout`."""

    order: IntArray
    start: IntArray
    size: IntArray
    chunk: IntArray
    chunk_cell: IntArray

    def chunks(self) -> Iterator[tuple[slice, slice, int]]:
        """Tiles, positions in visiting order and cell of every chunk."""
        for begin, end, cell in zip(self.chunk[:-1], self.chunk[1:], self.chunk_cell, strict=True):
            last = int(end) - 1
            yield (
                slice(int(begin), int(end)),
                slice(int(self.start[begin]), int(self.start[last] + self.size[last])),
                cell,
            )


def distances(
    plan: Plan,
    metric: int,
    X: FloatArray,
    centers: FloatArray,
    labels: IntArray | None,
    weights: FloatArray | None,
    excess: FloatArray,
    n_threads: int,
) -> tuple[float, float]:
    """Fill ``excess`` (OUT); return the weighted costs of the cheapest clusters and of ``labels`` (or 0)."""
    cheapest = labelled = 0.0
    for tiles, rows, _ in plan.chunks():
        costs = _costs(metric, X[plan.order[rows]], centers)
        low = costs.min(axis=1)
        excess[tiles] = to_tiles(costs - low[:, None], tiles)
        w = _weights(weights, rows)
        cheapest += float(w @ low)
        if labels is not None:
            labelled += float(w @ costs[np.arange(len(costs)), labels[rows]])
    return cheapest, labelled


def sweep(
    plan: Plan,
    excess: FloatArray,
    weights: FloatArray | None,
    scale: float,
    scaled_price: FloatArray,
    steps: IntArray | None,
    before: IntArray | None,
    n_threads: int,
) -> tuple[FloatArray, float, float, Any, FloatArray | None]:
    """Masses (J, K), excess cost, log-partition, curvature (J, K, K; upper triangle) and the weight behind it.

    The curvature is counted over the first run of points of each cell and every so-manieth (``steps``; None: it is not
    counted) after it; ``before`` points of each cell came before these (None: none).
    """
    n_cells, n_clusters = scaled_price.shape
    masses = np.zeros((n_cells, n_clusters))
    curvature = np.zeros((0 if steps is None else n_cells, n_clusters, n_clusters))
    seen = np.zeros(n_cells, dtype=np.int64) if before is None else before.copy()
    sampled = np.zeros(n_cells)
    cost = log_sum = 0.0
    for tiles, rows, cell in plan.chunks():
        costs, w = _rows(excess[tiles], rows), _weights(weights, rows)
        soft, low, total = _softmax(costs, scale, scaled_price[cell])
        weighted = soft * w[:, None]
        masses[cell] += weighted.sum(axis=0)
        cost += float((weighted * costs).sum())
        log_sum += float(w @ (np.log(total) - low))
        if steps is not None:
            taken = (seen[cell] + np.arange(len(w))) // RUN % steps[cell] == 0
            curvature[cell] += np.triu(weighted[taken].T @ soft[taken], 1)
            curvature[cell] += np.diag((weighted * soft).sum(axis=0))
            sampled[cell] += float(w[taken].sum())
            seen[cell] += len(w)
    if steps is None:
        return masses, cost, log_sum, None, None
    return masses, cost, log_sum, curvature, sampled


def assign(
    plan: Plan,
    excess: FloatArray,
    weights: FloatArray | None,
    price: FloatArray,
    labels: IntArray,
    gaps: FloatArray | None,
    n_threads: int,
    scale: float = 0.0,
    before: IntArray | None = None,
) -> tuple[FloatArray, float, float]:
    """Write ``labels`` and ``gaps`` (OUT, visiting order); return masses (J, K), excess cost, summed gap.

    With a ``scale``, points that are undecided at it are split by their soft assignments and their number in the cell.
    """
    n_clusters = price.shape[1]
    seen = np.zeros(len(price), dtype=np.int64) if before is None else before.copy()
    masses = np.zeros(price.shape)
    cost = gap = 0.0
    for tiles, rows, cell in plan.chunks():
        costs, w = _rows(excess[tiles], rows), _weights(weights, rows)
        priced = costs.astype(np.float32) + price[cell].astype(np.float32)
        best = priced.argmin(axis=1)
        two = np.partition(priced, 1, axis=1) if n_clusters > 1 else None
        if scale > 0 and two is not None:
            undecided = np.flatnonzero((two[:, 1] - two[:, 0]) * scale < _DECIDED)
            best[undecided] = _split(priced[undecided], scale, seen[cell] + undecided)
        seen[cell] += len(w)
        labels[rows] = best
        masses[cell] += np.bincount(best, weights=w, minlength=n_clusters)
        cost += float(w @ costs[np.arange(len(best)), best])
        if two is not None:
            gap += float(w @ (two[:, 1] - two[:, 0]))
            if gaps is not None:
                gaps[rows] = two[:, 1] - two[:, 0]
    return masses, cost, gap


def _split(priced: FloatArray, scale: float, number: IntArray) -> IntArray:
    """The clusters that these points choose by their soft assignments and their numbers in the cell."""
    beyond = (priced.astype(float) - priced.min(axis=1, keepdims=True)) * scale
    value = np.where(beyond < _DECIDED, np.exp(-np.minimum(beyond, _DECIDED)), 0.0)
    wanted = (number * 0.6180339887498949) % 1.0 * value.sum(axis=1)
    passed = value.cumsum(axis=1) > wanted[:, None]
    last = value.shape[1] - 1 - (value[:, ::-1] > 0).argmax(axis=1)
    return np.where(passed.any(axis=1), passed.argmax(axis=1), last)


def sweep_rows(
    plan: Plan,
    metric: int,
    X: FloatArray,
    centers: FloatArray,
    weights: FloatArray | None,
    scale: float,
    scaled_price: FloatArray,
    steps: IntArray | None,
    before: IntArray | None,
    n_threads: int,
) -> tuple[float, tuple[FloatArray, float, float, Any, FloatArray | None]]:
    """What the cheapest clusters cost, and what :func:`sweep` returns at these distances."""
    excess = np.empty((len(plan.start), len(centers), TILE), dtype=np.float32)
    base_cost, _ = distances(plan, metric, X, centers, None, weights, excess, n_threads)
    return base_cost, sweep(plan, excess, weights, scale, scaled_price, steps, before, n_threads)


def assign_rows(
    plan: Plan,
    metric: int,
    X: FloatArray,
    centers: FloatArray,
    weights: FloatArray | None,
    price: FloatArray,
    labels: IntArray,
    n_threads: int,
    scale: float = 0.0,
    before: IntArray | None = None,
    with_sums: bool = True,
) -> tuple[float, tuple[FloatArray, float, float], FloatArray]:
    """Write ``labels`` (OUT); return the cheapest clusters' cost, what :func:`assign` does, and :func:`label_sums`.

    Without sums, the last are zeros.
    """
    excess = np.empty((len(plan.start), len(centers), TILE), dtype=np.float32)
    base_cost, _ = distances(plan, metric, X, centers, None, weights, excess, n_threads)
    answer = assign(plan, excess, weights, price, labels, None, n_threads, scale, before)
    if not with_sums:
        return base_cost, answer, np.zeros(centers.shape)
    return base_cost, answer, label_sums(plan, X, labels, weights, len(centers), n_threads)


def soft_rows(
    plan: Plan, excess: FloatArray, scale: float, scaled_price: FloatArray, rows: FloatArray, n_threads: int
) -> None:
    """Write the softmax of every point into its row of ``rows`` (OUT, in the user's order)."""
    for tiles, at, cell in plan.chunks():
        rows[plan.order[at]] = _softmax(_rows(excess[tiles], at), scale, scaled_price[cell])[0]


def visiting_order(codes: IntArray, n_cells: int, stretch: int, order: IntArray) -> IntArray:
    """Rows sorted by cell within each stretch of so many (OUT); how many of each cell there are, by stretch."""
    small = codes.astype(np.uint8 if n_cells <= 256 else np.uint16 if n_cells <= 65536 else np.int64)  # radix sort
    counts = np.zeros((-(-len(codes) // stretch), n_cells), dtype=np.int64)
    for number, first in enumerate(range(0, len(codes), stretch)):
        part = small[first : first + stretch]
        order[first : first + stretch] = np.argsort(part, kind="stable") + first
        counts[number] = np.bincount(part, minlength=n_cells)
    return counts


def trial_costs(
    blocks: FloatArray, trials: IntArray, weights: FloatArray | None, closest: FloatArray, costs: FloatArray
) -> FloatArray:
    """Squared distances from the nearest seed, with each of some points as one more (OUT); their weighted sums."""
    columns = blocks.transpose(1, 0, 2).reshape(blocks.shape[1], -1)[:, : len(closest)]
    for own, trial in zip(costs, trials, strict=True):
        np.minimum(((columns - columns[:, [trial]]) ** 2).sum(axis=0), closest, out=own)
    return costs.sum(axis=1) if weights is None else costs @ weights


def label_sums(
    plan: Plan, X: FloatArray, labels: IntArray, weights: FloatArray | None, n_clusters: int, n_threads: int
) -> FloatArray:
    """Weighted sums (K, M) of the rows of X by label (in visiting order)."""
    sums = np.zeros((n_clusters, X.shape[1]))
    for _, rows, _ in plan.chunks():
        np.add.at(sums, labels[rows], X[plan.order[rows]].astype(float) * _weights(weights, rows)[:, None])
    return sums


def cheapest_moves(plan: Plan, excess: FloatArray, labels: IntArray, kinds: IntArray, count: int) -> FloatArray:
    """Rows (kind, position, rise) of the points whose costs rise least by each kind of move (cell, from, to)."""
    found: list[list[FloatArray]] = [[np.zeros((0, 3))] for _ in kinds]
    for tiles, rows, own in plan.chunks():
        costs = excess[tiles].transpose(0, 2, 1).reshape(-1, excess.shape[1])[: rows.stop - rows.start].astype(float)
        for i, (cell, source, destination) in enumerate(kinds.tolist()):
            some = np.flatnonzero(labels[rows] == source) if cell == own else np.zeros(0, dtype=np.int64)
            rise = costs[some, destination] - costs[some, source]
            found[i].append(np.column_stack((np.full(len(some), i), some + rows.start, rise)))
    every = [np.concatenate(parts) for parts in found] or [np.zeros((0, 3))]
    return np.concatenate([one[np.lexsort((one[:, 1], one[:, 2]))[:count]] for one in every])


def soft_sums(
    plan: Plan,
    excess: FloatArray,
    X: FloatArray,
    weights: FloatArray | None,
    scale: float,
    scaled_price: FloatArray,
    n_threads: int,
) -> FloatArray:
    """Sums (K, M) of the rows of X weighted by the softmax."""
    sums = np.zeros((scaled_price.shape[1], X.shape[1]))
    for tiles, rows, cell in plan.chunks():
        soft = _softmax(_rows(excess[tiles], rows), scale, scaled_price[cell])[0] * _weights(weights, rows)[:, None]
        sums += soft.T @ X[plan.order[rows]].astype(float)
    return sums


def _costs(metric: int, points: FloatArray, centers: FloatArray) -> FloatArray:
    costs = np.empty((len(points), len(centers)), dtype=points.dtype)
    for k, center in enumerate(centers):
        difference = points - center
        costs[:, k] = np.abs(difference).sum(axis=1) if metric == 2 else (difference * difference).sum(axis=1)
    return np.sqrt(costs) if metric == 1 else costs


def _weights(weights: FloatArray | None, rows: slice) -> FloatArray:
    return np.ones(rows.stop - rows.start) if weights is None else weights[rows]


def _rows(tiles: FloatArray, rows: slice) -> FloatArray:
    """The costs of a chunk as (points, clusters), in double precision."""
    costs = tiles.transpose(0, 2, 1).reshape(-1, tiles.shape[1])[: rows.stop - rows.start]
    return costs.astype(float)


def _softmax(costs: FloatArray, scale: float, scaled_price: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    exponent = scale * costs + scaled_price
    low = exponent.min(axis=1)
    soft = np.exp(low[:, None] - exponent)
    total = soft.sum(axis=1)
    return soft / total[:, None], low, total
