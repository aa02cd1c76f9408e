"""Clustering objectives, one file each. To add one, write its file and name it here; no solver needs an edit."""

from ._base import Objective
from .coded import CodedKMeansObjective
from .fixed import FixedObjective
from .gower import GowerObjective
from .kmeans import KMeansObjective
from .kmedian import KMedianObjective
from .ncut import NCutObjective
from .sparse import SparseKMeansObjective

__all__ = [
    "CodedKMeansObjective",
    "FixedObjective",
    "GowerObjective",
    "KMeansObjective",
    "KMedianObjective",
    "NCutObjective",
    "Objective",
    "SparseKMeansObjective",
]
