"""What the machine gives a fit: BLAS threads, compiled kernels. The whole process shares them: changes are locked."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import ThreadpoolController

from .._core import is_compiled
from ..errors import SlowKernelsWarning

_lock = Lock()
_limited = ExitStack()  # what gives the BLAS its threads back
_n_fits = 0  # under way in this process
_said_slow = False


@cache
def _blas() -> ThreadpoolController:
    """The BLAS libraries of this process: found once, as looking takes as long as a small fit."""
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Prices are solved for in small systems: more BLAS threads than one only wait for each other.

    The limit is the whole process's: the first of several fits at the same time sets it, the last one lifts it. If each
    put back what it had found, the limit would outlive them.
    """
    global _n_fits
    with _lock:
        # What has one thread already is left alone: limits take as long to set as a check of all rows.
        if not _n_fits and any(library.get_num_threads() != 1 for library in _blas().lib_controllers):
            _limited.enter_context(_blas().limit(limits=1, user_api="blas"))
        _n_fits += 1
    try:
        yield
    finally:
        with _lock:
            _n_fits -= 1
            if not _n_fits:
                _limited.close()


def warn_if_slow() -> None:
    """Say once that the compiled kernels are absent."""
    global _said_slow
    with _lock:
        is_news, _said_slow = not is_compiled and not _said_slow, _said_slow or not is_compiled
    if is_news:
        warnings.warn(
            "fairclust's compiled kernels are absent, so NumPy does the work: same results, slower. "
            "Install a C++ compiler and reinstall fairclust to get them.",
            SlowKernelsWarning,
            stacklevel=4,
        )
