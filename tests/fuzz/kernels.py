"""Spoiled calls of every kernel, many to a process. A death or a call without end is a failure, an exception none."""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections import Counter

import numpy as np

from fairclust._core import kernels

from .kernel_calls import spoiled, valid_calls

CALLS_PER_PROCESS = 200
SECONDS_PER_PROCESS = 120


def _one(seed: int) -> str:
    """Make one spoiled call; say how it ended."""
    rng = np.random.default_rng(seed)
    calls = valid_calls(kernels, seed % 1000, [np.float32, np.float64][seed % 2])
    call, what = spoiled(calls[int(rng.integers(len(calls)))], rng)
    os.write(1, f"{seed} {what}\n".encode())
    try:
        call.run(kernels)
    except Exception as error:  # any exception is an answer
        return type(error).__name__
    return "answered"


def run(minutes: float, seed: int = 0) -> tuple[int, Counter[str], list[str]]:
    """Fuzz for so long; return the number of calls, how they ended, and the calls that killed their process."""
    ends: Counter[str] = Counter()
    failures: list[str] = []
    n_calls, until = 0, time.monotonic() + 60 * minutes
    while time.monotonic() < until:
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.dup2(write, 1)
            warnings.simplefilter("ignore")
            np.seterr(all="ignore")
            for number in range(seed, seed + CALLS_PER_PROCESS):
                os.write(1, f"= {_one(number)}\n".encode())
            os._exit(0)
        os.close(write)
        said, status = _watch(read, child)
        ends.update(line[2:] for line in said if line.startswith("= "))
        n_calls += sum(not line.startswith("= ") for line in said)
        if status:
            last = next((line for line in reversed(said) if not line.startswith("= ")), "?")
            failures.append(f"{last}  ended with status {status}")
            seed = int(last.split()[0]) + 1 if last != "?" else seed + CALLS_PER_PROCESS
        else:
            seed += CALLS_PER_PROCESS
    return n_calls, ends, failures


def _watch(read: int, child: int) -> tuple[list[str], int]:
    """What the child said, and its exit status; it is ended when it takes too long."""
    import select
    import signal

    said, until = b"", time.monotonic() + SECONDS_PER_PROCESS
    while True:
        ready, _, _ = select.select([read], [], [], 1.0)
        if ready:
            part = os.read(read, 65536)
            if not part:
                break
            said += part
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            break
    os.close(read)
    return said.decode().splitlines(), os.waitpid(child, 0)[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="make this one call, in this process")
    given = parser.parse_args()
    if given.only is not None:
        print(_one(given.only))
        return 0
    n_calls, ends, failures = run(given.minutes, given.seed)
    print(f"kernels: {n_calls} calls, {dict(ends)}")
    for failure in failures:
        print("FAILED", failure)
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
