"""What a user may ask for instead of a weight. A goal reads the masses and tells each cluster how far it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from .._fairness.notion import Part
from .._fairness.term import Representation, cluster_balances
from .._sweep.question import DataSweep
from .._typing import AnyArray, FloatArray
from .balance import BalanceCone, OverlapBalanceCone
from .bounds import BoundsCone
from .conditions import Clause, Conditions
from .cone import ROUNDING, Cone
from .counts import Rounding, exact_rounding, is_rounded, rounding_between, smallest_error, smallest_size
from .error import ErrorCone
from .exact import ExactCone
from .forgiving import ForgivingCone
from .overlap import OverlapCone
from .repair import repair

_NO_ROOM = 1e-12  # of shares and balances, whose roundings are smaller
_WITHIN_REACH = 0.01  # of what the data allow that a goal beyond it is relaxed by
_ABOVE_LEAST = 1e-3  # of the least error that the data allow
_AS_GOOD_AS_EXACT = 1e-10  # an error below this is the target itself, but for rounding


class Goal(ABC):
    """A goal holds when every cluster's ratio is at most 1 in every attribute.

    For solvers it is a clause per attribute: the cone of masses that meet it.
    """

    @abstractmethod
    def clauses(self, slack: float) -> tuple[Clause, ...]:
        """One clause per attribute, stricter than the goal by this share of what it allows."""

    @abstractmethod
    def relaxed(self, masses: FloatArray) -> Goal:
        """The nearest goal that data with these masses (1, n_cells) allow."""

    def is_met(self, masses: FloatArray) -> bool:
        """Whether every cluster meets the goal."""
        return bool(self.ratio(masses).max() <= 1.0)

    def rounding(self, membership: FloatArray, sweep: DataSweep) -> Rounding:
        """How whole people are made to meet the goal."""
        return repair

    def least_for(self, size: float) -> str:
        """The smallest error that a cluster of this size can have, as a sentence; empty where that says nothing."""
        return ""

    def fewest(self, most: int) -> int:
        """People that a cluster needs at least, since they are whole; ``most`` is as far as is looked."""
        return 0

    @abstractmethod
    def ratio(self, masses: FloatArray) -> FloatArray:
        """Return how far each cluster is from the goal: 0 at the target, 1 just met, more if missed.

        Shape (n_clusters, n_attributes).
        """

    @abstractmethod
    def achieved(self, masses: FloatArray) -> float:
        """The figure that the goal limits, of the worst cluster."""

    @abstractmethod
    def obstacle(self, masses: FloatArray, names: AnyArray) -> str | None:
        """Why no clustering of these data can meet the goal, or None."""


@dataclass(frozen=True)
class _GroupMasses:
    """One attribute as goals see it: group masses, the size they are shares of, the target, the groups' names."""

    masses: FloatArray
    size: FloatArray
    target: FloatArray
    names: AnyArray

    @property
    def proportions(self) -> FloatArray:
        return np.divide(self.masses, self.size, out=np.zeros_like(self.masses), where=self.size > 0)


def _by_attribute(
    fairness: Representation, masses: FloatArray, names: AnyArray | None = None
) -> Iterator[_GroupMasses]:
    first = 0
    for part, (table, size) in zip(fairness.parts, fairness.by_attribute(masses), strict=False):
        own = slice(first, first + table.shape[1])
        yield _GroupMasses(table, size, part.target, np.zeros(0) if names is None else names[own])
        first = own.stop


