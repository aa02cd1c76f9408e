"""The estimators, one file each, thin: the work is done in :mod:`fairclust._fit.loop` and below."""

from ._kmeans import FairKMeans
from ._kmedian import FairKMedian
from ._ncut import FairNCut
from ._saving import load, restored

__all__ = ["FairKMeans", "FairKMedian", "FairNCut", "load", "restored"]
