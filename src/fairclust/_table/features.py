"""A user's table → numbers and codes: which columns are categories, how much each column counts, what a gap is.

By default every column counts the same, whatever its type: its total variance is 1. For a number that is dividing by
its standard deviation; for a category with shares p_c, whose one-hot columns have the variance Σ p_c (1 − p_c), it is
dividing by the root of that.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np

from .._people.columns import as_native, factorize, find_missing, listed, named_rows
from .._typing import AnyArray, FloatArray, IntArray
from ..errors import InvalidInputError, MissingExtraError
from .coded import GAP, MOST_CATEGORIES, NEVER_SEEN, CodedRows, code_type

FROM_DTYPE = "from_dtype"
MISSING_VALUES = ("error", "observed", "impute", "own")
_WORDS = (nw.String, nw.Categorical, nw.Enum, nw.Boolean)
SQUARES, GOWER = "squares", "gower"  # how rows are compared
_MISSING = "missing"  # name of the category that gaps make up with missing_values="own"


@dataclass(frozen=True)
class Features:
    """How the columns of a table become coordinates: one record for estimators and the command line.

    Parameters
    ----------
    categorical : "from_dtype", list of names, places or bool, or None, default="from_dtype"
        Which columns of X are categories. "from_dtype": the text, categorical and boolean columns of a data frame. A
        category is compared with the shares of the categories in a cluster: the squared distance of its one-hot
        columns, without building them. Once there are categories, every column counts the same: its variance is 1.
    missing : {"error", "observed", "impute", "own"}, default="error"
        What an empty cell (NaN, None) is. "observed": it costs nothing, and centres are means of what is there.
        "impute": the column's mean, or its commonest category, of the rows of the fit. "own": as "observed" for
        numbers, and a category of its own ("missing") in categorical columns.
    weights : dict, list or None, default=None
        How much columns count, {column: weight} or one weight per column; 1 for those not named, 0 leaves a column out.
        With weights, or with categories, columns are scaled first; numbers alone count as they are.

    Examples
    --------
    >>> from fairclust import FairKMeans, Features
    >>> model = FairKMeans(4, features=Features(missing="observed", weights={"age": 2}))
    >>> model.features.weights
    {'age': 2}
    """

    categorical: Any = FROM_DTYPE
    missing: str = "error"
    weights: Any = None

    def __post_init__(self) -> None:
        """Check what needs no data."""
        if self.missing not in MISSING_VALUES:
            raise InvalidInputError(
                f"Features(missing={self.missing!r}), but 'error', 'observed', 'impute' or 'own' is needed."
            )

    @property
    def are_given(self) -> bool:
        """Whether the user asked for anything that only a table can give."""
        asked = self.categorical
        is_default = asked is None or (isinstance(asked, str) and asked == FROM_DTYPE)
        return not is_default or self.missing != "error" or self.weights is not None


def read_features(features: Any) -> Features:
    """What ``features=`` means; None: the defaults."""
    if features is None:
        return Features()
    if not isinstance(features, Features):
        raise InvalidInputError(
            f"features={features!r} is no record of options. Pass Features(...), for example "
            "Features(weights={'age': 2})."
        )
    return features


@dataclass(frozen=True)
class Column:
    """A column as it came. Words are read as codes, once; nothing else is kept."""

    name: str
    source: AnyArray | nw.Series[Any]
    is_word: bool  # by its type

    @property
    def values(self) -> AnyArray:
        """Values as NumPy has them; a missing one is NaN in a column of numbers, None elsewhere."""
        if not isinstance(self.source, nw.Series):
            return self.source
        array = np.asarray(self.source.to_numpy())
        if self.source.dtype.is_numeric():
            return array if array.dtype.kind in "fiu" else self.source.cast(nw.Float64).to_numpy()
        if self.missing.any():
            array = np.asarray(array, dtype=object).copy()
            array[self.missing] = None
        return array

    @cached_property
    def missing(self) -> AnyArray:
        """Which values are missing."""
        if isinstance(self.source, nw.Series) and not self.source.dtype.is_numeric():
            return self.source.is_null().to_numpy()
        return find_missing(self.values)

    @cached_property
    def coded(self) -> tuple[AnyArray, IntArray]:
        """Sorted names of the values that are there, and the code of each value; −1 where it is missing."""
        if isinstance(self.source, nw.Series) and isinstance(self.source.dtype, nw.String | nw.Categorical | nw.Enum):
            return _native_codes(self.source)
        values, codes = self.values, np.full(len(self.missing), -1, dtype=np.int32)
        names, codes[~self.missing] = factorize(values[~self.missing], f"column {self.name!r}")
        return names, codes

    @property
    def numbers(self) -> FloatArray:
        """As numbers; NaN where a value is missing."""
        values = self.values
        if values.dtype.kind in "OUS":
            objects, values = values, np.full(len(values), np.nan)
            try:
                values[~self.missing] = objects[~self.missing].astype(float)
            except (TypeError, ValueError) as error:
                raise InvalidInputError(
                    f"column {self.name!r} of X holds something that is not a number ({error}). Name the column in "
                    "Features(categorical=[...]), or drop it."
                ) from error
        if values.dtype.kind == "c":
            raise InvalidInputError(f"Complex data not supported: column {self.name!r} of X is complex.")
        if np.isinf(values).any():
            raise InvalidInputError(f"column {self.name!r} of X has infinite values. Replace or drop them.")
        return values if values.dtype.kind == "f" else values.astype(float)


@dataclass(frozen=True)
class Table:
    """A table as it came: named columns, and the kind of data frame that they were in."""

    columns: tuple[Column, ...]
    backend: str | None = None

    def __len__(self) -> int:
        return len(self.columns[0].source)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __getitem__(self, place: int) -> Column:
        return self.columns[place]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the columns."""
        return tuple(column.name for column in self.columns)

    def without(self, names: Sequence[str]) -> Table:
        """All columns but these."""
        return replace(self, columns=tuple(column for column in self.columns if column.name not in names))


