"""The small algebra where clusters are very many: few pairs of them have points between them. Sees no point.

A table of K×K numbers per cell takes longer to make than a sweep takes to count, and a system of them K³ steps. What is
not zero in it is some ten numbers per cluster, and conjugate gradients ask for products alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from scipy import sparse

from .._typing import FloatArray, IntArray
from .fallback_small import RIDGE, Measured, held_bend, measured, rounded

_CLOSE = 1e-3  # of the first residual: Newton's step is a guess, and the next sweep tells
_MOST_PRODUCTS = 500  # systems are well scaled: some tens are usual


Pairs: TypeAlias = FloatArray | sparse.csr_array
"""Sums of pairs that can be added up: tables, or rows without zeros, those of cells one below the other."""


def pair_table(pairs: FloatArray | tuple[FloatArray, IntArray, IntArray], n_clusters: int) -> Pairs:
    """Sums of pairs as kernels return them, such that they can be added up."""
    if not isinstance(pairs, tuple):
        return pairs
    return sparse.csr_array(pairs, shape=(len(pairs[2]) - 1, n_clusters))


@dataclass(frozen=True)
class SparseCurvature:
    """−∂masses/∂scaled_price of every cell: diagonal − between − crumbs·massesᵗ − masses·crumbsᵗ (off the diagonal).

    Attributes
    ----------
    between : csr_array of shape (n_cells · n_clusters, n_cells · n_clusters)
        Σ s_k s_l of points between two clusters, a block per cell.
    crumbs, masses, diagonal : ndarray of shape (n_cells, n_clusters)
        What clusters have of points that give next to nothing to them, over what the others hold; masses; such that
        rows sum to 0.
    """

    between: sparse.csr_array
    crumbs: FloatArray
    masses: FloatArray
    diagonal: FloatArray

    @classmethod
    def laplacian(cls, pairs: sparse.csr_array, masses: FloatArray, sampled: FloatArray, faint: float) -> Self:
        """See :func:`.fallback_small.laplacian`."""
        n_clusters, size = masses.shape[1], masses.size
        weight = masses.sum(axis=1)
        grow = np.divide(weight, sampled, out=np.zeros_like(weight), where=sampled > 0)
        rows = np.repeat(np.arange(size), np.diff(pairs.indptr))
        is_own = rows % n_clusters == pairs.indices
        squares = np.bincount(rows[is_own], pairs.data[is_own], size).reshape(masses.shape)
        rows, columns = rows[~is_own], pairs.indices[~is_own]
        cells = rows // n_clusters
        columns = cells * n_clusters + columns
        ends = (np.concatenate((rows, columns)), np.concatenate((columns, rows)))
        values = np.tile(pairs.data[~is_own] * grow[cells], 2)
        between = sparse.csr_array(sparse.coo_array((values, ends), shape=(size, size)))
        known = np.asarray(between.sum(axis=1)).reshape(masses.shape)
        missing = np.maximum(np.maximum(masses - squares, 0.0) - known, 0.0)
        rest = np.maximum(weight[:, None] - masses, np.finfo(float).tiny)
        crumbs = np.where(masses < faint * weight[:, None], missing, 0.0) / rest
        others = crumbs * rest + masses * (crumbs.sum(axis=1, keepdims=True) - crumbs)
        return cls(between, crumbs, masses, known + others)

    def times(self, x: FloatArray) -> FloatArray:
        """The product with a vector per cell, (n_cells, n_clusters)."""
        crumbs, masses = self.crumbs, self.masses
        found = (self.diagonal + 2 * crumbs * masses) * x - (self.between @ x.ravel()).reshape(x.shape)
        found -= crumbs * (masses * x).sum(axis=1, keepdims=True)
        return found - masses * (crumbs * x).sum(axis=1, keepdims=True)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        """As a table, (n_cells, n_clusters, n_clusters)."""
        n_clusters = self.masses.shape[1]
        crumbs = self.crumbs[:, :, None] * self.masses[:, None, :]
        table: FloatArray = -(crumbs + crumbs.transpose(0, 2, 1))
        every = np.arange(n_clusters)
        for c, own in enumerate(table):
            block = slice(c * n_clusters, (c + 1) * n_clusters)
            own -= self.between[block, block].toarray()
            own[every, every] = self.diagonal[c]
        return table.astype(dtype, copy=False)


def held_step(
    curvature: SparseCurvature, scale: float, price: FloatArray, line: FloatArray, pull: FloatArray, wanted: FloatArray,
    slope: FloatArray, lengths: FloatArray, stride: float,
) -> Measured:  # fmt: skip
    """See :func:`.fallback_small.held_step`: all cells at once."""
    bend = held_bend(pull, wanted) + abs(slope) * scale / lengths
    bend += RIDGE * np.maximum(bend + scale * curvature.diagonal.T, np.finfo(float).tiny ** 0.5)
    bend = np.ascontiguousarray(bend.T)
    diagonal = scale * curvature.diagonal + bend
    steps = _solved(
        lambda x: scale * curvature.times(x) + bend * x, lambda x: x / diagonal, np.ascontiguousarray(slope.T)
    ).T
    return measured(np.where(pull > 0, np.minimum(steps, stride * (line - price)), 0.0), scale, slope)


def cone_step(
    curvature: SparseCurvature, scale: float, membership: FloatArray, jacobian: FloatArray, turn: FloatArray,
    offset_turn: FloatArray, people: FloatArray, slope: FloatArray, lengths: FloatArray,
) -> Measured:  # fmt: skip
    """See :func:`.fallback_small.cone_step`. A cluster's unknowns alone are what the system is scaled by."""
    through = membership @ jacobian  # (clusters, cells, unknowns)
    bend = people[:, :, None] * turn + offset_turn
    own = bend + scale * np.einsum("kct,ck,kcu->ktu", through, curvature.diagonal, through, optimize=True)
    every = np.arange(slope.shape[1])
    damping = abs(slope) * scale / lengths
    damping += RIDGE * np.maximum(own[:, every, every] + damping, np.finfo(float).tiny ** 0.5)
    own[:, every, every] += damping
    inverse = np.linalg.inv(own)

    def product(x: FloatArray) -> FloatArray:
        prices = (through @ x[:, :, None])[:, :, 0]
        masses = scale * curvature.times(np.ascontiguousarray(prices.T)).T
        return (masses[:, None, :] @ through)[:, 0, :] + (bend @ x[:, :, None])[:, :, 0] + damping * x

    return measured(_solved(product, lambda x: (inverse @ x[:, :, None])[:, :, 0], slope), scale, slope)


def rounding(
    curvature: SparseCurvature, masses: FloatArray, before: FloatArray, after: FloatArray, labelled: FloatArray,
    most: float,
) -> FloatArray:  # fmt: skip
    """See :func:`.fallback_small.rounding`."""
    return rounded(masses - curvature.times(np.ascontiguousarray((after - before).T)), labelled, most)


def _solved(
    product: Callable[[FloatArray], FloatArray], scaled: Callable[[FloatArray], FloatArray], right: FloatArray
) -> FloatArray:
    """Conjugate gradients from zero: whatever they end with goes uphill. Sums are NumPy's own, in one order."""
    found, left = np.zeros_like(right), right.copy()
    rest = scaled(left)
    along, length = rest, float((left * rest).sum())
    enough = _CLOSE**2 * length
    for _ in range(_MOST_PRODUCTS):
        if not length > enough:
            break
        turned = product(along)
        bent = float((along * turned).sum())
        if not (bent > 0 and np.isfinite(bent)):
            break
        found += (length / bent) * along
        left -= (length / bent) * turned
        rest = scaled(left)
        last, length = length, float((left * rest).sum())
        along = rest + (length / last) * along
    return found if np.isfinite(found).all() else np.zeros_like(right)
