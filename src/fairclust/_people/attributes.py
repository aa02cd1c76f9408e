"""Several sensitive attributes of every person → cells, a membership table, targets. Knows columns, not clusters.

A *column* is what the user gave: values, one per person. An *attribute* is what has a target: a column, the
intersection of several columns, or a matrix of groups that may overlap. A *cell* is a combination of groups that
occurs: people of one cell are alike to every attribute, so points are indexed by cell and by nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._memory import free_memory
from .._typing import AnyArray, FloatArray, IntArray
from ..errors import InvalidInputError
from .bins import to_numbers
from .columns import Columns, as_columns, factorize, find_missing, listed, named_rows
from .targets import target_of_attribute

IGNORED = -1  # code of a person who does not count in a column
UNKNOWN = -2  # code of a group that was never seen
MISSING_NAME = "missing"
MOST_GROUPS = 1000  # of one attribute: nobody reads more, and the table of cells by groups grows as the square
_ROOM = 0.25  # of the free memory, for the table of cells by groups; a fit holds it and one of clusters by cells
_SMALL = 1 << 12  # bytes of a table that there is room for in any case: to ask takes as long as to make it
_FEW_KEYS = 1 << 22  # up to so many, keys are looked up in a table instead of sorted
_VERY_FEW_KEYS = 8  # up to so many, comparing with each is faster than counting them side by side


@dataclass(frozen=True)
class Groups:
    """How sensitive columns become groups: one record for estimators, ``audit``, ``repair`` and the others.

    Parameters
    ----------
    intersections : bool, default=False
        One attribute, whose groups are the combinations of the columns' groups that occur.
    bins : int, dict or None, default=None
        How many groups of about equal weight a numeric column is cut into; {column: number} with several columns.
    missing : {"error", "own", "ignore"}, default="error"
        What a missing value is: an error, a group of its own, or a person who does not count in this attribute.
    unknown : {"error", "nearest"}, default="error"
        What ``predict`` does with people of a group that ``fit`` did not see: an error, or the nearest centre.

    Examples
    --------
    >>> from fairclust import FairKMeans, Groups
    >>> model = FairKMeans(4, groups=Groups(bins={"age": 4}, missing="own"))
    >>> model.groups.bins
    {'age': 4}
    """

    intersections: bool = False
    bins: Any = None
    missing: str = "error"
    unknown: str = "error"

    def __post_init__(self) -> None:
        """Check what needs no data."""
        if self.intersections not in (True, False):
            raise InvalidInputError(f"Groups(intersections={self.intersections!r}), but True or False is needed.")
        if self.missing not in ("error", "own", "ignore"):
            raise InvalidInputError(f"Groups(missing={self.missing!r}), but 'error', 'own' or 'ignore' is needed.")
        if self.unknown not in ("error", "nearest"):
            raise InvalidInputError(f"Groups(unknown={self.unknown!r}), but 'error' or 'nearest' is needed.")


def read_options(groups: Any) -> Groups:
    """What ``groups=`` means; None: the defaults."""
    if groups is None:
        return Groups()
    if not isinstance(groups, Groups):
        raise InvalidInputError(
            f"groups={groups!r} is no record of options. Pass Groups(...), for example "
            "Groups(missing='own'); sensitive columns go to sensitive_features=."
        )
    return groups


@dataclass(frozen=True)
class Column:
    """How the values of one column become codes.

    Attributes
    ----------
    name : str
    names : ndarray of shape (n_groups,)
        The groups: sorted values, or ranges from small to large; the group of missing values is the last.
    edges : ndarray or None
        Where the ranges of a numeric column meet.
    missing_groups : str
        See :class:`Groups`.
    """

    name: str
    names: AnyArray
    edges: FloatArray | None = None
    missing_groups: str = "error"

    def encode(self, values: AnyArray, argument: str = "sensitive_features") -> IntArray:
        """Code of each value; ``IGNORED`` where it does not count, ``UNKNOWN`` where the group was never seen."""
        codes = np.full(len(values), UNKNOWN, dtype=np.int32)
        absent = find_missing(values)
        if absent.any() and self.missing_groups == "error":
            raise InvalidInputError(missing_values_message(argument, self.name, absent))
        known = {name: code for code, name in enumerate(self.names.tolist())}
        if self.missing_groups == "ignore":
            codes[absent] = IGNORED
        elif MISSING_NAME in known:
            codes[absent] = known[MISSING_NAME]
        held = np.flatnonzero(~absent)
        if self.edges is not None:
            codes[held] = np.searchsorted(self.edges, to_numbers(values[held], self.name, argument), side="right")
        elif len(held):
            found, place = factorize(values[held], argument)
            codes[held] = np.array([known.get(name, UNKNOWN) for name in found.tolist()], dtype=np.int32)[place]
        return codes


@dataclass(frozen=True)
class Attribute:
    """One sensitive attribute: its groups and their target.

    Attributes
    ----------
    name : str
    names : ndarray of shape (n_groups,)
        The groups' names.
    target : ndarray of shape (n_groups,) or (n_clusters, n_groups)
        The wanted shares.
    columns : tuple of Column
        What it is read from; none for a matrix of overlapping groups.
    combinations : ndarray of shape (n_groups, n_columns) or None
        The columns' codes behind each group of an intersection.
    is_overlapping : bool
        Whether a person may be in several of the groups, or in none.
    """

    name: str
    names: AnyArray
    target: FloatArray = field(default_factory=lambda: np.zeros(0))
    columns: tuple[Column, ...] = ()
    combinations: IntArray | None = None
    is_overlapping: bool = False

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.names)

    @property
    def n_columns(self) -> int:
        """Columns of the membership table: a group each, and one for everyone where groups overlap."""
        return self.n_groups + self.is_overlapping

    def labels(self, is_alone: bool) -> list[Any]:
        """Names for a table with the groups of all attributes: as they are, or as ``attribute=group``."""
        return self.names.tolist() if is_alone else [f"{self.name}={name}" for name in self.names.tolist()]


@dataclass(frozen=True)
class Cells:
    """The cell of every person, and what each cell is a member of.

    Attributes
    ----------
    codes : ndarray of shape (n_samples,), int32
    membership : ndarray of shape (n_cells, n_columns)
        0 or 1; the attributes' columns stand side by side.
    is_known : ndarray of shape (n_cells,), bool
        Whether the cell's groups were all seen when the attributes were made.
    counts : ndarray of shape (n_cells,)
        People of each cell.
    """

    codes: IntArray
    membership: FloatArray
    is_known: AnyArray
    counts: IntArray

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.membership)

    def group_masses(self, weights: FloatArray | None) -> FloatArray:
        """People of each group, or their weight, (n_columns,)."""
        own = self.counts if weights is None else np.bincount(self.codes, weights=weights, minlength=self.n_cells)
        return np.asarray(own @ self.membership)


@dataclass(frozen=True)
class Attributes:
    """All sensitive attributes, as :func:`encode_people` made them; encodes other people in the same way."""

    listed: tuple[Attribute, ...]

    def __iter__(self) -> Any:
        return iter(self.listed)

    def __len__(self) -> int:
        return len(self.listed)

    @property
    def names(self) -> AnyArray:
        """The groups of all attributes: as they are for one, ``attribute=group`` for several."""
        if len(self) == 1:
            return self.listed[0].names
        return np.array([label for attribute in self for label in attribute.labels(False)], dtype=str)

    @property
    def target(self) -> FloatArray:
        """The wanted shares of all groups, (n_groups,); (n_clusters, n_groups) where clusters want different mixes."""
        targets = [attribute.target for attribute in self]
        n_rows = max((len(target) for target in targets if target.ndim == 2), default=0)
        if n_rows:
            targets = [np.broadcast_to(target, (n_rows, target.shape[-1])) for target in targets]
        return np.concatenate(targets, axis=-1)

    @property
    def n_groups(self) -> int:
        """Groups of all attributes."""
        return sum(attribute.n_groups for attribute in self)

    @property
    def is_trivial(self) -> bool:
        """Whether no attribute tells people apart."""
        return all(attribute.n_columns == 1 for attribute in self)

    @property
    def parts(self) -> list[tuple[FloatArray, bool]]:
        """Target of each attribute, and whether its groups overlap: what a fairness term is made of."""
        return [(attribute.target, attribute.is_overlapping) for attribute in self]

    @property
    def group_columns(self) -> IntArray:
        """Columns of the membership table that are groups: all but those that count everyone."""
        ends = np.cumsum([attribute.n_columns for attribute in self])
        is_group = np.ones(ends[-1], dtype=bool)
        is_group[[end - 1 for end, attribute in zip(ends, self, strict=True) if attribute.is_overlapping]] = False
        return np.flatnonzero(is_group)

    def encode(self, sensitive_features: Any, argument: str = "sensitive_features") -> Cells:
        """Cells of other people."""
        table = as_columns(sensitive_features, argument)
        n_columns = sum(len(attribute.columns) or attribute.n_groups for attribute in self)
        if len(table.columns) != n_columns:
            raise InvalidInputError(
                f"{argument} has {len(table.columns)} columns, but fit() saw {n_columns}. Pass the same columns."
            )
        table = self._in_order(table, argument)
        digits, first = [], 0
        for attribute in self:
            width = len(attribute.columns) or attribute.n_groups
            digits += digits_of(attribute, table.columns[first : first + width], argument)
            first += width
        return cells_of_digits(self.listed, digits)

    def reshared(self, cells: Cells, weights: FloatArray | None) -> Attributes:
        """The same attributes with the shares of other people as the target."""
        mass = cells.group_masses(weights)
        attributes, first = [], 0
        for attribute in self:
            own = mass[first : first + attribute.n_columns]
            first += attribute.n_columns
            attributes.append(
                replace(
                    attribute,
                    target=target_of_attribute(
                        None,
                        attribute.name,
                        attribute.names,
                        own,
                        overlaps=attribute.is_overlapping,
                        n_clusters=None,
                        argument="sensitive_features",
                    ),
                )
            )
        return Attributes(tuple(attributes))

    def unknown(self, sensitive_features: Any, argument: str = "sensitive_features") -> str:
        """A sentence on the groups of other people that were never seen."""
        table = self._in_order(as_columns(sensitive_features, argument), argument)
        first = 0
        for attribute in self:
            columns = table.columns[first : first + (len(attribute.columns) or attribute.n_groups)]
            first += len(columns)
            for column, values in zip(attribute.columns, columns, strict=False):
                strange = np.flatnonzero(column.encode(values, argument) == UNKNOWN)
                if len(strange):
                    where = "" if len(self) == 1 and attribute.combinations is None else f" in column {column.name!r}"
                    names = list(dict.fromkeys(MISSING_NAME if v is None else v for v in values[strange].tolist()))
                    return (
                        f"{argument} has {listed(names)}{where}, which fit() did not see. "
                        f"Known groups: {listed(column.names.tolist())}."
                    )
        return f"{argument} has combinations of groups that fit() did not see."

    def _in_order(self, table: Columns, argument: str) -> Columns:
        """Columns as fit() saw them, where both have names."""
        wanted = [name for a in self for name in ([c.name for c in a.columns] or a.names.tolist())]
        if not table.is_named or list(table.names) == wanted or set(table.names) != set(wanted):
            return table
        place = {name: i for i, name in enumerate(table.names)}
        return replace(table, names=tuple(wanted), columns=tuple(table.columns[place[name]] for name in wanted))


@dataclass(frozen=True)
class Population:
    """Everyone: the attributes, the cell of each person, and whether there were any groups to read."""

    attributes: Attributes
    cells: Cells
    has_groups: bool = True


def combined_digits(attribute: Attribute, codes: Sequence[IntArray]) -> IntArray:
    """Group of each person in an intersection."""
    assert attribute.combinations is not None
    found = distinct_rows(codes)
    known = {tuple(row): code for code, row in enumerate(attribute.combinations.tolist())}
    table = [
        UNKNOWN if UNKNOWN in row else IGNORED if IGNORED in row else known.get(tuple(row), UNKNOWN)
        for row in found.rows.tolist()
    ]
    return np.array(table, dtype=np.int32)[found.place]


def digits_of(attribute: Attribute, columns: Sequence[AnyArray], argument: str) -> list[IntArray]:
    """What an attribute knows of other people: a code each, or a membership per group."""
    if not attribute.columns:
        return [
            membership_digits(values, "ignore" if attribute.is_overlapping else "error", argument) for values in columns
        ]
    codes = [column.encode(values, argument) for column, values in zip(attribute.columns, columns, strict=True)]
    return codes if attribute.combinations is None else [combined_digits(attribute, codes)]


def membership_digits(values: AnyArray, missing: str, argument: str) -> IntArray:
    """0 for members and 1 for others, so that cells of one group each come out in the groups' order."""
    absent = find_missing(values)
    if absent.any() and missing != "ignore":
        raise InvalidInputError(
            f"{argument} is a membership matrix with missing values in {named_rows(np.flatnonzero(absent))}. Fill "
            "them in, drop these rows, or use groups=Groups(missing='ignore')."
        )
    outside = np.full(len(values), IGNORED, dtype=np.int32)
    outside[~absent] = ~values[~absent].astype(bool)
    return outside


