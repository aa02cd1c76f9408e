"""``fairclust reproduce field``: protocols are data, methods are functions, one scorer, losses first."""

from __future__ import annotations

import json
import math
import os
import socket
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fairclust import metrics
from fairclust.cli.app import app
from fairclust.datasets import make_synthetic
from fairclust.errors import InvalidInputError
from fairclust.graphs import nearest_neighbors_graph
from fairclust.reproduce import reproduce
from fairclust.reproduce.drawing import draw_field
from fairclust.reproduce.field import SCHEMA, Part, panels, write_field
from fairclust.reproduce.field import method as method_module
from fairclust.reproduce.field.data import LOADERS, SCALINGS, load
from fairclust.reproduce.field.goal import Goal
from fairclust.reproduce.field.method import Method, methods, read_method
from fairclust.reproduce.field.page import document, markdown, tally
from fairclust.reproduce.field.protocol import FOLDER, Case, Printed, Protocol, Recipe, protocols, read_protocol
from fairclust.reproduce.field.run import Row
from fairclust.reproduce.field.score import score
from fairclust.reproduce.store import code_hash

OWN_METHOD = '''"""Every other row."""
TITLE = "Every other row"
OBJECTIVES = ("kmeans",)
GOALS = ("balance",)
{more}

def run(X, groups, n_clusters, goal, seed):
    import numpy as np
    return np.arange(len(X)) % n_clusters
'''
OWN_PROTOCOL = """
title = "Own"
source = "a test"
objective = "kmeans"
goal = "balance"
printed_to = 0.5
text = "Synthetic."
[data.synthetic]
title = "Synthetic"
load = "synthetic"
[[cases]]
data = "synthetic"
n_clusters = 2
levels = [0.1, 0.3]
quick = "also"
printed_seconds = { Someone = 2.0 }
[cases.printed]
Someone = [3000, 1]
"""


# --- protocols --------------------------------------------------------------------------------------------------------


def test_the_balance_protocol_has_the_printed_table():
    balance = next(protocol for protocol in protocols() if protocol.name == "balance")
    rows = balance.chosen(quick=False)
    assert len(rows) == 24
    found = {(case.recipe.title, case.n_clusters, case.goal.level): case for case in rows}
    printed = {one.method: one for one in found["Adult", 10, 0.1].printed}
    assert {name: one.objective for name, one in printed.items()} == {
        "SetVars": 1850, "MPFC": 1557, "MS-FlowFC": 1564, "Backurs et al., their run": 2547,
    }  # fmt: skip
    assert (printed["MPFC"].seconds, printed["MS-FlowFC"].seconds) == (405, 7.6)
    assert found["Credit", 15, 0.3].recipe.scaling == "min-max"


def test_the_papers_rows_come_from_its_tables():
    kmeans = next(protocol for protocol in protocols() if protocol.name == "paper-kmeans")
    adult = next(case for case in kmeans.cases if case.recipe.name == "adult")
    assert adult.goal == Goal("kmeans", "total", 0.018)
    assert [one.objective for one in adult.printed] == [9984.01, 10913.84]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_every_protocol_can_be_read_and_names_what_there_is(path):
    protocol = read_protocol(path)
    assert protocol.cases
    assert all(case.recipe.load in LOADERS and case.recipe.scaling in SCALINGS for case in protocol.cases)
    assert all(case.goal.level > 0 for case in protocol.cases)
    assert any(method.is_ours and method.knows(protocol.goal) for method in methods())


