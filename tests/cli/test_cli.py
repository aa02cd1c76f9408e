"""The command line, run as a new user would: by what is typed and what comes back."""

from __future__ import annotations

import base64
import builtins
import csv
import gzip
import html
import importlib.util
import json
import re
import subprocess
import sys
import tomllib
import zlib
from pathlib import Path

import numpy as np
import pytest

from fairclust import FairKMeans, Penalty, fairness_path
from fairclust._files import atomic
from fairclust.cli import main
from fairclust.metrics import fairness_error

polars = pytest.importorskip("polars", reason="the command line needs the extra 'cli'")
pytest.importorskip("typer", reason="the command line needs the extra 'cli'")


class Outcome:
    """What one command printed, and how it ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        # Terminals wrap lines; what is said does not depend on where.
        self.code, self.out, self.err = code, out, err
        self.said = " ".join(out.split())
        self.noted = " ".join(err.split())


@pytest.fixture
def fairclust(capsys, tmp_path, monkeypatch):
    """Run a command inside an empty directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments: object) -> Outcome:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Outcome(ended.value.code or 0, captured.out, captured.err)

    return run


@pytest.fixture
def without(monkeypatch):
    """Make a package look as if it were not installed."""

    def hide(name: str) -> None:
        real = builtins.__import__

        def importing(module, *args, **kwargs):
            if module.split(".")[0] == name:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
            return real(module, *args, **kwargs)

        for loaded in [module for module in sys.modules if module.split(".")[0] == name]:
            monkeypatch.delitem(sys.modules, loaded)
        found = importlib.util.find_spec
        monkeypatch.setattr(builtins, "__import__", importing)
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda module, *args: None if module == name else found(module, *args)
        )

    return hide


def test_version_is_printed(fairclust):
    outcome = fairclust("--version")
    assert outcome.code == 0
    assert re.fullmatch(r"fairclust \d+\.\d+\.\d+", outcome.said)


def test_unknown_command_exits_2_and_suggests_a_name(fairclust):
    outcome = fairclust("dmo")
    assert outcome.code == 2
    assert "'demo'" in outcome.noted


def test_demo_compares_the_clusters_and_writes_a_picture(fairclust):
    pytest.importorskip("matplotlib")
    outcome = fairclust("demo")
    assert outcome.code == 0
    assert "Plain K-means" in outcome.said
    assert "proportional representation" in outcome.said
    picture = Path("demo/fairclust-demo.png")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert str(picture) in outcome.said


def test_demo_writes_a_report_and_an_explorer(fairclust):
    pytest.importorskip("vl_convert")
    assert fairclust("demo").code == 0
    for name in ("fairclust-demo.html", "fairclust-demo-path.html"):
        assert Path("demo", name).read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_demo_ends_with_fair_clusters_where_plain_ones_are_not(fairclust):
    outcome = fairclust("demo")
    plain, fair = outcome.said.split("Fair K-means cluster")
    assert "100.0 % 0.0 %" in plain
    assert fair.count("50.0 % 50.0 % 0.0000") == 2


def test_demo_tells_without_matplotlib_and_names_the_extra(fairclust, without):
    without("matplotlib")
    outcome = fairclust("demo", "--out", "elsewhere")
    assert outcome.code == 0
    assert "What that costs" in outcome.said
    assert "pip install 'fairclust[plot]'" in outcome.noted
    assert not Path("elsewhere/fairclust-demo.png").exists()


def test_demo_tells_without_the_report_extra_and_names_it(fairclust, without):
    without("altair")
    outcome = fairclust("demo")
    assert outcome.code == 0
    assert "pip install 'fairclust[report]'" in outcome.noted
    assert not Path("demo/fairclust-demo.html").exists()


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_missing_command_line_extra_is_named(package, capsys, without, monkeypatch):
    for module in [name for name in sys.modules if name.startswith("fairclust.cli.")]:
        monkeypatch.delitem(sys.modules, module)
    without(package)
    with pytest.raises(SystemExit) as ended:
        main(["demo"])
    assert ended.value.code == 1
    assert "pip install 'fairclust[cli]'" in capsys.readouterr().err


def test_demo_that_cannot_write_fails_in_one_sentence(fairclust, tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "file").write_text("in the way")
    outcome = fairclust("demo", "--out", "file")
    assert outcome.code == 1
    assert outcome.noted.startswith("Error: File exists")
    assert "Traceback" not in outcome.err


def test_debug_shows_the_traceback(fairclust, tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "file").write_text("in the way")
    assert "Traceback" in fairclust("demo", "--out", "file", "--debug").err


def test_command_runs_as_an_installed_script(tmp_path):
    script = Path(sys.executable).with_name("fairclust")
    if not script.exists():
        pytest.skip("fairclust is not installed as a script here")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout[:10]) == (0, "fairclust ")


def people(n_rows: int = 120) -> polars.DataFrame:
    """A file of people in which plain clusters are lopsided."""
    rng = np.random.default_rng(0)
    sex = np.array(["F", "M"])[(np.arange(n_rows) % 2)]
    side = np.where(rng.random(n_rows) < 0.8, sex == "F", sex == "M")
    return polars.DataFrame(
        {
            "person_id": np.arange(1000, 1000 + n_rows),
            "age": 40 + 12 * side + rng.normal(0, 3, n_rows).round(2),
            "income": 3000 + 900 * side + rng.normal(0, 300, n_rows).round(1),
            "job": np.array(["nurse", "clerk", "cook"])[rng.integers(0, 3, n_rows)],
            "country": ["NL"] * n_rows,
            "planet": [3] * n_rows,
            "sex": sex,
        }
    )


