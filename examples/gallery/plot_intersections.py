"""
Fair by row, fair by column, unfair in the corner
=================================================

Clusters can have the right share of women and the right share of each origin, and still put the
women of one origin all in one place. ``Groups(intersections=True)`` balances the combinations.
"""

import matplotlib.pyplot as plt
import numpy as np

from fairclust import FairKMeans, Groups, audit
from fairclust.plotting import CompositionDisplay

rng = np.random.default_rng(3)
sex = rng.choice(["F", "M"], 1200)
origin = rng.choice(["A", "B"], 1200)
together = np.where(
    (sex == "F") == (origin == "A"), 1.5, -1.5
)  # position depends on the combination only
X = np.column_stack([together + rng.normal(size=1200), rng.normal(size=1200)])
people = {"sex": sex, "origin": origin}

each = FairKMeans(2, goal=0.01, random_state=0).fit(X, sensitive_features=people)
both = FairKMeans(2, goal=0.01, groups=Groups(intersections=True), random_state=0).fit(
    X, sensitive_features=people
)

# %%
# Balanced attribute by attribute: each error is next to nothing, but not that of the combinations.
print(each.fairness_errors_.round(4))
print(audit(each.labels_, people, groups=Groups(intersections=True)))

# %%
# Balanced by combination. It asks for more, so it costs more.
print(audit(both.labels_, people, groups=Groups(intersections=True)))
print(f"cost {each.objective_:.0f} and {both.objective_:.0f}")

# %%
# Side by side, the combinations in each cluster.
fig, axes = plt.subplots(2, 1, figsize=(8, 4.6), layout="constrained")
names = np.char.add(np.char.add(sex, " & "), origin)
for ax, model, title in zip(
    axes, [each, both], ["each attribute balanced", "combinations balanced"], strict=True
):
    CompositionDisplay.from_predictions(model.labels_, names, ax=ax)
    ax.set_title(title, pad=30)
axes[0].set_xlabel("")
plt.show()
