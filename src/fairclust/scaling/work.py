"""What one block answers: small tables. Plain functions that can be sent to another process.

Each takes a block, the block's own ``table`` (profile in the block → cell of all data) and a job. The rows are
worked on a panel at a time and the panels' tables are added in order, so an answer depends on the block's rows alone,
whoever computes it.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from .._core import kernels
from .._core.tiles import TILE
from .._data.layout import Layout, build_layout, every_nth_of_each
from .._memory import in_own_pages, on_lines
from .._objectives.centers import SQUARED_EUCLIDEAN, moments
from .._objectives.coded import CodedKMeansObjective
from .._people.columns import Columns, factorize, find_missing
from .._table.coded import CodedRows, unpacked
from .._table.features import Features, read_table
from .._table.summaries import ColumnSummary, summarize
from .._typing import AnyArray, FloatArray, IntArray
from ..errors import InvalidInputError
from .blocks import Block

_scratch = threading.local()
_MOST_PROFILES = 100_000  # a block sends a row of each back; more is no column of groups


@dataclass(frozen=True)
class Description:
    """What the first pass finds out about a block."""

    n_rows: int
    n_features: int
    dtype: np.dtype[Any]
    profiles: Columns | None  # of people: a row each
    masses: FloatArray  # by profile
    counts: IntArray
    total: float
    mean: FloatArray
    spread: FloatArray  # weighted squares about the mean
    is_weighted: bool
    not_finite: int | None  # the first such row
    codes: IntArray | None  # None: they stay where the block is


def encode(values: Columns | None, n_rows: int) -> tuple[Columns | None, IntArray]:
    """The different profiles in one block, and which one each has, in as few bytes as possible."""
    if values is None or not n_rows:
        return None, np.zeros(n_rows, dtype=np.uint8)
    columns, key = [], None
    for column in values.columns:
        names, own = _names_and_codes(column)
        key = own if key is None else key * np.int64(len(names)) + own
        columns.append(names)
    assert key is not None
    sizes = [len(names) for names in columns]
    if len(columns) == 1:  # its names are those that occur
        keys, profiles = np.arange(sizes[0]), key
    else:
        keys, profiles = _distinct(key, math.prod(sizes))
    if len(keys) > _MOST_PROFILES:
        raise InvalidInputError(
            f"sensitive_features has more than {_MOST_PROFILES} different values, or combinations of them, in one "
            "block. Make a column of a few groups first."
        )
    found = tuple(names[own] for names, own in zip(columns, np.unravel_index(keys, sizes), strict=True))
    small = np.uint8 if len(keys) <= 256 else np.uint16 if len(keys) <= 65536 else np.int32
    return replace(values, columns=found), profiles.astype(small)


def _distinct(key: IntArray, n_keys: int) -> tuple[IntArray, IntArray]:
    """The different keys below ``n_keys``, sorted, and the place of each row's: by counting, where they can be few."""
    if n_keys > len(key):
        keys, place = np.unique(key, return_inverse=True)
        return keys, place.reshape(-1)
    keys = np.flatnonzero(np.bincount(key, minlength=n_keys))
    place = np.zeros(n_keys, dtype=np.int32)
    place[keys] = np.arange(len(keys))
    return keys, place[key]


def _names_and_codes(column: AnyArray) -> tuple[AnyArray, IntArray]:
    """The values of a column and the code of each row; missing values are None, the last."""
    absent = find_missing(column)
    if not absent.any():
        return factorize(column, "sensitive_features")
    codes = np.empty(len(column), dtype=np.int32)
    names, codes[~absent] = factorize(column[~absent], "sensitive_features")
    codes[absent] = len(names)
    with_none = np.empty(len(names) + 1, dtype=object)
    with_none[:-1] = names.tolist()
    return with_none, codes


def summaries(block: Block, table: IntArray | None, job: Features) -> list[tuple[ColumnSummary, ...]]:
    """What a block of a table tells of its columns; an empty block tells nothing."""
    return [summarize(read_table(panel.X), job, panel.weights) for panel in block.panels() if len(panel.X)]


