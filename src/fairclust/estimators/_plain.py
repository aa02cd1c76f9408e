"""What fairness costs: the same clustering without it, from many starts, so that the price is never told too low."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .. import _checks as checks
from .._audit.moves import Moves, compare_encoded
from .._people.attributes import Attributes, Population
from .._table.sensitive import apart
from .._typing import AnyArray, FloatArray, IntArray
from ..errors import FairclustWarning, InvalidInputError
from ..scaling import as_blocks

N_SEEDS = 5  # of the plain fits beside a fair one, each with as many starts: the range of costs is over them


@dataclass(frozen=True, eq=False)
class PlainBaseline:
    """The best plain clustering that was found beside a fair one.

    Attributes
    ----------
    model : fitted estimator
        The best plain fit.
    objective : float
        The smallest objective known: of the plain fits, and of the fair labels themselves.
    objectives : ndarray of shape (n_seeds,)
        What plain clustering costs from each seed, from as many starts each as the fair fit had.
    fair_objective : float
    """

    model: Any
    objective: float
    objectives: FloatArray
    fair_objective: float

    @property
    def cost_of_fairness(self) -> float:
        """How much more the fair clusters cost, as a share of the baseline; never below 0, and NaN if that is 0."""
        return self.fair_objective / self.objective - 1.0 if self.objective > 0 else float("nan")

    @property
    def cost_range(self) -> tuple[float, float]:
        """The cost against the best plain clustering, and against the worst that a single seed gave.

        The second may be below 0: fair clusters that are tighter than an unlucky plain start.
        """
        worst = float(self.objectives.max())
        return self.cost_of_fairness, self.fair_objective / worst - 1.0 if worst > 0 else float("nan")


class ComparedToPlain:
    """An estimator that can be held against plain clustering."""

    n_clusters: int
    labels_: IntArray
    _attributes: Attributes

    def compare_to_plain(
        self, X: Any, *, sensitive_features: Any, sample_weight: Any = None, n_seeds: int = N_SEEDS
    ) -> Moves:
        """Cluster the same rows without fairness, and tell what fairness cost and who was moved.

        Plain clusters are fitted from several seeds, each with as many starts as the fair fit, and from the fair
        clusters themselves; the best is the baseline, so that the cost is never below 0.

        Parameters
        ----------
        X, sensitive_features, sample_weight
            What the estimator was fitted to, in memory.
        n_seeds : int, default=5
            Seeds of the plain fits.

        Returns
        -------
        moves : Moves
            Also kept as ``moves_``; ``plain_`` is the baseline, with ``cost_of_fairness`` and ``cost_range``.
        """
        check_is_fitted(self)
        if as_blocks(X, self.n_clusters) is not None:
            raise InvalidInputError("compare_to_plain needs X in memory. Pass an array and fit to it.")
        beside = apart(X, sensitive_features, getattr(self, "_sensitive_columns", ()))
        self.plain_ = plain_baseline(self, beside.X, sample_weight=sample_weight, n_seeds=n_seeds)
        people = Population(self._attributes, self._attributes.encode(beside.sensitive_features))
        self.moves_: Moves = compare_encoded(
            np.asarray(self.plain_.model.labels_),
            np.asarray(self.labels_),
            people,
            X=None if getattr(self, "affinity", None) == "precomputed" else as_points(beside.X),
            sample_weight=None if sample_weight is None else np.asarray(sample_weight, dtype=float),
        )
        return self.moves_


def plain_baseline(
    model: Any,
    X: Any,
    *,
    sample_weight: Any = None,
    n_seeds: int = N_SEEDS,
    on_fit: Callable[[], None] | None = None,
) -> PlainBaseline:
    """Cluster the rows of a fitted model without fairness: from several seeds, and from the fair clusters.

    Parameters
    ----------
    model : fitted estimator
    X : array-like
        What it was fitted to, in memory.
    sample_weight : array-like of shape (n_samples,) or None
    n_seeds : int
        Fits from starts of their own, each with as many starts as the model had.
    on_fit : callable or None
        Called after each fit.

    Returns
    -------
    baseline : PlainBaseline
    """
    checks.check_count("n_seeds", n_seeds)
    weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
    plain = clone(model).set_params(**_without_fairness(model))
    fits = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairclustWarning)
        for seed in _seeds(model.random_state, n_seeds):
            fits.append(clone(plain).set_params(random_state=seed).fit(X, **weighted))
            if on_fit is not None:
                on_fit()
        objectives = np.array([fit.objective_ for fit in fits])
        start = _fair_start(model, X, sample_weight)
        if start is not None:
            fits.append(clone(plain).set_params(init=start, n_init=1).fit(X, **weighted))
            if on_fit is not None:
                on_fit()
    best = min(fits, key=lambda fit: fit.objective_)
    # Labels that are fair are also labels: where no plain fit beats them, they are the best plain clustering known.
    smallest = min(float(best.objective_), float(model.objective_))
    return PlainBaseline(best, smallest, objectives, float(model.objective_))


def _without_fairness(model: Any) -> dict[str, Any]:
    plain = {"goal": None, "target_proportions": None, "verbose": 0}
    return {name: value for name, value in plain.items() if name in model.get_params()}


def _seeds(random_state: Any, n_seeds: int) -> list[int]:
    first = int(random_state) if isinstance(random_state, int | np.integer) else 0
    return [first + i for i in range(n_seeds)]


def _fair_start(model: Any, X: Any, sample_weight: Any) -> AnyArray | None:
    """Where plain clustering starts from the fair clusters; None where one of them is empty."""
    labels = np.asarray(model.labels_)
    if len(np.unique(labels)) < model.n_clusters:
        return None
    if not hasattr(model, "cluster_centers_"):
        return labels
    if model.cluster_centers_.ndim != 2 or hasattr(model, "medoid_indices_"):
        return np.asarray(model.cluster_centers_)
    rows = as_points(X)
    if rows is None or rows.shape != (len(labels), model.cluster_centers_.shape[1]):
        return np.asarray(model.cluster_centers_)
    weights = np.ones(len(rows)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    mass = np.bincount(labels, weights=weights, minlength=model.n_clusters)
    if not (mass > 0).all():
        return None
    means = np.stack([np.average(rows[labels == k], axis=0, weights=weights[labels == k]) for k in range(len(mass))])
    return means.astype(model.cluster_centers_.dtype)


def as_points(X: Any) -> FloatArray | None:
    """X as numbers that distances can be taken of; None where it holds categories or gaps, or is sparse."""
    if hasattr(X, "tocsr"):
        return None
    try:
        rows = np.asarray(X, dtype=float)
    except (TypeError, ValueError):
        return None
    return rows if rows.ndim == 2 and np.isfinite(rows).all() else None