def cells_of_digits(attributes: tuple[Attribute, ...], digits: Sequence[IntArray]) -> Cells:
    """Number the combinations of digits that occur, and write down what each is a member of."""
    found = distinct_rows(digits)
    rows = found.rows
    _check_room(len(rows), sum(attribute.n_columns for attribute in attributes))
    blocks, first = [], 0
    for attribute in attributes:
        if attribute.columns:
            own, first = rows[:, first], first + 1
            block = np.zeros((len(rows), attribute.n_groups))
            counted = np.flatnonzero(own >= 0)
            block[counted, own[counted]] = 1.0
        else:
            own, first = rows[:, first : first + attribute.n_groups], first + attribute.n_groups
            # One who lacks a value does not count in any of the groups.
            counts = (own >= 0).all(axis=1, keepdims=True)
            block = (own == 0) * counts.astype(float)
            block = np.concatenate((block, counts), axis=1) if attribute.is_overlapping else block
        blocks.append(block)
    return Cells(found.place, np.concatenate(blocks, axis=1), ~(rows == UNKNOWN).any(axis=1), found.counts)


def _check_room(n_cells: int, n_columns: int) -> None:
    """Refuse tables of cells by groups that would take most of the memory, before they are made."""
    needed = 8.0 * n_cells * n_columns
    if needed > _SMALL and needed > _ROOM * free_memory():
        raise InvalidInputError(
            f"sensitive_features has {n_cells} combinations of {n_columns} groups, and a table of them would take "
            f"{needed / 2**30:.1f} GiB. Use fewer attributes, or cut numbers into ranges with Groups(bins=…)."
        )


