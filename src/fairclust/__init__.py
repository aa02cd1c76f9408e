"""fairclust: clusters whose demographic make-up matches a target, at the least cost in clustering quality."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import baselines, datasets, goals, graphs, metrics, scaling, solvers
    from ._audit.audit import AuditReport, audit
    from ._audit.epsilon import describe_error
    from ._audit.moves import Moves, compare
    from ._fit.path import FairnessPath, fairness_path
    from ._fit.repair import Repair, repair
    from ._numbers.study import ClusterNumbers, cluster_numbers
    from ._people.attributes import Groups
    from ._table.features import Features
    from .errors import FairclustError, FairclustWarning, FairnessGoalMissed, NoGroupsWarning
    from .estimators import FairKMeans, FairKMedian, FairNCut, Stability, load, stability
    from .goals import Bounds, ExactProportions, MaxCostIncrease, MaxFairnessError, MinBalance, Penalty

__version__ = "0.1.0"

__all__ = [
    "AuditReport",
    "Bounds",
    "ClusterNumbers",
    "ExactProportions",
    "FairKMeans",
    "FairKMedian",
    "FairNCut",
    "FairclustError",
    "FairclustWarning",
    "FairnessGoalMissed",
    "FairnessPath",
    "Features",
    "Groups",
    "MaxCostIncrease",
    "MaxFairnessError",
    "MinBalance",
    "Moves",
    "NoGroupsWarning",
    "Penalty",
    "Repair",
    "Stability",
    "__version__",
    "audit",
    "baselines",
    "cluster_numbers",
    "compare",
    "datasets",
    "describe_error",
    "fairness_path",
    "goals",
    "graphs",
    "load",
    "metrics",
    "repair",
    "scaling",
    "solvers",
    "stability",
]

# Where each name lives. Loaded when it is first asked for, so that the command line answers --help at once.
_HOMES = {
    "Bounds": "goals",
    "ExactProportions": "goals",
    "MaxCostIncrease": "goals",
    "MaxFairnessError": "goals",
    "MinBalance": "goals",
    "Penalty": "goals",
    "Groups": "_people.attributes",
    "Features": "_table.features",
    "AuditReport": "_audit.audit",
    "audit": "_audit.audit",
    "Moves": "_audit.moves",
    "Repair": "_fit.repair",
    "repair": "_fit.repair",
    "compare": "_audit.moves",
    "describe_error": "_audit.epsilon",
    "ClusterNumbers": "_numbers.study",
    "cluster_numbers": "_numbers.study",
    "FairnessPath": "_fit.path",
    "fairness_path": "_fit.path",
    "FairclustError": "errors",
    "FairclustWarning": "errors",
    "FairnessGoalMissed": "errors",
    "NoGroupsWarning": "errors",
    "FairKMeans": "estimators",
    "FairKMedian": "estimators",
    "FairNCut": "estimators",
    "load": "estimators",
    "Stability": "estimators",
    "stability": "estimators",
}
_MODULES = ("baselines", "datasets", "errors", "goals", "graphs", "metrics", "plotting", "report", "scaling", "solvers")


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
