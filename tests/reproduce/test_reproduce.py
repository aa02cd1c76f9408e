"""``fairclust reproduce``: results are kept and found again, notes come from results, pictures are drawn."""

from __future__ import annotations

import csv
import json
import socket
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from fairclust.cli.app import app
from fairclust.reproduce import reproduce
from fairclust.reproduce.data import Source, sources
from fairclust.reproduce.drawing import draw_all
from fairclust.reproduce.paper import TABLES, Figure, Row
from fairclust.reproduce.store import Store
from fairclust.reproduce.tables import Line, cheapest, markdown, note, rows_for_csv, search

# --- what the paper prints --------------------------------------------------------------------------------------------


def test_the_tables_are_those_of_the_paper():
    assert [(name, table.objective) for name, table in TABLES.items()] == [
        ("table1", "kmedian"),
        ("table2", "kmeans"),
        ("table3", "ncut"),
    ]
    for table in TABLES.values():
        assert [row.data for row in table.rows] == ["synthetic", "synthetic-unequal", "adult", "bank", "census"]
    adult = TABLES["table2"].rows[2]
    assert (adult.ours.objective, adult.ours.fairness_error, adult.fairness_weight) == (9984.01, 0.018, 9000)
    assert TABLES["table1"].rows[3].rival is None


def test_a_printed_error_of_zero_allows_what_rounds_to_zero():
    assert TABLES["table2"].rows[0].level == pytest.approx(0.005, abs=1e-4)
    assert TABLES["table2"].rows[2].level == 0.018


def test_quick_needs_the_synthetic_sets_only():
    assert [source.name for source in sources("kmeans", None, quick=True)] == ["synthetic", "synthetic-unequal"]


def test_where_only_the_census_sample_is_at_hand_it_is_said(tmp_path):
    (tmp_path / "census1990").mkdir()
    (tmp_path / "census1990" / "hUSCensus1990raw50K.csv.bz2").write_bytes(b"")
    census, like = sources("kmeans", tmp_path, quick=False)[-2:]
    assert "sample of 50,000 of the paper's 2,458,285 rows" in census.remark
    assert census.rows_of_paper == pytest.approx(50_000 / 2_458_285)
    assert "the paper's figures do not apply" in like.remark


# --- the store --------------------------------------------------------------------------------------------------------


def test_a_result_is_computed_once_and_then_found(tmp_path):
    calls = []
    for _ in range(2):
        store = Store(tmp_path / "cache")
        result = store.get("a result", {"seed": 1}, lambda: calls.append(1) or {"value": 2.5})
        assert result == {"value": 2.5}
    assert len(calls) == 1
    assert (store.n_computed, store.n_reused) == (0, 1)


def test_another_version_computes_again(tmp_path, monkeypatch):
    Store(tmp_path).get("x", {}, lambda: {"value": 1})
    monkeypatch.setattr("fairclust.reproduce.store.__version__", "99.0")
    assert Store(tmp_path).get("x", {}, lambda: {"value": 2}) == {"value": 2}


def test_a_broken_file_is_computed_again(tmp_path):
    Store(tmp_path).get("x", {}, lambda: {"value": 1})
    (file,) = tmp_path.glob("*.json")
    file.write_text(file.read_text()[:20])
    assert Store(tmp_path).get("x", {}, lambda: {"value": 2}) == {"value": 2}
    assert json.loads(file.read_text())["result"] == {"value": 2}


def test_what_fails_leaves_no_file(tmp_path):
    store = Store(tmp_path / "cache")
    with pytest.raises(ZeroDivisionError, match="division"):
        store.get("x", {}, lambda: {"value": 1 / 0})
    assert not (tmp_path / "cache").exists()


# --- searching --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("power", [-1.4, 2.0])
@pytest.mark.parametrize("first", [0.01, 1.0, 40.0])
def test_the_search_ends_just_within_the_level(power, first):
    def fit(knob):
        return {"fairness_error": 0.3 * knob ** (0.8 * power), "objective": -np.sign(power) * knob}

    found = cheapest(search(fit, 0.02, first, 9, power), 0.02)
    assert 0.9 * 0.02 <= found["fairness_error"] <= 0.02


# --- notes ------------------------------------------------------------------------------------------------------------


def result(objective, error, **more):
    return {
        "objective": objective, "fairness_error": error, "worst_error": error, "balance": 0.4, "seconds": 1.0,
        "n_clusters": 3, "knob": 5.0,
    } | more  # fmt: skip


def line(ours, *, rows_of_paper=1.0, remark="", **more):
    source = Source("toy", "Toy", "toy", "1", lambda: None, rows_of_paper, remark)
    made = Line(source, Row("toy", 10, Figure(100.0, 0.02, 0.5), None), rows_of_paper > 0)
    made.ours = ours
    made.bound = [result(110.0, 0.01, fairness_weight=10.0), result(120.0, 0.02, fairness_weight=10.0)]
    for name, value in more.items():
        setattr(made, name, value)
    return made


def test_a_row_below_the_paper_says_by_how_much_and_what_the_papers_algorithm_gives_here():
    text = note(line([result(90.0, 0.019), result(91.0, 0.019)]), TABLES["table2"])
    assert "ours is 10 % below the paper" in text
    assert "seeds 0 to 1, ends at 110.00–120.00 with Σ KL 0.0100–0.0200" in text
    assert "our seeds end at 90.0000–91.0000" in text


def test_data_that_are_not_there_leave_the_papers_figures_and_the_reason():
    made = line([], missing="adult.data is absent")
    text = markdown([made], TABLES["table2"])
    assert "100.00 @ 0.02 (0.50)" in text
    assert "Not run: adult.data is absent." in text
    assert [row["method"] for row in rows_for_csv([made], TABLES["table2"])] == ["paper", "ours"]


