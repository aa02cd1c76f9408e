"""Files that are written whole or not at all, and room on disk that does not outlive its process.

What a killed process left behind is known by its lock: a living process holds one on everything that it has begun, and
the system lets go of it when the process ends, however it ends. The next run that writes at the same place clears up.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    from fcntl import LOCK_EX, LOCK_NB, flock

    _can_lock = True
except ImportError:  # Windows: nothing is locked, and nothing is cleared
    _can_lock = False

_SCRATCH = ".fairclust-"
_LOCK = "lock"
_YOUNG = 3600.0  # seconds in which a directory without a lock may be one that is being made


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Hand out a temporary name beside ``path``, and move the file there once it is complete.

    Whatever happens inside the block, ``path`` is either untouched or whole. Where it is a symbolic link, the file that
    it points to is replaced, and the link stays.
    """
    path = Path(os.path.realpath(path))
    prefix, suffix = f".{path.name[:40]}.", ".tmp"
    for left in path.parent.glob(f"{_escaped(prefix)}*{suffix}"):
        _clear_file(left)
    handle, name = tempfile.mkstemp(prefix=prefix, suffix=suffix, dir=path.parent)
    temporary = Path(name)
    try:
        _lock(handle)
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)  # mkstemp is for its owner's eyes only; a result has the usual rights
        temporary.replace(path)
    finally:
        os.close(handle)
        temporary.unlink(missing_ok=True)


@contextmanager
def scratch_directory(place: Path) -> Iterator[Path]:
    """Hand out an empty directory for a while; what killed processes left at this place is cleared first."""
    for left in place.glob(f"{_SCRATCH}*"):
        _clear_directory(left)
    folder = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=place))
    handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _lock(handle)
        yield folder
    finally:
        os.close(handle)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def claimed(path: Path) -> Iterator[Path]:
    """Hand out ``path`` for writing, or a name of its own where another process is writing there."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    own = path if _lock(handle) else path.with_name(f"{path.name}-{os.getpid()}")
    try:
        yield own
    finally:
        os.close(handle)
        if own != path:
            own.unlink(missing_ok=True)
        elif path.exists() and not path.stat().st_size:
            path.unlink(missing_ok=True)


def _lock(handle: int) -> bool:
    """Whether nobody else holds it."""
    if not _can_lock:
        return True
    try:
        flock(handle, LOCK_EX | LOCK_NB)
    except OSError:
        return False
    return True


def _is_abandoned(file: Path) -> bool:
    """Whether the file is there, and its maker is not."""
    if not _can_lock:
        return False
    with suppress(OSError):
        handle = os.open(file, os.O_RDWR)
        try:
            return _lock(handle)
        finally:
            os.close(handle)
    return False


def _clear_file(file: Path) -> None:
    with suppress(OSError):
        if time.time() - file.stat().st_mtime > 1.0 and _is_abandoned(file):  # a new one may not be locked yet
            file.unlink()


def _clear_directory(folder: Path) -> None:
    with suppress(OSError):
        is_old = time.time() - folder.stat().st_mtime > _YOUNG
        if _is_abandoned(folder / _LOCK) or (is_old and not (folder / _LOCK).exists()):
            shutil.rmtree(folder, ignore_errors=True)


def _escaped(name: str) -> str:
    """A name that glob takes as it is."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in name)
