"""
Centres that are people
=======================

K-median with ``center="medoid"``: every centre is a row of the table that one can look at, and a
few extreme rows do not drag it away.
"""

import matplotlib.pyplot as plt
import numpy as np

from fairclust import FairKMeans, FairKMedian

rng = np.random.default_rng(2)
X = np.concatenate(
    [
        rng.normal([0, 0], 1, (200, 2)),
        rng.normal([6, 0], 1, (200, 2)),
        rng.normal([9, 9], 1, (25, 2)),
    ]
)
group = np.where(rng.random(len(X)) < np.where(X[:, 0] < 3, 0.65, 0.35), "F", "M")

means = FairKMeans(2, random_state=0).fit(X, sensitive_features=group)
medoids = FairKMedian(2, random_state=0).fit(X, sensitive_features=group)
print(
    "medoids are rows", medoids.medoid_indices_, "and the search was", medoids.medoid_search_
)

fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for ax, model in zip(axes, [means, medoids], strict=True):
    ax.scatter(*X.T, c=model.labels_, cmap="coolwarm", s=14, alpha=0.6)
    ax.scatter(*model.cluster_centers_.T, marker="*", s=260, c="black", label="centre")
    ax.set_title(type(model).__name__)
    ax.legend(loc="upper right")
plt.show()
