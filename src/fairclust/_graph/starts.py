"""Where Ncut starts: labels of coarse graphs race, and the winners climb from small weights to the wanted one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from .._dual.subproblem import Subproblem
from .._typing import FloatArray, IntArray
from .levels import CutEnergy, GraphLevel, Hierarchy, coarsen, cycle, descend, heaviest_node, imbalance
from .spectral import start_labels

COARSE = 2000  # nodes of the level where starts are made
_NODES_PER_CLUSTER = 40  # ... or more, with many clusters
_STARTS = 8  # K-means runs per embedding
_RACE = ((24, 4), (6, 12), (1, 0))  # coarse starts kept, and the cycles each goes through
_SAME = 1e-9  # relative difference of energies
_FEW_NODES = 10  # per cluster: where a cycle on the coarse graph ends
_RUNGS = (0.3, 3.0, 10.0)  # weights of a ladder: a large weight holds every node where it is, so fits climb up to it
_STEPS_PER_DECADE = 2  # of the weight, on the way up a ladder
_MOST_STEPS = 8  # of a ladder: four decades, then steps grow
_LADDER_NODES = 1 << 16  # the ladder leans on a graph of so many nodes at most


@dataclass(frozen=True)
class Opening:
    """One way to shrink the graph, and labels of its coarsest level to start from."""

    hierarchy: Hierarchy
    labels: list[IntArray]


def open_graph(
    level: GraphLevel, n_clusters: int, fairness: Subproblem, random_state: np.random.RandomState
) -> Opening:
    """Shrink the graph and make starts from its plain and its fair spectral embedding."""
    size, heaviest = coarse_size(n_clusters), heaviest_node(level, n_clusters)
    hierarchy, _ = coarsen(level, fairness.membership, size, heaviest, random_state)
    coarsest = hierarchy.coarsest
    labels = start_labels(coarsest, n_clusters, None, _STARTS, random_state)
    if fairness.n_cells > 1:
        labels += start_labels(coarsest, n_clusters, imbalance(coarsest, fairness), _STARTS, random_state)
    return Opening(hierarchy, labels)


def coarse_size(n_clusters: int) -> int:
    """Nodes of the coarsest level."""
    return max(COARSE, _NODES_PER_CLUSTER * n_clusters)


@dataclass(frozen=True)
class _Entrant:
    """Labels of one level of an opening, and what they cost there."""

    opening: Opening
    depth: int
    labels: IntArray
    energy: float

    @property
    def level(self) -> GraphLevel:
        return self.opening.hierarchy.levels[self.depth]

    def cycled(self, energy: CutEnergy, n_nodes: int, n_cycles: int, random_state: np.random.RandomState) -> _Entrant:
        """After some cycles down to so many nodes."""
        labels = self.labels
        for _ in range(n_cycles):
            labels = cycle(self.level, energy, labels, n_nodes, random_state)
        return replace(self, labels=labels, energy=energy.value(self.level, labels))

    def taken_to(self, depth: int, energy: CutEnergy, random_state: np.random.RandomState) -> _Entrant:
        """Taken down to another level of the opening."""
        labels = descend(self.opening.hierarchy, energy, self.labels, random_state, self.depth, depth)
        value = energy.value(self.opening.hierarchy.levels[depth], labels)
        return _Entrant(self.opening, depth, labels, value)


@dataclass(frozen=True, eq=False)
class Starts:
    """Openings of a graph, and what races between them found.

    Parameters
    ----------
    openings : sequence of Opening
    seed : int
        Of the races: what they find must not depend on what was fitted before.
    """

    openings: Sequence[Opening]
    seed: int
    _raced: dict[float, _Entrant] = field(default_factory=dict, repr=False)  # winners by weight

    def labels(self, energy: CutEnergy, is_refined: bool, random_state: np.random.RandomState) -> IntArray:
        """Labels of the whole graph: the best of the winners at several weights, climbed to the wanted one."""
        rungs = [rung for rung in _RUNGS if rung < energy.weight] if is_refined else []
        if len(rungs) < len(_RUNGS):
            rungs.append(energy.weight)
        climbers = [self._climbed(rung, energy, is_refined, random_state) for rung in rungs]
        return min(climbers, key=lambda climber: climber.energy).taken_to(0, energy, random_state).labels

    def _climbed(
        self, weight: float, energy: CutEnergy, is_refined: bool, random_state: np.random.RandomState
    ) -> _Entrant:
        """The winner at a small weight, after a cycle per step of the weight."""
        if weight not in self._raced:
            self._raced[weight] = self._race(replace(energy, weight=weight), is_refined)
        climber = self._raced[weight]
        for step in _steps(weight, energy.weight):
            climber = climber.cycled(replace(energy, weight=step), coarse_size(energy.n_clusters), 1, random_state)
        return climber

    def _race(self, energy: CutEnergy, is_refined: bool) -> _Entrant:
        """The best coarse start, of which some go through cycles, taken down to where it can climb."""
        random_state = np.random.RandomState(self.seed)
        ranked = []
        for opening in self.openings:
            depth = len(opening.hierarchy.levels) - 1
            ranked += [
                _Entrant(opening, depth, labels, 0.0).taken_to(depth, energy, random_state) for labels in opening.labels
            ]
        for n_kept, n_cycles in _RACE if is_refined else _RACE[-1:]:
            ranked = [
                entrant.cycled(energy, _FEW_NODES * energy.n_clusters, n_cycles, random_state)
                for entrant in _best_distinct(ranked, n_kept)
            ]
        best = ranked[0]
        sizes = [level.graph.n_nodes for level in best.opening.hierarchy.levels]
        depth = next((i for i, n_nodes in enumerate(sizes) if n_nodes <= _LADDER_NODES), len(sizes) - 1)
        return best.taken_to(depth, energy, random_state)


def _best_distinct(ranked: list[_Entrant], n_kept: int) -> list[_Entrant]:
    """The best, each energy once: K-means often ends with the same clusters, and one of them is enough."""
    kept: list[_Entrant] = []
    for entrant in sorted(ranked, key=lambda entrant: entrant.energy):
        if not kept or entrant.energy - kept[-1].energy > _SAME * abs(kept[-1].energy):
            kept.append(entrant)
    return kept[:n_kept]


def _steps(weight: float, wanted: float) -> FloatArray:
    """Weights from one to another, the first left out."""
    if weight >= wanted:
        return np.zeros(0)
    n_steps = min(int(np.ceil(_STEPS_PER_DECADE * np.log10(wanted / weight))), _MOST_STEPS)
    return np.geomspace(weight, wanted, n_steps + 1)[1:]