@pytest.fixture
def people_csv(tmp_path):
    people().write_csv(tmp_path / "people.csv")
    return "people.csv"


FIT = ("--sensitive", "sex", "-k", "3")


def test_fit_writes_the_input_rows_plus_a_cluster(fairclust, people_csv):
    outcome = fairclust("fit", people_csv, *FIT, "--out", "labels.csv")
    assert outcome.code == 0, outcome.err
    written = polars.read_csv("labels.csv")
    assert written.drop("cluster").equals(polars.read_csv(people_csv))
    assert sorted(written["cluster"].unique()) == [0, 1, 2]
    assert fairness_error(written["cluster"], written["sex"], average="max") <= 0.01
    assert "standardised" in outcome.noted


def test_what_fairness_cost_is_told_where_that_is_asked_for(fairclust, people_csv):
    outcome = fairclust("fit", people_csv, *FIT)
    assert "What fairness cost" not in outcome.said
    assert "--compare" in outcome.noted
    outcome = fairclust("fit", people_csv, *FIT, "--compare")
    assert "What fairness cost" in outcome.said
    assert "--compare" not in outcome.noted


@pytest.mark.parametrize("asked", [(), ("--compare",), ("--moves", "moves.csv"), ("--report", "report.html")])
def test_plain_clusters_are_made_only_where_something_needs_them(fairclust, people_csv, asked):
    if "--report" in asked:
        pytest.importorskip("vl_convert", reason="reports need the extra 'report'")
    summary = json.loads(fairclust("fit", people_csv, *FIT, *asked, "--json").out)
    compared = [summary[name] is not None for name in ("plain_objective", "cost_of_fairness", "moves")]
    assert compared == [bool(asked)] * 3
    assert ("compare" in summary["seconds"]) == bool(asked)
    if asked:
        assert summary["objective"] >= summary["plain_objective"] * (1 - 1e-6)


def test_fit_labels_are_those_of_the_library(fairclust, people_csv):
    fairclust("fit", people_csv, *FIT, "--features", "age,income", "--seed", "7", "--out", "labels.parquet")
    written = polars.read_parquet("labels.parquet")
    X = written.select("age", "income").to_numpy()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = FairKMeans(3, random_state=7).fit(X, sensitive_features=written["sex"])
    assert written["cluster"].to_list() == model.labels_.tolist()


def test_fit_points_out_id_constant_and_text_columns(fairclust, people_csv):
    outcome = fairclust("fit", people_csv, *FIT)
    assert "Features: age, income." in outcome.noted
    assert "an id (every row has its own value): person_id" in outcome.noted
    assert "Left out, constant: country, planet." in outcome.noted
    assert "Left out, text: job (--encode" in outcome.noted
    assert "Nothing was saved" in outcome.noted


@pytest.mark.parametrize("asked", ["job", "all"])
def test_fit_encodes_text_on_request(fairclust, people_csv, asked):
    outcome = fairclust("fit", people_csv, *FIT, "--encode", asked, "--json")
    assert json.loads(outcome.out)["features"] == ["age", "income", "job=clerk", "job=cook", "job=nurse"]


def test_json_summary_holds_the_audit_the_settings_and_the_times(fairclust, people_csv):
    outcome = fairclust("fit", people_csv, *FIT, "--json", "--out", "labels.csv")
    summary = json.loads(outcome.out)
    assert summary["audit"]["max_fairness_error"] <= 0.01
    assert summary["goal"] == "MaxFairnessError(limit=0.01)"
    assert summary["goal_met"] is True
    assert summary["n_evaluations"] > 0
    assert summary["settings"]["n_clusters"] == 3
    assert {"read", "fit", "write"} <= set(summary["seconds"])
    assert summary["written"] == {"out": "labels.csv"}


def test_soft_assignments_add_up_to_one(fairclust, people_csv):
    fairclust("fit", people_csv, *FIT, "--soft", "--out", "labels.csv")
    soft = polars.read_csv("labels.csv").select("cluster_0", "cluster_1", "cluster_2").to_numpy()
    np.testing.assert_allclose(soft.sum(axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("people.tsv", lambda frame, path: frame.write_csv(path, separator="\t")),
        ("people.csv", lambda frame, path: frame.write_csv(path, separator=";", decimal_comma=True)),
        ("people.txt", lambda frame, path: frame.write_csv(path, separator="|")),
        ("people.parquet", lambda frame, path: frame.write_parquet(path)),
        ("bom.csv", lambda frame, path: path.write_bytes(b"\xef\xbb\xbf" + frame.write_csv().encode())),
        ("utf16.csv", lambda frame, path: path.write_bytes(frame.write_csv().encode("utf-16"))),
        ("latin.csv", lambda frame, path: path.write_bytes(frame.write_csv().encode("cp1252"))),
        ("people.csv.gz", lambda frame, path: path.write_bytes(gzip.compress(frame.write_csv().encode()))),
    ],
)
def test_every_way_of_writing_a_table_gives_the_same_clusters(fairclust, tmp_path, name, write):
    frame = people().with_columns(
        job=polars.when(polars.col("job") == "cook").then(polars.lit("José")).otherwise("job")
    )
    frame.write_csv(tmp_path / "reference.csv")
    write(frame, tmp_path / name)
    arguments = (*FIT, "--encode", "job", "--json")
    reference, found = (json.loads(fairclust("fit", file, *arguments).out) for file in ("reference.csv", name))
    assert found["features"] == reference["features"] == ["age", "income", "job=José", "job=clerk", "job=nurse"]
    assert found["audit"] == reference["audit"]