@dataclass(frozen=True)
class MaxFairnessError(Goal):
    """KL(target ‖ shares) of every cluster, in every attribute, at most ``limit``; 0 asks for exact proportions."""

    fairness: Representation
    limit: float

    def clauses(self, slack: float) -> tuple[Clause, ...]:
        """Errors within the limit; where that is 0, a ray."""
        return tuple(
            Clause(self._cone(part, slack), part.target.shape[-1], part.overlaps)
            for part in self.fairness.attribute_parts
        )

    def _cone(self, part: Part, slack: float) -> Cone:
        limit = self.limit * (1.0 - slack)
        if part.overlaps:
            return OverlapCone(part.target, max(limit, _AS_GOOD_AS_EXACT))
        return ExactCone(part.target) if self.limit < _AS_GOOD_AS_EXACT else ErrorCone(part.target, limit)

    def relaxed(self, masses: FloatArray) -> MaxFairnessError:
        """As far beyond the error of all data as the goal is beyond 0."""
        least = float(self.fairness.errors(masses.sum(axis=0, keepdims=True)).max())
        return replace(self, limit=least + max(self.limit, _ABOVE_LEAST * least, _AS_GOOD_AS_EXACT))

    def is_met(self, masses: FloatArray) -> bool:
        """Whether every cluster meets the goal; exact proportions, up to the rounding to whole people."""
        if self.limit == 0 and _are_whole(masses):
            return is_rounded(masses, self.fairness.attribute_membership)
        return super().is_met(masses)

    def rounding(self, membership: FloatArray, sweep: DataSweep) -> Rounding:
        """Exact counts where the error is to be 0."""
        if self.limit == 0 and sweep.can_move_points and not sweep.is_weighted:
            return exact_rounding(membership)
        return repair

    def least_for(self, size: float) -> str:
        """The best that so many whole people can do in the attribute that is worst for them."""
        least = max(
            (smallest_error(part.target, size) for part in self.fairness.attribute_parts if not part.overlaps),
            default=0.0,
        )
        return f"With so many people an error of {least:.3g} is the least there can be. " if least > self.limit else ""

    def fewest(self, most: int) -> int:
        """By the attribute that needs most."""
        if self.limit <= 0:  # counts are rounded then
            return 0
        parts = [part for part in self.fairness.attribute_parts if not part.overlaps]
        return max((smallest_size(part.target, self.limit, most) for part in parts), default=0)

    def ratio(self, masses: FloatArray) -> FloatArray:
        """Error over limit."""
        return self.fairness.errors(masses) / max(self.limit, _AS_GOOD_AS_EXACT)

    def achieved(self, masses: FloatArray) -> float:
        """Largest error."""
        return float(self.fairness.errors(masses).max())

    def __str__(self) -> str:
        return f"max_fairness_error={self.limit:g}"

    def obstacle(self, masses: FloatArray, names: AnyArray) -> str | None:
        """The clusters' compositions average to the data's, so one of them is as far from the target as the data."""
        totals = masses.sum(axis=0, keepdims=True)
        for part, table in zip(self.fairness.parts, _by_attribute(self.fairness, totals, names), strict=False):
            if table.target.ndim == 2:  # clusters that want different mixes: sizes decide what can be had
                continue
            least = float(part.value(_with_size(part.n_columns, table))[0])
            if least <= self.limit * (1 + ROUNDING) + _NO_ROOM:
                continue
            worst = int(np.argmax(np.abs(table.proportions[0] - table.target)))
            return (
                f"max_fairness_error={self.limit:g} cannot be met: target_proportions asks for "
                f"{table.target[worst]:.3f} of group '{table.names[worst]}', of which the data have "
                f"{table.proportions[0, worst]:.3f}, so some cluster has an error of at least {least:.3g}"
            )
        return None


def _over_allowed(values: FloatArray, best: FloatArray, least: AnyArray | float) -> FloatArray:
    """How far values are below the best, over how far they may be; above 1 where they are below ``least``."""
    room = np.maximum(best - least, _NO_ROOM)
    # Where the best itself is too low: 1 at what is asked for, 2 at the best.
    missed: FloatArray = 1.0 + (least - values) / np.maximum(least - best, _NO_ROOM)
    return np.where(best < least - _NO_ROOM, missed, (best - values) / room)


@dataclass(frozen=True)
class MinBalance(Goal):
    """Smallest ratio between two groups' counts, in every cluster and attribute, at least ``limit``."""

    fairness: Representation
    limit: float

    def clauses(self, slack: float) -> tuple[Clause, ...]:
        """Two groups: a share between bounds. More: no group smaller than b times another."""
        return tuple(
            Clause(self._cone(part.target, slack, part.overlaps), part.target.shape[-1], part.overlaps)
            for part in self.fairness.attribute_parts
        )

    def _cone(self, target: FloatArray, slack: float, overlaps: bool) -> Cone:
        best = float((target.min(axis=-1) / target.max(axis=-1)).min())
        limit = self.limit + slack * max(best - self.limit, 0.0)
        if overlaps:
            return OverlapBalanceCone(target, limit)
        if target.shape[-1] != 2:
            return BalanceCone(target, limit)
        few, many = limit / (1.0 + limit), 1.0 / (1.0 + limit)
        return BoundsCone(target, np.full(2, few), np.full(2, many))

    def relaxed(self, masses: FloatArray) -> MinBalance:
        """A little less than the balance of all data."""
        least = min(float(cluster_balances(table.masses).min()) for table in _by_attribute(self.fairness, masses))
        return replace(self, limit=(1 - _WITHIN_REACH) * least)

    def ratio(self, masses: FloatArray) -> FloatArray:
        """Distance from the target's own balance, over the distance allowed."""
        columns = []
        for table in _by_attribute(self.fairness, masses):
            best = table.target.min(axis=-1) / table.target.max(axis=-1)
            columns.append(_over_allowed(cluster_balances(table.masses), best, self.limit))
        return np.stack(columns, axis=1)

    def achieved(self, masses: FloatArray) -> float:
        """Smallest balance."""
        return min(float(cluster_balances(table.masses).min()) for table in _by_attribute(self.fairness, masses))

    def __str__(self) -> str:
        return f"min_balance={self.limit:g}"

    def obstacle(self, masses: FloatArray, names: AnyArray) -> str | None:
        """No clustering is more balanced than the data, where groups do not overlap."""
        for table in _by_attribute(self.fairness, masses.sum(axis=0, keepdims=True), names):
            totals = table.masses[0]
            if totals.min() / totals.max() >= self.limit * (1 - ROUNDING):
                continue
            few, many = int(totals.argmin()), int(totals.argmax())
            return (
                f"min_balance={self.limit:g} cannot be met: the data have {totals[few]:g} of group "
                f"'{table.names[few]}' and {totals[many]:g} of '{table.names[many]}', a balance of "
                f"{totals[few] / totals[many]:.3g}"
            )
        return None