def test_a_quick_run_needs_no_file():
    made = {"synthetic", "synthetic-unequal", "census-like"}
    assert all(case.recipe.load in made for protocol in protocols() for case in protocol.chosen(quick=True))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("title = ", "cannot be read as TOML"),
        ('title = "x"', "is no protocol: KeyError 'data'"),
        (OWN_PROTOCOL.replace('goal = "balance"', 'goal = "luck"'), "kind='luck', but one of 'balance'"),
    ],
)
def test_a_file_that_is_no_protocol_is_refused(tmp_path, text, says):
    (tmp_path / "own.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInputError, match=says):
        read_protocol(tmp_path / "own.toml")


def test_an_unknown_loader_is_named():
    with pytest.raises(InvalidInputError, match="load = 'moon' of data 'x', but one of adult"):
        load(Recipe("x", "X", "moon"), None, is_graph=False)


def test_rows_that_are_drawn_keep_their_groups():
    everyone = load(Recipe("x", "X", "synthetic"), None, is_graph=False)
    some = load(Recipe("x", "X", "synthetic", rows=50), None, is_graph=False)
    assert some.X.shape == (50, 2)
    places = [int(np.flatnonzero((row == everyone.X).all(axis=1))[0]) for row in some.X]
    assert np.array_equal(everyone.groups[places], some.groups)


# --- goals and the scorer ---------------------------------------------------------------------------------------------

# Two clusters of ten; the data are half and half.
GROUPS = np.array(["a", "b"] * 10)
EVEN = np.repeat([0, 1], 10)
UNEVEN = EVEN.copy()
UNEVEN[[0, 2, 11, 13]] = [1, 1, 0, 0]  # 3 a and 7 b, and the contrary


@pytest.mark.parametrize(
    ("kind", "met", "missed"),
    [("balance", 4 / 7 + 0.01, 4 / 7 - 0.01), ("bounds", 0.41, 0.39), ("error", 0.09, 0.08), ("total", 0.18, 0.17)],
)
def test_goals_by_hand(kind, met, missed):
    # Balance 3/7; shares 0.3 and 0.7; KL = ½ log(0.5/0.3) + ½ log(0.5/0.7) = 0.0872 in either cluster.
    assert Goal("kmeans", kind, met).is_met(UNEVEN, GROUPS, 2)
    assert not Goal("kmeans", kind, missed).is_met(UNEVEN, GROUPS, 2)
    assert Goal("kmeans", kind, 1e-9).is_met(EVEN, GROUPS, 2)


def test_sizes_are_counted():
    labels = np.array([0] * 9 + [1] * 11)
    assert Goal("kmeans", "sizes", 0.1).is_met(labels, GROUPS, 2)
    assert not Goal("kmeans", "sizes", 0.05).is_met(labels, GROUPS, 2)


def test_people_beyond_are_counted_and_forgiven():
    strict, lenient = Goal("kmeans", "bounds", 0.2), Goal("kmeans", "bounds", 0.2, people=2)
    tables = metrics.compositions(UNEVEN, GROUPS)
    assert strict.people_beyond(tables) == pytest.approx(1.0)  # 4 of ten are wanted, 3 are there
    assert not strict.is_met(UNEVEN, GROUPS, 2)
    assert lenient.is_met(UNEVEN, GROUPS, 2)
    balance = Goal("kmeans", "balance", 1 / 3)  # at least 2/3: 4 and 6
    assert balance.people_beyond(tables) == pytest.approx(1.0)
    assert Goal("kmeans", "error", 0.1).people_beyond(tables) is None


def test_the_scorer_gives_the_metrics_figures():
    X = np.random.default_rng(0).normal(size=(20, 3))
    found = score(X, GROUPS, 2, Goal("kmeans", "balance", 0.1), UNEVEN)
    assert found["objective"] == pytest.approx(metrics.kmeans_objective(X, UNEVEN))
    assert found["balance"] == pytest.approx(3 / 7)
    assert found["fairness_error"] == pytest.approx(2 * found["worst_error"])
    assert found["is_met"] is False
    two = score(X, {"one": GROUPS, "two": EVEN.astype(str)}, 2, Goal("kmeans", "bounds", 0.5), UNEVEN)
    assert two["balance"] == pytest.approx(0.25)


# --- methods ----------------------------------------------------------------------------------------------------------

LEVELS = {"balance": 0.1, "bounds": 0.2, "error": 0.05, "total": 0.05, "sizes": 0.2}


@pytest.mark.parametrize("method", methods(), ids=lambda method: method.name)
def test_every_method_answers_with_a_label_for_every_row(method):
    if not method.is_available:
        pytest.skip(f"{method.package} is not installed")
    data = make_synthetic()
    rows = np.arange(0, 400, 10)
    X, groups = data.data[rows], data.sensitive_features[rows]
    objective, kind = method.objectives[0], method.goals[0]
    given = nearest_neighbors_graph(X, 8) if objective == "ncut" else X
    answer = method(given, groups, 2, Goal(objective, kind, LEVELS[kind], people=2), 0)
    assert answer.labels.shape == (40,)
    assert answer.seconds >= 0
    if not method.is_reference and kind in ("balance", "bounds", "sizes"):  # what is promised
        assert Goal(objective, kind, LEVELS[kind], people=2).is_met(answer.labels, groups, 2)


def test_ours_come_first_and_the_reference_last():
    found = methods()
    assert [method.is_ours for method in found[:4]] == [True, True, True, False]
    assert found[2].title == "fairclust, n_init=10"  # tables compare the last of ours
    assert [method.is_reference for method in found].index(True) == len(found) - 1


def test_a_file_without_a_function_is_no_method(tmp_path):
    (tmp_path / "own.py").write_text('TITLE = "x"\n', encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"own\.py has no OBJECTIVES and no GOALS and no run"):
        read_method(tmp_path / "own.py")


def test_a_method_says_what_it_cannot_do():
    method = Method("x", "X", ("kmeans",), ("balance",), False, False, 2, 1000, None, Path(__file__))
    assert method.refuses(1000, 2) == ""
    assert method.refuses(1001, 2) == "X takes too long for 1,001 rows (left out above 1,000)"
    assert method.refuses(10, 3) == "X is defined for 2 groups, not for 3"


def own_method(tmp_path, more=""):
    (tmp_path / "own.py").write_text(OWN_METHOD.format(more=more), encoding="utf-8")
    return tmp_path / "own.py"


def own_field(tmp_path, monkeypatch, more=""):
    """Our default and a method of one's own, on a protocol of one's own."""
    ours = next(method for method in methods() if method.name == "fairclust_default")
    monkeypatch.setattr("fairclust.reproduce.field.parts.methods", lambda: [ours])
    monkeypatch.setattr("fairclust.reproduce.field.parts.protocols", list)
    (tmp_path / "own.toml").write_text(OWN_PROTOCOL, encoding="utf-8")
    return [own_method(tmp_path, more), tmp_path / "own.toml"]


def test_a_peer_that_is_not_installed_is_skipped_with_a_sentence(tmp_path, monkeypatch):
    monkeypatch.delenv(method_module.PEERS, raising=False)
    method_module._where.cache_clear()
    files = own_field(tmp_path, monkeypatch, 'PACKAGE = "no_such_package_anywhere"')
    outcome = reproduce("field", tmp_path / "out", quick=True, more=files)
    sentence = "no_such_package_anywhere is not installed here, nor in a Python that FAIRCLUST_PEERS names"
    assert [remark for remark in outcome.remarks if remark.startswith(sentence)]
    assert sentence in outcome.page.read_text(encoding="utf-8")


@pytest.mark.skipif(os.name != "posix", reason="a shell script stands for the other Python")
def test_a_peer_may_live_in_another_python(tmp_path, monkeypatch):
    other = tmp_path / "python"
    other.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path / "lib"}" exec "{sys.executable}" "$@"\n', encoding="utf-8")
    other.chmod(0o755)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "only_over_there.py").write_text("", encoding="utf-8")
    monkeypatch.setenv(method_module.PEERS, str(other))
    method_module._where.cache_clear()
    path = own_method(tmp_path, 'PACKAGE = "only_over_there"')
    text = path.read_text(encoding="utf-8").replace("import numpy as np", "import numpy as np, only_over_there")
    path.write_text(text, encoding="utf-8")
    answer = read_method(path)(np.ones((6, 2)), np.array(list("ababab")), 3, Goal("kmeans", "balance", 0.1), 0)
    assert answer.labels.tolist() == [0, 1, 2, 0, 1, 2]
    method_module._where.cache_clear()


