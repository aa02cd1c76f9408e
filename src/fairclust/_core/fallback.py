"""The kernels in NumPy: the same functions over the same arrays as the compiled module, for machines without it.

They work chunk by chunk, so that no temporary is larger than a chunk, and add the chunks in order. ``n_threads`` is
accepted and ignored.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._typing import AnyArray, FloatArray, IntArray

name = "numpy"
block = 64


def distances(
    metric: int,
    X: FloatArray,
    order: IntArray,
    start: IntArray,
    size: IntArray,
    chunk: IntArray,
    chunk_cell: IntArray,
    centers: FloatArray,
    labels: IntArray | None,
    weights: FloatArray | None,
    point_cost: FloatArray,
    n_threads: int,
) -> float:
    """Fill ``point_cost`` (OUT); return the weighted cost of ``labels``, or 0."""
    cost = 0.0
    for begin, end, _ in _chunks(chunk, chunk_cell):
        rows = slice(int(start[begin]), int(start[end - 1]) + int(size[end - 1]))
        points = X[order[rows]]
        out = np.empty((len(points), len(centers)), dtype=X.dtype)
        for k, center in enumerate(centers):
            difference = points - center
            if metric == 2:
                out[:, k] = np.abs(difference).sum(axis=1)
            else:
                out[:, k] = np.einsum("pm,pm->p", difference, difference)
        if metric == 1:
            np.sqrt(out, out=out)
        point_cost[begin:end] = _to_blocks(out, end - begin)
        if labels is not None:
            chosen = out[np.arange(len(out)), labels[rows]].astype(float)
            cost += float(chosen.sum() if weights is None else chosen @ weights[rows])
    return cost


def sweep(
    point_cost: FloatArray,
    start: IntArray,
    size: IntArray,
    chunk: IntArray,
    chunk_cell: IntArray,
    weights: FloatArray | None,
    scale: float,
    pull: FloatArray,
    curvature_stride: int,
    n_threads: int,
) -> tuple[FloatArray, float, float, FloatArray, FloatArray]:
    """Masses (J, K), cost, log-partition, curvature (J, K, K; upper triangle) and the weight that it was counted over."""
    n_cells, n_clusters = pull.shape
    masses = np.zeros((n_cells, n_clusters))
    curvature = np.zeros((n_cells if curvature_stride else 0, n_clusters, n_clusters))
    sampled = np.zeros(n_cells)
    cost = log_sum = 0.0
    for begin, end, cell in _chunks(chunk, chunk_cell):
        costs, w, _ = _chunk_rows(point_cost, start, size, weights, begin, end)
        soft, low, total = _softmax(costs, scale, pull[cell])
        weighted = soft * w[:, None]
        masses[cell] += weighted.sum(axis=0)
        cost += float((weighted * costs).sum())
        log_sum += float(w @ (np.log(total) - low))
        if curvature_stride:
            curvature[cell] += np.triu(weighted.T @ soft, 1)
            sampled[cell] += float(w.sum())
    return masses, cost, log_sum, curvature, sampled


def assign(
    point_cost: FloatArray,
    start: IntArray,
    size: IntArray,
    chunk: IntArray,
    chunk_cell: IntArray,
    weights: FloatArray | None,
    price: FloatArray,
    labels: IntArray,
    n_threads: int,
) -> tuple[FloatArray, float, float]:
    """Write ``labels`` (OUT, in cell order); return masses (J, K), cost and the summed gap to the second best."""
    n_clusters = price.shape[1]
    masses = np.zeros(price.shape)
    cost = gap = 0.0
    for begin, end, cell in _chunks(chunk, chunk_cell):
        costs, w, rows = _chunk_rows(point_cost, start, size, weights, begin, end)
        priced = costs + price[cell].astype(point_cost.dtype)
        best = priced.argmin(axis=1)
        labels[rows] = best
        masses[cell] += np.bincount(best, weights=w, minlength=n_clusters)
        cost += float(w @ costs[np.arange(len(best)), best])
        if n_clusters > 1:
            two = np.partition(priced, 1, axis=1)
            gap += float(w @ (two[:, 1] - two[:, 0]))
    return masses, cost, gap


def soft_rows(
    point_cost: FloatArray,
    start: IntArray,
    size: IntArray,
    chunk: IntArray,
    chunk_cell: IntArray,
    order: IntArray,
    scale: float,
    pull: FloatArray,
    rows: FloatArray,
    n_threads: int,
) -> None:
    """Write the softmax of every point into its row of ``rows`` (OUT, in the user's order)."""
    for begin, end, cell in _chunks(chunk, chunk_cell):
        costs, _, at = _chunk_rows(point_cost, start, size, None, begin, end)
        rows[order[at]] = _softmax(costs, scale, pull[cell])[0]


def label_sums(
    X: FloatArray,
    order: IntArray,
    start: IntArray,
    size: IntArray,
    chunk: IntArray,
    chunk_cell: IntArray,
    labels: IntArray,
    weights: FloatArray | None,
    n_clusters: int,
    n_threads: int,
) -> FloatArray:
    """Weighted sums (K, M) of the rows of X by label (in cell order)."""
    sums = np.zeros((n_clusters, X.shape[1]))
    for begin, end, _ in _chunks(chunk, chunk_cell):
        rows = slice(int(start[begin]), int(start[end - 1]) + int(size[end - 1]))
        points = X[order[rows]].astype(float)
        if weights is not None:
            points *= weights[rows, None]
        np.add.at(sums, labels[rows], points)
    return sums


def soft_sums(
    point_cost: FloatArray,
    X: FloatArray,
    order: IntArray,
    start: IntArray,
    size: IntArray,
    chunk: IntArray,
    chunk_cell: IntArray,
    weights: FloatArray | None,
    scale: float,
    pull: FloatArray,
    n_threads: int,
) -> FloatArray:
    """Sums (K, M) of the rows of X weighted by the softmax."""
    sums = np.zeros((pull.shape[1], X.shape[1]))
    for begin, end, cell in _chunks(chunk, chunk_cell):
        costs, w, rows = _chunk_rows(point_cost, start, size, weights, begin, end)
        soft = _softmax(costs, scale, pull[cell])[0] * w[:, None]
        sums += soft.T @ X[order[rows]].astype(float)
    return sums


def _chunks(chunk: IntArray, chunk_cell: IntArray) -> Iterator[tuple[int, int, int]]:
    for i, cell in enumerate(chunk_cell):
        yield int(chunk[i]), int(chunk[i + 1]), int(cell)


def _to_blocks(rows: AnyArray, n_blocks: int) -> AnyArray:
    padded = np.zeros((n_blocks * block, rows.shape[1]), dtype=rows.dtype)
    padded[: len(rows)] = rows
    return padded.reshape(n_blocks, block, -1).transpose(0, 2, 1)


def _chunk_rows(
    point_cost: FloatArray, start: IntArray, size: IntArray, weights: FloatArray | None, begin: int, end: int
) -> tuple[FloatArray, FloatArray, slice]:
    """Costs (points, K) and weights of a chunk in double precision, and its positions in cell order."""
    rows = slice(int(start[begin]), int(start[end - 1]) + int(size[end - 1]))
    costs = point_cost[begin:end].transpose(0, 2, 1).reshape(-1, point_cost.shape[1])[: rows.stop - rows.start]
    w = np.ones(len(costs)) if weights is None else weights[rows].astype(float)
    return costs.astype(float), w, rows


def _softmax(costs: FloatArray, scale: float, pull: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    exponent = scale * costs + pull
    low = exponent.min(axis=1)
    soft = np.exp(low[:, None] - exponent)
    total = soft.sum(axis=1)
    return soft / total[:, None], low, total
