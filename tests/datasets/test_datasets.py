"""Facts about the data sets: what is drawn, what is read, and how files get onto the disk."""

from __future__ import annotations

import http.server
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from fairclust import datasets
from fairclust.datasets import _download, _others, _uci
from fairclust.errors import DataUnavailableError, InvalidInputError

PAYLOAD = bytes(range(256)) * 40
BUNCH_FIELDS = {"data", "sensitive_features", "target_proportions", "n_clusters", "feature_names", "DESCR"}


# ---------------------------------------------------------------------------------------------------- preprocessing


def test_two_points_become_minus_one_and_one() -> None:
    assert datasets.standardize_and_normalize([[0.0], [4.0]]).tolist() == [[-1.0], [1.0]]


def test_constant_features_become_zero() -> None:
    X = np.full((7, 2), 0.1)
    X[:, 0] = np.arange(7)
    assert np.array_equal(datasets.standardize_and_normalize(X)[:, 1], np.zeros(7))


def test_standardizing_by_blocks_equals_standardizing_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).normal(3.0, 2.0, (101, 4))
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
    monkeypatch.setattr("fairclust.datasets._preprocessing._BLOCK_ROWS", 10)
    np.testing.assert_allclose(datasets.standardize_and_normalize(X), expected, atol=1e-13)


_tables = st.sampled_from([np.float32, np.float64]).flatmap(
    lambda dtype: arrays(
        dtype, array_shapes(min_dims=2, max_dims=2, max_side=8), elements=st.floats(-1e6, 1e6, width=32)
    )
)


@settings(max_examples=60, deadline=None)
@given(_tables)
def test_rows_have_unit_or_zero_length_and_input_and_dtype_are_kept(X: np.ndarray) -> None:
    before = X.copy()
    result = datasets.standardize_and_normalize(X)
    length = np.linalg.norm(result.astype(np.float64), axis=1)
    assert np.all((np.abs(length - 1.0) < 1e-5) | (length == 0.0))
    assert result.dtype == X.dtype
    assert np.array_equal(X, before)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.floats(1e-150, 1e150), st.floats(-1e3, 1e3))
