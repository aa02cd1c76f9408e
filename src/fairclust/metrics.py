"""Scores of a clustering, whatever algorithm made it.

Every fairness score is read from one table, :class:`Composition`: how much of each group each cluster holds. The
clustering objectives stand below it. No estimator, no solver and no soft assignment is known here: hard labels only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.utils import check_array

from ._typing import AnyArray, FloatArray, IntArray
from .checks import check_choice
from .errors import InvalidInputError
from .fairness import KLFairness
from .groups import encode_groups, to_column

__all__ = [
    "Composition",
    "balance",
    "composition",
    "fairness_error",
    "group_proportions",
    "kmeans_objective",
    "kmedian_objective",
    "ncut_objective",
]

_BLOCK = 1 << 20  # numbers held at a time by the objectives: 8 MB per temporary
_SYMMETRY_TOLERANCE = 1e-6  # relative to the largest weight; wide enough for a float32 graph
_DISTANCES = {"euclidean": "euclidean", "manhattan": "cityblock"}

Targets = Mapping[Any, float] | Sequence[float] | FloatArray | None


@dataclass(frozen=True, eq=False)
class Composition:
    """How much of each group each cluster holds, and what was wanted. All fairness scores come from here.

    Attributes
    ----------
    cluster_names : ndarray of shape (n_clusters,)
        The labels that occur with a positive weight, sorted.
    group_names : ndarray of shape (n_groups,)
        The groups, sorted.
    counts : ndarray of shape (n_clusters, n_groups)
        Number of points, or their total weight.
    target : ndarray of shape (n_groups,)
        The wanted share of each group in every cluster.
    """

    cluster_names: AnyArray
    group_names: AnyArray
    counts: FloatArray
    target: FloatArray

    @property
    def sizes(self) -> FloatArray:
        """Points (or weight) in each cluster, shape (n_clusters,); always positive."""
        sizes: FloatArray = self.counts.sum(axis=1)
        return sizes

    @property
    def totals(self) -> FloatArray:
        """Points (or weight) in each group, shape (n_groups,)."""
        totals: FloatArray = self.counts.sum(axis=0)
        return totals

    @property
    def proportions(self) -> FloatArray:
        """Share of each group in each cluster, shape (n_clusters, n_groups); rows sum to 1."""
        proportions: FloatArray = self.counts / self.sizes[:, None]
        return proportions

    @property
    def fairness_errors(self) -> FloatArray:
        """KL(target ‖ shares) of each cluster, shape (n_clusters,)."""
        return KLFairness(self.target).value(self.counts)

    @property
    def balances(self) -> FloatArray:
        """Smallest ratio between two group counts in each cluster, shape (n_clusters,)."""
        return _smallest_ratio(self.counts[:, self.totals > 0])

    @property
    def data_balance(self) -> float:
        """Smallest ratio between two group counts in all the data."""
        return float(_smallest_ratio(self.totals[self.totals > 0][None])[0])


def composition(
    labels: Any,
    sensitive_features: Any,
    *,
    target_proportions: Targets = None,
    sample_weight: Any = None,
) -> Composition:
    """Count the groups in every cluster.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Cluster of each point: numbers or text, from any algorithm. A noise label such as DBSCAN's -1 is a label like
        any other; drop these rows first if noise is not to count as a cluster.
    sensitive_features : array-like of shape (n_samples,)
        Group of each point.
    target_proportions : dict, array-like of shape (n_groups,) or None, default=None
        Wanted shares, by group name or in sorted group order. None: the data's shares.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights ≥ 0. A row of weight 0 counts as absent: a cluster that holds only such rows is left out, while a
        group keeps its column, so that the columns stay in step with the target.

    Returns
    -------
    composition : Composition

    Notes
    -----
    One pass over the data; O(n_samples + n_clusters · n_groups) in time and memory.

    Examples
    --------
    >>> from fairclust import metrics
    >>> table = metrics.composition([0, 0, 0, 1], ["F", "M", "M", "F"])
    >>> table.counts
    array([[1., 2.],
           [1., 0.]])
    >>> table.group_names.tolist(), table.target.tolist()
    (['F', 'M'], [0.5, 0.5])
    """
    column = _label_column(labels)
    n_samples = len(column)
    features = to_column(sensitive_features)
    _check_rows("sensitive_features", features, n_samples, "labels")
    weights = _weights(sample_weight, n_samples, "labels")
    groups = encode_groups(features, target_proportions=target_proportions, weights=weights)
    clusters = encode_groups(column, argument="labels")
    cells = clusters.codes.astype(np.intp) * groups.n_groups + groups.codes
    shape = (clusters.n_groups, groups.n_groups)
    counts = np.bincount(cells, weights=weights, minlength=shape[0] * shape[1]).reshape(shape)
    held = counts.sum(axis=1) > 0
    return Composition(clusters.names[held], groups.names, counts[held], groups.target)


def balance(labels: Any, sensitive_features: Any, *, sample_weight: Any = None) -> float:
    """Balance of a clustering: the smallest ratio between two group counts, in the worst cluster.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Cluster of each point. A noise label such as -1 is a label like any other.
    sensitive_features : array-like of shape (n_samples,)
        Group of each point.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights ≥ 0.

    Returns
    -------
    balance : float in [0, 1]
        1 when every cluster holds equally many of each group, 0 when some cluster lacks a group. With one group: 1.

    Notes
    -----
    No clustering can exceed the balance of the data, which is below 1 unless the groups are equally large: compare
    with ``audit(...).data_balance``.

    Examples
    --------
    >>> from fairclust import metrics
    >>> metrics.balance([0, 0, 0, 1, 1], ["F", "M", "M", "F", "M"])
    0.5
    """
    return float(composition(labels, sensitive_features, sample_weight=sample_weight).balances.min())


@overload
def fairness_error(
    labels: Any,
    sensitive_features: Any,
    target_proportions: Targets = None,
    average: Literal["sum", "max", "mean"] = "sum",
    *,
    sample_weight: Any = None,
) -> float: ...


@overload
def fairness_error(
    labels: Any,
    sensitive_features: Any,
    target_proportions: Targets = None,
    *,
    average: None,
    sample_weight: Any = None,
) -> FloatArray: ...


@overload
def fairness_error(
    labels: Any,
    sensitive_features: Any,
    target_proportions: Targets,
    average: None,
    *,
    sample_weight: Any = None,
) -> FloatArray: ...


def fairness_error(
    labels: Any,
    sensitive_features: Any,
    target_proportions: Targets = None,
    average: Literal["sum", "max", "mean"] | None = "sum",
    *,
    sample_weight: Any = None,
) -> float | FloatArray:
    """Fairness error: KL(target ‖ cluster shares), summed over the clusters.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Cluster of each point. A noise label such as -1 is a label like any other.
    sensitive_features : array-like of shape (n_samples,)
        Group of each point.
    target_proportions : dict, array-like of shape (n_groups,) or None, default=None
        Wanted shares, by group name or in sorted group order. None: the data's shares.
    average : {"sum", "max", "mean"} or None, default="sum"
        How the clusters' errors become one number; every cluster counts the same, whatever its size. None: the error
        of each cluster, in sorted label order.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights ≥ 0.

    Returns
    -------
    error : float ≥ 0, or ndarray of shape (n_clusters,)
        0 when every cluster has the wanted shares.

    Notes
    -----
    Shares are clipped at 1e-20, so a cluster that lacks a group of target μ adds about 46·μ, not infinity.

    Examples
    --------
    >>> from fairclust import metrics
    >>> sex = ["F", "M", "F", "M"]
    >>> metrics.fairness_error([0, 0, 1, 1], sex)
    0.0
    >>> round(metrics.fairness_error([0, 0, 1, 1], sex, {"F": 0.25, "M": 0.75}, average="max"), 4)
    0.1308
    """
    if average is not None:
        check_choice("average", average, ("sum", "max", "mean"))
    table = composition(labels, sensitive_features, target_proportions=target_proportions, sample_weight=sample_weight)
    errors = table.fairness_errors
    return errors if average is None else float(getattr(errors, average)())


def group_proportions(labels: Any, sensitive_features: Any, *, sample_weight: Any = None) -> FloatArray:
    """Share of each group in each cluster.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Cluster of each point. A noise label such as -1 is a label like any other.
    sensitive_features : array-like of shape (n_samples,)
        Group of each point.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights ≥ 0.

    Returns
    -------
    proportions : ndarray of shape (n_clusters, n_groups)
        Clusters in sorted label order, groups in sorted order; rows sum to 1. :func:`composition` gives the names.

    Examples
    --------
    >>> from fairclust import metrics
    >>> metrics.group_proportions(["b", "b", "a", "a"], ["F", "M", "F", "F"])
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    return composition(labels, sensitive_features, sample_weight=sample_weight).proportions


