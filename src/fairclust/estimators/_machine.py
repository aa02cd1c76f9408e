"""What the machine gives a fit: BLAS threads, compiled kernels."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

from .._core import is_compiled
from ..errors import SlowKernelsWarning

_said_slow = False


@cache
def _blas() -> ThreadpoolController:
    """The BLAS libraries of this process: found once, as looking takes as long as a small fit."""
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Prices are solved for in small systems: more BLAS threads than one only wait for each other."""
    limited: AbstractContextManager[Any] = _blas().limit(limits=1, user_api="blas")
    return limited


def warn_if_slow() -> None:
    """Say once that the compiled kernels are absent."""
    global _said_slow
    if not is_compiled and not _said_slow:
        _said_slow = True
        warnings.warn(
            "fairclust's compiled kernels are absent, so NumPy does the work: same results, slower. "
            "Install a C++ compiler and reinstall fairclust to get them.",
            SlowKernelsWarning,
            stacklevel=4,
        )
