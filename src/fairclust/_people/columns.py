"""Columns of sensitive features → values, codes, names. The only place that knows what a data frame is.

Groups are named, sorted and stable: code j is the j-th name in sorted order, whatever order the rows come in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from .._typing import AnyArray, IntArray
from ..errors import InvalidInputError

_PROBE = 1 << 8  # rows looked at first for the names of the groups
_FEW = 64  # up to so many names, comparing with each is faster than sorting


@dataclass(frozen=True)
class Columns:
    """Columns as the user gave them.

    Attributes
    ----------
    names : tuple of str
    columns : tuple of ndarray of shape (n_samples,)
    is_membership : bool
        Whether each column is a group, and says who is in it.
    is_named : bool
        Whether the user gave the names.
    """

    names: tuple[str, ...]
    columns: tuple[AnyArray, ...]
    is_membership: bool = False
    is_named: bool = False

    @property
    def n_rows(self) -> int:
        """Number of people."""
        return len(self.columns[0])


def as_native(values: Any) -> Any:
    """A data frame or series as narwhals has it; anything else as it is, arrays without a look at every library."""
    return values if isinstance(values, np.ndarray) else nw.from_native(values, allow_series=True, pass_through=True)


def read_columns(values: Any, argument: str = "sensitive_features") -> Columns:
    """One or several columns: a series, list, data frame, 2-D array or dict of columns.

    A table of booleans with several columns is a membership matrix.
    """
    native = as_native(values)
    is_named = True
    if isinstance(native, nw.DataFrame):
        named = {str(name): _from_series(native[name]) for name in native.columns}
        booleans = [native[name].dtype == nw.Boolean for name in native.columns]
    elif isinstance(values, Mapping):
        named = {str(name): to_column(column, f"{argument}[{name!r}]") for name, column in values.items()}
        booleans = [column.dtype == bool for column in named.values()]
    else:
        array = _from_series(native) if isinstance(native, nw.Series) else _to_array(values)
        if array.ndim != 2:
            name = str(native.name) if isinstance(native, nw.Series) and native.name else "group"
            return Columns((name,), (to_column(values, argument),), is_named=name != "group")
        one = array.shape[1] == 1
        named = {("group" if one else f"attribute {i}"): array[:, i] for i in range(array.shape[1])}
        booleans, is_named = [array.dtype == bool] * array.shape[1], False
        if len(named) > 1 and all(booleans):
            named = {f"group {i}": array[:, i] for i in range(array.shape[1])}
    if not named:
        raise InvalidInputError(f"{argument} has no column. Pass one column per attribute.")
    lengths = {name: len(column) for name, column in named.items()}
    if len(set(lengths.values())) > 1:
        raise InvalidInputError(f"{argument} has columns of different lengths: {lengths}. Pass one value per row of X.")
    return Columns(tuple(named), tuple(named.values()), len(named) > 1 and all(booleans), is_named)


def as_columns(sensitive_features: Any, argument: str) -> Columns:
    """Columns, read if they were not read yet."""
    return sensitive_features if isinstance(sensitive_features, Columns) else read_columns(sensitive_features, argument)


def to_column(values: Any, argument: str = "sensitive_features") -> AnyArray:
    """One column as a 1-D NumPy array; a data frame or 2-D array must have just one column."""
    native = as_native(values)
    if isinstance(native, nw.DataFrame):
        if native.shape[1] != 1:
            raise InvalidInputError(_one_column_only(argument, native.shape[1]))
        native = native[native.columns[0]]
    array = _from_series(native) if isinstance(native, nw.Series) else _to_array(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 2:
        raise InvalidInputError(_one_column_only(argument, array.shape[1]))
    if array.ndim != 1:
        raise InvalidInputError(f"{argument} must be one column of values, but has shape {array.shape}.")
    return array


def _one_column_only(argument: str, n_columns: int) -> str:
    return (
        f"{argument} has {n_columns} columns, and one sensitive attribute at a time is supported. "
        "Pass one column, or join the columns into one (for example 'F/young')."
    )


def _from_series(series: nw.Series[Any]) -> AnyArray:
    missing = series.is_null().to_numpy()
    array = series.to_numpy()
    if missing.any():
        array = np.asarray(array, dtype=object).copy()
        array[missing] = None
    return array


def _to_array(values: Any) -> AnyArray:
    if isinstance(values, np.ndarray):
        return values
    array = np.asarray(values)
    # A list that mixes text with None or numbers: keep what the user typed instead of NumPy's common text type.
    if array.dtype.kind in "US" and any(not isinstance(v, str) for v in values):
        array = np.asarray(values, dtype=object)
    return array


def factorize(values: AnyArray, argument: str) -> tuple[AnyArray, IntArray]:
    """Sorted names and the code of every value; a missing value is an error."""
    missing = find_missing(values)
    if missing.any():
        raise InvalidInputError(
            f"{argument} has missing values in {named_rows(np.flatnonzero(missing))}. "
            "Drop these rows, or give them a group of their own."
        )
    if values.dtype == object:
        return _factorize_objects(values, argument)
    names = np.unique(values[:_PROBE])
    while len(names) <= _FEW:
        codes, is_known = _codes_of(values, names)
        if is_known.all():
            return names, codes
        names = np.union1d(names, np.unique(values[~is_known]))
    names, inverse = np.unique(values, return_inverse=True)
    return names, inverse.reshape(-1).astype(np.int32)


def _codes_of(values: AnyArray, names: AnyArray) -> tuple[IntArray, AnyArray]:
    """Which of a few names each value is, and whether it is one of them."""
    words, own = _words(values), _words(names.astype(values.dtype))
    found = np.zeros(len(values), dtype=np.uint8)  # code + 1: a byte holds the few names that come here
    for code in range(len(names)):
        is_it = words[0] == own[0, code]
        for place in range(1, len(words)):
            is_it &= words[place] == own[place, code]
        found += np.multiply(is_it, code + 1, dtype=np.uint8)
    codes = found.astype(np.int32)
    codes -= 1
    return codes, found > 0


def _words(values: AnyArray) -> AnyArray:
    """Values as columns of numbers, which are equal where values are; text is compared a letter at a time otherwise."""
    if values.dtype.kind not in "SU" or values.dtype.itemsize == 0:
        return values[None]
    letters = np.ascontiguousarray(values)
    size = next(size for size in (8, 4, 2, 1) if letters.dtype.itemsize % size == 0)
    return np.ascontiguousarray(letters.view(f"u{size}").reshape(len(letters), -1).T)


def _factorize_objects(values: AnyArray, argument: str) -> tuple[AnyArray, IntArray]:
    every = values.tolist()
    try:
        found = list(set(every))
    except TypeError as error:
        raise InvalidInputError(f"{argument} must hold plain values such as text or numbers ({error}).") from error
    try:
        ordered = sorted(found)
    except TypeError:  # mixed types have no order of their own
        ordered = sorted(found, key=lambda name: (type(name).__name__, str(name)))
    code_of = {name: code for code, name in enumerate(ordered)}
    codes = np.fromiter(map(code_of.__getitem__, every), dtype=np.int32, count=len(every))
    if all(isinstance(name, str) for name in ordered):
        return np.array(ordered, dtype=str), codes
    names = np.empty(len(ordered), dtype=object)
    names[:] = ordered
    return names, codes


def find_missing(values: AnyArray) -> AnyArray:
    """Say which values are missing: None, NaN, NaT, pandas' NA."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind in "mM":
        return np.isnat(values)
    if values.dtype == object and any(map(_is_missing, _distinct(values))):
        return np.fromiter(map(_is_missing, values), dtype=bool, count=len(values))
    return np.zeros(len(values), dtype=bool)


