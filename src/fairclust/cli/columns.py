"""From the columns of a file to numbers: which are features, how text and gaps become numbers. Every choice is told."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars

from .._people.attributes import Groups
from .._people.columns import to_column
from .._table.features import Features
from .._typing import AnyArray, FloatArray
from ..datasets import feature_moments
from ..errors import InvalidInputError
from .screen import shown
from .tables import FileTable

_MARKERS = ("", "na", "n/a", "nan", "null", "none", "?", "-", ".")  # what people write for "no value"
_ID_NAME = re.compile(r"(^|[\W_])(id|key|index|row|nr|uuid)([\W_]|$)|[a-z]I[dD]$", re.IGNORECASE)
_OUTCOME_NAME = re.compile(
    r"(^|[\W_])(y|target|label|labels|class|outcome|response|churn(ed)?|default(ed)?|readmitted|survived|approved|"
    r"granted|hired|risk|diagnosis|\w*recid\w*)([\W_]|$)",
    re.IGNORECASE,
)
_MOST_CATEGORIES = 100  # values of a text column that still are categories; more are names
_MANY_GROUPS = 20  # groups beyond which a note asks whether the column was meant
_LONGEST_QUICK_NAME = 50  # characters


@dataclass(frozen=True)
class Choice:
    """Which columns become features, and why the others do not."""

    numeric: tuple[str, ...]
    encoded: tuple[str, ...]
    ignored: dict[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prepared:
    """Numbers ready to be clustered.

    Attributes
    ----------
    X : ndarray of shape (n_used, n_features)
    feature_names : list of str
    raw_means, raw_stds : ndarray of shape (n_features,)
        Centre and spread before standardisation: what turns X back into the file's units.
    used : ndarray of shape (n_rows,), bool
        Rows that take part.
    remarks : tuple of str
        What was done, in sentences.
    has_gaps : bool
        Whether X has NaN for empty cells, which cost nothing.
    """

    X: FloatArray
    feature_names: list[str]
    raw_means: FloatArray
    raw_stds: FloatArray
    used: AnyArray
    remarks: tuple[str, ...]
    has_gaps: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of the estimator that these numbers need."""
        return {"features": Features(missing="observed")} if self.has_gaps else {}

    @property
    def filled(self) -> FloatArray:
        """X with the mean of what is there in empty cells: for pictures and distances."""
        return np.where(np.isnan(self.X), np.nanmean(self.X, axis=0), self.X) if self.has_gaps else self.X


def names_in(text: str | None, table: FileTable) -> list[str]:
    """Split a list of columns; a name that has a comma of its own is taken whole where the file has it."""
    if text is None:
        return []
    if text in table.column_names:
        return [text]
    return [name.strip() for name in text.split(",") if name.strip()]


def choose_features(
    table: FileTable, *, features: str | None, encode: str | None, exclude: str | None, sensitive: Sequence[str]
) -> Choice:
    """Choose the features: those asked for, or every numeric column that is not sensitive, constant or an id.

    Parameters
    ----------
    table : FileTable
    features, encode, exclude : str or None
        Lists of columns as typed; ``encode`` may be "all".
    sensitive : sequence of str
        The sensitive columns: never chosen automatically.
    """
    asked, left_out = names_in(features, table), names_in(exclude, table)
    coded = _text_columns(table, sensitive, left_out, asked) if encode == "all" else names_in(encode, table)
    table.check_columns(asked, "--features")
    table.check_columns(left_out, "--exclude")
    table.check_columns(coded, "--encode")
    if asked:
        chosen = _as_asked(table, [*asked, *(name for name in coded if name not in asked)], coded, sensitive)
    else:
        chosen = _automatic(table, coded, sensitive, left_out)
    if not chosen.numeric and not chosen.encoded:
        raise InvalidInputError(_no_feature(table, chosen.ignored))
    return chosen


def read_groups(
    table: FileTable, sensitive: Sequence[str], options: Groups
) -> tuple[polars.DataFrame, tuple[str, ...]]:
    """Give the sensitive columns (null: missing) and what is worth knowing about them."""
    table.check_columns(sensitive, "--sensitive")
    bins = options.bins or {}
    table.check_columns(list(bins), "--bins")
    strange = [name for name in bins if name not in sensitive]
    if strange:
        raise InvalidInputError(f"--bins names {strange[0]!r}, which is not among the --sensitive columns.")
    columns, remarks = [], []
    for name in sensitive:
        column = without_markers(table.frame[name])
        if column.dtype.is_float():
            column = column.fill_nan(None)
        if name in bins:
            numbers = as_numbers(column)
            if numbers is None:
                raise InvalidInputError(
                    f"column {name!r} (--bins) holds {_kind(column)}, and only numbers have ranges."
                )
            columns.append(numbers)
            remarks.append(f"{shown(name)} is cut into {bins[name]} ranges with about equally many rows.")
        else:
            columns.append(column)
            remarks += _doubts_about(column, table.frame.height)
    if len(columns) > 1:
        remarks.append(
            f"Each combination of {_listed(sensitive)} is one group."
            if options.intersections
            else f"{_listed(sensitive)} are each balanced by themselves (--intersections balances their combinations)."
        )
    return polars.DataFrame(columns), tuple(remarks)


