"""Several sensitive attributes of every person → cells, a membership table, targets. Knows columns, not clusters.

A *column* is what the user gave: values, one per person. An *attribute* is what has a target: a column, the
intersection of several columns, or a matrix of groups that may overlap. A *cell* is a combination of groups that
occurs: people of one cell are alike to every attribute, so points are indexed by cell and by nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from .._memory import free_memory
from .._typing import AnyArray, FloatArray, IntArray
from ..errors import InvalidInputError
from .columns import Table, factorize, find_missing, listed, named_rows, read_table, target_of

IGNORED = -1
UNKNOWN = -2
MISSING_NAME = "missing"
_BETWEEN = " & "  # groups of an intersection
MOST_GROUPS = 1000  # of one attribute: nobody reads more, and the table of cells by groups grows as the square
_ROOM = 0.25  # of the free memory, for the table of cells by groups; a fit holds it and one of clusters by cells
_FEW_KEYS = 1 << 22  # up to so many, keys are looked up in a table instead of sorted


@dataclass(frozen=True)
class Options:
    """How columns become groups.

    Attributes
    ----------
    intersections : bool
        One attribute, whose groups are the combinations that occur.
    missing_groups : {"error", "own", "ignore"}
        What a missing value is: an error, a group of its own, or a person who does not count in this attribute.
    quantile_bins : int, mapping or None
        How many groups a numeric column is cut into.
    """

    intersections: bool = False
    missing_groups: str = "error"
    quantile_bins: Any = None

    def __post_init__(self) -> None:
        if self.missing_groups not in ("error", "own", "ignore"):
            raise InvalidInputError(
                f"missing_groups={self.missing_groups!r}, but 'error', 'own' or 'ignore' is needed."
            )
        if self.intersections not in (True, False):
            raise InvalidInputError(f"intersections={self.intersections!r}, but True or False is needed.")


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
        See :class:`Options`.
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
            raise InvalidInputError(_missing_values(argument, self.name, absent))
        known = {name: code for code, name in enumerate(self.names.tolist())}
        if self.missing_groups == "ignore":
            codes[absent] = IGNORED
        elif MISSING_NAME in known:
            codes[absent] = known[MISSING_NAME]
        held = np.flatnonzero(~absent)
        if self.edges is not None:
            codes[held] = np.searchsorted(self.edges, _numbers(values[held], self.name, argument), side="right")
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
    """

    codes: IntArray
    membership: FloatArray
    is_known: AnyArray

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.membership)


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
        everyone = [end - 1 for end, attribute in zip(ends, self, strict=True) if attribute.is_overlapping]
        return np.setdiff1d(np.arange(ends[-1]), everyone)

    def encode(self, sensitive_features: Any, argument: str = "sensitive_features") -> Cells:
        """Cells of other people."""
        table = as_table(sensitive_features, argument)
        n_columns = sum(len(attribute.columns) or attribute.n_groups for attribute in self)
        if len(table.columns) != n_columns:
            raise InvalidInputError(
                f"{argument} has {len(table.columns)} columns, but fit() saw {n_columns}. Pass the same columns."
            )
        table = self._in_order(table, argument)
        digits, first = [], 0
        for attribute in self:
            width = len(attribute.columns) or attribute.n_groups
            digits += _digits(attribute, table.columns[first : first + width], argument)
            first += width
        return _cells(self.listed, digits)

    def reshared(self, cells: Cells, weights: FloatArray | None) -> Attributes:
        """The same attributes with the shares of other people as the target."""
        mass = np.bincount(cells.codes, weights=weights, minlength=cells.n_cells) @ cells.membership
        attributes, first = [], 0
        for attribute in self:
            own = mass[first : first + attribute.n_columns]
            first += attribute.n_columns
            attributes.append(replace(attribute, target=_target(attribute, None, own, None, "sensitive_features")))
        return Attributes(tuple(attributes))

    def unknown(self, sensitive_features: Any, argument: str = "sensitive_features") -> str:
        """A sentence on the groups of other people that were never seen."""
        table = self._in_order(as_table(sensitive_features, argument), argument)
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

    def _in_order(self, table: Table, argument: str) -> Table:
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


