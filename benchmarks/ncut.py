"""Ncut: the marks on Adult and Bank, the trade-off, a given graph (LastFM Asia), and a million points by stage.

Run from the root of the repository: ``python -m benchmarks.ncut synthetic adult bank lastfm``, or
``python -m benchmarks.ncut census --size 1000000``. Real data come from ``fairclust.datasets`` or ``$FAIRCLUST_DATA``.
Each writes its section of ``benchmarks/results/ncut.md`` and leaves the others as they are.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import kmeans_plusplus
from sklearn.metrics import pairwise_distances_argmin
from sklearn.neighbors import NearestNeighbors

from fairclust import FairNCut, Penalty, datasets, metrics
from fairclust.graphs import affinity_from_edges, nearest_neighbors_graph

from . import report
from .records import Claim, Row

# Ncut @ Σ KL of the paper and of fair spectral clustering (Kleindessner et al., 2019), on the same graph.
MARKS = {
    "adult": {"paper": (0.74, 0.08), "fair spectral": (0.464, 0.0615)},
    "bank": {"paper": (0.58, 0.39), "fair spectral": (0.076, 0.1146)},
}
PAPER_WEIGHTS = {"adult": 10.0, "bank": 40.0}
WEIGHTS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
LASTFM_WEIGHTS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)
LIMITS = (0.1, 0.03, 0.01, 0.003, 0.001, 0.0001)
RESULTS = Path(__file__).parent / "results" / "ncut.md"
TITLE = "# ncut: normalized cut on given graphs"


def marked_graph(X: Any) -> sparse.csr_array:
    """Build the marks' graph: 20 neighbours, the first column dropped as "self", binary, (A + Aᵗ)/2."""
    neighbors = NearestNeighbors(n_neighbors=20).fit(X).kneighbors(X, return_distance=False)[:, 1:]
    n = len(X)
    A = sparse.csr_array((np.ones(neighbors.size), neighbors.ravel(), np.arange(0, neighbors.size + 1, 19)), (n, n))
    return ((A + A.T) / 2).tocsr()


