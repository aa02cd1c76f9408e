"""From what a user passes as X to the parts of a fit: which data are streamed, their first pass, and where to start."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _checks as checks
from .._data.seeding import Init, sampled_rows, starting_centers
from .._objectives.coded_seeds import coded_starts
from .._table.coded import unpacked
from .._table.features import Features
from .._table.summaries import learn_from
from .._typing import AnyArray, FloatArray
from ..errors import InvalidInputError
from ._dask import DaskBlocks, is_dask
from .blocks import Blocks, MemmapBlocks, Reading
from .in_blocks import BlockData, InBlocks, describe_blocks
from .memory import fits_in_memory, has_room_for_costs
from .work import summaries


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


def large_array(X: AnyArray, n_clusters: Any) -> Blocks | None:
    """An array in memory as blocks, where there is no room for its point costs beside it; None: there is."""
    is_matrix = X.ndim == 2 and isinstance(n_clusters, int | np.integer) and n_clusters >= 1
    return None if not is_matrix or has_room_for_costs(len(X), int(n_clusters)) else MemmapBlocks(X)


def open_blocks(
    X: Blocks, sensitive_features: Any, sample_weight: Any, n_threads: int, options: Features | None = None
) -> BlockData:
    """Make the first pass over the data; of a table, another one before, which learns how its columns count.

    Parameters
    ----------
    X : Blocks
    sensitive_features, sample_weight
        As the source wants them: columns, or names of columns.
    n_threads : int
        Threads that compute.
    options : Features or None
        How the columns of a table are to count. None: X is numbers.
    """
    columns = (sensitive_features, sample_weight)
    if options is None or not (options.are_given or X.has_words(*columns)):
        return describe_blocks(X.runner(*columns, n_threads), n_threads)
    raw = X.runner(*columns, n_threads, Reading())
    parts = [part for found in raw.run(summaries, options) for part in found]
    if not parts:
        raise InvalidInputError("X has no rows. Give at least one block with data.")
    learned = learn_from(parts, options)
    return describe_blocks(X.runner(*columns, n_threads, Reading(learned.features)), n_threads, learned)


def streamed_starts(rows: InBlocks, init: Init, n_starts: int, random_state: np.random.RandomState) -> list[FloatArray]:
    """Starting centres, from rows that one pass collects; those that samples are drawn from come with them.

    Parameters
    ----------
    rows : InBlocks
    init, random_state
        As for the estimators.
    n_starts : int
        Number of starts wanted.
    """
    data, n_clusters = rows.data, rows.n_clusters
    drawn = data.collect(n_clusters, sampled_rows(data.n_samples, n_clusters, random_state))
    few, weights = drawn.X, drawn.weights
    if weights is not None:
        few, weights = few[weights > 0], weights[weights > 0]
    if data.learned is not None:
        rows_ = unpacked(few, data.learned.empty)
        checks.check_distinct_rows(rows_, n_clusters)
        if not isinstance(init, str):
            given = np.asarray(init) if not callable(init) else np.empty(0)
            return [checks.check_centers(given, n_clusters, rows_.shape[1]).astype(rows_.dtype)]
        return coded_starts(rows_, n_clusters, init, random_state, weights, n_starts, data.n_threads)
    checks.check_distinct_rows(few, n_clusters)
    return starting_centers(few, n_clusters, init, random_state, weights, n_starts)