def test_output_keeps_delimiter_and_decimal_sign_and_leading_zeros(fairclust, tmp_path):
    frame = people().with_columns(zip=polars.col("person_id").cast(polars.String).str.zfill(6))
    frame.write_csv(tmp_path / "people.csv", separator=";", decimal_comma=True)
    assert fairclust("fit", "people.csv", *FIT, "--out", "labels.csv").code == 0
    before, after = (Path(name).read_text().splitlines() for name in ("people.csv", "labels.csv"))
    assert [line.rpartition(";")[0] for line in after] == before


def test_missing_values_are_an_error_that_names_the_ways_out(fairclust, tmp_path):
    holes(tmp_path / "holes.csv")
    outcome = fairclust("fit", "holes.csv", *FIT)
    assert outcome.code == 2
    assert "3 of 120 rows have missing values (age: 2, group: 1). Add --missing drop" in outcome.noted


def test_dropped_rows_stay_in_the_file_without_a_cluster(fairclust, tmp_path):
    holes(tmp_path / "holes.csv")
    outcome = fairclust("fit", "holes.csv", *FIT, "--missing", "drop", "--out", "labels.csv")
    assert outcome.code == 0, outcome.err
    assert "3 of 120 rows have missing values and were left out" in outcome.noted
    written = polars.read_csv("labels.csv", infer_schema_length=None)
    assert np.flatnonzero(written["cluster"].is_null().to_numpy()).tolist() == [0, 5, 9]
    assert written["age"][0] == "NA"


def test_imputing_fills_features_but_never_groups(fairclust, tmp_path):
    holes(tmp_path / "holes.csv", groups=False)
    assert fairclust("fit", "holes.csv", *FIT, "--missing", "impute").code == 0
    holes(tmp_path / "holes.csv")
    outcome = fairclust("fit", "holes.csv", *FIT, "--missing", "impute")
    assert outcome.code == 2
    assert "a group cannot be guessed" in outcome.noted


def holes(path: Path, *, groups: bool = True) -> None:
    frame = people()
    age = frame["age"].cast(polars.String).to_list()
    age[0], age[5] = "NA", ""
    sex = frame["sex"].to_list()
    sex[9] = "?" if groups else sex[9]
    frame.with_columns(age=polars.Series(age), sex=polars.Series(sex)).write_csv(path)


def test_target_is_reached(fairclust, people_csv):
    outcome = fairclust("fit", people_csv, *FIT, "--target", "F=50%,M=0.5", "--max-fairness-error", "0", "--json")
    shares = np.array([cluster["proportions"] for cluster in json.loads(outcome.out)["audit"]["clusters"]])
    assert np.abs(shares - 0.5).max() < 0.02


def test_several_sensitive_columns_are_each_balanced(fairclust, people_csv):
    outcome = fairclust("fit", people_csv, "--sensitive", "sex,job", "-k", "2", "--json")
    summary = json.loads(outcome.out)
    audits = summary["audit"]["attributes"]
    assert list(audits) == ["sex", "job"]
    assert summary["audit"]["max_fairness_error"] == max(one["max_fairness_error"] for one in audits.values()) <= 0.01
    assert summary["goal_met"]
    shown = fairclust("fit", people_csv, "--sensitive", "sex,job", "-k", "2", "--report", "two.html")
    assert "sex, job are each balanced by themselves" in shown.noted
    page = Path("two.html").read_text(encoding="utf-8")
    assert "composition-1" in page
    assert "sensitive attributes" in page


def test_audit_and_path_take_several_sensitive_columns(fairclust, people_csv):
    assert fairclust("fit", people_csv, "--sensitive", "sex,job", "-k", "2", "--out", "labels.csv").code == 0
    found = json.loads(fairclust("audit", "labels.csv", "--sensitive", "sex,job", "--json").out)
    assert found["max_fairness_error"] <= 0.01
    outcome = fairclust(
        "path", people_csv, "--sensitive", "sex,job", "-k", "2", "--weights", "0,1000", "--report", "p.html"
    )
    assert outcome.code == 0
    assert "The bars show" in Path("p.html").read_text(encoding="utf-8")


def test_a_sensitive_column_of_numbers_is_cut_into_ranges(fairclust, people_csv):
    summary = json.loads(fairclust("fit", people_csv, "--sensitive", "age", "-k", "2", "--bins", "age=3", "--json").out)
    assert len(summary["audit"]["group_names"]) == 3
    assert summary["audit"]["group_names"][0].startswith("under ")
    assert "age is cut into 3 ranges" in " ".join(summary["remarks"])
    wrong = fairclust("fit", people_csv, "--sensitive", "sex", "-k", "2", "--bins", "age=3")
    assert wrong.code == 2
    assert "--bins names 'age', which is not among the --sensitive columns" in wrong.noted


