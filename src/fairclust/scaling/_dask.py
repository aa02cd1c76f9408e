"""Dask collections as blocks: centres and prices go out, tables of a few kB come back.

Tables of the partitions are added here, in the partitions' order. So the result has the same bits for any number of
workers, whichever of them holds what, and also when a worker is lost and Dask makes its partitions again elsewhere.
"""

from __future__ import annotations

import pickle
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from .._people.columns import Columns, as_columns, read_columns, to_column
from .._table.coded import packed
from .._table.features import read_table
from .._typing import IntArray
from ..errors import FairclustError, InvalidInputError, MissingExtraError
from .blocks import ArrayBlock, Block, Blocks, HeldRows, ParquetBlocks, Reading
from .memory import SHARE, free_memory
from .runners import Job, Result, Runner, Work, tree_sum
from .work import BlockCells, KeptCosts, encode, stacked

_BATCH_BYTES = 1 << 28  # of partitions that one task works on, about: what Dask moves and spills as one


def is_dask(X: Any) -> bool:
    """Whether this is a Dask collection; Dask is not imported to find out."""
    return "dask" in sys.modules and hasattr(X, "__dask_graph__") and X.__dask_graph__() is not None


class DaskBlocks(Blocks):
    """The partitions of a Dask array or data frame. Estimators make it by themselves.

    Parameters
    ----------
    X : dask.array.Array of shape (n_samples, n_features) or dask.dataframe.DataFrame
    """

    def __init__(self, X: Any) -> None:
        _require_dask()
        self._X = X
        self._is_frame = hasattr(X, "columns")
        if not self._is_frame and (not hasattr(X, "chunks") or X.ndim != 2):
            raise InvalidInputError(
                "X is a Dask collection, but neither a data frame nor an array with two dimensions."
            )
        self.feature_names = [str(name) for name in X.columns] if self._is_frame else None

    def has_words(self, sensitive_features: Any, sample_weight: Any) -> bool:
        """Whether a column of the data frame that is a feature holds words."""
        if not self._is_frame:
            return False
        others = [name for name in (sensitive_features, sample_weight) if isinstance(name, str)]
        kinds = {name: getattr(kind, "kind", "O") for name, kind in self._X.dtypes.items() if name not in others}
        return any(kind not in "iuf" for kind in kinds.values())

    def runner(
        self, sensitive_features: Any, sample_weight: Any, n_threads: int, reading: Reading | None = None
    ) -> Runner:
        """Tasks on the active client; without one, on Dask's own scheduler in this process."""
        X, columns = self._X, []
        for name, column in (("sensitive_features", sensitive_features), ("sample_weight", sample_weight)):
            if self._is_frame and isinstance(column, str):
                if column not in self._X.columns:
                    raise InvalidInputError(f"column {column!r} ({name}) is not in X: {', '.join(self._X.columns)}.")
                X, column = X.drop(columns=[column]), self._X[column]
            columns.append((name, column))
        columns[0] = ("sensitive_features", _read(columns[0][1]))
        if self._is_frame:
            self.feature_names = [str(name) for name in X.columns]
        parts = _partitions(X)
        sizes = None if self._is_frame or np.isnan(X.shape[0]) else X.chunks[0]
        aligned = [_aligned(name, column, len(parts), sizes) for name, column in columns]
        each = [(part, *own, reading) for part, *own in zip(parts, *aligned, strict=True)]
        return DaskRunner(_prepared, each)

    def open(self, sensitive_features: Any, sample_weight: Any) -> Iterable[Block]:
        """Partitions are not read here."""
        raise NotImplementedError


@dataclass
class PreparedBlock(HeldRows):
    """A partition as the tables want it, with its profiles. Lives on a worker."""

    profiles: Columns | None = None

    def __post_init__(self) -> None:
        self.X = np.require(self.X, requirements="A")  # off the wire, arrays may be unaligned, which kernels refuse
        self.weights = None if self.weights is None else np.require(self.weights, requirements="A")
        self.kept = KeptCosts(_has_room)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"plans": {}, "kept": None}  # made again where they are needed

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def __sizeof__(self) -> int:
        held = (self.X, self.weights, self.codes)
        return sum(array.nbytes for array in held if array is not None) + 5 * len(self.X)


