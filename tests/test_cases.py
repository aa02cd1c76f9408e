"""Tests reach what lies behind the public names through one module, and test their own part."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parent
DOOR = ["cases.py", "internals.py"]
# Parts that tests of their own may import, by file or folder. All other private names are asked for in internals.py.
OWN = {
    "fairclust._audit": ["audit"],
    "fairclust._checks": ["test_checks.py"],
    "fairclust._core": ["core", "fuzz", "golden", "test_import.py"],
    "fairclust._files": ["cli"],
    "fairclust._memory": ["test_memory.py", "test_pages.py"],
    "fairclust._model_files": ["models"],
    "fairclust._numbers": ["numbers"],
    "fairclust._people": ["people", "laws/test_people_laws.py"],
    "fairclust._table": ["laws/test_gower_laws.py"],
    "fairclust.baselines": ["baselines", "laws/test_baseline_laws.py"],
    "fairclust.datasets": ["datasets"],
    "fairclust.estimators": ["estimators", "models"],
    "fairclust.report": ["report"],
    "fairclust.scaling": ["scaling"],
    "fairclust._objectives": ["scaling"],
}
FILES = [str(file.relative_to(TESTS)) for file in sorted(TESTS.rglob("*.py"))]


def private_names(file):
    """Dotted names that a file imports and of which a part begins with an underscore."""
    for node in ast.walk(ast.parse((TESTS / file).read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{name}" for name in names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "fairclust" and any(part.startswith("_") and not part.endswith("__") for part in parts):
                yield name


def test_private_names_are_imported_in_one_place_or_by_the_tests_of_their_part():
    strangers = [
        f"{file}: {name}"
        for file in FILES
        if file not in DOOR
        for name in private_names(file)
        if not any(file.startswith(own) for part, owns in OWN.items() if name.startswith(part) for own in owns)
    ]
    assert strangers == []
