"""
An audit of any labels
======================

:func:`fairclust.audit` takes labels from any algorithm, here from agglomerative clustering.
``suppress_below`` hides small counts, and what would give them away by subtraction.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.cluster import AgglomerativeClustering
from sklearn.preprocessing import StandardScaler

from fairclust import audit
from fairclust.plotting import CompositionDisplay

customers = pd.read_csv("../customers.csv").dropna().head(300)
X = StandardScaler().fit_transform(customers[["age", "income", "visits", "basket"]])
labels = AgglomerativeClustering(6).fit_predict(X)

print(audit(labels, customers["sex"], suppress_below=5))

# %%
# As a table, with exact figures.
audit(labels, customers["sex"]).to_frame().head()

# %%
# As a picture: one bar per cluster, the target as a dashed line.
CompositionDisplay.from_predictions(labels, customers["sex"])
plt.show()
