"""The comparison of golden fits sees what moved. The fits themselves are run by `make golden`."""

from __future__ import annotations

import pytest

from golden.cases import CASES, REASONS
from golden.compare import moved, quality
from golden.fits import fit

GOAL = {
    "kind": "error",
    "judged": "objective",
    "objective": 100.0,
    "energy": 100.0,
    "lower_bound": 99.0,
    "max_fairness_error": 0.009,
    "goal_met": True,
    "evaluations": 50,
    "labels": "0123456789ab",
    "warnings": [],
}
BROKEN = {"kind": "error", "judged": "objective", "error": "ValueError: no"}


def test_the_same_fits_did_not_move():
    assert moved({"a": GOAL, "b": BROKEN}, {"a": dict(GOAL), "b": dict(BROKEN)}) == []


def test_moved_labels_are_reported_by_name():
    lines = moved({"a": GOAL, "b": GOAL}, {"a": GOAL, "b": {**GOAL, "labels": "ba9876543210", "objective": 101.0}})
    assert lines == ["b: objective +0.01 of 100; other bits in labels"]


def test_cases_without_a_counterpart_are_reported():
    lines = ["b: not recorded", "a: recorded, but not fitted now"]
    assert moved({"a": GOAL}, {"b": GOAL}) == lines
    assert quality({"a": GOAL}, {"b": GOAL}, {})[1] == lines


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"goal_met": False, "max_fairness_error": 0.018}, "the goal was met and is not"),
        ({"objective": 102.0}, "objective +0.02 of 100"),
        ({"objective": float("nan")}, "objective 100.0 → nan"),
        ({"lower_bound": float("nan")}, "lower_bound 99.0 → nan"),
        ({"lower_bound": 100.1}, "lower_bound 100.1 is above the objective, 100.0"),
        ({"error": "ValueError: no"}, "ends with ValueError: no"),
    ],
)
def test_lost_quality_is_reported_unless_there_is_a_reason(change, told):
    old, new = {"a": GOAL}, {"a": {**GOAL, **change}}
    assert any(line.startswith("a: ") and told in line for line in quality(old, new, {})[1])
    table, worse = quality(old, new, {"a": "rounding is exact now"})
    assert worse == []
    assert any(told in line and "rounding is exact now" in line for line in table)


def test_a_small_rise_counts_on_average():
    old = dict.fromkeys("abc", GOAL)
    slightly = {"a": {**GOAL, "objective": 100.5}, "b": GOAL, "c": GOAL}
    assert quality(old, slightly, {})[1] == ["kind 'error': +0.167% on average of 3 cases"]
    assert quality(old, {**slightly, "b": {**GOAL, "objective": 99.7}}, {})[1] == []


def test_a_result_instead_of_an_error_is_better():
    table, worse = quality({"a": BROKEN}, {"a": GOAL}, {})
    assert worse == []
    assert "better: a: a result instead of ValueError: no" in table


def test_evaluations_are_compared_by_kind():
    table, _ = quality({"a": GOAL}, {"a": {**GOAL, "evaluations": 25}}, {})
    assert "0.50 ×" in table[1]


def test_names_of_cases_are_unique_and_reasons_name_them():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    assert set(REASONS) <= set(names)


@pytest.mark.parametrize("name", ["kmeans error, 20 rows", "kmeans missing groups refused"])
def test_a_fit_is_recorded_as_its_result_or_its_error(name):
    case = next(case for case in CASES if case.name == name)
    record = fit(case, 1)
    assert ("error" in record) == ("refused" in name)
    assert moved({name: record}, {name: fit(case, 2)}) == []
