"""The glossary: one idea, one name. Every name in code letters is one that the code uses."""

from __future__ import annotations

import re
from pathlib import Path

import fairclust

ROOT = Path(__file__).parents[2]
CODE = "\n".join(path.read_text(encoding="utf-8") for path in Path(fairclust.__file__).parent.rglob("*.py"))
WORDS = set(re.findall(r"\w+", CODE))


def names():
    """Names in code letters in the second column of the table."""
    rows = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines()
    columns = [row.split("|")[2] for row in rows if row.startswith("| ") and row.count("|") >= 4]
    return sorted({name for column in columns for name in re.findall(r"`([^`]+)`", column)})


def test_every_name_of_the_glossary_is_in_the_code():
    assert {"masses", "prices", "goal", "fairness_weight"} <= set(names())
    assert set(names()) <= WORDS
