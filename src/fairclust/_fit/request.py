"""What a fit must satisfy: a goal for the attributes, and bounds on sizes, as the terms of a subproblem."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._dual.shares import Interval
from .._dual.subproblem import Subproblem
from .._dual.terms import Term
from .._rounding.program import needs
from .._rounding.table import has_table_near
from .._typing import FloatArray
from ..errors import InvalidInputError
from ..goals import Attribute, Goal

WHOLE = 1e-9  # rows, or a part of their weight: less is rounding


@dataclass(frozen=True, eq=False)
class Request:
    """All that a fit must satisfy. It knows no row, only how many people each cell has.

    Parameters
    ----------
    n_clusters : int
    cell_totals : ndarray of shape (n_cells,)
    attributes : tuple of Attribute
    goal : Goal or None
        None: plain clustering.
    smallest, largest : ndarray of shape (n_clusters,)
        Sizes.
    is_weighted : bool
        Whether rows have weights: then nobody counts people.
    person : float
        What a row weighs at most.
    """

    n_clusters: int
    cell_totals: FloatArray
    attributes: tuple[Attribute, ...]
    goal: Goal | None
    smallest: FloatArray
    largest: FloatArray
    is_weighted: bool = False
    person: float = 1.0

    @property
    def total(self) -> float:
        """Weight of everyone."""
        return float(self.cell_totals.sum())

    @property
    def has_sizes(self) -> bool:
        """Whether sizes are bounded."""
        return bool((self.smallest > 0).any() or (self.largest < self.total).any())

    @cached_property
    def subproblem(self) -> Subproblem:
        """The goal's term of each attribute, and one for sizes where they are bounded."""
        return self.with_sizes(self.smallest)

    def with_sizes(self, smallest: FloatArray) -> Subproblem:
        """The same with other smallest sizes."""
        n_cells, upper = len(self.cell_totals), self.largest
        goal_terms = [] if self.goal is None else [(self.goal.term(a), a.membership) for a in self.attributes]
        terms: list[tuple[Term, FloatArray]] = goal_terms
        if (smallest == upper).all() and not self.is_weighted:
            terms = [(term.at_sizes(upper), membership) for term, membership in terms]
        if (smallest > 0).any() or (upper < self.total).any():
            mean = np.clip(self.total / self.n_clusters, smallest, upper)
            slack = self.person if self.is_weighted else 0.0
            sizes = Interval(smallest[:, None], upper[:, None], is_cone=False, slack=slack, center=mean[:, None])
            terms.append((sizes, np.ones((n_cells, 1))))
        return Subproblem(tuple(t for t, _ in terms), tuple(m for _, m in terms), n_cells)

    def smallest_whole(self, masses: FloatArray) -> FloatArray:
        """Sizes below which whole people cannot satisfy the terms, where masses of the dual are no table of people.

        Shares in which one of 120 people is of some group need 120 people. Prices do not know that: where their
        clusters are smaller, these sizes become a term.
        """
        is_soft = not self.subproblem.terms or self.subproblem.has_soft_terms
        if self.is_weighted or is_soft or has_table_near(masses, self.cell_totals, self.subproblem):
            return self.smallest
        least = needs(self.subproblem, self.cell_totals, self.n_clusters).least[:, 0]
        return np.maximum(self.smallest, least)

    @property
    def names(self) -> list[str]:
        """Names of what the unknowns stand for, in their order."""
        names: list[str] = []
        for attribute in self.attributes if self.goal is not None else ():
            names += [str(name) for name in attribute.names]
            names += ["people"] if attribute.overlapping else []
        return [*names, "people"] if self.has_sizes else names

    def missed(self, masses: FloatArray) -> str:
        """How close the goal came in the attribute that is farthest from it; sizes where it is met."""
        if self.goal is not None:
            counts = [masses @ attribute.membership for attribute in self.attributes]
            people = [
                float(self.goal.term(a).violation(own).sum()) for a, own in zip(self.attributes, counts, strict=True)
            ]
            if people and max(people) > 0:
                worst = int(np.argmax(people))
                return self.goal.missed(counts[worst], self.attributes[worst])
        sizes = masses.sum(axis=1)
        return (
            f"Sizes between {self.smallest.min():g} and {self.largest.max():g} were missed: clusters have "
            f"{sizes.min():g} to {sizes.max():g}."
        )


