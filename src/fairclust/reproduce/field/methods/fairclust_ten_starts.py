"""fairclust with ten starts."""

from typing import Any

from fairclust.reproduce.field.goal import Goal

from ._ours import fit

TITLE = "fairclust, n_init=10"
OBJECTIVES = ("kmeans", "kmedian", "ncut")
GOALS = ("balance", "bounds", "error", "total", "sizes")
IS_OURS = True


def run(X: Any, groups: Any, n_clusters: int, goal: Goal, seed: int) -> Any:
    """Fit with ``n_init=10``."""
    return fit(X, groups, n_clusters, goal, seed, n_init=10)
