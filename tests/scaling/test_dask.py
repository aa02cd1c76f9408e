"""Dask, with real processes and a real scheduler: the same answer, even when a worker dies; errors in one sentence."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from fairclust import FairclustError, FairKMeans, FairKMedian, Penalty
from fairclust.scaling import ArrayBlocks, _dask, as_blocks, open_blocks
from fairclust.scaling.work import hard_tables, soft_tables

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

# Dask's own shutdown is noisy, and not what is tested here.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:Sending large graph:UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

BLOCK = 2_500


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(3)
    blob = rng.integers(4, size=12_000)
    X = (rng.normal(size=(4, 3))[blob] * 3 + rng.normal(size=(12_000, 3))).astype(np.float32)
    groups = np.where(rng.random(12_000) < np.array([0.2, 0.4, 0.6, 0.8])[blob], "F", "M")
    return X, groups


def model(**options):
    return FairKMeans(**({"n_clusters": 4, "goal": Penalty(2000.0), "random_state": 0} | options))


@pytest.fixture(scope="module")
def expected(people):
    X, groups = people
    return model().fit(ArrayBlocks([(X[i : i + BLOCK], groups[i : i + BLOCK]) for i in range(0, len(X), BLOCK)]))


def as_dask(X, groups):
    return da.from_array(X, chunks=(BLOCK, -1)), da.from_array(groups, chunks=BLOCK)


def assert_same(found, expected):
    np.testing.assert_array_equal(found.labels_.compute(), expected.labels_)
    np.testing.assert_array_equal(found.cluster_centers_, expected.cluster_centers_)
    assert found.energy_ == expected.energy_


@pytest.fixture(scope="module")
def cluster():
    # A worker that was killed is looked for once more after a while, and closed for good if it is not there: then, it
    # may be away because the next test killed it again.
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
    ):
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        yield client


def test_dask_arrays_need_no_cluster(people, expected):
    X, groups = as_dask(*people)
    assert_same(model().fit(X, sensitive_features=groups), expected)


def test_two_processes_give_the_labels_of_one_bit_for_bit(people, expected, client):
    X, groups = as_dask(*people)
    found = model().fit(X, sensitive_features=groups)
    assert isinstance(found.labels_, da.Array)
    assert found.labels_.chunks == (X.chunks[0],)
    assert_same(found, expected)


def test_medoids_are_the_same_rows(people, client):
    X, groups = people
    options = {"n_clusters": 4, "goal": Penalty(1000.0), "random_state": 0}
    blocks = ArrayBlocks([(X[i : i + BLOCK], groups[i : i + BLOCK]) for i in range(0, len(X), BLOCK)])
    here = FairKMedian(**options).fit(blocks)
    there = FairKMedian(**options).fit(as_dask(*people)[0], sensitive_features=as_dask(*people)[1])
    assert_same(there, here)
    np.testing.assert_array_equal(there.medoid_indices_, here.medoid_indices_)


@pytest.mark.parametrize("has_room", [True, False])
def test_answers_do_not_depend_on_costs_that_are_kept(people, expected, has_room, monkeypatch):
    monkeypatch.setattr(_dask, "_has_room", lambda n_bytes: has_room)
    X, groups = as_dask(*people)
    assert_same(model().fit(X, sensitive_features=groups), expected)


def test_rows_and_weights_that_come_unaligned_are_aligned():
    X, weights = (np.zeros(8 * 12 + 1, dtype=np.uint8)[1:].view(np.float64) for _ in range(2))
    block = _dask._prepared(X.reshape(12, 1), None, weights)
    assert not X.flags.aligned
    assert not weights.flags.aligned
    assert block.X.flags.aligned
    assert block.weights.flags.aligned


def test_threads_of_one_process_give_the_same_labels(people, expected):
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster),
    ):
        X, groups = as_dask(*people)
        assert_same(model().fit(X, sensitive_features=groups), expected)


def test_groups_may_be_in_memory_and_columns_in_chunks(people, expected, client):
    X, groups = people
    assert_same(model().fit(da.from_array(X, chunks=(BLOCK, 2)), sensitive_features=groups), expected)


@pytest.fixture(scope="module")
def attributes(people):
    """Two attributes of everyone, and the fit of blocks in memory."""
    X, groups = people
    table = np.column_stack([groups, np.where(np.arange(len(X)) % 3 == 0, "old", "young")])
    blocks = ArrayBlocks([(X[i : i + BLOCK], table[i : i + BLOCK]) for i in range(0, len(X), BLOCK)])
    return table, model().fit(blocks)


@pytest.mark.parametrize("kind", ["array", "dict", "frame", "dask array", "dask array in column chunks", "dask dict"])
def test_several_attributes_come_in_every_form_that_memory_takes(people, attributes, kind):
    table, expected = attributes
    lazy = da.from_array(table, chunks=(BLOCK, -1))
    forms = {
        "array": table,
        "dict": {"sex": table[:, 0], "age": table[:, 1]},
        "frame": pd.DataFrame(table, columns=["sex", "age"]),
        "dask array": lazy,
        "dask array in column chunks": da.from_array(table, chunks=(1000, 1)),
        "dask dict": {"sex": lazy[:, 0], "age": table[:, 1]},
    }
    assert_same(model().fit(as_dask(*people)[0], sensitive_features=forms[kind]), expected)


def test_a_membership_matrix_may_be_in_memory(people):
    X, groups = people
    member = np.column_stack([groups == "F", np.arange(len(X)) % 2 == 0])
    blocks = ArrayBlocks([(X[i : i + BLOCK], member[i : i + BLOCK]) for i in range(0, len(X), BLOCK)])
    found = model().fit(as_dask(*people)[0], sensitive_features=member)
    assert_same(found, model().fit(blocks))
    assert found.group_names_.tolist() == ["group 0", "group 1"]


def test_columns_of_another_length_are_told_by_name(people):
    X, groups = as_dask(*people)
    with pytest.raises(ValueError, match=r"sensitive_features\['age'\] has 11999 rows but X has 12000"):
        model().fit(X, sensitive_features={"sex": groups, "age": people[1][:-1]})


def test_data_frames_are_read_by_partition(people, expected, client):
    X, groups = people
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(sex=groups, w=1.0)
    parts = dd.from_map(lambda first: frame.iloc[first : first + BLOCK], range(0, len(X), BLOCK), meta=frame.iloc[:0])
    named = model().fit(parts.drop(columns="w"), sensitive_features="sex")
    assert_same(named, expected)
    assert named.feature_names_in_.tolist() == ["a", "b", "c"]
    assert_same(model().fit(parts[["a", "b", "c"]], sensitive_features=parts["sex"]), expected)
    weighted = model().fit(parts, sensitive_features="sex", sample_weight="w")
    assert weighted.energy_ == pytest.approx(expected.energy_, rel=1e-6)


def test_an_empty_partition_is_no_matter(people, expected, client):
    X, groups = people
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(sex=groups)
    starts = [0, 0, *range(BLOCK, len(X), BLOCK)]
    sizes = [0, *[BLOCK] * (len(starts) - 1)]
    parts = dd.from_map(lambda first, size: frame.iloc[first : first + size], starts, sizes, meta=frame.iloc[:0])
    found = model().fit(parts, sensitive_features="sex")
    np.testing.assert_array_equal(found.labels_.compute(), expected.labels_)


def test_wrong_input_is_told_as_in_memory(people, client):
    X, groups = as_dask(*people)
    with pytest.raises(ValueError, match="sensitive_features has 11999 rows but X has 12000"):
        model().fit(X, sensitive_features=groups[:-1])
    bad = people[0].copy()
    bad[7000, 1] = np.inf
    with pytest.raises(ValueError, match="first in row 7000"):
        model().fit(da.from_array(bad, chunks=(BLOCK, -1)), sensitive_features=groups)


def on_pass(client, acts, monkeypatch):
    """Act when the tasks of so many passes are under way."""
    passes, gather = [], client.gather

    def gathering(futures, *args, **kwargs):
        passes.append(len(futures))
        acts.get(len(passes), lambda: None)()
        return gather(futures, *args, **kwargs)

    monkeypatch.setattr(client, "gather", gathering)
    return passes


@pytest.mark.parametrize("number", [1, 4])
def test_a_worker_killed_during_a_fit_changes_nothing(people, expected, client, monkeypatch, number):
    client.wait_for_workers(2, timeout=60)
    victims = sorted(info["pid"] for info in client.run(lambda: {"pid": os.getpid()}).values())
    passes = on_pass(client, {number: lambda: os.kill(victims[0], signal.SIGKILL)}, monkeypatch)
    X, groups = as_dask(*people)
    found = model().fit(X, sensitive_features=groups)
    assert len(passes) > number
    assert_same(found, expected)
    deadline = time.monotonic() + 90  # seconds, where the machine is busy
    while victims[0] in (now := client.run(os.getpid).values()) or len(now) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_workers_may_come_and_go_during_a_fit(people, expected, monkeypatch):
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        (first,) = client.scheduler_info()["workers"]

        def retire():
            client.wait_for_workers(3, timeout=60)
            client.retire_workers([first])

        passes = on_pass(client, {1: lambda: cluster.scale(3), 4: retire}, monkeypatch)
        X, groups = as_dask(*people)
        found = model().fit(X, sensitive_features=groups)
        assert len(passes) > 4
        assert first not in client.scheduler_info()["workers"]
        assert_same(found, expected)


def _broken(block, table, job):
    raise ZeroDivisionError("by the work itself")


def test_what_the_work_itself_raises_is_raised_here(people, client):
    data = open_blocks(as_blocks(as_dask(*people)[0]), None, None, 1)
    with pytest.raises(ZeroDivisionError, match="by the work itself"):
        data.runner.total(_broken, None, data.tables)


@pytest.mark.parametrize("is_persisted", [True, False])
def test_many_partitions_make_few_tasks_and_the_bits_of_blocks(people, client, monkeypatch, is_persisted):
    X, groups = people
    blocks = [(X[i : i + 150], groups[i : i + 150]) for i in range(0, len(X), 150)]
    lazy = da.from_array(X, chunks=(150, -1)), da.from_array(groups, chunks=150)
    lazy = tuple(one.persist() for one in lazy) if is_persisted else lazy
    passes = on_pass(client, {}, monkeypatch)
    found = model(max_iter=5).fit(lazy[0], sensitive_features=lazy[1])
    assert max(passes) == 2  # a task per worker and pass, for 80 partitions
    assert len({future.key for future in distributed.futures_of(found.labels_)}) == 2  # labels, too
    assert found.labels_.chunks == (lazy[0].chunks[0],)
    assert_same(found, model(max_iter=5).fit(ArrayBlocks(blocks)))


def test_batches_are_of_equal_size_not_too_large_and_of_what_a_worker_holds(client, monkeypatch):
    assert _dask._cut([1] * 5, 2) == [slice(0, 2), slice(2, 5)]
    assert _dask._cut([1, 1, 8, 1, 1], 3) == [slice(0, 2), slice(2, 3), slice(3, 5)]
    assert _dask._cut([0, 0, 0], 2) == [slice(0, 3)]
    client.wait_for_workers(2, timeout=60)
    workers = sorted(client.scheduler_info()["workers"])
    made = [dask.delayed(bytes, pure=False)(900) for _ in range(8)]
    prepared = [client.persist(one, workers=workers[i % 2]) for i, one in enumerate(made)]
    assert _dask._batches(client, prepared) == [[0, 2, 4, 6], [1, 3, 5, 7]]
    monkeypatch.setattr(_dask, "_BATCH_BYTES", 1000)
    assert sorted(_dask._batches(client, prepared)) == [[i] for i in range(8)]


def test_all_workers_killed_during_a_fit_change_nothing(people, expected, client, monkeypatch):
    client.wait_for_workers(2, timeout=60)
    victims = list(client.run(os.getpid).values())
    passes = on_pass(client, {4: lambda: [os.kill(pid, signal.SIGKILL) for pid in victims]}, monkeypatch)
    X, groups = as_dask(*people)
    found = model().fit(X, sensitive_features=groups)
    assert len(passes) > 4
    assert_same(found, expected)
    assert not set(victims) & set(client.run(os.getpid).values())


def _greedy(part):
    """More than a worker may have."""
    held = np.ones(int(1.5e8))
    time.sleep(5)
    return part + held[0]


@pytest.mark.slow
def test_a_worker_without_memory_is_one_sentence(people):
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, memory_limit="600MB", dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster),
    ):
        X, groups = as_dask(*people)
        with pytest.raises(FairclustError, match=r"most likely for lack of memory.* Make the partitions smaller"):
            model().fit(X.map_blocks(_greedy, dtype=X.dtype), sensitive_features=groups)


def _no_memory(part):
    raise MemoryError("no room")


def test_a_task_without_memory_is_one_sentence(people, client):
    X, groups = as_dask(*people)
    X = X.map_blocks(_no_memory, dtype=X.dtype, meta=np.zeros((0, 0), X.dtype))
    with pytest.raises(FairclustError, match=r"ran out of memory.* Make the partitions smaller"):
        model().fit(X, sensitive_features=groups)


@pytest.mark.slow
def test_a_lost_scheduler_is_one_sentence(people, monkeypatch, tmp_path):
    file = tmp_path / "scheduler.json"
    where = ["--scheduler-file", str(file)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    run = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", *where]
    scheduler = subprocess.Popen(run, **quiet)
    worker = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", "--no-dashboard", "--no-nanny", "--nthreads", "1", *where,
         "--death-timeout", "120"],
        **quiet,
    )  # fmt: skip
    try:
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "10s", "distributed.comm.retry.count": 0}),
            distributed.Client(scheduler_file=str(file), timeout=120) as client,
        ):
            client.wait_for_workers(1, timeout=120)
            on_pass(client, {4: scheduler.kill}, monkeypatch)
            X, groups = as_dask(*people)
            began = time.monotonic()
            with pytest.raises(FairclustError, match=r"the Dask cluster at .* was lost during the fit"):
                model().fit(X, sensitive_features=groups)
            assert time.monotonic() - began < 120  # seconds, where the machine has time
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()


def test_a_partition_answers_with_a_few_kilobytes(people, client, monkeypatch):
    sizes, run = [], _dask.DaskRunner.run

    def weighing(self, work, job, **options):
        for one in run(self, work, job, **options):
            if work in (soft_tables, hard_tables):
                sizes.append(len(pickle.dumps(one)))
            yield one

    monkeypatch.setattr(_dask.DaskRunner, "run", weighing)
    X, groups = as_dask(*people)
    model(max_iter=2).fit(X, sensitive_features=groups)
    assert len(sizes) >= 4 * 5  # passes and partitions at the least
    assert max(sizes) < 4096
