"""The report as a file: what it says, what it hides, and that nothing from the data becomes markup."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from fairclust import FairKMeans, MinBalance, Penalty, audit, fairness_path, stability
from fairclust.errors import InvalidInputError
from fairclust.report import Page, audit_report, model_report, path_report
from fairclust.report._page import as_json, short, short_names

pytest.importorskip("altair", reason="reports need the extra 'report'")
pytest.importorskip("vl_convert", reason="reports need the extra 'report'")

HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "\"quoted\" 'twice' & <b>bold</b>",
    '=HYPERLINK("http://example.org")',
    "أهلا وسهلا",
    "🙂🙃",
    "z" * 10_000,
)


class Elements(HTMLParser):
    """Tags of a page, and its text outside scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text, self._inside = "", ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._inside = tag if tag in ("script", "style") else self._inside

    def handle_endtag(self, tag):
        self._inside = "" if tag == self._inside else self._inside

    def handle_data(self, data):
        self.text += "" if self._inside else data


def embedded(page: Page, element: str) -> dict:
    match = re.search(rf'<script type="application/json" id="{element}">(.*?)</script>', page.html, re.DOTALL)
    return json.loads(match[1])


def case(names=("F", "M"), n_samples=400, n_clusters=4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, 3))
    group = (X[:, 0] + rng.normal(size=n_samples) > 0).astype(int)
    if len(names) > 2:
        group = group * (len(names) // 2) + rng.integers(0, len(names) // 2, n_samples)
    groups = np.array(names, dtype=object)[group]
    model = FairKMeans(n_clusters, random_state=0).fit(X, sensitive_features=groups)
    model.compare_to_plain(X, sensitive_features=groups, n_seeds=3)
    return model, model.plain_, X, groups


@pytest.fixture(scope="module")
def fitted():
    return case()


@pytest.fixture(scope="module")
def page(fitted):
    model, _, X, groups = fitted
    return model_report(model, X, groups, feature_names=["age", "income", "debt"])


def test_report_says_which_fairness_is_meant_and_which_not(page):
    said = Elements(page.html).text
    assert "Proportional representation" in said
    assert "What it does not mean" in said
    assert "unbiased" not in page.html.split("<script")[0]


def test_composition_bars_are_the_models_proportions_worst_cluster_first(fitted, page):
    model = fitted[0]
    rows = embedded(page, "charts")["composition"]["datasets"]["composition"]
    shares = {(row["cluster"], row["group"]): row["share"] for row in rows}
    for k in range(4):
        for j, name in enumerate(("F", "M")):
            assert shares[str(k), name] == pytest.approx(model.proportions_[k, j], abs=1e-6)
    errors = (model.target_proportions_ * np.log(model.target_proportions_ / model.proportions_)).sum(axis=1)
    assert rows[0]["cluster"] == str(errors.argmax())


def test_report_tells_what_fairness_cost(fitted, page):
    model, plain = fitted[:2]
    said = Elements(page.html).text
    assert f"{plain.objective:.6g}" in said
    assert f"{model.objective_:.6g}" in said
    assert f"{100 * (model.objective_ / plain.objective - 1):+.1f} %" in said
    assert f"{plain.objectives.min():.6g} to {plain.objectives.max():.6g}" in said


def test_report_tells_who_was_moved(fitted, page):
    moves, said = fitted[0].moves_, " ".join(Elements(page.html).text.split())
    for sentence in moves.sentences():
        assert sentence in said
    rows = embedded(page, "charts")["moved"]["data"]["values"]
    assert [row["share"] for row in rows] == pytest.approx([group.share_moved for group in moves.groups], abs=1e-6)


def test_report_says_what_the_goal_means_in_shares(page):
    said = " ".join(Elements(page.html).text.split())
    assert "the goal MaxFairnessError(0.01) allows one group at a time these shares" in said
    assert re.search(r"F: 4\d\.\d % to 5\d\.\d % of a cluster", said)


def test_an_audit_page_says_which_clusters_meet_the_goal():
    page = audit_report(audit([0] * 4 + [1] * 4, list("FMMMFFMM"), goal=MinBalance(0.5)))
    said = " ".join(Elements(page.html).text.split())
    assert "1 of 2clusters meet MinBalance(0.5)" in said
    assert "Goal MinBalance(limit=0.5): 1 of 2 clusters pass. Cluster 0 does not." in said
    assert "F: 33.3 % to 66.7 % of a cluster" in said
    assert "passes" in said
    assert "fails" in said


def test_every_table_has_a_caption_and_the_page_a_main_part(page):
    elements = Elements(page.html)
    tags = [tag for tag, _ in elements.tags]
    assert tags.count("main") == 1
    assert tags.count("caption") == tags.count("table") > 3


def test_shares_of_categories_are_percentages_and_roundings_are_not_shown():
    rng = np.random.default_rng(1)
    kind = (np.arange(400) < 140).astype(float)
    raw = np.column_stack([kind, 1 - kind, 5 * kind + rng.normal(size=400)])
    means, stds = raw.mean(axis=0), raw.std(axis=0)
    X = ((raw - means) / stds).astype(np.float32)
    groups = rng.choice(["F", "M"], 400)
    model = FairKMeans(2, goal=None, random_state=0).fit(X, sensitive_features=groups)
    names = ["class=small", "class=regular", "size"]
    said = Elements(model_report(model, X, groups, feature_names=names, units=(means, stds)).html).text
    assert "low class=small (0.0 % against 35.0 %)" in said
    assert "e-0" not in said.split("What makes each cluster different")[1].split("The clusters in two")[0]


def test_tables_of_many_groups_are_cut_into_parts_that_fit():
    names = [f"group {i}" for i in range(19)]
    groups = np.array(names)[np.arange(760) % 19]
    page = audit_report(audit(np.arange(760) % 4, groups))
    heads = re.findall(r"<thead><tr>(.*?)</tr>", page.html)
    assert [head.count("<th") for head in heads] == [9, 9, 9]
    assert all(name in page.html for name in names)


def test_report_holds_settings_and_seed(page):
    said = " ".join(Elements(page.html).text.split())
    assert "random_state0" in said.replace(" ", "")
    assert "fairclust 0." in said


def test_report_is_small_and_refers_to_nothing_outside(page):
    assert len(page.html.encode()) < 4_000_000
    for tag, attributes in Elements(page.html).tags:
        assert tag not in ("img", "iframe", "object", "embed")
        assert "src" not in attributes
        assert attributes.get("href", "data:,") == "data:,"


def test_at_most_5000_points_are_in_the_file():
    model, _, X, groups = case(n_samples=6000)
    points = embedded(model_report(model, X, groups), "charts")["projection"]["datasets"]["points"]
    assert len(points) == 5000


def test_hostile_names_are_text_and_never_markup():
    model, _, X, groups = case(HOSTILE)
    names = [f"{name}!" for name in HOSTILE[:3]]
    hostile = model_report(model, X, groups, feature_names=names, title=HOSTILE[0], remarks=HOSTILE)
    elements = Elements(hostile.html)
    assert sum(tag == "script" for tag, _ in elements.tags) == 4
    assert not [tag for tag, _ in elements.tags if tag in ("img", "b!")]
    assert HOSTILE[0] in elements.text
    assert HOSTILE[3] in elements.text
    assert "z" * 200 not in elements.text.replace("z" * 10_000, "", 1)  # once, among the remarks, as it was given
    assert {short(name) for name in HOSTILE} == {
        row["group"] for row in embedded(hostile, "charts")["composition"]["datasets"]["composition"]
    }


def test_embedded_json_cannot_end_its_script():
    value = {"name": "</script><!--&\u2028"}
    assert "<" not in as_json(value)
    assert json.loads(as_json(value)) == value
    assert as_json([float("nan"), np.float64(1.5), np.int64(2)]) == "[null,1.5,2]"


def test_short_names_stay_different():
    assert len(set(short_names(["a" * 500, "a" * 501, "a" * 502]))) == 3


def test_small_counts_are_hidden_on_request():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(0, 1, (60, 2)), rng.normal(8, 1, (40, 2))])
    groups = np.where(np.arange(100) % 20 == 0, "B", "A")
    model = FairKMeans(2, goal=None, random_state=0).fit(X, sensitive_features=groups)
    hidden = model_report(model, X, groups, suppress_below=5)
    charts = embedded(hidden, "charts")
    assert "<5" in Elements(hidden.html).text
    assert "projection" not in charts
    assert charts["composition"]["datasets"]["composition"] == []
    assert "projection" in embedded(model_report(model, X, groups), "charts")


