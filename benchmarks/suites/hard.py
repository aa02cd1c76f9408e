"""Goals on ordinary tables: raw and standardised columns, outliers, people who are alike, rare groups."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from fairclust import FairKMeans
from fairclust.errors import FairclustWarning

from ..context import Context
from ..measure import cpu_time
from ..records import Claim, SuiteResult, Unavailable
from ..tables import ORDINARY, ordinary_table

_GAP_LIMIT = 0.003
_TIME_LIMIT = 15.0
_LEVEL = 0.01


def run(context: Context, result: SuiteResult) -> None:
    result.notes.append(
        "Goal: KL ≤ 0.01 in every cluster, n_init=1. ratio: processor time of one thread over scikit-learn's KMeans "
        "from the same k-means++ centres in the same run. gap: assignment_gap_, proved."
    )
    for name in ORDINARY[:2] if context.quick else ORDINARY:
        try:
            table = ordinary_table(name)
        except Unavailable as reason:
            result.skip(name, reason)
            continue
        _fit(table, result)


def _fit(table: Any, result: SuiteResult) -> None:
    rng = np.random.RandomState(0)
    centers = KMeans(table.n_clusters, n_init=1, max_iter=1, random_state=rng).fit(table.X).cluster_centers_
    plain, base = cpu_time(lambda: KMeans(table.n_clusters, init=centers, n_init=1).fit(table.X), repeats=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairclustWarning)
        model, seconds = cpu_time(
            lambda: FairKMeans(table.n_clusters, goal=_LEVEL, init=centers, n_jobs=1).fit(
                table.X, sensitive_features=table.groups
            ),
            repeats=3,
        )
    result.rows.append(
        {
            "data": table.name,
            "met": bool(model.goal_met_),
            "worst error": model.max_fairness_error_,
            "cost/plain": model.objective_ / plain.inertia_,
            "gap": model.assignment_gap_,
            "evaluations": model.n_evaluations_,
            "smallest cluster": model.cluster_sizes_.min(),
            "ratio": seconds / base,
        }
    )
    result.claims.append(Claim(f"{table.name}: worst error", model.max_fairness_error_, _LEVEL))
    result.claims.append(Claim(f"{table.name}: gap", model.assignment_gap_, _GAP_LIMIT))
    result.claims.append(Claim(f"{table.name}: time over plain K-means", seconds / base, _TIME_LIMIT))
