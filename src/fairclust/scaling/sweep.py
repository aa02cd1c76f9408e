"""Data in blocks: the sweep's question answered by passes over them, a few numbers per block and pass.

No array has a row per point, except a byte with its group. The labels are not kept either: they are argmin(a + price),
and the pass that counts them also sums the rows by label. So the next centres and what the labels cost there are known
without another pass, and an outer iteration is two passes: a sweep and a labelling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np

from .._algebra import laplacian
from .._memory import in_own_pages
from .._objectives.centers import SQUARED_EUCLIDEAN
from .._people.attributes import Cells
from .._people.columns import Columns
from .._sweep.layout import build_layout
from .._sweep.memory import InMemorySweep
from .._sweep.question import Answer, Candidates, HardAnswer, State
from .._sweep.sampling import coarsened, cold_steps, curvature_steps, sampled_weights, sampling_steps
from .._sweep.undecided import is_cold
from .._table.summaries import Learned
from .._typing import AnyArray, FloatArray, IntArray
from ..errors import InvalidInputError
from .labels import write_labels
from .runners import Runner
from .work import (
    BlockCells,
    CheapMoves,
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
    farthest_rows,
    hard_tables,
    labels_of,
    merge_moments,
    moves_of,
    soft_tables,
)


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
    _samples: dict[int, Sample] = field(default_factory=dict, repr=False)

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

    @cached_property
    def profile_counts(self) -> FloatArray:
        """Rows of each profile."""
        counts = np.zeros(len(self.cells))
        for part, place in zip(self.parts, self.places, strict=True):
            np.add.at(counts, place, part.counts[: len(place)])
        return counts

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

    def sample(self, step: int, n_clusters: int) -> Sample:
        """One row in ``step`` of each cell; one pass, unless it was collected before."""
        if step not in self._samples:
            self.collect([step], n_clusters)
        return self._samples[step]

    def collect(self, steps: Sequence[int], n_clusters: int, rows: IntArray | None = None) -> Sample:
        """Collect samples of one row in so many of each cell, which are kept, and some rows by number; one pass."""
        jobs = self._wanted(steps, n_clusters, rows)
        parts = list(self.runner.run(collect, jobs[0], jobs=jobs, tables=self.tables))
        return self._keep(steps, n_clusters, parts)

    def _wanted(self, steps: Sequence[int], n_clusters: int, rows: IntArray | None = None) -> list[Wanted]:
        """What is asked of each block."""
        wanted = np.empty(0, dtype=np.int64) if rows is None else rows
        by_cell = [sampling_steps(self.cell_counts.sum(axis=0), n_clusters, step) for step in steps]
        return [
            Wanted(
                by_cell,
                self.earlier_counts[i],
                wanted[(wanted >= first) & (wanted < first + part.n_rows)] - first,
                self.n_features,
                self.dtype,
            )
            for i, (first, part) in enumerate(zip(self._first_rows, self.parts, strict=True))
        ]

    def _keep(self, steps: Sequence[int], n_clusters: int, parts: Iterable[Sequence[Picked]]) -> Sample:
        """Keep the samples that blocks picked; hand back the rows that were asked for by number."""
        *samples, by_number = (Sample.of(own, self._first_rows) for own in zip(*parts, strict=True))
        for step, sample in zip(steps, samples, strict=True):
            own_steps = sampling_steps(self.cell_counts.sum(axis=0), n_clusters, step)
            weights = sampled_weights(own_steps, step, sample.codes, sample.weights, self.cell_masses, self.n_samples)
            self._samples[step] = replace(sample, weights=weights)
        return by_number

    @cached_property
    def _first_rows(self) -> IntArray:
        """Number of each block's first row."""
        return np.cumsum([0, *(part.n_rows for part in self.parts)])[:-1]


