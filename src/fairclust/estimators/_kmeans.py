"""Fair K-means."""

from __future__ import annotations

from typing import Any

from .. import _checks as checks
from .._objectives import KMeansObjective, Objective
from .._typing import FloatArray
from ..scaling import BlockData, StreamedKMeans
from ._base import PrototypeClusterer, check_no_exact_counts


class FairKMeans(PrototypeClusterer):
    """K-means with proportional representation: each group's share in every cluster is pulled towards a target.

    "Fair" means just that: the make-up of the clusters. It says nothing about what is done with them.

    Minimises ``F + fairness_weight · Σ_k KL(target ‖ shares in cluster k)``, where F is the sum of squared distances to
    the clusters' means (Ziko et al., "Variational Fair Clustering", AAAI 2021).

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    fairness_weight : float or "auto", default="auto"
        λ of the paper, a number ≥ 0; 0 is plain K-means. λ has the units of F: it grows with the data and with their
        scale. "auto": reach a goal at the least cost found, with a weight of its own for each cluster.
    max_fairness_error : float, default=0.01
        The goal of "auto": KL(target ‖ shares) of every cluster, on the hard labels, at or below this. 0 asks for
        exact proportions: every count is the floor or the ceiling of its ideal share. With a number as
        ``fairness_weight`` it is only reported on, and must stay at its default.
    min_balance : float or None, default=None
        Another goal: smallest ratio between two groups' counts in every cluster at or above this.
    max_cost_increase : float or None, default=None
        Another goal: the fairest clusters found that cost at most so much more than plain clustering (0.05: 5 %).
    bounds : float, dict or None, default=None
        Another goal: each group's share in every cluster between a lower and an upper bound. A dict
        {group: (lower, upper)}, or {attribute: {group: (lower, upper)}} with several attributes, or a number δ for
        (1 − δ)·target to target/(1 − δ).
    target_proportions : dict, array-like of shape (n_groups,) or (n_clusters, n_groups) or None, default=None
        Wanted share of each group, by name or in the order of ``group_names_``; one row (or dict) per cluster where
        clusters want different mixes. With several attributes, a dict {attribute: shares}. None, and attributes that
        are not named: the data's own shares. A group with target 0 is not counted for fairness, but takes room from
        the others.
    attribute_weights : dict or None, default=None
        With several attributes and a number as ``fairness_weight``: what to multiply it by, {attribute: number};
        1 for attributes that are not named. A goal finds its own weights.
    intersections : bool, default=False
        Balance the combinations of the attributes' groups that occur instead of each attribute.
    missing_groups : {"error", "own", "ignore"}, default="error"
        What a missing group is: an error, a group of its own ("missing"), or a row that costs distance but does not
        count in this attribute.
    quantile_bins : int, dict or None, default=None
        Cut a numeric attribute (age) into so many ranges of about equal weight; {attribute: number} with several.
    min_cluster_size, max_cluster_size : int, float or None, default=None
        Bounds on the size of every cluster: rows (or their weight) as a whole number, or a share of them all as a
        number up to 1.0. They hold exactly, but with ``sample_weight`` only as nearly as prices allow
        (:class:`ClusterSizeWarning` tells), and they are bounds on the rows of the fit, not on those of
        :meth:`predict`. Not together with exact proportions or ``max_cost_increase``.
    unknown_groups : {"error", "nearest"}, default="error"
        What :meth:`predict` does with rows of a group that fit() did not see: an error, or the nearest centre.
    solver : {"dual", "bound"}, default="dual"
        "dual": Newton steps on one price per cluster and group. "bound": Algorithm 1 of the paper, much slower.
    lipschitz : float, default=2.0
        L of the paper; "bound" only. It doubles whenever a step would raise the energy.
    init : {"k-means++", "random"}, array of shape (n_clusters, n_features) or callable, default="k-means++"
        Starting centres. Above 65,536 rows, k-means++ looks at a random sample of that size.
    n_init : "auto" or int, default="auto"
        Number of starts; the best is kept. "auto": 1 for k-means++ and arrays, 10 for "random" and callables. With
        more than one start and 4096 rows or more they are raced: four times as many candidates are fitted on a tenth
        of the rows, the best ``n_init`` that ended in different places on a third, the best third of those on all.
    max_iter : int, default=300
        Most outer iterations per start.
    tol : float, default=1e-4
        Stop when the centres move less: Σ‖Δc‖² relative to the mean variance of the features, as in scikit-learn.
        With ``solver="bound"``, relative change of the paper's energy.
    assignments : {"hard", "soft"}, default="hard"
        What the centres are the means of. "hard" reproduces the paper's tables (it is what its code does), "soft" is
        what the paper writes.
    polish : bool or "auto", default="auto"
        At the end, move single points while that lowers the energy. "auto": with a goal, up to 100,000 rows and without
        sample weights. A polished point may have another label than :meth:`predict` gives it.
    random_state : int, RandomState or None, default=None
        Seed of the starts.
    n_jobs : int or None, default=None
        Threads. None: all cores that the process may use (or OMP_NUM_THREADS). The result does not depend on it.
    verbose : int, default=0
        1: a line per outer iteration.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centres for which the labels are the cheapest at the fitted prices.
    prices_ : ndarray of shape (n_clusters, n_groups)
        What a point of each group pays to enter each cluster, in units of the point costs; with several attributes, a
        point pays for each of its groups.
    size_prices_ : ndarray of shape (n_clusters,)
        What everyone pays to enter each cluster besides, where sizes are bounded; zero elsewhere.
    cluster_sizes_ : ndarray of shape (n_clusters,)
        Rows in each cluster, or their weight.
    temperature_ : float
        Temperature of the soft assignments of :meth:`predict_proba`.
    objective_ : float
        Sum of squared distances of the rows to the means of their clusters.
    energy_ : float
        ``objective_`` plus the weighted fairness errors of the clusters (with soft assignments, the relaxed energy).
    energy_history_ : ndarray of shape (n_iter_,)
        Energy after each outer iteration; it never rises.
    fairness_error_ : float
        Sum over clusters (and attributes) of KL(target ‖ shares), as in the paper's tables.
    max_fairness_error_ : float
        The same of the worst cluster in its worst attribute.
    fairness_errors_ : ndarray of shape (n_clusters, n_attributes)
        The errors one by one.
    balance_ : float
        Smallest ratio between two groups' counts in a cluster.
    proportions_ : ndarray of shape (n_clusters, n_groups)
        Shares of the groups in each cluster.
    group_names_ : ndarray of shape (n_groups,)
        Names of the groups, sorted; with several attributes ``attribute=group``, attribute by attribute.
    attribute_names_, group_attributes_ : ndarray of shape (n_attributes,), (n_groups,)
        Names of the attributes, and the attribute of each group.
    target_proportions_ : ndarray of shape (n_groups,)
        The target that was used.
    fairness_weight_ : float
        The λ that was used; with a goal, the largest of ``cluster_weights_``.
    cluster_weights_ : ndarray of shape (n_clusters,) or (n_clusters, n_attributes)
        The weight of each cluster's fairness, in each attribute if there are several.
    fairness_goal_met_ : bool
        Whether the goal is met (with a fixed weight: whether every cluster is within ``max_fairness_error``).
    polished_ : bool
        Whether no move of a single point lowers the energy; False where polishing was off or cost the goal.
    n_iter_, n_sweeps_ : int
        Outer iterations of the chosen fit; passes over the point costs of all fits.
    stop_reason_ : StopReason
        Why the chosen fit stopped.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Time per outer iteration is O(n_samples · n_clusters · n_features), with two or three passes over the point costs.
    Memory beyond the input is about 1.2 · n_samples · n_clusters · 4 bytes. The result is the same for any number of
    threads. One group only, or
    ``sensitive_features=None``, is plain K-means.

    Examples
    --------
    >>> from fairclust import FairKMeans
    >>> from fairclust.datasets import make_synthetic
    >>> data = make_synthetic()
    >>> model = FairKMeans(2, max_fairness_error=0.01, random_state=0)
    >>> model.fit(data.data, sensitive_features=data.sensitive_features).fairness_goal_met_
    True
    >>> model.proportions_.round(2)
    array([[0.5, 0.5],
           [0.5, 0.5]])
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
        target_proportions: Any = None,
        attribute_weights: Any = None,
        intersections: bool = False,
        missing_groups: str = "error",
        quantile_bins: Any = None,
        min_cluster_size: float | None = None,
        max_cluster_size: float | None = None,
        unknown_groups: str = "error",
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
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.fairness_weight = fairness_weight
        self.max_fairness_error = max_fairness_error
        self.min_balance = min_balance
        self.max_cost_increase = max_cost_increase
        self.bounds = bounds
        self.target_proportions = target_proportions
        self.attribute_weights = attribute_weights
        self.intersections = intersections
        self.missing_groups = missing_groups
        self.quantile_bins = quantile_bins
        self.min_cluster_size = min_cluster_size
        self.max_cluster_size = max_cluster_size
        self.unknown_groups = unknown_groups
        self.solver = solver
        self.lipschitz = lipschitz
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.assignments = assignments
        self.polish = polish
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _objective(self, X: FloatArray, weights: FloatArray | None) -> Objective:
        return KMeansObjective(X, weights)

    def _check_streamed(self) -> None:
        check_no_exact_counts(self)

    def _streamed_objective(self, data: BlockData) -> Objective:
        return StreamedKMeans(data)
