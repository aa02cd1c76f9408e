"""Codes against one-hot, sparse rows against scikit-learn: K-means on Adult and on made-up documents.

Run: ``python benchmarks/tables_as_they_are.py [documents]``. Processor time of one thread, the same start and tolerance
for both. Adult with all 14 columns is read from FAIRCLUST_DATA.
"""

from __future__ import annotations

import os
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.cluster import KMeans, kmeans_plusplus
from threadpoolctl import threadpool_limits

from fairclust import FairKMeans

NAMES = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
]  # fmt: skip


def adult() -> pd.DataFrame:
    """All people and columns of Adult but the income."""
    folder = Path(os.environ["FAIRCLUST_DATA"]) / "adult"
    parts = [
        pd.read_csv(folder / name, names=NAMES, skipinitialspace=True, comment="|", na_values="?")
        for name in ("adult.data", "adult.test")
    ]
    return pd.concat(parts, ignore_index=True).drop(columns="income")


def one_hot(frame: pd.DataFrame) -> np.ndarray:
    """The weighted one-hot matrix that a table stands for."""
    numbers = frame.select_dtypes("number")
    X = [((numbers - numbers.mean()) / numbers.std(ddof=0)).to_numpy()]
    for name in frame.columns.difference(numbers.columns, sort=False):
        part = pd.get_dummies(frame[name].fillna("missing")).to_numpy(dtype=float)
        X.append(part / np.sqrt(part.var(axis=0).sum()))
    return np.concatenate(X, axis=1)


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor time of one thread, the least of three runs, and the last answer."""
    times = []
    for _ in range(3):
        begin = time.process_time()
        answer = work()
        times.append(time.process_time() - begin)
    return min(times), answer


def peak(work: Callable[[], Any]) -> float:
    """Most megabytes that NumPy held at a time, beyond what was there before."""
    tracemalloc.start()
    work()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / 1e6


def mixed(n_clusters: int = 10) -> None:
    """Codes against the one-hot matrix."""
    frame = adult()
    features = frame.drop(columns="sex")
    X = one_hot(features)
    init, _ = kmeans_plusplus(X, n_clusters, random_state=0)
    common = {"n_clusters": n_clusters, "init": init, "n_init": 1}

    def codes() -> Any:
        return FairKMeans(**common, fairness_weight=0, missing_values="own", n_jobs=1).fit(features)

    def theirs() -> Any:
        return KMeans(**common).fit(X)

    mine, model = seconds(codes)
    other, peer = seconds(theirs)
    encode, _ = seconds(lambda: one_hot(features))
    print(f"Adult {features.shape}, K={n_clusters}, plain, from the same centres; one-hot matrix {X.shape}")
    print(f"  codes, from the data frame   {mine:.3f} s, {model.n_iter_} iterations, inertia {model.objective_:.1f}")
    print(f"  scikit-learn, matrix given   {other:.3f} s, {peer.n_iter_} iterations, inertia {peer.inertia_:.1f}")
    print(f"  building the matrix          {encode:.3f} s")
    print(f"  time {mine / other:.2f} of scikit-learn's; {mine / (other + encode):.2f} with the matrix built")
    memory, theirs_memory = peak(codes), peak(lambda: KMeans(**common).fit(one_hot(features)))
    print(f"  memory {memory:.1f} MB against {theirs_memory:.1f} MB: {memory / theirs_memory:.2f}")
    begin = time.process_time()
    goal = FairKMeans(**common, missing_values="own", n_jobs=1).fit(frame, sensitive_features="sex")
    spent, rise = time.process_time() - begin, goal.objective_ / model.objective_ - 1
    print(f"  goal 0.01 by sex: met {goal.fairness_goal_met_}, {goal.max_fairness_error_:.4f} in the worst cluster,")
    print(f"    cost {rise:+.1%}, {spent:.2f} s, sizes {np.sort(goal.cluster_sizes_).astype(int).tolist()}")


def documents(density: float, n_rows: int = 18_000, n_words: int = 100_000, n_clusters: int = 20) -> None:
    """Sparse rows against scikit-learn's KMeans."""
    rng = np.random.default_rng(0)
    per_row = int(density * n_words)
    topics = [rng.permutation(n_words) for _ in range(n_clusters)]
    common_words = rng.zipf(1.3, size=(n_rows, 2 * per_row)) % n_words
    columns = np.concatenate([np.unique(topics[i % n_clusters][row])[:per_row] for i, row in enumerate(common_words)])
    counts = [len(np.unique(row)[:per_row]) for row in common_words]
    begin = np.concatenate(([0], np.cumsum(counts)))
    X = sparse.csr_matrix((rng.gamma(1.0, 1.0, len(columns)), columns, begin), shape=(n_rows, n_words))
    X = sparse.csr_matrix(sparse.diags_array(1 / np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())) @ X)
    init, _ = kmeans_plusplus(X, n_clusters, random_state=0)
    common = {"n_clusters": n_clusters, "init": init, "n_init": 1, "max_iter": 20}
    mine, model = seconds(lambda: FairKMeans(**common, fairness_weight=0, n_jobs=1).fit(X))
    other, peer = seconds(lambda: KMeans(**common).fit(X))
    each = (mine / model.n_iter_) / (other / peer.n_iter_)
    print(f"documents {X.shape}, {X.nnz / X.shape[0] / X.shape[1]:.2%} full, K={n_clusters}, plain")
    print(f"  fairclust     {mine:.2f} s, {model.n_iter_} iterations, inertia {model.objective_:.2f}")
    print(f"  scikit-learn  {other:.2f} s, {peer.n_iter_} iterations, inertia {peer.inertia_:.2f}")
    print(f"  time {mine / other:.2f} of scikit-learn's, {each:.2f} per iteration")


if __name__ == "__main__":
    with threadpool_limits(1):
        if "documents" not in sys.argv:
            mixed()
        documents(0.001)
        documents(0.01)
