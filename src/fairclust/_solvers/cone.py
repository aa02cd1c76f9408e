"""The cone solver: the cheapest assignment whose clusters all meet a goal, for point costs that stay as they are.

That problem is convex, whatever the clusters' sizes. Its dual has one unknown per cluster and group,

    D(θ) = Σ_p min_k (a_pk + price_k,cell(p)(θ)) − offset(θ),

is concave, and every θ gives a lower bound on the cost of any assignment that meets the goal, fractional ones too. The
minimum is softened by a temperature τ and the fair mixes by a tenth of it; Newton's steps on θ, then it is cooled. The
gradient is what each cluster holds less its own fair mix: zero where the goal is met.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._goals.conditions import Conditions, Priced
from .._sweep.question import Answer, State, Sweep
from .._typing import FloatArray

_SOFTNESS = 0.1  # of the temperature, for the mixes: they turn faster than points change
_TRUSTED = 8.0  # temperatures that a price may change by in the first step; what succeeds is trusted twice as far
_LEAST_TRUSTED = 1e-3  # below this the model is wrong for other reasons: rounding
_GROWTH, _SHRINKING = 2.0, 4.0
_KEPT = 0.1  # of its promise that a step must keep to be trusted farther
_NEARLY = 2e-4  # of a cluster's people that may be beyond the goal when a temperature is done with: repair moves them
_RIDGE = 1e-10  # of the diagonal: rows of θ have a free constant


@dataclass(frozen=True)
class Prices:
    """Where the solver ended.

    Attributes
    ----------
    theta : ndarray of shape (n_clusters, n_unknowns)
    temperature : float
    gap : float
        Mean gap between a point's best and second-best cost, when it started cold: what temperatures are relative to.
    state : State
        Scale and prices by cell.
    """

    theta: FloatArray
    temperature: float
    gap: float
    state: State


@dataclass(frozen=True)
class _At:
    """The dual at some θ: prices, the sweep's answer, value and slope."""

    theta: FloatArray
    priced: Priced
    answer: Answer
    value: float
    slope: FloatArray
    table: FloatArray


@dataclass(frozen=True)
class ConeSolver:
    """Newton's method on θ, from hot to cool.

    Parameters
    ----------
    cooling : tuple of float
        Temperatures of a cold start, in mean gaps between a point's best and second-best cost. The last is kept for
        later calls, until only a cooler one brings cheaper labels.
    coldest : float
        The last of those cooler ones.
    tol : float
        A temperature is done with when Newton's step promises less than this share of it per point.
    max_steps : int
        Most sweeps per temperature.
    """

    cooling: tuple[float, ...] = (1.0, 0.2, 0.05)
    coldest: float = 0.002
    tol: float = 1e-4
    max_steps: int = 60

    def solve(self, sweep: Sweep, conditions: Conditions, start: Prices | None = None) -> Prices:
        """Solve; from prices for nearby point costs, at their temperature, or cold."""
        if start is not None:
            return self._climb(sweep, conditions, start.theta, start.temperature, start.gap)
        theta = np.zeros((sweep.n_clusters, conditions.n_unknowns))
        gap = max(sweep.assign(np.zeros((sweep.n_clusters, sweep.n_cells))).gap, np.finfo(float).tiny ** 0.5)
        for heat in self.cooling:
            found = self._climb(sweep, conditions, theta, heat * gap, gap)
            theta = found.theta
        return found

    def can_cool(self, prices: Prices) -> bool:
        """Whether a cooler temperature is left."""
        return prices.temperature > self.coldest * prices.gap * (1 + 1e-9)

    def cool(self, sweep: Sweep, conditions: Conditions, prices: Prices) -> Prices:
        """Go on at a fifth of the temperature."""
        tau = max(0.2 * prices.temperature, self.coldest * prices.gap)
        return self._climb(sweep, conditions, prices.theta, tau, prices.gap)

    def _climb(self, sweep: Sweep, conditions: Conditions, theta: FloatArray, tau: float, gap: float) -> Prices:
        """Newton's steps at one temperature, each as long as the last ones let it be trusted."""
        at = self._at(sweep, conditions, theta, tau)
        trusted = _TRUSTED
        enough = self.tol * tau * float(at.answer.masses.sum())
        for _ in range(self.max_steps):
            step, gain = _newton(at, tau, conditions, trusted)
            if gain <= enough and _is_nearly_met(conditions, at.answer.masses):
                break
            tried = self._at(sweep, conditions, conditions.centered(at.theta + step), tau)
            rise = tried.value - at.value
            if rise >= _KEPT * gain:
                trusted *= _GROWTH
            elif rise < 1e-4 * gain:
                length = float(abs(np.einsum("kct,kt->kc", at.priced.jacobian, step)).max()) / tau
                trusted = min(trusted, length) / _SHRINKING
                if trusted < _LEAST_TRUSTED:
                    break
                continue
            at = tried
        scale = 1.0 / tau
        price = at.priced.by_column @ conditions.membership.T
        return Prices(at.theta, tau, gap, State(scale, price * scale))

    def _at(self, sweep: Sweep, conditions: Conditions, theta: FloatArray, tau: float) -> _At:
        priced = conditions.prices(theta, _SOFTNESS * tau)
        scale = 1.0 / tau
        answer = sweep(State(scale, (priced.by_column @ conditions.membership.T) * scale), curvature=True)
        table = answer.masses @ conditions.membership
        slope = np.einsum("kct,kc->kt", priced.jacobian, table) - priced.offset_slope
        return _At(theta, priced, answer, -tau * answer.log_partition - priced.offset, slope, table)


