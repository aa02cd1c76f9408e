"""The two planar data sets of the paper: four Gaussian blobs each, group tied to height. No files, no network."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.utils import Bunch

from fairclust.datasets._bunch import make_bunch

_DESCRIPTION = """\
{title}: four Gaussian blobs in the plane, K=2. The lower two blobs are group A, the upper two group B, so the natural
split into two clusters is by group, and the fair one is left against right.
From: Ziko, Yuan, Granger, Ben Ayed, "Variational Fair Clustering", AAAI 2021.
"""


def make_synthetic(random_state: int | np.random.RandomState | None = 1) -> Bunch:
    """Draw the paper's *Synthetic* set: four blobs of 100 points, two groups of equal size.

    Parameters
    ----------
    random_state : int, RandomState instance or None, default=1
        Seed of the draw; 1 gives the points of the paper.

    Returns
    -------
    Bunch
        `data` (400, 2) holds raw coordinates; the paper passes them through `standardize_and_normalize`.
        `sensitive_features` (400,) holds "A" or "B"; `target_proportions`, `n_clusters` (2), `feature_names` and
        `DESCR` complete it.

    Examples
    --------
    >>> from fairclust import datasets
    >>> blobs = datasets.make_synthetic()
    >>> blobs.data.shape, blobs.target_proportions
    ((400, 2), {'A': 0.5, 'B': 0.5})
    """
    return _four_blobs("Synthetic", (100, 100, 100, 100), height=5.0, spread=0.1, random_state=random_state)


def make_synthetic_unequal(random_state: int | np.random.RandomState | None = 1) -> Bunch:
    """Draw the paper's *Synthetic-unequal* set: blobs of 150, 150, 50, 50 points, groups of 300 and 100.

    Parameters
    ----------
    random_state : int, RandomState instance or None, default=1
        Seed of the draw; 1 gives the points of the paper.

    Returns
    -------
    Bunch
        As `make_synthetic` returns it.

    Examples
    --------
    >>> from fairclust import datasets
    >>> datasets.make_synthetic_unequal().target_proportions
    {'A': 0.75, 'B': 0.25}
    """
    return _four_blobs("Synthetic-unequal", (150, 150, 50, 50), height=3.5, spread=0.13, random_state=random_state)


def _four_blobs(
    title: str,
    sizes: tuple[int, int, int, int],
    *,
    height: float,
    spread: float,
    random_state: int | np.random.RandomState | None,
) -> Bunch:
    centers = np.array([(1.0, 1.0), (2.1, 1.0), (1.0, height), (2.1, height)])
    data, _ = make_blobs(
        n_samples=list(sizes), centers=centers, cluster_std=spread, shuffle=False, random_state=random_state
    )
    return make_bunch(
        data,
        np.repeat(["A", "A", "B", "B"], sizes),
        n_clusters=2,
        feature_names=("x", "y"),
        description=_DESCRIPTION.format(title=title),
    )