def describe(block: Block, table: IntArray | None, job: bool) -> Description:
    """Count the rows and groups, and measure the features. Of a table (``job``), gaps are no matter."""
    found: list[tuple[Columns | None, IntArray]] = []
    weights, n_rows, bad = [], 0, None
    dtype: np.dtype[Any] = np.dtype(np.float32)
    n_features, total = -1, 0.0
    mean, spread = np.zeros(1), np.zeros(1)
    for panel in block.panels(with_groups=True):
        X = panel.X
        if n_features not in (-1, X.shape[1]):
            raise InvalidInputError(f"X has {n_features} features in some rows and {X.shape[1]} in others.")
        n_features = X.shape[1]
        dtype = dtype if X.dtype == np.float32 else np.dtype(np.float64)
        w = panel.weights
        if w is not None and ((w < 0).any() or not np.isfinite(w).all()):
            raise InvalidInputError("sample_weight has negative or missing values. Give weights of at least 0.")
        own = _moments(X, w)
        # What is not finite shows in the mean, unless it weighs nothing.
        is_clean = job or bad is not None or (w is None and np.isfinite(own[0]).all())
        worst = None if is_clean else _first_not_finite(X)
        bad = bad if worst is None else n_rows + worst
        n_rows += len(X)
        mean, spread, total = merge_moments((mean, spread, total), own)
        if block.codes is None:
            found.append(encode(panel.values, len(X)))
        if panel.weights is not None:
            weights.append(panel.weights)
    profiles, codes, kept = getattr(block, "profiles", None), block.codes, None
    if codes is None:
        profiles, codes = _together(found)
        kept = codes
    n_profiles = 1 if profiles is None else profiles.n_rows
    counts = np.bincount(codes, minlength=n_profiles)
    masses = np.bincount(codes, weights=np.concatenate(weights), minlength=n_profiles) if weights else counts
    return Description(
        n_rows, n_features, dtype, profiles, masses.astype(float), counts, total, mean, spread, bool(weights), bad, kept
    )


def _together(parts: list[tuple[Columns | None, IntArray]]) -> tuple[Columns | None, IntArray]:
    """Kinds of people of several panels, numbered anew."""
    tables = [profiles for profiles, _ in parts if profiles is not None]
    if not tables:
        return None, np.concatenate([codes for _, codes in parts])
    every = stacked(tables)
    assert every is not None
    profiles, place = encode(every, every.n_rows)
    ends = np.cumsum([one.n_rows for one in tables])
    return profiles, np.concatenate(
        [place[end - one.n_rows : end][codes] for end, one, (_, codes) in zip(ends, tables, parts, strict=True)]
    )


def stacked(tables: list[Columns]) -> Columns | None:
    """The rows of several tables below each other; None: there is none."""
    if not tables:
        return None
    columns = zip(*(table.columns for table in tables), strict=True)
    return replace(tables[0], columns=tuple(np.concatenate(column) for column in columns))


def _moments(X: AnyArray, weights: FloatArray | None) -> tuple[FloatArray, FloatArray, float]:
    """Mean, weighted squares about it, and weight. Of values beyond what doubles can square, NaN or infinities."""
    total = float(len(X) if weights is None else weights.sum())
    with np.errstate(over="ignore", invalid="ignore"):  # whoever asked looks at what came out
        mean, squares = moments(X, weights)
    return mean, squares, total