def test_scale_and_shift_of_a_feature_do_not_matter(seed: int, scale: float, shift: float) -> None:
    X = np.random.default_rng(seed).normal(size=(9, 3))
    moved = (X + shift) * scale
    expected = datasets.standardize_and_normalize(X)
    np.testing.assert_allclose(datasets.standardize_and_normalize(moved), expected, atol=1e-8)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0, 2.0], [np.nan, 0.0]], r"X has NaN or infinite values, first in row 1"),
        ([1.0, 2.0], r"X has shape \(2,\), expected \(n_samples, n_features\)"),
        (np.empty((0, 3)), r"X has shape \(0, 3\)"),
        ([["red"], ["blue"]], r"X must be a table of numbers"),
    ],
    ids=["nan", "1-D", "empty", "words"],
)
def test_tables_that_cannot_be_scaled_are_refused(X: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        datasets.standardize_and_normalize(X)


# -------------------------------------------------------------------------------------------------------- generators


@pytest.mark.parametrize(
    ("make", "sizes", "height", "spread"),
    [
        (datasets.make_synthetic, [100, 100, 100, 100], 5.0, 0.1),
        (datasets.make_synthetic_unequal, [150, 150, 50, 50], 3.5, 0.13),
    ],
)
@pytest.mark.parametrize("seed", [1, 7])
def test_synthetic_sets_are_the_blobs_of_the_paper(make, sizes, height, spread, seed) -> None:
    centers = [(1, 1), (2.1, 1), (1, height), (2.1, height)]
    expected, blob = make_blobs(
        n_samples=sizes, centers=np.array(centers), cluster_std=spread, shuffle=False, random_state=seed
    )
    bunch = make(random_state=seed)
    assert np.array_equal(bunch.data, expected)
    assert np.array_equal(bunch.sensitive_features, np.where(blob < 2, "A", "B"))
    assert bunch.n_clusters == 2


@pytest.mark.parametrize(
    "bunch",
    [datasets.make_synthetic(), datasets.make_synthetic_unequal(), datasets.make_census_like(500)],
    ids=["synthetic", "synthetic-unequal", "census-like"],
)
def test_every_generated_set_is_complete(bunch) -> None:
    assert_complete(bunch)


def assert_complete(bunch) -> None:
    assert set(bunch) == BUNCH_FIELDS
    assert bunch.data.shape == (len(bunch.sensitive_features), len(bunch.feature_names))
    assert list(bunch.target_proportions) == sorted(set(bunch.sensitive_features.tolist()))
    assert sum(bunch.target_proportions.values()) == pytest.approx(1.0)


def test_census_like_is_the_same_for_the_same_seed_and_differs_for_another() -> None:
    first, again, other = (datasets.make_census_like(300, random_state=seed) for seed in (3, 3, 4))
    assert np.array_equal(first.data, again.data)
    assert np.array_equal(first.sensitive_features, again.sensitive_features)
    assert not np.array_equal(first.data, other.data)


def test_a_short_census_like_draw_is_the_beginning_of_a_long_one() -> None:
    short, long = datasets.make_census_like(1000), datasets.make_census_like(20_000)
    assert np.array_equal(short.data, long.data[:1000])
    assert np.array_equal(short.sensitive_features, long.sensitive_features[:1000])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_census_like_rows_are_unit_vectors_of_the_asked_type(dtype) -> None:
    data = datasets.make_census_like(2000, dtype=dtype).data
    assert data.dtype == dtype
    assert data.flags.c_contiguous
    np.testing.assert_allclose(np.linalg.norm(data, axis=1), 1.0, rtol=1e-5)


def test_census_like_shares_are_those_of_the_census() -> None:
    shares = datasets.make_census_like(60_000).target_proportions
    assert shares == pytest.approx({"female": 0.515, "male": 0.485}, abs=0.01)


@pytest.mark.parametrize(("skew", "low", "high"), [(0.0, 0.0, 0.05), (0.4, 0.5, 2.0), (1.0, 2.5, 12.0)])
def test_plain_clusters_of_census_like_are_unfair_as_asked(skew: float, low: float, high: float) -> None:
    bunch = datasets.make_census_like(20_000, group_skew=skew)
    labels = KMeans(20, n_init=1, max_iter=30, random_state=0).fit_predict(bunch.data)
    assert low <= summed_kl(labels, bunch) <= high


def summed_kl(labels: np.ndarray, bunch) -> float:
    target = np.array(list(bunch.target_proportions.values()))
    members = [bunch.sensitive_features[labels == label] for label in np.unique(labels)]
    shares = np.array([[np.mean(group == name) for name in bunch.target_proportions] for group in members])
    return float(np.sum(target * np.log(target / np.clip(shares, 1e-20, None))))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 0}, "n_samples=0, expected at least 1"),
        ({"n_samples": 5, "dtype": np.int32}, "expected float32 or float64"),
        ({"n_samples": 5, "n_blobs": 0}, "n_blobs=0, expected at least 1"),
        ({"n_samples": 5, "group_skew": -1.0}, "group_skew=-1.0, expected a finite number"),
    ],
)
def test_census_like_refuses_impossible_requests(arguments, message) -> None:
    with pytest.raises(InvalidInputError, match=message):
        datasets.make_census_like(**arguments)


# -------------------------------------------------------------------------------------------------------- the folder


def test_data_home_comes_before_the_environment_and_that_before_the_cache(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("FAIRCLUST_DATA", str(tmp_path / "env"))
    assert _download.data_folder(tmp_path / "home") == tmp_path / "home"
    assert _download.data_folder() == tmp_path / "env"
    monkeypatch.delenv("FAIRCLUST_DATA")
    assert _download.data_folder() == tmp_path / "cache" / "fairclust"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert _download.data_folder() == Path.home() / ".cache" / "fairclust"


# --------------------------------------------------------------------------------------------------------- downloads


@dataclass
class Site:
    """A small web server and its faults."""

    payload: bytes = PAYLOAD
    honours_range: bool = True
    cut_after: list[int] = field(default_factory=list)  # bytes sent before each of the first answers breaks off
    status: int = 200
    ranges: list[str | None] = field(default_factory=list)  # the Range header of each request
    url: str = ""


@pytest.fixture
def site(monkeypatch) -> Iterator[Site]:
    state = Site()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self, state)

        def log_message(self, *_: object) -> None:
            pass

    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(_download, "_PAUSES", (0.0, 0.0))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.01))
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}/table.bin"
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


