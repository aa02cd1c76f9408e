"""Linear programs with many columns of which few matter: solve over some, price the rest, take in what would help.

The optimum over the columns taken in is the optimum over all once no column left out has a negative reduced cost, so
nothing is approximated. Solved by HiGHS through :func:`scipy.optimize.linprog`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from .._typing import FloatArray
from ..errors import FairclustError


@dataclass(frozen=True)
class Optimum:
    """A vertex solution of a linear program.

    Attributes
    ----------
    x : ndarray of shape (n_columns,)
    value : float
    equality_prices, limit_prices : ndarray
        Dual values of the rows ``=`` and ``≤``: what one more unit on the right would change.
    """

    x: FloatArray
    value: float
    equality_prices: FloatArray
    limit_prices: FloatArray


def solve(
    cost: FloatArray,
    equal: sparse.csr_array | None,
    equal_to: FloatArray | None,
    at_most: sparse.csr_array | None,
    limits: FloatArray | None,
    upper: float | None = None,
) -> Optimum | None:
    """Minimise cost·x over x ≥ 0; None where no x is feasible.

    Parameters
    ----------
    cost : ndarray of shape (n_columns,)
    equal, equal_to : rows that hold with equality
    at_most, limits : rows that hold with ≤
    upper : float or None
        Upper bound of every x.

    Returns
    -------
    optimum : Optimum or None
    """
    # The dual simplex ends at a vertex, which the roundings here rely on.
    found: Any = linprog(
        cost, A_ub=at_most, b_ub=limits, A_eq=equal, b_eq=equal_to, bounds=(0.0, upper), method="highs-ds"
    )
    if found.status == 2:
        return None
    if found.status != 0:
        raise FairclustError(f"HiGHS stopped without an optimum: {found.message}")
    nothing = np.zeros(0)
    return Optimum(
        np.asarray(found.x),
        float(found.fun),
        np.asarray(found.eqlin.marginals) if equal is not None else nothing,
        np.asarray(found.ineqlin.marginals) if at_most is not None else nothing,
    )
