"""The data of the golden fits: generated, of every shape that the estimators take, and given from every source."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from fairclust.datasets import make_census_like, make_synthetic, make_synthetic_unequal
from fairclust.graphs import nearest_neighbors_graph
from fairclust.scaling import MemmapBlocks, ParquetBlocks


@dataclass(frozen=True)
class Table:
    """Rows with their groups and, if they have any, their weights."""

    X: Any
    groups: Any
    weights: Any = None


def _blobs(n: int, *, n_features: int = 4, n_groups: int = 3, seed: int = 0) -> Table:
    """Gaussian blobs of unequal size, each with its own mix of the groups."""
    rng = np.random.default_rng(seed)
    centers = 3.0 * rng.normal(size=(6, n_features))
    blob = rng.choice(6, size=n, p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05])
    X = centers[blob] + rng.normal(size=(n, n_features))
    mixes = rng.dirichlet(np.full(n_groups, 2.0), size=6)
    codes = (rng.random(n)[:, None] > mixes[blob].cumsum(axis=1)).sum(axis=1)
    return Table(X, np.array(["ant", "bee", "cat", "dog", "eel", "fox"])[np.minimum(codes, n_groups - 1)])


def _census(n: int) -> Table:
    people = make_census_like(n)
    return Table(people.data, people.sensitive_features)


def _planar(people: Any) -> Table:
    return Table(people.data, people.sensitive_features)


def _scaled(factor: float) -> Table:
    blobs = _blobs(800)
    return replace(blobs, X=blobs.X * factor)


def _whole_numbers() -> Table:
    """Answers from 0 to 4 to three questions: every row has many duplicates."""
    blobs = _blobs(3000, n_features=3)
    return replace(blobs, X=np.clip(np.round(blobs.X / 2.0) + 2.0, 0, 4))


def _rare() -> Table:
    """Three people of 1,500 are a group of their own."""
    blobs = _blobs(1500, n_groups=2)
    groups = blobs.groups.astype(object)
    groups[[10, 700, 1400]] = "owl"
    return replace(blobs, groups=groups)


def _attributes(n: int) -> Table:
    """Three attributes: one of two groups, one of four, and ages."""
    rng = np.random.default_rng(1)
    blobs = _blobs(n, n_groups=4)
    sex = np.where(rng.random(n) < np.where(blobs.X[:, 0] > 0, 0.7, 0.4), "F", "M")
    age = np.round(45 + 4.0 * blobs.X[:, 1] + rng.normal(scale=8.0, size=n))
    return replace(blobs, groups={"sex": sex, "region": blobs.groups, "age": age})


def _overlap() -> Table:
    """A 0/1 matrix: people are in several groups, or in none."""
    rng = np.random.default_rng(2)
    blobs = _blobs(1200)
    return replace(blobs, groups=rng.random((1200, 3)) < 1.0 / (1.0 + np.exp(-0.5 * blobs.X[:, :3])))


def _frame(n: int = 1500) -> Table:
    """Numbers and categories, some of them missing."""
    rng = np.random.default_rng(3)
    blobs = _blobs(n)
    job = np.array(["clerk", "nurse", "smith"], dtype=object)[rng.integers(3, size=n)]
    town = np.where(blobs.X[:, 2] > 0, "north", "south").astype(object)
    income = blobs.X[:, 0].copy()
    income[rng.random(n) < 0.05] = np.nan
    job[rng.random(n) < 0.05] = None
    return replace(blobs, X=pd.DataFrame({"income": income, "debt": blobs.X[:, 1], "job": job, "town": town}))


def _missing_groups() -> Table:
    blobs = _blobs(1000)
    groups = blobs.groups.astype(object)
    groups[::25] = None
    return replace(blobs, groups=groups)


def _sparse() -> Table:
    """Words of short texts: 1,200 rows, 60 columns, one entry in twenty."""
    rng = np.random.default_rng(4)
    topic = rng.integers(5, size=1200)
    rates = np.full((5, 60), 0.02) + np.kron(np.eye(5), np.full(12, 0.2))
    X = (rng.random((1200, 60)) < rates[topic]) * rng.gamma(2.0, size=(1200, 60))
    return Table(sparse.csr_array(X), np.where(rng.random(1200) < 0.2 + 0.12 * topic, "F", "M"))


def _heavy_tails() -> Table:
    rng = np.random.default_rng(5)
    X = rng.standard_t(1.5, size=(1500, 3))
    return Table(X, np.where(rng.random(1500) < 1.0 / (1.0 + np.exp(-X[:, 0])), "F", "M"))


def _far() -> Table:
    """A few rows very far from all others."""
    blobs = _blobs(800)
    X = blobs.X.copy()
    X[::200] *= 1e4
    return replace(blobs, X=X)


def _weighted(n: int) -> Table:
    return replace(_blobs(n), weights=np.random.default_rng(6).gamma(2.0, size=n))


def _graph() -> Table:
    blobs = _blobs(1500)
    return replace(blobs, X=nearest_neighbors_graph(blobs.X, 10, random_state=0, n_threads=1))


_MAKERS = {
    "tiny": lambda: _blobs(20, n_features=2, n_groups=2),
    "small": lambda: _blobs(200),
    "blobs": lambda: _blobs(2000),
    "six groups": lambda: _blobs(4000, n_groups=6),
    "many": lambda: _blobs(30_000),
    "census": lambda: _census(10_000),
    "large census": lambda: _census(100_000),
    "planar": lambda: _planar(make_synthetic()),
    "planar unequal": lambda: _planar(make_synthetic_unequal()),
    "whole numbers": _whole_numbers,
    "rare": _rare,
    "attributes": lambda: _attributes(2000),
    "many attributes": lambda: _attributes(30_000),
    "overlap": _overlap,
    "frame": _frame,
    "missing groups": _missing_groups,
    "sparse": _sparse,
    "heavy tails": _heavy_tails,
    "far": _far,
    "scale 1e-15": lambda: _scaled(1e-15),
    "scale 1e15": lambda: _scaled(1e15),
    "weighted": lambda: _weighted(1500),
    "many weighted": lambda: _weighted(30_000),
    "graph": _graph,
}


@cache
def table(name: str) -> Table:
    """The rows of this name, in memory."""
    return _MAKERS[name]()


def given(rows: Table, source: str, folder: Path) -> Table:
    """The same rows as this source gives them, in several blocks."""
    if source == "memory":
        return rows
    block = -(-len(rows.X) // 5)
    if source == "memmap":
        np.save(folder / "rows.npy", rows.X)
        return replace(rows, X=MemmapBlocks(folder / "rows.npy", block_rows=block))
    if source == "parquet":
        X = rows.X if isinstance(rows.X, pd.DataFrame) else pd.DataFrame(rows.X).add_prefix("x")
        groups = rows.groups if isinstance(rows.groups, dict) else {"group": rows.groups}
        weights = {} if rows.weights is None else {"weight": rows.weights}
        X.assign(**groups, **weights).to_parquet(folder / "rows.parquet", row_group_size=block)
        blocks = ParquetBlocks(folder / "rows.parquet", columns=list(X))
        return Table(blocks, list(groups), "weight" if weights else None)
    import dask.array as da

    X, groups = da.from_array(rows.X, chunks=(block, -1)), da.from_array(np.asarray(rows.groups), chunks=block)
    return Table(X, groups, None if rows.weights is None else da.from_array(rows.weights, chunks=block))
