"""K-median in Gower's distance: tables of numbers, categories and gaps, with medoids or the best places anywhere."""

from __future__ import annotations

import numpy as np

from .._sweep.memory import InMemorySweep
from .._sweep.seeding import sampled_rows
from .._table.coded import CodedRows
from .._table.gower import best_place, distances, places, sums_to_each
from .._typing import FloatArray, IntArray
from ..errors import InvalidInputError
from .centers import most_remote, slices
from .kmedian import Effort, MedianObjective, Medoids

_SAMPLED = 512  # rows of a cluster that tell how it is best cut in two
_ROUNDS = 4  # of two medoids


class GowerObjective(MedianObjective):
    """Σ_p d(x_p, c_k(p)) with Gower's distance d; c_k is a row of cluster k, or its medians and commonest categories.

    The distance is a sum over columns, so the sum of a cluster's distances to each of its rows takes sorting only:
    medoids are exact at any size.

    Parameters
    ----------
    rows : CodedRows
        In the user's order, scaled as :mod:`fairclust._table.gower` wants them.
    center : {"medoid", "geometric"}
    effort : Effort or None
        Counts the distances.
    weights : ndarray of shape (n_samples,) or None
    """

    def __init__(
        self,
        rows: CodedRows,
        center: str = "medoid",
        effort: Effort | None = None,
        weights: FloatArray | None = None,
    ) -> None:
        super().__init__(places(rows), center, effort, weights)
        self.rows = rows

    def fill(self, sweep: InMemorySweep, parameters: FloatArray, labels: IntArray | None = None) -> float:
        """Distances to the centres."""
        costs = distances(self.rows, parameters)[sweep.layout.order]
        sweep.hold(costs)
        self._filled = parameters.copy()
        if labels is None:
            return 0.0
        own = costs[np.arange(len(labels)), labels].astype(float)
        return float(own.sum() if sweep.weights is None else sweep.weights @ own)

    def costs(self, parameters: FloatArray) -> FloatArray:
        """Distances of all rows to the centres, one row each."""
        return distances(self.rows, parameters).astype(float)

    def sampled(self, rows: IntArray) -> GowerObjective:
        """K-median on some rows only."""
        weights = None if self._weights is None else self._weights[rows]
        return GowerObjective(self.rows.take(rows), self.center, self.effort, weights)

    def relaxed(self) -> GowerObjective | None:
        """K-median with medians and commonest categories."""
        return GowerObjective(self.rows, "geometric", self.effort, self._weights) if self.center == "medoid" else None

    def movement(self, old: FloatArray, new: FloatArray) -> float:
        """How many coordinates changed, as a share: medians of categories move by whole categories."""
        return float(np.mean(old != new))

    def farthest(self, sweep: InMemorySweep, parameters: FloatArray, labels: IntArray, count: int) -> IntArray:
        """Points farthest from their centre."""
        distance = np.empty(len(labels))
        for part in slices(len(labels)):
            costs = distances(self.rows.take(sweep.layout.order[part]), parameters)
            distance[part] = costs[np.arange(len(costs)), labels[part]]
        return most_remote(distance, sweep.weights, count)

    def halves(self, sweep: InMemorySweep, parameters: FloatArray, labels: IntArray) -> list[tuple[float, FloatArray]]:
        """Two medoids per cluster, of some of its rows: from the row farthest from the centre, and from that one."""
        found = []
        for k, members in enumerate(_by_cluster(labels, len(parameters))):
            taken = members[:: max(1, len(members) // _SAMPLED)]
            mass = np.ones(len(taken)) if sweep.weights is None else sweep.weights[taken]
            gain, pair = _two_medoids(self.rows.take(sweep.layout.order[taken]), mass, parameters[k])
            found.append((gain * len(members) / max(len(taken), 1), pair))
        return found

    def _search(
        self,
        sweep: InMemorySweep,
        labels: IntArray,
        old: IntArray,
        *,
        is_exact: bool,
        weights: FloatArray | None = None,
    ) -> Medoids:
        """Exact, always. Between equally good rows the old medoid stays."""
        mass = sweep.weights if weights is None else weights
        positions, value = np.full(len(old), -1, dtype=np.int64), 0.0
        for k, members in enumerate(_by_cluster(labels, len(old))):
            own = members if mass is None else members[mass[members] > 0]
            if not len(own):
                continue
            weight = np.ones(len(own)) if mass is None else mass[own]
            sums = sums_to_each(self.rows.take(sweep.layout.order[own]), weight)
            best = int(sums.argmin())
            held = np.flatnonzero(own == old[k])
            if len(held) and sums[held[0]] <= sums[best] * (1.0 + 1e-12):
                best = int(held[0])
            positions[k], value = own[best], value + float(sums[best])
            self.effort.n_distances += len(own) * self.X.shape[1]
        centers = np.ascontiguousarray(self.X[sweep.layout.order[positions]])
        if self._filled is not None and len(self._filled) == len(centers):
            centers[positions < 0] = self._filled[positions < 0]
        return Medoids(positions, centers, value, value)

    def _cost(self, sweep: InMemorySweep, labels: IntArray, weights: FloatArray, centers: FloatArray) -> float:
        total = 0.0
        for part in slices(len(labels)):
            costs = distances(self.rows.take(sweep.layout.order[part]), centers)
            total += float(weights[part] @ costs[np.arange(len(costs)), labels[part]])
        return total

    def _start(self, sweep: InMemorySweep, labels: IntArray, sizes: FloatArray) -> FloatArray:
        """The centres in use, or some rows: they matter for empty clusters only."""
        if self._filled is not None and len(self._filled) == sweep.n_clusters:
            return self._filled
        return np.ascontiguousarray(self.X[: sweep.n_clusters])

    def _medians(
        self, sweep: InMemorySweep, labels: IntArray, weights: FloatArray | None, start: FloatArray
    ) -> FloatArray:
        """Medians and commonest categories of every cluster."""
        found = np.array(start, dtype=self.X.dtype, order="C")
        for k, members in enumerate(_by_cluster(labels, len(start))):
            weight = np.ones(len(members)) if weights is None else weights[members]
            if weight.any():
                found[k] = best_place(self.rows.take(sweep.layout.order[members]), weight, start[k])
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
