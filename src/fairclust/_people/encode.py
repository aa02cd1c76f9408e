"""Sensitive features → who is in which group, and what is wanted: the door of this room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._typing import AnyArray, FloatArray, IntArray
from ..errors import InvalidInputError
from .attributes import (
    IGNORED,
    MISSING_NAME,
    MOST_GROUPS,
    Attribute,
    Attributes,
    Cells,
    Column,
    Groups,
    Population,
    cells_of_digits,
    combined_digits,
    distinct_rows,
    membership_digits,
    missing_values_message,
)
from .bins import bins_of_columns, quantiles, range_names, to_numbers
from .columns import Columns, as_columns, factorize, find_missing, listed, to_column
from .targets import target_of, target_of_attribute, targets_by_attribute

_BETWEEN = " & "  # groups of an intersection


@dataclass(frozen=True)
class EncodedGroups:
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
) -> EncodedGroups:
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
    groups : EncodedGroups
    """
    values = to_column(sensitive_features, argument)
    names, codes = factorize(values, argument)
    mass = np.bincount(codes, weights=weights, minlength=len(names)).astype(float)
    if mass.sum() <= 0:
        raise InvalidInputError("sample_weight is zero everywhere. Give at least one row a positive weight.")
    return EncodedGroups(codes, names, target_of(target_proportions, names, mass / mass.sum()))


def encode_people(
    sensitive_features: Any,
    *,
    options: Groups | None = None,
    target_proportions: Any = None,
    weights: FloatArray | None = None,
    n_clusters: int | None = None,
    argument: str = "sensitive_features",
) -> Population:
    """Encode all sensitive attributes and their targets.

    Parameters
    ----------
    sensitive_features : column, data frame, 2-D array, dict of columns, or Columns
        One column per attribute. A 2-D table of booleans with several columns is a membership matrix: one attribute,
        a column per group, and a person may be in several groups or in none.
    options : Groups or None
        How columns become groups.
    target_proportions : mapping, array-like or None
        One attribute: shares by group name, or in the order of the groups, or one row of shares per cluster. Several:
        a dict {attribute: shares}. None, or an attribute that is not named: the data's own shares.
    weights : ndarray of shape (n_samples,) or None
        Sample weights, for the data's shares and quantiles.
    n_clusters : int or None
        Rows that a target per cluster must have.
    argument : str
        How messages call the values.

    Returns
    -------
    population : Population
    """
    options = options or Groups()
    if weights is not None and not weights.sum() > 0:
        raise InvalidInputError("sample_weight is zero everywhere. Give at least one row a positive weight.")
    table = as_columns(sensitive_features, argument)
    made = _attributes(table, options, weights, argument)
    cells = cells_of_digits(
        tuple(attribute for attribute, _ in made), [digit for _, digits in made for digit in digits]
    )
    wanted = targets_by_attribute(
        target_proportions, [one.name for one, _ in made], _groups_by_label([one for one, _ in made])
    )
    mass = cells.group_masses(weights)
    attributes, first = [], 0
    for (attribute, _), target in zip(made, wanted, strict=True):
        own = mass[first : first + attribute.n_columns]
        attributes.append(
            replace(
                attribute,
                target=target_of_attribute(
                    target,
                    attribute.name,
                    attribute.names,
                    own,
                    overlaps=attribute.is_overlapping,
                    n_clusters=n_clusters,
                    argument=argument,
                ),
            )
        )
        first += attribute.n_columns
    return Population(Attributes(tuple(attributes)), cells)


def everyone(n_samples: int) -> Population:
    """One attribute with one group: plain clustering."""
    names = np.array(["all"])
    attribute = Attribute("group", names, np.ones(1), (Column("group", names),))
    codes = np.zeros(n_samples, dtype=np.int32)
    cells = Cells(codes, np.ones((1, 1)), np.ones(1, dtype=bool), np.array([n_samples]))
    return Population(Attributes((attribute,)), cells, has_groups=False)


def _attributes(
    table: Columns, options: Groups, weights: FloatArray | None, argument: str
) -> list[tuple[Attribute, list[IntArray]]]:
    """The attributes without their targets, and what tells people apart: digits of one attribute after the other."""
    if table.is_membership:
        return [_overlapping(table, options, argument)]
    bins = bins_of_columns(options.bins, table.names)
    columns, codes = [], []
    for name, values, n_bins in zip(table.names, table.columns, bins, strict=True):
        column, own = _column(name, values, n_bins, options.missing, weights, argument)
        columns.append(column)
        codes.append(own)
    if options.intersections and len(columns) > 1:
        attribute = _intersection(columns, codes)
        return [(attribute, [combined_digits(attribute, codes)])]
    return [
        (Attribute(column.name, column.names, columns=(column,)), [own])
        for column, own in zip(columns, codes, strict=True)
    ]


