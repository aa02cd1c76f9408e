"""Which estimator stands behind ``--objective``."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidInputError
from ..estimators import FairKMeans, FairKMedian, FairNCut

ESTIMATORS: dict[str, type[Any]] = {"kmeans": FairKMeans, "kmedian": FairKMedian, "ncut": FairNCut}
WORDS = {
    "kmeans": ("K-means", "the sum of squared distances to the clusters' means"),
    "kmedian": ("K-median", "the sum of distances to the clusters' medoids"),
    "ncut": ("Ncut", "the share of each cluster's links that leave it, added up"),
}


def find_estimator(objective: str) -> type[Any]:
    """Give the estimator class of an objective."""
    if objective not in ESTIMATORS:
        raise InvalidInputError(f"--objective {objective!r} is not known. Choose one of: {', '.join(ESTIMATORS)}.")
    return ESTIMATORS[objective]
