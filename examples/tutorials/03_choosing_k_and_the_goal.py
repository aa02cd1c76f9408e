"""
Choosing K and ε
================

Two numbers have to be chosen: how many clusters, and how far a cluster may be from the target.
Neither has a right answer in the data; both have a curve to look at.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.preprocessing import StandardScaler

from fairclust import FairKMeans, cluster_numbers, fairness_path
from fairclust.plotting import TradeoffDisplay

customers = pd.read_csv("../customers.csv").dropna()
X = StandardScaler().fit_transform(customers[["age", "income", "visits", "basket", "tenure"]])
sex = customers["sex"]

# %%
# ε first: what does fairness cost?
# ---------------------------------
#
# A goal of 0.01 allows a group of half the people between 43 and 57 % in each cluster, 0.001 between 47.8 and
# 52.2 %. The path shows what each level costs at a given K.
path = fairness_path(FairKMeans(6, random_state=0), X, sensitive_features=sex)
TradeoffDisplay.from_path(path, goal=0.01)
plt.show()

# %%
# Read it from the right: the first steps are nearly free, the last ones are dear. Three goals in numbers:
for goal in (0.1, 0.01, 0.001):
    point = path.select(goal=goal)
    rise = point.objective / path.objectives[0] - 1
    print(f"goal {goal:5}: cost {rise:+.2%} against plain, balance {point.balance:.2f}")

# %%
# The path uses one weight for all clusters. Asking for the goal itself is cheaper still, because clusters
# that are fair by themselves are left alone:
model = FairKMeans(6, goal=0.01, random_state=0).fit(X, sensitive_features=sex)
rise = model.objective_ / path.objectives[0] - 1
print(f"cost {rise:+.2%}, worst cluster {model.max_fairness_error_:.4f}")

# %%
# K with fairness on
# ------------------
#
# Plain and fair curves differ, so look at the fair one. ``cluster_numbers`` fits every K with and without the
# goal: the cost, what the goal costs, how well separated the clusters are (silhouette, -1 to 1), and whether
# they come back on subsamples (stability, up to 1).
numbers = cluster_numbers(
    FairKMeans(goal=0.01, random_state=0),
    X,
    range(2, 9),
    sensitive_features=sex,
    n_subsamples=3,
)
numbers.to_frame().set_index("n_clusters")[
    ["cost", "cost_increase", "silhouette", "stability", "smallest_cluster", "goal_met"]
].round(3)

# %%
numbers.plot()
plt.show()

# %%
# What to make of it
# ------------------
#
# ``select`` applies a stated rule, and says how clear the answer is:
choice = numbers.select(min_cluster_size=50)
print(choice.n_clusters, choice.is_clear)
print(choice.reason)

# %%
# There is rarely an elbow. Take the smallest K that serves the purpose: how many segments can be looked
# after? Then check that the smallest cluster is large enough for its shares to mean something, and that the
# goal was met.
