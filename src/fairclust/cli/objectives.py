"""Which estimator stands behind ``--objective``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .. import estimators
from ..errors import InvalidInputError

ESTIMATORS = {"kmeans": "FairKMeans", "kmedian": "FairKMedian", "ncut": "FairNCut"}
WORDS = {
    "kmeans": ("K-means", "the sum of squared distances to the clusters' means"),
    "kmedian": ("K-median", "the sum of distances to the clusters' medoids"),
    "ncut": ("Ncut", "the share of each cluster's links that leave it, added up"),
}


def find_estimator(objective: str) -> type[Any]:
    """Give the estimator class of an objective; a clear message where this installation has none."""
    available = [name for name, estimator in ESTIMATORS.items() if hasattr(estimators, estimator)]
    if objective not in ESTIMATORS:
        raise InvalidInputError(f"--objective {objective!r} is not known. Choose one of: {', '.join(available)}.")
    if objective not in available:
        raise InvalidInputError(
            f"--objective {objective} is not available in this version of fairclust. "
            f"Choose one of: {', '.join(available)}."
        )
    found: type[Any] = getattr(estimators, ESTIMATORS[objective])
    return found


def watched(estimator: type[Any], on_iteration: Callable[[int, float], None]) -> type[Any]:
    """Give the same estimator, which also reports every outer iteration: what a progress line needs."""

    def _settings(self: Any) -> Any:
        return replace(estimator._settings(self), on_iteration=on_iteration)

    return type(estimator.__name__, (estimator,), {"_settings": _settings, "__doc__": estimator.__doc__})
