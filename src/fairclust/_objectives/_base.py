"""What an objective is: it knows the points, and turns labels into point costs. The N×K world."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from .._sweep.question import Answer, State
from .._typing import FloatArray, IntArray


class Objective(Protocol):
    """A clustering objective F with a majoriser Σ_p s_p·a_p: Table 1 of the paper.

    *Parameters* are what the point costs depend on: centres for K-means and K-median. An objective knows its kind
    of sweep, in memory or streamed, and that sweep's labels: an array in visiting order, or a rule that makes them.
    """

    def parameters(self, sweep: Any, labels: Any, sizes: FloatArray) -> FloatArray:
        """Return the parameters that suit these labels best."""
        ...

    def soft_parameters(self, sweep: Any, state: State, sizes: FloatArray) -> FloatArray:
        """Return the parameters that suit the soft assignments of this state best."""
        ...

    def fill(self, sweep: Any, parameters: FloatArray, labels: Any = None) -> float:
        """Write the point costs into the sweep; return F of the labels (0 without labels)."""
        ...

    def soft_value(self, answer: Answer, old: FloatArray, new: FloatArray) -> float:
        """F of the soft assignments behind ``answer`` (given at the old parameters), at the new parameters."""
        ...

    def sampled(self, rows: Any) -> Objective:
        """Return the same objective on some rows only, as the sweep's ``sampled`` gives them."""
        ...

    def movement(self, old: FloatArray, new: FloatArray) -> float:
        """How far the parameters moved, in units that ``tol`` is given in."""
        ...

    def farthest(self, sweep: Any, parameters: FloatArray, labels: Any, count: int) -> IntArray:
        """Positions (visiting order) of the points that their cluster serves worst, worst first."""
        ...


@runtime_checkable
class Anchored(Protocol):
    """An objective whose point costs bound it only while some points keep to their clusters: medoids."""

    def anchors(self) -> IntArray | None:
        """Positions (visiting order), one per cluster, of the points that must stay in it; −1 or None: none."""
        ...


@runtime_checkable
class Relaxed(Protocol):
    """An objective whose parameters come from a discrete set: a fit gets stuck early, and starts from a smooth one."""

    def relaxed(self) -> Objective | None:
        """Return the objective with parameters anywhere in space; None where that is what they are already."""
        ...


@runtime_checkable
class Leading(Protocol):
    """An objective whose parameters may run ahead of the labels, because what that costs is known: means."""

    def ahead(self, old: FloatArray, new: FloatArray, reach: float) -> FloatArray:
        """Return the parameters that lie ``reach`` times the way from old to new beyond new."""
        ...

    def lead(self, at: FloatArray, own: FloatArray, sizes: FloatArray) -> float:
        """How much more labels cost at these parameters than at their own."""
        ...
