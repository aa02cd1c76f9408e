"""The command line. Nothing in the library imports this package; without its extra it says what to install."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence

__all__ = ["main"]

STOPPED, TERMINATED = 130, 143  # exit codes at Ctrl-C, which typer gives too, and at SIGTERM


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``fairclust``; ends the process with exit code 0 (done), 1 (the run failed) or 2 (the input is wrong).

    Parameters
    ----------
    arguments : sequence of str or None, default=None
        What was typed after ``fairclust``. None: the arguments of this process.
    """
    for package in ("typer", "rich", "polars"):
        if importlib.util.find_spec(package) is None:
            print(
                f"The fairclust command needs {package}, which is not installed. Run `pip install 'fairclust[cli]'`.",
                file=sys.stderr,
            )
            sys.exit(1)
    try:
        from .app import app

        app(args=None if arguments is None else list(arguments), prog_name="fairclust")
    except (KeyboardInterrupt, SystemExit) as end:
        code = STOPPED if isinstance(end, KeyboardInterrupt) else end.code
        if code in (STOPPED, TERMINATED):
            print("Stopped. No file was left half written.", file=sys.stderr)
        sys.exit(code)
