"""Gower's distance between rows of numbers and categories: a share of what the columns could differ by, from 0 to 1.

A number differs by |x − y| / (largest − smallest), a category by 0 or 1, and the distance is the weighted mean over the
columns. Where one of two rows has a gap, the column counts what it counts between two rows on average: a gap then says
nothing about where its row belongs. (Gower leaves such columns out and divides by the rest, which makes a row that is
nearly empty near to everything: a perfect medoid.) A sum over columns also has exact medoids at the price of sorting.

Rows come as :class:`CodedRows` whose numbers are scaled by their weight over their range, and whose ``units`` are the
weights of the categorical columns. Centres are *places*: numbers, then codes, with ``NO_NUMBER`` for a number's gap.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from .._typing import AnyArray, FloatArray, IntArray
from .coded import GAP, CodedRows

NO_NUMBER = -1.0  # a place's gap among the numbers, which are at least 0 in the rows of a fit
_ENTRIES = 1 << 22  # distances that are held at a time


def places(rows: CodedRows) -> FloatArray:
    """Rows as centres, (n_rows, n_numbers + n_categorical)."""
    numbers = np.where(np.isnan(rows.numbers), NO_NUMBER, rows.numbers)
    return np.ascontiguousarray(np.concatenate((numbers, rows.codes), axis=1), dtype=rows.dtype)


def distances(rows: CodedRows, centers: FloatArray) -> FloatArray:
    """Distances of rows to places, (n_rows, n_places)."""
    result = np.zeros((len(rows), len(centers)), dtype=rows.dtype)
    neutral, n_numbers = _neutral(rows), rows.n_numbers
    for m in range(n_numbers):
        own, column = centers[:, m].astype(rows.dtype), rows.numbers[:, m]
        part = np.abs(column[:, None] - own)
        if rows.has_gaps:
            part[np.isnan(column)] = neutral[m]
        part[:, own == NO_NUMBER] = neutral[m]
        result += part
    for q, n in enumerate(rows.n_categories):
        own = centers[:, n_numbers + q].astype(np.int64)
        table = np.full((n + 2, len(centers)), rows.units[q], dtype=rows.dtype)
        known = np.flatnonzero(own < n)
        table[own[known], known] = 0.0
        table[n + GAP] = neutral[n_numbers + q]
        table[:, own == n + GAP] = neutral[n_numbers + q]
        result += table[rows.codes[:, q]]
    return result


def sums_to_each(rows: CodedRows, weights: FloatArray) -> FloatArray:
    """For every row, the weighted sum of the distances of all rows to it: by sorting, column by column."""
    neutral, total = _neutral(rows), float(weights.sum())
    sums = np.zeros(len(rows))
    for m in range(rows.n_numbers):
        column = rows.numbers[:, m].astype(float)
        there = np.flatnonzero(~np.isnan(column))
        order = there[np.argsort(column[there], kind="stable")]
        value, weight = column[order], weights[order]
        below, moment = np.cumsum(weight), np.cumsum(weight * value)
        part = np.full(len(rows), neutral[m] * total)
        if len(order):
            # Σ w |v − y| = y (W≤ − W>) − (Σ≤ wv − Σ> wv), and the gaps are as far as they always are.
            here = value * (2.0 * below - below[-1]) - (2.0 * moment - moment[-1])
            part[order] = np.maximum(here, 0.0) + neutral[m] * (total - below[-1])
        sums += part
    for q, n in enumerate(rows.n_categories):
        code = rows.codes[:, q].astype(np.int64)
        count = np.bincount(code, weights, minlength=n + 2)
        gaps, own = count[n + GAP], neutral[rows.n_numbers + q]
        cost = rows.units[q] * (total - gaps - count) + own * gaps
        cost[n + GAP] = own * total
        sums += cost[code]
    return sums


def best_place(rows: CodedRows, weights: FloatArray, old: FloatArray) -> FloatArray:
    """The place anywhere with the least sum of distances: medians and commonest categories; ``old`` with no row.

    A gap is a place too, where a column is more spread out here than it is between two rows of the table.
    """
    place, neutral = np.array(old, dtype=float), _neutral(rows)
    for m in range(rows.n_numbers):
        column = rows.numbers[:, m].astype(float)
        there = np.flatnonzero(~np.isnan(column) & (weights > 0))
        if len(there):
            order = there[np.argsort(column[there], kind="stable")]
            reached = np.cumsum(weights[order])
            median = column[order[np.searchsorted(reached, 0.5 * reached[-1])]]
            cost = weights[order] @ np.abs(column[order] - median)
            place[m] = NO_NUMBER if rows.has_gaps and neutral[m] * reached[-1] < cost else median
    for q, n in enumerate(rows.n_categories):
        count = np.bincount(rows.codes[:, q], weights, minlength=n + 2)[:n]
        if count.any():
            cost = rows.units[q] * (count.sum() - count.max())
            is_gap = rows.has_gaps and neutral[rows.n_numbers + q] * count.sum() < cost
            place[rows.n_numbers + q] = n + GAP if is_gap else int(count.argmax())
    return place


def nearest(rows: CodedRows, n_neighbors: int, n_threads: int = 1) -> IntArray:
    """The nearest other rows of each row, (n_rows, n_neighbors); all pairs are looked at, some rows at a time."""
    single = CodedRows(
        rows.numbers.astype(np.float32), rows.codes, rows.n_categories, rows.units, rows.has_gaps, rows.neutral
    )
    shares = _shares(single)

    def search(part: slice) -> IntArray:
        found = _to_all(single, shares, part)
        found[np.arange(part.stop - part.start), np.arange(part.start, part.stop)] = np.inf
        return np.argpartition(found, n_neighbors - 1, axis=1)[:, :n_neighbors].astype(np.int32)

    with ThreadPoolExecutor(n_threads) as pool:
        return np.concatenate(list(pool.map(search, _parts(len(rows)))))


def _to_all(rows: CodedRows, shares: FloatArray, part: slice) -> FloatArray:
    """Distances of some rows to all: categories by a product of matrices, numbers column by column."""
    own = CodedRows(rows.numbers[part], rows.codes[part], rows.n_categories, rows.units, rows.has_gaps, rows.neutral)
    every = float(rows.units.sum())
    result: FloatArray = every - shares[part] @ shares.T
    neutral, room = _neutral(rows), np.empty_like(result)
    for m in range(rows.n_numbers):
        mine, others = own.numbers[:, m], rows.numbers[:, m]
        np.abs(np.subtract(mine[:, None], others, out=room), out=room)
        if rows.has_gaps:
            room[np.isnan(mine)] = neutral[m]
            room[:, np.isnan(others)] = neutral[m]
        result += room
    if rows.has_gaps:
        for q, n in enumerate(rows.n_categories):
            mine, others = own.codes[:, q] == n + GAP, rows.codes[:, q] == n + GAP
            less = np.float32(neutral[rows.n_numbers + q] - rows.units[q])  # the product takes gaps for differences
            result[mine] += less
            result[np.ix_(~mine, others)] += less
    return result


def _shares(rows: CodedRows) -> FloatArray:
    """A column per category, √unit where a row has it: products of rows are the weight of what they agree on."""
    parts = [np.zeros((len(rows), 0), dtype=np.float32)]
    for q, n in enumerate(rows.n_categories):
        parts.append(np.sqrt(rows.units[q]).astype(np.float32) * np.eye(n + 2, n, dtype=np.float32)[rows.codes[:, q]])
    return np.concatenate(parts, axis=1)


def _parts(n_rows: int) -> Iterator[slice]:
    step = max(1, _ENTRIES // n_rows)
    return (slice(first, min(first + step, n_rows)) for first in range(0, n_rows, step))


def _neutral(rows: CodedRows) -> AnyArray:
    """What a column counts where there is a gap."""
    return np.zeros(rows.n_numbers + len(rows.units)) if rows.neutral is None else rows.neutral
