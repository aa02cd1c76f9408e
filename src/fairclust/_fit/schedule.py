"""How a fit searches: every number that steers it is a field, with its unit and reason."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from .._dual.solver import Precision
from .._typing import FloatArray


@dataclass(frozen=True)
class Stage:
    """Outer iterations at one temperature on some of the rows.

    Attributes
    ----------
    rows : int or None
        Rows of a subsample; None: all.
    temperature : float
        In typical margins: what a row loses in its second-best cluster.
    tolerance : float
        An iteration that lowers the energy by less than this share of it is the last.
    max_iter : int
        Outer iterations.
    is_whole : bool
        Whether every row is in one cluster; else rows near a tie are shared by clusters.
    """

    rows: int | None
    temperature: float
    tolerance: float
    max_iter: int
    is_whole: bool = False

    def limited(self, max_iter: int, scale: float) -> Stage:
        """The stage with at most so many iterations, and its tolerance times a factor."""
        return replace(self, max_iter=min(self.max_iter, max_iter), tolerance=self.tolerance * scale)


@dataclass(frozen=True)
class Schedule:
    """How a fit searches: starts, then splits and merges on a subsample, then stages on all rows.

    Attributes
    ----------
    n_starts : int
        Plain fits of the subsample; the fit starts from the cheapest.
    n_searches : int
        Searches, each from starts of its own: the best of them goes on to all rows.
    search : Stage
        How starts, splits and merges are compared: at 0.1 margins they end in better places than at 0.05 or 0.2.
    patience : int
        The search ends after so many splits and merges in a row that do not help.
    plain_moves : bool
        Whether clusters are split and merged in the plain fit already, where that is cheap.
    least_gain : float
        Of the energy, by which a split and merge must lower it: on a subsample less is chance.
    hope : float
        A split and merge is given up where it is more than so many of its last falls above what is to be beaten.
    part : float
        Of the evaluations that are left, what the search and then each stage may take.
    stages : tuple of Stage
        What follows, each from where the one before ended: prices settle, cool, and rows become whole.
    lloyd : Stage
        The only stage of plain clustering from given centres: Lloyd's algorithm, as others run it.
    momentum : float
        After n better iterations in a row, centres go n/(n + momentum) of their last step farther (Nesterov's rule).
    highest_temperature : float
        In margins, from scratch: there prices may be anywhere, and Newton's model holds far.
    cooling : float
        Ratio of one temperature to the one before.
    precision : Precision
        Of the solver.
    certainty : float
        Of the cost: cooling for the certificate ends when the bound rises by less, or is so near.
    split_gain : float
        Of the energy, that splitting rows near a tie must save where labels are argmin of costs + prices otherwise.
    local_search : bool or None
        Whether moves and swaps of single rows end a fit; None: for goals and sizes, not at a penalty.
    local_search_rows : int
        Rows up to which single ones are moved: of more, one is next to nothing.
    reported_temperature : float
        In typical margins: of the soft assignments that are told.
    cost_fits : int
        Halvings of the way to a fairness error that a limit of the cost allows.
    budget : int
        Evaluations; only what every stage and the certificate need at least, one step, may go beyond. A pass over a
        subsample counts as its share of the rows.
    published_budget : int
        The same of Algorithm 1.
    """

    n_starts: int = 8
    n_searches: int = 1
    search: Stage = Stage(rows=8192, temperature=0.1, tolerance=1e-3, max_iter=10)
    patience: int = 3
    plain_moves: bool = True
    least_gain: float = 1e-4
    hope: float = 3.0
    part: float = 0.5
    stages: tuple[Stage, ...] = (
        Stage(rows=1 << 15, temperature=0.05, tolerance=1e-4, max_iter=100),
        Stage(rows=1 << 15, temperature=0.005, tolerance=1e-5, max_iter=100),
        Stage(rows=None, temperature=0.002, tolerance=1e-4, max_iter=3, is_whole=True),
    )
    lloyd: Stage = Stage(rows=None, temperature=0.1, tolerance=1e-7, max_iter=300, is_whole=True)
    momentum: float = 3.0
    highest_temperature: float = 10.0
    cooling: float = 0.25
    precision: Precision = field(default_factory=Precision)
    certainty: float = 1e-4
    split_gain: float = 1e-4
    local_search: bool | None = None
    local_search_rows: int = 100_000
    reported_temperature: float = 0.1
    cost_fits: int = 9
    budget: int = 1500
    published_budget: int = 20_000

    def temperatures(self, start: float, end: float) -> FloatArray:
        """Temperatures from start down to end, at equal ratios of at most ``cooling``."""
        n_steps = max(int(np.ceil(np.log(start / end) / np.log(1.0 / self.cooling) - 1e-9)), 0)
        return np.geomspace(start, end, n_steps + 1) if n_steps else np.array([end])

    def brief(self) -> Schedule:
        """Without searches: for requests that cannot be met, whose nearest one is fitted once."""
        return replace(self, patience=0, plain_moves=False, budget=min(self.budget, 250))

    def at_fixed_centers(self) -> Schedule:
        """Only the last stage: nothing but labels is to be found."""
        return replace(self, patience=0, plain_moves=False, stages=self.stages[-1:])

    def limited(
        self,
        max_iter: int,
        tol: float,
        max_evaluations: int | None = None,
        local_search: bool | None = None,
        n_searches: int = 1,
    ) -> Schedule:
        """The same with what the user asks for; tolerances are relative to the usual 1e-4."""
        scale = tol / 1e-4
        stages = tuple(one.limited(max_iter, scale) for one in self.stages)
        lloyd = self.lloyd.limited(max_iter, scale)
        budget = self.budget if max_evaluations is None else max_evaluations
        return replace(
            self, stages=stages, lloyd=lloyd, budget=budget, local_search=local_search, n_searches=n_searches
        )