def answer(request: http.server.BaseHTTPRequestHandler, site: Site) -> None:
    asked = request.headers.get("Range")
    site.ranges.append(asked)
    start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and site.honours_range else 0
    if site.status != 200 or start >= len(site.payload):
        request.send_error(site.status if site.status != 200 else 416)
        return
    body = site.payload[start:]
    request.send_response(206 if start else 200)
    if start:
        request.send_header("Content-Range", f"bytes {start}-{len(site.payload) - 1}/{len(site.payload)}")
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body[: site.cut_after.pop(0)] if site.cut_after else body)


def remote_file(site: Site) -> _download.DataFile:
    return _download.DataFile("toy", "table.bin", site.url, sha256(PAYLOAD).hexdigest())


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_an_absent_file_is_downloaded_once_and_then_read_from_disk(site: Site, tmp_path: Path) -> None:
    path = _download.locate(remote_file(site), tmp_path)
    assert path.read_bytes() == PAYLOAD
    assert _download.locate(remote_file(site), tmp_path) == path
    assert site.ranges == [None]
    assert names_in(tmp_path) == ["table.bin"]


def test_a_cut_connection_is_resumed_where_it_broke(site: Site, tmp_path: Path) -> None:
    site.cut_after = [4000, 1000]
    assert _download.locate(remote_file(site), tmp_path).read_bytes() == PAYLOAD
    assert site.ranges == [None, "bytes=4000-", "bytes=5000-"]


def test_a_server_that_ignores_ranges_makes_the_download_start_again(site: Site, tmp_path: Path) -> None:
    site.honours_range = False
    leave_part(tmp_path, PAYLOAD[:777])
    assert _download.locate(remote_file(site), tmp_path).read_bytes() == PAYLOAD
    assert names_in(tmp_path) == ["table.bin"]


def test_a_part_longer_than_the_file_is_thrown_away(site: Site, tmp_path: Path) -> None:
    leave_part(tmp_path, PAYLOAD + b"more")
    assert _download.locate(remote_file(site), tmp_path).read_bytes() == PAYLOAD
    assert site.ranges == [f"bytes={len(PAYLOAD) + 4}-", None]


def leave_part(folder: Path, content: bytes) -> None:
    (folder / "toy").mkdir()
    (folder / "toy" / "table.bin.part").write_bytes(content)


def test_a_download_that_keeps_breaking_leaves_only_the_part(site: Site, tmp_path: Path) -> None:
    site.cut_after = [100, 100, 100]
    with pytest.raises(DataUnavailableError, match=r"closed after 300 of 10240 bytes.*or set FAIRCLUST_DATA"):
        _download.locate(remote_file(site), tmp_path)
    assert names_in(tmp_path) == ["table.bin.part"]
    assert _download.locate(remote_file(site), tmp_path).read_bytes() == PAYLOAD


def test_other_bytes_than_expected_are_not_kept(site: Site, tmp_path: Path) -> None:
    site.payload = PAYLOAD[::-1]
    found, expected = sha256(site.payload).hexdigest(), sha256(PAYLOAD).hexdigest()
    with pytest.raises(DataUnavailableError, match=f"SHA-256 {found}, expected {expected}.*sent other bytes"):
        _download.locate(remote_file(site), tmp_path)
    assert names_in(tmp_path) == []


def test_a_missing_page_is_not_asked_for_twice(site: Site, tmp_path: Path) -> None:
    site.status = 404
    with pytest.raises(DataUnavailableError, match=r"Could not download http://127.*HTTP 404 Not Found.*Put the file"):
        _download.locate(remote_file(site), tmp_path)
    assert len(site.ranges) == 1


