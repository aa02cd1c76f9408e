"""
Several attributes and intersections
====================================

People have a sex *and* an age *and* a region. This tutorial balances one attribute, then all of
them, then their combinations, and shows what each asks of the clusters.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.preprocessing import StandardScaler

from fairclust import FairKMeans, Groups, Penalty, audit

customers = pd.read_csv("../customers.csv").dropna()
X = StandardScaler().fit_transform(customers[["income", "visits", "basket", "tenure"]])
people = customers[["sex", "age", "region"]]
ages = Groups(bins={"age": 3})
combined = Groups(intersections=True)
K = 5


def fitted(columns, **options):
    model = FairKMeans(K, random_state=0, n_init=3, **options)
    return model.fit(X, sensitive_features=people[columns])


# %%
# Four fits
# ---------
plain = FairKMeans(K, goal=None, n_init=3, random_state=0).fit(X)
models = {
    "nothing": plain,
    "sex": fitted(["sex"]),
    "sex, age, region": fitted(["sex", "age", "region"], groups=ages),
    "sex × region": fitted(["sex", "region"], groups=combined),
}

# %%
# What each of them leaves: the worst cluster's error in every attribute, and in the combinations of sex and
# region.
rows = {}
for name, model in models.items():
    each = audit(model.labels_, people, groups=ages)
    both = audit(model.labels_, people[["sex", "region"]], groups=combined)
    errors = {attribute: each[attribute].max_fairness_error for attribute in each}
    rows[name] = errors | {
        "sex × region": both.max_fairness_error,
        "cost": model.objective_ / plain.objective_ - 1,
    }
table = pd.DataFrame(rows).T
table.round(4)

# %%
# Balancing sex leaves age where it was: a goal speaks of the attributes it names and of no other.
ax = table.drop(columns="cost").plot.bar(
    figsize=(9, 4), rot=0, logy=True, ylabel="worst cluster's error"
)
ax.axhline(0.01, color="black", ls="--")
ax.set_xlabel("what was balanced")
ax.figure.set_layout_engine("constrained")
plt.show()

# %%
# How many groups there are
# -------------------------
#
# Two sexes and four regions are eight combinations; with three ages they are 24, the smallest with how many
# people?
cells = people.assign(age=pd.qcut(people["age"], 3)).value_counts()
print(len(cells), "combinations, the smallest with", cells.min(), "people for", K, "clusters")

# %%
# Goals on so many small groups cost more and are sooner missed. Balance combinations where a combination
# matters (and is large enough to be in every cluster), single attributes elsewhere.
#
# Weights of attributes
# ---------------------
#
# A goal finds its own weight for each attribute. With a fixed λ you can say that one matters more:
weighted = FairKMeans(
    K, goal=Penalty(500, attribute_weights={"sex": 3}), groups=ages, random_state=0
)
weighted.fit(X, sensitive_features=people)
pd.Series(
    weighted.fairness_errors_.max(axis=0), weighted.attribute_names_, name="worst cluster"
).round(4)
