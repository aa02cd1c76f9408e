"""K-median in Gower's distance: tables of numbers, categories and gaps, with medoids or the best places anywhere."""

from __future__ import annotations

import numpy as np

from .._data.in_memory import InMemory
from .._data.seeding import sampled_rows
from .._table.coded import CodedRows
from .._table.gower import best_place, distances, places, sums_to_each
from .._typing import FloatArray, IntArray
from ..errors import InvalidInputError
from .centers import some_of_each
from .kmedian import Effort, MedianObjective, Medoids

_ROUNDS = 4  # of two medoids


class GowerObjective(MedianObjective):
    """Σ_p d(x_p, c_k(p)) with Gower's distance d; c_k is a row of cluster k, or its medians and commonest categories.

    The distance is a sum over columns, so the sum of a cluster's distances to each of its rows takes sorting only:
    medoids are exact at any size.

    Parameters
    ----------
    table : CodedRows
        In the user's order, scaled as :mod:`fairclust._table.gower` wants them.
    center : {"medoid", "geometric"}
    effort : Effort or None
        Counts the distances.
    """

    def __init__(self, table: CodedRows, center: str = "medoid", effort: Effort | None = None) -> None:
        super().__init__(places(table), center, effort)
        self.table = table

    def fill(self, rows: InMemory, centers: FloatArray, labels: IntArray | None = None) -> float:
        """Distances to the centres."""
        costs = distances(self.table, centers)[rows.layout.order]
        rows.hold(costs)
        if labels is None:
            return 0.0
        own = costs[np.arange(len(labels)), labels].astype(float)
        return float(own.sum() if rows.weights is None else rows.weights @ own)

    def costs(self, centers: FloatArray) -> FloatArray:
        """Distances of all rows to the centres, one row each."""
        return distances(self.table, centers).astype(float)

    def sampled(self, rows: IntArray) -> GowerObjective:
        """K-median on some rows only."""
        return GowerObjective(self.table.take(rows), self.center, self.effort)

    def relaxed(self) -> GowerObjective | None:
        """K-median with medians and commonest categories."""
        return GowerObjective(self.table, "geometric", self.effort) if self.center == "medoid" else None

    def halves(self, rows: InMemory, centers: FloatArray, labels: IntArray) -> list[tuple[float, FloatArray]]:
        """Two medoids per cluster, of some of its rows: from the row farthest from the centre, and from that one."""
        found = []
        for center, (n_members, taken) in zip(centers, some_of_each(labels, len(centers)), strict=True):
            mass = np.ones(len(taken)) if rows.weights is None else rows.weights[taken]
            gain, pair = _two_medoids(self.table.take(rows.layout.order[taken]), mass, center)
            found.append((gain * n_members / max(len(taken), 1), pair))
        return found

    def _search(
        self, rows: InMemory, labels: IntArray, weights: FloatArray | None, n_clusters: int, *, is_exact: bool
    ) -> Medoids:
        """Exact, always."""
        positions, value = np.full(n_clusters, -1, dtype=np.int64), 0.0
        for k, members in enumerate(_by_cluster(labels, n_clusters)):
            own = members if weights is None else members[weights[members] > 0]
            if not len(own):
                continue
            weight = np.ones(len(own)) if weights is None else weights[own]
            sums = sums_to_each(self.table.take(rows.layout.order[own]), weight)
            best = int(sums.argmin())
            positions[k], value = own[best], value + float(sums[best])
            self.effort.n_distances += len(own) * self.X.shape[1]
        return Medoids(positions, self.X[rows.layout.order[positions]], value, value)

    def _medians(self, rows: InMemory, labels: IntArray, weights: FloatArray | None, start: FloatArray) -> FloatArray:
        """Medians and commonest categories of every cluster."""
        found = np.array(start, dtype=self.X.dtype, order="C")
        for k, members in enumerate(_by_cluster(labels, len(start))):
            weight = np.ones(len(members)) if weights is None else weights[members]
            if weight.any():
                found[k] = best_place(self.table.take(rows.layout.order[members]), weight, start[k])
        return found


def gower_starts(
    rows: CodedRows,
    n_clusters: int,
    init: str,
    random_state: np.random.RandomState,
    weights: FloatArray | None,
    n_starts: int = 1,
) -> list[FloatArray]:
    """Rows to start from, several times: spread out as by k-means++ (rows drawn by their distance), or at random."""
    if init not in ("k-means++", "random"):
        raise InvalidInputError(f"init={init!r}, but 'k-means++', 'random' or a data frame is needed.")
    chosen = sampled_rows(len(rows), n_clusters, random_state)
    chosen = chosen if weights is None else chosen[weights[chosen] > 0]
    few = rows if len(chosen) == len(rows) else rows.take(chosen)
    mass = np.ones(len(chosen)) if weights is None else weights[chosen]
    every = places(few)
    if init == "random":
        chance = mass / mass.sum()
        picks = [random_state.choice(len(few), n_clusters, replace=False, p=chance) for _ in range(n_starts)]
    else:
        picks = [_spread_out(few, every, mass, n_clusters, random_state) for _ in range(n_starts)]
    return [np.ascontiguousarray(every[pick]) for pick in picks]


def _spread_out(
    rows: CodedRows, every: FloatArray, mass: FloatArray, n_clusters: int, random_state: np.random.RandomState
) -> IntArray:
    """Of a few rows drawn by their distance to those taken, the one that lowers the sum of distances most."""
    n_trials = 2 + int(np.log(n_clusters))
    chosen = [int(random_state.choice(len(rows), p=mass / mass.sum()))]
    closest = distances(rows, every[chosen])[:, 0].astype(float)
    for _ in range(1, n_clusters):
        reached = np.cumsum(mass * closest)
        trials = np.searchsorted(reached, random_state.uniform(size=n_trials) * reached[-1])
        trials = np.minimum(trials, len(rows) - 1)
        costs = np.minimum(distances(rows, every[trials]), closest[:, None])
        best = int((mass @ costs).argmin())
        closest = costs[:, best].astype(float)
        chosen.append(int(trials[best]))
    return np.array(chosen)


def _by_cluster(labels: IntArray, n_clusters: int) -> list[IntArray]:
    """Positions of each cluster's points."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.searchsorted(labels[order], np.arange(1, n_clusters)))


def _two_medoids(rows: CodedRows, mass: FloatArray, center: FloatArray) -> tuple[float, FloatArray]:
    """Two rows that serve these better than one centre does, and how much better."""
    if len(rows) < 2 or mass.sum() <= 0:
        return 0.0, np.stack((center, center))
    every = places(rows)
    now = distances(rows, center[None])[:, 0].astype(float)
    first = int(np.where(mass > 0, now, -1.0).argmax())
    away = np.where(mass > 0, distances(rows, every[[first]])[:, 0], -1.0)
    pair = np.array([first, int(away.argmax())])
    best, least = pair, np.inf
    for _ in range(_ROUNDS):
        costs = distances(rows, every[pair]).astype(float)
        total = float(mass @ costs.min(axis=1))
        if total >= least:
            break
        best, least, nearer = pair, total, costs.argmin(axis=1)
        pair = pair.copy()
        for half in (0, 1):
            own = np.flatnonzero((nearer == half) & (mass > 0))
            if len(own):
                pair[half] = own[sums_to_each(rows.take(own), mass[own]).argmin()]
    return max(float(mass @ now) - least, 0.0), every[best]
