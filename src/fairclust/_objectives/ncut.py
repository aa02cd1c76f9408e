"""Ncut: the share of each cluster's links that leave it, added up over the clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from .._core import kernels
from .._data.in_memory import InMemory
from .._typing import FloatArray, IntArray
from ..graphs import Graph
from ._base import Objective

_SHIFT_TOLERANCE = 1e-3  # of an eigenvalue between −1 and 1; the shift is rounded up by as much


@dataclass(frozen=True)
class NCutObjective(Objective):
    """K − Σ_k S_kᵗWS_k / dᵗS_k, with a_pk = d_p z_k − 2 (WS)_pk / dᵗS_k, z_k = S_kᵗWS_k / (dᵗS_k)².

    The point costs come from the linearised ratios, so they bound Ncut from above only where W is positive
    semi-definite. W + shift·D is, for a large enough shift: for hard labels that adds the constant K·shift to the
    ratios, which is taken out again. A large shift holds every node where it is, so callers try small ones first.

    Centres are what the bound touches at: hard labels (n_samples,) in the user's order, or soft assignments
    (n_samples, n_clusters), float32.

    Parameters
    ----------
    graph : Graph
        The affinities W and their degrees d.
    shift : float
        σ ≥ 0.
    unit : float
        Costs and values are this many times Ncut: a point's cost is then of order 1, as solvers expect.
    """

    graph: Graph
    shift: float = 0.0
    unit: float = 1.0

    def centers(self, rows: InMemory, labels: IntArray, sizes: FloatArray, before: FloatArray) -> FloatArray:
        """The labels, in the user's order."""
        return rows.user_labels(labels)

    def soft_centers(
        self, rows: InMemory, prices: FloatArray, temperature: float, sizes: FloatArray, before: FloatArray
    ) -> FloatArray:
        """The soft assignments, in the user's order."""
        return rows.soft_rows(prices, temperature)

    def fill(self, rows: InMemory, centers: FloatArray, labels: IntArray | None = None) -> float:
        """Costs of the bound that touches Ncut at the centres."""
        n_clusters = rows.n_clusters
        hard, soft = _split(centers)
        sums = kernels.associations(*self.graph.arrays, self.graph.degree, hard, soft, n_clusters, rows.n_threads)
        inverse, ratio = _ratios(sums, self.shift)
        # The shift's part of the ratio is added by the kernel, for hard and for soft assignments.
        cheapest = kernels.link_costs(
            rows.plan, *self.graph.arrays, self.graph.degree, hard, soft, inverse * self.unit, ratio, self.shift,
            rows.excess, rows.n_threads,
        )  # fmt: skip
        rows.base_cost = self.unit * n_clusters * (1.0 + self.shift) + cheapest
        return 0.0 if labels is None else self.value(rows.user_labels(labels), n_clusters, rows.n_threads)

    def value(self, assignments: FloatArray, n_clusters: int, n_threads: int) -> float:
        """Ncut of hard labels, or of soft assignments with the shift: the same where they are hard."""
        hard, soft = _split(assignments)
        sums = kernels.associations(*self.graph.arrays, self.graph.degree, hard, soft, n_clusters, n_threads)
        inverse, _ = _ratios(sums, self.shift)
        kept = (sums[0] + self.shift * (sums[2] - sums[1])) * inverse
        return self.unit * float(n_clusters - kept.sum())

    def sampled(self, rows: IntArray) -> NCutObjective:
        """Ncut of the graph of some nodes."""
        return NCutObjective(self.graph.induced(rows), self.shift, self.unit)


def sufficient_shift(graph: Graph, random_state: np.random.RandomState) -> float:
    """A shift that makes W + shift·D positive semi-definite: minus the least eigenvalue of D^-½WD^-½, rounded up.

    1 is always enough. Lanczos finds the extreme eigenvalue from inside the spectrum; its residual, the most that it
    can be off by, is added.
    """
    degree, matrix = graph.degree, graph.matrix
    if graph.n_nodes < 10:
        return 1.0
    root = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    operator = LinearOperator(matrix.shape, matvec=lambda x: root * (matrix @ (root * x.ravel())), dtype=np.float64)
    try:
        value, vector = eigsh(
            operator, 1, which="SA", v0=random_state.standard_normal(len(degree)), tol=_SHIFT_TOLERANCE
        )
    except ArpackNoConvergence:
        return 1.0
    residual = float(np.linalg.norm(operator.matvec(vector[:, 0]) - value[0] * vector[:, 0]))
    return float(np.clip(-value[0] + residual + _SHIFT_TOLERANCE, 0.0, 1.0))


def _split(assignments: FloatArray) -> tuple[IntArray | None, FloatArray | None]:
    """Hard labels, or soft assignments: kernels take one and None for the other."""
    return (assignments, None) if assignments.ndim == 1 else (None, assignments)


def _ratios(sums: FloatArray, shift: float) -> tuple[FloatArray, FloatArray]:
    """1 / dᵗS_k (0 for a cluster without links), and the kernel's ratio: (S_kᵗWS_k + σ(S_kᵗDS_k − dᵗS_k)) / dᵗS_k."""
    inside, volume, squares = sums
    inverse = np.divide(1.0, volume, out=np.zeros_like(volume), where=volume > 0)
    return inverse, (inside + shift * (squares - volume)) * inverse
