"""Terms made of bounds: intervals of shares, sizes and counts, and balance."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from scipy import sparse
from scipy.special import xlogy

from .._typing import FloatArray, IntArray
from .terms import ROUNDING, TINY, Rows, Support, Term, block_rows, rows_of

NEAR = 1.0 - 1e-5  # of a slack, in rows for solvers
INNER = 0.02  # of an interval's width: nearer to a bound its centre would leave no barrier
_MAX_STEPS = 60  # of Newton's method for one root, from one side: a handful do


def barrier(x: FloatArray, below: FloatArray, above: FloatArray, temperature: float) -> Support:
    """Max over z of x·z + τ·(below·log(1 + z/below) + above·log(1 − z/above)), by element.

    The support function of an interval around 0 with a logarithmic barrier that is neutral at 0. The maximiser z nears
    a bound like 1/x, so Newton's model of it holds over many temperatures, where a logistic or entropic smoothing is
    flat after a few. Temperature 0: the support function itself.
    """
    if temperature == 0:
        z = np.where(x > 0, above, np.where(x < 0, -below, 0.0))
        return Support(x * z, z, np.zeros_like(z))
    b = temperature * (below + above) - x * (above - below)
    root = np.sqrt(b**2 + 4.0 * x**2 * below * above)
    towards, away = 2.0 * x * below * above / np.maximum(b + root, TINY), (root - b) / 2.0
    z = np.where(b > 0, towards, away / np.where(x == 0, 1.0, x))  # the form without cancellation
    down, up = np.maximum(below + z, TINY), np.maximum(above - z, TINY)
    logs = xlogy(below, down) + xlogy(above, up) - xlogy(below, below) - xlogy(above, above)
    curvature = down**2 * up**2 / np.maximum(temperature * (below * up**2 + above * down**2), TINY)
    return Support(x * z + temperature * logs, z, curvature)


@dataclass(frozen=True, eq=False)
class Interval(Term):
    """``lower <= q <= upper``, column by column: bounds on shares, exact shares, sizes, counts.

    That shares add up to 1 follows from the masses, so the support function is that of a box.

    Parameters
    ----------
    lower, upper : ndarray of shape (n_groups,) or (n_clusters, n_groups)
    is_cone : bool
        Whether q are shares; else masses.
    slack : float
        People by which a count may be outside: just below 1 for floor and ceiling.
    center : ndarray or None
        Where smoothing is neutral: the data's shares, the mean size. None: the middle.
    overlapping : bool
        Whether groups overlap; the last column then counts everyone.
    """

    lower: FloatArray
    upper: FloatArray
    is_cone: bool = True
    slack: float = 0.0
    center: FloatArray | None = None
    overlapping: bool = False

    def share_support(self, theta: FloatArray, temperature: float) -> Support | None:
        """Each price pays for the bound that its sign names."""
        return self._box(theta, temperature) if self.is_cone else None

    def mass_support(self, theta: FloatArray, temperature: float) -> Support | None:
        """The same of counts; or the slack, which a cluster of any size has once."""
        if not self.is_cone:
            return self._box(theta, temperature)
        if self.slack == 0:
            return None
        slack = np.full(theta.shape[1], self.slack)
        slack[-1] = 0.0 if self.overlapping else slack[-1]
        return _summed(barrier(theta, slack, slack, temperature))

    def _box(self, theta: FloatArray, temperature: float) -> Support:
        width = self.upper - self.lower
        center = (self.upper + self.lower) / 2 if self.center is None else self.center
        center = np.clip(center, self.lower + INNER * width, self.upper - INNER * width)
        value, z, curvature = barrier(theta, center - self.lower, self.upper - center, temperature)
        return _summed(Support(center * theta + value, center + z, curvature))

    def violation(self, masses: FloatArray, clusters: IntArray | None = None) -> FloatArray:
        """People below the lower bounds and above the upper ones."""
        lower, upper = (rows_of(bound, clusters, len(masses)) for bound in (self.lower, self.upper))
        size = self.size(masses)[:, None] if self.is_cone else 1.0
        # A slack is below a whole person by its rounding already.
        slack = self.slack if self.slack > 0 else ROUNDING * np.maximum(masses, 1.0)
        few = np.maximum(lower * size - masses - slack, 0.0)
        many = np.maximum(masses - upper * size - slack, 0.0)
        return (few + many).sum(axis=1)

    def rows(self, masses: FloatArray, clusters: IntArray | None = None) -> Rows:
        """−slack <= masses − bound·size <= slack, or bounds of the masses themselves."""
        lower, upper = (rows_of(bound, clusters, len(masses)) for bound in (self.lower, self.upper))
        # Solvers take a row for satisfied that counts are a millionth of a person outside of.
        slack, free = np.full(masses.size, NEAR * self.slack or ROUNDING), np.full(masses.size, np.inf)
        if not self.is_cone:
            return Rows(sparse.eye_array(masses.size, format="csr"), lower.ravel() - slack, upper.ravel() + slack)
        eye = np.eye(masses.shape[1])
        who = eye[-1] if self.overlapping else np.ones(len(eye))  # whom shares are shares of
        below, above = (block_rows(eye - bound[:, :, None] * who) for bound in (lower, upper))
        matrix = sparse.vstack([below, above], format="csr")
        return Rows(matrix, np.concatenate([-slack, -free]), np.concatenate([free, slack]))

    def at_sizes(self, sizes: FloatArray) -> Interval:
        """Shares of a fixed size are counts, with whole bounds."""
        slack = self.slack or ROUNDING
        lower, upper = (sizes[:, None] * bound for bound in (self.lower, self.upper))
        lower, upper = np.ceil(lower - slack), np.floor(upper + slack)
        if self.overlapping:  # everyone: the slack is that of groups
            lower[:, -1] = upper[:, -1] = sizes
        return Interval(np.maximum(lower, 0.0), upper, is_cone=False, overlapping=self.overlapping)

    def centered(self, theta: FloatArray) -> FloatArray:
        """θ itself: in a box a constant changes prices."""
        return theta


@dataclass(frozen=True, eq=False)
class Balance(Term):
    """No group smaller than ``limit`` times another, for two groups or more.

    The counts lie between limit·t and t for some t, so the prices that no such composition pays are those with
    Σ_j max(y_j, limit·y_j) <= 0, and h(θ) is the root of Σ_j max(θ_j − h, limit·(θ_j − h)) = 0.

    Parameters
    ----------
    limit : float
    target : ndarray of shape (n_groups,) or (n_clusters, n_groups)
        Where smoothing is neutral.
    """

    limit: float
    target: FloatArray

    @property
    def center(self) -> FloatArray:
        """The target as parts of a largest count t that has it inside, between ``limit`` and 1."""
        target = np.maximum(self.target, TINY**0.25)
        largest = np.sqrt(target.max(axis=-1, keepdims=True) * target.min(axis=-1, keepdims=True) / self.limit)
        room = INNER * (1.0 - self.limit)
        return np.clip(target / largest, self.limit + room, 1.0 - room)

    def share_support(self, theta: FloatArray, temperature: float) -> Support:
        """The sum is convex and falls with h: Newton's steps from the left never pass the root."""
        center, h = self.center, theta.min(axis=1)
        for _ in range(_MAX_STEPS):
            x = theta - h[:, None]
            value, z, curvature = barrier(x, center - self.limit, 1.0 - center, temperature)
            total = (center + z).sum(axis=1)
            step = np.maximum((center * x + value).sum(axis=1) / total, 0.0)
            h = h + step
            if (step <= 1e-15 * np.maximum(abs(h), abs(theta).max(axis=1))).all():
                break
        q = (center + z) / total[:, None]
        project = np.eye(theta.shape[1]) - q[:, :, None]  # θ − h by θ, transposed
        jacobian = (project * (curvature / total[:, None])[:, None, :]) @ project.transpose(0, 2, 1)
        return Support(h, q, jacobian)

    def violation(self, masses: FloatArray, clusters: IntArray | None = None) -> FloatArray:
        """People that groups lack beside the largest."""
        lacking = self.limit * masses.max(axis=1, keepdims=True) * (1.0 - ROUNDING) - masses
        return np.maximum(lacking, 0.0).sum(axis=1)

    def rows(self, masses: FloatArray, clusters: IntArray | None = None) -> Rows:
        """limit·(one group) <= another, for every pair."""
        eye = np.eye(masses.shape[1])
        pairs = np.array([eye[i] - self.limit * eye[j] for i, j in permutations(range(len(eye)), 2)])
        pairs = pairs.reshape(-1, len(eye))  # none of one group alone
        matrix = sparse.kron(sparse.eye_array(len(masses)), pairs, format="csr")
        return Rows(matrix, np.full(matrix.shape[0], -ROUNDING), np.full(matrix.shape[0], np.inf))


def _summed(columns: Support) -> Support:
    """Support function of a product of intervals, from those of its columns."""
    eye = np.eye(columns.value.shape[1])
    return Support(columns.value.sum(axis=1), columns.argmax, columns.jacobian[:, :, None] * eye)
