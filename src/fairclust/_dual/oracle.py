"""The dual oracle: all that a solver may learn of the rows.

At fixed point costs a row matters only by its cell (the combination of its groups). So a fit needs one table of prices,
clusters × cells, and a pass over the rows answers for it. Rows in memory, in files and on many machines are several
oracles: values, masses and Hessians of blocks add up.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from .._typing import FloatArray, IntArray


class Evaluation(NamedTuple):
    """Σ_p softmin_k (a_pk + price_k,cell(p)) and its derivatives by the prices.

    Attributes
    ----------
    value : float
    cost : float
        Σ_p Σ_k s_pk·a_pk of the shares s: without prices.
    masses : ndarray of shape (n_clusters, n_cells)
        The gradient.
    hessian : ndarray of shape (n_cells, n_clusters, n_clusters)
        −∂masses/∂prices, cell by cell, positive semi-definite; at temperature 0 it is 0.
    """

    value: float
    cost: float
    masses: FloatArray
    hessian: FloatArray


class Assignment(NamedTuple):
    """Every row in one cluster.

    Attributes
    ----------
    labels : object
        As the oracle keeps them.
    masses : ndarray of shape (n_clusters, n_cells)
    cost : float
        Σ_p a_p,label(p); prices are not counted.
    """

    labels: Any
    masses: FloatArray
    cost: float


class Moves(NamedTuple):
    """Rows that could move from one cluster to another, each kind of move in ascending order of cost.

    Attributes
    ----------
    kind : ndarray of shape (n_moves,)
        Which of the kinds that were asked for.
    row : ndarray of shape (n_moves,)
        As the oracle numbers them.
    extra : ndarray of shape (n_moves,)
        What the row costs more there, per weight.
    """

    kind: IntArray
    row: IntArray
    extra: FloatArray


class Oracle(Protocol):
    """What solvers know of the rows. No answer depends on what was asked before."""

    n_clusters: int
    n_cells: int

    @property
    def cell_totals(self) -> FloatArray:
        """Weight of each cell, (n_cells,)."""
        ...

    def evaluate(self, prices: FloatArray, temperature: float) -> Evaluation:
        """The dual's sum over rows at prices (n_clusters, n_cells)."""
        ...
