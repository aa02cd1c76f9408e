"""Bera, Chakrabarty, Flores and Negahbani, NeurIPS 2019: plain centres, then the cheapest fair assignment."""

from typing import Any

from fairclust.reproduce.field.goal import Goal

from ._bera import fit

TITLE = "Bera et al. 2019"
OBJECTIVES = ("kmeans", "kmedian")
GOALS = ("balance", "bounds", "total")


def run(X: Any, groups: Any, n_clusters: int, goal: Goal, seed: int) -> Any:
    """Assign once, as the paper does."""
    return fit(X, groups, n_clusters, goal, seed, max_iter=1)