def _overlapping(table: Columns, options: Groups, argument: str) -> tuple[Attribute, list[IntArray]]:
    digits = [membership_digits(values, options.missing, argument) for values in table.columns]
    names = np.array(table.names, dtype=str)
    if options.intersections:
        raise InvalidInputError(
            f"Groups(intersections=True), but {argument} is a membership matrix. Pass the columns as text to "
            "intersect them."
        )
    n_groups = sum((digit == 0).astype(np.int32) for digit in digits)
    is_partition = all((digit >= 0).all() for digit in digits) and bool(np.all(n_groups == 1))
    # Where everyone is in one group, the matrix is a column written out, and is treated as such.
    return Attribute("group", names, is_overlapping=not is_partition), digits


def _column(
    name: str, values: AnyArray, n_bins: int | None, missing: str, weights: FloatArray | None, argument: str
) -> tuple[Column, IntArray]:
    """How a column becomes codes, and its codes."""
    absent = find_missing(values)
    if absent.any() and missing == "error":
        raise InvalidInputError(missing_values_message(argument, name, absent))
    if absent.all():
        raise InvalidInputError(f"{argument} has no value at all in column {name!r}. Leave the column out.")
    held = slice(None) if not absent.any() else np.flatnonzero(~absent)
    codes = np.full(len(values), IGNORED, dtype=np.int32)
    edges = None
    if n_bins is None:
        names, codes[held] = factorize(values[held], argument)
        _check_few(name, names, len(values), argument)
    else:
        numbers = to_numbers(values[held], name, argument)
        edges = quantiles(numbers, None if weights is None else weights[held], n_bins)
        names, codes[held] = range_names(edges), np.searchsorted(edges, numbers, side="right")
    if absent.any() and missing == "own":
        if MISSING_NAME in names.tolist():
            raise InvalidInputError(
                f"groups=Groups(missing='own') calls the missing values {MISSING_NAME!r}, and column {name!r} has a "
                "group of that name. Rename it."
            )
        codes[absent] = len(names)
        names = np.array([*names.tolist(), MISSING_NAME], dtype=str if names.dtype.kind == "U" else object)
    return Column(name, names, edges, missing), codes


def _check_few(name: str, names: AnyArray, n_people: int, argument: str) -> None:
    """Refuse a column that is no column of groups, before tables are made of it."""
    if len(names) <= MOST_GROUPS:
        return
    column = argument if name == "group" else f"column {name!r} of {argument}"
    way_out = (
        f"It holds numbers: cut them into a few ranges with groups=Groups(bins={{{name!r}: 4}})."
        if names.dtype.kind in "iuf"
        else "Pass a column of groups, or join its values into fewer."
    )
    raise InvalidInputError(
        f"{column} has {len(names)} different values for {n_people} people; at most {MOST_GROUPS} groups are "
        f"supported. {way_out}"
    )


def _intersection(columns: Sequence[Column], codes: Sequence[IntArray]) -> Attribute:
    """One attribute: the combinations that occur among people who count in every column."""
    counted = np.all([own >= 0 for own in codes], axis=0)
    if not counted.any():
        raise InvalidInputError("groups=Groups(missing='ignore') leaves nobody: everyone lacks a value in some column.")
    combinations = distinct_rows([own[counted] for own in codes]).rows
    if len(combinations) > MOST_GROUPS:
        raise InvalidInputError(
            f"Groups(intersections=True) makes {len(combinations)} combinations of "
            f"{listed([c.name for c in columns])}; at most {MOST_GROUPS} groups are supported. "
            "Leave columns out, or balance each by itself "
            "(Groups(intersections=False))."
        )
    texts = [_BETWEEN.join(str(c.names[i]) for c, i in zip(columns, row, strict=True)) for row in combinations]
    name = " × ".join(column.name for column in columns)
    return Attribute(name, np.array(texts, dtype=str), columns=tuple(columns), combinations=combinations)


def _groups_by_label(attributes: Sequence[Attribute]) -> dict[Any, tuple[str, Any]]:
    """Attribute and group behind every ``attribute=group``."""
    return {
        label: (attribute.name, name)
        for attribute in attributes
        for label, name in zip(attribute.labels(False), attribute.names, strict=True)
    }
