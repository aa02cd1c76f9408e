"""Which points stand for all: samples that keep the cells' own masses, and points that curvature is counted over.

Everything here goes by row number, so that data in blocks give the sample that data in memory give.
"""

from __future__ import annotations

import numpy as np

from .._core.tiles import MOST_IN_TABLES, TILE
from .._typing import FloatArray, IntArray

_CURVATURE_POINTS = 1 << 8  # of each cell and cluster that curvature is counted over: a few percent off are near enough
_OF_A_CELL = (1 << 12, 1 << 14)  # for few clusters at least, for many at most
_SPARED = 3  # one run in so many is enough in any case, as long as that leaves as many points as these:
_LEFT, _LEFT_OF_A_CELL = 1 << 6, 1 << 10  # of each cell and cluster, and of a cell
_MANY_CELLS = 8  # with more than so many, the points that curvature is counted over are shared out among them
_COLD = 16  # times as many points at low temperatures, at which few of them are undecided

_LARGEST_SAMPLE = 1 << 19  # points; more would tell little more
_RARE = 32  # points of a cell per cluster, below which a sample keeps all of them


def curvature_steps(counts: IntArray, n_clusters: int) -> IntArray:
    """Curvature is counted over one run of points in so many of each cell, by the cells' numbers of points."""
    n_cells = len(counts)
    if n_clusters > MOST_IN_TABLES:  # their pairs are few, whoever is counted, and so are the points of each
        return np.ones(n_cells, dtype=np.int64)
    least, most = _OF_A_CELL
    enough = min(max(_CURVATURE_POINTS * n_clusters, least), most)
    per_cell = max(enough * min(n_cells, _MANY_CELLS) // n_cells, TILE)
    spared = np.minimum(counts // max(_LEFT * n_clusters, _LEFT_OF_A_CELL), _SPARED)
    return np.maximum(np.maximum(counts // per_cell, spared), 1).astype(np.int64)


def cold_steps(steps: IntArray) -> IntArray:
    """The same for low temperatures (see :func:`.undecided.is_cold`)."""
    return np.maximum(steps // _COLD, 1)


def coarsened(step: int, n_samples: int) -> int:
    """The step of a sample that is not larger than it need be."""
    return max(step, -(-n_samples // _LARGEST_SAMPLE))


def sampling_steps(counts: IntArray, n_clusters: int, step: int) -> IntArray:
    """How many points of each cell a sample passes on from one to the next: ``step``, fewer where they are rare."""
    return np.clip(counts // (_RARE * n_clusters), 1, step)


def sampled_weights(
    steps: IntArray, step: int, cells: IntArray, weights: FloatArray | None, cell_masses: FloatArray, n_samples: int
) -> FloatArray | None:
    """Weights of a sample's points such that every cell weighs as much in it as in all data; None: all alike.

    Parameters
    ----------
    steps : ndarray of shape (n_cells,)
        What :func:`sampling_steps` gave for ``step``.
    step : int
    cells, weights : ndarray of shape (n_sampled,)
        Cells and own weights (None: 1) of the sample's points.
    cell_masses : ndarray of shape (n_cells,)
        Weight of each cell in all data.
    n_samples : int
        Points of all data.
    """
    if (steps == step).all():
        return weights
    own = np.ones(len(cells)) if weights is None else weights
    part = np.bincount(cells, weights=own, minlength=len(cell_masses))
    factors = np.divide(cell_masses, part, out=np.zeros(len(cell_masses)), where=part > 0) * (len(cells) / n_samples)
    return own * factors[cells]
