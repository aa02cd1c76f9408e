"""Cases by number, many to a process: a death, a case without end and a broken promise are failures."""

from __future__ import annotations

import argparse
import os
import select
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

FAILED = "FAILED"


class BrokenPromise(AssertionError):  # noqa: N818 - a promise, not an error of ours
    """A case came out, but not as it should."""


@dataclass
class Tally:
    """What came of a run.

    Attributes
    ----------
    n_cases : int
    ends : Counter
        How the cases ended, in a word each.
    failures : list of str
        The case's number, what it was, and what went wrong.
    largest : dict
        The largest of each figure that the cases told, and the case.
    """

    n_cases: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    largest: dict[str, tuple[float, str]] = field(default_factory=dict)


Case = Callable[[int, Callable[[str], None]], str]
"""Runs a case: its number, and where to tell what it is; returns how it ended, and perhaps ``; figure=number``."""


def run(
    case: Case, minutes: float, seed: int, *, per_process: int, seconds_per_process: float, most: float = np.inf
) -> Tally:
    """Run cases for so long, or so many."""
    tally, until = Tally(), time.monotonic() + 60 * minutes
    while time.monotonic() < until and tally.n_cases < most:
        n_cases = tally.n_cases
        read, write = os.pipe()
        child = os.fork()
        if not child:
            _work(case, range(seed, seed + per_process), write, until)
        os.close(write)
        said, status = _watch(read, child, seconds_per_process)
        number, what = seed - 1, "?"
        for line in said:
            kind, _, rest = line.partition(" ")
            if kind == ">":
                number, what = int(rest.split(" ", 1)[0]), rest
                tally.n_cases += 1
            elif kind == "=":
                _count(tally, what, rest)
        if status:
            tally.failures.append(f"{what}  ended with status {status}")
        seed = number + 1 if tally.n_cases > n_cases else seed + per_process
    return tally


def _count(tally: Tally, what: str, said: str) -> None:
    end, *figures = said.split("; ")
    tally.ends[end.split(":")[0]] += 1
    if end.startswith(FAILED):
        tally.failures.append(f"{what}  {said}")
    for figure in figures:
        name, _, value = figure.partition("=")
        if name.isidentifier() and float(value) > tally.largest.get(name, (-np.inf, ""))[0]:
            tally.largest[name] = (float(value), what)


def _work(case: Case, numbers: range, write: int, until: float) -> None:
    """Run cases in this process, and end it."""

    def tell(line: str) -> None:
        os.write(write, (" ".join(line.split()) + "\n").encode())

    np.seterr(divide="warn", over="warn", invalid="warn", under="ignore")
    warnings.simplefilter("ignore")
    for number in numbers:
        if time.monotonic() > until:
            break
        tell(f"= {outcome(case, number, tell)}")
    os._exit(0)


def outcome(case: Case, number: int, tell: Callable[[str], None]) -> str:
    """How one case ended, whatever it raised."""
    try:
        return case(number, lambda what: tell(f"> {number} {what}"))
    except BrokenPromise as error:
        return f"{FAILED}: {error}"
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{os.path.basename(where.filename)}:{where.lineno}"
        return f"{FAILED}: {type(error).__name__} at {place}: {error}"[:600]


def _watch(read: int, child: int, seconds: float) -> tuple[list[str], int]:
    """What the child said, and its exit status; it is ended when it is silent for too long."""
    said, until = b"", time.monotonic() + seconds
    while True:
        ready, _, _ = select.select([read], [], [], 1.0)
        if ready:
            part = os.read(read, 65536)
            if not part:
                break
            said, until = said + part, time.monotonic() + seconds
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            break
    os.close(read)
    return said.decode(errors="replace").splitlines(), os.waitpid(child, 0)[1]


def main(name: str, case: Case, *, per_process: int, seconds_per_process: float) -> int:
    """Command line of a fuzzer."""
    parser = argparse.ArgumentParser(prog=f"python -m fuzz.{name}")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="run this one case, in this process")
    given = parser.parse_args()
    if given.only is not None:
        print(case(given.only, print))
        return 0
    tally = run(case, given.minutes, given.seed, per_process=per_process, seconds_per_process=seconds_per_process)
    print(f"{name}: {tally.n_cases} cases, {dict(tally.ends)}")
    for figure, (value, what) in tally.largest.items():
        print(f"  largest {figure}: {value:g}, case {what}")
    for failure in tally.failures:
        print(FAILED, failure)
    sys.stdout.flush()
    return bool(tally.failures)
