"""What the estimators share: check, build the parts, fit, store. Everything they do a plain function does."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
from threadpoolctl import ThreadpoolController

from .. import _checks as checks
from .._core import is_compiled
from .._fairness.sizes import SizeFairness
from .._fairness.term import representation
from .._fit.loop import Settings, sampling_step
from .._fit.polish import Polishable, polish
from .._fit.problem import Problem, WeightedFit
from .._fit.restarts import CANDIDATES_PER_START, best_of, is_worth_racing
from .._fit.search import Aim, CostAim, GoalAim, WeightAim
from .._fit.sizes import SizeBounds, SizedAim
from .._goals.goals import Bounds, MaxFairnessError, MinBalance
from .._objectives import FixedObjective, Objective
from .._people.attributes import Attributes, Cells, Options, Population, as_table, encode_people, everyone
from .._people.columns import listed, read_table
from .._solvers import Bound, Dual, Solver
from .._sweep.layout import build_layout
from .._sweep.memory import InMemorySweep
from .._sweep.question import DataSweep, State
from .._sweep.seeding import starting_centers
from .._typing import FloatArray, IntArray
from ..errors import (
    ClusterSizeWarning,
    EmptyClusterWarning,
    FairclustWarning,
    FairnessGoalMissed,
    InvalidInputError,
    SlowKernelsWarning,
)
from ..scaling import BlockData, Blocks, StreamedSweep, as_blocks, open_blocks, streamed_starts

_said_slow = False
_LARGEST_POLISHED = 100_000  # rows; polishing more takes longer than fitting them


class FairClusterer(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """What all fair estimators share. A subclass says what its objective is and where to start."""

    # Class-level requests: with metadata routing on, sensitive_features travels through a Pipeline by itself.
    __metadata_request__fit = {"sensitive_features": True}  # noqa: RUF012 - scikit-learn reads a plain dict

    n_clusters: int
    fairness_weight: float | str
    max_fairness_error: float
    min_balance: float | None
    max_cost_increase: float | None
    bounds: Any
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
    verbose: int

    def _objective(self, X: FloatArray, weights: FloatArray | None) -> Objective:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers; float32 stays float32. Data frames are fine. No scaling is needed, though features with large
            values weigh more.
        y : ignored
        sensitive_features : column, data frame, 2-D array, dict of columns or None
            Group of each row: one column per attribute. A boolean table with several columns is a membership matrix:
            a column per group, and a row may be in several groups or in none. None: plain clustering.
        sample_weight : array-like of shape (n_samples,) or None
            Weight of each row; 2 is the same as the row twice, 0 the same as no row but for its label.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        problem, population, starts = self._problem(X, sensitive_features, sample_weight)
        aim = self._aim(problem, population.attributes)
        # Prices are solved for in small systems: more BLAS threads than one only wait for each other.
        with _blas().limit(limits=1, user_api="blas"):
            fit = best_of(problem, starts, self._n_starts(), aim.fit, aim.rank)
            fit, self.polished_ = self._polish(problem, aim, fit)
        self._store(problem, population.attributes, fit)
        self.fairness_goal_met_ = aim.is_met(problem, fit)
        if aim.is_goal and not self.fairness_goal_met_:
            warnings.warn(aim.missed(problem, fit), FairnessGoalMissed, stacklevel=2)
        return self

    def _path_start(
        self, X: Any, sensitive_features: Any, sample_weight: Any
    ) -> tuple[Problem, Attributes, FloatArray]:
        """The problem and the parameters that a path starts from: those of the best plain clustering."""
        if as_blocks(X, self.n_clusters) is not None:
            raise InvalidInputError(
                "fairness_path needs X in memory. Pass an array, for example of a sample of the rows."
            )
        problem, population, starts = self._problem(X, sensitive_features, sample_weight)
        if len(starts) == 1:
            return problem, population.attributes, starts[0]
        aim = WeightAim(0.0, MaxFairnessError(problem.fairness, self.max_fairness_error))
        plain = best_of(problem, starts, self._n_starts(), aim.fit, aim.rank)
        return problem, population.attributes, plain.result.parameters

    def _aim(self, problem: Problem, attributes: Attributes) -> Aim:
        """What to fit for: a weight, or a goal."""
        aim = self._fairness_aim(problem, attributes)
        bounds = self._size_bounds(problem.sweep.n_samples, problem.sweep.total, problem.sweep.n_clusters)
        if bounds is None:
            return aim
        return SizedAim(aim, bounds, aim.weight if isinstance(aim, WeightAim) else 0.0)

    def _fairness_aim(self, problem: Problem, attributes: Attributes) -> Aim:
        weight = checks.check_fairness_weight(self.fairness_weight, self.max_fairness_error)
        fairness = problem.fairness
        if attributes.is_trivial:
            return WeightAim(0.0, MaxFairnessError(fairness, self.max_fairness_error))
        if weight is not None:
            return WeightAim(weight, MaxFairnessError(fairness, self.max_fairness_error))
        if self.max_cost_increase is not None:
            return CostAim(float(self.max_cost_increase))
        if self.min_balance is not None:
            return GoalAim(MinBalance(fairness, float(self.min_balance)), attributes.names)
        if self.bounds is not None:
            lower, upper = checks.check_bounds(self.bounds, attributes.names, attributes.target)
            return GoalAim(Bounds(fairness, lower, upper), attributes.names)
        exactly = self.max_fairness_error == 0 and not problem.sweep.is_weighted
        return GoalAim(MaxFairnessError(fairness, self.max_fairness_error), attributes.names, exactly)

    def _size_bounds(self, n_samples: int, total: float, n_clusters: int) -> SizeBounds | None:
        """Bounds on sizes as shares of all weight; None: no bounds."""
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
                f"{n_samples} rows (total weight {total:g}): a cluster has {total / n_clusters:g} on average."
            )
        return SizeBounds(lower, upper)

    def _polish(self, problem: Problem, aim: Aim, fit: WeightedFit) -> tuple[WeightedFit, bool]:
        """Single moves, where wanted and possible; for a goal, only if they bring it nearer or make it cheaper."""
        wanted = aim.is_goal if self.polish == "auto" else bool(self.polish)
        small = problem.sweep.n_samples <= _LARGEST_POLISHED or self.polish is True
        objective = problem.objective
        sweep = problem.sweep
        if not isinstance(objective, Polishable) or sweep.is_weighted or self.assignments == "soft":
            return fit, False
        if not wanted or not small or not aim.may_be_polished or not isinstance(sweep, InMemorySweep):
            return fit, False
        result, is_optimal = polish(objective, sweep, *problem.fairness.weighted(fit.weights), fit.result)
        polished = WeightedFit(result, fit.weights, fit.n_sweeps)
        if aim.is_goal and aim.rank(problem, fit) < aim.rank(problem, polished):
            return fit, False
        return polished, is_optimal

    def fit_predict(
        self, X: Any, y: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> IntArray:
        """Fit, and return the labels."""
        labels: IntArray = self.fit(X, sensitive_features=sensitive_features, sample_weight=sample_weight).labels_
        return labels

    def _checked(self) -> tuple[Solver, Settings, int]:
        """Check the parameters that need no data: solver, settings and number of starts."""
        checks.check_goals(
            self.fairness_weight, self.max_fairness_error, self.min_balance, self.max_cost_increase, self.bounds
        )
        if self.polish not in (True, False, "auto"):
            raise InvalidInputError(f"polish={self.polish!r}, but True, False or 'auto' is needed.")
        return self._solver(), self._settings(), self._n_starts()

    def _problem(
        self, X: Any, sensitive_features: Any, sample_weight: Any
    ) -> tuple[Problem, Population, list[FloatArray]]:
        """Check everything, then put the parts together: the problem, its groups, and where to start."""
        solver, settings, n_starts = self._checked()
        blocks = as_blocks(X, self.n_clusters)
        if blocks is not None:
            return self._streamed_problem(blocks, sensitive_features, sample_weight, solver, settings)
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C")
        n_clusters = checks.check_n_clusters(self.n_clusters, len(X))
        weights = (
            None
            if sample_weight is None
            else _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        )
        population = self._population(sensitive_features, len(X), weights)
        checks.check_distinct_rows(X, n_clusters)
        random_state = check_random_state(self.random_state)
        n_candidates = n_starts * CANDIDATES_PER_START if is_worth_racing(len(X), n_starts) else n_starts
        starts = starting_centers(X, n_clusters, self.init, random_state, weights, n_candidates)
        _say_if_slow()
        cells = population.cells
        layout = build_layout(cells.codes, cells.n_cells)
        sweep = InMemorySweep(
            layout,
            n_clusters,
            None if weights is None else layout.to_visiting_order(weights),
            checks.resolve_threads(self.n_jobs),
        )
        problem = self._assembled(self._objective(X, weights), sweep, population, solver, settings)
        return problem, population, starts

    def _assembled(
        self, objective: Objective, sweep: DataSweep, population: Population, solver: Solver, settings: Settings
    ) -> Problem:
        fairness = representation(population.attributes.parts, population.cells.membership)
        bounds = self._size_bounds(sweep.n_samples, sweep.total, sweep.n_clusters)
        if bounds is not None:
            every = np.full(sweep.n_clusters, sweep.total)
            fairness = fairness.with_sizes(SizeFairness(bounds.lower * every, bounds.upper * every))
        weights = self._attribute_weights(population.attributes)
        return Problem(objective, sweep, fairness, solver, settings, attribute_weights=weights)

    def _streamed_problem(
        self, blocks: Blocks, sensitive_features: Any, sample_weight: Any, solver: Solver, settings: Settings
    ) -> tuple[Problem, Population, list[FloatArray]]:
        """The same for data in blocks, which are never in memory as a whole."""
        self._check_streamed()
        data = open_blocks(blocks, sensitive_features, sample_weight, checks.resolve_threads(self.n_jobs))
        n_clusters, n_starts = checks.check_n_clusters(self.n_clusters, data.n_samples), self._n_starts()
        # Everyone of a kind is alike, so one of each stands for all, with their weight.
        population = self._population(data.kinds, len(data.cells), data.kind_masses)
        data = data.with_cells(population.cells)
        sweep = StreamedSweep(data, n_clusters, blocks.labels_to)
        n_candidates = n_starts * CANDIDATES_PER_START if is_worth_racing(data.n_samples, n_starts) else n_starts
        random_state = check_random_state(self.random_state)
        starts = streamed_starts(sweep, self.init, n_candidates, random_state, sampling_step(sweep, solver, settings))
        _say_if_slow()
        self.n_features_in_ = data.n_features
        if blocks.feature_names is not None:
            self.feature_names_in_ = np.array(blocks.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self._assembled(self._streamed_objective(data), sweep, population, solver, settings), population, starts

    def _check_streamed(self) -> None:
        """Refuse what cannot be done block by block."""
        raise InvalidInputError(
            f"{type(self).__name__} needs X in memory: its objective cannot be computed block by block. "
            "Pass an array, for example of a sample of the rows, or use FairKMeans."
        )

    def _streamed_objective(self, data: BlockData) -> Objective:
        raise NotImplementedError

    def _solver(self) -> Solver:
        checks.check_choice("solver", self.solver, ("dual", "bound"))
        lipschitz = checks.check_number("lipschitz", self.lipschitz, lowest=0.0, above=True)
        return Dual() if self.solver == "dual" else Bound(lipschitz)

    def _settings(self) -> Settings:
        return Settings(
            max_iter=checks.check_count("max_iter", self.max_iter),
            tol=checks.check_number("tol", self.tol, lowest=0.0),
            assignments=checks.check_choice("assignments", self.assignments, ("hard", "soft")),
            on_iteration=_print_iteration if self.verbose else None,
        )

    def _n_starts(self) -> int:
        if isinstance(self.n_init, str) and self.n_init == "auto":
            return 10 if callable(self.init) or (isinstance(self.init, str) and self.init == "random") else 1
        n_init = checks.check_count("n_init", self.n_init)
        return 1 if not isinstance(self.init, str) and not callable(self.init) else n_init

    def _population(self, sensitive_features: Any, n_samples: int, weights: FloatArray | None) -> Population:
        options = Options(self.intersections, self.missing_groups, self.quantile_bins)
        if sensitive_features is None:
            return everyone(n_samples)
        table = as_table(sensitive_features, "sensitive_features")
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
                f"sensitive_features has one group only ({attributes.names[0]!r}), so every clustering has the right "
                "make-up: this is plain clustering.",
                FairclustWarning,
                stacklevel=4,
            )
        return population

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

    def _store(self, problem: Problem, attributes: Attributes, fit: WeightedFit) -> None:
        result, masses, fairness = fit.result, fit.result.masses, problem.fairness
        errors = fairness.errors(masses)
        sizes = masses.sum(axis=1, keepdims=True)
        self.labels_ = problem.sweep.user_labels(result.labels)
        self._store_parameters(result.parameters)
        self._attributes = attributes
        self._total_weight = problem.sweep.total
        self._column_prices = fairness.column_prices(result.state.price)
        self.prices_ = self._column_prices[:, attributes.group_columns]
        n_columns = sum(attribute.n_columns for attribute in attributes)
        self.size_prices_ = self._column_prices[:, n_columns:].sum(axis=1)
        self._column_prices = self._column_prices[:, :n_columns]
        self.cluster_sizes_ = sizes[:, 0]
        self.temperature_ = 1.0 / result.state.scale
        self.objective_ = result.objective
        self.energy_ = result.energy
        self.energy_history_ = result.energy_history
        self.fairness_error_ = float(errors.sum())
        self.max_fairness_error_ = float(errors.max())
        self.fairness_errors_ = errors
        self.proportions_ = fairness.proportions(masses)
        self.balance_ = float(fairness.balances(masses).min())
        self.attribute_names_ = np.array([attribute.name for attribute in attributes])
        self.group_names_ = attributes.names
        self.group_attributes_ = np.repeat(self.attribute_names_, [attribute.n_groups for attribute in attributes])
        self.target_proportions_ = attributes.target
        weights = fit.weights[:, : len(attributes)]
        self.fairness_weight_ = float(weights.max())
        self.cluster_weights_ = weights[:, 0] if len(attributes) == 1 else weights
        self.n_iter_ = result.n_iter
        self.n_sweeps_ = fit.n_sweeps
        self.stop_reason_ = result.stop_reason
        self._tell_sizes(problem)
        n_empty = int((sizes <= 0).sum())
        if n_empty:
            warnings.warn(
                f"{n_empty} of {len(sizes)} clusters are empty: fewer than n_clusters={len(sizes)} rows with weight "
                "differ. Use fewer clusters.",
                EmptyClusterWarning,
                stacklevel=3,
            )

    def _tell_sizes(self, problem: Problem) -> None:
        bounds = self._size_bounds(problem.sweep.n_samples, problem.sweep.total, problem.sweep.n_clusters)
        if bounds is not None and not bounds.are_kept(self.cluster_sizes_[:, None]):
            warnings.warn(
                f"The clusters have sizes from {self.cluster_sizes_.min():g} to {self.cluster_sizes_.max():g}, but "
                f"min_cluster_size={getattr(self, 'min_cluster_size', None)!r} and "
                f"max_cluster_size={getattr(self, 'max_cluster_size', None)!r} were asked for. Allow more, or use "
                "fewer clusters.",
                ClusterSizeWarning,
                stacklevel=4,
            )

    def _store_parameters(self, parameters: FloatArray) -> None:
        raise NotImplementedError


class PrototypeClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FairClusterer):  # type: ignore[misc]
    """Estimators whose clusters have centres: new rows can be labelled."""

    __metadata_request__predict = {"sensitive_features": True}  # noqa: RUF012
    __metadata_request__predict_proba = {"sensitive_features": True}  # noqa: RUF012

    cluster_centers_: FloatArray

    def _store_parameters(self, parameters: FloatArray) -> None:
        self.cluster_centers_ = parameters

    def fit_transform(
        self, X: Any, y: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> FloatArray:
        """Fit, and return the distances to the centres."""
        return self.fit(X, sensitive_features=sensitive_features, sample_weight=sample_weight).transform(X)

    def predict(self, X: Any, sensitive_features: Any = None) -> IntArray:
        """Label new rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        sensitive_features : as for :meth:`fit`, or None
            Groups of each row: the fitted prices then apply, so that a new sample of the same population comes out
            close to the target. None: the nearest centre. A group that fit() did not see is an error, unless
            ``unknown_groups="nearest"``.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        sweep, price = self._sweep_for(X, sensitive_features)
        sweep.assign(price)
        return sweep.layout.to_user_order(sweep.labels)

    def predict_batch(
        self, X: Any, sensitive_features: Any, *, sample_weight: Any = None, target: str = "fitted"
    ) -> IntArray:
        """Label a batch of new rows so that the goal of the fit holds on the batch itself.

        :meth:`predict` labels each row by itself, with prices that suit the people of the fit: a batch of the same
        population comes out close to the target, not exactly at it. Here the centres stay and the prices are found
        anew, for all rows of the batch together; with ``max_fairness_error=0`` counts are exact up to rounding.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        sensitive_features : as for :meth:`fit`
        sample_weight : array-like of shape (n_samples,) or None
        target : {"fitted", "batch"}, default="fitted"
            What shares are wanted: those of the fit, or the batch's own. A batch whose shares are too far from those
            of the fit cannot meet the goal with "fitted"; a :class:`FairnessGoalMissed` warning says so.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Clusters that no row of the batch is near to may stay empty; the goal then holds in the others.
        """
        checks.check_choice("target", target, ("fitted", "batch"))
        X = self._validated(X)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        cells = self._cells_of(X, sensitive_features)
        attributes = self._attributes if target == "fitted" else self._attributes.reshared(cells, weights)
        centers = np.ascontiguousarray(self.cluster_centers_, dtype=X.dtype)
        price = self._column_prices @ cells.membership.T + self.size_prices_[:, None] * cells.is_known
        used = np.arange(len(centers))
        while True:
            problem = self._batch_problem(X, cells, weights, attributes, centers[used], used)
            if len(used) == len(centers):  # clusters that nobody is near to take no part
                problem.objective.fill(problem.sweep, centers)
                sizes = problem.sweep.assign(price).masses.sum(axis=1)
            else:
                sizes = np.ones(len(used))
            if (sizes > 0).all():
                aim = self._fairness_aim(problem, attributes)
                with _blas().limit(limits=1, user_api="blas"):
                    fit = aim.fit(problem, centers[used])
                sizes = fit.result.masses.sum(axis=1)
                if (sizes > 0).all():
                    break
            used = used[sizes > 0]
        if aim.is_goal and not aim.is_met(problem, fit):
            warnings.warn(aim.missed(problem, fit), FairnessGoalMissed, stacklevel=2)
        return used[problem.sweep.user_labels(fit.result.labels)].astype(np.int32)

    def _batch_problem(
        self,
        X: FloatArray,
        cells: Cells,
        weights: FloatArray | None,
        attributes: Attributes,
        centers: FloatArray,
        used: IntArray,
    ) -> Problem:
        """The problem of labelling new rows by known centres, those in use."""
        layout = build_layout(cells.codes, cells.n_cells)
        sweep = InMemorySweep(
            layout,
            len(used),
            None if weights is None else layout.to_visiting_order(np.asarray(weights, dtype=np.float64)),
            checks.resolve_threads(self.n_jobs),
        )
        parts = [(wanted if wanted.ndim == 1 else wanted[used], overlaps) for wanted, overlaps in attributes.parts]
        return Problem(
            FixedObjective(self._objective(X, weights), centers),
            sweep,
            representation(parts, cells.membership),
            self._solver(),
            self._settings(),
            share=sweep.total / self._total_weight,
            attribute_weights=self._attribute_weights(attributes),
        )

    def predict_proba(self, X: Any, sensitive_features: Any = None) -> FloatArray:
        """Soft assignments softmax(−(cost + price)/temperature_) of new rows, shape (n_samples, n_clusters).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        sensitive_features : as for :meth:`fit`, or None
            As for :meth:`predict`.

        Returns
        -------
        assignments : ndarray of shape (n_samples, n_clusters)
            Rows sum to 1.
        """
        sweep, price = self._sweep_for(X, sensitive_features)
        scale = 1.0 / self.temperature_
        return sweep.soft_rows(State(scale, price * scale))

    def transform(self, X: Any) -> FloatArray:
        """Euclidean distances to the centres, shape (n_samples, n_clusters)."""
        distances: FloatArray = euclidean_distances(self._validated(X), self.cluster_centers_)
        return distances

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the sum of squared distances to the nearest centre: larger is better."""
        X = self._validated(X)
        nearest = self.transform(X).min(axis=1) ** 2
        return -float(nearest.sum() if sample_weight is None else nearest @ _check_sample_weight(sample_weight, X))

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def _validated(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        validated: FloatArray = validate_data(self, X, dtype=[np.float64, np.float32], order="C", reset=False)
        return validated

    def _sweep_for(self, X: Any, sensitive_features: Any) -> tuple[InMemorySweep, FloatArray]:
        """A sweep over new rows with the fitted centres, and the prices that apply."""
        X = self._validated(X)
        if sensitive_features is None:
            cells = everyone(len(X)).cells
            price = np.zeros((len(self.cluster_centers_), 1))
        else:
            cells = self._cells_of(X, sensitive_features)
            price = self._column_prices @ cells.membership.T + self.size_prices_[:, None] * cells.is_known
        sweep = InMemorySweep(
            build_layout(cells.codes, cells.n_cells), len(price), n_threads=checks.resolve_threads(self.n_jobs)
        )
        self._objective(X, None).fill(sweep, np.ascontiguousarray(self.cluster_centers_, dtype=X.dtype))
        return sweep, price

    def _cells_of(self, X: FloatArray, sensitive_features: Any) -> Cells:
        """Cells of new people. One with a group that was never seen is a member of nothing, and so pays no price."""
        checks.check_choice("unknown_groups", self.unknown_groups, ("error", "nearest"))
        table = read_table(sensitive_features)
        checks.check_same_length("sensitive_features", table.columns[0], len(X))
        cells = self._attributes.encode(table)
        if not cells.is_known.all() and self.unknown_groups == "error":
            raise InvalidInputError(
                f"{self._attributes.unknown(table)} Drop these rows, or use unknown_groups='nearest' to send them to "
                "the nearest centre."
            )
        return replace(cells, membership=cells.membership * cells.is_known[:, None])


@cache
def _blas() -> ThreadpoolController:
    """The BLAS libraries of this process: found once, as looking takes as long as a small fit."""
    return ThreadpoolController()


def _print_iteration(n_iter: int, energy: float) -> None:
    print(f"iteration {n_iter}: energy {energy:.6g}", flush=True)


def _say_if_slow() -> None:
    global _said_slow
    if not is_compiled and not _said_slow:
        _said_slow = True
        warnings.warn(
            "fairclust's compiled kernels are absent, so NumPy does the work: same results, slower. "
            "Install a C++ compiler and reinstall fairclust to get them.",
            SlowKernelsWarning,
            stacklevel=3,
        )


def check_no_exact_counts(model: FairClusterer) -> None:
    """Refuse exact proportions of data in blocks: single rows would have to be moved."""
    goals = (model.min_balance, model.max_cost_increase, model.bounds)
    if model.fairness_weight == "auto" and model.max_fairness_error == 0 and all(goal is None for goal in goals):
        raise InvalidInputError(
            "max_fairness_error=0 asks for exact counts, which needs X in memory. Ask for 0.0001, or pass an array."
        )
