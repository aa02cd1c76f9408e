"""How much memory there is now."""

from __future__ import annotations

import math
import os


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
