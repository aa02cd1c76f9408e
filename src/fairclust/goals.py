"""What must hold in every cluster: goals, and what it takes to write one.

A goal is declared once: one class gives its parameter's range, help, example and command-line option, its figure in the
user's unit, its term for the solver, and its sentence when it is missed. Estimators, ``audit``, ``repair``, paths, the
command line, reports and the docs read it from there and know no single goal, so goals of your own work wherever
``goal=`` does:

>>> from dataclasses import dataclass
>>> from fairclust.goals import Attribute, Bounds, Goal, Term
>>> @dataclass(frozen=True)
... class MinShare(Goal):
...     group: str
...     limit: float
...     help = "smallest share of one group in a cluster"
...
...     def term(self, attribute: Attribute) -> Term:
...         return Bounds({self.group: (self.limit, 1.0)}).term(attribute)
...
...     def figure(self, shares, attribute):
...         return shares[:, list(attribute.names).index(self.group)]
>>> print(MinShare("F", 0.4))
MinShare(group='F', limit=0.4)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ._dual.overlaps import OverlapBalance, OverlapKL, generalised_divergence
from ._dual.shares import Balance, Interval
from ._dual.terms import KL, ROUNDING, Rows, Support, Term, divergence
from ._typing import AnyArray, FloatArray
from .errors import InvalidInputError

__all__ = [
    "GOALS", "ROUNDING", "Attribute", "Bounds", "ExactProportions", "Goal", "MaxCostIncrease", "MaxFairnessError",
    "MinBalance", "Penalty", "Rows", "Support", "Term", "read_goal",
]  # fmt: skip

WHOLE = 1.0 - 1e-9  # people by which a whole count may leave an exact one: floor or ceiling
_EVERYONE = 1.0  # share of everyone, the column after those of groups that overlap

GOALS: dict[str, type[Goal]] = {}
"""Goals by their command-line option."""


class Attribute(NamedTuple):
    """One sensitive attribute, as goals see it.

    Attributes
    ----------
    names : ndarray of shape (n_groups,)
    membership : ndarray of shape (n_cells, n_groups)
        How much each cell counts in each group. Where groups overlap, one more column counts everyone.
    target : ndarray of shape (n_groups,) or (n_clusters, n_groups)
        The shares wanted.
    name : str
        Of the attribute.
    person : float
        What a row weighs at most: 1 without sample weights.

    Examples
    --------
    >>> import numpy as np
    >>> from fairclust.goals import Attribute
    >>> sex = Attribute(np.array(["F", "M"]), np.eye(2), np.array([0.5, 0.5]), "sex")
    >>> sex.shares(np.array([[2.0, 8.0]]))
    array([[0.2, 0.8]])
    """

    names: AnyArray
    membership: FloatArray
    target: FloatArray
    name: str = "group"
    person: float = 1.0

    @property
    def overlapping(self) -> bool:
        """Whether someone may be in several groups, or in none."""
        return bool(self.membership.shape[1] > self.target.shape[-1])

    def shares(self, masses: FloatArray) -> FloatArray:
        """Shares of the groups in clusters with these masses by cell; of an empty cluster 0."""
        return shares_of(masses @ self.membership, self)


class Goal(ABC):
    """What must hold, or cost, in every cluster and attribute.

    A subclass is a frozen dataclass. What it does not say of itself has a default.

    Examples
    --------
    >>> import numpy as np
    >>> from fairclust.goals import Attribute, MinBalance
    >>> sex = Attribute(np.array(["F", "M"]), np.eye(2), np.array([0.5, 0.5]), "sex")
    >>> MinBalance(0.5).figure(np.array([[0.2, 0.8], [0.4, 0.6]]), sex).round(2)
    array([0.25, 0.67])
    """

    option: ClassVar[str] = ""
    """Of the command line, without dashes; empty: the class is no option there."""
    range: ClassVar[str] = ""
    """What its parameter may be, in words."""
    help: ClassVar[str] = ""
    """One line."""
    example: ClassVar[Any] = None
    """A value of its parameter."""
    flags: ClassVar[Mapping[str, tuple[str, str]]] = {}
    """Fields that are True or False: their option without dashes, and one line of help."""
    is_constraint: ClassVar[bool] = True
    """Whether a clustering meets it or not; else it is a cost."""

    def __init_subclass__(cls) -> None:
        """Register the goal under its option."""
        if cls.__dict__.get("option"):
            GOALS[cls.option] = cls

    @property
    def cost_limit(self) -> float | None:
        """By which part the clusters may cost more than plain ones, where that is what is asked."""
        return None

    @property
    def asks_nothing(self) -> bool:
        """Whether it is met by every clustering, at no cost: plain clustering."""
        return False

    def check(self, attributes: tuple[Attribute, ...]) -> None:  # noqa: B027 - nothing to refuse by default
        """Refuse what these attributes cannot have, such as groups that do not exist."""

    @abstractmethod
    def term(self, attribute: Attribute) -> Term:
        """The goal as a term for the solver."""

    @abstractmethod
    def figure(self, shares: FloatArray, attribute: Attribute) -> FloatArray:
        """What the goal limits, of each cluster, in the user's unit."""

    def loosened(self, part: float) -> Goal | None:
        """The goal on its way to no goal at all, 0 <= part < 1: for requests that nobody can meet; None: unknown."""
        return None

    def scaled(self, part: float) -> Goal:
        """The goal for so much of the weight of all rows: a penalty shrinks with it."""
        return self

    def missed(self, counts: FloatArray, attribute: Attribute) -> str:
        """How close the cluster came that is farthest from the goal."""
        people = self.term(attribute).violation(counts)
        shares = shares_of(counts, attribute)
        worst = int(people.argmax())
        size = self.term(attribute).size(counts)[worst]
        figure = float(self.figure(shares, attribute)[worst])
        return f"{self} was missed: cluster {worst}, with {size:g} people, is farthest from it, with {figure:.3g}."

    @classmethod
    def from_text(cls, text: str) -> Goal:
        """The goal that an option of the command line asks for."""
        return cls(float(text)) if fields(cls) else cls()  # type: ignore[arg-type, call-arg]

    def __str__(self) -> str:
        values = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields(self))  # type: ignore[arg-type]
        return f"{type(self).__name__}({values})"


