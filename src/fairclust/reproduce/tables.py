"""The paper's tables: what it prints, what its algorithm gives here, ours and the rivals at the same Σ KL."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataUnavailableError
from . import methods
from .data import Source, sources
from .paper import CENSUS_ROWS, TABLES, Figure, PaperTable, Row
from .store import Store
from .writing import in_rows, number

Result = dict[str, Any]
N_INIT: dict[str, Any] = {"kmeans": 10, "kmedian": 5, "ncut": "auto"}
GOAL = 0.01  # largest error of a cluster in the rows of goals: the default of the estimators
_TRIES = 4  # fits of a search for the weight that gives a Σ KL
_TRIES_OF_FEW = 6  # where a fit takes no time
_TRIES_OF_RIVALS = 3  # theirs take longer
_TRIES_LATER = 3  # with other seeds, from the weight that the first ended at
_SAMPLE = 50_000  # rows on which the weight for a large set is found
_DIFFERS = 0.02  # of a cost: from here on a note says so
_CLOSE = 0.95  # of the wanted Σ KL: near enough


@dataclass
class Line:
    """A row of a table as it came out here.

    Attributes
    ----------
    source : Source
    row : Row
    is_papers_data : bool
        Whether the paper's figures are comparable (of a sample: per row).
    missing : str
        Why nothing was run, or empty.
    same_weight : dict or None
        Ours at the paper's λ, seed 0.
    ours : list of dict
        One result per seed.
    bound : list of dict
        The paper's algorithm at the paper's λ, one result per seed.
    default : dict or None
        Our estimator with nothing but a goal.
    rivals : dict
        The best result of each rival at the wanted Σ KL (or its fairest), with its setting.
    plain : dict or None
        Our estimator without fairness.
    more : dict or None
        Where ours falls short of the paper: with more starts.
    wider : dict or None
        The same at the largest Σ KL that the paper's figure may be rounded from.
    """

    source: Source
    row: Row
    is_papers_data: bool
    missing: str = ""
    same_weight: Result | None = None
    ours: list[Result] = field(default_factory=list)
    bound: list[Result] = field(default_factory=list)
    default: Result | None = None
    rivals: dict[str, Result] = field(default_factory=dict)
    plain: Result | None = None
    more: Result | None = None
    wider: Result | None = None

    @property
    def best(self) -> Result:
        """Ours, best seed."""
        return cheapest(self.ours, self.row.level)

    @property
    def printed(self) -> Figure:
        """The paper's figure, brought to the rows of these data (Ncut has no rows to scale by)."""
        return self._scaled(self.row.ours)

    @property
    def printed_rival(self) -> Figure | None:
        """The paper's figure for the rival, likewise."""
        return None if self.row.rival is None else self._scaled(self.row.rival)

    @property
    def is_short(self) -> bool:
        """Whether ours costs more than the paper's figure by at least one unit of its last digit."""
        printed = self.row.ours.objective
        scale = self.printed.objective / printed if printed > 0 else 1.0
        return bool(self.best["objective"] >= (printed + 2 * _half_a_digit(printed)) * scale)

    def _scaled(self, figure: Figure) -> Figure:
        by_rows = figure.objective > 1 and 0 < self.source.rows_of_paper < 1
        scale = self.source.rows_of_paper if by_rows else 1.0
        return Figure(figure.objective * scale, figure.fairness_error, figure.balance)


def cheapest(results: Iterable[Result], level: float) -> Result:
    """Return the lowest objective among those within a Σ KL; where none is, the fairest."""
    results = list(results)
    within = [result for result in results if result["fairness_error"] <= level]
    if within:
        return min(within, key=lambda result: float(result["objective"]))
    return min(results, key=lambda result: float(result["fairness_error"]))


