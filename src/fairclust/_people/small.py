"""Groups with fewer people than there are clusters: some cluster must lack them, whatever the method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import FloatArray
from .attributes import Population

_SMALLEST_SHARE = 1e-20  # the share that an absent group is taken to have, as in the fairness error


@dataclass(frozen=True)
class SmallGroup:
    """A group that cannot be in every cluster.

    Attributes
    ----------
    name : str
        As in the group names of a fit.
    n_people : int
    smallest_error : float
        The least fairness error that the worst cluster can have because of this group.
    """

    name: str
    n_people: int
    smallest_error: float


def small_groups(population: Population, counts: FloatArray | None, n_clusters: int) -> list[SmallGroup]:
    """Find the groups with a positive target that have fewer people than there are clusters.

    Parameters
    ----------
    population : Population
    counts : ndarray of shape (n_rows,) or None
        How many people each row stands for; 0 where it has no weight. None: one each.
    n_clusters : int

    Returns
    -------
    groups : list of SmallGroup
        In the order of the groups.
    """
    cells, attributes = population.cells, population.attributes
    people = cells.group_masses(counts)[attributes.group_columns]
    targets = np.broadcast_to(attributes.target, (n_clusters, len(people)))
    overlaps = [attribute.is_overlapping for attribute in attributes for _ in attribute.names]
    found = []
    for j, name in enumerate(attributes.names.tolist()):
        n_people = int(people[j])
        if n_people < n_clusters:
            errors = np.sort(_error_without(targets[:, j], overlaps[j]))
            least = float(errors[n_clusters - n_people - 1])  # the clusters that want the group least go without
            found += [SmallGroup(str(name), n_people, least)] if least > 0 else []
    return found


def _error_without(wanted: FloatArray, overlaps: bool) -> FloatArray:
    """Least fairness error of a cluster that lacks a group with this wanted share: the others fill its room."""
    own = wanted * np.log(np.maximum(wanted, _SMALLEST_SHARE) / _SMALLEST_SHARE)
    rest = 1.0 - wanted
    others = -wanted if overlaps else rest * np.log(np.where(rest > 0, rest, 1.0))
    return np.asarray(own + others)
