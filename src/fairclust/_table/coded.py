"""Rows of a table in memory: numbers side by side, categories as codes. What the kernels read; no names here.

Such rows stand for a matrix with a column per number and a column per category (*coordinates*), in which a category is
its column's unit and 0 elsewhere. That matrix is never built: the centres have its coordinates, and a code's cost in a
cluster is looked up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._typing import AnyArray, FloatArray, IntArray

NEVER_SEEN, GAP = 0, 1  # codes beyond a feature's categories, counted from the last category
N_SPECIAL = len((NEVER_SEEN, GAP))
MOST_CATEGORIES = (1 << 16) - N_SPECIAL


@dataclass(frozen=True)
class CodedRows:
    """Rows of numbers and categories.

    Attributes
    ----------
    numbers : ndarray of shape (n_rows, n_numbers), float32 or float64
        Scaled as they are to count. NaN: a gap.
    codes : ndarray of shape (n_rows, n_categorical), uint8 or uint16
        0 … n_categories − 1, then one code for a category that was never seen and one for a gap.
    n_categories : ndarray of shape (n_categorical,)
    units : ndarray of shape (n_categorical,)
        What a category's coordinate is: two rows of different categories are 2·unit² apart.
    has_gaps : bool
        Whether any number or code is a gap.
    neutral : ndarray of shape (n_numbers + n_categorical,) or None
        What a feature counts where there is a gap, in Gower's distance; None: nothing.
    """

    numbers: FloatArray
    codes: IntArray
    n_categories: IntArray
    units: FloatArray
    has_gaps: bool = False
    neutral: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """Of the numbers, and of everything that is computed from them row by row."""
        return self.numbers.dtype

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and coordinates: the shape of the matrix that they stand for."""
        return len(self), self.n_numbers + int(self.n_categories.sum())

    @property
    def n_numbers(self) -> int:
        """Number of numeric features."""
        return self.numbers.shape[1]

    @cached_property
    def first(self) -> IntArray:
        """Where each categorical feature's codes begin in a table of all codes, and where the last one's end."""
        return np.concatenate(([0], np.cumsum(self.n_categories + N_SPECIAL))).astype(np.int64)

    @cached_property
    def _places(self) -> tuple[slice, ...]:
        """The coordinates of each categorical feature."""
        ends = self.n_numbers + np.cumsum(self.n_categories)
        return tuple(slice(int(end - n), int(end)) for end, n in zip(ends, self.n_categories, strict=True))

    def take(self, rows: IntArray) -> CodedRows:
        """Some of the rows."""
        return replace(self, numbers=np.ascontiguousarray(self.numbers[rows]), codes=self.codes[rows])

    def tables(self, centers: FloatArray) -> FloatArray:
        """Cost of every code in every cluster, (n_codes, n_clusters): Σ_c (unit·1[x = c] − centre_c)², 0 for a gap."""
        table = np.zeros((int(self.first[-1]), len(centers)))
        for q, (place, begin) in enumerate(zip(self._places, self.first[:-1], strict=True)):
            own, unit = centers[:, place].astype(float), self.units[q]
            costs = np.empty((own.shape[1] + 1, len(centers)))
            costs[:-1] = unit**2 - 2.0 * unit * own.T
            costs[-1] = unit**2
            costs += (own**2).sum(axis=1)
            table[begin : begin + len(costs)] = np.maximum(costs, 0.0)  # rounding must not pay
        return table

    def matrix(self) -> FloatArray:
        """The matrix that the rows stand for; a gap is NaN, and so is each coordinate of its feature."""
        X = np.zeros(self.shape)
        X[:, : self.n_numbers] = self.numbers
        for q, (place, n) in enumerate(zip(self._places, self.n_categories, strict=True)):
            code = self.codes[:, q].astype(np.int64)
            X[:, place] = np.where((code == n + GAP)[:, None], np.nan, self.units[q] * np.eye(n + N_SPECIAL)[code, :n])
        return X

    def middle(self) -> FloatArray:
        """The mean of every coordinate over the rows that have its feature."""
        sums = np.zeros((1, 2 * self.n_numbers + int(self.first[-1])))
        for m in range(self.n_numbers):
            is_there = ~np.isnan(self.numbers[:, m])
            sums[0, m], sums[0, self.n_numbers + m] = self.numbers[is_there, m].sum(dtype=float), is_there.sum()
        for q, begin in enumerate(self.first[:-1]):
            n_codes = int(self.first[q + 1] - begin)
            counts = np.bincount(self.codes[:, q], minlength=n_codes)
            sums[0, 2 * self.n_numbers + begin :][:n_codes] = counts
        return self.means(sums)[0]

    def keys(self, n_rows: int) -> list[bytes]:
        """A value per row, for the first rows, that equal rows share."""
        return [
            number.tobytes() + code.tobytes()
            for number, code in zip(self.numbers[:n_rows], self.codes[:n_rows], strict=True)
        ]

    def means(self, sums: FloatArray) -> FloatArray:
        """Centres of the clusters, from sums by label; where nobody has a value, the mean of all clusters' values.

        Parameters
        ----------
        sums : ndarray of shape (n_clusters, 2·n_numbers + n_codes)
            What the kernel ``coded_sums`` gives.
        """
        centers = np.empty((len(sums), self.shape[1]))
        values, weights = sums[:, : self.n_numbers], self.observed(sums)
        centers[:, : self.n_numbers] = _ratio(values, weights[:, : self.n_numbers])
        for q, (place, begin) in enumerate(zip(self._places, self.first[:-1], strict=True)):
            counts = sums[:, 2 * self.n_numbers + begin :][:, : self.n_categories[q]]
            centers[:, place] = self.units[q] * _ratio(counts, weights[:, self.n_numbers + q, None])
        return centers

    def observed(self, sums: FloatArray) -> FloatArray:
        """Weight of each cluster's rows that have each feature, (n_clusters, n_numbers + n_categorical)."""
        parts = [sums[:, self.n_numbers : 2 * self.n_numbers]]
        for n, begin in zip(self.n_categories, self.first[:-1], strict=True):
            parts.append(sums[:, 2 * self.n_numbers + begin :][:, :n].sum(axis=1, keepdims=True))
        return np.concatenate(parts, axis=1)

    def by_coordinate(self, values: FloatArray) -> FloatArray:
        """Values per feature (numbers, then categorical ones) → values per coordinate, along the last axis."""
        return np.repeat(values, np.concatenate((np.ones(self.n_numbers, int), self.n_categories)), axis=-1)


def packed(rows: CodedRows) -> FloatArray:
    """Numbers and codes side by side in one array: how rows travel in blocks. Codes are whole numbers below 2¹⁶."""
    return np.concatenate((rows.numbers, rows.codes.astype(rows.dtype)), axis=1)


def unpacked(X: FloatArray, like: CodedRows) -> CodedRows:
    """Rows that were packed, of the kind of others."""
    codes = X[:, like.n_numbers :].astype(code_type(like.n_categories))
    numbers = np.ascontiguousarray(X[:, : like.n_numbers], dtype=like.dtype)
    return replace(like, numbers=numbers, codes=np.ascontiguousarray(codes))


def code_type(n_categories: IntArray) -> type[np.uint8] | type[np.uint16]:
    """One byte per code where that is enough."""
    return np.uint8 if max(n_categories, default=0) + N_SPECIAL <= 256 else np.uint16


def _ratio(sums: FloatArray, weights: FloatArray) -> FloatArray:
    total = weights.sum(axis=0)
    overall = np.divide(sums.sum(axis=0), total, out=np.zeros(sums.shape[1]), where=total > 0)
    result: AnyArray = np.divide(sums, weights, out=np.broadcast_to(overall, sums.shape).copy(), where=weights > 0)
    return result
