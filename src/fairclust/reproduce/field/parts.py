"""The whole field: which protocols and methods there are, ours and a user's own, run one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ...errors import InvalidInputError
from ..store import Store
from .method import methods, read_method
from .page import Part
from .protocol import protocols, read_protocol
from .run import run_protocol


def field_parts(store: Store, data_dir: Path | None, *, quick: bool, more: Sequence[Path] = ()) -> Iterator[Part]:
    """Run protocol by protocol.

    Parameters
    ----------
    store : Store
    data_dir : Path or None
    quick : bool
        Rows that need no file only.
    more : sequence of Path
        Methods (.py) and protocols (.toml) beside those of the package.
    """
    wrong = [path for path in more if path.suffix not in (".py", ".toml") or not path.is_file()]
    if wrong:
        raise InvalidInputError(f"{wrong[0]} is not a file that ends in .py (a method) or .toml (a protocol).")
    known = [*methods(), *(read_method(path.resolve()) for path in more if path.suffix == ".py")]
    wanted = [*protocols(), *(read_protocol(path) for path in more if path.suffix == ".toml")]
    for protocol in wanted:
        if protocol.chosen(quick=quick):
            yield Part(protocol, run_protocol(protocol, known, store, data_dir, quick=quick), known)
