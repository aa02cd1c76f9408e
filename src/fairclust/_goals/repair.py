"""Whole people: the last few that prices leave on the wrong side of a goal are moved, the cheapest per person first.

How many people the clusters are away from the goal is a convex function of their masses, so that single moves that
bring it down lead to the goal or near it. Whole people are no convex set, though: one woman and two men may miss a goal
that two and three meet, and every single move is a step away from it. Where no single move helps, several are made
together: the fewest that bring a cluster nearer, with the others that they come from or go to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._sweep.question import Candidates, DataSweep, HardAnswer
from .._typing import AnyArray, FloatArray, IntArray
from .conditions import Conditions
from .cone import ROUNDING
from .moves import MoveTable

_SHORT_LIST = 12  # kinds of moves that points are looked up for at a time
_MANY = 64  # clusters from which on moves are ranked by their ends: a table of all moves takes longer
_CANDIDATES = 64  # points per kind of move: more are hardly ever moved
_NOTHING = 1e-12  # of the people: less is rounding
_MOST_LOOKED_AT = 2048  # compositions of a cluster, nearest first: two people of 22 groups, 28 of two
_EMPTY = 100.0  # people that an empty cluster counts for: one alone is beyond a goal by fewer, log(1/1e-20) and less


@dataclass(frozen=True)
class Repaired:
    """Labels after the moves, with their masses and cost."""

    labels: Any
    hard: HardAnswer


class _Beyond(MoveTable):
    """How many people each cluster is beyond the goal."""

    def __init__(self, goal: Conditions, masses: FloatArray, unit: float) -> None:
        self._goal = goal
        super().__init__(masses, unit)

    def costs(self, rows: FloatArray, clusters: IntArray) -> FloatArray:
        """People beyond the goal; nobody is worse than anybody alone, for somebody would have to be put there."""
        rows = np.maximum(rows, 0.0)
        is_empty = rows.sum(axis=1) < self.unit / 2
        return self._goal.beyond(rows, clusters) + np.where(is_empty, _EMPTY * self.unit, 0.0)

    def move_kinds(self) -> FloatArray:
        """Kinds of moves (cell, from, to) that help, best first, and by how much: rows (gain, cell, from, to)."""
        leave, enter = np.where(self.has_nobody(), np.inf, self.leave).T, self.enter.T  # (cell, cluster)
        are_many = len(self.masses) > _MANY
        if are_many:
            at_source, leave = _smallest(leave, _SHORT_LIST + 1)  # more are never among the first: one may be both ends
            at_destination, enter = _smallest(enter, _SHORT_LIST + 1)
        change = leave[:, :, None] + enter[:, None, :]  # (cell, from, to)
        if are_many:
            change[at_source[:, :, None] == at_destination[:, None, :]] = np.inf
        else:
            own = np.arange(len(self.masses))
            change[:, own, own] = np.inf
        flat = change.ravel()
        n_kept = min(_SHORT_LIST, flat.size)
        first = np.argpartition(flat, n_kept - 1)[:n_kept]
        first = first[flat[first] < -self.least()]
        first = first[np.argsort(flat[first], kind="stable")]
        cell, source, destination = np.unravel_index(first, change.shape)
        if are_many:
            source, destination = at_source[cell, source], at_destination[cell, destination]
        return np.column_stack((-flat[first], cell, source, destination))

    def has_nobody(self) -> AnyArray:
        """Whether there is nobody of a cell in a cluster who could leave it, (n_clusters, n_cells)."""
        return np.asarray(self.unit * (1 - ROUNDING) > self.masses)

    def least(self) -> float:
        """A change of the sum that is none."""
        return _NOTHING * max(float(self.masses.sum()), 1.0)

    def damage(self, cluster: int) -> FloatArray:
        """What it does to every other cluster that a person of a cell leaves (0) or enters (1), (2, others, cells)."""
        found = np.stack((self.leave, self.enter))
        found[0][self.has_nobody()] = np.inf
        found[:, cluster] = np.inf
        return found

    def kinds_of_step(self, cluster: int, cell: int, sign: int) -> FloatArray:
        """Kinds of moves that bring (+1) or take (-1) a person of a cell, with those others that mind least."""
        damage = self.damage(cluster)[int(sign < 0), :, cell]
        others = np.flatnonzero(damage <= damage.min() + self.least())[:_SHORT_LIST]
        others = others[np.isfinite(damage[others])]
        own, one = np.full(len(others), cluster), np.ones(len(others))
        return np.column_stack((one, cell * one, *((others, own) if sign > 0 else (own, others))))

    def steps_together(self, cluster: int) -> list[tuple[int, int]]:
        """The fewest people (cell, +1: enters, -1: leaves) that bring a cluster and the others nearer; none: no such.

        All compositions are looked at that so many steps lead to, then those that one more leads to. A step costs what
        it does to the cluster that minds least.
        """
        n_cells = self.masses.shape[1]
        mind = self.damage(cluster).min(axis=1)  # of the one that it takes a person from, or gives one to
        moves = [(cell, sign) for sign in (1, -1) for cell in range(n_cells) if np.isfinite(mind[int(sign < 0), cell])]
        mind[~np.isfinite(mind)] = 0.0  # nobody makes such a step
        edge = [(0,) * n_cells]  # people of each cell more, or less
        seen = set(edge)
        while edge and len(seen) + len(edge) * len(moves) <= _MOST_LOOKED_AT:
            further = (
                (*place[:cell], place[cell] + sign, *place[cell + 1 :])
                for place in edge
                for cell, sign in moves
                if place[cell] * sign >= 0  # not there and back
            )
            reached = [place for place in dict.fromkeys(further) if place not in seen]
            change = np.array(reached, dtype=float).reshape(-1, n_cells)
            rows = self.masses[cluster] + self.unit * change
            others = np.maximum(change, 0) @ mind[0] + np.maximum(-change, 0) @ mind[1]
            after = self.costs(rows, np.full(len(rows), cluster)) + others
            after[(rows < -ROUNDING * self.unit).any(axis=1)] = np.inf
            if len(after) and after.min() < self.value[cluster] - self.least():
                best = reached[int(after.argmin())]
                return [(cell, sign) for sign in (1, -1) for cell in range(n_cells) for _ in range(sign * best[cell])]
            edge = [place for place, cost in zip(reached, after.tolist(), strict=True) if np.isfinite(cost)]
            seen.update(reached)
        return []


def _smallest(values: FloatArray, count: int) -> tuple[IntArray, FloatArray]:
    """Where the so many smallest values of each row are, and what they are."""
    at = np.argsort(values, axis=1, kind="stable")[:, :count]
    return at, values[np.arange(len(values))[:, None], at]


def repair(sweep: DataSweep, goal: Conditions, labels: Any, hard: HardAnswer, price: FloatArray) -> Repaired:
    """Move people, one by one or the fewest together, until the goal holds, or no move brings it nearer.

    Parameters
    ----------
    sweep : DataSweep
        With the point costs.
    goal : Conditions
    labels : object
        As the sweep keeps them; an array is changed (IN/OUT).
    hard : HardAnswer
        Their masses and cost.
    price : ndarray of shape (n_clusters, n_cells)
        Prices behind them; not needed here.
    """
    if not goal.beyond(hard.masses).any() and hard.masses.sum(axis=1).min() > 0:
        return Repaired(labels, hard)
    unit = sweep.person
    table = _Beyond(goal, hard.masses, unit)
    pool = _Pool(sweep, labels)
    cost = hard.cost
    # Four moves per person beyond the goal, and some for every place of the table: more would go round in circles.
    most = 64 + 4 * int(table.value.sum() / unit) + hard.masses.size
    in_vain: set[int] = set()  # clusters that people were moved to or from together, and back: others come first
    for _ in range(most):
        if not table.value.any():
            break
        best = pool.best(table.move_kinds())
        if best is None:
            together = _together(table, pool, in_vain)
            if together is None:
                break
            cost += together
            continue
        if not _has_moved(table, best):  # heavier than people are on average
            pool.take(best, best.kind[1])
            continue
        pool.take(best, best.kind[2])
        cost += best.mass * best.extra
    return Repaired(sweep.move_points(labels, pool.moves), HardAnswer(table.masses, cost, hard.gap))


def _has_moved(table: _Beyond, one: _Candidate) -> bool:
    """Move a person in the tables, unless that helps nobody."""
    cell, source, destination = one.kind
    pair = np.array([source, destination])
    tried = table.masses[pair].copy()
    tried[0, cell] -= one.mass
    tried[1, cell] += one.mass
    if table.costs(tried, pair).sum() >= table.value[pair].sum():
        return False
    table.masses[pair] = tried
    table.refresh(pair)
    return True


def _together(table: _Beyond, pool: _Pool, in_vain: set[int]) -> float | None:
    """Move several people together, to or from a cluster that no single move helps; what that costs. None: none do."""
    masses, moves, value = table.masses.copy(), dict(pool.moves), table.value.sum()
    worst_first = np.argsort(-table.value, kind="stable")[: np.count_nonzero(table.value)].tolist()
    for cluster in sorted(worst_first, key=in_vain.__contains__):
        cost = 0.0
        for cell, sign in table.steps_together(cluster):
            one = pool.best(table.kinds_of_step(cluster, cell, sign))
            if one is None:
                break
            pair = np.array(one.kind[1:])
            table.masses[pair, cell] += (-one.mass, one.mass)
            table.refresh(pair)
            pool.take(one, one.kind[2])
            cost += one.mass * one.extra
        if table.value.sum() < value - table.least():
            in_vain.discard(cluster)
            return cost
        in_vain.add(cluster)
        table.masses[:] = masses
        table.refresh(np.arange(len(masses)))
        pool.put_back(moves)
    return None


@dataclass(frozen=True)
class _Candidate:
    """A point that could make a move (cell, from, to), what that costs per mass, and its mass."""

    kind: tuple[int, int, int]
    position: int
    extra: float
    mass: float


class _Pool:
    """Points that could make the moves that help, the cheapest of each kind first; looked up once, used one by one."""

    def __init__(self, sweep: DataSweep, labels: Any) -> None:
        self._sweep, self._labels = sweep, labels
        self._known: dict[tuple[int, int, int], Candidates] = {}
        self._next: dict[tuple[int, int, int], int] = {}
        self.moves: dict[int, int] = {}

    def best(self, move_kinds: FloatArray) -> _Candidate | None:
        """The point whose move costs least for what it mends; one whose move is a gain anyway comes first."""
        wanted = [tuple(row) for row in move_kinds[:, 1:].astype(int).tolist()]
        missing = [kind for kind in wanted if kind not in self._known]
        if missing:
            self._look_up(missing)
        best, score = None, np.inf
        for kind, gain in zip(wanted, move_kinds[:, 0].tolist(), strict=True):
            one = self._first(kind)
            if one is None:
                continue
            worth = one.extra / gain if one.extra > 0 else one.extra
            if worth < score:
                best, score = one, worth
        return best

    def take(self, one: _Candidate, destination: int) -> None:
        """Note that a point moved (or that it stays, and is not to be asked again)."""
        self.moves[one.position] = destination

    def put_back(self, moves: dict[int, int]) -> None:
        """Go back to the moves that were noted earlier."""
        self.moves = dict(moves)
        self._next = dict.fromkeys(self._next, 0)

    def _first(self, kind: tuple[int, int, int]) -> _Candidate | None:
        line, at = self._known[kind], self._next[kind]
        while at < len(line.position) and int(line.position[at]) in self.moves:
            at += 1
        self._next[kind] = at
        if at == len(line.position):
            return None
        return _Candidate(kind, int(line.position[at]), float(line.extra[at]), float(line.mass[at]))

    def _look_up(self, move_kinds: list[tuple[int, int, int]]) -> None:
        found = self._sweep.candidates(self._labels, np.array(move_kinds), _CANDIDATES)
        for i, kind in enumerate(move_kinds):
            own = np.flatnonzero(found.kind == i)
            own = own[np.argsort(found.extra[own], kind="stable")]
            self._known[kind] = Candidates(found.kind[own], found.position[own], found.extra[own], found.mass[own])
            self._next[kind] = 0
