"""
New people
==========

Three ways to label people who were not in the fit: by the nearest centre, by the fitted prices
(each person alone), and as a batch for which prices are found anew, so that the goal holds on the
batch itself.
"""

import matplotlib.pyplot as plt

from fairclust import FairKMeans, metrics
from fairclust.datasets import make_census_like

data = make_census_like(12_000)
X, sex = data.data, data.sensitive_features
model = FairKMeans(8, goal=0.01, random_state=0).fit(X[:8_000], sensitive_features=sex[:8_000])
X_new, sex_new = X[8_000:], sex[8_000:]

labels = {
    "nearest centre\npredict(X)": model.predict(X_new),
    "fitted prices\npredict(X, groups)": model.predict(X_new, sex_new),
    "a batch\npredict_batch(X, groups)": model.predict_batch(X_new, sex_new),
}
worst = [
    metrics.fairness_error(found, sex_new, model.target_proportions_, average="max")
    for found in labels.values()
]

fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
bars = ax.bar(range(3), worst, tick_label=list(labels))
ax.bar_label(bars, fmt="%.4f")
ax.axhline(0.01, color="black", ls="--", label="the goal")
ax.set(ylabel="worst cluster's fairness error")
ax.margins(y=0.15)
ax.legend()
plt.show()
