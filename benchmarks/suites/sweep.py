"""One pass over the points: nanoseconds per point, from 10⁴ to 10⁷ points, float32."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np

from fairclust._core import is_compiled, kernels
from fairclust.groups import encode_groups
from fairclust.layout import build_layout
from fairclust.objectives import KMeansObjective
from fairclust.sweep import InMemorySweep, State

from ..context import Context
from ..datasets import Dataset, census_like_name
from ..measure import Times, time_interleaved
from ..records import Claim, SuiteResult

_POINTS_PER_MEASUREMENT = 4 * 10**6  # small sets are passed over several times, or the clock's grain would show
_REPEATS = 9
_GOAL = 1.15


def run(context: Context, result: SuiteResult) -> None:
    result.notes.append(
        f"Best of {_REPEATS} repeats, census-like data, 25 features, K=20, J=2, float32; "
        f"{'compiled kernels' if is_compiled else 'NumPy kernels'}. spread: dearest over cheapest size."
    )
    sizes = [10**4, 10**5, 10**6] if context.quick else [10**4, 10**5, 10**6, 10**7]
    dataset = context.load(census_like_name(sizes[-1]))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for n_threads in sorted({1, cores}):
        costs: dict[str, list[float]] = {}
        for n_samples in sizes:
            times, n_passes = _time_passes(dataset, n_samples, n_threads)
            row: dict[str, object] = {"threads": n_threads, "points": n_samples}
            for name, measured in times.items():
                cost = measured.best / n_passes / n_samples * 1e9
                costs.setdefault(name, []).append(cost)
                row[f"{name} ns"] = cost
            result.rows.append(row)
        spreads = {name: max(values) / min(values) for name, values in costs.items()}
        result.rows.append({"threads": n_threads, "points": "spread"} | {f"{k} ns": v for k, v in spreads.items()})
        context.say(f"  {n_threads} threads: " + ", ".join(f"{name} {spread:.2f}" for name, spread in spreads.items()))
        result.claims.append(
            Claim(
                f"sweep, {n_threads} threads: cost per point, dearest over cheapest of {sizes[0]:,} to {sizes[-1]:,}",
                spreads["sweep"],
                _GOAL,
            )
        )


def _time_passes(dataset: Dataset, n_samples: int, n_threads: int) -> tuple[dict[str, Times], int]:
    """Time each kernel on the first rows of a data set; also how many passes a repeat makes."""
    X = dataset.X[:n_samples]
    groups = encode_groups(dataset.groups[:n_samples])
    sweep = InMemorySweep(build_layout(groups.codes, groups.n_groups), dataset.n_clusters, n_threads=n_threads)
    objective = KMeansObjective(X)
    centers = dataset.start(0).centers
    objective.fill(sweep, centers)
    price = np.random.default_rng(0).normal(scale=0.05, size=(dataset.n_clusters, groups.n_groups))
    state = State(20.0, 20.0 * price)
    labels = sweep.labels
    n_passes = max(1, _POINTS_PER_MEASUREMENT // n_samples)

    def sums() -> object:
        return kernels.label_sums(sweep.plan, X, labels, None, sweep.n_clusters, n_threads)

    passes: dict[str, Callable[[], object]] = {
        "distances": lambda: objective.fill(sweep, centers),
        "sweep": lambda: sweep(state),
        "sweep with curvature": lambda: sweep(state, curvature=True),
        "assign": lambda: sweep.assign(price),
        "label sums": sums,
    }
    times = time_interleaved({name: _many(n_passes, one) for name, one in passes.items()}, _REPEATS, warm_up=1)
    return times, n_passes


def _many(count: int, function: Callable[[], object]) -> Callable[[], None]:
    def repeated() -> None:
        for _ in range(count):
            function()

    return repeated