@dataclass(frozen=True)
class MaxFairnessError(Goal):
    """KL(target ‖ shares) of every cluster at most ``limit``, on the labels.

    Parameters
    ----------
    limit : float, default=0.01
        Above 0.

    Examples
    --------
    >>> from fairclust import FairKMeans, MaxFairnessError
    >>> from fairclust.datasets import make_synthetic
    >>> data = make_synthetic()
    >>> model = FairKMeans(2, goal=MaxFairnessError(0.01), random_state=0)
    >>> model.fit(data.data, sensitive_features=data.sensitive_features).goal_met_
    True
    """

    limit: float = 0.01
    option, range, example = "max-fairness-error", "above 0", 0.01
    help = "largest KL divergence of a cluster's shares from the target"

    def __post_init__(self) -> None:
        """Check the limit."""
        _check_number(self, "limit", above=0.0)

    def term(self, attribute: Attribute) -> Term:
        """A cone."""
        return (OverlapKL if attribute.overlapping else KL)(attribute.target, limit=self.limit)

    def figure(self, shares: FloatArray, attribute: Attribute) -> FloatArray:
        """The divergence."""
        return _error(shares, attribute)

    def loosened(self, part: float) -> Goal:
        """On a logarithmic scale."""
        return MaxFairnessError(self.limit * (20.0 / self.limit) ** part)

    @classmethod
    def from_text(cls, text: str) -> Goal:
        """A number as for ``goal=``: 0 is exact proportions."""
        return ExactProportions() if float(text) == 0 else cls(float(text))


