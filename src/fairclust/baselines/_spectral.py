"""Fair spectral clustering (Kleindessner, Samadi, Awasthi and Morgenstern, ICML 2019)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data
from threadpoolctl import threadpool_limits

from .. import _checks as checks
from .._graph.levels import GraphLevel
from .._graph.spectral import embedding
from .._typing import FloatArray
from ..graphs import check_affinity, nearest_neighbors_graph, to_graph
from ..metrics import ncut_objective
from ._base import Baseline, Memberships, encode_column

_TOLERANCE = 1e-6  # of an eigenvalue


class FairSpectral(Baseline):
    """K-means on spectral coordinates in which every group has its share.

    "Fair" means that the relaxed problem is solved among coordinates for which every group's share of every cluster is
    its share of the data. What K-means makes of the coordinates comes near to that, with no promise how near.

    Parameters
    ----------
    n_clusters : int, default=8
    affinity : {"nearest_neighbors", "precomputed"}, default="nearest_neighbors"
        "precomputed": X is a symmetric matrix of affinities ≥ 0, dense or sparse.
    n_neighbors : int, default=20
        Neighbours of each point; see :func:`fairclust.graphs.nearest_neighbors_graph`.
    normalized : bool, default=True
        True: eigenvectors of D^-½ (D − W) D^-½, a relaxed normalized cut (the paper's Algorithm 3). False: of D − W, a
        relaxed ratio cut (its Algorithm 2).
    n_init : int, default=10
        Starts of K-means on the coordinates.
    random_state : int, RandomState or None, default=None
    n_jobs : int or None, default=None
        Threads that search neighbours.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    embedding_ : ndarray of shape (n_samples, n_clusters)
        The coordinates.
    affinity_matrix_ : csr_array of shape (n_samples, n_samples)
    objective_ : float
        Ncut of the labels, whether ``normalized`` or not.
    proportions_, group_names_, target_proportions_, fairness_error_, max_fairness_error_, balance_
        As in :class:`fairclust.FairKMeans`.

    Notes
    -----
    The paper asks for a basis of the null space of the group constraints, a dense n_samples × n_samples matrix. Here
    the constraints, J − 1 vectors, are projected out in every step of a Lanczos iteration, as in the scalable follow-up
    (Wang, Lu, Davidson and Bai, AISTATS 2023): the same eigenvectors from products with the sparse matrix. Up to 400
    points, and up to 4 n_clusters, a dense solver finds them.

    Examples
    --------
    >>> from fairclust.baselines import FairSpectral
    >>> from fairclust.datasets import make_synthetic
    >>> data = make_synthetic()
    >>> model = FairSpectral(2, random_state=0).fit(data.data, sensitive_features=data.sensitive_features)
    >>> print(f"{model.objective_:.2f} at {model.fairness_error_:.2f}")
    0.00 at 0.00
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        affinity: str = "nearest_neighbors",
        n_neighbors: int = 20,
        normalized: bool = True,
        n_init: int = 10,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.normalized = normalized
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.affinity == "precomputed"
        tags.input_tags.sparse = self.affinity == "precomputed"
        return tags

    def fit(self, X: Any, y: Any = None, *, sensitive_features: Any = None) -> Self:
        """Embed, then cluster.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or affinities of shape (n_samples, n_samples)
        y : ignored
        sensitive_features : array-like of shape (n_samples,) or None
            Group of each row. None: plain spectral clustering.

        Returns
        -------
        self : object
        """
        is_graph = checks.check_choice("affinity", self.affinity, ("nearest_neighbors", "precomputed")) == "precomputed"
        n_init = checks.check_count("n_init", self.n_init)
        n_neighbors = checks.check_count("n_neighbors", self.n_neighbors)
        X = validate_data(
            self, checks.check_sparse(X), dtype=[np.float64, np.float32], order="C",
            accept_sparse="csr" if is_graph else False,
            ensure_min_samples=2,
        )  # fmt: skip
        n_samples = X.shape[0]
        n_clusters = checks.check_n_clusters(self.n_clusters, n_samples)
        groups = encode_column(sensitive_features, n_samples)
        random_state = check_random_state(self.random_state)
        W = check_affinity(X) if is_graph else self._neighbors(X, n_clusters, n_neighbors)
        # The last column follows from the others; of one group nothing is left.
        unfair = (np.eye(groups.n_groups)[groups.codes] - groups.target)[:, :-1]
        # One thread: sums in another order would end in other labels.
        with threadpool_limits(limits=1):
            self.embedding_ = embedding(
                GraphLevel(to_graph(W), groups.codes, None), n_clusters, unfair, random_state,
                normalized=bool(self.normalized), tolerance=_TOLERANCE,
            )  # fmt: skip
            means = KMeans(min(n_clusters, _n_distinct(self.embedding_)), n_init=n_init, random_state=random_state)
            labels = means.fit(self.embedding_).labels_
        self.affinity_matrix_ = W
        members = Memberships.of(groups)
        self._store_scores(labels, members, ncut_objective(W, labels))
        return self

    def _neighbors(self, X: FloatArray, n_clusters: int, n_neighbors: int) -> Any:
        checks.check_distinct_rows(X, n_clusters)
        return nearest_neighbors_graph(X, n_neighbors, n_threads=checks.resolve_threads(self.n_jobs))


def _n_distinct(rows: FloatArray) -> int:
    return len(np.unique(rows, axis=0))
