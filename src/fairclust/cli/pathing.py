"""``fairclust path``: the whole trade-off between tight and fair clusters, as a table and a page to explore."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import numpy as np
import polars

from .. import __version__
from .._audit.along_path import is_hidden_at
from .._fit.path import FairnessPath, fairness_path
from .._typing import AnyArray
from ..goals import Goal, Penalty
from ..report import check_extras, path_report
from .files import check_output
from .objectives import find_estimator
from .people import People, load_people, remarks_on, tell_people, typed_command
from .requests import Method, Source, Wanted, parse_weights
from .screen import note, say, show_table, warnings_as_notes
from .summary import print_json
from .tables import check_writable, write_table
from .timing import Stage, Stages, peak_memory_mb

_GRID = 20  # weights of the default grid: what the bar counts


def run_path(source: Source, method: Method, wanted: Wanted, weights: str | None, table: Path | None) -> None:
    """Read, fit at many weights, tell, write.

    Parameters
    ----------
    source, method, wanted
        As for ``fit``; ``method`` gives the goal that is marked.
    weights : str or None
        Weights as typed: 0,10,100. None: a grid from plain to saturated.
    table : Path or None
        Where the scores of every weight go.
    """
    estimator = find_estimator(method.objective)
    inputs = (source.file,) if source.file.exists() else ()
    check_output(wanted.report, force=wanted.force, argument="--report", inputs=inputs)
    check_output(table, force=wanted.force, argument="--out", inputs=inputs)
    if wanted.report is not None:
        check_extras()
    given = parse_weights(weights)
    check_writable(table, "--out")
    stages = Stages()
    people = load_people(source, stages)
    if not wanted.json:
        tell_people(people)
    parameters = method.parameters() | people.prepared.options
    goal = parameters.pop("goal")
    model = estimator(**parameters)
    n_weights = _GRID if given is None else len(given)
    with (
        warnings_as_notes(),
        stages.stage("fit", "Clustering at many weights", total=n_weights) as stage,
        contextlib.redirect_stdout(Steps(stage)),
    ):
        path = fairness_path(
            model,
            people.prepared.X,
            sensitive_features=people.groups,
            goals=None if given is None else [Penalty(weight) for weight in given],
            verbose=1,
            sample_weight=people.weights,
        )
    settings = {name: value for name, value in method.settings().items() if name != "goal"}
    written = _write(path, people, source, wanted, table, settings, goal, stages)
    if wanted.json:
        print_json(_summary(path, people, goal, stages, written, wanted.suppress_below))
    else:
        _tell(path, goal, stages, written, wanted.suppress_below)


class Steps(io.TextIOBase):
    """Moves the bar by one for every line that the library prints."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def write(self, text: str) -> int:
        """One line, one step."""
        if text.strip():
            self._stage.advance()
        return len(text)


def _write(
    path: FairnessPath,
    people: People,
    source: Source,
    wanted: Wanted,
    table: Path | None,
    settings: dict[str, Any],
    goal: Goal,
    stages: Stages,
) -> dict[str, str]:
    written = {}
    if table is not None:
        with stages.stage("write", f"Writing {table.name}"):
            write_table(polars.DataFrame(_columns(path, wanted.suppress_below)), table, None)
        written["out"] = str(table)
    if wanted.report is not None:
        used = people.prepared.used
        with stages.stage("report", f"Writing {wanted.report.name}"):
            page = path_report(
                path,
                people.prepared.X,
                people.groups,
                feature_names=people.prepared.feature_names,
                title=f"{source.file.name}: the price of fair clusters by {', '.join(people.sensitive)}",
                goal=goal,
                suppress_below=wanted.suppress_below,
                row_numbers=None if used.all() else np.flatnonzero(used) + 1,
                remarks=remarks_on(people),
                settings=settings,
                command=typed_command(),
                config=wanted.config,
            )
            page.save(wanted.report, overwrite=True)
        written["report"] = str(wanted.report)
    return written


def _columns(path: FairnessPath, suppress_below: float | None) -> dict[str, Any]:
    """The scores; none that would give a small count away."""
    hidden = [is_hidden_at(path, i, suppress_below) for i in range(len(path))]

    def kept(values: AnyArray) -> list[float | None]:
        return [None if hide else value for value, hide in zip(values.tolist(), hidden, strict=True)]

    return {
        "fairness_weight": _weights(path),
        "objective": path.objectives.tolist(),
        "fairness_error": kept(path.fairness_errors),
        "max_fairness_error": kept(path.max_fairness_errors),
        "balance": kept(path.balances),
    }


def _weights(path: FairnessPath) -> list[float]:
    """λ of each point; plain clustering has none."""
    return [float(getattr(goal, "weight", 0.0)) for goal in path.goals]


def _first_met(path: FairnessPath, goal: Goal) -> int | None:
    return path.index_of(goal) if path.meets(goal).any() else None


def _tell(
    path: FairnessPath, goal: Goal, stages: Stages, written: dict[str, str], suppress_below: float | None
) -> None:
    header = ["λ", "objective", "cost", "fairness error", "worst cluster", "balance"]
    chosen = _first_met(path, goal)
    rows, weights = [], _weights(path)
    for i in range(len(path)):
        point = path[i]
        cost = f"{100 * (point.objective / path.objectives[0] - 1):+.1f} %" if path.objectives[0] > 0 else ""
        mark = " ←" if i == chosen else ""
        scores = [f"{point.fairness_error:.4g}", f"{point.max_fairness_error:.4g}", f"{point.balance:.3f}{mark}"]
        if is_hidden_at(path, i, suppress_below):
            scores = ["hidden", "hidden", f"hidden{mark}"]
        rows.append([f"{weights[i]:.4g}", f"{point.objective:.6g}", cost, *scores])
    show_table("From tight to fair", header, rows)
    if chosen is None:
        say(f"No weight meets {goal} in every cluster.")
    else:
        say(f"← the smallest weight that meets {goal} in every cluster: λ = {weights[chosen]:.4g}.")
    say(stages.in_words)
    for name, file in written.items():
        say(f"{'Table' if name == 'out' else 'Explorer'}: {file}", style="bold")
    if not written:
        note("Nothing was saved. Add --report path.html for a page to explore, --out path.csv for the table.")


def _summary(
    path: FairnessPath,
    people: People,
    goal: Goal,
    stages: Stages,
    written: dict[str, str],
    suppress_below: float | None,
) -> dict[str, Any]:
    chosen = _first_met(path, goal)
    return {
        "fairclust": __version__,
        "file": str(people.table.path),
        "n_rows_used": int(people.prepared.used.sum()),
        "features": people.prepared.feature_names,
        "group_names": [str(name) for name in path.group_names],
        "path": _columns(path, suppress_below),
        "goal": str(goal),
        "selected_weight": None if chosen is None else _weights(path)[chosen],
        "seconds": stages.seconds,
        "peak_memory_mb": peak_memory_mb(),
        "written": written,
    }
