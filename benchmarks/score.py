"""One scorer for every method's labels, so that no method's own figures are ever compared with another's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from fairclust import metrics

OBJECTIVES: dict[str, Callable[[Any, Any], float]] = {
    "kmeans": metrics.kmeans_objective,
    "kmedian": metrics.kmedian_objective,
    "ncut": metrics.ncut_objective,  # of an affinity matrix, not of X
}


@dataclass(frozen=True)
class Score:
    """What labels are worth.

    Attributes
    ----------
    objective : float
        Clustering objective of the hard labels, as in the paper's tables.
    fairness_error : float
        Σ over the clusters of KL(target ‖ shares); the target is the data's shares.
    worst_error : float
        The same of the worst cluster.
    balance : float
        Smallest ratio between two groups' counts in a cluster.
    n_clusters : int
        Clusters that hold a point. With fewer than were asked for, Σ KL is over fewer terms.
    """

    objective: float
    fairness_error: float
    worst_error: float
    balance: float
    n_clusters: int

    def energy(self, fairness_weight: float) -> float:
        """Objective + λ · Σ KL: what the fair methods minimise."""
        return self.objective + fairness_weight * self.fairness_error


def score(X: NDArray[Any], groups: NDArray[Any], labels: NDArray[Any], objective: str = "kmeans") -> Score:
    """Score labels.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The data; for ``objective="ncut"``, the affinity matrix.
    groups : ndarray of shape (n_samples,)
    labels : ndarray of shape (n_samples,)
        Of any algorithm.
    objective : str, default="kmeans"
        A key of `OBJECTIVES`.
    """
    table = metrics.composition(labels, groups)
    return Score(
        objective=OBJECTIVES[objective](X, labels),
        fairness_error=float(table.fairness_errors.sum()),
        worst_error=float(table.fairness_errors.max()),
        balance=float(table.balances.min()),
        n_clusters=len(table.sizes),
    )
