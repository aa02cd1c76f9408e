"""Fits of every estimator under every goal, from every source, on strange data; what they claim is computed again.

The figures are recomputed here by plain NumPy that shares no code with the package. A refusal must be one of ours, a
warning too; a fit may take so many evaluations and no more.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from fairclust import (
    Bounds,
    ExactProportions,
    FairclustWarning,
    FairKMeans,
    FairKMedian,
    FairNCut,
    Features,
    MaxCostIncrease,
    MaxFairnessError,
    MinBalance,
    Penalty,
)
from fairclust.errors import InvalidInputError
from fairclust.scaling import ArrayBlocks

from . import runner
from .runner import BrokenPromise

MOST_EVALUATIONS = {"FairKMeans": 1_700, "FairKMedian": 1_700, "FairNCut": 10_000, "paper": 30_000}  # of one fit
_CLOSE = 1e-4  # relative: costs are kept in single precision


@dataclass(frozen=True)
class Fit:
    """A fit to be made: what to call, on what, and what it is in words."""

    estimator: Any
    X: Any
    rows: Any  # the same as numbers, for recomputing; None: a table, or a graph
    groups: Any
    codes: list[np.ndarray]  # of each attribute
    weights: np.ndarray | None
    goal: dict[str, Any]
    what: str


# --- making fits ------------------------------------------------------------------------------------------------------


def _rows(rng: np.random.Generator, n: int) -> tuple[np.ndarray, str]:
    """Rows of one of several kinds, some unpleasant."""
    M = int(rng.integers(1, 6))
    X = rng.normal(size=(n, M)) + 3.0 * rng.normal(size=(4, M))[rng.integers(4, size=n)]
    kind = str(rng.choice(["blobs", "alike", "heavy", "whole", "line", "far", "one outlier"]))
    if kind == "alike":
        X = X[rng.integers(min(n, 7), size=n)]
    elif kind == "heavy":
        X = rng.standard_cauchy(size=(n, M))
    elif kind == "whole":
        X = np.round(X)
    elif kind == "line":
        X = X[:, :1] * rng.normal(size=(1, M))
    elif kind == "far":
        X = X + 1e5
    elif kind == "one outlier":
        X[rng.integers(n)] *= 1e6
    exponent = int(rng.choice([0, 0, 0, -12, -6, -3, 3, 6, 12]))
    if rng.random() < 0.3:
        X = X.copy()
        X[:, rng.integers(M)] = 7.0
    return X * 10.0**exponent, f"{kind}·1e{exponent} n={n} M={M}"


def _groups(rng: np.random.Generator, X: np.ndarray) -> tuple[Any, list[np.ndarray], str]:
    """Columns of groups, and the codes of each attribute."""
    n = len(X)
    order = np.argsort(np.argsort(X[:, 0], kind="stable"), kind="stable") / n
    columns = []
    n_attributes = int(rng.choice([1, 1, 1, 2, 3]))
    sizes = []
    for _ in range(n_attributes):
        J = int(rng.integers(1, 5))
        shares = rng.dirichlet(np.full(J, float(rng.choice([0.3, 1.0, 10.0]))))
        mixed = rng.random(n) if rng.random() < 0.5 else 0.5 * order + 0.5 * rng.random(n)
        codes = np.searchsorted(np.cumsum(shares)[:-1], mixed)
        columns.append(np.unique(codes, return_inverse=True)[1].reshape(-1))
        sizes.append(int(columns[-1].max()) + 1)
    if n_attributes == 1:
        given: Any = columns[0] if rng.random() < 0.5 else np.array(["a", "b", "c", "d"])[columns[0]]
    else:
        given = {f"s{i}": own for i, own in enumerate(columns)}
    return given, columns, f"J={sizes}"


def _goal(rng: np.random.Generator, kind: str, codes: list[np.ndarray], n: int, K: int) -> dict[str, Any]:
    shares = np.bincount(codes[0]) / n
    choice = str(rng.choice(["weight", "error", "error", "exact", "balance", "bounds", "cost", "plain"]))
    if choice == "weight":
        return {"goal": Penalty(float(10.0 ** rng.uniform(-3, 7))), "solver": str(rng.choice(["dual", "bound"]))}
    if choice == "exact":
        return {"goal": ExactProportions()}
    if choice == "balance":
        return {"goal": MinBalance(float(rng.uniform(0.001, 1) * shares.min() / shares.max()))}
    if choice == "bounds":
        return {"goal": Bounds(float(rng.uniform(0.05, 0.6)))}
    if choice == "cost":
        return {"goal": MaxCostIncrease(float(10.0 ** rng.uniform(-3, 1)))}
    if choice == "plain":
        return {"goal": None}
    goal: dict[str, Any] = {"goal": MaxFairnessError(float(10.0 ** rng.uniform(-4, 0)))}
    if kind != "ncut" and rng.random() < 0.3:
        goal["min_cluster_size"] = float(rng.uniform(0, 0.8) / K)
    if kind != "ncut" and rng.random() < 0.3:
        goal["max_cluster_size"] = float(min(1.0, rng.uniform(1.2, 3.0) / K))
    return goal


def make(number: int) -> Fit:
    """The fit of a number."""
    rng = np.random.default_rng(number)
    n = int(np.exp(rng.uniform(np.log(2), np.log(300))))
    kind = str(rng.choice(["kmeans", "kmeans", "kmeans", "kmedian", "kmedian", "ncut"]))
    X, what = _rows(rng, min(max(n, 12), 80) if kind == "ncut" else n)  # graphs take long
    n = len(X)
    K = int(rng.integers(1, min(n, 4 if kind == "ncut" else 8) + 1))
    groups, codes, who = _groups(rng, X)
    goal = _goal(rng, kind, codes, n, K)
    options = {"random_state": number % 7, "n_init": int(rng.integers(1, 3)), "n_jobs": 1, "max_iter": 50} | goal
    weights = None
    if rng.random() < 0.3:
        weights = rng.choice([0.0, 1.0, 2.0, 3.0], n) if rng.random() < 0.5 else rng.gamma(1.0, size=n)
        weights[: max(2, n // 2)] += 0.5
    rows: Any = X
    given: Any = X
    source = "array"
    if kind == "kmeans":
        estimator: Any = FairKMeans(K, **options)
        source = str(rng.choice(["array", "array", "float32", "sparse", "table", "blocks", "lists"]))
    elif kind == "kmedian":
        metric, center = str(rng.choice(["euclidean", "manhattan"])), str(rng.choice(["medoid", "geometric"]))
        estimator = FairKMedian(K, metric=metric, center=center, **options)
        source = str(rng.choice(["array", "array", "float32", "blocks"])) if metric == "euclidean" else "array"
        what += f" {metric} {center}"
    else:
        weights = None  # of nodes: not recomputed here
        estimator = FairNCut(K, n_neighbors=min(10, n - 1), **options)
    if source == "float32":
        rows = given = X.astype(np.float32)
    elif source == "sparse":
        rows = X * (rng.random(X.shape) < 0.6)
        given = sparse.csr_array(rows)
    elif source == "blocks":
        ends = np.sort(rng.integers(0, n, 2))
        given = ArrayBlocks([part for part in np.split(X, ends) if len(part)])
    elif source == "lists":
        given = X.tolist()
    elif source == "table":
        given, rows = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])]), None
        given["word"] = rng.choice(["u", "v", "w"], n)
        if rng.random() < 0.5:
            given.loc[rng.random(n) < 0.2, "x0"] = np.nan
            given.loc[rng.random(n) < 0.2, "word"] = None
            estimator.set_params(features=Features(missing=str(rng.choice(["observed", "own"]))))
    if kind == "ncut":
        rows = None
    weighted = "" if weights is None else " weighted"
    words = f"{kind} {source} K={K} {what} {who}{weighted} {goal}"
    return Fit(estimator, given, rows, groups, codes, weights, goal, words)


# --- what a fit must keep ---------------------------------------------------------------------------------------------


def _must(holds: Any, promise: str) -> None:
    if not holds:
        raise BrokenPromise(promise)


def _near(a: Any, b: Any, scale: float, close: float = _CLOSE) -> bool:
    return bool(np.all(np.abs(np.asarray(a, dtype=float) - b) <= close * scale + 1e-300))


def _errors(target: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """KL(target ‖ shares) of each cluster; infinite where somebody who is wanted is absent."""
    shares = masses / masses.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(target > 0, target * np.log(target / shares), 0.0)
    return terms.sum(axis=1)


def check(fit: Fit, model: Any) -> None:
    """Compare what a fitted model says with what its labels are."""
    n, K = len(fit.codes[0]), model.n_clusters
    labels = np.asarray(model.labels_)
    _must(labels.shape == (n,) and labels.dtype.kind == "i", "labels_ is no label per row")
    _must(labels.min() >= 0 and labels.max() < K, "labels_ are no clusters")
    w = np.ones(n) if fit.weights is None else fit.weights
    masses = [
        np.bincount(labels * (own.max() + 1) + own, w, K * (own.max() + 1)).reshape(K, -1).astype(float)
        for own in fit.codes
    ]
    sizes = masses[0].sum(axis=1)
    _must(_near(model.cluster_sizes_, sizes, w.sum(), 1e-9), "cluster_sizes_ are not the labels'")
    filled = sizes > 0
    _check_energy(fit, model)
    _check_objective(fit, model, labels, w, filled)
    if filled.all():
        _check_shares(fit, model, masses, sizes)
    most = MOST_EVALUATIONS["paper" if fit.goal.get("solver") == "bound" else type(model).__name__]
    _must(model.n_evaluations_ <= most, f"took {model.n_evaluations_} evaluations")


def _check_energy(fit: Fit, model: Any) -> None:
    history = np.asarray(model.energy_history_)
    _must(np.isfinite(history).all() and np.isfinite(model.energy_), "energy is not finite")
    _must(len(history) == model.n_iter_, f"{len(history)} energies of {model.n_iter_} iterations")
    if len(history) > 1:
        rise = float(np.diff(history).max())
        _must(rise <= _CLOSE * np.abs(history).max(), f"energy rises by {rise:g} of {history[0]:g}")


def _check_objective(fit: Fit, model: Any, labels: np.ndarray, w: np.ndarray, filled: np.ndarray) -> None:
    _must(np.isfinite(model.objective_) and model.objective_ >= 0, f"objective_ is {model.objective_}")
    if not np.isnan(model.lower_bound_):
        slack = _CLOSE * max(abs(model.objective_), 1e-300)
        if model.goal_met_:
            _must(model.lower_bound_ <= model.objective_ + slack, "lower_bound_ is above objective_")
    if fit.rows is None:
        return
    X = np.asarray(fit.rows, dtype=float)
    scale = float(w @ ((X - X.mean(axis=0)) ** 2).sum(axis=1))
    # Single precision knows distances to its rounding of the coordinates themselves.
    rounding = float(np.abs(X).max()) ** 2 * np.finfo(fit.rows.dtype).eps * len(X) * X.shape[1]
    if isinstance(model, FairKMeans):
        value = 0.0
        for k in np.flatnonzero(filled):
            own = X[labels == k]
            mean = np.average(own, axis=0, weights=w[labels == k])
            value += float(w[labels == k] @ ((own - mean) ** 2).sum(axis=1))
        _must(
            _near(model.objective_, value, max(scale, rounding)), f"objective_ is {model.objective_:g}, not {value:g}"
        )
    else:
        value = sum(_median_cost(X[labels == k], w[labels == k], model) for k in np.flatnonzero(filled))
        scale = float(w @ np.abs(X - X.mean(axis=0)).sum(axis=1)) + np.sqrt(rounding * len(X))
        _must(_near(model.objective_, value, scale), f"objective_ is {model.objective_:g}, not {value:g}")
        if model.center == "medoid" and not isinstance(fit.X, ArrayBlocks):
            _must(
                (np.asarray(fit.rows)[model.medoid_indices_[filled]] == model.cluster_centers_[filled]).all(),
                "medoids are not rows",
            )


def _median_cost(X: np.ndarray, w: np.ndarray, model: Any) -> float:
    """What rows cost about their own centre: the best of them, medians by coordinate, or Weiszfeld's point."""

    def cost(center: np.ndarray) -> float:
        apart = X - center
        return float(
            w @ (np.abs(apart).sum(axis=1) if model.metric == "manhattan" else np.sqrt((apart**2).sum(axis=1)))
        )

    if model.center == "medoid":
        return min(map(cost, X[w > 0] if w.any() else X))  # a row of weight zero is no medoid
    if model.metric == "manhattan":
        order = np.argsort(X, axis=0)
        held = np.take_along_axis(np.broadcast_to(w[:, None], X.shape), order, axis=0).cumsum(axis=0)
        middle = (held >= w.sum() / 2).argmax(axis=0)
        return cost(np.take_along_axis(X, order, axis=0)[middle, np.arange(X.shape[1])])
    center, best = np.average(X, axis=0, weights=w), min(map(cost, X))
    for _ in range(300):
        apart = np.sqrt(((X - center) ** 2).sum(axis=1))
        if not apart.all():
            break
        center = np.average(X, axis=0, weights=w / apart)
        best = min(best, cost(center))
    return best