def _has_room(n_bytes: int) -> bool:
    """Whether this worker can hold so much more and stay well below the memory at which Dask begins to spill."""
    worker = _this_worker()
    if worker is None or not worker.memory_manager.memory_limit:
        return n_bytes <= SHARE * free_memory()
    return bool(worker.monitor.get_process_memory() + n_bytes <= SHARE * worker.memory_manager.memory_limit)


def _this_worker() -> Any:
    """The Dask worker that runs this task; None outside of tasks."""
    if "distributed" not in sys.modules:
        return None
    try:
        return sys.modules["distributed"].get_worker()
    except ValueError:
        return None


def _prepared(X: Any, values: Any, weights: Any, reading: Reading | None = None) -> HeldRows:
    if reading is not None and reading.features is None:
        return ArrayBlock(X, None, None if weights is None else np.asarray(weights, dtype=np.float64).reshape(-1))
    if reading is None:
        rows = np.asarray(X)
        rows = np.ascontiguousarray(rows, dtype=np.float32 if rows.dtype == np.float32 else np.float64)
    else:
        assert reading.features is not None
        rows = packed(reading.features.encode(read_table(X)))
    table = None if values is None else as_columns(values, "sensitive_features")
    counts = {
        "sensitive_features": len(rows) if table is None else table.n_rows,
        "sample_weight": len(rows) if weights is None else len(weights),
    }
    for name, count in counts.items():
        if count != len(rows):
            raise InvalidInputError(
                f"a partition of {name} has {count} rows, but that of X has {len(rows)}. Give both the same partitions."
            )
    profiles, codes = encode(table, len(rows))
    weights = None if weights is None else np.asarray(weights, dtype=np.float64).reshape(-1)
    return PreparedBlock(rows, None, weights, codes, {}, profiles=profiles)


def _partitions(X: Any) -> list[Any]:
    if hasattr(X, "columns"):
        return list(X.to_delayed())
    if len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    return list(X.to_delayed().ravel())


def _read(groups: Any) -> Any:
    """Groups in memory as columns; Dask's collections, and dicts with them, as they are."""
    is_lazy = is_dask(groups) or (isinstance(groups, Mapping) and any(map(is_dask, groups.values())))
    return groups if groups is None or is_lazy else read_columns(groups)


def _aligned(name: str, column: Any, n_parts: int, sizes: Sequence[int] | None) -> list[Any]:
    """One column, or several, in the partitions of X."""
    if column is None:
        return [None] * n_parts
    if isinstance(column, Columns):
        split = zip(*(_aligned(name, one, n_parts, sizes) for one in column.columns), strict=True)
        return [replace(column, columns=own) for own in split]
    if isinstance(column, Mapping):
        split = zip(*(_aligned(f"{name}[{key!r}]", one, n_parts, sizes) for key, one in column.items()), strict=True)
        return [dict(zip(column, own, strict=True)) for own in split]
    if is_dask(column):
        if hasattr(column, "chunks"):
            column = column.reshape(-1) if column.ndim == 2 and column.shape[1] == 1 else column
            column = column.rechunk({1: -1}) if column.ndim == 2 else column
            if sizes is not None and not np.isnan(column.shape[0]):
                if column.shape[0] != sum(sizes):
                    raise InvalidInputError(
                        f"{name} has {column.shape[0]} rows but X has {sum(sizes)}. Pass one value per row of X."
                    )
                column = column.rechunk((tuple(sizes), *column.chunks[1:]))
        parts = list(column.to_delayed().ravel() if hasattr(column, "chunks") else column.to_delayed())
        if len(parts) != n_parts:
            raise InvalidInputError(
                f"{name} has {len(parts)} partitions but X has {n_parts}. Give both the same partitions."
            )
        return parts
    if sizes is None:
        raise InvalidInputError(
            f"{name} is a {type(column).__name__}, but the partitions of X have no known sizes. Pass a Dask array or "
            "series with the same partitions, or the name of a column of X."
        )
    whole = to_column(column, name)
    if len(whole) != sum(sizes):
        raise InvalidInputError(f"{name} has {len(whole)} rows but X has {sum(sizes)}. Pass one value per row of X.")
    return np.split(whole, np.cumsum(sizes)[:-1])