def search(fit: Callable[[float], Result], level: float, first: float, tries: int, power: float) -> list[Result]:
    """Try values of a knob until the Σ KL is just within a level.

    Parameters
    ----------
    fit : callable
        Result at a value of the knob.
    level : float
        Most Σ KL.
    first : float
        Value to begin with.
    tries : int
        How often at most.
    power : float
        Σ KL goes about as knob^power; negative for λ, which makes clusters fairer as it grows.

    Returns
    -------
    results : list of dict
        All that were tried, each with its value as "knob".
    """
    tried: list[Result] = []
    knob = first
    for _ in range(tries):
        found = fit(knob) | {"knob": knob}
        tried.append(found)
        error = max(float(found["fairness_error"]), 1e-9)
        if _CLOSE * level <= error <= level:
            break
        fair = [r["knob"] for r in tried if r["fairness_error"] <= level]
        unfair = [r["knob"] for r in tried if r["fairness_error"] > level]
        # Starts make the Σ KL jump about: aim lower with every miss.
        aim = level * max(0.985 - 0.04 * max(len(unfair) - 1, 0), 0.8)
        step = float(np.clip((aim / error) ** (1 / power), 1 / 30, 30))
        guess = knob * step
        if fair and unfair:
            low, high = (max(unfair), min(fair)) if power < 0 else (max(fair), min(unfair))
            if not low < guess < high:
                guess = float(np.sqrt(low * high)) if 0 < low < high else guess
            if high < 1.01 * low:
                break
        if fair and not unfair and error < 1e-6:
            break  # fair at any price: nothing to gain from a weight that keeps it so
        knob = guess
    return tried


class Runner:
    """Fills a table's lines from a store."""

    def __init__(self, table: PaperTable, store: Store, n_seeds: int) -> None:
        self.table, self.store, self.n_seeds = table, store, n_seeds
        self.objective = table.objective

    def line(self, source: Source, row: Row) -> Line:
        """Run everything for one row."""
        line = Line(source, row, source.rows_of_paper > 0)
        try:
            self._fill(line)
        except DataUnavailableError as reason:
            line.missing = str(reason)
        finally:
            source.forget()
        return line

    def _fill(self, line: Line) -> None:
        source, row = line.source, line.row
        n_seeds = 1 if source.is_large else self.n_seeds
        line.ours = self._ours(line, n_seeds)
        if line.is_papers_data and not source.is_large:
            weight = row.fairness_weight * (source.rows_of_paper if self.objective != "ncut" else 1.0)
            for seed in range(n_seeds):
                line.bound.append(
                    self._run(source, "algorithm 1", {"weight": weight, "seed": seed}, methods.papers_algorithm)
                )
        n_init = 1 if source.is_large else N_INIT[self.objective]
        line.plain = self._run(source, "plain", {"weight": 0.0, "seed": 0, "n_init": n_init}, methods.ours)
        line.default = self._run(source, "goal", {"goal": GOAL, "seed": 0}, methods.out_of_the_box)
        counts = self._group_counts(source)
        for rival in methods.RIVALS[self.objective]:
            if rival.most_groups is None or len(counts) <= rival.most_groups:
                self._rival(line, rival, counts)
        if line.is_papers_data and line.is_short:
            self._look_further(line)

    def _run(self, source: Source, name: str, setting: dict[str, Any], make: Callable[..., Any]) -> Result:
        settings = {"data": source.name, "identity": source.identity, "objective": self.objective} | setting

        def compute() -> Result:
            return methods.run(source, self.objective, make(source, self.objective, **setting))

        label = f"{self.objective} {source.name} {name} " + " ".join(f"{k}={_short(v)}" for k, v in setting.items())
        return self.store.get(label, settings, compute)

    def _ours(self, line: Line, n_seeds: int) -> list[Result]:
        """Ours at the paper's Σ KL, per seed: λ is found by root finding, as the paper finds it by trying several."""
        source, row = line.source, line.row
        n_init = N_INIT[self.objective]
        first = row.fairness_weight * (source.rows_of_paper or 1.0 if self.objective != "ncut" else 1.0)
        found: list[Result] = []
        if source.is_large:
            few = source.few_rows(_SAMPLE)
            scale = CENSUS_ROWS / _SAMPLE
            tried = self._search_weight(few, row.level, first / scale, _TRIES, 0, n_init)
            # A larger set has less chance to be fair by overfitting: a little more weight.
            first = 1.03 * float(cheapest(tried, row.level)["knob"]) * scale
            return [cheapest(self._search_weight(source, row.level, first, 2, 0, 1), row.level)]
        for seed in range(n_seeds):
            tries = _TRIES_OF_FEW if source.is_small else _TRIES if seed == 0 else _TRIES_LATER
            tried = self._search_weight(source, row.level, first, tries, seed, n_init)
            line.same_weight = line.same_weight or tried[0]
            found.append(cheapest(tried, row.level))
            first = float(found[-1]["knob"])
        return found

    def _search_weight(
        self, source: Source, level: float, first: float, tries: int, seed: int, n_init: int | str
    ) -> list[Result]:
        return search(
            lambda weight: self._run(
                source, "ours", {"weight": _rounded(weight), "seed": seed, "n_init": n_init}, methods.ours
            ),
            level,
            first,
            tries,
            -1.4,
        )

    def _group_counts(self, source: Source) -> list[int]:
        """Rows of each group; kept, so that a run that is all done needs no data."""
        settings = {"data": source.name, "identity": source.identity}

        def compute() -> Result:
            return {"counts": np.unique(source.points.groups, return_counts=True)[1].tolist()}

        counts: list[int] = self.store.get(f"groups {source.name}", settings, compute)["counts"]
        return counts

    def _rival(self, line: Line, rival: methods.Rival, counts: list[int]) -> None:
        source = line.source
        tried: list[Result] = []
        for setting in rival.settings(source, counts):
            if rival.has_bounds:
                tries = _TRIES_OF_FEW if source.is_small else _TRIES_OF_RIVALS
                fit = partial(self._run_with_bounds, source, rival, setting)
                tried += search(fit, line.row.level, 0.1, tries, 2.0)
            else:
                tried.append(self._run_rival(source, rival, setting))
        if tried:
            line.rivals[rival.name] = cheapest(tried, line.row.level)

    def _run_with_bounds(self, source: Source, rival: methods.Rival, setting: dict[str, Any], delta: float) -> Result:
        return self._run_rival(source, rival, setting | {"bounds": _rounded(min(delta, 0.95))})

    def _run_rival(self, source: Source, rival: methods.Rival, setting: dict[str, Any]) -> Result:
        settings = {
            "data": source.name, "identity": source.identity, "objective": self.objective, "rival": rival.name,
            "seed": 0,
        } | setting  # fmt: skip
        shown = " ".join(f"{name}={_short(value)}" for name, value in setting.items() if name != "affinity")
        label = f"{self.objective} {source.name} {rival.name} {shown}"
        result = self.store.get(label, settings, lambda: rival.run(source, self.objective, setting, 0))
        return result | {"setting": shown}

    def _look_further(self, line: Line) -> None:
        """Ours did not reach the paper's figure: three times the starts, and the Σ KL that it may be rounded from."""
        n_init = 12 if self.objective == "ncut" else 3 * N_INIT[self.objective]
        first = float(line.best["knob"])
        tried = self._search_weight(line.source, line.row.level, first, 2, 100, n_init)
        line.more = cheapest([*tried, line.best], line.row.level)
        level = _widest(line.row)
        tried = self._search_weight(line.source, level, first * (level / line.row.level) ** -0.7, 2, 100, n_init)
        line.wider = cheapest(tried, level)


