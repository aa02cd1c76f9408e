"""
Groups that overlap
===================

A boolean table with one column per group: a person may be in several groups, or in none. Each
group's share of every cluster is then pulled towards its share of all the people.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from fairclust import FairKMeans

rng = np.random.default_rng(5)
X = rng.normal(size=(1500, 3))
speaks = pd.DataFrame(
    {
        "French": X[:, 0] + rng.normal(size=1500) > 0.5,
        "German": X[:, 1] + rng.normal(size=1500) > 1.0,
        "Italian": X[:, 0] - X[:, 1] + rng.normal(size=1500) > 1.8,
    }
)
print(speaks.mean().round(3).to_dict(), "in none:", (~speaks.any(axis=1)).mean().round(3))

plain = FairKMeans(4, goal=None, random_state=0).fit(X, sensitive_features=speaks)
fair = FairKMeans(4, goal=0.005, random_state=0).fit(X, sensitive_features=speaks)

# %%
# Share of speakers in each cluster, before and after; black lines are the shares in all the data.
shares = {"plain": plain.proportions_, "fair": fair.proportions_}
fig, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
for ax, (title, table) in zip(axes, shares.items(), strict=True):
    pd.DataFrame(table, columns=speaks.columns).plot.bar(
        ax=ax, rot=0, title=title, xlabel="cluster", ylabel="share", legend=False
    )
    for share in speaks.mean():
        ax.axhline(share, color="black", lw=0.8)
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside right upper")
plt.show()