def encode_people(
    sensitive_features: Any,
    *,
    options: Options | None = None,
    target_proportions: Any = None,
    weights: FloatArray | None = None,
    n_clusters: int | None = None,
    argument: str = "sensitive_features",
) -> Population:
    """Encode all sensitive attributes and their targets.

    Parameters
    ----------
    sensitive_features : column, data frame, 2-D array, dict of columns, or Table
        One column per attribute. A 2-D table of booleans with several columns is a membership matrix: one attribute,
        a column per group, and a person may be in several groups or in none.
    options : Options or None
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
    options = options or Options()
    if weights is not None and not weights.sum() > 0:
        raise InvalidInputError("sample_weight is zero everywhere. Give at least one row a positive weight.")
    table = as_table(sensitive_features, argument)
    made = _attributes(table, options, weights, argument)
    cells = _cells(tuple(attribute for attribute, _ in made), [digit for _, digits in made for digit in digits])
    wanted = _by_attribute(target_proportions, [attribute for attribute, _ in made])
    mass = np.bincount(cells.codes, weights=weights, minlength=cells.n_cells) @ cells.membership
    attributes, first = [], 0
    for (attribute, _), target in zip(made, wanted, strict=True):
        own = mass[first : first + attribute.n_columns]
        attributes.append(replace(attribute, target=_target(attribute, target, own, n_clusters, argument)))
        first += attribute.n_columns
    return Population(Attributes(tuple(attributes)), cells)


def as_table(sensitive_features: Any, argument: str) -> Table:
    """Columns, read if they were not read yet."""
    return sensitive_features if isinstance(sensitive_features, Table) else read_table(sensitive_features, argument)


def everyone(n_samples: int) -> Population:
    """One attribute with one group: plain clustering."""
    names = np.array(["all"])
    attribute = Attribute("group", names, np.ones(1), (Column("group", names),))
    cells = Cells(np.zeros(n_samples, dtype=np.int32), np.ones((1, 1)), np.ones(1, dtype=bool))
    return Population(Attributes((attribute,)), cells, has_groups=False)


def _attributes(
    table: Table, options: Options, weights: FloatArray | None, argument: str
) -> list[tuple[Attribute, list[IntArray]]]:
    """The attributes without their targets, and what tells people apart: digits of one attribute after the other."""
    if table.is_membership:
        return [_overlapping(table, options, argument)]
    bins = _bins(options.quantile_bins, table)
    columns, codes = [], []
    for name, values, n_bins in zip(table.names, table.columns, bins, strict=True):
        column, own = _column(name, values, n_bins, options.missing_groups, weights, argument)
        columns.append(column)
        codes.append(own)
    if options.intersections and len(columns) > 1:
        attribute = _intersection(columns, codes)
        return [(attribute, [_combined(attribute, codes)])]
    return [
        (Attribute(column.name, column.names, columns=(column,)), [own])
        for column, own in zip(columns, codes, strict=True)
    ]


def _overlapping(table: Table, options: Options, argument: str) -> tuple[Attribute, list[IntArray]]:
    digits = [_memberships(values, options.missing_groups, argument) for values in table.columns]
    names = np.array(table.names, dtype=str)
    if options.intersections:
        raise InvalidInputError(
            f"intersections=True, but {argument} is a membership matrix. Pass the columns as text to intersect them."
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
        raise InvalidInputError(_missing_values(argument, name, absent))
    if absent.all():
        raise InvalidInputError(f"{argument} has no value at all in column {name!r}. Leave the column out.")
    held = slice(None) if not absent.any() else np.flatnonzero(~absent)
    codes = np.full(len(values), IGNORED, dtype=np.int32)
    edges = None
    if n_bins is None:
        names, codes[held] = factorize(values[held], argument)
        _check_few(name, names, len(values), argument)
    else:
        numbers = _numbers(values[held], name, argument)
        edges = _quantiles(numbers, None if weights is None else weights[held], n_bins)
        names, codes[held] = _range_names(edges), np.searchsorted(edges, numbers, side="right")
    if absent.any() and missing == "own":
        if MISSING_NAME in names.tolist():
            raise InvalidInputError(
                f"missing_groups='own' calls the missing values {MISSING_NAME!r}, and column {name!r} has a group of "
                "that name. Rename it."
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
        f"It holds numbers: cut them into a few ranges with quantile_bins={{{name!r}: 4}}."
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
        raise InvalidInputError("missing_groups='ignore' leaves nobody: everyone lacks a value in some column.")
    combinations, _ = _distinct([own[counted] for own in codes])
    if len(combinations) > MOST_GROUPS:
        raise InvalidInputError(
            f"intersections=True makes {len(combinations)} combinations of {listed([c.name for c in columns])}; "
            f"at most {MOST_GROUPS} groups are supported. Leave columns out, or balance each by itself "
            "(intersections=False)."
        )
    texts = [_BETWEEN.join(str(c.names[i]) for c, i in zip(columns, row, strict=True)) for row in combinations]
    name = " × ".join(column.name for column in columns)
    return Attribute(name, np.array(texts, dtype=str), columns=tuple(columns), combinations=combinations)


def _combined(attribute: Attribute, codes: Sequence[IntArray]) -> IntArray:
    """Group of each person in an intersection."""
    assert attribute.combinations is not None
    rows, place = _distinct(codes)
    known = {tuple(row): code for code, row in enumerate(attribute.combinations.tolist())}
    table = [
        UNKNOWN if UNKNOWN in row else IGNORED if IGNORED in row else known.get(tuple(row), UNKNOWN)
        for row in rows.tolist()
    ]
    return np.array(table, dtype=np.int32)[place]


def _digits(attribute: Attribute, columns: Sequence[AnyArray], argument: str) -> list[IntArray]:
    """What an attribute knows of other people: a code each, or a membership per group."""
    if not attribute.columns:
        return [_memberships(values, "ignore" if attribute.is_overlapping else "error", argument) for values in columns]
    codes = [column.encode(values, argument) for column, values in zip(attribute.columns, columns, strict=True)]
    return codes if attribute.combinations is None else [_combined(attribute, codes)]


def _memberships(values: AnyArray, missing: str, argument: str) -> IntArray:
    """0 for members and 1 for others, so that cells of one group each come out in the groups' order."""
    absent = find_missing(values)
    if absent.any() and missing != "ignore":
        raise InvalidInputError(
            f"{argument} is a membership matrix with missing values in {named_rows(np.flatnonzero(absent))}. Fill "
            "them in, drop these rows, or use missing_groups='ignore'."
        )
    outside = np.full(len(values), IGNORED, dtype=np.int32)
    outside[~absent] = ~values[~absent].astype(bool)
    return outside


