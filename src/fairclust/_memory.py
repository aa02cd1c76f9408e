"""How much memory there is now."""

from __future__ import annotations

import math
import os


def free_memory() -> float:
    """Bytes that could be allocated now, as far as the system tells; infinite where it does not."""
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
