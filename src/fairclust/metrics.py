"""Scores of a clustering, whatever algorithm made it.

Every fairness score is read from one table per sensitive attribute, :class:`Composition`: how much of each group each
cluster holds. The clustering objectives stand below it. No estimator, no solver and no soft assignment is known here:
hard labels only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.utils import check_array

from ._checks import check_choice, check_sparse
from ._dual.overlaps import generalised_divergence
from ._dual.terms import SMALLEST_SHARE, divergence
from ._people.attributes import Attribute, Groups, Population, read_options
from ._people.columns import read_columns, to_column
from ._people.encode import EncodedGroups, encode_groups, encode_people
from ._typing import AnyArray, FloatArray, IntArray
from .errors import InvalidInputError
from .graphs import SYMMETRY_TOLERANCE

__all__ = [
    "Composition",
    "balance",
    "composition",
    "compositions",
    "fairness_error",
    "group_proportions",
    "kmeans_objective",
    "kmedian_objective",
    "ncut_objective",
]

_BLOCK = 1 << 20  # numbers held at a time by the objectives: 8 MB per temporary
_DISTANCES = {"euclidean": "euclidean", "manhattan": "cityblock"}

Targets = Mapping[Any, Any] | Sequence[Any] | FloatArray | None


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
    target : ndarray of shape (n_groups,) or (n_clusters, n_groups)
        The wanted share of each group in every cluster, or in each.
    attribute : str
        Name of the sensitive attribute.
    everyone : ndarray of shape (n_clusters,) or None
        Where groups overlap: points (or weight) in each cluster, whatever groups they are in. None: each point is in
        one group.

    Examples
    --------
    >>> from fairclust import metrics
    >>> table = metrics.composition([0, 0, 0, 1], ["F", "M", "M", "F"])
    >>> table.cluster_names, table.group_names
    (array([0, 1]), array(['F', 'M'], dtype='<U1'))
    >>> table.counts
    array([[1., 2.],
           [1., 0.]])
    """

    cluster_names: AnyArray
    group_names: AnyArray
    counts: FloatArray
    target: FloatArray
    attribute: str = "group"
    everyone: FloatArray | None = None

    @property
    def sizes(self) -> FloatArray:
        """Points (or weight) in each cluster that count in this attribute, shape (n_clusters,)."""
        sizes: FloatArray = self.counts.sum(axis=1) if self.everyone is None else self.everyone
        return sizes

    @property
    def totals(self) -> FloatArray:
        """Points (or weight) in each group, shape (n_groups,)."""
        totals: FloatArray = self.counts.sum(axis=0)
        return totals

    @property
    def proportions(self) -> FloatArray:
        """Share of each group in each cluster, shape (n_clusters, n_groups); rows sum to 1 unless groups overlap."""
        size = self.sizes[:, None]
        return np.divide(self.counts, size, out=np.zeros_like(self.counts), where=size > 0)

    @property
    def fairness_errors(self) -> FloatArray:
        """KL(target ‖ shares) of each cluster, shape (n_clusters,)."""
        if self.everyone is None:
            return divergence(self.target, self.proportions)
        return generalised_divergence(self.target, self.proportions)

    @property
    def error_parts(self) -> FloatArray:
        """What each group adds to its cluster's fairness error, shape (n_clusters, n_groups).

        target·log(target/share) − target + share: never negative, and 0 where the share is as wanted. The parts of a
        cluster add up to its error.
        """
        target, shares = np.broadcast_to(self.target, self.counts.shape), self.proportions
        ratio = np.where(target > 0, target / np.maximum(shares, SMALLEST_SHARE), 1.0)
        return np.asarray(np.maximum(target * np.log(ratio) - target + shares, 0.0))

    @property
    def balances(self) -> FloatArray:
        """Smallest ratio between two group counts in each cluster, shape (n_clusters,)."""
        return _smallest_ratio(self.counts[:, self.totals > 0])

    @property
    def data_balance(self) -> float:
        """Smallest ratio between two group counts in all the data."""
        return float(_smallest_ratio(self.totals[self.totals > 0][None])[0])


