"""
Graphs: fair communities
========================

In a network, communities follow who knows whom, and people know people like themselves. Normalized
cut with a fairness goal looks for communities that cut few ties and yet are mixed.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from fairclust import FairNCut, audit, fairness_path
from fairclust.graphs import affinity_from_networkx
from fairclust.plotting import TradeoffDisplay

# %%
# A network of friends
# --------------------
#
# Four neighbourhoods of 100 people; within each, people of two languages know each other mostly among
# themselves.
rng = np.random.default_rng(0)
sizes = [80, 20, 70, 30, 30, 70, 20, 80]  # neighbourhood by neighbourhood, language A then B
language = np.concatenate([np.repeat(["A", "B"], pair) for pair in np.reshape(sizes, (4, 2))])
place = np.repeat(np.arange(4), 100)
ties = np.full((8, 8), 0.003)
for block in range(8):
    ties[block, block] = 0.18
    ties[block, block ^ 1] = 0.05
graph = nx.stochastic_block_model(sizes, ties, seed=0)
W, nodes = affinity_from_networkx(graph)
print(W.shape, W.nnz // 2, "ties")

# %%
# Plain and fair
# --------------
#
# Ncut is the sum over communities of the share of their ties that leaves them: 0 cuts nothing, K cuts
# everything.
plain = FairNCut(4, affinity="precomputed", goal=None, random_state=0).fit(
    W, sensitive_features=language
)
fair = FairNCut(4, affinity="precomputed", goal=0.01, random_state=0).fit(
    W, sensitive_features=language
)
for name, model in {"plain": plain, "fair": fair}.items():
    print(
        f"{name}: Ncut {model.objective_:.3f}, worst community {model.max_fairness_error_:.4f}"
    )
print(audit(fair.labels_, language))

# %%
# A picture: place is where people live, colour the community, shape the language.
angle = np.pi / 2 * place + rng.normal(0, 0.35, 400)
spot = np.column_stack([np.cos(angle), np.sin(angle)]) * rng.uniform(0.7, 1.3, (400, 1))
fig, axes = plt.subplots(1, 2, figsize=(10, 4.8), layout="constrained")
for ax, model, title in zip(axes, [plain, fair], ["plain", "fair"], strict=True):
    nx.draw_networkx_edges(graph, dict(enumerate(spot)), ax=ax, alpha=0.08)
    for name, marker in zip("AB", "o^", strict=True):
        rows = language == name
        ax.scatter(
            *spot[rows].T,
            c=model.labels_[rows],
            cmap="tab10",
            vmin=0,
            vmax=9,
            marker=marker,
            s=24,
            label=name,
        )
    ax.set_title(f"{title}: Ncut {model.objective_:.2f}")
    ax.set_axis_off()
axes[0].legend(title="language")
plt.show()

# %%
# What mixing costs
# -----------------
path = fairness_path(
    FairNCut(4, affinity="precomputed", random_state=0), W, sensitive_features=language
)
TradeoffDisplay.from_path(path, goal=0.01)
plt.show()

# %%
# Points instead of a graph: ``FairNCut(4, n_neighbors=20).fit(X, …)`` builds one of near neighbours first.
# :doc:`More on Ncut </ncut>`.