def test_a_new_method_leaves_kept_results_as_they_are(tmp_path, monkeypatch):
    before = code_hash.__wrapped__()
    folder = method_module.FOLDER
    new = folder / "zz_for_a_test.py"
    try:
        new.write_text("", encoding="utf-8")
        assert code_hash.__wrapped__() == before
    finally:
        new.unlink()


# --- counting ---------------------------------------------------------------------------------------------------------


def described(name, **more):
    given = {"is_ours": False, "is_reference": False} | more
    return Method(
        name, name.title(), ("kmeans",), ("balance",), most_groups=None, most_rows=None, package=None,
        path=Path(__file__), **given,
    )  # fmt: skip


OURS, RIVAL, PLAIN = described("ours", is_ours=True), described("rival"), described("plain", is_reference=True)


def result(objective, *, is_met=True, people_beyond=0.0, **more):
    return {
        "objective": objective, "is_met": is_met, "people_beyond": people_beyond, "fairness_error": 0.1,
        "worst_error": 0.05, "balance": 0.4, "seconds": 2.0, "n_clusters": 3, "smallest_cluster": 3,
        "largest_cluster": 5,
    } | more  # fmt: skip


def row(ours, rival=None, printed=(), plain=90.0, **more):
    case = Case(Recipe("toy", "Toy", "synthetic"), 3, Goal("kmeans", "balance", 0.1), tuple(printed), 0.5, **more)
    results = {"ours": ours, "plain": result(plain, is_met=False)} | ({"rival": rival} if rival else {})
    return Row(case, 100, results)


