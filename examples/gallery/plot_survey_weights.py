"""
Survey weights
==============

In a survey a row stands for many people. With ``sample_weight``, shares, costs, centres and goals
count people and not rows: weight 2 is the row twice.
"""

import matplotlib.pyplot as plt
import numpy as np

from fairclust import FairKMeans, audit

rng = np.random.default_rng(4)
X = rng.normal(size=(2_000, 3))
group = np.where(rng.random(2_000) < 1 / (1 + np.exp(-X[:, 0])), "rural", "urban")
weight = np.where(group == "rural", 1.0, 3.0)  # urban people were interviewed less often

model = FairKMeans(4, random_state=0).fit(X, sensitive_features=group, sample_weight=weight)

# %%
# Counted as people, the clusters are proportional (a quarter rural) …
print(audit(model.labels_, group, sample_weight=weight))

# %%
# … and an audit that forgets the weights has another target and other shares.
print(audit(model.labels_, group))

# %%
# The rural share of each cluster, counted both ways.
fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
for place, (name, counted) in enumerate(
    {
        "people": audit(model.labels_, group, sample_weight=weight),
        "rows": audit(model.labels_, group),
    }.items()
):
    ax.bar(
        np.arange(4) + 0.4 * place - 0.2,
        counted.proportions[:, 0],
        0.4,
        label=f"counted in {name}",
    )
ax.set(xlabel="cluster", ylabel="rural share", xticks=range(4))
ax.legend()
plt.show()
