"""What the estimators share: check, build the parts, fit, store. Everything they do a plain function does."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .. import checks
from .._core import is_compiled
from .._typing import FloatArray, IntArray
from ..errors import (
    EmptyClusterWarning,
    FairclustWarning,
    FairnessGoalMissed,
    InvalidInputError,
    SlowKernelsWarning,
)
from ..fairness import KLFairness, cluster_balances
from ..fitting import Settings, sampling_step
from ..goals import Bounds, MaxFairnessError, MinBalance
from ..groups import Groups, encode_groups, encode_with_names, to_column
from ..layout import build_layout
from ..objectives import Objective
from ..polishing import Polishable, polish
from ..problem import Problem, WeightedFit
from ..restarts import CANDIDATES_PER_START, best_of, is_worth_racing
from ..scaling import as_blocks, streamed_parts
from ..search import Aim, CostAim, GoalAim, WeightAim
from ..seeding import starting_centers
from ..solvers import Bound, Dual, Solver
from ..sweep import InMemorySweep, State

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

    def _start(
        self, X: FloatArray, n_clusters: int, random_state: np.random.RandomState, weights: FloatArray | None
    ) -> FloatArray:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers; float32 stays float32. Data frames are fine. No scaling is needed, though features with large
            values weigh more.
        y : ignored
        sensitive_features : array-like of shape (n_samples,) or None
            Group of each row. None: plain clustering.
        sample_weight : array-like of shape (n_samples,) or None
            Weight of each row; 2 is the same as the row twice.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        problem, groups, starts = self._problem(X, sensitive_features, sample_weight)
        aim = self._aim(problem, groups)
        fit = best_of(problem, starts, self._n_starts(), aim.fit, aim.rank)
        fit, self.polished_ = self._polish(problem, aim, fit)
        self._store(problem, groups, fit)
        self.fairness_goal_met_ = aim.is_met(problem, fit)
        if aim.is_goal and not self.fairness_goal_met_:
            warnings.warn(aim.missed(problem, fit), FairnessGoalMissed, stacklevel=2)
        return self

    def _path_start(self, X: Any, sensitive_features: Any, sample_weight: Any) -> tuple[Problem, Groups, FloatArray]:
        """The problem and the parameters that a path starts from: those of the best plain clustering."""
        if as_blocks(X, self.n_clusters) is not None:
            raise InvalidInputError(
                "fairness_path needs X in memory. Pass an array, for example of a sample of the rows."
            )
        problem, groups, starts = self._problem(X, sensitive_features, sample_weight)
        if len(starts) == 1:
            return problem, groups, starts[0]
        aim = WeightAim(0.0, MaxFairnessError(problem.fairness, self.max_fairness_error))
        plain = best_of(problem, starts, self._n_starts(), aim.fit, aim.rank)
        return problem, groups, plain.result.parameters

    def _aim(self, problem: Problem, groups: Groups) -> Aim:
        """What to fit for: a weight, or a goal."""
        weight = checks.check_fairness_weight(self.fairness_weight, self.max_fairness_error)
        fairness = problem.fairness
        if groups.n_groups == 1:
            return WeightAim(0.0, MaxFairnessError(fairness, self.max_fairness_error))
        if weight is not None:
            return WeightAim(weight, MaxFairnessError(fairness, self.max_fairness_error))
        if self.max_cost_increase is not None:
            return CostAim(float(self.max_cost_increase))
        if self.min_balance is not None:
            return GoalAim(MinBalance(fairness, float(self.min_balance)), groups.names)
        if self.bounds is not None:
            return GoalAim(
                Bounds(fairness, *checks.check_bounds(self.bounds, groups.names, groups.target)), groups.names
            )
        exactly = self.max_fairness_error == 0 and not problem.sweep.is_weighted
        return GoalAim(MaxFairnessError(fairness, self.max_fairness_error), groups.names, exactly)

    def _polish(self, problem: Problem, aim: Aim, fit: WeightedFit) -> tuple[WeightedFit, bool]:
        """Single moves, where they are wanted, possible, and do not cost the goal."""
        wanted = aim.is_goal if self.polish == "auto" else bool(self.polish)
        small = problem.sweep.n_samples <= _LARGEST_POLISHED or self.polish is True
        objective = problem.objective
        sweep = problem.sweep
        if not isinstance(objective, Polishable) or sweep.is_weighted or self.assignments == "soft":
            return fit, False
        if not wanted or not small or not aim.may_be_polished or not isinstance(sweep, InMemorySweep):
            return fit, False
        result, is_optimal = polish(objective, sweep, problem.fairness, fit.weights, fit.result)
        polished = WeightedFit(result, fit.weights, fit.n_sweeps)
        if aim.is_goal and aim.is_met(problem, fit) and not aim.is_met(problem, polished):
            return fit, False
        return polished, is_optimal

    def fit_predict(
        self, X: Any, y: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> IntArray:
        """Fit, and return the labels."""
        labels: IntArray = self.fit(X, sensitive_features=sensitive_features, sample_weight=sample_weight).labels_
        return labels

    def _problem(self, X: Any, sensitive_features: Any, sample_weight: Any) -> tuple[Problem, Groups, list[FloatArray]]:
        """Check everything, then put the parts together: the problem, its groups, and where to start."""
        checks.check_goals(
            self.fairness_weight, self.max_fairness_error, self.min_balance, self.max_cost_increase, self.bounds
        )
        if self.polish not in (True, False, "auto"):
            raise InvalidInputError(f"polish={self.polish!r}, but True, False or 'auto' is needed.")
        solver, settings, n_starts = self._solver(), self._settings(), self._n_starts()
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
        groups = self._groups(sensitive_features, len(X), weights)
        checks.check_distinct_rows(X, n_clusters)
        random_state = check_random_state(self.random_state)
        n_candidates = n_starts * CANDIDATES_PER_START if is_worth_racing(len(X), n_starts) else n_starts
        starts = [self._start(X, n_clusters, random_state, weights) for _ in range(n_candidates)]
        _say_if_slow()
        layout = build_layout(groups.codes, groups.n_groups)
        sweep = InMemorySweep(
            layout,
            n_clusters,
            None if weights is None else layout.to_visiting_order(weights),
            checks.resolve_threads(self.n_jobs),
        )
        problem = Problem(self._objective(X, weights), sweep, KLFairness(groups.target), solver, settings)
        return problem, groups, starts

    def _streamed_problem(
        self, blocks: Any, sensitive_features: Any, sample_weight: Any, solver: Solver, settings: Settings
    ) -> tuple[Problem, Groups, list[FloatArray]]:
        """The same for data in blocks, which are never in memory as a whole."""
        self._check_streamed()
        n_starts = self._n_starts()
        parts = streamed_parts(
            blocks,
            sensitive_features,
            sample_weight,
            n_clusters=self.n_clusters,
            target_proportions=self.target_proportions,
            init=self.init,
            n_starts=n_starts * CANDIDATES_PER_START if n_starts > 1 else 1,
            random_state=check_random_state(self.random_state),
            n_threads=checks.resolve_threads(self.n_jobs),
            first_step=lambda sweep: sampling_step(sweep, solver, settings),
        )
        _say_if_slow()
        self.n_features_in_ = parts.data.n_features
        if blocks.feature_names is not None:
            self.feature_names_in_ = np.array(blocks.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        problem = Problem(parts.objective, parts.sweep, KLFairness(parts.groups.target), solver, settings)
        return problem, parts.groups, parts.starts

    def _check_streamed(self) -> None:
        """Refuse what cannot be done block by block."""
        raise InvalidInputError(
            f"{type(self).__name__} needs X in memory: its objective cannot be computed block by block. "
            "Pass an array, for example of a sample of the rows, or use FairKMeans."
        )

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

    def _groups(self, sensitive_features: Any, n_samples: int, weights: FloatArray | None) -> Groups:
        if sensitive_features is None:
            return Groups(np.zeros(n_samples, dtype=np.int32), np.array(["all"]), np.ones(1))
        values = to_column(sensitive_features)
        checks.check_same_length("sensitive_features", values, n_samples)
        groups = encode_groups(values, target_proportions=self.target_proportions, weights=weights)
        if groups.n_groups == 1:
            warnings.warn(
                f"sensitive_features has one group only ({groups.names[0]!r}), so every clustering has the right "
                "make-up: this is plain clustering.",
                FairclustWarning,
                stacklevel=4,
            )
        return groups

    def _store(self, problem: Problem, groups: Groups, fit: WeightedFit) -> None:
        result, masses = fit.result, fit.result.masses
        errors = problem.fairness.value(masses)
        sizes = masses.sum(axis=1, keepdims=True)
        self.labels_ = problem.sweep.user_labels(result.labels)
        self._store_parameters(result.parameters)
        self.prices_ = result.state.price
        self.temperature_ = 1.0 / result.state.scale
        self.objective_ = result.objective
        self.energy_ = result.energy
        self.energy_history_ = result.energy_history
        self.fairness_error_ = float(errors.sum())
        self.max_fairness_error_ = float(errors.max())
        self.proportions_ = np.divide(masses, sizes, out=np.zeros_like(masses), where=sizes > 0)
        self.balance_ = float(cluster_balances(masses).min())
        self.group_names_ = groups.names
        self.target_proportions_ = groups.target
        self.fairness_weight_ = float(fit.weights.max())
        self.cluster_weights_ = fit.weights
        self.n_iter_ = result.n_iter
        self.n_sweeps_ = fit.n_sweeps
        self.stop_reason_ = result.stop_reason
        n_empty = int((sizes <= 0).sum())
        if n_empty:
            warnings.warn(
                f"{n_empty} of {len(sizes)} clusters are empty: fewer than n_clusters={len(sizes)} rows with weight "
                "differ. Use fewer clusters.",
                EmptyClusterWarning,
                stacklevel=3,
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

    def _start(
        self, X: FloatArray, n_clusters: int, random_state: np.random.RandomState, weights: FloatArray | None
    ) -> FloatArray:
        return starting_centers(X, n_clusters, self.init, random_state, weights)

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
        sensitive_features : array-like of shape (n_samples,) or None
            Group of each row: the fitted prices then apply, so that a new sample of the same population comes out
            close to the target. None: the nearest centre.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        sweep, price = self._sweep_for(X, sensitive_features)
        sweep.assign(price)
        return sweep.layout.to_user_order(sweep.labels)

    def predict_proba(self, X: Any, sensitive_features: Any = None) -> FloatArray:
        """Soft assignments softmax(−(cost + price)/temperature_) of new rows, shape (n_samples, n_clusters).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        sensitive_features : array-like of shape (n_samples,) or None
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
        price = self.prices_
        if sensitive_features is None:
            codes, price = np.zeros(len(X), dtype=np.int32), np.zeros((len(price), 1))
        else:
            values = to_column(sensitive_features)
            checks.check_same_length("sensitive_features", values, len(X))
            codes = encode_with_names(values, self.group_names_)
        sweep = InMemorySweep(
            build_layout(codes, price.shape[1]), len(price), n_threads=checks.resolve_threads(self.n_jobs)
        )
        self._objective(X, None).fill(sweep, np.ascontiguousarray(self.cluster_centers_, dtype=X.dtype))
        return sweep, price


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