def _distinct(values: AnyArray) -> Iterable[Any]:
    """The values without repetition, where that is cheap to have."""
    try:
        return set(values.tolist())
    except TypeError:  # values that cannot be looked up
        return values


def _is_missing(value: Any) -> bool:
    # NaN, NaT and pandas' NA are the values that do not equal themselves.
    return value is None or _unequal_to_itself(value)


def _unequal_to_itself(value: Any) -> bool:
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas.NA refuses to be a bool
        return True


def looks_like_groups(values: Any) -> str:
    """Name the groups of a column that looks like one of groups (few different values); otherwise no text."""
    if values is None:
        return ""
    try:
        column = to_column(values)
        found, _ = factorize(column, "y")
    except (InvalidInputError, TypeError, ValueError):
        return ""
    is_group_like = 1 < len(found) <= min(_FEW, len(column) // 2)
    return f"{len(found)} different values ({listed(found.tolist())})" if is_group_like else ""


def listed(names: Sequence[Any]) -> str:
    """Some names for a message."""
    shown = ", ".join(repr(name.item() if isinstance(name, np.generic) else name) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


def named_rows(rows: IntArray) -> str:
    """Some row numbers for a message."""
    shown = ", ".join(str(row) for row in rows[:2])
    word = "row" if len(rows) == 1 else "rows"
    return f"{word} {shown}" if len(rows) <= 2 else f"{word} {shown} and {len(rows) - 2} more"
