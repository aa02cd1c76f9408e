"""What a command was asked for, as records. Nothing is read here, and nothing heavy is imported."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import InvalidInputError

MISSING_POLICIES = ("error", "drop", "impute", "observed")


@dataclass(frozen=True)
class Grouping:
    """How sensitive columns become groups."""

    intersections: bool = False
    missing_groups: str = "error"
    bins: dict[str, int] | None = None

    def options(self) -> dict[str, Any]:
        """Arguments of estimators and audits."""
        return {
            "intersections": self.intersections,
            "missing_groups": self.missing_groups,
            "quantile_bins": self.bins,
        }


@dataclass(frozen=True)
class Source:
    """Where the people are, and how their columns are read."""

    file: Path
    sensitive: str
    features: str | None = None
    encode: str | None = None
    exclude: str | None = None
    missing: str = "error"
    standardize: bool = True
    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    weight: str | None = None
    grouping: Grouping = field(default_factory=Grouping)


@dataclass(frozen=True)
class Method:
    """What is fitted."""

    n_clusters: int | None  # None: as -k auto finds
    objective: str = "kmeans"
    fairness_weight: float | None = None
    max_fairness_error: float | None = None
    min_balance: float | None = None
    max_cost_increase: float | None = None
    bounds: Any = None
    round_bounds: bool = False
    exact: bool = False
    min_cluster_size: float | None = None
    max_cluster_size: float | None = None
    target: dict[str, float] | None = None
    seed: int = 0
    n_init: int | None = None
    max_iter: int = 300
    jobs: int | None = None
    grouping: Grouping = field(default_factory=Grouping)

    def parameters(self) -> dict[str, Any]:
        """Arguments of the estimator."""
        from .._checks import DEFAULT_MAX_FAIRNESS_ERROR

        asked = {
            "--fairness-weight": self.fairness_weight,
            "--max-fairness-error": self.max_fairness_error,
            "--min-balance": self.min_balance,
            "--max-cost-increase": self.max_cost_increase,
            "--bounds": self.bounds,
            "--exact": self.exact or None,
        }
        given = [option for option, value in asked.items() if value is not None]
        if len(given) > 1:
            raise InvalidInputError(f"{' and '.join(given)} are both given. Give one of them.")
        goal = DEFAULT_MAX_FAIRNESS_ERROR if self.max_fairness_error is None else self.max_fairness_error
        parameters = {
            "n_clusters": self.n_clusters,
            "fairness_weight": "auto" if self.fairness_weight is None else self.fairness_weight,
            "max_fairness_error": 0.0 if self.exact else goal,
            "min_balance": self.min_balance,
            "max_cost_increase": self.max_cost_increase,
            "bounds": self.bounds,
            "round_bounds": self.round_bounds,
            "target_proportions": self.target,
            "n_init": "auto" if self.n_init is None else self.n_init,
            "max_iter": self.max_iter,
            "random_state": self.seed,
            "n_jobs": self.jobs,
        }
        sizes = {"min_cluster_size": self.min_cluster_size, "max_cluster_size": self.max_cluster_size}
        sizes = {name: size for name, size in sizes.items() if size is not None}
        if sizes and self.objective == "ncut":
            raise InvalidInputError("--min-cluster-size and --max-cluster-size need --objective kmeans or kmedian.")
        return parameters | sizes | self.grouping.options()


@dataclass(frozen=True)
class Wanted:
    """What should come out."""

    out: Path | None = None
    report: Path | None = None
    moves: Path | None = None
    model: Path | None = None
    label_column: str = "cluster"
    soft: bool = False
    compare: bool = False
    stability: int | None = None
    suppress_below: float | None = None
    json: bool = False
    force: bool = False
    config: str | None = None
    safe_csv: bool = False


@dataclass(frozen=True)
class Prediction:
    """What ``fairclust predict`` was asked for."""

    file: Path
    model: Path
    out: Path | None = None
    batch: bool = False
    groups: bool = True
    missing: str = "error"
    label_column: str = "cluster"
    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    suppress_below: float | None = None
    json: bool = False
    force: bool = False
    safe_csv: bool = False


@dataclass(frozen=True)
class Streaming:
    """How the rows are gone through: ``is_wanted`` None is for the file's size to decide; ``dask`` is an address."""

    is_wanted: bool | None = None
    dask: str | None = None


