"""Data in blocks: NumPy arrays, memory maps, Parquet files, anything that can be gone through again and again.

A source hands out blocks, a block hands out panels of rows. Nothing here knows of clusters.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import narwhals as nw
import numpy as np

from .. import _checks as checks
from .._people.columns import Columns, read_columns
from .._table.coded import packed
from .._table.features import LearnedFeatures, has_words, is_table, read_table
from .._typing import AnyArray, FloatArray, IntArray
from ..errors import FairclustError, InvalidInputError, MissingExtraError
from .runners import Runner, Threads

if TYPE_CHECKING:
    from .work import KeptCosts

PANEL = 1 << 16  # rows that are worked on at once: few enough for the cores' caches, and Python is asked rarely
BLOCK_ROWS = 1 << 17  # rows: 13 MB of float32 with 25 features


class Panel(NamedTuple):
    """Some rows of a block: features, groups as the user wrote them (None: not asked for, or none), weights.

    Features are numbers; where a table was asked for, a data frame or an array as it came.
    """

    X: Any
    values: Columns | None
    weights: FloatArray | None


class Block(Protocol):
    """A stretch of rows that is read as one piece of work. ``codes`` are its people's profiles, once known."""

    codes: IntArray | None
    plans: dict[Any, Any] | None  # where the points of each panel lie, kept from pass to pass where there is room
    kept: KeptCosts | None  # point costs, kept where there is much room

    def panels(self, *, with_groups: bool = False) -> Iterator[Panel]:
        """Read the rows, PANEL at a time. A panel is good until the next one is asked for."""
        ...


@dataclass
class HeldRows(ABC):
    """Rows that can be cut into panels where they are: an array, or a data frame."""

    X: Any
    values: Columns | None = None
    weights: AnyArray | None = None
    codes: IntArray | None = None
    plans: dict[Any, Any] | None = field(default=None, repr=False)
    kept: KeptCosts | None = field(default=None, repr=False)

    def panels(self, *, with_groups: bool = False) -> Iterator[Panel]:
        """Slices; only they are copied."""
        for first in range(0, len(self.X), PANEL):
            rows = slice(first, min(first + PANEL, len(self.X)))
            yield Panel(
                self.X[rows] if isinstance(self.X, np.ndarray) else nw.from_native(self.X)[rows].to_native(),
                _part(self.values, rows) if with_groups and self.values is not None else None,
                None if self.weights is None else np.asarray(self.weights[rows], dtype=np.float64),
            )


@dataclass
class ArrayBlock(HeldRows):
    """Rows held in memory, or in a memory map."""


@dataclass
class CodedBlock:
    """A block of a table whose rows are read as numbers and codes, side by side in one array."""

    table: Block
    features: LearnedFeatures
    codes: IntArray | None = None
    plans: dict[Any, Any] | None = field(default=None, repr=False)
    kept: KeptCosts | None = field(default=None, repr=False)

    def panels(self, *, with_groups: bool = False) -> Iterator[Panel]:
        """Each panel of the table, encoded."""
        for panel in self.table.panels(with_groups=with_groups):
            yield panel._replace(X=packed(self.features.encode(read_table(panel.X))))


@dataclass(frozen=True)
class CodedBlocks:
    """Blocks of a table, encoded."""

    tables: Iterable[Block]
    features: LearnedFeatures

    def __iter__(self) -> Iterator[Block]:
        return (CodedBlock(block, self.features) for block in self.tables)


def _part(table: Columns, rows: slice) -> Columns:
    return replace(table, columns=tuple(column[rows] for column in table.columns))


@dataclass(frozen=True)
class Reading:
    """How a table in blocks is read: encoded by features, or as it is, where these are still to be learnt."""

    features: LearnedFeatures | None = None

    def of(self, tables: Iterable[Block]) -> Iterable[Block]:
        """The blocks, read so."""
        return tables if self.features is None else CodedBlocks(tables, self.features)


