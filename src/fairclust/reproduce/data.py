"""The data sets of the tables: found, downloaded or drawn when they are needed, and said plainly what they are."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .._typing import AnyArray, FloatArray
from ..datasets import (
    census1990_on_disk,
    fetch_adult,
    fetch_bank,
    fetch_census1990,
    make_census_like,
    make_synthetic,
    make_synthetic_unequal,
    standardize_and_normalize,
)
from ..graphs import EXACT_UP_TO, nearest_neighbors_graph
from .paper import CENSUS_ROWS

PAPERS_NEIGHBORS = 19
"""The paper's code asks for 20 neighbours and drops one as the point itself."""

_NCUT_ROWS = 50_000  # of data with more rows than an exact graph is built for


@dataclass(frozen=True)
class Points:
    """What is clustered."""

    X: FloatArray
    groups: AnyArray
    n_clusters: int


@dataclass
class Source:
    """A data set, loaded when it is needed.

    Attributes
    ----------
    name : str
        For file names and settings.
    title : str
        For tables.
    paper_name : str
        The paper's data set that it is, or stands for.
    identity : str
        Changes when the data do: kept with every cached result.
    rows_of_paper : float
        Its rows over the paper's; K-means and K-median costs are compared per row. 0: other data than the paper's.
    remark : str
        What a reader must know, or empty.
    """

    name: str
    title: str
    paper_name: str
    identity: str
    load: Callable[[], Points]
    rows_of_paper: float = 1.0
    remark: str = ""
    is_large: bool = False
    is_small: bool = False
    _points: Points | None = field(default=None, repr=False)
    _graph: Any = field(default=None, repr=False)

    @property
    def points(self) -> Points:
        """The points; loaded once."""
        if self._points is None:
            self._points = self.load()
        return self._points

    @property
    def graph(self) -> Any:
        """The neighbours' graph of the paper; built once."""
        if self._graph is None:
            self._graph = nearest_neighbors_graph(self.points.X, PAPERS_NEIGHBORS, n_threads=os.cpu_count() or 1)
        return self._graph

    def forget(self) -> None:
        """Give the memory back."""
        self._points = self._graph = None

    def few_rows(self, n_rows: int) -> Source:
        """Return the same with its first rows only."""

        def load() -> Points:
            points = self.points
            return Points(np.ascontiguousarray(points.X[:n_rows]), points.groups[:n_rows], points.n_clusters)

        return Source(f"{self.name}-{n_rows}", self.title, self.paper_name, self.identity, load)


def sources(objective: str, data_dir: Path | None, *, quick: bool) -> list[Source]:
    """Data sets of a table, in the paper's order.

    Parameters
    ----------
    objective : {"kmeans", "kmedian", "ncut"}
        Ncut is run on fewer rows of the largest set: exact graphs of millions of points take too long here.
    data_dir : Path or None
        Where real data are, or are downloaded to. None: the loaders' own place.
    quick : bool
        The synthetic sets only.
    """
    found = [
        Source(name, title, name, "seed 1", partial(_blobs, make), is_small=True)
        for name, title, make in (
            ("synthetic", "Synthetic", make_synthetic),
            ("synthetic-unequal", "Synthetic-unequal", make_synthetic_unequal),
        )
    ]
    if quick:
        return found
    found.append(Source("adult", "Adult", "adult", "uci 2", lambda: _points(fetch_adult(data_home=data_dir))))
    found.append(Source("bank", "Bank", "bank", "uci 222", lambda: _points(fetch_bank(data_home=data_dir))))
    return [*found, _census(objective, data_dir), _census_like(objective)]


def _blobs(make: Callable[[], Any]) -> Points:
    data = make()
    return Points(standardize_and_normalize(data.data), data.sensitive_features, data.n_clusters)


def raw_blobs(name: str) -> FloatArray:
    """Return the coordinates of a synthetic set as they are drawn."""
    made: FloatArray = {"synthetic": make_synthetic, "synthetic-unequal": make_synthetic_unequal}[name]().data
    return made


def _points(data: Any) -> Points:
    return Points(data.data, data.sensitive_features, data.n_clusters)


def _census(objective: str, data_dir: Path | None) -> Source:
    if census1990_on_disk(data_dir) == ("sample",):
        return Source(
            "census-sample", "Census II, sample of 50,000 rows", "census", "sample",
            lambda: _points(fetch_census1990(data_home=data_dir, subset="sample")),
            50_000 / CENSUS_ROWS,
            "a real sample of 50,000 of the paper's 2,458,285 rows, as the full table is not at hand"
            + ("" if objective == "ncut" else ": the paper's costs and λ are scaled to its rows"),
        )  # fmt: skip
    if objective == "ncut":
        return Source(
            "census-part", f"Census II, {_NCUT_ROWS:,} rows", "census", "full",
            lambda: _thinned(_points(fetch_census1990(data_home=data_dir, subset="full")), _NCUT_ROWS),
            _NCUT_ROWS / CENSUS_ROWS,
            f"{_NCUT_ROWS:,} rows drawn at random: an exact graph of all would take too long",
        )  # fmt: skip
    return Source(
        "census", "Census II", "census", "full",
        lambda: _points(fetch_census1990(data_home=data_dir, subset="full")), is_large=True,
    )  # fmt: skip


def _census_like(objective: str) -> Source:
    n_rows = EXACT_UP_TO if objective == "ncut" else CENSUS_ROWS
    remark = "synthetic, shaped after the census, no row of it taken: the paper's figures do not apply"
    if objective == "ncut":
        remark += f"; {n_rows:,} rows, the most for which the graph is exact"
    return Source(
        f"census-like-{n_rows}", f"Census-like, {n_rows:,} rows", "census", "seed 0",
        lambda: _points(make_census_like(n_rows)), 0.0, remark, is_large=n_rows > EXACT_UP_TO,
    )  # fmt: skip


def _thinned(points: Points, n_rows: int) -> Points:
    rows = np.sort(np.random.RandomState(0).choice(len(points.X), n_rows, replace=False))
    return Points(np.ascontiguousarray(points.X[rows]), points.groups[rows], points.n_clusters)
