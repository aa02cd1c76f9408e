"""Many clusters, and many groups: a fit at a weight against scikit-learn's plain K-means from the same centres."""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.cluster import KMeans, kmeans_plusplus

from fairclust import FairKMeans, Penalty, datasets

from ..context import Context
from ..measure import cpu_time
from ..records import SuiteResult

_LARGE, _MIDDLE = 0.8, 0.05  # of N/K: at the first fairness decides, at the second distance
# (clusters, groups, weights)
_CASES = (
    (50, 2, (_LARGE, _MIDDLE)), (200, 2, (_LARGE, _MIDDLE)), (1000, 2, (_LARGE, _MIDDLE)),
    (20, 18, (_LARGE, _MIDDLE)), (20, 50, (_LARGE, _MIDDLE)),
)  # fmt: skip
_QUICK = ((50, 2, (_MIDDLE,)), (20, 18, (_MIDDLE,)))


def run(context: Context, result: SuiteResult) -> None:
    n_rows = 20_000 if context.quick else 100_000
    people = datasets.make_census_like(n_rows, random_state=0)
    result.notes.append(
        f"{n_rows:,} census-like rows × 25 features; processor time, one call each, from k-means++. Two groups: sex; "
        "more: its halves cut by a random direction with as much noise, into equal parts. weight: λ·K/N."
    )
    for n_clusters, n_groups, weights in _QUICK if context.quick else _CASES:
        groups = _groups(people.data, people.sensitive_features, n_groups)
        centers, _ = kmeans_plusplus(people.data[::4], n_clusters, random_state=0)
        kmeans = KMeans(n_clusters, init=centers, n_init=1, tol=1e-4)
        plain, seconds = cpu_time(partial(kmeans.fit, people.data))
        for weight in weights:
            model = FairKMeans(n_clusters, init=centers, n_init=1, goal=Penalty(weight * n_rows / n_clusters))
            fair, own = cpu_time(partial(model.fit, people.data, sensitive_features=groups))
            result.rows.append(
                {
                    "clusters": n_clusters, "groups": n_groups, "weight": weight, "seconds": own, "plain": seconds,
                    "ratio": own / seconds, "evaluations": fair.n_evaluations_, "energy": fair.energy_,
                    "objective over plain": fair.objective_ / plain.inertia_, "Σ KL": fair.fairness_error_,
                }
            )  # fmt: skip
            context.say(
                f"  K={n_clusters}, J={n_groups}, {weight}·N/K: {own:.2f} s, {own / seconds:.2f} × plain K-means"
            )


def _groups(X: np.ndarray, sex: np.ndarray, n_groups: int) -> np.ndarray:
    if n_groups == 2:
        return sex
    rng = np.random.default_rng(0)
    along = X @ rng.normal(size=X.shape[1])
    along = along + along.std() * rng.normal(size=len(X))
    half = (sex == np.unique(sex)[0]).astype(int)
    n_parts = n_groups // 2
    parts = np.zeros(len(X), dtype=int)
    for one in (0, 1):
        own = np.flatnonzero(half == one)
        parts[own[np.argsort(along[own])]] = np.arange(len(own)) * n_parts // len(own)
    return half * n_parts + parts
