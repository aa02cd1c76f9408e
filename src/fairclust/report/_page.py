"""One self-contained HTML file: text that is always escaped, charts as data, every script and style inside."""

from __future__ import annotations

import functools
import html
import importlib.util
import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._files import atomic
from ..errors import InvalidInputError, MissingExtraError

_LONGEST_NAME = 80  # characters of a name on a page: a line
# The page forbids itself the network: nothing outside this file is ever asked for.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:; "
    "form-action 'none'; base-uri 'none'"
)
_DRAW = """
"use strict";
const specs = JSON.parse(document.getElementById("charts").textContent);
const views = {};
window.fairclustReady = Promise.all(Object.entries(specs).map(async ([id, spec]) => {
  const result = await vegaEmbed("#" + id, spec, {actions: false, renderer: "svg", hover: false});
  views[id] = result.view;
}));
"""


@dataclass(frozen=True, repr=False)
class Page:
    """A finished page. ``save`` it, or show it in a notebook.

    Attributes
    ----------
    html : str
        The whole file.

    Examples
    --------
    >>> from fairclust.report import Page
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(Page("<!doctype html><title>A page</title>").save(Path(folder) / "page.html")).read_text()
    '<!doctype html><title>A page</title>'
    """

    html: str

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the page, whole or not at all.

        Parameters
        ----------
        path : str or path-like
            Where to; usually ends in ``.html``.
        overwrite : bool, default=False
            Whether a file that is there may be replaced.

        Returns
        -------
        path : Path
        """
        target = Path(path)
        if target.exists() and not overwrite:
            raise InvalidInputError(f"{target} exists already. Pass overwrite=True to replace it.")
        with atomic(target) as temporary:
            temporary.write_text(self.html, encoding="utf-8")
        return target

    def _repr_html_(self) -> str:
        # A frame of its own: the page's styles and scripts stay out of the notebook.
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" style="width:100%;height:40rem;border:1px solid #8888" '
            'sandbox="allow-scripts allow-downloads"></iframe>'
        )

    def __repr__(self) -> str:
        return f"Page({len(self.html.encode()) / 1e6:.1f} MB of HTML)"


def build_page(
    title: str, body: str, charts: dict[str, dict[str, Any]], *, data: dict[str, Any] | None = None, script: str = ""
) -> Page:
    """Put a page together.

    Parameters
    ----------
    title : str
        Plain text.
    body : str
        HTML in which every text is escaped already.
    charts : dict of str to dict
        Vega-Lite specification for each element id.
    data : dict or None
        What the script works with, as ``JSON.parse(document.getElementById("data").textContent)``.
    script : str
        JavaScript of our own that runs after the charts are asked for.
    """
    css = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<link rel="icon" href="data:,">',
        f"<title>{text(title)}</title><style>{css}</style></head><body>",
        f"<main>{body}</main>",
        f'<script type="application/json" id="charts">{as_json(charts)}</script>',
        f'<script type="application/json" id="data">{as_json(data or {})}</script>',
        f"<script>{_charting_library()}</script>",
        f"<script>{_DRAW}{script}</script>",
        "</body></html>",
    ]
    return Page("\n".join(parts))


def text(value: object) -> str:
    """Escape a text for HTML."""
    return html.escape(str(value), quote=True)


def name(value: object) -> str:
    """Show a name from the data: escaped, on its own for writing that runs from right to left."""
    return f"<bdi>{text(short(value))}</bdi>"


def short(value: object) -> str:
    """Make a name fit for a page: no control characters, not too long."""
    plain = "".join(sign if sign.isprintable() else " " for sign in str(value)).strip() or "(blank)"
    return plain if len(plain) <= _LONGEST_NAME else f"{plain[: _LONGEST_NAME - 1]}…"


def short_names(values: Sequence[object]) -> list[str]:
    """Short names that stay different from each other."""
    found: list[str] = []
    for value in values:
        candidate, i = short(value), 2
        while candidate in found:
            candidate, i = f"{short(value)} ({i})", i + 1
        found.append(candidate)
    return found


def as_json(value: Any) -> str:
    """JSON that is safe inside a script element, with null where a number is not finite."""
    plain = json.dumps(_plain(value), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return plain.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    caption: str,
    classes: Sequence[str] | None = None,
    kind: str = "numbers",
) -> str:
    """Build a table of "numbers" or "words"; cells are HTML that is escaped already, the first heads its row.

    The caption, plain text, is for those who do not see the heading above.
    """
    head = "".join(f'<th scope="col">{cell}</th>' for cell in header)
    classes = classes or [""] * len(rows)
    lines = []
    for row, emphasis in zip(rows, classes, strict=True):
        cells = "".join(f"<td>{cell}</td>" for cell in row[1:])
        opening = f'<tr class="{emphasis}">' if emphasis else "<tr>"
        lines.append(f'{opening}<th scope="row">{row[0]}</th>{cells}</tr>')
    inside = f"<caption>{text(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody>"
    place = f'class="scroll" tabindex="0" role="region" aria-label="{text(caption)}"'
    return f'<div {place}><table class="{kind}">{inside}</table></div>'


def figure(chart_id: str, caption: str = "") -> str:
    """Make a place for a chart."""
    return f'<figure><div class="chart" id="{chart_id}"></div><figcaption>{caption}</figcaption></figure>'


def check_extras() -> None:
    """Say what to install where reports cannot be made."""
    for module, package in (("altair", "altair"), ("vl_convert", "vl-convert-python")):
        if importlib.util.find_spec(module) is None:
            raise MissingExtraError(
                f"reports need {package}, which is not installed. Run `pip install 'fairclust[report]'`."
            )


@functools.cache
def _charting_library() -> str:
    check_extras()
    import vl_convert

    bundle: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # its stub asks for an optional argument
    return bundle.replace("</script", "<\\/script")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