def _first_not_finite(X: AnyArray) -> int | None:
    """The first row with NaN or an infinity."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum(dtype=np.float64)):  # a sum of numbers that is one too: the usual case, and soon done
            return None
    finite = np.isfinite(X).all(axis=1)
    return None if finite.all() else int(np.argmin(finite))


def merge_moments(
    one: tuple[FloatArray, FloatArray, float], other: tuple[FloatArray, FloatArray, float]
) -> tuple[FloatArray, FloatArray, float]:
    """Mean, squares about it and weight of two parts together."""
    total = one[2] + other[2]
    if one[2] <= 0 or other[2] <= 0:
        return other if one[2] <= 0 else one
    apart = other[0] - one[0]
    return (
        one[0] + apart * (other[2] / total),
        one[1] + other[1] + apart**2 * (one[2] * other[2] / total),
        total,
    )


@dataclass(frozen=True)
class Wanted:
    """Rows to collect from a block: for each sample every so-manieth of each cell, and some by number within it."""

    steps: Sequence[IntArray]  # of each sample, by cell
    before: IntArray  # rows of each cell in earlier blocks
    rows: IntArray
    n_features: int
    dtype: np.dtype[Any]


@dataclass(frozen=True)
class Picked:
    """Some rows of a block, in its order, and their numbers within it."""

    X: FloatArray
    codes: IntArray
    weights: FloatArray | None
    positions: IntArray


def collect(block: Block, table: BlockCells, job: Wanted) -> list[Picked]:
    """Collect the rows of each sample, and those asked for by number, in one go through the block."""
    assert block.codes is not None
    codes = table.codes[block.codes]
    wanted = [*(every_nth_of_each(codes, steps, job.before) for steps in job.steps), job.rows]
    X = [np.empty((len(rows), job.n_features), dtype=job.dtype) for rows in wanted]
    weights: list[list[FloatArray]] = [[] for _ in wanted]
    first = 0
    for panel in block.panels() if any(map(len, wanted)) else ():
        last = first + len(panel.X)
        for rows, found, found_weights in zip(wanted, X, weights, strict=True):
            here = slice(*np.searchsorted(rows, (first, last)))
            own = rows[here] - first
            found[here] = panel.X.take(own, axis=0)
            if panel.weights is not None:
                found_weights.append(panel.weights[own])
        first = last
    return [
        Picked(found, codes[rows].astype(np.int32), np.concatenate(own) if own else None, rows)
        for rows, found, own in zip(wanted, X, weights, strict=True)
    ]


@dataclass(frozen=True)
class BlockCells:
    """What a pass knows of a block's place among the others.

    Attributes
    ----------
    codes : ndarray of shape (n_own_kinds,)
        The block's own kinds of people → cells.
    before : ndarray of shape (n_cells,)
        Rows of each cell in earlier blocks.
    first_row : int
        Rows of earlier blocks.
    """

    codes: IntArray
    before: IntArray
    first_row: int


@dataclass(frozen=True)
class Costs:
    """Which point costs: distances to these centres."""

    metric: int
    centers: FloatArray
    n_cells: int
    like: CodedRows | None = None  # of a table: no rows, of its kind

    @property
    def n_sums(self) -> int:
        """Numbers per cluster that rows are summed up to."""
        like = self.like
        return self.centers.shape[1] if like is None else 2 * like.n_numbers + int(like.first[-1])

    def is_same(self, other: Costs) -> bool:
        """Whether they are the same point costs, in the same layout."""
        is_alike = self.metric == other.metric and self.n_cells == other.n_cells
        return is_alike and np.array_equal(self.centers, other.centers)


class KeptCosts:
    """Point costs of a block's panels, kept for the next pass with the same centres, where there is room.

    Parameters
    ----------
    has_room : callable
        Whether so many bytes more may be held.
    """

    def __init__(self, has_room: Callable[[int], bool]) -> None:
        self._has_room = has_room
        self._costs: Costs | None = None
        self._panels: list[tuple[FloatArray, float] | None] = []

    def of(self, costs: Costs) -> list[tuple[FloatArray, float] | None] | None:
        """Excess and base cost of every panel (None: there was no room); None: not these costs."""
        own = self._costs
        return self._panels if own is not None and own.is_same(costs) else None

    def room(self, i: int, shape: tuple[int, ...]) -> FloatArray | None:
        """Room for the costs of panel i, which may hold old ones; None: there is none."""
        self._costs = None
        known = self._panels[i] if i < len(self._panels) else None
        if known is not None and known[0].shape == shape:
            return known[0]
        return in_own_pages(shape, np.float32) if self._has_room(4 * math.prod(shape)) else None

    def keep(self, costs: Costs, panels: list[tuple[FloatArray, float] | None]) -> None:
        """Keep the costs of all panels."""
        self._costs, self._panels = costs, panels


@dataclass(frozen=True)
class SoftJob:
    """An evaluation: softmax(−scale·a − scaled_price), with products of shares over every so-manieth run of rows."""

    costs: Costs
    scale: float
    scaled_price: FloatArray  # (cells, clusters)
    steps: IntArray | None = None  # by cell; None: no products
    with_sums: bool = False


@dataclass(frozen=True)
class SoftTables:
    """What an evaluation over some rows tells; tables of several blocks add up."""

    masses: FloatArray
    cost: float
    log_partition: float
    pairs: FloatArray | float = 0.0
    summed: FloatArray | float = 0.0
    sums: FloatArray | float = 0.0

    def __add__(self, other: SoftTables) -> SoftTables:
        return SoftTables(
            self.masses + other.masses, self.cost + other.cost, self.log_partition + other.log_partition,
            self.pairs + other.pairs, self.summed + other.summed, self.sums + other.sums,
        )  # fmt: skip


@dataclass(frozen=True)
class _Rows:
    """A panel of rows that answers: from kept costs, or from costs that are computed on the way and forgotten."""

    given: FloatArray
    layout: Layout
    plan: Any
    weights: FloatArray | None
    costs: Costs
    kept: tuple[FloatArray, float] | None  # excess, and the cost of the cheapest clusters
    before: IntArray  # rows of each cell before these
    first_row: int  # rows before these

    @cached_property
    def X(self) -> FloatArray:  # noqa: N802
        """The rows as kernels take them. Arrays off the wire may be unaligned: a copy, which kept costs do without."""
        dtype = self.costs.centers.dtype if self.costs.like is None else self.costs.like.dtype
        X = np.require(self.given, dtype, "A")
        return X if X.flags.c_contiguous or X.strides[0] == X.itemsize else np.ascontiguousarray(X)

    def evaluate(self, job: SoftJob) -> SoftTables:
        """Count the soft assignments."""
        how = (self.weights, job.scale, job.scaled_price, job.steps, self.before, 1)
        if self.kept is None and self.costs.like is None:
            base, answer = kernels.sweep_rows(self.plan, self.costs.metric, self.X, self.costs.centers, *how)
        else:
            excess, base = self.filled()
            answer = kernels.sweep(self.plan, excess, *how)
        masses, cost, log_partition, pairs, summed = answer
        products = (0.0, 0.0) if job.steps is None else (pairs, summed)
        return SoftTables(masses, base + cost, log_partition - job.scale * base, *products)

    def soft_sums(self, job: SoftJob) -> FloatArray:
        """Sums of the rows weighted by the soft assignments."""
        excess, _ = self.filled()
        if self.costs.like is not None:
            return self._coded_soft_sums(self.costs.like, excess, job)
        X = np.ascontiguousarray(self.X)
        return np.asarray(kernels.soft_sums(self.plan, excess, X, self.weights, job.scale, job.scaled_price, 1))

    def assign(self, job: HardJob) -> tuple[IntArray, HardTables]:
        """Label the rows, in visiting order; count the labels, and sum the rows by label where that is asked for."""
        labels = np.empty(len(self.given), dtype=np.int32)
        how = (self.costs.centers, self.weights, job.prices, labels, 1, job.split, self.before, job.with_sums)
        if self.kept is None and self.costs.like is None:
            base, answer, sums = kernels.assign_rows(self.plan, self.costs.metric, self.X, *how)
        else:
            excess, base = self.filled()
            answer = kernels.assign(
                self.plan, excess, self.weights, job.prices, labels, None, 1, job.split, self.before
            )
            sums = self._sums(labels) if job.with_sums else np.zeros((len(self.costs.centers), self.costs.n_sums))
        masses, cost, margin = answer
        return labels, HardTables(masses, base + cost, margin, sums) + self._move(job, labels)

    def _move(self, job: HardJob, labels: IntArray) -> HardTables:
        """Relabel (IN/OUT) single rows that moved away from where the rule has them; what that changes."""
        n_clusters, like = len(self.costs.centers), np.zeros((len(self.costs.centers), self.costs.n_sums))
        change = HardTables(np.zeros((self.costs.n_cells, n_clusters)), 0.0, 0.0, like)
        own = slice(*np.searchsorted(job.moved, (self.first_row, self.first_row + len(self.given))))
        if own.start == own.stop:
            return change
        place = np.empty(len(self.given), dtype=np.int64)
        place[self.layout.order] = np.arange(len(self.given))
        rows, after = job.moved[own] - self.first_row, job.moved_to[own]
        where = place[rows]
        before, cells, every = labels[where], self.layout.cells_of(where), np.arange(len(where))
        labels[where] = after
        X, weights = self.X[rows], np.ones(len(rows)) if self.weights is None else self.weights[where]
        costs, added = costs_of_rows(X, self.costs), weights[:, None] * sums_of_rows(X, self.costs)
        for clusters, sign in ((before, -1.0), (after, 1.0)):
            np.add.at(change.masses, (cells, clusters), sign * weights)
            np.add.at(change.sums, clusters, sign * added)
        return replace(change, cost=float(weights @ (costs[every, after] - costs[every, before])))

    def margins(self) -> FloatArray:
        """What the rows lose in their second-best cluster, without prices."""
        (excess, _), labels = self.filled(), np.empty(len(self.given), dtype=np.int32)
        gaps = np.empty(len(self.given), dtype=np.float32)
        prices = np.zeros((self.costs.n_cells, len(self.costs.centers)))
        kernels.assign(self.plan, excess, self.weights, prices, labels, gaps, 1, 0.0, None)
        return gaps

    def filled(self) -> tuple[FloatArray, float]:
        """Costs above the cheapest cluster, in tiles, and what the cheapest cost together.

        Where they are not kept they last until the next are asked for.
        """
        return self._fill(_buffer(self._shape)) if self.kept is None else self.kept

    def keeping(self, kept: KeptCosts, i: int) -> _Rows:
        """The same panel, the i-th, with costs in room that stays; as it is where there is none."""
        room = kept.room(i, self._shape)
        return self if room is None else replace(self, given=self.X, kept=self._fill(room))

    @property
    def _shape(self) -> tuple[int, int, int]:
        return self.layout.n_tiles, len(self.costs.centers), TILE

    def _fill(self, room: FloatArray) -> tuple[FloatArray, float]:
        metric, centers, like = self.costs.metric, self.costs.centers, self.costs.like
        if like is not None:
            rows = unpacked(self.X, like)
            numbers = np.ascontiguousarray(centers[:, : like.n_numbers].T, dtype=like.dtype)
            base, _ = kernels.coded_distances(
                self.plan, rows.numbers, rows.codes, rows.first, numbers, like.tables(centers).astype(like.dtype),
                None, self.weights, room, 1,
            )  # fmt: skip
            return room, base
        return room, kernels.distances(self.plan, metric, self.X, centers, None, self.weights, room, 1)[0]

    def _sums(self, labels: IntArray) -> FloatArray:
        n_clusters = len(self.costs.centers)
        if self.costs.like is not None:
            return self._coded_sums(self.costs.like, labels, self.weights, n_clusters)
        return np.asarray(kernels.label_sums(self.plan, self.X, labels, self.weights, n_clusters, 1))

    def _coded_sums(self, like: CodedRows, labels: IntArray, weights: FloatArray | None, n_clusters: int) -> FloatArray:
        rows = unpacked(self.X, like)
        return np.asarray(
            kernels.coded_sums(self.plan, rows.numbers, rows.codes, rows.first, labels, weights, n_clusters, 1)
        )

    def _coded_soft_sums(self, like: CodedRows, excess: FloatArray, job: SoftJob) -> FloatArray:
        """A cluster at a time: the rows, weighted by how much of them it holds."""
        n_clusters = len(self.costs.centers)
        soft = np.empty((len(self.given), n_clusters), dtype=np.float32)
        kernels.soft_rows(self.plan, excess, job.scale, job.scaled_price, soft, 1)
        together, sums = np.zeros(len(self.given), dtype=np.int32), np.empty((n_clusters, self.costs.n_sums))
        for k in range(n_clusters):
            own = soft[self.layout.order, k].astype(np.float64)
            own = own if self.weights is None else own * self.weights
            sums[k] = self._coded_sums(like, together, own, 1)[0]
        return sums


def sums_of_rows(X: FloatArray, costs: Costs) -> FloatArray:
    """What each of some rows adds to the sums of its cluster, (n_rows, n_sums), per weight."""
    like, X = costs.like, X.astype(float)
    if like is None:
        return X
    numbers, codes = X[:, : like.n_numbers], X[:, like.n_numbers :].astype(np.int64)
    is_category = np.zeros((len(X), int(like.first[-1])))
    np.put_along_axis(is_category, like.first[:-1] + codes, 1.0, axis=1)
    return np.hstack([np.nan_to_num(numbers), ~np.isnan(numbers), is_category])


def costs_of_rows(X: FloatArray, costs: Costs) -> FloatArray:
    """Point costs of some rows, (n_rows, n_clusters)."""
    if costs.like is not None:
        return CodedKMeansObjective(unpacked(X, costs.like)).costs(costs.centers)
    return cdist(X, costs.centers, "sqeuclidean" if costs.metric == SQUARED_EUCLIDEAN else "euclidean")


def margins(X: FloatArray, codes: IntArray, costs: Costs) -> FloatArray:
    """Margins of rows in memory, by their cells: what each loses in its second-best cluster, without prices."""
    layout = build_layout(codes, costs.n_cells)
    plan = kernels.Plan(layout.order, layout.start, layout.size, layout.chunk, layout.chunk_cell)
    return _Rows(X, layout, plan, None, costs, None, np.zeros(costs.n_cells, dtype=np.int64), 0).margins()


def _panels(block: Block, table: BlockCells, costs: Costs) -> Iterator[_Rows]:
    """The rows of a block, a panel at a time. Costs are kept where the block has room for them."""
    first, kept, before = 0, block.kept, table.before
    known = None if kept is None else kept.of(costs)
    fresh: list[tuple[FloatArray, float] | None] = []
    for i, panel in enumerate(block.panels()):
        layout, plan = _plan(block, slice(first, first + len(panel.X)), table.codes, costs.n_cells)
        weights = None if panel.weights is None else layout.to_visiting_order(panel.weights)
        own = None if known is None else known[i]
        rows = _Rows(panel.X, layout, plan, weights, costs, own, before, table.first_row + first)
        before = before + layout.cell_counts
        if kept is not None and known is None:
            rows = rows.keeping(kept, i)
            fresh.append(rows.kept)
        yield rows
        first += len(panel.X)
    if kept is not None and known is None:
        kept.keep(costs, fresh)


def _plan(block: Block, rows: slice, table: IntArray, n_cells: int) -> tuple[Layout, Any]:
    """Where the points of a panel lie; the same in every pass, and so kept where there is room."""
    known = None if block.plans is None else block.plans.get((rows.start, n_cells))
    if known is not None:
        return known
    assert block.codes is not None
    layout = build_layout(table[block.codes[rows]], n_cells)
    plan = kernels.Plan(layout.order, layout.start, layout.size, layout.chunk, layout.chunk_cell)
    if block.plans is not None:
        block.plans[rows.start, n_cells] = (layout, plan)
    return layout, plan


def _buffer(shape: tuple[int, ...]) -> FloatArray:
    """Room for a panel's costs, one per thread: fresh memory for each panel would cost more than filling it."""
    room: FloatArray | None = getattr(_scratch, "room", None)
    size = math.prod(shape)
    if room is None or room.size < size:
        room = _scratch.room = on_lines(size, np.float32)
    return room[:size].reshape(shape)


