"""
Exact proportions
=================

``goal=0`` asks for counts that differ from the ideal by whole people only: every
group's count in every cluster is the floor or the ceiling of ``cluster size · share``.
"""

import matplotlib.pyplot as plt
import numpy as np

from fairclust import FairKMeans, audit
from fairclust.datasets import make_census_like
from fairclust.plotting import CompositionDisplay

data = make_census_like(3_000)
X, sex = data.data, data.sensitive_features

model = FairKMeans(6, goal=0, random_state=0).fit(X, sensitive_features=sex)
print(audit(model.labels_, sex))

CompositionDisplay.from_estimator(model)
plt.show()

# %%
# The ideal counts, and how far the real ones are from them: always less than one person.
counts = audit(model.labels_, sex).counts
ideal = model.cluster_sizes_[:, None] * model.target_proportions_
np.abs(counts - ideal).max()
