"""The data sets by name. A new one is one line in `DATASETS`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import kmeans_plusplus
from sklearn.utils import Bunch

from fairclust import datasets
from fairclust.errors import DataUnavailableError

from .records import Unavailable

CENSUS_ROWS = 2_458_285
_CENSUS_WEIGHT = 500_000.0  # the paper's λ for Census; λ grows with the number of points
_SEEDING_ROWS = 1 << 16


@dataclass(frozen=True)
class Start:
    """Centres that every method starts from, and where they come from."""

    centers: NDArray[np.floating[Any]]
    is_common: bool  # the seeds that the authors' code was run from

    @property
    def origin(self) -> str:
        """In words."""
        return "common seed" if self.is_common else "k-means++"


@dataclass(frozen=True)
class Dataset:
    """A data set with the paper's K and λ.

    Attributes
    ----------
    name : str
    X : ndarray of shape (n_samples, n_features)
    groups : ndarray of shape (n_samples,)
        Group of each row.
    n_clusters : int
    fairness_weight : float
        λ of the paper's tables for K-means.
    """

    name: str
    X: NDArray[np.floating[Any]]
    groups: NDArray[Any]
    n_clusters: int
    fairness_weight: float

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(np.unique(self.groups))

    def start(self, seed: int) -> Start:
        """Centres of a seed: the common ones where they are at hand, otherwise k-means++ on at most 65,536 rows."""
        path = _seeds_folder() / f"{self.name}_seed{seed}.npz"
        if path.is_file():
            with np.load(path) as file:
                return Start(np.ascontiguousarray(file["C_init"], dtype=self.X.dtype), is_common=True)
        random_state = np.random.RandomState(seed)
        sample = self.X
        if len(sample) > _SEEDING_ROWS:
            sample = sample[np.sort(random_state.choice(len(sample), _SEEDING_ROWS, replace=False))]
        centers, _ = kmeans_plusplus(sample, self.n_clusters, random_state=random_state)
        return Start(np.ascontiguousarray(centers, dtype=self.X.dtype), is_common=False)


Loader = Callable[[bool], Bunch]
"""Takes whether it may download."""


def census_like_name(n_samples: int) -> str:
    """Name of the census-like set of a size: ``census-like-100000``."""
    return f"census-like-{n_samples}"


def _census_like(n_samples: int, download: bool) -> Bunch:
    return datasets.make_census_like(n_samples, random_state=0, dtype=np.float32)


def _as_in_the_paper(bunch: Bunch) -> Bunch:
    """The generators hand out raw coordinates; the other sets come preprocessed."""
    return Bunch(**{**bunch, "data": datasets.standardize_and_normalize(bunch.data)})


DATASETS: dict[str, tuple[Loader, float]] = {
    "adult": (lambda download: datasets.fetch_adult(download=download), 9000.0),
    "bank": (lambda download: datasets.fetch_bank(download=download), 6000.0),
    "synthetic": (lambda download: _as_in_the_paper(datasets.make_synthetic(random_state=1)), 10.0),
    "synthetic-unequal": (lambda download: _as_in_the_paper(datasets.make_synthetic_unequal(random_state=1)), 10.0),
    "census1990-sample": (
        lambda download: datasets.fetch_census1990(subset="sample", download=download),
        _CENSUS_WEIGHT * 50_000 / CENSUS_ROWS,
    ),
    **{
        census_like_name(n_samples): (partial(_census_like, n_samples), _CENSUS_WEIGHT * n_samples / CENSUS_ROWS)
        for n_samples in (10**4, 10**5, 10**6, CENSUS_ROWS, 10**7)
    },
}
"""Name → loader and λ."""


def load(name: str, *, download: bool = False) -> Dataset:
    """Load a data set, or raise `Unavailable` with the reason."""
    loader, weight = DATASETS[name]
    try:
        bunch = loader(download)
    except DataUnavailableError as error:
        raise Unavailable(f"{error} (--download lets the benchmarks fetch it)") from error
    return Dataset(name, bunch.data, bunch.sensitive_features, bunch.n_clusters, weight)


def _seeds_folder() -> Path:
    """FAIRCLUST_SEEDS, or figures/seeds beside the data."""
    if folder := os.environ.get("FAIRCLUST_SEEDS"):
        return Path(folder)
    return Path(os.environ.get("FAIRCLUST_DATA", ".")).parent / "figures" / "seeds"
