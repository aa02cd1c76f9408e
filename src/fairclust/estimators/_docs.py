"""Passages that the docstrings of several estimators share, written once.

A line ``%(name)s`` in a docstring under :func:`shared_docs` stands for a passage below, so ``help()`` shows it whole.
"""

from __future__ import annotations

import re
from textwrap import indent
from typing import TypeVar

Documented = TypeVar("Documented", bound=type)


def shared_docs(documented: Documented) -> Documented:
    """Put the shared passages into a class's docstring, each with the indentation of the line that names it."""
    if documented.__doc__ is not None:  # python -OO
        documented.__doc__ = re.sub(
            r"^( *)%\((\w+)\)s$",
            lambda line: indent(_PASSAGES[line[2]].strip("\n"), line[1]),
            documented.__doc__,
            flags=re.MULTILINE,
        )
    return documented


_PASSAGES = {
    "sizes": """
cluster_sizes : "equal", array-like of shape (n_clusters,) or None, default=None
    Sizes of the clusters: "equal" (floor or ceiling of the mean), or a count for each, in the order of ``init``.
min_cluster_size, max_cluster_size : int, float, one per cluster, or None, default=None
    Bounds on the size of every cluster: rows (or their weight) as a whole number, or a share of them all as a
    number up to 1.0. They hold exactly; with ``sample_weight`` up to the largest single weight. They are bounds on
    the rows of the fit: those of :meth:`predict` are kept on average only.
""",
    "features": """
features : Features or None, default=None
    How the columns of a table become coordinates: which are categories, what a gap is, and how much columns count.
""",
    "goal": """
goal : Goal, float or None, default=0.01
    What must hold in every cluster: a goal such as ``MinBalance(0.4)``, ``Bounds(...)``, ``ExactProportions()``,
    ``MaxCostIncrease(0.05)`` or ``Penalty(weight)``, the paper's λ. A number is ``MaxFairnessError(number)``, the
    largest KL(target ‖ shares) of a cluster, and 0 is ``ExactProportions()``. None: plain clustering. See
    :mod:`fairclust.goals`.
""",
    "promise": """
"Fair" means just that: the make-up of the clusters. It says nothing about what is done with them.
""",
    "n_clusters": """
n_clusters : int, default=8
    Number of clusters.
""",
    "groups": """
target_proportions : dict, array-like of shape (n_groups,) or (n_clusters, n_groups) or None, default=None
    Wanted share of each group, by name or in the order of ``group_names_``; one row (or dict) per cluster where
    clusters want different shares. With several attributes, a dict {attribute: shares}. None, and attributes that
    are not named: the data's own shares. A group with target 0 is not counted for fairness, but takes room from
    the others.
groups : Groups or None, default=None
    How sensitive columns become groups: intersections, bins, missing and unknown values.
""",
    "solver_of_rows": """
solver : {"dual", "bound"} or a record of :mod:`fairclust.solvers`, default="dual"
    "dual": Newton's method on one price per cluster and group. "bound": Algorithm 1 of the paper, as published, for
    a penalty; much slower.
""",
    "starts": """
init : {"k-means++", "random"}, array of shape (n_clusters, n_features) or callable, default="k-means++"
    Starting centres. Above 8,192 rows (100 per cluster, if more), k-means++ looks at a random sample of that size.
n_init : "auto" or int, default="auto"
    Number of searches, each from the best of eight plain fits of a subsample, followed by splits and merges of
    clusters; the best of them goes on to all rows. "auto": 1 for k-means++ and arrays, 10 for "random" and callables.
""",
    "max_iter": """
max_iter : int, default=300
    Most outer iterations per start.
""",
    "tol_of_centers": """
tol : float, default=1e-4
    Tolerance of the outer iterations: the last stage ends when an iteration lowers the energy by less than this
    share of it. With ``solver="bound"``, relative change of the paper's energy.
""",
    "machine": """
random_state : int, RandomState or None, default=None
    Seed of the starts.
n_jobs : int or None, default=None
    Threads. None: all cores that the process may use (or OMP_NUM_THREADS). The result does not depend on it.
verbose : int or callable, default=0
    1: a line per outer iteration. A callable is told each one instead: its number and the energy.
""",
    "labels_": """
labels_ : ndarray of shape (n_samples,)
    Cluster of each row.
""",
    "prices_": """
prices_ : ndarray of shape (n_clusters, n_groups)
    Dual variables, called prices: what a row of each group pays to enter each cluster, in units of the point costs;
    with several attributes, a row pays for each of its groups.
size_prices_ : ndarray of shape (n_clusters,)
    What every row pays to enter each cluster besides, where sizes are bounded; zero elsewhere.
temperature_ : float
    Temperature of the soft assignments of :meth:`predict_proba`: a tenth of what a row typically loses in its
    second-best cluster.
""",
    "energies_": """
energy_ : float
    ``objective_`` plus the penalty, where the goal is one.
energy_history_ : ndarray of shape (n_iter_,)
    Energy after each outer iteration with whole rows; it never rises.
""",
    "fairness_": """
cluster_sizes_ : ndarray of shape (n_clusters,)
    Rows in each cluster, or their weight.
fairness_error_ : float
    Sum over clusters (and attributes) of KL(target ‖ shares), as in the paper's tables.
max_fairness_error_ : float
    The same of the worst cluster in its worst attribute.
fairness_errors_ : ndarray of shape (n_clusters, n_attributes)
    The errors one by one.
balance_ : float
    Smallest ratio between two groups' counts in a cluster.
proportions_ : ndarray of shape (n_clusters, n_groups)
    Shares of the groups in each cluster.
group_names_ : ndarray of shape (n_groups,)
    Names of the groups, sorted; with several attributes ``attribute=group``, attribute by attribute.
attribute_names_, group_attributes_ : ndarray of shape (n_attributes,), (n_groups,)
    Names of the attributes, and the attribute of each group.
target_proportions_ : ndarray of shape (n_groups,)
    The target that was used.
""",
    "weights_": """
goal_ : Goal or None
    The goal as it was understood.
goal_met_ : bool
    Whether goal and sizes are met. A penalty is always met.
cluster_weights_ : ndarray of shape (n_clusters,) or (n_clusters, n_attributes)
    ``cluster_weights_[k]`` is the multiplier of cluster k's constraint; 0 means that it did not bind. Of a penalty,
    its weight.
fairness_weight_ : float
    λ of a penalty, else NaN.
lower_bound_ : float
    No assignment to ``cluster_centers_`` that meets the goal costs less, fractional ones included, in units of
    ``objective_``; NaN where no goal is met.
assignment_gap_ : float
    How far ``objective_`` is above it, as a share: 0.002 says that no such assignment costs more than 0.2 % less.
n_iter_, n_evaluations_ : int
    Outer iterations with whole rows; evaluations of the dual, in passes over all rows.
""",
    "ending_": """
stop_reason_ : StopReason
    Why the chosen fit stopped.
n_features_in_, feature_names_in_
    As in scikit-learn.
""",
}
