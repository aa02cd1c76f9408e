"""How large the package is. Layers and declared imports are checked by import-linter and deptry (`make lint`)."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

SOURCES = sorted((Path(__file__).parents[1] / "src").rglob("*.py"))

# The most that there may be. A commit that needs more raises a number here and says why; one that deletes lowers it.
BUDGET = {"files": 202, "lines": 34_351, "classes": 262, "named numbers": 289}


def is_named_number(statement):
    """Whether a statement of a module gives a name in capitals to something with a number in it: ``_TRIES = 5``."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
        return False
    name = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    types = {type(node.value) for node in ast.walk(statement.value) if isinstance(node, ast.Constant)}
    return isinstance(name, ast.Name) and name.id.lstrip("_").isupper() and bool(types & {int, float})


def size(path):
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    return Counter(
        {
            "files": 1,
            "lines": len(text.splitlines()),
            "classes": sum(isinstance(node, ast.ClassDef) for node in ast.walk(tree)),
            "named numbers": sum(map(is_named_number, tree.body)),
        }
    )


def test_the_package_is_not_larger_than_its_budget():
    found = sum(map(size, SOURCES), Counter())
    assert not {what: n for what, n in found.items() if n > BUDGET[what]}, f"larger than BUDGET allows: {BUDGET}"
