"""Who is run: our estimators, the paper's algorithm as written, the rivals. One scorer for all of them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import metrics
from .._typing import FloatArray, IntArray
from ..baselines import FairAssignment, Fairlets, FairSpectral, ScalableFairlets, best_centers, plain_centers
from ..errors import FairclustWarning
from ..estimators import FairKMeans, FairKMedian, FairNCut
from ..goals import Penalty
from ..solvers import Dual
from .data import Source

OURS: dict[str, Any] = {"kmeans": FairKMeans, "kmedian": FairKMedian, "ncut": FairNCut}


def run(source: Source, objective: str, model: Any, *, is_fair: bool = True) -> dict[str, Any]:
    """Fit a model and score its labels.

    Parameters
    ----------
    source : Source
        The data; Ncut and fair spectral clustering get the paper's graph of them.
    objective : {"kmeans", "kmedian", "ncut"}
        By which the labels are scored.
    model : estimator
    is_fair : bool
        Whether the groups are shown to the model.

    Returns
    -------
    result : dict of plain values
        Scores of the hard labels by this package's metrics, seconds of the fit, and the λ used where there is one.
    """
    points = source.points
    X = source.graph if objective == "ncut" else points.X
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairclustWarning)
        model.fit(X, sensitive_features=points.groups if is_fair else None)
    seconds = time.perf_counter() - began
    result = score(source, objective, model.labels_) | {"seconds": seconds}
    for name in ("fairness_weight_", "n_iter_", "max_violation_"):
        if np.isfinite(getattr(model, name, np.nan)):
            result[name.rstrip("_")] = float(getattr(model, name))
    return result


def score(source: Source, objective: str, labels: IntArray) -> dict[str, Any]:
    """Objective as in the paper's tables, Σ KL, worst KL, balance, and how many clusters hold a point."""
    points = source.points
    table = metrics.composition(labels, points.groups)
    X = source.graph if objective == "ncut" else points.X
    return {
        "objective": objective_of(objective, X, labels, points.n_clusters),
        "fairness_error": float(table.fairness_errors.sum()),
        "worst_error": float(table.fairness_errors.max()),
        "balance": float(table.balances.min()),
        "n_clusters": len(table.sizes),
    }


def objective_of(objective: str, X: Any, labels: IntArray, n_clusters: int) -> float:
    """Clustering objective of hard labels; X is the graph for Ncut."""
    if objective == "kmeans":
        return float(metrics.kmeans_objective(X, labels))
    if objective == "ncut":
        return float(metrics.ncut_objective(X, labels))
    # The estimators' search: exact, unless a cluster is so large that only the best medoid near the median is.
    return float(best_centers(X, labels, n_clusters, "kmedian").value)


def ours(source: Source, objective: str, weight: float, seed: int, n_init: int | str) -> Any:
    """Build our estimator at a weight, with several starts and single moves at the end."""
    common: dict[str, Any] = {"goal": Penalty(weight), "random_state": seed, "n_init": n_init}
    if objective == "ncut":
        return FairNCut(source.points.n_clusters, affinity="precomputed", **common)
    return OURS[objective](source.points.n_clusters, solver=Dual(local_search=True), **common)


def out_of_the_box(source: Source, objective: str, goal: float, seed: int) -> Any:
    """Build our estimator as a newcomer would: a number of clusters and a goal."""
    given = {"affinity": "precomputed"} if objective == "ncut" else {}
    return OURS[objective](source.points.n_clusters, goal=goal, random_state=seed, **given)


def papers_algorithm(source: Source, objective: str, weight: float, seed: int) -> Any:
    """Build Algorithm 1 as written: the bound, one k-means++ start, no moves afterwards."""
    common: dict[str, Any] = {"goal": Penalty(weight), "solver": "bound", "init": "k-means++", "random_state": seed}
    if objective == "ncut":
        from sklearn.cluster import kmeans_plusplus
        from sklearn.metrics import pairwise_distances_argmin

        X = source.points.X
        centers, _ = kmeans_plusplus(X, source.points.n_clusters, random_state=seed)
        common["init"] = pairwise_distances_argmin(X, centers)
        return FairNCut(source.points.n_clusters, affinity="precomputed", **common)
    return OURS[objective](source.points.n_clusters, **common)


