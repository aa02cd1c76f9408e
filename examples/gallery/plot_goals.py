"""
Five ways to ask
================

A goal can be stated as a largest fairness error, as exact proportions, as a smallest balance, as
bounds on shares, or as a price that may be paid. One goal at a time; each is met in every cluster,
or a warning says how close it came.
"""

import matplotlib.pyplot as plt

from fairclust import (
    Bounds,
    ExactProportions,
    FairKMeans,
    MaxCostIncrease,
    MaxFairnessError,
    MinBalance,
)
from fairclust.datasets import make_census_like

data = make_census_like(5_000)
X, sex = data.data, data.sensitive_features

goals = {
    "plain": None,
    "MaxFairnessError(0.01)": MaxFairnessError(0.01),
    "MinBalance(0.7)": MinBalance(0.7),
    "Bounds(0.1)": Bounds(0.1),
    "MaxCostIncrease(0.02)": MaxCostIncrease(0.02),
    "ExactProportions()": ExactProportions(),
}
models = {
    name: FairKMeans(10, goal=goal, random_state=0).fit(X, sensitive_features=sex)
    for name, goal in goals.items()
}

# %%
# What each came to. The share of women in all the data is the dashed line.
fig, (shares, costs) = plt.subplots(
    1, 2, figsize=(10, 4), sharey=True, layout="constrained", width_ratios=[2, 1]
)
for row, model in enumerate(models.values()):
    shares.scatter(
        model.proportions_[:, 0], [row] * 10, s=model.cluster_sizes_ / 10, alpha=0.5
    )
shares.axvline((sex == "female").mean(), color="black", ls="--")
shares.set(
    xlabel="share of women in each cluster", yticks=range(len(models)), yticklabels=models
)
shares.invert_yaxis()

plain = models["plain"].objective_
rises = [100 * (model.objective_ / plain - 1) for model in models.values()]
costs.barh(range(len(models)), rises)
costs.set(xlabel="cost above plain, %")
plt.show()