@pytest.mark.parametrize(("policy", "n_groups"), [("own", 3), ("ignore", 2)])
def test_rows_without_a_group_can_be_kept(fairclust, people_csv, tmp_path, policy, n_groups):
    frame = people()
    sexes = [None if i % 10 == 0 else sex for i, sex in enumerate(frame["sex"])]
    frame.with_columns(sex=polars.Series(sexes)).write_csv(tmp_path / "gaps.csv")
    assert fairclust("fit", "gaps.csv", *FIT).code == 2
    outcome = fairclust("fit", "gaps.csv", *FIT, "--missing-groups", policy, "--json", "--out", "kept.csv")
    summary = json.loads(outcome.out)
    assert summary["n_rows_used"] == summary["n_rows"]
    assert len(summary["audit"]["group_names"]) == n_groups
    assert fairclust("fit", "gaps.csv", *FIT, "--missing-groups", "drop").code == 2


def test_targets_of_several_columns_name_the_column(fairclust, people_csv):
    target = ("--target", "sex=F=0.5,sex=M=0.5")
    summary = json.loads(fairclust("fit", people_csv, "--sensitive", "sex,job", "-k", "2", "--json", *target).out)
    assert summary["audit"]["attributes"]["sex"]["target_proportions"] == [0.5, 0.5]


def test_intersections_make_a_group_of_each_combination(fairclust, people_csv):
    summary = json.loads(
        fairclust("fit", people_csv, "--sensitive", "sex,job", "-k", "2", "--intersections", "--json").out
    )
    assert summary["audit"]["group_names"][0] == "F & clerk"
    assert len(summary["audit"]["group_names"]) == 6


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--sensitive", "gendr", "-k", "3"), "column 'gendr' (--sensitive) is not in people.csv. Its columns are"),
        (("--sensitive", "Sexx", "-k", "3"), "Did you mean 'sex'?"),
        ((*FIT, "--features", "agee"), "Did you mean 'age'?"),
        ((*FIT, "--features", "job"), "Add --encode job"),
        ((*FIT, "--exclude", "age,income"), "has no numeric column to cluster by"),
        ((*FIT, "--objective", "kmode"), "--objective 'kmode' is not known"),
        ((*FIT, "--missing", "guess"), "--missing 'guess' is not known"),
        ((*FIT, "--target", "F=0.5"), "no share for 'M'"),
        ((*FIT, "--target", "F0.5"), "which is not group=share"),
        ((*FIT, "--target", "F=0.5,M=0.6"), "adds up to 1.1, not 1"),
        ((*FIT, "--fairness-weight", "1", "--max-fairness-error", "0.1"), "Give one of them"),
        (
            (*FIT, "--fairness-weight", "-1"),
            "--fairness-weight '-1', but a value at least 0 is needed, for example 9000",
        ),
        ((*FIT, "--min-balance", "much"), "--min-balance 'much', but a value above 0, at most 1 is needed"),
        ((*FIT, "--min-balance", "1.2"), "--min-balance '1.2', but a value above 0, at most 1 is needed"),
        ((*FIT, "--round-bounds"), "--round-bounds needs --bounds"),
        ((*FIT, "--bounds", "X=0.1:0.2"), "Bounds names group 'X', but the groups are 'F', 'M'"),
        ((*FIT, "--sizes", "some"), "--sizes 'some' is neither 'equal' nor a number of rows per cluster"),
        ((*FIT, "--unknown-groups", "any"), "--unknown-groups 'any' is not known. Choose error, nearest"),
        (("--sensitive", "sex", "-k", "0"), "n_clusters=0"),
        (("--sensitive", "sex", "-k", "121"), "Use at most 120"),
        ((*FIT, "--out", "."), "is a directory"),
        ((*FIT, "--out", "nowhere/labels.csv"), "does not exist"),
        ((*FIT, "--out", "people.csv", "--force"), "is the file that is read"),
        ((*FIT, "--label-column", "age"), "has a column 'age' already"),
        ((*FIT, "--delimiter", "ab"), "is not one character"),
        ((*FIT, "--encoding", "klingon"), "is not known"),
        (("--sensitive", "income", "-k", "3"), "most groups are one person"),
    ],
)
def test_wrong_input_exits_2_with_one_sentence(fairclust, people_csv, arguments, sentence):
    outcome = fairclust("fit", people_csv, *arguments)
    assert outcome.code == 2
    assert sentence in outcome.noted
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("peple.csv", None, "Did you mean people.csv?"),
        ("empty.csv", b"", "empty.csv is empty"),
        ("header.csv", b"a,b,sex\n", "has 0 rows below its header"),
        ("binary.csv", bytes(range(256)) * 20, "is a binary file"),
        ("book.xlsx", b"PK\x03\x04" + bytes(100), "Excel workbook. Save the sheet as CSV"),
        ("ragged.csv", b"a,sex\n1,F\n2,M,3,4\n", "line 3 has 4 cells, but the header has 2"),
        ("quote.csv", b'a,sex\n1,"F\n' + b"2,M\n" * 40_000, "Is a quote opened and never closed?"),
        ("broken.parquet", b"PAR1" + bytes(50), "could not be read as a table"),
    ],
)
def test_unreadable_file_exits_2_with_one_sentence(fairclust, people_csv, tmp_path, name, content, sentence):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    outcome = fairclust("fit", name, *FIT)
    assert outcome.code == 2
    assert sentence in outcome.noted
    assert outcome.out == ""


def test_directory_instead_of_a_file_exits_2(fairclust):
    outcome = fairclust("fit", ".", *FIT)
    assert outcome.code == 2
    assert "is a directory. Give a CSV, TSV or Parquet file." in outcome.noted


def test_one_group_is_told_and_is_plain_clustering(fairclust, people_csv):
    outcome = fairclust("fit", people_csv, "--sensitive", "country", "-k", "3")
    assert outcome.code == 0
    assert "one group only" in outcome.noted


