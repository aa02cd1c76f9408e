"""Asking Dask's workers past the scheduler's books: a message there and back, where a task takes a dozen.

For passes so short that the books would take a good part of them. Whatever cannot be asked so (a bundle that is on its
way to another worker, a worker that is lost, paused or about to retire, an error) is not answered, and is asked by a
task instead, which waits, makes again what was lost, and raises. Nothing here decides what is computed, only who
carries the question.
"""

from __future__ import annotations

import asyncio
import pickle
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_SOON = 0.05  # seconds, in which what is being made is waited for
_SHORT = 0.001  # seconds, after which it is looked for again

_thread = threading.local()


def ask_workers(client: Any, keys: Sequence[str], question: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
    """What the question makes of what workers hold under each key, and an argument each; None: not answered."""
    own = dict(zip(keys, zip(*arguments, strict=True), strict=True)) if arguments else dict.fromkeys(keys, ())
    try:
        found = client.run_on_scheduler(_pass_on, keys=own, question=pickle.dumps(question))
    except Exception:  # a scheduler that is lost, or has no fairclust: tasks need none there, and tell what is wrong
        return [None] * len(keys)
    return [None if found.get(key) is None else pickle.loads(found[key]) for key in keys]


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


async def _pass_on(
    keys: Mapping[str, tuple[Any, ...]], question: bytes, dask_scheduler: Any
) -> dict[str, bytes | None]:
    """On the scheduler, which knows who holds what now: ask them, all at once."""
    holders: dict[str, list[str]] = {}
    end = time.monotonic() + _SOON
    for key in keys:
        while not (workers := _holders(dask_scheduler, key)) and time.monotonic() < end:
            await asyncio.sleep(_SHORT)
        if workers:
            holders.setdefault(min(workers), []).append(key)

    async def ask(address: str) -> Mapping[str, bytes | None]:
        order = pickle.dumps({"keys": {key: keys[key] for key in holders[address]}, "question": question})
        try:
            told = await dask_scheduler.rpc(address).run(function=pickle.dumps(_answer), kwargs=order)
            return _unwrapped(told["result"])
        except Exception:  # whatever it is: a task will meet it again, where it is told or mended
            return {}

    parts = await asyncio.gather(*map(ask, holders))
    return {key: answer for part in parts for key, answer in part.items()}


def _holders(scheduler: Any, key: str) -> list[str]:
    """Addresses of the workers that hold what is known under a key."""
    task = scheduler.tasks.get(key)
    return [] if task is None else [worker.address for worker in task.who_has or ()]


def _unwrapped(result: Any) -> Any:
    """What a worker returned: schedulers leave it as it came off the wire, or, within a process, wrapped."""
    if hasattr(result, "frames"):
        return sys.modules["distributed"].protocol.deserialize(result.header, result.frames)
    return result.data


async def _answer(keys: Mapping[str, tuple[Any, ...]], question: bytes, dask_worker: Any) -> dict[str, bytes | None]:
    """On a worker: in its threads, as a task would be."""
    if dask_worker.status.name != "running":
        return {}
    held = {key: dask_worker.data[key] for key in keys if key in dask_worker.data}
    loop, threads = asyncio.get_running_loop(), dask_worker.executors["default"]
    answers = (
        loop.run_in_executor(threads, _computed, dask_worker, question, one, keys[key]) for key, one in held.items()
    )
    return dict(zip(held, await asyncio.gather(*answers), strict=True))


def _computed(worker: Any, question: bytes, held: Any, arguments: tuple[Any, ...]) -> bytes | None:
    _thread.worker = worker
    try:
        return pickle.dumps(pickle.loads(question)(held, *arguments), protocol=pickle.HIGHEST_PROTOCOL)
    except Exception:  # as above
        return None
    finally:
        _thread.worker = None
