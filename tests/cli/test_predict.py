"""``fairclust fit --model`` and ``fairclust predict``: the same table gets the same labels, new rows get theirs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars
import pytest

import fairclust as library
from fairclust.cli import main


@dataclass(frozen=True)
class Outcome:
    code: int
    said: str
    noted: str


@pytest.fixture
def fairclust(capsys, tmp_path, monkeypatch):
    """Run a command inside an empty directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), out, " ".join(err.split()))

    return run


def people(n=300, seed=0):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, n)
    return polars.DataFrame({
        "income": rng.normal(3.0 + 4.0 * kind, 1.0),
        "age": rng.normal(40.0 - 10.0 * kind, 8.0),
        "town": np.where(rng.random(n) < 0.3 + 0.3 * kind, "north", "south"),
        "sex": np.where(rng.random(n) < 0.3 + 0.4 * kind, "F", "M"),
    })  # fmt: skip


FIT = ("fit", "people.csv", "--sensitive", "sex", "-k", "3", "--model", "m.fairclust", "--out", "fitted.csv",
       "--fairness-weight", "20")  # fmt: skip


@pytest.mark.parametrize("more", [(), ("--encode", "town"), ("--no-standardize",)], ids=["", "encode", "as they are"])
def test_the_rows_of_the_fit_get_their_labels_again(fairclust, more):
    people().write_csv("people.csv")
    assert fairclust(*FIT, *more).code == 0
    outcome = fairclust("predict", "people.csv", "--model", "m.fairclust", "--out", "again.csv")
    assert outcome.code == 0
    assert "fairness error" in outcome.said
    fitted, again = (polars.read_csv(name)["cluster"].to_numpy() for name in ("fitted.csv", "again.csv"))
    assert (fitted == again).mean() > 0.99  # points on the border apart: a penalty moves no single rows


def test_new_rows_are_standardised_by_the_old(fairclust):
    people().write_csv("people.csv")
    assert fairclust(*FIT).code == 0
    people(seed=1).write_csv("new.csv")
    people(seed=1).head(1).write_csv("one.csv")
    assert fairclust("predict", "new.csv", "--model", "m.fairclust", "--out", "a.csv").code == 0
    assert fairclust("predict", "one.csv", "--model", "m.fairclust", "--out", "b.csv").code == 0
    assert polars.read_csv("a.csv")["cluster"][0] == polars.read_csv("b.csv")["cluster"][0]


def test_a_batch_meets_the_goal_of_the_fit(fairclust):
    people().write_csv("people.csv")
    fit = (*FIT[:-2], "--max-fairness-error", "0.005")
    assert fairclust(*fit).code == 0
    people(600, seed=2).write_csv("new.csv")
    outcome = fairclust("predict", "new.csv", "--model", "m.fairclust", "--batch", "--json")
    assert outcome.code == 0
    found = json.loads(outcome.said)
    assert sum(found["sizes"]) == 600
    assert max(cluster["fairness_error"] for cluster in found["audit"]["clusters"]) <= 0.005


def test_columns_may_come_in_another_order_and_with_others(fairclust):
    people().write_csv("people.csv")
    assert fairclust(*FIT).code == 0
    people().select("sex", polars.lit(1).alias("new"), "town", "age", "income").write_csv("other.csv")
    assert fairclust("predict", "people.csv", "--model", "m.fairclust", "--out", "a.csv").code == 0
    assert fairclust("predict", "other.csv", "--model", "m.fairclust", "--out", "b.csv").code == 0
    assert (polars.read_csv("a.csv")["cluster"] == polars.read_csv("b.csv")["cluster"]).all()


def test_gaps_are_told_dropped_or_filled_as_in_the_fit(fairclust):
    table = people().with_columns(
        income=polars.when(polars.int_range(polars.len()) % 7 == 0).then(None).otherwise(polars.col("income"))
    )
    table.write_csv("people.csv")
    assert fairclust(*FIT, "--missing", "impute").code == 0
    told = fairclust("predict", "people.csv", "--model", "m.fairclust")
    assert told.code == 2
    assert "missing values (income: 43)" in told.noted
    assert fairclust("predict", "people.csv", "--model", "m.fairclust", "--missing", "drop", "--out", "d.csv").code == 0
    assert polars.read_csv("d.csv")["cluster"].null_count() == 43
    filled = fairclust("predict", "people.csv", "--model", "m.fairclust", "--missing", "impute", "--out", "i.csv")
    assert filled.code == 0
    fitted, again = (polars.read_csv(name)["cluster"].to_numpy() for name in ("fitted.csv", "i.csv"))
    assert (fitted == again).mean() > 0.99