def fit_and_score(W: Any, groups: Any, n_clusters: int, weight: float, seed: int, **options: Any) -> dict[str, Any]:
    """One fit with one thread, scored by ``metrics``, as a row of a table."""
    began = time.process_time()
    model = FairNCut(
        n_clusters, affinity="precomputed", goal=Penalty(weight), random_state=seed, n_jobs=1, **options
    ).fit(W, sensitive_features=groups)
    seconds = time.process_time() - began
    assert (np.diff(model.energy_history_) <= 0).all(), "the energy rose"
    row = {
        "λ": f"{weight:g}",
        "seed": seed,
        "Ncut": metrics.ncut_objective(W, model.labels_),
        "Σ KL": metrics.fairness_error(model.labels_, groups),
        "worst KL": metrics.fairness_error(model.labels_, groups, average="max"),
        "balance": metrics.balance(model.labels_, groups),
        "processor s": round(seconds, 1),
    }
    print(
        "  ".join(f"{key} {value:.6g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items())
    )
    return row


def trade_off(W: Any, groups: Any, n_clusters: int, weights: tuple[float, ...], seeds: int) -> list[dict[str, Any]]:
    """Fit at every weight with several seeds."""
    return [fit_and_score(W, groups, n_clusters, weight, seed) for weight in weights for seed in range(seeds)]


def cheapest_below(rows: list[dict[str, Any]], limits: tuple[float, ...]) -> list[Row]:
    """For each Σ KL, the fit with the least Ncut that is no less fair."""
    found = []
    for limit in limits:
        below = [row for row in rows if row["Σ KL"] <= limit]
        if below:
            best = min(below, key=lambda row: row["Ncut"])
            found.append({"Σ KL at most": limit} | {key: best[key] for key in ("Ncut", "Σ KL", "balance", "λ", "seed")})
    return found


def run_marks(name: str, seeds: int) -> str:
    data = getattr(datasets, f"fetch_{name}")()
    W, groups, n_clusters = marked_graph(data.data), data.sensitive_features, data.n_clusters
    print(f"\n== {name}: {W.shape[0]} nodes, {W.nnz} links, K={n_clusters}")
    rows = trade_off(W, groups, n_clusters, WEIGHTS, seeds)
    claims = []
    for rival, (ncut, error) in MARKS[name].items():
        below = [row["Ncut"] for row in rows if row["Σ KL"] <= error]
        claims.append(
            Claim(f"Ncut at Σ KL ≤ {error:g} ({rival}: {ncut:g}), best of {len(rows)} fits", min(below), ncut)
        )
    n_different = count_differences(W, groups, n_clusters)
    claims.append(Claim("nodes whose label differs between 1, 2 and 4 threads, λ=3", n_different, 0))
    # The paper's method: nearest of k-means++ centres, bound steps alone.
    centers, _ = kmeans_plusplus(data.data, n_clusters, random_state=0)
    labels = pairwise_distances_argmin(data.data, centers)
    paper = [
        {"method": f"{solver}, no moves"}
        | fit_and_score(W, groups, n_clusters, PAPER_WEIGHTS[name], 0, init=labels, solver=solver)
        for solver in ("bound", "dual")
    ]
    limits = tuple(sorted({*LIMITS, *(error for _, error in MARKS[name].values())}, reverse=True))
    return "\n\n".join(
        [
            f"{W.shape[0]:,} nodes, {W.nnz:,} stored links, K={n_clusters}; the graph of the marks.",
            report.claims_table(claims),
            "The least Ncut found at each fairness:",
            report.table(cheapest_below(rows, limits)),
            "Every fit:",
            report.table(rows),
            "The paper's start (k-means++ labels) and bound steps alone, at the paper's λ:",
            report.table(paper),
        ]
    )


def count_differences(W: Any, groups: Any, n_clusters: int) -> int:
    """Count the nodes whose label depends on the number of threads."""
    fits = [
        FairNCut(n_clusters, affinity="precomputed", goal=Penalty(3.0), random_state=0, n_jobs=n_threads)
        .fit(W, sensitive_features=groups)
        .labels_
        for n_threads in (1, 2, 4)
    ]
    return max(int((labels != fits[0]).sum()) for labels in fits[1:])


def run_synthetic() -> str:
    rows = []
    for make in (datasets.make_synthetic, datasets.make_synthetic_unequal):
        data = make()
        model = FairNCut(2, random_state=0, n_jobs=1).fit(data.data, sensitive_features=data.sensitive_features)
        W = model.affinity_matrix_
        rows.append(
            {
                "data": make.__name__.removeprefix("make_"),
                "Ncut": round(metrics.ncut_objective(W, model.labels_), 12),
                "Σ KL": round(metrics.fairness_error(model.labels_, data.sensitive_features), 12),
                "balance": metrics.balance(model.labels_, data.sensitive_features),
            }
        )
        print(f"\n== {make.__name__}: {model.objective_:.4f} @ {model.fairness_error_:.4f}")
    return report.table(rows)


def run_lastfm(seeds: int) -> str:
    folder = Path(os.environ["FAIRCLUST_DATA"]) / "lastfm_asia"
    edges = np.loadtxt(folder / "lastfm_asia_edges.csv", delimiter=",", skiprows=1, dtype=int)
    with (folder / "lastfm_asia_target.csv").open() as file:
        country = {int(row["id"]): int(row["target"]) for row in csv.DictReader(file)}
    W = affinity_from_edges(edges, n_nodes=len(country))
    groups = np.array([country[node] for node in range(len(country))])
    size = f"{W.shape[0]:,} nodes, {W.nnz // 2:,} links, {len(np.unique(groups))} countries, K=10"
    print(f"\n== LastFM Asia: {size}")
    rows = trade_off(W, groups, 10, LASTFM_WEIGHTS, seeds)
    limits = (10.0, 3.0, 1.0, 0.3, *LIMITS)
    best = report.table(cheapest_below(rows, limits))
    return f"{size}.\n\nThe least Ncut found at each fairness:\n\n{best}\n\nEvery fit:\n\n{report.table(rows)}"


def run_census(size: int, n_clusters: int, weight: float, n_threads: int) -> str:
    """Each stage with its time and the largest memory of the process so far."""
    began, spent = time.perf_counter(), time.process_time()
    rows: list[dict[str, Any]] = []

    def stage(name: str) -> None:
        nonlocal began, spent
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        clock, processor = time.perf_counter() - began, time.process_time() - spent
        rows.append({"stage": name, "s": clock, "processor s": processor, "peak GB so far": memory})
        print(f"{name:32s} {clock:7.1f} s, {processor:7.1f} s of processor   peak {memory:.2f} GB", flush=True)
        began, spent = time.perf_counter(), time.process_time()

    print(f"\n== census-like, {size} points")
    data = datasets.make_census_like(size, random_state=0)
    stage("data")
    W = nearest_neighbors_graph(data.data, 20, n_threads=n_threads)
    stage(f"graph ({W.nnz:,} stored links)")
    groups = data.sensitive_features
    del data
    model = FairNCut(n_clusters, affinity="precomputed", goal=Penalty(weight), random_state=0, n_jobs=n_threads)
    model.fit(W, sensitive_features=groups)
    stage("fit, the graph given")
    found = (
        f"Ncut {metrics.ncut_objective(W, model.labels_):.4f} at Σ KL {model.fairness_error_:.6f}, "
        f"balance {model.balance_:.4f}; λ={weight:g}, K={n_clusters}, {n_threads} thread(s)."
    )
    print(found)
    claim = Claim("processor time of the fit over the graph's", rows[2]["processor s"] / rows[1]["processor s"], 1)
    return f"{report.table(rows)}\n\n{found}\n\n{report.claims_table([claim])}"


def write_section(path: Path, name: str, text: str) -> None:
    """Replace one section of the page, or add it."""
    run = report.describe_in_words(report.describe_run(quick=False))
    old = path.read_text() if path.is_file() else TITLE + "\n"
    head, *parts = old.split("\n## ")
    sections = dict(part.split("\n", 1) for part in parts)
    sections[name] = f"\n{run}\n\n{text}\n"
    body = "".join(f"\n## {key}\n{value.rstrip()}\n" for key, value in sections.items())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(head.rstrip() + "\n" + body)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="+", choices=["adult", "bank", "synthetic", "lastfm", "census"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--clusters", type=int, default=20)
    parser.add_argument("--weight", type=float, default=10.0)
    parser.add_argument("--threads", type=int, default=1, help="of the census runs")
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    warnings.simplefilter("error")
    for what in asked.what:
        if what == "synthetic":
            name, text = "Synthetic sets", run_synthetic()
        elif what == "lastfm":
            name, text = "LastFM Asia", run_lastfm(asked.seeds)
        elif what == "census":
            name = f"Census-like, {asked.size:,} points"
            text = run_census(asked.size, asked.clusters, asked.weight, asked.threads)
        else:
            name, text = what.capitalize(), run_marks(what, asked.seeds)
        write_section(asked.out, name, text)


if __name__ == "__main__":
    main()
