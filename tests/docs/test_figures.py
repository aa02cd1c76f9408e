"""Figures and formats that the pages promise, held against the program."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import oracles

ROOT = Path(__file__).resolve().parents[2]


def test_what_001_means_is_what_the_table_says():
    table = re.findall(r"^\| (\d+) % \| (.*) \|$", (ROOT / "docs" / "faq.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(table) == 4
    for share, cells in table:
        target = int(share) / 100
        for cell, allowed in zip(cells.split(" | "), [0.1, 0.01, 0.001], strict=True):
            for end in map(float, re.findall(r"[\d.]+", cell)):
                error, nearby = oracles.kl(
                    [target, 1 - target], np.array([[end, 100 - end], [end + 0.05, 99.95 - end]])
                )
                assert abs(error - allowed) <= abs(nearby - error) + 1e-12, f"{share} %: {cell}"


@pytest.mark.parametrize("command", ["audit", "fit", "path", "choose"])
def test_json_of_the_command_follows_its_schema(command, tmp_path):
    jsonschema = pytest.importorskip("jsonschema", reason="schemas need jsonschema, which the extra 'report' brings")
    testing = pytest.importorskip("typer.testing", reason="the commands need the extra 'cli'")
    from fairclust.cli.app import app

    customers = str(ROOT / "examples" / "customers.csv")
    options = {
        "audit": ["--labels", "region"],
        "fit": ["-k", "3", "--missing", "drop", "--out", str(tmp_path / "labels.csv")],
        "path": ["-k", "3", "--missing", "drop"],
        "choose": ["-k", "2,3", "--missing", "drop"],
    }
    done = testing.CliRunner().invoke(app, [command, customers, "--sensitive", "sex", "--json", *options[command]])
    assert done.exit_code == 0, done.output
    schemas = ROOT / "docs" / "api" / "schemas"
    jsonschema.validate(json.loads(done.stdout), json.loads((schemas / f"{command}.schema.json").read_text()))
