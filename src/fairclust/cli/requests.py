"""What a command was asked for, as records. Nothing is read here, and nothing heavy is imported."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInputError

if TYPE_CHECKING:
    from .._people.attributes import Groups
    from ..goals import Goal

MISSING_POLICIES = ("error", "drop", "impute", "observed")


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
    groups: Groups | None = None


@dataclass(frozen=True)
class Method:
    """What is fitted."""

    n_clusters: int | None  # None: as -k auto finds
    objective: str = "kmeans"
    goal: Goal | None = None  # None: the estimators' own
    cluster_sizes: str | list[int] | None = None
    min_cluster_size: float | None = None
    max_cluster_size: float | None = None
    target: dict[str, float] | None = None
    seed: int = 0
    n_init: int | None = None
    max_iter: int = 300
    jobs: int | None = None
    groups: Groups | None = None

    def parameters(self) -> dict[str, Any]:
        """Arguments of the estimator."""
        from ..estimators import DEFAULT_GOAL
        from ..goals import read_goal

        sizes = {name: getattr(self, name) for name in ("cluster_sizes", "min_cluster_size", "max_cluster_size")}
        sizes = {name: size for name, size in sizes.items() if size is not None}
        if sizes and self.objective == "ncut":
            raise InvalidInputError(
                "--sizes, --min-cluster-size and --max-cluster-size need --objective kmeans or kmedian."
            )
        return sizes | {
            "n_clusters": self.n_clusters,
            "goal": read_goal(DEFAULT_GOAL) if self.goal is None else self.goal,
            "target_proportions": self.target,
            "groups": self.groups,
            "n_init": "auto" if self.n_init is None else self.n_init,
            "max_iter": self.max_iter,
            "random_state": self.seed,
            "n_jobs": self.jobs,
        }

    def settings(self) -> dict[str, Any]:
        """The same as plain values, and the objective."""
        parameters = self.parameters()
        groups = None if self.groups is None else asdict(self.groups)
        return parameters | {"goal": str(parameters["goal"]), "groups": groups, "objective": self.objective}


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


def read_groups_options(options: Mapping[str, Any]) -> Groups:
    """How sensitive columns become groups, from the options of a command."""
    from .._people.attributes import Groups

    choices = {"missing_groups": ("error", "own", "ignore"), "unknown_groups": ("error", "nearest")}
    for name, known in choices.items():
        value = options.get(name, "error")
        if value not in known:
            raise InvalidInputError(f"--{name.replace('_', '-')} {value!r} is not known. Choose {', '.join(known)}.")
    return Groups(
        intersections=options["intersections"],
        bins=parse_bins(options["bins"]),
        missing=options["missing_groups"],
        unknown=options.get("unknown_groups", "error"),
    )


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


def parse_sizes(text: str | None) -> str | list[int] | None:
    """Read ``equal``, or the rows of each cluster: ``100,200,50``."""
    if text is None or text.strip().lower() == "equal":
        return None if text is None else "equal"
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdigit() for part in parts):
        raise InvalidInputError(f"--sizes {text!r} is neither 'equal' nor a number of rows per cluster: 100,200,50.")
    return [int(part) for part in parts]


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
