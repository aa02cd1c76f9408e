"""What the estimators share: read the request, fit, store. Everything they do a plain function does."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from .. import _checks as checks
from .._fit.fit import Fit, fit
from .._fit.points import Points
from .._fit.published import fit_as_published
from .._fit.request import Request, read_sizes
from .._fit.schedule import Schedule
from .._people.attributes import Attributes, Population, read_options
from .._people.columns import as_columns, listed, looks_like_groups
from .._people.encode import encode_people, everyone
from .._typing import FloatArray, IntArray
from ..errors import EmptyClusterWarning, FairclustWarning, FairnessGoalMissed, InvalidInputError, NoGroupsWarning
from ..goals import Attribute, Goal, MaxFairnessError, attributes_of, read_goal
from ..solvers import BoundOptimization, Dual, read_solver
from ._machine import one_blas_thread
from ._plain import ComparedToPlain
from ._saving import Savable
from ._showing import fitted_html

DEFAULT_GOAL = 0.01


@dataclass(frozen=True, eq=False)
class Problem:
    """What a fit needs: rows with their objective, who is in which group, and centres to start from."""

    points: Points
    population: Population
    starts: list[FloatArray]


class FairClusterer(ClusterMixin, Savable, ComparedToPlain):  # type: ignore[misc]
    """What all fair estimators share. A subclass says what its objective is and where to start."""

    # Class-level requests: with metadata routing on, sensitive_features travels through a Pipeline by itself.
    __metadata_request__fit = {"sensitive_features": True}  # noqa: RUF012 - scikit-learn reads a plain dict

    n_clusters: int
    goal: Any
    target_proportions: Any
    groups: Any
    solver: Any
    init: Any
    n_init: int | str
    max_iter: int
    tol: float
    random_state: Any
    n_jobs: int | None
    verbose: int | Callable[[int, float], None]

    _searches = True  # whether a fit looks for better places by splits and merges: not where it follows another one

    def fit(self, X: Any, y: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers; float32 stays float32. Data frames are fine. No scaling is needed, though features with large
            values weigh more.
        y : ignored
            Groups go to ``sensitive_features``.
        sensitive_features : column, data frame, 2-D array, dict of columns, names of columns of X, or None
            Group of each row: one column per attribute. A boolean table with several columns is a membership matrix:
            a column per group, and a row may be in several groups or in none. None: plain clustering, of which nothing
            is said about fairness (its scores are NaN), with a :class:`NoGroupsWarning` where a goal was asked for.
        sample_weight : array-like of shape (n_samples,) or None
            Weight of each row; 2 is the same as the row twice, 0 the same as no row but for its label.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        goal, solver = read_goal(self.goal), read_solver(self.solver)
        problem = self._problem(X, sensitive_features, sample_weight)
        request = self._request(problem, goal)
        self.__dict__.pop("moves_", None)  # of an earlier fit
        self.__dict__.pop("plain_", None)
        has_groups = problem.population.has_groups
        if not has_groups and self._asks_by_name(goal):
            warnings.warn(_no_groups(goal, y), NoGroupsWarning, stacklevel=2)
        with one_blas_thread():
            found = self._exact(problem, self._fitted(problem, request, solver))
        problem.points.rows.release()  # what is told of a fit needs no point costs
        self._store(problem, request, found)
        if has_groups and not self.goal_met_:
            warnings.warn(self._missed(request, found), FairnessGoalMissed, stacklevel=2)
        return self

    def fit_predict(
        self, X: Any, y: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> IntArray:
        """Fit, and return the labels."""
        labels: IntArray = self.fit(X, y, sensitive_features=sensitive_features, sample_weight=sample_weight).labels_
        return labels

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

    def _problem(self, X: Any, sensitive_features: Any, sample_weight: Any) -> Problem:
        """Check everything, then put the parts together."""
        raise NotImplementedError

    def _fitted(self, problem: Problem, request: Request, solver: Dual | BoundOptimization) -> Fit:
        """Run the fit."""
        max_iter = checks.check_count("max_iter", self.max_iter)
        tol = checks.check_number("tol", self.tol, lowest=0.0)
        told = self.verbose if callable(self.verbose) else _print_iteration if self.verbose else None
        if isinstance(solver, Dual):
            return fit(problem.points, request, problem.starts, self._schedule(solver), told)
        self._check_solver(request, solver)
        fits = [
            fit_as_published(
                problem.points, request, start, lipschitz=float(solver.lipschitz), soft=bool(solver.soft),
                max_iter=max_iter, tol=tol, budget=self._schedule(Dual()).published_budget, on_iteration=told,
            )
            for start in problem.starts
        ]  # fmt: skip
        return min(fits, key=lambda one: one.energy)

    def _check_solver(self, request: Request, solver: Dual | BoundOptimization) -> None:
        """Algorithm 1 minimises a penalty, and knows nothing else."""
        if isinstance(solver, Dual):
            return
        if request.goal is not None and request.attributes and request.goal.is_constraint:
            raise InvalidInputError(
                f"solver='bound' is Algorithm 1 of the paper, which minimises a penalty, but goal={request.goal}. Use "
                "goal=Penalty(weight), or solver='dual'."
            )
        if request.has_sizes:
            raise InvalidInputError("solver='bound' knows no bounds on sizes. Use solver='dual'.")

    def _exact(self, problem: Problem, found: Fit) -> Fit:
        """The fit with whatever is searched for once, at the end."""
        return found

    def _natural_weight(self, problem: Problem, plain: Fit) -> float:
        """A penalty of the right order: a cluster's fairness is worth moving its rows by their margin."""
        oracle = problem.points.oracle(plain.own_centers)
        weight = oracle.cell_totals.sum() * oracle.plain().margins.mean / oracle.n_clusters
        return max(float(weight), float(np.finfo(float).tiny ** 0.5))

    def _schedule(self, solver: Dual) -> Schedule:
        """How the fit searches."""
        max_iter = checks.check_count("max_iter", self.max_iter)
        tol = checks.check_number("tol", self.tol, lowest=0.0)
        local_search = None if solver.local_search == "auto" else bool(solver.local_search)
        schedule = Schedule().limited(max_iter, tol, solver.max_evaluations, local_search, self._n_starts())
        return schedule if self._searches else replace(schedule, patience=0)

    def _n_starts(self) -> int:
        if isinstance(self.n_init, str) and self.n_init == "auto":
            return 10 if callable(self.init) or (isinstance(self.init, str) and self.init == "random") else 1
        n_init = checks.check_count("n_init", self.n_init)
        return 1 if not isinstance(self.init, str) and not callable(self.init) else n_init

    def _asks_by_name(self, goal: Goal | None) -> bool:
        """Whether a goal was asked for that is not the default."""
        is_default = not isinstance(self.goal, Goal) and self.goal == DEFAULT_GOAL
        return goal is not None and not is_default and not goal.asks_nothing

    def _population(self, sensitive_features: Any, n_samples: int, weights: FloatArray | None) -> Population:
        """Who is in which group."""
        if sensitive_features is None:
            return everyone(n_samples)
        table = as_columns(sensitive_features, "sensitive_features")
        checks.check_same_length("sensitive_features", table.columns[0], n_samples)
        population = encode_people(
            table,
            options=read_options(self.groups),
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
        return population

    def _request(self, problem: Problem, goal: Goal | None) -> Request:
        """What the arguments ask of these people."""
        rows, attributes = problem.points.rows, problem.population.attributes
        person = 1.0 if not rows.is_weighted else self._largest_weight(rows)
        seen: tuple[Attribute, ...] = ()
        if problem.population.has_groups:
            seen = attributes_of(attributes, problem.population.cells.membership, person)
        if goal is not None:
            goal.check(seen)
        asked = None if attributes.is_trivial or not seen or (goal is not None and goal.asks_nothing) else goal
        sizes = {name: getattr(self, name, None) for name in ("cluster_sizes", "min_cluster_size", "max_cluster_size")}
        smallest, largest = read_sizes(rows.n_clusters, rows.total, rows.n_samples, rows.is_weighted, **sizes)
        return Request(rows.n_clusters, rows.cell_totals, seen, asked, smallest, largest, rows.is_weighted, person)

    def _largest_weight(self, rows: Any) -> float:
        weights = getattr(rows, "weights", None)
        return float(weights.max()) if weights is not None else rows.total / max(rows.n_samples, 1)

    def _missed(self, request: Request, found: Fit) -> str:
        """Say why a goal was missed, and how close it came."""
        close = request.missed(found.assigned.masses)
        if found.obstacle:
            return f"{found.obstacle} The clusters come as close as was found: {close}"
        return f"{close} Allow more, use fewer clusters, or let max_iter and n_init be larger."

    def _store(self, problem: Problem, request: Request, found: Fit) -> None:
        population, masses = problem.population, found.assigned.masses
        attributes, goal = population.attributes, read_goal(self.goal)
        sizes = masses.sum(axis=1)
        self.labels_ = problem.points.rows.user_labels(found.assigned.labels)
        self._store_centers(problem, found)
        self._attributes = attributes
        self._total_weight = float(sizes.sum())
        n_columns = sum(attribute.n_columns for attribute in attributes)
        prices = found.column_prices
        has_goal_prices = prices.shape[1] >= n_columns and request.goal is not None
        self._column_prices = prices[:, :n_columns] if has_goal_prices else np.zeros((len(masses), n_columns))
        rest = prices[:, n_columns:] if has_goal_prices else prices
        self.prices_ = self._column_prices[:, attributes.group_columns]
        self.size_prices_ = rest.sum(axis=1)
        self.cluster_sizes_ = sizes
        self.temperature_ = found.temperature
        self.objective_, self.energy_ = found.cost, found.energy
        self.energy_history_ = _falling(found.history, found.energy)
        self.n_iter_ = len(self.energy_history_)
        self.n_evaluations_ = found.n_evaluations
        self.stop_reason_ = found.stop_reason
        self.goal_ = goal
        self._store_fairness(request, attributes, population.has_groups, masses)
        self.goal_met_ = bool(found.is_met) and (goal is None or population.has_groups)
        self.lower_bound_ = found.lower_bound
        self.assignment_gap_ = 1.0 - found.lower_bound / found.cost if found.cost > 0 else found.lower_bound
        self._store_multipliers(request, goal, sizes)
        n_empty = int((sizes <= 0).sum())
        if n_empty:
            warnings.warn(
                f"{n_empty} of {len(sizes)} clusters are empty: fewer than n_clusters={len(sizes)} rows with weight "
                "differ. Use fewer clusters.",
                EmptyClusterWarning,
                stacklevel=3,
            )

    def _store_fairness(self, request: Request, attributes: Attributes, has_groups: bool, masses: FloatArray) -> None:
        """What is known of the groups in the clusters; without groups nothing is."""
        self.attribute_names_ = np.array([attribute.name for attribute in attributes])
        self.group_names_ = attributes.names
        self.group_attributes_ = np.repeat(self.attribute_names_, [attribute.n_groups for attribute in attributes])
        self.target_proportions_ = attributes.target
        if not has_groups:
            self.fairness_error_ = self.max_fairness_error_ = self.balance_ = float("nan")
            self.fairness_errors_ = np.full((len(masses), len(attributes)), np.nan)
            self.proportions_ = np.where(masses.sum(axis=1, keepdims=True) > 0, 1.0, 0.0)
            return
        kl = MaxFairnessError()
        shares = [attribute.shares(masses) for attribute in request.attributes]
        pairs = list(zip(shares, request.attributes, strict=True))
        self.fairness_errors_ = np.column_stack([kl.figure(own, attribute) for own, attribute in pairs])
        self.fairness_error_ = float(self.fairness_errors_.sum())
        self.max_fairness_error_ = float(self.fairness_errors_.max())
        self.proportions_ = np.hstack(shares)
        counts = [(masses @ a.membership)[:, : a.target.shape[-1]] for a in request.attributes]
        self.balance_ = min(
            float(_balances(own, a.target).min()) for own, a in zip(counts, request.attributes, strict=True)
        )

    def _store_multipliers(self, request: Request, goal: Goal | None, sizes: FloatArray) -> None:
        """What the goal's constraint is worth in each cluster; of a penalty, its weight."""
        n_attributes = max(len(request.attributes), 1)
        weights, first = np.zeros((len(sizes), n_attributes)), 0
        for i, attribute in enumerate(request.attributes):
            own = self._column_prices[:, first : first + attribute.membership.shape[1]]
            first += attribute.membership.shape[1]
            spread = np.ptp(own, axis=1)
            # Prices that differ by less than a small part of a margin bind nobody.
            weights[:, i] = np.where(spread > 0.02 * self.temperature_, spread, 0.0) * sizes
        penalties = [getattr(t, "weight", 0.0) for t in request.subproblem.terms][: len(request.attributes)]
        is_soft = request.goal is not None and not request.goal.is_constraint
        if is_soft:
            weights = np.tile(np.array(penalties), (len(sizes), 1))
        self.cluster_weights_ = weights[:, 0] if n_attributes == 1 else weights
        self.fairness_weight_ = float(goal.weight) if goal is not None and hasattr(goal, "weight") else float("nan")

    def _store_centers(self, problem: Problem, found: Fit) -> None:
        raise NotImplementedError


def _falling(history: FloatArray, last: float) -> FloatArray:
    """Energies that fell, each below the one before, ending with the last one."""
    falling: list[float] = []
    for energy in history.tolist():
        if np.isfinite(energy) and energy > last and (not falling or energy < falling[-1]):
            falling.append(energy)
    return np.array([*falling, last])


def _balances(counts: FloatArray, target: FloatArray) -> FloatArray:
    """Smallest ratio between the counts of two groups that are wanted; of an empty cluster 0."""
    wanted = np.broadcast_to(target, counts.shape) > 0
    smallest = np.where(wanted, counts, np.inf).min(axis=1)
    largest = np.where(wanted, counts, 0.0).max(axis=1)
    return np.divide(smallest, largest, out=np.zeros(len(counts)), where=largest > 0)


def _no_groups(goal: Goal | None, y: Any) -> str:
    """Say that there are no groups, and where they seem to have gone."""
    lost = looks_like_groups(y)
    where = f"y is ignored; it holds {lost}: pass it as sensitive_features=. " if lost else "Pass sensitive_features=. "
    return (
        f"goal={goal} is asked for, but no groups are given, so this is plain clustering and nothing is known about "
        f"its fairness. {where}For plain clustering, say goal=None."
    )


def _print_iteration(n_iter: int, energy: float) -> None:
    print(f"iteration {n_iter}: energy {energy:.6g}", flush=True)
