"""What a fairness error means in shares."""

from __future__ import annotations

import numpy as np
import pytest

from fairclust import describe_error, metrics
from fairclust._audit.epsilon import allowed_shares, one_person_more
from fairclust.errors import InvalidInputError
from fairclust.goals import Attribute, Bounds, MaxFairnessError


@pytest.mark.parametrize(("shares", "points"), [((0.5, 0.5), 7.0), ((0.1, 0.9), 4.0)])
def test_one_percent_in_points_as_the_page_says(shares, points):
    found = describe_error(0.01, shares)
    gaps = 100 * np.array([found.target - found.lower, found.upper - found.target])
    assert gaps.mean() == pytest.approx(points, abs=0.5)


@pytest.mark.parametrize("error", [0.001, 0.01, 0.2])
def test_the_ends_have_just_this_error(error):
    target = np.array([0.2, 0.3, 0.5])
    found = describe_error(error, target)
    for ends in (found.lower, found.upper):
        for j, end in enumerate(ends):
            shares = target * (1 - end) / (1 - target[j])
            shares[j] = end
            assert (target * np.log(target / shares)).sum() == pytest.approx(error, rel=1e-6)


def test_no_error_allows_no_gap_and_a_large_one_allows_much():
    exact, loose = describe_error(0, [0.3, 0.7]), describe_error(5, [0.3, 0.7])
    assert exact.lower == pytest.approx(exact.target)
    assert exact.upper == pytest.approx(exact.target)
    assert loose.lower.max() < 0.01


def test_one_person_in_a_cluster_of_ten_by_hand():
    target = np.array([0.5, 0.5])
    # 5 of 10 each is exact; 6 of 11 and 4 of 9 are the worst that one person does.
    four = 0.5 * np.log(0.5 / (4 / 9)) + 0.5 * np.log(0.5 / (5 / 9))
    assert one_person_more(np.array([5.0, 5.0]), target) == pytest.approx(four)
    labels, groups = [0] * 9 + [1], ["a"] * 4 + ["b"] * 5 + ["a"]
    assert metrics.fairness_error(labels, groups, target_proportions=[0.5, 0.5], average=None)[0] == pytest.approx(four)


def test_wrong_shares_are_refused():
    with pytest.raises(InvalidInputError, match=r"add up to 0\.9, not 1"):
        describe_error(0.01, [0.4, 0.5])
    with pytest.raises(InvalidInputError, match="one share ≥ 0 per group"):
        describe_error(0.01, [1.5, -0.5])


def test_shares_that_any_goal_allows_are_found_by_its_own_term():
    attribute = Attribute(np.array(["F", "M"]), np.eye(2), np.array([0.5, 0.5]))
    assert (
        allowed_shares(MaxFairnessError(0.01), attribute, 1000.0)
        == describe_error(0.01, {"F": 0.5, "M": 0.5}).sentences()
    )
    assert allowed_shares(Bounds({"F": (0.2, 0.6)}), attribute, 100.0) == [
        "F: 20.0 % to 60.0 % of a cluster, 50.0 % wanted.",
        "M: 40.0 % to 80.0 % of a cluster, 50.0 % wanted.",
    ]
