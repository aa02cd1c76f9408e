"""Solvers with options: what ``solver=`` may be beside "dual" and "bound"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import InvalidInputError

__all__ = ["BoundOptimization", "Dual"]


@dataclass(frozen=True)
class Dual:
    """Newton's method on the dual: one price per cluster and group. The default.

    Parameters
    ----------
    max_evaluations : int or None, default=None
        Evaluations of the dual that a fit may take, in passes over all rows. None: the schedule's own budget.
    local_search : bool or "auto", default="auto"
        Whether moves and swaps of single rows end a fit. "auto": for goals and sizes, not at a penalty, where labels
        are then those of ``predict``.

    Examples
    --------
    >>> from fairclust import FairKMeans
    >>> from fairclust.solvers import Dual
    >>> FairKMeans(8, solver=Dual(local_search=False)).solver
    Dual(max_evaluations=None, local_search=False)
    """

    max_evaluations: int | None = None
    local_search: bool | str = "auto"

    def __post_init__(self) -> None:
        """Check the options."""
        most: Any = self.max_evaluations
        is_whole = isinstance(most, int | np.integer) and not isinstance(most, bool)
        if most is not None and not (is_whole and most >= 1):
            raise InvalidInputError(f"Dual(max_evaluations={most!r}), but None or a whole number ≥ 1 is needed.")
        if self.local_search not in (True, False, "auto"):
            raise InvalidInputError(f"Dual(local_search={self.local_search!r}), but True, False or 'auto' is needed.")


@dataclass(frozen=True)
class BoundOptimization:
    """Algorithm 1 of the paper, as published: for a penalty, much slower.

    Parameters
    ----------
    lipschitz : float, default=2.0
        L of the paper, the inverse step size. It doubles whenever a step would raise the energy.
    soft : bool, default=False
        Whether centres are those of the soft assignments, as the paper writes it. False: of the hard labels, as its
        code does and its tables need.

    Examples
    --------
    >>> from fairclust import FairKMeans, Penalty
    >>> from fairclust.solvers import BoundOptimization
    >>> FairKMeans(8, goal=Penalty(9000.0), solver=BoundOptimization(lipschitz=4.0)).solver.lipschitz
    4.0
    """

    lipschitz: float = 2.0
    soft: bool = False

    def __post_init__(self) -> None:
        """Check the options."""
        value: Any = self.lipschitz
        is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not is_number or not 0 < value < np.inf:
            raise InvalidInputError(f"BoundOptimization(lipschitz={self.lipschitz!r}), but a number > 0 is needed.")
        if self.soft not in (True, False):
            raise InvalidInputError(f"BoundOptimization(soft={self.soft!r}), but True or False is needed.")


def read_solver(solver: Any) -> Dual | BoundOptimization:
    """What ``solver=`` means."""
    if isinstance(solver, Dual | BoundOptimization):
        return solver
    if isinstance(solver, str) and solver in ("dual", "bound"):
        return Dual() if solver == "dual" else BoundOptimization()
    raise InvalidInputError(
        f"solver={solver!r}, but 'dual', 'bound', fairclust.solvers.Dual(...) or "
        "fairclust.solvers.BoundOptimization(...) is needed."
    )
