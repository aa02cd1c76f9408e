"""Chierichetti, Kumar, Lattanzi and Vassilvitskii, NeurIPS 2017: fairlets by a flow, then K-medoids."""

from typing import Any

from fairclust.baselines import Fairlets
from fairclust.reproduce.field.goal import Goal

from ._fairlets import fit

TITLE = "Chierichetti et al. 2017"
OBJECTIVES = ("kmeans", "kmedian")
GOALS = ("balance", "total")
MOST_GROUPS = 2  # fairlets are of two colours
MOST_ROWS = 1000  # the flow has an edge per pair of people


def run(X: Any, groups: Any, n_clusters: int, goal: Goal, seed: int) -> Any:
    """Fit."""
    return fit(Fairlets, X, groups, n_clusters, goal, seed)
