"""Estimators of this package, asked for a goal: what the files that run them share."""

from __future__ import annotations

from typing import Any

from fairclust.estimators import FairKMeans, FairKMedian, FairNCut
from fairclust.reproduce.field.goal import Goal

from ._knobs import along, spread

ESTIMATORS: dict[str, Any] = {"kmeans": FairKMeans, "kmedian": FairKMedian, "ncut": FairNCut}
_FIRST_OF_NCUT = 10.0  # Ncut has no units, so one weight does to begin with


def fit(X: Any, groups: Any, n_clusters: int, goal: Goal, seed: int, **arguments: Any) -> Any:
    """Fit the estimator of the goal's objective; for a Σ KL, which no argument asks for, λ is searched for."""
    arguments |= {"random_state": seed, "n_jobs": 1} | ({"affinity": "precomputed"} if goal.objective == "ncut" else {})
    make = ESTIMATORS[goal.objective]
    if goal.kind == "total":
        first = _FIRST_OF_NCUT if goal.objective == "ncut" else 0.3 * spread(X)
        return along(
            lambda weight: make(n_clusters, fairness_weight=weight, **arguments).fit(X, sensitive_features=groups),
            goal.level, first, -1.4, X.shape[0],
        )  # fmt: skip
    if goal.kind == "sizes":
        low, high = goal.sizes(X.shape[0], n_clusters)
        return make(n_clusters, min_cluster_size=low, max_cluster_size=high, **arguments).fit(X)
    asked: dict[str, Any] = {
        "balance": lambda: {"min_balance": goal.min_balance(groups)},
        # Where people are forgiven to all, ours are rounded to whole ones: less than one person beyond.
        "bounds": lambda: {"bounds": goal.level, "round_bounds": goal.people > 0},
        "error": lambda: {"max_fairness_error": goal.level},
    }[goal.kind]()
    return make(n_clusters, **asked | arguments).fit(X, sensitive_features=groups)
