"""Fair K-median."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .. import _checks as checks
from .._fit.fit import Fit
from .._objectives import GowerObjective, Objective
from .._objectives.coded_seeds import row_centers
from .._objectives.gower import gower_starts
from .._objectives.kmedian import CENTERS, METRICS, KMedianObjective, MedianObjective
from .._people.attributes import Groups
from .._table.coded import CodedRows
from .._table.features import Features, LearnedFeatures, is_table, read_features, read_table
from .._table.gower import distances, places
from .._typing import FloatArray, IntArray
from ..errors import InvalidInputError
from ._base import Problem
from ._docs import shared_docs
from ._gower import read_fitted, read_new, refuse_tables
from ._predict import PredictingClusterer


@shared_docs
class FairKMedian(PredictingClusterer):
    """K-median with proportional representation: each group's share in every cluster is pulled towards a target.

    %(promise)s

    With a :class:`~fairclust.Penalty` it minimises ``F + weight · Σ_k KL(target ‖ shares in cluster k)``, where F is
    the sum of distances to the clusters' medoids, or to their geometric medians (Ziko et al., "Variational Fair
    Clustering", AAAI 2021); with any other goal F alone, over the clusterings that meet it.

    Parameters
    ----------
    %(n_clusters)s
    metric : {"euclidean", "manhattan", "gower"}, default="euclidean"
        The distance. "gower": for tables of numbers, words and gaps; a number differs by its share of the range, a
        category by 0 or 1, and the distance is the mean over the columns.
    center : {"medoid", "geometric"}, default="medoid"
        "medoid": the row of a cluster with the least sum of distances to its other rows. "geometric": the place in
        space with that property; for manhattan the median of every feature, for gower also the commonest category.
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
        Medoids of the clusters, or the geometric medians for which the labels are the cheapest at the fitted prices.
        With "gower": scaled numbers (−1: a gap), then the codes of the categories; ``cluster_profiles_`` has them in
        the table's units.
    cluster_profiles_ : data frame with a row per cluster
        With "gower": the centres as rows of the table.
    medoid_indices_ : ndarray of shape (n_clusters,)
        Rows of X that are the medoids: ``X[medoid_indices_]`` are the centres. −1 where a cluster is empty. Absent with
        ``center="geometric"``.
    medoid_search_ : str
        "exact": no row of any cluster is a better medoid. "approximate: …": the search gave way, see Notes; the text
        says by how much the objective may exceed the one with exact medoids. Absent with ``center="geometric"``.
    n_distance_evaluations_ : int
        Distances that the medoid searches of all fits computed. Absent with ``center="geometric"``.
    %(prices_)s
    objective_ : float
        Sum of distances of the rows to the medoids, or geometric medians, of their clusters.
    %(energies_)s
    %(fairness_)s
    %(weights_)s
    %(ending_)s

    Notes
    -----
    Time per outer iteration is O(n_samples · n_clusters · n_features). A medoid takes about 10 distances per row while
    the fit moves. The exact search compares rows with cells of the cluster first, and few rows with all others: on real
    data a few percent of all pairs. A cluster of up to 7,000 rows is always searched exactly; in a larger one the
    search may take 2²⁶ distances, or 512 per row, and ``medoid_search_`` says when that was not enough. With
    "manhattan" and "gower" it sorts instead, and is exact at any size. Up to 65,536 rows the fit goes on until exact
    medoids settle; above, they are computed for the final labels.

    Medoids are sticky: a fit of medoids alone stops early, in worse clusters. So the fit finds geometric medians first,
    on a subsample (not with ``solver="bound"``) and goes on with medoids from there. ``energy_history_`` and
    ``n_iter_`` are those of the medoids.

    Memory beyond the input is about 1.2 · n_samples · n_clusters · 4 bytes and a copy of the largest cluster (with soft
    assignments, n_samples · n_clusters · 4 bytes more). The result is the same for any number of threads.

    Examples
    --------
    >>> from fairclust import FairKMedian, Penalty
    >>> from fairclust.datasets import make_synthetic_unequal
    >>> data = make_synthetic_unequal()
    >>> model = FairKMedian(2, goal=Penalty(10), random_state=0)
    >>> model = model.fit(data.data, sensitive_features=data.sensitive_features)
    >>> bool((data.data[model.medoid_indices_] == model.cluster_centers_).all())
    True
    >>> model.medoid_search_
    'exact'
    """

    _features: LearnedFeatures | None  # how fit() read a table; None: X was numbers
    medoid_indices_: IntArray
    medoid_search_: str
    n_distance_evaluations_: int

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: str = "euclidean",
        center: str = "medoid",
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
        self.metric = metric
        self.center = center
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

    @property
    def cluster_profiles_(self) -> Any:
        """The centres as rows of the table, a data frame with a row per cluster; with ``metric="gower"``."""
        check_is_fitted(self)
        features = getattr(self, "_features", None)
        if features is None:
            raise AttributeError(f"cluster_profiles_ goes with metric='gower', but metric={self.metric!r}.")
        return features.frame(features.cells(self.cluster_centers_))

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = read_features(self.features).missing != "error" and self.metric == "gower"
        return tags

    def _read(self, X: Any, sample_weight: Any) -> tuple[Any, FloatArray | None]:
        checks.check_choice("metric", self.metric, (*METRICS, "gower"))
        checks.check_choice("center", self.center, CENTERS)
        self._features = None
        if self.metric != "gower":
            refuse_tables(self, X)
            return super()._read(X, sample_weight)
        weights = None if sample_weight is None else self._sample_weights(sample_weight, read_table(X))
        self._features, rows = read_fitted(self, X, weights)
        return rows, weights

    def _validated(self, X: Any) -> Any:
        check_is_fitted(self)
        features = getattr(self, "_features", None)
        return super()._validated(X) if features is None else read_new(self, features, X)

    def points(self, X: Any) -> Any:
        """Rows of X as points: with "gower" scaled numbers and one-hot categories, a gap in the middle of all rows."""
        rows = super().points(X)
        return row_centers(rows) if isinstance(rows, CodedRows) else rows

    def _starts(
        self, rows: Any, n_clusters: int, random_state: np.random.RandomState, weights: FloatArray | None, n_starts: int
    ) -> list[FloatArray]:
        if not isinstance(rows, CodedRows):
            return super()._starts(rows, n_clusters, random_state, weights, n_starts)
        if isinstance(self.init, str):
            return gower_starts(rows, n_clusters, self.init, random_state, weights, n_starts)
        if callable(self.init):
            raise InvalidInputError(
                "init is a function, which takes a matrix of numbers, but metric='gower' compares columns of a table. "
                "Use 'k-means++', 'random', or a data frame with n_clusters rows like those of X."
            )
        if not is_table(self.init):
            given = checks.check_centers(np.asarray(self.init), n_clusters, self.n_features_in_)
            return [np.ascontiguousarray(given, dtype=rows.dtype)]
        assert self._features is not None
        return [places(self._features.starts(self.init, n_clusters))]

    def _distances(self, rows: Any) -> FloatArray:
        if isinstance(rows, CodedRows):
            return distances(rows, self.cluster_centers_).astype(float)
        between = euclidean_distances if self.metric == "euclidean" else manhattan_distances
        result: FloatArray = between(rows, self.cluster_centers_)
        return result

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the sum of distances to the nearest centre: larger is better."""
        nearest = self.transform(X).min(axis=1)
        return -float(nearest.sum() if sample_weight is None else np.asarray(sample_weight, dtype=float) @ nearest)

    def _objective(self, X: Any) -> MedianObjective:
        if isinstance(X, CodedRows):
            return GowerObjective(X, self.center)
        return KMedianObjective(X, self.metric, self.center)

    def _why_not_streamed(self) -> str | None:
        if self.metric != "euclidean":
            return f"FairKMedian(metric={self.metric!r}) needs X in memory. Block by block, use euclidean distances."
        if getattr(self.solver, "soft", False):
            return "BoundOptimization(soft=True) for FairKMedian needs X in memory. Block by block, use soft=False."
        return super()._why_not_streamed()

    def _streamed_objective(self, data: Any) -> Objective:
        from ..scaling import StreamedKMedian

        return StreamedKMedian(self.center)

    def _store_centers(self, problem: Problem, found: Fit) -> None:
        super()._store_centers(problem, found)
        if self.center != "medoid":
            return
        rows, objective = problem.points.rows, problem.points.objective
        medoids = objective.medoids(rows, found.assigned.labels)  # type: ignore[attr-defined]
        self.medoid_indices_ = np.where(medoids.positions >= 0, rows.rows_of(medoids.positions), -1)
        self.n_distance_evaluations_ = objective.effort.n_distances  # type: ignore[attr-defined]
        above = medoids.value / medoids.lower - 1.0 if medoids.lower > 0 else np.inf
        self.medoid_search_ = (
            "exact"
            if medoids.is_exact
            else f"approximate: the objective is at most {100 * above:.2g} % above the one with exact medoids"
        )
        self.cluster_centers_ = np.where(medoids.positions[:, None] >= 0, medoids.centers, found.own_centers)

    def _exact(self, problem: Problem, found: Fit) -> Fit:
        """The fit with exact medoids of its labels."""
        if self.center != "medoid":
            return found
        medoids = problem.points.objective.medoids(problem.points.rows, found.assigned.labels)  # type: ignore[attr-defined]
        less = found.cost - medoids.value
        bound = min(found.lower_bound, medoids.value)
        return replace(found, cost=medoids.value, energy=found.energy - less, lower_bound=bound)
