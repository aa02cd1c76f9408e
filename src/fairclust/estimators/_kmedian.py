"""Fair K-median."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances

from .. import _checks as checks
from .._fit.problem import Problem, WeightedFit
from .._objectives import Objective
from .._objectives.kmedian import CENTERS, METRICS, KMedianObjective
from .._people.attributes import Attributes
from .._typing import FloatArray, IntArray
from ..errors import InvalidInputError
from ..scaling import BlockData, StreamedKMedian
from ._docs import shared_docs
from ._predict import PredictingClusterer


@shared_docs
class FairKMedian(PredictingClusterer):
    """K-median with proportional representation: each group's share in every cluster is pulled towards a target.

    %(promise)s

    Minimises ``F + fairness_weight · Σ_k KL(target ‖ shares in cluster k)``, where F is the sum of distances to the
    clusters' medoids, or to their geometric medians (Ziko et al., "Variational Fair Clustering", AAAI 2021).

    Parameters
    ----------
    %(n_clusters)s
    metric : {"euclidean", "manhattan"}, default="euclidean"
        The distance.
    center : {"medoid", "geometric"}, default="medoid"
        "medoid": the row of a cluster with the least sum of distances to its other rows. "geometric": the place in
        space with that property; for manhattan the median of every feature.
    fairness_weight : float or "auto", default="auto"
        λ of the paper, a number ≥ 0; 0 is plain K-median. λ has the units of F: it grows with the data and with their
        scale. "auto": reach a goal at the least cost found, with a weight of its own for each cluster.
    %(fairness_goals)s
    %(groups)s
    %(rows)s
    %(solver_of_rows)s
    %(lipschitz)s
    %(starts)s
    %(max_iter)s
    %(tol_of_centers)s
    assignments : {"hard", "soft"}, default="hard"
        What the centres are the medoids, or medians, of.
    %(polish)s
    %(machine)s

    Attributes
    ----------
    %(labels_)s
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Medoids of the clusters, or the geometric medians for which the labels are the cheapest at the fitted prices.
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
    "manhattan" it sorts instead, and is exact at any size. Up to 262,144 rows the fit goes on until exact medoids
    settle; above, they are computed for the final labels.

    Medoids are sticky: a fit of medoids alone stops early, in worse clusters. So the fit finds geometric medians first
    (of a sample, from 262,144 rows on; not with ``solver="bound"`` or soft assignments) and goes on with medoids from
    there. ``energy_history_`` and ``n_iter_`` are those of the medoids.

    A medoid stays in its cluster for the next outer iteration, so that the energy falls at every step; it may therefore
    hold a label that :meth:`predict` would not give it.

    Memory beyond the input is about 1.2 · n_samples · n_clusters · 4 bytes and a copy of the largest cluster (with soft
    assignments, n_samples · n_clusters · 4 bytes more). The result is the same for any number of threads.

    Examples
    --------
    >>> from fairclust import FairKMedian
    >>> from fairclust.datasets import make_synthetic_unequal
    >>> data = make_synthetic_unequal()
    >>> model = FairKMedian(2, fairness_weight=10, random_state=0)
    >>> model = model.fit(data.data, sensitive_features=data.sensitive_features)
    >>> bool((data.data[model.medoid_indices_] == model.cluster_centers_).all())
    True
    >>> model.medoid_search_
    'exact'
    """

    medoid_indices_: IntArray
    medoid_search_: str
    n_distance_evaluations_: int

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: str = "euclidean",
        center: str = "medoid",
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
        verbose: int | Callable[[int, float], None] = 0,
    ) -> None:
        super().__init__(locals())

    def _distances(self, rows: Any) -> FloatArray:
        distances = euclidean_distances if self.metric == "euclidean" else manhattan_distances
        result: FloatArray = distances(rows, self.cluster_centers_)
        return result

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the sum of distances to the nearest centre: larger is better."""
        nearest = self.transform(X).min(axis=1)
        return -float(nearest.sum() if sample_weight is None else np.asarray(sample_weight, dtype=float) @ nearest)

    def _objective(self, X: FloatArray, weights: FloatArray | None) -> KMedianObjective:
        metric = checks.check_choice("metric", self.metric, tuple(METRICS))
        return KMedianObjective(X, metric, checks.check_choice("center", self.center, CENTERS), weights=weights)

    def _check_streamed(self) -> None:
        super()._check_streamed()
        if (self.metric, self.assignments) != ("euclidean", "hard"):
            raise InvalidInputError(
                f"FairKMedian(metric={self.metric!r}, assignments={self.assignments!r}) needs X in memory. "
                "Block by block, use euclidean distances and hard assignments."
            )

    def _streamed_objective(self, data: BlockData) -> Objective:
        return StreamedKMedian(data, self.center)

    def _settings(self) -> Any:
        checks.check_choice("metric", self.metric, tuple(METRICS))
        checks.check_choice("center", self.center, CENTERS)
        return super()._settings()

    def _store(self, problem: Problem, attributes: Attributes, fit: WeightedFit) -> None:
        if self.center == "medoid":
            fit = self._store_medoids(problem, fit)
        super()._store(problem, attributes, fit)

    def _store_medoids(self, problem: Problem, fit: WeightedFit) -> WeightedFit:
        """Store the exact medoids of the final labels; return the fit with its centres and objective theirs."""
        result = fit.result
        assert isinstance(problem.objective, KMedianObjective | StreamedKMedian)
        medoids = problem.objective.medoids(problem.sweep, result.labels)  # type: ignore[arg-type]
        self.medoid_indices_ = np.where(medoids.positions >= 0, problem.sweep.rows_of(medoids.positions), -1)
        self.n_distance_evaluations_ = problem.objective.effort.n_distances
        above = medoids.value / medoids.lower - 1.0 if medoids.lower > 0 else np.inf
        self.medoid_search_ = (
            "exact"
            if medoids.is_exact
            else f"approximate: the objective is at most {100 * above:.2g} % above the one with exact medoids"
        )
        history, energy = result.energy_history, result.energy
        if self.assignments == "hard" or not fit.weights.any():
            energy = result.energy - result.objective + medoids.value
            history = np.append(history[:-1], energy)
        parameters = np.where(medoids.positions[:, None] >= 0, medoids.centers, result.parameters)
        result = replace(result, parameters=parameters, objective=medoids.value, energy=energy, energy_history=history)
        return replace(fit, result=result)
