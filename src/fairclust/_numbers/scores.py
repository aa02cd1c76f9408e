"""How well separated labels are: many labellings of the same rows, scored in one pass over their distances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

from .._typing import FloatArray, IntArray

_DISTANCES = 1 << 21  # held at a time


def silhouettes(points: Any, labellings: Sequence[IntArray]) -> FloatArray:
    """Mean silhouette of each labelling; NaN where it has one cluster only.

    The distances are computed once, a few rows at a time, and added up by label for every labelling: the same figures
    as ``sklearn.metrics.silhouette_score`` of each, in a fraction of the time.

    Parameters
    ----------
    points : ndarray or CSR array of shape (n_rows, n_features)
    labellings : sequence of ndarray of shape (n_rows,)
    """
    n_rows = points.shape[0]
    known = [np.unique(labels, return_inverse=True)[1].reshape(-1) for labels in labellings]
    counts = [np.bincount(codes) for codes in known]
    members = [np.eye(len(count), dtype=np.float32)[codes] for codes, count in zip(known, counts, strict=True)]
    totals = np.zeros(len(labellings))
    step = max(1, _DISTANCES // n_rows)
    for first in range(0, n_rows, step):
        rows = slice(first, min(first + step, n_rows))
        distances = euclidean_distances(points[rows], points).astype(np.float32)
        distances[np.arange(rows.stop - first), np.arange(first, rows.stop)] = 0.0
        for i, (codes, count, member) in enumerate(zip(known, counts, members, strict=True)):
            totals[i] += _silhouette_sum(distances @ member, codes[rows], count)
    scores: FloatArray = totals / n_rows
    scores[[len(count) < 2 for count in counts]] = np.nan
    return scores


def _silhouette_sum(sums: FloatArray, own: IntArray, count: IntArray) -> float:
    """Sum over some rows of (b − a) / max(a, b), from the sums of their distances to every cluster."""
    if len(count) < 2:
        return 0.0
    at = np.arange(len(own))
    inside = sums[at, own].astype(float) / np.maximum(count[own] - 1, 1)
    means = sums / count
    means[at, own] = np.inf
    outside = means.min(axis=1).astype(float)
    larger = np.maximum(inside, outside)
    score = np.divide(outside - inside, larger, out=np.zeros(len(own)), where=larger > 0)
    return float(score[count[own] > 1].sum())  # alone in a cluster: 0, as is the custom


def calinski_harabasz(points: Any, labels: IntArray) -> float:
    """Variance between the clusters over variance within them; NaN where there is one cluster only."""
    codes = np.unique(labels, return_inverse=True)[1].reshape(-1)
    count = np.bincount(codes).astype(float)
    n_rows, n_clusters = points.shape[0], len(count)
    if n_clusters < 2 or n_rows <= n_clusters:
        return float("nan")
    member = sparse.csr_array((np.ones(n_rows), (codes, np.arange(n_rows))), shape=(n_clusters, n_rows))
    sums = member @ points
    means = np.asarray(sums.todense() if sparse.issparse(sums) else sums) / count[:, None]
    middle = count @ means / n_rows
    between = float(count @ ((means - middle) ** 2).sum(axis=1))
    squares = points.multiply(points).sum() if sparse.issparse(points) else (np.asarray(points, dtype=float) ** 2).sum()
    within = float(squares) - float(count @ (means**2).sum(axis=1))
    return between / within * (n_rows - n_clusters) / (n_clusters - 1) if within > 0 else 1.0
