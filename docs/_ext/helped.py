"""The directive ``command-help`` shows what ``fairclust … --help`` prints: the page cannot drift from the program."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from typer.testing import CliRunner


def help_of(*command: str) -> str:
    """The help of a command, 100 characters wide and without colours."""
    from fairclust.cli.app import app

    asked = CliRunner().invoke(
        app, [*command, "--help"], env={"COLUMNS": "100", "NO_COLOR": "1"}, prog_name="fairclust"
    )
    if asked.exit_code != 0:
        raise ValueError(f"fairclust {' '.join(command)} --help ended with {asked.exit_code}: {asked.output}")
    return asked.output.strip()


class CommandHelp(SphinxDirective):
    """``{command-help} fit`` shows the help of ``fairclust fit``."""

    optional_arguments = 2

    def run(self) -> list[nodes.Node]:
        """A block of text."""
        text = help_of(*self.arguments)
        block = nodes.literal_block(text, text)
        block["language"] = "text"
        return [block]


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx about it."""
    app.add_directive("command-help", CommandHelp)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
