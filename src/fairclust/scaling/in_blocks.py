"""The oracle over data in blocks: a pass over them for each evaluation, a few numbers per block and pass.

No array has a row per point, except a byte with its group. The labels are not kept either: they are argmin(a + price),
and the pass that counts them also sums the rows by label. So their own centres and what they cost there are known
without another pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np

from .._data.in_memory import InMemory, Margins, Plain, hessian_of, pair_steps, steps_at
from .._data.in_memory import Sample as SampledRows
from .._data.layout import build_layout
from .._dual.oracle import Assignment, Evaluation, Moves
from .._memory import in_own_pages
from .._objectives.centers import SQUARED_EUCLIDEAN
from .._people.attributes import Cells
from .._people.columns import Columns
from .._table.summaries import Learned
from .._typing import AnyArray, FloatArray, IntArray
from ..errors import InvalidInputError
from .blocks import PANEL
from .labels import write_labels
from .runners import Runner
from .work import (
    BlockCells,
    Costs,
    Description,
    HardJob,
    HardTables,
    MovesJob,
    Picked,
    SoftJob,
    Wanted,
    collect,
    describe,
    hard_tables,
    labels_of,
    margins,
    merge_moments,
    moves_of,
    soft_tables,
)

_POOL = 1 << 17  # rows that samples are drawn from, at most twice as many: what is rarer is missing there
_FEW_MOVES, _SHARES = 32, 4  # moves that are looked at in a panel: so many, or so many times its share
_RARE = 32  # rows of a cell per cluster, below which all of them are in the pool


@dataclass
class BlockData:
    """Data in blocks, once the first pass has described them.

    Attributes
    ----------
    runner : Runner
        Runs functions over the blocks.
    profiles : Columns or None
        The different profiles (combinations of values), a row each. None: no groups were given.
    places : list of ndarray
        Per block: its own profiles → profiles of all data.
    cells : ndarray of shape (n_profiles,)
        Cell of each profile; all one cell until somebody says otherwise.
    """

    runner: Runner
    parts: Sequence[Description]
    profiles: Columns | None
    places: list[IntArray]
    cells: IntArray
    n_cells: int
    n_threads: int = 1
    learned: Learned | None = None  # how the columns of a table count
    _pool: Picked | None = None

    @cached_property
    def n_samples(self) -> int:
        """Rows of all blocks."""
        return sum(part.n_rows for part in self.parts)

    @property
    def n_features(self) -> int:
        """Features."""
        return next(part.n_features for part in self.parts if part.n_rows)

    @cached_property
    def _codes(self) -> list[IntArray]:
        """Per block: its own profiles → cells."""
        return [self.cells[place] for place in self.places]

    @cached_property
    def tables(self) -> list[BlockCells]:
        """Per block: what a pass knows of its place among the others."""
        return [
            BlockCells(codes, before, int(row))
            for codes, before, row in zip(self._codes, self.earlier_counts, self._first_rows, strict=True)
        ]

    @cached_property
    def profile_masses(self) -> FloatArray:
        """Weight of each profile."""
        masses = np.zeros(len(self.cells))
        for part, place in zip(self.parts, self.places, strict=True):
            np.add.at(masses, place, part.masses[: len(place)])
        return masses

    @property
    def is_weighted(self) -> bool:
        """Whether there are sample weights."""
        return any(part.is_weighted for part in self.parts)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """float32 where every block is."""
        return np.dtype(np.float32 if all(part.dtype == np.float32 for part in self.parts) else np.float64)

    @cached_property
    def cell_masses(self) -> FloatArray:
        """Weight of each cell."""
        return self._by_cell([part.masses for part in self.parts]).sum(axis=0)

    @cached_property
    def cell_counts(self) -> IntArray:
        """Rows of each cell in each block, (n_blocks, n_cells)."""
        return self._by_cell([part.counts for part in self.parts]).astype(np.int64)

    @cached_property
    def earlier_counts(self) -> IntArray:
        """Rows of each cell in the blocks before each, (n_blocks, n_cells)."""
        return np.cumsum(self.cell_counts, axis=0) - self.cell_counts

    @cached_property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.cell_masses.sum())

    @cached_property
    def variance(self) -> float:
        """Mean over the features of their variance."""
        moments = ((part.mean, part.spread, part.total) for part in self.parts)
        _, spread, total = reduce(merge_moments, moments)
        return float(np.mean(spread) / total)

    @property
    def spread(self) -> float:
        """Sum over the features of their variance."""
        return float((self.moments[1] ** 2).sum())

    @cached_property
    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of every feature."""
        mean, spread, total = reduce(merge_moments, ((part.mean, part.spread, part.total) for part in self.parts))
        return mean, np.sqrt(spread / total)

    def _by_cell(self, columns: Sequence[AnyArray]) -> FloatArray:
        result = np.zeros((len(columns), self.n_cells))
        for i, (column, table) in enumerate(zip(columns, self._codes, strict=True)):
            np.add.at(result[i], table, column[: len(table)])
        return result

    def with_cells(self, cells: Cells) -> BlockData:
        """The same data, with the cell of each profile."""
        return BlockData(
            self.runner, self.parts, self.profiles, self.places, cells.codes, cells.n_cells, self.n_threads,
            self.learned,
        )  # fmt: skip

    def pool(self, n_clusters: int) -> Picked:
        """Rows that samples are drawn from, with weights such that the total of every cell is exact."""
        if self._pool is None:
            self.collect(n_clusters)
        assert self._pool is not None
        return self._pool

    def collect(self, n_clusters: int, rows: IntArray | None = None) -> Picked:
        """Collect the pool, which is kept, and some rows by number (ascending); one pass."""
        counts = self.cell_counts.sum(axis=0)
        steps = np.clip(counts // (_RARE * n_clusters), 1, max(self.n_samples // _POOL, 1))
        pool, by_number = self._picked([steps], np.empty(0, dtype=np.int64) if rows is None else rows)
        if (steps > 1).any():
            own = np.ones(len(pool.X)) if pool.weights is None else pool.weights
            here = np.bincount(pool.codes, own, self.n_cells)
            pool = replace(pool, weights=own * (self.cell_masses / np.where(here > 0, here, 1.0))[pool.codes])
        self._pool = pool
        return by_number

    def rows_at(self, rows: IntArray) -> Picked:
        """Some rows by number, in the order asked for; a pass over the blocks that have any."""
        ascending, place = np.unique(rows, return_inverse=True)
        (found,) = self._picked([], ascending)
        weights = None if found.weights is None else found.weights[place]
        return Picked(found.X[place], found.codes[place], weights, found.positions[place])

    def _picked(self, steps: Sequence[IntArray], rows: IntArray) -> list[Picked]:
        """For each sample every so-manieth row of each cell, and the rows by number, of all blocks."""
        jobs = [
            Wanted(
                steps,
                self.earlier_counts[i],
                rows[slice(*np.searchsorted(rows, (first, first + part.n_rows)))] - first,
                self.n_features,
                self.dtype,
            )
            for i, (first, part) in enumerate(zip(self._first_rows, self.parts, strict=True))
        ]
        parts = self.runner.run(collect, jobs[0], jobs=jobs, tables=self.tables)
        return [_together(own, self._first_rows) for own in zip(*parts, strict=True)]

    @cached_property
    def _first_rows(self) -> IntArray:
        """Number of each block's first row."""
        return np.cumsum([0, *(part.n_rows for part in self.parts)])[:-1]


def _together(parts: Sequence[Picked], first: IntArray) -> Picked:
    """The blocks' rows in the data's order, with their numbers there."""
    weights = [part.weights for part in parts if part.weights is not None]
    rows = [part.X for part in parts]
    room = in_own_pages((sum(map(len, rows)), rows[0].shape[1]), rows[0].dtype.type)
    return Picked(
        np.concatenate(rows, out=room),
        np.concatenate([part.codes for part in parts]),
        np.concatenate(weights) if weights else None,
        np.concatenate([part.positions + first[i] for i, part in enumerate(parts)]),
    )


def describe_blocks(runner: Runner, n_threads: int, learned: Learned | None = None) -> BlockData:
    """Make the first pass over the blocks."""
    parts = list(runner.run(describe, learned is not None))
    if not parts or not sum(part.n_rows for part in parts):
        raise InvalidInputError("X has no rows. Give at least one block with data.")
    runner.keep_codes([part.codes for part in parts])
    _check_alike(parts)
    return replace(_with_all_profiles(runner, parts, n_threads), learned=learned)


def _with_all_profiles(runner: Runner, parts: Sequence[Description], n_threads: int) -> BlockData:
    """Number the profiles that occur in any block."""
    tables = [part.profiles for part in parts if part.profiles is not None]
    if not tables:
        nobody_knows = [np.zeros(1, dtype=np.int32) for _ in parts]
        return BlockData(runner, parts, None, nobody_knows, np.zeros(1, dtype=np.int32), 1, n_threads)
    seen: dict[tuple[Any, ...], int] = {}
    places = []
    for part in parts:
        people = (
            [] if part.profiles is None else zip(*(column.tolist() for column in part.profiles.columns), strict=True)
        )
        places.append(np.array([seen.setdefault(profile, len(seen)) for profile in people], dtype=np.int32))
    columns = zip(*seen, strict=True)
    profiles = replace(
        tables[0],
        columns=tuple(_joined(column, [one.columns[i].dtype for one in tables]) for i, column in enumerate(columns)),
    )
    return BlockData(runner, parts, profiles, places, np.zeros(len(seen), dtype=np.int32), 1, n_threads)


def _joined(values: Sequence[Any], dtypes: Sequence[np.dtype[Any]]) -> AnyArray:
    """A column of the profiles of all blocks, of the blocks' type."""
    if all(dtype.kind != "O" for dtype in dtypes) and len({dtype.kind for dtype in dtypes}) == 1:
        return np.array(values, dtype=np.result_type(*dtypes))
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _check_alike(parts: Sequence[Description]) -> None:
    first, model = 0, next(part for part in parts if part.n_rows)
    for i, part in enumerate(parts):
        if not part.n_rows:
            continue
        if part.not_finite is not None:
            raise InvalidInputError(
                f"X has NaN or infinite values, first in row {first + part.not_finite}. Fill them, or drop these rows."
            )
        if part.n_features != model.n_features:
            raise InvalidInputError(
                f"block {i} has {part.n_features} features, the blocks before it {model.n_features}."
            )
        if (part.profiles is None) != (model.profiles is None):
            raise InvalidInputError(f"block {i} {'lacks' if part.profiles is None else 'has'} groups, unlike block 0.")
        first += part.n_rows


@dataclass(frozen=True, eq=False)
class Shared:
    """Soft assignments as the rule that makes them, and what a pass learnt of them.

    Attributes
    ----------
    costs : Costs
        Of the rule.
    cost : float
        At its centres.
    sizes : ndarray of shape (n_clusters,)
    sums : ndarray of shape (n_clusters, n_sums)
        Of the rows, each shared by the clusters.
    """

    costs: Costs
    cost: float
    sizes: FloatArray
    sums: FloatArray


@dataclass(frozen=True, eq=False)
class RuledLabels(Shared):
    """Labels as the rule that makes them: argmin(a + price), but for some rows."""

    job: HardJob


class InBlocks:
    """Oracle over data in blocks.

    Parameters
    ----------
    data : BlockData
    n_clusters : int
    labels_to : path or None
        Where the labels go in the end.

    Attributes
    ----------
    costs : Costs
        Which point costs; objectives set them.
    """

    can_move_rows = False

    def __init__(self, data: BlockData, n_clusters: int, labels_to: Any = None) -> None:
        self.data = data
        self.n_clusters, self.n_cells, self.n_samples = n_clusters, data.n_cells, data.n_samples
        self.cell_totals, self.total, self.is_weighted = data.cell_masses, data.total, data.is_weighted
        self.costs = Costs(SQUARED_EUCLIDEAN, np.zeros((n_clusters, data.n_features), dtype=data.dtype), self.n_cells)
        self.filled: FloatArray | None = None  # centres that the point costs belong to
        self._labels_to = labels_to

    def release(self) -> None:
        """Forget what the point costs belong to."""
        self.filled = None

    def evaluate(self, prices: FloatArray, temperature: float) -> Evaluation:
        """Sum softmins, shares and their products over the rows; a pass."""
        if temperature == 0:
            found = self.total_of(hard_tables, HardJob(self.costs, prices.T.copy()))
            value = found.cost + float((prices.T * found.masses).sum())
            hessian = np.zeros((self.n_cells, self.n_clusters, self.n_clusters))
            return Evaluation(value, found.cost, found.masses.T, hessian)
        steps = pair_steps(self.data.cell_counts.sum(axis=0), self.n_clusters)
        steps = steps_at(steps, temperature, self._spread)
        tables = self.total_of(soft_tables, SoftJob(self.costs, 1.0 / temperature, prices.T / temperature, steps))
        hessian = hessian_of(np.asarray(tables.pairs), tables.masses, np.asarray(tables.summed)) / temperature
        return Evaluation(-temperature * tables.log_partition, tables.cost, tables.masses.T, hessian)

    @property
    def _spread(self) -> float:
        """What a row costs with one cluster: more than it does with several."""
        learned = self.data.learned
        squares = self.data.spread if learned is None else learned.variance * self.costs.centers.shape[1]
        return squares if self.costs.metric == SQUARED_EUCLIDEAN else squares**0.5

    def soft_rows(self, prices: FloatArray, temperature: float) -> Shared:
        """Soft assignments of all rows; a pass."""
        job = SoftJob(self.costs, 1.0 / temperature, prices.T / temperature, with_sums=True)
        tables = self.total_of(soft_tables, job)
        return Shared(self.costs, tables.cost, tables.masses.sum(axis=0), np.asarray(tables.sums))

    def shared_cost(self, shared: Shared) -> float:
        """What assignments cost at other centres: Σ ‖x − c‖² = Σ ‖x − mean‖² + n ‖c − mean‖², feature by feature."""
        like, sums, n = shared.costs.like, shared.sums, shared.sizes[:, None]
        if like is None:
            means = np.divide(sums, n, out=np.zeros_like(sums), where=n > 0)
        else:
            means, n = like.means(sums), like.by_coordinate(like.observed(sums))
        there, here = (float((n * (at.centers - means) ** 2).sum()) for at in (shared.costs, self.costs))
        return max(shared.cost - there, 0.0) + here

    def rows_of(self, positions: IntArray) -> IntArray:
        """Rows are numbered as in the data."""
        return positions

    def assign(self, prices: FloatArray, split: float = 0.0) -> Assignment:
        """Every row in its cheapest cluster, prices included; rows near a tie are shared out as ``InMemory`` does."""
        return self._described(HardJob(self.costs, prices.T.copy(), split))[0]

    def plain(self) -> Plain:
        """Every row in its cheapest cluster; the margins' median is that of the pool."""
        assigned, found = self._described(HardJob(self.costs, np.zeros((self.n_cells, self.n_clusters))))
        if self.n_clusters == 1:
            return Plain(assigned, Margins(1.0, 1.0))
        pool = self.data.pool(self.n_clusters)
        mean = found.margin / self.total or 1.0  # 0: all rows are alike
        sizes = float(np.median(margins(pool.X, pool.codes, self.costs))), found.cost / self.total
        return Plain(assigned, Margins(min((size for size in sizes if size > 0), default=mean), mean))

    def cheapest_moves(self, labels: RuledLabels, kinds: IntArray, count: int) -> Moves:
        """The cheapest ``count`` moves of each kind (cell, from, to), with numbers of rows; a pass, or two.

        Of each panel a few times its share is looked at, and all of it only where that may have been too few.
        """
        kinds = np.ascontiguousarray(kinds, dtype=np.int64)
        each = min(count, max(_FEW_MOVES, _SHARES * count * PANEL // self.n_samples))
        found = self.total_of(moves_of, MovesJob(labels.job, kinds, count, each))
        again = found.may_lack if each < count else found.kinds[:0]
        if not len(again):
            return Moves(found.kinds, found.rows, found.extra)
        more = self.total_of(moves_of, MovesJob(labels.job, kinds[again], count, count))
        is_kept = ~np.isin(found.kinds, again)
        which = np.concatenate((found.kinds[is_kept], again[more.kinds]))
        rows, extra = (np.concatenate((a[is_kept], b)) for a, b in ((found.rows, more.rows), (found.extra, more.extra)))
        order = np.argsort(which, kind="stable")
        return Moves(which[order], rows[order], extra[order])

    def moved(self, labels: RuledLabels, rows: IntArray, clusters: IntArray) -> RuledLabels:
        """The same rule, but for some rows; a pass."""
        if not len(rows):
            return labels
        before = dict(zip(labels.job.moved.tolist(), labels.job.moved_to.tolist(), strict=True))
        after = sorted((before | dict(zip(rows.tolist(), clusters.tolist(), strict=True))).items())
        moved, moved_to = np.array(after).T
        job = replace(labels.job, moved=moved, moved_to=moved_to.astype(np.int32))
        return self._described(job)[0].labels

    def weights_of(self, rows: IntArray) -> FloatArray:
        """Sample weights of some rows; a pass, over the blocks that have any."""
        weights = self.data.rows_at(rows).weights if self.is_weighted else None
        return np.ones(len(rows)) if weights is None else weights

    def sample(self, objective: Any, n_rows: int) -> SampledRows:
        """About so many rows in memory, strata by cell and cheapest cluster; a pass for what these weigh in all rows.

        The rows are drawn from the pool. Where it has none of a stratum, others of the cell stand for it.
        """
        pool = self.data.pool(self.n_clusters)
        everyone, held = self._in_memory(pool), objective.sampled(pool.X)
        held.fill(everyone, self.costs.centers)
        found = everyone.sample(held, min(n_rows, everyone.n_samples))
        if len(pool.X) == self.n_samples:
            return found
        zero, rows = np.zeros((self.n_clusters, self.n_cells)), found.rows
        found.objective.fill(rows, self.costs.centers)
        assigned = rows.assign(zero)
        there, here = self.total_of(hard_tables, HardJob(self.costs, zero.T.copy())).masses.T, assigned.masses
        factors = there / np.where(here > 0, here, np.inf)
        factors *= self.cell_totals / np.maximum((factors * here).sum(axis=0), np.finfo(float).tiny)
        weights = rows.weights * factors[assigned.labels, rows.layout.cells]
        return SampledRows(found.objective, InMemory(rows.layout, self.n_clusters, weights, self.data.n_threads))

    def user_labels(self, labels: RuledLabels) -> Any:
        """One more pass, which writes the labels."""
        sizes = [part.n_rows for part in self.data.parts]
        job = replace(labels.job, with_sums=False)
        kept = self.data.runner.labels(labels_of, job, self.data.tables, sizes)
        if kept is not None:
            return kept
        parts = self.data.runner.run(labels_of, job, tables=self.data.tables)
        return write_labels(parts, self.n_samples, self._labels_to)

    def total_of(self, work: Any, job: Any) -> Any:
        """What blocks answer to an objective, added up; a pass."""
        return self.data.runner.total(work, job, self.data.tables)

    def _described(self, job: HardJob) -> tuple[Assignment, HardTables]:
        """Labels of a rule, and what they tell; a pass."""
        job = replace(job, with_sums=True)
        found = self.total_of(hard_tables, job)
        labels = RuledLabels(job.costs, found.cost, found.masses.sum(axis=0), found.sums, job)
        return Assignment(labels, found.masses.T, found.cost), found

    def _in_memory(self, rows: Picked) -> InMemory:
        layout = build_layout(rows.codes, self.n_cells)
        weights = None if rows.weights is None else layout.to_visiting_order(rows.weights)
        return InMemory(layout, self.n_clusters, weights, self.data.n_threads)
