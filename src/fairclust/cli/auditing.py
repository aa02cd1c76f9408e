"""``fairclust audit``: the make-up of clusters that are in a file already, from any algorithm."""

from __future__ import annotations

from pathlib import Path

import polars

from .._audit.audit import audit_each
from .._people.columns import to_column
from ..errors import InvalidInputError
from .columns import Grouping, _without_markers, group_arrays, names_in, read_groups, rows_without_group
from .screen import note
from .summary import audits_as_json, print_json, show_audits
from .tables import Table, read_table


def run_audit(
    file: Path,
    *,
    labels: str,
    sensitive: str,
    target: dict[str, float] | None,
    missing: str,
    grouping: Grouping,
    suppress_below: float | None,
    as_json: bool,
    delimiter: str | None,
    encoding: str | None,
) -> None:
    """Read the columns and report on them."""
    table = read_table(file, delimiter=delimiter, encoding=encoding)
    table.check_columns([labels], "--labels")
    groups, remarks = read_groups(table, names_in(sensitive, table), grouping)
    clusters = _without_markers(table.frame[labels])
    gaps = polars.Series(rows_without_group(groups, grouping)) | clusters.is_null()
    n_gaps = int(gaps.sum())
    if n_gaps and missing == "error":
        raise InvalidInputError(
            f"{n_gaps} of {table.frame.height} rows have no cluster or no group. "
            "Add --missing drop to leave these rows out."
        )
    if n_gaps == table.frame.height:
        raise InvalidInputError(f"no row of {file.name} has both a cluster and a group.")
    if n_gaps:
        groups, clusters = groups.filter(~gaps), clusters.filter(~gaps)
    reports = audit_each(
        to_column(clusters, "labels"),
        group_arrays(groups),
        target_proportions=target,
        suppress_below=suppress_below,
        **grouping.options(),
    )
    first = next(iter(reports.values()))
    n_clusters = len(first.cluster_names)
    for remark in [*remarks, *_doubts(table, labels, n_clusters)]:
        note(remark)
    if n_gaps:
        note(f"{n_gaps} of {table.frame.height} rows have no cluster or no group and were left out.")
    if as_json:
        print_json(audits_as_json(reports))
    else:
        show_audits(reports, f"Fairness audit of {file.name}: {first.n_samples} rows, {n_clusters} clusters")


def _doubts(table: Table, labels: str, n_clusters: int) -> list[str]:
    if table.frame[labels].dtype in (polars.Float32, polars.Float64) or n_clusters > max(50, table.frame.height // 10):
        return [f"column {labels!r} has {n_clusters} different values: is it the column of the clusters?"]
    return []
