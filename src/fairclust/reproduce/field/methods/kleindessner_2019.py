"""Kleindessner, Samadi, Awasthi and Morgenstern, ICML 2019: spectral clustering with shares projected in."""

from typing import Any

from fairclust.baselines import FairSpectral
from fairclust.reproduce.field.goal import Goal

TITLE = "Kleindessner et al. 2019"
OBJECTIVES = ("ncut",)
GOALS = ("error", "total")


def run(X: Any, groups: Any, n_clusters: int, goal: Goal, seed: int) -> Any:
    """Fit the normalized form; it has no knob, so the goal may be missed."""
    return FairSpectral(n_clusters, affinity="precomputed", random_state=seed).fit(X, sensitive_features=groups)
