"""Rows with their objective: what the loop asks of both together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from .._dual.oracle import Assignment
from .._objectives import Objective
from .._typing import FloatArray


class Own(NamedTuple):
    """The centres that suit some labels best, and what the labels cost there."""

    centers: FloatArray
    cost: float


@dataclass(frozen=True, eq=False)
class Points:
    """Rows and their objective."""

    objective: Objective
    rows: Any  # an oracle over rows in memory, in blocks, or on many machines

    @property
    def n_clusters(self) -> int:
        """Clusters."""
        return int(self.rows.n_clusters)

    def oracle(self, centers: FloatArray) -> Any:
        """The oracle at these centres; point costs that are there already are not computed again."""
        if self.rows.filled is not centers:
            self.objective.fill(self.rows, centers)
            self.rows.filled = centers
        return self.rows

    def own(self, assigned: Assignment, before: FloatArray) -> Own:
        """The labels' own centres and their cost; the oracle is then at these centres."""
        centers = self.objective.centers(self.rows, assigned.labels, assigned.masses.sum(axis=1), before)
        cost = self.objective.fill(self.rows, centers, assigned.labels)
        self.rows.filled = centers
        return Own(centers, cost)

    def relaxed(self) -> Points:
        """The same with centres anywhere in space."""
        relaxed = self.objective.relaxed()
        return self if relaxed is None else Points(relaxed, self.rows)


def subsample(points: Points, n_rows: int, near: FloatArray) -> Points:
    """About so many rows in memory, by cell and nearest of some centres, weighted so that the totals of both are exact.

    Terms then need no scaling, rare cells stay, and strata near outliers are not left to chance.
    """
    if n_rows >= points.rows.n_samples and points.rows.can_move_rows:
        return points
    sample = points.oracle(near).sample(points.objective, n_rows)
    points.rows.release()
    return Points(sample.objective, sample.rows)