def soft_tables(block: Block, table: BlockCells, job: SoftJob) -> SoftTables:
    """Count the soft assignments of a block."""
    n_clusters, n_cells = len(job.costs.centers), job.costs.n_cells
    answer = SoftTables(np.zeros((n_cells, n_clusters)), 0.0, 0.0)
    for rows in _panels(block, table, job.costs):
        found = rows.evaluate(job)
        answer += replace(found, sums=rows.soft_sums(job)) if job.with_sums else found
    return answer


@dataclass(frozen=True)
class HardJob:
    """Labels argmin(a + price), near-ties split at a scale (0: not at all), but for single rows that moved."""

    costs: Costs
    prices: FloatArray  # (cells, clusters)
    split: float = 0.0
    moved: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # ascending
    moved_to: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    with_sums: bool = False


@dataclass(frozen=True)
class HardTables:
    """What the labels of some rows tell; tables of several blocks add up."""

    masses: FloatArray
    cost: float
    margin: float
    sums: FloatArray

    def __add__(self, other: HardTables) -> HardTables:
        return HardTables(
            self.masses + other.masses, self.cost + other.cost, self.margin + other.margin, self.sums + other.sums
        )


def hard_tables(block: Block, table: BlockCells, job: HardJob) -> HardTables:
    """Count the labels of a block, and sum its rows by label where that is asked for."""
    n_clusters, n_sums = len(job.costs.centers), job.costs.n_sums
    answer = HardTables(np.zeros((job.costs.n_cells, n_clusters)), 0.0, 0.0, np.zeros((n_clusters, n_sums)))
    for rows in _panels(block, table, job.costs):
        answer += rows.assign(job)[1]
    return answer


