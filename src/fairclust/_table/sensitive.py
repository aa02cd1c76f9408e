"""Sensitive features that are columns of X, and series that must lie beside X row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw

from .._people.columns import as_native, listed
from ..errors import InvalidInputError


@dataclass(frozen=True)
class Beside:
    """X without the columns that are sensitive, those columns, and their names (none: they came from elsewhere)."""

    X: Any
    sensitive_features: Any
    names: tuple[str, ...] = ()


def apart(X: Any, sensitive_features: Any, remembered: tuple[str, ...] = ()) -> Beside:
    """Take sensitive features that are named, as columns of the data frame X, out of it; check the rows otherwise.

    Parameters
    ----------
    X : data frame or anything else
    sensitive_features : str, list of str, or the features themselves
        A string is the name of a column of X; so is each string of a list that has fewer of them than X has rows.
    remembered : tuple of str
        Columns that a fit took out of its X: they are left out of a new X too, where it has them.
    """
    frame = as_native(X)
    if not isinstance(frame, nw.DataFrame):
        if isinstance(sensitive_features, str):
            raise InvalidInputError(
                f"sensitive_features={sensitive_features!r} names a column, but X is not a data frame. Pass the values "
                "themselves, one per row of X."
            )
        return Beside(X, sensitive_features)
    if not _are_names(sensitive_features, frame):
        _check_index(frame, sensitive_features, "sensitive_features")
        own = [name for name in remembered if name in frame.columns]
        return Beside(frame.drop(own).to_native() if own else X, sensitive_features, tuple(own))
    names = [sensitive_features] if isinstance(sensitive_features, str) else list(sensitive_features)
    unknown = [name for name in names if name not in frame.columns]
    if unknown:
        raise InvalidInputError(
            f"sensitive_features names {unknown[0]!r}, but the columns of X are {listed(frame.columns)}."
        )
    left_out = [*names, *(name for name in remembered if name in frame.columns and name not in names)]
    columns = frame.get_column(names[0]) if len(names) == 1 else frame.select(names)
    return Beside(frame.drop(left_out).to_native(), columns.to_native(), tuple(left_out))


def _are_names(sensitive_features: Any, frame: nw.DataFrame[Any]) -> bool:
    if isinstance(sensitive_features, str):
        return True
    return (
        isinstance(sensitive_features, list | tuple)
        and 0 < len(sensitive_features) < len(frame)
        and all(isinstance(name, str) and name in frame.columns for name in sensitive_features)
    )


def _check_index(frame: nw.DataFrame[Any], values: Any, argument: str) -> None:
    """Refuse a pandas series whose index is not X's: rows would be put beside the wrong people."""
    beside = as_native(values)
    if not isinstance(beside, nw.DataFrame | nw.Series):
        return
    if not (frame.implementation.is_pandas_like() and beside.implementation.is_pandas_like()):
        return
    mine, other = frame.to_native().index, beside.to_native().index
    if len(mine) != len(other) or mine.equals(other):
        return
    what = "has the rows of X in another order" if set(mine) == set(other) else "has another index than X"
    raise InvalidInputError(
        f"{argument} {what}: the first differing row is {_first_difference(mine, other)}. Bring them together first, "
        f"as {argument}.loc[X.index], or pass {argument}.to_numpy() if the rows are in the right order already."
    )


def _first_difference(mine: Any, other: Any) -> str:
    place, (one, two) = next(
        (place, pair) for place, pair in enumerate(zip(mine, other, strict=True)) if pair[0] != pair[1]
    )
    return f"number {place}, {one!r} in X and {two!r} there"
