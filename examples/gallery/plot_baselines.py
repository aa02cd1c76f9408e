"""
Beside other methods
====================

Fairlets (Chierichetti et al., 2017), scalable fairlets (Backurs et al., 2019) and fair assignment
(Bera et al., 2019) on the same rows, scored by the same metrics. Left and low is good.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from fairclust import FairKMeans, baselines, metrics

rng = np.random.default_rng(1)
X = rng.normal(size=(900, 2)) + np.repeat([[0, 0], [4, 0], [2, 3]], 300, axis=0)
group = np.where(rng.random(900) < np.repeat([0.75, 0.45, 0.3], 300), "F", "M")

methods = {
    "plain K-means": KMeans(3, n_init=10, random_state=0),
    "fairlets": baselines.Fairlets(3, random_state=0),
    "scalable fairlets": baselines.ScalableFairlets(3, random_state=0),
    "fair assignment": baselines.FairAssignment(3, random_state=0),
    "FairKMeans, 0.01": FairKMeans(3, goal=0.01, n_init=10, random_state=0),
    "FairKMeans, exact": FairKMeans(3, goal=0, n_init=10, random_state=0),
}
fig, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
for name, method in methods.items():
    fitted = (
        method.fit(X) if name == "plain K-means" else method.fit(X, sensitive_features=group)
    )
    error = metrics.fairness_error(fitted.labels_, group, average="max")
    cost = metrics.kmeans_objective(X, fitted.labels_)
    ax.scatter(max(error, 1e-6), cost, s=60)
    ax.annotate(
        f" {name}", (max(error, 1e-6), cost), xytext=(6, 4), textcoords="offset points"
    )
ax.set(
    xscale="log",
    xlabel="worst cluster's fairness error (1e-6 stands for less)",
    ylabel="K-means objective",
    xlim=(5e-7, 10),
)
plt.show()
