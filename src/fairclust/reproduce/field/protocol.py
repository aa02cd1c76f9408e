"""Protocols as data: which tables, how scaled, how many clusters, what goal, and what others have printed.

A protocol is one TOML file; what its keys mean is said in CONTRIBUTING.md. Nothing is run here.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import InvalidInputError
from ..paper import TABLES, Figure
from .goal import Goal

FOLDER = Path(__file__).parent / "protocols"


@dataclass(frozen=True)
class Recipe:
    """A table or graph as a protocol wants it.

    Attributes
    ----------
    name, title : str
        For files and for readers.
    load : str
        A name of ``fairclust.reproduce.field.data.LOADERS``.
    arguments : dict
        For the loader.
    scaling : str
        A name of ``fairclust.reproduce.field.data.SCALINGS``.
    rows : int or None
        So many rows, drawn at random with seed 0. None: all.
    """

    name: str
    title: str
    load: str
    arguments: dict[str, Any] = field(default_factory=dict)
    scaling: str = "none"
    rows: int | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """What the numbers depend on: kept with every cached result."""
        return {"load": self.load, "arguments": self.arguments, "scaling": self.scaling, "rows": self.rows}


@dataclass(frozen=True)
class Printed:
    """A figure that a paper prints. Never measured here."""

    method: str
    objective: float
    seconds: float | None = None
    fairness_error: float | None = None
    balance: float | None = None


@dataclass(frozen=True)
class Case:
    """One row: data, number of clusters, goal.

    Attributes
    ----------
    recipe : Recipe
    n_clusters : int
    goal : Goal
    printed : tuple of Printed
    exact_to : float
        A printed cost is known to so much: half a unit of its last digit where it is rounded, one where it is cut off.
    scale : float
        What printed costs are multiplied with, where these data are a sample of the paper's.
    quick : {"no", "also", "only"}
        Whether the row is run with ``--quick``: not at all, in both ways, or only then.
    """

    recipe: Recipe
    n_clusters: int
    goal: Goal
    printed: tuple[Printed, ...] = ()
    exact_to: float = 0.0
    scale: float = 1.0
    quick: str = "no"

    @property
    def name(self) -> str:
        """For readers: data, K, level."""
        return f"{self.recipe.title}, K={self.n_clusters}, {self.goal.level:g}"


@dataclass(frozen=True)
class Protocol:
    """A protocol.

    Attributes
    ----------
    name, title, source, text : str
        The file's stem; a heading; where it comes from; what a reader must know.
    goal : Goal
        With the first row's level.
    per_point : bool
        Whether costs are shown per row of data.
    leave_out : dict of str to str
        Methods that are not run, and why.
    cases : tuple of Case
    """

    name: str
    title: str
    source: str
    text: str
    per_point: bool
    leave_out: dict[str, str]
    cases: tuple[Case, ...]

    @property
    def goal(self) -> Goal:
        """Of the first row."""
        return self.cases[0].goal

    def chosen(self, *, quick: bool) -> tuple[Case, ...]:
        """Rows of a quick run or of a whole one."""
        unwanted = "no" if quick else "only"
        return tuple(case for case in self.cases if case.quick != unwanted)


def protocols(folder: Path = FOLDER) -> list[Protocol]:
    """Every protocol of a folder, in the order of ``place``, then of names."""
    read = [(_raw(path).get("place", 99), path) for path in sorted(folder.glob("*.toml"))]
    return [read_protocol(path) for _, path in sorted(read, key=lambda pair: pair[0])]


def read_protocol(path: Path) -> Protocol:
    """Read a file.

    Parameters
    ----------
    path : Path
        TOML; see CONTRIBUTING.md.
    """
    raw = _raw(path)
    try:
        recipes = {name: Recipe(name, **given) for name, given in raw["data"].items()}
        cases = tuple(case for given in raw["cases"] for case in _cases(given, recipes, raw))
        return Protocol(
            path.stem, raw["title"], raw["source"], raw["text"], raw.get("per_point", False),
            raw.get("leave_out", {}), cases,
        )  # fmt: skip
    except (KeyError, TypeError) as error:
        raise InvalidInputError(
            f"{path.name} is no protocol: {type(error).__name__} {error}. See 'Adding a protocol' in CONTRIBUTING.md."
        ) from error


def _raw(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise InvalidInputError(f"{path} cannot be read as TOML: {error}.") from error


def _cases(given: dict[str, Any], recipes: dict[str, Recipe], raw: dict[str, Any]) -> list[Case]:
    recipe = recipes[given["data"]]
    scale = given.get("scale", 1.0)
    quick = given.get("quick", "no")
    exact_to = raw.get("printed_to", 0.0)
    objective, kind, people = raw["objective"], raw["goal"], raw.get("people", 0)
    if "table" in given:
        row = next(row for row in TABLES[given["table"]].rows if row.data == given["row"])
        printed = tuple(
            Printed(name, figure.objective, None, figure.fairness_error, figure.balance)
            for name, figure in ((raw["source"], row.ours), (TABLES[given["table"]].rival + ", theirs", row.rival))
            if isinstance(figure, Figure) and (figure.fairness_error <= row.level)
        )
        goal = Goal(objective, kind, row.level, people)
        return [Case(recipe, given["n_clusters"], goal, printed, exact_to, scale, quick)]
    seconds = given.get("printed_seconds", {})
    return [
        Case(
            recipe,
            given["n_clusters"],
            Goal(objective, kind, level, people),
            tuple(
                Printed(method, float(costs[place]), seconds.get(method))
                for method, costs in given.get("printed", {}).items()
            ),
            exact_to,
            scale,
            quick,
        )
        for place, level in enumerate(given["levels"])
    ]