def test_a_busy_server_is_asked_three_times(site: Site, tmp_path: Path) -> None:
    site.status = 503
    with pytest.raises(DataUnavailableError, match="HTTP 503"):
        _download.locate(remote_file(site), tmp_path)
    assert len(site.ranges) == 3


def test_without_a_network_the_message_names_address_path_and_variable(site: Site, tmp_path: Path) -> None:
    file = replace(remote_file(site), url="http://127.0.0.1:9/table.bin")
    with pytest.raises(DataUnavailableError, match=r"http://127\.0\.0\.1:9/table\.bin.*toy/table\.bin.*FAIRCLUST_DATA"):
        _download.locate(file, tmp_path)


def test_download_false_never_asks_the_server(site: Site, tmp_path: Path) -> None:
    with pytest.raises(DataUnavailableError, match=r"is absent and download=False.*toy/table\.bin"):
        _download.locate(remote_file(site), tmp_path, download=False)
    assert site.ranges == []


def test_a_file_on_disk_with_the_wrong_hash_is_refused(site: Site, tmp_path: Path) -> None:
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "table.bin").write_bytes(b"spoilt")
    with pytest.raises(
        DataUnavailableError, match=r"table\.bin has SHA-256 [0-9a-f]{64}, expected .*Delete .*try again"
    ):
        _download.locate(remote_file(site), tmp_path)


def test_progress_goes_to_stderr_when_asked_for(site: Site, tmp_path: Path, capsys) -> None:
    _download.locate(remote_file(site), tmp_path, verbose=True)
    captured = capsys.readouterr()
    assert "table.bin: 0.0 of 0.0 MB (100%)" in captured.err
    assert captured.out == ""


@pytest.mark.parametrize("content", [b"the table", b"another table"])
def test_a_repacked_zip_counts_if_the_table_inside_is_the_same(tmp_path: Path, content: bytes) -> None:
    file = _download.DataFile("toy", "t.zip", None, "0" * 64, "t.csv", sha256(b"the table").hexdigest())
    (tmp_path / "toy").mkdir()
    with zipfile.ZipFile(tmp_path / "toy" / "t.zip", "w") as archive:
        archive.writestr("t.csv", content)
    if content == b"the table":
        assert _download.locate(file, tmp_path) == tmp_path / "toy" / "t.zip"
    else:
        with pytest.raises(DataUnavailableError, match="expected 0000"):
            _download.locate(file, tmp_path)


# ---------------------------------------------------------------------------------------------------------- loaders


@pytest.mark.parametrize(
    ("fetch", "name"),
    [
        (datasets.fetch_adult, r"adult/adult\.data"),
        (datasets.fetch_bank, r"bank/bank-additional\.zip"),
        (datasets.fetch_census1990, r"census1990/USCensus1990raw\.data\.txt"),
    ],
)
def test_loaders_name_the_absent_file(fetch, name: str, tmp_path: Path) -> None:
    with pytest.raises(DataUnavailableError, match=name):
        fetch(data_home=tmp_path, download=False)


@pytest.mark.parametrize(
    ("fetch", "name"),
    [
        (datasets.fetch_credit, r"credit_default/creditcard\.csv"),
        (datasets.fetch_acs, r"acs/ACSIncome\.test\.parquet"),
        (datasets.fetch_lastfm, r"lastfm_asia/lastfm_asia_edges\.csv"),
    ],
)
def test_files_without_an_address_are_asked_for_by_name(fetch, name: str, tmp_path: Path) -> None:
    with pytest.raises(DataUnavailableError, match=f"{name} is absent and has no stable public address"):
        fetch(data_home=tmp_path)


def test_the_census_sample_is_said_to_have_no_address(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailableError, match=r"hUSCensus1990raw50K\.csv\.bz2 .*no stable public address"):
        datasets.fetch_census1990(data_home=tmp_path, subset="sample")


