"""The command line, run as a new user would: by what is typed and what comes back."""

from __future__ import annotations

import builtins
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("typer", reason="the command line needs the extra 'cli'")

from fairclust.cli import main


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
        monkeypatch.setattr(builtins, "__import__", importing)

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
    assert not Path("elsewhere").exists()


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
