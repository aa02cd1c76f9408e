"""Every method's labels on every data set, from common seeds, by one scorer; the authors' figures beside them.

A new objective adds its cases to `CASES`, its methods to `benchmarks.methods`, its figures to `benchmarks.reference`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from ..context import Context
from ..methods import METHODS, Method, Task
from ..records import Claim, SuiteResult, Unavailable
from ..reference import AUTHORS, PAPER, RIVALS, Figures
from ..score import Score, score

_SMALL = 1000  # rows; above it, slow methods get one seed in a full run
_ROUNDING = 1e-9
_SOLVERS = ("FairKMeans dual", "FairKMeans bound")


@dataclass(frozen=True)
class Case:
    """A data set, an objective and a λ (None: the data set's own)."""

    dataset: str
    objective: str = "kmeans"
    fairness_weight: float | None = None
    is_promised: bool = False  # the authors' result is to be matched, in few evaluations


CASES = (
    Case("adult", is_promised=True),
    Case("bank", is_promised=True),
    Case("synthetic"),
    Case("synthetic", fairness_weight=60.0),
    Case("synthetic-unequal"),
    Case("census1990-sample"),
)


@dataclass(frozen=True)
class Scored:
    """A labelling's score, and what its method told."""

    score: Score
    details: dict[str, Any]


def run(context: Context, result: SuiteResult) -> None:
    result.notes.append(
        "Energy is objective + λ·Σ KL at the case's λ, for every method alike. `auto` chooses its own λ so that every "
        "cluster's KL is at most 0.01. Rows in italics are figures of others, cited in benchmarks/reference.py, not "
        "measured in this run; their seconds are of another, loaded machine."
    )
    for case in CASES:
        try:
            _run_case(context, case, result)
        except Unavailable as reason:
            result.skip(case.dataset, reason)


def _run_case(context: Context, case: Case, result: SuiteResult) -> None:
    scored: dict[int, dict[str, Scored]] = {}
    is_common = True
    for seed in context.seeds:
        task = context.task(case.dataset, seed)
        if case.fairness_weight is not None:
            task = replace(task, fairness_weight=case.fairness_weight)
        is_common &= task.start.is_common
        scored[seed] = {}
        for method in METHODS.values():
            if method.objective != case.objective or method.name == "FairKMeans λ=0":
                continue
            if method.is_slow and len(task.dataset.X) > _SMALL and (context.quick or seed > 0):
                result.skip(f"{method.name} on {case.dataset}", "slow; one seed, in the full run only")
                continue
            try:
                scored[seed][method.name] = _run_method(method, task, case, result)
            except Unavailable as reason:
                result.skip(f"{method.name} on {case.dataset}", reason)
        authors = AUTHORS.get((case.objective, case.dataset, task.fairness_weight), {}).get(seed)
        if authors is not None and is_common:
            result.rows.append(_cited_row(case, "*authors' code*", authors, task.fairness_weight, seed))
    _cite(case, result)
    if is_common and case.is_promised:
        _claim_authors(case, task.fairness_weight, scored, result)
    _claim_solvers(case, task.fairness_weight, scored, result)
    context.say(f"  {case.dataset}, λ={task.fairness_weight:g}: done")


def _run_method(method: Method, task: Task, case: Case, result: SuiteResult) -> Scored:
    began = time.perf_counter()
    outcome = method(task)
    seconds = time.perf_counter() - began
    values = score(task.dataset.X, task.dataset.groups, outcome.labels, case.objective)
    result.rows.append(
        _row(case, method.name, values, task.fairness_weight, task.seed)
        | {
            "clusters": values.n_clusters,
            "own λ": outcome.details.get("weight"),
            "evaluations": outcome.details.get("evaluations"),
            "iterations": outcome.details.get("iterations"),
            "seconds": seconds,
        }
    )
    return Scored(values, dict(outcome.details))


def _row(case: Case, method: str, values: Score | Figures, weight: float, seed: int | str) -> dict[str, Any]:
    return {
        "objective of": case.objective,
        "data": case.dataset,
        "λ": weight,
        "seed": seed,
        "method": method,
        "objective": values.objective,
        "Σ KL": values.fairness_error,
        "worst KL": values.worst_error,
        "balance": values.balance,
        "energy": values.objective + weight * values.fairness_error,
    }


def _cited_row(case: Case, who: str, figures: Figures, weight: float, seed: int | str) -> dict[str, Any]:
    return _row(case, who, figures, weight, seed) | {"evaluations": figures.sweeps, "seconds": figures.seconds}


def _cite(case: Case, result: SuiteResult) -> None:
    """Add the paper's row and the rivals', once per data set: they have no λ of ours, so no energy."""
    if case.fairness_weight is not None:
        return
    cited = [("*paper*", PAPER[case.objective, case.dataset])] if (case.objective, case.dataset) in PAPER else []
    for who, figures in RIVALS.get((case.objective, case.dataset), {}).items():
        cited += [(f"*{who}*", one) for one in figures]
    for who, one in cited:
        result.rows.append(_cited_row(case, who, one, 0.0, "cited") | {"λ": None, "energy": None})


def _claim_authors(case: Case, weight: float, scored: dict[int, dict[str, Scored]], result: SuiteResult) -> None:
    """The bound solver lands where the authors' code lands."""
    authors = AUTHORS.get((case.objective, case.dataset, weight), {})
    pairs = [
        (by_method["FairKMeans bound"].score, authors[seed])
        for seed, by_method in scored.items()
        if seed in authors and "FairKMeans bound" in by_method
    ]
    if not pairs:
        return
    off = max(abs(ours.objective - theirs.objective) / theirs.objective for ours, theirs in pairs)
    name = f"{case.dataset}, λ={weight:g}"
    result.claims.append(Claim(f"{name}: bound's objective against the authors' code, relative, worst seed", off, 1e-3))
    if all(theirs.fairness_error > 0 for _, theirs in pairs):
        off = max(abs(ours.fairness_error - theirs.fairness_error) / theirs.fairness_error for ours, theirs in pairs)
        result.claims.append(Claim(f"{name}: bound's Σ KL against the authors' code, relative, worst seed", off, 0.02))


def _claim_solvers(case: Case, weight: float, scored: dict[int, dict[str, Scored]], result: SuiteResult) -> None:
    """The energy never rises; the dual solver ends no higher than the bound solver, in a fifth of the evaluations."""
    both = [
        (by_method["FairKMeans dual"], by_method["FairKMeans bound"])
        for by_method in scored.values()
        if all(name in by_method for name in _SOLVERS)
    ]
    if not both:
        return
    name = f"{case.dataset}, λ={weight:g}"
    rise = max(one.details["largest rise"] for pair in both for one in pair)
    above = max(d.score.energy(weight) / b.score.energy(weight) - 1.0 for d, b in both)
    result.claims.append(Claim(f"{name}: largest rise of the energy within a fit, both solvers", rise, 0.0))
    result.claims.append(Claim(f"{name}: dual's energy above bound's, relative, worst seed", above, _ROUNDING))
    if case.is_promised:
        ratio = max(d.details["evaluations"] / b.details["evaluations"] for d, b in both)
        result.claims.append(Claim(f"{name}: dual's evaluations over bound's, worst seed", ratio, 0.2))