class DaskRunner:
    """Runs functions over partitions as Dask tasks: on the active client, or without one in this process.

    The partitions are prepared once, and Dask keeps them: it decides where they are, moves them, spills them to disk
    and makes lost ones again. A task works on a batch of them, so a pass is one task per thread, or a few, however many
    partitions there are.

    Parameters
    ----------
    prepare : callable
        Makes a partition as passes want it.
    parts : sequence of tuples
        Of what it makes each: arguments, delayed ones among them.
    """

    def __init__(self, prepare: Callable[..., Any], parts: Sequence[tuple[Any, ...]]) -> None:
        dask, self._client = _require_dask(), _active_client()
        with _loss_told(self._client):
            prepared = dask.persist(*(dask.delayed(prepare, pure=False)(*part) for part in parts))
            self._batches = _batches(self._client, prepared)
            lists = [dask.delayed(list, pure=False)([prepared[i] for i in batch]) for batch in self._batches]
            self._held = dask.persist(*lists)

    def run(
        self, work: Work[Job, Result], job: Job, *, jobs: Sequence[Job] | None = None,
        tables: Sequence[BlockCells] | None = None,
    ) -> Iterator[Result]:  # fmt: skip
        """All partitions are under way at once."""
        with _loss_told(self._client):
            found = _require_dask().compute(*self._tasks(work, job, jobs, tables), optimize_graph=False)
        yield from self._in_order(found)

    def total(self, work: Work[Job, Result], job: Job, tables: Sequence[BlockCells]) -> Any:
        """Add the answers here: a few kB of each partition."""
        return tree_sum(self.run(work, job, tables=tables))

    def keep_codes(self, codes: Sequence[IntArray | None]) -> None:
        """They stay with the partitions."""

    def labels(self, work: Work[Job, Any], job: Job, tables: Sequence[BlockCells], sizes: Sequence[int]) -> Any:
        """A Dask array with the partitions of X, which stays on the workers."""
        array = __import__("dask.array", fromlist=["_"])
        with _loss_told(self._client):
            made = _require_dask().persist(*self._tasks(work, job, None, tables), optimize_graph=False)
        own = [[one[k] for k in range(len(batch))] for one, batch in zip(made, self._batches, strict=True)]
        parts = zip(self._in_order(own), sizes, strict=True)
        return array.concatenate([array.from_delayed(part, (size,), np.int32) for part, size in parts])

    def _in_order(self, found: Sequence[Sequence[Any]]) -> list[Any]:
        """What batches have for each of their partitions, in the order of X."""
        pairs = zip(chain.from_iterable(self._batches), chain.from_iterable(found), strict=True)
        return [one for _, one in sorted(pairs, key=itemgetter(0))]

    def _tasks(
        self, work: Work[Job, Result], job: Job, jobs: Sequence[Job] | None, tables: Sequence[BlockCells] | None
    ) -> list[Any]:
        """A task per batch.

        The keys make a task group of each pass. In one group for all passes Dask would take these tasks for such that
        load data, and run them on any worker, which would have to fetch its batch from another one first.
        """
        n_parts = sum(map(len, self._batches))
        jobs = [job] * n_parts if jobs is None else jobs
        known: Sequence[BlockCells | None] = [None] * n_parts if tables is None else tables
        name, answers = f"{work.__name__}-{uuid.uuid4().hex}", _require_dask().delayed(_answers, pure=False)
        return [
            answers(held, work, _packed([(known[i], jobs[i]) for i in batch]), dask_key_name=(name, place))
            for place, (held, batch) in enumerate(zip(self._held, self._batches, strict=True))
        ]


