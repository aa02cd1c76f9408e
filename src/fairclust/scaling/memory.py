"""How much memory there is, and whether a fit fits into it."""

from __future__ import annotations

import os

import numpy as np

SHARE = 0.5  # of the memory that is free, or of a worker's limit, that a fit may take


def fits_in_memory(n_samples: int, n_features: int, *, itemsize: int, n_clusters: int) -> bool:
    """Whether a fit in memory leaves half of what is free: the data, and 4 bytes per row and cluster, and some more."""
    needed = n_samples * (n_features * max(itemsize, 4) + 4.8 * n_clusters + 16)
    return needed <= SHARE * free_memory()


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
        return np.inf
