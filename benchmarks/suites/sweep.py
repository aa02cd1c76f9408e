"""One pass over the points: nanoseconds per point, from 10⁴ to 10⁷ points, float32.

Small sets are passed over many times per measurement, but no longer than need be: the longer one takes, the more likely
another program disturbs it. The sizes take turns, so that slow drifts of the machine hit all of them. Before each
measurement the threads are woken: a core that slept may take as long to come back as a measurement does.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

import numpy as np

from fairclust._core import is_compiled, kernels
from fairclust._data.in_memory import InMemory
from fairclust._data.layout import build_layout
from fairclust._objectives import KMeansObjective
from fairclust._people.encode import encode_groups

from ..context import Context
from ..datasets import Dataset, census_like_name
from ..measure import time_interleaved
from ..records import Claim, SuiteResult

_REPEATS = 40
_WINDOW = 10**6  # points of a measurement, or one pass: 5 ms and more, far beyond the clock's grain
_WAKING = 30  # passes over the fewest points, 2 ms, before each measurement
_LIMIT = 1.15

Passes = dict[str, Callable[[], object]]
"""Kernel → one pass of it over the points."""


def run(context: Context, result: SuiteResult) -> None:
    sizes = [10**4, 10**5, 10**6] if context.quick else [10**4, 10**5, 10**6, 10**7]
    result.notes.append(
        f"Best of {_REPEATS} repeats of {_WINDOW:,} points or one pass; census-like data, 25 features, K=20, J=2, "
        f"float32, {'compiled' if is_compiled else 'NumPy'} kernels. spread: dearest over cheapest size."
    )
    dataset = context.load(census_like_name(sizes[-1]))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for n_threads in sorted({1, cores}):
        costs = _costs({n_samples: _passes(dataset, n_samples, n_threads) for n_samples in sizes})
        for n_samples in sizes:
            by_kernel = {f"{kernel} ns": cost[n_samples] for kernel, cost in costs.items()}
            result.rows.append({"threads": n_threads, "points": n_samples} | by_kernel)
        spreads = {kernel: max(cost.values()) / min(cost.values()) for kernel, cost in costs.items()}
        result.rows.append({"threads": n_threads, "points": "spread"} | {f"{k} ns": v for k, v in spreads.items()})
        what = f"evaluation, {n_threads} threads: cost per point, dearest over cheapest, {sizes[0]:,} to {sizes[-1]:,}"
        result.claims.append(Claim(what, spreads["evaluate"], _LIMIT))
        context.say(
            f"  {n_threads} threads: " + ", ".join(f"{kernel} {value:.2f}" for kernel, value in spreads.items())
        )


def _costs(passes: dict[int, Passes]) -> dict[str, dict[int, float]]:
    """Nanoseconds per point of each kernel, by number of points."""
    counts = {size: max(_WINDOW // size, 1) for size in passes}
    costs = {}
    for kernel in next(iter(passes.values())):
        functions = {str(size): partial(_repeat, counts[size], passes[size][kernel]) for size in passes}
        wake = partial(_repeat, _WAKING, passes[min(passes)][kernel])
        times = time_interleaved(functions, _REPEATS, warm_up=1, before=wake)
        costs[kernel] = {size: times[str(size)].best / (counts[size] * size) * 1e9 for size in passes}
    return costs


def _repeat(count: int, function: Callable[[], object]) -> None:
    for _ in range(count):
        function()


def _passes(dataset: Dataset, n_samples: int, n_threads: int) -> Passes:
    """Every kernel over the first rows of a data set."""
    X = dataset.X[:n_samples]
    groups = encode_groups(dataset.groups[:n_samples])
    rows = InMemory(build_layout(groups.codes, groups.n_groups), dataset.n_clusters, n_threads=n_threads)
    objective = KMeansObjective(X)
    centers = dataset.start(0).centers
    objective.fill(rows, centers)
    prices = np.random.default_rng(0).normal(scale=0.05, size=(dataset.n_clusters, groups.n_groups))
    labels = rows.assign(prices).labels
    return {
        "distances": lambda: objective.fill(rows, centers),
        "evaluate": lambda: rows.evaluate(prices, 0.05),
        "assign": lambda: rows.assign(prices),
        "label sums": lambda: kernels.label_sums(rows.plan, X, labels, None, rows.n_clusters, n_threads),
    }
