"""How much memory there is now, giving back what is not used, and where arrays lie."""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WORTH_PAGES = 1 << 20  # bytes: for fewer, it does not matter where they are

_LINE = 64  # bytes of a cache line

_BEGINNING = 1 << 12  # bytes; what is looked for stands in the first lines


def free_memory() -> float:
    """Bytes that could be allocated now, as far as the system and the process's own limit tell; else infinite."""
    return min(_of_the_machine(), _of_the_process())


def _of_the_machine() -> float:
    try:
        return float(_read("/proc/meminfo").partition(b"MemAvailable:")[2].split(None, 1)[0]) * 1024
    except (OSError, IndexError, ValueError):
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def _of_the_process() -> float:
    """What a limit on addresses (``ulimit -v``) leaves; what is mapped counts, used or not."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return math.inf
        mapped = int(_read("/proc/self/statm").split()[0]) * resource.getpagesize()
    except (ImportError, OSError, ValueError):
        return math.inf
    return float(max(limit - mapped, 0))


def _read(path: str) -> bytes:
    """The beginning of a small file of the kernel's, without the layers of an open file: every fit asks."""
    file = os.open(path, os.O_RDONLY)
    try:
        return os.read(file, _BEGINNING)
    finally:
        os.close(file)


def on_lines(shape: int | tuple[int, ...], dtype: type[np.generic], *, is_clear: bool = True) -> NDArray[Any]:
    """Zeros from the beginning of a cache line on: kernels read vectors that are as long as one.

    Elsewhere each would be read from two lines. Where it need not be clear, there may be anything.
    """
    n_bytes = math.prod((shape,) if isinstance(shape, int) else shape) * np.dtype(dtype).itemsize
    room = (np.zeros if is_clear else np.empty)(n_bytes + _LINE, dtype=np.uint8)
    first = -ctypes.addressof(ctypes.c_char.from_buffer(room.data)) % _LINE  # sooner than the array can tell
    return room[first : first + n_bytes].view(dtype).reshape(shape)


def in_own_pages(shape: int | tuple[int, ...], dtype: type[np.generic], *, is_clear: bool = True) -> NDArray[Any]:
    """Zeros in pages of their own, which the system has back as soon as nobody needs them.

    For arrays that are made and let go again and again, between others that stay: from the C library's heap, of which
    small things take the places of those let go, they would in the end take room for two or three. And for large ones:
    NumPy asks for large pages, which virtual machines may take long to find, four times as long as filling the array;
    passes that go through it in order take as long in small ones. Few bytes have no pages of their own; they are zeros
    unless they need not be clear.
    """
    n_bytes = math.prod((shape,) if isinstance(shape, int) else shape) * np.dtype(dtype).itemsize
    if n_bytes < _WORTH_PAGES or sys.platform == "win32":
        return on_lines(shape, dtype, is_clear=is_clear)
    try:
        pages = mmap.mmap(-1, n_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"no room for {n_bytes} bytes") from error
    return np.frombuffer(pages, dtype=dtype).reshape(shape)