def _cells(attributes: tuple[Attribute, ...], digits: Sequence[IntArray]) -> Cells:
    """Number the combinations of digits that occur, and write down what each is a member of."""
    rows, codes = _distinct(digits)
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
    return Cells(codes, np.concatenate(blocks, axis=1), ~(rows == UNKNOWN).any(axis=1))


def _check_room(n_cells: int, n_columns: int) -> None:
    """Refuse tables of cells by groups that would take most of the memory, before they are made."""
    needed = 8.0 * n_cells * n_columns
    if needed > _ROOM * free_memory():
        raise InvalidInputError(
            f"sensitive_features has {n_cells} combinations of {n_columns} groups, and a table of them would take "
            f"{needed / 2**30:.1f} GiB. Use fewer attributes, or cut numbers into ranges with quantile_bins."
        )


def _distinct(digits: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Combinations of digits that occur, sorted, (n_found, n_digits), and which one each person has."""
    rows = np.zeros((1, 0), dtype=np.int32)
    place = np.zeros(len(digits[0]), dtype=np.int64)
    for digit in digits:
        base = int(digit.max(initial=0)) - UNKNOWN + 1
        key = place * base + (digit - UNKNOWN)
        if len(rows) * base <= _FEW_KEYS:
            seen = np.zeros(len(rows) * base, dtype=bool)
            seen[key] = True
            found = np.flatnonzero(seen)
            number = np.zeros(len(seen), dtype=np.int64)
            number[found] = np.arange(len(found))
            place = number[key]
        else:
            found, place = np.unique(key, return_inverse=True)
        rows = np.column_stack((rows[found // base], (found % base + UNKNOWN).astype(np.int32)))
    return rows, place.astype(np.int32)


def _by_attribute(wanted: Any, attributes: Sequence[Attribute]) -> list[Any]:
    """The target that was asked for of each attribute."""
    if len(attributes) == 1:
        only = attributes[0].name
        is_nested = isinstance(wanted, Mapping) and list(wanted) == [only] and isinstance(wanted[only], Mapping)
        return [wanted[only] if is_nested else wanted]
    if wanted is None:
        return [None] * len(attributes)
    names = [attribute.name for attribute in attributes]
    if not isinstance(wanted, Mapping):
        raise InvalidInputError(
            f"target_proportions={wanted!r}, but there are {len(names)} attributes: {listed(names)}. Give a dict "
            "{attribute: shares}."
        )
    wanted = _nested(wanted, attributes)
    unknown = [name for name in wanted if str(name) not in names]
    if unknown:
        raise InvalidInputError(
            f"target_proportions names {listed(unknown)}, but the attributes are {listed(names)}. With several "
            "attributes, give a dict {attribute: shares}."
        )
    by_text = {str(name): shares for name, shares in wanted.items()}
    return [by_text.get(name) for name in names]


def _nested(wanted: Mapping[Any, Any], attributes: Sequence[Attribute]) -> Mapping[Any, Any]:
    """Shares by ``attribute=group`` → shares by attribute; what is by attribute already stays."""
    place = {label: (a.name, name) for a in attributes for label, name in zip(a.labels(False), a.names, strict=True)}
    if not wanted or not all(name in place for name in wanted):
        return wanted
    nested: dict[str, dict[Any, Any]] = {}
    for label, share in wanted.items():
        attribute, group = place[label]
        nested.setdefault(attribute, {})[group] = share
    return nested


def _target(attribute: Attribute, wanted: Any, mass: FloatArray, n_clusters: int | None, argument: str) -> FloatArray:
    total = float(mass[-1] if attribute.is_overlapping else mass.sum())
    if total <= 0:
        raise InvalidInputError(
            f"{argument}: nobody with a positive weight counts in attribute {attribute.name!r}, so it has no shares. "
            "Leave it out."
        )
    shares = mass[: attribute.n_groups] / total
    rows = _target_rows(wanted)
    if rows is None:
        return target_of(wanted, attribute.names, shares, adds_up=not attribute.is_overlapping)
    if n_clusters is not None and len(rows) != n_clusters:
        raise InvalidInputError(
            f"target_proportions has {len(rows)} rows but n_clusters={n_clusters}. Give one row of shares per cluster."
        )
    return np.stack([target_of(row, attribute.names, shares, adds_up=not attribute.is_overlapping) for row in rows])


def _target_rows(wanted: Any) -> list[Any] | None:
    """One target per cluster, if that is what was given."""
    if wanted is None or isinstance(wanted, Mapping):
        return None
    rows = list(wanted)
    is_table = bool(rows) and all(isinstance(row, Mapping) or np.ndim(row) == 1 for row in rows)
    return rows if is_table else None


def _bins(wanted: Any, table: Table) -> list[int | None]:
    """Number of ranges that each column is cut into."""
    if wanted is None:
        return [None] * len(table.names)
    if not isinstance(wanted, Mapping):
        if len(table.names) > 1:
            raise InvalidInputError(
                f"quantile_bins={wanted!r}, but there are {len(table.names)} columns: {listed(table.names)}. Give a "
                "dict {column: number of bins}."
            )
        wanted = {table.names[0]: wanted}
    unknown = [name for name in wanted if str(name) not in table.names]
    if unknown:
        raise InvalidInputError(f"quantile_bins names {listed(unknown)}, but the columns are {listed(table.names)}.")
    by_text = {str(name): number for name, number in wanted.items()}
    for name, number in by_text.items():
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 2:
            raise InvalidInputError(
                f"quantile_bins asks for {number!r} bins of column {name!r}, but a whole number ≥ 2 is needed."
            )
    return [by_text.get(name) for name in table.names]


def _quantiles(values: FloatArray, weights: FloatArray | None, n_bins: int) -> FloatArray:
    """Values where ranges of about equal weight meet; fewer where many values are alike."""
    distinct, place = np.unique(values, return_inverse=True)
    mass = np.bincount(place.reshape(-1), weights=weights, minlength=len(distinct)).astype(float)
    below = np.cumsum(mass) - mass  # weight of all smaller values
    cuts = np.arange(1, n_bins) / n_bins * mass.sum()
    # Each range starts at the value whose weight below is nearest to its share.
    at = (
        np.unique(np.abs(below[:, None] - cuts).argmin(axis=0))
        if len(distinct) <= _FEW_KEYS // n_bins
        else (np.unique(np.clip(np.searchsorted(below, cuts), 0, len(distinct) - 1)))
    )
    edges: FloatArray = distinct[at[at > 0]]
    return edges


def _range_names(edges: FloatArray) -> AnyArray:
    if not len(edges):
        return np.array(["all"])
    texts = [f"{edge:g}" for edge in edges]
    between = [f"{low} to under {high}" for low, high in pairwise(texts)]
    return np.array([f"under {texts[0]}", *between, f"{texts[-1]} and over"])


def _numbers(values: AnyArray, name: str, argument: str) -> FloatArray:
    try:
        numbers: FloatArray = values.astype(float)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"quantile_bins needs numbers, but column {name!r} of {argument} holds other values ({error})."
        ) from error
    return numbers


def _missing_values(argument: str, name: str, absent: AnyArray) -> str:
    column = "" if name == "group" else f" of column {name!r}"
    return (
        f"{argument} has missing values in {named_rows(np.flatnonzero(absent))}{column}. Drop these rows, or give them "
        "a group of their own (missing_groups='own'), or leave them out of the count (missing_groups='ignore')."
    )
