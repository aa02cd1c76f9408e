"""Whole fits: FairKMeans at a given λ against plain K-means, from the same centres, one start, the same tol.

The methods take turns in one process; a ratio is the median over the repeats of the two times of one repeat.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from functools import partial

from ..context import Context
from ..datasets import CENSUS_ROWS, census_like_name
from ..measure import time_interleaved
from ..methods import METHODS, Method, Task
from ..records import Claim, SuiteResult, Unavailable

_OURS, _PEER = "FairKMeans dual", "scikit-learn KMeans"
_METHODS = (_OURS, "FairKMeans λ=0", _PEER, "faiss k-means")


@dataclass(frozen=True)
class Line:
    """A data set, how often to repeat, and the ratio to scikit-learn that was promised."""

    dataset: str
    repeats: int
    limit: float | None
    is_quick: bool = True


LINES = (
    Line("adult", 7, 3.0),
    Line("bank", 7, None),
    Line(census_like_name(10**5), 5, None),
    Line(census_like_name(10**6), 3, None),
    Line(census_like_name(CENSUS_ROWS), 3, 2.0, is_quick=False),
)


def run(context: Context, result: SuiteResult) -> None:
    result.notes.append(
        f"ratio: time over that of {_PEER} in the same repeat (Lloyd, same centres, n_init=1, tol=1e-4), median of the "
        "repeats. faiss runs its 25 iterations on all rows."
    )
    for line in LINES:
        if context.quick and not line.is_quick:
            continue
        try:
            ratios = [_one_seed(context, line, seed, result) for seed in _seeds(context, line)]
        except Unavailable as reason:
            result.skip(line.dataset, reason)
            continue
        if line.limit is not None:
            what = f"{line.dataset}: time of a fit over {_PEER}'s, median of {len(ratios)} seeds"
            result.claims.append(Claim(what, statistics.median(ratios), line.limit))


def _seeds(context: Context, line: Line) -> tuple[int, ...]:
    is_large = line.dataset.startswith("census-like") and line.dataset != census_like_name(10**5)
    return context.seeds[:1] if is_large else context.seeds


def _one_seed(context: Context, line: Line, seed: int, result: SuiteResult) -> float:
    """Time all methods from one seed; add their rows; return the ratio of ours to scikit-learn's."""
    task = context.task(line.dataset, seed)
    methods = _that_run(task, result)
    outcomes = {}

    def keep(method: Method) -> None:
        outcomes[method.name] = method(task)

    times = time_interleaved(
        {method.name: partial(keep, method) for method in methods},
        2 if context.quick and len(task.dataset.X) > 500_000 else line.repeats,
        warm_up=1 if len(task.dataset.X) < 500_000 else 0,
    )
    for name, measured in times.items():
        details = outcomes[name].details
        result.rows.append(
            {
                "data": line.dataset,
                "seed": seed,
                "λ": task.fairness_weight if name == _OURS else None,
                "method": name,
                "seconds": measured.median,
                "best": measured.best,
                "ratio": measured.ratio_to(times[_PEER]),
                "iterations": details.get("iterations"),
                "sweeps": details.get("sweeps"),
                "repeats": len(measured.seconds),
            }
        )
    ratio = times[_OURS].ratio_to(times[_PEER])
    context.say(f"  {line.dataset} seed {seed}: ratio {ratio:.2f}")
    return ratio


def _that_run(task: Task, result: SuiteResult) -> list[Method]:
    methods = []
    for name in _METHODS:
        try:
            # A small trial finds out whether the method runs at all, before anything is timed.
            METHODS[name](_trial(task))
            methods.append(METHODS[name])
        except Unavailable as reason:
            result.skip(name, reason)
    return methods


def _trial(task: Task) -> Task:
    from dataclasses import replace

    few = slice(None, None, max(1, len(task.dataset.X) // 2000))
    return replace(task, dataset=replace(task.dataset, X=task.dataset.X[few].copy(), groups=task.dataset.groups[few]))
