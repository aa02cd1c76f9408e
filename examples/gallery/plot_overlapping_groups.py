"""
Groups that overlap
===================

A boolean table with one column per group: a person may be in several groups, or in none. Each
group's share of every cluster is then pulled towards its share of all the people.
"""

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

plain = FairKMeans(4, fairness_weight=0, random_state=0).fit(X, sensitive_features=speaks)
fair = FairKMeans(4, max_fairness_error=0.005, random_state=0).fit(X, sensitive_features=speaks)

# %%
# Share of speakers in each cluster, before and after. Rows need not add up to 1.
pd.concat(
    {
        "plain": pd.DataFrame(plain.proportions_, columns=speaks.columns),
        "fair": pd.DataFrame(fair.proportions_, columns=speaks.columns),
    },
    axis=1,
).round(2)
