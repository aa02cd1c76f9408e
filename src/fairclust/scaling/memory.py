"""How much memory there is, and whether a fit fits into it."""

from __future__ import annotations

from .._memory import free_memory

__all__ = ["SHARE", "fits_in_memory", "free_memory", "has_room_for_costs"]

SHARE = 0.5  # of the memory that is free, or of a worker's limit, that a fit may take
_COST_SHARE = 0.9  # of the memory that is free, for the point costs of an array that is in memory already
_PER_COST, _PER_ROW = 4.1, 24.0  # bytes of a fit beyond the data, per row and cluster, and per row for labels and order


def fits_in_memory(n_samples: int, n_features: int, *, itemsize: int, n_clusters: int) -> bool:
    """Whether a fit in memory leaves half of what is free: the data, and 4 bytes per row and cluster, and some more."""
    needed = n_samples * (n_features * max(itemsize, 4) + _PER_COST * n_clusters + _PER_ROW)
    return needed <= SHARE * free_memory()


def has_room_for_costs(n_samples: int, n_clusters: int) -> bool:
    """Whether the point costs of rows that are in memory already fit there too."""
    return n_samples * (_PER_COST * n_clusters + _PER_ROW) <= _COST_SHARE * free_memory()
