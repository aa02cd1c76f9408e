"""The one shape in which data sets leave this package. Knows nothing of where the data came from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch


def make_bunch(
    data: NDArray[np.floating[Any]],
    sensitive_features: NDArray[np.str_],
    *,
    n_clusters: int,
    feature_names: Sequence[str],
    description: str,
) -> Bunch:
    """Wrap a data set; the target proportions are the shares of the groups in the data."""
    names, counts = np.unique(sensitive_features, return_counts=True)
    shares = counts / counts.sum()
    return Bunch(
        data=data,
        sensitive_features=sensitive_features,
        target_proportions={str(name): float(share) for name, share in zip(names, shares, strict=True)},
        n_clusters=n_clusters,
        feature_names=list(feature_names),
        DESCR=description,
    )