def _is_nearly_met(conditions: Conditions, masses: FloatArray) -> bool:
    return bool((conditions.beyond(masses).sum(axis=1) <= _NEARLY * masses.sum(axis=1)).all())


def lower_bound(sweep: Sweep, conditions: Conditions, theta: FloatArray) -> float:
    """What no assignment that meets the goal costs less than, fractional ones included: one hard pass."""
    priced = conditions.prices(theta, 0.0)
    price = priced.by_column @ conditions.membership.T
    hard = sweep.assign(price)
    slack = conditions.off_by_whole_people(priced)
    return hard.cost + float((price * hard.masses).sum()) - priced.offset - slack


def _newton(at: _At, tau: float, conditions: Conditions, trusted: float) -> tuple[FloatArray, float]:
    """Newton's step for θ, and the rise of D that it promises, twice."""
    M = conditions.membership  # (cells, columns)
    curvature = at.answer.curvature
    assert curvature is not None
    n_clusters, n_unknowns = at.theta.shape
    n_cells, n_columns = M.shape
    pairs = (M[:, :, None] * M[:, None, :]).reshape(n_cells, -1)
    response = (pairs.T @ curvature.reshape(n_cells, -1)) / tau
    response = response.reshape(n_columns, n_columns, n_clusters, n_clusters).transpose(2, 0, 3, 1)  # (k, i, l, j)
    J = at.priced.jacobian  # (k, columns, unknowns)
    left = J.transpose(0, 2, 1) @ response.reshape(n_clusters, n_columns, -1)  # (k, t, l·j)
    left = left.reshape(n_clusters * n_unknowns, n_clusters, n_columns).transpose(1, 0, 2)  # (l, k·t, j)
    system = (left @ J).transpose(1, 0, 2).reshape(n_clusters * n_unknowns, -1)  # (k·t, l·u)
    bend = conditions.bend(at.priced, at.table)
    for k in range(n_clusters):
        own = slice(k * n_unknowns, (k + 1) * n_unknowns)
        system[own, own] += bend[k]
    # Where no point is near to changing its mind the model is flat, and its step has no end: so much pull per step.
    system[np.diag_indices_from(system)] += abs(at.slope).ravel() / (trusted * tau)
    diagonal = np.sqrt(np.maximum(np.diag(system), np.finfo(float).tiny ** 0.5))
    system = system / diagonal[:, None] / diagonal
    system[np.diag_indices_from(system)] += _RIDGE
    try:
        step = np.linalg.solve(system, at.slope.ravel() / diagonal) / diagonal
    except np.linalg.LinAlgError:
        return np.zeros_like(at.theta), 0.0
    if not np.isfinite(step).all():
        return np.zeros_like(at.theta), 0.0
    return step.reshape(n_clusters, n_unknowns), float(step @ at.slope.ravel())
