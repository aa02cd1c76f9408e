"""The site: in seconds, that every link, heading, picture and docstring is sound; slowly, all that Sphinx has to say.

``make docs`` builds the site with warnings as errors; here no tutorial is run.
"""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from docs.test_reference import PUBLIC

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
GENERATED = {"_build", "auto_gallery", "auto_tutorials", "generated", "results"}


def ours(page):
    """Written by hand: not built, and not the copy of a page that lives beside ``docs``."""
    return not GENERATED & set(page.parts) and (page.parent != DOCS / "project" or page.name == "index.md")


PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "benchmarks" / "results").glob("*.md"))]
PAGES += [page for page in sorted(DOCS.rglob("*.md")) if ours(page)]
PROSE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s#]*)(#[^)\s]*)?\)")
PICTURE = re.compile(r"!\[([^\]]*)\]\(")
HEADING = re.compile(r"^#{1,3} (.+)$", re.MULTILINE)
ENTRIES = re.compile(r"```\{toctree\}\n(.*?)```", re.DOTALL)


def prose(page):
    """A page without its code."""
    return PROSE.sub("", page.read_text(encoding="utf-8"))


def anchors(page):
    """What links may name: the page's headings, as GitHub and Sphinx write them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return {re.sub(r"[^\w\s-]", "", heading.lower()).strip().replace(" ", "-") for heading in HEADING.findall(text)}


def source_of(path):
    """The file that a link leads to; for what is built, the file that it is built from."""
    built = {
        DOCS / "auto_tutorials": ROOT / "examples" / "tutorials",
        DOCS / "auto_gallery": ROOT / "examples" / "gallery",
    }
    if path.parent in built:
        name = "README.rst" if path.stem == "index" else f"{path.stem}.py"
        return built[path.parent] / name
    if path.parent == DOCS / "api" / "generated":
        return DOCS / "api" / "index.md" if path.stem.removeprefix("fairclust.") in PUBLIC else path
    if path.parent == DOCS / "project" and path.stem != "index":
        return ROOT / f"{path.stem.upper().replace('-OF-', '_OF_')}.md"
    if path.parent == DOCS / "results":
        return ROOT / "benchmarks" / "results" / ("README.md" if path.stem == "index" else path.name)
    return path


def test_every_link_of_a_page_leads_to_a_file_and_heading():
    for page in PAGES:
        for link, anchor in LINK.findall(prose(page)):
            target = source_of((page.parent / link).resolve()) if link else page
            assert target.exists(), f"{page}: {link} does not exist"
            if anchor and target.suffix == ".md":
                known = anchors(target)
                assert anchor[1:] in known, f"{page}: {link}{anchor}: the headings are {sorted(known)}"


def test_every_picture_of_a_page_is_told_in_words():
    for page in PAGES:
        assert all(words.strip() for words in PICTURE.findall(prose(page))), page


def test_every_page_that_teaches_says_when_not_to():
    lessons = re.search(r":caption: Learn\n\n(.*?)```", (DOCS / "guide.md").read_text(encoding="utf-8"), re.DOTALL)
    for name in lessons[1].split():
        assert "hen not to" in (DOCS / f"{name}.md").read_text(encoding="utf-8"), name


def test_every_tutorial_and_example_is_short_and_has_a_picture():
    for page in sorted((ROOT / "examples").glob("*/*.py")):
        code = page.read_text(encoding="utf-8")
        assert len(code.splitlines()) < (100 if page.parent.name == "tutorials" else 60), page
        assert "plt.show()" in code, page


def test_the_gallery_shows_every_example_once():
    names = {page.stem.removeprefix("plot_") for page in (ROOT / "examples" / "gallery").glob("*.py")}
    order = runpy.run_path(str(DOCS / "_ext" / "ordered.py"))["GALLERY"]
    assert len(order) >= 12
    assert sorted(order) == sorted(names)


def test_every_entry_of_a_menu_is_a_page():
    for page in filter(ours, DOCS.rglob("*.md")):
        for block in ENTRIES.findall(page.read_text(encoding="utf-8")):
            for line in block.splitlines():
                if line and "*" not in line and not line.startswith(":"):
                    suffix = ".rst" if line.startswith("auto_") else ".md"
                    assert source_of((page.parent / f"{line}{suffix}").resolve()).exists(), f"{page.name}: {line}"


@pytest.mark.parametrize("name", PUBLIC)
def test_docstring_is_read_by_numpydoc_without_a_complaint(name):
    docscrape = pytest.importorskip("numpydoc.docscrape", reason="the site needs the group 'docs'")
    thing = PUBLIC[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # unknown or repeated sections, a line under a heading that is too short
        if not isinstance(thing, type):
            docscrape.FunctionDoc(thing)
            return
        docscrape.ClassDoc(thing, config={"show_class_members": False})
        for method in vars(thing).values():
            if callable(method) and not getattr(method, "__name__", "_").startswith("_"):
                docscrape.FunctionDoc(method)


@pytest.mark.slow
def test_sphinx_reads_every_page_without_a_warning(tmp_path):
    pytest.importorskip("sphinx_gallery", reason="the site needs the group 'docs'")
    command = [sys.executable, "-m", "sphinx", "-b", "dummy", "-W", "--keep-going", "-q", "-d", str(tmp_path / "trees")]
    told = subprocess.run(
        [*command, str(DOCS), str(tmp_path / "out")],
        env=os.environ | {"FAIRCLUST_DOCS": "quick", "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr


def test_every_page_is_reachable_from_the_menu():
    """A page that no table of contents names is a page nobody finds."""
    named = set()
    for page in filter(ours, DOCS.rglob("*.md")):
        for block in ENTRIES.findall(page.read_text(encoding="utf-8")):
            for line in block.splitlines():
                if line and not line.startswith(":"):
                    named |= set(page.parent.glob(f"{line}.md"))
    assert set(filter(ours, DOCS.rglob("*.md"))) - named == {DOCS / "index.md"}


def test_llms_txt_names_pages_that_exist():
    for link in re.findall(r"\]\(([^)]+)\.html\)", (DOCS / "llms.txt").read_text(encoding="utf-8")):
        if not link.startswith("auto_"):
            assert (DOCS / f"{link}.md").exists(), link
