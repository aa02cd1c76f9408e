"""Processes stopped at any moment, full disks, closed directories: an exit code, a sentence, nothing half done."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import polars
import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and limits are those of POSIX")

SCRIPT = "from fairclust.cli import main; print('ready', flush=True); main()"
FIT = ("--sensitive", "sex", "-k", "3", "--max-fairness-error", "0.05", "--n-init", "2")
COMMANDS = {
    "fit": ("fit", "p.csv", *FIT, "--out", "out.csv", "--model", "m.fairclust", "--force"),
    "fit out of core": ("fit", "p.parquet", *FIT, "--out", "out.parquet", "--out-of-core", "--force"),
    "path": ("path", "p.csv", "--sensitive", "sex", "-k", "3", "--weights", "0,10,100", "--out", "out.csv", "--force"),
    "reproduce": ("reproduce", "table2", "--quick", "--seeds", "1", "--out", "results"),
}
ENDS = {signal.SIGINT: {130, -signal.SIGINT}, signal.SIGTERM: {143, -signal.SIGTERM}, signal.SIGKILL: {-signal.SIGKILL}}
INPUTS = {"p.csv", "p.parquet"}
N_ROWS = 4000


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    side = rng.integers(0, 2, N_ROWS)
    sex = np.where(rng.random(N_ROWS) < 0.3 + 0.4 * side, "F", "M")
    return polars.DataFrame({"a": rng.normal(size=N_ROWS) + side, "b": rng.normal(size=N_ROWS), "sex": sex})


@pytest.fixture
def desk(table, tmp_path):
    table.write_csv(tmp_path / "p.csv")
    table.write_parquet(tmp_path / "p.parquet", row_group_size=1000)
    return tmp_path


def _start(desk, command, **options):
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *COMMANDS[command]],
        cwd=desk, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"}, **options,
    )  # fmt: skip


def _stopped(desk, command, number, delay):
    """Send a signal so long after the start; exit code, and what was said on stderr."""
    with _start(desk, command) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(delay)
        process.send_signal(number)
        _, said = process.communicate(timeout=120)
        return process.returncode, said


def _assert_whole(desk, said=""):
    """Every file that a run is to write is whole, or is not there."""
    for out in desk.glob("out.*"):
        written = polars.read_csv(out) if out.suffix == ".csv" else polars.read_parquet(out)
        assert written.height in (N_ROWS, 3), said
        assert written.null_count().sum_horizontal()[0] == 0
    if (desk / "m.fairclust").exists():
        import fairclust

        assert len(fairclust.load(desk / "m.fairclust").labels_) == N_ROWS
    for kept in (desk / "results").rglob("*.json"):
        assert kept.read_text().rstrip().endswith("}")


def _hidden(desk):
    return sorted(str(path.relative_to(desk)) for path in desk.rglob(".*"))


def _check(desk, command, number, delay):
    code, said = _stopped(desk, command, number, delay)
    assert code in {0, *ENDS[number]}, (code, delay, said)
    # Python prints what it cannot raise: a signal within a callback of its own, or while it shuts down.
    assert "Traceback" not in said or "Exception ignored" in said, (delay, said)
    _assert_whole(desk, said)
    if number != signal.SIGKILL:
        assert not _hidden(desk), (delay, said)
    if code in (130, 143):
        assert said.strip(), delay  # a word, at least
    return code


def _check_cleared(desk, command):
    """The next run does its work, and clears what a killed one left."""
    time.sleep(1.1)  # what is younger may be another process's
    with _start(desk, command) as process:
        _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    assert not _hidden(desk)
    _assert_whole(desk)
    assert {path.name for path in desk.iterdir()} <= INPUTS | {"out.csv", "out.parquet", "m.fairclust", "results"}


@pytest.mark.parametrize("number", ENDS, ids=lambda number: number.name)
def test_a_signal_during_a_fit_leaves_nothing_half_done(desk, number):
    delay = {signal.SIGINT: 0.3, signal.SIGTERM: 1.0, signal.SIGKILL: 1.5}[number]
    _check(desk, "fit out of core", number, delay)


@pytest.mark.slow
@pytest.mark.parametrize("number", ENDS, ids=lambda number: number.name)
@pytest.mark.parametrize("command", COMMANDS)
def test_twenty_signals_at_random_times_leave_nothing_half_done(desk, command, number):
    began = time.monotonic()
    with _start(desk, command) as process:
        process.communicate(timeout=600)
    assert process.returncode == 0
    lasts = time.monotonic() - began
    rng = np.random.default_rng(int(number))
    codes = []
    for delay in rng.uniform(0.02, 1.05 * lasts, 20):
        for path in (*desk.glob("out.*"), *desk.glob("*.fairclust")):
            path.unlink()
        if command == "reproduce":  # else everything is there already
            for path in (desk / "results").rglob("*.json"):
                path.unlink()
        codes.append(_check(desk, command, number, float(delay)))
    assert set(codes) & ENDS[number], codes
    _check_cleared(desk, command)


def test_ctrl_c_before_the_command_runs_is_told_too(monkeypatch, capsys):
    import fairclust.cli.app
    from fairclust.cli import main

    def stopped(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(fairclust.cli.app, "app", stopped)
    with pytest.raises(SystemExit, match="130"):
        main(["fit"])
    assert "Stopped. No file was left half written." in capsys.readouterr().err


# --- no room, no right ------------------------------------------------------------------------------------------------


def test_a_limit_on_file_sizes_is_told_and_leaves_nothing(desk):
    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))

    with _start(desk, "fit out of core", preexec_fn=limited) as process:
        _, said = process.communicate(timeout=300)
    assert process.returncode == 1, said
    assert "Traceback" not in said
    assert "too large" in said.lower()
    assert {path.name for path in desk.iterdir()} == INPUTS


def _mounted(desk, command, mount):
    """Run a command where a file system was mounted for it alone; exit code, what was said, and what is there then."""
    script = f'{mount} || exit 77; "$@"; code=$?; ls -A "$PLACE" > left; exit $code'
    run = ["unshare", "-m", "sh", "-c", script, "sh", sys.executable, "-c", SCRIPT, *command]
    (desk / "place").mkdir()
    environment = {**os.environ, "PLACE": str(desk / "place"), "OMP_NUM_THREADS": "1"}
    try:
        ended = subprocess.run(
            run, cwd=desk, env=environment, capture_output=True, text=True, timeout=300, check=False
        )  # fmt: skip
    except FileNotFoundError:
        pytest.skip("there is no unshare")
    if ended.returncode in (77, 1) and not ended.stdout.startswith("ready"):
        pytest.skip("no file system may be mounted here")
    return ended.returncode, ended.stderr, (desk / "left").read_text().split()


OUTS = {
    "fit": ("fit", "p.csv", *FIT, "--out", "place/out.csv"),
    "fit out of core": ("fit", "p.parquet", *FIT, "--out", "place/out.parquet", "--out-of-core"),
}


@pytest.mark.slow
@pytest.mark.parametrize("command", OUTS)
def test_a_full_disk_is_told_and_leaves_nothing(desk, command):
    code, said, left = _mounted(desk, OUTS[command], 'mount -t tmpfs -o size=16k none "$PLACE"')
    assert code == 1, said
    assert "Traceback" not in said
    assert "no space left" in said.lower()
    assert not left


@pytest.mark.slow
@pytest.mark.parametrize("command", OUTS)
def test_a_directory_that_may_not_be_written_is_told(desk, command):
    mount = 'mount -t tmpfs none "$PLACE" && mount -o remount,ro "$PLACE"'
    code, said, left = _mounted(desk, OUTS[command], mount)
    assert code in (1, 2), said
    assert "Traceback" not in said
    assert "read-only" in said.lower()
    assert not left
