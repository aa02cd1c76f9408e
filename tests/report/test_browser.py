"""The pages in a real browser: they draw, they answer, they ask nobody for anything."""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fairclust import FairKMeans, Penalty, fairness_path
from fairclust.goals import brief
from fairclust.report import model_report, path_report
from report.test_report import HOSTILE, case, embedded

pytest.importorskip("altair", reason="reports need the extra 'report'")
pytest.importorskip("vl_convert", reason="reports need the extra 'report'")
api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt-get install chromium"),
    # Playwright's own event loop, closed by its garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def browser():
    with api.sync_playwright() as playwright:
        try:
            started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        except api.Error as error:
            pytest.skip(f"Chromium does not start here: {str(error).splitlines()[0]}")
        yield started
        started.close()


@pytest.fixture
def opened(browser, tmp_path):
    """Open a page from disk; what it says, asks for and gets wrong is kept."""
    contexts = []

    def show(page, **options):
        path = page.save(tmp_path / "page.html", overwrite=True)
        context = browser.new_context(**options)
        contexts.append(context)
        tab = context.new_page()
        tab.requests, tab.said = [], []
        tab.on("request", lambda request: tab.requests.append(request.url))
        tab.on("console", lambda message: tab.said.append(f"{message.type}: {message.text}"))
        tab.on("pageerror", lambda error: tab.said.append(f"error: {error}"))
        tab.on("dialog", lambda dialog: (tab.said.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        tab.goto(path.as_uri())
        tab.evaluate("window.fairclustReady")
        return tab

    yield show
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def report():
    model, _, X, groups = case()
    return model_report(model, X, groups, feature_names=["age", "income", "debt"])


@pytest.fixture(scope="module")
def journey():
    _, _, X, groups = case()
    path = fairness_path(FairKMeans(4, random_state=0), X, sensitive_features=groups)
    return path, path_report(path, X, groups, feature_names=["age", "income", "debt"])


@pytest.fixture
def explorer(opened, journey):
    tab = opened(journey[1], accept_downloads=True)
    tab.wait_for_function("document.body.dataset.drawn !== undefined")
    return tab


AXE = Path(os.environ.get("FAIRCLUST_AXE", Path.home() / ".cache" / "fairclust-axe"))


@pytest.fixture(scope="module")
def axe():
    """The accessibility checker, from npm; kept in a cache, so that the network is asked once."""
    script = AXE / "node_modules" / "axe-core" / "axe.min.js"
    npm = shutil.which("npm")
    if not script.exists() and npm is not None:
        AXE.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [npm, "install", "--silent", "axe-core@4"], cwd=AXE, check=False, capture_output=True, timeout=120
        )
    if not script.exists():
        pytest.skip("axe-core cannot be had here: npm install axe-core")
    return script.read_text(encoding="utf-8")


def findings(tab, axe):
    """What the checker calls serious or critical, with the first place of each."""
    tab.evaluate(axe)
    found = tab.evaluate("axe.run()")["violations"]
    return [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]


@pytest.mark.parametrize("scheme", ["dark", pytest.param("light", marks=pytest.mark.slow)])
def test_pages_have_no_serious_accessibility_finding(opened, report, journey, axe, scheme):
    for page in (report, journey[1]):
        assert findings(opened(page, bypass_csp=True, color_scheme=scheme), axe) == []


def test_axes_are_read_out_as_whole_percentages(opened, report):
    labels = opened(report).eval_on_selector_all("#composition [aria-label]", "all => all.map(e => e.ariaLabel)")
    assert any("0% to 100%" in label for label in labels)
    assert not any("0.000000%" in label for label in labels)


@pytest.mark.parametrize("n_groups", [2, 5, 9])
def test_no_table_is_cut_on_screen_or_paper(opened, n_groups):
    model, _, X, groups = case([f"group {i}" for i in range(n_groups)], n_samples=900)
    tab = opened(model_report(model, X, groups), viewport={"width": 1200, "height": 900})
    cut = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
    assert tab.evaluate(cut) == 0
    for width in (680, 700):  # what A4 and Letter leave between their margins, in CSS pixels
        tab.set_viewport_size({"width": width, "height": 900})
        tab.emulate_media(media="print")
        over = (
            "[...document.querySelectorAll('table')].filter(e => e.getBoundingClientRect().right > innerWidth).length"
        )
        assert tab.evaluate(over) == 0


def data_of(tab):
    return tab.evaluate("JSON.parse(document.getElementById('data').textContent)")


def wait_for_point(tab, index):
    tab.wait_for_function(f"document.body.dataset.drawn === '{index}'")


def shown_numbers(tab):
    return {name: tab.text_content(f"#{name}") for name in ("asked", "objective", "rise", "error", "worst", "balance")}


def test_report_draws_every_chart_without_a_console_message(opened, report):
    tab = opened(report)
    assert {"composition", "cost", "features", "projection"} <= set(embedded(report, "charts"))
    for chart in embedded(report, "charts"):
        assert tab.locator(f"#{chart} svg").count() == 1
    assert tab.said == []


def test_report_loads_nothing_from_the_network(opened, report):
    tab = opened(report)
    assert [url for url in tab.requests if not url.startswith("file:")] == []
    assert len(tab.requests) == 1


def test_page_forbids_itself_the_network(opened, report):
    tab = opened(report)
    refused = tab.evaluate("fetch('http://127.0.0.1:9/').then(() => 'sent', error => error.name)")
    assert refused == "TypeError"
    assert any("Content Security Policy" in line for line in tab.said)


@pytest.mark.parametrize("width", [360, 800, 1400])
def test_report_never_scrolls_sideways(opened, report, width):
    tab = opened(report, viewport={"width": width, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_text_of_charts_is_readable_in_the_dark_and_on_paper(opened, report):
    tab = opened(report, color_scheme="dark")
    color = "getComputedStyle(document.querySelector('#composition svg text')).fill"
    assert tab.evaluate(color) == "rgb(230, 234, 240)"
    tab.emulate_media(media="print")
    assert tab.evaluate(color) == "rgb(0, 0, 0)"


def test_hostile_names_are_shown_as_text(opened):
    model, _, X, groups = case(HOSTILE)
    names = [f"{name}!" for name in HOSTILE[:3]]
    tab = opened(model_report(model, X, groups, feature_names=names, title=HOSTILE[0]))
    assert tab.title() == HOSTILE[0]
    assert tab.locator("img").count() == 0
    assert tab.said == []
    assert HOSTILE[3] in tab.text_content("body")
    assert HOSTILE[0][:12] in tab.text_content("#composition")


def test_slider_changes_the_numbers_to_those_of_the_data(explorer):
    points = data_of(explorer)["points"]
    assert len(points) >= 4
    seen = set()
    for index in (0, len(points) // 2, len(points) - 1):
        explorer.fill("#point", str(index))
        wait_for_point(explorer, index)
        shown, point = shown_numbers(explorer), points[index]
        assert shown["asked"] == point["goal"]
        assert float(shown["objective"].replace(",", "")) == pytest.approx(point["objective"], rel=1e-5)
        assert float(shown["error"]) == pytest.approx(point["error"], rel=1e-2, abs=1e-12)
        assert float(shown["balance"]) == pytest.approx(point["balance"], rel=1e-2)
        cells = explorer.locator("#rows tr").first.locator("td").all_text_contents()
        assert cells[1] == f"{100 * point['shares'][0][0]:.1f} %"
        seen.add(shown["objective"])
    assert len(seen) == 3
    assert explorer.said == []


def test_numbers_are_those_of_the_path(explorer, journey):
    path = journey[0]
    for point in data_of(explorer)["points"]:
        i = [brief(goal) for goal in path.goals].index(point["goal"])
        assert point["objective"] == path.objectives[i]
        assert point["worst"] == path.max_fairness_errors[i]


def test_bars_and_points_follow_the_choice(explorer):
    last = len(data_of(explorer)["points"]) - 1
    drawings = {}
    for index in (0, last):
        explorer.fill("#point", str(index))
        wait_for_point(explorer, index)
        drawings[index] = [explorer.inner_html(f"#{chart} svg") for chart in ("tradeoff", "composition", "projection")]
    assert all(first != second for first, second in zip(drawings[0], drawings[last], strict=True))


def test_arrow_keys_step_along_the_path(explorer):
    explorer.click("#plain")
    wait_for_point(explorer, 0)
    explorer.evaluate("document.activeElement.blur()")
    explorer.keyboard.press("ArrowRight")
    wait_for_point(explorer, 1)
    explorer.focus("#point")
    explorer.keyboard.press("ArrowRight")
    wait_for_point(explorer, 2)
    explorer.keyboard.press("End")
    wait_for_point(explorer, len(data_of(explorer)["points"]) - 1)


def test_click_on_the_curve_chooses_a_point(explorer):
    explorer.click("#plain")
    wait_for_point(explorer, 0)
    last = len(data_of(explorer)["points"]) - 1
    marks = explorer.locator("#tradeoff .mark-symbol").first.locator("path")
    marks.nth(last).click()
    wait_for_point(explorer, last)


def test_goal_button_follows_the_papers_rule(explorer, journey):
    explorer.click("#fairest")
    explorer.click("#goal")
    points = data_of(explorer)["points"]
    chosen = next(i for i, point in enumerate(points) if point["worst"] <= 0.01)
    wait_for_point(explorer, chosen)
    assert points[chosen]["goal"] == brief(journey[0].select(goal=0.01).goal)


def test_downloaded_labels_are_those_of_the_path(explorer, journey, tmp_path):
    path = journey[0]
    explorer.click("#fairest")
    points = data_of(explorer)["points"]
    wait_for_point(explorer, len(points) - 1)
    with explorer.expect_download() as started:
        explorer.click("#save-labels")
    started.value.save_as(tmp_path / "labels.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "labels.csv").read_text(encoding="utf-8-sig"))))
    i = [brief(goal) for goal in path.goals].index(points[-1]["goal"])
    assert [int(row["cluster"]) for row in rows] == path.labels[i].tolist()
    assert [int(row["row"]) for row in rows] == list(range(1, len(rows) + 1))


def test_explorer_shows_hostile_names_as_text_and_neutralises_them_in_csv(opened, tmp_path):
    _, _, X, groups = case(HOSTILE)
    path = fairness_path(
        FairKMeans(3, random_state=0), X, sensitive_features=groups, goals=[None, Penalty(10), Penalty(1000)]
    )
    tab = opened(path_report(path, X, groups, title=HOSTILE[1]), accept_downloads=True)
    tab.wait_for_function("document.body.dataset.drawn !== undefined")
    assert tab.locator("img").count() == 0
    assert HOSTILE[0] in tab.text_content("#head")
    assert tab.said == []
    with tab.expect_download() as started:
        tab.click("#save-shares")
    started.value.save_as(tmp_path / "shares.csv")
    header = next(csv.reader(io.StringIO((tmp_path / "shares.csv").read_text(encoding="utf-8-sig"))))
    assert f"'{HOSTILE[2]}" in header
    assert HOSTILE[1] in header
    assert not [cell for cell in header if cell[0] in "=+-@"]
