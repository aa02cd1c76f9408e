"""Estimators of this package, asked for a goal: what the files that run them share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairclust.estimators import FairKMeans, FairKMedian, FairNCut
from fairclust.goals import Bounds, MaxFairnessError, MinBalance, Penalty
from fairclust.reproduce.field.goal import Goal

from ._knobs import along, spread

ESTIMATORS: dict[str, Any] = {"kmeans": FairKMeans, "kmedian": FairKMedian, "ncut": FairNCut}
_FIRST_OF_NCUT = 10.0  # Ncut has no units, so one weight does to begin with


def fit(
    X: Any, groups: Any, n_clusters: int, goal: Goal, seed: int, rounded: bool | None = None, **arguments: Any
) -> Any:
    """Fit the estimator of the goal's objective; for a Σ KL, which no argument asks for, λ is searched for."""
    arguments |= {"random_state": seed, "n_jobs": 1} | ({"affinity": "precomputed"} if goal.objective == "ncut" else {})
    make = ESTIMATORS[goal.objective]
    if goal.kind == "total":
        first = _FIRST_OF_NCUT if goal.objective == "ncut" else 0.3 * spread(X)
        return along(
            lambda weight: make(n_clusters, goal=Penalty(weight), **arguments).fit(X, sensitive_features=groups),
            goal.level, first, -1.4, X.shape[0],
        )  # fmt: skip
    if goal.kind == "sizes":
        low, high = goal.sizes(X.shape[0], n_clusters)
        return make(n_clusters, goal=None, min_cluster_size=low, max_cluster_size=high, **arguments).fit(X)
    # Where people are forgiven to all, ours are rounded to whole ones: less than one person beyond.
    rounded = goal.people > 0 if rounded is None else rounded
    asked: dict[str, Callable[[], Any]] = {
        "balance": lambda: MinBalance(goal.min_balance(groups)),
        "bounds": lambda: Bounds(goal.level, rounded=rounded),
        "error": lambda: MaxFairnessError(goal.level),
    }
    return make(n_clusters, goal=asked[goal.kind](), **arguments).fit(X, sensitive_features=groups)
