"""K-means and K-median over blocks, for :class:`InBlocks`. In memory, see :mod:`fairclust._objectives`."""

from __future__ import annotations

import numpy as np

from .._objectives import KMeansObjective, Objective
from .._objectives.centers import EUCLIDEAN, SQUARED_EUCLIDEAN
from .._objectives.coded import CodedKMeansObjective
from .._objectives.kmedian import Effort, KMedianObjective, Medoids, weiszfeld
from .._objectives.means import MeansObjective, means_of
from .._table.coded import unpacked
from .._typing import FloatArray
from .in_blocks import BlockData, InBlocks, RuledLabels
from .work import CandidateJob, Costs, MedianJob, NearJob, candidate_sums, median_tables, near_rows

_CANDIDATES = 8  # rows near a cluster's median that may become its medoid: exact in 7 of 8 tries, else 0.04 % off


class StreamedKMeans(MeansObjective):
    """K-means over blocks; see :class:`fairclust._objectives.KMeansObjective` for the same in memory."""

    def fill(self, rows: InBlocks, centers: FloatArray, labels: RuledLabels | None = None) -> float:
        """Set the centres; return what the labels cost there: nothing has to be read for that."""
        rows.costs = Costs(SQUARED_EUCLIDEAN, centers, rows.n_cells)
        return 0.0 if labels is None else rows.shared_cost(labels)

    def centers(self, rows: InBlocks, labels: RuledLabels, sizes: FloatArray, before: FloatArray) -> FloatArray:
        """Means of the clusters."""
        return means_of(labels.sums, sizes, before)

    def soft_centers(
        self, rows: InBlocks, prices: FloatArray, temperature: float, sizes: FloatArray, before: FloatArray
    ) -> FloatArray:
        """Means weighted by the soft assignments; a pass."""
        return means_of(rows.soft_rows(prices, temperature).sums, sizes, before)

    def sampled(self, rows: FloatArray) -> KMeansObjective:
        """K-means on rows that are in memory."""
        return KMeansObjective(rows)


class StreamedTable(MeansObjective):
    """K-means over blocks of a table; in memory, see :class:`fairclust._objectives.CodedKMeansObjective`."""

    def __init__(self, data: BlockData) -> None:
        assert data.learned is not None
        self._like = data.learned.empty
        self.can_extrapolate = not self._like.has_gaps

    def fill(self, rows: InBlocks, centers: FloatArray, labels: RuledLabels | None = None) -> float:
        """Set the centres; return what the labels cost there: nothing has to be read for that."""
        rows.costs = Costs(SQUARED_EUCLIDEAN, centers, rows.n_cells, self._like)
        return 0.0 if labels is None else rows.shared_cost(labels)

    def centers(self, rows: InBlocks, labels: RuledLabels, sizes: FloatArray, before: FloatArray) -> FloatArray:
        """Means of what is there."""
        return self._means(labels.sums, sizes, before)

    def soft_centers(
        self, rows: InBlocks, prices: FloatArray, temperature: float, sizes: FloatArray, before: FloatArray
    ) -> FloatArray:
        """Means weighted by the soft assignments; a pass."""
        return self._means(rows.soft_rows(prices, temperature).sums, sizes, before)

    def sampled(self, rows: FloatArray) -> CodedKMeansObjective:
        """K-means on packed rows that are in memory."""
        return CodedKMeansObjective(unpacked(rows, self._like))

    def _means(self, sums: FloatArray, sizes: FloatArray, before: FloatArray) -> FloatArray:
        means = np.where(sizes[:, None] > 0, self._like.means(sums), before)
        return np.ascontiguousarray(means, dtype=self._like.dtype)


class StreamedKMedian(Objective):
    """K-median over blocks, with euclidean distances. Every step towards the medians is a pass.

    A medoid is the best of the few rows of its cluster that lie nearest to the geometric median: two passes more. What
    the exact one could save is known, since no point at all serves a cluster better than its median.
    """

    def __init__(self, center: str = "medoid", effort: Effort | None = None) -> None:
        self.center = center
        self.effort = Effort() if effort is None else effort
        self.can_extrapolate = center == "geometric"
        self._own: tuple[FloatArray, float] | None = None  # the last centres that were looked for, and their cost

    def fill(self, rows: InBlocks, centers: FloatArray, labels: RuledLabels | None = None) -> float:
        """Set the centres; what the labels cost at their own is known from the search for them, elsewhere by a pass."""
        rows.costs = Costs(EUCLIDEAN, centers, rows.n_cells)
        if labels is None:
            return 0.0
        if self._own is not None and self._own[0] is centers:
            return self._own[1]
        every = CandidateJob(labels.job, centers, np.arange(len(centers)))
        return float(rows.total_of(candidate_sums, every).sum())

    def centers(self, rows: InBlocks, labels: RuledLabels, sizes: FloatArray, before: FloatArray) -> FloatArray:
        """Medians, or medoids near them."""
        found = self._medians(rows, labels, sizes)
        place, value = found[0], float(found[1].sum())
        if self.center == "medoid":
            medoids = self._search(rows, labels, *found)
            place, value = medoids.centers, medoids.value
        self._own = place, value
        return place

    def medoids(self, rows: InBlocks, labels: RuledLabels) -> Medoids:
        """Medoids of these labels; their positions are rows of the data."""
        return self._search(rows, labels, *self._medians(rows, labels, labels.sizes))

    def sampled(self, rows: FloatArray) -> KMedianObjective:
        """K-median on rows that are in memory."""
        return KMedianObjective(rows, "euclidean", self.center, self.effort)

    def relaxed(self) -> StreamedKMedian | None:
        """K-median with geometric medians: medoids are found among the rows near them."""
        return StreamedKMedian("geometric", self.effort) if self.center == "medoid" else None

    def _medians(
        self, rows: InBlocks, labels: RuledLabels, sizes: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Geometric medians, from the centres that the labels were made with on: a pass per step. See ``weiszfeld``."""

        def sums_at(tried: FloatArray, near: FloatArray) -> FloatArray:
            return np.asarray(rows.total_of(median_tables, MedianJob(labels.job, tried, near)))

        return weiszfeld(sums_at, labels.job.costs.centers, sizes)

    def _search(
        self, rows: InBlocks, labels: RuledLabels, medians: FloatArray, values: FloatArray, lower: FloatArray
    ) -> Medoids:
        """The best medoid among a few rows near each median; the median stays where a cluster has no row."""
        near = rows.total_of(near_rows, NearJob(labels.job, medians, _CANDIDATES))
        sums = rows.total_of(candidate_sums, CandidateJob(labels.job, near.rows, near.clusters))
        self.effort.n_distances += rows.n_samples * (_CANDIDATES + 1)
        positions = np.full(len(medians), -1)
        place, costs = medians.copy(), values.copy()
        for k in range(len(medians)):
            own = np.flatnonzero(near.clusters == k)
            if len(own):
                best = own[np.argmin(sums[own])]
                positions[k], place[k], costs[k] = near.positions[best], near.rows[best], sums[best]
        return Medoids(positions, place, float(costs.sum()), float(lower.sum()))