def part(rows, **more):
    given = {"per_point": False, "leave_out": {}} | more
    protocol = Protocol("toy", "Toys", "a test", "Words.", cases=tuple(one.case for one in rows), **given)
    return Part(protocol, rows, [OURS, RIVAL, PLAIN])


@pytest.mark.parametrize(
    ("ours", "rival", "outcome"),
    [
        (result(99.0), result(100.0), "win"),
        (result(101.0), result(100.0), "loss"),
        (result(100.0001), result(100.0), "tie"),
        (result(90.0, is_met=False), result(100.0), "loss"),
    ],
)
def test_a_missed_goal_is_a_loss_whatever_the_cost(ours, rival, outcome):
    assert row(ours, rival).against_rival("ours", [OURS, RIVAL, PLAIN]).outcome == outcome


def test_a_rival_that_misses_the_goal_does_not_count():
    assert row(result(99.0), result(50.0, is_met=False)).against_rival("ours", [OURS, RIVAL, PLAIN]) is None


@pytest.mark.parametrize(("cost", "outcome"), [(100.4, "tie"), (100.6, "loss"), (99.4, "win")])
def test_printed_figures_are_as_exact_as_they_are_printed(cost, outcome):
    printed = [Printed("A", 120.0), Printed("B", 100.0)]
    verdict = row(result(cost), printed=printed).against_printed("ours")
    assert (verdict.outcome, verdict.other) == (outcome, "B")


def test_the_mean_of_ratios_is_geometric():
    rows = [row(result(50.0), result(100.0)), row(result(200.0), result(100.0)), row(result(1.0))]
    found = tally(part(rows), OURS, "rival")
    assert (found.wins, found.ties, found.losses) == (1, 0, 1)
    assert found.geometric_mean_ratio == pytest.approx(1.0)


def test_losses_stand_first_and_say_who_and_how_much():
    text = markdown([part([row(result(101.0), result(100.0, people_beyond=1.5)), row(result(90.0))])], {})
    assert text.index("## What we lose") < text.index("## Counted") < text.index("## Toys")
    assert "- Toys, Toy, K=3, 0.1: costs 101.00; Rival has 100.00 with 1.5 people beyond the goal, 1 % less." in text


def test_a_missed_goal_is_told_in_the_list_and_in_the_table():
    text = markdown([part([row(result(80.0, is_met=False), result(100.0))])], {})
    assert "misses the goal (balance 0.400); Rival has 100.00." in text
    assert "missed: balance 0.400" in text
    assert "0 of 1" in text


def test_data_that_are_not_there_are_told():
    absent = Row(row(result(1.0)).case, missing="adult.data is absent")
    text = markdown([part([absent])], {})
    assert "- Toy was not run: adult.data is absent" in text


# --- for programs -----------------------------------------------------------------------------------------------------


def parts_of_all_kinds():
    rows = [
        row(result(99.0, assignment_gap=0.001, n_evaluations=12.0), result(100.0), [Printed("A", 98.0, 4.0, 0.1, 0.4)]),
        row(result(99.0, assignment_gap=math.nan), plain=0.0),
        Row(row(result(1.0)).case, skipped={"rival": "Rival is not here"}, missing="no data"),
    ]
    return [part(rows)]


def test_the_json_keeps_to_its_schema():
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    whole = json.loads(json.dumps(document(parts_of_all_kinds(), quick=False), allow_nan=False))
    jsonschema.validate(whole, schema)
    assert {one["origin"] for one in whole["results"]} == {"run", "printed", "skipped"}
    whole["results"][0]["cost"] = "99"
    with pytest.raises(jsonschema.ValidationError, match="'99' is not of type"):
        jsonschema.validate(whole, schema)