def test_without_groups_the_nearest_centre_is_taken(fairclust):
    people().write_csv("people.csv")
    assert fairclust(*FIT).code == 0
    people().drop("sex").write_csv("new.csv")
    told = fairclust("predict", "new.csv", "--model", "m.fairclust")
    assert told.code == 2
    assert "column 'sex'" in told.noted
    assert "--no-groups" in told.noted
    assert fairclust("predict", "new.csv", "--model", "m.fairclust", "--no-groups", "--out", "a.csv").code == 0


def test_a_model_saved_in_python_labels_the_columns_it_was_fitted_on(fairclust):
    table = people()
    model = library.FairKMeans(3, random_state=0, goal=library.Penalty(5.0))
    model.fit(table.select("income", "age"), sensitive_features=table["sex"]).save("m.fairclust")
    table.write_csv("people.csv")
    assert fairclust("predict", "people.csv", "--model", "m.fairclust", "--out", "a.csv").code == 0
    expected = model.predict(table.select("income", "age"), table["sex"])
    assert (polars.read_csv("a.csv")["cluster"].to_numpy() == expected).all()


def test_ranges_of_a_column_of_numbers_are_those_of_the_fit(fairclust):
    people().write_csv("people.csv")
    fit = ("fit", "people.csv", "--sensitive", "age", "--bins", "age=3", "--features", "income", "-k", "2")
    assert fairclust(*fit, "--model", "m.fairclust", "--fairness-weight", "5").code == 0
    people(30, seed=3).write_csv("new.csv")
    outcome = fairclust("predict", "new.csv", "--model", "m.fairclust", "--json")
    assert outcome.code == 0
    assert sum(json.loads(outcome.said)["sizes"]) == 30


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("predict", "people.csv", "--model", "people.csv"), "no fairclust model"),
        (("predict", "people.csv", "--model", "nothing"), "is no file"),
        (("predict", "people.csv", "--model", "ncut.fairclust"), "has no centres"),
        (("predict", "text.csv", "--model", "m.fairclust"), "holds no numbers"),
        (("predict", "strange.csv", "--model", "m.fairclust"), "which fit() did not see"),
        (("predict", "narrow.csv", "--model", "m.fairclust"), "column 'income'"),
        (("predict", "people.csv", "--model", "m.fairclust", "--out", "m.fairclust", "--force"), "file that is read"),
        (("predict", "fitted.csv", "--model", "m.fairclust"), "has a column 'cluster' already"),
        (("fit", "people.csv", "--sensitive", "sex", "-k", "2", "--out", "x", "--model", "x"), "both name"),
    ],
)
def test_what_is_wrong_exits_2_with_a_sentence(fairclust, arguments, message):
    table = people()
    table.write_csv("people.csv")
    table.with_columns(income=polars.lit("much")).write_csv("text.csv")
    table.with_columns(sex=polars.lit("X")).write_csv("strange.csv")
    table.select("age", "sex").write_csv("narrow.csv")
    assert fairclust(*FIT).code == 0
    library.FairNCut(2, random_state=0).fit(table.select("income"), sensitive_features=table["sex"]).save(
        "ncut.fairclust"
    )
    outcome = fairclust(*arguments)
    assert outcome.code == 2
    assert message in outcome.noted


def test_a_model_of_rows_read_block_by_block_labels_them_again(fairclust):
    pytest.importorskip("pyarrow")
    people(2000).write_parquet("people.parquet")
    fit = ("fit", "people.parquet", "--sensitive", "sex", "-k", "3", "--fairness-weight", "20", "--out-of-core")
    assert fairclust(*fit, "--model", "m.fairclust", "--out", "fitted.parquet").code == 0
    assert fairclust("predict", "people.parquet", "--model", "m.fairclust", "--out", "a.parquet").code == 0
    fitted, again = (polars.read_parquet(name)["cluster"].to_numpy() for name in ("fitted.parquet", "a.parquet"))
    assert (fitted == again).mean() > 0.99
    assert not list(Path().glob(".fairclust-*"))
