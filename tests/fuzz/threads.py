"""Fits in several Python threads at once, for the thread sanitizer; they must equal those made one by one."""

from __future__ import annotations

import sys
import threading

import numpy as np

from fairclust import FairKMeans, FairKMedian, FairNCut, Penalty


def fits(seed: int, n_jobs: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    X, groups = rng.normal(size=(600, 4)), rng.choice(["a", "b"], 600)
    return [
        kind(3, random_state=seed, n_jobs=n_jobs, max_iter=5, goal=Penalty(10.0))
        .fit(X, sensitive_features=groups)
        .labels_
        for kind in (FairKMeans, FairKMedian, FairNCut)
    ]


def run(n_threads: int = 3, n_jobs: int = 2) -> bool:
    """Whether fits at the same time equal fits one after the other."""
    alone = [fits(seed, n_jobs) for seed in range(n_threads)]
    together: list[list[np.ndarray] | None] = [None] * n_threads

    def work(seed: int) -> None:
        together[seed] = fits(seed, n_jobs)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return all(
        own is not None and all((a == b).all() for a, b in zip(own, other, strict=True))
        for own, other in zip(together, alone, strict=True)
    )


if __name__ == "__main__":
    same = run()
    print(f"threads: fits at the same time {'equal' if same else 'DIFFER FROM'} fits one by one")
    sys.exit(not same)