def test_pictures_have_labelled_axes_and_are_always_the_same(tmp_path):
    shown = {"field-toy": panels(parts_of_all_kinds()[0])}
    first, again = draw_field(shown, tmp_path / "a"), draw_field(shown, tmp_path / "b")
    assert [path.name for path in first] == ["field-toy.png", "field-toy.svg"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
    svg = first[1].read_text(encoding="utf-8")
    assert all(f"<!-- {label} -->" in svg for label in ("processor seconds", "cost above plain, %", "printed", "Rival"))


# --- the whole --------------------------------------------------------------------------------------------------------


def forbid_network(*_args, **_kwargs):
    raise AssertionError("a quick run asked for the network")


def test_a_method_and_a_protocol_of_ones_own_are_run_and_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(socket, "create_connection", forbid_network)
    files = own_field(tmp_path, monkeypatch)
    first = reproduce("field", tmp_path / "out", quick=True, more=files)
    text = first.page.read_text(encoding="utf-8")
    assert "Every other row" in text
    assert "Someone, printed" in text
    whole = json.loads((tmp_path / "out" / "quick" / "field.json").read_text(encoding="utf-8"))
    ours = [one for one in whole["results"] if one["method"] == "fairclust"]
    assert [one["is_met"] for one in ours] == [True, True]
    verdicts = {one["against"]: one for one in whole["tallies"]}
    assert (verdicts["printed"]["losses"], verdicts["rival"]["wins"]) == (1, 2)  # a printed cost of 1 is out of reach
    assert (tmp_path / "out" / "quick" / "field.csv").read_text(encoding="utf-8").count("\n") == 1 + 6
    again = reproduce("field", tmp_path / "out", quick=True, more=files)
    assert (again.n_computed, again.page.read_text(encoding="utf-8")) == (0, text)


@pytest.mark.slow
def test_rows_run_in_several_processes_come_out_the_same(tmp_path, monkeypatch):
    files = own_field(tmp_path, monkeypatch)
    told = []
    one = reproduce("field", tmp_path / "one", quick=True, more=files)
    two = reproduce("field", tmp_path / "two", quick=True, more=files, n_jobs=2, tell=told.append)
    costs = [
        [(row["method"], row["level"], row["cost"]) for row in json.loads(path.read_text(encoding="utf-8"))["results"]]
        for path in (one.page.with_suffix(".json"), two.page.with_suffix(".json"))
    ]
    assert costs[0] == costs[1]
    assert len(told) == two.n_computed >= one.n_computed == 5
    again = reproduce("field", tmp_path / "two", quick=True, more=files, n_jobs=2)
    assert (again.n_computed, again.n_reused) == (0, one.n_computed)


def test_without_matplotlib_there_is_a_page(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert write_field(parts_of_all_kinds(), tmp_path, {}, quick=True)[0].is_file()
    files = own_field(tmp_path, monkeypatch)
    outcome = reproduce("field", tmp_path / "out", quick=True, more=files)
    assert any("fairclust[plot]" in remark for remark in outcome.remarks)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["field", "--add", "nowhere.py"], "nowhere.py is not a file that ends in .py"),
        (["field", "--jobs", "-1"], "--jobs -1, but a whole number of at least 0"),
        (["table2", "--add", "own.py"], "--add own.py is for `fairclust reproduce field`, not for 'table2'"),
    ],
)
def test_wrong_input_exits_2_and_says_what_to_change(tmp_path, arguments, says):
    ended = CliRunner().invoke(app, ["reproduce", *arguments, "--quick", "--out", str(tmp_path)])
    assert ended.exit_code == 2
    assert says in " ".join(ended.output.split())


@pytest.mark.slow
def test_a_quick_run_of_the_field_meets_its_goals_without_a_network(tmp_path, monkeypatch):
    jsonschema = pytest.importorskip("jsonschema")
    monkeypatch.setattr(socket, "create_connection", forbid_network)
    outcome = reproduce("field", tmp_path, quick=True)
    whole = json.loads((tmp_path / "quick" / "field.json").read_text(encoding="utf-8"))
    jsonschema.validate(whole, json.loads(SCHEMA.read_text(encoding="utf-8")))
    ours = [one for one in whole["results"] if one["method"] == "fairclust, n_init=10"]
    assert len(ours) > 10
    assert all(one["is_met"] for one in ours)
    assert outcome.page.read_text(encoding="utf-8").count("](figures/") > 4
