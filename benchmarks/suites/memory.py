"""Peak memory of a whole fit beyond its input, in units of one N×K float32 table. Each fit in a fresh process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ..context import Context
from ..datasets import CENSUS_ROWS, census_like_name, load
from ..measure import peak_memory
from ..methods import METHODS, Task
from ..records import Claim, SuiteResult, Unavailable

_METHODS = ("FairKMeans dual", "FairKMeans auto", "FairKMeans λ=0", "scikit-learn KMeans", "faiss k-means")
_GOAL = 2.5


def run(context: Context, result: SuiteResult) -> None:
    name = census_like_name(10**6 if context.quick else CENSUS_ROWS)
    for method in _METHODS[:1] if context.quick else _METHODS:
        try:
            peak = peak_memory(partial(_prepare, name, method))
        except Unavailable as reason:
            result.skip(method, reason)
            continue
        table = int(name.rpartition("-")[2]) * 20 * 4
        ratio = peak.extra / table
        result.rows.append(
            {"data": name, "method": method, "peak MB": peak.extra / 1e6, "peak / (N·K·4)": ratio, "read": peak.how}
        )
        context.say(f"  {method}: {ratio:.2f}")
        if method == "FairKMeans dual":
            result.claims.append(Claim(f"{name}: peak beyond the input over N·K·4 bytes", ratio, _GOAL))


def _prepare(dataset_name: str, method_name: str) -> Callable[[], object]:
    """Load the data, fit a few rows so that lazy imports and thread pools are there, and hand back the fit."""
    method = METHODS[method_name]
    dataset = load(dataset_name)
    task = Task(dataset, dataset.start(0), 0, dataset.fairness_weight)
    method(replace(task, dataset=replace(dataset, X=dataset.X[:4000].copy(), groups=dataset.groups[:4000])))
    return partial(method, task)
