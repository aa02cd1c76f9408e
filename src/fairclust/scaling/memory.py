"""How much memory there is, and whether a fit fits into it."""

from __future__ import annotations

from .._memory import free_memory

__all__ = ["SHARE", "fits_in_memory", "free_memory"]

SHARE = 0.5  # of the memory that is free, or of a worker's limit, that a fit may take


def fits_in_memory(n_samples: int, n_features: int, *, itemsize: int, n_clusters: int) -> bool:
    """Whether a fit in memory leaves half of what is free: the data, and 4 bytes per row and cluster, and some more."""
    needed = n_samples * (n_features * max(itemsize, 4) + 4.8 * n_clusters + 16)
    return needed <= SHARE * free_memory()
