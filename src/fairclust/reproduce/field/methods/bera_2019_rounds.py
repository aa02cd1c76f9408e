"""Bera et al. 2019 made stronger: centres and assignment in turn, which the paper does not do."""

from typing import Any

from fairclust.reproduce.field.goal import Goal

from ._bera import fit

TITLE = "Bera et al. 2019, in rounds"
OBJECTIVES = ("kmeans", "kmedian")
GOALS = ("balance", "bounds", "total")


def run(X: Any, groups: Any, n_clusters: int, goal: Goal, seed: int) -> Any:
    """Assign, re-estimate the centres, and so on, three times or until the cost falls no more."""
    return fit(X, groups, n_clusters, goal, seed, max_iter=3)