def test_sensitive_column_among_the_features_is_warned_about(fairclust, people_csv):
    outcome = fairclust("fit", people_csv, *FIT, "--features", "age,sex", "--encode", "sex")
    assert outcome.code == 0
    assert "sex is both sensitive and a feature" in outcome.noted


def test_missed_goal_is_told_without_a_python_warning(fairclust, tmp_path):
    people(11).write_csv(tmp_path / "few.csv")
    outcome = fairclust("fit", "few.csv", "--sensitive", "sex", "-k", "7", "--max-fairness-error", "0.0001")
    assert outcome.code == 0
    assert "Note: " in outcome.noted
    assert "Warning" not in outcome.noted


def test_existing_output_is_kept_without_force(fairclust, people_csv):
    Path("labels.csv").write_text("precious")
    outcome = fairclust("fit", people_csv, *FIT, "--out", "labels.csv")
    assert outcome.code == 2
    assert "add --force to replace it" in outcome.noted
    assert Path("labels.csv").read_text() == "precious"
    assert fairclust("fit", people_csv, *FIT, "--out", "labels.csv", "--force").code == 0
    assert "cluster" in Path("labels.csv").read_text()


@pytest.mark.parametrize("name", ["labels.csv", "labels.parquet"])
def test_full_disk_fails_in_one_sentence_and_leaves_no_file(tmp_path, name):
    resource = pytest.importorskip("resource")
    people(3000).write_csv(tmp_path / "people.csv")
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)); "
    command = f"from fairclust.cli import main; main(['fit', 'people.csv', *{FIT!r}, '--out', {name!r}])"
    done = subprocess.run(
        [sys.executable, "-c", limit + command], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert resource is not None
    assert done.returncode == 1, done.stderr
    assert "Error: " in done.stderr
    assert "Traceback" not in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["people.csv"]


def test_interrupted_write_leaves_nothing_behind(tmp_path):
    target = tmp_path / "labels.csv"
    target.write_text("before")

    def write() -> None:
        with atomic(target) as temporary:
            temporary.write_text("half of it")
            raise KeyboardInterrupt("ctrl-c")

    with pytest.raises(KeyboardInterrupt, match="ctrl-c"):
        write()
    assert [file.name for file in tmp_path.iterdir()] == ["labels.csv"]
    assert target.read_text() == "before"


def test_audit_reports_the_labels_of_a_file(fairclust, people_csv):
    fairclust("fit", people_csv, *FIT, "--out", "labels.csv")
    outcome = fairclust("audit", "labels.csv", "--sensitive", "sex", "--json")
    written = polars.read_csv("labels.csv")
    found = json.loads(outcome.out)
    assert found["fairness_error"] == pytest.approx(fairness_error(written["cluster"], written["sex"]))
    assert "fairness error" in fairclust("audit", "labels.csv", "--sensitive", "sex", "--labels", "cluster").said


def test_audit_hides_small_counts_on_request(fairclust, tmp_path):
    (tmp_path / "few.csv").write_text("cluster,sex\n" + "0,F\n" * 3 + "0,M\n" * 20 + "1,F\n" * 30 + "1,M\n" * 40)
    shown = fairclust("audit", "few.csv", "--sensitive", "sex", "--suppress-below", "5")
    assert "<5" in shown.said
    found = json.loads(fairclust("audit", "few.csv", "--sensitive", "sex", "--suppress-below", "5", "--json").out)
    assert found["clusters"][0]["counts"] == [None, None]
    assert found["fairness_error"] is None


def test_audit_of_gaps_asks_what_to_do(fairclust, tmp_path):
    (tmp_path / "gaps.csv").write_text("cluster,sex\n0,F\n0,M\n,F\n1,\n1,M\n1,F\n")
    outcome = fairclust("audit", "gaps.csv", "--sensitive", "sex")
    assert outcome.code == 2
    assert "2 of 6 rows have no cluster or no group. Add --missing drop" in outcome.noted
    assert fairclust("audit", "gaps.csv", "--sensitive", "sex", "--missing", "drop").code == 0


def test_hostile_names_are_printed_as_plain_text(fairclust, tmp_path):
    hostile = ["[bold red]x[/]", "\x1b[31mred", "=HYPERLINK(1)", "أهلا", "🙂" * 60, "a" * 10_000]
    polars.DataFrame({"cluster": [0] * 6 + [1] * 6, "g": hostile * 2}).write_csv(tmp_path / "hostile.csv")
    outcome = fairclust("audit", "hostile.csv", "--sensitive", "g")
    assert outcome.code == 0
    assert "\x1b[31m" not in outcome.out
    assert "a" * 60 not in outcome.out


def test_fit_writes_a_report(fairclust, people_csv):
    pytest.importorskip("vl_convert")
    outcome = fairclust("fit", people_csv, *FIT, "--report", "report.html", "--json")
    assert json.loads(outcome.out)["written"] == {"report": "report.html"}
    page = Path("report.html").read_text(encoding="utf-8")
    assert "Fair clusters of people.csv by sex" in page
    assert "Features: age, income." in page


def test_fit_without_the_report_extra_names_it_before_the_work(fairclust, people_csv, without):
    without("vl_convert")
    outcome = fairclust("fit", people_csv, *FIT, "--report", "report.html", "--out", "labels.csv")
    assert outcome.code == 1
    assert "pip install 'fairclust[report]'" in outcome.noted
    assert not Path("labels.csv").exists()


def test_path_tells_the_trade_off_and_marks_the_goal(fairclust, people_csv):
    outcome = fairclust("path", people_csv, *FIT, "--out", "path.csv")
    assert outcome.code == 0, outcome.err
    assert "←" in outcome.said
    table = polars.read_csv("path.csv")
    assert table["fairness_weight"][0] == 0
    assert table["fairness_error"].is_sorted(descending=True)
    assert table["objective"].is_sorted()


def test_path_is_that_of_the_library(fairclust, people_csv):
    found = json.loads(fairclust("path", people_csv, *FIT, "--weights", "0,50,5000", "--json").out)
    frame = polars.read_csv(people_csv)
    X = frame.select("age", "income").to_numpy()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    path = fairness_path(
        FairKMeans(3, random_state=0), X, sensitive_features=frame["sex"], goals=[Penalty(w) for w in (0, 50, 5000)]
    )
    assert found["path"]["objective"] == pytest.approx(path.objectives.tolist(), rel=1e-9)
    assert found["path"]["fairness_weight"] == [0, 50, 5000]


def test_path_writes_an_explorer_with_the_files_row_numbers(fairclust, tmp_path):
    pytest.importorskip("vl_convert")
    holes(tmp_path / "holes.csv")
    outcome = fairclust("path", "holes.csv", *FIT, "--missing", "drop", "--report", "path.html")
    assert outcome.code == 0, outcome.err
    page = Path("path.html").read_text(encoding="utf-8")
    assert 'id="point"' in page
    embedded = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    packed = json.loads(embedded[1])["row_numbers"]
    rows = np.frombuffer(zlib.decompress(base64.b64decode(packed)), dtype="<u4")
    assert rows.tolist() == [row for row in range(1, 121) if row not in (1, 6, 10)]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--weights", "0,x"), "is not a list of numbers"),
        (("--weights", "-1"), "a number at least 0 is needed"),
        (("--fairness-weight", "1"), "No such option: --fairness-weight"),
        (("--report", "."), "is a directory"),
    ],
)
def test_wrong_path_options_exit_2_with_one_sentence(fairclust, people_csv, arguments, sentence):
    outcome = fairclust("path", people_csv, *FIT, *arguments)
    assert outcome.code == 2
    assert sentence in outcome.noted


