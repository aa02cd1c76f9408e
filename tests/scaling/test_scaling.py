"""Data beyond memory: the same fit from memory maps, Parquet files and blocks; what can go wrong with files."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
import textwrap
from decimal import Decimal

import numpy as np
import pytest

from cases import KERNELS
from fairclust import FairclustError, FairKMeans, FairKMedian, Groups, Penalty
from fairclust.datasets import make_census_like
from fairclust.scaling import ArrayBlocks, DaskParquet, MemmapBlocks, ParquetBlocks, as_blocks, memory
from fairclust.scaling.blocks import PANEL
from fairclust.solvers import BoundOptimization, Dual
from internals import every_nth_of_each, make_layout, plan_of

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

BLOCK = 9_000  # rows: neither a divisor of the data's, nor of a panel


@pytest.fixture(scope="module")
def people():
    """70,000 rows, so that a sample is fitted first; three groups, each small enough for exact curvature in memory."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(6, 5)) * 2
    blob = rng.integers(6, size=70_000)
    X = (centers[blob] + rng.normal(size=(70_000, 5))).astype(np.float32)
    lean = rng.dirichlet(np.ones(3) * 2, size=6)
    groups = np.array(["ant", "bee", "cat"])[(rng.random(70_000)[:, None] > lean[blob].cumsum(axis=1)).sum(axis=1)]
    return X, groups


def model(**options):
    return FairKMeans(**({"n_clusters": 6, "goal": Penalty(5000.0), "random_state": 0} | options))


def cut(X, *columns, rows=BLOCK):
    return [tuple(part[i : i + rows] for part in (X, *columns)) for i in range(0, len(X), rows)]


def write_parquet(path, X, groups, rows=BLOCK, **more):
    table = pa.table({f"x{m}": X[:, m] for m in range(X.shape[1])} | {"kind": groups} | more)
    pq.write_table(table, path, row_group_size=rows)
    return path


@pytest.fixture(scope="module")
def fitted(people, tmp_path_factory):
    """The same data in every way they can be given, with the same blocks."""
    X, groups = people
    place = tmp_path_factory.mktemp("scaling")
    np.save(place / "x.npy", X)
    many = place / "many"
    many.mkdir()
    for i, (part, own) in enumerate(cut(X, groups, rows=3 * BLOCK)):
        write_parquet(many / f"part-{i}.parquet", part, own)
    sources = {
        "blocks": (ArrayBlocks(cut(X, groups)), None),
        "function": (ArrayBlocks(lambda: iter(cut(X, groups))), None),
        "memmap": (MemmapBlocks(place / "x.npy", block_rows=BLOCK), groups),
        "parquet": (ParquetBlocks(write_parquet(place / "x.parquet", X, groups)), "kind"),
        "dataset": (ParquetBlocks(many), "kind"),
    }
    return {name: model().fit(source, sensitive_features=given) for name, (source, given) in sources.items()}


@pytest.mark.parametrize("name", ["function", "memmap", "parquet", "dataset"])
def test_the_same_blocks_give_the_same_fit_bit_for_bit(fitted, name):
    one, other = fitted["blocks"], fitted[name]
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)
    np.testing.assert_array_equal(one.prices_, other.prices_)
    assert one.energy_ == other.energy_


def test_the_number_of_threads_changes_nothing(people, fitted):
    alone = model(n_jobs=1).fit(ArrayBlocks(cut(*people)))
    np.testing.assert_array_equal(alone.labels_, fitted["blocks"].labels_)
    assert alone.energy_ == fitted["blocks"].energy_


@pytest.mark.parametrize("rows", [1_000, PANEL, 70_000])
def test_other_blocks_have_the_same_energy(people, fitted, rows):
    other = model().fit(ArrayBlocks(cut(*people, rows=rows)))
    assert other.energy_ == pytest.approx(fitted["blocks"].energy_, rel=1e-6)


def test_a_fit_in_memory_has_the_same_energy(people, fitted):
    X, groups = people
    in_memory = model().fit(X, sensitive_features=groups)
    assert fitted["blocks"].energy_ == pytest.approx(in_memory.energy_, rel=1e-6)
    assert np.mean(in_memory.labels_ != fitted["blocks"].labels_) < 1e-3