def _widest(row: Row) -> float:
    """Return the largest Σ KL that rounds to what is printed."""
    return row.ours.fairness_error + _half_a_digit(row.ours.fairness_error)


def _half_a_digit(printed: float) -> float:
    """Half a unit of the last digit; all figures are printed with two decimals at least."""
    digits = len(f"{printed:.10g}".partition(".")[2])
    return 0.5 * 10.0 ** -max(digits, 2)


def _rounded(value: float) -> float:
    """Keep four digits: the same on every machine, and readable."""
    return float(f"{value:.4g}")


def _short(value: Any) -> str:
    return (
        f"{value:g}"
        if isinstance(value, float)
        else ":".join(map(str, value))
        if isinstance(value, list)
        else str(value)
    )


def run_table(name: str, store: Store, data_dir: Path | None, *, quick: bool, n_seeds: int) -> list[Line]:
    """Run a table.

    Parameters
    ----------
    name : {"table1", "table2", "table3"}
    store : Store
    data_dir : Path or None
    quick : bool
        The synthetic sets only.
    n_seeds : int

    Returns
    -------
    lines : list of Line
    """
    table = TABLES[name]
    runner = Runner(table, store, n_seeds)
    rows = {row.data: row for row in table.rows}
    return [runner.line(source, rows[source.paper_name]) for source in sources(table.objective, data_dir, quick=quick)]