def _check_shares(fit: Fit, model: Any, masses: list[np.ndarray], sizes: np.ndarray) -> None:
    shares = np.concatenate([own / sizes[:, None] for own in masses], axis=1)
    _must(_near(model.proportions_, shares, 1.0, 1e-9), "proportions_ are not the labels'")
    targets = [own.sum(axis=0) / own.sum() for own in masses]
    errors = np.stack([_errors(*pair) for pair in zip(targets, masses, strict=True)], axis=1)
    worst, told = float(errors.max()), model.max_fairness_error_
    if np.isfinite(worst):
        _must(abs(told - worst) <= 1e-6 * max(worst, 1e-3), f"max_fairness_error_ is {told:g}, not {worst:g}")
    else:  # somebody is absent: errors of shares of 0 are floored, and a very small group may be
        worst = told
    balance = min(float((own.min(axis=1) / own.max(axis=1)).min()) for own in masses)
    _must(abs(model.balance_ - balance) <= 1e-9, f"balance_ is {model.balance_:g}, not {balance:g}")
    if sum(own.shape[1] > 1 for own in masses):
        _check_goal(fit, model, masses, sizes, shares, worst, balance)


def _check_goal(
    fit: Fit, model: Any, masses: list[np.ndarray], sizes: np.ndarray, shares: np.ndarray, worst: float, balance: float
) -> None:
    """``goal_met_`` is what an independent look at the labels says."""
    goal, met = fit.goal, model.goal_met_
    least = goal.get("min_cluster_size", 0.0) * sizes.sum()
    most = goal.get("max_cluster_size", 1.0) * sizes.sum()
    tiny = 1e-6
    is_sized = bool((sizes >= least - tiny).all() and (sizes <= most + tiny).all())
    asked = goal.get("goal")
    if isinstance(asked, ExactProportions):
        if fit.weights is not None:
            return
        ideal = [np.outer(sizes, own.sum(axis=0)) / sizes.sum() for own in masses]
        off = max(float(np.abs(own - wanted).max()) for own, wanted in zip(masses, ideal, strict=True))
        _must(met == (off < 1.0 - 1e-9 or off <= 1e-9), f"exact: met={met}, counts are {off:g} from the ideal")
    elif isinstance(asked, MaxFairnessError):
        limit = asked.limit
        if abs(worst - limit) > 1e-6 * limit:
            holds = worst <= limit
            _must(not met or holds, f"met={met}, but the worst cluster has {worst:g}, limit {limit:g}")
            _must(met or not holds or not is_sized, f"met={met}, though the worst cluster has {worst:g} of {limit:g}")
    elif isinstance(asked, MinBalance):
        if abs(balance - asked.limit) > 1e-9:
            _must(met == (balance >= asked.limit), f"met={met}, balance {balance:g} of {asked.limit:g}")
    elif isinstance(asked, Bounds):
        target = np.concatenate([own.sum(axis=0) / own.sum() for own in masses])
        delta = asked.shares
        lower, upper = target * (1 - delta), np.minimum(target / (1 - delta), 1.0)
        off = float(np.maximum(lower - shares, shares - upper).max())
        if abs(off) > 1e-9:
            _must(met == (off <= 0), f"bounds: met={met}, shares are {off:g} outside")


def case(number: int, tell: Callable[[str], None]) -> str:
    """Make a fit and look at it."""
    fit = make(number)
    tell(fit.what)
    given = {"sensitive_features": fit.groups}
    given |= {} if fit.weights is None else {"sample_weight": fit.weights}
    began = time.process_time()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            model = fit.estimator.fit(fit.X, **given)
        except InvalidInputError as error:
            _must(len(str(error)) > 20, f"a refusal without a reason: {error}")
            return "refused"
    seconds = time.process_time() - began
    strange = [w for w in told if not issubclass(w.category, FairclustWarning)]
    _must(not strange, f"warned of {strange[0].category.__name__}: {strange[0].message}" if strange else "")
    check(fit, model)
    if hasattr(model, "predict") and not isinstance(fit.X, ArrayBlocks):
        labels = model.predict(fit.X, fit.groups)
        _must(labels.min() >= 0 and labels.max() < model.n_clusters, "predict() gives no clusters")
    end = "at a weight" if "fairness_weight" in fit.goal else "met" if model.goal_met_ else "missed"
    return f"{end}; evaluations={model.n_evaluations_}; seconds={seconds:.1f}"


if __name__ == "__main__":
    sys.exit(runner.main("estimators", case, per_process=50, seconds_per_process=300))
