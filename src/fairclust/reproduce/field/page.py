"""The page: what was won and lost, losses first; a table per protocol; the same as CSV and JSON.

Everything is composed from results and printed figures; nothing is run here.
"""

from __future__ import annotations

import json
import math
import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ... import __version__
from ..._files import atomic
from ..store import code_hash
from ..writing import in_rows, number, write_csv
from .method import Method
from .protocol import Protocol
from .run import Row, Verdict

SCHEMA = Path(__file__).parent / "schema.json"
FORMAT = 1  # of the JSON; a change that readers notice counts up
COLUMNS = (
    "protocol", "objective", "goal", "level", "data", "n_rows", "n_clusters", "method", "origin", "cost", "is_met",
    "people_beyond", "fairness_error", "worst_error", "balance", "seconds", "gap", "n_evaluations", "remark",
)  # fmt: skip


@dataclass(frozen=True)
class Part:
    """A protocol with its rows and the methods that could be asked."""

    protocol: Protocol
    rows: list[Row]
    methods: list[Method]

    @property
    def shown(self) -> list[Method]:
        """Methods with a result in some row."""
        return [method for method in self.methods if any(method.name in row.results for row in self.rows)]

    @property
    def ours(self) -> list[Method]:
        """Ours, the one with most starts last."""
        return [method for method in self.shown if method.is_ours]

    def is_absent(self, name: str) -> bool:
        """Whether a method's package is not at hand."""
        return any(method.name == name and not method.is_available for method in self.methods)

    def factor(self, row: Row) -> float:
        """What costs are multiplied with for a reader."""
        return 1.0 / row.n_rows if self.protocol.per_point and row.n_rows else 1.0


@dataclass(frozen=True)
class Tally:
    """Wins and losses of one of ours in a protocol, against the best rival run here or the best printed figure."""

    protocol: str
    method: str
    against: str
    wins: int
    ties: int
    losses: int
    geometric_mean_ratio: float | None


def tally(part: Part, method: Method, against: str) -> Tally:
    """Count; rows without a figure to compare with are left out."""
    verdicts = [verdict for row in part.rows if (verdict := _verdict(row, method, part, against)) is not None]
    outcomes = [verdict.outcome for verdict in verdicts]
    ratios = [verdict.ratio for verdict in verdicts if verdict.ratio is not None]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None
    counts = {name: outcomes.count(name) for name in ("win", "tie", "loss")}
    return Tally(part.protocol.name, method.name, against, counts["win"], counts["tie"], counts["loss"], mean)


def _verdict(row: Row, method: Method, part: Part, against: str) -> Verdict | None:
    return row.against_printed(method.name) if against == "printed" else row.against_rival(method.name, part.methods)


def _tallies(part: Part) -> list[Tally]:
    return [tally(part, method, against) for method in part.ours for against in ("rival", "printed")]


# --- for people -------------------------------------------------------------------------------------------------------


def markdown(parts: list[Part], pictures: dict[str, str]) -> str:
    """Write the page.

    Parameters
    ----------
    parts : list of Part
    pictures : dict of str to str
        Path of each protocol's picture, from the page; missing ones are left out.
    """
    where = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return f"""# The field: every protocol, every method, one scorer

Written by `fairclust reproduce field`, fairclust {__version__}, on {where}. "Fair" means proportional representation
in clusters and nothing more. All methods get the same data, the same goal and seed 0, on one thread; one scorer judges
their hard labels. *Printed* figures are those of papers, not run here. Seconds are processor seconds of this machine;
printed seconds are of other hardware. A goal that is missed is a loss, whatever the cost; a rival that misses it does
not count.

## What we lose

{_losses(parts)}

## Counted

{_counted(parts)}

{(2 * chr(10)).join(_section(part, pictures.get(part.protocol.name)) for part in parts)}
"""


