"""A random population shaped like the 1990 census table, at any size, without files or network.

The population is fixed; `random_state` chooses the people drawn from it, and `n_samples` how many.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit
from sklearn.utils import Bunch, check_random_state

from fairclust.datasets._bunch import make_bunch
from fairclust.datasets._preprocessing import Moments, feature_moments, unit_rows
from fairclust.errors import InvalidInputError

CENSUS_ROWS = 2_458_285  # as US Census 1990 has
_N_FEATURES = 25  # the paper's choice of its columns
_N_FACTORS = 3  # directions in which the features of one blob move together
_N_CODED = 10  # the first features are whole numbers from 0 up, like the codes of a census form
_N_GENDERED = 2  # the first features also depend on the group within a blob
_GROUPS = np.array(["female", "male"])
_FEMALE_SHARE = 0.5153  # of the census
_POPULATION_SEED = 1990  # of the population that all samples are drawn from; any number would do
_BLOCK_ROWS = 16_384  # drawn at a time, each from a seed of its own: rows do not depend on how many follow

_DESCRIPTION = """\
Census-like: a synthetic population ({n_samples} rows drawn, 25 features, groups female and male) with overlapping blobs
of unequal size and shape. Shaped after, and in no row taken from, the US Census 1990 table of the UCI repository.
Rows are standardised, then scaled to unit length. K=20.
"""


class Population(NamedTuple):
    """A mixture with one Gaussian per cell; a cell is one blob in one group, all females first."""

    edges: NDArray[np.float64]  # (cells,) cumulative weights
    center: NDArray[np.float32]  # (cells, features)
    noise: NDArray[np.float32]  # (cells, features)
    factors: NDArray[np.float32]  # (factors, cells, features)


def make_census_like(
    n_samples: int = CENSUS_ROWS,
    *,
    random_state: int | np.random.RandomState | None = 0,
    dtype: DTypeLike = np.float32,
    n_blobs: int = 40,
    group_skew: float = 1.0,
) -> Bunch:
    """Draw people from a synthetic population that resembles the 1990 census table.

    Parameters
    ----------
    n_samples : int, default=2_458_285
        Number of rows; the default is the size of the census table.
    random_state : int, RandomState instance or None, default=0
        Seed of the draw. The population itself does not depend on it.
    dtype : float32 or float64, default=float32
        Type of `data`.
    n_blobs : int, default=40
        Number of overlapping blobs that make up the population.
    group_skew : float, default=1.0
        How strongly the group depends on position; 0 makes them independent. At 1 the shares in plain K-means clusters
        are off by 0.2 on average, as in the census (0.2 to 0.3), but no cluster lacks a group, as some do there.

    Returns
    -------
    Bunch
        `data` (n_samples, 25), C-contiguous, with standardised features and unit rows; `sensitive_features`
        (n_samples,) with "female" or "male"; `target_proportions`; `n_clusters` (20); `feature_names`; `DESCR`.

    Notes
    -----
    A shorter draw with the same seed is the beginning of a longer one. Features are standardised by the moments of the
    population, not of the draw. Rows are made in blocks, so peak memory is the result plus a few MB.

    Examples
    --------
    >>> from fairclust import datasets
    >>> people = datasets.make_census_like(1000, random_state=0)
    >>> people.data.shape, people.data.dtype, people.n_clusters
    ((1000, 25), dtype('float32'), 20)
    >>> sorted(people.target_proportions)
    ['female', 'male']
    """
    _check_request(n_samples, dtype, n_blobs, group_skew)
    population = _make_population(n_blobs, group_skew)
    moments = feature_moments(_draw(population, np.random.SeedSequence(_POPULATION_SEED), 4 * _BLOCK_ROWS)[0])
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    data = np.empty((n_samples, _N_FEATURES), dtype=dtype)
    codes = np.empty(n_samples, dtype=np.uint8)
    for start in range(0, n_samples, _BLOCK_ROWS):
        _fill(data[start : start + _BLOCK_ROWS], codes[start : start + _BLOCK_ROWS], population, moments, (seed, start))
    return make_bunch(
        data,
        _GROUPS[codes],
        n_clusters=20,
        feature_names=[f"feature_{index:02d}" for index in range(_N_FEATURES)],
        description=_DESCRIPTION.format(n_samples=n_samples),
    )


def _check_request(n_samples: int, dtype: DTypeLike, n_blobs: int, group_skew: float) -> None:
    if n_samples < 1:
        raise InvalidInputError(f"n_samples={n_samples}, expected at least 1.")
    if np.dtype(dtype) not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise InvalidInputError(f"dtype={dtype!r}, expected float32 or float64.")
    if n_blobs < 1:
        raise InvalidInputError(f"n_blobs={n_blobs}, expected at least 1.")
    if not 0.0 <= group_skew < np.inf:
        raise InvalidInputError(f"group_skew={group_skew}, expected a finite number that is at least 0.")


def _fill(
    data: NDArray[np.floating[Any]],
    codes: NDArray[np.uint8],
    population: Population,
    moments: Moments,
    seed: tuple[int, int],
) -> None:
    """Fill one block, OUT data (rows, features), OUT codes (rows,).

    A whole block is drawn even if fewer rows are needed, so that a short draw is the beginning of a long one.
    """
    raw, groups = _draw(population, np.random.SeedSequence(seed), _BLOCK_ROWS)
    data[:] = unit_rows(raw[: len(data)], moments)
    codes[:] = groups[: len(codes)]


def _draw(
    population: Population, seed: np.random.SeedSequence, n_rows: int
) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Raw features (n_rows, features) and group codes (n_rows,) of `n_rows` people."""
    rng = np.random.Generator(np.random.PCG64(seed))
    cells = np.searchsorted(population.edges, rng.random(n_rows), side="right")
    raw = rng.standard_normal((n_rows, _N_FEATURES), dtype=np.float32)
    raw *= population.noise[cells]
    raw += population.center[cells]
    for factor in population.factors:
        raw += rng.standard_normal((n_rows, 1), dtype=np.float32) * factor[cells]
    coded = raw[:, :_N_CODED]
    np.maximum(np.rint(coded, out=coded), 0.0, out=coded)
    return raw, (cells >= len(population.edges) // 2).astype(np.uint8)


def _make_population(n_blobs: int, group_skew: float) -> Population:
    rng = np.random.default_rng(_POPULATION_SEED)
    weight = rng.gamma(1.5, size=n_blobs)
    weight /= weight.sum()
    shape = (n_blobs, _N_FEATURES)
    center = 1.2 * rng.standard_normal(shape)
    noise = 0.3 * np.exp(0.4 * rng.standard_normal(shape))
    factors = 0.3 * rng.standard_normal((_N_FACTORS, *shape))
    # Every other blob is about as mixed as the whole, like children and the old in the census.
    blob = np.arange(n_blobs)
    side = np.where(blob % 4 == 1, 1.0, -1.0)
    tilt = np.where(blob % 2 == 1, side * rng.uniform(2.0, 4.0, n_blobs), 0.0)
    female = _shares_with_mean(group_skew * tilt, weight, _FEMALE_SHARE)
    shift = np.zeros(shape)
    shift[1::2, :_N_GENDERED] = group_skew
    cell_weight = np.concatenate([weight * female, weight * (1.0 - female)])
    edges = np.cumsum(cell_weight)
    edges[-1] = 1.0
    return Population(
        edges=edges,
        center=np.concatenate([center + shift, center - shift]).astype(np.float32),
        noise=np.concatenate([noise, noise]).astype(np.float32),
        factors=np.concatenate([factors, factors], axis=1).astype(np.float32),
    )


def _shares_with_mean(tilt: NDArray[np.float64], weight: NDArray[np.float64], mean: float) -> NDArray[np.float64]:
    """Shares logistic(tilt + c) with the c for which their weighted mean is `mean`."""
    reach = float(np.abs(tilt).max()) + 1.0
    middle = float(logit(mean))
    offset = brentq(lambda c: float(weight @ expit(tilt + c)) - mean, middle - reach, middle + reach)
    return np.asarray(expit(tilt + offset), dtype=np.float64)