def _batches(client: Any, prepared: Sequence[Any]) -> list[list[int]]:
    """Which partitions each task works on. Without a cluster, where a task costs next to nothing: one.

    Those that are on the same worker now are put together, as fewer have to be moved then.
    """
    if client is None:
        return [[i] for i in range(len(prepared))]
    distributed = sys.modules["distributed"]
    futures = [distributed.futures_of(one)[0] for one in prepared]
    distributed.wait(futures)
    holders, known = client.who_has(futures), client.nbytes([future.key for future in futures], summary=False)
    order = sorted(range(len(futures)), key=lambda i: holders.get(futures[i].key, ()))
    sizes = [max(known.get(futures[i].key, 0), 0) for i in order]  # -1: it failed, which the first pass tells
    n_threads = max(sum(client.ncores().values()), 1)
    return [order[piece] for piece in _cut(sizes, n_threads * max(-(-sum(sizes) // (n_threads * _BATCH_BYTES)), 1))]


def _cut(sizes: Sequence[int], n_pieces: int) -> list[slice]:
    """At most so many pieces, of about the same size."""
    middle = np.cumsum(sizes) - np.asarray(sizes) / 2
    first = np.flatnonzero(np.diff(middle * n_pieces // max(sum(sizes), 1), prepend=-1)).tolist()
    return [slice(*ends) for ends in zip(first, [*first[1:], len(sizes)], strict=True)]


def _packed(asked: Sequence[tuple[BlockCells | None, Any]]) -> bytes:
    """Pickled here, as arrays that Dask sends by themselves may be unaligned where they arrive: kernels refuse them."""
    return pickle.dumps(asked, protocol=pickle.HIGHEST_PROTOCOL)


def _answers(blocks: Sequence[Any], work: Work[Job, Result], asked: bytes) -> list[Result]:
    """What each partition answers to its job."""
    return [work(block, *own) for block, own in zip(blocks, pickle.loads(asked), strict=True)]


@contextmanager
def _loss_told(client: Any) -> Iterator[None]:
    """Turn what a lost cluster raises into one sentence."""
    try:
        yield
    except FairclustError:
        raise
    except Exception as error:
        names = {one.__name__ for one in type(error).__mro__}
        if client is not None and (isinstance(error, MemoryError) or "KilledWorker" in names):
            why = (
                "ran out of memory" if isinstance(error, MemoryError) else "were ended, most likely for lack of memory"
            )
            raise FairclustError(
                f"Dask's workers {why}, again and again, over one partition. Make the partitions smaller (X.rechunk or "
                "X.repartition), or give the workers more memory, and fit again."
            ) from error
        is_lost = isinstance(error, OSError | CancelledError | TimeoutError)
        if client is not None and (is_lost or names & {"CommClosedError", "FutureCancelledError"}):
            where = getattr(getattr(client, "scheduler", None), "address", "?")
            first = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise FairclustError(
                f"the Dask cluster at {where} was lost during the fit ({type(error).__name__}: {first[:200]}). "
                "Nothing was kept; start the cluster again and fit again."
            ) from error
        raise


def _active_client() -> Any:
    if "distributed" not in sys.modules:
        return None
    try:
        return sys.modules["distributed"].default_client()
    except ValueError:
        return None


def _require_dask() -> Any:
    try:
        return __import__("dask")
    except ImportError as error:
        raise MissingExtraError("Dask is not installed. Run: pip install 'fairclust[dask]'") from error


class DaskParquet(ParquetBlocks):
    """A Parquet file or data set whose row groups the workers read: they must see the files under the same path.

    Examples
    --------
    >>> from fairclust.scaling import DaskParquet, ParquetBlocks
    >>> issubclass(DaskParquet, ParquetBlocks)  # used the same way; the work goes to the scheduler in force
    True
    """

    def runner(
        self, sensitive_features: Any, sample_weight: Any, n_threads: int, reading: Reading | None = None
    ) -> Runner:
        """One partition per row group; the rows stay with the workers."""
        if reading is None:
            blocks = self.open(sensitive_features, sample_weight)
        else:
            blocks = reading.of(self.open_tables(sensitive_features, sample_weight))
        load = _as_it_is if reading is not None and reading.features is None else _loaded
        return DaskRunner(load, [(block,) for block in blocks])


def _as_it_is(block: Any) -> Any:
    """A partition that is ready, or a row group that is read where it is asked for."""
    return block


def _loaded(block: Block) -> PreparedBlock:
    panels = [panel._replace(X=np.array(panel.X, order="C")) for panel in block.panels(with_groups=True)]
    X = np.concatenate([panel.X for panel in panels])
    weights = [panel.weights for panel in panels if panel.weights is not None]
    profiles, codes = encode(stacked([panel.values for panel in panels if panel.values is not None]), len(X))
    return PreparedBlock(X, None, np.concatenate(weights) if weights else None, codes, {}, profiles=profiles)
