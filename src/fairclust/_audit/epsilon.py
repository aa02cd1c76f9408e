"""What a fairness error means in shares: how far a group's share may be from its target at a given error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import check_number
from .._typing import AnyArray, FloatArray
from ..errors import InvalidInputError
from ..goals import Attribute, Goal

_STEPS = 60  # halvings: shares to 1e-18


@dataclass(frozen=True, repr=False)
class ErrorInShares:
    """What :func:`describe_error` found. Print it, or read its numbers.

    Attributes
    ----------
    error : float
        KL(target ‖ shares).
    names : tuple of str
    target, lower, upper : ndarray of shape (n_groups,)
        The wanted share of each group, and the smallest and largest share that an error of this size allows it while
        the others keep their proportions to each other.
    """

    error: float
    names: tuple[str, ...]
    target: FloatArray
    lower: FloatArray
    upper: FloatArray

    def sentences(self) -> list[str]:
        """Tell it in words, a sentence per group."""
        return _sentences(self.names, self.target, self.lower, self.upper)

    def __str__(self) -> str:
        return "\n".join([f"A fairness error of {self.error:g} allows", *self.sentences()])

    def __repr__(self) -> str:
        return f"ErrorInShares(error={self.error:g}, n_groups={len(self.names)})"


def describe_error(error: float, shares: Any) -> ErrorInShares:
    """Say what a fairness error means: between which shares each group may lie in a cluster.

    Parameters
    ----------
    error : float ≥ 0
        A fairness error, KL(target ‖ shares) of one cluster: a goal, or what was found.
    shares : dict {group: share} or array-like of shape (n_groups,)
        The wanted shares; they add up to 1.

    Returns
    -------
    described : ErrorInShares

    Notes
    -----
    One group at a time is moved while the others keep their proportions to each other: this is the largest gap that
    the error allows that group. Several groups that are off at once must each be off by less.

    Examples
    --------
    >>> from fairclust import describe_error
    >>> print(describe_error(0.01, {"women": 0.5, "men": 0.5}))
    A fairness error of 0.01 allows
    women: 43.0 % to 57.0 % of a cluster, 50.0 % wanted.
    men: 43.0 % to 57.0 % of a cluster, 50.0 % wanted.
    """
    limit = check_number("error", error, lowest=0.0)
    names = tuple(map(str, shares)) if isinstance(shares, Mapping) else None
    target = np.asarray(list(shares.values()) if isinstance(shares, Mapping) else shares, dtype=float)
    if target.ndim != 1 or len(target) < 1 or not np.isfinite(target).all() or (target < 0).any():
        raise InvalidInputError(f"shares={shares!r}, but one share ≥ 0 per group is needed.")
    if abs(target.sum() - 1.0) > 1e-6:
        raise InvalidInputError(f"shares add up to {target.sum():.6g}, not 1. Divide each share by that sum.")
    names = names if names is not None else tuple(f"group {j}" for j in range(len(target)))

    def is_inside(share: FloatArray) -> AnyArray:
        return _of_two(target, share) <= limit

    return ErrorInShares(limit, names, target, *_ends(target, is_inside))


def allowed_shares(goal: Goal, attribute: Attribute, size: float) -> list[str]:
    """Between which shares a goal allows each group to lie in a cluster, a sentence per group.

    As in :func:`describe_error`, one group at a time is moved while the others keep their proportions to each other.

    Parameters
    ----------
    goal : Goal
        A constraint.
    attribute : Attribute
        Groups that do not overlap, with one target for all clusters.
    size : float
        People of the cluster.
    """
    target, term = attribute.target, goal.term(attribute)

    def is_inside(share: FloatArray) -> AnyArray:
        rest = (1.0 - share) / np.maximum(1.0 - target, 1e-300)
        shares = target * rest[:, None]
        np.fill_diagonal(shares, share)
        return np.asarray(term.violation(shares * size) <= 0)

    lower, upper = _ends(target, is_inside)
    return _sentences(tuple(map(str, attribute.names.tolist())), target, lower, upper)


def _sentences(names: tuple[str, ...], target: FloatArray, lower: FloatArray, upper: FloatArray) -> list[str]:
    return [
        f"{name}: {100 * low:.1f} % to {100 * high:.1f} % of a cluster, {100 * wanted:.1f} % wanted."
        for name, wanted, low, high in zip(names, target, lower, upper, strict=True)
    ]


def one_person_more(counts: FloatArray, target: FloatArray) -> float:
    """By how much one person more or fewer changes a cluster's error at most: what no method can refine.

    Parameters
    ----------
    counts : ndarray of shape (n_groups,)
        People of each group in the cluster.
    target : ndarray of shape (n_groups,)
    """
    largest = 0.0
    for j in range(len(counts)):
        for step in (-1.0, 1.0):
            other = np.array(counts, dtype=float)
            other[j] += step
            if other[j] >= 0 and other.sum() > 0:
                largest = max(largest, abs(_kl(target, other) - _kl(target, np.asarray(counts, dtype=float))))
    return largest


def _kl(target: FloatArray, counts: FloatArray) -> float:
    shares = np.maximum(counts / counts.sum(), 1e-20)
    kept = target > 0
    return float((target[kept] * np.log(target[kept] / shares[kept])).sum())


def _ends(target: FloatArray, is_inside: Callable[[FloatArray], AnyArray]) -> tuple[FloatArray, FloatArray]:
    """The smallest and the largest share of each group: by halving, all groups at once."""
    ends = []
    for far in (np.zeros_like(target), np.ones_like(target)):
        near = target.copy()
        for _ in range(_STEPS):
            middle = (near + far) / 2
            inside = is_inside(middle)
            near, far = np.where(inside, middle, near), np.where(inside, far, middle)
        ends.append(near)
    return ends[0], ends[1]


def _of_two(target: FloatArray, share: FloatArray) -> FloatArray:
    """KL of a group and all others together."""

    def part(wanted: FloatArray, found: FloatArray) -> FloatArray:
        return np.where(wanted > 0, wanted * np.log(np.maximum(wanted, 1e-300) / np.maximum(found, 1e-20)), 0.0)

    return part(target, share) + part(1.0 - target, 1.0 - share)
