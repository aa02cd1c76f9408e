"""Terms: convex functions of the masses of each cluster, with all that solvers and searches ask of them.

A term enters the dual through its support function h(θ) = max over m of ⟨θ, m⟩ − term(m) (Boyd and Vandenberghe, 3.3).
Most terms judge shares q, whatever the size n of a cluster: m = n·q. Then everyone in the cluster receives the maximum
over q of ⟨θ, q⟩ − term(q), and the prices θ − h(θ) are those that no allowed composition pays on balance. Terms that
judge masses (sizes, counts, the slack of whole people) cost the dual h(θ) once. A term may do both: m = n·q + z.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from scipy import sparse

from .._core import kernels
from .._typing import FloatArray, IntArray

SMALLEST_SHARE = 1e-20  # a group that a cluster lacks counts as this share, as in the paper's code
SMALLEST_TARGET = 1e-12  # a group that is not wanted is asked for in this share
TINY = float(np.finfo(float).tiny)
ROUNDING = 1e-9  # of a count: less is the rounding of sums
NO_LIMIT = 1e9  # a divergence that no cluster reaches


class Support(NamedTuple):
    """A support function, cluster by cluster.

    Attributes
    ----------
    value : ndarray of shape (n_clusters,)
    argmax : ndarray of shape (n_clusters, n_groups)
        Its gradient.
    jacobian : ndarray of shape (n_clusters, n_groups, n_groups)
        Of the gradient: symmetric and positive semi-definite.

    Examples
    --------
    >>> import numpy as np
    >>> from fairclust.goals import Attribute, Bounds
    >>> sex = Attribute(np.array(["F", "M"]), np.eye(2), np.array([0.5, 0.5]), "sex")
    >>> term = Bounds({"F": (0.4, 0.6)}).term(sex)
    >>> term.share_support(np.array([[1.0, 0.0]]), 0.0).value.round(6)
    array([0.6])
    """

    value: FloatArray
    argmax: FloatArray
    jacobian: FloatArray


class Rows(NamedTuple):
    """``lower <= matrix @ counts.ravel() <= upper``: what every feasible table of counts satisfies.

    Examples
    --------
    >>> import numpy as np
    >>> from fairclust.goals import Attribute, Bounds
    >>> sex = Attribute(np.array(["F", "M"]), np.eye(2), np.array([0.5, 0.5]), "sex")
    >>> term = Bounds({"F": (0.4, 0.6)}).term(sex)
    >>> rows = term.rows(np.array([[2.0, 8.0]]))
    >>> rows.matrix.shape == (len(rows.upper), 2)
    True
    """

    matrix: sparse.csr_array
    lower: FloatArray
    upper: FloatArray


class Term(ABC):
    """A convex function of the masses of each cluster by group: a constraint (hard), a cost (soft), or both.

    Where groups overlap, the last column of every table counts everyone, as shares need not add up to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from fairclust.goals import Attribute, Bounds
    >>> sex = Attribute(np.array(["F", "M"]), np.eye(2), np.array([0.5, 0.5]), "sex")
    >>> term = Bounds({"F": (0.4, 0.6)}).term(sex)
    >>> term.violation(np.array([[2.0, 8.0], [5.0, 5.0]])).round(6)
    array([2., 0.])
    """

    overlapping: bool = False

    @property
    def is_soft(self) -> bool:
        """Whether the term is a cost."""
        return False

    @abstractmethod
    def share_support(self, theta: FloatArray, temperature: float) -> Support | None:
        """Support function of the shares at θ (n_clusters, n_groups), smoothed by a temperature; at 0 it is exact."""

    def mass_support(self, theta: FloatArray, temperature: float) -> Support | None:
        """The same of masses, whatever the size."""
        return None

    @abstractmethod
    def violation(self, masses: FloatArray, clusters: IntArray | None = None) -> FloatArray:
        """People too many or too few in each row of masses: convex, and 0 where the constraint holds.

        Row r is a composition of cluster ``clusters[r]``; None: row k is cluster k. The same goes for ``rows`` and
        ``value``.
        """

    @abstractmethod
    def rows(self, masses: FloatArray, clusters: IntArray | None = None) -> Rows:
        """Linear constraints of whole counts; of a curved set, its supporting hyperplanes near these masses."""

    def value(self, masses: FloatArray, clusters: IntArray | None = None) -> FloatArray:
        """What each row of masses costs; a hard term costs nothing."""
        return np.zeros(len(masses))

    def slope(self, masses: FloatArray) -> FloatArray:
        """Derivative of the value by the masses."""
        return np.zeros(masses.shape)

    def correction(self, masses: FloatArray, theta: FloatArray) -> float:
        """Value of clusters of these sizes less that in the frozen problem of this round."""
        return 0.0

    def updated(self, masses: FloatArray, theta: FloatArray) -> Term:
        """The term with the parameters of the next round (Dinkelbach); a hard term stays as it is."""
        return self

    def at_sizes(self, sizes: FloatArray) -> Term:
        """The term for whole people in clusters of these sizes."""
        return self

    def centered(self, theta: FloatArray) -> FloatArray:
        """θ without drift: where shares add up to 1, a constant added to a row changes no price."""
        return theta - theta.mean(axis=1, keepdims=True)

    def size(self, masses: FloatArray) -> FloatArray:
        """People who count in each row: those whom shares are shares of."""
        size: FloatArray = masses[..., -1] if self.overlapping else masses.sum(axis=-1)
        return size


@dataclass(frozen=True, eq=False)
class Divergence(Term):
    """A divergence of the target from the shares: at most ``limit`` in every cluster, ``weight`` times it as a cost.

    With n the size and g(m) = n·divergence(m/n), convex and homogeneous of degree 1, the limit is g − limit·n <= 0, a
    cone, and the cost is weight·g/n, a ratio. A sum of ratios is minimised in rounds (Dinkelbach; Jong 2012) of
    rate·(g − credit·n), which is convex, with rate = weight/n and credit = the divergence of the round before.

    Parameters
    ----------
    target : ndarray of shape (n_groups,) or (n_clusters, n_groups)
    limit, weight : float
    rate, credit : ndarray of shape (n_clusters,), or float
        Parameters of the round.
    """

    target: FloatArray
    limit: float = np.inf
    weight: float = 0.0
    rate: FloatArray | float = 0.0
    credit: FloatArray | float = 0.0

    @abstractmethod
    def error(self, masses: FloatArray, clusters: IntArray | None = None) -> FloatArray:
        """The divergence of each row of masses."""

    @abstractmethod
    def error_asked(self, theta: FloatArray) -> FloatArray:
        """The divergence of the shares that prices ask for."""

    @property
    def is_soft(self) -> bool:
        """Whether it has a weight."""
        return self.weight > 0

    def value(self, masses: FloatArray, clusters: IntArray | None = None) -> FloatArray:
        """Weight · divergence."""
        return self.weight * self.error(masses, clusters)

    def correction(self, masses: FloatArray, theta: FloatArray) -> float:
        """Σ_k weight·error − rate·n·(error − credit), with the error of the shares that prices ask for.

        That of the masses would be multiplied by their residual: at large weights by anything.
        """
        if self.weight == 0:
            return 0.0
        error = self.error_asked(theta)
        return float((self.weight * error - self.rate * self.size(masses) * (error - self.credit)).sum())

    def violation(self, masses: FloatArray, clusters: IntArray | None = None) -> FloatArray:
        """N · (error − limit) where that is positive."""
        if not np.isfinite(self.limit):
            return np.zeros(len(masses))
        excess = np.maximum(self.error(masses, clusters) - self.limit * (1.0 + ROUNDING), 0.0)
        return self.size(masses) * excess

    def updated(self, masses: FloatArray, theta: FloatArray) -> Self:
        """Rate by the sizes; credit by the shares that prices ask for: masses may lack a group."""
        if self.weight == 0:
            return self
        rate = self.weight / np.maximum(self.size(masses), 1.0)
        return replace(self, rate=rate, credit=replace(self, rate=rate).error_asked(theta))


@dataclass(frozen=True, eq=False)
class KL(Divergence):
    """KL(target ‖ shares), for groups that do not overlap."""

    def share_support(self, theta: FloatArray, temperature: float) -> Support:
        """Max ⟨θ, q⟩ − κ·KL(target ‖ q) over compositions: q_j = κ·target_j / (ν − θ_j), one root in ν.

        κ is the rate, or the temperature where that is larger (it smooths), or, on the boundary of the limit, its
        multiplier. The Jacobian is diag(v), v = q²/(κ·target), less its projections on the gradients of the constraints
        that hold: Σ q = 1, and KL = limit on the boundary.
        """
        target = np.maximum(np.atleast_2d(self.target), SMALLEST_TARGET)
        softness = np.maximum(np.broadcast_to(self.rate, len(theta)), temperature).astype(float)
        argmax, value, jacobian = kernels.kl_support(
            np.ascontiguousarray(theta), target, min(self.limit, NO_LIMIT), softness
        )
        return Support(value + np.asarray(self.rate) * self.credit, argmax, jacobian)

    def slope(self, masses: FloatArray) -> FloatArray:
        """Weight · (1/n − target/m)."""
        size = np.maximum(masses.sum(axis=1, keepdims=True), TINY**0.25)
        return self.weight * (1.0 / size - self.target / np.maximum(masses, SMALLEST_SHARE * size))

    def rows(self, masses: FloatArray, clusters: IntArray | None = None) -> Rows:
        """n·(KL − limit) is homogeneous and convex, so ⟨its gradient, counts⟩ <= 0 is valid."""
        if not np.isfinite(self.limit):
            return no_rows(masses.size)
        target = rows_of(self.target, clusters, len(masses))
        m = np.maximum(masses, 0.5 * np.maximum(target, SMALLEST_TARGET))  # a point with some of every group
        size = m.sum(axis=1, keepdims=True)
        gradient = divergence(target, m / size)[:, None] - self.limit + 1.0 - target * size / m
        return Rows(block_rows(gradient), np.full(len(m), -np.inf), np.zeros(len(m)))

    def error(self, masses: FloatArray, clusters: IntArray | None = None) -> FloatArray:
        """KL of each row."""
        shares = masses / np.maximum(masses.sum(axis=1, keepdims=True), SMALLEST_SHARE)
        return divergence(rows_of(self.target, clusters, len(masses)), shares)

    def error_asked(self, theta: FloatArray) -> FloatArray:
        """KL of the maximisers."""
        return divergence(self.target, self.share_support(theta, 0.0).argmax)


def divergence(target: FloatArray, shares: FloatArray) -> FloatArray:
    """KL(target ‖ shares) of each row of shares."""
    target = np.maximum(target, SMALLEST_SHARE)
    logs = np.log(target / np.maximum(shares, SMALLEST_SHARE))
    return np.maximum((target * logs).sum(axis=1), 0.0)


def rows_of(table: FloatArray, clusters: IntArray | None, n_rows: int) -> FloatArray:
    """What rows of these clusters ask for, where every cluster has a row of its own; one row stands for all."""
    if table.ndim == 2 and clusters is not None:
        return table[clusters]
    return np.broadcast_to(table, (n_rows, table.shape[-1]))


def block_rows(blocks: FloatArray) -> sparse.csr_array:
    """A matrix with a row per cluster, (K, J) → (K, K·J), or several per cluster, (K, R, J) → (K·R, K·J)."""
    blocks = blocks[:, None, :] if blocks.ndim == 2 else blocks
    n_blocks, n_rows, n_columns = blocks.shape
    own = np.arange(n_blocks * n_columns).reshape(n_blocks, 1, n_columns)
    columns = np.broadcast_to(own, blocks.shape).ravel()
    starts = np.arange(n_blocks * n_rows + 1) * n_columns
    return sparse.csr_array((blocks.ravel(), columns, starts), shape=(n_blocks * n_rows, n_blocks * n_columns))


def no_rows(n_counts: int) -> Rows:
    """No constraint."""
    return Rows(sparse.csr_array((0, n_counts)), np.zeros(0), np.zeros(0))