def is_table(X: Any) -> bool:
    """Whether this is a data frame."""
    return isinstance(as_native(X), nw.DataFrame)


def has_words(X: Any) -> bool:
    """Whether this is a data frame with a column that is not numbers by its type."""
    frame = as_native(X)
    return isinstance(frame, nw.DataFrame) and any(map(_is_word, frame.iter_columns()))


def read_table(X: Any) -> Table:
    """Columns of a data frame or 2-D array."""
    frame = as_native(X)
    if isinstance(frame, nw.DataFrame):
        if not frame.columns or not len(frame):
            raise InvalidInputError(f"X has shape {frame.shape}. Pass at least one row and one column.")
        series = list(frame.iter_columns())
        strange = [s for s in series if not _is_word(s) and not s.dtype.is_numeric() and s.dtype != nw.Object]
        if strange:
            raise InvalidInputError(
                f"column {strange[0].name!r} of X is of type {strange[0].dtype}, which is neither numbers nor words. "
                "Turn it into one of them (a date into days, for example), or drop it."
            )
        columns = tuple(Column(str(s.name), s, _is_word(s)) for s in series)
        return Table(columns, str(frame.implementation.value))
    array = np.asarray(X)
    if array.ndim != 2 or 0 in array.shape:
        raise InvalidInputError(f"X has shape {array.shape}, but a table with rows and columns is needed.")
    return Table(tuple(Column(f"x{i}", array[:, i], is_word=False) for i in range(array.shape[1])))


@dataclass(frozen=True)
class Number:
    """A numeric column: counted as (x − mean)·scale; ``neutral`` is what a gap counts in Gower's distance.

    ``fill`` is what an empty cell holds where gaps are imputed.
    """

    name: str
    mean: float
    scale: float
    neutral: float = 0.0
    fill: float = 0.0


@dataclass(frozen=True)
class Category:
    """A categorical column: its categories, sorted; a category's coordinate is ``unit``.

    ``fill`` is the code of an empty cell where gaps are imputed.
    """

    name: str
    categories: AnyArray
    unit: float
    gaps_are_own: bool = False
    neutral: float = 0.0
    fill: int = 0


