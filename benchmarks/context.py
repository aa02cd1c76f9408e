"""What every suite is given: how thorough to be, and the data sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from .datasets import Dataset, load
from .methods import Task

_KEPT_ROWS = 200_000


@dataclass
class Context:
    """How thorough a run is, and the small data sets it has loaded."""

    quick: bool = False
    download: bool = False
    say: Callable[[str], None] = print
    _kept: dict[str, Dataset] = field(default_factory=dict)

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds to start from."""
        return (0,) if self.quick else (0, 1, 2)

    def load(self, name: str) -> Dataset:
        """Load a data set, or raise `Unavailable`. Large ones are not kept."""
        if name in self._kept:
            return self._kept[name]
        dataset = load(name, download=self.download)
        if len(dataset.X) <= _KEPT_ROWS:
            self._kept[name] = dataset
        return dataset

    def task(self, name: str, seed: int) -> Task:
        """Make the usual task on a data set: its own λ, from the seed's centres."""
        dataset = self.load(name)
        return Task(dataset, dataset.start(seed), seed, dataset.fairness_weight)
