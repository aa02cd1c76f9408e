"""The audit: numbers read from one table, and words that say what they mean."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fairclust import Bounds, ExactProportions, Groups, MaxCostIncrease, MinBalance, Penalty, metrics
from fairclust._audit.audit import audit
from fairclust.errors import InvalidInputError, MissingExtraError

LABELS = [0, 0, 0, 0, 1, 1]
SEX = ["F", "M", "M", "M", "F", "M"]
HOSTILE = "</script><img src=x onerror=alert(1)>"


@st.composite
def clusterings(draw):
    n_samples = draw(st.integers(1, 30))
    labels = draw(st.lists(st.integers(-1, 3), min_size=n_samples, max_size=n_samples))
    return labels, draw(st.lists(st.sampled_from("abc"), min_size=n_samples, max_size=n_samples))


class _Reader(HTMLParser):
    """Collects the tags and the text of a page."""

    def __init__(self):
        super().__init__()
        self.tags, self.open, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read_html(report):
    reader = _Reader()
    reader.feed(report._repr_html_())
    assert not reader.open
    return reader


# --- numbers --------------------------------------------------------------------------------------------------------


def test_two_clusters_are_reported_as_by_hand():
    report = audit(LABELS, SEX)
    assert report.n_samples == 6
    assert report.cluster_names.tolist() == [0, 1]
    assert report.group_names.tolist() == ["F", "M"]
    assert report.sizes.tolist() == [4, 2]
    assert report.counts.tolist() == [[1, 3], [1, 1]]
    assert report.proportions.tolist() == [[0.25, 0.75], [0.5, 0.5]]
    assert report.target_proportions == pytest.approx([1 / 3, 2 / 3])
    assert report.deviations == pytest.approx(np.array([[-1 / 12, 1 / 12], [1 / 6, -1 / 6]]))
    assert report.balances == pytest.approx([1 / 3, 1.0])
    assert report.balance == pytest.approx(1 / 3)
    assert report.data_balance == 0.5
    assert report.kmeans_objective is None


@given(clusterings())
def test_report_agrees_with_the_metrics(case):
    report = audit(*case)
    assert report.fairness_error == metrics.fairness_error(*case)
    assert report.max_fairness_error == metrics.fairness_error(*case, average="max")
    assert report.fairness_errors.tolist() == metrics.fairness_error(*case, average=None).tolist()
    assert report.balance == metrics.balance(*case)
    assert report.proportions.tolist() == metrics.group_proportions(*case).tolist()


@given(clusterings())
def test_deviations_of_every_cluster_add_up_to_0(case):
    assert audit(*case).deviations.sum(axis=1) == pytest.approx(0.0, abs=1e-12)


def test_arguments_travel_by_keyword():
    report = audit(labels=LABELS, sensitive_features=SEX, X=None, target_proportions={"F": 0.5, "M": 0.5})
    assert report.target_proportions.tolist() == [0.5, 0.5]


def test_data_adds_the_kmeans_objective():
    X = np.array([[0.0], [0.0], [2.0], [2.0], [5.0], [5.0]])
    report = audit(LABELS, SEX, X=X)
    assert report.kmeans_objective == metrics.kmeans_objective(X, LABELS) == 4.0
    assert "K-means objective: 4." in str(report)


@pytest.mark.parametrize(
    "column", [np.asarray, pd.Series, pl.Series, pa.array], ids=["numpy", "pandas", "polars", "arrow"]
)
def test_every_kind_of_column_gives_the_same_report(column):
    assert str(audit(column(LABELS), column(SEX))) == str(audit(LABELS, SEX))


def test_weights_count_and_are_told():
    report = audit(LABELS, SEX, sample_weight=[0.5, 1, 1, 1, 1, 1])
    assert report.counts.tolist() == [[0.5, 3], [1, 1]]
    assert "6 points (total weight 5.5)" in str(report)
    assert "0.5 (14.3 %)" in str(report)


def test_report_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError, match="n_samples"):
        audit(LABELS, SEX).n_samples = 7


def test_wrong_lengths_are_an_error():
    with pytest.raises(InvalidInputError, match="sensitive_features has 5 rows but labels has 6"):
        audit(LABELS, SEX[:5])
    with pytest.raises(InvalidInputError, match="labels has 6 rows but X has 7"):
        audit(LABELS, SEX, X=np.zeros((7, 1)))


# --- goals ----------------------------------------------------------------------------------------------------------


def test_every_cluster_is_held_against_the_goal_in_the_goals_own_unit():
    report = audit(LABELS, SEX, goal=MinBalance(0.5))
    assert report.figures == pytest.approx([1 / 3, 1.0])
    assert report.passed_clusters.tolist() == [False, True]
    assert report.passed is False
    assert audit(LABELS, SEX, goal=0.06).passed is True
    assert audit(LABELS, SEX, goal=0.06).figures.tolist() == report.fairness_errors.tolist()


@pytest.mark.parametrize(
    ("goal", "passed"),
    [
        (0.02, [True, False]),
        (Bounds({"F": (0.3, 0.6)}), [False, True]),
        (Bounds(0.1), [False, False]),
        (ExactProportions(), [True, True]),  # 1 of 4 is the floor of 4/3, 1 of 2 the ceiling of 2/3
        (MinBalance(0.1), [True, True]),
    ],
)
def test_goals_pass_or_fail_as_by_hand(goal, passed):
    assert audit(LABELS, SEX, goal=goal).passed_clusters.tolist() == passed


def test_without_a_goal_nothing_passes_or_fails():
    report = audit(LABELS, SEX)
    assert report.passed is None
    assert report.passed_clusters is None
    assert "passed" not in report.to_dict()
    assert "pass" not in str(report)


def test_every_form_of_a_report_has_figure_limit_and_verdict():
    report = audit(LABELS, SEX, goal=MinBalance(0.5))
    assert "Goal MinBalance(limit=0.5): 1 of 2 clusters pass. Cluster 0 does not." in str(report)
    assert "MinBalance(0.5)" in str(report).splitlines()[2]
    content = report.to_dict()
    assert (content["goal"], content["limit"], content["passed"]) == ("MinBalance(limit=0.5)", 0.5, False)
    assert [row["passed"] for row in content["clusters"]] == [False, True]
    assert json.loads(json.dumps(content)) == content
    frame = report.to_frame()
    assert frame["figure"].tolist() == report.figures.tolist()
    assert frame["limit"].tolist() == [0.5, 0.5]
    assert frame["passed"].tolist() == [False, True]
    text = read_html(report).text
    assert text.count("fails") == text.count("passes") == 1


def test_a_cluster_passes_only_in_all_attributes():
    table = {"sex": SEX, "half": [0, 1, 0, 1, 0, 1]}
    reports = audit(LABELS, table, goal=MinBalance(0.5))
    assert reports["half"].passed_clusters.tolist() == [True, True]
    assert reports.passed_clusters.tolist() == [False, True]
    assert reports.passed is False
    assert reports.to_dict()["passed"] is False


def test_overlapping_groups_and_weights_can_be_held_against_a_goal():
    matrix = np.array([[1, 1], [1, 0], [0, 1], [0, 0]], dtype=bool)
    assert audit([0, 0, 1, 1], matrix, goal=MinBalance(0.4)).passed_clusters.tolist() == [True, False]
    assert audit(LABELS, SEX, goal=MinBalance(0.5), sample_weight=[2, 1, 1, 1, 1, 1]).passed_clusters.all()


def test_a_verdict_on_a_hidden_cluster_is_hidden():
    report = audit(*crossed([[3, 40], [30, 50], [35, 45]]), goal=MinBalance(0.5), suppress_below=5)
    lines = str(report).split("\n\n")[1].splitlines()
    assert ["fails" in line or "passes" in line for line in lines[1:4]] == [False, False, True]
    assert "clusters pass" not in str(report)


@pytest.mark.parametrize("goal", [Penalty(3.0), MaxCostIncrease(0.1)])
def test_what_labels_neither_meet_nor_miss_is_refused(goal):
    with pytest.raises(InvalidInputError, match="says what clusters may cost"):
        audit(LABELS, SEX, goal=goal)


def test_a_goal_for_groups_that_do_not_exist_is_refused():
    with pytest.raises(InvalidInputError, match="Bounds names group 'X'"):
        audit(LABELS, SEX, goal=Bounds({"X": (0.3, 0.6)}))


# --- words ----------------------------------------------------------------------------------------------------------


def test_worst_cluster_and_group_are_named_with_both_shares():
    said = "Cluster 1 is furthest from the target: too many 'F' (50 %, 33 % wanted), too few 'M' (50 %, 67 % wanted)."
    assert said in str(audit(LABELS, SEX))


def test_group_furthest_off_is_named_even_if_it_has_too_much():
    report = audit([0] * 4, list("aabc"), target_proportions=[0.2, 0.4, 0.4])
    assert "too many 'a' (50 %, 20 % wanted), too few 'b' (25 %, 40 % wanted)" in str(report)


def test_text_names_are_quoted_in_the_sentence():
    assert "Cluster 'north' is furthest" in str(audit(["south"] * 4 + ["north"] * 2, SEX))


def test_the_group_that_makes_the_error_is_named_not_the_one_with_the_largest_gap():
    # 'black' is 3.2 points below its share, 'white' 4.2 above it, but the error comes from 'other', who is absent.
    groups = ["white"] * 64 + ["black"] * 36 + ["white"] * 56 + ["black"] * 43 + ["other"]
    report = audit([0] * 100 + [1] * 100, groups)
    assert np.abs(report.deviations[0]).argmax() != 1
    assert report.composition.error_parts[0].argmax() == 1
    assert "too few 'other' (0.0 %, 0.5 % wanted)" in str(report)


def test_parts_of_the_groups_add_up_to_the_error_of_the_cluster():
    rng = np.random.default_rng(3)
    report = audit(rng.integers(0, 4, 300), rng.integers(0, 5, 300), target_proportions=[0.1, 0.2, 0.3, 0.4, 0.0])
    assert report.composition.error_parts.sum(axis=1) == pytest.approx(report.fairness_errors)
    assert (report.composition.error_parts >= 0).all()


def test_an_absent_group_is_named_however_small_its_share():
    groups = ["a"] * 9999 + ["rare"] + ["a"] * 10_000
    report = audit([0] * 10_000 + [1] * 10_000, groups)
    assert report.max_fairness_error < 0.01  # the goal does not notice
    assert "'rare' is absent from cluster 1." in str(report)
    assert "absent" not in str(audit([0] * 10_000 + [1] * 10_000, groups, suppress_below=5))


def test_the_row_of_all_is_everybody_as_one_cluster():
    report = audit(LABELS, SEX)
    (row,) = [line.split() for line in str(report).splitlines() if line.split()[:1] == ["all"]]
    assert row[-2:] == ["0.0000", "0.500"]  # neither the sum of the errors nor the smallest balance


def test_rows_that_do_not_count_are_not_called_weight():
    report = audit([0, 0, 1, 1], ["a", "b", None, "b"], groups=Groups(missing="ignore"))
    assert "4 points (3 of them counted)" in str(report)
    assert "total weight" not in str(report)
    assert "(total weight 5)" in str(audit([0, 0, 1, 1], list("abab"), sample_weight=[2, 1, 1, 1]))


def test_close_shares_get_the_digits_it_takes_to_differ():
    report = audit([0] * 1000, ["a"] * 500 + ["b"] * 500, target_proportions=[0.5004, 0.4996])
    assert "too few 'a' (50.00 %, 50.04 % wanted)" in str(report)


def test_perfect_clusters_are_called_by_what_they_have():
    report = audit([0, 0, 1, 1], ["a", "b", "a", "b"])
    assert "Every cluster has the wanted shares." in str(report)
    assert 'class="worst"' not in report._repr_html_()


def test_lines_of_the_table_are_aligned():
    report = audit(np.repeat(["a", "a much longer name"], 50), ["x", "longer group"] * 50)
    lines = str(report).split("\n\n")[1].splitlines()
    assert len(lines) == 1 + 2 + 2
    ends = [[match.end() for match in re.finditer(r"\S+(?: \S+)*", line)] for line in lines[:-1]]
    assert all(line == ends[0] for line in ends)


@given(clusterings())
def test_every_form_says_what_fairness_means_and_never_more(case):
    report = audit(*case)
    for text in (str(report), report._repr_html_(), json.dumps(report.to_dict())):
        assert "proportional representation" in text
        assert "nothing more" in text
        assert "biased" not in text.lower()


def test_repr_is_one_short_line():
    assert (
        repr(audit(LABELS, SEX))
        == "AuditReport(n_samples=6, n_clusters=2, n_groups=2, fairness_error=0.07401, balance=0.333)"
    )


def test_control_characters_do_not_reach_the_terminal():
    text = str(audit(["\x1b[31mred", "two\nlines"], ["a\tb", "c\rd"]))
    assert not set("\x1b\t\r") & set(text)
    assert "two\\nlines" in text


def test_very_long_names_are_cut():
    assert max(map(len, str(audit([0, 0], ["g" * 500, "h" * 500])).splitlines())) < 200


# --- exports --------------------------------------------------------------------------------------------------------


@given(clusterings())
def test_dict_survives_json(case):
    content = audit(*case).to_dict()
    assert json.loads(json.dumps(content, allow_nan=False)) == content


def test_dict_has_a_row_per_cluster():
    content = audit(LABELS, SEX).to_dict()
    assert content["group_names"] == ["F", "M"]
    assert [row["name"] for row in content["clusters"]] == [0, 1]
    assert content["clusters"][0]["counts"] == [1, 3]
    assert content["kmeans_objective"] is None


def test_names_that_json_does_not_know_become_text():
    days = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")
    content = audit([0.5, np.inf], days).to_dict()
    assert [row["name"] for row in content["clusters"]] == [0.5, "inf"]
    assert content["group_names"] == ["2020-01-01", "2021-01-01"]
    json.dumps(content, allow_nan=False)


def test_frame_has_a_row_per_cluster():
    report = audit(LABELS, SEX)
    frame = report.to_frame()
    assert frame.index.tolist() == [0, 1]
    assert frame.index.name == "cluster"
    assert frame["size"].tolist() == [4, 2]
    assert frame["count[F]"].tolist() == [1, 1]
    assert frame["deviation[M]"].tolist() == report.deviations[:, 1].tolist()
    assert frame["fairness_error"].sum() == report.fairness_error


def test_frame_without_pandas_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"to_frame\(\) needs pandas.*pip install pandas.*to_dict"):
        audit(LABELS, SEX).to_frame()


# --- HTML -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [HOSTILE, '"onmouseover="x', "<b>", "&lt;", "'><svg/onload=x>"])
def test_hostile_names_stay_text(name):
    reader = read_html(audit([name, name, "k", "k"], [name, "M", "M", "M"]))
    assert set(reader.tags) == {"div", "style", "table", "caption", "thead", "tbody", "tr", "th", "td", "p"}
    assert reader.text.count(name) == 2


def test_html_has_the_cells_of_the_text():
    report = audit(LABELS, SEX)
    text = read_html(report).text
    for cell in ("1 (25.0 %)", "3 (75.0 %)", "33.3 %", "0.333", "fairness error"):
        assert cell in text
        assert cell in str(report)


def test_html_marks_the_worst_cluster():
    page = audit(LABELS, SEX)._repr_html_()
    assert page.count('<tr class="worst">') == 1
    assert '<tr class="worst"><th scope="row">1</th>' in page


def test_html_brings_no_colours_and_loads_nothing():
    page = audit(LABELS, SEX)._repr_html_()
    assert set(re.findall(r"(?<![-\w])(?:color|background)[^:;{}]*:([^;}]*)", page)) == {"inherit"}
    assert not re.search(r"https?:|url\(|@import|<script|<link", page)


# --- privacy --------------------------------------------------------------------------------------------------------


def crossed(counts):
    """Labels and groups with these counts."""
    counts = np.asarray(counts)
    clusters, groups = np.indices(counts.shape).reshape(2, -1)
    return np.repeat(clusters, counts.ravel()), np.array(list("abcdef"))[np.repeat(groups, counts.ravel())]


def shown_cells(report):
    lines = str(report).split("\n\n")[1].splitlines()
    return [re.split(r"\s{2,}", line.strip()) for line in lines[1:-2]]


def test_small_counts_are_shown_as_less_than_the_limit():
    report = audit(*crossed([[3, 40], [30, 50], [35, 45]]), suppress_below=5)
    assert shown_cells(report) == [
        ["0", "43", "<5", "hidden", "hidden", "hidden"],
        ["1", "80", "hidden", "hidden", "hidden", "hidden"],
        ["2", "80", "35 (43.8 %)", "45 (56.2 %)", "0.0219", "0.778"],
    ]
    assert "<td>&lt;5</td>" in report._repr_html_()
    assert "Counts are too small to show which cluster is furthest from the target." in str(report)
    assert "are not shown" in str(report)
    assert "hidden" in repr(report)


def test_zero_is_hidden_like_any_small_count():
    assert shown_cells(audit(*crossed([[0, 40], [30, 50]]), suppress_below=5))[0][2] == "<5"


def test_small_cluster_does_not_show_its_size_nor_let_it_be_computed():
    cells = shown_cells(audit(*crossed([[1, 2], [30, 50], [35, 60]]), suppress_below=5))
    assert [row[1] for row in cells] == ["<5", "hidden", "95"]


def test_row_of_a_hidden_size_is_hidden_or_its_sum_would_tell():
    cells = shown_cells(audit(*crossed([[1, 2], [40, 30], [25, 60]]), suppress_below=5))
    assert cells[1][1:4] == ["hidden", "hidden", "hidden"]


def test_column_of_a_hidden_total_is_hidden_or_its_sum_would_tell():
    report = audit(*crossed([[1, 40, 25], [2, 30, 60]]), suppress_below=5)
    assert [row[3] for row in shown_cells(report)] == ["hidden", "hidden"]
    totals, target = (re.split(r"\s{2,}", line.strip()) for line in str(report).split("\n\n")[1].splitlines()[-2:])
    assert totals == ["all", "158", "<5", "hidden", "85 (53.8 %)", "hidden", "hidden"]
    assert target == ["target", "hidden", "hidden", "53.8 %"]


def test_words_do_not_tell_that_hidden_clusters_are_at_the_target():
    at_target = audit(*crossed([[3, 9], [3, 9]]), suppress_below=5)
    off_target = audit(*crossed([[2, 10], [4, 8]]), suppress_below=5)
    assert str(at_target) == str(off_target)
    assert at_target._repr_html_() == off_target._repr_html_()


def test_worst_cluster_is_named_when_its_counts_may_be_shown():
    report = audit(*crossed([[4, 44], [5, 45], [300, 6]]), target_proportions=[0.1, 0.9], suppress_below=5)
    assert "Cluster 2 is furthest" in str(report)


def test_nothing_is_hidden_when_every_count_is_large():
    case = crossed([[30, 40], [30, 50]])
    assert str(audit(*case, suppress_below=5)) == str(audit(*case))


def test_exact_numbers_stay_in_the_attributes():
    report = audit(*crossed([[3, 40], [30, 50]]), suppress_below=5)
    assert report.counts[0, 0] == 3
    assert report.to_dict()["clusters"][0]["counts"] == [3, 40]


@given(st.lists(st.lists(st.integers(0, 12), min_size=3, max_size=3), min_size=2, max_size=5))
def test_no_hidden_count_stands_alone_in_its_row_or_column(counts):
    counts = np.array(counts)
    assume((counts.sum(axis=1) > 0).all() and (counts.sum(axis=0) > 0).all())
    report = audit(*crossed(counts), suppress_below=5)
    cells = shown_cells(report)
    hidden = np.array([[cell == "hidden" or cell.startswith("<") for cell in row[2:5]] for row in cells])
    small = np.array([[cell == "<5" for cell in row[2:5]] for row in cells])
    assert small.tolist() == (counts < 5).tolist()
    assert (hidden.sum(axis=1) != 1).all()
    assert (hidden.sum(axis=0) != 1).all()
    assert all((row[5] == row[6] == "hidden") == gone.any() for row, gone in zip(cells, hidden, strict=True))


@pytest.mark.parametrize("limit", [0, -1, "5", float("nan")])
def test_limit_that_is_no_positive_number_is_an_error(limit):
    with pytest.raises(InvalidInputError, match=r"suppress_below=.*, but a number > 0 is needed"):
        audit(LABELS, SEX, suppress_below=limit)


def test_several_attributes_are_reported_one_by_one_and_together():
    people = pd.DataFrame({"sex": list("FMFMFM"), "age": ["old", "old", "young", "young", "old", "young"]})
    found = audit([0, 0, 0, 1, 1, 1], people)
    one, other = found["sex"], found["age"]
    assert list(found) == ["sex", "age"]
    assert found.fairness_error == pytest.approx(one.fairness_error + other.fairness_error)
    assert found.max_fairness_error == max(one.max_fairness_error, other.max_fairness_error)
    assert found.balance == min(one.balance, other.balance)
    assert found.kmeans_objective is None
    told = json.loads(json.dumps(found.to_dict()))
    assert told["attributes"]["age"]["max_fairness_error"] == pytest.approx(other.max_fairness_error)
    assert told["balance"] == pytest.approx(found.balance)
    frame = found.to_frame()
    assert frame.index.names[0] == "attribute"
    own = one.to_frame()
    pd.testing.assert_frame_equal(frame.loc["sex"][own.columns], own, check_names=False)
    for text in (str(found), found._repr_html_()):
        assert text.count("sex") >= 1
        assert text.count("age") >= 1
    assert repr(found).startswith("AuditReports(sex: ")
