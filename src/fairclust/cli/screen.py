"""What reaches the terminal: results on stdout, notes and errors on stderr, one exit code per kind of ending."""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, ParamSpec

import typer

from ..errors import FairclustError, FairclustWarning, InvalidInputError
from . import TERMINATED

if TYPE_CHECKING:
    from rich.text import Text

# rich is imported where it prints: --help does without it.
RUN_FAILED, INPUT_WRONG = 1, 2  # exit codes; 2 is what shells and typer use for wrong usage

_LONGEST_NAME = 40  # characters of a name in a table on the screen
_GAP = 2  # characters between columns

Parameters = ParamSpec("Parameters")


def say(text: str = "", *, style: str = "") -> None:
    """Print one paragraph of results; never read as markup."""
    from rich.console import Console
    from rich.text import Text

    Console(highlight=False).print(Text(text, style=style))


def note(text: str, *, style: str = "") -> None:
    """Print a remark on stderr, so that stdout holds results only."""
    from rich.console import Console
    from rich.text import Text

    Console(stderr=True, highlight=False).print(Text(text, style=style))


def show_table(title: str, header: Sequence[str], rows: Sequence[Sequence[Text | str]]) -> None:
    """Print a table; the first column is left-aligned, the others are numbers. Too wide, it is printed in parts."""
    from rich.cells import cell_len
    from rich.console import Console

    cells = [[str(cell) for cell in row] for row in [header, *rows]]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    for i, columns in enumerate(_parts(widths, Console().width)):
        some = [[row[j] for j in columns] for row in rows]
        _show_part(title if i == 0 else "", [header[j] for j in columns], some)


def _parts(widths: Sequence[int], room: int) -> list[list[int]]:
    """Which columns are printed together: the first one always, then as many others as there is room for."""
    parts, used = [[0]], widths[0] + _GAP
    for j, width in enumerate(widths[1:], start=1):
        if used + width + _GAP > room and len(parts[-1]) > 1:
            parts.append([0])
            used = widths[0] + _GAP
        parts[-1].append(j)
        used += width + _GAP
    return parts


def _show_part(title: str, header: Sequence[str], rows: Sequence[Sequence[Text | str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(title) if title else None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        title_style="bold",
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for i, name in enumerate(header):
        table.add_column(Text(name), justify="left" if i == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    Console(highlight=False).print(table)


def shown(name: object) -> str:
    """Fit a name from the data in one line of a terminal: no control characters, and not too long."""
    text = str(name)
    text = text if text.isprintable() and text.strip() else repr(text)
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"


def percent(share: float) -> str:
    """Write a share as people read it."""
    return f"{100 * share:.1f} %"


@contextmanager
def warnings_as_notes(*, silent: bool = False) -> Iterator[None]:
    """Turn the library's warnings into notes (``silent``: drop them); a file name and line help nobody here."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FairclustWarning)
        yield
    for warning in [] if silent else caught:
        if issubclass(warning.category, FairclustWarning):
            note(f"Note: {warning.message}", style="yellow")


@contextmanager
def _sigterm_as_exception() -> Iterator[None]:
    """Raise at SIGTERM, as Python does at Ctrl-C, so that temporary files are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    old = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(TERMINATED))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, old)


def guarded(command: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Turn what a command raises into one sentence and an exit code; ``--debug`` adds the traceback."""

    @functools.wraps(command)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        try:
            with _sigterm_as_exception():
                command(*args, **kwargs)
        except (typer.Exit, typer.Abort):
            raise
        except BrokenPipeError:  # whoever read the output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except Exception as error:
            if kwargs.get("debug"):
                traceback.print_exc(file=sys.stderr)
            note(f"Error: {_sentence(error)}", style="red")
            raise typer.Exit(INPUT_WRONG if isinstance(error, InvalidInputError) else RUN_FAILED) from None

    return run


def _sentence(error: Exception) -> str:
    if isinstance(error, FairclustError):
        return str(error)
    if isinstance(error, MemoryError):
        return "not enough memory. Use fewer rows (a random sample of the file), fewer features or fewer clusters."
    if isinstance(error, OSError) and error.strerror:
        where = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror}{where}."
    return f"{type(error).__name__}: {error}. Run again with --debug to see where."
