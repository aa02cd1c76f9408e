"""Ranges of a numeric attribute (age): where they are cut, and what they are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .._typing import AnyArray, FloatArray
from ..errors import InvalidInputError
from .columns import listed

_FEW_PAIRS = 1 << 22  # values times cuts: up to so many are compared one by one (32 MB), above by bisection


def bins_of_columns(wanted: Any, names: Sequence[str]) -> list[int | None]:
    """Number of ranges that each column is cut into; None: it holds groups already."""
    if wanted is None:
        return [None] * len(names)
    if not isinstance(wanted, Mapping):
        if len(names) > 1:
            raise InvalidInputError(
                f"Groups(bins={wanted!r}), but there are {len(names)} columns: {listed(names)}. Give a "
                "dict {column: number of bins}."
            )
        wanted = {names[0]: wanted}
    unknown = [name for name in wanted if str(name) not in names]
    if unknown:
        raise InvalidInputError(f"Groups(bins=…) names {listed(unknown)}, but the columns are {listed(names)}.")
    by_text = {str(name): number for name, number in wanted.items()}
    for name, number in by_text.items():
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 2:
            raise InvalidInputError(
                f"Groups(bins=…) asks for {number!r} bins of column {name!r}, but a whole number ≥ 2 is needed."
            )
    return [by_text.get(name) for name in names]


def quantiles(values: FloatArray, weights: FloatArray | None, n_bins: int) -> FloatArray:
    """Values where ranges of about equal weight meet; fewer where many values are alike."""
    distinct, place = np.unique(values, return_inverse=True)
    mass = np.bincount(place.reshape(-1), weights=weights, minlength=len(distinct)).astype(float)
    below = np.cumsum(mass) - mass  # weight of all smaller values
    cuts = np.arange(1, n_bins) / n_bins * mass.sum()
    # Each range starts at the value whose weight below is nearest to its share.
    at = (
        np.unique(np.abs(below[:, None] - cuts).argmin(axis=0))
        if len(distinct) <= _FEW_PAIRS // n_bins
        else (np.unique(np.clip(np.searchsorted(below, cuts), 0, len(distinct) - 1)))
    )
    edges: FloatArray = distinct[at[at > 0]]
    return edges


def range_names(edges: FloatArray) -> AnyArray:
    """Names of the ranges between the edges, lowest first."""
    if not len(edges):
        return np.array(["all"])
    texts = [f"{edge:g}" for edge in edges]
    between = [f"{low} to under {high}" for low, high in pairwise(texts)]
    return np.array([f"under {texts[0]}", *between, f"{texts[-1]} and over"])


def to_numbers(values: AnyArray, name: str, argument: str) -> FloatArray:
    """A column to be cut into ranges."""
    try:
        numbers: FloatArray = values.astype(float)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"Groups(bins=…) needs numbers, but column {name!r} of {argument} holds other values ({error})."
        ) from error
    return numbers
