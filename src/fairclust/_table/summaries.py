"""Tables that come in pieces: what each piece tells of its columns, and how they count in all pieces together.

The same features as :func:`learn_features` finds for the whole table, from tables of a few numbers per column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from .._typing import AnyArray, FloatArray
from ..errors import InvalidInputError
from .coded import CodedRows
from .features import (
    Category,
    Column,
    Features,
    LearnedFeatures,
    Number,
    Table,
    choose_categorical,
    column_weights,
    counted_category,
    gaps_refused,
    scaled_number,
)


@dataclass(frozen=True)
class ColumnSummary:
    """A column of some rows: weight, mean and squares about it of a number; counts by name of a category."""

    name: str
    is_category: bool
    is_single: bool
    n_gaps: int
    gap_weight: float
    total: float = 0.0
    mean: float = 0.0
    spread: float = 0.0
    counts: tuple[tuple[object, float], ...] = ()

    def __add__(self, other: ColumnSummary) -> ColumnSummary:
        if (self.name, self.is_category) != (other.name, other.is_category):
            kinds = ["words" if one.is_category else "numbers" for one in (self, other)]
            raise InvalidInputError(
                f"column {self.name!r} holds {kinds[0]} in one block, and column {other.name!r} {kinds[1]} in another. "
                "Give all blocks the same columns."
            )
        total = self.total + other.total
        share = other.total / total if total > 0 else 0.0
        apart = other.mean - self.mean
        counts = dict(self.counts)
        for name, count in other.counts:
            counts[name] = counts.get(name, 0.0) + count
        return ColumnSummary(
            self.name,
            self.is_category,
            self.is_single and other.is_single,
            self.n_gaps + other.n_gaps,
            self.gap_weight + other.gap_weight,
            total,
            self.mean + apart * share,
            self.spread + other.spread + apart**2 * share * self.total,
            tuple(counts.items()),
        )


@dataclass(frozen=True)
class Learned:
    """How the columns count, and what else a fit in blocks has to know of them.

    Attributes
    ----------
    features : LearnedFeatures
    empty : CodedRows
        No rows, of the right kind: what rows in blocks look like.
    middle : ndarray of shape (n_coordinates,)
        Mean of every coordinate over the rows that have its feature.
    variance : float
        Mean over the coordinates of their variance.
    """

    features: LearnedFeatures
    empty: CodedRows
    middle: FloatArray
    variance: float


def summarize(columns: Table, options: Features, weights: FloatArray | None) -> tuple[ColumnSummary, ...]:
    """What some rows tell of their columns."""
    found = []
    for column, is_category in zip(columns, choose_categorical(columns, options.categorical), strict=True):
        is_gap = column.missing
        w = np.ones(len(is_gap)) if weights is None else weights
        gaps = (int(is_gap.sum()), float(w[is_gap].sum()))
        if is_category:
            names, codes = column.coded
            counts = np.bincount(codes[~is_gap], w[~is_gap], minlength=len(names))
            pairs = tuple(zip(names.tolist(), counts.tolist(), strict=True))
            found.append(ColumnSummary(column.name, True, False, *gaps, counts=pairs))
            continue
        values, w = column.numbers[~is_gap], w[~is_gap]
        is_single, total = values.dtype == np.float32, float(w.sum())
        mean = float(w @ values / total) if total > 0 else 0.0
        spread = float(w @ (values - mean) ** 2) if total > 0 else 0.0
        found.append(ColumnSummary(column.name, False, is_single, *gaps, total, mean, spread))
    return tuple(found)


def learn_from(parts: Sequence[tuple[ColumnSummary, ...]], options: Features) -> Learned:
    """How the columns of all parts count."""
    together = [reduce(lambda one, other: one + other, own) for own in zip(*parts, strict=True)]
    if options.missing == "error" and any(column.n_gaps for column in together):
        raise gaps_refused([(column.name, column.n_gaps, "") for column in together if column.n_gaps])
    names = Table(tuple(Column(column.name, np.empty(0), column.is_category) for column in together))
    wanted = column_weights(names, options.weights)
    is_scaled = any(column.is_category for column in together) or options.weights is not None
    kinds: list[Number | Category] = []
    for column, weight in zip(together, wanted, strict=True):
        if column.is_category:
            kinds.append(_category(column, weight, options.missing == "own"))
        elif not is_scaled:
            kinds.append(Number(column.name, 0.0, 1.0, fill=column.mean))
        else:
            spread = float(np.sqrt(column.spread / column.total)) if column.total > 0 else 0.0
            kinds.append(replace(scaled_number(column.name, weight, column.mean, spread), fill=column.mean))
    single = [column.is_single for column in together if not column.is_category]
    dtype = "float32" if single and all(single) else "float64"
    allows_gaps, imputes = options.missing != "error", options.missing == "impute"
    features = LearnedFeatures(names.names, tuple(kinds), allows_gaps, dtype, None, imputes=imputes)
    return _learned(features, together)


def _learned(features: LearnedFeatures, together: Sequence[ColumnSummary]) -> Learned:
    numbers = [(together[i], kind) for i, kind in features.numbers]
    categories = [(together[i], kind) for i, kind in features.categories]
    middle = [(column.mean - kind.mean) * kind.scale for column, kind in numbers]
    variance = sum(column.spread / column.total * kind.scale**2 for column, kind in numbers if column.total > 0)
    has_gaps = any(column.n_gaps for column, _ in numbers) and not features.imputes
    for column, kind in categories:
        shares = _shares(column, kind)
        middle += (kind.unit * shares).tolist()
        variance += kind.unit**2 * (1.0 - float((shares**2).sum())) if shares.any() else 0.0
        is_filled = kind.gaps_are_own or (features.imputes and len(kind.categories) > 0)
        has_gaps |= bool(column.n_gaps) and not is_filled
    n_categories = np.array([len(kind.categories) for _, kind in categories], dtype=np.int64)
    empty = CodedRows(
        np.zeros((0, len(numbers)), dtype=features.dtype),
        np.zeros((0, len(categories)), dtype=np.uint16),
        n_categories,
        np.array([kind.unit for _, kind in categories], dtype=float),
        has_gaps,
    )
    return Learned(features, empty, np.array(middle, dtype=float), float(variance) / max(len(middle), 1))


def _category(column: ColumnSummary, weight: float, gaps_are_own: bool) -> Category:
    ordered = sorted(dict(column.counts).items(), key=lambda pair: (type(pair[0]).__name__, pair[0]))
    names = _names([name for name, _ in ordered])
    counts = np.array([count for _, count in ordered], dtype=float)
    own = column.gap_weight if gaps_are_own and column.n_gaps else None
    return counted_category(column.name, weight, names, counts, own)


def _names(values: Sequence[object]) -> AnyArray:
    if all(isinstance(value, str) for value in values):
        return np.array(values, dtype=str)
    names = np.empty(len(values), dtype=object)
    names[:] = values
    return names


def _shares(column: ColumnSummary, kind: Category) -> FloatArray:
    known = dict(column.counts)
    counts = [known.get(name, 0.0) for name in kind.categories.tolist()]
    if kind.gaps_are_own:
        counts[-1] = column.gap_weight
    total = float(sum(counts))
    return np.array(counts) / total if total > 0 else np.zeros(len(counts))
