"""Dask collections as blocks: centres and prices go out, tables of a few kB come back.

The partitions stay where they are. Their answers are added along one tree, on the workers as far as neighbours are
together, the rest here. So the result does not depend on which worker was first or holds what, nor on a worker that was
lost and whose partitions were made again elsewhere.
"""

from __future__ import annotations

import itertools
import pickle
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from .._people.columns import Columns, as_columns, read_columns, to_column
from .._table.coded import packed
from .._table.features import read_table
from .._typing import FloatArray, IntArray
from ..errors import FairclustError, InvalidInputError, MissingExtraError
from .blocks import ArrayBlock, Block, Blocks, HeldRows, ParquetBlocks, Reading
from .memory import SHARE, free_memory
from .runners import Job, Result, Runner, TreeSum, Work
from .work import BlockCells, KeptCosts, encode, stacked

_BUNDLES_PER_THREAD = 2  # where a worker has several threads, so that none waits long for another
_BUNDLE_SHARE = 0.25  # of a worker's memory that bundles under way on its threads may take: others may be on disk
_SMALL = 1 << 20  # bytes: partitions of this size on average are moved to their neighbours, which is soon done


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
        return DaskRunner(_prepared, each, _in_memory(X, len(parts)))

    def open(self, sensitive_features: Any, sample_weight: Any) -> Iterable[Block]:
        """Partitions are not read here."""
        raise NotImplementedError


@dataclass
class PreparedBlock(HeldRows):
    """A partition as the tables want it, with its profiles. Lives on a worker."""

    profiles: Columns | None = None

    def __post_init__(self) -> None:
        self.kept = KeptCosts(_has_room)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"plans": {}, "kept": KeptCosts(_has_room)}  # made where they are needed

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, X=_as_kernels_read(state["X"]))

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
    return PreparedBlock(_as_kernels_read(rows), None, weights, codes, {}, profiles=profiles)


