"""The benchmarks' own parts: the scorer, the stopwatch, the tables. Their figures are for `make bench` to measure."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest
from benchmarks import report
from benchmarks.datasets import Dataset, load
from benchmarks.measure import Times, peak_memory, time_interleaved
from benchmarks.methods import METHODS, Method, Outcome, Task
from benchmarks.records import Claim, Unavailable
from benchmarks.run import main
from benchmarks.score import score
from benchmarks.suites import SUITES

X = np.array([[0.0], [2.0], [10.0], [14.0]])
GROUPS = np.array(["F", "M", "F", "M"])


def test_score_by_hand():
    found = score(X, GROUPS, np.array([0, 0, 1, 1]))
    assert (found.objective, found.fairness_error, found.balance, found.n_clusters) == (10.0, 0.0, 1.0, 2)


def test_energy_adds_the_weighted_fairness_error():
    # Three of four points in one cluster: shares (2/3, 1/3) against (1/2, 1/2); the other lacks F.
    found = score(X, GROUPS, np.array([0, 0, 0, 1]))
    mixed = 0.5 * np.log(0.5 / (2 / 3)) + 0.5 * np.log(0.5 / (1 / 3))
    lacking = 0.5 * np.log(0.5) + 0.5 * np.log(0.5 / 1e-20)
    assert found.fairness_error == pytest.approx(mixed + lacking)
    assert found.worst_error == pytest.approx(lacking)
    assert found.balance == 0.0
    assert found.energy(3.0) == pytest.approx(56.0 + 3.0 * (mixed + lacking))


@pytest.mark.parametrize(("objective", "expected"), [("kmeans", 10.0), ("kmedian", 6.0)])
def test_scorer_knows_every_point_objective(objective, expected):
    assert score(X, GROUPS, np.array([0, 0, 1, 1]), objective).objective == pytest.approx(expected)


@pytest.mark.parametrize("name", ["FairKMeans dual", "FairKMeans bound", "FairKMeans λ=0", "scikit-learn KMeans"])
def test_scorer_agrees_with_what_the_method_says_of_itself(name):
    dataset = load("synthetic-unequal")
    outcome = METHODS[name](Task(dataset, dataset.start(0), 0, dataset.fairness_weight))
    own = getattr(outcome.model, "objective_", getattr(outcome.model, "inertia_", None))
    assert score(dataset.X, dataset.groups, outcome.labels).objective == pytest.approx(own, rel=1e-6)


def test_crash_of_a_peer_is_a_reason_to_skip():
    method = Method("crashes", lambda task: Outcome(np.zeros(1 // 0)), package="json")
    with pytest.raises(Unavailable, match="ZeroDivisionError: integer division"):
        method(_task())


def test_crash_of_our_own_method_is_not_hidden():
    method = Method("crashes", lambda task: Outcome(np.zeros(1 // 0)))
    with pytest.raises(ZeroDivisionError, match="integer division"):
        method(_task())


def test_ratio_is_taken_repeat_by_repeat():
    assert Times((1.0, 20.0, 3.0)).ratio_to(Times((1.0, 10.0, 1.0))) == 2.0


def test_best_ratio_is_not_moved_by_a_stalled_repeat():
    ours, theirs = Times((2.0, 2.0, 2.0)), Times((1.0, 90.0, 90.0))
    assert ours.best_ratio_to(theirs) == 2.0
    assert ours.ratio_to(theirs) < 1.0


def test_interleaved_runs_take_turns():
    order: list[str] = []
    times = time_interleaved({name: partial(order.append, name) for name in "ab"}, repeats=2, warm_up=1)
    assert "".join(order) == "ab" + "ab" + "ba"
    assert [len(times[name].seconds) for name in "ab"] == [2, 2]


def _touch_64_megabytes():
    return partial(np.ones, 8_000_000)


def _fail():
    raise ValueError("no data here")


@pytest.mark.slow
def test_peak_memory_counts_what_is_touched():
    try:
        peak = peak_memory(_touch_64_megabytes, timeout=60)
    except Unavailable as reason:
        pytest.skip(str(reason))
    assert 60e6 < peak.extra < 80e6


@pytest.mark.slow
def test_failure_in_the_measured_process_is_a_reason():
    with pytest.raises(Unavailable, match="ValueError: no data here"):
        peak_memory(_fail, timeout=60)


def test_table_has_the_columns_of_all_rows_without_empty_ones():
    found = report.table([{"a": 1, "b": None}, {"a": 12345.678, "c": True}])
    assert found.splitlines() == ["| a | c |", "| --- | --- |", "| 1 |  |", "| 12,345.68 | yes |"]


def test_run_writes_json_and_markdown(tmp_path, monkeypatch):
    monkeypatch.setitem(SUITES, "parity", ("Two and two", _two_and_two))
    assert main(["--quick", "--only", "parity", "--out", str(tmp_path)]) == 0
    assert main(["--quick", "--only", "parity", "--out", str(tmp_path), "--strict"]) == 1
    record = json.loads((tmp_path / "parity.json").read_text())
    assert record["rows"] == [{"sum": 4}]
    assert record["claims"] == [{"what": "at most three", "measured": 4, "limit": 3, "holds": False}]
    assert {"date", "machine", "versions", "quick"} <= set(record)
    assert "| at most three | 4 | 3 | **NO** |" in (tmp_path / "parity.md").read_text()
    assert "## [parity](parity.md)" in (tmp_path / "README.md").read_text()


def test_broken_suite_exits_1_and_keeps_what_it_measured(tmp_path, monkeypatch, capsys):
    def breaks(context, result):
        _two_and_two(context, result)
        raise ValueError("out of ink")

    monkeypatch.setitem(SUITES, "parity", ("Breaks", breaks))
    assert main(["--only", "parity", "--out", str(tmp_path)]) == 1
    record = json.loads((tmp_path / "parity.json").read_text())
    assert record["rows"] == [{"sum": 4}]
    assert record["skipped"] == ["parity: broke with ValueError: out of ink"]
    assert "out of ink" in capsys.readouterr().err


def _two_and_two(context, result):
    result.rows.append({"sum": np.int64(4)})
    result.claims.append(Claim("at most three", 4, 3))


def _task() -> Task:
    dataset = Dataset("tiny", X, GROUPS, 2, 1.0)
    return Task(dataset, dataset.start(0), 0, 1.0)
