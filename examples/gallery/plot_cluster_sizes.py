"""
Clusters that are not too small
===============================

Teams, wards and segments have sizes. ``min_cluster_size`` and ``max_cluster_size`` are rows, or
shares of all rows, and go together with a fairness goal.
"""

import matplotlib.pyplot as plt
import numpy as np

from fairclust import FairKMeans
from fairclust.datasets import make_census_like

data = make_census_like(4_000)
X, sex = data.data, data.sensitive_features

free = FairKMeans(8, random_state=0).fit(X, sensitive_features=sex)
sized = FairKMeans(8, min_cluster_size=450, max_cluster_size=550, random_state=0).fit(
    X, sensitive_features=sex
)

fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
ax.bar(np.arange(8) - 0.2, np.sort(free.cluster_sizes_), 0.4, label="fair")
ax.bar(np.arange(8) + 0.2, np.sort(sized.cluster_sizes_), 0.4, label="fair, 450 to 550 rows")
ax.set(xlabel="clusters, smallest first", ylabel="rows")
ax.legend()
plt.show()

# %%
# Both meet the fairness goal; sizes cost a little more.
print(
    free.goal_met_,
    sized.goal_met_,
    f"{sized.objective_ / free.objective_ - 1:+.2%}",
)
