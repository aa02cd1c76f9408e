"""
An audit of somebody else's clusters
====================================

A colleague hands you a table with a column ``segment`` and wants to know whether the segments are
representative. You do not need their code, their features or their algorithm: labels and groups are
enough.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

from fairclust import FairKMeans, Groups, audit, metrics, repair
from fairclust.plotting import CompositionDisplay

# %%
# The table, as it came. (Here it is made on the spot, by a method that knows nothing of fairness.)
customers = pd.read_csv("../customers.csv").dropna()
features = StandardScaler().fit_transform(customers[["age", "income", "visits", "basket"]])
customers["segment"] = GaussianMixture(5, random_state=1).fit_predict(features)

# %%
# The audit
# ---------
#
# The target is each group's share of the whole table, unless you say otherwise.
report = audit(customers["segment"], sensitive_features=customers["sex"])
print(report)

# %%
# The same as a picture: one bar per segment, the target as a dashed line.
CompositionDisplay.from_predictions(customers["segment"], customers["sex"])
plt.show()

# %%
# More than one attribute
# -----------------------
#
# Several columns give one report each. Ages are cut into four ranges of about equal size.
reports = audit(
    customers["segment"], customers[["sex", "age", "region"]], groups=Groups(bins={"age": 4})
)
for attribute in reports:
    one = reports[attribute]
    print(
        f"{attribute}: worst segment {one.max_fairness_error:.3f}, balance {one.balance:.2f}"
    )

# %%
# And their combinations, where a problem may hide that no single column shows.
pairs = customers[["sex", "region"]]
both = audit(customers["segment"], pairs, groups=Groups(intersections=True))
print(both.max_fairness_error)

# %%
# What to hand back
# -----------------
#
# Exact figures for yourself; for others, hide counts below five and what would give them away.
print(audit(customers["segment"].head(120), customers["sex"].head(120), suppress_below=5))

# %%
# Mending it
# ----------
#
# ``repair`` moves few people, and the cheapest. With fewer than ``fewest`` no labels meet the goal.
mended = repair(customers["segment"], customers["sex"], goal=0.01, X=features)
print(f"{mended.n_moved} people moved, at least {mended.fewest:.0f} are needed")

# %%
# Could it be better, and at what cost?
# -------------------------------------
#
# As many clusters, the same features, with the condition added. All are scored by the same function.
fair = FairKMeans(5, goal=0.01, n_init=5, random_state=0).fit(
    features, sensitive_features=customers["sex"]
)
plain = FairKMeans(5, goal=None, n_init=5, random_state=0).fit(features)
for name, labels in {
    "theirs": customers["segment"],
    "theirs, mended": mended.labels,
    "plain K-means": plain.labels_,
    "fair K-means": fair.labels_,
}.items():
    worst = metrics.fairness_error(labels, customers["sex"], average="max")
    print(
        f"{name:14} K-means objective {metrics.kmeans_objective(features, labels):6.0f}, "
        f"worst segment {worst:.4f}"
    )

# %%
# What the audit does not say
# ---------------------------
#
# It counts. Whether a difference matters depends on what is done per segment, and equal shares are not equal
# treatment: see :doc:`how to talk about fairness </talking>`. On the command line the same audit is
# ``fairclust audit customers.csv --labels segment --sensitive sex``.
