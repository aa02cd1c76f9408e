"""Where arrays and frames of Python lie."""

from __future__ import annotations

import sys

import pytest

from fairclust._memory import with_room_for_frames

resource = pytest.importorskip("resource")
N_CALLS = 2000


def inner():
    a = b = c = d = e = f = g = h = i = j = k = m = n = o = p = q = r = s = t = u = None  # a frame longer than a step
    return a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r, s, t, u


def loop():
    for _ in range(N_CALLS):
        inner()


@with_room_for_frames
def loop_with_room():
    return loop()


def most_faults(function):
    """Page faults of a call, at the depth at which there are most of them."""

    def at(depth):
        return function() if depth == 0 else at(depth - 1)

    counts = []
    for depth in range(200):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        at(depth)
        counts.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    return max(counts)


@pytest.mark.skipif(sys.platform != "linux" or sys.implementation.name != "cpython", reason="knows CPython on Linux")
def test_calls_in_a_loop_take_no_room_from_the_system_however_deep_the_caller_is():
    assert most_faults(loop_with_room) < N_CALLS // 4


def test_a_function_with_room_is_the_same_function():
    def plain(a, b=2, *, c=3):
        """Say so."""
        return a, b, c

    found = with_room_for_frames(plain)
    assert found is plain
    assert found(1) == (1, 2, 3)
    assert found.__doc__ == "Say so."
