"""Fairlets, asked for a goal: the ratio p:q is their knob."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fairclust.reproduce.field.goal import Goal

from ._knobs import first_that_meets

_LARGEST = 120  # q: fairlets have up to p + q points


def fit(make: Callable[..., Any], X: Any, groups: Any, n_clusters: int, goal: Goal, seed: int, **arguments: Any) -> Any:
    """Fit with the smallest ratio that promises the goal; for a Σ KL, with tighter ratios until it is met."""

    def fitted(ratio: tuple[int, int]) -> Any:
        return make(n_clusters, balance=ratio, random_state=seed, **arguments).fit(X, sensitive_features=groups)

    counts = np.unique(groups, return_counts=True)[1]
    most = counts.min() / counts.max()
    least = goal.min_balance(groups) if goal.kind == "balance" else 0.5 * most
    found = ratios(least, most)
    return fitted(found[0]) if goal.kind == "balance" else first_that_meets(fitted, found, goal, groups, n_clusters)


def ratios(least: float, most: float) -> list[tuple[int, int]]:
    """p:q from just above the least balance to nearly the data's, with small numbers; the data's own at the end."""
    found: list[tuple[int, int]] = []
    for aim in np.linspace(least, most, 4):
        for q in range(1, _LARGEST + 1):
            p = int(np.ceil(aim * q - 1e-12))
            if p >= 1 and p / q <= most + 1e-12 and np.gcd(p, q) == 1:
                if (p, q) not in found:
                    found.append((p, q))
                break
    return sorted(found, key=lambda pair: pair[0] / pair[1])