class Blocks(ABC):
    """Data that do not have to fit in memory. What :meth:`FairKMeans.fit` takes as X.

    Attributes
    ----------
    labels_to : Path or None
        Where the labels go: ``.npy`` (``labels_`` is then a memory map) or ``.parquet`` (``labels_`` is its path).
        None: ``labels_`` is an array in memory.
    feature_names : sequence of str or None
        Names of the features, where the source knows them.

    Examples
    --------
    >>> from fairclust.scaling import ArrayBlocks, Blocks, MemmapBlocks, ParquetBlocks
    >>> all(issubclass(kind, Blocks) for kind in (ArrayBlocks, MemmapBlocks, ParquetBlocks))
    True
    """

    labels_to: Path | None = None
    feature_names: Sequence[str] | None = None

    @abstractmethod
    def open(self, sensitive_features: Any, sample_weight: Any) -> Iterable[Block]:
        """Blocks with the groups and weights that the user named, to be gone through many times in one order."""

    def has_words(self, sensitive_features: Any, sample_weight: Any) -> bool:
        """Whether any feature is words: then the rows are those of a table."""
        return False

    def open_tables(self, sensitive_features: Any, sample_weight: Any) -> Iterable[Block]:
        """The same blocks with data frames, or arrays with gaps, instead of numbers."""
        return self.open(sensitive_features, sample_weight)

    def runner(
        self, sensitive_features: Any, sample_weight: Any, n_threads: int, reading: Reading | None = None
    ) -> Runner:
        """Who works on the blocks: threads of this process."""
        if reading is None:
            return Threads(self.open(sensitive_features, sample_weight), n_threads)
        return Threads(reading.of(self.open_tables(sensitive_features, sample_weight)), n_threads)


@dataclass
class _Joined:
    """Blocks of arrays, with groups and weights given as whole columns, or along with every block."""

    parts: Callable[[], Iterable[Any]]
    values: Columns | None
    weights: AnyArray | None
    keeps_frames: bool = False

    def __iter__(self) -> Iterator[Block]:
        first = 0
        for part in self.parts():
            X, values, weights = part if isinstance(part, tuple) else (part, None, None)
            if np.ndim(X) != 2:
                raise InvalidInputError(f"a block has shape {np.shape(X)}, but (n_rows, n_features) is needed.")
            X = X if isinstance(X, np.ndarray) or (self.keeps_frames and is_table(X)) else np.asarray(X)
            rows = slice(first, first + len(X))
            first += len(X)
            if self.values is not None:
                table: Columns | None = _part(self.values, rows)
            else:
                table = None if values is None else read_columns(values)
            weights = weights if weights is not None else None if self.weights is None else self.weights[rows]
            groups = None if table is None else table.columns[0]
            for name, column in (("sensitive_features", groups), ("sample_weight", weights)):
                if column is not None and len(column) != len(X):
                    raise InvalidInputError(
                        f"{name} ends at row {rows.start + len(column)}, but X goes on to row {rows.stop}. "
                        "Pass one value per row of X."
                    )
            yield ArrayBlock(X, table, None if weights is None else np.asarray(weights))
        groups = None if self.values is None else self.values.columns[0]
        for name, column in (("sensitive_features", groups), ("sample_weight", self.weights)):
            if column is not None:
                checks.check_same_length(name, column, first)


