"""Every check of a user's input that scikit-learn does not do for us. Messages show the value and the way out."""

from __future__ import annotations

import math
import numbers
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ._typing import AnyArray, FloatArray
from .errors import InvalidInputError


def check_sparse(X: Any, name: str = "X") -> Any:
    """Check that the arrays of a sparse matrix fit together, before anything reads them; other X come back as they are.

    SciPy believes the arrays of a matrix that it made itself, so one that was changed later makes compiled code read
    and write outside of them. The answer shares the arrays, and knows for itself whether they are sorted.
    """
    if not sparse.issparse(X):
        return X
    try:
        if X.format in ("csr", "csc", "bsr"):
            checked = type(X)((X.data, X.indices, X.indptr), shape=X.shape)
            checked.check_format(full_check=True)
            return checked
        if X.format == "coo":
            return type(X)((X.data, X.coords), shape=X.shape)
        if X.format == "dia":
            return type(X)((X.data, X.offsets), shape=X.shape)
        return check_sparse(X.tocsr(), name)
    except (ValueError, TypeError, IndexError, AttributeError) as error:
        raise InvalidInputError(
            f"{name} is a sparse matrix whose arrays do not fit together ({error}). Build it again from its entries, "
            "for example with scipy.sparse.coo_array((values, (rows, columns)), shape=shape)."
        ) from error


_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_SIDE_BY_SIDE = 64  # rows
_LARGEST_SQUARE = 3e38  # distances are kept in single precision
_SMALLEST_SPREAD = 1e-18  # its square is still a normal number there


@dataclass(frozen=True)
class Ends:
    """The largest and the smallest value of each feature, (n_features,); NaN where one is."""

    high: FloatArray
    low: FloatArray

    @property
    def are_finite(self) -> bool:
        """Whether every value is a number: all lie between the ends."""
        return bool(np.isfinite(self.high).all() and np.isfinite(self.low).all())


def ends_of(X: FloatArray) -> Ends:
    """Ends of the features of a matrix that has rows and columns."""
    return Ends(_over_rows(np.maximum, X), _over_rows(np.minimum, X))


def ends_if_plain(X: Any) -> Ends | None:
    """Ends of X where it is a matrix of floats that kernels read as it is, with nothing to refuse or to convert.

    None: somebody must look closer. All values lie between their ends, so these tell whether all are numbers.
    """
    is_plain = type(X) is np.ndarray and X.ndim == 2 and X.size > 0 and X.flags.c_contiguous
    if not is_plain or X.dtype not in _FLOATS:
        return None
    ends = ends_of(X)
    return ends if ends.are_finite else None


def check_magnitude(X: FloatArray, names: AnyArray | None = None, ends: Ends | None = None) -> None:
    """Squared distances between the rows must be numbers; the message names the feature that is in the way.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Finite.
    names : ndarray of shape (n_features,) or None
        Of the features.
    ends : Ends or None
        Of X, where they are known.
    """
    if not X.size:
        return
    ends = ends or ends_of(X)
    # In single precision k-means++ also adds squares over the rows.
    _check_largest(X, names, ends, n_added=len(X) if X.dtype == np.float32 else 1)
    high, low = ends.high, ends.low
    spread = float((high - low).max())
    if 0 < spread < _SMALLEST_SPREAD:
        raise InvalidInputError(
            f"X has rows that differ by {spread:.3g} at most (in {_feature(int((high - low).argmax()), names)}), and "
            "squared distances between such rows are too small for floating-point numbers. Divide the features by "
            f"{spread:.1g} first."
        )


def check_new_magnitude(X: FloatArray, names: AnyArray | None = None) -> None:
    """Squared distances of new rows to centres must be numbers; rows may be alike."""
    if X.size:
        _check_largest(X, names, ends_of(X))


def _check_largest(X: FloatArray, names: AnyArray | None, ends: Ends, n_added: int = 1) -> None:
    """Refuse values whose squares, added over the features, are no numbers."""
    size = np.maximum(ends.high, -ends.low)
    worst = int(size.argmax())
    if size[worst] > math.sqrt(_LARGEST_SQUARE / (4.0 * X.shape[1] * n_added)):
        raise InvalidInputError(
            f"X has values up to {size[worst]:.3g} in {_feature(worst, names)}, and squared distances between such "
            f"rows are too large for floating-point numbers. Divide the features by {size[worst]:.1g} first, or leave "
            "that one out."
        )


