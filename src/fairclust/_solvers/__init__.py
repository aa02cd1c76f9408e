"""Solvers: given a sweep and a fairness term, find the state. No module here may import an objective or see a point."""

from ._base import FairnessTerm, Solution, Solver
from .bound import Bound
from .dual import Dual

__all__ = ["Bound", "Dual", "FairnessTerm", "Solution", "Solver"]
