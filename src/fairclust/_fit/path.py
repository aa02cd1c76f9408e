"""The whole trade-off: fits from plain clustering to saturated fairness, each started where the last one ended."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone

from .. import _checks as checks
from .._goals.goals import MaxFairnessError
from .._people.attributes import Attributes
from .._typing import AnyArray, FloatArray, IntArray
from ..errors import InvalidInputError, MissingExtraError
from .aims import GoalAim
from .problem import Problem, WeightedFit
from .records import FitResult, Start

_GRID = 20  # weights of a path: four per decade over the span
_BRIEF = 3  # outer iterations on all points, where a sample was fitted first
_SPAN = (3e-3, 300.0)  # natural weights: from hardly felt to saturated


@dataclass(frozen=True)
class PathPoint:
    """One point of the trade-off."""

    fairness_weight: float
    objective: float
    fairness_error: float
    max_fairness_error: float
    balance: float
    labels: IntArray


@dataclass(frozen=True, repr=False)
class FairnessPath:
    """The trade-off between clustering cost and fairness.

    Along the path the fairness error never rises and the objective never falls: at each weight stands the labelling
    with the lowest energy of all that were found, whichever weight it was found at.

    Attributes
    ----------
    fairness_weights : ndarray of shape (n_points,)
        Weights, rising; the first is 0 unless other weights were given.
    objectives, fairness_errors, max_fairness_errors, balances : ndarray of shape (n_points,)
        Scores of the hard labels: clustering objective, sum and maximum over clusters of KL(target ‖ shares), balance.
    labels : ndarray of shape (n_points, n_samples)
        Labels at each weight.
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
        Where another weight's labelling is at least as good in both scores and better in one. Such points carry the
        same labels as a neighbour.
    n_sweeps : int
        Passes over the point costs for the whole path.
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
    >>> path.select(max_fairness_error=0.01).max_fairness_error <= 0.01
    True
    """

    fairness_weights: FloatArray
    objectives: FloatArray
    fairness_errors: FloatArray
    max_fairness_errors: FloatArray
    balances: FloatArray
    labels: IntArray
    proportions: FloatArray
    sizes: FloatArray
    group_names: AnyArray
    target_proportions: FloatArray
    is_dominated: AnyArray
    n_sweeps: int
    group_attributes: AnyArray
    cluster_errors: FloatArray
    attributes: Attributes = field(repr=False)

    def __len__(self) -> int:
        return len(self.fairness_weights)

    def __getitem__(self, index: int) -> PathPoint:
        return PathPoint(
            float(self.fairness_weights[index]),
            float(self.objectives[index]),
            float(self.fairness_errors[index]),
            float(self.max_fairness_errors[index]),
            float(self.balances[index]),
            self.labels[index],
        )

    def select(self, max_fairness_error: float) -> PathPoint:
        """Return the point with the smallest weight whose clusters all have an error of at most this: the paper's rule.

        Parameters
        ----------
        max_fairness_error : float
            Most KL(target ‖ shares) that a cluster may have.

        Returns
        -------
        point : PathPoint
        """
        limit = checks.check_number("max_fairness_error", max_fairness_error, lowest=0.0)
        met = np.flatnonzero(self.max_fairness_errors <= limit)
        if not len(met):
            raise InvalidInputError(
                f"max_fairness_error={limit:g} is met nowhere on this path: the fairest point is at "
                f"{self.max_fairness_errors.min():.3g}. Use larger fairness_weights, or fit with max_fairness_error."
            )
        return self[int(met[0])]

    def to_frame(self) -> Any:
        """Return the scores as a pandas data frame, one row per weight."""
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
        ax.set_xscale("symlog", linthresh=max(float(self.fairness_errors[-1]), 1e-6))
        ax.set_xlabel("fairness error (sum over clusters of KL)")
        ax.set_ylabel("clustering objective")
        ax.set_title("The price of fair clusters")
        return ax

    def explore(self, X: Any = None, sensitive_features: Any = None, **options: Any) -> Any:
        """Show the path as a page to choose a point from: in a notebook, or saved by ``.save("path.html")``.

        Parameters
        ----------
        X, sensitive_features
            The data and the groups, for the picture of the points; both or neither.
        **options
            As for :func:`fairclust.report.path_report`.

        Returns
        -------
        page : Page
        """
        from importlib import import_module

        # Pages know paths, not the other way round: the page is asked for by name.
        return import_module("fairclust.report").path_report(self, X, sensitive_features, **options)

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
            "fairness_weight": self.fairness_weights,
            "objective": self.objectives,
            "fairness_error": self.fairness_errors,
            "max_fairness_error": self.max_fairness_errors,
            "balance": self.balances,
            "is_dominated": self.is_dominated,
        }

    def _repr_html_(self) -> str:
        columns = self._columns()
        head = "".join(f"<th>{html.escape(name.replace('_', ' '))}</th>" for name in columns)
        rows = "".join(
            "<tr>"
            + "".join(f"<td style='text-align:right'>{_shown(column[i])}</td>" for column in columns.values())
            + "</tr>"
            for i in range(len(self))
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


@dataclass(frozen=True)
class PathStart:
    """What a path begins with: a problem, its attributes, and the parameters of the best plain clustering."""

    problem: Problem
    attributes: Attributes
    parameters: FloatArray


class PathEstimator(Protocol):
    """An estimator that a path can be followed with."""

    def path_start(self, X: Any, sensitive_features: Any, sample_weight: Any = None) -> PathStart:
        """Check everything, and find the best plain clustering."""
        ...


def fairness_path(
    estimator: PathEstimator,
    X: Any,
    *,
    sensitive_features: Any,
    fairness_weights: Sequence[float] | FloatArray | None = None,
    max_fairness_errors: Sequence[float] | FloatArray | None = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> FairnessPath:
    """Fit an estimator at many weights, or for many goals.

    Parameters
    ----------
    estimator : FairKMeans, FairKMedian or FairNCut
        Its parameters are used, except for ``fairness_weight``, the goals and bounds on sizes. It is not changed.
    X : array-like of shape (n_samples, n_features)
    sensitive_features : column, data frame, 2-D array or dict of columns
        As for the estimator's fit().
    fairness_weights : sequence of float or None
        Weights ≥ 0. None: 0 and a geometric grid from hardly felt to saturated, 20 in all.
    max_fairness_errors : sequence of float or None
        Goals ε > 0 instead of weights: at each, the cheapest clustering found whose clusters all have an error of at
        most ε, from the loosest goal to the strictest. The path's ``fairness_weights`` are then the multipliers.
    sample_weight : array-like of shape (n_samples,) or None
    n_jobs : int or None
        Threads of each pass over the data (None: the estimator's). Every fit starts where the one before ended, which
        saves more than fitting the weights side by side would. The result does not depend on it.
    verbose : int
        1: a line per weight.

    Returns
    -------
    path : FairnessPath

    Examples
    --------
    >>> from fairclust import FairKMeans, fairness_path
    >>> from fairclust.datasets import make_synthetic
    >>> data = make_synthetic()
    >>> path = fairness_path(FairKMeans(2, random_state=0), data.data, sensitive_features=data.sensitive_features)
    >>> bool((path.fairness_errors[1:] <= path.fairness_errors[:-1]).all())
    True
    """
    model = clone(estimator).set_params(fairness_weight=0.0)
    defaults = {"max_fairness_error": checks.DEFAULT_MAX_FAIRNESS_ERROR, "min_balance": None}
    defaults |= {"max_cost_increase": None, "bounds": None, "min_cluster_size": None, "max_cluster_size": None}
    model.set_params(**{name: value for name, value in defaults.items() if name in model.get_params()})
    if n_jobs is not None:
        model.set_params(n_jobs=n_jobs)
    if fairness_weights is not None and max_fairness_errors is not None:
        raise InvalidInputError("fairness_weights and max_fairness_errors were both given. Give one of them.")
    given = None if fairness_weights is None else _check_weights(fairness_weights)
    goals = None if max_fairness_errors is None else _check_goals(max_fairness_errors)
    start = model.path_start(X, sensitive_features, sample_weight)
    problem = start.problem
    if goals is not None:
        fits = list(_follow_goals(problem, goals, start, verbose))
        return _collect(problem, np.array([fit.fairness_weights.max() for fit in fits]), fits, start.attributes, goals)
    weights = _grid(problem, start.parameters) if given is None else given
    fits = []
    for weight, fit in zip(weights, _follow(problem, weights, start.parameters), strict=True):
        fits.append(fit)
        if verbose:
            result = fit.result
            print(
                f"weight {weight:.4g}: objective {result.objective:.6g}, error {problem.error(result):.4g}", flush=True
            )
    return _collect(problem, weights, fits, start.attributes)


def _follow(problem: Problem, weights: FloatArray, start: FloatArray) -> Iterator[WeightedFit]:
    """Fit at each weight from where the last fit ended; of many points a sample, then all of them briefly."""
    coarse = problem.coarse()
    brief = replace(problem, settings=replace(problem.settings, max_iter=_BRIEF))
    last: FitResult | None = None
    for weight in weights:
        near = Start(start) if last is None else Start(last.parameters, last.warm)
        if coarse is None or weight == 0:
            found = problem.fit(float(weight), near)
            last = found.result
        else:
            rough = coarse.fit(float(weight) * coarse.sample_fraction, near)
            last = rough.result
            found = brief.fit(float(weight), Start(last.parameters, last.warm))
            n_sweeps = found.n_sweeps + round(rough.n_sweeps * coarse.sample_fraction / problem.sample_fraction)
            found = replace(found, n_sweeps=n_sweeps)
        yield found


def _follow_goals(problem: Problem, goals: FloatArray, start: PathStart, verbose: int) -> Iterator[WeightedFit]:
    """Fit for each goal from where the last fit ended, plain clustering first."""
    near = Start(problem.fit(0.0, Start(start.parameters)).result.parameters)
    for limit in goals:
        aim = GoalAim(MaxFairnessError(problem.fairness, float(limit)), start.attributes.names)
        found = aim.fit(problem, near)
        near = Start(found.result.parameters, found.result.warm)
        if verbose:
            error = problem.fairness.errors(found.result.masses).max()
            print(f"goal {limit:.4g}: objective {found.result.objective:.6g}, worst error {error:.4g}", flush=True)
        yield found


def _check_goals(max_fairness_errors: Sequence[float] | FloatArray) -> FloatArray:
    goals = np.unique(np.asarray(max_fairness_errors, dtype=float))[::-1]
    if goals.ndim != 1 or not len(goals) or not np.isfinite(goals).all() or goals[-1] <= 0:
        raise InvalidInputError(f"max_fairness_errors={max_fairness_errors!r}, but one or more numbers > 0 are needed.")
    return goals


def _check_weights(fairness_weights: Sequence[float] | FloatArray) -> FloatArray:
    weights = np.unique(np.asarray(fairness_weights, dtype=float))
    if weights.ndim != 1 or not len(weights) or not np.isfinite(weights).all() or weights[0] < 0:
        raise InvalidInputError(f"fairness_weights={fairness_weights!r}, but one or more numbers ≥ 0 are needed.")
    return weights


def _grid(problem: Problem, start: FloatArray) -> FloatArray:
    natural = problem.natural_weight(start)
    return np.concatenate(([0.0], natural * np.geomspace(*_SPAN, _GRID - 1)))


def _cheapest_within(goals: FloatArray, objectives: FloatArray, worst: FloatArray) -> IntArray:
    """For each goal the cheapest fit that meets it; where none does, the fairest."""
    chosen = [
        int(np.where(worst <= goal, objectives, np.inf).argmin()) if (worst <= goal).any() else int(worst.argmin())
        for goal in goals
    ]
    return np.array(chosen)


def _collect(
    problem: Problem,
    weights: FloatArray,
    fits: list[WeightedFit],
    attributes: Attributes,
    goals: FloatArray | None = None,
) -> FairnessPath:
    """At each weight, the labelling with the lowest energy of all: the lower envelope, so that scores are monotone.

    At each goal, the cheapest of all labellings that meet it.
    """
    objectives = np.array([fit.result.objective for fit in fits])
    errors = np.array([problem.error(fit.result) for fit in fits])
    importance = np.ones(problem.fairness.n_parts) if problem.attribute_weights is None else problem.attribute_weights
    minimised = np.array([(problem.fairness.errors(fit.result.masses) @ importance).sum() for fit in fits])
    energies = objectives + np.outer(weights, minimised)
    chosen = energies.argmin(axis=1)
    # Ties at weight 0 and rounding must not make the choice go back.
    chosen = np.array([max(chosen[: i + 1], key=lambda c: -minimised[c]) for i in range(len(chosen))])
    if goals is not None:
        worst = np.array([problem.fairness.errors(fit.result.masses).max() for fit in fits])
        chosen = _cheapest_within(goals, objectives, worst)
    masses = np.array([fits[i].result.masses for i in chosen])
    fairness = problem.fairness
    return FairnessPath(
        fairness_weights=weights,
        objectives=objectives[chosen],
        fairness_errors=errors[chosen],
        max_fairness_errors=np.array([fairness.errors(one).max() for one in masses]),
        balances=np.array([fairness.balances(one).min() for one in masses]),
        labels=np.array([problem.sweep.user_labels(fits[i].result.labels) for i in chosen]),
        proportions=np.array([fairness.proportions(one) for one in masses]),
        sizes=masses.sum(axis=2),
        group_names=attributes.names,
        target_proportions=attributes.target,
        group_attributes=np.array([attribute.name for attribute in attributes for _ in attribute.names]),
        cluster_errors=np.array([fairness.errors(one) for one in masses]),
        attributes=attributes,
        is_dominated=chosen != np.arange(len(chosen)),
        n_sweeps=sum(fit.n_sweeps for fit in fits),
    )


def _shown(value: Any) -> str:
    return str(bool(value)) if isinstance(value, np.bool_) else f"{value:.4g}"
