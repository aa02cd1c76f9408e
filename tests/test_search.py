"""From a goal to a weight: on fits that are only told of, so that the search is tested and nothing else."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from cases import people
from fairclust import FairKMeans
from fairclust.errors import FairnessGoalMissed
from fairclust.search import search_weight


@dataclasses.dataclass(frozen=True)
class Told:
    """Stands for a fit: a larger weight gives a smaller error and a larger objective."""

    weight: float
    error: float
    n_sweeps: int = 3

    @property
    def objective(self):
        return -self.error


class Fits:
    """Fits whose worst error is a function of the weight."""

    def __init__(self, error):
        self.error, self.asked = error, []

    def __call__(self, weight, start):
        self.asked.append((weight, start))
        return Told(weight, self.error(weight))


def search(fits, goal, first=1.0):
    return search_weight(fits, lambda fit: fit.error, goal, first)


def test_a_plain_fit_that_meets_the_goal_is_the_answer():
    fits = Fits(lambda weight: 0.005)
    found = search(fits, 0.01)
    assert found.weight == 0
    assert found.is_met
    assert found.n_sweeps == 3
    assert fits.asked == [(0.0, None)]


@pytest.mark.parametrize("first", [1e-2, 1.0, 1e4])
@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("goal", [0.1, 0.01, 1e-5])
def test_the_smallest_weight_is_found_along_a_power_law(goal, power, first):
    fits = Fits(lambda weight: 0.5 / (1 + weight) ** power)
    found = search(fits, goal, first)
    assert found.is_met
    assert found.fit.error <= goal
    assert found.fit.error >= 0.5 * goal  # not much more fairness than was asked for
    assert found.n_sweeps == 3 * len(fits.asked)
    assert len(fits.asked) <= 17


def test_a_goal_out_of_reach_gives_the_closest_fit():
    found = search(Fits(lambda weight: max(0.02, 0.5 / (1 + weight))), goal=0.01)
    assert not found.is_met
    assert found.fit.error == pytest.approx(0.02)


def test_every_fit_starts_from_one_that_is_less_fair():
    fits = Fits(lambda weight: 0.5 / (1 + weight))
    search(fits, 0.01)
    assert all(start.weight < weight for weight, start in fits.asked[1:])


def test_a_jump_over_the_goal_is_met_from_its_fair_side():
    found = search(Fits(lambda weight: 0.3 if weight < 7 else 0.001), goal=0.01)
    assert found.is_met
    assert 7 <= found.weight < 7 * 2


def test_a_goal_that_cannot_be_met_is_a_warning_that_says_how_close_it_came():
    # Three and two of five: no part of them has these shares.
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1]])
    model = FairKMeans(2, max_fairness_error=1e-6, random_state=0)
    with pytest.warns(FairnessGoalMissed, match=r"max_fairness_error=1e-06 was not reached: the worst cluster is at"):
        model.fit(X, sensitive_features=list("aaabb"))
    assert not model.fairness_goal_met_
    assert model.max_fairness_error_ > 1e-6


def test_auto_costs_no_more_than_a_much_larger_weight():
    data = people(800, n_clusters=3, n_groups=2, seed=9)
    auto = FairKMeans(3, max_fairness_error=0.02, init=data.init).fit(data.X, sensitive_features=data.groups)
    strict = FairKMeans(3, fairness_weight=1e4, init=data.init).fit(data.X, sensitive_features=data.groups)
    assert auto.fairness_goal_met_
    assert auto.objective_ <= strict.objective_ * (1 + 1e-6)