def read_sizes(
    n_clusters: int,
    total: float,
    n_samples: int,
    is_weighted: bool,
    cluster_sizes: Any = None,
    min_cluster_size: Any = None,
    max_cluster_size: Any = None,
) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest sizes: "equal", counts, or bounds as counts, shares up to 1.0, or one per cluster."""
    if cluster_sizes is not None:
        if min_cluster_size is not None or max_cluster_size is not None:
            raise InvalidInputError(
                "cluster_sizes gives the sizes, so min_cluster_size and max_cluster_size say nothing more. Leave them "
                "out, or leave cluster_sizes out."
            )
        return _given_sizes(cluster_sizes, n_clusters, total, is_weighted)
    lower = _bound("min_cluster_size", min_cluster_size, n_clusters, total, 0.0)
    upper = _bound("max_cluster_size", max_cluster_size, n_clusters, total, total)
    if not is_weighted:
        lower, upper = np.ceil(lower - WHOLE), np.floor(upper + WHOLE)
        if (lower <= 1).all():
            lower[:] = 0.0  # no cluster is empty, whatever is asked
    fits = (lower <= upper).all() and lower.sum() <= total * (1.0 + WHOLE) and upper.sum() >= total * (1.0 - WHOLE)
    if not fits:
        asked = [
            f"{name}={value!r}"
            for name, value in (("min_cluster_size", min_cluster_size), ("max_cluster_size", max_cluster_size))
            if value is not None
        ]
        raise InvalidInputError(
            f"{' and '.join(asked)} cannot be kept by {n_clusters} clusters of {n_samples} rows (total weight "
            f"{total:g}): clusters have between {lower.sum() / n_clusters:g} and {upper.sum() / n_clusters:g} on "
            f"average, but {total / n_clusters:g} is needed."
        )
    return lower, upper


def _given_sizes(sizes: Any, n_clusters: int, total: float, is_weighted: bool) -> tuple[FloatArray, FloatArray]:
    """Equal sizes, or a count for each cluster."""
    if isinstance(sizes, str):
        if sizes != "equal":
            raise InvalidInputError(f"cluster_sizes={sizes!r}, but 'equal' or {n_clusters} counts are needed.")
        mean = total / n_clusters
        own = (mean, mean) if is_weighted else (np.floor(mean + WHOLE), np.ceil(mean - WHOLE))
        return np.full(n_clusters, own[0]), np.full(n_clusters, own[1])
    try:
        given = np.asarray(sizes, dtype=float)
    except (TypeError, ValueError):
        given = np.zeros(0)
    if given.shape != (n_clusters,) or not np.isfinite(given).all() or (given < 0).any():
        raise InvalidInputError(
            f"cluster_sizes={sizes!r}, but 'equal' or {n_clusters} counts (one per cluster) are needed."
        )
    if not np.isclose(given.sum(), total, rtol=WHOLE):
        raise InvalidInputError(
            f"cluster_sizes add up to {given.sum():g}, but there are {total:g} rows. Make them add up to that."
        )
    return given, given.copy()


def _bound(name: str, value: Any, n_clusters: int, total: float, default: float) -> FloatArray:
    """A bound for each cluster: counts, or shares up to 1.0."""
    if value is None:
        return np.full(n_clusters, default)
    is_one = np.ndim(value) == 0
    values = [value] * n_clusters if is_one else list(value)
    if len(values) != n_clusters:
        raise InvalidInputError(f"{name} has {len(values)} values, but there are {n_clusters} clusters. Give one each.")
    found = []
    for one in values:
        is_number = isinstance(one, int | float | np.number) and not isinstance(one, bool | np.bool_)
        is_whole = isinstance(one, int | np.integer) or (is_number and float(one) > 1 and float(one).is_integer())
        if not is_number or not (0 <= one < np.inf) or not (is_whole or one <= 1):
            raise InvalidInputError(
                f"{name}={one!r}, but a whole number of rows, or a share between 0 and 1.0, is needed."
            )
        found.append(float(one) if is_whole else float(one) * total)
    return np.array(found)