@dataclass(frozen=True)
class LearnedFeatures:
    """How the columns of a table are counted: what reads new rows as those of the fit were read.

    Attributes
    ----------
    names : tuple of str
        Of all columns, in the table's order.
    kinds : tuple of Number and Category, in the same order
    allows_gaps : bool
    dtype : str
        "float32" or "float64".
    backend : str or None
        The kind of data frame that the fit was given.
    distance : {"squares", "gower"}
        How rows are compared. "squares": numbers are scaled to the same variance. "gower": to the same range.
    imputes : bool
        Whether empty cells are filled.
    """

    names: tuple[str, ...]
    kinds: tuple[Number | Category, ...]
    allows_gaps: bool
    dtype: str
    backend: str | None
    distance: str = SQUARES
    imputes: bool = False

    @property
    def numbers(self) -> list[tuple[int, Number]]:
        """Numeric columns and their places in the table."""
        return [(i, kind) for i, kind in enumerate(self.kinds) if isinstance(kind, Number)]

    @property
    def categories(self) -> list[tuple[int, Category]]:
        """Categorical columns and their places in the table."""
        return [(i, kind) for i, kind in enumerate(self.kinds) if isinstance(kind, Category)]

    @property
    def n_coordinates(self) -> int:
        """Coordinates of a centre: one per number and per category; in Gower's distance one per column."""
        if self.distance == GOWER:
            return len(self.kinds)
        return len(self.numbers) + sum(len(kind.categories) for _, kind in self.categories)

    def encode(self, columns: Table) -> CodedRows:
        """Rows as the kernels read them. The columns must be those of the fit, in their order."""
        if not self.allows_gaps:
            _refuse_gaps(columns)
        n_categories = np.array([len(kind.categories) for _, kind in self.categories], dtype=np.int64)
        X = np.empty((len(columns), len(self.numbers)), dtype=self.dtype)
        for m, (i, number) in enumerate(self.numbers):
            values = columns[i].numbers
            if self.imputes:
                values = np.where(np.isnan(values), number.fill, values)
            X[:, m] = (values - number.mean) * number.scale
        codes = np.empty((len(columns), len(self.categories)), dtype=code_type(n_categories))
        for q, (i, category) in enumerate(self.categories):
            codes[:, q] = _codes(columns[i], category)
            if self.imputes and len(category.categories):
                codes[columns[i].missing, q] = category.fill
        gaps = bool(np.isnan(X).any()) or bool((codes == n_categories + GAP).any())
        units = np.array([kind.unit for _, kind in self.categories], dtype=float)
        neutral = np.array(
            [kind.neutral for _, kind in self.numbers] + [kind.neutral for _, kind in self.categories], dtype=float
        )
        return CodedRows(X, codes, n_categories, units, gaps, neutral if self.distance == GOWER else None)

    def profiles(self, centers: FloatArray) -> dict[str, FloatArray]:
        """Centres in the table's units: a column of means per number, a column of shares per category."""
        rows_of = {i: centers[:, m] for m, (i, _) in enumerate(self.numbers)}
        end = len(self.numbers)
        found: dict[str, FloatArray] = {}
        for i, category in self.categories:
            end += len(category.categories)
            rows_of[i] = centers[:, end - len(category.categories) : end]
        for i, kind in enumerate(self.kinds):
            if isinstance(kind, Number):
                found[kind.name] = rows_of[i] / kind.scale + kind.mean if kind.scale else np.full(len(centers), np.nan)
            else:
                shares = rows_of[i] / kind.unit if kind.unit else np.full(rows_of[i].shape, np.nan)
                found.update({f"{kind.name}={name}": shares[:, c] for c, name in enumerate(kind.categories.tolist())})
        return found

    def cells(self, centers: FloatArray) -> dict[str, AnyArray]:
        """Places of Gower's distance as rows of the table: numbers, and names of categories; NaN and None for gaps."""
        found: dict[str, AnyArray] = {}
        place = {i: m for m, (i, _) in enumerate((*self.numbers, *self.categories))}
        for i, kind in enumerate(self.kinds):
            values = centers[:, place[i]].astype(float)
            if isinstance(kind, Number):
                own = values / kind.scale + kind.mean if kind.scale else np.full(len(values), kind.mean)
                found[kind.name] = np.where(values < 0, np.nan, own)
            else:
                names = [*kind.categories.tolist(), None, None]
                found[kind.name] = np.array([names[int(code)] for code in values], dtype=object)
        return found

    def starts(self, X: Any, n_clusters: int) -> CodedRows:
        """Rows that a user gave to start from."""
        columns = read_table(X)
        if columns.names != self.names or len(columns) != n_clusters:
            raise InvalidInputError(
                f"init has {len(columns)} rows and the columns {', '.join(columns.names)}, but {n_clusters} rows with "
                f"the columns of X are needed: {', '.join(self.names)}."
            )
        return self.encode(columns)

    def frame(self, columns: Mapping[str, FloatArray]) -> Any:
        """A data frame of the kind that the fit was given; of pandas for arrays."""
        backend = self.backend or "pandas"
        try:
            return nw.from_dict(dict(columns), backend=backend).to_native()  # type: ignore[arg-type]
        except ImportError as error:
            raise MissingExtraError(f"cluster_profiles_ needs {backend}. Install it: pip install {backend}") from error


