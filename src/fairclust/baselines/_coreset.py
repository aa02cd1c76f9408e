"""Fair coresets: few weighted rows that cost what all rows cost, group by group.

After Schmidt, Schwiegelshohn and Sohler (2018) and Huang, Jiang and Vishnoi (NeurIPS 2019): a coreset of every group by
itself is a coreset for clustering with any fairness constraint, since it keeps what each group costs and weighs.
Coresets of parts of the data together are a coreset of the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.cluster import kmeans_plusplus
from sklearn.metrics import pairwise_distances_argmin_min
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import _check_sample_weight

from .. import _checks as checks
from .._typing import AnyArray, FloatArray, IntArray
from ..errors import InvalidInputError
from ._base import encode_memberships

_LARGEST_SEEDING = 1 << 16  # rows that k-means++ looks at


@dataclass(frozen=True)
class Coreset:
    """Some rows with weights, in place of all rows.

    Attributes
    ----------
    X : ndarray of shape (n_points, n_features)
        Rows of the data.
    sensitive_features : ndarray of shape (n_points,) or (n_points, n_groups)
        Their groups, as given.
    sample_weight : ndarray of shape (n_points,)
        How many rows of its group each stands for: ``FairKMeans(…).fit(c.X, sensitive_features=c.sensitive_features,
        sample_weight=c.sample_weight)``.
    indices : ndarray of shape (n_points,)
        Where they were in the data (of a merged coreset: in the parts, one after the other).

    Examples
    --------
    >>> import numpy as np
    >>> from fairclust.baselines import fair_coreset
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> coreset = fair_coreset(X, ["F", "M"] * 500, 100, random_state=0)
    >>> round(float(coreset.sample_weight.sum()))  # it stands for all rows
    1000
    """

    X: FloatArray
    sensitive_features: AnyArray
    sample_weight: FloatArray
    indices: IntArray

    def __len__(self) -> int:
        return len(self.X)


def fair_coreset(
    X: Any,
    sensitive_features: Any,
    n_points: int,
    *,
    n_clusters: int = 10,
    objective: str = "kmeans",
    sample_weight: Any = None,
    random_state: Any = None,
) -> Coreset:
    """Draw a weighted sample that costs, for any centres and in each group, about what the whole costs.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    sensitive_features : array-like of shape (n_samples,), or bool ndarray of shape (n_samples, n_groups)
        Group of each row; or which groups it is in, and rows in the same groups are then sampled together.
    n_points : int
        Draws, shared out by the groups' weights, at least ``n_clusters`` for each. A row that is drawn twice is there
        once, so there may be fewer rows. Groups with no more rows than their share are kept as they are.
    n_clusters : int, default=10
        About how many clusters the coreset is for.
    objective : {"kmeans", "kmedian"}, default="kmeans"
        Whether squared distances or distances will be added up.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the rows, such as those of another coreset.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    coreset : Coreset
        The weight of every group is kept to rounding.

    Notes
    -----
    Rows are drawn in proportion to a bound on their sensitivity, the most that a row can be of the cost of any centres:
    its share of the cost of k-means++ centres, plus one over the weight of its cell there. The error for given centres
    falls as 1/√n_points. Time is O(n_samples · n_features · n_clusters).

    Examples
    --------
    >>> from fairclust.baselines import fair_coreset
    >>> from fairclust.datasets import make_census_like
    >>> data = make_census_like(20_000)
    >>> small = fair_coreset(data.data, data.sensitive_features, 1000, random_state=0)
    >>> len(small) <= 1000, round(float(small.sample_weight.sum()))
    (True, 20000)
    """
    X = check_array(X, dtype=[np.float64, np.float32], order="C")
    checks.check_choice("objective", objective, ("kmeans", "kmedian"))
    n_clusters = checks.check_n_clusters(n_clusters, len(X))
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    members = encode_memberships(sensitive_features, len(X))
    signatures = members.signatures()
    n_signatures = int(signatures.max()) + 1
    n_points = checks.check_count("n_points", n_points, lowest=n_clusters * n_signatures)
    random_state = check_random_state(random_state)
    values = np.asarray(sensitive_features)
    quota = _quota(np.bincount(signatures, weights), np.bincount(signatures), n_points, n_clusters)
    rows, kept = [], []
    for signature in range(n_signatures):
        inside = np.flatnonzero((signatures == signature) & (weights > 0))
        drawn = _draw(X[inside], weights[inside], int(quota[signature]), n_clusters, objective, random_state)
        rows.append(inside[drawn[0]])
        kept.append(drawn[1])
    chosen = np.concatenate(rows)
    return Coreset(np.ascontiguousarray(X[chosen]), values[chosen], np.concatenate(kept), chosen)


def merge_coresets(parts: Sequence[Coreset]) -> Coreset:
    """Put coresets of parts of the data together: a coreset of the whole, of the same quality.

    Parameters
    ----------
    parts : sequence of Coreset
        For example one per file or machine. Shrink the result with :func:`fair_coreset` and its ``sample_weight``.

    Returns
    -------
    coreset : Coreset

    Examples
    --------
    >>> import numpy as np
    >>> from fairclust.baselines import fair_coreset, merge_coresets
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> parts = [fair_coreset(part, ["F", "M"] * 250, 50, random_state=0) for part in (X[:500], X[500:])]
    >>> round(float(merge_coresets(parts).sample_weight.sum()))
    1000
    """
    if not parts:
        raise InvalidInputError("parts is empty. Pass at least one coreset.")
    offsets = np.cumsum([0] + [int(part.indices.max(initial=-1)) + 1 for part in parts[:-1]])
    return Coreset(
        np.concatenate([part.X for part in parts]),
        np.concatenate([part.sensitive_features for part in parts]),
        np.concatenate([part.sample_weight for part in parts]),
        np.concatenate([part.indices + offset for part, offset in zip(parts, offsets, strict=True)]),
    )


def _quota(masses: FloatArray, counts: IntArray, n_points: int, least: int) -> IntArray:
    """How many rows each group gets: by weight, at least ``least`` and at most all that it has; they add up."""
    quota = np.minimum(least, counts)
    while quota.sum() < min(n_points, counts.sum()):
        open_ = np.flatnonzero(quota < counts)
        ideal = masses[open_] / max(masses[open_].sum(), np.finfo(float).tiny) * n_points
        # The group furthest below its share of what is left; in one go where shares are far away.
        short = np.maximum(ideal - quota[open_], 0.0)
        left = min(n_points, counts.sum()) - quota.sum()
        step = np.floor(short / max(short.sum(), np.finfo(float).tiny) * left).astype(np.int64)
        step = np.minimum(step, counts[open_] - quota[open_])
        if not step.any():
            step[np.argmax(short)] = 1
        quota[open_] += step
    return quota


def _draw(
    X: FloatArray,
    weights: FloatArray,
    size: int,
    n_clusters: int,
    objective: str,
    random_state: np.random.RandomState,
) -> tuple[IntArray, FloatArray]:
    """Rows of one group and their weights, which add up to the group's."""
    if size >= len(X):
        return np.arange(len(X)), weights
    seeding = np.arange(len(X))
    if len(X) > _LARGEST_SEEDING:
        seeding = random_state.choice(len(X), _LARGEST_SEEDING, replace=False)
    n_seeds = min(n_clusters, len(seeding))
    centers, _ = kmeans_plusplus(X[seeding], n_seeds, sample_weight=weights[seeding], random_state=random_state)
    cell, distance = pairwise_distances_argmin_min(X, centers)
    cost = weights * (distance**2 if objective == "kmeans" else distance)
    cell_weight = np.bincount(cell, weights, n_seeds)
    sensitivity = cost / max(float(cost.sum()), np.finfo(float).tiny) + weights / (cell_weight[cell] * n_seeds)
    chance = sensitivity / sensitivity.sum()
    drawn, times = np.unique(random_state.choice(len(X), size, p=chance), return_counts=True)
    stand_for = times * weights[drawn] / (size * chance[drawn])
    return drawn, stand_for * (weights.sum() / stand_for.sum())
