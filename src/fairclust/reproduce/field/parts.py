"""The whole field: which protocols and methods there are, ours and a user's own, run one after the other."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ...errors import InvalidInputError
from ..store import Store
from .method import Method, methods, read_method
from .page import Part
from .protocol import Protocol, protocols, read_protocol
from .run import run_protocol


def field_parts(
    store: Store, data_dir: Path | None, *, quick: bool, more: Sequence[Path] = (), n_jobs: int = 1
) -> Iterator[Part]:
    """Run protocol by protocol.

    Parameters
    ----------
    store : Store
    data_dir : Path or None
    quick : bool
        Rows that need no file only.
    more : sequence of Path
        Methods (.py) and protocols (.toml) beside those of the package.
    n_jobs : int
        Rows of a protocol that are run at a time, each in a process of its own.
    """
    wrong = [path for path in more if path.suffix not in (".py", ".toml") or not path.is_file()]
    if wrong:
        raise InvalidInputError(f"{wrong[0]} is not a file that ends in .py (a method) or .toml (a protocol).")
    known = [*methods(), *(read_method(path.resolve()) for path in more if path.suffix == ".py")]
    wanted = [*protocols(), *(read_protocol(path) for path in more if path.suffix == ".toml")]
    with _processes(n_jobs) as pool:
        for protocol in wanted:
            if protocol.chosen(quick=quick):
                if pool is not None:
                    _run_rows(pool, protocol, known, store, data_dir, quick)
                yield Part(protocol, run_protocol(protocol, known, store, data_dir, quick=quick), known)


@contextmanager
def _processes(n_jobs: int) -> Iterator[ProcessPoolExecutor | None]:
    """Processes for all protocols, as starting one takes seconds; none for one job."""
    if n_jobs == 1:
        yield None
        return
    pool = ProcessPoolExecutor(n_jobs, multiprocessing.get_context("spawn"), _die_when_interrupted)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _run_rows(
    pool: ProcessPoolExecutor,
    protocol: Protocol,
    known: list[Method],
    store: Store,
    data_dir: Path | None,
    quick: bool,
) -> None:
    """Run the rows in several processes; what they find is in the store's directory, from where it is read."""
    rows = [replace(protocol, cases=(case,)) for case in protocol.chosen(quick=quick)]
    running = [pool.submit(_run_one, row, known, store.folder, store.fresh, data_dir, quick) for row in rows]
    for done in as_completed(running):
        other, lines = done.result()
        store.adopt(other)
        for line in lines:
            store.tell(line)


def _die_when_interrupted() -> None:
    """Without a word: the process that waits for the others has it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _run_one(
    row: Protocol, known: list[Method], folder: Path, fresh: bool, data_dir: Path | None, quick: bool
) -> tuple[Store, list[str]]:
    lines: list[str] = []
    store = Store(folder, lines.append, fresh)
    run_protocol(row, known, store, data_dir, quick=quick)
    store.tell = print  # a bound method of the list would go back with it
    return store, lines
