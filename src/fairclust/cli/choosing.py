"""``fairclust choose``, and ``-k auto``: how many clusters, by a stated rule, with what speaks for each number."""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars

from .. import __version__
from .._numbers.choice import Choice
from .._numbers.study import ClusterNumbers, cluster_numbers
from ..errors import InvalidInputError
from ..report import check_extras, numbers_report
from .files import check_output
from .objectives import find_estimator
from .pathing import Steps
from .people import People, load_people, remarks_on, tell_people, typed_command
from .requests import Method, Source, Wanted
from .screen import note, say, show_table, warnings_as_notes
from .summary import print_json
from .tables import check_writable, write_table
from .timing import Stages, peak_memory_mb

DEFAULT_NUMBERS = "2..15"
AUTO_NUMBERS = range(2, 13)  # what -k auto tries
N_SUBSAMPLES = 4  # that stability is measured by
_MOST_NUMBERS = 50  # fits of each number take seconds at least: more are a slip of the keys


def parse_numbers(text: str) -> list[int]:
    """Read numbers of clusters: ``2..15``, or ``2,4,8``."""
    whole = re.fullmatch(r"\s*(\d+)\s*(?:\.\.|-|:)\s*(\d+)\s*", text)
    if whole is not None:
        numbers = list(range(int(whole[1]), int(whole[2]) + 1))
    else:
        parts = [part.strip() for part in text.split(",") if part.strip()]
        if not parts or not all(part.isdigit() for part in parts):
            raise InvalidInputError(f"-k {text!r} is not a range of numbers. Write 2..15, or 2,4,8.")
        numbers = sorted({int(part) for part in parts})
    if not numbers or numbers[0] < 1:
        raise InvalidInputError(f"-k {text!r} has no number of at least 1. Write 2..15, or 2,4,8.")
    if len(numbers) > _MOST_NUMBERS:
        raise InvalidInputError(f"-k {text!r} is {len(numbers)} numbers; at most {_MOST_NUMBERS} are tried. Try fewer.")
    return numbers


def run_choose(source: Source, method: Method, wanted: Wanted, numbers: list[int], table: Path | None) -> None:
    """Read, fit for every number of clusters, tell, write.

    Parameters
    ----------
    source, method, wanted
        As for ``fit``.
    numbers : list of int
        Numbers of clusters.
    table : Path or None
        Where the scores of every number go.
    """
    inputs = (source.file,) if source.file.exists() else ()
    check_output(wanted.report, force=wanted.force, argument="--report", inputs=inputs)
    check_output(table, force=wanted.force, argument="--out", inputs=inputs)
    check_writable(table, "--out")
    if wanted.report is not None:
        check_extras()
    stages = Stages()
    people = load_people(source, stages)
    if not wanted.json:
        tell_people(people)
    study = study_people(people, method, numbers, stages)
    choice = study.select(min_cluster_size=_least_size(method))
    written = _write(study, people, source, method, wanted, table, stages)
    if wanted.json:
        print_json(_summary(study, choice, people, stages, written))
    else:
        _tell(study, choice, stages, written)


def chosen_number(people: People, method: Method, stages: Stages) -> Choice:
    """Choose the number of clusters for ``-k auto``."""
    n_rows = len(people.prepared.X)
    numbers = [k for k in AUTO_NUMBERS if k <= n_rows]
    if not numbers:
        raise InvalidInputError(f"-k auto needs at least 2 rows, but {people.table.path.name} has {n_rows}.")
    return study_people(people, method, numbers, stages).select(min_cluster_size=_least_size(method))


def study_people(people: People, method: Method, numbers: list[int], stages: Stages) -> ClusterNumbers:
    """Fit for every number of clusters, with a bar."""
    n_rows = len(people.prepared.X)
    if numbers[-1] > n_rows:
        raise InvalidInputError(f"-k asks for {numbers[-1]} clusters, but there are {n_rows} rows. Ask for fewer.")
    parameters = replace(method, n_clusters=numbers[0]).parameters() | people.prepared.options
    model = find_estimator(method.objective)(**parameters)
    n_steps = 2 * len(numbers) + N_SUBSAMPLES
    with (
        warnings_as_notes(),
        stages.stage("choose", "Clustering for every number of clusters", total=n_steps) as stage,
        contextlib.redirect_stdout(Steps(stage)),
    ):
        return cluster_numbers(
            model,
            people.prepared.X,
            numbers,
            sensitive_features=people.groups,
            sample_weight=people.weights,
            n_subsamples=N_SUBSAMPLES,
            n_jobs=method.jobs,
            verbose=1,
        )


def _least_size(method: Method) -> float:
    """The smallest cluster that is asked for, where that is a number of rows."""
    size = method.min_cluster_size or 0.0
    return size if size >= 1 else 0.0


def _write(
    study: ClusterNumbers,
    people: People,
    source: Source,
    method: Method,
    wanted: Wanted,
    table: Path | None,
    stages: Stages,
) -> dict[str, str]:
    written = {}
    if table is not None:
        with stages.stage("write", f"Writing {table.name}"):
            write_table(polars.DataFrame(study.columns()), table, None)
        written["out"] = str(table)
    if wanted.report is not None:
        with stages.stage("report", f"Writing {wanted.report.name}"):
            settings = {name: value for name, value in method.settings().items() if name != "n_clusters"}
            numbers_report(
                study,
                title=f"How many clusters for {source.file.name}?",
                settings=settings,
                remarks=remarks_on(people),
                command=typed_command(),
                min_cluster_size=_least_size(method),
            ).save(wanted.report, overwrite=True)
        written["report"] = str(wanted.report)
    return written


def _tell(study: ClusterNumbers, choice: Choice, stages: Stages, written: dict[str, str]) -> None:
    header = ["clusters", "silhouette", "stability", "smallest", "cost"]
    header += ["what the goal costs", "goal met"] if study.has_groups else []
    rows = []
    for i, k in enumerate(study.n_clusters.tolist()):
        row = [
            f"{k}{' *' if k == choice.n_clusters else ''}",
            f"{study.silhouettes[i]:.3f}",
            f"{study.stabilities[i]:.2f}",
            f"{study.smallest_clusters[i]:g}",
            f"{study.costs[i]:.6g}",
        ]
        if study.has_groups:
            row += [f"{study.cost_increases[i]:+.1%}", "yes" if study.goals_met[i] else "no"]
        rows.append(row)
    show_table("How many clusters", header, rows)
    say(choice.reason)
    say(stages.in_words)
    for name, path in written.items():
        say(f"{'Scores' if name == 'out' else 'Report'}: {path}", style="bold")
    if not written:
        note("Nothing was saved. Add --report choose.html for a page, --out scores.csv for the numbers.")


def _summary(
    study: ClusterNumbers, choice: Choice, people: People, stages: Stages, written: dict[str, str]
) -> dict[str, Any]:
    return {
        "fairclust": __version__,
        "file": str(people.table.path),
        "n_rows_used": int(people.prepared.used.sum()),
        "features": people.prepared.feature_names,
        "n_clusters": choice.n_clusters,
        "also_possible": list(choice.also_possible),
        "is_clear": choice.is_clear,
        "reason": choice.reason,
        "numbers": {name: values.tolist() for name, values in study.columns().items()},
        "seconds": stages.seconds,
        "peak_memory_mb": peak_memory_mb(),
        "written": written,
    }