@pytest.mark.parametrize("objective", ["kmeans", "kmedian", "ncut"])
def test_every_objective_is_fitted_by_its_estimator(fairclust, people_csv, objective):
    outcome = fairclust("fit", people_csv, *FIT, "--objective", objective, "--json")
    summary = json.loads(outcome.out)
    assert summary["settings"]["objective"] == objective
    assert summary["audit"]["max_fairness_error"] <= 0.01


# --- what a trial with strangers' data found --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("goal", "holds"),
    [
        (("--min-balance", "0.5"), lambda audit: min(c["balance"] for c in audit["clusters"]) >= 0.5),
        (("--bounds", "F=0.4:0.6"), lambda audit: all(0.4 <= c["proportions"][0] <= 0.6 for c in audit["clusters"])),
        (("--exact",), lambda audit: max(abs(c["counts"][0] - c["size"] / 2) for c in audit["clusters"]) <= 1),
        (("--max-cost-increase", "0.5"), lambda audit: True),
        (("--min-cluster-size", "30"), lambda audit: min(c["size"] for c in audit["clusters"]) >= 30),
        (("--bounds", "F=40%:60%", "--round-bounds"), lambda audit: True),
        (("--sizes", "equal"), lambda audit: {c["size"] for c in audit["clusters"]} == {40}),
        (("--sizes", "30,50,40"), lambda audit: sorted(c["size"] for c in audit["clusters"]) == [30, 40, 50]),
        (("--max-cluster-size", "40%"), lambda audit: max(c["size"] for c in audit["clusters"]) <= 48),
    ],
)
def test_every_goal_is_on_the_command_line(fairclust, people_csv, goal, holds):
    outcome = fairclust("fit", people_csv, *FIT, *goal, "--json")
    assert outcome.code == 0, outcome.err
    assert holds(json.loads(outcome.out)["audit"])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--exact", "--min-balance", "0.5"), "--exact and --min-balance are both given"),
        (("--bounds", "F=0.4"), "is not GROUP=LOWER:UPPER, for example F=0.3:0.4"),
        (("--min-cluster-size", "few"), "is not a number of rows or a share"),
        (("--weight", "wight"), "column 'wight' (--weight) is not in people.csv"),
        (("--out", "x.xlsx"), ".xlsx is not written. Use .csv, .tsv (also with .gz behind it) or .parquet"),
        (("--out", "x.json"), ".json is not written"),
        (("--out", "x.parquet.gz"), ".parquet.gz is not written"),
        (("--moves", "m.xlsx"), "--moves m.xlsx: .xlsx is not written"),
    ],
)
def test_wrong_goals_and_outputs_exit_2_before_the_work(fairclust, people_csv, arguments, sentence):
    outcome = fairclust("fit", people_csv, *FIT, *arguments)
    assert outcome.code == 2
    assert sentence in outcome.noted


def test_packed_text_is_packed(fairclust, people_csv):
    assert fairclust("fit", people_csv, *FIT, "--out", "labels.csv.gz").code == 0
    with gzip.open("labels.csv.gz") as file:
        assert polars.read_csv(file.read()).height == 120


