"""Starting centres for rows of numbers and categories: k-means++ on the costs of the rows, with nothing one-hot."""

from __future__ import annotations

import numpy as np

from .._data.seeding import drawn_rows, sampled_rows, seeding_by
from .._table.coded import CodedRows
from .._typing import FloatArray, IntArray
from ..errors import InvalidInputError
from .coded import CodedKMeansObjective


def coded_starts(
    rows: CodedRows,
    n_clusters: int,
    init: str,
    random_state: np.random.RandomState,
    weights: FloatArray | None,
    n_starts: int = 1,
    n_threads: int = 1,
) -> list[FloatArray]:
    """Centres to start from, several times.

    Parameters
    ----------
    rows : CodedRows
    n_clusters : int
    init : {"k-means++", "random"}
    random_state : RandomState
    weights : ndarray of shape (n_samples,) or None
    n_starts : int
    n_threads : int

    Returns
    -------
    starts : list of ndarray of shape (n_clusters, n_coordinates)
    """
    if init not in ("k-means++", "random"):
        raise InvalidInputError(f"init={init!r}, but 'k-means++', 'random', an array or a callable is needed.")
    chosen = sampled_rows(len(rows), n_clusters, random_state)
    if weights is not None:
        chosen = chosen[weights[chosen] > 0]
        weights = weights[chosen]
    few = rows if len(chosen) == len(rows) else rows.take(chosen)
    objective = CodedKMeansObjective(few)
    middle = few.middle() if rows.has_gaps else None

    def costs_from(taken: IntArray) -> FloatArray:
        return objective.costs(row_centers(few.take(taken), middle), n_threads).T

    picks = drawn_rows(
        init, len(chosen), n_clusters, random_state, weights, n_starts, lambda: seeding_by(costs_from, weights)
    )
    return [row_centers(few.take(pick), middle) for pick in picks]


def row_centers(rows: CodedRows, middle: FloatArray | None = None) -> FloatArray:
    """Rows as centres; what a row does not have is in the middle of all rows."""
    matrix = rows.matrix()
    if rows.has_gaps:
        matrix = np.where(np.isnan(matrix), rows.middle() if middle is None else middle, matrix)
    return np.ascontiguousarray(matrix, dtype=rows.dtype)
