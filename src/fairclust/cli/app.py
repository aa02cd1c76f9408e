"""The commands and their options. What they do is in the modules beside this one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import __version__
from .demo import run_demo
from .screen import guarded, say

app = typer.Typer(
    name="fairclust",
    help="Fair clustering: clusters whose make-up by group matches a target. "
    "'Fair' means proportional representation in every cluster, and nothing more.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback when something fails.")]


def _show_version(wanted: bool) -> None:
    if wanted:
        say(f"fairclust {__version__}")
        raise typer.Exit()


@app.callback()
def _fairclust(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    pass


@app.command()
@guarded
def demo(
    out: Annotated[Path, typer.Option("--out", help="Directory for the picture.")] = Path("demo"),
    debug: Debug = False,
) -> None:
    """Fair clustering on built-in data: no file, no network, a picture at the end."""
    run_demo(out)