@dataclass(frozen=True)
class ExactProportions(Goal):
    """Every count of a group in a cluster at floor or ceiling of its share.

    Examples
    --------
    >>> from fairclust import FairKMeans, ExactProportions
    >>> from fairclust.datasets import make_synthetic
    >>> data = make_synthetic()
    >>> model = FairKMeans(2, goal=ExactProportions(), random_state=0)
    >>> model.fit(data.data, sensitive_features=data.sensitive_features).goal_met_
    True
    """

    option, range, example = "exact", "", None
    help = "counts as proportional as whole people can be"

    def term(self, attribute: Attribute) -> Term:
        """Counts off by less than a person."""
        return _interval(attribute, attribute.target, attribute.target, WHOLE * attribute.person)

    def figure(self, shares: FloatArray, attribute: Attribute) -> FloatArray:
        """The largest deviation of a share."""
        return abs(shares - attribute.target).max(axis=1)

    def loosened(self, part: float) -> Goal:
        """Counts off by more people."""
        return _NearProportions(1.0 + 20.0 * part)

    @classmethod
    def from_text(cls, text: str) -> Goal:
        """A flag."""
        return cls()


@dataclass(frozen=True)
class _NearProportions(ExactProportions):
    """Every count within so many people of its share: where floor and ceiling cannot be had."""

    option = ""
    people: float = 1.0

    def term(self, attribute: Attribute) -> Term:
        """Counts off by so many people."""
        return _interval(attribute, attribute.target, attribute.target, self.people * attribute.person)


@dataclass(frozen=True)
class MinBalance(Goal):
    """The smallest ratio between two groups' counts, in every cluster, at least ``limit``.

    Parameters
    ----------
    limit : float
        Above 0, at most 1.

    Examples
    --------
    >>> from fairclust import FairKMeans, MinBalance
    >>> from fairclust.datasets import make_synthetic
    >>> data = make_synthetic()
    >>> model = FairKMeans(2, goal=MinBalance(0.9), random_state=0)
    >>> model.fit(data.data, sensitive_features=data.sensitive_features).goal_met_
    True
    """

    limit: float
    option, range, example = "min-balance", "above 0, at most 1", 0.4
    help = "smallest ratio of two groups' counts in a cluster"

    def __post_init__(self) -> None:
        """Check the limit."""
        _check_number(self, "limit", above=0.0, most=1.0)

    def term(self, attribute: Attribute) -> Term:
        """Counts between limit·t and t."""
        return (OverlapBalance if attribute.overlapping else Balance)(self.limit, attribute.target)

    def figure(self, shares: FloatArray, attribute: Attribute) -> FloatArray:
        """The balance."""
        return shares.min(axis=1) / np.maximum(shares.max(axis=1), 1e-300)

    def loosened(self, part: float) -> Goal:
        """A part of it."""
        return MinBalance(self.limit * (1.0 - part))


