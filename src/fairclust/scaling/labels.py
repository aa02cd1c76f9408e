"""Labels, written as they are made; a file has its name only once it is complete."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .._files import atomic
from .._typing import IntArray
from ..errors import FairclustError
from .blocks import require_pyarrow


def write_labels(parts: Iterable[IntArray], n_rows: int, path: Path | None) -> Any:
    """Labels of all blocks: as an array, as a memory map of a new ``.npy`` file, or as the path of a Parquet file."""
    if path is None:
        return np.concatenate(list(parts))
    with complete_file(path) as temporary:
        if path.suffix == ".npy":
            _write_npy(parts, n_rows, temporary)
        else:
            _write_parquet(parts, temporary)
    return np.load(path, mmap_mode="r") if path.suffix == ".npy" else path


def _write_npy(parts: Iterable[IntArray], n_rows: int, path: Path) -> None:
    # A plain file, not a map that is written to: when the disk is full a write fails, a map would end the process.
    with path.open("wb") as file:
        header = {"descr": "<i4", "fortran_order": False, "shape": (n_rows,)}
        np.lib.format.write_array_header_1_0(file, header)
        for labels in parts:
            file.write(labels.astype("<i4", copy=False).tobytes())


def _write_parquet(parts: Iterable[IntArray], path: Path) -> None:
    pa, pq = require_pyarrow("pyarrow"), require_pyarrow()
    schema = pa.schema([("cluster", pa.int32())])
    with pq.ParquetWriter(path, schema) as writer:
        for labels in parts:
            writer.write_table(pa.table({"cluster": labels}, schema=schema))


@contextmanager
def complete_file(path: Path) -> Iterator[Path]:
    """Do as :func:`atomic` does; what the system complains about becomes one sentence."""
    try:
        with atomic(path) as temporary:
            yield temporary
    except OSError as error:
        if isinstance(error, FairclustError):
            raise
        reason = error.strerror or str(error)
        raise FairclustError(f"{path} could not be written: {reason}. Nothing was left there.") from error
