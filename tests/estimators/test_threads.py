"""The result does not depend on the number of threads, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest

from cases import people
from fairclust import FairKMeans, Penalty
from fairclust.solvers import BoundOptimization
from fuzz.threads import run as fits_at_the_same_time

SOFT = BoundOptimization(soft=True)
SIZES = {"goal": 0.05, "max_cluster_size": 0.3}
ATTRIBUTES = ["labels_", "cluster_centers_", "energy_history_", "prices_", "proportions_"]
NUMBERS = ["energy_", "objective_", "fairness_error_", "n_evaluations_", "n_iter_"]


@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weights"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "options",
    [{"goal": Penalty(3000.0)}, {"goal": None}, {"goal": Penalty(3000.0), "solver": SOFT}, {"goal": 0.01}, SIZES],
    ids=["dual", "plain", "soft", "goal", "sizes"],
)
def test_fits_are_bit_identical_for_1_2_and_4_threads(options, dtype, weighted):
    data = people(10_000, n_clusters=5, n_groups=3, dtype=dtype)
    weights = np.random.default_rng(0).uniform(0, 2, 10_000) if weighted else None
    fits = [
        FairKMeans(5, init=data.init, n_jobs=n_jobs, max_iter=8, **options).fit(
            data.X, sensitive_features=data.groups, sample_weight=weights
        )
        for n_jobs in (1, 2, 4)
    ]
    for other in fits[1:]:
        for name in ATTRIBUTES:
            assert np.array_equal(getattr(other, name), getattr(fits[0], name)), name
        for name in NUMBERS:
            assert getattr(other, name) == getattr(fits[0], name), name
    new = people(3000, seed=1, dtype=dtype)
    assert np.array_equal(fits[0].predict_proba(new.X), fits[2].predict_proba(new.X))


def test_bound_is_bit_identical_for_1_2_and_4_threads():
    data = people(9000, n_clusters=3, dtype=np.float32)
    fits = [
        FairKMeans(3, init=data.init, goal=Penalty(1000.0), solver="bound", n_jobs=n, max_iter=3).fit(
            data.X, sensitive_features=data.groups
        )
        for n in (1, 2, 4)
    ]
    assert all(np.array_equal(other.labels_, fits[0].labels_) for other in fits[1:])
    assert all(np.array_equal(other.energy_history_, fits[0].energy_history_) for other in fits[1:])


def test_fits_in_two_python_threads_do_not_disturb_each_other():
    from concurrent.futures import ThreadPoolExecutor

    data = people(9000, n_clusters=3)

    def fit(_):
        return FairKMeans(3, init=data.init, goal=Penalty(1000.0), n_jobs=2).fit(data.X, sensitive_features=data.groups)

    alone = fit(None)
    with ThreadPoolExecutor(3) as pool:
        assert all(np.array_equal(model.labels_, alone.labels_) for model in pool.map(fit, range(6)))


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_a_forked_child_can_fit_after_its_parent_did():
    import multiprocessing

    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this platform does not fork")
    _energy(0)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(_energy, (0,)).get(timeout=60) == _energy(0)


def _energy(seed):
    data = people(9000, seed=seed)
    return (
        FairKMeans(4, init=data.init, goal=Penalty(100), n_jobs=2).fit(data.X, sensitive_features=data.groups).energy_
    )


def test_fits_at_the_same_time_give_the_blas_its_threads_back():
    from threadpoolctl import threadpool_info

    from fairclust.estimators._machine import one_blas_thread

    def blas():
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    before, first, second = blas(), one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    assert set(blas()) <= {1}
    first.__exit__(None, None, None)  # the first to come is the first to go
    assert set(blas()) <= {1}
    second.__exit__(None, None, None)
    assert blas() == before


def test_fits_of_all_estimators_at_the_same_time_equal_fits_one_by_one():
    assert fits_at_the_same_time(n_threads=2, n_jobs=2)
