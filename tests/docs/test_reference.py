"""The reference: every public name has its place in it and an example, which the doctests run."""

from __future__ import annotations

import importlib
import inspect
import re
import runpy
from pathlib import Path

import pytest

import fairclust

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "api"
MODULES = [
    "goals", "solvers", "metrics", "datasets", "baselines", "graphs", "plotting", "report", "scaling", "errors",
]  # fmt: skip
# Exported for the estimators and the command line, which live in other packages; not for users.
PLUMBING = {
    "BlockData",
    "best_centers",
    "check_extras",
    "feature_moments",
    "plain_centers",
    "read_goal",
    "StreamedKMeans",
    "StreamedKMedian",
    "InBlocks",
    "StreamedTable",
    "as_blocks",
    "fits_in_memory",
    "large_array",
    "open_blocks",
    "streamed_starts",
}


def public_names():
    """Dotted names behind ``fairclust.`` of everything that a user may import, once each."""
    found = {}
    for module in ["", *MODULES]:
        at = importlib.import_module(f"fairclust.{module}".rstrip("."))
        for name in at.__all__:
            thing = getattr(at, name)
            if callable(thing) and name not in PLUMBING:
                found.setdefault(thing, f"{module}.{name}".lstrip("."))
    return {name: thing for thing, name in found.items()}


PUBLIC = public_names()


def test_reference_lists_every_public_name_and_no_other():
    text = "\n".join(page.read_text(encoding="utf-8") for page in sorted(REFERENCE.glob("*.md")))
    listed = set()
    for block in re.findall(r"\.\. autosummary::\n   :toctree: generated/\n\n(.*?)```", text, re.DOTALL):
        listed |= set(block.split())
    assert listed == set(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name_has_an_example(name):
    assert ">>> " in inspect.getdoc(PUBLIC[name]), f"fairclust.{name} has no example"


def test_commands_of_the_command_line_are_all_shown():
    pytest.importorskip("typer", reason="the commands need the extra 'cli'")
    from fairclust.cli.app import app

    page = (REFERENCE / "cli.md").read_text(encoding="utf-8")
    commands = {command.name or command.callback.__name__ for command in app.registered_commands}
    assert set(re.findall(r"\{command-help\} (\w+)", page)) == commands


def test_version_is_the_same_everywhere():
    root = REFERENCE.parents[1]
    stated = re.findall(r'^version = "(.*)"', (root / "pyproject.toml").read_text(), re.MULTILINE)
    cited = re.findall(r"^version: (.*)", (root / "CITATION.cff").read_text(), re.MULTILINE)
    assert stated == cited == [fairclust.__version__]


def test_table_of_goals_has_a_row_for_each():
    pytest.importorskip("sphinx", reason="the table is a directive of the site")
    from fairclust.goals import GOALS

    rows = runpy.run_path(str(REFERENCE.parent / "_ext" / "goal_table.py"))["goal_rows"]()
    calls = [eval(call, {name: getattr(fairclust, name) for name in fairclust.__all__}) for call, *_ in rows]
    assert [type(goal) for goal in calls] == list(GOALS.values())
    assert [typed.split()[0] for *_, typed in rows] == [f"--{option}" for option in GOALS]