@pytest.mark.parametrize(
    "options", [{}, {"goal": None}, {"n_init": 2}, {"goal": 0.005}],
    ids=["weight", "plain", "starts", "goal"],
)  # fmt: skip
def test_many_rows_have_the_same_energy_as_in_memory(options):
    """Enough rows that curvature and starts are taken from samples, and no single rows are moved in memory."""
    data = make_census_like(110_000, random_state=0)
    X, groups = data.data, data.sensitive_features
    options = {"n_clusters": 8, "goal": Penalty(20_000.0)} | options
    in_memory = model(**options).fit(X, sensitive_features=groups)
    streamed = model(**options).fit(ArrayBlocks(cut(X, groups, rows=30_000)))
    # In memory a row that makes room for another may move on; block by block it moves once.
    is_goal = options["goal"] == 0.005
    assert streamed.energy_ == pytest.approx(in_memory.energy_, rel=1e-5 if is_goal else 1e-6)
    assert np.mean(in_memory.labels_ != streamed.labels_) < 1e-3


def test_figures_of_a_streamed_fit_are_those_of_its_labels(people, fitted):
    X, groups = people
    found = fitted["parquet"]
    means = np.array([X[found.labels_ == k].astype(float).mean(axis=0) for k in range(6)])
    assert found.objective_ == pytest.approx(((X - means[found.labels_]) ** 2).sum(dtype=float), rel=1e-6)
    shares = np.array([[np.mean(groups[found.labels_ == k] == name) for name in found.group_names_] for k in range(6)])
    np.testing.assert_allclose(found.proportions_, shares)
    assert (np.diff(found.energy_history_) < 0).all()
    np.testing.assert_array_equal(fitted["memmap"].predict(X, sensitive_features=groups), found.labels_)
    assert found.feature_names_in_.tolist() == [f"x{m}" for m in range(5)]


def test_a_goal_is_met_from_blocks(people):
    X, groups = people
    found = FairKMeans(6, goal=0.005, random_state=0).fit(ArrayBlocks(cut(X, groups)))
    alike = FairKMeans(6, goal=0.005, solver=Dual(local_search=False), random_state=0)  # rows are in memory for that
    in_memory = alike.fit(X, sensitive_features=groups)
    assert found.goal_met_
    assert found.max_fairness_error_ <= 0.005
    assert found.objective_ == pytest.approx(in_memory.objective_, rel=1e-6)


def test_exact_shares_are_reached_from_blocks(people):
    X, groups = (part[:6000] for part in people)
    found = FairKMeans(6, goal=0, random_state=0).fit(ArrayBlocks(cut(X, groups, rows=1700)))
    alike = FairKMeans(6, goal=0, solver=Dual(local_search=False), random_state=0)
    assert found.goal_met_
    assert found.objective_ == pytest.approx(alike.fit(X, sensitive_features=groups).objective_, rel=1e-5)


def test_plain_clustering_from_blocks_is_that_in_memory(people):
    X, _ = people
    found = model(goal=None).fit(ArrayBlocks(cut(X)))
    assert found.objective_ == pytest.approx(model(goal=None).fit(X).objective_, rel=1e-6)


@pytest.mark.parametrize(
    "options", [{"solver": "bound", "max_iter": 3}, {"solver": BoundOptimization(soft=True), "max_iter": 5}]
)
def test_every_solver_and_soft_assignments_work_from_blocks(people, options):
    X, groups = (part[:3000] for part in people)
    streamed = model(goal=Penalty(300.0), **options).fit(ArrayBlocks(cut(X, groups, rows=700)))
    in_memory = model(goal=Penalty(300.0), **options).fit(X, sensitive_features=groups)
    assert streamed.energy_ == pytest.approx(in_memory.energy_, rel=1e-6)


@pytest.mark.parametrize("n_rows", [6_000, 70_000])
def test_medians_from_blocks_are_those_in_memory(people, n_rows):
    X, groups = (part[:n_rows] for part in people)
    options = {"center": "geometric", "goal": Penalty(n_rows / 40), "random_state": 0}
    in_memory = FairKMedian(4, **options).fit(X, sensitive_features=groups)
    streamed = FairKMedian(4, **options).fit(ArrayBlocks(cut(X, groups, rows=1700)))
    assert streamed.energy_ == pytest.approx(in_memory.energy_, rel=1e-6)
    assert (np.diff(streamed.energy_history_) < 0).all()
    distances = np.linalg.norm(X - streamed.cluster_centers_[streamed.labels_], axis=1)
    assert streamed.objective_ == pytest.approx(distances.sum(dtype=float), rel=1e-4)


