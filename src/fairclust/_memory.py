"""How much memory there is now, and giving back what is not used."""

from __future__ import annotations

import ctypes
import math
import os
import sys
from contextlib import suppress


def free_memory() -> float:
    """Bytes that could be allocated now, as far as the system and the process's own limit tell; else infinite."""
    return min(_of_the_machine(), _of_the_process())


def _of_the_machine() -> float:
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            available = next(line for line in file if line.startswith("MemAvailable"))
        return float(available.split()[1]) * 1024
    except (OSError, StopIteration, ValueError):
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def _of_the_process() -> float:
    """What a limit on addresses (``ulimit -v``) leaves; what is mapped counts, used or not."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        with open("/proc/self/statm", encoding="ascii") as file:
            mapped = int(file.read().split()[0]) * resource.getpagesize()
    except (ImportError, OSError, ValueError):
        return math.inf
    return math.inf if limit == resource.RLIM_INFINITY else float(max(limit - mapped, 0))


def give_back() -> None:
    """Return freed memory to the system, where the C library (glibc) keeps it: as much as several arrays of a fit."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)
