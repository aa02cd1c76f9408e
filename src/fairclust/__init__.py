"""fairclust: clusters whose demographic make-up matches a target, at the least cost in clustering quality."""

from . import baselines, datasets, graphs, metrics
from ._audit.audit import AuditReport, audit
from ._fit.path import FairnessPath, fairness_path
from ._numbers.study import ClusterNumbers, cluster_numbers
from .errors import FairclustError, FairclustWarning, FairnessGoalMissed, NoGroupsWarning
from .estimators import FairKMeans, FairKMedian, FairNCut, load

__version__ = "0.1.0"

__all__ = [
    "AuditReport",
    "ClusterNumbers",
    "FairKMeans",
    "FairKMedian",
    "FairNCut",
    "FairclustError",
    "FairclustWarning",
    "FairnessGoalMissed",
    "FairnessPath",
    "NoGroupsWarning",
    "__version__",
    "audit",
    "baselines",
    "cluster_numbers",
    "datasets",
    "fairness_path",
    "graphs",
    "load",
    "metrics",
]
