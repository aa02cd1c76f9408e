"""Ziko, Yuan, Granger and Ben Ayed, AAAI 2021: Algorithm 1 as written, one k-means++ start, λ searched for."""

from typing import Any

from fairclust import Penalty
from fairclust.reproduce.field.goal import Goal

from ._knobs import along, spread
from ._ours import ESTIMATORS

TITLE = "Ziko et al. 2021"
OBJECTIVES = ("kmeans", "kmedian")
GOALS = ("total",)


def run(X: Any, groups: Any, n_clusters: int, goal: Goal, seed: int) -> Any:
    """Fit ``solver="bound"``."""
    given: dict[str, Any] = {"solver": "bound", "init": "k-means++", "random_state": seed, "n_jobs": 1}
    make = ESTIMATORS[goal.objective]
    return along(
        lambda weight: make(n_clusters, goal=Penalty(weight), **given).fit(X, sensitive_features=groups),
        goal.level, 0.3 * spread(X), -1.4, len(X),
    )  # fmt: skip
