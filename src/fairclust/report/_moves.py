"""The section on who was moved: sentences, pictures and a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._audit.hidden import HIDDEN, Hidden
from .._audit.moves import Moves
from .._typing import AnyArray
from ..metrics import Composition
from . import _charts as charts
from ._page import figure, name, short, short_names, table, text

_MOST_CLUSTERS = 20  # pairs of bars
_MOST_FLOWS = 10  # pairs of clusters that people moved between, the largest: a short table
_MOST_SENTENCES = 5  # more are for the table


def moves_section(moves: Moves, specs: dict[str, dict[str, Any]]) -> str:
    """Tell who changed cluster, how far and at whose cost; adds its charts to ``specs``.

    Parameters
    ----------
    moves : Moves
        Plain clusters against fair ones.
    specs : dict
        The page's charts.
    """
    said = "".join(f"<li>{text(sentence)}</li>" for sentence in _sentences(moves))
    body = [
        "<p>The clusters without fairness were matched with the fair ones so that as many people as possible stay. "
        "Distances are those to the mean of the own cluster, in the units of the features as they were clustered; what "
        "a group pays is its mean squared distance after, minus before.</p>",
        f"<ul>{said}</ul>",
    ]
    shown = [group for group in moves.visible() if not isinstance(group, tuple)]
    if len(shown) > 1:
        rows = [
            {
                "group": short(group.group if group.attribute in ("", "group") else f"{group.attribute}={group.group}"),
                "share": round(group.share_moved, 6),
                "shown": f"{100 * group.share_moved:.1f} %",
                "count": f"{group.n_moved:,.6g} of {group.n_people:,.6g}",
            }
            for group in shown
        ]
        specs["moved"] = charts.moved_chart(rows)
        body.append(figure("moved", "Share of each group that changed cluster."))
    body.append(_table(moves))
    body.append(_before_and_after(moves, specs))
    body.append(_flows(moves))
    return "\n".join(body)


def _sentences(moves: Moves) -> list[str]:
    """All groups, or where these are many, those of whom most and fewest moved, and everybody; the table has all."""
    every = moves.sentences()
    shown = [i for i, group in enumerate(moves.visible()[:-1]) if not isinstance(group, tuple)]
    if len(every) <= _MOST_SENTENCES or not shown:
        return every
    shares = [moves.groups[i].share_moved for i in shown]
    kept = {shown[int(np.argmax(shares))], shown[int(np.argmin(shares))], len(every) - 1}
    return [every[i] for i in sorted(kept)]


def _table(moves: Moves) -> str:
    has_distances = moves.extra_distance is not None
    head = ["group", "people", "changed cluster"]
    head += ["extra distance: mean", "median", "90th percentile", "worst", "pays per head"] if has_distances else []
    rows = []
    for group in moves.visible():
        if isinstance(group, tuple):
            rows.append([name(group[1]), *[HIDDEN] * (len(head) - 1)])
            continue
        row = [name(group.group), f"{group.n_people:,.6g}", f"{group.n_moved:,.6g} ({100 * group.share_moved:.1f} %)"]
        if has_distances:
            worst = HIDDEN if moves.suppress_below is not None else _signed(group.worst)
            row += [_signed(group.mean), _signed(group.median), _signed(group.high), worst, _signed(group.pays)]
        rows.append(row)
    return table(head, rows, caption="Who changed cluster, by group", classes=[*[""] * (len(rows) - 1), "all"])


def _signed(value: float) -> str:
    return f"{value:+.3g}" if np.isfinite(value) else "–"


def _before_and_after(moves: Moves, specs: dict[str, dict[str, Any]]) -> str:
    """Draw the make-up of each cluster before beside after."""
    parts = []
    for i, (attribute, after) in enumerate(moves.make_up_after.items()):
        before = moves.make_up_before[attribute]
        hidden = [Hidden.of(one, moves.suppress_below).rows for one in (before, after)]
        if len(after.group_names) < 2 or len(after.group_names) > 12:
            continue
        groups = short_names(after.group_names.tolist())
        rows, order = _pairs(before, after, hidden, groups)
        if not rows:
            continue
        place = f"before-after-{i}"
        target = after.target if after.target.ndim == 1 else after.target.mean(axis=0)
        show_lines = after.target.ndim == 1 and after.everyone is None and not (hidden[0].any() or hidden[1].any())
        lines = np.cumsum(target)[:-1].round(6).tolist() if show_lines else []
        specs[place] = charts.composition_chart(rows, order, groups, lines)
        of = "" if attribute == "group" else f" ({name(attribute)})"
        parts.append(figure(place, f"The make-up of each cluster without fairness, and with it{of}."))
    return "\n".join(parts)


def _pairs(
    before: Composition, after: Composition, hidden: list[AnyArray], groups: list[str]
) -> tuple[charts.Rows, list[str]]:
    rows: charts.Rows = []
    order: list[str] = []
    first = {str(label): k for k, label in enumerate(before.cluster_names.tolist())}
    for k, label in enumerate(after.cluster_names.tolist()[:_MOST_CLUSTERS]):
        for when, one, at, hide in (
            ("without", before, first.get(str(label)), hidden[0]),
            ("with", after, k, hidden[1]),
        ):
            if at is None or hide[at]:
                continue
            bar, start = f"{short(label)} {when}", 0.0
            order.append(bar)
            targets = np.broadcast_to(one.target, one.counts.shape)
            for j, group in enumerate(groups):
                share = float(one.proportions[at, j])
                rows.append(
                    {
                        "cluster": bar,
                        "group": group,
                        "share": round(share, 6),
                        "start": round(start, 6),
                        "end": round(start + share, 6)
                        if one.everyone is not None
                        else round(min(1.0, start + share), 6),
                        "wanted": round(float(targets[at, j]), 6),
                        "count": f"{one.counts[at, j]:.10g}",
                    }
                )
                start += share
    return rows, order


def _flows(moves: Moves) -> str:
    if moves.suppress_below is not None:
        return ""
    flows = moves.flows()[:_MOST_FLOWS]
    if not flows:
        return ""
    rows = [[name(one), name(other), f"{count:,}"] for one, other, count in flows]
    return (
        "<details><summary>The largest moves</summary>"
        + table(["from cluster", "to cluster", "people"], rows, caption="The largest moves between clusters")
        + "</details>"
    )