@dataclass(frozen=True, eq=False)
class Bounds(Goal):
    """Shares between bounds in every cluster.

    Parameters
    ----------
    shares : dict or float
        {group: (lower, upper)}; of several attributes {attribute: {group: (lower, upper)}}; or a number δ, for
        (1 − δ)·target to target/(1 − δ).
    rounded : bool, default=False
        Whether counts may be the floor of the least that the bounds allow, and the ceiling of the most.

    Examples
    --------
    >>> from fairclust import Bounds
    >>> Bounds({"F": (0.4, 0.6)})
    Bounds(shares={'F': (0.4, 0.6)}, rounded=False)
    >>> Bounds({"sex": {"F": (0.4, 0.6)}}, rounded=True).rounded
    True
    """

    shares: Any
    rounded: bool = False
    option, range, example = "bounds", "between 0 and 1, or GROUP=LOWER:UPPER", 0.2
    help = "bounds of each group's share in every cluster"
    flags: ClassVar[Mapping[str, tuple[str, str]]] = {
        "rounded": ("round-bounds", "counts may be rounded beyond them, to whole people")
    }

    def __post_init__(self) -> None:
        """Check the bounds by themselves; whether groups exist is known later."""
        if self.rounded not in (True, False):
            raise InvalidInputError(f"Bounds(rounded={self.rounded!r}), but True or False is needed.")
        if isinstance(self.shares, Mapping):
            for where, pairs in self._tables():
                for group, pair in pairs.items():
                    _check_pair(where, group, pair)
        else:
            _check_number(self, "shares", above=0.0, below=1.0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bounds) and (self._key() == other._key())

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        if not isinstance(self.shares, Mapping):
            return (self.shares, self.rounded)
        pairs = ((where, group, *map(float, pair)) for where, table in self._tables() for group, pair in table.items())
        return (frozenset(pairs), self.rounded)

    def _tables(self) -> list[tuple[str | None, Mapping[Any, Any]]]:
        """Bounds by attribute; None: of the only one."""
        if all(isinstance(value, Mapping) for value in self.shares.values()):
            return [(str(name), table) for name, table in self.shares.items()]
        return [(None, self.shares)]

    def check(self, attributes: tuple[Attribute, ...]) -> None:
        """Groups and attributes must exist, and the bounds of an attribute leave room for a composition."""
        if not attributes or not isinstance(self.shares, Mapping):
            return
        known = {attribute.name: [str(name) for name in attribute.names.tolist()] for attribute in attributes}
        groups = [name for names in known.values() for name in names]
        labels = [f"{attribute}={name}" for attribute, names in known.items() for name in names]
        for where, table in self._tables():
            if where is not None and where not in known:
                raise InvalidInputError(f"Bounds names attribute {where!r}, but the attributes are {_listed(known)}.")
            there = groups + labels if where is None else known[where]
            for group in table:
                if str(group) not in there:
                    raise InvalidInputError(f"Bounds names group {group!r}, but the groups are {_listed(there)}.")
        for attribute in attributes:
            lower, upper = self._bounds(attribute)
            if not attribute.overlapping and not self.rounded and not lower.sum() <= 1.0 + 1e-9 <= upper.sum() + 2e-9:
                raise InvalidInputError(
                    f"Bounds of {attribute.name!r} add up to {lower.sum():.3g} at least and {upper.sum():.3g} at most, "
                    "but shares add up to 1. Lower the lower bounds, or raise the upper ones."
                )

    def term(self, attribute: Attribute) -> Term:
        """An interval of shares, with a person of slack where counts are rounded."""
        lower, upper = self._bounds(attribute)
        return _interval(attribute, lower, upper, WHOLE * attribute.person if self.rounded else 0.0)

    def figure(self, shares: FloatArray, attribute: Attribute) -> FloatArray:
        """How far the share is outside of its bounds that is farthest; 0 or less: inside."""
        lower, upper = self._bounds(attribute)
        return np.maximum(lower - shares, shares - upper).max(axis=1)

    def loosened(self, part: float) -> Goal:
        """Both bounds on their way to 0 and 1."""
        if isinstance(self.shares, Mapping):
            tables = {
                where: {group: (low * (1.0 - part), high + (1.0 - high) * part) for group, (low, high) in table.items()}
                for where, table in self._tables()
            }
            return Bounds(tables.get(None, tables), self.rounded)
        return Bounds(self.shares + (1.0 - self.shares) * part * (1.0 - 1e-9), self.rounded)

    def _bounds(self, attribute: Attribute) -> tuple[FloatArray, FloatArray]:
        target = attribute.target
        if not isinstance(self.shares, Mapping):
            return (1.0 - self.shares) * target, np.minimum(target / (1.0 - self.shares), 1.0)
        names = [str(name) for name in attribute.names.tolist()]
        lower, upper = np.zeros(len(names)), np.ones(len(names))
        for where, table in self._tables():
            if where is None or where == attribute.name:
                for group, (low, high) in table.items():
                    name = str(group).removeprefix(f"{attribute.name}=")
                    if name in names:
                        lower[names.index(name)], upper[names.index(name)] = low, high
        return lower, upper

    @classmethod
    def from_text(cls, text: str) -> Goal:
        """A number, or GROUP=LOWER:UPPER, several of them separated by commas; 40% is 0.4."""
        if "=" not in text:
            return cls(_share(text))
        table: dict[str, tuple[float, float]] = {}
        for part in text.split(","):
            group, _, pair = (piece.strip() for piece in part.rpartition("="))
            low, _, high = pair.partition(":")
            if group in table:
                raise InvalidInputError(f"Bounds name group {group!r} twice.")
            try:
                table[group] = (_share(low), _share(high))
            except ValueError:
                raise InvalidInputError(f"{part!r} is not GROUP=LOWER:UPPER, for example F=0.3:0.4.") from None
        return cls(table)


