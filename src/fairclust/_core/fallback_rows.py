"""The kernels over coded and sparse rows in NumPy: the same functions over the same arrays as the compiled ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import FloatArray, IntArray
from .tiles import to_tiles


def coded_distances(
    plan: Any,
    X: FloatArray,
    codes: IntArray,
    first: IntArray,
    centers: FloatArray,
    tables: FloatArray,
    labels: IntArray | None,
    weights: FloatArray | None,
    excess: FloatArray,
    n_threads: int,
) -> tuple[float, float]:
    """Fill ``excess`` (OUT); return the weighted costs of the cheapest clusters and of ``labels`` (or 0)."""

    def costs_of(rows: IntArray) -> FloatArray:
        return _coded(rows, X, codes, first, centers, np.ones_like(centers), tables)

    return _fill(plan, costs_of, labels, weights, excess)


def coded_costs(
    rows: IntArray,
    X: FloatArray,
    codes: IntArray,
    first: IntArray,
    centers: FloatArray,
    scales: FloatArray,
    tables: FloatArray,
    costs: FloatArray,
    n_threads: int,
) -> None:
    """Costs of some rows (OUT, one row each): a number costs scale·(x − centre)², a category what its table says."""
    costs[:] = _coded(rows, X, codes, first, centers, scales, tables)


def coded_sums(
    plan: Any,
    X: FloatArray,
    codes: IntArray,
    first: IntArray,
    labels: IntArray,
    weights: FloatArray | None,
    n_clusters: int,
    n_threads: int,
) -> FloatArray:
    """By label: weighted sums of the numbers, weight of those that are there, weight of each code; (K, 2M + codes)."""
    n_numbers, n_codes = X.shape[1], int(first[-1])
    numbers, w = X[plan.order].astype(float), np.ones(len(labels)) if weights is None else weights
    is_there = ~np.isnan(numbers)
    table = np.zeros((n_clusters, 2 * n_numbers + n_codes))
    for m in range(n_numbers):
        filled = np.where(is_there[:, m], numbers[:, m], 0.0)
        table[:, m] = np.bincount(labels, weights=w * filled, minlength=n_clusters)
        table[:, n_numbers + m] = np.bincount(labels, weights=w * is_there[:, m], minlength=n_clusters)
    for q, begin in enumerate(first[:-1].tolist()):
        n_own = int(first[q + 1]) - begin
        places = labels.astype(np.int64) * n_own + codes[plan.order, q]
        counts = np.bincount(places, weights=w, minlength=n_clusters * n_own).reshape(n_clusters, n_own)
        table[:, 2 * n_numbers + begin : 2 * n_numbers + begin + n_own] = counts
    return table


def coded_moves(
    X: FloatArray,
    codes: IntArray,
    first: IntArray,
    squares: FloatArray,
    rows: IntArray,
    positions: IntArray,
    cells: IntArray,
    labels: IntArray,
    sums: FloatArray,
    sizes: FloatArray,
    enter: FloatArray,
    leave: FloatArray,
    least: float,
    moved: Callable[[int, int, int], None],
) -> int:
    """Make those of the found moves that still pay when their turn comes (IN/OUT labels, sums, sizes)."""
    n_numbers, n_moves = X.shape[1], 0
    for row, position, cell in zip(rows.tolist(), positions.tolist(), cells.tolist(), strict=True):
        source = int(labels[position])
        if sizes[source] <= 1:
            continue
        change = np.where(np.arange(len(sizes)) == source, -1.0, 1.0)
        costs = np.zeros(len(sizes))
        for m in np.flatnonzero(~np.isnan(X[row])):
            n = sums[:, n_numbers + m]
            counts = (n > 0) & (n + change > 0)
            mean = np.divide(sums[:, m], n, out=np.zeros_like(n), where=counts)
            costs += np.where(counts, (mean - X[row, m]) ** 2, 0.0) * _share(n, change, counts)
        for q, begin in enumerate(first[:-1].tolist()):
            n_known, code = int(first[q + 1]) - begin - 2, int(codes[row, q])
            own = sums[:, 2 * n_numbers + begin : 2 * n_numbers + begin + n_known]
            n = own.sum(axis=1)
            counts = (n > 0) & (n + change > 0)
            if code < n_known:
                shares = np.divide(own, n[:, None], out=np.zeros_like(own), where=counts[:, None])
                cost = squares[q] * (1 - 2 * shares[:, code] + (shares**2).sum(axis=1))
                costs += np.where(counts, cost, 0.0) * _share(n, change, counts)
        go = costs + enter[:, cell]
        go[source] = np.inf
        destination = int(go.argmin())
        if not go[destination] < costs[source] - leave[source, cell] - least:
            continue
        there = np.flatnonzero(~np.isnan(X[row]))
        for cluster, sign in ((source, -1.0), (destination, 1.0)):
            sums[cluster, there] += sign * X[row, there]
            sums[cluster, n_numbers + there] += sign
            sums[cluster, 2 * n_numbers + first[:-1] + codes[row]] += sign
            sizes[cluster] += sign
        labels[position] = destination
        moved(cell, source, destination)
        n_moves += 1
    return n_moves


def sparse_distances(
    plan: Any,
    begin: IntArray,
    columns: IntArray,
    values: FloatArray,
    squares: FloatArray,
    centers: FloatArray,
    labels: IntArray | None,
    weights: FloatArray | None,
    excess: FloatArray,
    n_threads: int,
) -> tuple[float, float]:
    """Fill ``excess`` (OUT); return the weighted costs of the cheapest clusters and of ``labels`` (or 0)."""
    X = sparse.csr_array((values, columns, begin), shape=(len(squares), centers.shape[1]))
    lengths = (centers.astype(float) ** 2).sum(axis=1)

    def costs_of(rows: IntArray) -> FloatArray:
        return np.asarray(squares[rows, None] - 2.0 * (X[rows] @ centers.T).astype(float) + lengths)

    return _fill(plan, costs_of, labels, weights, excess)


def sparse_sums(
    plan: Any,
    begin: IntArray,
    columns: IntArray,
    values: FloatArray,
    labels: IntArray,
    weights: FloatArray | None,
    n_clusters: int,
    n_features: int,
    n_threads: int,
) -> FloatArray:
    """Weighted sums (K, n_features) of the sparse rows by label (in visiting order)."""
    X = sparse.csr_array((values.astype(float), columns, begin), shape=(len(begin) - 1, n_features))
    w = np.ones(len(labels)) if weights is None else weights
    member = sparse.csr_array((w, (labels, plan.order)), shape=(n_clusters, X.shape[0]))
    return np.asarray((member @ X).todense(), dtype=float)


def _share(n: FloatArray, change: FloatArray, counts: FloatArray) -> FloatArray:
    return np.divide(n, n + change, out=np.zeros_like(n), where=counts)


def _coded(
    rows: IntArray,
    X: FloatArray,
    codes: IntArray,
    first: IntArray,
    centers: FloatArray,
    scales: FloatArray,
    tables: FloatArray,
) -> FloatArray:
    costs = np.zeros((len(rows), tables.shape[1]), dtype=tables.dtype)
    for q, begin in enumerate(first[:-1].tolist()):
        costs += tables[begin + codes[rows, q].astype(np.int64)]
    for m in range(X.shape[1]):
        x = X[rows, m][:, None]
        costs += np.where(np.isnan(x), 0.0, scales[m] * (x - centers[m]) ** 2).astype(costs.dtype)
    return costs


def _fill(
    plan: Any,
    costs_of: Callable[[IntArray], FloatArray],
    labels: IntArray | None,
    weights: FloatArray | None,
    excess: FloatArray,
) -> tuple[float, float]:
    cheapest = labelled = 0.0
    for tiles, rows, _ in plan.chunks():
        costs = costs_of(plan.order[rows])
        low = costs.min(axis=1)
        excess[tiles] = to_tiles(costs - low[:, None], tiles)
        w = np.ones(len(costs)) if weights is None else weights[rows]
        cheapest += float(w @ low)
        if labels is not None:
            labelled += float(w @ costs[np.arange(len(costs)), labels[rows]])
    return cheapest, labelled
