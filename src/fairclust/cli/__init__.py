"""The command line. Nothing in the library imports this package; without its extra it says what to install."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``fairclust``; ends the process with exit code 0 (done), 1 (the run failed) or 2 (the input is wrong).

    Parameters
    ----------
    arguments : sequence of str or None, default=None
        What was typed after ``fairclust``. None: the arguments of this process.
    """
    try:
        from .app import app
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in ("typer", "rich", "polars"):
            raise
        print(
            f"The fairclust command needs {error.name}, which is not installed. Run `pip install 'fairclust[cli]'`.",
            file=sys.stderr,
        )
        sys.exit(1)
    app(args=None if arguments is None else list(arguments), prog_name="fairclust")