@dataclass(frozen=True)
class Bounds(Goal):
    """Share of each group in every cluster between ``lower`` and ``upper``, the groups of all attributes in a row.

    Where ``is_rounded``, whole counts may be the floor of the least that the bounds allow, and the ceiling of the most.
    A whole number is, if it is less than one person beyond.
    """

    fairness: Representation
    lower: FloatArray
    upper: FloatArray
    is_rounded: bool = False

    def clauses(self, slack: float) -> tuple[Clause, ...]:
        """Shares between bounds."""
        made, first = [], 0
        for part in self.fairness.attribute_parts:
            own = slice(first, first + part.target.shape[-1])
            lower, upper = self.lower[own], self.upper[own]
            middle = np.clip(part.target if part.target.ndim == 1 else part.target.mean(axis=0), lower, upper)
            lower, upper = lower + slack * (middle - lower), upper - slack * (upper - middle)
            cone: Cone = BoundsCone(part.target, lower, upper)
            if self.is_rounded or part.overlaps:  # shares that need not add up to 1 are bounded one by one too
                cone = ForgivingCone(part.target, lower, upper, 1.0 - ROUNDING if self.is_rounded else 0.0)
            made.append(Clause(cone, part.target.shape[-1], part.overlaps))
            first = own.stop
        return tuple(made)

    def relaxed(self, masses: FloatArray) -> Bounds:
        """Bounds wide enough for the shares of all data."""
        shares = self.fairness.proportions(masses.sum(axis=0, keepdims=True))[0]
        return replace(
            self,
            lower=np.minimum(self.lower, (1 - _WITHIN_REACH) * shares),
            upper=np.maximum(self.upper, (1 + _WITHIN_REACH) * shares),
        )

    def rounding(self, membership: FloatArray, sweep: DataSweep) -> Rounding:
        """Single moves, and counts where those do not do."""
        is_whole = sweep.can_move_points and not sweep.is_weighted
        if self.is_rounded or not is_whole or membership.shape[1] != len(self.lower):  # with groups that overlap
            return repair
        return rounding_between(membership, self.lower, self.upper)

    def is_met(self, masses: FloatArray) -> bool:
        """Whether every cluster meets the goal; where counts are rounded, on whole people."""
        if self.is_rounded and _are_whole(masses):
            itself = Conditions(self.clauses(0.0), self.fairness.attribute_membership)
            return not itself.beyond(masses).any() and bool((masses.sum(axis=1) > 0).all())
        return super().is_met(masses)

    def ratio(self, masses: FloatArray) -> FloatArray:
        """Largest deviation from the target over the deviation allowed on that side."""
        columns = []
        for table, lower, upper in self._bounded(masses):
            above = _over_allowed(-table.proportions, -table.target, -upper)
            below = _over_allowed(table.proportions, table.target, lower)
            columns.append(np.maximum(above, below).max(axis=1))
        return np.stack(columns, axis=1)

    def achieved(self, masses: FloatArray) -> float:
        """Largest deviation from the target, in units of what is allowed."""
        return float(self.ratio(masses).max())

    def __str__(self) -> str:
        return "bounds"

    def obstacle(self, masses: FloatArray, names: AnyArray) -> str | None:
        """The data's shares must lie between the bounds."""
        for table, lower, upper in self._bounded(masses.sum(axis=0, keepdims=True), names):
            shares = table.proportions[0]
            outside = np.flatnonzero((shares < lower - _NO_ROOM) | (shares > upper + _NO_ROOM))
            if len(outside):
                j = int(outside[0])
                return (
                    f"bounds cannot be met: group '{table.names[j]}' has a share of {shares[j]:.3f} in the data, but "
                    f"{lower[j]:.3f} to {upper[j]:.3f} is asked for in every cluster"
                )
        return None

    def _bounded(
        self, masses: FloatArray, names: AnyArray | None = None
    ) -> Iterator[tuple[_GroupMasses, FloatArray, FloatArray]]:
        first = 0
        for table in _by_attribute(self.fairness, masses, names):
            own = slice(first, first + table.masses.shape[1])
            yield table, self.lower[own], self.upper[own]
            first = own.stop


def _are_whole(masses: FloatArray) -> bool:
    return bool((masses == np.round(masses)).all())


def _with_size(n_columns: int, table: _GroupMasses) -> FloatArray:
    return table.masses if n_columns == table.masses.shape[1] else np.concatenate((table.masses, table.size), axis=1)