@pytest.mark.parametrize(
    ("fetch", "arguments", "message"),
    [
        (datasets.fetch_adult, {"subset": "half"}, "subset='half', expected one of 'train', 'test', 'all'"),
        (datasets.fetch_adult, {"sensitive": "age"}, "sensitive='age', expected one of 'race', 'sex'"),
        (datasets.fetch_census1990, {"subset": "all"}, "subset='all', expected one of None, 'sample', 'full'"),
    ],
)
def test_loaders_refuse_unknown_choices(fetch, arguments, message) -> None:
    with pytest.raises(InvalidInputError, match=message):
        fetch(**arguments)


def write_raw_census(folder: Path, ages: list[int]) -> Path:
    """A raw file as UCI has it: 125 tab-separated fields, no header, RECTYPE a letter; SEX alternates 0, 1."""
    lines = []
    for row, age in enumerate(ages):
        fields = ["0"] * 125
        fields[12], fields[97], fields[112] = str(age), "P", str(row % 2)
        lines.append("\t".join(fields))
    path = folder / "census1990" / "USCensus1990raw.data.txt"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n\n", encoding="ascii")
    return path


def test_the_full_census_is_read_by_blocks_and_preferred(monkeypatch, tmp_path: Path) -> None:
    write_raw_census(tmp_path, [30, 40, 50, 60, 70])
    (tmp_path / "census1990" / "hUSCensus1990raw50K.csv.bz2").write_bytes(b"would fail its hash")
    monkeypatch.setitem(_uci._CENSUS_ROWS, "full", 5)
    monkeypatch.setattr(_uci, "_BLOCK_ROWS", 2)
    bunch = datasets.fetch_census1990(data_home=tmp_path, preprocess=False)
    assert_complete(bunch)
    assert bunch.data.dtype == np.float32
    assert bunch.data[:, bunch.feature_names.index("AGE")].tolist() == [30, 40, 50, 60, 70]
    assert bunch.sensitive_features.tolist() == ["male", "female", "male", "female", "male"]


@pytest.mark.parametrize(("ages", "message"), [([1, 2], "has 2 rows, expected 3"), ([1] * 4, "has 4 rows, expected 3")])
def test_a_full_census_of_another_length_is_refused(monkeypatch, tmp_path: Path, ages, message) -> None:
    write_raw_census(tmp_path, ages)
    monkeypatch.setitem(_uci._CENSUS_ROWS, "full", 3)
    with pytest.raises(DataUnavailableError, match=message):
        datasets.fetch_census1990(data_home=tmp_path)


def test_a_file_that_is_no_census_is_refused(tmp_path: Path) -> None:
    write_raw_census(tmp_path, [1]).write_text("<html>moved</html>\n", encoding="ascii")
    with pytest.raises(DataUnavailableError, match="is not the census table"):
        datasets.fetch_census1990(data_home=tmp_path)


def test_the_census_code_for_sex_must_be_zero_or_one(monkeypatch, tmp_path: Path) -> None:
    path = write_raw_census(tmp_path, [1])
    path.write_text(path.read_text().replace("\t0\t0\t0\t0", "\t7\t7\t7\t7"), encoding="ascii")
    monkeypatch.setitem(_uci._CENSUS_ROWS, "full", 1)
    with pytest.raises(DataUnavailableError, match=r"SEX .*expected 0 .*1"):
        datasets.fetch_census1990(data_home=tmp_path)


def need(file: _download.DataFile) -> None:
    """Skip where a real table is absent; downloading is not the business of a test."""
    path = _download.path_of(file)
    if not path.is_file():
        pytest.skip(f"needs the real file {path} (set FAIRCLUST_DATA to the folder that holds {file.folder}/)")


def test_adult_has_the_counts_of_the_paper() -> None:
    need(_uci.ADULT["train"])
    bunch = datasets.fetch_adult(download=False)
    assert_complete(bunch)
    assert bunch.data.shape == (32_561, 5)
    assert np.sum(bunch.sensitive_features == "Female") == 10_771
    assert bunch.n_clusters == 10
    np.testing.assert_allclose(np.linalg.norm(bunch.data, axis=1), 1.0)