# --- the whole --------------------------------------------------------------------------------------------------------


def forbid_network(*_args, **_kwargs):
    raise AssertionError("a quick run asked for the network")


def test_a_quick_table_is_written_without_a_network_and_a_second_run_computes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(socket, "create_connection", forbid_network)
    first = CliRunner().invoke(app, ["reproduce", "table2", "--quick", "--seeds", "1", "--out", str(tmp_path)])
    assert first.exit_code == 0, first.output
    text = (tmp_path / "quick" / "table2.md").read_text(encoding="utf-8")
    assert "207.80 @ 0 (1.00)" in text
    assert "**207.80 @ 0.0000 (1.00)**" in text
    with (tmp_path / "quick" / "table2.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    ours = [row for row in rows if row["method"] == "ours" and row["is_best"] == "True"]
    assert [round(float(row["value"]), 2) for row in ours] == [207.80, 159.75]
    assert {"paper", "paper's algorithm, here", "Bera et al. 2019"} <= {row["method"] for row in rows}
    again = reproduce("table2", tmp_path, quick=True, n_seeds=1)
    assert again.n_computed == 0
    assert again.n_reused > 10
    assert (tmp_path / "quick" / "table2.md").read_text(encoding="utf-8") == text


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path, monkeypatch):
    done = []

    def stop_after_three(line):
        done.append(line)
        if len(done) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce("table2", tmp_path, quick=True, n_seeds=1, tell=stop_after_three)
    assert len(list((tmp_path / "quick" / "cache").glob("*.json"))) == 3
    assert not list((tmp_path / "quick" / "cache").glob(".*"))
    later = reproduce("table2", tmp_path, quick=True, n_seeds=1)
    assert later.n_reused == 3


def test_the_command_says_that_what_is_done_is_kept(tmp_path, monkeypatch):
    def stop(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("fairclust.cli.reproducing.reproduce", stop)
    ended = CliRunner().invoke(app, ["reproduce", "table2", "--quick", "--out", str(tmp_path)])
    assert ended.exit_code == 130
    assert "the same command goes on from there" in " ".join(ended.output.split())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["table9"], "'table9' is not something to reproduce"),
        (["table2", "--seeds", "0"], "--seeds 0"),
        (["table2", "--data-dir", "nowhere"], "--data-dir nowhere is not a directory"),
    ],
)
def test_wrong_input_exits_2_and_says_what_to_change(tmp_path, arguments, says):
    ended = CliRunner().invoke(app, ["reproduce", *arguments, "--out", str(tmp_path)])
    assert ended.exit_code == 2
    assert says in " ".join(ended.output.split())


def toy_panels():
    rng = np.random.default_rng(0)
    fit = {"labels": [0, 1] * 10, "objective": 1.0, "error": 0.1, "balance": 0.5}
    curves = {"bound": [5.0, 4.0, 3.5], "dual": [4.8, 3.4]}
    objectives = ("kmeans", "kmedian", "ncut")
    return {
        "convergence": [
            {"objective": name, "data": "Toy", "weight": 10.0, "curves": curves} for name in objectives
        ],
        "tradeoff": [
            {
                "objective": "kmeans", "data": "Toy", "weights": [0.0, 1.0, 100.0], "objectives": [1.0, 2.0, 3.0],
                "errors": [0.5, 0.1, 0.0],
            },
            {"objective": "ncut", "data": "Elsewhere", "missing": "no data"},
        ],
        "clusters-number": [
            {"objective": "kmeans", "data": "Toy", "weight": 10.0, "numbers": [2, 4], "plain": [3.0, 1.0],
             "fair": [4.0, 2.0]},
        ],
        "clusters-weight": [
            {
                "data": "Toy", "X": rng.normal(size=(20, 2)).tolist(), "groups": ["A", "A", "B", "B"] * 5,
                "weights": [0.0, 1.0], "panels": [fit, fit],
            },
        ],
    }  # fmt: skip


def test_every_figure_is_drawn_with_labelled_axes_and_always_the_same(tmp_path):
    paths = draw_all(toy_panels(), tmp_path / "a")
    again = draw_all(
        {name: panels if name == "tradeoff" else [] for name, panels in toy_panels().items()}, tmp_path / "b"
    )
    assert sorted(path.name for path in paths) == sorted(
        f"{name}{suffix}" for name in toy_panels() for suffix in (".png", ".svg")
    )
    assert len(again) == 2
    for path in again:
        assert path.read_bytes() == (tmp_path / "a" / path.name).read_bytes()
    labels = {
        "convergence": ["outer iteration", "energy"],
        "tradeoff": ["fairness weight λ", "clustering objective", "fairness error, Σ KL"],
        "clusters-number": ["number of clusters K", "clustering objective"],
        "clusters-weight": ["first feature", "second feature"],
    }
    for name, wanted in labels.items():
        svg = (tmp_path / "a" / f"{name}.svg").read_text(encoding="utf-8")
        for label in wanted:
            assert f"<!-- {label} -->" in svg


def test_without_matplotlib_the_tables_are_written_and_the_figures_missed(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("fairclust.reproduce._run.figures", SimpleNamespace(compute=lambda *_a, **_k: toy_panels()))
    outcome = reproduce("figures", tmp_path, quick=True)
    assert any("fairclust[plot]" in remark for remark in outcome.remarks)
    assert outcome.page.is_file()


@pytest.mark.slow
def test_a_quick_run_of_everything_takes_under_a_minute(tmp_path):
    outcome = reproduce("all", tmp_path, quick=True)
    assert outcome.seconds < 60
    assert not outcome.remarks
    assert len(list((tmp_path / "quick" / "figures").glob("*.png"))) == 4
