"""Who runs a function over the blocks: threads of this process. Dask is the other one, see ``_dask.py``."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import reduce
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from .._typing import IntArray

if TYPE_CHECKING:
    from .blocks import Block
    from .work import BlockCells

_PLANNED = 1 << 25  # rows up to which their visiting order is kept: 4.3 bytes each

Job = TypeVar("Job")
Result = TypeVar("Result")
Work = Callable[[Any, Any, Job], Result]


def tree_sum(values: Iterable[Any]) -> Any:
    """Add values along a tree: neighbours first, then neighbouring pairs, and so on.

    Values 2i and 2i + 1 make a pair, pairs 2i and 2i + 1 a sum of four; the last one, where it has no neighbour, waits
    for the next level. They may come one by one: no more than one sum per level is held.
    """
    waiting: list[tuple[int, Any]] = []  # (level, sum of 2^level neighbours), the largest first
    for total in values:
        level = 0
        while waiting and waiting[-1][0] == level:
            level, total = level + 1, waiting.pop()[1] + total
        waiting.append((level, total))
    return reduce(lambda right, left: left + right, [total for _, total in reversed(waiting)])


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
        """Run one job on all blocks, and add up the answers, by :func:`tree_sum`."""
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
        return tree_sum(self.run(work, job, tables=tables))

    def keep_codes(self, codes: Sequence[IntArray | None]) -> None:
        """Remember them: a byte per row. With few enough rows, remember also in which order they are visited."""
        self._codes = codes
        if sum(len(own) for own in codes if own is not None) <= _PLANNED:
            self._plans = [{} for _ in codes]

    def labels(self, work: Work[Job, Any], job: Job, tables: Sequence[BlockCells], sizes: Sequence[int]) -> Any:
        """They are written block by block."""
        return None
