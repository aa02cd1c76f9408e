"""The arguments of the estimators: kept as they were given, and read when a fit begins. No point of X here."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .. import _checks as checks
from .._fit.loop import ASSIGNMENTS
from .._fit.settings import Settings
from .._people.attributes import Attributes, Options, Population
from .._people.columns import as_columns, listed
from .._people.encode import encode_people, everyone
from .._people.small import small_groups
from .._solvers import Bound, Dual, Solver
from .._typing import FloatArray
from ..errors import FairclustWarning, InvalidInputError, SmallGroupWarning


class Arguments(BaseEstimator):  # type: ignore[misc]
    """The constructor of every estimator, and what its arguments mean."""

    n_clusters: int
    fairness_weight: float | str
    max_fairness_error: float
    min_balance: float | None
    max_cost_increase: float | None
    bounds: Any
    round_bounds: bool
    polish: bool | str
    target_proportions: Any
    attribute_weights: Any
    intersections: bool
    missing_groups: str
    quantile_bins: Any
    unknown_groups: str
    solver: str
    lipschitz: float
    init: Any
    n_init: int | str
    max_iter: int
    tol: float
    assignments: str
    random_state: Any
    n_jobs: int | None
    verbose: int | Callable[[int, float], None]

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        """Keep each argument of an estimator's constructor, given as ``locals()``, under its own name.

        scikit-learn reads the names from the signature of the estimator, so that has to be explicit; what it does
        with them is the same everywhere.
        """
        for name, value in arguments.items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    def _checked(self) -> tuple[Solver, Settings, int]:
        """Check the parameters that need no data: solver, settings and number of starts."""
        checks.check_goals(
            self.fairness_weight, self.max_fairness_error, self.min_balance, self.max_cost_increase, self.bounds
        )
        if self.round_bounds not in (True, False):
            raise InvalidInputError(f"round_bounds={self.round_bounds!r}, but True or False is needed.")
        if self.polish not in (True, False, "auto"):
            raise InvalidInputError(f"polish={self.polish!r}, but True, False or 'auto' is needed.")
        return self._solver(), self._settings(), self._n_starts()

    def _solver(self) -> Solver:
        checks.check_choice("solver", self.solver, ("dual", "bound"))
        lipschitz = checks.check_number("lipschitz", self.lipschitz, lowest=0.0, above=True)
        return Dual() if self.solver == "dual" else Bound(lipschitz)

    def _settings(self) -> Settings:
        return Settings(
            max_iter=checks.check_count("max_iter", self.max_iter),
            tol=checks.check_number("tol", self.tol, lowest=0.0),
            assignments=ASSIGNMENTS[checks.check_choice("assignments", self.assignments, tuple(ASSIGNMENTS))],
            on_iteration=self.verbose if callable(self.verbose) else _print_iteration if self.verbose else None,
        )

    def _n_starts(self) -> int:
        if isinstance(self.n_init, str) and self.n_init == "auto":
            return 10 if callable(self.init) or (isinstance(self.init, str) and self.init == "random") else 1
        n_init = checks.check_count("n_init", self.n_init)
        return 1 if not isinstance(self.init, str) and not callable(self.init) else n_init

    def _population(
        self, sensitive_features: Any, n_samples: int, weights: FloatArray | None, counts: FloatArray | None = None
    ) -> Population:
        """Who is in which group; ``counts`` says how many people each row stands for, where that is not one."""
        options = Options(self.intersections, self.missing_groups, self.quantile_bins)
        if sensitive_features is None:
            return everyone(n_samples)
        table = as_columns(sensitive_features, "sensitive_features")
        checks.check_same_length("sensitive_features", table.columns[0], n_samples)
        population = encode_people(
            table,
            options=options,
            target_proportions=self.target_proportions,
            weights=weights,
            n_clusters=int(self.n_clusters),
        )
        attributes = population.attributes
        if attributes.is_trivial:
            warnings.warn(
                f"sensitive_features has one group only ({listed(attributes.names.tolist())}), so every clustering "
                "has the right make-up: this is plain clustering.",
                FairclustWarning,
                stacklevel=4,
            )
        elif counts is None and weights is not None:
            counts = (weights > 0).astype(float)
        self._tell_small_groups(population, counts)
        return population

    def _tell_small_groups(self, population: Population, counts: FloatArray | None) -> None:
        """Warn of groups that cannot be in every cluster, where the goal wants them there; no counts: one per row."""
        is_goal = self.fairness_weight == "auto" and self.max_cost_increase is None
        if not is_goal or population.attributes.is_trivial:
            return
        is_exact = self.min_balance is None and self.bounds is None and self.max_fairness_error == 0
        if is_exact or (self.bounds is not None and self.round_bounds):
            return  # rounded counts: the floor of less than one is none
        found = small_groups(population, counts, int(self.n_clusters))
        if self.bounds is not None:
            names, target = population.attributes.names, population.attributes.target
            lower, _ = checks.check_bounds(self.bounds, names, target)
            wanted = {name for name, low in zip(names.tolist(), lower, strict=True) if low > 0}
            found = [group for group in found if group.name in wanted]
        elif self.min_balance is None:
            found = [group for group in found if group.smallest_error > self.max_fairness_error]
        elif self.min_balance == 0:
            found = []
        if found:
            worst = max(found, key=lambda group: group.smallest_error)
            others = f" (and {len(found) - 1} more such groups)" if len(found) > 1 else ""
            warnings.warn(
                f"Group {worst.name!r}{others} has {worst.n_people} people for {self.n_clusters} clusters, so it is "
                f"absent from {int(self.n_clusters) - worst.n_people} or more: the worst cluster's fairness error "
                f"cannot be below {worst.smallest_error:.3g}. Use at most {worst.n_people} clusters, join the group "
                "with another, or leave it out of the count (target_proportions 0, or missing_groups='ignore').",
                SmallGroupWarning,
                stacklevel=5,
            )

    def _attribute_weights(self, attributes: Attributes) -> FloatArray | None:
        """Weight of each attribute's fairness, as a share of ``fairness_weight``; attributes not named count fully."""
        if self.attribute_weights is None:
            return None
        names = [attribute.name for attribute in attributes]
        if not isinstance(self.attribute_weights, Mapping):
            raise InvalidInputError(
                f"attribute_weights={self.attribute_weights!r}, but a dict {{attribute: weight}} is needed, with the "
                f"attributes {listed(names)}."
            )
        unknown = [name for name in self.attribute_weights if str(name) not in names]
        if unknown:
            raise InvalidInputError(
                f"attribute_weights names {listed(unknown)}, but the attributes are {listed(names)}."
            )
        weights = {str(name): weight for name, weight in self.attribute_weights.items()}
        return np.array(
            [checks.check_number(f"attribute_weights[{name!r}]", weights.get(name, 1.0), lowest=0.0) for name in names]
        )


def _print_iteration(n_iter: int, energy: float) -> None:
    print(f"iteration {n_iter}: energy {energy:.6g}", flush=True)
