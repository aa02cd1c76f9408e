"""
Fair segments from a customer file
==================================

A file of 2,000 customers (made up), with numbers, categories and gaps. We want six segments in
which women and men have the shares that they have among all customers, and we want to know who pays
for that.
"""

import matplotlib.pyplot as plt
import pandas as pd

from fairclust import FairKMeans, Features, audit, compare
from fairclust.plotting import CompositionDisplay

customers = pd.read_csv("../customers.csv", index_col="customer")
customers.head()

# %%
# The table as it is
# ------------------
#
# Columns of text are categories, empty incomes are gaps: neither has to be turned into numbers first. Numbers
# are put on one scale, so that euros do not outweigh years. The sensitive column is named, and so left out of
# the features.
numbers = ["age", "income", "visits", "basket", "tenure"]
centred = customers[numbers] - customers[numbers].mean()
customers[numbers] = centred / customers[numbers].std()
table = customers.astype({"region": "category", "channel": "category"})
settings = {"features": Features(missing="observed"), "n_init": 3, "random_state": 0}

# %%
# Plain segments first, to have something to compare with.
plain = FairKMeans(6, goal=None, **settings).fit(table, sensitive_features="sex")
print(audit(plain.labels_, sensitive_features=table["sex"]))

# %%
# The goal
# --------
#
# No segment's shares may be further from those of all customers than KL 0.01: between about 49 and 63 % women
# here.
fair = FairKMeans(6, goal=0.01, **settings).fit(table, sensitive_features="sex")
print(audit(fair.labels_, sensitive_features=table["sex"]))
print(f"met: {fair.goal_met_}, cost {fair.objective_ / plain.objective_ - 1:+.1%}")

# %%
fig, axes = plt.subplots(2, 1, figsize=(8, 5.6), layout="constrained")
CompositionDisplay.from_estimator(plain, ax=axes[0])
CompositionDisplay.from_estimator(fair, ax=axes[1])
axes[0].set(ylabel="plain segment", xlabel="")
axes[1].set(ylabel="fair segment")
plt.show()

# %%
# What makes each segment
# -----------------------
#
# Means of the numbers and shares of the categories, in the table's own units (here: standard deviations from
# the mean).
fair.cluster_profiles_

# %%
# Who was moved
# -------------
#
# Segments are matched so that as many people as possible stay; the rest were moved for the sake of the
# shares.
moves = compare(plain.labels_, fair.labels_, sensitive_features=table["sex"])
print(moves)

# %%
# Look at these numbers before the segments are used: somebody pays for proportional shares, and here you see
# how many, and of which group. A page for others: ``fairclust.report.model_report``, or on the command line
# ``fairclust fit customers.csv --sensitive sex -k 6 --missing impute --encode all --out segments.csv --report
# report.html``.
