"""Numbers, rows and files as all pages of this package write them."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._files import atomic


def number(value: float) -> str:
    """A figure with as many digits as a reader needs."""
    if value >= 1000:
        return f"{value:.1f}" if value < 1e6 else f"{value:.0f}"
    if value >= 100:
        return f"{value:.2f}"
    return f"{value:.4f}" if value >= 0.00005 else "0.0000"


def in_rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def write_csv(rows: list[dict[str, Any]], path: Path, columns: Sequence[str]) -> None:
    """Write rows, whole or not at all; what a row lacks is left empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    with atomic(path) as temporary:
        temporary.write_text(text.getvalue(), encoding="utf-8")
