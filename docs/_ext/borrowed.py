"""Pages that live elsewhere in the repository, shown on the site under a path of their own.

Every relative link is followed from where the file really is: to a page of the site it stays a link, to any other file
of the repository it becomes the file's name. A link to a file that does not exist is a warning, and so an error.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

DOCS = Path(__file__).resolve().parent.parent
ROOT = DOCS.parent
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"(^```.*?^```|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
log = logging.getLogger(__name__)


def borrowed_pages() -> dict[Path, Path]:
    """Where each borrowed page really is → where the site shows it."""
    top = {
        name: f"project/{name.lower().replace('_', '-')}"
        for name in (
            "CHANGELOG.md",
            "CONTRIBUTING.md",
            "CODE_OF_CONDUCT.md",
            "SECURITY.md",
            "VERSIONS.md",
            "RELEASING.md",
        )
        if (ROOT / name).exists()
    }
    pages = {ROOT / name: DOCS / shown for name, shown in top.items()}
    for result in sorted((ROOT / "benchmarks" / "results").glob("*.md")):
        shown = "index.md" if result.name == "README.md" else result.name
        pages[result] = DOCS / "results" / shown
    return pages


def copy_pages(app: Sphinx) -> None:
    """Lay a copy of each where Sphinx looks for pages; only what changed is written."""
    pages = borrowed_pages()
    for origin, shown in pages.items():
        shown.parent.mkdir(exist_ok=True)
        text = origin.read_text(encoding="utf-8")
        if shown.name == "index.md":
            rest = "\n".join(page.stem for page in pages.values() if page.parent == shown.parent and page != shown)
            text += f"\n```{{toctree}}\n:hidden:\n\n{rest}\n```\n"
        if not shown.exists() or shown.read_text(encoding="utf-8") != text:
            shown.write_text(text, encoding="utf-8")


def follow_links(app: Sphinx, docname: str, source: list[str]) -> None:
    """Rewrite the links of a page for the place where it is shown."""
    pages = borrowed_pages()
    shown = DOCS / f"{docname}.md"
    if not shown.exists():
        return
    origin = next((there for there, here in pages.items() if here == shown), shown)

    def follow(match: re.Match[str]) -> str:
        image, text, link, anchor = match.group(1), match.group(2), match.group(3), match.group(4) or ""
        target = (origin.parent / link).resolve()
        if not target.exists() and "auto_" not in link and "generated" not in link:
            log.warning("%s links to %s, which does not exist", origin.relative_to(ROOT), link)
            return match.group(0)
        if target.is_dir():
            target = target / "index.md"
        target = pages.get(target, target)
        if not target.is_relative_to(DOCS):
            return f"{text} (`{target.relative_to(ROOT)}`)" if text != target.name else f"`{text}`"
        return f"{image}[{text}]({os.path.relpath(target, shown.parent)}{anchor})"

    parts = FENCE.split(source[0])
    source[0] = "".join(part if FENCE.fullmatch(part) else LINK.sub(follow, part) for part in parts)


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx when to copy and when to follow."""
    app.connect("builder-inited", copy_pages)
    app.connect("source-read", follow_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