Settings = Callable[[Source, list[int]], list[dict[str, Any]]]
"""From a data set and the rows of its groups to the settings that are tried."""


@dataclass(frozen=True)
class Rival:
    """A rival system: how it is called and what is tried.

    Attributes
    ----------
    name : str
    settings : callable
        The settings that are tried on a data set; none where it cannot run.
    make : callable
        The estimator's class.
    most_groups : int or None
        Groups that it is defined for.
    has_bounds : bool
        Whether its bounds are to be searched for the wanted Σ KL, for each of the settings.
    """

    name: str
    settings: Settings
    make: Callable[..., Any]
    most_groups: int | None = None
    has_bounds: bool = False

    def run(self, source: Source, objective: str, setting: dict[str, Any], seed: int) -> dict[str, Any]:
        """Fit and score; plain centres are found once per data set, and their seconds count."""
        arguments = _as_arguments(setting)
        seconds = 0.0
        if self.make is FairAssignment:
            centers, seconds = _plain_centers(source, setting["objective"], arguments.pop("n_init"), seed)
            arguments["init"] = centers
        result = run(source, objective, self.make(source.points.n_clusters, random_state=seed, **arguments))
        result["seconds"] += seconds
        return result


_centers: dict[tuple[str, str, int, int], tuple[FloatArray, float]] = {}


def _plain_centers(source: Source, objective: str, n_init: int, seed: int) -> tuple[FloatArray, float]:
    """Centres without fairness, and the seconds that they took."""
    key = (source.name, objective, n_init, seed)
    if key not in _centers:
        began = time.perf_counter()
        points = source.points
        found = plain_centers(points.X, points.n_clusters, objective, n_init, np.random.RandomState(seed))
        _centers[key] = (found, time.perf_counter() - began)
    return _centers[key]


def _as_arguments(setting: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in setting.items()}


def _ratios(counts: list[int]) -> list[list[int]]:
    """p:q from coarse to nearly the data's balance."""
    balance = min(counts) / max(counts)
    found: list[list[int]] = []
    for q in (1, 2, 3, 5, 9, 10, 20, 25, 45):
        p = int(np.floor(balance * q + 1e-12))
        if p >= 1 and (not found or p / q > found[-1][0] / found[-1][1]):
            found.append([p, q])
    return found


def _fairlet_settings(source: Source, counts: list[int]) -> list[dict[str, Any]]:
    ratios = _ratios(counts)
    if source.is_large:
        return [{"balance": ratio, "n_trees": 2, "n_init": 1} for ratio in (ratios[0], ratios[-1])]
    return [{"balance": ratio, "n_trees": 10} for ratio in ratios]


def _flow_settings(source: Source, counts: list[int]) -> list[dict[str, Any]]:
    return [{"balance": ratio} for ratio in _ratios(counts)] if source.is_small else []


def _assignment_settings(objective: str) -> Settings:
    def settings(source: Source, counts: list[int]) -> list[dict[str, Any]]:
        if source.is_large:  # minutes per program
            return []
        return [{"objective": objective, "n_init": 10, "max_iter": rounds} for rounds in (1, 8)]

    return settings


def _spectral_settings(source: Source, counts: list[int]) -> list[dict[str, Any]]:
    return [{"affinity": "precomputed", "normalized": normalized} for normalized in (True, False)]


RIVALS: dict[str, tuple[Rival, ...]] = {
    "kmedian": (
        Rival("Backurs et al. 2019", _fairlet_settings, ScalableFairlets, 2),
        Rival("Chierichetti et al. 2017", _flow_settings, Fairlets, 2),
        Rival("Bera et al. 2019", _assignment_settings("kmedian"), FairAssignment, has_bounds=True),
    ),
    "kmeans": (Rival("Bera et al. 2019", _assignment_settings("kmeans"), FairAssignment, has_bounds=True),),
    "ncut": (Rival("Kleindessner et al. 2019", _spectral_settings, FairSpectral),),
}
"""The rival of the paper's table first, then others that know the objective."""
