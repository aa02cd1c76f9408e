"""
Before and after
================

Plain K-means finds four blobs as two clusters, one per group. Asked for proportional
representation, it cuts the same points the other way: each cluster holds both groups, and costs
more.
"""

import matplotlib.pyplot as plt

from fairclust import FairKMeans
from fairclust.datasets import make_synthetic

data = make_synthetic(random_state=1)
X, groups = data.data, data.sensitive_features

plain = FairKMeans(2, goal=None, random_state=0).fit(X, sensitive_features=groups)
fair = FairKMeans(2, goal=0.01, random_state=0).fit(X, sensitive_features=groups)

fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for ax, model, title in zip(axes, [plain, fair], ["plain", "fair"], strict=True):
    for name, marker in zip(model.group_names_, "o^", strict=True):
        rows = groups == name
        ax.scatter(
            *X[rows].T,
            c=model.labels_[rows],
            marker=marker,
            s=22,
            cmap="coolwarm",
            vmin=0,
            vmax=1,
            label=name,
        )
    ax.set_title(f"{title}: cost {model.objective_:.0f}, balance {model.balance_:.2f}")
axes[0].legend(title="group (shape); cluster is colour", loc="center")
plt.show()

# %%
# Balance is the smallest ratio between two groups' counts in a cluster: 0 where a group is missing, 1 where they are
# as many.
print(plain.proportions_)
print(fair.proportions_)