def test_raw_rows_are_shown_only_when_asked_for(fitted):
    model, _, X, groups = fitted
    values = (np.zeros(3), np.full(3, 1000.0))
    without = model_report(model, X, groups, units=values)
    asked = model_report(model, X, groups, units=values, example_rows=2)
    assert "holds no raw rows" in without.html
    assert "Rows nearest to the clusters" in asked.html
    assert "Rows nearest" not in Elements(without.html).text


def test_report_without_features_leaves_them_out(fitted):
    model, _, _, groups = fitted
    page = model_report(model, None, groups)
    drawn = {"composition", "cost", "moved", "before-after-0"}
    drawn |= {"convergence"} if len(model.energy_history_) > 1 else set()
    assert set(embedded(page, "charts")) == drawn


def test_existing_file_is_not_replaced_unasked(page, tmp_path):
    path = tmp_path / "report.html"
    page.save(path)
    with pytest.raises(InvalidInputError, match="exists already"):
        page.save(path)
    page.save(path, overwrite=True)
    assert path.read_text(encoding="utf-8") == page.html
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_wrong_shapes_are_told(fitted):
    model, _, X, groups = fitted
    with pytest.raises(InvalidInputError, match="needs sensitive_features"):
        model_report(model, X)
    with pytest.raises(InvalidInputError, match="feature_names has 1 names, but X has 3 columns"):
        model_report(model, X, groups, feature_names=["a"])
    with pytest.raises(InvalidInputError, match="sensitive_features has 400 rows"):
        model_report(model, X[:10], groups)


