"""What it costs to ask for a fairness level, and for the whole trade-off, against one fit at the right λ."""

from __future__ import annotations

import statistics
from typing import Any

from fairclust import FairKMeans, Penalty, fairness_path
from fairclust.solvers import Dual

from ..context import Context
from ..datasets import Dataset, census_like_name
from ..measure import cpu_time
from ..records import Claim, SuiteResult, Unavailable

_DATASETS = ("adult", "bank", census_like_name(10**6))
_LEVELS = (0.1, 0.03, 0.01, 0.003, 0.001)
_LARGE = 10**5  # rows; above it, fewer levels
_GOAL_LIMIT = 3.0
_PATH_LIMIT = 10.0


def run(context: Context, result: SuiteResult) -> None:
    result.notes.append(
        "ratio: processor time, one thread, over that of one fit at the largest cluster weight that the search found, "
        "same start. Without local search, so that fits are compared with fits."
    )
    for name in _DATASETS[:1] if context.quick else _DATASETS:
        try:
            data = context.load(name)
        except Unavailable as reason:
            result.skip(name, reason)
            continue
        levels = _LEVELS if len(data.X) <= _LARGE else _LEVELS[1::2]
        ratios = [_goal(data, level, seed, result) for level in levels for seed in context.seeds]
        what = f"{name}: time of a search for a level over a fit's, median of {len(ratios)}"
        result.claims.append(Claim(what, statistics.median(ratios), _GOAL_LIMIT))
        n_points, ratio = _path(data, result)
        result.claims.append(Claim(f"{name}: time of a {n_points}-point path over a fit's", ratio, _PATH_LIMIT))


def _goal(data: Dataset, level: float, seed: int, result: SuiteResult) -> float:
    shared = {"random_state": seed, "n_jobs": 1, "solver": Dual(local_search=False)}
    goal, seconds = cpu_time(lambda: _fitted(data, goal=level, **shared))
    single, base = cpu_time(lambda: _fitted(data, goal=Penalty(float(goal.cluster_weights_.max())), **shared))
    result.rows.append(
        {
            "data": data.name,
            "level": level,
            "seed": seed,
            "met": bool(goal.goal_met_),
            "objective": goal.objective_,
            "worst error": goal.max_fairness_error_,
            "one λ: objective": single.objective_,
            "one λ: worst error": single.max_fairness_error_,
            "evaluations": f"{goal.n_evaluations_:.0f} / {single.n_evaluations_:.0f}",
            "ratio": seconds / base,
        }
    )
    return seconds / base


def _path(data: Dataset, result: SuiteResult) -> tuple[int, float]:
    shared = {"random_state": 0, "n_jobs": 1, "solver": Dual(local_search=False)}
    _, base = cpu_time(lambda: _fitted(data, goal=Penalty(data.fairness_weight), **shared))
    model = FairKMeans(data.n_clusters, **shared)
    path, seconds = cpu_time(lambda: fairness_path(model, data.X, sensitive_features=data.groups, n_jobs=1))
    result.rows.append({"data": data.name, "level": f"path of {len(path)}", "ratio": seconds / base})
    return len(path), seconds / base


def _fitted(data: Dataset, **parameters: Any) -> FairKMeans:
    return FairKMeans(data.n_clusters, **parameters).fit(data.X, sensitive_features=data.groups)
