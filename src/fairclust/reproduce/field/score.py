"""The one scorer: labels in, figures out. It knows no method."""

from __future__ import annotations

from typing import Any

from ... import metrics
from ..._typing import IntArray
from ..methods import objective_of
from .goal import Goal


def score(X: Any, groups: Any, n_clusters: int, goal: Goal, labels: IntArray) -> dict[str, Any]:
    """Score labels.

    Parameters
    ----------
    X : ndarray or sparse matrix
        The rows; for Ncut the graph.
    groups : array or dict of arrays
        Group of each row; with several attributes, a column each.
    n_clusters : int
        Clusters that were asked for.
    goal : Goal
    labels : ndarray of shape (n_samples,)

    Returns
    -------
    score : dict of plain values
        Objective of the hard labels, fairness (of several attributes: the sum, the worst and the worst), whether the
        goal is met and how many people are beyond it, and the clusters' number and sizes.
    """
    tables = metrics.compositions(labels, groups)
    sizes = next(iter(tables.values())).sizes
    return {
        "objective": objective_of(goal.objective, X, labels, n_clusters),
        "fairness_error": float(sum(table.fairness_errors.sum() for table in tables.values())),
        "worst_error": float(max(table.fairness_errors.max() for table in tables.values())),
        "balance": float(min(table.balances.min() for table in tables.values())),
        "people_beyond": goal.people_beyond(tables),
        "is_met": goal.is_met_by(tables, n_clusters),
        "n_clusters": len(sizes),
        "smallest_cluster": int(sizes.min()),
        "largest_cluster": int(sizes.max()),
    }
