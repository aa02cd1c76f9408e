"""Files that are damaged, huge or wicked: one sentence, exit code 2, nothing written."""

from __future__ import annotations

import gzip
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars
import pytest

from fairclust._files import atomic, scratch_directory
from fairclust.cli import main, tables

FIT = ("--sensitive", "sex", "-k", "2", "--fairness-weight", "1")


@pytest.fixture
def fairclust(capfd, tmp_path, monkeypatch):
    """Run a command inside an empty directory; exit code, and what was said on stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return int(ended.value.code or 0), out, " ".join(err.split())

    return run


def people(n=200):
    rng = np.random.default_rng(0)
    return polars.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "sex": rng.choice(["F", "M"], n)})


def _refused(outcome):
    code, _, noted = outcome
    assert code == 2, noted
    assert "Error: " in noted
    assert "Traceback" not in noted
    assert "--debug" not in noted
    assert not list(Path().glob("out*"))


@pytest.mark.parametrize("how", [(), ("--out-of-core",)], ids=["in memory", "out of core"])
@pytest.mark.parametrize("n_bytes", [4, 100, 1000, -1, -8])
def test_a_truncated_parquet_file_is_told(fairclust, how, n_bytes):
    pytest.importorskip("pyarrow")
    people().write_parquet("p.parquet")
    Path("p.parquet").write_bytes(Path("p.parquet").read_bytes()[:n_bytes])
    _refused(fairclust("fit", "p.parquet", *FIT, "--out", "out.parquet", *how))


@pytest.mark.parametrize("how", [(), ("--out-of-core",)], ids=["in memory", "out of core"])
def test_flipped_bytes_of_a_parquet_file_are_told_or_read_as_numbers(fairclust, how):
    pytest.importorskip("pyarrow")
    people().write_parquet("p.parquet")
    whole, rng = Path("p.parquet").read_bytes(), np.random.default_rng(1)
    codes = set()
    for place in rng.integers(4, len(whole), 40):
        raw = bytearray(whole)
        raw[place] ^= int(rng.integers(1, 256))
        Path("p.parquet").write_bytes(raw)
        code, _, noted = fairclust("fit", "p.parquet", *FIT, *how)
        assert code in (0, 2), (place, noted)
        assert "Traceback" not in noted
        codes.add(code)
    assert 2 in codes


@pytest.mark.parametrize("n_bytes", [20, 500, -1, -9])
def test_a_truncated_gz_is_told(fairclust, n_bytes):
    Path("p.csv.gz").write_bytes(gzip.compress(people().write_csv().encode())[:n_bytes])
    _refused(fairclust("fit", "p.csv.gz", *FIT, "--out", "out.csv"))


def test_a_damaged_gz_is_told(fairclust):
    raw = bytearray(gzip.compress(people().write_csv().encode()))
    raw[len(raw) // 2] ^= 255
    Path("p.csv.gz").write_bytes(raw)
    _refused(fairclust("fit", "p.csv.gz", *FIT, "--out", "out.csv"))


def test_a_gz_that_unpacks_to_more_than_there_is_room_for_is_refused(fairclust, monkeypatch):
    Path("p.csv.gz").write_bytes(gzip.compress(people(50_000).write_csv().encode()))
    monkeypatch.setattr(tables, "free_memory", lambda: 4e6)
    monkeypatch.setattr(tables, "_UNPACKED_AT_ONCE", 1 << 16)
    outcome = fairclust("fit", "p.csv.gz", *FIT, "--out", "out.csv")
    _refused(outcome)
    assert "unpacks to more than 1 MB" in outcome[2]


@pytest.mark.parametrize(
    "line", [2, pytest.param(150, marks=pytest.mark.slow)], ids=["at the beginning", "further down"]
)
def test_a_cell_of_thirty_megabytes_is_told_or_read(fairclust, line):
    rows = people().write_csv().splitlines()
    rows[line] = f'1.0,2.0,"{"x" * 30_000_000}'
    Path("p.csv").write_text("\n".join(rows))
    _refused(fairclust("fit", "p.csv", *FIT, "--out", "out.csv"))


WICKED = ["=1+1", "@x", "+cmd|calc", "-2+3", "\t=1", "|calc", "=HYPERLINK(1)"]
TAME = ["a=b", "-3.5", "+1e5", "12%", "x@y.org", "", "'=1"]


def _wicked():
    table = people(14)
    return table.with_columns(polars.Series("note", WICKED + TAME), polars.Series("=cmd", ["a"] * 14))


def test_formulas_come_back_as_they_went_in_and_are_told(fairclust):
    _wicked().write_csv("p.csv")
    code, _, noted = fairclust("fit", "p.csv", *FIT, "--features", "a,b", "--out", "out.csv")
    assert code == 0
    assert f"{len(WICKED) + 1} cells or names begin with" in noted
    assert polars.read_csv("out.csv")["note"].to_list() == polars.read_csv("p.csv")["note"].to_list()


def test_safe_csv_marks_formulas_and_nothing_else(fairclust):
    _wicked().write_csv("p.csv")
    code, _, noted = fairclust("fit", "p.csv", *FIT, "--features", "a,b", "--out", "out.csv", "--safe-csv")
    assert code == 0
    assert "begin with an apostrophe now" in noted
    written = polars.read_csv("out.csv")
    assert written["note"].to_list()[: len(WICKED)] == [f"'{text}" for text in WICKED]
    assert written["note"].to_list()[len(WICKED) :] == TAME
    assert "'=cmd" in written.columns
    assert written["a"].to_list() == polars.read_csv("p.csv")["a"].to_list()


def test_an_out_that_is_a_link_is_written_through(fairclust):
    people().write_csv("p.csv")
    Path("place").mkdir()
    Path("place/real.csv").write_text("old")
    Path("out.csv").symlink_to("place/real.csv")
    assert fairclust("fit", "p.csv", *FIT, "--out", "out.csv", "--force")[0] == 0
    assert Path("out.csv").is_symlink()
    assert polars.read_csv("place/real.csv").height == 200


@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
def test_a_limit_on_file_sizes_is_told_and_leaves_nothing(tmp_path, out):
    people(20_000).write_csv(tmp_path / "p.csv")
    run = "import sys; from fairclust.cli import main; main(sys.argv[1:])"

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    ended = subprocess.run(
        [sys.executable, "-c", run, "fit", "p.csv", *FIT, "--out", out],
        cwd=tmp_path, preexec_fn=limited, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ended.returncode == 1, ended.stderr
    assert "Traceback" not in ended.stderr
    assert "too large" in ended.stderr.lower()
    assert [path.name for path in tmp_path.iterdir()] == ["p.csv"]


# --- what killed processes leave --------------------------------------------------------------------------------------


def test_the_next_run_clears_what_a_killed_one_left(tmp_path):
    script = (
        "import os, sys; from pathlib import Path; from fairclust._files import atomic, scratch_directory\n"
        "with scratch_directory(Path('.')) as folder, atomic(Path('out.csv')) as temporary:\n"
        "    (folder / 'big').write_text('x'); temporary.write_text('half')\n"
        "    os.utime(temporary, (0, 0)); print('ready', flush=True); sys.stdin.read()\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "ready\n"
    with scratch_directory(tmp_path), atomic(tmp_path / "out.csv") as own:
        own.write_text("whole")
    assert len(list(tmp_path.glob(".*"))) == 2  # the living one's: nobody touches them
    child.kill()
    child.communicate()
    with scratch_directory(tmp_path), atomic(tmp_path / "out.csv") as own:
        own.write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_a_file_with_stars_in_its_name_clears_its_own_leftovers_only(tmp_path):
    for name in (".a*b.x1.tmp", ".aXb.x1.tmp"):
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (0, 0))
    with atomic(tmp_path / "a*b") as own:
        own.write_text("whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".aXb.x1.tmp", "a*b"]


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="what is mapped is read from /proc")
def test_a_limit_on_the_memory_of_the_process_counts():
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (mapped + 10**9, limits[1]))
    try:
        assert 0 < tables.free_memory() <= 10**9
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


def test_names_come_back_as_they_went_in_also_beside_an_empty_one(tmp_path):
    header = '"a ""b""",,"c, d",e'
    (tmp_path / "p.csv").write_text(f"{header}\n1,2,3,4\n5,6,7,8\n")
    table = tables.read_table(tmp_path / "p.csv")
    assert table.frame.columns == ['a "b"', "", "c, d", "e"]
    tables.write_table(table.frame, tmp_path / "out.csv", table.dialect)
    assert (tmp_path / "out.csv").read_text().splitlines()[0] == header
