"""k-means-constrained (PyPI; Bradley, Bennett and Demiriz 2000): K-means with bounds on sizes, by a flow."""

from typing import Any

TITLE = "k-means-constrained"
OBJECTIVES = ("kmeans",)
GOALS = ("sizes",)
MOST_ROWS = 6000  # a flow per iteration, slow beyond
PACKAGE = "k_means_constrained"


def run(X: Any, groups: Any, n_clusters: int, goal: Any, seed: int) -> Any:
    """Fit at its defaults (ten starts)."""
    import math

    from k_means_constrained import KMeansConstrained  # type: ignore[import-not-found]

    even = len(X) / n_clusters
    low, high = math.ceil((1 - goal.level) * even), math.floor((1 + goal.level) * even)
    return KMeansConstrained(n_clusters, size_min=low, size_max=high, random_state=seed, n_jobs=1).fit(X).labels_