def _losses(parts: list[Part]) -> str:
    """Every lost row, the method with most starts first; of each, missed goals, then the largest losses."""
    shown = {method for part in parts for method in part.ours}
    names = [method for method in (parts[0].methods if parts else []) if method in shown]
    said = []
    for method in reversed(names):
        lost = [
            (
                -(verdict.ratio or math.inf),
                f"- {part.protocol.title}, {row.case.name}: {_loss(part, row, method, verdict)}",
            )
            for part in parts
            for row in part.rows
            for against in ("printed", "rival")
            if (verdict := _verdict(row, method, part, against)) is not None and verdict.outcome == "loss"
        ]
        lines = [line for _, line in sorted(lost, key=lambda pair: pair[0])] or ["Nothing in these rows."]
        said.append(f"### {method.title}\n\n" + "\n".join(lines))
    return "\n\n".join(said)


def _loss(part: Part, row: Row, method: Method, verdict: Verdict) -> str:
    ours, factor = row.results[method.name], part.factor(row)
    beyond = f" with {verdict.people_beyond:.2g} people beyond the goal" if verdict.people_beyond > 1e-6 else ""
    other = f"{verdict.other} has {number(verdict.value * factor)}{beyond}"
    if not ours["is_met"]:
        return f"misses the goal ({_fairness(ours, part)}); {other}."
    more = "" if verdict.ratio is None else f", {100 * (verdict.ratio - 1):.2g} % less"
    return f"costs {number(ours['objective'] * factor)}; {other}{more}."


def _fairness(result: dict[str, Any], part: Part) -> str:
    kind = part.protocol.goal.kind
    if kind == "sizes":
        return f"{result['smallest_cluster']} to {result['largest_cluster']} rows"
    if kind == "balance":
        return f"balance {result['balance']:.3f}"
    return f"Σ KL {result['fairness_error']:.4f}" if kind == "total" else f"worst KL {result['worst_error']:.4f}"


def _counted(parts: list[Part]) -> str:
    head = ["protocol", "ours", "rows", "rivals run here: losses – ties – wins", "cost / best rival",
            "printed: losses – ties – wins", "cost / best printed", "goal met (to the person)"]  # fmt: skip
    rows = []
    for part in parts:
        for method in part.ours:
            cells = [part.protocol.title, method.title, str(len(part.rows))]
            for against in ("rival", "printed"):
                found = tally(part, method, against)
                n_rows = found.losses + found.ties + found.wins
                ratio = found.geometric_mean_ratio
                cells += [
                    f"{found.losses} – {found.ties} – {found.wins}" if n_rows else "none to compare with",
                    "–" if ratio is None else f"{ratio:.4f}",
                ]
            results = [row.results[method.name] for row in part.rows if method.name in row.results]
            n_met, n_strictly = (sum(map(rule, results)) for rule in (_is_met, _is_met_to_the_person))
            rows.append([*cells, f"{n_met} of {len(results)} ({n_strictly})"])
    return (
        in_rows(head, rows)
        + "\n\nRatios are geometric means over the rows that have both figures; below 1 ours is cheaper."
    )


def _is_met(result: dict[str, Any]) -> bool:
    return bool(result["is_met"])


def _is_met_to_the_person(result: dict[str, Any]) -> bool:
    return _is_met(result) and not (result["people_beyond"] or 0.0) > 1e-6


def _section(part: Part, picture: str | None) -> str:
    protocol = part.protocol
    shown = "" if picture is None else f"\n![Cost above plain against seconds: {protocol.title}.]({picture})\n"
    notes = "".join(f"\n{note}" for note in _notes(part))
    return f"""## {protocol.title}

{protocol.text.strip()} Source: {protocol.source}. Goal: {_goal_in_words(part)}.

{_table(part)}
{shown}{notes}"""


def _goal_in_words(part: Part) -> str:
    goal = part.protocol.goal
    words = str(goal).replace(f"{goal.level:g}", "*level*")
    return words + (f" (less than {goal.people} people beyond it are forgiven)" if goal.people else "")


