"""From what a user passes as X to the parts of a fit: which data are streamed, their first pass, and where to start."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _checks as checks
from .._sweep.sampling import coarsened
from .._sweep.seeding import Init, sampled_rows, starting_centers
from .._typing import FloatArray
from ._dask import DaskBlocks, is_dask
from .blocks import Blocks, MemmapBlocks
from .memory import fits_in_memory
from .sweep import BlockData, StreamedSweep, describe_blocks


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
    return describe_blocks(X.runner(sensitive_features, sample_weight, n_threads), n_threads)


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
    sample = data.sample(coarsened(first_step, data.n_samples) if first_step >= 2 else 0, n_clusters, rows)
    few, weights = sample.rows, sample.row_weights
    if weights is not None:
        few, weights = few[weights > 0], weights[weights > 0]
    checks.check_distinct_rows(few, n_clusters)
    return starting_centers(few, n_clusters, init, random_state, weights, n_starts)
