"""
The whole trade-off
===================

:func:`fairclust.fairness_path` fits many penalties, each from where the last one ended. Along the
path the error never rises and the objective never falls, so one can read off what the next bit of
fairness costs.
"""

import matplotlib.pyplot as plt

from fairclust import FairKMeans, fairness_path
from fairclust.datasets import make_census_like
from fairclust.plotting import TradeoffDisplay

data = make_census_like(5_000)
path = fairness_path(
    FairKMeans(10, random_state=0), data.data, sensitive_features=data.sensitive_features
)

TradeoffDisplay.from_path(path, goal=0.01)
plt.show()

# %%
# The paper's rule: the smallest penalty whose worst cluster meets the goal.
chosen = path.select(goal=0.01)
print(
    f"λ = {chosen.goal.weight:.0f}, objective {chosen.objective:.0f}, "
    f"worst cluster {chosen.max_fairness_error:.4f}"
)

# %%
# All points as a table.
path.to_frame()[
    ["goal", "objective", "fairness_error", "max_fairness_error", "balance"]
].round(4).iloc[::4]
