"""One golden fit: build the estimator, fit it, and write down what it found."""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fairclust import FairclustWarning, FairKMeans, FairKMedian, FairNCut, audit, fairness_path

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
    "goal_met": "fairness_goal_met_",
    "polished": "polished_",
    "iterations": "n_iter_",
    "evaluations": "n_sweeps_",
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


def build(case: Case, n_threads: int) -> Any:
    """The estimator of a case: the only place that knows how a goal and its options are spelled."""
    kind, value = case.goal
    goal = {
        "plain": {"fairness_weight": 0.0},
        "weight": {"fairness_weight": value},
        "error": {"max_fairness_error": value},
        "exact": {"max_fairness_error": 0.0},
        "balance": {"min_balance": value},
        "bounds": {"bounds": value},
        "rounded bounds": {"bounds": value, "round_bounds": True},
        "cost increase": {"max_cost_increase": value},
    }[kind]
    arguments = {**({} if case.task == "path" else goal), **case.groups, **case.options}
    return _ESTIMATORS[case.estimator](case.n_clusters, **arguments, random_state=0, n_jobs=n_threads)


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
    along = {"fairness_weights" if kind == "weight" else "max_fairness_errors": values}
    path = fairness_path(model, data.X, sensitive_features=data.groups, **along)
    energies = path.objectives + (path.fairness_weights * path.fairness_errors if kind == "weight" else 0.0)
    limits = np.inf if kind == "weight" else np.array(values)
    return {
        "objective": float(path.objectives.sum()),
        "energy": float(energies.sum()),
        "max_fairness_error": float(path.max_fairness_errors.max()),
        "goal_met": bool((path.max_fairness_errors <= limits).all()),
        "evaluations": int(path.n_sweeps),
        "labels": hashed(path.labels),
        "points": hashed(np.array([path.fairness_weights, path.objectives, path.fairness_errors, path.balances])),
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
    reading = {name: value for name, value in case.groups.items() if name != "attribute_weights"}
    report = audit(np.asarray(model.labels_), rows.groups, sample_weight=rows.weights, **reading)
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