def learn_features(
    columns: Table, options: Features, weights: FloatArray | None = None, distance: str = SQUARES
) -> LearnedFeatures:
    """Decide how each column counts, from the rows of a fit.

    Parameters
    ----------
    columns : Table
    options : Features
    weights : ndarray of shape (n_rows,) or None
        Sample weights: variances and shares are those of the weighted rows.
    distance : {"squares", "gower"}
        How rows are compared.
    """
    if options.missing == "error":
        _refuse_gaps(columns)
    chosen = choose_categorical(columns, options.categorical)
    wanted = column_weights(columns, options.weights)
    # Without categories nor weights, numbers count as they are, as for an array.
    is_scaled = _are_scaled(chosen, options)
    is_gower = distance == GOWER
    wanted = wanted / wanted.sum() if is_gower else wanted
    kinds: list[Number | Category] = []
    for column, is_category, weight in zip(columns, chosen, wanted, strict=True):
        if is_category:
            category = _learn_category(column, weight, options.missing == "own", weights)
            kinds.append(_as_gower(category, weight) if is_gower else category)
        elif is_gower:
            kinds.append(_learn_range(column, weight, weights))
        else:
            kinds.append(_learn_number(column, weight, is_scaled, weights))
        if options.missing == "impute" and isinstance(kinds[-1], Number):
            kinds[-1] = replace(kinds[-1], fill=_mean(column, weights))
    single = [column.numbers.dtype == np.float32 for column, word in zip(columns, chosen, strict=True) if not word]
    dtype = "float32" if single and all(single) else "float64"
    allows_gaps = options.missing != "error"
    imputes = options.missing == "impute"
    return LearnedFeatures(columns.names, tuple(kinds), allows_gaps, dtype, columns.backend, distance, imputes)


def _are_scaled(chosen: AnyArray, options: Features) -> bool:
    return bool(chosen.any()) or options.weights is not None


def choose_categorical(columns: Table, asked: Any) -> AnyArray:
    """Which columns are categories: a mask, from "from_dtype", names, places or a mask."""
    n = len(columns.names)
    if asked is None:
        chosen = np.zeros(n, dtype=bool)
    elif isinstance(asked, str) and asked == FROM_DTYPE:
        return np.array([column.is_word for column in columns])
    elif isinstance(asked, str):
        raise InvalidInputError(
            f"Features(categorical={asked!r}), but 'from_dtype', None, a list of names or places, or a mask is needed."
        )
    else:
        wanted = list(asked)
        if len(wanted) == n and all(isinstance(value, bool | np.bool_) for value in wanted):
            chosen = np.array(wanted, dtype=bool)
        else:
            chosen = np.zeros(n, dtype=bool)
            chosen[[_place(columns, value, "Features(categorical=…)") for value in wanted]] = True
    words = [column.name for column, own in zip(columns, chosen, strict=True) if column.is_word and not own]
    if words:
        raise InvalidInputError(
            f"column {words[0]!r} holds words, but Features(categorical={asked!r}) does not name it. Name it there, "
            "leave categorical at 'from_dtype', or drop the column."
        )
    return chosen


def _place(columns: Table, value: Any, argument: str) -> int:
    """The place of a column that is given by name or number."""
    n = len(columns.names)
    if isinstance(value, str):
        if value not in columns.names:
            raise InvalidInputError(f"{argument} names {value!r}, but the columns of X are {listed(columns.names)}.")
        return columns.names.index(value)
    if isinstance(value, int | np.integer) and value is not True and value is not False and -n <= value < n:
        return int(value) % n
    raise InvalidInputError(f"{argument} holds {value!r}, but names of columns or places below {n} are needed.")