def labels_of(block: Block, table: BlockCells, job: HardJob) -> IntArray:
    """The labels of a block, in the user's order."""
    found = [np.empty(0, dtype=np.int32)]
    for rows in _panels(block, table, job.costs):
        found.append(rows.layout.to_user_order(rows.assign(job)[0]))
    return np.concatenate(found)


@dataclass(frozen=True)
class MedianJob:
    """A step of Weiszfeld's iteration for the labels of a rule."""

    labels: HardJob
    tried: FloatArray
    near: FloatArray


def median_tables(block: Block, table: BlockCells, job: MedianJob) -> FloatArray:
    """What the step needs, by label; see the kernel ``median_sums``."""
    n_clusters, n_features = job.tried.shape
    sums = np.zeros((n_clusters, n_features + 3))
    for rows in _panels(block, table, job.labels.costs):
        labels, _ = rows.assign(job.labels)
        X = np.ascontiguousarray(rows.X)
        sums += kernels.median_sums(rows.plan, X, job.tried, job.near, labels, rows.weights, 1)
    return sums


@dataclass(frozen=True)
class NearJob:
    """The rows nearest to a point for each cluster, of those that a rule puts there."""

    labels: HardJob
    points: FloatArray
    count: int


@dataclass(frozen=True)
class NearRows:
    """The nearest rows of each cluster, at most ``count``, cluster by cluster; those of several blocks add up."""

    count: int
    clusters: IntArray
    distances: FloatArray
    positions: IntArray  # rows of the data
    rows: FloatArray

    def __add__(self, other: NearRows) -> NearRows:
        clusters, distances, positions, rows = (
            np.concatenate((getattr(self, name), getattr(other, name)))
            for name in ("clusters", "distances", "positions", "rows")
        )
        kept = _nearest(clusters, distances, positions, self.count)
        return NearRows(self.count, clusters[kept], distances[kept], positions[kept], rows[kept])


