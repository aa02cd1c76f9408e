"""Clustering without fairness: what the price of a goal is measured from."""

from typing import Any

from fairclust.reproduce.field.goal import Goal

from ._ours import ESTIMATORS

TITLE = "plain"
OBJECTIVES = ("kmeans", "kmedian", "ncut")
GOALS = ("balance", "bounds", "error", "total", "sizes")
IS_REFERENCE = True


def run(X: Any, groups: Any, n_clusters: int, goal: Goal, seed: int) -> Any:
    """Fit with λ = 0 and ten starts."""
    given = {"affinity": "precomputed"} if goal.objective == "ncut" else {"n_init": 10}
    make = ESTIMATORS[goal.objective]
    return make(n_clusters, goal=None, random_state=seed, n_jobs=1, **given).fit(X)
