"""Several starts: raced on a sample, deterministic, never worse than asked."""

from __future__ import annotations

import numpy as np

from fairclust import FairKMeans, Penalty, datasets


def test_one_start_is_the_best_of_some_that_are_drawn():
    """A start that the user gives is left alone."""
    data = datasets.make_census_like(3000, random_state=5)
    given = {"goal": None, "tol": 0.0}
    drawn = [FairKMeans(8, random_state=s, **given).fit(data.data).energy_ for s in range(8)]
    seeds = [data.data[np.random.default_rng(s).choice(3000, 8, replace=False)] for s in range(8)]
    told = [FairKMeans(8, init=one, **given).fit(data.data).energy_ for one in seeds]
    assert max(drawn) < np.median(told)


def test_more_starts_are_seldom_dearer_and_often_cheaper():
    data = datasets.make_census_like(6000, random_state=5)
    kinds = {"sensitive_features": data.sensitive_features}
    one = [FairKMeans(8, goal=Penalty(200), random_state=s).fit(data.data, **kinds).energy_ for s in range(6)]
    many = FairKMeans(8, goal=Penalty(200), n_init=6, random_state=0).fit(data.data, **kinds).energy_
    assert many <= np.median(one)


def test_race_is_the_same_for_a_seed_and_any_number_of_threads():
    data = datasets.make_census_like(5000, random_state=6)
    first, second = (
        FairKMeans(5, goal=Penalty(100), n_init=4, random_state=1, n_jobs=n_jobs).fit(
            data.data, sensitive_features=data.sensitive_features
        )
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(first.labels_, second.labels_)
    assert first.energy_ == second.energy_
