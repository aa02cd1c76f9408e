"""What a solver is: something that asks sweeps until it knows a good state. It never sees a point."""

from __future__ import annotations

from typing import NamedTuple, Protocol, Self

import numpy as np

from .._algebra import Expansion, Logarithms
from .._sweep.question import HardAnswer, State, Sweep
from .._typing import FloatArray, IntArray


class FairnessTerm(Protocol):
    """What a solver needs from a fairness term: per-cluster value of a table by cell, and how it changes.

    The term depends on masses by *column* (the groups of all attributes), which are linear in the masses by cell:
    ``masses @ membership``. So prices by cell are ``column prices @ membership.T``, and however many cells there are,
    a solver looks for as many unknowns as there are columns.
    """

    @property
    def entropy(self) -> float: ...

    @property
    def membership(self) -> FloatArray: ...

    @property
    def has_cells_as_columns(self) -> bool: ...

    @property
    def is_constant(self) -> bool: ...

    @property
    def is_logarithmic(self) -> bool: ...

    def scaled(self, fraction: float) -> Self: ...

    def value(self, masses: FloatArray, clusters: IntArray | None = None) -> FloatArray: ...

    def slope(self, masses: FloatArray) -> FloatArray: ...

    def expansion(self, masses: FloatArray) -> Expansion: ...

    def logarithms(self, n_clusters: int) -> Logarithms: ...

    def by_column(self, masses: FloatArray) -> FloatArray: ...

    def by_cell(self, price: FloatArray) -> FloatArray: ...

    @property
    def inverse(self) -> FloatArray: ...


class Solution(NamedTuple):
    """What a solver found.

    Attributes
    ----------
    state : State
        The state.
    energy : float or None
        Its relaxed energy (soft cost + Σ_k weight_k · fairness_k), where the solver's stopping rule needs it.
    hard : HardAnswer or None
        The answer for argmin(a + price), when it was the solver's last question: the labels are then in place.
    penalty : float or None
        Σ_k weight_k · fairness_k of these labels.
    """

    state: State
    energy: float | None = None
    hard: HardAnswer | None = None
    penalty: float | None = None


class Solver(Protocol):
    """Minimises cost + Σ_k weight_k · fairness_k over soft assignments, for point costs that stay as they are."""

    @property
    def rests_on_energy(self) -> bool:
        """Whether an outer iteration that changes the relaxed energy by less than ``tol`` is the last (Algorithm 1)."""
        ...

    def solve(
        self,
        sweep: Sweep,
        fairness: FairnessTerm,
        fairness_weights: FloatArray,
        start: State | None = None,
        to_beat: float = np.inf,
    ) -> Solution:
        """Solve.

        Parameters
        ----------
        sweep : Sweep
            Answers the questions.
        fairness : FairnessTerm
            The fairness term.
        fairness_weights : ndarray of shape (n_clusters,)
            Weight of each cluster's fairness.
        start : State or None
            The state for nearby point costs, if there is one.
        to_beat : float
            Energy of the current labels at these point costs: hard labels above it are of no use.
        """
        ...
