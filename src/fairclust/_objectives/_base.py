"""What an objective is: it knows the rows, and turns centres into point costs and labels into centres."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from .._typing import FloatArray, IntArray


class Sums(NamedTuple):
    """Sums of the rows of each cluster, and the constant that costs made of them lack."""

    sums: FloatArray
    constant: float


class Objective(ABC):
    """A clustering objective F with point costs a_pk that depend on centres: Table 1 of the paper.

    *Centres* are whatever the point costs depend on: means, medoids, or for Ncut the labels themselves. ``rows`` is the
    oracle that keeps the point costs; labels are as it keeps them.

    The methods after the abstract ones have defaults, for objectives that know no shortcuts.
    """

    can_extrapolate: bool = False
    """Whether centres may be anywhere in space, so that they can go ahead of the labels."""

    can_search: bool = False
    """Whether the exact effect of moving single rows is known (:meth:`sums`)."""

    @abstractmethod
    def fill(self, rows: Any, centers: FloatArray, labels: Any = None) -> float:
        """Write the point costs at these centres into the oracle; return F of the labels there (0 without labels)."""

    @abstractmethod
    def centers(self, rows: Any, labels: Any, sizes: FloatArray, before: FloatArray) -> FloatArray:
        """Centres that suit these labels best; that of an empty cluster stays where it was before."""

    @abstractmethod
    def sampled(self, rows: IntArray) -> Objective:
        """The same objective on some rows of the data only."""

    def soft_centers(
        self, rows: Any, prices: FloatArray, temperature: float, sizes: FloatArray, before: FloatArray
    ) -> FloatArray:
        """Centres that suit the soft assignments at these prices; here those of each row's likeliest cluster."""
        found = rows.assign(prices)
        return self.centers(rows, found.labels, found.masses.sum(axis=1), before)

    def weighted_centers(
        self, rows: Any, prices: FloatArray, temperature: float, sizes: FloatArray, before: FloatArray
    ) -> FloatArray:
        """Centres that suit the soft assignments exactly, whatever that takes: for Algorithm 1 of the paper."""
        return self.soft_centers(rows, prices, temperature, sizes, before)

    def relaxed(self) -> Objective | None:
        """The objective with centres anywhere in space, where they come from a discrete set: searches start with it."""
        return None

    def halves(self, rows: Any, centers: FloatArray, labels: Any) -> list[tuple[float, FloatArray]] | None:
        """For each cluster what F would gain, about, if it were two, and the two's centres; None: unknown."""
        return None

    def sums(self, rows: Any, labels: Any) -> Sums:
        """Sums of the rows of each cluster, from which the exact cost follows."""
        raise NotImplementedError

    def row_sums(self, rows: Any, which: IntArray) -> FloatArray:
        """What some rows add to these sums, one row each."""
        raise NotImplementedError

    def cost_of_sums(self, sums: FloatArray, sizes: IntArray) -> FloatArray:
        """What clusters with these sums and sizes cost, up to a constant of all clusterings."""
        raise NotImplementedError
