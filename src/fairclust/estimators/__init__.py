"""The estimators, one file each, thin: the work is done in :mod:`fairclust._fit.loop` and below."""

from ._base import DEFAULT_GOAL
from ._kmeans import FairKMeans
from ._kmedian import FairKMedian
from ._ncut import FairNCut
from ._plain import N_SEEDS, PlainBaseline, plain_baseline
from ._saving import load, restored
from ._stability import Stability, stability

__all__ = [
    "DEFAULT_GOAL",
    "N_SEEDS",
    "FairKMeans",
    "FairKMedian",
    "FairNCut",
    "PlainBaseline",
    "Stability",
    "load",
    "plain_baseline",
    "restored",
    "stability",
]