def column_weights(columns: Table, asked: Any) -> FloatArray:
    """How much each column counts."""
    n = len(columns.names)
    if asked is None:
        return np.ones(n)
    result = np.ones(n)
    if isinstance(asked, Mapping):
        for key, value in asked.items():
            result[_place(columns, key, "Features(weights=…)")] = _weight(key, value)
    else:
        given = list(asked) if isinstance(asked, Sequence | np.ndarray) else []
        if len(given) != n:
            raise InvalidInputError(
                f"Features(weights={asked!r}), but a dict {{column: weight}} or {n} numbers, one per column, is needed."
            )
        result[:] = [_weight(name, value) for name, value in zip(columns.names, given, strict=True)]
    if not result.any():
        raise InvalidInputError("Features(weights=…) is 0 for every column. Leave at least one column in.")
    return result


def _weight(name: Any, value: Any) -> float:
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not np.isfinite(float(value)) or value < 0:
        raise InvalidInputError(f"Features(weights={{{name!r}: {value!r}}}), but a number ≥ 0 is needed.")
    return float(value)


def _learn_number(column: Column, wanted: float, is_scaled: bool, weights: FloatArray | None) -> Number:
    name, values = column.name, column.numbers
    if not is_scaled:
        return Number(name, 0.0, 1.0)
    is_there = ~np.isnan(values)
    if not is_there.any() or (weights is not None and not weights[is_there].any()):
        return Number(name, 0.0, 0.0)
    values, w = values[is_there], None if weights is None else weights[is_there]
    mean = float(np.average(values, weights=w))
    return scaled_number(name, wanted, mean, float(np.sqrt(np.average((values - mean) ** 2, weights=w))))


def _mean(column: Column, weights: FloatArray | None) -> float:
    """Mean of the values that are there; 0 if none is."""
    values = column.numbers
    is_there = ~np.isnan(values)
    w = is_there.astype(float) if weights is None else weights * is_there
    return float(w @ np.where(is_there, values, 0.0) / w.sum()) if w.any() else 0.0


def scaled_number(name: str, wanted: float, mean: float, spread: float) -> Number:
    """A number that counts so much. A spread that is rounding is none: a column of one value."""
    return Number(name, mean, float(np.sqrt(wanted)) / spread if spread > 1e-12 * abs(mean) else 0.0)


def _learn_category(column: Column, wanted: float, gaps_are_own: bool, weights: FloatArray | None) -> Category:
    name, (names, codes) = column.name, column.coded
    missing = codes < 0
    w = None if weights is None else weights[~missing]
    counts = np.bincount(codes[~missing], w, minlength=len(names)).astype(float)
    n_gaps = float(missing.sum() if weights is None else weights[missing].sum())
    return counted_category(name, wanted, names, counts, n_gaps if gaps_are_own and missing.any() else None)


def counted_category(name: str, wanted: float, names: AnyArray, counts: FloatArray, own_gaps: float | None) -> Category:
    """A category that counts so much; ``own_gaps`` is the weight of the gaps where they are a category (None: not)."""
    if len(names) > MOST_CATEGORIES:
        raise InvalidInputError(
            f"column {name!r} has {len(names)} different values, and at most {MOST_CATEGORIES} can be categories. "
            "Leave it out, if it is a name or number of each row."
        )
    if own_gaps is not None:
        names = np.array([*names.tolist(), _name_of_gaps(names)], dtype=object)
        counts = np.append(counts, own_gaps)
    shares = counts / max(counts.sum(), np.finfo(float).tiny)
    variance = 1.0 - float((shares**2).sum()) if counts.sum() > 0 else 0.0
    unit = float(np.sqrt(wanted / variance)) if variance > 1e-12 else 0.0
    return Category(name, names, unit, own_gaps is not None, fill=int(counts.argmax()) if len(counts) else 0)


def _as_gower(category: Category, wanted: float) -> Category:
    """Two categories are 0 or the column's weight apart; on average, the weight times the chance that they differ."""
    variance = wanted / category.unit**2 if category.unit else 0.0
    return replace(category, unit=wanted, neutral=wanted * variance)


