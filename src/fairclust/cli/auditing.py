"""``fairclust audit``: the make-up of clusters that are in a file already, from any algorithm."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars
import typer

from .._audit.audit import audit_each
from .._people.attributes import Groups
from .._people.columns import to_column
from ..errors import InvalidInputError
from ..goals import Goal
from ..report import audit_report, check_extras
from .columns import group_arrays, names_in, read_groups, read_weights, rows_without_group, without_markers
from .files import check_output
from .people import typed_command
from .screen import RUN_FAILED, note, say
from .summary import audits_as_json, print_json, show_audits
from .tables import FileTable, read_table


def run_audit(
    file: Path,
    *,
    labels: str,
    sensitive: str,
    target: dict[str, float] | None,
    missing: str,
    groups: Groups,
    goal: Goal | None,
    suppress_below: float | None,
    as_json: bool,
    delimiter: str | None,
    encoding: str | None,
    weight: str | None = None,
    report: Path | None = None,
    force: bool = False,
    config: str | None = None,
) -> None:
    """Read the columns and report on them."""
    check_output(report, force=force, argument="--report", inputs=(file,) if file.exists() else ())
    if report is not None:
        check_extras()
    table = read_table(file, delimiter=delimiter, encoding=encoding)
    table.check_columns([labels], "--labels")
    columns, remarks = read_groups(table, names_in(sensitive, table), groups)
    clusters = without_markers(table.frame[labels])
    weights = read_weights(table, weight)
    gaps = polars.Series(rows_without_group(columns, groups)) | clusters.is_null()
    if weights is not None:
        gaps = gaps | polars.Series(np.isnan(weights))
    n_gaps = int(gaps.sum())
    if n_gaps and missing == "error":
        raise InvalidInputError(
            f"{n_gaps} of {table.frame.height} rows have no cluster or no group. "
            "Add --missing drop to leave these rows out."
        )
    if n_gaps == table.frame.height:
        raise InvalidInputError(f"no row of {file.name} has both a cluster and a group.")
    if n_gaps:
        columns, clusters = columns.filter(~gaps), clusters.filter(~gaps)
        weights = None if weights is None else weights[~gaps.to_numpy()]
    reports = audit_each(
        to_column(clusters, "labels"),
        group_arrays(columns),
        goal=goal,
        target_proportions=target,
        sample_weight=weights,
        suppress_below=suppress_below,
        groups=groups,
    )
    first = next(iter(reports.values()))
    n_clusters = len(first.cluster_names)
    for remark in [*remarks, *_doubts(table, labels, n_clusters)]:
        note(remark)
    if n_gaps:
        note(f"{n_gaps} of {table.frame.height} rows have no cluster or no group and were left out.")
    if report is not None:
        title = f"Who is in the clusters of {file.name}, by {', '.join(names_in(sensitive, table))}"
        page = audit_report(reports, title=title, remarks=list(remarks), command=typed_command(), config=config)
        page.save(report, overwrite=True)
    if as_json:
        print_json(audits_as_json(reports))
    else:
        show_audits(reports, f"Fairness audit of {file.name}: {first.n_samples} rows, {n_clusters} clusters")
    if report is not None and not as_json:
        say(f"Report: {report}", style="bold")
    if goal is not None and not reports.passed:
        raise typer.Exit(RUN_FAILED)


def _doubts(table: FileTable, labels: str, n_clusters: int) -> list[str]:
    if table.frame[labels].dtype in (polars.Float32, polars.Float64) or n_clusters > max(50, table.frame.height // 10):
        return [f"column {labels!r} has {n_clusters} different values: is it the column of the clusters?"]
    return []
