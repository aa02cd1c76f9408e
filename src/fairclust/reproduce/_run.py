"""One call for everything: tables, figures, and a page that holds them."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .. import __version__
from .. import _checks as checks
from .._files import atomic
from ..errors import MissingExtraError
from . import figures, tables
from .drawing import draw_all, draw_field
from .field import Part, field_parts, panels, write_field
from .paper import TABLES
from .store import Store
from .writing import write_csv

WHAT = ("table1", "table2", "table3", "figures", "all", "field")

_CAPTIONS = {
    "convergence": "Convergence from one k-means++ start: the energy after each outer iteration never rises.",
    "tradeoff": "Clustering objective and fairness error against λ.",
    "clusters-number": "Objective against the number of clusters, with and without fairness, λ as in the paper.",
    "clusters-weight": "Clusters of fair K-means against λ on the synthetic sets.",
}


@dataclass
class Outcome:
    """What a run wrote.

    Attributes
    ----------
    page : Path
        The page with all tables and figures of this run.
    files : list of Path
        Everything that was written.
    n_computed, n_reused : int
        Units of work done now, and found in the output directory.
    remarks : list of str
        What could not be done, and why.
    seconds : float
    """

    page: Path
    files: list[Path] = field(default_factory=list)
    n_computed: int = 0
    n_reused: int = 0
    remarks: list[str] = field(default_factory=list)
    seconds: float = 0.0


def reproduce(
    what: str = "all",
    out: Path | str = "reproduction",
    *,
    data_dir: Path | str | None = None,
    quick: bool = False,
    n_seeds: int = 3,
    fresh: bool = False,
    more: Sequence[Path] = (),
    n_jobs: int = 1,
    tell: Callable[[str], None] = lambda line: None,
) -> Outcome:
    """Run the paper's experiments, or the field's, and write tables and figures.

    Parameters
    ----------
    what : {"table1", "table2", "table3", "figures", "all", "field"}, default="all"
        Tables of results in the paper's order: 1 is K-median, 2 is K-means, 3 is Ncut. "all" is the whole paper;
        "field" is every protocol by every method.
    out : path, default="reproduction"
        Directory for the results; what is there already is used again.
    data_dir : path or None, default=None
        Where the real data are, or are downloaded to. None: the loaders' own place.
    quick : bool, default=False
        The synthetic sets only: no file, no network, under a minute. Results go to ``out/quick``.
    n_seeds : int, default=3
        Seeds of ours and of the paper's algorithm.
    fresh : bool, default=False
        Compute everything again.
    more : sequence of Path
        Methods (.py) and protocols (.toml) of your own for the field.
    n_jobs : int, default=1
        Rows of the field that are run at a time, each on one thread.
    tell : callable
        Called with a line about each result that is computed.

    Returns
    -------
    outcome : Outcome
    """
    checks.check_choice("what", what, WHAT)
    n_seeds = checks.check_count("n_seeds", n_seeds)
    n_jobs = checks.check_count("n_jobs", n_jobs)
    began = time.perf_counter()
    folder = Path(out) / "quick" if quick else Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    store = Store(folder / "cache", tell, fresh)
    place = None if data_dir is None else Path(data_dir)
    outcome = Outcome(folder / ("README.md" if what == "all" else f"{what}.md"))
    if what == "field":
        _field(outcome, folder, field_parts(store, place, quick=quick, more=more, n_jobs=n_jobs), quick=quick)
    parts = []
    for name in [name for name in TABLES if what in (name, "all")]:
        lines = tables.run_table(name, store, place, quick=quick, n_seeds=n_seeds)
        text = tables.markdown(lines, TABLES[name])
        outcome.files.append(_write(folder / f"{name}.md", _page(text)))
        outcome.files.append(folder / f"{name}.csv")
        write_csv(tables.rows_for_csv(lines, TABLES[name]), outcome.files[-1], tables.COLUMNS)
        outcome.remarks += [f"{line.source.title}: {line.missing}" for line in lines if line.missing]
        parts.append(text)
    if what in ("figures", "all"):
        panels = figures.compute(store, place, quick=quick)
        missing = {
            panel["data"]: panel["missing"] for group in panels.values() for panel in group if "missing" in panel
        }
        outcome.remarks += [f"{data}: {reason}" for data, reason in missing.items()]
        try:
            drawn = draw_all(panels, folder / "figures")
        except MissingExtraError as error:
            outcome.remarks.append(f"no figures: {error}")
            drawn = []
        outcome.files += drawn
        text = _figures_text([path for path in drawn if path.suffix == ".png"])
        outcome.files.append(_write(folder / "figures.md", _page(text)))
        parts.append(text)
    if what == "all":
        outcome.files.append(_write(outcome.page, _page("\n".join(parts))))
    outcome.n_computed, outcome.n_reused = store.n_computed, store.n_reused
    outcome.remarks = list(dict.fromkeys(outcome.remarks))
    outcome.seconds = time.perf_counter() - began
    return outcome


def _field(outcome: Outcome, folder: Path, run: Iterator[Part], *, quick: bool) -> None:
    """Run the field; the page is written after every protocol, so that there is something to read early."""
    parts: list[Part] = []
    drawn: list[Path] = []
    for part in run:
        parts.append(part)
        try:
            drawn += draw_field({f"field-{part.protocol.name}": panels(part)}, folder / "figures")
        except MissingExtraError as error:
            outcome.remarks.append(f"no figures: {error}")
        pictures = {path.stem.removeprefix("field-"): f"figures/{path.name}" for path in drawn if path.suffix == ".png"}
        outcome.files = [*write_field(parts, folder, pictures, quick=quick), *drawn]
        outcome.remarks += [f"{row.case.recipe.title}: {row.missing}" for row in part.rows if row.missing]
        outcome.remarks += [reason for row in part.rows for name, reason in row.skipped.items() if part.is_absent(name)]


def _figures_text(pictures: list[Path]) -> str:
    shown = [f"![{_CAPTIONS[path.stem]}](figures/{path.name})\n\n*{_CAPTIONS[path.stem]}*\n" for path in pictures]
    return "## Figures\n\n" + "\n".join(shown)


def _page(text: str) -> str:
    where = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return f"""# Variational Fair Clustering, reproduced

Written by `fairclust reproduce`, fairclust {__version__}, on {where}. "Fair" means proportional
representation in clusters and nothing more. λ, K and preprocessing are the paper's; every labelling is scored by one
scorer; "paper" marks figures that the paper prints. Seconds are of one fit, with the machine's other load.

{text}"""


def _write(path: Path, text: str) -> Path:
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path