# --- notes ------------------------------------------------------------------------------------------------------------


def note(line: Line, table: PaperTable) -> str:
    """Say what a reader must know about a row: what the data are, where and why figures differ. From results only."""
    said = [line.source.remark] if line.source.remark else []
    if line.missing:
        return f"not run: {line.missing}"
    if line.is_papers_data:
        said += _against_paper(line, table)
    if line.source.is_large and table.rival not in line.rivals:
        said.append(f"{table.rival} was not run at this size: its linear program takes many minutes")
    for name, result in line.rivals.items():
        if result["fairness_error"] > line.row.level * (1 + 1e-9):
            said.append(f"{name} did not reach Σ KL ≤ {number(line.row.level)}: its fairest result is shown")
    return "; ".join(said)


def _against_paper(line: Line, table: PaperTable) -> list[str]:
    said = []
    ours, printed = line.best, line.printed
    if ours["fairness_error"] > line.row.level:
        said.append(f"no λ tried met Σ KL ≤ {number(line.row.level)}: the fairest result is shown")
    gap = ours["objective"] / printed.objective - 1 if printed.objective > 0 else 0.0
    if line.is_short:
        said.append(
            f"ours is {100 * gap:.1f} % above the paper" if printed.objective > 0 else "ours is above the paper"
        )
        if line.more is not None and line.wider is not None:
            said.append(
                f"three times the starts give {number(line.more['objective'])} at "
                f"{number(line.more['fairness_error'])}; at Σ KL ≤ {number(_widest(line.row))}, which the paper's "
                f"figure may be rounded from, {number(line.wider['objective'])}"
            )
    elif abs(gap) > _DIFFERS:
        said.append(f"ours is {-100 * gap:.0f} % below the paper")
    if (line.is_short or abs(gap) > _DIFFERS) and line.bound:
        said.append(_algorithm_here(line))
        if not line.is_short and len(line.ours) > 1:
            said.append(f"our seeds end at {_range([result['objective'] for result in line.ours])}")
    return said


def _algorithm_here(line: Line) -> str:
    """What Algorithm 1 gives here at the paper's λ: tells a difference of data from one of method."""
    values = [result["objective"] for result in line.bound]
    errors = [result["fairness_error"] for result in line.bound]
    weight = line.bound[0].get("fairness_weight", line.row.fairness_weight)
    text = (
        f"the paper's algorithm at its λ = {weight:.6g}, run here from k-means++ seeds 0 to {len(values) - 1}, ends at "
        f"{_range(values)} with Σ KL {_range(errors)}"
    )
    ours = line.same_weight
    if ours is None:
        return text
    text += f"; at the same λ ours ends at {number(ours['objective'])} with {number(ours['fairness_error'])}"
    energies = [r["objective"] + weight * r["fairness_error"] for r in (ours, *line.bound)]
    if energies[0] < min(energies[1:]) * (1 - 1e-6):
        gain = 100 * (1 - energies[0] / min(energies[1:]))
        text += f", {gain:.1f} % lower in energy than its best"
    return text


# --- writing ----------------------------------------------------------------------------------------------------------


def markdown(lines: list[Line], table: PaperTable) -> str:
    """Write a table for people."""
    head = [
        "data", "λ", "paper", "paper's algorithm, here", "**ours**", "seeds", "s",
        f"{table.rival}, paper", f"{table.rival}, here", "s", "other rivals, here",
    ]  # fmt: skip
    rows = []
    notes = []
    for line in lines:
        text = note(line, table)
        mark = ""
        if text:
            notes.append(text)
            mark = f" [{len(notes)}]"
        rows.append(_cells(line, table, mark))
    listed = "\n".join(f"{i}. {text[0].upper()}{text[1:]}." for i, text in enumerate(notes, 1))
    return f"""## Table {table.number}: {table.title}

Objective @ Σ KL (balance). Ours and the rivals' are the lowest objectives found at a Σ KL of at most the paper's.

{in_rows(head, rows)}

{listed}

### Out of the box

`{methods.OURS[table.objective].__name__}(n_clusters, goal={GOAL})`, nothing tuned; and without fairness.

{_default_rows(lines)}
"""


