"""Clustering objectives, one file each. To add one, write its file and name it here; no solver needs an edit."""

from ._base import Objective
from .kmeans import KMeansObjective
from .ncut import NCutObjective

__all__ = ["KMeansObjective", "NCutObjective", "Objective"]
