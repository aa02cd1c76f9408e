"""Backurs, Indyk, Onak, Schieber, Vakilian and Wagner, ICML 2019: fairlets in near-linear time, then K-medoids."""

from typing import Any

from fairclust.baselines import ScalableFairlets
from fairclust.reproduce.field.goal import Goal

from ._fairlets import fit

TITLE = "Backurs et al. 2019"
OBJECTIVES = ("kmeans", "kmedian")
GOALS = ("balance", "total")
MOST_GROUPS = 2  # fairlets are of two colours


def run(X: Any, groups: Any, n_clusters: int, goal: Goal, seed: int) -> Any:
    """Fit with ten trees, the tightest of which counts."""
    return fit(ScalableFairlets, X, groups, n_clusters, goal, seed, n_trees=10)
