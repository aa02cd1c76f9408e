"""
Several attributes at once
==========================

Each column of ``sensitive_features`` is an attribute with a target of its own; a goal holds for
every attribute in every cluster. Ages are cut into ranges of about equal size.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.preprocessing import StandardScaler

from fairclust import FairKMeans, Groups
from fairclust.plotting import CompositionDisplay

customers = pd.read_csv("../customers.csv").dropna()
X = StandardScaler().fit_transform(customers[["income", "visits", "basket", "tenure"]])
people = customers[["sex", "age"]]

model = FairKMeans(5, goal=0.01, groups=Groups(bins={"age": 3}), random_state=0)
model.fit(X, sensitive_features=people)
print(pd.DataFrame(model.fairness_errors_, columns=model.attribute_names_).round(4))

# %%
# One picture per attribute.
fig, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for ax, attribute in zip(axes, model.attribute_names_, strict=True):
    CompositionDisplay.from_estimator(model, attribute=attribute, ax=ax)
plt.show()
