"""Graphs: what is built from points, edges and NetworkX, and what is refused."""

from __future__ import annotations

import builtins
import sys

import numpy as np
import pytest
from scipy import sparse

from fairclust import graphs, metrics
from fairclust.errors import InvalidInputError, MissingExtraError
from fairclust.graphs import affinity_from_edges, affinity_from_networkx, check_affinity, nearest_neighbors_graph


def test_three_points_on_a_line_link_to_their_nearest():
    W = nearest_neighbors_graph(np.array([[0.0], [1.0], [3.0]]), 1)
    assert W.toarray().tolist() == [[0, 1, 0], [1, 0, 0.5], [0, 0.5, 0]]


@pytest.mark.parametrize("n_neighbors", [1, 5, 20])
def test_every_point_has_its_neighbours_and_no_self_loop(n_neighbors):
    X = np.random.default_rng(0).normal(size=(200, 3))
    X[100:150] = X[:50]  # duplicates: a point's first neighbour is then not itself
    W = nearest_neighbors_graph(X, n_neighbors)
    assert not W.diagonal().any()
    assert abs(W - W.T).max() == 0
    assert W.sum() == 200 * n_neighbors
    assert set(np.unique(W.data)) <= {0.5, 1.0}


def test_neighbours_are_the_nearest_by_brute_force():
    X = np.random.default_rng(1).normal(size=(60, 2))
    distance = np.linalg.norm(X[:, None] - X, axis=2)
    np.fill_diagonal(distance, np.inf)
    A = np.zeros((60, 60))
    np.put_along_axis(A, np.argsort(distance, axis=1)[:, :4], 1.0, axis=1)
    assert np.array_equal(nearest_neighbors_graph(X, 4).toarray(), (A + A.T) / 2)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_neighbours_do_not_depend_on_the_size_of_numbers(scale):
    X = np.random.default_rng(0).normal(size=(60, 3))
    assert (nearest_neighbors_graph(X * scale, 4) != nearest_neighbors_graph(X, 4)).nnz == 0


def test_few_points_are_all_neighbours():
    assert nearest_neighbors_graph(np.eye(4), 20).nnz == 12


def test_one_point_is_refused():
    with pytest.raises(InvalidInputError, match="at least 2"):
        nearest_neighbors_graph(np.zeros((1, 2)), 3)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_faiss_finds_nearly_the_same_neighbours_and_no_self_loop(monkeypatch, n_threads):
    pytest.importorskip("faiss")
    X = np.random.default_rng(0).normal(size=(3000, 4)).astype(np.float32)
    X[1000:1100] = X[0]  # more duplicates than neighbours
    exact = nearest_neighbors_graph(X, 10)
    monkeypatch.setattr(graphs, "EXACT_UP_TO", 100)
    found = nearest_neighbors_graph(X, 10, random_state=3, n_threads=n_threads)
    again = nearest_neighbors_graph(X, 10, random_state=3, n_threads=n_threads)
    assert not found.diagonal().any()
    assert found.sum() == 3000 * 10
    assert (found != again).nnz == 0
    apart = np.r_[1:1000, 1100:3000]
    common = (exact.multiply(found) > 0)[apart].nnz / exact[apart].nnz
    assert common > 0.9


def test_missing_faiss_names_the_extra(monkeypatch):
    real = builtins.__import__

    def no_faiss(name, *args, **kwargs):
        if name == "faiss":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, "faiss", raising=False)
    monkeypatch.setattr(builtins, "__import__", no_faiss)
    monkeypatch.setattr(graphs, "EXACT_UP_TO", 10)
    with pytest.raises(MissingExtraError, match=r"fairclust\[graph\]"):
        nearest_neighbors_graph(np.zeros((20, 2)), 3)


