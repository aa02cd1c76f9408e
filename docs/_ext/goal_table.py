"""The directive ``goals`` shows a table of the goals from their own declarations: it cannot drift from the code."""

from __future__ import annotations

import inspect
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

COLUMNS = {"Python": 30, "what must hold": 34, "range": 18, "on the command line": 18}  # heading: width in per cent


def goal_rows() -> list[tuple[str, str, str, str]]:
    """A row per goal: a call with its example, its first line, its range, its option."""
    from fairclust.goals import GOALS

    rows = []
    for option, goal in GOALS.items():
        example = "" if goal.example is None else repr(goal.example)
        typed = f"--{option} {example}".strip()
        rows.append((f"{goal.__name__}({example})", first_line(goal), goal.range or "–", typed))
    return rows


def first_line(goal: Any) -> str:
    """The first line of the docstring, without the marks of reStructuredText."""
    return str(inspect.getdoc(goal)).splitlines()[0].replace("``", "")


class Goals(SphinxDirective):
    """``{goals}`` shows the table."""

    def run(self) -> list[nodes.Node]:
        """A table of four columns, the first and the last as code."""
        group = nodes.tgroup(cols=len(COLUMNS))
        group += [nodes.colspec(colwidth=width) for width in COLUMNS.values()]
        heading = nodes.row("", *(nodes.entry("", nodes.paragraph(text=text)) for text in COLUMNS))
        group += nodes.thead("", heading)
        group += nodes.tbody("", *map(as_row, goal_rows()))
        return [nodes.table("", group, classes=["colwidths-given"])]


def as_row(cells: tuple[str, str, str, str]) -> nodes.row:
    """A row of the table."""
    call, asked, limits, typed = cells
    texts = (nodes.literal(text=call), nodes.Text(asked), nodes.Text(limits), nodes.literal(text=typed))
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", text)) for text in texts))


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx about it."""
    app.add_directive("goals", Goals)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
