"""Columns of sensitive features → codes, names, target. The only place that knows what a data frame is.

Groups are named, sorted and stable: code j is the j-th name in sorted order, whatever order the rows come in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from .._typing import AnyArray, FloatArray, IntArray
from ..errors import InvalidInputError

_PROBE = 1 << 14  # rows looked at first for the names of the groups
_FEW = 64  # up to so many names, comparing with each is faster than sorting


@dataclass(frozen=True)
class Groups:
    """One sensitive attribute of every point.

    Attributes
    ----------
    codes : ndarray of shape (n_samples,), int32
        Group of each point.
    names : ndarray of shape (n_groups,)
        The groups' names, sorted.
    target : ndarray of shape (n_groups,)
        The wanted share of each group in every cluster.
    """

    codes: IntArray
    names: AnyArray
    target: FloatArray

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.names)


def encode_groups(
    sensitive_features: Any,
    *,
    target_proportions: Mapping[Any, float] | Sequence[float] | FloatArray | None = None,
    weights: FloatArray | None = None,
    argument: str = "sensitive_features",
) -> Groups:
    """Encode one sensitive attribute and its target.

    Parameters
    ----------
    sensitive_features : array-like or series of shape (n_samples,)
        One value per point. NumPy arrays, lists, pandas, polars and pyarrow columns.
    target_proportions : mapping, sequence or None
        Shares by group name, or in sorted group order. None: the data's own shares.
    weights : ndarray of shape (n_samples,) or None
        Sample weights, for the data's shares.
    argument : str
        How messages call the values.

    Returns
    -------
    groups : Groups
    """
    values = to_column(sensitive_features, argument)
    names, codes = factorize(values, argument)
    mass = np.bincount(codes, weights=weights, minlength=len(names)).astype(float)
    if mass.sum() <= 0:
        raise InvalidInputError("sample_weight is zero everywhere. Give at least one row a positive weight.")
    return Groups(codes, names, target_of(target_proportions, names, mass / mass.sum()))


@dataclass(frozen=True)
class Table:
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


def read_table(values: Any, argument: str = "sensitive_features") -> Table:
    """One or several columns: a series, list, data frame, 2-D array or dict of columns.

    A table of booleans with several columns is a membership matrix.
    """
    native = nw.from_native(values, allow_series=True, pass_through=True)
    is_named = True
    if isinstance(native, nw.DataFrame):
        named = {str(name): _from_series(native[name]) for name in native.columns}
        kinds = [native[name].dtype == nw.Boolean for name in native.columns]
    elif isinstance(values, Mapping):
        named = {str(name): to_column(column, f"{argument}[{name!r}]") for name, column in values.items()}
        kinds = [column.dtype == bool for column in named.values()]
    else:
        array = _from_series(native) if isinstance(native, nw.Series) else _to_array(values)
        if array.ndim != 2:
            name = str(native.name) if isinstance(native, nw.Series) and native.name else "group"
            return Table((name,), (to_column(values, argument),), is_named=name != "group")
        one = array.shape[1] == 1
        named = {("group" if one else f"attribute {i}"): array[:, i] for i in range(array.shape[1])}
        kinds, is_named = [array.dtype == bool] * array.shape[1], False
        if len(named) > 1 and all(kinds):
            named = {f"group {i}": array[:, i] for i in range(array.shape[1])}
    if not named:
        raise InvalidInputError(f"{argument} has no column. Pass one column per attribute.")
    lengths = {name: len(column) for name, column in named.items()}
    if len(set(lengths.values())) > 1:
        raise InvalidInputError(f"{argument} has columns of different lengths: {lengths}. Pass one value per row of X.")
    return Table(tuple(named), tuple(named.values()), len(named) > 1 and all(kinds), is_named)


def to_column(values: Any, argument: str = "sensitive_features") -> AnyArray:
    """One column as a 1-D NumPy array; a data frame or 2-D array must have just one column."""
    native = nw.from_native(values, allow_series=True, pass_through=True)
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
    codes = np.full(len(values), -1, dtype=np.int32)
    if len(names) <= _FEW:
        for code, name in enumerate(names):
            codes[values == name] = code
        if codes.min(initial=0) >= 0:
            return names, codes
    names, inverse = np.unique(values, return_inverse=True)
    return names, inverse.reshape(-1).astype(np.int32)


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


def target_of(wanted: Any, names: AnyArray, shares: FloatArray, *, adds_up: bool = True) -> FloatArray:
    """Check a target, by name or in order.

    Parameters
    ----------
    wanted : mapping, array-like or None
        None: the data's shares.
    names : ndarray of shape (n_groups,)
    shares : ndarray of shape (n_groups,)
        The data's.
    adds_up : bool
        Whether the shares must add up to 1: not where groups overlap.
    """
    if wanted is None:
        return shares
    target = _target_by_name(wanted, names) if isinstance(wanted, Mapping) else _target_in_order(wanted, names)
    if not np.isfinite(target).all() or (target < 0).any() or (target > 1 + 1e-6).any():
        raise InvalidInputError(f"target_proportions must be shares between 0 and 1, but holds {wanted!r}.")
    if adds_up and abs(target.sum() - 1.0) > 1e-6:
        raise InvalidInputError(
            f"target_proportions adds up to {target.sum():.6g}, not 1: {wanted!r}. Divide each share by that sum."
        )
    impossible = np.flatnonzero((target > 0) & (shares <= 0))
    if len(impossible):
        raise InvalidInputError(
            f"target_proportions gives {target[impossible[0]]:.2f} to group {names[impossible[0]]!r}, which has no "
            "weight in the data, so no clustering can reach it. Set its share to 0."
        )
    return target / target.sum() if adds_up else target


def _target_by_name(wanted: Mapping[Any, float], names: AnyArray) -> FloatArray:
    groups = names.tolist()
    by_text = {str(name): name for name in groups}
    shares = {name if name in groups else by_text.get(str(name), name): share for name, share in wanted.items()}
    unknown = [name for name in shares if name not in groups]
    if unknown:
        raise InvalidInputError(
            f"target_proportions names {listed(unknown)}, but the groups are {listed(groups)}. "
            "Use the groups' names as they are in sensitive_features."
        )
    absent = [name for name in groups if name not in shares]
    if absent:
        raise InvalidInputError(
            f"target_proportions has no share for {listed(absent)}. Give every group a share (0 is allowed)."
        )
    return np.array([float(shares[name]) for name in groups])


def _target_in_order(wanted: Any, names: AnyArray) -> FloatArray:
    target = np.asarray(wanted, dtype=float)
    if target.shape != (len(names),):
        raise InvalidInputError(
            f"target_proportions has shape {target.shape}, but there are {len(names)} groups: "
            f"{listed(names.tolist())}. Give one share per group, in this order, or a dict {{group: share}}."
        )
    return target


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