def _table(part: Part) -> str:
    rivals = [method for method in part.shown if not method.is_ours and not method.is_reference]
    plain = next((method for method in part.shown if method.is_reference), None)
    printed = list(dict.fromkeys(one.method for row in part.rows for one in row.case.printed))
    has_seconds = any(one.seconds for row in part.rows for one in row.case.printed)
    main = part.ours[-1] if part.ours else None
    head = ["data", "K", "level", *([plain.title] if plain else [])]
    for method in part.ours:
        head += [f"**{method.title}**", "s"]
    head += ["gap"]
    for method in rivals:
        head += [method.title, "s"]
    head += [f"{name}, printed" for name in printed]
    head += [
        "/ best rival",
        *(["/ best printed"] if printed else []),
        *(["s / fastest printed s"] if has_seconds else []),
    ]
    rows = [_cells(part, row, plain, rivals, printed, main, has_seconds=has_seconds) for row in part.rows]
    return in_rows(head, rows)


def _cells(
    part: Part,
    row: Row,
    plain: Method | None,
    rivals: list[Method],
    printed: list[str],
    main: Method | None,
    *,
    has_seconds: bool,
) -> list[str]:
    factor = part.factor(row)
    cells = [row.case.recipe.title, str(row.case.n_clusters), f"{row.case.goal.level:g}"]
    if plain is not None:
        cells.append(number(row.results[plain.name]["objective"] * factor) if plain.name in row.results else "–")
    for method in part.ours:
        cells += _cost_and_seconds(part, row, method, mark="**")
    gap = None if main is None else row.results.get(main.name, {}).get("assignment_gap")
    cells.append("–" if gap is None or math.isnan(gap) else f"{100 * gap:.2f} %")
    for method in rivals:
        cells += _cost_and_seconds(part, row, method)
    figures = {one.method: one.objective * factor for one in row.printed()}
    as_printed = row.case.scale == factor == 1
    cells += [
        (f"{figures[name]:.10g}" if as_printed else number(figures[name])) if name in figures else "–"
        for name in printed
    ]
    verdicts = [] if main is None else [row.against_rival(main.name, part.methods)]
    verdicts += [row.against_printed(main.name)] if printed and main is not None else []
    cells += ["–" if one is None or one.ratio is None else f"{one.ratio:.4f}" for one in verdicts]
    if has_seconds:
        fastest = min((one.seconds for one in row.case.printed if one.seconds), default=None)
        own = None if main is None else row.results.get(main.name, {}).get("seconds")
        cells.append("–" if fastest is None or own is None else f"{own / fastest:.2f}")
    return cells


def _cost_and_seconds(part: Part, row: Row, method: Method, mark: str = "") -> list[str]:
    if method.name not in row.results:
        return ["–", "–"]
    result = row.results[method.name]
    cost = f"{mark}{number(result['objective'] * part.factor(row))}{mark}"
    return [cost if result["is_met"] else f"missed: {_fairness(result, part)}", f"{result['seconds']:.1f}"]


def _notes(part: Part) -> list[str]:
    said = [f"{row.case.recipe.title} was not run: {row.missing}" for row in part.rows if row.missing]
    said += [f"{reason}." for row in part.rows for reason in row.skipped.values()]
    titles = {method.name: method.title for method in part.methods}
    said += [f"{titles.get(name, name)} was left out: {why}" for name, why in part.protocol.leave_out.items()]
    return [f"- {one}" for one in dict.fromkeys(said)]


# --- for the picture --------------------------------------------------------------------------------------------------


def panels(part: Part) -> list[dict[str, Any]]:
    """What a protocol's picture shows: per data set, cost above plain in per cent against seconds."""
    plain = next((method for method in part.methods if method.is_reference), None)
    found: dict[str, list[dict[str, Any]]] = {}
    for row in part.rows:
        base = row.results.get(plain.name, {}).get("objective") if plain else None
        if not base:
            continue
        points = found.setdefault(row.case.recipe.title, [])
        for method in part.shown:
            if method.name in row.results and not method.is_reference:
                result = row.results[method.name]
                points.append(
                    _point(method.title, result["objective"], base, result["seconds"]) | {"is_met": result["is_met"]}
                )
        points += [
            _point(one.method, one.objective, base, one.seconds) | {"is_printed": True}
            for one in row.printed()
            if one.seconds
        ]
    return [{"data": data, "points": points} for data, points in found.items() if points]


