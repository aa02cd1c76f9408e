"""Where results may go: found out before the work."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import FairclustError, InvalidInputError


def check_output(path: Path | None, *, force: bool, argument: str, inputs: tuple[Path, ...] = ()) -> None:
    """Find out before the work whether a file may be written after it.

    Parameters
    ----------
    path : Path or None
        Where to write; None is always fine.
    force : bool
        Whether a file that is there may be replaced.
    argument : str
        The option, for messages.
    inputs : tuple of Path
        Files that are being read and must stay as they are.
    """
    if path is None:
        return
    if path.is_dir():
        raise InvalidInputError(f"{argument} {path} is a directory. Name a file inside it.")
    if any(path.exists() and path.samefile(file) for file in inputs):
        raise InvalidInputError(f"{argument} {path} is the file that is read. Choose another name.")
    if path.exists() and not force:
        raise InvalidInputError(f"{argument} {path} exists already. Choose another name, or add --force to replace it.")
    if not path.parent.is_dir():
        raise InvalidInputError(f"{argument} {path}: the directory {path.parent} does not exist. Make it first.")
    if not os.access(path.parent, os.W_OK):
        raise FairclustError(f"{argument} {path}: the directory {path.parent} is read-only. Choose another place.")


def check_outputs(outputs: dict[str, Path | None], *, force: bool, inputs: tuple[Path, ...]) -> None:
    """Do the same for several files, which must differ from each other.

    Parameters
    ----------
    outputs : dict of str to Path or None
        Where to write, by option.
    force, inputs
        As for :func:`check_output`.
    """
    seen: dict[Path, str] = {}
    for argument, path in outputs.items():
        check_output(path, force=force, argument=argument, inputs=inputs)
        if path is not None and path.resolve() in seen:
            raise InvalidInputError(
                f"{seen[path.resolve()]} and {argument} both name {path}. Give them different names."
            )
        if path is not None:
            seen[path.resolve()] = argument
