"""The paper's four figures from real data: what is drawn is computed here and cached as plain numbers.

1. Convergence: energy against outer iteration. 2. Objective and Σ KL against λ. 3. Objective against K. 4. Clusters
against λ on the synthetic sets.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import kmeans_plusplus
from sklearn.metrics import pairwise_distances_argmin

from .._fit.path import fairness_path
from ..errors import DataUnavailableError, FairclustWarning
from ..estimators import FairKMeans
from ..goals import Penalty
from . import methods
from .data import Points, Source, raw_blobs, sources
from .paper import TABLES
from .store import Store

TITLES = {"kmeans": "Fair K-means", "kmedian": "Fair K-median", "ncut": "Fair Ncut"}
Drawn = dict[str, Any]

_CLUSTERS = (2, 4, 6, 8, 10, 15, 20)  # on the axis
_QUICK_CLUSTERS = (2, 3, 4, 6, 8)  # with fewer fits


def compute(store: Store, data_dir: Path | None, *, quick: bool) -> dict[str, list[Drawn]]:
    """Compute what the figures show.

    Parameters
    ----------
    store : Store
    data_dir : Path or None
    quick : bool
        The synthetic sets only.

    Returns
    -------
    panels : dict
        Per figure a list of panels, each a dict of plain values. Panels whose data are not at hand have "missing".
    """
    found = {source.name: source for source in sources("kmeans", data_dir, quick=quick)}
    real = [] if quick else [found["adult"], found["bank"]]
    blobs = [found["synthetic"], found["synthetic-unequal"]]
    numbers = list(_QUICK_CLUSTERS if quick else _CLUSTERS)
    panels: dict[str, list[Drawn]] = {
        "convergence": [
            _panel(store, "convergence", source, _setting(objective, source), _converge)
            for source in [blobs[0], *real[:1]]
            for objective in TITLES
        ],
        "tradeoff": [
            _panel(store, "tradeoff", source, {"objective": objective, "n_weights": 6 if quick else 14}, _trade_off)
            for objective in ("kmeans", "ncut")
            for source in (real or blobs)
        ],
        "clusters-number": [
            _panel(store, "clusters-number", source, _setting(objective, source) | {"numbers": numbers}, _numbers)
            for source in [real[1] if real else blobs[0]]
            for objective in TITLES
        ],
        "clusters-weight": [
            _panel(store, "clusters-weight", source, {"weights": [0.0, *_telling_weights(source.name)]}, _clusters)
            for source in blobs
        ],
    }
    for source in found.values():
        source.forget()
    return panels


def _setting(objective: str, source: Source) -> dict[str, Any]:
    """Objective, and the λ that the paper prints for it and the data set."""
    table = next(table for table in TABLES.values() if table.objective == objective)
    weight = next(row.fairness_weight for row in table.rows if row.data == source.paper_name)
    return {"objective": objective, "weight": float(weight)}


def _telling_weights(data: str) -> list[float]:
    return [500.0, 1200.0, 2000.0] if data == "synthetic" else [100.0, 300.0, 500.0]


def _panel(
    store: Store, figure: str, source: Source, setting: dict[str, Any], compute: Callable[..., dict[str, Any]]
) -> Drawn:
    settings = {"figure": figure, "data": source.name, "identity": source.identity} | setting
    objective = setting.get("objective", "")

    def timed() -> dict[str, Any]:
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairclustWarning)
            return compute(source, **setting) | {"seconds": time.perf_counter() - began}

    try:
        result = store.get(f"figure {figure} {source.name} {objective}".strip(), settings, timed)
    except DataUnavailableError as reason:
        result = {"missing": str(reason)}
    return result | {"data": source.title} | setting


def _start(source: Source, n_clusters: int) -> tuple[Any, Any]:
    """k-means++ centres and the labels of the nearest: where the paper starts."""
    X = source.points.X
    centers, _ = kmeans_plusplus(X, n_clusters, random_state=0)
    return np.ascontiguousarray(centers), pairwise_distances_argmin(X, centers).astype(np.int32)


def _converge(source: Source, objective: str, weight: float) -> dict[str, Any]:
    """Energies of both solvers from the same k-means++ start."""
    points = source.points
    centers, labels = _start(source, points.n_clusters)
    curves = {}
    for solver in ("bound", "dual"):
        common: dict[str, Any] = {"goal": Penalty(weight), "solver": solver, "random_state": 0}
        if objective == "ncut":
            common |= {"affinity": "precomputed", "init": labels}
        else:
            common["init"] = centers
        model = methods.OURS[objective](points.n_clusters, **common)
        model.fit(source.graph if objective == "ncut" else points.X, sensitive_features=points.groups)
        curves[solver] = [float(energy) for energy in model.energy_history_]
    return {"curves": curves}


def _trade_off(source: Source, objective: str, n_weights: int) -> dict[str, Any]:
    """Objective and Σ KL along a path."""
    points = source.points
    if objective == "ncut":
        model = methods.OURS[objective](points.n_clusters, affinity="precomputed", random_state=0)
        weights = [0.0, *np.geomspace(0.01, 100, n_weights - 1)]
        path = fairness_path(
            model, source.graph, sensitive_features=points.groups, goals=[Penalty(weight) for weight in weights]
        )
    else:
        model = methods.OURS[objective](points.n_clusters, n_init=10, random_state=0)
        path = fairness_path(model, points.X, sensitive_features=points.groups)
    return {
        "weights": [float(getattr(goal, "weight", 0.0)) for goal in path.goals],
        "objectives": path.objectives.tolist(),
        "errors": path.fairness_errors.tolist(),
    }


def _numbers(source: Source, objective: str, weight: float, numbers: list[int]) -> dict[str, Any]:
    """Objective against the number of clusters, without fairness and at the paper's λ."""
    points = source.points
    found: dict[str, list[float]] = {"plain": [], "fair": [], "errors": []}
    for n_clusters in numbers:
        for name, value in (("plain", 0.0), ("fair", weight)):
            given: dict[str, Any] = {"affinity": "precomputed"} if objective == "ncut" else {"n_init": 3}
            model = methods.OURS[objective](n_clusters, goal=Penalty(value), random_state=0, **given)
            model.fit(source.graph if objective == "ncut" else points.X, sensitive_features=points.groups)
            found[name].append(float(model.objective_))
        found["errors"].append(float(model.fairness_error_))
    return found


def _clusters(source: Source, weights: list[float]) -> dict[str, Any]:
    """Labels of fair K-means for rising weights, on the coordinates as they are drawn: plain clusters are unfair there.

    Scaled to unit rows, as in the tables, the plain clusters of Synthetic-unequal are proportional already.
    """
    points = Points(raw_blobs(source.name), source.points.groups, source.points.n_clusters)
    panels = []
    for weight in weights:
        model = FairKMeans(points.n_clusters, goal=Penalty(weight), n_init=10, random_state=0)
        model.fit(points.X, sensitive_features=points.groups)
        panels.append(
            {
                "labels": model.labels_.tolist(),
                "objective": float(model.objective_),
                "error": float(model.fairness_error_),
                "balance": float(model.balance_),
            }
        )
    return {"X": points.X.round(4).tolist(), "groups": points.groups.tolist(), "panels": panels}
