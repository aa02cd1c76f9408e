"""Where the points lie: cell order, blocks and chunks. Built once per fit, shared by every pass over the data.

Points are visited sorted by *cell* (the group, or the combination of groups, that a point belongs to), in the user's
order within a cell. Blocks of 64 points and chunks of blocks never straddle two cells, and depend on the data alone: so
a chunk's pull is one vector, and a sum over chunks in order is the same for any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._typing import AnyArray, IntArray

BLOCK = 64
_SMALLEST_CHUNK = 2048  # points; below this a thread costs more than it saves
_MOST_CHUNKS = 1024  # bounds the room that the chunks' partial tables take


@dataclass(frozen=True)
class Layout:
    """Cell order, its blocks and its chunks.

    Attributes
    ----------
    order : ndarray of shape (n_samples,), int32
        Position in cell order → row of X.
    start, size : ndarray of shape (n_blocks,)
        First position and number of points of each block.
    chunk : ndarray of shape (n_chunks + 1,)
        Borders of the chunks, in blocks.
    chunk_cell : ndarray of shape (n_chunks,)
        The cell that each chunk lies in.
    n_cells : int
        Number of cells; a cell may be empty.
    """

    order: IntArray
    start: IntArray
    size: IntArray
    chunk: IntArray
    chunk_cell: IntArray
    n_cells: int

    @property
    def n_samples(self) -> int:
        """Number of points."""
        return len(self.order)

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.start)

    def to_cell_order(self, values: AnyArray) -> AnyArray:
        """Rows in the user's order → rows in cell order."""
        return values[self.order]

    def to_user_order(self, values: AnyArray) -> AnyArray:
        """Rows in cell order → rows in the user's order."""
        result = np.empty_like(values)
        result[self.order] = values
        return result


def build_layout(codes: IntArray, n_cells: int) -> Layout:
    """Sort points by cell and cut them into blocks and chunks."""
    small = np.uint8 if n_cells <= 256 else np.uint16 if n_cells <= 65536 else np.int64
    order = np.argsort(codes.astype(small), kind="stable").astype(np.int32)
    counts = np.bincount(codes, minlength=n_cells)
    cell_start = np.concatenate(([0], np.cumsum(counts)))
    blocks_per_chunk = max(_SMALLEST_CHUNK, -(-len(codes) // _MOST_CHUNKS)) // BLOCK + 1
    start, size, chunk, chunk_cell = [], [], [0], []
    n_blocks = 0
    for cell in np.flatnonzero(counts):
        first = np.arange(cell_start[cell], cell_start[cell + 1], BLOCK, dtype=np.int64)
        start.append(first)
        size.append(np.minimum(cell_start[cell + 1] - first, BLOCK).astype(np.int32))
        borders = np.append(np.arange(blocks_per_chunk, len(first), blocks_per_chunk), len(first)) + n_blocks
        chunk.extend(borders.tolist())
        chunk_cell.extend([cell] * len(borders))
        n_blocks += len(first)
    return Layout(
        order=order,
        start=np.concatenate(start),
        size=np.concatenate(size),
        chunk=np.asarray(chunk, dtype=np.int64),
        chunk_cell=np.asarray(chunk_cell, dtype=np.int32),
        n_cells=n_cells,
    )
