"""
What the prices are
===================

A fair fit is a table of prices: what a member of each group pays to enter each cluster, in the
units of the distances. A person goes where distance plus price is least. So two people at the same
place, of different groups, may get different clusters, and the border between two clusters lies
elsewhere for each group.
"""

import matplotlib.pyplot as plt
import numpy as np

from fairclust import FairKMeans

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(1500, 2)) * [2, 1]
group = np.where(rng.random(1500) < 1 / (1 + np.exp(-1.5 * X[:, 0])), "F", "M")
model = FairKMeans(2, goal=0.01, random_state=0).fit(X, sensitive_features=group)
for name, price in zip(model.group_names_, model.prices_.T, strict=True):
    print(name, price.round(2))

across, up = np.linspace(-4, 4, 200), np.linspace(-2, 2, 200)
grid = np.column_stack([place.ravel() for place in np.meshgrid(across, up)])
fig, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True, layout="constrained")
for ax, name in zip(axes, model.group_names_, strict=True):
    where = model.predict(grid, [name] * len(grid)).reshape(200, 200)
    ax.contourf(across, up, where, levels=[-0.5, 0.5, 1.5], colors=["#8fb4e3", "#e3a18f"])
    ax.scatter(*X[group == name].T, s=5, c="black", alpha=0.5)
    ax.scatter(*model.cluster_centers_.T, marker="*", s=200, c="white", edgecolors="black")
    ax.set_title(f"where a person of group {name} goes")
    ax.set_aspect("equal")
plt.show()
