"""Whole fits: FairKMeans at a given λ against plain K-means, and for a goal against that λ; one start, the same tol.

The methods take turns in one process; a ratio is the median over the repeats of the two times of one repeat.
"""

from __future__ import annotations

import os
import statistics
from dataclasses import dataclass, replace
from functools import partial

from ..context import Context
from ..datasets import CENSUS_ROWS, census_like_name
from ..measure import time_interleaved
from ..methods import METHODS, Method, Task
from ..records import Claim, SuiteResult, Unavailable

_OURS, _GOAL, _PEER = "FairKMeans dual", "FairKMeans auto", "scikit-learn KMeans"
_GOAL_LIMIT = 2.0  # of a goal's time over that at a weight
_BUSY = 0.5
_SMALL = 50_000  # rows; above it, only the pair that is compared is timed repeatedly
_COMPARED = (_OURS, _GOAL, _PEER)
_METHODS = (_OURS, _GOAL, "FairKMeans λ=0", _PEER, "faiss k-means")


@dataclass(frozen=True)
class Line:
    """A data set, how often to repeat, and the ratio to scikit-learn that we aim at."""

    dataset: str
    repeats: int
    quick_repeats: int  # 0: not in a quick run
    limit: float | None = None


@dataclass(frozen=True)
class Ratios:
    """Of ours to scikit-learn's times, and of a goal's to ours, by the clock (best times) and of processor time."""

    by_clock: float
    by_cpu: float
    goal_by_clock: float
    goal_by_cpu: float


LINES = (
    Line("adult", 61, 5, limit=1.5),
    Line("bank", 61, 5, limit=1.5),
    Line(census_like_name(10**5), 21, 2, limit=1.5),
    Line(census_like_name(10**6), 5, 1, limit=1.2),
    Line(census_like_name(CENSUS_ROWS), 3, 0, limit=1.0),
)


def run(context: Context, result: SuiteResult) -> None:
    result.notes.append(
        f"ratio: time over that of {_PEER} in the same repeat (Lloyd, same centres, n_init=1, tol=1e-4), median of the "
        "repeats; best ratio: best time over its best time, which claims on two threads go by; cpu ratio: processor "
        "time, which claims on one thread (OMP_NUM_THREADS=1) go by. A busy machine stalls its threads more than ours, "
        "which flatters us: there claims are made on one thread only. FairKMeans auto: the default goal, KL ≤ 0.01 in "
        "every cluster. On large data the others run once. faiss: 25 iterations, all rows."
    )
    for line in LINES:
        if context.quick and not line.quick_repeats:
            continue
        try:
            ratios = [_one_seed(context, line, seed, result) for seed in _seeds(context, line)]
        except Unavailable as reason:
            result.skip(line.dataset, reason)
            continue
        if line.limit is None:
            continue
        load, is_single = _load_of_others(), os.environ.get("OMP_NUM_THREADS") == "1"
        if load > _BUSY and not is_single:
            result.skip(f"claim on {line.dataset}", f"load {load:.1f} per core: too busy for more than one thread")
            continue
        kind = "processor time" if is_single else "best time"
        found = [one.by_cpu if is_single else one.by_clock for one in ratios]
        what = f"{line.dataset}: {kind} of a fit over {_PEER}'s"
        result.claims.append(Claim(f"{what}, median of {len(found)} seeds", statistics.median(found), line.limit))
        result.claims.append(Claim(f"{what}, worst of {len(found)} seeds", max(found), line.limit))
        of_goals = [one.goal_by_cpu if is_single else one.goal_by_clock for one in ratios]
        what = f"{line.dataset}: {kind} of a goal (KL ≤ 0.01) over a weight's, worst of {len(of_goals)} seeds"
        result.claims.append(Claim(what, max(of_goals), _GOAL_LIMIT))


def _load_of_others() -> float:
    """Programs that wanted a core in the last minute, per core, without this one (which wants all of them)."""
    if not hasattr(os, "getloadavg"):
        return 0.0
    return os.getloadavg()[0] / (os.cpu_count() or 1) - 1.0


def _seeds(context: Context, line: Line) -> tuple[int, ...]:
    is_large = line.dataset.startswith("census-like") and line.dataset != census_like_name(10**5)
    return context.seeds[:1] if is_large and context.quick else context.seeds


def _one_seed(context: Context, line: Line, seed: int, result: SuiteResult) -> Ratios:
    """Time all methods from one seed; add their rows."""
    task = context.task(line.dataset, seed)
    methods = _that_run(task, result, context)
    outcomes = {}

    def keep(method: Method) -> None:
        outcomes[method.name] = method(task)

    is_small = len(task.dataset.X) < _SMALL
    pair = {method.name: partial(keep, method) for method in methods if is_small or method.name in _COMPARED}
    rest = {method.name: partial(keep, method) for method in methods if method.name not in pair}
    repeats = line.quick_repeats if context.quick else line.repeats
    times = time_interleaved(pair, repeats, warm_up=int(is_small))
    if rest:
        times |= time_interleaved(rest, 1)
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
                "ratio": measured.ratio_to(times[_PEER]) if name in pair else measured.median / times[_PEER].median,
                "best ratio": measured.best_ratio_to(times[_PEER]),
                "cpu ratio": measured.cpu_ratio_to(times[_PEER]),
                "iterations": details.get("iterations"),
                "evaluations": details.get("evaluations"),
                "repeats": len(measured.seconds),
            }
        )
    # Not the median: threads that wait for each other stall on a busy machine, and scikit-learn's do so more than ours.
    ours, goal, peer = (times[name] for name in _COMPARED)
    found = Ratios(ours.best_ratio_to(peer), ours.cpu_ratio_to(peer), goal.best_ratio_to(ours), goal.cpu_ratio_to(ours))
    context.say(
        f"  {line.dataset} seed {seed}: ratio of the best times {found.by_clock:.2f}, of processor times "
        f"{found.by_cpu:.2f}; of a goal to that {found.goal_by_clock:.2f}, {found.goal_by_cpu:.2f}"
    )
    return found


def _that_run(task: Task, result: SuiteResult, context: Context) -> list[Method]:
    methods = []
    for name in _METHODS:
        if context.quick and name not in _COMPARED and len(task.dataset.X) > _SMALL:
            continue
        try:
            # A small trial finds out whether the method runs at all, before anything is timed.
            METHODS[name](_trial(task))
            methods.append(METHODS[name])
        except Unavailable as reason:
            result.skip(name, reason)
    return methods


def _trial(task: Task) -> Task:
    step = max(1, len(task.dataset.X) // 2000)
    few = replace(task.dataset, X=task.dataset.X[::step].copy(), groups=task.dataset.groups[::step])
    return replace(task, dataset=few, fairness_weight=task.fairness_weight / step)