def kmeans_objective(X: Any, labels: Any, *, sample_weight: Any = None) -> float:
    """K-means objective: the sum of squared distances to the means of the clusters.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data.
    labels : array-like of shape (n_samples,)
        Cluster of each point. A noise label such as -1 is a label like any other.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights ≥ 0.

    Returns
    -------
    objective : float ≥ 0

    Notes
    -----
    Two passes over blocks of rows, summed in float64 whatever the type of X: O(n_samples · n_features) in time, and
    no table with a cell per point and cluster in memory.

    Examples
    --------
    >>> from fairclust import metrics
    >>> metrics.kmeans_objective([[0.0], [2.0], [10.0]], ["a", "a", "b"])
    2.0
    """
    X = _data(X)
    codes = _cluster_codes(labels, X.shape[0], "X")
    weights = _weights(sample_weight, len(codes), "X")
    mass = np.bincount(codes, weights=weights)
    sums = np.zeros((len(mass), X.shape[1]))
    for rows, block in _row_blocks(X):
        _add_by_cluster(sums, block, codes[rows], weights[rows])
    means = sums / np.where(mass > 0, mass, 1.0)[:, None]
    cost, drift = 0.0, np.zeros_like(sums)
    for rows, block in _row_blocks(X):
        block -= means[codes[rows]]
        cost += float(weights[rows] @ np.einsum("ij,ij->i", block, block))
        _add_by_cluster(drift, block, codes[rows], weights[rows])
    # The means are rounded; what they are off by is taken back out, or data far from 0 would pay for it.
    cost -= float((drift**2 / np.where(mass > 0, mass, 1.0)[:, None]).sum())
    return max(cost, 0.0)


