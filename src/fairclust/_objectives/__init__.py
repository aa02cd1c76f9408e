"""Clustering objectives, one file each. To add one, write its file and name it here; no solver needs an edit."""

from ._base import Anchored, Leading, Objective, Relaxed
from .coded import CodedKMeansObjective
from .fixed import FixedObjective
from .kmeans import KMeansObjective
from .kmedian import KMedianObjective
from .ncut import NCutObjective
from .sparse import SparseKMeansObjective

__all__ = [
    "Anchored",
    "CodedKMeansObjective",
    "FixedObjective",
    "KMeansObjective",
    "KMedianObjective",
    "Leading",
    "NCutObjective",
    "Objective",
    "Relaxed",
    "SparseKMeansObjective",
]