def test_explorer_leaves_out_repeated_labellings_and_what_must_be_hidden():
    _, _, X, groups = case()
    path = fairness_path(FairKMeans(4, random_state=0), X, sensitive_features=groups)
    data = embedded(path_report(path, X, groups), "data")
    assert len(data["points"]) == 1 + sum(
        not np.array_equal(path.labels[i], path.labels[i - 1]) for i in range(1, len(path))
    )
    limit = float((path.proportions * path.sizes[:, :, None]).min(axis=(1, 2))[0]) + 1
    hidden = embedded(path_report(path, X, groups, suppress_below=limit), "data")
    assert 0 < len(hidden["points"]) < len(data["points"])
    assert "labels" not in hidden
    assert "cloud" not in hidden


def test_explorer_with_nothing_left_to_show_says_so():
    _, _, X, groups = case()
    path = fairness_path(FairKMeans(4, random_state=0), X, sensitive_features=groups, goals=[None, Penalty(10)])
    with pytest.raises(InvalidInputError, match="hides every point of the path"):
        path_report(path, X, groups, suppress_below=1000)


def test_explorer_is_small_and_keeps_labels_out_where_they_are_too_many(monkeypatch):
    _, _, X, groups = case()
    path = fairness_path(FairKMeans(4, random_state=0), X, sensitive_features=groups, goals=[None, 0.1, 0.01])
    monkeypatch.setattr("fairclust.report._explorer._MOST_LABELS", 10)
    page = path_report(path, X, groups)
    assert "labels" not in embedded(page, "data")
    assert "too many rows to keep the labels" in page.html


def test_report_tells_how_sure_each_cluster_is(fitted):
    model, _, X, groups = fitted
    found = stability(model, X, sensitive_features=groups, n_runs=2)
    page = Elements(model_report(model, X, groups, stability=found).html).text
    assert "How sure it is" in page
    for k in range(model.n_clusters):
        assert f"{100 * found.kept_pairs[k]:.0f} %" in page
        assert f"{100 * found.border_shares[k]:.1f} %" in page