def kmedian_objective(
    X: Any, labels: Any, metric: Literal["euclidean", "manhattan"] = "euclidean", *, sample_weight: Any = None
) -> float:
    """K-median objective: the sum of distances to the best medoid of each cluster.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data.
    labels : array-like of shape (n_samples,)
        Cluster of each point. A noise label such as -1 is a label like any other.
    metric : {"euclidean", "manhattan"}, default="euclidean"
        The distance.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights ≥ 0. The medoid minimises the weighted sum; a row of weight 0 cannot be one.

    Returns
    -------
    objective : float ≥ 0

    Notes
    -----
    Exact. Candidates that the triangle inequality rules out are skipped, so the usual cost is far below the worst
    case, O(n_features · Σ_k size_k²). Memory: one cluster in float64 and a few blocks of 8 MB.

    Examples
    --------
    >>> from fairclust import metrics
    >>> metrics.kmedian_objective([[0.0], [1.0], [5.0], [9.0]], [0, 0, 0, 1])
    5.0
    """
    check_choice("metric", metric, tuple(_DISTANCES))
    X = _data(X)
    codes = _cluster_codes(labels, X.shape[0], "X")
    weights = _weights(sample_weight, len(codes), "X")
    held = np.flatnonzero(weights > 0)
    order = held[np.argsort(codes[held], kind="stable")]
    starts = np.flatnonzero(np.diff(codes[order])) + 1
    return float(sum(_medoid_cost(_dense(X[rows]), weights[rows], metric) for rows in np.split(order, starts)))


def ncut_objective(W: Any, labels: Any) -> float:
    """Ncut objective: ``K − Σ_k S_kᵗWS_k / dᵗS_k``, the share of each cluster's links that leave it, added up.

    Parameters
    ----------
    W : array-like or sparse matrix of shape (n_samples, n_samples)
        Affinities: symmetric, ≥ 0.
    labels : array-like of shape (n_samples,)
        Cluster of each point. A noise label such as -1 is a label like any other.

    Returns
    -------
    objective : float in [0, n_clusters]
        0 when no link joins two clusters. A cluster of points without any link (degree 0) has ratio 0, so it adds 1.

    Notes
    -----
    One pass over the stored entries, in blocks; the degrees d include the diagonal of W.

    Examples
    --------
    >>> from fairclust import metrics
    >>> path = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    >>> round(metrics.ncut_objective(path, [0, 0, 1, 1]), 4)
    0.6667
    """
    W = _affinity(W)
    codes = _cluster_codes(labels, W.shape[0], "W")
    n_clusters = int(codes.max()) + 1
    inside, degree = np.zeros(n_clusters), np.zeros(n_clusters)
    for rows in _slices(W):
        links = sparse.coo_array(W[rows])
        own = codes[rows][links.row]
        inside += np.bincount(own, weights=links.data * (own == codes[links.col]), minlength=n_clusters)
        degree += np.bincount(own, weights=links.data, minlength=n_clusters)
    kept = np.divide(inside, degree, out=np.zeros(n_clusters), where=degree > 0)
    return float((1.0 - kept).sum())


def _smallest_ratio(counts: FloatArray) -> FloatArray:
    ratios: FloatArray = counts.min(axis=1) / counts.max(axis=1)
    return ratios


def _label_column(labels: Any) -> AnyArray:
    column = to_column(labels, "labels")
    if len(column) == 0:
        raise InvalidInputError("labels is empty. Pass one cluster label per point.")
    return column


