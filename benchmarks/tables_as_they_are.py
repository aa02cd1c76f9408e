"""Codes against one-hot, sparse rows against scikit-learn: K-means on Adult and on made-up documents.

Run: ``python benchmarks/tables_as_they_are.py [tables | documents]``. Processor time of one thread, the same start and
tolerance for both. Adult with all 14 columns is read from FAIRCLUST_DATA.
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

from fairclust import FairKMeans, Features

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


# Shares in percent of the values of a credit table's columns of words, the rare ones among them.
CREDIT_WORDS = {
    "account": [27, 27, 6, 40], "history": [4, 5, 53, 9, 29], "purpose": [28, 23, 18, 10, 10, 5, 2.2, 1.2, 0.9, 1.2],
    "savings": [60, 10, 6, 5, 19], "employment": [6, 17, 34, 17, 26], "debtors": [91, 4, 5],
    "property": [28, 23, 33, 16], "plans": [14, 5, 81], "housing": [18, 71, 11], "job": [2, 20, 63, 15],
    "telephone": [60, 40], "foreign": [96, 4],
}  # fmt: skip


def credit_like(n_rows: int = 1000, seed: int = 0) -> pd.DataFrame:
    """A made-up table of borrowers of three kinds: 7 columns of numbers, 12 of words, and the sex."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(3, n_rows, p=[0.5, 0.3, 0.2])
    sex = np.where(rng.random(n_rows) < np.array([0.4, 0.25, 0.15])[kind], "female", "male")
    columns: dict[str, Any] = {
        "duration": rng.gamma(4.0, np.array([4.0, 5.0, 8.0])[kind]).round(),
        "amount": rng.lognormal(np.array([7.5, 7.9, 8.6])[kind], 0.5).round(),
        "rate": rng.integers(1, 5, n_rows),
        "residence": rng.integers(1, 5, n_rows),
        "age": (19 + rng.gamma(np.array([2.0, 5.0, 4.0])[kind], 5.0)).round(),
        "credits": 1 + rng.poisson(0.4, n_rows),
        "dependants": 1 + (rng.random(n_rows) < 0.15),
    }
    for name, percent in CREDIT_WORDS.items():
        shares = np.array(percent) / np.sum(percent)
        tilted = np.array([rng.permutation(shares) if k and len(shares) > 2 else shares for k in range(3)])
        mixed = 0.7 * shares + 0.3 * tilted * (shares > 0.03) / ((tilted * (shares > 0.03)).sum(axis=1, keepdims=True))
        mixed /= mixed.sum(axis=1, keepdims=True)
        codes = (rng.random((n_rows, 1)) > np.cumsum(mixed, axis=1)[kind]).sum(axis=1)
        columns[name] = np.char.add(f"{name}-", np.minimum(codes, len(shares) - 1).astype(str))
    return pd.DataFrame(columns | {"sex": sex})


def with_goal(name: str, frame: pd.DataFrame, n_clusters: int = 10) -> None:
    """A goal of 0.01 by sex: sizes, and whether a rare word became a cluster."""
    begin = time.process_time()
    model = FairKMeans(n_clusters, features=Features(missing="own"), random_state=0, n_jobs=1)
    model.fit(frame, sensitive_features="sex")
    spent, sizes = time.process_time() - begin, np.sort(model.cluster_sizes_).astype(int).tolist()
    print(f"{name} {frame.shape}, K={n_clusters}, goal 0.01 by sex: met {model.goal_met_}, {spent:.2f} s")
    print(f"  worst cluster {model.max_fairness_error_:.4f}, cost {model.objective_:.1f}, sizes {sizes}")
    profiles = model.cluster_profiles_
    for column in frame.drop(columns="sex").select_dtypes(exclude="number").columns:
        for value, count in frame[column].value_counts().items():
            share = profiles[f"{column}={value}"].max()
            if count < 0.05 * len(frame) and share > 0.5:
                print(f"  {column}={value} ({count} rows) is {share:.0%} of a cluster")
    numbers = list(frame.select_dtypes("number").columns)
    print(profiles[numbers].round(1).assign(size=model.cluster_sizes_.astype(int)).to_string())
    for k in range(n_clusters):
        words = []
        for column in frame.drop(columns="sex").select_dtypes(exclude="number").columns:
            own = profiles.loc[k, [name for name in profiles.columns if name.startswith(f"{column}=")]]
            words.append(f"{own.idxmax()} {own.max():.0%}")
        print(f"  {k}: {', '.join(words)}")


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
        return FairKMeans(**common, goal=None, features=Features(missing="own"), n_jobs=1).fit(features)

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
    mine, model = seconds(lambda: FairKMeans(**common, goal=None, n_jobs=1).fit(X))
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
            with_goal("Adult", adult())
            with_goal("a credit table", credit_like())
        if "tables" in sys.argv:
            sys.exit()
        documents(0.001)
        documents(0.01)