@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weights"])
def test_medoids_from_blocks_are_rows_near_the_best(people, weighted):
    X, groups = (part[:6000] for part in people)
    weights = np.random.default_rng(3).integers(0, 3, len(X)).astype(float) if weighted else None
    options = {"goal": Penalty(150.0), "random_state": 0}
    in_memory = FairKMedian(4, **options).fit(X, sensitive_features=groups, sample_weight=weights)
    blocks = cut(X, groups, rows=1700) if weights is None else cut(X, groups, weights, rows=1700)
    streamed = FairKMedian(4, **options).fit(ArrayBlocks(blocks))
    np.testing.assert_array_equal(X[streamed.medoid_indices_], streamed.cluster_centers_)
    if weights is not None:
        assert (weights[streamed.medoid_indices_] > 0).all()
    assert streamed.energy_ <= in_memory.energy_ * 1.002
    assert (np.diff(streamed.energy_history_) < 0).all()
    w = np.ones(len(X)) if weights is None else weights
    distances = np.linalg.norm(X - streamed.cluster_centers_[streamed.labels_], axis=1)
    assert streamed.objective_ == pytest.approx(w @ distances, rel=1e-6)
    # The promised bound holds for the exact medoids of the same labels.
    promise = float(re.search(r"at most ([\d.e+-]+) %", streamed.medoid_search_).group(1)) / 100
    best = 0.0
    for k in range(4):
        own = streamed.labels_ == k
        between = np.linalg.norm(X[own][:, None].astype(float) - X[own][None], axis=2)
        best += (w[own] @ between)[w[own] > 0].min()
    assert best <= streamed.objective_ * (1 + 1e-9)
    assert streamed.objective_ <= best * (1 + promise) * (1 + 1e-6)
    assert streamed.objective_ == pytest.approx(best, rel=2e-3)


def test_weights_count_as_repeated_rows(people):
    X, groups = (part[:4000] for part in people)
    times = np.random.default_rng(1).integers(0, 3, len(X))
    weighted = model(goal=Penalty(300.0), init=X[:6]).fit(ArrayBlocks(cut(X, groups, times.astype(float), rows=900)))
    twice = np.repeat(np.arange(len(X)), times)
    repeated = model(goal=Penalty(300.0), init=X[:6]).fit(ArrayBlocks(cut(X[twice], groups[twice], rows=900)))
    assert weighted.energy_ == pytest.approx(repeated.energy_, rel=1e-6)


def test_an_empty_cluster_gets_a_far_row(people):
    X, groups = (part[:2000] for part in people)
    start = np.concatenate((X[:5], np.full((1, 5), 1e4, dtype=np.float32)))
    found = model(goal=Penalty(10.0), init=start).fit(ArrayBlocks(cut(X, groups, rows=300)))
    assert (np.bincount(found.labels_, minlength=6) > 0).all()


