"""Draws docs/images/before-and-after.png, the picture on the front page: ``python examples/front_picture.py``."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler

from fairclust import FairKMeans

HERE = Path(__file__).parent
customers = pd.read_csv(HERE / "customers.csv").dropna()
X = StandardScaler().fit_transform(customers[["age", "income", "visits", "basket", "tenure"]])
plain = FairKMeans(6, fairness_weight=0, n_init=10, random_state=0).fit(X, sensitive_features=customers["sex"])
fair = FairKMeans(6, max_fairness_error=0.01, n_init=10, random_state=0).fit(X, sensitive_features=customers["sex"])

fig, axes = plt.subplots(1, 2, figsize=(9, 2.9), sharey=True, layout="constrained")
target = (customers["sex"] == "F").mean()
for ax, model, title in zip(axes, [plain, fair], ["plain clusters", "fair clusters"], strict=True):
    women = np.sort(model.proportions_[:, 0])
    ax.barh(range(6), women, color="#7a68b8", label="women")
    ax.barh(range(6), 1 - women, left=women, color="#8fbf4d", label="men")
    ax.axvline(target, color="black", ls="--", lw=1.2)
    rise = model.objective_ / plain.objective_ - 1
    ax.set_title(
        f"{title}: {women[0]:.0%} to {women[-1]:.0%} women" + (f", cost {rise:+.1%}" if rise else ""), fontsize=11
    )
    ax.set(xlim=(0, 1), xticks=[0, target, 1], xticklabels=["0", f"{target:.0%} of all", "100 %"], yticks=[])
axes[0].set_ylabel("six clusters")
axes[1].legend(loc="lower right")
fig.savefig(HERE.parent / "docs" / "images" / "before-and-after.png", dpi=150)