def _doubts_about(column: polars.Series, n_rows: int) -> list[str]:
    n_groups = column.drop_nulls().n_unique()
    name = shown(column.name)
    if n_groups == 0:
        raise InvalidInputError(f"column {column.name!r} (--sensitive) has no value in any row.")
    if n_groups > n_rows // 2 and n_groups > _MANY_GROUPS:
        raise InvalidInputError(
            f"{name} (--sensitive) has {n_groups} different values in {n_rows} rows, so most groups are one person. "
            f"Choose a column with a few groups, or cut it into ranges: --bins {column.name}=4."
        )
    if n_groups > _MANY_GROUPS:
        return [
            f"{name} has {n_groups} different values, and each is a group of its own. If these are ages or amounts, "
            f"cut them into a few ranges: --bins {column.name}=4."
        ]
    return []


def read_weights(table: FileTable, name: str | None) -> AnyArray | None:
    """Give the column of weights (NaN: missing), or nothing."""
    if name is None:
        return None
    table.check_columns([name], "--weight")
    numbers = as_numbers(table.frame[name])
    if numbers is None:
        raise InvalidInputError(
            f"column {name!r} (--weight) holds {_kind(table.frame[name])}, and weights are numbers."
        )
    weights: AnyArray = numbers.cast(polars.Float64).fill_null(float("nan")).to_numpy()
    if (weights < 0).any():
        row = int(np.flatnonzero(weights < 0)[0])
        raise InvalidInputError(
            f"column {name!r} (--weight) has {weights[row]:g} in row {row + 1}; weights are 0 or more."
        )
    return weights


def rows_without_group(groups: polars.DataFrame, options: Groups) -> AnyArray:
    """Rows that lack a group, where that matters."""
    if options.missing != "error":
        return np.zeros(groups.height, dtype=bool)
    missing: AnyArray = groups.select(polars.any_horizontal(polars.all().is_null())).to_series().to_numpy()
    return missing


def prepare(table: FileTable, choice: Choice, no_group: AnyArray, *, missing: str, standardize: bool) -> Prepared:
    """Turn the chosen columns into numbers.

    Parameters
    ----------
    table : FileTable
    choice : Choice
    no_group : ndarray of shape (n_rows,), bool
        Rows that lack a group they need.
    missing : {"error", "drop", "impute", "observed"}
        What becomes of rows with gaps.
    standardize : bool
        Whether every column is given mean 0 and variance 1; of text, all its 0/1 features together.
    """
    columns = [c for c in (as_numbers(table.frame[name]) for name in choice.numeric) if c is not None]
    coded = [without_markers(table.frame[name]).cast(polars.String) for name in choice.encoded]
    gaps = {c.name: c.is_null().to_numpy() for c in [*columns, *coded] if c.null_count()}
    used, remarks = _rows_to_use(table, gaps, no_group, missing)
    if missing == "impute" and gaps:
        columns = [c.fill_null(c.median()) if c.null_count() else c for c in columns]
        coded = [c.fill_null(c.drop_nulls().mode().sort()[0]) if c.null_count() else c for c in coded]
    names = [c.name for c in columns]
    categories = [(c, c.filter(polars.Series(used)).unique().drop_nulls().sort().to_list()) for c in coded]
    for column, values in categories:
        if len(values) > _MOST_CATEGORIES:
            raise InvalidInputError(
                f"column {column.name!r} (--encode) has {len(values)} different values; at most {_MOST_CATEGORIES} can "
                "be encoded. Group them in the file first, or leave the column out."
            )
        names += [f"{column.name}={value}" for value in values]
    X = np.empty((int(used.sum()), len(names)), dtype=np.float64)
    means, stds = np.zeros(len(names)), np.ones(len(names))
    whole = bool(used.all())

    def put(i: int, values: AnyArray) -> None:
        values = values if whole else values[used]
        there = values[~np.isnan(values)]
        moments = feature_moments(there.astype(np.float64, copy=False)[:, None])
        means[i], stds[i] = moments.mean[0], moments.std[0]
        X[:, i] = values

    for i, column in enumerate(columns):
        put(i, column.to_numpy())
    i = len(columns)
    for column, values in categories:
        first = i
        for value in values:
            put(i, (column == value).cast(polars.Float64).fill_null(np.nan).to_numpy())
            i += 1
        # A text column counts as much as a column of numbers, not as much as its values are many, nor the rarest most.
        spread = float(np.sqrt(np.square(stds[first:i]).sum())) if len(values) > 1 else 1.0
        stds[first:i] = spread if spread > 0 else 1.0
    if standardize:
        X -= means
        X /= stds
    remarks.append(
        "Features are standardised: each column gets mean 0 and variance 1 (--no-standardize turns this off)."
        if standardize
        else "Features are taken as they are (--no-standardize): those with large values weigh more."
    )
    return Prepared(X, names, means, stds, used, tuple(remarks), bool(np.isnan(X).any()))


