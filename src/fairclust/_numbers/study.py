"""``cluster_numbers``: fits for every number of clusters, with and without the goal, and what speaks for each."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from .. import _checks as checks
from .._objectives.centers import halves
from .._people.columns import Columns, read_columns
from .._table.sensitive import apart
from .._typing import FloatArray, IntArray
from ..errors import FairclustWarning, InvalidInputError, MissingExtraError
from ..solvers import Dual, read_solver
from .choice import STABLE, Choice, choose
from .scores import calinski_harabasz, silhouettes

_SAMPLE = 10_000  # rows that silhouettes and stability are measured on, at most
_SHARE = 0.5  # of those rows, in each subsample of a stability


@dataclass(frozen=True)
class ClusterNumbers:
    """What :func:`cluster_numbers` found: an array per score, an entry per number of clusters.

    Attributes
    ----------
    n_clusters : ndarray of int
    costs, plain_costs : ndarray
        Clustering objective with the goal, and without it. Without sensitive features both are the same.
    cost_increases : ndarray
        What the goal costs: ``costs / plain_costs − 1``.
    silhouettes, plain_silhouettes, calinski_harabasz, plain_calinski_harabasz : ndarray
        How well separated the clusters are, on ``n_scored`` rows. NaN for a graph that is given.
    stabilities : ndarray
        Mean adjusted Rand index between fits, with the goal, of overlapping subsamples from different seeds: 1 where
        the same clusters come back every time.
    smallest_clusters : ndarray
        Rows in the smallest cluster, or their weight.
    max_fairness_errors : ndarray
        The worst cluster's fairness error with the goal; NaN without sensitive features.
    goals_met : ndarray of bool
    labels : list of ndarray
        With the goal.
    n_scored : int
        Rows that silhouettes, Calinski–Harabasz and stability were measured on.

    Examples
    --------
    >>> from fairclust import FairKMeans, cluster_numbers
    >>> from fairclust.datasets import make_synthetic
    >>> numbers = cluster_numbers(FairKMeans(random_state=0), make_synthetic().data, range(2, 5))
    >>> numbers.select().n_clusters in numbers.n_clusters
    True
    """

    n_clusters: IntArray
    costs: FloatArray
    plain_costs: FloatArray
    silhouettes: FloatArray
    plain_silhouettes: FloatArray
    calinski_harabasz: FloatArray
    plain_calinski_harabasz: FloatArray
    stabilities: FloatArray
    smallest_clusters: FloatArray
    max_fairness_errors: FloatArray
    goals_met: FloatArray
    labels: list[IntArray] = field(repr=False)
    n_scored: int = 0

    @property
    def cost_increases(self) -> FloatArray:
        """What the goal costs, as a share of the plain cost."""
        increases: FloatArray = self.costs / np.maximum(self.plain_costs, np.finfo(float).tiny) - 1.0
        return increases

    @property
    def has_groups(self) -> bool:
        """Whether there was a goal to fit for."""
        return not np.isnan(self.max_fairness_errors).all()

    def select(self, *, min_cluster_size: float = 0) -> Choice:
        """Choose a number by a stated rule: the highest silhouette among those whose clusters come back.

        "Come back" means a stability of at least 0.6; where no number has that, all take part, and the reason says so.
        Silhouettes are those of the clusters with the goal.

        Parameters
        ----------
        min_cluster_size : float, default=0
            Numbers whose smallest cluster has fewer rows are left aside.

        Returns
        -------
        choice : Choice
            ``n_clusters``, ``also_possible``, ``is_clear`` and the ``reason`` in sentences.
        """
        return choose(self.n_clusters, self.silhouettes, self.stabilities, self.smallest_clusters, min_cluster_size)

    def columns(self) -> dict[str, Any]:
        """The scores by name, as :meth:`to_frame` has them."""
        return {
            "n_clusters": self.n_clusters,
            "cost": self.costs,
            "plain_cost": self.plain_costs,
            "cost_increase": self.cost_increases,
            "silhouette": self.silhouettes,
            "plain_silhouette": self.plain_silhouettes,
            "calinski_harabasz": self.calinski_harabasz,
            "plain_calinski_harabasz": self.plain_calinski_harabasz,
            "stability": self.stabilities,
            "smallest_cluster": self.smallest_clusters,
            "max_fairness_error": self.max_fairness_errors,
            "goal_met": self.goals_met,
        }

    def to_frame(self) -> Any:
        """Return the scores as a pandas data frame, one row per number of clusters."""
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingExtraError("to_frame() needs pandas. Install it with: pip install pandas") from error
        return pd.DataFrame(self.columns())

    def plot(self, axes: Any = None) -> Any:
        """Draw cost, silhouette, stability and the price of the goal against the number of clusters.

        Parameters
        ----------
        axes : array of four matplotlib axes or None
            Where to draw. None: a new figure.

        Returns
        -------
        axes : ndarray of four matplotlib axes
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise MissingExtraError(
                "plot() needs matplotlib. Install it with: pip install 'fairclust[plot]'"
            ) from error
        if axes is None:
            _, axes = plt.subplots(2, 2, figsize=(9, 6), layout="constrained", sharex=True)
        axes = np.asarray(axes, dtype=object).reshape(-1)
        drawn = [
            ("cost", self.costs, self.plain_costs),
            ("silhouette", self.silhouettes, self.plain_silhouettes),
            ("stability (adjusted Rand index)", self.stabilities, None),
            ("what the goal costs", self.cost_increases, None),
        ]
        chosen = self.select().n_clusters
        for ax, (name, values, plain) in zip(axes, drawn, strict=True):
            if plain is not None and self.has_groups:
                ax.plot(self.n_clusters, plain, "o--", color="#999999", markersize=3, label="without the goal")
            ax.plot(self.n_clusters, values, "o-", color="#0072b2", markersize=4, label="with the goal")
            ax.axvline(chosen, color="#d55e00", linewidth=1, linestyle=":")
            ax.set_title(name)
        axes[2].axhline(STABLE, color="#999999", linewidth=0.8)
        if self.has_groups:
            axes[0].legend(frameon=False)
        for ax in axes[2:]:
            ax.set_xlabel("number of clusters")
        return axes


