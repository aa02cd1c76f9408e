"""What a protocol asks of labels, and whether they give it. One rule for all methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import metrics
from ..._typing import AnyArray, FloatArray, IntArray
from ...errors import InvalidInputError

KINDS = {
    "balance": "every cluster's balance is at least (1 − {level:g}) × the data's",
    "bounds": "every group's share of every cluster is (1 − {level:g}) to 1/(1 − {level:g}) times its share of all",
    "error": "KL(data ‖ cluster) ≤ {level:g} in every cluster, for every attribute",
    "total": "Σ KL(data ‖ cluster) ≤ {level:g} over the clusters",
    "sizes": "every cluster's size is within {level:g} of n/K",
}
"""What may be asked for, in words."""

OBJECTIVES = ("kmeans", "kmedian", "ncut")
_ROUNDING = 1e-9  # people: less is the rounding of sums


@dataclass(frozen=True)
class Goal:
    """What is asked of a method: an objective to make small, and what must hold.

    Attributes
    ----------
    objective : {"kmeans", "kmedian", "ncut"}
    kind : str
        A key of ``KINDS``.
    level : float
        What ``KINDS`` says of it: the smaller, the fairer.
    people : int
        Fewer people than this beyond a bound are forgiven, in each group and cluster (balance and bounds). 0: none.
    """

    objective: str
    kind: str
    level: float
    people: int = 0

    def __post_init__(self) -> None:
        for name, value, known in (("objective", self.objective, OBJECTIVES), ("kind", self.kind, tuple(KINDS))):
            if value not in known:
                raise InvalidInputError(f"{name}={value!r}, but one of {', '.join(map(repr, known))} is needed.")

    def __str__(self) -> str:
        return KINDS[self.kind].format(level=self.level)

    def min_balance(self, groups: AnyArray) -> float:
        """The balance that "balance" asks for in these data."""
        counts = np.unique(groups, return_counts=True)[1]
        return float((1 - self.level) * counts.min() / counts.max())

    def sizes(self, n_samples: int, n_clusters: int) -> tuple[int, int]:
        """The smallest and largest cluster that "sizes" allows."""
        even = n_samples / n_clusters
        return int(np.ceil((1 - self.level) * even)), int(np.floor((1 + self.level) * even))

    def is_met(self, labels: IntArray, groups: Any, n_clusters: int) -> bool:
        """Whether labels give what is asked for; an empty cluster is no cluster."""
        tables = metrics.compositions(labels, groups)
        return self.is_met_by(tables, n_clusters)

    def is_met_by(self, tables: Mapping[str, metrics.Composition], n_clusters: int) -> bool:
        """The same from tables of what the clusters hold, one per attribute."""
        return all(self._holds(table, n_clusters) for table in tables.values())

    def _holds(self, table: metrics.Composition, n_clusters: int) -> bool:
        if len(table.sizes) < n_clusters:
            return False
        if self.kind in ("balance", "bounds"):
            return self._people_beyond(table) < max(self.people, _ROUNDING * table.sizes.sum())
        if self.kind == "sizes":
            low, high = self.sizes(int(table.sizes.sum()), n_clusters)
            return bool(low <= table.sizes.min() and table.sizes.max() <= high)
        errors: FloatArray = table.fairness_errors
        found = errors.sum() if self.kind == "total" else errors.max()
        return bool(found <= self.level * (1 + _ROUNDING))

    def people_beyond(self, tables: Mapping[str, metrics.Composition]) -> float | None:
        """Most people that a group has too many or too few in a cluster; None where the goal counts no people."""
        if self.kind not in ("balance", "bounds"):
            return None
        return max(self._people_beyond(table) for table in tables.values())

    def _people_beyond(self, table: metrics.Composition) -> float:
        size, shares = table.sizes[:, None], table.totals / table.totals.sum()
        if self.kind == "balance":
            # Of two groups: smaller ≥ b · larger is smaller ≥ b/(1 + b) of both.
            least = (1 - self.level) * table.data_balance
            return float(
                np.maximum((least * table.counts.max(axis=1) - table.counts.min(axis=1)) / (1 + least), 0).max()
            )
        few = shares * (1 - self.level) * size - table.counts
        many = table.counts - np.minimum(shares / (1 - self.level), 1.0) * size
        return float(max(few.max(), many.max(), 0.0))
