"""From the arguments of an estimator to what is fitted for: a weight, a goal, a cost; and bounds on sizes."""

from __future__ import annotations

import math
import warnings

from .. import _checks as checks
from .._fit.aims import Aim, CostAim, GoalAim, WeightAim
from .._fit.problem import Problem
from .._fit.sizes import SizedWeightAim
from .._goals.goals import Bounds, Goal, MaxFairnessError, MinBalance
from .._goals.sizes import SizeInterval
from .._people.attributes import Attributes
from .._sweep.question import DataSweep
from .._typing import FloatArray
from ..errors import ClusterSizeWarning, InvalidInputError
from ._arguments import Arguments


class Asking(Arguments):
    """What the arguments ask a fit for."""

    cluster_sizes_: FloatArray

    def _aim(self, problem: Problem, attributes: Attributes) -> Aim:
        """What to fit for: a weight, a goal, or a cost; and bounds on sizes."""
        sizes = self._size_bounds(problem.sweep)
        return self._fairness_aim(problem, attributes, sizes)

    def _fairness_aim(self, problem: Problem, attributes: Attributes, sizes: SizeInterval | None = None) -> Aim:
        weight = checks.check_fairness_weight(self.fairness_weight, self.max_fairness_error)
        reported = MaxFairnessError(problem.fairness, self.max_fairness_error)
        if attributes.is_trivial or weight is not None:
            weight = 0.0 if attributes.is_trivial or weight is None else weight
            return WeightAim(weight, reported) if sizes is None else SizedWeightAim(weight, reported, sizes)
        if self.max_cost_increase is not None:
            return CostAim(float(self.max_cost_increase), attributes.names)
        return GoalAim(self._goal(problem, attributes), attributes.names, sizes)

    def _goal(self, problem: Problem, attributes: Attributes) -> Goal:
        if self.min_balance is not None:
            return MinBalance(problem.fairness, float(self.min_balance))
        if self.bounds is not None:
            lower, upper = checks.check_bounds(self.bounds, attributes.names, attributes.target)
            return Bounds(problem.fairness, lower, upper, self.round_bounds and not problem.sweep.is_weighted)
        return MaxFairnessError(problem.fairness, self.max_fairness_error)

    def _size_bounds(self, sweep: DataSweep) -> SizeInterval | None:
        """Bounds on sizes as shares of all weight; None: no bounds."""
        total, n_clusters = sweep.total, sweep.n_clusters
        least, most = (getattr(self, name, None) for name in ("min_cluster_size", "max_cluster_size"))
        if least is None and most is None:
            return None
        if self.max_cost_increase is not None or (self.fairness_weight == "auto" and self.max_fairness_error == 0):
            raise InvalidInputError(
                "min_cluster_size and max_cluster_size go together with fairness_weight, max_fairness_error > 0, "
                "min_balance and bounds, not with exact proportions or max_cost_increase. Leave one of them out."
            )
        lower = 0.0 if least is None else checks.check_size("min_cluster_size", least, total)
        upper = 1.0 if most is None else checks.check_size("max_cluster_size", most, total)
        if not lower * n_clusters <= 1.0 + 1e-12 or not upper * n_clusters >= 1.0 - 1e-12 or lower > upper:
            raise InvalidInputError(
                f"min_cluster_size={least!r} and max_cluster_size={most!r} cannot be kept by {n_clusters} clusters of "
                f"{sweep.n_samples} rows (total weight {total:g}): a cluster has {total / n_clusters:g} on average."
            )
        fewest, largest = math.ceil(lower * total - 1e-9), math.floor(upper * total + 1e-9)
        if not sweep.is_weighted and not fewest * n_clusters <= total <= largest * n_clusters:
            raise InvalidInputError(
                f"min_cluster_size={least!r} and max_cluster_size={most!r} mean {fewest} to {largest} whole people "
                f"in each cluster, but {n_clusters} clusters of that size cannot hold {total:g}. Allow more, or use "
                "another number of clusters."
            )
        return SizeInterval(lower, upper)

    def _tell_sizes(self, problem: Problem) -> None:
        bounds = self._size_bounds(problem.sweep)
        if bounds is not None and not bounds.are_kept(self.cluster_sizes_):
            warnings.warn(
                f"The clusters have sizes from {self.cluster_sizes_.min():g} to {self.cluster_sizes_.max():g}, but "
                f"min_cluster_size={getattr(self, 'min_cluster_size', None)!r} and "
                f"max_cluster_size={getattr(self, 'max_cluster_size', None)!r} were asked for. Allow more, or use "
                "fewer clusters.",
                ClusterSizeWarning,
                stacklevel=4,
            )