def _nearest(clusters: IntArray, distances: FloatArray, positions: IntArray, count: int) -> IntArray:
    """Which rows are the nearest of their cluster, at most so many of each; sorted by cluster and distance."""
    order = np.lexsort((positions, distances, clusters))
    ordered = clusters[order]
    return order[np.arange(len(order)) - np.searchsorted(ordered, ordered) < count]


def near_rows(block: Block, table: BlockCells, job: NearJob) -> NearRows:
    """Rows of the block, none of weight 0, that are nearest to their cluster's point."""
    nothing = np.empty(0, dtype=np.int64)
    answer = NearRows(job.count, nothing, np.empty(0), nothing, job.points[:0])
    for rows in _panels(block, table, job.labels.costs):
        labels, _ = rows.assign(job.labels)
        order = rows.layout.order
        if rows.weights is not None:
            labels, order = labels[rows.weights > 0], order[rows.weights > 0]
        difference = rows.X[order] - job.points[labels]
        distances = np.sqrt(np.einsum("ij,ij->i", difference, difference, dtype=np.float64))
        kept = _nearest(labels, distances, order, job.count)
        positions = order[kept].astype(np.int64)
        answer += NearRows(
            job.count, labels[kept].astype(np.int64), distances[kept], positions + rows.first_row, rows.X[positions]
        )
    return answer


