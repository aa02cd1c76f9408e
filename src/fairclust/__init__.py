"""fairclust: clusters whose demographic make-up matches a target, at the least cost in clustering quality."""

from . import datasets
from .estimators import FairKMeans, FairNCut

__version__ = "0.1.0"

__all__ = ["FairKMeans", "FairNCut", "__version__", "datasets"]