def cluster_numbers(
    estimator: Any,
    X: Any,
    n_clusters: Iterable[int] = range(2, 16),
    *,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    n_subsamples: int = 4,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> ClusterNumbers:
    """Fit for several numbers of clusters, with and without the goal, and score each.

    Parameters
    ----------
    estimator : FairKMeans, FairKMedian or FairNCut
        With the goal that is wanted. It is copied, never fitted.
    X : as for the estimator's ``fit``
        In memory.
    n_clusters : iterable of int, default=range(2, 16)
    sensitive_features, sample_weight : as for the estimator's ``fit``
    n_subsamples : int, default=4
        Subsamples that stability is measured by, each clustered for every number from a seed of its own.
    n_jobs : int or None, default=None
        Fits at a time. None: all cores that the process may use. No result depends on it.
    verbose : int, default=0
        1: a line per fit.

    Returns
    -------
    numbers : ClusterNumbers
        Scores, ``.select()``, ``.to_frame()`` and ``.plot()``.

    Notes
    -----
    Plain clusterings go from K to K + 1: the centres of the last one and a row far from all of them, against a start of
    its own; the cheaper is kept, so that the plain cost never rises with K. Fits with the goal start from the plain
    centres of the same K, from the clusters of K − 1 with one cut in two, and from those of K + 1 with one closed; each
    is brief, so a fit of the number that you choose may be a little cheaper. Above 10,000 rows, silhouettes,
    Calinski–Harabasz and stability are measured on 10,000 of them, the same on every call. No score proves a number
    right: silhouettes favour few round clusters, costs always fall with K, and stability can be high for a
    wrong number.

    Examples
    --------
    >>> from fairclust import FairKMeans, cluster_numbers
    >>> from fairclust.datasets import make_synthetic
    >>> data = make_synthetic()
    >>> groups = data.sensitive_features
    >>> numbers = cluster_numbers(FairKMeans(random_state=0), data.data, range(2, 4), sensitive_features=groups)
    >>> numbers.goals_met.tolist()
    [True, True]
    """
    study = _Study(estimator, X, sensitive_features, sample_weight, checks.resolve_threads(n_jobs), bool(verbose))
    numbers = _numbers(n_clusters, study.n_rows)
    checks.check_count("n_subsamples", n_subsamples, lowest=2)
    plain = study.plain_fits(numbers)
    fair = study.goal_fits(plain) if study.has_groups else plain
    labels, plain_labels = [model.labels_ for model in fair], [model.labels_ for model in plain]
    points = study.points(plain[0])
    scored = [labels_[study.scored] for labels_ in (*labels, *plain_labels)]
    if points is None:
        widths = heights = np.full(len(scored), np.nan)
    else:
        widths = silhouettes(points, scored)
        heights = np.array([calinski_harabasz(points, one) for one in scored])
    n = len(numbers)
    none = np.full(n, np.nan)
    return ClusterNumbers(
        n_clusters=np.array(numbers),
        costs=np.array([model.objective_ for model in fair]),
        plain_costs=np.array([model.objective_ for model in plain]),
        silhouettes=widths[:n],
        plain_silhouettes=widths[n:],
        calinski_harabasz=heights[:n],
        plain_calinski_harabasz=heights[n:],
        stabilities=study.stabilities(numbers, n_subsamples),
        smallest_clusters=np.array([model.cluster_sizes_.min() for model in fair]),
        max_fairness_errors=np.array([model.max_fairness_error_ for model in fair]) if study.has_groups else none,
        goals_met=np.array([bool(model.goal_met_) for model in fair]),
        labels=labels,
        n_scored=len(study.scored),
    )


class _Study:
    """The data of a study, and the fits that it is made of."""

    def __init__(
        self, estimator: Any, X: Any, sensitive_features: Any, sample_weight: Any, n_jobs: int, is_verbose: bool
    ) -> None:
        beside = apart(X, sensitive_features)
        self.X, self.estimator, self.n_jobs, self.is_verbose = beside.X, estimator, n_jobs, is_verbose
        if not hasattr(self.X, "__len__") and not sparse.issparse(self.X):
            raise InvalidInputError("cluster_numbers needs X in memory. Pass an array or a data frame.")
        self.n_rows = self.X.shape[0] if hasattr(self.X, "shape") else len(self.X)
        self.groups: Columns | None = None
        if beside.sensitive_features is not None:
            self.groups = read_columns(beside.sensitive_features)
            checks.check_same_length("sensitive_features", self.groups.columns[0], self.n_rows)
        self.weights = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
        step = max(1, -(-self.n_rows // _SAMPLE))
        self.scored = np.arange(0, self.n_rows, step)  # the same rows on every call
        self.is_graph = getattr(estimator, "affinity", None) == "precomputed"

    @property
    def has_groups(self) -> bool:
        """Whether there is a goal to fit for."""
        return self.groups is not None

    def plain_fits(self, numbers: Sequence[int], rows: IntArray | None = None, seed: int | None = None) -> list[Any]:
        """Plain clusterings of all rows, or of some from a seed; each also tried from the centres of the one before."""
        fits: list[Any] = []
        for k in numbers:
            if rows is None:
                self._tell(f"{k} clusters without the goal")
            best = self._fit(self._plain(k, seed), rows)
            grown = self._grown(fits[-1], rows) if fits and k == fits[-1].n_clusters + 1 else None
            if grown is not None:
                warm = self._fit(self._plain(k, seed).set_params(init=grown), rows)
                best = min(best, warm, key=_cost)
            fits.append(best)
        return fits

    def goal_fits(self, plain: Sequence[Any]) -> list[Any]:
        """Fits with the goal, from the plain centres and from the clusters with one less and with one more."""
        if not hasattr(plain[0], "cluster_centers_"):
            return self._together(lambda start: self._goal_fit(start.n_clusters, None), plain)
        fits = self._upwards(plain)
        for i in reversed(range(len(fits) - 1)):
            if fits[i + 1].n_clusters == fits[i].n_clusters + 1:
                closed = self._goal_fit(fits[i].n_clusters, self._closed(fits[i + 1]))
                fits[i] = min(fits[i], closed, key=_cost)
        return fits

    def _upwards(self, plain: Sequence[Any], rows: IntArray | None = None) -> list[Any]:
        """Fits with the goal from the plain centres, and from the clusters before with one of them cut in two."""
        fits: list[Any] = []
        for start in plain:
            if rows is None:
                self._tell(f"{start.n_clusters} clusters with the goal")
            best = self._goal_fit(start.n_clusters, start.cluster_centers_, rows)
            cut = self._cut(fits[-1], rows) if fits and start.n_clusters == fits[-1].n_clusters + 1 else None
            if cut is not None:
                best = min(best, self._goal_fit(start.n_clusters, cut, rows), key=_cost)
            fits.append(best)
        return fits

    def _goal_fit(self, k: int, init: Any, rows: IntArray | None = None, seed: int | None = None) -> Any:
        """A fit with the goal; brief where it has a start, as where clusters should be the other numbers tell."""
        model = clone(self.estimator).set_params(n_clusters=k, n_jobs=1)
        if seed is not None:
            model.set_params(random_state=seed)
        if init is not None:
            model.set_params(init=init)
            model._searches = False
            if rows is not None and isinstance(solver := read_solver(model.solver), Dual):
                model.set_params(solver=replace(solver, local_search=False))
        return self._fit(model, rows, groups=True)

    def stabilities(self, numbers: Sequence[int], n_subsamples: int) -> FloatArray:
        """Mean adjusted Rand index of the labels that two subsamples give to the rows they share."""
        size = max(int(_SHARE * len(self.scored)), 2)
        random = [np.random.RandomState(seed) for seed in range(n_subsamples)]
        taken = [np.sort(one.choice(self.scored, size, replace=False)) for one in random]
        possible = [k for k in numbers if k <= size // 2]

        def labelled(seed: int) -> list[IntArray]:
            self._tell(f"subsample {seed + 1} of {n_subsamples}")
            rows = taken[seed]
            plain = [] if self.is_graph else self.plain_fits(possible, rows, seed)
            if plain and not self.has_groups:
                fits = plain
            elif plain and hasattr(plain[0], "cluster_centers_"):
                fits = self._upwards(plain, rows)
            else:
                fits = [self._goal_fit(k, None, rows, seed) for k in possible]
            found = []
            for fit in fits:
                labels = np.full(self.n_rows, -1)
                labels[rows] = fit.labels_
                found.append(labels)
            return found

        found = self._together(labelled, range(n_subsamples))
        scores = np.full(len(numbers), np.nan)
        for i in range(len(possible)):
            scores[i] = np.mean([_agreement(one[i], other[i]) for one, other in itertools.combinations(found, 2)])
        return scores

    def points(self, model: Any) -> Any:
        """The scored rows as points whose distances count; None where there is only a graph."""
        if self.is_graph:
            return None
        rows = _take(self.X, self.scored)
        return model.points(rows) if hasattr(model, "points") else np.asarray(rows, dtype=float)

    def _plain(self, k: int, seed: int | None = None) -> Any:
        model = _without_goal(clone(self.estimator).set_params(n_clusters=k))
        return model if seed is None else model.set_params(random_state=seed, n_jobs=1)

    def _grown(self, model: Any, rows: IntArray | None) -> FloatArray | None:
        """The centres of a clustering and one more: the row that is farthest from its centre; None: none."""
        if not hasattr(model, "cluster_centers_"):
            return None
        looked_at = _take(self.X, self.scored if rows is None else rows)
        nearest = model.transform(looked_at).min(axis=1)
        far = model.points(_take(looked_at, np.array([int(nearest.argmax())])))
        far = np.asarray(far.todense() if sparse.issparse(far) else far, dtype=model.cluster_centers_.dtype)
        if far.shape[1] != model.cluster_centers_.shape[1]:  # centres that are no points: those of Gower's distance
            return None
        return np.concatenate((model.cluster_centers_, far))

    def _cut(self, model: Any, rows: IntArray | None) -> FloatArray | None:
        """The centres of a clustering, that of the cluster which gains most by it replaced by two."""
        points = model.points(_take(self.X, self.scored if rows is None else rows))
        centers: FloatArray = model.cluster_centers_
        if sparse.issparse(points) or points.shape[1] != centers.shape[1]:
            return self._grown(model, rows)
        labels = model.labels_[self.scored] if rows is None else model.labels_
        found = halves(points, np.arange(len(points)), labels, None, len(centers), power=2)
        best = max(range(len(found)), key=lambda k: found[k][0])
        cut = np.concatenate((centers, found[best][1][1:].astype(centers.dtype)))
        cut[best] = found[best][1][0]
        return cut

    def _closed(self, model: Any) -> FloatArray:
        """The centres of a clustering without the one whose rows are served nearly as well by the others."""
        distances = model.transform(_take(self.X, self.scored)) ** 2
        labels, at = model.labels_[self.scored], np.arange(len(self.scored))
        own = distances[at, labels]
        distances[at, labels] = np.inf
        losses = np.bincount(labels, distances.min(axis=1) - own, minlength=len(model.cluster_centers_))
        return np.delete(model.cluster_centers_, int(losses.argmin()), axis=0)

    def _fit(self, model: Any, rows: IntArray | None = None, *, groups: bool = False) -> Any:
        X = self.X if rows is None else _take(self.X, rows, both=self.is_graph)
        arguments: dict[str, Any] = {}
        if self.groups is not None and groups:
            columns = {name: values if rows is None else values[rows] for name, values in self._columns()}
            arguments["sensitive_features"] = columns if len(columns) > 1 else next(iter(columns.values()))
        if self.weights is not None:
            arguments["sample_weight"] = self.weights if rows is None else self.weights[rows]
        with warnings.catch_warnings():  # goals that are missed are told by goals_met
            warnings.simplefilter("ignore", FairclustWarning)
            return model.fit(X, **arguments)

    def _columns(self) -> Iterable[tuple[str, Any]]:
        assert self.groups is not None
        return zip(self.groups.names, self.groups.columns, strict=True)

    def _together(self, work: Callable[[Any], Any], over: Sequence[Any]) -> list[Any]:
        with ThreadPoolExecutor(max_workers=self.n_jobs) as pool:
            return list(pool.map(work, over))

    def _tell(self, what: str) -> None:
        if self.is_verbose:
            print(what, flush=True)


def _cost(model: Any) -> tuple[bool, float]:
    """What fits for the same number are compared by: goals that are met come first."""
    return not (model.goal_met_ or np.isnan(model.max_fairness_error_)), float(model.objective_)


def _agreement(one: IntArray, other: IntArray) -> float:
    """Adjusted Rand index over the rows that both have labels for."""
    both = (one >= 0) & (other >= 0)
    return float(adjusted_rand_score(one[both], other[both]))


def _without_goal(model: Any) -> Any:
    """The same estimator for plain clustering."""
    return model.set_params(goal=None, target_proportions=None)


def _take(X: Any, rows: IntArray, *, both: bool = False) -> Any:
    """Some rows of an array, a sparse matrix or a data frame; of a graph, some nodes."""
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[rows.tolist(), :].to_native()
    if sparse.issparse(X):
        taken = X.tocsr()[rows]
        return taken[:, rows] if both else taken
    X = np.asarray(X)
    return X[np.ix_(rows, rows)] if both else X[rows]


def _numbers(n_clusters: Iterable[int], n_rows: int) -> list[int]:
    given = [n_clusters] if isinstance(n_clusters, int) else list(n_clusters)
    numbers = sorted({checks.check_n_clusters(k, n_rows) for k in given})
    if not numbers:
        raise InvalidInputError("n_clusters is empty. Give the numbers to try, for example range(2, 16).")
    return numbers
