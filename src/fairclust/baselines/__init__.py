"""Other people's fair clustering, written from their papers: what ours is compared with, on the same data and scores.

Each has ``fit(X, sensitive_features=…)`` and ``labels_``. "Fair" means proportional representation in clusters and
nothing more; what each method promises is said in its class.
"""

from ._assignment import FairAssignment
from ._centers import best_centers, plain_centers
from ._coreset import Coreset, fair_coreset, merge_coresets
from ._fairlets import Fairlets
from ._scalable_fairlets import ScalableFairlets
from ._spectral import FairSpectral

__all__ = [
    "Coreset",
    "FairAssignment",
    "FairSpectral",
    "Fairlets",
    "ScalableFairlets",
    "best_centers",
    "fair_coreset",
    "merge_coresets",
    "plain_centers",
]
