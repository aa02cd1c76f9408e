"""What moved between two records of the golden fits: bit for bit, or by quality."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

Record = Mapping[str, Any]  # what one fit found
Records = Mapping[str, Record]

MOST_ON_AVERAGE = 1e-3  # relative rise of the judged figure, over the cases of a kind of request
MOST_OF_ONE = 1e-2  # of one case
_ROUNDING = 1e-6  # relative: costs are kept in single precision
_SMALL_ERROR = 0.1  # nats: a fairness error that is judged is compared with no less than this


def moved(old: Records, new: Records) -> list[str]:
    """A line for each case that is not the same bit for bit, and what of it moved."""
    lines = _unmatched(old, new)
    for name in old:
        changes = list(_changes(old[name], new[name])) if name in new else []
        if changes:
            lines.append(f"{name}: {'; '.join(changes)}")
    return lines


def quality(old: Records, new: Records, reasons: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """A table of what a change of method did to each kind of request, and a line for each case that became worse.

    Goals, sizes, certificates and results that were there must be there. The judged figure (the energy at a weight,
    the cost where a goal is met in both records, the fairness error within a budget of cost) may rise by
    `MOST_ON_AVERAGE` in the mean of a kind and `MOST_OF_ONE` in a case. Cases with a reason are only listed.
    """
    both = [name for name in old if name in new]
    lost = {name: list(_lost(old[name], new[name])) for name in both}
    rises = {name: rise for name in both if (rise := _rise(old[name], new[name])) is not None and name not in reasons}
    worse = _unmatched(old, new)
    worse += [f"{name}: {'; '.join(what)}" for name, what in lost.items() if what and name not in reasons]
    table = [f"{'kind':16}{'cases':>6}{'judged':>7}{'mean':>10}{'worst':>10}{'evaluations':>13}  worst case"]
    for kind in dict.fromkeys(record["kind"] for record in new.values()):
        names = [name for name in both if new[name]["kind"] == kind]
        judged = {name: rises[name] for name in names if name in rises}
        mean = float(np.mean(list(judged.values()))) if judged else 0.0
        worst = max(judged, key=judged.__getitem__, default="none")
        table.append(
            f"{kind:16}{len(names):6}{len(judged):7}{mean:+10.3%}{judged.get(worst, 0.0):+10.3%}"
            f"{_evaluations(old, new, names):11.2f} ×  {worst}"
        )
        if mean > MOST_ON_AVERAGE:
            worse.append(f"kind {kind!r}: {mean:+.3%} on average of {len(judged)} cases")
    excused = [name for name in both if name in reasons]
    table += [f"excused: {name}: {'; '.join(lost[name]) or 'not worse'} ({reasons[name]})" for name in excused]
    table += [f"better: {name}: {what}" for name in both if (what := _gained(old[name], new[name]))]
    return table, worse


def _unmatched(old: Records, new: Records) -> list[str]:
    lines = [f"{name}: not recorded" for name in new if name not in old]
    return lines + [f"{name}: recorded, but not fitted now" for name in old if name not in new]


def _evaluations(old: Records, new: Records, names: list[str]) -> float:
    """Evaluations now, relative to those recorded, where both fits came to an end."""
    ended = [name for name in names if "evaluations" in old[name] and "evaluations" in new[name]]
    before, now = (sum(records[name]["evaluations"] for name in ended) for records in (old, new))
    return now / before if before else math.nan


def _changes(old: Record, new: Record) -> Iterator[str]:
    hashes = []
    for key in dict.fromkeys([*old, *new]):
        before, now = old.get(key, "nothing"), new.get(key, "nothing")
        if json.dumps(before) == json.dumps(now):
            continue
        if _is_hash(before) and _is_hash(now):
            hashes.append(key)
        else:
            yield f"{key} {_shown(before, now)}"
    if hashes:
        yield f"other bits in {', '.join(hashes)}"


def _lost(old: Record, new: Record) -> Iterator[str]:
    """What was there and is not any more."""
    if "error" in new and "error" not in old:
        yield f"ends with {new['error']}"
    if "error" in old or "error" in new:
        return
    if (rise := _rise(old, new)) is not None and rise > MOST_OF_ONE:
        yield f"{new['judged']} {_shown(old[new['judged']], new[new['judged']])}"
    if _is_goal(new) and old["goal_met"] and not new["goal_met"]:
        errors = _shown(old["max_fairness_error"], new["max_fairness_error"])
        yield f"the goal was met and is not: max_fairness_error {errors}"
    before, now = (record.get("lower_bound", math.nan) for record in (old, new))
    if new["goal_met"] and math.isfinite(before) and not math.isfinite(now):
        yield f"lower_bound {_shown(before, now)}"
    if new["goal_met"] and now > new["objective"] * (1.0 + _ROUNDING):
        yield f"lower_bound {now!r} is above the objective, {new['objective']!r}"


def _gained(old: Record, new: Record) -> str:
    if "error" in old and "error" not in new:
        return f"a result instead of {old['error']}"
    return "the goal is met now" if _is_goal(new) and new["goal_met"] and not old["goal_met"] else ""


def _rise(old: Record, new: Record) -> float | None:
    """By which share the judged figure rose; None where there is nothing to compare."""
    if "error" in old or "error" in new:
        return None
    if _is_goal(new) and not (old["goal_met"] and new["goal_met"]):
        return None
    judged = new["judged"]
    unit = max(old[judged], _SMALL_ERROR) if judged == "max_fairness_error" else abs(old[judged])
    if new[judged] == old[judged]:
        return 0.0
    rise = (new[judged] - old[judged]) / unit if unit else math.inf
    return rise if math.isfinite(rise) else math.inf


def _is_goal(record: Record) -> bool:
    return "error" not in record and record["judged"] != "energy"


def _is_hash(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 12 and set(value) <= set("0123456789abcdef")


def _shown(before: Any, now: Any) -> str:
    if isinstance(before, float) and isinstance(now, float) and before and math.isfinite(now):
        return f"{now / before - 1.0:+.2g} of {before:.10g}"
    return f"{before!r} → {now!r}"
