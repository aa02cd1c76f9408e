"""The site in seconds: every page is read with warnings as errors, no tutorial is run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def test_every_page_link_and_reference_of_the_site_is_sound(tmp_path):
    pytest.importorskip("sphinx_gallery", reason="the site needs the extra 'docs'")
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
    for page in DOCS.rglob("*.md"):
        for block in re.findall(r"```\{toctree\}(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            for line in block.splitlines():
                if line and not line.startswith(":"):
                    named |= set(page.parent.glob(f"{line}.md"))
    ours = {page for page in DOCS.rglob("*.md") if "_build" not in page.parts}
    assert ours - named == {DOCS / "index.md"}


def test_llms_txt_names_pages_that_exist():
    for link in re.findall(r"\]\(([^)]+)\.html\)", (DOCS / "llms.txt").read_text(encoding="utf-8")):
        if not link.startswith("auto_"):
            assert (DOCS / f"{link}.md").exists(), link