class ArrayBlocks(Blocks):
    """A list of arrays, or a function that returns a fresh iterator over arrays.

    Parameters
    ----------
    blocks : sequence, or callable that returns an iterable
        Each item is an array (n_rows, n_features), or a tuple (X, groups) or (X, groups, weights) of one block. A
        function is called once per pass over the data; it must give the same blocks each time.
    labels_to : path or None
        See :class:`Blocks`.

    Examples
    --------
    >>> import numpy as np
    >>> from fairclust import FairKMeans
    >>> from fairclust.scaling import ArrayBlocks
    >>> rng = np.random.default_rng(0)
    >>> blocks = [(rng.normal(size=(500, 2)), rng.choice(["a", "b"], 500)) for _ in range(3)]
    >>> model = FairKMeans(3, random_state=0).fit(ArrayBlocks(blocks))
    >>> model.labels_.shape, model.goal_met_
    ((1500,), True)
    """

    def __init__(
        self, blocks: Sequence[Any] | Callable[[], Iterable[Any]], *, labels_to: str | os.PathLike[str] | None = None
    ) -> None:
        if not callable(blocks) and not isinstance(blocks, Sequence):
            raise InvalidInputError(
                f"blocks is a {type(blocks).__name__}, which can be gone through only once. Give a list of arrays, or "
                "a function that returns a fresh iterator."
            )
        self._blocks = blocks
        self.labels_to = as_output(labels_to)

    def has_words(self, sensitive_features: Any, sample_weight: Any) -> bool:
        """Whether the first block is a data frame with words."""
        first = next(iter(self._blocks() if callable(self._blocks) else self._blocks), None)
        return has_words(first[0] if isinstance(first, tuple) and first else first)

    def open(self, sensitive_features: Any, sample_weight: Any) -> Iterable[Block]:
        """The blocks; groups and weights given as columns of all rows win over those of the blocks."""
        return self._joined(sensitive_features, sample_weight)

    def open_tables(self, sensitive_features: Any, sample_weight: Any) -> Iterable[Block]:
        """The same, data frames as they are."""
        return replace(self._joined(sensitive_features, sample_weight), keeps_frames=True)

    def _joined(self, sensitive_features: Any, sample_weight: Any) -> _Joined:
        blocks = self._blocks
        parts = blocks if callable(blocks) else lambda: blocks
        columns = (
            None if sensitive_features is None else read_columns(sensitive_features),
            None if sample_weight is None else np.asarray(sample_weight),
        )
        return _Joined(lambda: (_three(part) for part in parts()), *columns)


def _three(part: Any) -> tuple[Any, Any, Any]:
    if not isinstance(part, tuple):
        return (part, None, None)
    if not 1 <= len(part) <= 3:
        raise InvalidInputError(
            f"a block is a tuple of {len(part)}, but (X, groups) or (X, groups, weights) is needed."
        )
    X, values, weights = (*part, None, None)[:3]
    return (X, values, weights)


class MemmapBlocks(Blocks):
    """Rows of a NumPy memory map (or of any array), a block at a time.

    Parameters
    ----------
    X : array of shape (n_samples, n_features), or path of a ``.npy`` file
    block_rows : int, default=131072
        Rows per block.
    labels_to : path or None
        See :class:`Blocks`.

    Examples
    --------
    >>> import numpy as np
    >>> from fairclust import FairKMeans
    >>> from fairclust.scaling import MemmapBlocks
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))  # or the path of a .npy file
    >>> model = FairKMeans(3, random_state=0).fit(MemmapBlocks(X, block_rows=300), sensitive_features=["F", "M"] * 500)
    >>> model.goal_met_
    True
    """

    def __init__(
        self,
        X: AnyArray | str | os.PathLike[str],
        *,
        block_rows: int = BLOCK_ROWS,
        labels_to: str | os.PathLike[str] | None = None,
    ) -> None:
        self._X = X if isinstance(X, np.ndarray) else _open_npy(Path(X))
        self._block_rows = _checked_rows(block_rows)
        self.labels_to = as_output(labels_to)

    def open(self, sensitive_features: Any, sample_weight: Any) -> Iterable[Block]:
        """Slices of the map; groups and weights are columns, in memory or mapped."""
        X, size = self._X, self._block_rows
        if X.ndim != 2:
            raise InvalidInputError(f"X has shape {X.shape}, but (n_samples, n_features) is needed.")
        return _Joined(
            lambda: (X[first : first + size] for first in range(0, len(X), size)),
            None if sensitive_features is None else read_columns(sensitive_features),
            None if sample_weight is None else np.asarray(sample_weight),
        )


def _open_npy(path: Path) -> AnyArray:
    try:
        return np.asanyarray(np.load(path, mmap_mode="r"))
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"{path} could not be opened as a .npy file: {error}") from error


