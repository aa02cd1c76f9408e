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

from .._core import kernels
from .._core.tiles import TILE
from .._typing import AnyArray, IntArray

_STRETCH = 8192  # rows: with 20 clusters their costs are 640 KB, meant for a core's second cache
_ROWS_PER_CELL = 2048  # of a stretch, on average: fewer would leave many tiles half empty
_PIECE = 1 << 16  # rows that are sorted for a sample, or put back in order, at once: that needs no array of all rows
_FEW_CELLS = 8  # that are looked for one by one in less time than sorting takes
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

    def cells_of(self, positions: IntArray) -> IntArray:
        """Cells of some points, in visiting order."""
        chunk = np.searchsorted(self.chunk, self.places(positions)[0], side="right") - 1
        return self.chunk_cell[chunk]

    def to_visiting_order(self, values: AnyArray) -> AnyArray:
        """Rows in the user's order → rows in visiting order."""
        return np.ascontiguousarray(values[self.order])

    def to_user_order(self, values: AnyArray) -> AnyArray:
        """Rows in visiting order → rows in the user's order."""
        result = np.empty_like(values)
        for first in range(0, len(values), _PIECE):
            rows = self.order[first : first + _PIECE].astype(np.intp)  # NumPy takes twice as long to do so by itself
            result[rows] = values[first : first + _PIECE]
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
        members = _by_cell(codes[start : start + _PIECE], n_cells)
        skipped, counts = -before % steps, np.array([len(own) for own in members])
        taken = [members[j][skipped[j] :: steps[j]] for j in np.flatnonzero(counts > skipped)]
        found += [np.sort(np.concatenate(taken)) + start] if taken else []
        before = before + counts
    return np.concatenate(found)


def _by_cell(codes: IntArray, n_cells: int) -> list[IntArray]:
    """Rows of each cell. Few cells are soon looked for one by one; many are sorted."""
    small = codes.astype(np.uint8 if n_cells <= 256 else np.int64)
    if n_cells <= _FEW_CELLS:
        return [np.flatnonzero(small == j) for j in range(n_cells)]
    ends = np.cumsum(np.bincount(small, minlength=n_cells))
    return np.split(np.argsort(small, kind="stable"), ends[:-1])


def build_layout(codes: IntArray, n_cells: int) -> Layout:
    """Cut the rows into stretches, sort each by cell, and cut it into chunks of tiles."""
    n_rows = len(codes)
    stretch = max(_STRETCH, _ROWS_PER_CELL * n_cells, -(-n_rows // _MOST_STRETCHES))
    order = np.empty(n_rows, dtype=np.int32)
    counts = kernels.visiting_order(np.ascontiguousarray(codes, dtype=np.int32), n_cells, stretch, order)
    points = counts.reshape(-1)
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
