"""Nothing that Python can pass to a kernel makes it leave an array: it raises, and names the argument."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from cases import KERNELS
from fairclust import FairNCut, metrics
from fairclust._core import is_compiled, kernels
from fairclust.baselines import FairSpectral
from fairclust.errors import InvalidInputError
from fuzz.kernel_calls import Call, plan_arguments, unaligned, valid_calls
from fuzz.kernels import case as spoiled_call
from fuzz.runner import run

compiled = pytest.mark.skipif(not is_compiled, reason="no compiled kernels")
INDICES = {
    "order": [-1, 10**6, 2**31 - 1],
    "labels": [-1, 1000, -(2**31)],
    "codes": [-1, 1000],
    "indices": [-1, 10**6],
    "parent": [-1, 10**6],
    "start": [-64, 1, 2**62],
    "size": [0, -1, 65],
    "chunk": [-1, 10**6],
    "chunk_cell": [-1],
    "indptr": [-1, 10**6, 2**62],
    "steps": [0, -1, -(2**63), 2**63 - 1],
    "before": [-1, 2**63 - 1],
    "first": [-1, 10**6],
    "begin": [-1, 10**6],
    "columns": [-1, 10**6],
}
WRITTEN = {("assign", "labels"), ("assign_rows", "labels"), ("match_nodes", "parent"), ("match_nodes", "labels"),
           ("visiting_order", "order")}  # fmt: skip

OPEN = {("Plan", "order"), ("coded_sums", "first")}  # a plan may be for more rows, a feature may have more codes


def _calls() -> list[Call]:
    return valid_calls(kernels) if is_compiled else []


def _with_wrong_contents(call):
    """The call with an index out of range, each in turn, and the argument that has it."""
    for name, values in INDICES.items():
        if getattr(call.arguments.get(name), "ndim", 0) != 1 or (call.name, name) in WRITTEN:
            continue
        for value in values:
            for place in (0, -1):
                if (call.name, name) not in OPEN or value < 0:
                    spoiled = call.arguments[name].copy()
                    spoiled[place] = value
                    yield name, call.with_argument(name, spoiled)


each_call = pytest.mark.parametrize("number", range(len(_calls())), ids=[call.name for call in _calls()])


@pytest.mark.parametrize("each", KERNELS)
def test_every_kernel_accepts_its_valid_call(each):
    for call in valid_calls(each, 3):
        call.run(each)


@compiled
def test_every_kernel_is_called_here():
    offered = {name for name in dir(kernels) if not name.startswith("_") and callable(getattr(kernels, name))}
    assert {call.name for call in _calls()} == offered


@compiled
@each_call
def test_an_array_that_is_not_aligned_is_refused_by_name_or_copied(number):
    call = _calls()[number]
    for name, array in call.arguments.items():
        if isinstance(array, np.ndarray) and array.dtype.itemsize > 1 and array.size:
            spoiled = call.with_argument(name, unaligned(array))
            if call.name == "Plan" or (name == "first" and call.name.startswith("coded")):  # short, and kept
                spoiled.run(kernels)
                continue
            with pytest.raises(ValueError, match=f"{name} must be aligned"):
                spoiled.run(kernels)


@compiled
def test_cells_that_there_is_no_room_to_count_are_refused():
    codes, order = np.zeros(50, dtype=np.int32), np.zeros(50, dtype=np.int32)
    for n_cells, stretch, name in [(2**31 - 1, 50, "n_cells"), (2**24 + 1, 50, "n_cells"), (2**24, 1, "stretch")]:
        with pytest.raises(ValueError, match=name):
            kernels.visiting_order(codes, n_cells, stretch, order)


@compiled
def test_empty_arrays_with_an_endless_axis_are_refused():
    with pytest.raises(MemoryError):
        kernels.response(np.zeros((0, 1, 1)), np.zeros((1, 0, 2**32)))


@compiled
@each_call
def test_an_index_out_of_range_is_refused_by_name(number):
    for name, spoiled in _with_wrong_contents(_calls()[number]):
        # What a border is the border of may also be the array that no longer fits.
        with pytest.raises(ValueError, match=rf"^({name}|start|size|chunk|tables|sums|codes) "):
            spoiled.run(kernels)


@compiled
@pytest.mark.parametrize("name", ["coded_costs", "coded_sums"])
def test_a_code_that_its_feature_does_not_have_is_refused(name):
    call = next(call for call in valid_calls(kernels) if call.name == name)
    codes = call.arguments["codes"].copy()
    codes[:, 1] = 4
    with pytest.raises(ValueError, match="codes holds 4 in column 1, which has 4 codes"):
        call.with_argument("codes", codes).run(kernels)


@compiled
@each_call
def test_arrays_that_are_too_short_are_refused(number):
    call = _calls()[number]
    unread = {"membership"} if call.arguments.get("node_masses") is not None else set()
    unread |= {"kinds"} if call.name == "cheapest_moves" else set()  # of no kind there are no moves
    for name, value in call.arguments.items():
        if isinstance(value, np.ndarray) and value.size and name not in unread:
            with pytest.raises((ValueError, TypeError)):
                call.with_argument(name, np.ascontiguousarray(value[:0])).run(kernels)


@compiled
def test_a_plan_for_more_rows_than_there_are_is_refused():
    rng = np.random.default_rng(0)
    placed = plan_arguments(200, 2, rng)
    placed["order"][7] = 10**6
    labels = np.zeros(200, dtype=np.int32)
    with pytest.raises(ValueError, match="X has fewer rows than the plan visits"):
        kernels.label_sums(kernels.Plan(**placed), rng.normal(size=(200, 3)), labels, None, 1, 1)


@compiled
def test_the_visiting_order_cannot_be_changed_behind_the_plan():
    rng = np.random.default_rng(0)
    placed = plan_arguments(200, 2, rng)
    plan = kernels.Plan(**placed)
    X = rng.normal(size=(200, 3))
    arguments = {"plan": plan, "X": X, "labels": np.zeros(200, dtype=np.int32), "weights": None}
    before = kernels.label_sums(**arguments, n_clusters=1, n_threads=1)
    placed["order"][:] = 2**31 - 1
    placed["size"][:] = 64
    assert (kernels.label_sums(**arguments, n_clusters=1, n_threads=1) == before).all()


@compiled
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", [1, 2])
def test_medoids_of_rows_with_nan_come_back(metric, dtype):
    for seed in range(20):
        call = next(call for call in valid_calls(kernels, seed, dtype) if call.name == "medoids")
        X = call.arguments["X"]
        X[np.random.default_rng(seed).random(X.shape) < 0.3] = np.nan
        position = call.with_argument("metric", metric).with_argument("exact", True).run(kernels)[0]
        assert ((position >= 0) & (position < len(X))).all()


@compiled
@pytest.mark.parametrize(("chunk", "n_threads"), [(0, 1), (7, 2), (63, 4), (0, 4)])
def test_what_a_thread_throws_reaches_python_and_the_pool_goes_on(chunk, n_threads):
    for _ in range(20):
        with pytest.raises(ValueError, match=f"chunk {chunk} failed"):
            kernels._fail_in_chunk(chunk, 64, n_threads)
        kernels._fail_in_chunk(-1, 64, n_threads)


@compiled
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_spoiled_calls_kill_nothing():
    tally = run(spoiled_call, minutes=2, seed=12345, per_process=60, seconds_per_process=60, most=60)
    assert tally.n_cases == 60
    assert not tally.failures


# --- graphs -----------------------------------------------------------------------------------------------------------


def _ring(n_nodes=40):
    at = np.arange(n_nodes)
    W = sparse.coo_array((np.ones(n_nodes), (at, (at + 1) % n_nodes)), shape=(n_nodes, n_nodes)).tocsr()
    return (W + W.T).tocsr()


def _broken(kind):
    W = _ring()
    if kind == "column":
        W.indices[5] = 10**6
    elif kind == "negative column":
        W.indices[5] = -1
    elif kind == "row end":
        W.indptr[3] = 10**6
    elif kind == "falling row end":
        W.indptr[10] = 0
    elif kind == "few values":
        W.data = W.data[:3]
    elif kind == "csc":
        W = W.tocsc()
        W.indices[5] = 10**6
    elif kind == "coo":
        W = W.tocoo()
        W.coords[0][3] = 10**6
    elif kind == "dia":
        W = sparse.dia_array((np.ones((1, 40)), [0]), shape=(40, 40))
        W.offsets = np.array([0, 1, 2])
    elif kind == "lil":
        W = W.tolil()
        W.rows[3] = [10**6, 2]
    return W


KINDS = ["column", "negative column", "row end", "falling row end", "few values", "csc", "coo", "dia", "lil"]
READERS = {
    "FairNCut": lambda W: FairNCut(2, affinity="precomputed").fit(W, sensitive_features=np.arange(40) % 2),
    "FairSpectral": lambda W: FairSpectral(2, affinity="precomputed").fit(W, sensitive_features=np.arange(40) % 2),
    "ncut_objective": lambda W: metrics.ncut_objective(W, np.arange(40) % 2),
    "kmeans_objective": lambda W: metrics.kmeans_objective(W, np.arange(40) % 2),
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_a_graph_whose_arrays_do_not_fit_is_refused(reader):
    for kind in KINDS:
        with pytest.raises(InvalidInputError, match="arrays do not fit together"):
            reader(_broken(kind))


def test_a_graph_that_lies_about_its_order_is_sorted():
    W = _ring()
    W.indices[0:2] = W.indices[0:2][::-1].copy()
    W.has_canonical_format = W.has_sorted_indices = True
    model = FairNCut(2, affinity="precomputed", random_state=0).fit(W, sensitive_features=np.arange(40) % 2)
    honest = FairNCut(2, affinity="precomputed", random_state=0).fit(_ring(), sensitive_features=np.arange(40) % 2)
    assert (model.labels_ == honest.labels_).all()
