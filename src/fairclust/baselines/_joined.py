"""From fairlets to clusters: plain clustering of one point per fairlet; fairlets stay whole."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from .._people.encode import EncodedGroups
from .._typing import FloatArray, IntArray
from ..errors import InvalidInputError
from ._centers import plain_centers, point_costs


@dataclass(frozen=True)
class Joined:
    """Clusters made of whole fairlets."""

    labels: IntArray
    centers: FloatArray


def check_ratio(balance: Any, groups: EncodedGroups) -> tuple[int, int]:
    """Return p and q: in every fairlet, and so in every cluster, p·(larger group) ≤ q·(smaller group)."""
    counts = np.bincount(groups.codes, minlength=groups.n_groups)
    if groups.n_groups == 1:
        return 1, 1
    few, many = int(counts.min()), int(counts.max())
    if isinstance(balance, str) and balance == "auto":
        return 1, -(-many // few)
    try:
        p, q = balance
        is_ratio = int(p) == p and int(q) == q and 1 <= p <= q
    except (TypeError, ValueError):
        is_ratio = False
    if not is_ratio:
        raise InvalidInputError(
            f"balance={balance!r}, but 'auto' or two whole numbers (p, q) with 1 ≤ p ≤ q is needed."
        )
    ratio = Fraction(int(p), int(q))
    if few * ratio.denominator < many * ratio.numerator:
        raise InvalidInputError(
            f"balance=({p}, {q}) cannot be met: the data have {few} of one group and {many} of the other, a balance of "
            f"{few / many:.3f}. Ask for at most that, for example (1, {-(-many // few)})."
        )
    return ratio.numerator, ratio.denominator


def join(
    X: FloatArray,
    fairlets: IntArray,
    n_clusters: int,
    objective: str,
    n_init: int,
    random_state: np.random.RandomState,
) -> Joined:
    """Cluster fairlets.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    fairlets : ndarray of shape (n_samples,)
        Number of each point's fairlet, from 0 without gaps.
    n_clusters : int
    objective : {"kmedian", "kcenter"}
    n_init : int
        Starts of the plain clustering of the fairlets' centres.
    random_state : RandomState

    Returns
    -------
    joined : Joined
        Every fairlet goes where its points together cost the least.
    """
    sizes = np.bincount(fairlets)
    middles = X[_central_members(X, fairlets, sizes)]
    n_distinct = len(np.unique(middles, axis=0)) if len(middles) < 64 * n_clusters else n_clusters
    if n_distinct < n_clusters:
        raise InvalidInputError(
            f"n_clusters={n_clusters} but the points make only {n_distinct} fairlets with different centres. "
            f"Use at most {n_distinct}."
        )
    centers = plain_centers(middles, n_clusters, objective, n_init, random_state, sizes.astype(float))
    order = np.argsort(fairlets, kind="stable")
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    costs = point_costs(X, centers, objective)[order]
    combine = np.maximum if objective == "kcenter" else np.add
    return Joined(combine.reduceat(costs, starts, axis=0).argmin(axis=1)[fairlets], centers)


def _central_members(X: FloatArray, fairlets: IntArray, sizes: IntArray) -> IntArray:
    """Row of the member nearest to each fairlet's mean."""
    sums = np.stack([np.bincount(fairlets, X[:, f], len(sizes)) for f in range(X.shape[1])], axis=1)
    means = sums / sizes[:, None]
    distance = ((X - means[fairlets]) ** 2).sum(axis=1)
    order = np.lexsort((distance, fairlets))
    return order[np.concatenate(([0], np.cumsum(sizes)[:-1]))]