@dataclass(frozen=True)
class Sample:
    """Some rows in memory, in the data's order, and their numbers."""

    X: FloatArray
    codes: IntArray
    weights: FloatArray | None
    positions: IntArray

    @classmethod
    def of(cls, parts: Sequence[Picked], first: IntArray) -> Sample:
        """Put the blocks' rows together."""
        weights = [part.weights for part in parts if part.weights is not None]
        rows = [part.X for part in parts]
        room = in_own_pages((sum(map(len, rows)), rows[0].shape[1]), rows[0].dtype.type)
        return cls(
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


@dataclass(frozen=True)
class RuledLabels:
    """Labels as the rule that makes them, argmin(distance to the centres + price), and what a pass learnt of them.

    Two are equal when the labels of every row are (by a checksum per block, and the rows that moved since).
    """

    digest: tuple[int, ...]
    job: HardJob = field(compare=False)
    cost: float = field(compare=False)
    sizes: FloatArray = field(compare=False)
    sums: FloatArray = field(compare=False)

    @property
    def means(self) -> FloatArray:
        """Means of the clusters; zero where one is empty."""
        sizes = self.sizes[:, None]
        return np.divide(self.sums, sizes, out=np.zeros_like(self.sums), where=sizes > 0)


@dataclass(frozen=True)
class _Offered:
    """Candidates for moves: rows, from where to where, at what extra cost, and what they add to a cluster's sums."""

    rows: list[int]
    ways: list[tuple[int, int]]
    extra: FloatArray
    mass: FloatArray
    added: FloatArray

    @classmethod
    def of(cls, found: CheapMoves, move_kinds: IntArray) -> _Offered:
        """As they came back for some kinds of moves (cell, from, to)."""
        ways = [(int(source), int(destination)) for _, source, destination in move_kinds[found.kinds]]
        return cls(found.rows.tolist(), ways, found.extra, found.mass, found.added)


class StreamedSweep:
    """Answers by a pass over blocks.

    Parameters
    ----------
    data : BlockData
    n_clusters : int
    labels_to : path or None
        Where the labels go in the end.
    """

    can_move_points = False

    def __init__(self, data: BlockData, n_clusters: int, labels_to: Any = None) -> None:
        self.data = data
        self.n_clusters = n_clusters
        self.n_cells = data.n_cells
        self.n_samples = data.n_samples
        self.total = data.total
        self.is_weighted = data.is_weighted
        self.cell_masses = data.cell_masses[None]
        self.n_sweeps = 0
        self.costs = Costs(SQUARED_EUCLIDEAN, np.zeros((n_clusters, data.n_features), dtype=data.dtype), self.n_cells)
        self.labels: RuledLabels | None = None
        self._gap = 0.0  # of the last labels
        self._offered: list[_Offered] = []  # candidates for moves away from the last labels
        self._labels_to = labels_to

    @property
    def person(self) -> float:
        """What a row weighs on average."""
        return self.total / self.n_samples

    def forget(self) -> None:
        """Nothing is held."""

    def sampled(self, step: int) -> tuple[InMemorySweep, Sample]:
        """Every step-th row of each cell, or fewer where there would be too many; and these rows."""
        sample = self.data.sample(coarsened(step, self.n_samples), self.n_clusters)
        layout = build_layout(sample.codes, self.n_cells)
        weights = None if sample.weights is None else layout.to_visiting_order(sample.weights)
        return InMemorySweep(layout, self.n_clusters, weights, self.data.n_threads), sample

    def __call__(self, state: State, *, curvature: bool = False) -> Answer:
        """Count softmax(−scale·a − scaled_price) by group."""
        job = SoftJob(self.costs, state.scale, state.scaled_price.T.copy())
        if curvature:
            steps = curvature_steps(self.data.cell_counts.sum(axis=0), self.n_clusters)
            job = replace(job, steps=cold_steps(steps) if is_cold(state, self._gap) else steps)
        found = self.ask_total(soft_tables, job)
        return Answer(
            masses=found.masses.T,
            cost=found.cost,
            log_partition=found.log_partition,
            curvature=laplacian(found.pairs, found.masses, np.asarray(found.sampled)) if curvature else None,
        )

    def rows_of(self, positions: IntArray) -> IntArray:
        """Points are known by their rows here."""
        return positions

    def ask(self, work: Any, job: Any) -> Any:
        """One more pass, for what an objective wants to know: the answers of all blocks, in order."""
        self.n_sweeps += 1
        return self.data.runner.run(work, job, tables=self.data.tables)

    def ask_total(self, work: Any, job: Any) -> Any:
        """The same, for answers that are added up."""
        self.n_sweeps += 1
        return self.data.runner.total(work, job, self.data.tables)

    def soft_sums(self, state: State) -> FloatArray:
        """Sums of the rows weighted by the soft assignments."""
        job = SoftJob(self.costs, state.scale, state.scaled_price.T.copy(), with_sums=True)
        return np.asarray(self.ask_total(soft_tables, job).sums)

    def assign(self, price: FloatArray, *, split: float = 0.0) -> HardAnswer:
        """Count argmin(a + price) by cell, and sum the rows by label; near-ties are split at a scale."""
        return self._assign(HardJob(self.costs, price.T.copy(), split))

    def weigh(self, price: FloatArray) -> HardAnswer:
        """Count them, and nothing else: costs of the labels to hand out may be kept."""
        return self._answer(self.ask_total(hard_tables, HardJob(self.costs, price.T.copy(), is_passing=True)))

    def candidates(self, labels: RuledLabels, move_kinds: IntArray, count: int) -> Candidates:
        """Rows whose moves cost least; a pass."""
        found = self.ask_total(moves_of, MovesJob(labels.job, move_kinds, count))
        self._offered.append(_Offered.of(found, move_kinds))
        return Candidates(found.kinds, found.rows, found.extra, found.mass)

    def move_points(self, labels: RuledLabels, moves: dict[int, int]) -> RuledLabels:
        """The same rule, but for some of the candidates; what they did to sums and cost came with them: no pass."""
        sums, sizes, cost, moved = labels.sums.copy(), labels.sizes.copy(), labels.cost, dict(labels.job.moved)
        for one in self._offered:
            for i, row in enumerate(one.rows):
                source, destination = one.ways[i]
                if moves.get(row) != destination or moved.get(row, source) != source:
                    continue  # it stays, goes another way, or has gone already
                mass, added = float(one.mass[i]), one.added[i]
                sums[source] -= mass * added
                sums[destination] += mass * added
                sizes[source] -= mass
                sizes[destination] += mass
                cost += mass * float(one.extra[i])
                moved[row] = destination
        job = replace(labels.job, moved=moved)
        digest = (*labels.digest, *(number for row in sorted(moves) for number in (row, moves[row])))
        self.labels = RuledLabels(digest, job, cost, sizes, sums)
        return self.labels

    def keep_in(self, anchors: IntArray | None, labels: RuledLabels, hard: HardAnswer) -> HardAnswer:
        """As it is: a rule cannot relabel one row for a medoid."""
        return hard

    def fill_empty(self, labels: RuledLabels, hard: HardAnswer, farthest: Callable[[], IntArray]) -> FloatArray:
        """As it is: the objective moves an empty cluster's centre instead."""
        return hard.masses

    def gaps(self, price: FloatArray) -> FloatArray:
        """Not asked for where points cannot be moved at will."""
        raise AssertionError("gaps of single rows need them in memory")

    def costs_of_cell(self, cell: int) -> tuple[IntArray, FloatArray]:
        """Not asked for either."""
        raise AssertionError("costs of single rows need them in memory")

    def _assign(self, job: HardJob) -> HardAnswer:
        found = self.ask_total(hard_tables, job)
        self._offered = []
        self.labels = RuledLabels(found.digest, job, found.cost, found.masses.sum(axis=0), found.sums)
        return self._answer(found)

    def _answer(self, found: HardTables) -> HardAnswer:
        self._gap = gap = found.gap / self.total if self.n_clusters > 1 and self.total > 0 else 0.0
        return HardAnswer(found.masses.T, found.cost, gap)

    def last_labels(self) -> RuledLabels:
        """The rule behind the last labels."""
        assert self.labels is not None
        return self.labels

    def user_labels(self, labels: RuledLabels) -> Any:
        """One more pass, which writes the labels."""
        sizes = [part.n_rows for part in self.data.parts]
        kept = self.data.runner.labels(labels_of, labels.job, self.data.tables, sizes)
        if kept is not None:
            return kept
        parts = self.data.runner.run(labels_of, labels.job, tables=self.data.tables)
        return write_labels(parts, self.n_samples, self._labels_to)

    def farthest(self, labels: RuledLabels, count: int) -> FloatArray:
        """Rows that their cluster serves worst, worst first."""
        found = self.data.runner.run(farthest_rows, (labels.job, count), tables=self.data.tables)
        remote = sorted((one for part in found for one in part), key=lambda one: -one.distance)
        return np.array([one.row for one in remote[:count]])
