"""How long each stage took, shown while it runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

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

    def tell(self, text: str) -> None:
        """Change the words on the line."""
        self._progress.update(self._task, description=f"{self._text} ({text})")  # type: ignore[arg-type]

    def advance(self) -> None:
        """One more step is done."""
        self._progress.advance(self._task)  # type: ignore[arg-type]


def peak_memory_mb() -> float | None:
    """Largest memory of this process so far in MB; None where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (1 << 20 if sys.platform == "darwin" else 1 << 10)
