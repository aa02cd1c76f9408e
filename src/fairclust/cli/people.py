"""The people of a file: read, turned into numbers and groups, and every choice told."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass

import numpy as np
import polars

from .._people.attributes import read_options
from .._typing import AnyArray, FloatArray
from ..errors import InvalidInputError
from .columns import (
    Choice,
    Prepared,
    choose_features,
    group_arrays,
    names_in,
    prepare,
    read_groups,
    read_weights,
    rows_without_group,
)
from .requests import MISSING_POLICIES, Source
from .screen import note
from .summary import listed
from .tables import FileTable, read_table
from .timing import Stages


@dataclass(frozen=True)
class People:
    """The rows of a file, ready to be clustered."""

    table: FileTable
    choice: Choice
    prepared: Prepared
    groups: dict[str, AnyArray]
    sensitive: tuple[str, ...]
    remarks: tuple[str, ...]
    weights: FloatArray | None = None


def load_people(source: Source, stages: Stages) -> People:
    """Read the file and turn its columns into numbers and groups."""
    if source.missing not in MISSING_POLICIES:
        raise InvalidInputError(f"--missing {source.missing!r} is not known. Choose {', '.join(MISSING_POLICIES)}.")
    with stages.stage("read", f"Reading {source.file.name}"):
        table = read_table(source.file, delimiter=source.delimiter, encoding=source.encoding, decimal=source.decimal)
    with stages.stage("prepare", "Preparing the columns"):
        sensitive = tuple(names_in(source.sensitive, table))
        options = read_options(source.groups)
        groups, remarks = read_groups(table, sensitive, options)
        weights = read_weights(table, source.weight)
        apart = sensitive if source.weight is None else (*sensitive, source.weight)
        choice = choose_features(
            table, features=source.features, encode=source.encode, exclude=source.exclude, sensitive=apart
        )
        lacking = rows_without_group(groups, options)
        lacking = lacking if weights is None else lacking | np.isnan(weights)
        prepared = prepare(table, choice, lacking, missing=source.missing, standardize=source.standardize)
        used = group_arrays(groups if prepared.used.all() else groups.filter(polars.Series(prepared.used)))
        if weights is not None:
            weights = weights[prepared.used]
            remarks = (*remarks, f"Every row counts with its weight in {source.weight}.")
    return People(table, choice, prepared, used, sensitive, remarks, weights)


def tell_people(people: People) -> None:
    """Say which columns were used, which were not and why, and what was done to them."""
    dialect = people.table.dialect
    written = ""
    if dialect is not None:
        sign = {"\t": "tab", " ": "space"}.get(dialect.delimiter, dialect.delimiter)
        comma = ", decimal comma" if dialect.decimal_comma else ""
        written = f" (delimiter {sign}, {dialect.encoding.replace('utf-8-sig', 'utf-8')}{comma})"
    note(f"{people.table.path.name}: {people.table.frame.height} rows, {people.table.frame.width} columns{written}.")
    note(f"Features: {listed(people.choice.numeric + people.choice.encoded, 10_000)}.")
    for reason, names in _by_reason(people).items():
        if reason != "sensitive":
            hint = " (--encode turns each value into a 0/1 feature)" if reason == "text" else ""
            note(f"Left out, {reason}: {listed(names)}{hint}.")
    for remark in (*people.remarks, *people.choice.remarks, *people.prepared.remarks):
        note(remark)


def remarks_on(people: People) -> list[str]:
    """Give every sentence on what was done to the data, for reports."""
    left_out = [f"Left out, {reason}: {listed(names, 30)}." for reason, names in _by_reason(people).items()]
    features = f"Features: {listed(people.choice.numeric + people.choice.encoded, 10_000)}."
    return [features, *left_out, *people.remarks, *people.choice.remarks, *people.prepared.remarks]


def _by_reason(people: People) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, reason in people.choice.ignored.items():
        found.setdefault(reason, []).append(name)
    return found


def typed_command() -> str:
    """Give the command line of this process, ready to be pasted."""
    return shlex.join(["fairclust", *sys.argv[1:]])