@dataclass(frozen=True)
class MaxCostIncrease(Goal):
    """The fairest clusters that cost at most ``limit`` more than plain ones, as a share of these.

    Parameters
    ----------
    limit : float
        At least 0; 0.05 is 5 %.

    Examples
    --------
    >>> from fairclust import FairKMeans, MaxCostIncrease
    >>> from fairclust.datasets import make_synthetic
    >>> data = make_synthetic()
    >>> model = FairKMeans(2, goal=MaxCostIncrease(0.5), random_state=0)
    >>> model.fit(data.data, sensitive_features=data.sensitive_features).goal_met_
    True
    """

    limit: float
    option, range, example = "max-cost-increase", "at least 0", 0.05
    help = "the fairest clusters at most so much dearer than plain ones"

    def __post_init__(self) -> None:
        """Check the limit."""
        _check_number(self, "limit", least=0.0)

    @property
    def cost_limit(self) -> float:
        """The limit."""
        return float(self.limit)

    def term(self, attribute: Attribute) -> Term:
        """None of its own: the fit looks for the smallest fairness error whose cost is within the limit."""
        return KL(attribute.target)

    def figure(self, shares: FloatArray, attribute: Attribute) -> FloatArray:
        """The divergence, which is made as small as the cost allows."""
        return _error(shares, attribute)


@dataclass(frozen=True, eq=False)
class Penalty(Goal):
    """The paper's cost: objective + ``weight`` · Σ_k KL(target ‖ shares of cluster k).

    Parameters
    ----------
    weight : float
        λ of the paper, at least 0. It has the units of the objective: it grows with the data and with their scale.
    attribute_weights : dict or None
        Weight of each attribute as a share of ``weight``; 1 for those not named.

    Examples
    --------
    >>> from fairclust import FairKMeans, Penalty
    >>> FairKMeans(2, goal=Penalty(9000.0, attribute_weights={"race": 2})).goal.weight
    9000.0
    """

    weight: float
    attribute_weights: Mapping[str, float] | None = None
    option, range, example = "fairness-weight", "at least 0", 9000.0
    help = "λ of the paper: what a unit of KL in one cluster costs"
    is_constraint = False

    def __post_init__(self) -> None:
        """Check the weights."""
        _check_number(self, "weight", least=0.0)
        if self.attribute_weights is None:
            return
        if not isinstance(self.attribute_weights, Mapping):
            raise InvalidInputError(
                f"Penalty(attribute_weights={self.attribute_weights!r}), but a dict {{attribute: weight}} is needed."
            )
        for name, weight in self.attribute_weights.items():
            if not _is_number(weight) or not weight >= 0 or not np.isfinite(weight):
                raise InvalidInputError(
                    f"attribute_weights[{name!r}]={weight!r}, but a number of at least 0 is needed."
                )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Penalty) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return (float(self.weight), frozenset((self.attribute_weights or {}).items()))

    @property
    def asks_nothing(self) -> bool:
        """A weight of 0 is plain clustering."""
        return self.weight == 0

    def check(self, attributes: tuple[Attribute, ...]) -> None:
        """Attributes must exist."""
        known = [attribute.name for attribute in attributes]
        unknown = [name for name in self.attribute_weights or {} if str(name) not in known]
        if known and unknown:
            raise InvalidInputError(
                f"attribute_weights names {_listed(unknown)}, but the attributes are {_listed(known)}."
            )

    def scaled(self, part: float) -> Goal:
        """So much of the weight."""
        return Penalty(self.weight * part, self.attribute_weights)

    def term(self, attribute: Attribute) -> Term:
        """A soft term."""
        share = 1.0 if self.attribute_weights is None else self.attribute_weights.get(attribute.name, 1.0)
        return (OverlapKL if attribute.overlapping else KL)(attribute.target, weight=self.weight * share)

    def figure(self, shares: FloatArray, attribute: Attribute) -> FloatArray:
        """The divergence."""
        return _error(shares, attribute)


def read_goal(goal: Any) -> Goal | None:
    """What ``goal=`` means: a number is a largest fairness error, 0 exact proportions, None plain clustering."""
    if goal is None or isinstance(goal, Goal):
        return goal
    if _is_number(goal):
        if goal == 0:
            return ExactProportions()
        return MaxFairnessError(float(goal))
    raise InvalidInputError(
        f"goal={goal!r} is no goal. Use a number (the largest fairness error), None for plain clustering, or one of "
        f"{', '.join(cls.__name__ for cls in GOALS.values())}, for example MinBalance(0.4)."
    )


