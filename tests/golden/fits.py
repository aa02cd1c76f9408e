"""One golden fit: build the estimator, fit it, and write down what it found."""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fairclust import (
    Bounds,
    ExactProportions,
    FairclustWarning,
    FairKMeans,
    FairKMedian,
    FairNCut,
    Features,
    Groups,
    MaxCostIncrease,
    MaxFairnessError,
    MinBalance,
    Penalty,
    audit,
    fairness_path,
)
from fairclust.solvers import BoundOptimization, Dual

from .cases import Case
from .tables import Table, given, table

_ESTIMATORS = {"kmeans": FairKMeans, "kmedian": FairKMedian, "ncut": FairNCut}

# What is written down: a name that stays, and the attribute that holds it now.
_FIGURES = {
    "objective": "objective_",
    "energy": "energy_",
    "lower_bound": "lower_bound_",
    "fairness_error": "fairness_error_",
    "max_fairness_error": "max_fairness_error_",
    "balance": "balance_",
    "fairness_weight": "fairness_weight_",
    "temperature": "temperature_",
    "goal_met": "goal_met_",
    "iterations": "n_iter_",
    "evaluations": "n_evaluations_",
    "stop_reason": "stop_reason_",
}
_ARRAYS = {
    "labels": "labels_",
    "centers": "cluster_centers_",
    "prices": "prices_",
    "size_prices": "size_prices_",
    "weights": "cluster_weights_",
    "proportions": "proportions_",
    "history": "energy_history_",
}
_PREDICTED = 500  # rows that a fit labels anew


# How columns are read: a name that stays, and the field of the record that holds it now.
_GROUPS = {"quantile_bins": "bins", "missing_groups": "missing", "intersections": "intersections"}
_FEATURES = {"missing_values": "missing", "feature_weights": "weights", "categorical_features": "categorical"}


def build(case: Case, n_threads: int) -> Any:
    """The estimator of a case: the only place that knows how a goal and its options are spelled."""
    options = {**case.options, **{name: v for name, v in case.groups.items() if name == "target_proportions"}}
    features = {field: options.pop(name) for name, field in _FEATURES.items() if name in options}
    if features:
        options["features"] = Features(**features)
    if not options.pop("polish", True):
        options.setdefault("solver", Dual(local_search=False))
    if options.pop("assignments", "hard") == "soft":
        options["solver"] = BoundOptimization(soft=True)
    if groups := _groups(case):
        options["groups"] = Groups(**groups)
    if case.task != "path":
        options["goal"] = _goal(*case.goal, case.groups.get("attribute_weights"))
    return _ESTIMATORS[case.estimator](case.n_clusters, **options, random_state=0, n_jobs=n_threads)


def _groups(case: Case) -> dict[str, Any]:
    return {field: case.groups[name] for name, field in _GROUPS.items() if name in case.groups}


def _goal(kind: str, value: Any, attribute_weights: Any = None) -> Any:
    made: dict[str, Callable[[], Any]] = {
        "plain": lambda: None,
        "weight": lambda: Penalty(value, attribute_weights),
        "error": lambda: MaxFairnessError(value),
        "exact": ExactProportions,
        "balance": lambda: MinBalance(value),
        "bounds": lambda: Bounds(value),
        "rounded bounds": lambda: Bounds(value, rounded=True),
        "cost increase": lambda: MaxCostIncrease(value),
    }
    return made[kind]()


def fit(case: Case, n_threads: int) -> dict[str, Any]:
    """What a case finds: figures, hashes of arrays, warnings; or the error that it ends with."""
    with warnings.catch_warnings(record=True) as caught, _made(case) as data:
        warnings.simplefilter("always")
        try:
            found = (_path if case.task == "path" else _fit)(case, data, build(case, n_threads))
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}
    said = sorted(f"{w.category.__name__}: {w.message}" for w in caught if issubclass(w.category, FairclustWarning))
    return {**found, "warnings": said}


def _fit(case: Case, data: Table, model: Any) -> dict[str, Any]:
    weights = {} if data.weights is None else {"sample_weight": data.weights}
    model.fit(data.X, sensitive_features=data.groups, **weights)
    figures = {name: _plain(getattr(model, now)) for name, now in _FIGURES.items() if hasattr(model, now)}
    arrays = {name: hashed(getattr(model, now)) for name, now in _ARRAYS.items() if hasattr(model, now)}
    return {**figures, **arrays, **_predicted(case, model), **_audited(case, model)}


def _path(case: Case, data: Table, model: Any) -> dict[str, Any]:
    kind, values = case.goal
    path = fairness_path(model, data.X, sensitive_features=data.groups, goals=[_goal(kind, value) for value in values])
    energies = path.objectives + (np.array(values) * path.fairness_errors if kind == "weight" else 0.0)
    limits = np.inf if kind == "weight" else np.array(values)
    return {
        "objective": float(path.objectives.sum()),
        "energy": float(energies.sum()),
        "max_fairness_error": float(path.max_fairness_errors.max()),
        "goal_met": bool((path.max_fairness_errors <= limits).all()),
        "evaluations": int(path.n_evaluations),
        "labels": hashed(path.labels),
        "points": hashed(np.array([values, path.objectives, path.fairness_errors, path.balances])),
    }


def _predicted(case: Case, model: Any) -> dict[str, str]:
    """The first rows labelled anew: with their groups, without, and softly."""
    if not hasattr(model, "predict"):
        return {}
    rows = table(case.table)
    X, groups = _first(rows.X), _first(rows.groups)
    return {
        "predicted": hashed(model.predict(X, groups)),
        "predicted_nearest": hashed(model.predict(X)),
        "predicted_softly": hashed(model.predict_proba(X, groups)),
    }


def _audited(case: Case, model: Any) -> dict[str, str]:
    """What an audit says of the labels: all of it."""
    rows = table(case.table)
    target = case.groups.get("target_proportions")
    groups = Groups(**_groups(case))
    labels = np.asarray(model.labels_)
    report = audit(labels, rows.groups, sample_weight=rows.weights, target_proportions=target, groups=groups)
    return {"audit": hashlib.sha256(repr(report.to_dict()).encode()).hexdigest()[:12]}


@contextlib.contextmanager
def _made(case: Case) -> Iterator[Table]:
    """The data of a case from its source, which is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as running:
        if case.source == "dask cluster":
            import distributed

            running.enter_context(
                distributed.Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None)
            )
        yield given(table(case.table), case.source, Path(folder))


def hashed(values: Any) -> str:
    """A short hash of an array: its shape and all of its bits."""
    values = np.ascontiguousarray(values)
    if values.dtype.kind in "iu":
        values = values.astype(np.int64)
    return hashlib.sha256(repr((values.shape, values.dtype.str)).encode() + values.tobytes()).hexdigest()[:12]


def _plain(value: Any) -> Any:
    """A number or a word, as JSON writes it."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, bool | int | float) else str(value)


def _first(rows: Any) -> Any:
    if isinstance(rows, dict):
        return {name: _first(column) for name, column in rows.items()}
    return rows.iloc[:_PREDICTED] if hasattr(rows, "iloc") else rows[:_PREDICTED]