def test_adult_subsets_add_up_and_raw_values_are_those_of_the_file() -> None:
    need(_uci.ADULT["train"])
    need(_uci.ADULT["test"])
    everyone = datasets.fetch_adult(subset="all", sensitive="race", preprocess=False, download=False)
    test = datasets.fetch_adult(subset="test", sensitive="race", preprocess=False, download=False)
    assert len(everyone.data) == 32_561 + 16_281
    assert np.array_equal(everyone.data[32_561:], test.data)
    assert everyone.data[0].tolist() == [39, 77516, 13, 2174, 40]
    assert list(everyone.target_proportions) == ["Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"]


def test_adult_has_one_more_column_of_numbers_than_the_paper_takes() -> None:
    need(_uci.ADULT["train"])
    bunch = datasets.fetch_adult(features="numeric", preprocess=False, download=False)
    assert bunch.feature_names[-1] == "capital-loss"
    assert bunch.data[:, -1].max() == 4356
    with pytest.raises(InvalidInputError, match="features='all', expected one of 'paper', 'numeric'"):
        datasets.fetch_adult(features="all", download=False)


def test_credit_leaves_out_the_group_and_the_outcome() -> None:
    need(_others.CREDIT)
    bunch = datasets.fetch_credit(preprocess=False)
    assert_complete(bunch)
    assert bunch.data.shape == (30_000, 22)
    assert not {"SEX", "ID", "default payment next month"} & set(bunch.feature_names)
    assert bunch.data[0, :4].tolist() == [20000, 2, 1, 24]
    assert sorted(bunch.target_proportions) == ["1", "2"]
    assert "SEX" in datasets.fetch_credit(sensitive="marriage").feature_names
    with pytest.raises(InvalidInputError, match="sensitive='age', expected one of 'sex', 'education', 'marriage'"):
        datasets.fetch_credit(sensitive="age")


@pytest.mark.slow
def test_acs_has_three_attributes() -> None:
    need(_others.ACS[0])
    need(_others.ACS[1])
    pytest.importorskip("pyarrow")
    bunch = datasets.fetch_acs(preprocess=False)
    assert bunch.data.shape == (665_800, 3)
    assert {name: len(shares) for name, shares in bunch.target_proportions.items()} == {"SEX": 2, "RAC1P": 9, "MAR": 5}
    assert all(len(column) == 665_800 for column in bunch.sensitive_features.values())


def test_lastfm_is_an_undirected_graph() -> None:
    need(_others.LASTFM["edges"])
    need(_others.LASTFM["target"])
    bunch = datasets.fetch_lastfm()
    assert bunch.data.shape == (7_624, 7_624)
    assert bunch.data.nnz == 2 * 27_806
    assert (bunch.data != bunch.data.T).nnz == 0
    assert len(bunch.target_proportions) == 18


def test_bank_has_the_counts_of_the_paper() -> None:
    need(_uci.BANK)
    bunch = datasets.fetch_bank(download=False, preprocess=False)
    assert_complete(bunch)
    names, counts = np.unique(bunch.sensitive_features, return_counts=True)
    assert dict(zip(names.tolist(), counts.tolist(), strict=True)) == {
        "divorced": 4_612,
        "married": 24_928,
        "single": 11_568,
    }
    assert bunch.data[0].tolist() == [56, 261, 4.857, 5191, 93.994, 1]


def test_only_women_of_the_census_sample_have_borne_children() -> None:
    need(_uci.CENSUS["sample"])
    bunch = datasets.fetch_census1990(subset="sample", preprocess=False, download=False)
    assert_complete(bunch)
    assert bunch.data.shape == (50_000, 25)
    fertility = bunch.data[:, bunch.feature_names.index("FERTIL")]
    assert set(bunch.sensitive_features[fertility > 0]) == {"female"}
    assert bunch.target_proportions == pytest.approx({"female": 0.51658, "male": 0.48342})


def test_census_files_on_disk_are_told(tmp_path):
    assert datasets.census1990_on_disk(tmp_path) == ()
    for name, known in (("hUSCensus1990raw50K.csv.bz2", ("sample",)), ("USCensus1990raw.data.txt", ("sample", "full"))):
        (tmp_path / "census1990").mkdir(exist_ok=True)
        (tmp_path / "census1990" / name).touch()
        assert datasets.census1990_on_disk(tmp_path) == known