def is_checkable(goal: Goal) -> bool:
    """Whether labels by themselves meet the goal or miss it; the others say what clusters may cost."""
    return goal.is_constraint and goal.cost_limit is None


def read_checkable(goal: Any) -> Goal | None:
    """What ``goal=`` means where labels are given, and held against it."""
    wanted = read_goal(goal)
    if wanted is not None and not is_checkable(wanted):
        raise InvalidInputError(
            f"goal={brief(wanted)} says what clusters may cost, which labels alone neither meet nor miss. Use a "
            "number, the largest fairness error, or another goal, for example MinBalance(0.4)."
        )
    return wanted


def brief(goal: Goal | None) -> str:
    """The goal in a few letters, with its first parameter: ``MinBalance(0.4)``; ``None`` where there is none."""
    if goal is None:
        return "None"
    first = next((getattr(goal, field.name) for field in fields(goal)), "")  # type: ignore[arg-type]
    return f"{type(goal).__name__}({f'{first:.4g}' if _is_number(first) else first})"


def attributes_of(attributes: Iterable[Any], membership: FloatArray, person: float = 1.0) -> tuple[Attribute, ...]:
    """Encoded attributes, side by side in the columns of a membership table, as goals see them."""
    found, first = [], 0
    for one in attributes:
        own = membership[:, first : first + one.n_columns]
        found.append(Attribute(one.names, own, one.target, one.name, person))
        first += one.n_columns
    return tuple(found)


def shares_of(counts: FloatArray, attribute: Attribute) -> FloatArray:
    """Shares of the groups from counts by column; of an empty cluster 0."""
    groups = counts[:, : attribute.target.shape[-1]]
    size = counts[:, -1:] if attribute.overlapping else counts.sum(axis=1, keepdims=True)
    return np.divide(groups, size, out=np.zeros(groups.shape), where=size > 0)


def _error(shares: FloatArray, attribute: Attribute) -> FloatArray:
    return (generalised_divergence if attribute.overlapping else divergence)(attribute.target, shares)


def _interval(attribute: Attribute, lower: FloatArray, upper: FloatArray, slack: float) -> Interval:
    """Bounds of shares; where groups overlap, the share of everyone is 1."""
    center = np.clip(attribute.target, lower, upper)
    if attribute.overlapping:
        lower, upper, center = (_with_everyone(bound) for bound in (lower, upper, center))
    return Interval(lower, upper, slack=slack, center=center, overlapping=attribute.overlapping)


def _with_everyone(bound: FloatArray) -> FloatArray:
    return np.concatenate([bound, np.full((*bound.shape[:-1], 1), _EVERYONE)], axis=-1)


def _share(text: str) -> float:
    number = text.strip()
    return float(number[:-1]) / 100 if number.endswith("%") else float(number)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _check_number(
    goal: Goal,
    name: str,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    most: float | None = None,
) -> None:
    value = getattr(goal, name)
    is_fine = _is_number(value) and np.isfinite(value)
    is_fine = is_fine and (above is None or value > above) and (least is None or value >= least)
    if not (is_fine and (below is None or value < below) and (most is None or value <= most)):
        raise InvalidInputError(
            f"{type(goal).__name__}({name}={value!r}), but a number {type(goal).range} is needed, for example "
            f"{type(goal).__name__}({type(goal).example})."
        )


def _check_pair(where: str | None, group: Any, pair: Any) -> None:
    try:
        low, high = (float(bound) for bound in pair)
    except (TypeError, ValueError):
        low = high = np.nan
    if not 0.0 <= low <= high <= 1.0:
        named = f"{group!r}" if where is None else f"{where!r}: {group!r}"
        raise InvalidInputError(
            f"Bounds: {named} has {pair!r}, but (lower, upper) with 0 ≤ lower ≤ upper ≤ 1 is needed, for example "
            "(0.4, 0.6)."
        )


def _listed(names: Iterable[Any]) -> str:
    return ", ".join(repr(str(name)) for name in names)
