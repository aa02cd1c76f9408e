"""How points are laid out for the kernels.

Costs lie in tiles, ``[tile][cluster][point of the tile]``; rows that seeds are drawn from in blocks, by feature.
"""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray

TILE = 64  # points: four AVX-512 registers of float32; kTile of the compiled kernels
RUN = 16  # points of a cell, one after the other, that curvature is counted over or not: kRun of the compiled kernels
_BLOCK = 32  # points: four AVX-512 registers of float64; kHeapBlock of the compiled kernels


def to_tiles(costs: FloatArray, tiles: slice) -> FloatArray:
    """Costs of a chunk, (points, clusters), as the tiles of the chunk; points that are not there cost 0."""
    n_tiles, n_clusters = tiles.stop - tiles.start, costs.shape[1]
    padded = np.zeros((n_tiles * TILE, n_clusters), dtype=np.float32)
    padded[: len(costs)] = costs
    return padded.reshape(n_tiles, TILE, n_clusters).transpose(0, 2, 1)


def in_blocks(rows: FloatArray) -> FloatArray:
    """Rows (points, features) in double precision, ``[block][feature][point of the block]``, the last one filled up."""
    n_blocks, n_features = -(-len(rows) // _BLOCK), rows.shape[1]
    padded = np.zeros((n_blocks * _BLOCK, n_features))
    padded[: len(rows)] = rows
    return np.ascontiguousarray(padded.reshape(n_blocks, _BLOCK, n_features).transpose(0, 2, 1))
