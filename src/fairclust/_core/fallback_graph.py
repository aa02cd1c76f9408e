"""The graph kernels in NumPy and plain Python: the same functions over the same arrays as the compiled module.

Moves and matching visit nodes one after the other, so they are loops here: fit for thousands of nodes, not millions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._typing import FloatArray, IntArray
from .tiles import to_tiles


def associations(
    indptr: IntArray,
    indices: IntArray,
    data: FloatArray,
    degree: FloatArray,
    labels: IntArray | None,
    soft: FloatArray | None,
    n_clusters: int,
    n_threads: int,
) -> FloatArray:
    """S_kᵗWS_k, dᵗS_k and S_kᵗDS_k, (3, K)."""
    S = _soft(labels, soft, n_clusters)
    links = _matrix(indptr, indices, data) @ S
    return np.stack(((S * links).sum(axis=0), degree @ S, degree @ (S * S)))


def link_costs(
    plan: Any,
    indptr: IntArray,
    indices: IntArray,
    data: FloatArray,
    degree: FloatArray,
    labels: IntArray | None,
    soft: FloatArray | None,
    inverse_volume: FloatArray,
    ratio: FloatArray,
    sigma: float,
    excess: FloatArray,
    n_threads: int,
) -> float:
    """Fill ``excess`` (OUT) with inverse_volume · (d (ratio + σ − 2σ s) − 2 W S); return the sum of the minima."""
    n_clusters = len(ratio)
    S = _soft(labels, soft, n_clusters)
    W = _matrix(indptr, indices, data)
    cheapest = 0.0
    for tiles, at, _ in plan.chunks():
        rows = plan.order[at]
        costs = inverse_volume * (degree[rows, None] * (ratio + sigma - 2.0 * sigma * S[rows]) - 2.0 * (W[rows] @ S))
        low = costs.min(axis=1)
        excess[tiles] = to_tiles(costs - low[:, None], tiles)
        cheapest += float(low.sum())
    return cheapest


def move_nodes(
    indptr: IntArray,
    indices: IntArray,
    data: FloatArray,
    degree: FloatArray,
    codes: IntArray | None,
    node_masses: FloatArray | None,
    membership: FloatArray,
    wanted: FloatArray,
    logs: FloatArray,
    lines: FloatArray,
    weight: FloatArray,
    first: IntArray,
    counted: IntArray,
    order: IntArray,
    max_passes: int,
    least: float,
    labels: IntArray,
) -> tuple[int, int]:
    """Move single nodes while that lowers the energy (IN/OUT labels); return passes and moves."""
    n_clusters = len(weight)
    masses = membership[codes] if node_masses is None else node_masses

    def fairness_of(table: FloatArray, clusters: IntArray) -> FloatArray:
        numbers = (wanted[clusters], logs[clusters], lines[clusters])
        return _fairness(table, numbers, weight[clusters], first, counted)

    everywhere = np.arange(n_clusters)
    inside, volume, _ = associations(indptr, indices, data, degree, labels, None, n_clusters, 1)
    count = np.bincount(labels, minlength=n_clusters)
    held = np.zeros((n_clusters, membership.shape[1]))
    np.add.at(held, labels, masses)
    fair = fairness_of(held, everywhere)
    waits = np.zeros(len(labels), dtype=bool)
    n_moved, is_full = 0, True
    for n_pass in range(max_passes):
        gained = 0.0
        for node in order:
            if not is_full and not waits[node]:
                continue
            waits[node] = False
            own = labels[node]
            if count[own] <= 1:
                continue
            at = slice(indptr[node], indptr[node + 1])
            others = indices[at] != node
            link = np.bincount(labels[indices[at][others]], data[at][others], n_clusters)
            loop = float(data[at][~others].sum())
            left, d = inside[own] - 2.0 * link[own] - loop, degree[node]
            fair_left = fairness_of(np.maximum(held[own] - masses[node], 0.0)[None], everywhere[own : own + 1])[0]
            fair_with = fairness_of(held + masses[node], everywhere)
            leave = _kept(inside[own], volume[own]) - _kept(left, volume[own] - d) + fair_left - fair[own]
            change = leave + _kept(inside, volume) - _kept(inside + 2.0 * link + loop, volume + d) + fair_with - fair
            change[own] = np.inf
            to = int(change.argmin())
            if not change[to] < -1e-12:
                continue
            inside[own], inside[to] = left, inside[to] + 2.0 * link[to] + loop
            volume[own], volume[to] = volume[own] - d, volume[to] + d
            count[own], count[to] = count[own] - 1, count[to] + 1
            held[own] = np.maximum(held[own] - masses[node], 0.0)
            held[to] += masses[node]
            fair[own], fair[to] = fair_left, fair_with[to]
            labels[node] = to
            waits[indices[at]] = True
            gained -= change[to]
            n_moved += 1
        if gained <= least and is_full:
            return n_pass + 1, n_moved
        is_full = gained <= least
    return max_passes, n_moved


def match_nodes(
    indptr: IntArray,
    indices: IntArray,
    data: FloatArray,
    degree: FloatArray,
    labels: IntArray | None,
    order: IntArray,
    heaviest: float,
    parent: IntArray,
) -> int:
    """Pair every node with the free neighbour it is tied to most (OUT parent); return the number of parents."""
    mate = np.full(len(degree), -1, dtype=np.int64)
    for node in order:
        if mate[node] >= 0:
            continue
        at = slice(indptr[node], indptr[node + 1])
        others = indices[at]
        free = (others != node) & (mate[others] < 0) & (degree[node] + degree[others] <= heaviest)
        if labels is not None:
            free &= labels[others] == labels[node]
        found = node
        if free.any():
            ties = data[at][free].astype(float) * (1.0 / degree[node] + 1.0 / degree[others[free]])
            found = others[free][int(ties.argmax())]
        mate[node] = found
        mate[found] = node
    first = mate >= np.arange(len(mate))
    parent[first] = np.arange(first.sum())
    parent[~first] = parent[mate[~first]]
    return int(first.sum())


def contract(
    indptr: IntArray, indices: IntArray, data: FloatArray, parent: IntArray, n_parents: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """Compressed rows of the graph of the parents."""
    n_nodes = len(indptr) - 1
    child = sparse.csr_array((np.ones(n_nodes), parent, np.arange(n_nodes + 1)), shape=(n_nodes, n_parents))
    joined = (child.T @ _matrix(indptr, indices, data) @ child).tocsr()
    joined.sort_indices()
    return joined.indptr.astype(np.int64), joined.indices.astype(np.int32), joined.data.astype(data.dtype)


def _matrix(indptr: IntArray, indices: IntArray, data: FloatArray) -> sparse.csr_array:
    n_nodes = len(indptr) - 1
    return sparse.csr_array((data.astype(float), indices, indptr), shape=(n_nodes, n_nodes))


def _soft(labels: IntArray | None, soft: FloatArray | None, n_clusters: int) -> FloatArray:
    if labels is None:
        assert soft is not None
        return soft.astype(float)
    return np.eye(n_clusters)[labels]


def _kept(inside: FloatArray, volume: FloatArray) -> FloatArray:
    return np.divide(inside, volume, out=np.zeros_like(np.asarray(volume, dtype=float)), where=np.asarray(volume) > 0)


def _fairness(
    masses: FloatArray,
    numbers: tuple[FloatArray, FloatArray, FloatArray],
    weight: FloatArray,
    first: IntArray,
    counted: IntArray,
) -> FloatArray:
    """Weighted Σ logs · log(wanted / share) + lines · (share − wanted) of the parts, none of them below 0."""
    value = np.zeros(len(masses))
    for a, has_total in enumerate(counted):
        table = masses[:, first[a] : first[a + 1]]
        size = table[:, -1:] if has_total else table.sum(axis=1, keepdims=True)
        groups = slice(first[a], first[a + 1] - int(has_total))
        wanted, logs, lines = (table[:, groups] for table in numbers)
        held = masses[:, groups]
        shares = np.divide(held, size, out=np.zeros_like(held), where=size > 0)
        ratio = np.where(logs > 0, wanted / np.maximum(shares, 1e-20), 1.0)
        errors = (logs * np.log(ratio) + lines * (shares - wanted)).sum(axis=1)
        value += weight[:, a] * np.maximum(errors, 0.0)
    return value
