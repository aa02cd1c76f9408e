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
        return _coded(X[rows], codes[rows], first, centers, tables)

    return _fill(plan, costs_of, labels, weights, excess)


def coded_costs(
    X: FloatArray,
    codes: IntArray,
    first: IntArray,
    centers: FloatArray,
    tables: FloatArray,
    costs: FloatArray,
    n_threads: int,
) -> None:
    """Costs of all rows (OUT, one row each): a number costs (x − centre)², a category what its table says."""
    costs[:] = _coded(X, codes, first, centers, tables)


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


def _coded(X: FloatArray, codes: IntArray, first: IntArray, centers: FloatArray, tables: FloatArray) -> FloatArray:
    costs = np.zeros((len(X), tables.shape[1]), dtype=tables.dtype)
    for q, begin in enumerate(first[:-1].tolist()):
        costs += tables[begin + codes[:, q].astype(np.int64)]
    for m in range(X.shape[1]):
        x = X[:, [m]]
        costs += np.where(np.isnan(x), 0.0, (x - centers[m]) ** 2).astype(costs.dtype)
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
