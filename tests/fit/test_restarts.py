"""Several starts: raced on a sample, deterministic, never worse than asked."""

from __future__ import annotations

import numpy as np

from fairclust import FairKMeans, datasets
from fairclust._fit.restarts import is_worth_racing


def test_few_rows_or_one_start_are_not_raced():
    assert not is_worth_racing(1000, 10)
    assert not is_worth_racing(100_000, 1)
    assert is_worth_racing(100_000, 10)


def test_more_starts_are_seldom_dearer_and_often_cheaper():
    data = datasets.make_census_like(6000, random_state=5)
    kinds = {"sensitive_features": data.sensitive_features}
    one = [FairKMeans(8, fairness_weight=200, random_state=s).fit(data.data, **kinds).energy_ for s in range(6)]
    many = FairKMeans(8, fairness_weight=200, n_init=6, random_state=0).fit(data.data, **kinds).energy_
    assert many <= np.median(one)


def test_race_is_the_same_for_a_seed_and_any_number_of_threads():
    data = datasets.make_census_like(5000, random_state=6)
    first, second = (
        FairKMeans(5, fairness_weight=100, n_init=4, random_state=1, n_jobs=n_jobs).fit(
            data.data, sensitive_features=data.sensitive_features
        )
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(first.labels_, second.labels_)
    assert first.energy_ == second.energy_
