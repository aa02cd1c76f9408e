"""Where the points lie: visiting order, tiles and chunks. Built once per fit, shared by every pass over the data.

The rows are cut into *stretches* that fit in a core's cache. Within a stretch points are visited sorted by *cell* (the
group, or the combination of groups, that a point belongs to). Tiles of 64 points and chunks of tiles lie within one
stretch and one cell, and depend on the data alone: so a chunk's prices are one vector, memory is read in order, and a
sum over chunks in order is the same for any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._core.tiles import TILE
from .._typing import AnyArray, IntArray

_STRETCH = 8192  # rows: with 20 clusters their costs are 640 KB, meant for a core's second cache
_ROWS_PER_CELL = 2048  # of a stretch, on average: fewer would leave many tiles half empty
_PIECE = 1 << 16  # rows that are sorted at once for a sample: it needs no array of all rows
_MOST_STRETCHES = 1024  # bounds the room that the chunks' partial tables take


@dataclass(frozen=True)
class Layout:
    """Visiting order, its tiles and its chunks.

    Attributes
    ----------
    order : ndarray of shape (n_samples,), int32
        Position in visiting order → row of X.
    start, size : ndarray of shape (n_tiles,)
        First position and number of points of each tile.
    chunk : ndarray of shape (n_chunks + 1,)
        Borders of the chunks, in tiles.
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
    def n_tiles(self) -> int:
        """Number of tiles."""
        return len(self.start)

    @cached_property
    def cells(self) -> IntArray:
        """Cell of each point, in visiting order."""
        return np.repeat(self.chunk_cell, self._chunk_sizes)

    @cached_property
    def cell_counts(self) -> IntArray:
        """Points of each cell."""
        return np.bincount(self.chunk_cell, weights=self._chunk_sizes, minlength=self.n_cells).astype(np.int64)

    @property
    def _chunk_sizes(self) -> IntArray:
        return np.add.reduceat(self.size, self.chunk[:-1])

    def every_nth(self, steps: IntArray) -> tuple[IntArray, IntArray]:
        """A sample: positions of each cell's first point, and of every so-manieth after it, in the rows' order; cells.

        They are the rows that :func:`every_nth_of_each` takes.
        """
        sizes, before = self._chunk_sizes, np.zeros(self.n_cells, dtype=np.int64)
        found = [np.empty(0, dtype=np.int64)]
        for first, size, cell in zip(np.cumsum(sizes) - sizes, sizes, self.chunk_cell, strict=True):
            found.append(np.arange(first + -before[cell] % steps[cell], first + size, steps[cell]))
            before[cell] += size
        positions = np.concatenate(found)
        cells = np.repeat(self.chunk_cell, [len(one) for one in found[1:]])
        in_rows = np.argsort(self.order[positions], kind="stable")
        return positions[in_rows], cells[in_rows]

    def places(self, positions: IntArray) -> tuple[IntArray, IntArray]:
        """Tile of each of some points, in visiting order, and its place within the tile."""
        tile = np.searchsorted(self.start, positions, side="right") - 1
        return tile, positions - self.start[tile]

    def to_visiting_order(self, values: AnyArray) -> AnyArray:
        """Rows in the user's order → rows in visiting order."""
        return np.ascontiguousarray(values[self.order])

    def to_user_order(self, values: AnyArray) -> AnyArray:
        """Rows in visiting order → rows in the user's order."""
        result = np.empty_like(values)
        result[self.order] = values
        return result


def every_nth_of_each(codes: IntArray, steps: IntArray, before: IntArray | None = None) -> IntArray:
    """Rows of a sample: of each cell the first row, and every so-manieth after it.

    Parameters
    ----------
    codes : ndarray of shape (n_rows,)
        Cell of each row, in the user's order.
    steps : ndarray of shape (n_cells,)
        From one row of a cell to the next.
    before : ndarray of shape (n_cells,) or None
        How many rows of each cell came before these. The sample of data in parts is thus that of the whole.

    Returns
    -------
    rows : ndarray, ascending
    """
    n_cells = len(steps)
    before = np.zeros(n_cells, dtype=np.int64) if before is None else np.asarray(before)
    found = [np.empty(0, dtype=np.int64)]
    for start in range(0, len(codes), _PIECE):
        piece = codes[start : start + _PIECE].astype(np.uint8 if n_cells <= 256 else np.int64)
        by_cell, counts = np.argsort(piece, kind="stable"), np.bincount(piece, minlength=n_cells)
        first, skipped = np.cumsum(counts) - counts, -before % steps
        present = np.flatnonzero(counts > skipped)
        taken = [by_cell[first[j] + skipped[j] : first[j] + counts[j] : steps[j]] for j in present]
        found += [np.sort(np.concatenate(taken)) + start] if taken else []
        before = before + counts
    return np.concatenate(found)


def build_layout(codes: IntArray, n_cells: int) -> Layout:
    """Cut the rows into stretches, sort each by cell, and cut it into chunks of tiles."""
    n_rows = len(codes)
    stretch = max(_STRETCH, _ROWS_PER_CELL * n_cells, -(-n_rows // _MOST_STRETCHES))
    small = codes.astype(np.uint8 if n_cells <= 256 else np.uint16 if n_cells <= 65536 else np.int64)
    order = np.empty(n_rows, dtype=np.int32)
    counts = []  # points of each (stretch, cell)
    for first in range(0, n_rows, stretch):
        part = small[first : first + stretch]
        order[first : first + stretch] = np.argsort(part, kind="stable") + first
        counts.append(np.bincount(part, minlength=n_cells))
    points = np.concatenate(counts)
    present = np.flatnonzero(points)
    points = points[present]
    n_tiles = -(-points // TILE)
    chunk = np.concatenate(([0], np.cumsum(n_tiles)))
    # A tile's place within its chunk gives its first position and its size.
    place = (np.arange(chunk[-1]) - np.repeat(chunk[:-1], n_tiles)) * TILE
    start = np.repeat(np.cumsum(points) - points, n_tiles) + place
    size = np.minimum(np.repeat(points, n_tiles) - place, TILE)
    return Layout(
        order=order,
        start=start.astype(np.int64),
        size=size.astype(np.int32),
        chunk=chunk.astype(np.int64),
        chunk_cell=(present % n_cells).astype(np.int32),
        n_cells=n_cells,
    )