def _cells(line: Line, table: PaperTable, mark: str) -> list[str]:
    printed = line.printed_rival
    paper = [_figure(line.printed), _figure(printed) if printed else "N/A"] if line.is_papers_data else ["–", "–"]
    if line.missing:
        return [
            f"{line.source.title}{mark}",
            f"{line.row.fairness_weight:g}",
            paper[0],
            *["–"] * 4,
            paper[1],
            *["–"] * 3,
        ]
    rival = line.rivals.get(table.rival)
    others = [f"{name}: {_result(r)}" for name, r in line.rivals.items() if name != table.rival]
    values = [result["objective"] for result in line.ours]
    return [
        f"{line.source.title}{mark}",
        f"{line.row.fairness_weight:g}" if line.is_papers_data else "–",
        paper[0],
        _spread(line.bound) if line.bound else "–",
        f"**{_result(line.best)}**",
        _range(values) if len(values) > 1 else "1 seed",
        f"{line.best['seconds']:.1f}",
        paper[1],
        _result(rival) if rival else "–" if line.source.is_large else "N/A",
        f"{rival['seconds']:.1f}" if rival else "–",
        "; ".join(others) or "–",
    ]


def _default_rows(lines: list[Line]) -> str:
    rows = []
    for line in lines:
        if line.default is None or line.plain is None:
            continue
        plain = line.plain["objective"]
        more = f"{100 * (line.default['objective'] / plain - 1):+.1f} %" if plain > 1e-9 else "–"
        rows.append([
            line.source.title, _result(line.default), f"{line.default['worst_error']:.4f}",
            f"{line.default['seconds']:.1f}", _result(line.plain), more,
        ])  # fmt: skip
    return in_rows(["data", "with the goal", "worst cluster", "s", "without fairness", "costs"], rows)


COLUMNS = (
    "table", "objective", "data", "method", "setting", "seed", "value", "fairness_error", "worst_error", "balance",
    "seconds", "fairness_weight", "is_best", "note",
)  # fmt: skip


def rows_for_csv(lines: list[Line], table: PaperTable) -> list[dict[str, Any]]:
    """Write a table for programs: one row per figure."""
    rows = []
    for line in lines:
        base = {"table": table.number, "objective": table.objective, "data": line.source.title}
        text = note(line, table)
        if line.is_papers_data:
            for name, figure in (("paper", line.printed), (f"{table.rival}, paper", line.printed_rival)):
                if figure is not None:
                    rows.append(base | {
                        "method": name, "value": figure.objective, "fairness_error": figure.fairness_error,
                        "balance": figure.balance, "note": text,
                    })  # fmt: skip
        if line.missing:
            rows.append(base | {"method": "ours", "note": text})
            continue
        best = line.best
        measured = [("ours", seed, result, result is best) for seed, result in enumerate(line.ours)]
        measured += [("paper's algorithm, here", seed, result, False) for seed, result in enumerate(line.bound)]
        measured += [(name, 0, result, False) for name, result in line.rivals.items()]
        measured += [
            (name, 0, result, False)
            for name, result in (("goal", line.default), ("plain", line.plain), ("ours, more starts", line.more))
            if result is not None
        ]
        for name, seed, result, is_best in measured:
            rows.append(base | {
                "method": name, "setting": result.get("setting", ""), "seed": seed, "value": result["objective"],
                "fairness_error": result["fairness_error"], "worst_error": result["worst_error"],
                "balance": result["balance"], "seconds": round(result["seconds"], 3),
                "fairness_weight": result.get("fairness_weight", ""), "is_best": is_best,
                "note": text if is_best else "",
            })  # fmt: skip
    return rows


def _figure(figure: Figure) -> str:
    return f"{number(figure.objective)} @ {figure.fairness_error:g} ({figure.balance:.2f})"


def _result(result: Result) -> str:
    return f"{number(result['objective'])} @ {number(result['fairness_error'])} ({result['balance']:.2f})"


def _spread(results: list[Result]) -> str:
    return f"{_range([r['objective'] for r in results])} @ {_range([r['fairness_error'] for r in results])}"


def _range(values: list[float]) -> str:
    low, high = number(min(values)), number(max(values))
    return low if low == high else f"{low}–{high}"