def _as_asked(table: FileTable, asked: Sequence[str], coded: Sequence[str], sensitive: Sequence[str]) -> Choice:
    numeric, remarks = [], []
    for name in asked:
        if name in sensitive:
            remarks.append(
                f"{shown(name)} is both sensitive and a feature: people of one group are then also close to each other."
            )
        if name in coded:
            continue
        if as_numbers(table.frame[name]) is None:
            raise InvalidInputError(
                f"column {name!r} (--features) holds {_kind(table.frame[name])}, and features must be numbers. "
                f"Add --encode {name} to turn each of its values into a 0/1 feature, or leave it out."
            )
        reason = _unusual(table.frame[name])
        if reason:
            remarks.append(f"{shown(name)} is {reason}; as a feature it means little.")
        numeric.append(name)
    return Choice(tuple(numeric), tuple(coded), {}, tuple(remarks))


def _automatic(table: FileTable, coded: Sequence[str], sensitive: Sequence[str], left_out: Sequence[str]) -> Choice:
    numeric: list[str] = []
    ignored: dict[str, str] = {}
    for name in table.column_names:
        if name in coded or name in left_out:
            continue
        if name in sensitive:
            ignored[name] = "sensitive"
            continue
        column = table.frame[name]
        reason = _unusual(column)
        if as_numbers(column) is None:
            ignored[name] = reason or _kind(column)
        elif reason:
            ignored[name] = reason
        else:
            numeric.append(name)
    remarks = [f"{shown(name)} is both sensitive and a feature (--encode)." for name in coded if name in sensitive]
    outcomes = [name for name in (*numeric, *coded) if _OUTCOME_NAME.search(name)]
    if outcomes:
        remarks.append(
            f"{_listed(outcomes)} looks like an outcome, and is a feature now, so that clusters follow it. Leave it "
            f"out with --exclude {','.join(outcomes)}, or name the features with --features."
        )
    return Choice(tuple(numeric), tuple(coded), ignored, tuple(remarks))


def _text_columns(
    table: FileTable, sensitive: Sequence[str], left_out: Sequence[str], asked: Sequence[str]
) -> list[str]:
    return [
        name
        for name in (asked or table.column_names)
        if name not in sensitive
        and name not in left_out
        and _kind(table.frame[name]) == "text"
        and as_numbers(table.frame[name]) is None
        and not _unusual(table.frame[name])
        and table.frame[name].n_unique() <= _MOST_CATEGORIES
    ]


def _unusual(column: polars.Series) -> str | None:
    """Say why a column is no use as a feature: no value, one value, or a number that only names the row."""
    values = without_markers(column).drop_nulls()
    n_rows = len(values)
    if n_rows == 0:
        return "empty"
    if values[0] == values[-1] and values.n_unique() == 1:
        return "constant"
    if n_rows < 10 or column.dtype.is_float() or not (column.dtype.is_integer() or _kind(column) == "text"):
        return None
    first = values.head(1000)
    if first.n_unique() < len(first) or values.n_unique() < n_rows:
        return None
    if _kind(column) == "text":
        return "an id (every row has its own value)"
    counts_up = int(values.max()) - int(values.min()) == n_rows - 1  # type: ignore[arg-type]
    return "an id (every row has its own value)" if counts_up or _ID_NAME.search(column.name) else None


def as_numbers(column: polars.Series) -> polars.Series | None:
    """Give the column as numbers with nulls for gaps; None where it does not hold numbers."""
    kind = column.dtype
    if kind == polars.Boolean:
        return column.cast(polars.Float64)
    if kind.is_numeric():
        return _finite(column.cast(polars.Float64))
    if kind == polars.String:
        values = without_markers(column)
        numbers = values.str.strip_chars().cast(polars.Float64, strict=False)
        if numbers.null_count() == values.null_count() and numbers.null_count() < len(numbers):
            return _finite(numbers)
    return None


