"""What a row costs in a cluster: one file per objective."""

from ._base import Objective
from .coded import CodedKMeansObjective
from .fixed import FixedObjective
from .gower import GowerObjective
from .kmeans import KMeansObjective
from .kmedian import KMedianObjective
from .sparse import SparseKMeansObjective

__all__ = [
    "CodedKMeansObjective",
    "FixedObjective",
    "GowerObjective",
    "KMeansObjective",
    "KMedianObjective",
    "Objective",
    "SparseKMeansObjective",
]
