"""Who runs a function over the blocks: threads of this process. Dask is the other one, see ``_dask.py``."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from .._typing import IntArray

if TYPE_CHECKING:
    from .blocks import Block
    from .work import BlockCells

_PLANNED = 1 << 25  # rows up to which their visiting order is kept: 4.3 bytes each

Job = TypeVar("Job")
Result = TypeVar("Result")
Work = Callable[[Any, Any, Job], Result]


class TreeSum:
    """Answers of blocks, added up in one order, whoever comes first: neighbours first, then neighbouring pairs, ….

    Blocks 2i and 2i + 1 make a pair, pairs 2i and 2i + 1 four blocks, and so on; the last one, where it has no
    neighbour, waits for the next level. What can be added is added at once, so whoever holds some of the blocks hands
    on few numbers, and the sum has the same bits however the blocks are shared out.

    Parameters
    ----------
    n_blocks : int
        Blocks of the whole sum.
    """

    def __init__(self, n_blocks: int) -> None:
        self._n_blocks = n_blocks
        self.nodes: dict[
            tuple[int, int], Any
        ] = {}  # (level, place) → sum of 2^level blocks that waits for its neighbour

    def put(self, place: int, value: Any, level: int = 0) -> None:
        """Add what one block answered, or the sum of several that make a node of the tree."""
        while (width := -(-self._n_blocks >> level)) > 1:
            neighbour = place ^ 1
            if neighbour < width:
                other = self.nodes.pop((level, neighbour), None)
                if other is None:
                    break
                value = value + other if place < neighbour else other + value
            level, place = level + 1, place >> 1
        self.nodes[level, place] = value

    def merge(self, nodes: Mapping[tuple[int, int], Any]) -> None:
        """Add what somebody else had added up."""
        for (level, place), value in nodes.items():
            self.put(place, value, level)

    @property
    def value(self) -> Any:
        """The sum, once every block has answered."""
        (found,) = self.nodes.values()
        return found


class Runner(Protocol):
    """Runs ``work(block, table, job)`` on every block; results come in the blocks' order, whoever finished first."""

    def run(
        self,
        work: Work[Job, Result],
        job: Job,
        *,
        jobs: Sequence[Job] | None = None,
        tables: Sequence[BlockCells] | None = None,
    ) -> Iterator[Result]:
        """Run one job on all blocks, or one of ``jobs`` per block."""
        ...

    def total(self, work: Work[Job, Result], job: Job, tables: Sequence[BlockCells]) -> Result:
        """Run one job on all blocks, and add up the answers, by a :class:`TreeSum`."""
        ...

    def keep_codes(self, codes: Sequence[IntArray | None]) -> None:
        """Remember the groups' codes of every block, so that they need not be read again."""
        ...

    def labels(self, work: Work[Job, Any], job: Job, tables: Sequence[BlockCells], sizes: Sequence[int]) -> Any:
        """Labels of all blocks, as the user gets them; None: write them block by block."""
        ...


class Threads:
    """Blocks read and worked on by threads: while some compute, another reads.

    Parameters
    ----------
    blocks : iterable of Block
        Gone through once per pass.
    n_threads : int
        Threads that compute; one more reads ahead of them.
    """

    def __init__(self, blocks: Iterable[Block], n_threads: int) -> None:
        self._blocks = blocks
        self._n_threads = n_threads
        self._codes: Sequence[IntArray | None] | None = None
        self._plans: list[dict[Any, Any]] | None = None

    def run(
        self,
        work: Work[Job, Result],
        job: Job,
        *,
        jobs: Sequence[Job] | None = None,
        tables: Sequence[BlockCells] | None = None,
    ) -> Iterator[Result]:
        """Keep a few blocks under way; hand out results in order."""
        waiting: deque[Future[Result]] = deque()
        pool = ThreadPoolExecutor(self._n_threads + 1, thread_name_prefix="fairclust")
        try:
            for i, block in enumerate(self._blocks):
                if self._codes is not None:
                    block.codes = self._codes[i]
                    block.plans = None if self._plans is None else self._plans[i]
                own = job if jobs is None else jobs[i]
                waiting.append(pool.submit(work, block, None if tables is None else tables[i], own))
                if len(waiting) > self._n_threads + 1:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def total(self, work: Work[Job, Result], job: Job, tables: Sequence[BlockCells]) -> Result:
        """Add the answers up as they come."""
        found = TreeSum(len(tables))
        for i, answer in enumerate(self.run(work, job, tables=tables)):
            found.put(i, answer)
        return found.value

    def keep_codes(self, codes: Sequence[IntArray | None]) -> None:
        """Remember them: a byte per row. With few enough rows, remember also in which order they are visited."""
        self._codes = codes
        if sum(len(own) for own in codes if own is not None) <= _PLANNED:
            self._plans = [{} for _ in codes]

    def labels(self, work: Work[Job, Any], job: Job, tables: Sequence[BlockCells], sizes: Sequence[int]) -> Any:
        """They are written block by block."""
        return None
