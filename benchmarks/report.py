"""Results as JSON and as Markdown."""

from __future__ import annotations

import datetime
import json
import math
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from fairclust._core import is_compiled

from .records import Claim, Row, SuiteResult

_PACKAGES = ("fairclust", "numpy", "scipy", "scikit-learn", "faiss-cpu", "holisticai", "jax")


def describe_run(*, quick: bool) -> dict[str, Any]:
    """Machine, versions, date: what a figure is worth nothing without."""
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="minutes"),
        "quick": quick,
        "machine": _machine(),
        "kernels": "compiled" if is_compiled else "NumPy (slow)",
        "versions": {"python": platform.python_version()} | {name: _version(name) for name in _PACKAGES},
        "commit": _commit(),
    }


def _machine() -> dict[str, Any]:
    cpu = platform.processor()
    cpu_info = Path("/proc/cpuinfo")
    if cpu_info.is_file():
        lines = (line for line in cpu_info.read_text().splitlines() if line.startswith("model name"))
        cpu = next(lines, f": {cpu}").partition(":")[2].strip()
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": cpu,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory GB": round(pages / 1e9, 1),
        "load at start": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS"),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    here = Path(__file__).parent
    try:
        found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=here, capture_output=True, text=True)
    except OSError:
        return None
    return found.stdout.strip() or None


def write(folder: Path, name: str, result: SuiteResult, run: Mapping[str, Any], seconds: float) -> None:
    """Write ``name.json`` and ``name.md``."""
    folder.mkdir(parents=True, exist_ok=True)
    record = {
        "suite": name,
        **run,
        "seconds": round(seconds, 1),
        "rows": result.rows,
        "claims": [{**vars(claim), "holds": claim.holds} for claim in result.claims],
        "skipped": result.skipped,
        "notes": result.notes,
    }
    (folder / f"{name}.json").write_text(json.dumps(record, indent=1, default=_plain, ensure_ascii=False) + "\n")
    (folder / f"{name}.md").write_text(to_markdown(name, result, run, seconds))


def to_markdown(name: str, result: SuiteResult, run: Mapping[str, Any], seconds: float) -> str:
    """One page: what was claimed and measured, the table, what was skipped."""
    parts = [f"# {name}: {result.title}", describe_in_words(run, seconds)]
    if result.claims:
        parts += ["## Claims", claims_table(result.claims)]
    parts += [*result.notes, table(result.rows) if result.rows else "Nothing ran."]
    if result.skipped:
        parts += ["## Skipped", "\n".join(f"- {line}" for line in result.skipped)]
    return "\n\n".join(parts) + "\n"


def describe_in_words(run: Mapping[str, Any], seconds: float | None = None) -> str:
    """One paragraph about the run."""
    machine = ", ".join(f"{key} {value}" for key, value in run["machine"].items() if value is not None)
    versions = ", ".join(f"{key} {value}" for key, value in run["versions"].items() if value is not None)
    took = "" if seconds is None else f", {seconds:.0f} s"
    size = "Quick" if run["quick"] else "Full"
    return f"{size} run of {run['date']}{took}. {machine}. {run['kernels']} kernels. {versions}."


def claims_table(claims: Sequence[Claim]) -> str:
    """What was stated, what was seen, whether it holds."""
    return table(
        [
            {
                "claim": one.what,
                "measured": one.measured,
                "at most": one.limit,
                "holds": "yes" if one.holds else "**NO**",
            }
            for one in claims
        ]
    )


def table(rows: Sequence[Row]) -> str:
    """A Markdown table; its columns are those of all rows, in order of appearance, without empty ones."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    columns = [column for column in columns if any(row.get(column) is not None for row in rows)]
    lines = [columns, ["---"] * len(columns), *([_cell(row.get(column)) for column in columns] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        return _number(float(value))
    return f"{value:,}" if isinstance(value, int | np.integer) else str(value).replace("|", "\\|")


def _number(value: float) -> str:
    """Five digits that matter, and no more."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    size = abs(value)
    if size >= 1000:
        return f"{value:,.2f}" if size < 1e5 else f"{value:,.0f}"
    return f"{value:.4g}" if size < 100 else f"{value:.2f}"


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
