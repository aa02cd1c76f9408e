"""
Other shares than the data's
============================

The target is the data's own shares unless you say otherwise. Here a quarter of the people are in a
group that should be 40 % of every cluster. No clustering can give every cluster more than the data
have: the library says so before it starts. A cluster of its own for the rest can, with one target
per cluster.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from fairclust import FairKMeans, FairnessGoalMissed, audit

rng = np.random.default_rng(0)
X = rng.normal(size=(800, 2)) + np.repeat([[0, 0], [3, 0], [0, 3], [3, 3]], 200, axis=0)
group = np.where(rng.random(800) < np.repeat([0.5, 0.3, 0.15, 0.05], 200), "new", "old")
print(f"{(group == 'new').mean():.0%} are new")

with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always", FairnessGoalMissed)
    FairKMeans(4, target_proportions={"new": 0.4, "old": 0.6}, random_state=0).fit(
        X, sensitive_features=group
    )
print(told[0].message)

# %%
# One row per cluster: two mixed teams of 40 %, two that take what is left. Row k belongs to the k-th starting centre.
targets = [[0.4, 0.6], [0.4, 0.6], [0.1, 0.9], [0.1, 0.9]]
start = np.array([[0, 0], [3, 0], [0, 3], [3, 3]], dtype=float)
model = FairKMeans(4, target_proportions=targets, init=start).fit(X, sensitive_features=group)
print(audit(model.labels_, group, target_proportions=targets))

# %%
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, marker in {"new": "^", "old": "o"}.items():
    ax.scatter(
        *X[group == name].T,
        c=model.labels_[group == name],
        cmap="tab10",
        vmax=9,
        marker=marker,
        s=14,
        label=name,
    )
ax.legend(title="group (shape); cluster is colour")
plt.show()
