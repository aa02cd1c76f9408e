"""The estimators, one file each, thin: the work is done in :mod:`fairclust.fitting` and below."""

from ._kmeans import FairKMeans

__all__ = ["FairKMeans"]
