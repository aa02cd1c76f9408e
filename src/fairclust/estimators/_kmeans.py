"""Fair K-means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._objectives import Objective
from .._people.attributes import Groups
from .._table.features import Features
from ._docs import shared_docs
from ._tables import TableClusterer


@shared_docs
class FairKMeans(TableClusterer):
    """K-means with proportional representation: each group's share in every cluster is pulled towards a target.

    %(promise)s

    With a :class:`~fairclust.Penalty` it minimises ``F + weight · Σ_k KL(target ‖ shares in cluster k)``, where F is
    the sum of squared distances to the clusters' means (Ziko et al., "Variational Fair Clustering", AAAI 2021); with
    any other goal F alone, over the clusterings that meet it.

    Parameters
    ----------
    %(n_clusters)s
    %(goal)s
    %(groups)s
    %(features)s
    %(sizes)s
    %(solver_of_rows)s
    %(starts)s
    %(max_iter)s
    %(tol_of_centers)s
    %(machine)s

    Attributes
    ----------
    %(labels_)s
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centres for which the labels are the cheapest at the fitted prices. Of a table with categories: in its scaled
        coordinates, the numbers first, then a column per category; ``cluster_profiles_`` has them in the table's units.
    cluster_profiles_ : data frame with a row per cluster
        Means of the numbers and shares of the categories, in the table's own units.
    %(prices_)s
    objective_ : float
        Sum of squared distances of the rows to the means of their clusters.
    %(energies_)s
    %(fairness_)s
    %(weights_)s
    %(ending_)s

    Notes
    -----
    Time per outer iteration is O(n_samples · n_clusters · n_features), with two or three passes over the point costs.
    Memory beyond the input is about 1.2 · n_samples · n_clusters · 4 bytes. The result is the same for any number of
    threads. One group only, or ``sensitive_features=None``, is plain K-means.

    Examples
    --------
    >>> from fairclust import FairKMeans, MinBalance
    >>> from fairclust.datasets import make_synthetic
    >>> data = make_synthetic()
    >>> model = FairKMeans(2, goal=MinBalance(0.9), random_state=0)
    >>> model.fit(data.data, sensitive_features=data.sensitive_features).goal_met_
    True
    >>> bool(model.balance_ >= 0.9)
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        goal: Any = 0.01,
        target_proportions: Any = None,
        groups: Groups | None = None,
        features: Features | None = None,
        cluster_sizes: Any = None,
        min_cluster_size: Any = None,
        max_cluster_size: Any = None,
        solver: Any = "dual",
        init: Any = "k-means++",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int | Callable[[int, float], None] = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.goal = goal
        self.target_proportions = target_proportions
        self.groups = groups
        self.features = features
        self.cluster_sizes = cluster_sizes
        self.min_cluster_size = min_cluster_size
        self.max_cluster_size = max_cluster_size
        self.solver = solver
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _streamed_objective(self, data: Any) -> Objective:
        from ..scaling import StreamedKMeans, StreamedTable

        self._features = None if data.learned is None else data.learned.features
        return StreamedKMeans() if data.learned is None else StreamedTable(data)
