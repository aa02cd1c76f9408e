"""What the estimators share: fit for what was asked, store. Everything they do a plain function does."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from .._fit.aims import Aim, WeightAim
from .._fit.path import PathStart
from .._fit.problem import Problem, WeightedFit
from .._fit.restarts import best_of
from .._goals.goals import MaxFairnessError
from .._people.attributes import Attributes, Population
from .._people.columns import looks_like_groups
from .._typing import FloatArray, IntArray
from ..errors import EmptyClusterWarning, FairnessGoalMissed, InvalidInputError, NoGroupsWarning
from ..scaling import as_blocks
from ._asking import Asking
from ._machine import one_blas_thread
from ._plain import ComparedToPlain
from ._saving import Savable
from ._showing import fitted_html

_LARGEST_POLISHED = 100_000  # rows; polishing more takes longer than fitting them


class FairClusterer(ClusterMixin, Savable, ComparedToPlain, Asking):  # type: ignore[misc]
    """What all fair estimators share. A subclass says what its objective is and where to start."""

    # Class-level requests: with metadata routing on, sensitive_features travels through a Pipeline by itself.
    __metadata_request__fit = {"sensitive_features": True}  # noqa: RUF012 - scikit-learn reads a plain dict

    moves_clusters = True  # whether fits begin with moves of whole clusters; studies of many fits do without

    def fit(self, X: Any, y: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers; float32 stays float32. Data frames are fine. No scaling is needed, though features with large
            values weigh more.
        y : ignored
            Groups go to ``sensitive_features``.
        sensitive_features : column, data frame, 2-D array, dict of columns or None
            Group of each row: one column per attribute. A boolean table with several columns is a membership matrix:
            a column per group, and a row may be in several groups or in none. None: plain clustering, of which nothing
            is said about fairness (its scores are NaN), with a :class:`NoGroupsWarning` unless ``fairness_weight=0``.
        sample_weight : array-like of shape (n_samples,) or None
            Weight of each row; 2 is the same as the row twice, 0 the same as no row but for its label.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        problem, population, starts = self._problem(X, sensitive_features, sample_weight)
        attributes, has_groups = population.attributes, population.has_groups
        del population  # and with it a code per row: the problem has its own
        for name in ("plain_", "moves_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if not has_groups and self.fairness_weight != 0:
            warnings.warn(_no_groups(self.fairness_weight, y), NoGroupsWarning, stacklevel=2)
        aim = self._aim(problem, attributes)
        with one_blas_thread():
            fit = best_of(problem, starts, self._n_starts(), aim, with_moves=self.moves_clusters)
            fit, self.polished_ = self._polish(problem, aim, fit)
            fit = aim.proved(problem, fit)
        problem.sweep.forget()  # what is told of a fit needs no point costs
        self._store(problem, attributes, fit)
        self.fairness_goal_met_ = aim.is_met(problem, fit)
        if aim.is_goal and not self.fairness_goal_met_:
            warnings.warn(aim.missed(problem, fit), FairnessGoalMissed, stacklevel=2)
        if not has_groups:
            self._forget_fairness()
        return self

    @property
    def attributes_(self) -> Attributes:
        """How sensitive columns became groups: names, targets, and the cells of other people by ``encode``."""
        check_is_fitted(self)
        return self._attributes

    def _html_repr(self) -> str:
        """What a notebook shows: scikit-learn's diagram, and the clusters once they are fitted."""
        return str(super()._html_repr()) + fitted_html(self)

    def _repr_html_inner(self) -> str:
        """What notebooks ask for: up to scikit-learn 1.6 the diagram itself, which later is the one above."""
        has_own = hasattr(super(), "_html_repr")
        return self._html_repr() if has_own else str(super()._repr_html_inner()) + fitted_html(self)

    def path_start(self, X: Any, sensitive_features: Any, sample_weight: Any = None) -> PathStart:
        """What :func:`fairclust.fairness_path` begins with: the problem, and the best plain clustering.

        Parameters
        ----------
        X, sensitive_features, sample_weight
            As for :meth:`fit`; X in memory.

        Returns
        -------
        start : PathStart
            The problem, the attributes, and the parameters (centres, or labels for Ncut) of the plain clustering.
        """
        if as_blocks(X, self.n_clusters) is not None:
            raise InvalidInputError(
                "fairness_path needs X in memory. Pass an array, for example of a sample of the rows."
            )
        problem, population, starts = self._problem(X, sensitive_features, sample_weight)
        if len(starts) == 1:
            return PathStart(problem, population.attributes, starts[0])
        aim = WeightAim(0.0, MaxFairnessError(problem.fairness, self.max_fairness_error))
        plain = best_of(problem, starts, self._n_starts(), aim)
        return PathStart(problem, population.attributes, plain.result.parameters)

    def _polish(self, problem: Problem, aim: Aim, fit: WeightedFit) -> tuple[WeightedFit, bool]:
        """Single moves, where wanted and possible."""
        wanted = aim.is_goal or _is_worth_polishing(problem, fit) if self.polish == "auto" else bool(self.polish)
        sweep = problem.sweep
        is_small = sweep.n_samples <= _LARGEST_POLISHED or self.polish is True
        can_be = problem.objective.can_polish and sweep.can_move_points and not sweep.is_weighted
        if not wanted or not is_small or not can_be or not problem.settings.assignments.are_hard:
            return fit, False
        return aim.polished(problem, fit)

    def fit_predict(
        self, X: Any, y: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> IntArray:
        """Fit, and return the labels."""
        labels: IntArray = self.fit(X, y, sensitive_features=sensitive_features, sample_weight=sample_weight).labels_
        return labels

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
        weights = fit.fairness_weights[:, : len(attributes)]
        self.fairness_weight_ = float(weights.max())
        self.cluster_weights_ = weights[:, 0] if len(attributes) == 1 else weights
        self.lower_bound_ = result.lower_bound
        self.assignment_gap_ = (
            1.0 - result.lower_bound / result.objective if result.objective > 0 else result.lower_bound
        )
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

    def _problem(
        self, X: Any, sensitive_features: Any, sample_weight: Any
    ) -> tuple[Problem, Population, list[FloatArray]]:
        """Check everything, then put the parts together: the problem, its groups, and where to start."""
        raise NotImplementedError

    def _forget_fairness(self) -> None:
        """Without groups nothing is known about fairness: no score is perfect, and no goal is met."""
        self.fairness_error_ = self.max_fairness_error_ = self.balance_ = float("nan")
        self.fairness_errors_ = np.full_like(self.fairness_errors_, np.nan)
        self.fairness_goal_met_ = False

    def _store_parameters(self, parameters: FloatArray) -> None:
        raise NotImplementedError


def _no_groups(fairness_weight: Any, y: Any) -> str:
    """Say that there are no groups, and where they seem to have gone."""
    what = "A goal is" if fairness_weight == "auto" else f"fairness_weight={fairness_weight!r} is"
    lost = looks_like_groups(y)
    where = f"y is ignored; it holds {lost}: pass it as sensitive_features=. " if lost else "Pass sensitive_features=. "
    return (
        f"{what} asked for, but no groups are given, so this is plain clustering and nothing is known about its "
        f"fairness. {where}For plain clustering, say fairness_weight=0."
    )


def _is_worth_polishing(problem: Problem, fit: WeightedFit) -> bool:
    """Whether, at a weight, a cluster lacks a group: the few people it needs are no tie that prices could settle.

    The paper's algorithm is left as it is.
    """
    is_weighted = bool(fit.fairness_weights.any()) and not problem.solver.rests_on_energy
    return is_weighted and problem.fairness.lacks_a_group(fit.result.masses)
