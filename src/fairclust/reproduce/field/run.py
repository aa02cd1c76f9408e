"""A protocol, run: every case by every method that can do it, each result kept in the store by itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import DataUnavailableError, FairclustError, MissingExtraError
from ..store import Store
from .data import Rows, load
from .method import Method, UnavailableError
from .protocol import Case, Printed, Protocol, Recipe
from .score import score

Result = dict[str, Any]
_SEED = 0  # of every method: figures are of one run, told on the page
_EQUAL = 1e-5  # of a cost: less is the same


@dataclass
class Row:
    """A case as it came out.

    Attributes
    ----------
    case : Case
    n_rows : int
        Rows of the data; 0 where they are not at hand.
    results : dict of str to dict
        By method's name: scores, processor seconds, what the method told.
    skipped : dict of str to str
        By method's name: why it was not run.
    missing : str
        Why nothing was run, or empty.
    """

    case: Case
    n_rows: int = 0
    results: dict[str, Result] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    missing: str = ""

    def printed(self) -> list[Printed]:
        """Printed figures, brought to the rows of these data."""
        return [
            Printed(one.method, one.objective * self.case.scale, one.seconds, one.fairness_error, one.balance)
            for one in self.case.printed
        ]

    def best_printed(self) -> Printed | None:
        """The lowest printed cost."""
        return min(self.printed(), key=lambda one: one.objective, default=None)

    def best_rival(self, methods: Iterable[Method]) -> tuple[Method, Result] | None:
        """The cheapest result that meets the goal, of methods that are neither ours nor a reference."""
        found = [
            (method, self.results[method.name])
            for method in methods
            if not (method.is_ours or method.is_reference) and self.results.get(method.name, {}).get("is_met")
        ]
        return min(found, key=lambda pair: float(pair[1]["objective"]), default=None)

    def against_rival(self, name: str, methods: Iterable[Method]) -> Verdict | None:
        """Compare one of ours with the best rival that meets the goal; None where there is none."""
        ours, rival = self.results.get(name), self.best_rival(methods)
        if ours is None or rival is None:
            return None
        cost, beyond = float(rival[1]["objective"]), float(rival[1].get("people_beyond") or 0.0)
        return _verdict(ours, cost, _EQUAL * cost, rival[0].title, beyond)

    def against_printed(self, name: str) -> Verdict | None:
        """Compare one of ours with the lowest printed cost, as exactly as that is printed."""
        ours, printed = self.results.get(name), self.best_printed()
        if ours is None or printed is None:
            return None
        return _verdict(ours, printed.objective, self.case.exact_to * self.case.scale, printed.method)


@dataclass(frozen=True)
class Verdict:
    """Ours beside one other figure.

    Attributes
    ----------
    outcome : {"win", "tie", "loss"}
        A goal that is missed is a loss.
    ratio : float or None
        Our cost over the other; None where either is 0, or our goal was missed.
    other : str
        Whose figure it is.
    value : float
        The figure.
    people_beyond : float
        People by which the other is beyond the goal, and was forgiven.
    """

    outcome: str
    ratio: float | None
    other: str
    value: float
    people_beyond: float = 0.0


def _verdict(ours: Result, value: float, tolerance: float, other: str, beyond: float = 0.0) -> Verdict:
    cost = float(ours["objective"])
    if not ours["is_met"]:
        return Verdict("loss", None, other, value, beyond)
    outcome = "tie" if abs(cost - value) <= tolerance else "win" if cost < value else "loss"
    return Verdict(outcome, cost / value if min(cost, value) > 0 else None, other, value, beyond)


def run_protocol(
    protocol: Protocol, methods: list[Method], store: Store, data_dir: Path | None, *, quick: bool
) -> list[Row]:
    """Run every row of a protocol.

    Parameters
    ----------
    protocol : Protocol
    methods : list of Method
        Those that know the objective and the goal are run.
    store : Store
        Results that are there already are used again.
    data_dir : Path or None
    quick : bool
        The rows that need no file only.

    Returns
    -------
    rows : list of Row
    """
    chosen = [method for method in methods if method.knows(protocol.goal) and method.name not in protocol.leave_out]
    loaded = _Loaded(data_dir, is_graph=protocol.goal.objective == "ncut")
    return [_row(case, chosen, store, loaded) for case in protocol.chosen(quick=quick)]


class _Loaded:
    """The data of one recipe at a time, loaded when something has to be computed."""

    def __init__(self, data_dir: Path | None, *, is_graph: bool) -> None:
        self.data_dir, self.is_graph = data_dir, is_graph
        self._kept: tuple[Recipe, Rows] | None = None

    def __call__(self, recipe: Recipe) -> Rows:
        if self._kept is None or self._kept[0] != recipe:
            self._kept = (recipe, load(recipe, self.data_dir, is_graph=self.is_graph))
        return self._kept[1]


def _row(case: Case, methods: list[Method], store: Store, loaded: _Loaded) -> Row:
    row = Row(case)
    try:
        row.n_rows, n_groups = _shape(case, store, loaded)
        for method in methods:
            reason = method.refuses(row.n_rows, n_groups)
            result = {"skipped": reason} if reason else _result(case, method, store, loaded)
            if "skipped" in result:
                row.skipped[method.name] = result["skipped"]
            else:
                row.results[method.name] = result
    except (DataUnavailableError, MissingExtraError) as reason:
        row.missing = str(reason)
    return row


def _shape(case: Case, store: Store, loaded: _Loaded) -> tuple[int, int]:
    """Rows and groups of the data (of all attributes); kept, so that a run that is all done needs no data."""

    def compute() -> Result:
        rows = loaded(case.recipe)
        columns = rows.groups.values() if isinstance(rows.groups, dict) else [rows.groups]
        return {"n_rows": rows.X.shape[0], "n_groups": sum(len(np.unique(column)) for column in columns)}

    kept = store.get(f"field shape {case.recipe.name}", case.recipe.identity, compute)
    return int(kept["n_rows"]), int(kept["n_groups"])


def _result(case: Case, method: Method, store: Store, loaded: _Loaded) -> Result:
    goal = asdict(case.goal) if not method.is_reference else {"objective": case.goal.objective}
    settings = {
        "data": case.recipe.identity, "n_clusters": case.n_clusters, "goal": goal, "method": method.name,
        "file": method.identity, "seed": _SEED,
    }  # fmt: skip
    level = "" if method.is_reference else f" {case.goal.kind}={case.goal.level:g}"
    label = f"field {case.goal.objective} {case.recipe.name} {method.name} K={case.n_clusters}{level}"

    def compute() -> Result:
        rows = loaded(case.recipe)
        try:
            answer = method(rows.X, rows.groups, case.n_clusters, case.goal, _SEED)
        except FairclustError as error:
            return {"skipped": f"{method.title} stopped: {error}"}
        scores = score(rows.X, rows.groups, case.n_clusters, case.goal, answer.labels)
        return scores | {"seconds": answer.seconds} | answer.own_figures

    try:
        return store.get(label, settings, compute)
    except UnavailableError as reason:  # not kept: it may be there next time
        return {"skipped": str(reason)}
