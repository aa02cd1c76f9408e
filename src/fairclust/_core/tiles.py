"""How costs are laid out for the kernels: tiles of points, ``[tile][cluster][point of the tile]``."""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray

TILE = 64  # points: four AVX-512 registers of float32; kTile of the compiled kernels
RUN = 16  # points of a cell, one after the other, that curvature is counted over or not: kRun of the compiled kernels


def to_tiles(costs: FloatArray, tiles: slice) -> FloatArray:
    """Costs of a chunk, (points, clusters), as the tiles of the chunk; points that are not there cost 0."""
    n_tiles, n_clusters = tiles.stop - tiles.start, costs.shape[1]
    padded = np.zeros((n_tiles * TILE, n_clusters), dtype=np.float32)
    padded[: len(costs)] = costs
    return padded.reshape(n_tiles, TILE, n_clusters).transpose(0, 2, 1)