def _learn_range(column: Column, wanted: float, weights: FloatArray | None) -> Number:
    """A column whose smallest and largest values are its weight apart; two of its rows are ``neutral`` on average."""
    name, values = column.name, column.numbers
    is_there = ~np.isnan(values) if weights is None else ~np.isnan(values) & (weights > 0)
    if not is_there.any():
        return Number(name, 0.0, 0.0)
    order = np.argsort(values[is_there], kind="stable")
    values, w = values[is_there][order].astype(float), None if weights is None else weights[is_there][order]
    lowest, width = float(values[0]), float(values[-1] - values[0])
    if width <= 1e-12 * max(abs(values[0]), abs(values[-1])):
        return Number(name, lowest, 0.0)
    # Mean of |x − y| over all pairs: ∫ 2 F (1 − F), F the share at or below.
    reached = np.cumsum(np.ones(len(values)) if w is None else w)
    share = reached[:-1] / reached[-1]
    mean_difference = 2.0 * float((np.diff(values) * share * (1.0 - share)).sum())
    return Number(name, lowest, wanted / width, wanted * mean_difference / width)


def _name_of_gaps(names: AnyArray) -> str:
    return _MISSING if _MISSING not in names.tolist() else f"({_MISSING})"


def _codes(column: Column, category: Category) -> IntArray:
    n = len(category.categories)
    n_named = n - 1 if category.gaps_are_own else n
    names, codes = column.coded
    code_of = {name: code for code, name in enumerate(category.categories.tolist()[:n_named])}
    # The last entry is where a missing value's −1 points to.
    places = [code_of.get(name, n + NEVER_SEEN) for name in names.tolist()]
    places.append(n_named if category.gaps_are_own else n + GAP)
    return np.array(places, dtype=np.uint16)[codes]


def _refuse_gaps(columns: Table) -> None:
    """Say how many cells are empty, and where."""
    found = {column.name: np.flatnonzero(column.missing) for column in columns if column.missing.any()}
    if found:
        raise gaps_refused([(name, len(rows), named_rows(rows)) for name, rows in found.items()])


def gaps_refused(found: Sequence[tuple[str, int, str]]) -> InvalidInputError:
    """What to say of gaps that were not expected: column, how many, and where, if that is known."""
    total = sum(count for _, count, _ in found)
    shown = [f"{count} in {name!r}{f' ({rows})' if rows else ''}" for name, count, rows in found[:3]]
    more = f" and {len(found) - 3} more columns" if len(found) > 3 else ""
    return InvalidInputError(
        f"X has {total} missing values (NaN or empty): {', '.join(shown)}{more}. Use Features(missing='observed') to "
        "count what is there, 'impute' to fill in the mean or the commonest category, 'own' to make a category of its "
        "own of the gaps in categorical columns, or drop or fill them first."
    )


def _is_word(series: nw.Series[Any]) -> bool:
    if series.dtype == nw.Object:  # pandas: could be anything
        return any(isinstance(value, str | bool) for value in series.to_list())
    return series.dtype in _WORDS or isinstance(series.dtype, _WORDS)


def _native_codes(series: nw.Series[Any]) -> tuple[AnyArray, IntArray]:
    """Names and codes of a column of words, by the data frame's own means: no Python text per row is made."""
    if series.implementation.is_pandas_like():
        own = series.cast(nw.Categorical).to_native().cat
        names, codes = own.categories.tolist(), own.codes.to_numpy().astype(np.int32)
    else:
        names = sorted(str(name) for name in series.drop_nulls().unique().to_list())
        if series.implementation.is_polars():
            own = nw.from_native(series.cast(nw.Enum(names)).to_native().to_physical(), series_only=True)
            codes = own.cast(nw.Int32).fill_null(-1).to_numpy()
        elif series.implementation.is_pyarrow():
            own = series.to_native().dictionary_encode().combine_chunks()
            names = own.dictionary.to_pylist()
            codes = own.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
        else:
            code_of = {name: code for code, name in enumerate(names)}
            codes = np.array([-1 if name is None else code_of[str(name)] for name in series.to_list()], dtype=np.int32)
    used = np.zeros(len(names) + 1, dtype=bool)
    used[codes] = True
    texts = np.array(names, dtype=str) if all(isinstance(name, str) for name in names) else _objects(names)
    order = sorted(np.flatnonzero(used[:-1]).tolist(), key=lambda i: (type(names[i]).__name__, names[i]))
    place = np.full(len(names) + 1, -1, dtype=np.int32)
    place[order] = np.arange(len(order))
    return texts[order], place[codes]


def _objects(values: Sequence[Any]) -> AnyArray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
