"""From what a user passes as X to the parts of a fit: which data are streamed, their first pass, and where to start."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .. import checks
from .._typing import FloatArray
from ..seeding import Init, sampled_rows, starting_centers
from ._dask import DaskBlocks, is_dask
from .blocks import Blocks, MemmapBlocks
from .streaming import BlockData, StreamedSweep, described

_SHARE_OF_MEMORY = 0.5  # that a fit may take before a memory map is streamed


def as_blocks(X: Any, n_clusters: int = 1) -> Any:
    """X as something to stream, or None where it is to be held in memory.

    Blocks and Dask collections are streamed; a NumPy memory map is where a fit would take more than half of the memory
    that is free.
    """
    if isinstance(X, Blocks):
        return X
    if is_dask(X):
        return DaskBlocks(X)
    if not isinstance(X, np.memmap) or X.ndim != 2:
        return None
    n_samples, n_features = X.shape
    fits = fits_in_memory(n_samples, n_features, itemsize=X.dtype.itemsize, n_clusters=n_clusters)
    return None if fits else MemmapBlocks(X)


def fits_in_memory(n_samples: int, n_features: int, *, itemsize: int, n_clusters: int) -> bool:
    """Whether a fit in memory leaves half of what is free: the data, and 4 bytes per row and cluster, and some more."""
    needed = n_samples * (n_features * max(itemsize, 4) + 4.8 * n_clusters + 16)
    return needed <= _SHARE_OF_MEMORY * free_memory()


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


def open_blocks(X: Blocks, sensitive_features: Any, sample_weight: Any, n_threads: int) -> BlockData:
    """Make the first pass over the data.

    Parameters
    ----------
    X : Blocks
    sensitive_features, sample_weight
        As the source wants them: columns, or names of columns.
    n_threads : int
        Threads that compute.
    """
    return described(X.runner(sensitive_features, sample_weight, n_threads), n_threads)


def streamed_starts(
    sweep: StreamedSweep, init: Init, n_starts: int, random_state: np.random.RandomState, first_step: int
) -> list[FloatArray]:
    """Starting centres, from rows that one pass collects; the sample that the fit will ask for comes with them.

    Parameters
    ----------
    sweep : StreamedSweep
    init, random_state
        As for the estimators.
    n_starts : int
        Number of starts wanted.
    first_step : int
        The fit will ask for a sample of one row in so many first. Below 2: for none.
    """
    data, n_clusters = sweep.data, sweep.n_clusters
    rows = sampled_rows(data.n_samples, n_clusters, random_state)
    sample = data.sample(sweep.coarsened(first_step) if first_step >= 2 else 0, n_clusters, rows)
    few, weights = sample.rows, sample.row_weights
    if weights is not None:
        few, weights = few[weights > 0], weights[weights > 0]
    checks.check_distinct_rows(few, n_clusters)
    return [starting_centers(few, n_clusters, init, random_state, weights) for _ in range(n_starts)]