def test_a_header_that_looks_like_a_formula_comes_back_as_it_was(fairclust, tmp_path):
    name = '=HYPERLINK("x")'
    frame = polars.DataFrame({"age": range(60), name: [i % 7 for i in range(60)], "sex": ["F", "M"] * 30})
    (tmp_path / "formula.csv").write_text(f"age,{name},sex\n" + frame.write_csv(include_header=False))
    assert fairclust("fit", "formula.csv", "--sensitive", "sex", "-k", "2", "--out", "labels.csv").code == 0
    assert next(csv.reader(Path("labels.csv").read_text().splitlines())) == ["age", name, "sex", "cluster"]
    again = fairclust("fit", "labels.csv", "--sensitive", "sex", "-k", "2", "--label-column", "next", "--out", "b.csv")
    assert again.code == 0
    assert next(csv.reader(Path("b.csv").read_text().splitlines())) == ["age", name, "sex", "cluster", "next"]


def test_weights_count_as_repeated_rows(fairclust, people_csv):
    frame = polars.read_csv(people_csv).with_columns(n=polars.Series([1, 2] * 60))
    frame.write_csv("weighted.csv")
    frame.select(polars.all().repeat_by("n").explode()).write_csv("repeated.csv")
    options = ("--sensitive", "sex", "-k", "3", "--features", "age", "--no-standardize", "--json")
    weighted = json.loads(fairclust("fit", "weighted.csv", *options, "--weight", "n", "--fairness-weight", "0").out)
    repeated = json.loads(fairclust("fit", "repeated.csv", *options, "--fairness-weight", "0").out)
    assert sum(c["size"] for c in weighted["audit"]["clusters"]) == 180
    assert weighted["objective"] == pytest.approx(repeated["objective"], rel=0.05)
    asked = ("--labels", "sex", "--sensitive", "sex", "--weight", "n", "--json")
    audited = json.loads(fairclust("audit", "weighted.csv", *asked).out)
    assert sum(c["size"] for c in audited["clusters"]) == 180


def test_moves_are_written_a_row_per_person(fairclust, people_csv):
    outcome = fairclust("fit", people_csv, *FIT, "--moves", "moves.csv", "--json")
    rows, told = polars.read_csv("moves.csv"), json.loads(outcome.out)["moves"]["groups"]
    assert rows.columns == ["row", "sex", "before", "after", "moved", "extra_distance"]
    assert rows.height == 120
    assert {g["group"]: g["n_moved"] for g in told if g["attribute"]} == dict(
        rows.group_by("sex").agg(polars.col("moved").sum()).iter_rows()
    )
    assert json.loads(outcome.out)["cost_of_fairness"] >= 0
    fairclust("fit", people_csv, *FIT, "--moves", "hidden.csv", "--suppress-below", "5")
    assert "sex" not in polars.read_csv("hidden.csv").columns


def test_a_config_file_says_what_was_not_typed(fairclust, people_csv):
    Path("run.toml").write_text(
        'file = "people.csv"\nsensitive = "sex"\nclusters = 3\nmax-fairness-error = 0.02\nseed = 4\n'
        'target = "F=0.5,M=0.5"\nstandardize = false\nfeatures = ["age", "income"]\n'
    )
    settings = json.loads(fairclust("fit", "--config", "run.toml", "--json", "--seed", "5").out)["settings"]
    assert (settings["n_clusters"], settings["goal"], settings["random_state"]) == (
        3, "MaxFairnessError(limit=0.02)", 5
    )  # fmt: skip
    assert settings["target_proportions"] == {"F": 0.5, "M": 0.5}
    Path("wrong.toml").write_text("max-fairness-eror = 0.02\n")
    outcome = fairclust("fit", people_csv, *FIT, "--config", "wrong.toml")
    assert outcome.code == 2
    assert "Did you mean 'max-fairness-error'?" in outcome.noted.replace("\u2502", " ").replace("│ ", "")


def test_a_report_carries_the_config_that_repeats_it(fairclust, people_csv):
    pytest.importorskip("vl_convert")
    typed = ("--max-fairness-error", "0.03", "--bins", "age=3", "--sensitive", "age", "-k", "3", "--out", "one.csv")
    assert fairclust("fit", people_csv, *typed, "--report", "r.html").code == 0
    text = html.unescape(
        re.search(r"<pre>(# fairclust fit --config.*?)</pre>", Path("r.html").read_text(), re.DOTALL)[1]
    )
    assert tomllib.loads(text)["bins"] == ["age=3"]
    Path("again.toml").write_text(text.replace("one.csv", "two.csv").replace("r.html", "r2.html"))
    assert fairclust("fit", "--config", "again.toml").code == 0
    assert Path("one.csv").read_bytes() == Path("two.csv").read_bytes()


def test_audit_writes_a_report(fairclust, people_csv):
    pytest.importorskip("vl_convert")
    assert fairclust("audit", people_csv, "--labels", "country", "--sensitive", "sex", "--report", "a.html").code == 0
    assert "Who is in the clusters of people.csv, by sex" in Path("a.html").read_text(encoding="utf-8")


def test_path_hides_scores_that_would_give_small_counts_away(fairclust, people_csv):
    options = (*FIT, "--weights", "0,5000", "--suppress-below", "1000", "--out", "path.csv")
    found = json.loads(fairclust("path", people_csv, *options, "--json").out)["path"]
    assert found["fairness_error"] == found["balance"] == [None, None]
    assert None not in found["objective"]
    assert polars.read_csv("path.csv")["fairness_error"].null_count() == 2


