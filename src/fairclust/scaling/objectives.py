"""K-means and K-median over blocks: the objectives of a streamed sweep. In memory, see :mod:`fairclust._objectives`."""

from __future__ import annotations

import numpy as np

from .._objectives import CodedKMeansObjective, KMeansObjective, Objective, centers
from .._objectives.coded_seeds import row_centers
from .._objectives.kmedian import Effort, KMedianObjective, Medoids, PricedCenters, weiszfeld
from .._objectives.means import MeansObjective
from .._sweep.question import Answer, State
from .._table.coded import unpacked
from .._typing import FloatArray, IntArray
from .sweep import BlockData, RuledLabels, Sample, StreamedSweep
from .work import CandidateJob, Costs, MedianJob, NearJob, candidate_sums, median_tables, near_rows

_CANDIDATES = 8  # rows near a cluster's median that may become its medoid: exact in 7 of 8 tries, else 0.04 % off
_RULED = "labels that are a rule cannot be changed point by point"


class StreamedKMeans(MeansObjective):
    """K-means over blocks; see :class:`fairclust._objectives.KMeansObjective` for the same in memory."""

    def __init__(self, data: BlockData) -> None:
        self._data = data
        self.variance = data.variance

    def parameters(self, sweep: StreamedSweep, labels: RuledLabels, sizes: FloatArray) -> FloatArray:
        """Means of the clusters. An empty cluster's centre moves to a row that its own serves badly."""
        means = np.ascontiguousarray(labels.means, dtype=self._data.dtype)
        return _refilled(means, sweep, labels, sizes)

    def soft_parameters(self, sweep: StreamedSweep, state: State, sizes: FloatArray) -> FloatArray:
        """Means weighted by the soft assignments; a pass."""
        sums = sweep.soft_sums(state)
        means = np.divide(sums, sizes[:, None], out=np.zeros_like(sums), where=sizes[:, None] > 0)
        return np.ascontiguousarray(means, dtype=self._data.dtype)

    def fill(self, sweep: StreamedSweep, parameters: FloatArray, labels: RuledLabels | None = None) -> float:
        """Set the centres; return what the labels cost there: nothing has to be read for that."""
        sweep.costs = Costs(centers.SQUARED_EUCLIDEAN, parameters, sweep.n_cells)
        if labels is None:
            return 0.0
        # Σ ‖x − c‖² = Σ ‖x − mean‖² + n ‖c − mean‖², at the centres that the labels were made with and here.
        means = labels.means
        there, here = (self.lead(at, means, labels.sizes) for at in (labels.job.costs.centers, parameters))
        return max(labels.cost - there, 0.0) + here

    def sampled(self, rows: Sample) -> KMeansObjective:
        """K-means on the rows of a sample that the sweep has taken."""
        return KMeansObjective(rows.X, rows.weights)

    def farthest(self, sweep: StreamedSweep, parameters: FloatArray, labels: RuledLabels, count: int) -> IntArray:
        """Not asked for: see :meth:`parameters`."""
        raise AssertionError(_RULED)


class StreamedTable(MeansObjective):
    """K-means over blocks of a table; in memory, see :class:`fairclust._objectives.CodedKMeansObjective`."""

    def __init__(self, data: BlockData) -> None:
        assert data.learned is not None
        self._learned = data.learned
        self.variance = data.learned.variance
        self.can_lead = not self._learned.empty.has_gaps

    def parameters(self, sweep: StreamedSweep, labels: RuledLabels, sizes: FloatArray) -> FloatArray:
        """Means of what is there. An empty cluster's centre moves to a row that its own serves badly."""
        means = self._as_centers(self._learned.empty.means(labels.sums))
        empty = np.flatnonzero(sizes <= 0)
        if len(empty):
            remote = unpacked(sweep.farthest(labels, len(empty)), self._learned.empty)
            means[empty[: len(remote)]] = row_centers(remote, self._learned.middle)
        return means

    def soft_parameters(self, sweep: StreamedSweep, state: State, sizes: FloatArray) -> FloatArray:
        """Means weighted by the soft assignments; a pass."""
        return self._as_centers(self._learned.empty.means(sweep.soft_sums(state)))

    def fill(self, sweep: StreamedSweep, parameters: FloatArray, labels: RuledLabels | None = None) -> float:
        """Set the centres; return what the labels cost there: nothing has to be read for that."""
        like = self._learned.empty
        sweep.costs = Costs(centers.SQUARED_EUCLIDEAN, parameters, sweep.n_cells, like)
        if labels is None:
            return 0.0
        # As for numbers, but each feature counts the rows that have it.
        means, weight = like.means(labels.sums), like.by_coordinate(like.observed(labels.sums))
        there, here = (
            float((weight * (at.astype(float) - means) ** 2).sum()) for at in (labels.job.costs.centers, parameters)
        )
        return max(labels.cost - there, 0.0) + here

    def soft_value(self, answer: Answer, old: FloatArray, new: FloatArray) -> float:
        """Moving c_k to the mean saves n_k ‖Δc_k‖²; with gaps less, so the value is an upper bound there."""
        return answer.cost if self._learned.empty.has_gaps else super().soft_value(answer, old, new)

    def sampled(self, rows: Sample) -> CodedKMeansObjective:
        """K-means on the rows of a sample that the sweep has taken."""
        return CodedKMeansObjective(unpacked(rows.X, self._learned.empty), rows.weights)

    def farthest(self, sweep: StreamedSweep, parameters: FloatArray, labels: RuledLabels, count: int) -> IntArray:
        """Not asked for: see :meth:`parameters`."""
        raise AssertionError(_RULED)

    def _as_centers(self, means: FloatArray) -> FloatArray:
        return np.ascontiguousarray(means, dtype=self._learned.empty.dtype)