def _finite(numbers: polars.Series) -> polars.Series:
    """Turn NaN and infinities into gaps."""
    is_gap = ~numbers.is_finite().fill_null(True)
    return numbers.set(is_gap, None) if is_gap.any() else numbers


def group_arrays(groups: polars.DataFrame) -> dict[str, AnyArray]:
    """Give the groups as arrays; text of everyday length becomes NumPy text, which is quick to compare."""
    return {column.name: _group_array(column) for column in groups}


def _group_array(groups: polars.Series) -> AnyArray:
    if groups.dtype != polars.String or groups.null_count() or groups.str.len_chars().max() > _LONGEST_QUICK_NAME:  # type: ignore[operator]
        return to_column(groups)
    names = groups.unique().sort()
    codes = groups.cast(polars.Enum(names.to_list())).to_physical().to_numpy()
    return names.to_numpy().astype(str)[codes]


def without_markers(column: polars.Series) -> polars.Series:
    """Turn what people write for "no value" into nulls, in columns of text."""
    if column.dtype in (polars.Categorical, polars.Enum):
        column = column.cast(polars.String)
    if column.dtype != polars.String:
        return column
    is_marker = column.str.strip_chars().str.to_lowercase().is_in(_MARKERS).fill_null(True)
    return column.set(is_marker, None) if is_marker.any() else column


def _kind(column: polars.Series) -> str:
    if column.dtype in (polars.String, polars.Categorical, polars.Enum):
        return "text"
    if column.dtype.is_temporal():
        return "dates or times"
    return "numbers" if column.dtype.is_numeric() or column.dtype == polars.Boolean else "values of a nested type"


def _rows_to_use(
    table: FileTable, gaps: dict[str, AnyArray], no_group: AnyArray, missing: str
) -> tuple[AnyArray, list[str]]:
    n_rows = table.frame.height
    has_gap = np.zeros(n_rows, dtype=bool)
    for rows in gaps.values():
        has_gap |= rows
    if not has_gap.any() and not no_group.any():
        return np.ones(n_rows, dtype=bool), []
    where = _where(gaps, no_group)
    if missing == "error":
        n_gaps = int((has_gap | no_group).sum())
        ways = ["--missing drop to leave these rows out"]
        if has_gap.any():
            ways.append("--missing observed to count what is there")
            ways.append("--missing impute to fill features with their median or most frequent value")
        if no_group.any():
            ways.append("--missing-groups own or ignore for rows without a group")
        joint = " and " if has_gap.any() and no_group.any() else " or "
        raise InvalidInputError(
            f"{n_gaps} of {n_rows} rows have missing values ({where}). Add {ways[0]}, or {joint.join(ways[1:])}."
        )
    if missing in ("impute", "observed"):
        if no_group.any():
            raise InvalidInputError(
                f"{int(no_group.sum())} of {n_rows} rows have no group, and a group cannot be guessed. "
                "Use --missing drop, or --missing-groups own (a group of their own) or ignore (they are not counted)."
            )
        filled = f"Missing values were filled with the median or the most frequent value ({where})."
        if missing == "observed":
            filled = f"Empty cells cost nothing, and centres are means of what is there ({where})."
        return np.ones(n_rows, dtype=bool), [filled]
    used = ~(has_gap | no_group)
    if not used.any():
        raise InvalidInputError(
            f"every row of {table.path.name} has a missing value ({where}), so --missing drop leaves none. "
            "Leave out the columns with gaps (--exclude), or use --missing impute."
        )
    n_dropped = int((~used).sum())
    return used, [f"{n_dropped} of {n_rows} rows have missing values and were left out ({where})."]


def _where(gaps: dict[str, AnyArray], no_group: AnyArray) -> str:
    counts = sorted(((int(rows.sum()), shown(name)) for name, rows in gaps.items()), reverse=True)
    listed = [f"{name}: {count}" for count, name in counts[:4]]
    if len(counts) > 4:
        listed.append(f"{len(counts) - 4} more columns")
    if no_group.any():
        listed.append(f"group: {int(no_group.sum())}")
    return ", ".join(listed)


def _no_feature(table: FileTable, ignored: dict[str, str]) -> str:
    why = ", ".join(f"{shown(name)} is {reason}" for name, reason in list(ignored.items())[:6])
    text = [name for name, reason in ignored.items() if reason == "text"]
    way_out = f"Add --encode {text[0]} to use text." if text else "Name columns with --features."
    return f"{table.path.name} has no numeric column to cluster by{f' ({why})' if why else ''}. {way_out}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(shown(name) for name in names)