def test_a_missing_group_is_not_said_to_be_imputable(fairclust, tmp_path):
    rows = [f"{i},{['F', 'M', ''][i % 3]}" for i in range(60)]
    (tmp_path / "gaps.csv").write_text("income,sex\n" + "\n".join(rows) + "\n")
    outcome = fairclust("fit", "gaps.csv", "--sensitive", "sex", "-k", "2", "--features", "income")
    assert outcome.code == 2
    assert "--missing-groups own or ignore" in outcome.noted
    assert "impute" not in outcome.noted


def test_a_cell_of_any_length_is_read(fairclust, people_csv):
    lines = Path(people_csv).read_text().splitlines()
    lines[0] += ",remark"
    lines[1:] = [line + ("," + "z" * 200_000 if i == 3 else ",short") for i, line in enumerate(lines[1:])]
    Path("long.csv").write_text("\n".join(lines) + "\n")
    outcome = fairclust("fit", "long.csv", *FIT)
    assert outcome.code == 0, outcome.err


def test_wide_tables_are_printed_in_parts_that_fit(fairclust, tmp_path, monkeypatch):
    names = [f"a rather long group {i}" for i in range(9)]
    frame = polars.DataFrame({"cluster": [i % 3 for i in range(270)], "group": [names[i % 9] for i in range(270)]})
    frame.write_csv(tmp_path / "many.csv")
    monkeypatch.setenv("COLUMNS", "80")
    outcome = fairclust("audit", "many.csv", "--sensitive", "group")
    assert max(map(len, outcome.out.splitlines())) <= 80
    assert all(name in outcome.out for name in names)  # no name is broken
    assert outcome.out.count("cluster  ") >= 3


def test_a_reader_who_has_seen_enough_is_no_error(people_csv, tmp_path):
    command = f"{sys.executable} -c 'from fairclust.cli import main; main()' audit people.csv"
    command = f"set -o pipefail; {command} --labels country --sensitive sex | head -n 1"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "roken" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("command", "needed"),
    [("--help", []), ("predict", []), ("fit", ["numpy", "scipy"])],  # goals tell their options, and need arrays
)
def test_help_loads_nothing_heavy(command, needed):
    code = (
        "import sys, contextlib, io, typer\n"
        "def quietly(run, *arguments):\n"
        "    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()): run(*arguments)\n"
        "smallest = typer.Typer(rich_markup_mode=None)\n"
        "def command(file: str): pass\n"
        "smallest.command()(command)\n"
        "quietly(smallest, ['--help'])\n"
        "brought = set(sys.modules)  # old versions of typer load rich for any help\n"
        "from fairclust.cli import main\n"
        f"quietly(main, [{command!r}, '--help'])\n"
        "print(sorted({'numpy', 'sklearn', 'scipy', 'polars', 'rich', 'altair'} & (set(sys.modules) - brought)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(needed)


# --- goals -----------------------------------------------------------------------------------------------------------


def test_an_audit_is_held_against_a_goal(fairclust, people_csv):
    fairclust("fit", people_csv, *FIT, "--out", "labels.csv")
    asked = ("audit", "labels.csv", "--sensitive", "sex")
    passed = fairclust(*asked, "--max-fairness-error", "0.01")
    assert passed.code == 0
    assert "Goal MaxFairnessError(limit=0.01): every cluster passes." in passed.said
    failed = fairclust("audit", people_csv, "--labels", "job", "--sensitive", "sex", "--min-balance", "1", "--json")
    assert failed.code == 1
    assert json.loads(failed.out)["passed"] is False
    assert fairclust(*asked, "--fairness-weight", "1").code == 2
    assert "are both given" in fairclust(*asked, "--exact", "--bounds", "0.2").noted


def test_a_path_marks_any_goal(fairclust, people_csv):
    found = fairclust("path", people_csv, *FIT, "--weights", "0,50,5000", "--min-balance", "0.5")
    assert found.code == 0, found.err
    assert "the smallest weight that meets MinBalance(limit=0.5) in every cluster" in found.said


def test_a_goal_of_the_users_own_is_an_option_by_itself(fairclust, people_csv):
    from dataclasses import dataclass

    from fairclust.goals import GOALS, Bounds, Goal

    @dataclass(frozen=True)
    class MinShare(Goal):
        limit: float
        option, range, example = "min-share-of-f", "between 0 and 1", 0.4
        help = "smallest share of F in a cluster"

        def term(self, attribute):
            return Bounds({"F": (self.limit, 1.0)}).term(attribute)

        def figure(self, shares, attribute):
            return shares[:, list(attribute.names).index("F")]

    try:
        asked = ("--min-share-of-f", "0.45")
        outcome = fairclust("fit", people_csv, *FIT, *asked, "--json", "--out", "labels.csv")
        summary = json.loads(outcome.out)
        assert summary["goal"] == "MinShare(limit=0.45)"
        assert min(cluster["proportions"][0] for cluster in summary["audit"]["clusters"]) >= 0.45
        assert fairclust("audit", "labels.csv", "--sensitive", "sex", *asked).code == 0
        assert fairclust("path", people_csv, *FIT, *asked, "--weights", "0,5000").code == 0
        for command in ("fit", "audit", "path", "choose"):
            assert "smallest share of F" in " ".join(fairclust(command, "--help").out.split())
    finally:
        del GOALS["min-share-of-f"]
    assert fairclust("fit", people_csv, *FIT, "--min-share-of-f", "0.45").code == 2