class StreamedKMedian(Objective):
    """K-median over blocks, with euclidean distances. Every step towards the medians is a pass.

    A medoid is the best of the few rows of its cluster that lie nearest to the geometric median: two passes more. What
    the exact one could save is known, since no point at all serves a cluster better than its median.
    """

    can_relocate = True

    def __init__(self, data: BlockData, center: str = "medoid", effort: Effort | None = None) -> None:
        self._data = data
        self.center = center
        self.effort = Effort() if effort is None else effort
        self._own: PricedCenters | None = None  # the last centres that were looked for

    def parameters(self, sweep: StreamedSweep, labels: RuledLabels, sizes: FloatArray) -> FloatArray:
        """Medians, or medoids near them. An empty cluster's centre moves to a row that its own serves badly."""
        found = self._medians(sweep, labels, sizes)
        place, value = found[0], float(found[1].sum())
        if self.center == "medoid":
            medoids = self._search(sweep, labels, *found)
            place, value = medoids.centers, medoids.value
        place = _refilled(place, sweep, labels, sizes)
        self._own = PricedCenters(place.copy(), value)
        return place

    def medoids(self, sweep: StreamedSweep, labels: RuledLabels) -> Medoids:
        """Medoids of these labels; their positions are rows of the data."""
        return self._search(sweep, labels, *self._medians(sweep, labels, labels.sizes))

    def soft_parameters(self, sweep: StreamedSweep, state: State, sizes: FloatArray) -> FloatArray:
        """Not asked for: estimators refuse soft assignments."""
        raise AssertionError("medians of soft assignments need the rows in memory")

    def soft_value(self, answer: Answer, old: FloatArray, new: FloatArray) -> float:
        """Not asked for either."""
        raise AssertionError("medians of soft assignments need the rows in memory")

    def fill(self, sweep: StreamedSweep, parameters: FloatArray, labels: RuledLabels | None = None) -> float:
        """Set the centres; what the labels cost at their own is known from the search for them, elsewhere by a pass."""
        sweep.costs = Costs(centers.EUCLIDEAN, parameters, sweep.n_cells)
        if labels is None:
            return 0.0
        if self._own is not None and self._own.are_at(parameters):
            return self._own.value
        every = CandidateJob(labels.job, parameters, np.arange(len(parameters)))
        return float(sweep.ask_total(candidate_sums, every).sum())

    def sampled(self, rows: Sample) -> KMedianObjective:
        """K-median on the rows of a sample that the sweep has taken."""
        return KMedianObjective(rows.X, "euclidean", self.center, self.effort, rows.weights)

    def relaxed(self) -> StreamedKMedian | None:
        """K-median with geometric medians: medoids are found among the rows near them."""
        return StreamedKMedian(self._data, "geometric", self.effort) if self.center == "medoid" else None

    def movement(self, old: FloatArray, new: FloatArray) -> float:
        """Σ_k ‖Δc_k‖² over the mean variance of the features."""
        return centers.movement(old, new, self._data.variance)

    def farthest(self, sweep: StreamedSweep, parameters: FloatArray, labels: RuledLabels, count: int) -> IntArray:
        """Not asked for: see :meth:`parameters`."""
        raise AssertionError(_RULED)

    def _medians(
        self, sweep: StreamedSweep, labels: RuledLabels, sizes: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Geometric medians, from the centres that the labels were made with on: a pass per step. See ``weiszfeld``."""

        def sums_at(tried: FloatArray, near: FloatArray) -> FloatArray:
            job = MedianJob(labels.job, tried, near)
            return np.asarray(sweep.ask_total(median_tables, job))

        return weiszfeld(sums_at, labels.job.costs.centers, sizes)

    def _search(
        self,
        sweep: StreamedSweep,
        labels: RuledLabels,
        medians: FloatArray,
        values: FloatArray,
        lower: FloatArray,
    ) -> Medoids:
        """The best medoid among a few rows near each median; the median stays where a cluster has no row."""
        near = sweep.ask_total(near_rows, NearJob(labels.job, medians, _CANDIDATES))
        sums = sweep.ask_total(candidate_sums, CandidateJob(labels.job, near.rows, near.clusters))
        self.effort.n_distances += sweep.n_samples * (_CANDIDATES + 1)
        positions = np.full(len(medians), -1)
        place, costs = medians.copy(), values.copy()
        for k in range(len(medians)):
            own = np.flatnonzero(near.clusters == k)
            if len(own):
                best = own[np.argmin(sums[own])]
                positions[k], place[k], costs[k] = near.positions[best], near.rows[best], sums[best]
        return Medoids(positions, place, float(costs.sum()), float(lower.sum()))


def _refilled(place: FloatArray, sweep: StreamedSweep, labels: RuledLabels, sizes: FloatArray) -> FloatArray:
    """Move the centres (IN/OUT) of empty clusters to rows that their own serve badly."""
    empty = np.flatnonzero(sizes <= 0)
    if len(empty):
        remote = sweep.farthest(labels, len(empty))
        place[empty[: len(remote)]] = remote
    return place
