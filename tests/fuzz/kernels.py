"""Spoiled calls of every kernel, many to a process. A death or a call without end is a failure, an exception none."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from fairclust._core import kernels

from . import runner
from .kernel_calls import spoiled, valid_calls


def case(seed: int, tell: Callable[[str], None]) -> str:
    """Make one spoiled call; say how it ended."""
    rng = np.random.default_rng(seed)
    calls = valid_calls(kernels, seed % 1000, [np.float32, np.float64][seed % 2])
    call, what = spoiled(calls[int(rng.integers(len(calls)))], rng)
    tell(what)
    try:
        with np.errstate(all="ignore"):
            call.run(kernels)
    except Exception as error:  # any exception is an answer
        return type(error).__name__
    return "answered"


if __name__ == "__main__":
    sys.exit(runner.main("kernels", case, per_process=200, seconds_per_process=120))
