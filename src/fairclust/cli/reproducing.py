"""``fairclust reproduce``: the paper's tables and figures, and the field's, from real data."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import InvalidInputError
from ..reproduce import WHAT, reproduce
from .screen import note, say
from .summary import listed


def run_reproduce(
    what: str, out: Path, data_dir: Path | None, *, quick: bool, seeds: int, fresh: bool, more: list[Path], jobs: int
) -> None:
    """Run, telling each result as it comes; what is interrupted goes on where it stopped.

    Parameters
    ----------
    what : str
        One of the tables, "figures", "all" or "field".
    out : Path
        Directory for the results.
    data_dir : Path or None
        Where the real data are, or are downloaded to.
    quick : bool
        The synthetic sets only.
    seeds : int
        Number of seeds.
    fresh : bool
        Whether to compute again what is there already.
    more : list of Path
        Methods and protocols of the user's own, for the field.
    jobs : int
        Rows of the field that are run at a time; 0: one for each core.
    """
    if what not in WHAT:
        raise InvalidInputError(f"{what!r} is not something to reproduce. Choose one of {listed(WHAT)}.")
    if out.exists() and not out.is_dir():
        raise InvalidInputError(f"--out {out} is a file. Name a directory.")
    if data_dir is not None and not data_dir.is_dir():
        raise InvalidInputError(f"--data-dir {data_dir} is not a directory.")
    if more and what != "field":
        raise InvalidInputError(f"--add {more[0]} is for `fairclust reproduce field`, not for {what!r}.")
    if jobs < 0:
        raise InvalidInputError(f"--jobs {jobs}, but a whole number of at least 0 is needed (0: one for each core).")
    if seeds < 1:
        raise InvalidInputError(f"--seeds {seeds}, but a whole number of at least 1 is needed.")
    try:
        outcome = reproduce(
            what, out, data_dir=data_dir, quick=quick, n_seeds=seeds, fresh=fresh, more=more,
            n_jobs=jobs or os.cpu_count() or 1, tell=lambda line: note(line),
        )  # fmt: skip
    except (KeyboardInterrupt, SystemExit):
        note(f"What is done is kept in {out}: the same command goes on from there.")
        raise
    for remark in outcome.remarks:
        note(f"Note: {remark}", style="yellow")
    say(f"Results: {outcome.page}", style="bold")
    say(
        f"{outcome.n_computed} results computed, {outcome.n_reused} taken from an earlier run, "
        f"{outcome.seconds:.0f} s. Tables are also there as CSV, figures as PNG and SVG."
    )