def _as_kernels_read(X: FloatArray) -> FloatArray:
    """Rows off the wire may be unaligned, and would be copied in every pass: once, where there is room."""
    return X if X.flags.aligned or not _has_room(X.nbytes) else X.copy()


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
    """Runs functions over delayed partitions.

    The partitions are prepared once and kept on the workers (which spill to disk what does not fit), those of one
    worker in a few bundles. A pass is a task per bundle, which adds up what it can: so it costs the scheduler little,
    however many partitions there are. Bundles move, or are made again, when workers go.

    Parameters
    ----------
    prepare : callable
        Makes a partition as passes want it.
    parts : sequence of tuples
        Of what it makes each: arguments, delayed ones among them.
    sources : sequence of futures or None
        What partitions are made from, where the cluster has that in memory. None: they are loaded first.
    """

    def __init__(
        self,
        prepare: Callable[..., Any],
        parts: Sequence[tuple[Any, ...]],
        sources: Sequence[Any] | None = None,
    ) -> None:
        self._client = _active_client()
        self._n_parts = len(parts)
        self._tables: Sequence[BlockCells] | None = None
        self._bound: list[Any] = []  # tasks that only some workers may run, until they are done
        self._is_near = False  # whether all workers are on this machine, so that they can be reached from here
        with _LossTold(self._client):
            if self._client is None:
                self._groups = [[i] for i in range(self._n_parts)]
                self._bundles = self._kept(partial(_bundled, prepare), [[own] for own in parts], self._groups)
            else:
                bundles, self._is_near = _bundles(self._client, prepare, parts, sources)
                self._groups = [one.numbers for one in bundles]
                self._bundles = [one.future for one in bundles]
                self._bound = [*self._bundles]

    def run(
        self, work: Work[Job, Result], job: Job, *, jobs: Sequence[Job] | None = None,
        tables: Sequence[BlockCells] | None = None,
    ) -> Iterator[Result]:  # fmt: skip
        """All partitions are under way at once."""
        each = [_packed([job if jobs is None else jobs[i] for i in group]) for group in self._groups]
        with _LossTold(self._client):
            self._place(tables)
            found = self._gathered(_answers, self._bundles, each, work=work)
        yield from self._in_order(found)

    def _in_order(self, found: Sequence[Sequence[Result]]) -> Iterator[Result]:
        """What bundles answered, by partition."""
        answers = [
            (i, one) for group, own in zip(self._groups, found, strict=True) for i, one in zip(group, own, strict=True)
        ]
        yield from (one for _, one in sorted(answers, key=itemgetter(0)))

    def total(self, work: Work[Job, Result], job: Job, tables: Sequence[BlockCells]) -> Any:
        """Tasks hand on what they could add up; the rest is added here."""
        found = TreeSum(self._n_parts)
        with _LossTold(self._client):
            self._place(tables)
            own = {"work": work, "job": _packed(job), "n_blocks": self._n_parts}
            for nodes in self._gathered(_added, self._bundles, **own):
                found.merge(nodes)
        return found.value

    def keep_codes(self, codes: Sequence[IntArray | None]) -> None:
        """They stay with the partitions."""

    def labels(self, work: Work[Job, Any], job: Job, tables: Sequence[BlockCells], sizes: Sequence[int]) -> Any:
        """A Dask array. Its parts are looked up in what was made of the bundles, and is kept where these are."""
        array = __import__("dask.array", fromlist=["_"])
        name = f"labels-{uuid.uuid4().hex}"
        with _LossTold(self._client):
            self._place(tables)
            parts = self._labelled(work, [_packed([job] * len(group)) for group in self._groups])
        graph = {
            (name, i): (_part, made, place)
            for group, made in zip(self._groups, parts, strict=True)
            for place, i in enumerate(group)
        }
        return array.Array(graph, name, chunks=(tuple(sizes),), dtype=np.int32)

    def _labelled(self, work: Any, jobs: Sequence[bytes]) -> Sequence[Any]:
        """What the work makes of the partitions of every bundle, where it is."""
        if self._client is None:
            return self._gathered(_answers, self._bundles, jobs, work=work)
        return self._submitted(_answers, self._bundles, jobs, work=work)

    def _release(self) -> None:
        """Once partitions are where they should be, whoever comes may make them again; meanwhile the first pass runs.

        Where all workers are gone the scheduler would wait for one of the old names, for tasks that others may run too.
        """
        if self._bound:
            sys.modules["distributed"].wait(self._bound)
            self._client.run_on_scheduler(_unrestricted, keys=[future.key for future in self._bound])
            self._bound = []

    def _place(self, tables: Sequence[BlockCells] | None) -> None:
        """Tell the partitions their place among the others, once: they keep it."""
        if tables is not None and tables is not self._tables:
            self._bundles = self._kept(
                _placed, self._bundles, [_packed([tables[i] for i in own]) for own in self._groups]
            )
            self._tables = tables

    def _kept(self, function: Any, *arguments: Sequence[Any]) -> list[Any]:
        """What the function makes of each argument, where it was made."""
        if self._client is not None:
            return self._submitted(function, *arguments)
        dask = _require_dask()
        return list(dask.persist(*map(dask.delayed(function, pure=False), *arguments)))

    def _gathered(self, function: Any, *arguments: Sequence[Any], **options: Any) -> Sequence[Any]:
        """What the function makes of each argument, here."""
        if self._client is not None:
            futures = self._submitted(function, *arguments, **options)
            self._release()
            return self._fetched(futures)
        dask = _require_dask()
        return list(dask.compute(*map(dask.delayed(partial(function, **options), pure=False), *arguments)))

    def _submitted(self, function: Any, *arguments: Sequence[Any], **options: Any) -> list[Any]:
        """Tasks of a group of their own.

        Else Dask counts all passes as one large group, takes its tasks for such that load data, and sends them to any
        worker, whoever holds their bundle.
        """
        name = f"{function.__name__}-{uuid.uuid4().hex}"
        keys = [(name, i) for i in range(len(arguments[0]))]
        return list(self._client.map(function, *arguments, key=keys, pure=False, **options))

    def _fetched(self, futures: Sequence[Any]) -> Sequence[Any]:
        """What tasks answered."""
        return list(self._client.gather(futures, direct=self._is_near or None))


class _Made(NamedTuple):
    """A bundle that was asked for."""

    future: Any
    numbers: list[int]
    n_bytes: int  # of what it is made from


