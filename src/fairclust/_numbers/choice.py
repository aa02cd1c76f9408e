"""Which number of clusters? A rule in the open: what it looks at, what it finds, and how little that may mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import FloatArray, IntArray

STABLE = 0.6  # adjusted Rand index between fits of subsamples, from which clusters are said to come back
CLEAR = 0.25  # silhouette below which clusters are hardly separated, by the usual reading of it
_NEAR = 0.02  # silhouettes that are no different


@dataclass(frozen=True)
class Choice:
    """A number of clusters, and what it rests on.

    Attributes
    ----------
    n_clusters : int
    also_possible : tuple of int
        Numbers that do about as well by the same rule.
    is_clear : bool
        Whether it is the only one that does, its clusters come back on subsamples, and they are separated.
    reason : str
        The rule and what it found, in sentences.
    """

    n_clusters: int
    also_possible: tuple[int, ...]
    is_clear: bool
    reason: str


def choose(
    numbers: IntArray, silhouettes: FloatArray, stabilities: FloatArray, smallest: FloatArray, least_size: float
) -> Choice:
    """Among numbers whose clusters come back and are large enough, the one with the highest silhouette."""
    large = smallest >= least_size
    stable = large & (stabilities >= STABLE)
    allowed = stable if stable.any() else large if large.any() else np.ones(len(numbers), dtype=bool)
    score = np.where(allowed & ~np.isnan(silhouettes), silhouettes, -np.inf)
    best = int(score.argmax()) if np.isfinite(score).any() else int(np.flatnonzero(allowed)[0])
    near = [int(k) for k, s in zip(numbers, score, strict=True) if s >= score[best] - _NEAR and k != numbers[best]]
    return Choice(
        int(numbers[best]),
        tuple(near),
        not near and bool(stable[best]) and bool(silhouettes[best] >= CLEAR),
        " ".join(_sentences(numbers, silhouettes, stabilities, large, stable, best, near, least_size)),
    )


def _sentences(
    numbers: IntArray,
    silhouettes: FloatArray,
    stabilities: FloatArray,
    large: FloatArray,
    stable: FloatArray,
    best: int,
    near: list[int],
    least_size: float,
) -> list[str]:
    said = [
        f"{numbers[best]} clusters: the highest silhouette ({silhouettes[best]:.2f}) among the numbers from "
        f"{numbers[0]} to {numbers[-1]}"
        + (f" whose clusters come back on subsamples (stability at least {STABLE:g})." if stable.any() else ".")
    ]
    if not stable.any():
        said.append(
            f"None of them has clusters that come back on subsamples ({numbers[_most(stabilities)]} comes nearest, at "
            f"{stabilities[_most(stabilities)]:.2f}): take them as a way to cut the data, not as groups that are there."
        )
    if not large.all() and least_size > 0:
        left = ", ".join(str(k) for k in numbers[~large])
        said.append(f"Left aside, as their smallest cluster has fewer than {least_size:g} rows: {left}.")
    if near:
        said.append(f"{_listed(near)} {'does' if len(near) == 1 else 'do'} as well (within {_NEAR:g}).")
    if not silhouettes[best] >= CLEAR:
        said.append(
            f"Below {CLEAR:g} clusters overlap: the data show no clear number. Let the use of the clusters decide."
        )
    return said


def _most(values: FloatArray) -> int:
    return int(np.nan_to_num(values, nan=-1.0).argmax())


def _listed(numbers: list[int]) -> str:
    texts = [str(number) for number in numbers]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
