"""The built site in a real browser: search finds, phones need not scroll sideways, nothing serious for a screen reader.

Needs ``make docs`` before; without a built site these are skipped.
"""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from report.test_browser import axe, browser, findings, pytestmark  # noqa: F401 - fixtures and marks

SITE = Path(__file__).resolve().parents[2] / "docs" / "_build" / "html"
QUICK = [
    "index",
    "auto_tutorials/01_fair_segments",
    "auto_gallery/index",
    "tables",
    "architecture",
    "api/generated/fairclust.FairKMeans",
]
OTHERS = [
    "start",
    "which-tool",
    "command-line",
    "auto_tutorials/index",
    "auto_tutorials/03_choosing_k_and_the_goal",
    "auto_tutorials/06_graphs",
    "auto_gallery/plot_goals",
    "guide",
    "certificates",
    "faq",
    "glossary",
    "benchmarks",
    "field",
    "api/index",
    "api/cli",
    "api/generated/fairclust.metrics.fairness_error",
]
PAGES = [*QUICK, *(pytest.param(page, marks=pytest.mark.slow) for page in OTHERS)]


@pytest.fixture
def site(browser):  # noqa: F811
    if not (SITE / "index.html").exists():
        pytest.skip("the site is not built: make docs")
    contexts = []

    def show(page, query="", **options):
        context = browser.new_context(**options)
        contexts.append(context)
        tab = context.new_page()
        tab.goto((SITE / page).as_uri() + query)
        return tab

    yield show
    for context in contexts:
        context.close()


@pytest.mark.parametrize("page", PAGES)
def test_pages_have_no_serious_accessibility_finding(site, axe, page):  # noqa: F811
    for scheme in ("light", "dark"):
        assert findings(site(f"{page}.html", color_scheme=scheme), axe) == [], scheme


@pytest.mark.parametrize("page", PAGES)
def test_phones_need_not_scroll_sideways(site, page):
    tab = site(f"{page}.html", viewport={"width": 390, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize(("word", "page"), [("gower", "tables.html"), ("medoid", "kmedian.html")])
def test_search_finds_the_page(site, word, page):
    tab = site("search.html", f"?q={word}")
    tab.wait_for_selector("#search-results li a", timeout=15_000)
    links = tab.eval_on_selector_all("#search-results li a", "all => all.map(one => one.getAttribute('href'))")
    assert any(link.split("?")[0].split("#")[0].endswith(page) for link in links)
