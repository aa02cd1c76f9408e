"""holisticai (PyPI): the original code of Ziko et al. 2021, packed; λ is searched for by three fits."""

from typing import Any

TITLE = "holisticai 1.0"
OBJECTIVES = ("kmeans",)
GOALS = ("total",)
MOST_GROUPS = 2  # all that the package takes
MOST_ROWS = 1000  # its fits are slow beyond
PACKAGE = "holisticai"


def run(X: Any, groups: Any, n_clusters: int, goal: Any, seed: int) -> Any:
    """Fit at weights in turn until the Σ KL is met; the cheapest that meets it, or the fairest."""
    import contextlib
    import io

    import numpy as np
    from holisticai.bias.mitigation import VariationalFairClustering  # type: ignore[import-not-found]

    names, counts = np.unique(groups, return_counts=True)
    # It swaps the targets when the minority comes first, so it is given the order in which it works.
    majority = groups == names[counts.argmax()]
    shares = np.array([majority.mean(), 1 - majority.mean()])
    weight, tried = 0.3 * float(np.square(X - X.mean(axis=0)).sum()), []
    for _ in range(3):
        model = VariationalFairClustering(
            n_clusters=n_clusters, lipchitz_value=2.0, lmbda=weight, method="kmeans", normalize_input=False, seed=seed
        )
        with contextlib.redirect_stdout(io.StringIO()):
            model.fit(X, majority, ~majority)
        labels = np.asarray(model.labels_)
        error = cost = 0.0
        for k in np.unique(labels):
            rows = labels == k
            own = np.clip([majority[rows].mean(), 1 - majority[rows].mean()], 1e-20, None)
            error += float((shares * np.log(shares / own)).sum())
            cost += float(np.square(X[rows] - X[rows].mean(axis=0)).sum())
        tried.append((error > goal.level, error if error > goal.level else cost, labels))
        weight *= 4.0 if error > goal.level else 0.5
    return min(tried, key=lambda one: one[:2])[2]
