"""``--config run.toml``: the options of a command in a file, and the file that repeats a command."""

from __future__ import annotations

import difflib
import json
import tomllib
from pathlib import Path
from typing import Any

import typer

from .goals import TYPED

_NOT_KEPT = ("config", "debug", "force", "json")  # how a run is watched, not what it does


def read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Take what a TOML file says as the defaults of the command's options; what is typed goes before it.

    Parameters
    ----------
    context : typer.Context
        The command that is being read.
    path : Path or None
        The file.
    """
    if path is None:
        return None
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise typer.BadParameter(f"{path} cannot be read ({error.strerror}).") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{path} is not TOML: {error}.") from None
    known = {parameter.name or "": parameter for parameter in context.command.get_params(context)}
    defaults: dict[str, Any] = {}
    for key, value in given.items():
        name = key.replace("-", "_")
        if name not in known or name in ("config", "help"):
            close = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean {close[0].replace('_', '-')!r}?" if close else ""
            raise typer.BadParameter(f"{path} has {key!r}, which is no option of this command.{hint}")
        if isinstance(value, dict):
            raise typer.BadParameter(f'{path}: {key} is a table. Write it as typed: {key} = "F=0.5,M=0.5".')
        repeats = bool(getattr(known[name], "multiple", False))
        if isinstance(value, list) and not repeats:
            value = ",".join(map(str, value))
        defaults[name] = [value] if repeats and not isinstance(value, list) else value
    context.default_map = {**(context.default_map or {}), **defaults}
    return path


def config_text(context: typer.Context) -> str:
    """Give the TOML that repeats a command.

    Parameters
    ----------
    context : typer.Context
        The command that was typed.
    """
    lines = [f"# fairclust {context.command.name} --config run.toml"]
    values = {**context.params, **context.meta.get(TYPED, {})}
    for parameter in context.command.get_params(context):
        name, value = parameter.name or "", values.get(parameter.name or "")
        if name in _NOT_KEPT or value is None or value == parameter.default or value in ([], ()):
            continue
        lines.append(f"{name.replace('_', '-')} = {_written(value)}")
    return "\n".join(lines) + "\n"


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_written, value))}]"
    return repr(value) if isinstance(value, int | float) else json.dumps(str(value))