def _checked_rows(block_rows: Any) -> int:
    if not isinstance(block_rows, int | np.integer) or block_rows < 1:
        raise InvalidInputError(f"block_rows={block_rows!r}, but a whole number of at least 1 is needed.")
    return int(block_rows)


class ParquetBlocks(Blocks):
    """Row groups of a Parquet file, of several files, or of a directory of them.

    Parameters
    ----------
    path : path or sequence of paths
        A file, a directory (its ``*.parquet`` files, sorted by name) or a list of files.
    columns : sequence of str or None
        Features. None: every numeric column that is neither the sensitive one nor the weights. Columns of words that
        are named here are categories, as in a data frame.
    dtype : {"float32", "float64"} or None
        What the features are read as. None: float32 where all of them are, else float64.
    labels_to : path or None
        See :class:`Blocks`.
    offset, scale : ndarray of shape (n_features,) or None
        Features are read as (value − offset) / scale: the way to standardise them.

    Notes
    -----
    In :meth:`FairKMeans.fit`, ``sensitive_features`` (one name, or a list) and ``sample_weight`` are names of columns.
    Row groups of 100,000 to a million rows are a good size: one row group is one piece of work.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import polars
    >>> from fairclust import FairKMeans
    >>> from fairclust.scaling import ParquetBlocks
    >>> rng = np.random.default_rng(0)
    >>> age, debt = rng.normal(size=(2, 900))
    >>> table = polars.DataFrame({"age": age, "debt": debt, "sex": ["F", "M", "M"] * 300})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table.write_parquet(Path(folder) / "people.parquet")
    ...     people = ParquetBlocks(Path(folder) / "people.parquet", columns=["age", "debt"])
    ...     model = FairKMeans(3, random_state=0).fit(people, sensitive_features="sex")
    >>> model.labels_.shape, model.goal_met_
    ((900,), True)
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        columns: Sequence[str] | None = None,
        dtype: Any = None,
        labels_to: str | os.PathLike[str] | None = None,
        offset: FloatArray | None = None,
        scale: FloatArray | None = None,
    ) -> None:
        self.files = _parquet_files(path)
        self.labels_to = as_output(labels_to)
        self._columns = columns
        self._dtype = dtype
        self._offset, self._scale = offset, scale

    def has_words(self, sensitive_features: Any, sample_weight: Any) -> bool:
        """Whether a column that is named as a feature holds words."""
        require_pyarrow()
        if self._columns is None:
            return False
        with opened(self.files[0]) as parquet:
            schema = parquet.schema_arrow
        named = [schema.field(name).type for name in self._columns if name in schema.names]
        return any(not _is_number(kind) and _is_words(kind) for kind in named)

    def open(self, sensitive_features: Any, sample_weight: Any) -> Iterable[Block]:
        """One block per row group."""
        return self._row_groups(sensitive_features, sample_weight, is_table=False)

    def open_tables(self, sensitive_features: Any, sample_weight: Any) -> Iterable[Block]:
        """The same, with columns as they are."""
        if self._offset is not None or self._scale is not None:
            raise InvalidInputError(
                "offset and scale are for numbers, but X has words, gaps or feature_weights: columns are then scaled "
                "by themselves. Leave offset and scale out."
            )
        return self._row_groups(sensitive_features, sample_weight, is_table=True)

    def _row_groups(self, sensitive_features: Any, sample_weight: Any, *, is_table: bool) -> list[Block]:
        require_pyarrow()
        sensitive = _names("sensitive_features", sensitive_features)
        weight = _names("sample_weight", sample_weight)
        blocks: list[Block] = []
        for file in self.files:
            with opened(file) as parquet:
                schema = parquet.schema_arrow
                columns = self._features(schema, sensitive, weight, file, is_table)
                sizes = [parquet.metadata.row_group(i).num_rows for i in range(parquet.metadata.num_row_groups)]
            dtype = np.dtype(self._dtype) if self._dtype is not None else _common_type(schema, columns)
            blocks += [
                RowGroup(
                    file,
                    i,
                    columns,
                    sensitive,
                    weight[0] if weight else None,
                    dtype,
                    self._offset,
                    self._scale,
                    is_table,
                )
                for i, size in enumerate(sizes)
                if size
            ]
        if not blocks:
            raise InvalidInputError(f"{self.files[0]} has no rows. Give a file with data.")
        return blocks

    def _features(
        self, schema: Any, sensitive: Sequence[str], weight: Sequence[str], file: Path, is_table: bool
    ) -> tuple[str, ...]:
        other = dict.fromkeys(sensitive, "sensitive_features") | dict.fromkeys(weight, "sample_weight")
        for name, argument in other.items():
            if name not in schema.names:
                raise InvalidInputError(f"column {name!r} ({argument}) is not in {file.name}: {_some(schema.names)}.")
        if self._columns is None:
            columns = tuple(f.name for f in schema if _is_number(f.type) and f.name not in other)
        else:
            columns = tuple(self._columns)
        for name in columns:
            if name not in schema.names:
                raise InvalidInputError(f"column {name!r} (columns) is not in {file.name}: {_some(schema.names)}.")
            kind = schema.field(name).type
            if not _is_number(kind) and not (is_table and _is_words(kind)):
                raise InvalidInputError(f"column {name!r} of {file.name} holds {schema.field(name).type}, not numbers.")
        if not columns:
            raise InvalidInputError(f"{file.name} has no numeric column to cluster by: {_some(schema.names)}.")
        if self.feature_names is not None and tuple(self.feature_names) != columns:
            raise InvalidInputError(f"{file.name} has other columns than the file before it: {_some(columns)}.")
        self.feature_names = columns
        return columns


@dataclass
class RowGroup:
    """One row group of a Parquet file."""

    file: Path
    index: int
    columns: tuple[str, ...]
    sensitive: tuple[str, ...]
    weight: str | None
    dtype: np.dtype[Any]
    offset: FloatArray | None = None
    scale: FloatArray | None = None
    is_table: bool = False  # columns as they are, not numbers
    codes: IntArray | None = field(default=None, repr=False)
    plans: dict[Any, Any] | None = field(default=None, repr=False)
    kept: KeptCosts | None = field(default=None, repr=False)

    def panels(self, *, with_groups: bool = False) -> Iterator[Panel]:
        """Decode the columns that are needed, PANEL rows at a time."""
        names = [*self.columns, *(self.sensitive if with_groups else ())]
        names += [self.weight] if self.weight is not None else []
        arrow = require_pyarrow("pyarrow")
        kind = arrow.from_numpy_dtype(self.dtype)
        with opened(self.file) as parquet:
            for batch in _batches(parquet, self.index, names, self.file):
                yield Panel(
                    arrow.table({name: batch.column(name) for name in self.columns})
                    if self.is_table
                    else self._matrix(batch, kind),
                    self._groups(batch) if with_groups and self.sensitive else None,
                    None if self.weight is None else self._column(batch, self.weight).to_numpy().astype(float),
                )
        arrow.default_memory_pool().release_unused()  # which would otherwise grow to several times what is in use

    def _groups(self, batch: Any) -> Columns:
        columns = tuple(_values(batch.column(name)) for name in self.sensitive)
        is_membership = len(columns) > 1 and all(column.dtype == bool for column in columns)
        return Columns(self.sensitive, columns, is_membership, is_named=True)

    def _matrix(self, batch: Any, kind: Any) -> FloatArray:
        """Rows of features; stored feature by feature, as the file has them: turning them around costs a third."""
        columns = [self._column(batch, name) for name in self.columns]
        columns = [column if column.type == kind else column.cast(kind, safe=False) for column in columns]
        X: FloatArray = type(batch).from_arrays(columns, names=self.columns).to_tensor(row_major=False).to_numpy()
        if self.offset is not None:
            X = X - self.offset.astype(self.dtype)
        if self.scale is not None:
            X = X / self.scale.astype(self.dtype)
        return X

    def _column(self, batch: Any, name: str) -> Any:
        column = batch.column(name)
        if column.null_count:
            raise InvalidInputError(
                f"column {name!r} of {self.file.name} has {column.null_count} missing values among {len(column)} rows. "
                "Fill them, or drop these rows."
            )
        return column


def opened(file: Path) -> Any:
    """A Parquet file, read through a small buffer: no column of a row group is held in memory whole."""
    pq = require_pyarrow()
    try:
        return pq.ParquetFile(file, buffer_size=1 << 18)
    except Exception as error:  # pyarrow raises a dozen types
        raise unreadable(file, error) from error


def unreadable(file: Path, error: Exception) -> FairclustError:
    """What to say when a Parquet file cannot be read."""
    if not file.exists():
        return InvalidInputError(f"{file} does not exist. Check the path.")
    first = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return InvalidInputError(f"{file} is damaged or is not a Parquet file ({first}). Nothing was written.")


def _batches(parquet: Any, index: int, names: list[str], file: Path) -> Iterator[Any]:
    try:
        yield from parquet.iter_batches(batch_size=PANEL, row_groups=[index], columns=names, use_threads=False)
    except (OSError, ValueError, RuntimeError) as error:
        raise unreadable(file, error) from error


def _names(argument: str, given: Any) -> tuple[str, ...]:
    names = () if given is None else (given,) if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise InvalidInputError(
            f"{argument} is a {type(given).__name__}, but X is a Parquet file. Give the name of its column."
        )
    return tuple(names)


def _values(column: Any) -> AnyArray:
    """A column of groups; text by way of its dictionary, which is much faster."""
    if column.null_count or not str(column.type).endswith(("string", "utf8", "string_view")):
        return read_columns(require_pyarrow("pyarrow").chunked_array([column])).columns[0]
    encoded = column.dictionary_encode()
    return np.asarray(encoded.dictionary.to_pylist(), dtype=str)[encoded.indices.to_numpy()]


def _parquet_files(path: Any) -> list[Path]:
    if not isinstance(path, str | os.PathLike):
        files = [Path(one) for one in path]
    else:
        place = Path(path)
        files = sorted(place.glob("*.parquet")) if place.is_dir() else [place]
        if not files:
            raise InvalidInputError(f"{place} has no *.parquet files.")
    for file in files:
        if not file.is_file():
            raise InvalidInputError(f"{file} does not exist. Check the path.")
    if not files:
        raise InvalidInputError("the list of Parquet files is empty. Name at least one.")
    return files


def _is_number(kind: Any) -> bool:
    types = require_pyarrow("pyarrow.types")
    return bool(types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind) or types.is_decimal(kind))


def _is_words(kind: Any) -> bool:
    types = require_pyarrow("pyarrow.types")
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(kind) or types.is_large_string(kind) or str(kind) == "string_view")


def _common_type(schema: Any, columns: Sequence[str]) -> np.dtype[Any]:
    types = {str(schema.field(name).type) for name in columns}
    return np.dtype(np.float32 if types <= {"float", "halffloat"} else np.float64)


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return f"its columns are {shown}{f' and {len(names) - 8} more' if len(names) > 8 else ''}"


def require_pyarrow(name: str = "pyarrow.parquet") -> Any:
    """A module of pyarrow, or the sentence that says how to get it."""
    try:
        return __import__(name, fromlist=["_"])
    except ImportError as error:
        raise MissingExtraError(
            "Parquet files need pyarrow, which is not installed. Run: pip install 'fairclust[parquet]'"
        ) from error


def as_output(path: str | os.PathLike[str] | None) -> Path | None:
    """Where labels go; found out before the work."""
    if path is None:
        return None
    place = Path(path)
    if place.suffix not in (".npy", ".parquet"):
        raise InvalidInputError(f"labels_to={str(path)!r}, but a name that ends in .npy or .parquet is needed.")
    if not place.absolute().parent.is_dir():
        raise InvalidInputError(f"labels_to={str(path)!r}: the directory {place.parent} does not exist. Make it first.")
    if place.suffix == ".parquet":
        require_pyarrow()
    return place
