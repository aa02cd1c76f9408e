"""Whole calls as users write them: starts are drawn, too. Ours against scikit-learn's ``KMeans(n_init=10)``.

The calls take turns in one process; nobody is told where to start.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from sklearn.cluster import KMeans

from fairclust import FairKMeans, Penalty

from ..context import Context
from ..datasets import Dataset, census_like_name
from ..measure import time_interleaved
from ..records import SuiteResult, Unavailable

_PEER = "scikit-learn KMeans(n_init=10)"
_DATA = ("adult", "bank", census_like_name(10**5))


def run(context: Context, result: SuiteResult) -> None:
    repeats = 1 if context.quick else 3
    result.notes.append(
        "best: best time of the repeats; best ratio: over scikit-learn's best; cpu ratio: processor time. weight: "
        "the paper's λ. goal: 0.01. Both start from the best of eight plain fits of a sample with "
        "n_init=1, and race 40 starts with n_init=10. cost: the K-means objective, plain for scikit-learn."
    )
    for name in _DATA[: 2 if context.quick else None]:
        try:
            dataset = context.load(name)
        except Unavailable as reason:
            result.skip(name, reason)
            continue
        found: dict[str, Any] = {}
        calls = {call: partial(_keep, found, call, dataset, options) for call, options in _calls(dataset).items()}
        times = time_interleaved(calls, repeats, warm_up=1)
        for call, measured in times.items():
            ratio = measured.best_ratio_to(times[_PEER])
            result.rows.append(
                {
                    "data": name,
                    "call": call,
                    "best": measured.best,
                    "best ratio": ratio,
                    "cpu ratio": measured.cpu_ratio_to(times[_PEER]),
                    "cost": getattr(found[call], "objective_", None) or found[call].inertia_,
                }
            )
            context.say(f"  {name}, {call}: {measured.best:.3f} s, {ratio:.2f} × scikit-learn's")


def _calls(dataset: Dataset) -> dict[str, dict[str, Any] | None]:
    """Name → options of ours; None: the peer."""
    weight, goal = {"goal": Penalty(dataset.fairness_weight)}, {"goal": 0.01}
    return {
        _PEER: None,
        "weight": weight,
        "weight, n_init=10": weight | {"n_init": 10},
        "goal": goal,
        "goal, n_init=10": goal | {"n_init": 10},
    }


def _keep(found: dict[str, Any], call: str, dataset: Dataset, options: dict[str, Any] | None) -> None:
    if options is None:
        found[call] = KMeans(dataset.n_clusters, n_init=10, random_state=0).fit(dataset.X)
    else:
        model = FairKMeans(dataset.n_clusters, random_state=0, **options)
        found[call] = model.fit(dataset.X, sensitive_features=dataset.groups)
