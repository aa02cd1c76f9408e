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
    "promise": """
"Fair" means just that: the make-up of the clusters. It says nothing about what is done with them.
""",
    "n_clusters": """
n_clusters : int, default=8
    Number of clusters.
""",
    "fairness_goals": """
max_fairness_error : float, default=0.01
    The goal of "auto": KL(target ‖ shares) of every cluster, on the hard labels, at or below this. 0 asks for
    exact proportions: every count is the floor or the ceiling of its ideal share. With a number as
    ``fairness_weight`` it is only reported on, and must stay at its default.
min_balance : float or None, default=None
    Another goal: smallest ratio between two groups' counts in every cluster at or above this.
max_cost_increase : float or None, default=None
    Another goal: the fairest clusters found that cost at most so much more than plain clustering (0.05: 5 %).
bounds : float, dict or None, default=None
    Another goal: each group's share in every cluster between a lower and an upper bound. A dict
    {group: (lower, upper)}, or {attribute: {group: (lower, upper)}} with several attributes, or a number δ for
    (1 − δ)·target to target/(1 − δ).
round_bounds : bool, default=False
    Whether bounds are kept up to whole people: a count may be the floor of the least that ``bounds`` allow, and the
    ceiling of the most, as with exact proportions. Small clusters need this where groups are rare: of 159 people no
    whole number is 0.8 %. With ``sample_weight`` there are no whole people, and bounds are kept as they are.
""",
    "groups": """
target_proportions : dict, array-like of shape (n_groups,) or (n_clusters, n_groups) or None, default=None
    Wanted share of each group, by name or in the order of ``group_names_``; one row (or dict) per cluster where
    clusters want different mixes. With several attributes, a dict {attribute: shares}. None, and attributes that
    are not named: the data's own shares. A group with target 0 is not counted for fairness, but takes room from
    the others.
attribute_weights : dict or None, default=None
    With several attributes and a number as ``fairness_weight``: what to multiply it by, {attribute: number};
    1 for attributes that are not named. A goal finds its own weights.
intersections : bool, default=False
    Balance the combinations of the attributes' groups that occur instead of each attribute.
missing_groups : {"error", "own", "ignore"}, default="error"
    What a missing group is: an error, a group of its own ("missing"), or a row that costs distance but does not
    count in this attribute.
quantile_bins : int, dict or None, default=None
    Cut a numeric attribute (age) into so many ranges of about equal weight; {attribute: number} with several.
""",
    "rows": """
min_cluster_size, max_cluster_size : int, float or None, default=None
    Bounds on the size of every cluster: rows (or their weight) as a whole number, or a share of them all as a
    number up to 1.0. They hold exactly, but with ``sample_weight`` only as nearly as prices allow
    (:class:`ClusterSizeWarning` tells), and they are bounds on the rows of the fit, not on those of
    :meth:`predict`. Not together with exact proportions or ``max_cost_increase``.
unknown_groups : {"error", "nearest"}, default="error"
    What :meth:`predict` does with rows of a group that fit() did not see: an error, or the nearest centre.
""",
    "solver_of_rows": """
solver : {"dual", "bound"}, default="dual"
    "dual": Newton steps on one price per cluster and group. "bound": Algorithm 1 of the paper, much slower.
""",
    "lipschitz": """
lipschitz : float, default=2.0
    L of the paper; "bound" only. It doubles whenever a step would raise the energy.
""",
    "starts": """
init : {"k-means++", "random"}, array of shape (n_clusters, n_features) or callable, default="k-means++"
    Starting centres. Above 8,192 rows (100 per cluster, if more), k-means++ looks at a random sample of that size.
n_init : "auto" or int, default="auto"
    Number of starts; the best is kept. "auto": 1 for k-means++ and arrays, 10 for "random" and callables. One
    start that is drawn is the best of eight plain fits of a sample (not of medoids, nor with ``solver="bound"``). With
    more than one start and 4096 rows or more they are raced: four times as many candidates are fitted on a tenth
    of the rows, the best ``n_init`` that ended in different places on a third, the best third of those on all.
""",
    "max_iter": """
max_iter : int, default=300
    Most outer iterations per start.
""",
    "tol_of_centers": """
tol : float, default=1e-4
    Stop when the centres move less: Σ‖Δc‖² relative to the mean variance of the features, as in scikit-learn;
    or when an iteration lowers the energy by less than a hundredth of this share. With ``solver="bound"``, relative
    change of the paper's energy.
""",
    "gower_columns": """
categorical_features : "from_dtype", list of names, places or bool, or None, default="from_dtype"
    With "gower": which columns of X are categories. "from_dtype": the text, categorical and boolean columns of a
    data frame.
missing_values : {"error", "observed", "own"}, default="error"
    With "gower": what an empty cell (NaN, None) is. "observed": its column counts what it counts between two rows
    on average, so that the others decide. "own": the same for numbers, and a category of its own in categories.
feature_weights : dict, list or None, default=None
    With "gower": how much columns count, {column: weight} or one weight per column; 1 for those not named.
""",
    "polish": """
polish : bool or "auto", default="auto"
    At the end, move single points while that lowers the energy. "auto": with a goal, and at a weight where a cluster
    lacks a group, up to 100,000 rows and without sample weights. A polished point may have another label than
    :meth:`predict` gives it.
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
    What a point of each group pays to enter each cluster, in units of the point costs; with several attributes, a
    point pays for each of its groups.
size_prices_ : ndarray of shape (n_clusters,)
    What everyone pays to enter each cluster besides, where sizes are bounded; zero elsewhere.
temperature_ : float
    Temperature of the soft assignments of :meth:`predict_proba`.
""",
    "energies_": """
energy_ : float
    ``objective_`` plus the weighted fairness errors of the clusters (with soft assignments, the relaxed energy).
energy_history_ : ndarray of shape (n_iter_,)
    Energy after each outer iteration; it never rises. With a goal, the last ones are costs of labels that meet it.
""",
    "fairness_": """
cluster_sizes_ : ndarray of shape (n_clusters,)
    Rows in each cluster, or their weight.
cluster_weights_ : ndarray of shape (n_clusters,) or (n_clusters, n_attributes)
    The weight of each cluster's fairness, in each attribute if there are several.
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
fairness_weight_ : float
    The λ that was used; with a goal, the largest of ``cluster_weights_``.
lower_bound_ : float
    What no assignment to ``cluster_centers_`` that meets the goal costs less than, fractional ones included, in units
    of ``objective_``; NaN at a weight, and where no such bound is known.
assignment_gap_ : float
    How far ``objective_`` is above it, as a share: 0.002 says that no such assignment costs more than 0.2 % less.
fairness_goal_met_ : bool
    Whether the goal is met (with a fixed weight: whether every cluster is within ``max_fairness_error``).
polished_ : bool
    Whether no move of a single point lowers the energy; False where polishing was off or cost the goal.
n_iter_, n_sweeps_ : int
    Outer iterations of the chosen fit; passes over the point costs of all fits.
""",
    "ending_": """
stop_reason_ : StopReason
    Why the chosen fit stopped.
n_features_in_, feature_names_in_
    As in scikit-learn.
""",
}
