"""The paper's preprocessing. Works in blocks of rows, so that it costs one output array and little else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairclust.errors import InvalidInputError

_BLOCK_ROWS = 65_536  # rows in float64 at a time: 13 MB with 25 features


class Moments(NamedTuple):
    """Centre and spread of each feature; the spread of a constant feature is 1."""

    mean: NDArray[np.float64]
    std: NDArray[np.float64]


def standardize_and_normalize(X: ArrayLike) -> NDArray[np.floating[Any]]:
    """Scale features to zero mean and unit variance, then rows to unit Euclidean length.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Finite numbers. It is never modified.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        float32 if `X` is float32, else float64. Constant features become 0; a row that is all 0 after scaling stays 0.

    Notes
    -----
    O(n_samples · n_features) time; memory for the result plus one block of rows. Sums run in float64.

    Examples
    --------
    >>> from fairclust.datasets import standardize_and_normalize
    >>> standardize_and_normalize([[0, 7], [2, 7]])
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    array = _as_table(X)
    moments = feature_moments(array)
    result = np.empty(array.shape, dtype=array.dtype)
    for rows in _blocks(len(array)):
        result[rows] = unit_rows(array[rows], moments)
    return result


def feature_moments(X: NDArray[np.floating[Any]]) -> Moments:
    """Mean and standard deviation of each feature (shape (n_features,) each)."""
    low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    constant = low == high
    # The mean of equal numbers can miss them by a rounding, which would then be blown up to unit variance.
    mean = np.where(constant, low, np.mean(X, axis=0, dtype=np.float64))
    # In units of the range no square can over- or underflow.
    span = np.where(constant, 1.0, np.maximum(high - mean, mean - low))
    squares = np.zeros(X.shape[1])
    for rows in _blocks(len(X)):
        squares += np.square((X[rows] - mean) / span).sum(axis=0)
    return Moments(mean, np.where(constant, 1.0, span * np.sqrt(squares / len(X))))


def unit_rows(X: NDArray[np.floating[Any]], moments: Moments) -> NDArray[np.float64]:
    """Rows of `X`, standardised and scaled to unit length; meant for one block at a time."""
    scaled = (X - moments.mean) / moments.std
    length = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
    length[length == 0.0] = 1.0
    scaled /= length[:, None]
    return np.asarray(scaled, dtype=np.float64)


def _blocks(n_rows: int) -> Iterator[slice]:
    for start in range(0, n_rows, _BLOCK_ROWS):
        yield slice(start, start + _BLOCK_ROWS)


def _as_table(X: ArrayLike) -> NDArray[np.floating[Any]]:
    array = np.asarray(X)
    if array.dtype != np.float32:
        try:
            array = array.astype(np.float64, copy=False)
        except (TypeError, ValueError) as reason:
            raise InvalidInputError(f"X must be a table of numbers: {reason}. Encode other columns first.") from reason
    if array.ndim != 2 or array.size == 0:
        raise InvalidInputError(
            f"X has shape {array.shape}, expected (n_samples, n_features) with at least one of each."
        )
    # A sum is finite only if no term is NaN or infinite; the slow look for the rows happens on failure alone.
    if not np.isfinite(array.sum(dtype=np.float64)) and not np.isfinite(array).all():
        rows = np.flatnonzero(~np.isfinite(array).all(axis=1))
        raise InvalidInputError(
            f"X has NaN or infinite values, first in row {rows[0]}. Drop or fill {rows.size} row(s)."
        )
    return array
