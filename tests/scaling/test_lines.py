"""Lines between two processes: what is said arrives, nobody else may listen, and who hangs up is noticed."""

from __future__ import annotations

import os
import socket
import stat
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from fairclust.scaling import _lines
from fairclust.scaling._lines import Line, listening

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="there are no Unix sockets here")


def lines():
    return [thread for thread in threading.enumerate() if thread.name == "fairclust-line"]


def wait_until(is_so, seconds=30.0):
    end = time.monotonic() + seconds
    while not is_so() and time.monotonic() < end:
        time.sleep(0.01)
    return is_so()


@pytest.mark.parametrize(
    "message",
    [None, {"a": 1}, np.empty(0), np.arange(3.0), np.asfortranarray(np.ones((2, 3))), np.arange(10)[::2]],
    ids=repr,
)
def test_what_is_said_comes_back(message):
    line = Line.to(listening(lambda asked: asked))
    for _ in range(2):
        line.send([message, "and"])
        found, more = line.receive()
        np.testing.assert_equal(found, message)
        assert more == "and"
    line.close()


def test_large_arrays_arrive_whole_aligned_and_writable():
    line = Line.to(listening(lambda asked: asked + 1))
    line.send(np.arange(3_000_000.0))
    found = line.receive()
    np.testing.assert_array_equal(found, np.arange(3_000_000.0) + 1)
    assert found.flags.aligned
    assert found.flags.writeable
    line.close()


def test_only_the_user_may_enter_and_the_door_is_gone_once_somebody_came():
    door = Path(listening(len))
    if os.name == "posix":
        assert stat.S_IMODE(door.parent.stat().st_mode) == 0o700
    line = Line.to(str(door))
    line.send("four")
    assert line.receive() == 4
    assert not door.parent.exists()
    assert Line.to(str(door)) is None  # there is one asker
    line.close()


def test_a_door_that_nobody_comes_to_is_closed(monkeypatch):
    before = lines()
    monkeypatch.setattr(_lines, "_PATIENCE", 0.01)
    door = Path(listening(len))
    assert wait_until(lambda: not door.parent.exists())
    assert wait_until(lambda: set(lines()) <= set(before))


def test_a_thread_ends_with_its_asker():
    before = lines()
    line = Line.to(listening(len))
    (own,) = set(lines()) - set(before)
    line.close()
    assert wait_until(lambda: own not in lines())


def test_who_hangs_up_is_noticed():
    line = Line.to(listening(lambda asked: 1 / asked))
    line.send(4)
    assert line.receive() == 0.25
    line.send(0)
    with pytest.raises(OSError, match="hung up"):
        line.receive()
    line.close()


def test_there_is_no_door_where_there_is_no_room(monkeypatch, tmp_path):
    monkeypatch.setattr(_lines.tempfile, "tempdir", str(tmp_path / ("long" * 40)))
    assert listening(len) is None
    (tmp_path / ("long" * 40)).mkdir()
    assert listening(len) is None  # the folder is there, but its name is too long for a socket
    assert list((tmp_path / ("long" * 40)).iterdir()) == []
    assert Line.to(str(tmp_path / "nobody")) is None