def _over_rows(function: np.ufunc, X: FloatArray) -> FloatArray:
    """A reduction over the rows, many of them side by side: NumPy is slow where rows are short."""
    whole = len(X) - len(X) % _SIDE_BY_SIDE if X.flags.c_contiguous else 0
    side_by_side = function.reduce(X[:whole].reshape(-1, _SIDE_BY_SIDE * X.shape[1])) if whole else X[:0]
    found = function.reduce(np.concatenate((side_by_side.reshape(-1, X.shape[1]), X[whole:])))
    return np.asarray(found, dtype=float)


def _feature(index: int, names: AnyArray | None) -> str:
    return f"feature {index}" if names is None else f"feature {names[index]!r}"


def check_n_clusters(n_clusters: Any, n_samples: int) -> int:
    """A whole number from 1 to the number of rows."""
    if not _is_whole(n_clusters) or n_clusters < 1:
        raise InvalidInputError(f"n_clusters={n_clusters!r}, but a whole number of at least 1 is needed.")
    if n_clusters > n_samples:
        raise InvalidInputError(
            f"n_clusters={n_clusters} but X has {n_samples} rows (n_samples={n_samples}). Use at most {n_samples}."
        )
    return int(n_clusters)


def check_distinct_rows(X: Any, n_clusters: int) -> None:
    """At least ``n_clusters`` different rows, of an array or of rows with keys. Looks no further than it must."""
    n_rows = 4 * n_clusters
    while True:
        n_distinct = len(_distinct(X[:n_rows])) if isinstance(X, np.ndarray) else len(set(X.keys(n_rows)))
        if n_distinct >= n_clusters:
            return
        if n_rows >= len(X):
            raise InvalidInputError(
                f"n_clusters={n_clusters} but X has only {n_distinct} distinct rows. Use at most {n_distinct}."
            )
        n_rows *= 8


def _distinct(rows: AnyArray) -> set[bytes]:
    """The rows, each once, as their bytes; adding nothing makes one zero of the two that there are."""
    return set(map(bytes, rows + rows.dtype.type(0)))


def check_number(name: str, value: Any, *, lowest: float, above: bool = False) -> float:
    """Check that a value is a finite number at or above ``lowest`` (``above``: strictly)."""
    is_flag = value is True or value is False  # numbers to Python, not to us
    is_number = isinstance(value, numbers.Real) and not is_flag and math.isfinite(value)
    if not is_number or value < lowest or (above and value == lowest):
        relation = ">" if above else "≥"
        raise InvalidInputError(f"{name}={value!r}, but a number {relation} {lowest:g} is needed.")
    return float(value)


def check_count(name: str, value: Any, *, lowest: int = 1) -> int:
    """Check that a value is a whole number at or above ``lowest``."""
    if not _is_whole(value) or value < lowest:
        raise InvalidInputError(f"{name}={value!r}, but a whole number of at least {lowest} is needed.")
    return int(value)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Check that a value is one of a few words."""
    if value not in choices:
        listed = " or ".join(repr(choice) for choice in choices)
        raise InvalidInputError(f"{name}={value!r}, but {listed} is needed.")
    return str(value)


def check_same_length(name: str, values: AnyArray, n_samples: int) -> None:
    """One value per row of X."""
    if len(values) != n_samples:
        raise InvalidInputError(f"{name} has {len(values)} rows but X has {n_samples}. Pass one value per row of X.")


def check_centers(init: AnyArray, n_clusters: int, n_features: int) -> AnyArray:
    """Starting centres of the right shape."""
    if init.shape != (n_clusters, n_features):
        raise InvalidInputError(
            f"init has shape {init.shape}, but (n_clusters, n_features) = ({n_clusters}, {n_features}) is needed."
        )
    if not np.isfinite(init).all():
        raise InvalidInputError("init has NaN or infinite values. Give finite starting centres.")
    return init


def resolve_threads(n_jobs: Any) -> int:
    """Number of threads: None means every core this process may use, or OMP_NUM_THREADS where that is set."""
    if n_jobs is not None and (not _is_whole(n_jobs) or n_jobs == 0):
        raise InvalidInputError(
            f"n_jobs={n_jobs!r}, but None, -1 (all cores) or a whole number of at least 1 is needed."
        )
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
        return max(1, min(cores, int(limit))) if limit.isdigit() and int(limit) > 0 else cores
    return max(1, cores + 1 + n_jobs) if n_jobs < 0 else int(n_jobs)


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)
