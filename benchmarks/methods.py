"""The methods by name, ours and the peers. A new one is one function and one line in `METHODS`.

A method gets a `Task` and hands back labels; what they are worth is for :mod:`benchmarks.score` to say.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from fairclust import FairKMeans, Penalty

from .datasets import Dataset, Start
from .records import Unavailable

_HOLISTICAI_ROWS = 40_000


@dataclass(frozen=True)
class Task:
    """What a method is asked to do."""

    dataset: Dataset
    start: Start
    seed: int
    fairness_weight: float
    tol: float = 1e-4
    n_threads: int | None = None  # ours only; None: the method's own default


@dataclass(frozen=True)
class Outcome:
    """Labels, and what else the method told of itself: evaluations, iterations, its energy history."""

    labels: NDArray[Any]
    details: Mapping[str, Any] = field(default_factory=dict)
    model: Any = None


@dataclass(frozen=True)
class Method:
    """A named way to cluster.

    Attributes
    ----------
    name : str
    run : callable
        Does the task.
    objective : str
        What it minimises, a key of `benchmarks.score.OBJECTIVES`; it runs on cases of this objective.
    package : str or None
        Module that must be importable.
    is_slow : bool
        Minutes on Adult: a full run gives it one seed of the larger sets, a quick run none.
    refuse : callable
        Why the task is beyond the method, or None.
    """

    name: str
    run: Callable[[Task], Outcome]
    objective: str = "kmeans"
    package: str | None = None
    is_slow: bool = False
    refuse: Callable[[Task], str | None] = lambda task: None

    def __call__(self, task: Task) -> Outcome:
        """Do the task, or raise `Unavailable` with the reason. What a peer raises is a reason, too."""
        if self.package is not None and find_spec(self.package) is None:
            raise Unavailable(f"{self.package} is not installed")
        if (reason := self.refuse(task)) is not None:
            raise Unavailable(reason)
        if self.package is None:
            return self.run(task)
        try:
            return self.run(task)
        except Exception as error:
            raise Unavailable(f"{type(error).__name__}: {error}") from error


def _fair_kmeans(task: Task, **parameters: Any) -> Outcome:
    model = FairKMeans(
        task.dataset.n_clusters,
        init=task.start.centers,
        n_init=1,
        tol=task.tol,
        random_state=task.seed,
        n_jobs=task.n_threads,
        **parameters,
    )
    model.fit(task.dataset.X, sensitive_features=task.dataset.groups)
    details = {
        "weight": None if np.isnan(model.fairness_weight_) else model.fairness_weight_,
        "iterations": model.n_iter_,
        "evaluations": model.n_evaluations_,
        "stop": str(model.stop_reason_),
        "largest rise": float(np.diff(model.energy_history_).max(initial=0.0)),
    }
    return Outcome(model.labels_, details, model)


def _dual(task: Task) -> Outcome:
    return _fair_kmeans(task, goal=Penalty(task.fairness_weight))


def _bound(task: Task) -> Outcome:
    return _fair_kmeans(task, goal=Penalty(task.fairness_weight), solver="bound")


def _auto(task: Task) -> Outcome:
    return _fair_kmeans(task)


def _plain(task: Task) -> Outcome:
    return _fair_kmeans(task, goal=None)


def _sklearn(task: Task) -> Outcome:
    model = KMeans(task.dataset.n_clusters, init=task.start.centers, n_init=1, tol=task.tol, max_iter=300)
    model.fit(task.dataset.X)
    return Outcome(model.labels_, {"iterations": model.n_iter_}, model)


def _faiss(task: Task) -> Outcome:
    import faiss

    X = np.ascontiguousarray(task.dataset.X, dtype=np.float32)
    # All rows, as the others do (it samples by default); its default of 25 iterations, for it has no tol.
    model = faiss.Kmeans(
        X.shape[1], task.dataset.n_clusters, seed=task.seed, min_points_per_centroid=1, max_points_per_centroid=len(X)
    )
    model.train(X, init_centroids=task.start.centers.astype(np.float32))
    labels = model.index.search(X, 1)[1][:, 0]
    return Outcome(labels, {"iterations": len(model.iteration_stats or ())}, model)


def _holisticai(task: Task) -> Outcome:
    from holisticai.bias.mitigation import VariationalFairClustering  # type: ignore[import-untyped]

    names, counts = np.unique(task.dataset.groups, return_counts=True)
    # It swaps the targets when the minority comes first, so it is given the order in which it works.
    majority = task.dataset.groups == names[counts.argmax()]
    model = VariationalFairClustering(
        n_clusters=task.dataset.n_clusters,
        lipchitz_value=2.0,
        lmbda=task.fairness_weight,
        method="kmeans",
        normalize_input=False,
        seed=task.seed,
    )
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        model.fit(task.dataset.X, majority, ~majority)
    return Outcome(np.asarray(model.labels_), {"start": "its own k-means++"}, model)


def _refused_by_holisticai(task: Task) -> str | None:
    n_groups, n_samples = task.dataset.n_groups, len(task.dataset.X)
    if n_groups != 2:
        return f"takes two groups only, {task.dataset.name} has {n_groups}"
    if n_samples > _HOLISTICAI_ROWS:
        return f"left out above {_HOLISTICAI_ROWS:,} rows, where a fit takes many minutes"
    return None


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("FairKMeans dual", _dual),
        Method("FairKMeans bound", _bound),
        Method("FairKMeans auto", _auto),
        Method("FairKMeans λ=0", _plain),
        Method("scikit-learn KMeans", _sklearn),
        Method("faiss k-means", _faiss, package="faiss"),
        Method("holisticai VFC", _holisticai, package="holisticai", is_slow=True, refuse=_refused_by_holisticai),
    )
}