def parse_bins(texts: list[str] | None) -> dict[str, int] | None:
    """Read ``age=4,income=3`` (the option may be repeated).

    Parameters
    ----------
    texts : list of str or None
        What was typed after each ``--bins``.
    """
    bins: dict[str, int] = {}
    for name, number in _pairs(texts, "--bins", "column=number. Write age=4"):
        if not number.isdigit():
            raise InvalidInputError(f"--bins has '{name}={number}', which is not column=number. Write age=4.")
        bins[name] = int(number)
    return bins or None


def parse_target(texts: list[str] | None) -> dict[str, float] | None:
    """Read ``F=0.5,M=0.5`` (also ``F=50%``; the option may be repeated).

    Parameters
    ----------
    texts : list of str or None
        What was typed after each ``--target``.
    """
    shares: dict[str, float] = {}
    for name, share in _pairs(texts, "--target", "group=share. Write F=0.5,M=0.5"):
        shares[name] = _share(share, "--target", f"{name}={share}", "group=share. Write F=0.5,M=0.5")
    return shares or None


def parse_bounds(texts: list[str] | None) -> Any:
    """Read ``F=0.4:0.6`` (a lower and an upper share), or a number δ: (1 − δ) to 1/(1 − δ) times the target.

    Parameters
    ----------
    texts : list of str or None
        What was typed after each ``--bounds``.
    """
    if not texts:
        return None
    if len(texts) == 1 and "=" not in texts[0]:
        return _share(texts[0], "--bounds", texts[0], "a number or group=lower:upper. Write 0.2 or F=0.4:0.6")
    example = "group=lower:upper. Write F=0.4:0.6"
    bounds: dict[str, tuple[float, float]] = {}
    for name, pair in _pairs(texts, "--bounds", example):
        low, found, high = pair.partition(":")
        if not found:
            raise InvalidInputError(f"--bounds has '{name}={pair}', which is not {example}.")
        bounds[name] = _share(low, "--bounds", pair, example), _share(high, "--bounds", pair, example)
    return bounds


def parse_size(text: str | None, option: str) -> float | None:
    """Read a cluster size: a whole number of rows (100), or a share of all of them (0.3 or 30%)."""
    if text is None:
        return None
    if text.strip().isdigit() and int(text) > 0:
        return int(text)
    return _share(text, option, text, "a number of rows or a share. Write 100 or 0.1")


def parse_clusters(text: str) -> int | None:
    """Read a number of clusters, or ``auto``: None."""
    if text.strip().lower() == "auto":
        return None
    if not text.strip().lstrip("-").isdigit():
        raise InvalidInputError(f"-k {text!r} is neither a number nor 'auto'. Write -k 10, or -k auto.")
    return int(text)


def parse_weights(text: str | None) -> list[float] | None:
    """Read ``0,10,100``."""
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise InvalidInputError(f"--weights {text!r} is not a list of numbers. Write 0,10,100.") from None


def _pairs(texts: list[str] | None, option: str, example: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for part in ",".join(texts or []).split(",") if texts else []:
        name, sign, value = part.strip().rpartition("=")
        if not sign:
            raise InvalidInputError(f"{option} has {part.strip()!r}, which is not {example}.")
        if name.strip() in (known for known, _ in found):
            raise InvalidInputError(f"{option} names group {name.strip()!r} twice.")
        found.append((name.strip(), value.strip()))
    return found


def _share(text: str, option: str, typed: str, example: str) -> float:
    match = re.fullmatch(r"\s*(\d*\.?\d+(?:[eE][+-]?\d+)?)\s*(%?)\s*", text)
    if match is None:
        raise InvalidInputError(f"{option} has {typed!r}, which is not {example}.")
    return float(match[1]) / (100 if match[2] else 1)
