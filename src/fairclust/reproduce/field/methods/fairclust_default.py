"""fairclust with nothing but the goal."""

from typing import Any

from fairclust.reproduce.field.goal import Goal

from ._ours import fit

TITLE = "fairclust"
OBJECTIVES = ("kmeans", "kmedian", "ncut")
GOALS = ("balance", "bounds", "error", "total", "sizes")
IS_OURS = True


def run(X: Any, groups: Any, n_clusters: int, goal: Goal, seed: int) -> Any:
    """Fit at defaults."""
    return fit(X, groups, n_clusters, goal, seed)