def _cluster_codes(labels: Any, n_samples: int, of: str) -> IntArray:
    column = _label_column(labels)
    _check_rows("labels", column, n_samples, of)
    return encode_groups(column, argument="labels").codes


def _check_rows(name: str, values: AnyArray, n_samples: int, of: str) -> None:
    if len(values) != n_samples:
        raise InvalidInputError(
            f"{name} has {len(values)} rows but {of} has {n_samples}. Pass one value per row of {of}."
        )


def _weights(sample_weight: Any, n_samples: int, of: str) -> FloatArray:
    if sample_weight is None:
        return np.ones(n_samples)
    column = to_column(sample_weight, "sample_weight")
    _check_rows("sample_weight", column, n_samples, of)
    try:
        weights = column.astype(float)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"sample_weight must hold numbers ≥ 0 ({error}).") from error
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        raise InvalidInputError(f"sample_weight is {column[wrong[0]]} in row {wrong[0]}, but a number ≥ 0 is needed.")
    if not weights.any():
        raise InvalidInputError("sample_weight is zero everywhere. Give at least one row a positive weight.")
    return weights


def _data(X: Any) -> Any:
    return check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")


def _affinity(W: Any) -> Any:
    W = check_array(W, accept_sparse="csr", dtype="numeric", input_name="W")
    if W.shape[0] != W.shape[1]:
        raise InvalidInputError(f"W has shape {W.shape}, but one row and one column per point are needed.")
    if W.min() < 0:
        raise InvalidInputError(f"W has negative entries (down to {W.min():.6g}). Affinities must be ≥ 0.")
    other = W.T.tocsr() if sparse.issparse(W) else W.T
    gap = max(float(abs(_float(W[rows]) - _float(other[rows])).max()) for rows in _slices(W))
    if gap > _SYMMETRY_TOLERANCE * float(W.max()):
        raise InvalidInputError(
            f"W is not symmetric: W and its transpose differ by up to {gap:.6g}. Pass (W + W.T) / 2."
        )
    return W


def _float(part: Any) -> Any:
    return part.astype(float)  # unsigned integers and booleans have no differences


def _slices(X: Any) -> Iterator[slice]:
    """Yield runs of rows with about ``_BLOCK`` stored numbers each."""
    stored = X.nnz if sparse.issparse(X) else X.size
    step = max(1, _BLOCK * X.shape[0] // max(stored, 1))
    for start in range(0, X.shape[0], step):
        yield slice(start, start + step)


def _row_blocks(X: Any) -> Iterator[tuple[slice, FloatArray]]:
    """Yield runs of rows as fresh float64 arrays, which the caller may overwrite."""
    step = max(1, _BLOCK // X.shape[1])
    for start in range(0, X.shape[0], step):
        rows = slice(start, start + step)
        yield rows, _dense(X[rows])


def _dense(part: Any) -> FloatArray:
    return np.array(part.toarray() if sparse.issparse(part) else part, dtype=np.float64)


def _add_by_cluster(sums: FloatArray, block: FloatArray, codes: IntArray, weights: FloatArray) -> None:
    """Add each weighted row of the block (IN) to its cluster's row of ``sums`` (n_clusters, n_features) (OUT)."""
    membership = sparse.csr_array((weights, codes, np.arange(len(codes) + 1)), shape=(len(codes), len(sums)))
    sums += membership.T @ block


def _medoid_cost(points: FloatArray, weights: FloatArray, metric: str) -> float:
    """Smallest weighted sum of distances from one of the points to all of them."""
    distance = _DISTANCES[metric]
    total = weights.sum()
    center = np.average(points, axis=0, weights=weights)[None]
    to_center = cdist(center, points, distance)[0]
    # E(j) = Σ w_i |x_j − x_i| ≥ |Σ w_i (x_j − x_i)| ≥ total · d(x_j, centre) − |Σ w_i (x_i − centre)|, the cost of
    # point j; the last term is what the centre was rounded by.
    rounded_by = cdist(weights[None] @ (points - center), np.zeros_like(center), distance)[0, 0]
    floor = total * to_center - rounded_by
    best = np.inf
    waiting = np.argsort(to_center)  # likely medoids first, so that most others need no look
    n_rows = max(1, _BLOCK // len(points))
    while len(waiting):
        distances = cdist(points[waiting[:n_rows]], points, distance)
        costs = distances @ weights
        best = min(best, float(costs.min()))
        # Triangle inequality, both ways: E(j) ≥ |E(i) − total · d(i, j)|.
        distances *= -total
        distances += costs[:, None]
        np.maximum(floor, np.abs(distances, out=distances).max(axis=0), out=floor)
        waiting = waiting[n_rows:]
        waiting = waiting[floor[waiting] < best]
    return best
