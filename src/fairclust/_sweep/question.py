"""The question: the one thing that a solver may ask of the data. Nobody here knows how it is answered.

"With this state, how much of each cell does each cluster hold, and at what cost?" The state is a K×cells table and one
number; so is the answer. Data in memory, in blocks and on many machines answer the same question in their own ways.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._algebra import Curvature
from .._typing import FloatArray, IntArray

_PIECE = 1 << 16  # labels that are compared at once


@dataclass(slots=True, eq=False)
class State:
    """What the assignments depend on: s_p = softmax(−scale·a_p − scaled_price[:, group(p)]).

    Attributes
    ----------
    scale : float
        Weight on the point costs: the inverse of a temperature.
    scaled_price : ndarray of shape (n_clusters, n_cells)
        scale · price: what a point of the cell has to overcome to enter the cluster, in units of the exponent.
    rounding : ndarray of shape (n_clusters, n_cells) or None
        What clusters hold as labels of these prices, over what they hold softly. Assignments do not depend on it. None:
        nobody looked.
    sizes : ndarray of shape (n_clusters,) or None
        What clusters hold as labels, all cells together. Nor do they depend on this.
    """

    scale: float
    scaled_price: FloatArray
    rounding: FloatArray | None = None
    sizes: FloatArray | None = None
    _price: FloatArray | None = field(default=None, init=False, repr=False)

    @property
    def price(self) -> FloatArray:
        """In units of the point costs: as temperature goes to 0, labels are argmin(a + price). Computed once."""
        if self._price is None:
            self._price = self.scaled_price / self.scale
        return self._price


class Answer(NamedTuple):
    """What a sweep tells.

    Attributes
    ----------
    masses : ndarray of shape (n_clusters, n_cells)
        How much of each group each cluster holds.
    cost : float
        Σ_p s_p·a_p.
    log_partition : float
        Σ_p log Σ_k exp(−scale·a_pk − pull_k).
    curvature : Curvature or None
        −∂masses/∂scaled_price, one symmetric table per group (n_cells, n_clusters, n_clusters), whose rows sum to 0; of
        very many clusters, what is not zero of it.
    """

    masses: FloatArray
    cost: float
    log_partition: float
    curvature: Curvature | None = None


class HardAnswer(NamedTuple):
    """What the hard sweep (temperature 0) tells: masses, cost, and the mean gap between best and second best."""

    masses: FloatArray
    cost: float
    gap: float


class Sweep(Protocol):
    """The question. Everything that answers it can be solved for."""

    n_clusters: int
    n_cells: int

    @property
    def n_samples(self) -> int:
        """Number of points."""
        ...

    @property
    def person(self) -> float:
        """What a point weighs on average."""
        ...

    def __call__(self, state: State, *, curvature: bool = False) -> Answer:
        """Answer for soft assignments."""
        ...

    def assign(self, price: FloatArray, *, split: float = 0.0) -> HardAnswer:
        """Answer for the hard assignments argmin(a + price).

        With a scale to ``split`` at, points that are undecided there are split by their soft assignments and their
        numbers in the cell: that tells people apart who are alike.
        """
        ...

    def weigh(self, price: FloatArray) -> HardAnswer:
        """The same of labels that nobody will ask for, at point costs that nobody may ask for again."""
        ...


@dataclass(frozen=True)
class Candidates:
    """Points that could make some moves, a row each.

    Attributes
    ----------
    kind : ndarray of shape (n_candidates,)
        Which of the moves that were asked for.
    position : ndarray of shape (n_candidates,)
        The point, by the number that the sweep knows it by.
    extra : ndarray of shape (n_candidates,)
        What its move costs per mass.
    mass : ndarray of shape (n_candidates,)
        Its weight.
    """

    kind: IntArray
    position: IntArray
    extra: FloatArray
    mass: FloatArray


class DataSweep(Sweep, Protocol):
    """A sweep with data behind it: what the outer loop and the searches need beside the answers.

    Labels are an array in visiting order where the data are in memory. Elsewhere they are a short record of the rule
    that makes them; nobody but the objective looks inside.
    """

    n_sweeps: int
    can_move_points: bool

    @property
    def total(self) -> float:
        """Weight of all points."""
        ...

    @property
    def cell_masses(self) -> FloatArray:
        """Weight of each cell, as one row (1, n_cells)."""
        ...

    @property
    def is_weighted(self) -> bool:
        """Whether there are sample weights."""
        ...

    def last_labels(self) -> Any:
        """Labels of the last call of :meth:`assign`, to keep."""
        ...

    def user_labels(self, labels: Any) -> Any:
        """Labels as the user gets them: one per row, in the user's order."""
        ...

    def candidates(self, labels: Any, move_kinds: IntArray, count: int) -> Candidates:
        """Points whose moves cost least, up to ``count`` per kind of move (cell, from, to)."""
        ...

    def gaps(self, price: FloatArray) -> FloatArray:
        """How much dearer each point's second choice is, times its weight; where points can be moved."""
        ...

    def costs_of_cell(self, cell: int) -> tuple[IntArray, FloatArray]:
        """Points of a cell, and their costs above the cheapest cluster, where points can be moved."""
        ...

    def move_points(self, labels: Any, moves: dict[int, int]) -> Any:
        """Labels (where they are an array, IN/OUT) after some points moved to other clusters."""
        ...

    def keep_in(self, anchors: IntArray | None, labels: Any, hard: HardAnswer) -> HardAnswer:
        """Bring points that must stay in a cluster back into it (IN/OUT labels); return the answer after that."""
        ...

    def fill_empty(self, labels: Any, hard: HardAnswer, farthest: Callable[[], IntArray]) -> FloatArray:
        """Give every empty cluster the point that is served worst (IN/OUT labels); return the masses after that."""
        ...

    def rows_of(self, positions: IntArray) -> IntArray:
        """Rows of the user's data, of points that the sweep knows by these positions."""
        ...

    def forget(self) -> None:
        """Give back the room that the point costs take: they are filled anew before they are asked for again."""
        ...

    def sampled(self, step: int) -> tuple[DataSweep, Any]:
        """A sample with the groups' own shares, of about every step-th point; and its rows.

        What rows are is between the sweep and its objectives: their numbers in X, or a record that holds them.
        """
        ...


def same_labels(one: Any, other: Any) -> bool:
    """Whether two labellings of the same points are the same."""
    if not isinstance(one, np.ndarray):
        return bool(one == other)
    starts = range(0, len(one), _PIECE)  # a difference is found early, and no array of all points is made
    return len(one) == len(other) and all(np.array_equal(one[i : i + _PIECE], other[i : i + _PIECE]) for i in starts)
