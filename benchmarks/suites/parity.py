"""λ=0 is plain K-means: from the same centres, the objective is scikit-learn's."""

from __future__ import annotations

from ..context import Context
from ..datasets import CENSUS_ROWS, census_like_name
from ..methods import METHODS
from ..records import Claim, SuiteResult, Unavailable
from ..score import score

_DATASETS = ("adult", "bank", "synthetic", "synthetic-unequal", "census1990-sample", census_like_name(10**5))
_GOAL = 1e-6


def run(context: Context, result: SuiteResult) -> None:
    for name in _DATASETS if context.quick else (*_DATASETS, census_like_name(CENSUS_ROWS)):
        try:
            differences = [_difference(context, name, seed, result) for seed in context.seeds]
        except Unavailable as reason:
            result.skip(name, reason)
            continue
        what = f"{name}: objective at λ=0 against scikit-learn's, relative, worst of {len(differences)} seeds"
        result.claims.append(Claim(what, max(differences), _GOAL))


def _difference(context: Context, name: str, seed: int, result: SuiteResult) -> float:
    task = context.task(name, seed)
    ours, theirs = METHODS["FairKMeans λ=0"](task), METHODS["scikit-learn KMeans"](task)
    objectives = [score(task.dataset.X, task.dataset.groups, outcome.labels).objective for outcome in (ours, theirs)]
    difference = abs(objectives[0] - objectives[1]) / objectives[1]
    result.rows.append(
        {
            "data": name,
            "seed": seed,
            "start": task.start.origin,
            "FairKMeans λ=0": objectives[0],
            "scikit-learn": objectives[1],
            "relative difference": difference,
            "labels that differ": int((ours.labels != theirs.labels).sum()),
            "iterations": f"{ours.details['iterations']} / {theirs.details['iterations']}",
        }
    )
    return difference
