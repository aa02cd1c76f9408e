"""What an objective is: it knows the points, and turns labels into point costs. The N×K world."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from .._sweep.question import Answer, State
from .._typing import FloatArray, IntArray

if TYPE_CHECKING:
    from .._goals.moves import MoveTable


class Objective(ABC):
    """A clustering objective F with a majoriser Σ_p s_p·a_p: Table 1 of the paper.

    *Parameters* are what the point costs depend on: centres for K-means and K-median. An objective knows its kind
    of sweep, in memory or streamed, and that sweep's labels: an array in visiting order, or a rule that makes them.

    The methods below the line have defaults, for objectives whose parameters may be anywhere in space, whose bound
    holds without conditions, and that know no shortcuts.
    """

    @abstractmethod
    def parameters(self, sweep: Any, labels: Any, sizes: FloatArray) -> FloatArray:
        """Return the parameters that suit these labels best."""

    @abstractmethod
    def soft_parameters(self, sweep: Any, state: State, sizes: FloatArray) -> FloatArray:
        """Return the parameters that suit the soft assignments of this state best."""

    @abstractmethod
    def fill(self, sweep: Any, parameters: FloatArray, labels: Any = None) -> float:
        """Write the point costs into the sweep; return F of the labels (0 without labels)."""

    @abstractmethod
    def soft_value(self, answer: Answer, old: FloatArray, new: FloatArray) -> float:
        """F of the soft assignments behind ``answer`` (given at the old parameters), at the new parameters."""

    @abstractmethod
    def sampled(self, rows: Any) -> Objective:
        """Return the same objective on some rows only, as the sweep names them."""

    @abstractmethod
    def movement(self, old: FloatArray, new: FloatArray) -> float:
        """How far the parameters moved, in units that ``tol`` is given in."""

    @abstractmethod
    def farthest(self, sweep: Any, parameters: FloatArray, labels: Any, count: int) -> IntArray:
        """Positions (visiting order) of the points that their cluster serves worst, worst first."""

    # --- what an objective need not know -------------------------------------------------------------------------

    can_lead: bool = False
    """Whether parameters may run ahead of the labels, because what that costs is known: means."""

    can_polish: bool = False
    """Whether single moves can be tried."""

    can_relocate: bool = False
    """Whether it is known how clusters are best cut in two (:meth:`halves`)."""

    def anchors(self) -> IntArray | None:
        """Positions (visiting order), one per cluster, of points that must stay in it for the bound to hold: medoids.

        −1 or None: none.
        """
        return None

    def relaxed(self) -> Objective | None:
        """The objective with parameters anywhere in space, where they come from a discrete set: fits start with it."""
        return None

    def ahead(self, old: FloatArray, new: FloatArray, reach: float) -> FloatArray:
        """Return the parameters that lie ``reach`` times the way from old to new beyond new."""
        raise NotImplementedError

    def lead(self, at: FloatArray, own: FloatArray, sizes: FloatArray) -> float:
        """How much more labels cost at these parameters than at their own."""
        raise NotImplementedError

    def halves(self, sweep: Any, parameters: FloatArray, labels: Any) -> list[tuple[float, FloatArray]] | None:
        """For each cluster what F would gain, about, if it were two, and the two's parameters; None: unknown."""
        return None

    def sums(self, sweep: Any, labels: Any) -> FloatArray:
        """Sums by label, weights aside: what single moves keep up to date."""
        raise NotImplementedError

    def improve(self, sweep: Any, labels: Any, sums: FloatArray, moves: MoveTable, least: float, near: float) -> int:
        """Make moves of single points that lower the energy by more than ``least`` (IN/OUT labels, sums, moves).

        Points whose moves would raise it by less than ``near`` are looked at again after others moved. Return how many
        moves were made; 0 means that no such move exists.
        """
        return 0

    def relocated(self, sweep: Any, parameters: FloatArray, labels: Any, cluster: int) -> FloatArray | None:
        """Parameters with this cluster's moved to where another is best cut in two; None: nowhere."""
        found = self.halves(sweep, parameters, labels)
        if found is None:
            return None
        gains = [-1.0 if k == cluster else gain for k, (gain, _) in enumerate(found)]
        best = max(range(len(gains)), key=gains.__getitem__)
        if gains[best] <= 0:
            return None
        moved = parameters.copy()
        moved[[best, cluster]] = found[best][1]
        return moved
