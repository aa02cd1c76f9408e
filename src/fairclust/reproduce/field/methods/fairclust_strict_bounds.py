"""fairclust with bounds that are kept to the person, where others are forgiven some."""

from typing import Any

from fairclust.reproduce.field.goal import Goal

from ._ours import fit

TITLE = "fairclust, bounds to the person"
OBJECTIVES = ("kmeans", "kmedian")
GOALS = ("bounds",)
IS_OURS = True


def run(X: Any, groups: Any, n_clusters: int, goal: Goal, seed: int) -> Any:
    """Fit at defaults, nobody forgiven."""
    return fit(X, groups, n_clusters, goal, seed, rounded=False)