def compositions(
    labels: Any,
    sensitive_features: Any,
    *,
    target_proportions: Targets = None,
    sample_weight: Any = None,
    groups: Groups | None = None,
) -> dict[str, Composition]:
    """Count the groups of every sensitive attribute in every cluster.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Cluster of each point: numbers or text, from any algorithm. A noise label such as DBSCAN's -1 is a label like
        any other; drop these rows first if noise is not to count as a cluster.
    sensitive_features : column, data frame, 2-D array or dict of columns
        One column per attribute; a boolean table with several columns is a membership matrix, one column per group.
    target_proportions : dict, array-like or None, default=None
        Wanted shares, by group name or in the order of the groups, also one row per cluster; with several attributes a
        dict {attribute: shares}. None: the data's shares.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights ≥ 0. A row of weight 0 counts as absent: a cluster that holds only such rows is left out, while a
        group keeps its column, so that the columns stay in step with the target.
    groups : Groups or None, default=None
        How sensitive columns become groups.

    Returns
    -------
    compositions : dict of str to Composition
        In the order of the columns.

    Examples
    --------
    >>> from fairclust import metrics
    >>> people = {"sex": ["F", "M", "M", "F"], "place": ["town", "town", "land", "land"]}
    >>> tables = metrics.compositions([0, 0, 1, 1], people)
    >>> tables["place"].proportions
    array([[0., 1.],
           [1., 0.]])
    """
    column = _label_column(labels)
    n_samples = len(column)
    table = read_columns(sensitive_features)
    _check_rows("sensitive_features", table.columns[0], n_samples, "labels")
    weights = checked_weights(sample_weight, n_samples, "labels")
    clusters = encode_groups(column, argument="labels")
    people = encode_people(
        table,
        options=read_options(groups),
        target_proportions=target_proportions,
        weights=weights,
        n_clusters=clusters.n_groups,
    )
    return count_cells(clusters, people, weights)


def count_cells(clusters: EncodedGroups, people: Population, weights: FloatArray) -> dict[str, Composition]:
    """Count people whose cells are known already: what :func:`compositions` does, for the attributes of a fit.

    Parameters
    ----------
    clusters : EncodedGroups
        The labels, encoded.
    people : Population
    weights : ndarray of shape (n_samples,)

    Returns
    -------
    compositions : dict of str to Composition
    """
    cells = people.cells
    shape = (clusters.n_groups, cells.n_cells)
    places = clusters.codes.astype(np.intp) * cells.n_cells + cells.codes
    masses = np.bincount(places, weights=weights, minlength=shape[0] * shape[1]).reshape(shape)
    held = masses.sum(axis=1) > 0
    counts = masses[held] @ cells.membership
    found, first = {}, 0
    for attribute in people.attributes:
        own = counts[:, first : first + attribute.n_columns]
        found[attribute.name] = _one_table(attribute, clusters.names[held], own, held)
        first += attribute.n_columns
    return found


def composition(
    labels: Any,
    sensitive_features: Any,
    *,
    target_proportions: Targets = None,
    sample_weight: Any = None,
    groups: Groups | None = None,
) -> Composition:
    """Count the groups of one sensitive attribute in every cluster.

    Parameters
    ----------
    labels, sensitive_features, target_proportions, sample_weight, groups
        As for :func:`compositions`, which takes several attributes.

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
    tables = compositions(
        labels,
        sensitive_features,
        target_proportions=target_proportions,
        sample_weight=sample_weight,
        groups=groups,
    )
    if len(tables) > 1:
        raise InvalidInputError(
            f"sensitive_features has {len(tables)} attributes: {', '.join(map(repr, tables))}. Use compositions() for "
            "a table of each, or groups=Groups(intersections=True) for one of their combinations."
        )
    return next(iter(tables.values()))


def _one_table(attribute: Attribute, cluster_names: AnyArray, counts: FloatArray, held: AnyArray) -> Composition:
    target = attribute.target
    if target.ndim == 2:  # a row per label; where some labels of a fit do not occur, labels are row numbers
        target = target[held] if len(target) == len(held) else target[cluster_names]
    everyone = counts[:, -1] if attribute.is_overlapping else None
    return Composition(
        cluster_names, attribute.names, counts[:, : attribute.n_groups], target, attribute.name, everyone
    )


def balance(labels: Any, sensitive_features: Any, *, sample_weight: Any = None, groups: Groups | None = None) -> float:
    """Balance of a clustering: the smallest ratio between two group counts of an attribute, in the worst cluster.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Cluster of each point. A noise label such as -1 is a label like any other.
    sensitive_features : column, data frame, 2-D array or dict of columns
        Group of each point in each attribute, as for :func:`compositions`.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights ≥ 0.
    groups : Groups or None, default=None
        How sensitive columns become groups.

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
    tables = compositions(labels, sensitive_features, sample_weight=sample_weight, groups=groups)
    return min(float(table.balances.min()) for table in tables.values())


@overload
def fairness_error(
    labels: Any,
    sensitive_features: Any,
    target_proportions: Targets = None,
    average: Literal["sum", "max", "mean"] = "sum",
    *,
    sample_weight: Any = None,
    groups: Groups | None = None,
) -> float: ...


@overload
def fairness_error(
    labels: Any,
    sensitive_features: Any,
    target_proportions: Targets = None,
    *,
    average: None,
    sample_weight: Any = None,
    groups: Groups | None = None,
) -> FloatArray: ...


