"""``fairclust fit`` beyond memory: by itself when the file does not fit, when asked to, and on a Dask cluster."""

from __future__ import annotations

import json

import numpy as np
import pytest

from fairclust import FairKMeans, Penalty
from fairclust.scaling import ParquetBlocks

polars = pytest.importorskip("polars", reason="the command line needs the extra 'cli'")
pytest.importorskip("typer", reason="the command line needs the extra 'cli'")
pq = pytest.importorskip("pyarrow.parquet")

from fairclust.cli import main, streaming  # noqa: E402 - after the skips


@pytest.fixture
def people(tmp_path, monkeypatch):
    """2,000 people in a Parquet file of three row groups; commands run beside it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    rng = np.random.default_rng(0)
    blob = rng.integers(3, size=2_000)
    frame = polars.DataFrame(
        {
            "age": 40 + 10 * blob + rng.normal(size=2_000),
            "income": 1000.0 * blob + 300 * rng.normal(size=2_000),
            "sex": np.where(rng.random(2_000) < 0.3 + 0.2 * blob, "F", "M"),
            "town": rng.choice(["north", "south"], 2_000),
        }
    )
    frame.write_parquet("people.parquet", row_group_size=700)
    return frame


@pytest.fixture
def fairclust(capsys):
    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return ended.value.code or 0, captured.out, " ".join(captured.err.split())

    return run


FIT = ("fit", "people.parquet", "--sensitive", "sex", "-k", 3, "--fairness-weight", 50, "--out", "out.parquet")


def test_medoids_are_found_block_by_block(people, fairclust):
    code, out, _ = fairclust(*FIT, "--out-of-core", "--objective", "kmedian")
    assert code == 0
    assert "fair K-median" in out
    assert set(polars.read_parquet("out.parquet")["cluster"]) == {0, 1, 2}


def test_rows_come_back_in_order_with_the_cluster_of_the_library(people, fairclust, tmp_path):
    code, out, _ = fairclust(*FIT, "--out-of-core", "--json")
    assert code == 0
    written = polars.read_parquet("out.parquet")
    assert written.drop("cluster").equals(people)
    summary = json.loads(out)
    assert summary["n_rows"] == 2000
    assert summary["features"] == ["age", "income"]
    mean, std = people["age"].mean(), people["age"].std(ddof=0)
    other = people["income"]
    blocks = ParquetBlocks(
        "people.parquet",
        columns=["age", "income"],
        offset=np.array([mean, other.mean()]),
        scale=np.array([std, other.std(ddof=0)]),
    )
    model = FairKMeans(3, goal=Penalty(50), random_state=0).fit(blocks, sensitive_features="sex")
    np.testing.assert_array_equal(written["cluster"].to_numpy(), model.labels_)
    counts = np.array(summary["audit"]["clusters"][0]["counts"])
    assert counts.sum() == (model.labels_ == 0).sum()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out.parquet", "people.parquet"]


def test_the_result_is_that_of_a_fit_in_memory(people, fairclust):
    assert fairclust(*FIT, "--in-memory")[0] == 0
    in_memory = polars.read_parquet("out.parquet")["cluster"]
    assert fairclust(*FIT, "--out-of-core", "--force")[0] == 0
    assert (polars.read_parquet("out.parquet")["cluster"] != in_memory).sum() <= 2


def test_a_file_that_does_not_fit_is_read_block_by_block_without_being_asked(people, fairclust, monkeypatch):
    assert "block by block" not in fairclust(*FIT)[2]
    monkeypatch.setattr(streaming, "free_memory", lambda: 10_000.0)
    code, out, err = fairclust(*FIT, "--force")
    assert code == 0
    assert "people.parquet: 2000 rows, read block by block." in err
    assert "3 clusters, fair K-means" in out


def test_a_directory_of_files_is_one_table_and_several_attributes_work(people, fairclust, tmp_path):
    (tmp_path / "parts").mkdir()
    people[:1500].write_parquet("parts/a.parquet")
    people[1500:].write_parquet("parts/b.parquet")
    code, out, _ = fairclust("fit", "parts", "--sensitive", "sex,town", "-k", 2, "--out", "out.parquet")
    assert code == 0
    assert polars.read_parquet("out.parquet").drop("cluster").equals(people)
    assert "north" in out


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--report", "r.html"), "--report needs all rows in memory"),
        (("--objective", "ncut"), "--objective ncut needs all rows in memory"),
        (("--out", "out.csv"), "written as .parquet only"),
        (("--sensitive", "sxe"), "column 'sxe' (--sensitive) is not in people.parquet. Did you mean 'sex'?"),
    ],
)
def test_what_cannot_be_done_block_by_block_exits_2(people, fairclust, more, told):
    code, _, err = fairclust(*FIT, "--out-of-core", *more)
    assert code == 2
    assert told in err


def test_a_csv_file_is_told_how_to_become_parquet(people, fairclust):
    people.write_csv("people.csv")
    code, _, err = fairclust("fit", "people.csv", "--sensitive", "sex", "-k", 3, "--out-of-core")
    assert code == 2
    assert "sink_parquet" in err


def test_no_scheduler_at_the_address_exits_1(people, fairclust):
    dask = pytest.importorskip("dask")
    pytest.importorskip("distributed")
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        code, _, err = fairclust(*FIT, "--dask", "tcp://127.0.0.1:9")
    assert code == 1
    assert "no Dask scheduler answers there" in err


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_a_cluster_writes_what_one_process_writes(people, fairclust):
    distributed = pytest.importorskip("distributed")
    assert fairclust(*FIT, "--out-of-core")[0] == 0
    alone = polars.read_parquet("out.parquet")
    with distributed.LocalCluster(n_workers=2, processes=False, protocol="tcp", dashboard_address=":0") as cluster:
        code, _, err = fairclust(*FIT, "--force", "--dask", cluster.scheduler_address)
    assert code == 0, err
    assert polars.read_parquet("out.parquet").equals(alone)
