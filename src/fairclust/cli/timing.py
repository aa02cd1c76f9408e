"""How long each stage took, shown while it runs."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Stages:
    """The stages of a run: a line that moves on a terminal, seconds for the summary."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._console = Console(stderr=True)

    @contextmanager
    def stage(self, name: str, text: str, total: int | None = None) -> Iterator[Stage]:
        """Time a stage; with a known number of steps, show a bar and the time left."""
        columns = [SpinnerColumn(), TextColumn("{task.description}", markup=False)]
        if total is not None:
            columns += [BarColumn(), TimeRemainingColumn()]
        columns.append(TimeElapsedColumn())
        started = time.perf_counter()
        with Progress(
            *columns, console=self._console, transient=True, disable=not self._console.is_terminal
        ) as progress:
            task = progress.add_task(text, total=total)
            try:
                yield Stage(progress, task, text)
            finally:
                self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started

    @property
    def in_words(self) -> str:
        """Seconds by stage and the peak memory, as a sentence."""
        memory = peak_memory_mb()
        return f"Time: {', '.join(f'{name} {value:.1f} s' for name, value in self.seconds.items())}." + (
            f" Peak memory: {memory:.0f} MB." if memory is not None else ""
        )


class Stage:
    """One stage that is running."""

    def __init__(self, progress: Progress, task: object, text: str) -> None:
        self._progress, self._task, self._text = progress, task, text
        self._energies: list[float] = []
        self._started = time.perf_counter()

    def follow(self, n_iter: int, energy: float) -> None:
        """Show an outer iteration of a fit, and how long it may still take, judged by how fast the energy settles."""
        if n_iter <= 1 or not self._energies:
            self._energies, self._started = [], time.perf_counter()
        self._energies.append(energy)
        left = time_left(self._energies, time.perf_counter() - self._started)
        self.tell(f"iteration {n_iter}, energy {energy:.6g}{f', about {left:.0f} s left' if left is not None else ''}")

    def tell(self, text: str) -> None:
        """Change the words on the line."""
        self._progress.update(self._task, description=f"{self._text} ({text})")  # type: ignore[arg-type]

    def advance(self) -> None:
        """One more step is done."""
        self._progress.advance(self._task)  # type: ignore[arg-type]


def time_left(energies: Sequence[float], elapsed: float) -> float | None:
    """Seconds until the energy falls by less than 1e-5 of itself, if it goes on falling as it did; None: too early.

    Parameters
    ----------
    energies : sequence of float
        Energy after each iteration of one fit.
    elapsed : float
        Seconds that these took.
    """
    falls = [before - after for before, after in pairwise(energies[-6:])]
    if len(falls) < 3 or min(falls) <= 0 or falls[-1] >= falls[0]:
        return None
    rate = (falls[-1] / falls[0]) ** (1 / (len(falls) - 1))
    still = max(0.0, math.log(max(1e-5 * abs(energies[-1]), 1e-300) / falls[-1]) / math.log(rate))
    return still * elapsed / len(energies)


def peak_memory_mb() -> float | None:
    """Largest memory of this process so far in MB; None where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (1 << 20 if sys.platform == "darwin" else 1 << 10)
