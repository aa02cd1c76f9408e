"""Labels, centres and energies are the same, bit for bit, for any number of threads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..context import Context
from ..datasets import census_like_name
from ..methods import METHODS
from ..records import Claim, SuiteResult, Unavailable

_THREADS = (1, 2, 4)
_RESULTS = ("labels_", "cluster_centers_", "energy_history_", "prices_", "objective_")


def run(context: Context, result: SuiteResult) -> None:
    large = census_like_name(10**5 if context.quick else 10**6)
    lines = [("adult", "FairKMeans dual"), ("bank", "FairKMeans dual"), (large, "FairKMeans dual")]
    if not context.quick:
        lines += [("adult", "FairKMeans bound"), ("adult", "FairKMeans auto"), (large, "FairKMeans λ=0")]
    for dataset, method in lines:
        try:
            n_different = _compare(context, dataset, method, result)
        except Unavailable as reason:
            result.skip(dataset, reason)
            continue
        what = f"{dataset}, {method}: results that differ between 1, 2 and 4 threads"
        result.claims.append(Claim(what, n_different, 0))


def _compare(context: Context, dataset: str, method: str, result: SuiteResult) -> int:
    task = context.task(dataset, 0)
    models = [METHODS[method](replace(task, n_threads=n_threads)).model for n_threads in _THREADS]
    is_same = {
        name: all(
            np.asarray(getattr(model, name)).tobytes() == np.asarray(getattr(models[0], name)).tobytes()
            for model in models[1:]
        )
        for name in _RESULTS
    }
    result.rows.append({"data": dataset, "method": method} | is_same)
    return sum(not same for same in is_same.values())