@pytest.mark.parametrize("step", [1, 3, 16])
def test_a_sample_of_the_parts_is_the_sample_of_the_whole(step):
    codes = np.random.default_rng(step).integers(4, size=1000)
    whole = every_nth_of_each(codes, np.full(4, step))
    taken, before = [], np.zeros(4, dtype=int)
    for first in range(0, 1000, 170):
        part = codes[first : first + 170]
        taken.append(every_nth_of_each(part, np.full(4, step), before) + first)
        before += np.bincount(part, minlength=4)
    np.testing.assert_array_equal(np.concatenate(taken), whole)
    counts = np.bincount(codes[whole], minlength=4)
    np.testing.assert_array_equal(counts, -(-np.bincount(codes, minlength=4) // step))


# --- labels on disk ---------------------------------------------------------------------------------------------------


def test_labels_go_to_a_memory_map_or_a_parquet_file(people, tmp_path):
    X, groups = (part[:5000] for part in people)
    options = {"goal": Penalty(300.0)}
    expected = model(**options).fit(ArrayBlocks(cut(X, groups, rows=800))).labels_
    mapped = model(**options).fit(ArrayBlocks(cut(X, groups, rows=800), labels_to=tmp_path / "l.npy")).labels_
    assert isinstance(mapped, np.memmap)
    np.testing.assert_array_equal(mapped, expected)
    place = model(**options).fit(ArrayBlocks(cut(X, groups, rows=800), labels_to=tmp_path / "l.parquet")).labels_
    np.testing.assert_array_equal(pq.read_table(place)["cluster"].to_numpy(), expected)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["l.npy", "l.parquet"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a limit on the size of files")
@pytest.mark.parametrize("name", ["l.npy", "l.parquet"])
def test_a_full_disk_leaves_no_labels_and_one_sentence(name, tmp_path):
    """A process that may write no file beyond 4 kB: to it, the disk is full."""
    script = f"""
        import resource, signal
        import numpy as np
        from fairclust import FairclustError, FairKMeans
        from fairclust.scaling import ArrayBlocks
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        X = np.random.default_rng(0).normal(size=(20000, 2))
        blocks = ArrayBlocks([X[:9000], X[9000:]], labels_to={str(tmp_path / name)!r})
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        try:
            FairKMeans(3, random_state=0).fit(blocks)
        except FairclustError as error:
            print(error)
    """
    told = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120, check=True
    ).stdout
    assert "could not be written" in told
    assert os.strerror(errno.EFBIG) in told
    assert list(tmp_path.iterdir()) == []


# --- what can be wrong ------------------------------------------------------------------------------------------------


@pytest.fixture
def small(people):
    return tuple(part[:4000] for part in people)


def test_a_damaged_parquet_file_is_named_and_leaves_no_labels(small, tmp_path):
    file = write_parquet(tmp_path / "x.parquet", *small, rows=1000)
    raw = bytearray(file.read_bytes())
    raw[len(raw) // 3 : len(raw) // 3 + 4000] = os.urandom(4000)
    file.write_bytes(raw)
    with pytest.raises(FairclustError, match=r"x\.parquet is damaged or is not a Parquet file|NaN or infinite"):
        model().fit(ParquetBlocks(file, labels_to=tmp_path / "l.npy"), sensitive_features="kind")
    assert not (tmp_path / "l.npy").exists()


def test_a_truncated_parquet_file_is_named(small, tmp_path):
    file = write_parquet(tmp_path / "x.parquet", *small)
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(FairclustError, match=r"x\.parquet is damaged or is not a Parquet file"):
        model().fit(ParquetBlocks(file), sensitive_features="kind")


def test_an_unknown_column_is_named(small, tmp_path):
    file = write_parquet(tmp_path / "x.parquet", *small)
    with pytest.raises(ValueError, match=r"column 'knid' .* is not in x\.parquet"):
        model().fit(ParquetBlocks(file), sensitive_features="knid")
    with pytest.raises(ValueError, match=r"columns of words|holds string, not numbers"):
        FairKMedian(3).fit(ParquetBlocks(file, columns=["x0", "kind"]), sensitive_features="kind")


def test_numbers_of_every_kind_are_read(tmp_path):
    n = 50
    numbers = {
        "flag": pa.array([i % 2 == 0 for i in range(n)]),
        "count": pa.array(range(n), pa.int64()),
        "small": pa.array(range(n), pa.uint8()),
        "half": pa.array(np.arange(n, dtype=np.float16)),
        "money": pa.array([Decimal(i) / 4 for i in range(n)], pa.decimal128(10, 2)),
    }
    pq.write_table(pa.table(numbers), tmp_path / "x.parquet")
    (block,) = ParquetBlocks(tmp_path / "x.parquet").open(None, None)
    (panel,) = block.panels()
    i = np.arange(n)
    np.testing.assert_array_equal(panel.X, np.column_stack([i % 2 == 0, i, i, i, i / 4]))


def test_columns_keep_the_order_that_was_asked_for(small, tmp_path):
    file = write_parquet(tmp_path / "x.parquet", *small)
    found = model().fit(ParquetBlocks(file, columns=["x3", "x0"]), sensitive_features="kind")
    assert found.feature_names_in_.tolist() == ["x3", "x0"]
    means = [small[0][found.labels_ == k][:, [3, 0]].mean(axis=0) for k in range(6)]
    np.testing.assert_allclose(found.cluster_centers_, means, atol=0.1)


def test_missing_values_are_named_by_row_or_column(small, tmp_path):
    X, groups = small
    X = X.copy()
    X[2345, 1] = np.nan
    with pytest.raises(ValueError, match="first in row 2345"):
        model().fit(ArrayBlocks(cut(X, groups, rows=1000)))
    file = write_parquet(tmp_path / "x.parquet", *small, age=pa.array([None] + [1.0] * 3999))
    with pytest.raises(ValueError, match=r"column 'age' of x\.parquet has 1 missing values"):
        model().fit(ParquetBlocks(file), sensitive_features="kind")


def test_columns_of_the_wrong_length_are_refused(small):
    X, groups = small
    with pytest.raises(ValueError, match="sensitive_features ends at row 3999, but X goes on to row 4000"):
        model().fit(MemmapBlocks(X), sensitive_features=groups[:-1])
    with pytest.raises(ValueError, match="sensitive_features has 4001 rows but X has 4000"):
        model().fit(MemmapBlocks(X), sensitive_features=[*groups, "ant"])


def test_what_needs_all_rows_in_memory_says_so(small):
    X, groups = small
    with pytest.raises(ValueError, match=r"FairKMedian\(metric='manhattan'.* needs X in memory.*euclidean distances"):
        FairKMedian(3, metric="manhattan").fit(MemmapBlocks(X), sensitive_features=groups)
    with pytest.raises(ValueError, match="can be gone through only once"):
        ArrayBlocks(iter([X]))
    with pytest.raises(ValueError, match=r"labels_to='labels\.txt', but a name that ends in"):
        MemmapBlocks(X, labels_to="labels.txt")


def test_missing_extras_are_named(small, tmp_path, monkeypatch):
    file = write_parquet(tmp_path / "x.parquet", *small)
    for name in ("pyarrow", "pyarrow.parquet", "pyarrow.types"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install 'fairclust\[parquet\]'"):
        model().fit(ParquetBlocks(file), sensitive_features="kind")
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(ImportError, match=r"pip install 'fairclust\[dask\]'"):
        model().fit(DaskParquet(tmp_path), sensitive_features="kind")


@pytest.mark.parametrize("asked", [{}, {"goal": 0.01}, {"goal": None}, {"n_init": 3}], ids=str)
def test_an_array_whose_point_costs_do_not_fit_is_streamed_by_itself(people, monkeypatch, asked):
    X, groups = people
    here = model(**asked, solver=Dual(local_search=False)).fit(
        X, sensitive_features=groups
    )  # single rows are moved in memory only
    monkeypatch.setattr(memory, "free_memory", lambda: 4.0 * len(X) * 6)  # the costs alone, without labels
    found = model(**asked).fit(X, sensitive_features=groups)
    by_hand = model(**asked).fit(MemmapBlocks(X), sensitive_features=groups)
    np.testing.assert_array_equal(found.labels_, by_hand.labels_)
    assert found.energy_ == by_hand.energy_ == pytest.approx(here.energy_, rel=1e-6)
    assert found.predict(X[:9], sensitive_features=groups[:9]).tolist() == found.labels_[:9].tolist()


def test_what_needs_rows_in_memory_keeps_an_array_there(small, monkeypatch):
    X, groups = small
    monkeypatch.setattr(memory, "free_memory", lambda: 1000.0)
    soft = FairKMedian(3, goal=Penalty(10.0), metric="manhattan", random_state=0).fit(X, sensitive_features=groups)
    assert np.isfinite(soft.energy_)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on addresses")
def test_an_array_is_fitted_below_a_limit_that_its_point_costs_exceed():
    code = """
        import resource, warnings
        import numpy as np
        from fairclust import FairKMeans
        rng = np.random.default_rng(0)
        X = rng.normal(size=(400_000, 3)).astype(np.float32)
        groups = rng.integers(2, size=len(X))
        fit = FairKMeans(300, goal=None, max_iter=2, init=X[:300], n_jobs=1)
        fit.fit(X[:2000], sensitive_features=groups[:2000])
        mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        room = 420_000_000  # threads reserve addresses too
        assert 4 * len(X) * 300 > room
        resource.setrlimit(resource.RLIMIT_AS, (mapped + room, mapped + room))
        print(len(np.unique(fit.fit(X, sensitive_features=groups).labels_)))
    """
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(code)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert found.returncode == 0, found.stderr
    assert int(found.stdout) == 300


def test_a_memory_map_that_does_not_fit_is_streamed_by_itself(small, tmp_path, monkeypatch):
    X, groups = small
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert as_blocks(mapped, 6) is None
    monkeypatch.setattr(memory, "free_memory", lambda: 100_000.0)
    assert isinstance(as_blocks(mapped, 6), MemmapBlocks)
    found = model(goal=Penalty(300.0)).fit(mapped, sensitive_features=groups)
    expected = model(goal=Penalty(300.0)).fit(MemmapBlocks(X), sensitive_features=groups)
    np.testing.assert_array_equal(found.labels_, expected.labels_)


def test_several_attributes_and_missing_groups_are_those_of_a_fit_in_memory(small, tmp_path):
    X, groups = small
    rng = np.random.default_rng(5)
    size = rng.choice(np.array(["small", "large", None], dtype=object), len(X), p=[0.5, 0.45, 0.05])
    columns = {"kind": groups, "size": size}
    options = {"goal": Penalty(300.0), "groups": Groups(missing="own")}
    in_memory = model(**options).fit(X, sensitive_features=columns)
    file = write_parquet(tmp_path / "x.parquet", X, groups, rows=900, size=pa.array(size.tolist()))
    streamed = model(**options).fit(ParquetBlocks(file), sensitive_features=["kind", "size"])
    assert streamed.group_names_.tolist() == in_memory.group_names_.tolist()
    np.testing.assert_allclose(streamed.target_proportions_, in_memory.target_proportions_)
    assert streamed.energy_ == pytest.approx(in_memory.energy_, rel=1e-6)


@pytest.mark.parametrize("kernels", KERNELS)
def test_kernels_take_features_in_either_order(kernels, small):
    X, groups = small
    layout = make_layout(groups == "bee", 2)
    plan = plan_of(kernels, layout)
    labels = np.arange(len(X), dtype=np.int32) % 3
    found = []
    for stored in (X, np.asfortranarray(X)):
        excess = np.zeros((layout.n_tiles, 3, 64), dtype=np.float32)
        sums = kernels.distances(plan, 0, stored, X[:3].copy(), labels, None, excess, 1)
        found.append((excess, np.array(sums), kernels.label_sums(plan, stored, labels, None, 3, 1)))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_rows_that_are_not_aligned_give_the_labels_of_those_that_are():
    """As they come off the wire from some versions of Dask."""
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(400, 3)), rng.choice(["F", "M"], 400)
    shifted = np.frombuffer(b"." + X.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(X.shape)
    assert not shifted.flags.aligned
    wanted, found = (FairKMeans(3, random_state=0).fit(ArrayBlocks([(rows, groups)])) for rows in (X, shifted))
    assert (found.labels_ == wanted.labels_).all()


@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weights"])
def test_a_cluster_that_nobody_is_near_starts_again_where_it_helps_also_in_blocks(weighted):
    rng = np.random.default_rng(0)
    X = np.concatenate((rng.normal(size=(300, 2)), rng.normal(size=(300, 2)) + 8.0)).astype(np.float32)
    weights = np.ones(len(X))
    X[17] = [40.0, -40.0]
    init = np.array([[0.0, 0.0], [8.0, 8.0], [1e4, 1e4]])  # nobody is near the third
    if weighted:
        X[18], weights[18] = [90.0, 90.0], 0.0  # farther still, and counts for nothing
    groups = np.arange(len(X)) % 2
    parts = np.array_split(np.arange(len(X)), 3)
    blocks = ArrayBlocks([(X[rows], groups[rows], weights[rows]) for rows in parts])
    options = {"init": init, "goal": None, "solver": Dual(local_search=False), "random_state": 0}
    streamed = FairKMeans(3, **options).fit(blocks)
    memory = FairKMeans(3, **options).fit(X, sensitive_features=groups, sample_weight=weights)
    assert np.bincount(streamed.labels_, weights=weights, minlength=3).min() >= 1
    assert (streamed.labels_[17] == streamed.labels_).sum() == 1  # the far row has a cluster of its own
    assert streamed.objective_ == pytest.approx(memory.objective_, rel=1e-6)