@dataclass(frozen=True)
class Combinations:
    """Combinations of digits that occur.

    Attributes
    ----------
    rows : ndarray of shape (n_found, n_digits)
        Sorted.
    place : ndarray of shape (n_samples,), int32
        Which one each person has.
    counts : ndarray of shape (n_found,)
        How many people have it.
    """

    rows: IntArray
    place: IntArray
    counts: IntArray


def distinct_rows(digits: Sequence[IntArray]) -> Combinations:
    """Find the combinations of digits that occur."""
    none = np.zeros(0, dtype=np.int32)
    found = Combinations(np.zeros((1, 0), dtype=np.int32), none, none)
    for digit in digits:
        base = int(digit.max(initial=0)) - UNKNOWN + 1
        n_keys = len(found.rows) * base
        if len(found.rows) == 1:
            key = digit - UNKNOWN
        else:
            key = found.place if n_keys <= np.iinfo(np.int32).max else found.place.astype(np.int64)
            key *= base  # in place: there are as many as people
            key += digit
            key -= UNKNOWN
        keys = _distinct_keys(key, n_keys)
        rows = np.column_stack((found.rows[keys.rows // base], (keys.rows % base + UNKNOWN).astype(np.int32)))
        found = replace(keys, rows=rows)
    return found


def _distinct_keys(key: IntArray, n_keys: int) -> Combinations:
    """Find the keys that occur, (n_found,); the numbers of those may be written over the keys."""
    if n_keys > _FEW_KEYS:
        found, inverse, counts = np.unique(key, return_inverse=True, return_counts=True)
        return Combinations(found, inverse.astype(np.int32), counts)
    if n_keys <= _VERY_FEW_KEYS:
        counts = np.array([np.count_nonzero(key == one) for one in range(n_keys)])
    else:
        counts = np.bincount(key, minlength=n_keys)
    found = np.flatnonzero(counts)
    if len(found) and found[-1] - found[0] + 1 == len(found):  # none in between is missing: no need to look them up
        key -= found[0]
        return Combinations(found, key, counts[found])
    number = np.zeros(n_keys, dtype=np.int32)
    number[found] = np.arange(len(found))
    return Combinations(found, number.take(key), counts[found])


def missing_values_message(argument: str, name: str, absent: AnyArray) -> str:
    """What is said of missing groups where they are an error."""
    column = "" if name == "group" else f" of column {name!r}"
    return (
        f"{argument} has missing values in {named_rows(np.flatnonzero(absent))}{column}. Drop these rows, or give them "
        "a group of their own (groups=Groups(missing='own')), or leave them out of the count "
        "(groups=Groups(missing='ignore'))."
    )
