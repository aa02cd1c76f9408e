"""Results that are kept: one JSON file per unit of work, written whole or not at all, found again by what was asked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from .. import __version__
from .._files import atomic

_FORMAT = 2  # of the stored results; another number makes them all anew
_NO_PART_IN_RESULTS = (
    "cli", "report", "plotting.py", "reproduce/drawing.py", "reproduce/writing.py", "reproduce/field/page.py",
    "reproduce/field/parts.py", "reproduce/field/protocol.py",
)  # fmt: skip
"""These only show results, or say which are wanted."""
_ONE_BY_ONE = "reproduce/field/methods/"  # kept with the results of the method: a new one leaves the others as they are


@dataclass
class Store:
    """A directory of results.

    Parameters
    ----------
    folder : Path
        Where the files are; made where it is missing.
    tell : callable
        Called with a line about every unit that is computed.
    fresh : bool
        Compute everything again.
    """

    folder: Path
    tell: Callable[[str], None] = lambda line: None
    fresh: bool = False
    n_computed: int = 0
    n_reused: int = 0
    _done: set[str] = field(default_factory=set)

    def get(self, name: str, settings: dict[str, Any], compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return a result: from its file, or computed and put there.

        Parameters
        ----------
        name : str
            What it is, for the file's name and the reader.
        settings : dict
            Everything that the result depends on, besides the code of the package; plain values only.
        compute : callable
            Returns a dict of plain values.
        """
        asked = {"format": _FORMAT, "version": __version__, "code": code_hash(), "name": name, "settings": settings}
        text = json.dumps(asked, sort_keys=True)
        path = self.folder / f"{_slug(name)}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
        if not (self.fresh and path.name not in self._done):
            kept = _read(path, asked)
            if kept is not None:
                self.n_reused += path.name not in self._done
                self._done.add(path.name)
                return kept
        result = compute()
        self.folder.mkdir(parents=True, exist_ok=True)
        with atomic(path) as temporary:
            temporary.write_text(json.dumps({**asked, "result": result}, indent=1), encoding="utf-8")
        self.n_computed += 1
        self._done.add(path.name)
        self.tell(_line(name, result))
        return result

    def adopt(self, other: Store) -> None:
        """Count what another process computed or found in the same directory as this one's."""
        new = other._done - self._done
        self._done |= new
        self.n_computed += other.n_computed
        # Two processes may have computed the same at the same time.
        self.n_reused += max(len(new) - other.n_computed, 0)


@cache
def code_hash() -> str:
    """A number of the code that computes results: of every file of the package but those that only show them."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for file in sorted(package.rglob("*")):
        name = file.relative_to(package).as_posix()
        if file.suffix in (".py", ".cpp", ".hpp", ".so", ".pyd") and not _has_no_part(name):
            digest.update(f"{name} {file.stat().st_size}\n".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _has_no_part(name: str) -> bool:
    is_method = name.startswith(_ONE_BY_ONE) and not name.removeprefix(_ONE_BY_ONE).startswith("_")
    return is_method or name.partition("/")[0] in _NO_PART_IN_RESULTS or name in _NO_PART_IN_RESULTS


def _read(path: Path, asked: dict[str, Any]) -> dict[str, Any] | None:
    """Return a kept result, or None where there is none, or it is broken or of something else."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if any(kept[key] != value for key, value in json.loads(json.dumps(asked)).items()):
            return None
        result: dict[str, Any] = kept["result"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return result


def _slug(name: str) -> str:
    return "".join(sign if sign.isalnum() or sign in "-." else "-" for sign in name.lower())[:80]


def _line(name: str, result: dict[str, Any]) -> str:
    if "objective" in result and "fairness_error" in result:
        scores = f"{result['objective']:.6g} at Σ KL {result['fairness_error']:.4f}"
        return f"{name}: {scores}, {result.get('seconds', 0.0):.1f} s"
    return name