def _bundles(
    client: Any, prepare: Callable[..., Any], parts: Sequence[tuple[Any, ...]], sources: Sequence[Any] | None
) -> tuple[list[_Made], bool]:
    """Prepare the partitions: bundles of a worker's, that fit into a part of its memory; and whether all are near.

    Neighbours go to the same worker, where that costs little: then their answers can be added there. Partitions that
    are loaded now, and small ones; large ones that are in memory stay where they are, but for what is beyond a worker's
    share.
    """
    distributed = sys.modules["distributed"]
    if sources is None:
        loaded = _loaded_parts(client, list(itertools.starmap(_require_dask().delayed(prepare), parts)))
        prepare, parts = _as_it_is, [(part,) for part in loaded]
        sources = [distributed.futures_of(part)[0] for part in loaded]
    distributed.wait(sources)
    workers, shares = _workers(client, len(parts))  # there may be more by now
    sizes = client.nbytes([source.key for source in sources], summary=False)
    if sum(sizes.values()) > _SMALL * len(parts):
        holders = client.who_has(sources)
        shares = _near_holders([holders.get(source.key, ()) for source in sources], shares)
    bundled, bundles = _require_dask().delayed(_bundled, pure=False), []
    for name, own in (shares or {"": list(range(len(parts)))}).items():
        worker = workers.get(name, {"nthreads": 1, "memory_limit": 0})
        n_tasks = worker["nthreads"] * (_BUNDLES_PER_THREAD if worker["nthreads"] > 1 else 1)
        most = worker["memory_limit"] * _BUNDLE_SHARE / worker["nthreads"] if worker["memory_limit"] else np.inf
        own_sizes = {i: sizes.get(sources[i].key, 0) for i in own}
        for group in _cut(own, list(own_sizes.values()), -(-len(own) // n_tasks), most):
            made = bundled(prepare, [parts[i] for i in group], group)
            future = client.compute(made, optimize_graph=False, **_on(name))
            bundles.append(_Made(future, group, sum(own_sizes[i] for i in group)))
    return bundles, all(map(_is_near, workers))


def _loaded_parts(client: Any, parts: Sequence[Any]) -> Sequence[Any]:
    """Partitions in the workers' memory; neighbours on the same worker, unless some of their data are there already."""
    _, shares = _workers(client, len(parts))
    if sys.modules["distributed"].futures_of(parts) or not shares:
        return client.persist(parts)
    loaded = [client.persist([parts[i] for i in own], **_on(name)) for name, own in shares.items()]
    return [part for own in loaded for part in own]


def _in_memory(X: Any, n_parts: int) -> list[Any] | None:
    """What partitions are made from, one for each and in their order, where workers hold that; None: they do not."""
    distributed = sys.modules.get("distributed")
    held = [] if distributed is None else distributed.futures_of(X)
    names = {future.key[0] if isinstance(future.key, tuple) else None for future in held}
    if len(held) != n_parts or len(names) != 1 or None in names:
        return None
    return sorted(held, key=lambda future: future.key[1:])


def _unrestricted(dask_scheduler: Any, keys: Sequence[Any]) -> None:
    """Let any worker run these tasks, and those that they are made from."""
    waiting, seen = [dask_scheduler.tasks[key] for key in keys if key in dask_scheduler.tasks], set()
    while waiting:
        task = waiting.pop()
        if task.key not in seen:
            seen.add(task.key)
            task.worker_restrictions = None
            waiting.extend(task.dependencies)


def _near_holders(holders: Sequence[Sequence[str]], shares: Mapping[str, Sequence[int]]) -> dict[str, list[int]]:
    """Partitions for each worker, no more than its share: those that it holds, and what others hold beyond theirs."""
    room = {name: len(own) for name, own in shares.items()}
    found: dict[str, list[int]] = {name: [] for name in shares}
    beyond = []
    for i, names in enumerate(holders):
        name = max((one for one in names if room.get(one)), key=lambda one: room[one], default=None)
        if name is None:
            beyond.append(i)
        else:
            found[name].append(i)
            room[name] -= 1
    for i in beyond:
        name = max(room, key=lambda one: room[one], default="")
        found.setdefault(name, []).append(i)
        room[name] = room.get(name, 0) - 1
    return {name: sorted(own) for name, own in found.items() if own}


def _is_near(address: str) -> bool:
    """Whether a worker is surely on this machine."""
    return address.startswith(("inproc://", "tcp://127.0.0.1:"))


def _on(worker: str) -> dict[str, Any]:
    """Where a task should run, unless that worker is gone; "": anywhere."""
    return {"workers": [worker], "allow_other_workers": True} if worker else {}


def _workers(client: Any, n_parts: int) -> tuple[dict[str, Any], dict[str, list[int]]]:
    """The workers that there are now, and neighbouring partitions for each."""
    workers = client.scheduler_info()["workers"]
    return workers, _shared_out(
        n_parts, {name: worker["nthreads"] for name, worker in workers.items()}
    ) if workers else {}


def _shared_out(n_parts: int, threads: Mapping[str, int]) -> dict[str, list[int]]:
    """Neighbouring partitions for each worker, by its threads."""
    ends = np.cumsum(list(threads.values())) * n_parts // max(sum(threads.values()), 1)
    first = [0, *ends.tolist()]
    shares = {name: list(range(first[i], first[i + 1])) for i, name in enumerate(threads)}
    return {name: own for name, own in shares.items() if own}


def _cut(items: Sequence[int], sizes: Sequence[int], most_items: int, most_bytes: float) -> list[list[int]]:
    """Items in pieces of at most so many, and of at most so many bytes where they are more than one."""
    pieces: list[list[int]] = []
    room = 0.0
    for item, size in zip(items, sizes, strict=True):
        if not pieces or len(pieces[-1]) == most_items or size > room:
            pieces.append([])
            room = most_bytes
        pieces[-1].append(item)
        room -= size
    return pieces


@dataclass
class _Bundle:
    """Partitions of one worker: which ones, and what they know of their place among the others."""

    blocks: Sequence[Any]
    numbers: Sequence[int]
    tables: Sequence[BlockCells | None]

    def __sizeof__(self) -> int:
        return sum(map(sys.getsizeof, self.blocks))


def _packed(job: Any) -> bytes:
    """A job as it is sent: once, and so that its arrays are aligned where it arrives."""
    return pickle.dumps(job, protocol=pickle.HIGHEST_PROTOCOL)


def _bundled(prepare: Callable[..., Any], parts: Sequence[tuple[Any, ...]], numbers: Sequence[int]) -> _Bundle:
    return _Bundle([prepare(*own) for own in parts], numbers, [None] * len(parts))


def _placed(bundle: _Bundle, tables: bytes) -> _Bundle:
    return replace(bundle, tables=pickle.loads(tables))


def _answers(bundle: _Bundle, jobs: bytes, *, work: Work[Job, Result]) -> list[Result]:
    """What the partitions answer, to a job each."""
    return [work(*own) for own in zip(bundle.blocks, bundle.tables, pickle.loads(jobs), strict=True)]


def _part(made: Sequence[Any], place: int) -> Any:
    """What was made of one of the partitions."""
    return made[place]


def _added(bundle: _Bundle, *, work: Work[Job, Any], job: bytes, n_blocks: int) -> dict[tuple[int, int], Any]:
    """What the partitions answer, added up as far as neighbours are among them."""
    found, one = TreeSum(n_blocks), pickle.loads(job)
    for number, block, table in zip(bundle.numbers, bundle.blocks, bundle.tables, strict=True):
        found.put(number, work(block, table, one))
    return found.nodes


class _LossTold:
    """Turn what a lost cluster raises into one sentence."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self._client is None or error is None or isinstance(error, FairclustError | GeneratorExit):
            return
        lost = (OSError, CancelledError, TimeoutError)
        names = {one.__name__ for one in type(error).__mro__}
        if isinstance(error, MemoryError) or "KilledWorker" in names:
            why = (
                "ran out of memory" if isinstance(error, MemoryError) else "were ended, most likely for lack of memory"
            )
            raise FairclustError(
                f"Dask's workers {why}, again and again, over one partition. Make the partitions smaller (X.rechunk or "
                "X.repartition), or give the workers more memory, and fit again."
            ) from error
        if isinstance(error, lost) or names & {"CommClosedError", "FutureCancelledError"}:
            where = getattr(getattr(self._client, "scheduler", None), "address", "?")
            first = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise FairclustError(
                f"the Dask cluster at {where} was lost during the fit ({type(error).__name__}: {first[:200]}). "
                "Nothing was kept; start the cluster again and fit again."
            ) from error


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
        """One task per row group; the rows stay with the workers."""
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
