"""Fair K-means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _checks as checks
from .._objectives import Objective
from ..scaling import BlockData, StreamedKMeans, StreamedTable
from ._docs import shared_docs
from ._tables import TableClusterer


@shared_docs
class FairKMeans(TableClusterer):
    """K-means with proportional representation: each group's share in every cluster is pulled towards a target.

    %(promise)s

    Minimises ``F + fairness_weight · Σ_k KL(target ‖ shares in cluster k)``, where F is the sum of squared distances to
    the clusters' means (Ziko et al., "Variational Fair Clustering", AAAI 2021).

    Parameters
    ----------
    %(n_clusters)s
    fairness_weight : float or "auto", default="auto"
        λ of the paper, a number ≥ 0; 0 is plain K-means. λ has the units of F: it grows with the data and with their
        scale. "auto": reach a goal at the least cost found, with a weight of its own for each cluster.
    %(fairness_goals)s
    %(groups)s
    %(rows)s
    categorical_features : "from_dtype", list of names, places or bool, or None, default="from_dtype"
        Which columns of X are categories. "from_dtype": the text, categorical and boolean columns of a data frame. A
        category is compared with the shares of the categories in a cluster: the squared distance of its one-hot
        columns, without building them. Once there are categories, every column counts the same: its variance is 1.
    missing_values : {"error", "observed", "own"}, default="error"
        What an empty cell (NaN, None) is. "observed": it costs nothing, and centres are means of what is there. "own":
        the same for numbers, and a category of its own ("missing") in categorical columns.
    feature_weights : dict, list or None, default=None
        How much columns count, {column: weight} or one weight per column; 1 for those not named, 0 leaves a column out.
        With weights, or with categories, columns are scaled first; numbers alone count as they are.
    %(solver_of_rows)s
    %(lipschitz)s
    %(starts)s
    %(max_iter)s
    %(tol_of_centers)s
    assignments : {"hard", "soft"}, default="hard"
        What the centres are the means of. "hard" reproduces the paper's tables (it is what its code does), "soft" is
        what the paper writes.
    %(polish)s
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
    >>> from fairclust import FairKMeans
    >>> from fairclust.datasets import make_synthetic
    >>> data = make_synthetic()
    >>> model = FairKMeans(2, max_fairness_error=0.01, random_state=0)
    >>> model.fit(data.data, sensitive_features=data.sensitive_features).fairness_goal_met_
    True
    >>> bool(model.max_fairness_error_ <= 0.01)
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        fairness_weight: float | str = "auto",
        max_fairness_error: float = checks.DEFAULT_MAX_FAIRNESS_ERROR,
        min_balance: float | None = None,
        max_cost_increase: float | None = None,
        bounds: Any = None,
        round_bounds: bool = False,
        target_proportions: Any = None,
        attribute_weights: Any = None,
        intersections: bool = False,
        missing_groups: str = "error",
        quantile_bins: Any = None,
        min_cluster_size: float | None = None,
        max_cluster_size: float | None = None,
        unknown_groups: str = "error",
        categorical_features: Any = "from_dtype",
        missing_values: str = "error",
        feature_weights: Any = None,
        solver: str = "dual",
        lipschitz: float = 2.0,
        init: Any = "k-means++",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        assignments: str = "hard",
        polish: bool | str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int | Callable[[int, float], None] = 0,
    ) -> None:
        super().__init__(locals())

    def _streamed_objective(self, data: BlockData) -> Objective:
        self._features = None if data.learned is None else data.learned.features
        return StreamedKMeans(data) if data.learned is None else StreamedTable(data)
