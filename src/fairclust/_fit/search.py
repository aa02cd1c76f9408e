"""Where all rows start: plain fits of a subsample, then splits and merges of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .._dual.subproblem import Subproblem
from .._typing import FloatArray
from .loop import Candidate, Outcome, run, start
from .points import Points, subsample
from .request import Request
from .schedule import Schedule


class Found(NamedTuple):
    """The best candidate of a search, and its evaluations."""

    best: Candidate
    n_evaluations: float


def find_start(points: Points, request: Request, starts: Sequence[FloatArray], schedule: Schedule) -> Found:
    """Where all rows start; evaluations of the subsample count as its share of the rows.

    1. A subsample in strata around some centres.
    2. Searches, each from as many of the starts; the best of them.
    """
    sample = subsample(points, schedule.search.rows or points.rows.n_samples, starts[0])  # 1
    part = sample.rows.n_samples / points.rows.n_samples
    budget = schedule.part * schedule.budget / part
    n_searches = min(schedule.n_searches, len(starts))
    found = [  # 2
        search(sample, request, starts[i::n_searches], schedule, budget / n_searches) for i in range(n_searches)
    ]
    best = min((one.best for one in found), key=lambda candidate: candidate.rank)
    return Found(best, part * sum(one.n_evaluations for one in found))


def search(sample: Points, request: Request, starts: Sequence[FloatArray], schedule: Schedule, budget: float) -> Found:
    """One search on a subsample.

    1. Plain fits, of which the cheapest is the start, unless there is one start only.
    2. Splits and merges; again where whole people need larger clusters than the best one has.
    """
    spent, centers = 0.0, starts[0]
    if len(starts) > 1:  # 1
        plain = plain_start(sample, starts, schedule, budget)
        centers, spent = plain.best.following.centers, plain.n_evaluations
    else:
        centers = occupied(sample, centers, sample.rows.n_samples)
    is_plain = not request.subproblem.terms
    patience = 0 if is_plain and len(starts) == 1 else schedule.patience  # given centres are where plain fits start
    schedule = replace(schedule, patience=patience)
    found = split_and_merge(sample, request.subproblem, centers, schedule, budget - spent)  # 2
    spent += found.n_evaluations
    masses = found.best.solution.masses
    smallest = request.smallest_whole(masses)
    if (masses.sum(axis=1) < smallest - 1).any():
        subproblem, centers = request.with_sizes(smallest), found.best.following.centers
        found = split_and_merge(sample, subproblem, centers, schedule, budget - spent)
        spent += found.n_evaluations
    return Found(found.best, spent)


def occupied(points: Points, centers: FloatArray, n_rows: int) -> FloatArray:
    """The centres; those that no row is nearest to move to where another cluster is best cut in two.

    So many rows tell where.
    """
    if (points.oracle(centers).plain().masses.sum(axis=1) > 0).all():
        return centers
    points = subsample(points, n_rows, centers)
    for _ in range(points.n_clusters):
        rows = points.oracle(centers)
        labels, masses, _ = rows.plain().assigned
        empty = np.flatnonzero(masses.sum(axis=1) <= 0)
        found = points.objective.halves(rows, centers, labels) if len(empty) else None
        if found is None:
            break
        best = max(range(len(found)), key=lambda k: found[k][0])
        if not found[best][0] > 0:
            break
        centers = centers.copy()
        centers[[best, empty[0]]] = found[best][1]
    return centers


def plain_start(points: Points, starts: Sequence[FloatArray], schedule: Schedule, budget: float) -> Found:
    """The cheapest of some fits without terms."""
    plain = Subproblem((), (), points.rows.n_cells)
    outcomes = []
    for centers in starts:
        state = start(points, plain, centers, schedule)
        outcomes.append(run(points, state, schedule.search, schedule, budget / len(starts)))
    best = min((outcome.best for outcome in outcomes), key=lambda candidate: candidate.energy)
    spent = sum(outcome.n_evaluations for outcome in outcomes)
    if not schedule.plain_moves:
        return Found(best, spent)
    found = split_and_merge(points, plain, best.following.centers, schedule, budget - spent)
    return Found(found.best, spent + found.n_evaluations)


def split_and_merge(
    points: Points, subproblem: Subproblem, centers: FloatArray, schedule: Schedule, budget: float
) -> Found:
    """Fit from the centres; then close one cluster and split another, while that lowers the energy.

    Every change is fitted from scratch: prices of the clusters before it lead astray. The error of its predicted gain
    is put down half to the cluster that was closed and half to the one that was split, or the same two would be tried
    again and again.
    """

    def fitted(centers: FloatArray, left: float, to_beat: float = np.inf) -> Outcome:
        state = start(points, subproblem, centers, schedule)
        return run(points, state, schedule.search, schedule, left, to_beat)

    outcome = fitted(centers, budget)
    best, spent = outcome.best, outcome.n_evaluations
    changes, n_failed = Changes.of(points, best), 0
    while n_failed < schedule.patience and spent < budget:
        change = changes.most_promising()
        if change is None:
            break
        to_beat = best.energy - schedule.least_gain * abs(best.energy)
        outcome = fitted(changes.centers_after(change), budget - spent, to_beat)
        spent, gained = spent + outcome.n_evaluations, best.energy - outcome.best.energy
        if outcome.best.rank < (best.violation, to_beat):
            best, n_failed = outcome.best, 0
            changes = Changes.of(points, best)
        else:
            n_failed += 1
            changes.correct(change, gained)
    return Found(best, spent)


@dataclass(frozen=True, eq=False)
class Changes:
    """The predicted gain of closing one cluster and splitting another.

    Attributes
    ----------
    centers : ndarray
    halves : list of ndarray
        Two centres in place of each.
    gain : ndarray of shape (n_clusters, n_clusters)
        By the cluster closed and the one split.
    """

    centers: FloatArray
    halves: list[FloatArray]
    gain: FloatArray

    @classmethod
    def of(cls, points: Points, best: Candidate) -> Changes:
        """Splitting saves what two centres do; closing costs what rows lose in the next cluster."""
        centers = best.following.centers
        rows = points.oracle(centers)
        gaps = np.empty(rows.n_samples, dtype=np.float32)
        labels = rows.assign(best.solution.prices, gaps=gaps).labels
        weights = 1.0 if rows.weights is None else rows.weights
        n_clusters = points.n_clusters
        loss = np.bincount(labels, gaps * weights, n_clusters) if n_clusters > 1 else np.full(1, np.inf)
        found = points.objective.halves(rows, centers, labels)
        if found is None:
            return cls(centers, [], np.full((n_clusters, n_clusters), -np.inf))
        gain = np.array([gain if gain > 0 else -np.inf for gain, _ in found])
        predicted = gain - loss[:, None]
        np.fill_diagonal(predicted, -np.inf)
        return cls(centers, [pair for _, pair in found], predicted)

    def most_promising(self) -> tuple[int, int] | None:
        """The change (closed, split) of the largest predicted gain; None: all were tried."""
        closed, split = np.unravel_index(self.gain.argmax(), self.gain.shape)
        return (int(closed), int(split)) if np.isfinite(self.gain[closed, split]) else None

    def centers_after(self, change: tuple[int, int]) -> FloatArray:
        """Centres after the change."""
        centers = self.centers.copy()
        centers[list(change)] = self.halves[change[1]]
        return centers

    def correct(self, change: tuple[int, int], gained: float) -> None:
        """Correct the predictions of both clusters, and do not try the change again."""
        closed, split = change
        error = (self.gain[change] - gained) / 2
        self.gain[closed] -= error
        self.gain[:, split] -= error
        self.gain[change] = -np.inf
