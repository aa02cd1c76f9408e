"""Clustering objectives, one file each. To add one, write its file and name it here; no solver needs an edit."""

from ._base import Anchored, Leading, Objective, Relaxed
from .fixed import FixedObjective
from .kmeans import KMeansObjective
from .kmedian import KMedianObjective
from .ncut import NCutObjective

__all__ = [
    "Anchored",
    "FixedObjective",
    "KMeansObjective",
    "KMedianObjective",
    "Leading",
    "NCutObjective",
    "Objective",
    "Relaxed",
]
