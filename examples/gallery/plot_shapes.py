"""
Clusters of any shape
=====================

Normalized cut works on a graph of near neighbours, so clusters may be rings. With a fairness goal
it cuts the rings where that costs the fewest links.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles

from fairclust import FairNCut

X, ring = make_circles(600, factor=0.45, noise=0.05, random_state=0)
rng = np.random.default_rng(0)
group = np.where(rng.random(600) < np.where(ring == 1, 0.8, 0.3), "F", "M")

plain = FairNCut(2, goal=None, n_neighbors=10, random_state=0).fit(X, sensitive_features=group)
fair = FairNCut(2, goal=0.01, n_neighbors=10, random_state=0).fit(X, sensitive_features=group)

fig, axes = plt.subplots(1, 2, figsize=(9, 4.4), sharey=True, layout="constrained")
for ax, model, title in zip(axes, [plain, fair], ["plain", "fair"], strict=True):
    for name, marker in zip("FM", "o^", strict=True):
        rows = group == name
        ax.scatter(
            *X[rows].T,
            c=model.labels_[rows],
            marker=marker,
            s=18,
            cmap="coolwarm",
            vmin=0,
            vmax=1,
        )
    ax.set_title(
        f"{title}: Ncut {model.objective_:.3f}, "
        f"women {model.proportions_[0, 0]:.0%} and {model.proportions_[1, 0]:.0%}"
    )
    ax.set_aspect("equal")
plt.show()
