"""A line between two processes of one machine and one user: what one says and the other answers, again and again.

A Unix socket in a folder that nobody else may enter. Whoever cannot come (another machine, user or container, a system
without such sockets) finds no door, at once, and does without. Arrays go over it without a copy.
"""

from __future__ import annotations

import os
import pickle
import shutil
import socket
import struct
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

import numpy as np

_PATIENCE = 10.0  # seconds that a door stays open for whoever was told of it
_NUMBER = "Q"


class Line:
    """One end of it. Both ends trust each other: what is said is pickled."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    @classmethod
    def to(cls, door: str) -> Self | None:
        """A line to whoever listens behind this door; None: nobody does, or not for us."""
        end = socket.socket(socket.AF_UNIX)
        try:
            end.connect(door)
        except OSError:
            end.close()
            return None
        return cls(end)

    def send(self, message: Any) -> None:
        """Say something. Raises OSError where nobody listens any more."""
        buffers: list[pickle.PickleBuffer] = []
        head = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
        arrays = [buffer.raw() for buffer in buffers]
        sizes = [len(head), *(array.nbytes for array in arrays)]
        self._end.sendall(struct.pack(f"{1 + len(sizes)}{_NUMBER}", len(sizes), *sizes) + head)
        for array in arrays:
            self._end.sendall(array)

    def receive(self) -> Any:
        """What the other end says next. Raises OSError where it has hung up."""
        (n_parts,) = self._numbers(1)
        head, *arrays = (self._read(size) for size in self._numbers(n_parts))
        return pickle.loads(head, buffers=arrays)

    def _numbers(self, count: int) -> tuple[int, ...]:
        return struct.unpack(f"{count}{_NUMBER}", self._read(count * struct.calcsize(_NUMBER)))

    def _read(self, size: int) -> memoryview:
        found = np.empty(size, dtype=np.uint8).data  # aligned, and not filled with zeros first
        place = 0
        while place < size:
            n = self._end.recv_into(found[place:])
            if not n:
                raise ConnectionAbortedError("the other end has hung up")
            place += n
        return found

    def close(self) -> None:
        """Hang up."""
        self._end.close()


def listening(answer: Callable[[Any], Any]) -> str | None:
    """The door behind which a thread answers one asker, until that hangs up; None: there can be none here."""
    if not hasattr(socket, "AF_UNIX"):
        return None
    door, place = socket.socket(socket.AF_UNIX), None
    try:
        place = tempfile.mkdtemp(prefix="fairclust-")
        name = os.path.join(place, "door")
        door.bind(name)
        door.listen(1)
    except OSError:  # no room for temporary files, or their folder's name is too long
        door.close()
        if place is not None:
            shutil.rmtree(place, ignore_errors=True)
        return None
    door.settimeout(_PATIENCE)
    threading.Thread(target=_serve, args=(door, place, answer), daemon=True, name="fairclust-line").start()
    return name


def _serve(door: socket.socket, place: str, answer: Callable[[Any], Any]) -> None:
    try:
        with door:
            end, _ = door.accept()
    except OSError:  # nobody came
        return
    finally:
        shutil.rmtree(place, ignore_errors=True)
    with end, suppress(Exception):  # whoever asks notices that nobody answers, and asks elsewhere
        end.settimeout(None)
        line = Line(end)
        while True:
            line.send(answer(line.receive()))
