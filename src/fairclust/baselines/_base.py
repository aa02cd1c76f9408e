"""What the baselines share: checks, groups that may overlap, and the scores that every fit leaves behind."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import validate_data

from .. import _checks as checks
from .._people.columns import to_column
from .._people.encode import EncodedGroups, encode_groups
from .._typing import AnyArray, FloatArray, IntArray
from ..errors import EmptyClusterWarning, InvalidInputError
from ..metrics import Composition


@dataclass(frozen=True)
class Memberships:
    """Which groups each point is in; a point may be in several, or in none.

    Attributes
    ----------
    table : ndarray of shape (n_samples, n_groups), bool
    names : ndarray of shape (n_groups,)
    """

    table: AnyArray
    names: AnyArray

    @classmethod
    def of(cls, groups: EncodedGroups) -> Memberships:
        """One group for each point."""
        return cls(groups.codes[:, None] == np.arange(groups.n_groups), groups.names)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.names)

    @property
    def most_per_point(self) -> int:
        """Δ of Bera et al.: the most groups that one point is in."""
        return int(self.table.sum(axis=1).max(initial=0))

    def signatures(self) -> IntArray:
        """Points in the same groups have the same number, (n_samples,)."""
        _, codes = np.unique(np.packbits(self.table, axis=1), axis=0, return_inverse=True)
        return codes.reshape(-1)

    def masses(self, labels: IntArray, n_clusters: int) -> FloatArray:
        """How many points of each group each cluster holds, (n_clusters, n_groups)."""
        counts = [np.bincount(labels[self.table[:, j]], minlength=n_clusters) for j in range(self.n_groups)]
        return np.stack(counts, axis=1).astype(float)


def encode_column(sensitive_features: Any, n_samples: int, weights: FloatArray | None = None) -> EncodedGroups:
    """One attribute → codes; None is one group, as in the estimators."""
    if sensitive_features is None:
        return EncodedGroups(np.zeros(n_samples, dtype=np.int32), np.array(["all"]), np.ones(1))
    values = to_column(sensitive_features)
    checks.check_same_length("sensitive_features", values, n_samples)
    return encode_groups(values, weights=weights)


def encode_memberships(sensitive_features: Any, n_samples: int) -> Memberships:
    """One attribute, or a boolean table with a column per group → memberships."""
    table = sensitive_features if isinstance(sensitive_features, np.ndarray) else None
    if table is not None and table.ndim == 2 and table.shape[1] > 1:
        if table.dtype != bool:
            raise InvalidInputError(
                f"sensitive_features has {table.shape[1]} columns of type {table.dtype}. Several columns must be "
                "boolean, one per group, True where the row belongs to it; or pass one column of names."
            )
        checks.check_same_length("sensitive_features", table, n_samples)
        empty = np.flatnonzero(~table.any(axis=0))
        if len(empty):
            raise InvalidInputError(f"sensitive_features has no member in column {empty[0]}. Leave the column out.")
        return Memberships(table, np.arange(table.shape[1]))
    return Memberships.of(encode_column(sensitive_features, n_samples))


def encode_two_groups(sensitive_features: Any, n_samples: int, method: str) -> EncodedGroups:
    """At most two groups, for methods that know no more."""
    groups = encode_column(sensitive_features, n_samples)
    if groups.n_groups > 2:
        raise InvalidInputError(
            f"sensitive_features has {groups.n_groups} groups, but {method} is defined for two. Use FairAssignment, or "
            "one of the fairclust estimators."
        )
    return groups


class Baseline(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """What all baselines share. A subclass turns checked rows and groups into labels."""

    # Class-level requests: with metadata routing on, sensitive_features travels through a Pipeline by itself.
    __metadata_request__fit = {"sensitive_features": True}  # noqa: RUF012 - scikit-learn reads a plain dict

    n_clusters: int

    def fit(self, X: Any, y: Any = None, *, sensitive_features: Any = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sensitive_features : array-like of shape (n_samples,) or None
            Group of each row. None: plain clustering.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        raise NotImplementedError

    def fit_predict(self, X: Any, y: Any = None, *, sensitive_features: Any = None) -> IntArray:
        """Fit, and return the labels."""
        labels: IntArray = self.fit(X, sensitive_features=sensitive_features).labels_
        return labels

    def _checked_points(self, X: Any) -> FloatArray:
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C")
        n_clusters = checks.check_n_clusters(self.n_clusters, len(X))
        checks.check_distinct_rows(X, n_clusters)
        checked: FloatArray = X
        return checked

    def _store_scores(self, labels: IntArray, memberships: Memberships, objective: float) -> None:
        """Labels and scores. With overlapping groups, shares are of the points, and errors are not defined."""
        self.labels_ = labels.astype(np.int32, copy=False)
        sizes = np.bincount(labels, minlength=self.n_clusters).astype(float)
        masses = memberships.masses(labels, self.n_clusters)
        self.objective_ = float(objective)
        self.group_names_ = memberships.names
        self.proportions_ = np.divide(masses, sizes[:, None], out=np.zeros_like(masses), where=sizes[:, None] > 0)
        if (memberships.table.sum(axis=1) == 1).all():
            totals, filled = masses.sum(axis=0), np.flatnonzero(sizes > 0)
            target = totals / totals.sum()
            table = Composition(filled, memberships.names, masses[filled], target)
            self.target_proportions_ = target
            self.fairness_error_ = float(table.fairness_errors.sum())
            self.max_fairness_error_ = float(table.fairness_errors.max())
            self.balance_ = float(table.balances.min())
        n_empty = int((sizes <= 0).sum())
        if n_empty:
            warnings.warn(
                f"{n_empty} of {self.n_clusters} clusters are empty. Use fewer clusters.",
                EmptyClusterWarning,
                stacklevel=3,
            )
