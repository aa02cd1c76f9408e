"""Sparse rows in memory, in the form that the kernels read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import FloatArray, IntArray
from ..errors import InvalidInputError


@dataclass(frozen=True)
class SparseRows:
    """Rows of a CSR matrix.

    Attributes
    ----------
    matrix : sparse array of shape (n_rows, n_features), CSR, float32 or float64
    begin : ndarray of shape (n_rows + 1,), int64
        Where each row's entries begin.
    columns : ndarray of shape (n_entries,), int32
    squares : ndarray of shape (n_rows,)
        Squared length of each row.
    """

    matrix: Any
    begin: IntArray
    columns: IntArray
    squares: FloatArray

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return (int(self.matrix.shape[0]), int(self.matrix.shape[1]))

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """Of the values."""
        return np.dtype(self.matrix.dtype)

    @property
    def values(self) -> FloatArray:
        """The entries that are not zero."""
        values: FloatArray = self.matrix.data
        return values

    def take(self, rows: IntArray) -> SparseRows:
        """Some of the rows."""
        return sparse_rows(self.matrix[rows])

    def keys(self, n_rows: int) -> list[bytes]:
        """A value per row, for the first rows, that equal rows share."""
        return [
            self.columns[first:last].tobytes() + self.values[first:last].tobytes()
            for first, last in zip(self.begin[:n_rows], self.begin[1 : n_rows + 1], strict=False)
        ]


def sparse_rows(X: Any) -> SparseRows:
    """Rows of a CSR matrix; its entries are not copied."""
    X = sparse.csr_array(X)
    if X.shape[1] > np.iinfo(np.int32).max:
        raise InvalidInputError(f"X has {X.shape[1]} columns, but sparse rows may have 2,147,483,647 at most.")
    if not X.has_sorted_indices:
        X = X.sorted_indices()
    squares = np.zeros(X.shape[0])
    filled = np.flatnonzero(np.diff(X.indptr))
    squares[filled] = np.add.reduceat(X.data.astype(np.float64) ** 2, X.indptr[filled]) if len(filled) else 0.0
    return SparseRows(X, X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False), squares)
