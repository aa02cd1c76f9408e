"""Time and memory. Knows nothing of clustering."""

from __future__ import annotations

import ctypes
import ctypes.util
import gc
import multiprocessing
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from .records import Unavailable

_SAMPLE_SECONDS = 0.002


@dataclass(frozen=True)
class Times:
    """Seconds of each repeat, by the clock and of all processors together."""

    seconds: Sequence[float]
    cpu_seconds: Sequence[float] = ()

    @property
    def median(self) -> float:
        """The usual summary."""
        return statistics.median(self.seconds)

    @property
    def best(self) -> float:
        """What other programs disturbed least: noise only ever adds."""
        return min(self.seconds)

    def ratio_to(self, other: Times) -> float:
        """Median over the repeats of this one's time over the other's in the same repeat."""
        return statistics.median(a / b for a, b in zip(self.seconds, other.seconds, strict=True))

    def best_ratio_to(self, other: Times) -> float:
        """Ratio of the best times. Neighbours slow some programs more than others, and the best repeats the least."""
        return self.best / other.best

    def cpu_ratio_to(self, other: Times) -> float:
        """Ratio of the processor time: on a busy machine, with one thread, the ratio to trust."""
        return statistics.median(self.cpu_seconds) / statistics.median(other.cpu_seconds)


def time_interleaved(
    functions: Mapping[str, Callable[[], object]],
    repeats: int,
    warm_up: int = 0,
    before: Callable[[], object] = lambda: None,
) -> dict[str, Times]:
    """Time several functions in turn, repeat by repeat: slow drifts of the machine then hit all of them alike.

    The order turns by one from repeat to repeat, so that none always follows the same other. ``before`` is called ahead
    of each, untimed.
    """
    for _ in range(warm_up):
        for function in functions.values():
            function()
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    cpu_seconds: dict[str, list[float]] = {name: [] for name in functions}
    names = list(functions)
    for repeat in range(repeats):
        turn = repeat % len(names)
        for name in names[turn:] + names[:turn]:
            gc.collect()
            before()
            cpu_began, began = time.process_time(), time.perf_counter()
            functions[name]()
            seconds[name].append(time.perf_counter() - began)
            cpu_seconds[name].append(time.process_time() - cpu_began)
    return {name: Times(tuple(seconds[name]), tuple(cpu_seconds[name])) for name in names}


def cpu_time(function: Callable[[], Any], repeats: int = 1) -> tuple[Any, float]:
    """What a function returns, and its processor time: the best of so many calls, since the machine may be busy."""
    found, best = None, float("inf")
    for _ in range(repeats):
        began = time.process_time()
        found = function()
        best = min(best, time.process_time() - began)
    return found, best


@dataclass(frozen=True)
class Peak:
    """Peak memory beyond what was held before, in bytes, and how it was read."""

    extra: int
    how: str


def peak_memory(prepare: Callable[[], Callable[[], object]], timeout: float = 1800.0) -> Peak:
    """Peak memory of a function in a fresh process, beyond what it held when `prepare` was done.

    Parameters
    ----------
    prepare : callable, picklable
        Loads the input, warms up what is loaded once, and returns the function to measure.
    timeout : float, default=1800
        Seconds.

    Notes
    -----
    Linux keeps the peak itself (VmHWM, which can be set back); elsewhere the parent samples the child every 2 ms.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=_measured_child, args=(prepare, theirs))
    child.start()
    theirs.close()
    try:
        before, is_exact = _receive(ours, timeout)
        sampled = before
        while not ours.poll(_SAMPLE_SECONDS):
            if not is_exact:
                sampled = max(sampled, _resident(int(child.pid or 0)))
            if not child.is_alive() and not ours.poll(0):
                raise Unavailable(f"the measured process ended with exit code {child.exitcode}")
        highest, _ = _receive(ours, timeout)
    finally:
        child.join(5.0)
        if child.is_alive():
            child.kill()
    return Peak(max(highest if is_exact else sampled, before) - before, "VmHWM" if is_exact else "sampled")


def _measured_child(prepare: Callable[[], Callable[[], object]], pipe: Connection) -> None:
    try:
        function = prepare()
        gc.collect()
        _trim_heap()
        is_exact = _reset_high_water_mark()
        pipe.send((_status("VmRSS") if is_exact else _resident(0), is_exact))
        function()
        pipe.send((_status("VmHWM") if is_exact else 0, is_exact))
    except Exception as error:
        pipe.send(f"{type(error).__name__}: {error}")


def _receive(pipe: Connection, timeout: float) -> Any:
    try:
        message = pipe.recv() if pipe.poll(timeout) else f"no answer within {timeout:g} s"
    except EOFError:
        message = "the measured process died"
    if isinstance(message, str):
        raise Unavailable(message)
    return message


def _trim_heap() -> None:
    """Give freed memory back, so that reusing it counts; glibc only."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(ctypes.util.find_library("c")).malloc_trim(0)


def _reset_high_water_mark() -> bool:
    try:
        Path("/proc/self/clear_refs").write_text("5")
        # Not every kernel that takes the 5 obeys it.
        return _status("VmHWM") <= _status("VmRSS") * 1.01 + (1 << 20)
    except (OSError, KeyError):
        return False


def _status(key: str) -> int:
    """A line of /proc/self/status, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    raise KeyError(key)


def _resident(pid: int) -> int:
    if find_spec("psutil") is None:
        raise Unavailable("psutil is not installed, and this system does not keep the peak itself")
    import psutil  # type: ignore[import-untyped]

    return int(psutil.Process(pid or None).memory_info().rss)