def _point(method: str, cost: float, base: float, seconds: float) -> dict[str, Any]:
    return {
        "method": method, "above": 100 * (cost / base - 1), "seconds": seconds, "is_met": True, "is_printed": False
    }  # fmt: skip


# --- for programs -----------------------------------------------------------------------------------------------------


def records(parts: list[Part]) -> list[dict[str, Any]]:
    """One record per figure, measured or printed; None where something is not known."""
    found = []
    for part in parts:
        titles = {method.name: method.title for method in part.methods}
        for row in part.rows:
            base = {
                "protocol": part.protocol.name, "objective": row.case.goal.objective, "goal": row.case.goal.kind,
                "level": row.case.goal.level, "data": row.case.recipe.title, "n_rows": row.n_rows or None,
                "n_clusters": row.case.n_clusters,
            }  # fmt: skip
            for name, result in row.results.items():
                gap = result.get("assignment_gap")
                found.append(base | {
                    "method": titles[name], "origin": "run", "cost": result["objective"], "is_met": result["is_met"],
                    "people_beyond": result["people_beyond"],
                    "fairness_error": result["fairness_error"], "worst_error": result["worst_error"],
                    "balance": result["balance"], "seconds": round(result["seconds"], 3),
                    "gap": None if gap is None or math.isnan(gap) else gap,
                    "n_evaluations": result.get("n_evaluations"),
                    "remark": None,
                })  # fmt: skip
            for one in row.printed():
                found.append(base | _nothing() | {
                    "method": one.method, "origin": "printed", "cost": one.objective, "seconds": one.seconds,
                    "fairness_error": one.fairness_error, "balance": one.balance, "remark": part.protocol.source,
                })  # fmt: skip
            for name, reason in row.skipped.items():
                found.append(base | _nothing() | {"method": titles[name], "origin": "skipped", "remark": reason})
            if row.missing:
                found.append(base | _nothing() | {"method": None, "origin": "skipped", "remark": row.missing})
    return found


def _nothing() -> dict[str, Any]:
    return dict.fromkeys(
        (
            "cost",
            "is_met",
            "people_beyond",
            "fairness_error",
            "worst_error",
            "balance",
            "seconds",
            "gap",
            "n_evaluations",
            "remark",
        )
    )


def document(parts: list[Part], *, quick: bool) -> dict[str, Any]:
    """Everything, for citing; ``schema.json`` says what is in it."""
    return {
        "format": FORMAT,
        "fairclust": __version__,
        "code": code_hash(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "quick": quick,
        "protocols": [
            {
                "name": part.protocol.name, "title": part.protocol.title, "source": part.protocol.source,
                "objective": part.protocol.goal.objective, "goal": part.protocol.goal.kind,
            }
            for part in parts
        ],
        "results": records(parts),
        "tallies": [vars(one) for part in parts for one in _tallies(part)],
    }  # fmt: skip


def write_field(parts: list[Part], folder: Path, pictures: dict[str, str], *, quick: bool) -> list[Path]:
    """Write the page, the CSV and the JSON.

    Parameters
    ----------
    parts : list of Part
    folder : Path
    pictures : dict of str to str
        Path of each protocol's picture, from the page.
    quick : bool

    Returns
    -------
    paths : list of Path
        The page first.
    """
    page, table, everything = (folder / f"field{suffix}" for suffix in (".md", ".csv", ".json"))
    with atomic(page) as temporary:
        temporary.write_text(markdown(parts, pictures), encoding="utf-8")
    write_csv([{k: "" if v is None else v for k, v in one.items()} for one in records(parts)], table, COLUMNS)
    with atomic(everything) as temporary:
        text = json.dumps(document(parts, quick=quick), indent=1, ensure_ascii=False, allow_nan=False)
        temporary.write_text(text + "\n", encoding="utf-8")
    return [page, table, everything]
