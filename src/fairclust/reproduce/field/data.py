"""Tables and graphs of the protocols: loaded by name, scaled by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..._typing import FloatArray
from ...datasets import (
    feature_moments,
    fetch_acs,
    fetch_adult,
    fetch_bank,
    fetch_census1990,
    fetch_credit,
    fetch_lastfm,
    make_census_like,
    make_synthetic,
    make_synthetic_unequal,
    standardize_and_normalize,
)
from ...errors import InvalidInputError
from ...graphs import nearest_neighbors_graph
from ..data import PAPERS_NEIGHBORS
from .protocol import Recipe


@dataclass(frozen=True)
class Rows:
    """What is clustered: rows or a graph, and the group of each row (several attributes: a dict of columns)."""

    X: Any
    groups: Any


def _fetched(fetch: Callable[..., Any], data_dir: Path | None, **arguments: Any) -> Any:
    return fetch(data_home=data_dir, **arguments)


def _made(make: Callable[..., Any], data_dir: Path | None, **arguments: Any) -> Any:
    return make(**arguments)


LOADERS: dict[str, Callable[..., Any]] = {
    "adult": partial(_fetched, fetch_adult, preprocess=False),
    "bank": partial(_fetched, fetch_bank, preprocess=False),
    "census1990": partial(_fetched, fetch_census1990, preprocess=False),
    "credit": partial(_fetched, fetch_credit, preprocess=False),
    "acs": partial(_fetched, fetch_acs, preprocess=False),
    "lastfm": partial(_fetched, fetch_lastfm),
    "synthetic": partial(_made, make_synthetic),
    "synthetic-unequal": partial(_made, make_synthetic_unequal),
    "census-like": partial(_made, make_census_like),
}
"""Called with the data directory and a recipe's arguments; each returns a ``Bunch``."""


def _min_max(X: FloatArray) -> FloatArray:
    low, high = X.min(axis=0), X.max(axis=0)
    scaled: FloatArray = (X - low) / np.where(high > low, high - low, 1.0)
    return scaled


def _standard(X: FloatArray) -> FloatArray:
    moments = feature_moments(X)
    scaled: FloatArray = (X - moments.mean) / moments.std
    return scaled


SCALINGS: dict[str, Callable[[Any], Any]] = {
    "none": lambda X: X,
    "min-max": _min_max,
    "standard": _standard,
    "standard and unit rows": standardize_and_normalize,
}


def load(recipe: Recipe, data_dir: Path | None, *, is_graph: bool) -> Rows:
    """Load, scale, draw rows, and build the paper's graph of neighbours where one is wanted and none is given."""
    for name, value, known in (("load", recipe.load, LOADERS), ("scaling", recipe.scaling, SCALINGS)):
        if value not in known:
            raise InvalidInputError(
                f"{name} = {value!r} of data {recipe.name!r}, but one of {', '.join(known)} is needed."
            )
    bunch = LOADERS[recipe.load](data_dir, **recipe.arguments)
    X, groups = bunch.data, bunch.sensitive_features
    if recipe.rows is not None and recipe.rows < X.shape[0]:
        chosen = np.sort(np.random.RandomState(0).choice(X.shape[0], recipe.rows, replace=False))
        X, groups = X[chosen], _taken(groups, chosen)
    X = SCALINGS[recipe.scaling](X)
    if is_graph and X.shape[0] != X.shape[1]:
        X = nearest_neighbors_graph(X, PAPERS_NEIGHBORS, n_threads=1)
    return Rows(X, groups)


def _taken(groups: Any, rows: Any) -> Any:
    return {name: column[rows] for name, column in groups.items()} if isinstance(groups, dict) else groups[rows]
