"""Asking Dask's workers past the scheduler's books: a message there and back, where a task takes a dozen.

For passes so short that the books would take a good part of them. The first question goes through the scheduler, which
knows who holds what; later ones go straight to workers on this machine, over a line that stays open. Whatever cannot be
asked so (a bundle that is on its way to another worker, a worker that is lost, paused or about to retire, an error) is
not answered, and is asked by a task instead, which waits, makes again what was lost, and raises. Nothing here decides
what is computed, only who carries the question.
"""

from __future__ import annotations

import asyncio
import pickle
import socket
import sys
import threading
import time
import weakref
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, NamedTuple

from ._lines import Line, listening

_SOON = 0.05  # seconds, in which what is being made is waited for
_SHORT = 0.001  # seconds, after which it is looked for again

_thread = threading.local()


class Answer(NamedTuple):
    """What the question made of something."""

    value: Any


Arguments = Mapping[str, tuple[Any, ...]]
"""By key: what goes with the question."""

Answers = dict[str, Answer | None]
"""By key. None, or no such key: not answered."""


class Shortcut:
    """Asks whoever holds what is known under some keys.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._lines: dict[str, Line] = {}  # by worker
        self._known: set[str] = set()  # workers that were asked for one
        self._holders: dict[str, str] = {}  # of keys: who told last
        self._is_busy = threading.Lock()  # a line carries one question at a time
        weakref.finalize(self, _close, self._lines)

    def ask(self, keys: Sequence[str], question: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        """What the question makes of what workers hold under each key, and an argument each; None: not answered."""
        own = dict(zip(keys, zip(*arguments, strict=True), strict=True)) if arguments else dict.fromkeys(keys, ())
        packed = pickle.dumps(question)
        with self._is_busy:
            told = self._told_directly(own, packed)
            rest = {key: own[key] for key in keys if told.get(key) is None}
            if rest:
                told |= self._told_by_scheduler(rest, packed)
        return [None if answer is None else answer.value for answer in map(told.get, keys)]

    def expect(self, keys: Sequence[str], others: Sequence[str]) -> None:
        """Whoever holds the others will hold these, most likely: they are made of them."""
        known = self._holders
        known |= {key: known[one] for key, one in zip(keys, others, strict=True) if one in known}

    def holders(self, futures: Sequence[Any]) -> list[str]:
        """Who holds what each stands for, as far as was told; else as the scheduler has it. "": nobody."""
        missing = [one for one in futures if one.key not in self._holders]
        others = self._client.who_has(missing) if missing else {}
        return [self._holders.get(one.key) or next(iter(others.get(one.key, ())), "") for one in futures]

    def reaches(self, keys: Sequence[str]) -> bool:
        """Whether there are lines to all who hold them."""
        return all(self._holders.get(key) in self._lines for key in keys)

    def _told_directly(self, keys: Arguments, question: bytes) -> Answers:
        """By those that there is a line to: all are asked before the first is listened to."""
        asked: dict[str, dict[str, tuple[Any, ...]]] = {}
        for key, arguments in keys.items():
            if self._holders.get(key) in self._lines:
                asked.setdefault(self._holders[key], {})[key] = arguments
        told: Answers = {}
        try:
            for name, own in asked.items():
                self._on_line(name, partial(Line.send, message=(own, question)))
            for name in asked:
                told |= self._on_line(name, Line.receive) or {}
        except BaseException:  # nobody will listen to what is still to come
            _close(self._lines)
            raise
        return told

    def _on_line(self, name: str, act: Callable[[Line], Any]) -> Any:
        """Send or receive; None: the worker has hung up."""
        try:
            return act(self._lines[name]) if name in self._lines else None
        except OSError:
            self._lines.pop(name).close()
            return None

    def _told_by_scheduler(self, keys: Arguments, question: bytes) -> Answers:
        """By whoever holds them now; those on this machine open a line, once."""
        host = socket.gethostname()
        try:
            parts = self._client.run_on_scheduler(_pass_on, keys=keys, question=question, host=host, known=self._known)
        except Exception:  # the scheduler is lost, or has no fairclust: tasks need none there, and tell what is amiss
            return {}
        for part in parts:
            self._known.add(part.worker)
            self._holders |= dict.fromkeys(part.packed, part.worker)
            line = None if part.door is None else Line.to(part.door)
            if line is not None:
                self._lines[part.worker] = line
        return {key: pickle.loads(answer) for part in parts for key, answer in part.packed.items()}


def _close(lines: dict[str, Line]) -> None:
    for line in lines.values():
        line.close()
    lines.clear()


def this_worker() -> Any:
    """The worker that this thread works for; None: for none."""
    own = getattr(_thread, "worker", None)
    distributed = sys.modules.get("distributed")
    if own is not None or distributed is None:
        return own
    try:
        return distributed.get_worker()
    except ValueError:
        return None


class _Told(NamedTuple):
    """What one worker answered, pickled one by one, and where it listens for more."""

    worker: str
    packed: Mapping[str, bytes]
    door: str | None


async def _pass_on(
    keys: Arguments, question: bytes, host: str, known: Container[str], dask_scheduler: Any
) -> list[_Told]:
    """On the scheduler, which knows who holds what now: ask them, all at once; those not known yet open a door."""
    holders: dict[str, list[str]] = {}
    end = time.monotonic() + _SOON
    for key in keys:
        while not (workers := _holders(dask_scheduler, key)) and time.monotonic() < end:
            await asyncio.sleep(_SHORT)
        if workers:
            holders.setdefault(min(workers), []).append(key)

    async def ask(address: str) -> _Told:
        own = {key: keys[key] for key in holders[address]}
        order = pickle.dumps({"keys": own, "question": question, "host": None if address in known else host})
        try:
            told = await dask_scheduler.rpc(address).run(function=pickle.dumps(_answer), kwargs=order)
            return _Told(address, *_unwrapped(told["result"]))
        except Exception:  # as below
            return _Told(address, {}, None)

    return list(await asyncio.gather(*map(ask, holders)))


def _holders(scheduler: Any, key: str) -> list[str]:
    """Addresses of the workers that hold what is known under a key."""
    task = scheduler.tasks.get(key)
    return [] if task is None else [worker.address for worker in task.who_has or ()]


def _unwrapped(result: Any) -> Any:
    """What a worker returned: schedulers leave it as it came off the wire, or, within a process, wrapped."""
    if hasattr(result, "frames"):
        return sys.modules["distributed"].protocol.deserialize(result.header, result.frames)
    return result.data


async def _answer(
    keys: Arguments, question: bytes, host: str | None, dask_worker: Any
) -> tuple[dict[str, bytes], str | None]:
    """On a worker: in its threads, as a task would be. And a door for more, where the asker is on this machine."""
    door = listening(partial(_answered, dask_worker)) if host == socket.gethostname() else None
    under_way = {key: asyncio.wrap_future(one) for key, one in _begun(_packed, dask_worker, keys, question)}
    return dict(zip(under_way, await asyncio.gather(*under_way.values()), strict=True)), door


def _answered(worker: Any, asked: tuple[Arguments, bytes]) -> Answers:
    """The same, over a line."""
    return {key: one.result() for key, one in list(_begun(_computed, worker, *asked))}


def _begun(
    work: Callable[..., Any], worker: Any, keys: Arguments, question: bytes
) -> Iterable[tuple[str, Future[Any]]]:
    """By key: what the worker's threads were told to do. Nothing, where it is about to go."""
    if worker.status.name == "running":
        for key in keys:
            if key in worker.data:
                yield key, worker.executors["default"].submit(work, worker, question, worker.data[key], keys[key])


def _packed(*asked: Any) -> bytes:
    return pickle.dumps(_computed(*asked), protocol=pickle.HIGHEST_PROTOCOL)


def _computed(worker: Any, question: bytes, held: Any, arguments: tuple[Any, ...]) -> Answer | None:
    _thread.worker = worker
    try:
        return Answer(pickle.loads(question)(held, *arguments))
    except Exception:  # whatever it is: a task will meet it again, where it is told or mended
        return None
    finally:
        _thread.worker = None
