"""A few cases of each fuzzer, and those that failed once. `make fuzz` runs them for minutes."""

from __future__ import annotations

import os

import numpy as np
import pytest

pytest.importorskip("typer", reason="the commands need the extra 'cli'")
pytest.importorskip("pandas", reason="some fits are of data frames")

from fuzz import estimators, files, runner

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="cases run in forked processes"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


def _passes(case, number):
    said = []
    assert not runner.outcome(case, number, said.append).startswith(runner.FAILED), said


@pytest.mark.parametrize(
    "number", [2, 5, 23, 100099, 100116, 100174, 200008, 200011, 200135, 400036]
)  # the last six failed once
def test_strange_fits_are_what_they_claim(number):
    _passes(estimators.case, number)


@pytest.mark.parametrize("number", [0, 1, 2, 10, 33])  # the last two failed once
def test_damaged_files_are_told_or_read(number):
    _passes(files.case, number)


# --- the fuzzers themselves see what is wrong -------------------------------------------------------------------------


def _case(number, tell):
    tell("a case")
    if number == 1:
        raise ZeroDivisionError("by zero")
    if number == 2:
        os.kill(os.getpid(), 9)
    if number == 3:
        raise runner.BrokenPromise("a rise")
    return "fine; evaluations=7"


def test_deaths_exceptions_and_broken_promises_are_counted_and_the_run_goes_on():
    tally = runner.run(_case, minutes=1, seed=0, per_process=3, seconds_per_process=30, most=6)
    assert tally.n_cases == 6
    assert tally.ends["fine"] == 3
    assert tally.largest["evaluations"][0] == 7
    assert [failure.split()[0] for failure in tally.failures] == ["1", "2", "3"]
    assert "ZeroDivisionError" in tally.failures[0]
    assert "status 9" in tally.failures[1]
    assert "a rise" in tally.failures[2]


@pytest.mark.parametrize(
    ("attribute", "value", "said"),
    [
        ("objective_", 1e3, "objective_ is"),
        ("labels_", -1, "no clusters"),
        ("max_fairness_error_", 0.5, "max_fairness_error_ is"),
        ("goal_met_", None, "met="),
        ("n_evaluations_", 10**6, "evaluations"),
        ("balance_", 2.0, "balance_ is"),
        ("cluster_sizes_", 0.0, "cluster_sizes_"),
    ],
)
def test_a_false_claim_is_found(attribute, value, said):
    fit = _ordinary()
    model = fit.estimator.fit(fit.X, sensitive_features=fit.groups)
    estimators.check(fit, model)
    if attribute == "goal_met_":
        value = not model.goal_met_
    told = getattr(model, attribute)
    setattr(model, attribute, np.full_like(told, value) if isinstance(told, np.ndarray) else value)
    with pytest.raises(runner.BrokenPromise, match=said):
        estimators.check(fit, model)


def _ordinary():
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    goal = {"goal": estimators.MaxFairnessError(0.05)}
    model = estimators.FairKMeans(3, random_state=0, **goal)
    return estimators.Fit(model, X, X, codes, [codes], None, goal, "")
