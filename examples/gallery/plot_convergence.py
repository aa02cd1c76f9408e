"""
How a fit went
==============

``energy_history_`` has one value per outer iteration and never rises, for either solver. The
default takes Newton steps on the prices; ``solver="bound"`` is the algorithm as the paper prints
it, and passes over the data far more often.
"""

import matplotlib.pyplot as plt

from fairclust import FairKMeans, Penalty
from fairclust.datasets import make_census_like

data = make_census_like(3_000)
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for solver in ("dual", "bound"):
    model = FairKMeans(6, goal=Penalty(300), solver=solver, random_state=0)
    model.fit(data.data, sensitive_features=data.sensitive_features)
    ax.plot(
        range(1, model.n_iter_ + 1),
        model.energy_history_,
        marker=".",
        label=f"{solver}: {model.n_evaluations_:.0f} passes over the data",
    )
ax.set(xlabel="outer iteration", ylabel="energy")
ax.legend()
plt.show()
