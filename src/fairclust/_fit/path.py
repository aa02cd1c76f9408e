"""The whole trade-off: fits from plain clustering to saturated fairness, each started where the last one ended."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import clone

from .._people.attributes import Attributes
from .._typing import AnyArray, FloatArray, IntArray
from ..errors import InvalidInputError, MissingExtraError
from ..goals import Attribute, Goal, MaxFairnessError, Penalty, brief, read_goal
from ..solvers import read_solver
from .fit import Fit
from .request import Request

_GRID = 20  # penalties of a path: four per decade over the span
_SPAN = (3e-3, 300.0)  # natural weights: from hardly felt to saturated
_TIE = 1e-12  # of an energy: less is rounding


@dataclass(frozen=True)
class PathPoint:
    """One point of the trade-off."""

    goal: Goal | None
    objective: float
    fairness_error: float
    max_fairness_error: float
    balance: float
    labels: IntArray


@dataclass(frozen=True, eq=False, repr=False)
class FairnessPath:
    """The trade-off between clustering cost and fairness.

    Along penalties the fairness error never rises and the objective never falls: at each stands the labelling with the
    lowest energy of all that were found, whichever penalty it was found at. At a goal that is met or missed stands the
    cheapest of all labellings that meet it.

    Attributes
    ----------
    goals : tuple of Goal or None
        From the loosest to the strictest; None is plain clustering.
    objectives, fairness_errors, max_fairness_errors, balances : ndarray of shape (n_points,)
        Scores of the labels: clustering objective, sum and maximum over clusters of KL(target ‖ shares), balance.
    labels : ndarray of shape (n_points, n_samples)
        Labels for each goal.
    goals_met : ndarray of shape (n_points,), bool
        Whether the goal holds in every cluster; of a penalty True.
    proportions : ndarray of shape (n_points, n_clusters, n_groups)
        Shares of the groups in each cluster.
    sizes : ndarray of shape (n_points, n_clusters)
        Weight of each cluster.
    group_names, target_proportions : ndarray of shape (n_groups,)
        As fitted.
    group_attributes : ndarray of shape (n_groups,)
        The attribute of each group.
    cluster_errors : ndarray of shape (n_points, n_clusters, n_attributes)
        Fairness error of each cluster in each attribute.
    is_dominated : ndarray of shape (n_points,), bool
        Where the labelling of another goal is better at this one too. Such points carry that labelling.
    n_evaluations : int
        Evaluations of the dual for the whole path, in passes over all rows.
    attributes : Attributes
        What encodes people as the fits did.

    Examples
    --------
    >>> from fairclust import FairKMeans, fairness_path
    >>> from fairclust.datasets import make_synthetic
    >>> data = make_synthetic()
    >>> path = fairness_path(FairKMeans(2, random_state=0), data.data, sensitive_features=data.sensitive_features)
    >>> path.labels.shape == (len(path), len(data.data))
    True
    >>> path.select(goal=0.01).max_fairness_error <= 0.01
    True
    """

    goals: tuple[Goal | None, ...]
    objectives: FloatArray
    fairness_errors: FloatArray
    max_fairness_errors: FloatArray
    balances: FloatArray
    labels: IntArray
    goals_met: AnyArray
    proportions: FloatArray
    sizes: FloatArray
    group_names: AnyArray
    target_proportions: FloatArray
    group_attributes: AnyArray
    cluster_errors: FloatArray
    is_dominated: AnyArray
    n_evaluations: int
    attributes: Attributes
    _seen: tuple[Attribute, ...] = field(repr=False)
    _masses: FloatArray = field(repr=False)  # (n_points, n_clusters, n_cells)

    def __len__(self) -> int:
        return len(self.goals)

    def __getitem__(self, index: int) -> PathPoint:
        return PathPoint(
            self.goals[index],
            float(self.objectives[index]),
            float(self.fairness_errors[index]),
            float(self.max_fairness_errors[index]),
            float(self.balances[index]),
            self.labels[index],
        )

    def select(self, goal: Any = 0.01) -> PathPoint:
        """Return the cheapest point that meets a goal. Among penalties it is the smallest that does: the paper's rule.

        Parameters
        ----------
        goal : Goal or float, default=0.01
            As for the estimators: a number is the most KL(target ‖ shares) that a cluster may have.

        Returns
        -------
        point : PathPoint
        """
        return self[self.index_of(goal)]

    def index_of(self, goal: Any = 0.01) -> int:
        """Number of the point that :meth:`select` returns."""
        wanted, met = _read_constraint(goal), self.meets(goal)
        if not met.any():
            nearest = min(self._masses, key=lambda masses: _outside(wanted, masses, self._seen))
            raise InvalidInputError(
                f"goal={brief(wanted)} is met nowhere on this path. Where it is nearest to it, "
                f"{_missed(wanted, nearest, self._seen)} Use stricter goals, or fit with goal={brief(wanted)}."
            )
        # What is to be as fair as a cost allows is chosen by its fairness.
        scores = self.objectives if wanted.cost_limit is None else self.max_fairness_errors
        return int(np.where(met, scores, np.inf).argmin())

    def meets(self, goal: Any = 0.01) -> AnyArray:
        """Whether each point meets a goal, shape (n_points,), bool."""
        wanted = _read_constraint(goal)
        wanted.check(self._seen)
        if wanted.cost_limit is not None:
            return np.asarray(self.objectives <= self.objectives.min() * (1.0 + wanted.cost_limit))
        return np.array([_outside(wanted, masses, self._seen) <= 0 for masses in self._masses])

    def to_frame(self) -> Any:
        """Return the scores as a pandas data frame, one row per goal."""
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingExtraError("to_frame() needs pandas. Install it with: pip install pandas") from error
        return pd.DataFrame(self._columns())

    def plot(self, ax: Any = None) -> Any:
        """Draw cost against fairness error; return the matplotlib axes.

        Parameters
        ----------
        ax : matplotlib axes or None
            Where to draw. None: a new figure.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise MissingExtraError(
                "plot() needs matplotlib. Install it with: pip install 'fairclust[plot]'"
            ) from error
        if ax is None:
            _, ax = plt.subplots(figsize=(6, 4), layout="constrained")
        ax.plot(self.fairness_errors, self.objectives, "o-", color="#0072b2", markersize=4)
        ax.set_xscale("symlog", linthresh=max(float(self.fairness_errors.min()), 1e-6))
        ax.set_xlabel("fairness error (sum over clusters of KL)")
        ax.set_ylabel("clustering objective")
        ax.set_title("The price of fair clusters")
        return ax

    def explore(
        self,
        path: str | PathLike[str] | None = None,
        *,
        X: Any = None,
        sensitive_features: Any = None,
        overwrite: bool = False,
        **options: Any,
    ) -> Any:
        """Make a page to choose a point from: shown in a notebook, or saved.

        Parameters
        ----------
        path : path-like or None, default=None
            The file to save it in, such as "path.html".
        X, sensitive_features
            The data and the groups, for the picture of the points; both or neither.
        overwrite : bool, default=False
            Whether a file that is there may be replaced.
        **options
            As for :func:`fairclust.report.path_report`.

        Returns
        -------
        page : Page
        """
        from importlib import import_module

        # Pages know paths, not the other way round: the page is asked for by name.
        page = import_module("fairclust.report").path_report(self, X, sensitive_features, **options)
        if path is not None:
            page.save(path, overwrite=overwrite)
        return page

    def __repr__(self) -> str:
        return (
            f"FairnessPath(n_points={len(self)}, n_clusters={self.proportions.shape[1]}, "
            f"n_groups={self.proportions.shape[2]}, n_samples={self.labels.shape[1]})"
        )

    def __str__(self) -> str:
        columns = {name: values for name, values in self._columns().items() if name != "is_dominated"}
        cells = [[name.replace("_", " ") for name in columns]]
        cells += [[_shown(values[i]) for values in columns.values()] for i in range(len(self))]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
        return "\n".join([repr(self), *lines])

    def _columns(self) -> dict[str, AnyArray]:
        return {
            "goal": np.array([brief(goal) for goal in self.goals]),
            "objective": self.objectives,
            "fairness_error": self.fairness_errors,
            "max_fairness_error": self.max_fairness_errors,
            "balance": self.balances,
            "goal_met": self.goals_met,
            "is_dominated": self.is_dominated,
        }

    def _repr_html_(self) -> str:
        columns = self._columns()
        head = "".join(f"<th>{html.escape(name.replace('_', ' '))}</th>" for name in columns)
        rows = "".join(
            "<tr>"
            + "".join(
                f"<td style='text-align:right'>{html.escape(_shown(column[i]))}</td>" for column in columns.values()
            )
            + "</tr>"
            for i in range(len(self))
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def fairness_path(
    estimator: Any,
    X: Any,
    *,
    sensitive_features: Any,
    goals: Iterable[Any] | None = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> FairnessPath:
    """Fit an estimator for many goals.

    Parameters
    ----------
    estimator : FairKMeans, FairKMedian or FairNCut
        Its parameters are used, except for ``goal``. It is not changed.
    X : array-like of shape (n_samples, n_features)
    sensitive_features : column, data frame, 2-D array or dict of columns
        As for the estimator's fit().
    goals : iterable of Goal or float, or None
        A number is a largest fairness error, as for the estimator. They are followed from the loosest to the strictest.
        None: penalties, 0 and a geometric grid from hardly felt to saturated, 20 in all.
    sample_weight : array-like of shape (n_samples,) or None
    n_jobs : int or None
        Threads of each pass over the data (None: the estimator's). Every fit starts where the one before ended, which
        saves more than fitting the goals side by side would. The result does not depend on it.
    verbose : int
        1: a line per goal.

    Returns
    -------
    path : FairnessPath

    Examples
    --------
    >>> from fairclust import FairKMeans, MinBalance, fairness_path
    >>> from fairclust.datasets import make_synthetic
    >>> data = make_synthetic()
    >>> model, groups = FairKMeans(2, random_state=0), data.sensitive_features
    >>> path = fairness_path(model, data.data, sensitive_features=groups)
    >>> bool((path.fairness_errors[1:] <= path.fairness_errors[:-1]).all())
    True
    >>> path = fairness_path(model, data.data, sensitive_features=groups, goals=[MinBalance(0.5), MinBalance(0.9)])
    >>> path.goals_met.tolist()
    [True, True]
    """
    given = None if goals is None else _read_goals(goals)
    model = clone(estimator).set_params(goal=None, verbose=0)
    if n_jobs is not None:
        model.set_params(n_jobs=n_jobs)
    problem = model._problem(X, sensitive_features, sample_weight)
    if not problem.population.has_groups:
        raise InvalidInputError("fairness_path needs sensitive_features: without groups there is nothing to trade off.")
    solver = read_solver(model.solver)
    plain_request = model._request(problem, None)
    plain = model._exact(problem, model._fitted(problem, plain_request, solver))
    if given is None:
        natural = model._natural_weight(problem, plain)
        given = [Penalty(0.0), *(Penalty(float(natural * step)) for step in np.geomspace(*_SPAN, _GRID - 1))]
    asked = [(goal, model._request(problem, goal)) for goal in given]
    asked.sort(key=lambda one: _strictness(one[1], plain.assigned.masses))
    requests = [request for _, request in asked]
    model._searches = False  # every fit starts where the one before ended
    fits, last = [], plain
    for goal, request in asked:
        if request.goal is not None:
            last = model._exact(problem, model._fitted(replace(problem, starts=[last.own_centers]), request, solver))
        fits.append(last if request.goal is not None else plain)
        if verbose:
            error = _errors(fits[-1].assigned.masses, request.attributes).sum()
            print(f"{brief(goal)}: objective {fits[-1].cost:.6g}, error {error:.4g}", flush=True)
    path = _collect(problem, plain, [goal for goal, _ in asked], requests, fits)
    problem.points.rows.release()
    return path


def _read_goals(goals: Any) -> list[Goal | None]:
    """The goals that were given, each once."""
    is_list = isinstance(goals, Iterable) and not isinstance(goals, str)
    found = list(dict.fromkeys(read_goal(goal) for goal in goals)) if is_list else []
    if not found:
        raise InvalidInputError(
            f"goals={goals!r}, but a list of one or more goals or numbers is needed, for example [0.1, 0.01]."
        )
    return found


def _read_constraint(goal: Any) -> Goal:
    """A goal that points meet or miss."""
    wanted = read_goal(goal)
    if wanted is None or not wanted.is_constraint:
        raise InvalidInputError(
            f"goal={brief(wanted)} is nothing that a point meets or misses. Use a number, the largest fairness error, "
            "or another goal, for example MinBalance(0.4)."
        )
    return wanted


def _strictness(request: Request, masses: FloatArray) -> float:
    """How far plain clusters are from what is asked: people outside a constraint, and what a penalty charges."""
    return float((request.subproblem.violation(masses) + request.subproblem.value(masses)).sum())


def _errors(masses: FloatArray, attributes: Sequence[Attribute]) -> FloatArray:
    """Fairness error of each cluster and attribute."""
    kl = MaxFairnessError()
    return np.column_stack([kl.figure(attribute.shares(masses), attribute) for attribute in attributes])


def _balance(masses: FloatArray, attributes: Sequence[Attribute]) -> float:
    """The smallest ratio of two groups' counts in any cluster and attribute."""
    smallest = 1.0
    for attribute in attributes:
        counts = (masses @ attribute.membership)[:, : attribute.target.shape[-1]]
        counts = counts[masses.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
        smallest = min(smallest, float((counts.min(axis=1) / np.maximum(counts.max(axis=1), 1e-300)).min()))
    return smallest


def _outside(goal: Goal, masses: FloatArray, attributes: Sequence[Attribute]) -> float:
    """People outside a goal, of all clusters and attributes."""
    terms = ((goal.term(attribute), masses @ attribute.membership) for attribute in attributes)
    return sum(float(term.violation(counts).sum()) for term, counts in terms)


def _missed(goal: Goal, masses: FloatArray, attributes: Sequence[Attribute]) -> str:
    """How close the goal came, in the attribute that is farthest from it."""
    worst = max(attributes, key=lambda attribute: _outside(goal, masses, [attribute]))
    return goal.missed(masses @ worst.membership, worst)


def _chosen(requests: Sequence[Request], fits: Sequence[Fit]) -> list[int]:
    """For each request the best of all labellings: those within its terms first, then by energy, then by fairness."""
    costs = np.array([fit.cost for fit in fits])
    errors = np.array([_errors(fit.assigned.masses, requests[0].attributes).sum() for fit in fits])
    chosen = []
    for i, request in enumerate(requests):
        if request.goal is not None and request.goal.cost_limit is not None:
            chosen.append(i)
            continue
        terms = request.subproblem
        outside = np.array([terms.violation(fit.assigned.masses).sum() for fit in fits])
        energies = costs + np.array([terms.value(fit.assigned.masses).sum() for fit in fits])
        energies[outside > outside.min()] = np.inf
        is_best = energies <= energies.min() + _TIE * abs(energies.min())
        chosen.append(int(np.where(is_best, errors, np.inf).argmin()))
    return chosen


def _collect(
    problem: Any, plain: Fit, goals: Sequence[Goal | None], requests: Sequence[Request], fits: Sequence[Fit]
) -> FairnessPath:
    """The path of the best labellings."""
    chosen = _chosen(requests, fits)
    seen, attributes = requests[0].attributes, problem.population.attributes
    masses = np.array([fits[i].assigned.masses for i in chosen])
    cluster_errors = np.array([_errors(one, seen) for one in masses])
    distinct = {id(fit): fit for fit in (plain, *fits)}.values()
    return FairnessPath(
        goals=tuple(goals),
        objectives=np.array([fits[i].cost for i in chosen]),
        fairness_errors=cluster_errors.sum(axis=(1, 2)),
        max_fairness_errors=cluster_errors.max(axis=(1, 2)),
        balances=np.array([_balance(one, seen) for one in masses]),
        labels=np.array([problem.points.rows.user_labels(fits[i].assigned.labels) for i in chosen]),
        goals_met=np.array(
            [not request.subproblem.violation(one).any() for request, one in zip(requests, masses, strict=True)]
        ),
        proportions=np.array([np.hstack([attribute.shares(one) for attribute in seen]) for one in masses]),
        sizes=masses.sum(axis=2),
        group_names=attributes.names,
        target_proportions=attributes.target,
        group_attributes=np.array([attribute.name for attribute in attributes for _ in attribute.names]),
        cluster_errors=cluster_errors,
        is_dominated=np.array(chosen) != np.arange(len(chosen)),
        n_evaluations=sum(fit.n_evaluations for fit in distinct),
        attributes=attributes,
        _seen=seen,
        _masses=masses,
    )


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    return str(bool(value)) if isinstance(value, np.bool_) else f"{value:.4g}"