@dataclass(frozen=True)
class CandidateJob:
    """Candidates for the medoids of the labels of a rule."""

    labels: HardJob
    rows: FloatArray
    clusters: IntArray


def candidate_sums(block: Block, table: BlockCells, job: CandidateJob) -> FloatArray:
    """Sum of the distances of each candidate's cluster to it."""
    sums = np.zeros(len(job.rows))
    for rows in _panels(block, table, job.labels.costs):
        labels, _ = rows.assign(job.labels)
        for k in np.unique(job.clusters):
            own, mine = np.flatnonzero(labels == k), job.clusters == k
            distances = cdist(rows.X[rows.layout.order[own]], job.rows[mine])
            sums[mine] += distances.sum(axis=0) if rows.weights is None else rows.weights[own] @ distances
    return sums


@dataclass(frozen=True)
class MovesJob:
    """Rows that could make moves of some kinds (cell, from, to): ``count`` of each, ``each`` of them in a panel."""

    labels: HardJob
    kinds: IntArray
    count: int
    each: int


@dataclass(frozen=True)
class CheapMoves:
    """The rows whose moves cost least, at most ``count`` of each kind, kind by kind; those of several blocks add up.

    Attributes
    ----------
    complete : ndarray of shape (n_kinds,)
        Moves that cost more than this may be missing.
    """

    count: int
    kinds: IntArray
    rows: IntArray
    extra: FloatArray
    complete: FloatArray

    def __add__(self, other: CheapMoves) -> CheapMoves:
        kinds, rows, extra = (
            np.concatenate((getattr(self, name), getattr(other, name))) for name in ("kinds", "rows", "extra")
        )
        # Both are sorted by kind and cost, and merging them takes a tenth of the time of sorting by several keys.
        order = np.argsort(kinds * (np.ptp(extra) + 1.0) + extra, kind="stable") if len(extra) else kinds
        first = np.searchsorted(kinds[order], np.arange(len(self.complete)))
        kept = order[np.arange(len(order)) - first[kinds[order]] < self.count]
        complete = np.minimum(self.complete, other.complete)
        return CheapMoves(self.count, kinds[kept], rows[kept], extra[kept], complete)

    @property
    def may_lack(self) -> IntArray:
        """Kinds that may lack some of the cheapest moves."""
        is_sure = self.extra <= self.complete[self.kinds]
        n_sure = np.bincount(self.kinds[is_sure], minlength=len(self.complete))
        return np.flatnonzero((n_sure < self.count) & np.isfinite(self.complete))


def moves_of(block: Block, table: BlockCells, job: MovesJob) -> CheapMoves:
    """The rows of the block whose moves cost least."""
    nobody, n_kinds = np.empty(0, dtype=np.int64), len(job.kinds)
    answer = CheapMoves(job.count, nobody, nobody, np.empty(0), np.full(n_kinds, np.inf))
    for panel in _panels(block, table, job.labels.costs):
        rows = replace(panel, given=panel.X, kept=panel.filled())
        labels, _ = rows.assign(job.labels)
        found = kernels.cheapest_moves(rows.plan, rows.filled()[0], labels, job.kinds, job.each)
        kinds, extra = found[:, 0].astype(np.int64), found[:, 2]
        numbers = rows.layout.order[found[:, 1].astype(np.int64)] + rows.first_row
        counts = np.bincount(kinds, minlength=n_kinds)
        complete, is_cut = np.full(n_kinds, np.inf), counts == job.each
        complete[is_cut] = extra[np.cumsum(counts)[is_cut] - 1]
        answer += CheapMoves(job.count, kinds, numbers, extra, complete)
    return answer
