"""``fairclust choose``, ``-k auto``, ``--missing observed``, text that counts as a column, outcomes as features."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars
import pytest

from fairclust.cli import choosing, main
from fairclust.errors import InvalidInputError


@pytest.fixture
def fairclust(capsys, tmp_path, monkeypatch):
    """Run a command inside an empty directory; gives exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, " ".join(err.split())

    return run


def people(n_rows=150, gaps=0.0, **more):
    """Three kinds of people that are well apart."""
    rng = np.random.default_rng(0)
    kind = np.arange(n_rows) % 3
    income = np.round(20.0 + 30.0 * kind + rng.normal(size=n_rows), 3)
    jobs = np.array(["cook", "clerk", "smith"])[kind]
    columns = {
        "age": np.round(30.0 + 15.0 * (kind == 1) + rng.normal(size=n_rows), 3),
        "income": [None if rng.random() < gaps else value for value in income.tolist()],
        "job": [None if rng.random() < gaps else job for job in jobs.tolist()],
        "sex": rng.choice(["F", "M"], n_rows),
    }
    return polars.DataFrame(columns | more)


WEIGHTED = ("--sensitive", "sex", "--encode", "job", "--fairness-weight", 1)


def test_the_number_that_is_there_is_chosen_and_told(fairclust):
    people().write_csv("people.csv")
    code, said, _ = fairclust(
        "choose", "people.csv", *WEIGHTED, "-k", "2..4", "--report", "choose.html", "--out", "scores.csv"
    )
    assert code == 0
    assert "3 clusters: the highest silhouette" in " ".join(said.split())
    page = Path("choose.html").read_text(encoding="utf-8")
    assert "How many clusters for people.csv?" in page
    assert "No score proves a number right" in page
    assert polars.read_csv("scores.csv")["n_clusters"].to_list() == [2, 3, 4]


def test_choose_as_json_holds_every_score(fairclust):
    people().write_csv("people.csv")
    code, said, _ = fairclust("choose", "people.csv", *WEIGHTED, "-k", "2,3", "--json")
    found = json.loads(said)
    assert code == 0
    assert found["n_clusters"] == 3
    assert len(found["numbers"]["silhouette"]) == 2


def test_auto_says_what_it_chose_and_why(fairclust, monkeypatch):
    monkeypatch.setattr(choosing, "AUTO_NUMBERS", range(2, 5))
    people().write_csv("people.csv")
    code, said, noted = fairclust("fit", "people.csv", *WEIGHTED, "-k", "auto")
    assert code == 0
    assert "-k auto: 3 clusters: the highest silhouette" in noted
    assert "3 clusters, fair" in said


@pytest.mark.parametrize("text", ["2..15", "2-15", "2:15"])
def test_ranges_are_read(text):
    assert choosing.parse_numbers(text) == list(range(2, 16))


@pytest.mark.parametrize(
    ("text", "match"),
    [("many", "is not a range"), ("5..2", "no number"), ("2..99", "at most 50"), ("", "is not a range")],
)
def test_ranges_that_cannot_be_are_refused(text, match):
    with pytest.raises(InvalidInputError, match=match):
        choosing.parse_numbers(text)


def test_a_number_that_is_none_exits_2(fairclust):
    people().write_csv("people.csv")
    code, _, noted = fairclust("fit", "people.csv", *WEIGHTED, "-k", "ten")
    assert code == 2
    assert "neither a number nor 'auto'" in noted


def test_empty_cells_cost_nothing_where_that_is_asked_for(fairclust):
    people(gaps=0.1).write_csv("people.csv")
    arguments = (*WEIGHTED, "-k", 3, "--out", "labels.csv", "--report", "r.html")
    code, _, noted = fairclust("fit", "people.csv", *arguments, "--model", "m.fairclust", "--missing", "observed")
    assert code == 0, noted
    assert "Empty cells cost nothing" in noted
    labels = polars.read_csv("labels.csv")["cluster"].to_numpy()
    assert len({(kind, label) for kind, label in zip(np.arange(150) % 3, labels, strict=True)}) == 3
    predict = ("predict", "people.csv", "--model", "m.fairclust", "--missing", "observed", "--out", "again.csv")
    assert fairclust(*predict)[0] == 0
    assert (polars.read_csv("again.csv")["cluster"].to_numpy() == labels).mean() > 0.98
    code, _, noted = fairclust(
        "fit", "people.csv", *arguments, "--missing", "observed", "--objective", "ncut", "--force"
    )
    assert code == 2
    assert "--missing observed needs --objective kmeans" in noted
    code, _, noted = fairclust("fit", "people.csv", *arguments, "--force")
    assert code == 2
    assert "--missing observed to count what is there" in noted


def test_a_rare_category_does_not_become_a_cluster(fairclust):
    rng = np.random.default_rng(0)
    rare = np.where(np.arange(300) < 6, "rare", rng.choice(["a", "b", "c"], 300))
    polars.DataFrame(
        {"x": rng.normal(size=300), "y": rng.normal(size=300), "purpose": rare, "sex": rng.choice(["F", "M"], 300)}
    ).write_csv("people.csv")
    code, _, _ = fairclust(
        "fit", "people.csv", "--sensitive", "sex", "--encode", "all", "-k", 3, "--fairness-weight", 0, "--json",
        "--out", "labels.csv",
    )  # fmt: skip
    assert code == 0
    found = polars.read_csv("labels.csv")
    together = found.filter(polars.col("purpose") == "rare")["cluster"].mode()[0]
    assert (found["cluster"] == together).sum() > 30


def test_a_column_that_looks_like_an_outcome_is_warned_of(fairclust):
    people(credit_risk=np.arange(150) % 2).write_csv("people.csv")
    fit = ("fit", "people.csv", "--sensitive", "sex", "-k", 3, "--fairness-weight", 1)
    _, _, noted = fairclust(*fit)
    assert "Features: age, income, credit_risk." in noted
    assert "credit_risk looks like an outcome" in noted
    assert "--exclude credit_risk" in noted
    assert "looks like an outcome" not in fairclust(*fit, "--exclude", "credit_risk")[2]
    assert "looks like an outcome" not in fairclust(*fit, "--features", "age,credit_risk")[2]
