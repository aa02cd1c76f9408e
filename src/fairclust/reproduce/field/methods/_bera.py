"""Bera et al.'s linear program, asked for a goal: once with the paper's plain centres, once with centres in turn."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairclust.baselines import FairAssignment, plain_centers
from fairclust.reproduce.field.goal import Goal

from ._knobs import along

_FIRST = 0.1  # δ to begin with, where a Σ KL is asked for


def fit(X: Any, groups: Any, n_clusters: int, goal: Goal, seed: int, max_iter: int) -> Any:
    """Assign to plain centres, found once; with ``max_iter`` above 1, the centres follow."""
    members = _memberships(groups) if isinstance(groups, dict) else groups
    centers = plain_centers(X, n_clusters, goal.objective, 10, np.random.RandomState(seed))
    arguments: dict[str, Any] = {
        "objective": goal.objective,
        "init": centers,
        "max_iter": max_iter,
        "random_state": seed,
    }

    def assigned(bounds: Any) -> Any:
        return FairAssignment(n_clusters, bounds=bounds, **arguments).fit(X, sensitive_features=members)

    if goal.kind == "total":
        return along(lambda delta: assigned(min(delta, 0.95)), goal.level, _FIRST, 2.0, len(X))
    if goal.kind == "bounds":
        return assigned(goal.level)
    balance = goal.min_balance(groups)
    # Of two groups: balance ≥ b is a share of at least b/(1 + b) of either.
    return assigned(dict.fromkeys(np.unique(groups).tolist(), (balance / (1 + balance), 1 / (1 + balance))))


def _memberships(groups: dict[str, Any]) -> Any:
    """Several attributes as one boolean table, a column per group."""
    return np.column_stack([column == name for column in groups.values() for name in np.unique(column)])