@overload
def fairness_error(
    labels: Any,
    sensitive_features: Any,
    target_proportions: Targets,
    average: None,
    *,
    sample_weight: Any = None,
    groups: Groups | None = None,
) -> FloatArray: ...


def fairness_error(
    labels: Any,
    sensitive_features: Any,
    target_proportions: Targets = None,
    average: Literal["sum", "max", "mean"] | None = "sum",
    *,
    sample_weight: Any = None,
    groups: Groups | None = None,
) -> float | FloatArray:
    """Fairness error: KL(target ‖ cluster shares), summed over the clusters (and over several attributes).

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Cluster of each point. A noise label such as -1 is a label like any other.
    sensitive_features : column, data frame, 2-D array or dict of columns
        Group of each point in each attribute, as for :func:`compositions`.
    target_proportions : dict, array-like of shape (n_groups,) or None, default=None
        Wanted shares, by group name or in sorted group order. None: the data's shares.
    average : {"sum", "max", "mean"} or None, default="sum"
        How the clusters' errors become one number; every cluster counts the same, whatever its size, and so does
        every attribute. None: the error of each cluster, in sorted label order.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights ≥ 0.
    groups : Groups or None, default=None
        How sensitive columns become groups.

    Returns
    -------
    error : float ≥ 0, or ndarray of shape (n_clusters,), or (n_clusters, n_attributes) for several attributes
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
    tables = compositions(
        labels, sensitive_features, target_proportions=target_proportions, sample_weight=sample_weight, groups=groups
    )
    errors = np.stack([table.fairness_errors for table in tables.values()], axis=1)
    if average is None:
        return errors[:, 0] if len(tables) == 1 else errors
    return float(getattr(errors, average)())


def group_proportions(
    labels: Any, sensitive_features: Any, *, sample_weight: Any = None, groups: Groups | None = None
) -> FloatArray:
    """Share of each group in each cluster.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Cluster of each point. A noise label such as -1 is a label like any other.
    sensitive_features : column, data frame, 2-D array or dict of columns
        Group of each point in each attribute, as for :func:`compositions`.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights ≥ 0.
    groups : Groups or None, default=None
        How sensitive columns become groups.

    Returns
    -------
    proportions : ndarray of shape (n_clusters, n_groups)
        Clusters in sorted label order, groups in sorted order; rows sum to 1. Several attributes stand side by side.
        :func:`compositions` gives the names.

    Examples
    --------
    >>> from fairclust import metrics
    >>> metrics.group_proportions(["b", "b", "a", "a"], ["F", "M", "F", "F"])
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    tables = compositions(labels, sensitive_features, sample_weight=sample_weight, groups=groups)
    return np.concatenate([table.proportions for table in tables.values()], axis=1)


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
    X = checked_data(X)
    codes = _cluster_codes(labels, X.shape[0], "X")
    weights = checked_weights(sample_weight, len(codes), "X")
    mass, means = np.bincount(codes, weights=weights), cluster_means(X, codes, weights)
    cost, drift = 0.0, np.zeros_like(means)
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
    X = checked_data(X)
    codes = _cluster_codes(labels, X.shape[0], "X")
    weights = checked_weights(sample_weight, len(codes), "X")
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
    largest = counts.max(axis=1)
    return np.divide(counts.min(axis=1), largest, out=np.zeros_like(largest), where=largest > 0)


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


def checked_weights(sample_weight: Any, n_samples: int, of: str) -> FloatArray:
    """Sample weights as numbers ≥ 0, of which one is above 0; ``of``: what they go with."""
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


def checked_data(X: Any) -> Any:
    """Rows of numbers, dense or sparse."""
    return check_array(check_sparse(X), accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")


def _affinity(W: Any) -> Any:
    W = check_array(check_sparse(W, "W"), accept_sparse="csr", dtype="numeric", input_name="W")
    if W.shape[0] != W.shape[1]:
        raise InvalidInputError(f"W has shape {W.shape}, but one row and one column per point are needed.")
    if W.min() < 0:
        raise InvalidInputError(f"W has negative entries (down to {W.min():.6g}). Affinities must be ≥ 0.")
    other = W.T.tocsr() if sparse.issparse(W) else W.T
    gap = max(float(abs(_float(W[rows]) - _float(other[rows])).max()) for rows in _slices(W))
    if gap > SYMMETRY_TOLERANCE * float(W.max()):
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


def cluster_means(X: Any, codes: IntArray, weights: FloatArray) -> FloatArray:
    """Means of the clusters 0, 1, …, in float64; of a cluster without weight 0.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    codes, weights : ndarray of shape (n_samples,)
    """
    mass = np.bincount(codes, weights=weights)
    sums = np.zeros((len(mass), X.shape[1]))
    for rows, block in _row_blocks(X):
        _add_by_cluster(sums, block, codes[rows], weights[rows])
    return sums / np.where(mass > 0, mass, 1.0)[:, None]


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