def test_edges_add_up_and_loops_count_once():
    W = affinity_from_edges([(0, 1), (1, 0), (2, 2)], weights=[1.0, 2.0, 5.0], n_nodes=4)
    assert W.toarray().tolist() == [[0, 3, 0, 0], [3, 0, 0, 0], [0, 0, 5, 0], [0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("edges", "options", "message"),
    [
        ([(0, 1, 2)], {}, "two node numbers"),
        ([(0.5, 1.0)], {}, "whole numbers"),
        ([(0, 7)], {"n_nodes": 3}, "node 7"),
        ([(0, 1)], {"weights": [1, 2]}, "one number per edge"),
        ([(0, 1)], {"weights": [-1.0]}, "negative"),
    ],
)
def test_wrong_edges_are_refused(edges, options, message):
    with pytest.raises(InvalidInputError, match=message):
        affinity_from_edges(edges, **options)


class FakeNetworkX:
    """As much of a NetworkX graph as the helper asks for."""

    nodes = ("a", "b", "c")

    def __init__(self, directed=False):
        self._directed = directed

    def is_directed(self):
        return self._directed

    def edges(self, data, default):
        return [("a", "b", 2.0), ("c", "b", default)]


def test_networkx_rows_follow_its_nodes():
    W, nodes = affinity_from_networkx(FakeNetworkX())
    assert nodes == ["a", "b", "c"]
    assert W.toarray().tolist() == [[0, 2, 0], [2, 0, 1], [0, 1, 0]]


def test_real_networkx_graph_is_read():
    networkx = pytest.importorskip("networkx")
    graph = networkx.karate_club_graph()
    W, nodes = affinity_from_networkx(graph)
    assert np.array_equal(W.toarray(), networkx.to_numpy_array(graph, nodelist=nodes))


def test_directed_networkx_graph_is_refused():
    with pytest.raises(InvalidInputError, match="directed"):
        affinity_from_networkx(FakeNetworkX(directed=True))


@pytest.mark.parametrize(
    ("W", "message"),
    [
        ([[0, 1, 0], [1, 0, 1]], "one row and one column per node"),
        ([[0, 1], [2, 0]], "not symmetric"),
        ([[0, -1], [-1, 0]], "negative"),
        ([[0, np.nan], [np.nan, 0]], "NaN"),
        ([[0, 0], [0, 0]], "no links"),
    ],
)
@pytest.mark.parametrize("kind", [np.array, sparse.csr_array, sparse.coo_array])
def test_wrong_affinities_are_refused(W, message, kind):
    with pytest.raises(InvalidInputError, match=message):
        check_affinity(kind(np.array(W, dtype=float)))


def test_stored_zeros_and_duplicates_do_not_matter():
    row, column = [0, 1, 0, 1, 0], [1, 0, 1, 0, 0]
    W = check_affinity(sparse.coo_array(([1.0, 1.0, 2.0, 2.0, 0.0], (row, column)), shape=(2, 2)))
    assert W.nnz == 2
    assert W.toarray().tolist() == [[0, 3], [3, 0]]


def test_degrees_count_self_loops_and_empty_rows():
    graph = graphs.to_graph(check_affinity(np.array([[2.0, 1, 0], [1, 0, 0], [0, 0, 0]])))
    assert graph.degree.tolist() == [3, 1, 0]
    assert graph.induced(np.array([0, 2])).degree.tolist() == [2, 0]


@pytest.mark.parametrize("gap", [1e-9, 5e-7, 3e-6, 1e-3])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_estimators_and_metrics_agree_on_what_is_symmetric(gap, form):
    W = form(np.array([[0.0, 1.0, 0.5], [1.0 + gap, 0.0, 0.0], [0.5, 0.0, 0.0]]))
    if gap <= graphs.SYMMETRY_TOLERANCE:
        ours = check_affinity(W)
        assert (ours != ours.T).nnz == 0
        assert metrics.ncut_objective(W, [0, 0, 1]) == pytest.approx(metrics.ncut_objective(ours, [0, 0, 1]), abs=gap)
        return
    for check in (check_affinity, lambda W: metrics.ncut_objective(W, [0, 0, 1])):
        with pytest.raises(InvalidInputError, match="not symmetric"):
            check(W)


def test_a_float32_kernel_matrix_is_symmetric_enough():
    X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    W = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    W[0, 1] = np.nextafter(W[0, 1], np.float32(2.0))  # the last bit, as BLAS rounds
    assert check_affinity(W).dtype == np.float32
