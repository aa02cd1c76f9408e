"""Draws docs/images/before-and-after*.png, the picture on the front page.

``python examples/front_picture.py``; the second file, one chart above the other, is for phones.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler

from fairclust import FairKMeans

HERE = Path(__file__).parent
customers = pd.read_csv(HERE / "customers.csv").dropna()
X = StandardScaler().fit_transform(customers[["age", "income", "visits", "basket", "tenure"]])
plain = FairKMeans(6, goal=None, n_init=10, random_state=0).fit(
    X, sensitive_features=customers["sex"]
)
fair = FairKMeans(6, goal=0.01, n_init=10, random_state=0).fit(
    X, sensitive_features=customers["sex"]
)

target = (customers["sex"] == "F").mean()
GREEN, PURPLE = "#66a61e", "#8e7cc3"  # the colours of fairclust.plotting, in its order


def draw(rows, columns, size, name):
    """Both charts beside each other, or one above the other."""
    fig, axes = plt.subplots(rows, columns, figsize=size, layout="constrained")
    for ax, model, title in zip(
        axes, [plain, fair], ["plain clusters", "fair clusters"], strict=True
    ):
        women = np.sort(model.proportions_[:, 0])
        ax.barh(range(6), women, color=GREEN, label="women")
        ax.barh(range(6), 1 - women, left=women, color=PURPLE, label="men")
        ax.axvline(target, color="black", ls="--", lw=1.2)
        rise = model.objective_ / plain.objective_ - 1
        price = f", cost {rise:+.1%}" if rise else ""
        ax.set_title(f"{title}: {women[0]:.0%} to {women[-1]:.0%} women{price}", fontsize=11)
        ticks = {
            "xticks": [0, target, 1],
            "xticklabels": ["0", f"{target:.0%} of all", "100 %"],
        }
        ax.set(
            xlim=(0, 1), yticks=[], ylabel="six clusters" if ax in axes[:rows] else "", **ticks
        )
    axes[-1].legend(loc="lower right")
    fig.savefig(HERE.parent / "docs" / "images" / name, dpi=150)


draw(1, 2, (9, 2.9), "before-and-after.png")
draw(2, 1, (4.6, 5.2), "before-and-after-narrow.png")
