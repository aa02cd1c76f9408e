"""What a run says in the end: the make-up of the clusters as a table, and the same for scripts as JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from .._audit.audit import AuditReport, AuditReports, sentences, table_cells
from .._audit.hidden import Hidden
from .screen import say, show_table, shown

_MOST_ROWS = 40  # clusters on the screen; the report shows all


def show_audits(reports: AuditReports, title: str) -> None:
    """Print a table for each attribute."""
    for attribute, report in reports.items():
        show_audit(report, title if len(reports) == 1 else f"{shown(attribute)}: {title}")


def show_audit(report: AuditReport, title: str) -> None:
    """Print the make-up of the clusters and what is worth saying about it."""
    hidden = Hidden.of(report.composition, report.suppress_below)
    header, *rows = table_cells(report, hidden)
    if len(rows) > _MOST_ROWS + 2:
        worst = np.sort(np.argsort(-report.fairness_errors, kind="stable")[:_MOST_ROWS])
        rows = [*(rows[k] for k in worst), *rows[-2:]]
        title += f" (the {_MOST_ROWS} clusters furthest from the target)"
    show_table(title, header, rows)
    for sentence in sentences(report, hidden):
        say(sentence)


def audit_as_json(report: AuditReport) -> dict[str, Any]:
    """Give the audit as plain values; where counts are suppressed, they and what gives them away are null."""
    found = report.to_dict()
    if report.suppress_below is None:
        return found
    hidden = Hidden.of(report.composition, report.suppress_below)
    for k, cluster in enumerate(found["clusters"]):
        cells = hidden.cells[k]
        for key in ("counts", "proportions", "deviations"):
            cluster[key] = [None if hide else value for value, hide in zip(cluster[key], cells, strict=True)]
        if hidden.sizes[k]:
            cluster["size"] = None
        if hidden.rows[k]:
            cluster |= dict.fromkeys({"fairness_error", "balance", "figure"} & cluster.keys())
    if hidden.any:
        found |= {"fairness_error": None, "max_fairness_error": None, "balance": None}
    if hidden.totals.any():
        found["data_balance"] = None
        found["target_proportions"] = [
            None if hide else share for share, hide in zip(found["target_proportions"], hidden.totals, strict=True)
        ]
    found["suppress_below"] = report.suppress_below
    return found


def audits_as_json(reports: AuditReports) -> dict[str, Any]:
    """Give the audit of one attribute as it is, and those of several by name."""
    found = {name: audit_as_json(report) for name, report in reports.items()}
    if len(found) == 1:
        return next(iter(found.values()))
    errors = [one["max_fairness_error"] for one in found.values()]
    told: dict[str, Any] = {"max_fairness_error": None if None in errors else max(errors), "attributes": found}
    return told if reports.goal is None else told | {"passed": reports.passed}


def told_of_goal(model: Any) -> dict[str, Any]:
    """What a fit says of its goal, as plain values."""
    return {
        "goal": None if model.goal_ is None else str(model.goal_),
        "goal_met": bool(model.goal_met_),
        "fairness_weight": float(model.fairness_weight_),
        "n_evaluations": int(model.n_evaluations_),
    }


def goal_sentence(model: Any) -> str:
    """The goal of a fit, and whether it was met."""
    goal = model.goal_
    if goal is None or not goal.is_constraint:
        return f"Cost: {goal}." if goal is not None else "No goal: plain clustering."
    return f"Goal: {goal}, {'met' if model.goal_met_ else 'missed'}."


def print_json(summary: dict[str, Any]) -> None:
    """Print one JSON document on stdout, with null where a number is not finite."""
    print(json.dumps(_finite(summary), ensure_ascii=False, indent=2))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def listed(names: list[str] | tuple[str, ...], most: int = 8) -> str:
    """Join names for a sentence; long lists are cut."""
    text = ", ".join(shown(name) for name in names[:most])
    return text if len(names) <= most else f"{text} and {len(names) - most} more"
