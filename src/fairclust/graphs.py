"""Graphs: k-nearest-neighbour graphs of points, helpers for edge lists and NetworkX, every check of an affinity matrix.

What odd graphs mean: a *self loop* is a link inside its node's cluster, wherever the node goes. An *isolated node*
costs the same in every cluster, so it goes where fairness wants it; a cluster of isolated nodes only adds 1 to Ncut, as
in :func:`fairclust.metrics.ncut_objective`. A *disconnected* graph needs no care: its parts may share a cluster.
Asymmetric, negative, infinite or missing affinities are errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from ._checks import check_sparse
from ._typing import FloatArray, IntArray
from .errors import InvalidInputError, MissingExtraError

__all__ = ["affinity_from_edges", "affinity_from_networkx", "check_affinity", "nearest_neighbors_graph"]

EXACT_UP_TO = 100_000
"""Points up to which neighbours are searched exactly by scikit-learn; above it faiss searches, nearly exactly."""

SYMMETRY_TOLERANCE = 1e-6
"""Difference of a matrix from its transpose, over its largest entry, that is rounding; ten times that of float32."""

_ROWS = 1 << 16  # points whose neighbours are searched at a time
_PROBES = 16  # of 4√n lists: recall 0.998 on 100,000 points in 25 dimensions
_TRAINING = 40  # points per list that faiss's own k-means looks at


@dataclass(frozen=True)
class Graph:
    """A symmetric affinity matrix in compressed rows, with its degrees. The diagonal counts in the degrees.

    Attributes
    ----------
    indptr : ndarray of shape (n_nodes + 1,), int64
    indices : ndarray of shape (n_links,), int32
    data : ndarray of shape (n_links,), float32 or float64
    degree : ndarray of shape (n_nodes,), float64
    """

    indptr: IntArray
    indices: IntArray
    data: FloatArray
    degree: FloatArray

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.degree)

    @property
    def arrays(self) -> tuple[IntArray, IntArray, FloatArray]:
        """What kernels read."""
        return self.indptr, self.indices, self.data

    @property
    def matrix(self) -> Any:
        """The same as a SciPy matrix that shares the data."""
        return sparse.csr_array((self.data, self.indices, self.indptr), shape=(self.n_nodes, self.n_nodes))

    def induced(self, nodes: IntArray) -> Graph:
        """Return the graph of some nodes and the links between them."""
        return to_graph(self.matrix[nodes][:, nodes].tocsr())


def to_graph(W: Any) -> Graph:
    """Build a :class:`Graph` from a checked sparse matrix."""
    if W.shape[0] > np.iinfo(np.int32).max:
        raise InvalidInputError(f"W has {W.shape[0]} rows, but at most {np.iinfo(np.int32).max} are supported.")
    return from_arrays(
        np.ascontiguousarray(W.indptr, dtype=np.int64), np.ascontiguousarray(W.indices, dtype=np.int32), W.data
    )


def from_arrays(indptr: IntArray, indices: IntArray, data: FloatArray) -> Graph:
    """Build a :class:`Graph` from compressed rows."""
    # Row sums in double precision, without a second copy of the data.
    degree = np.zeros(len(indptr) - 1)
    for first in range(0, len(degree), _ROWS):
        borders = indptr[first : first + _ROWS + 1]
        held = np.flatnonzero(np.diff(borders))
        if len(held):
            part = data[borders[0] : borders[-1]].astype(np.float64)
            degree[first + held] = np.add.reduceat(part, borders[held] - borders[0])
    return Graph(indptr, indices, data, degree)


def check_affinity(W: Any, argument: str = "X") -> Any:
    """Check a user's affinity matrix: square, finite, ≥ 0, symmetric.

    Parameters
    ----------
    W : array-like or sparse matrix of shape (n_nodes, n_nodes)
    argument : str
        How messages call it.

    Returns
    -------
    W : csr_array of shape (n_nodes, n_nodes), float32 or float64, without stored zeros
        Symmetric to the last bit: a difference that is rounding is halved away.

    Examples
    --------
    >>> import numpy as np
    >>> from fairclust.graphs import check_affinity
    >>> check_affinity(np.array([[0.0, 1.0], [1.0, 0.0]])).nnz
    2
    """
    W = sparse.csr_array(check_sparse(W, argument))
    if W.dtype not in (np.float32, np.float64):
        W = W.astype(np.float64)
    if W.shape[0] != W.shape[1]:
        raise InvalidInputError(
            f"{argument} has shape {W.shape}, but affinity='precomputed' needs one row and one column per node. "
            "Pass the affinity matrix, or affinity='nearest_neighbors' for points."
        )
    odd = np.flatnonzero(~np.isfinite(W.data))
    if len(odd):
        row = int(np.searchsorted(W.indptr, odd[0], side="right")) - 1
        raise InvalidInputError(
            f"{argument} has {len(odd)} NaN or infinite affinities, the first in row {row}, column "
            f"{int(W.indices[odd[0]])}. Give every link a finite number ≥ 0, and leave out what is unknown."
        )
    if W.nnz and W.data.min() < 0:
        raise InvalidInputError(
            f"{argument} has negative affinities (down to {W.data.min():.6g}). Ncut needs numbers ≥ 0: "
            "shift or clip them."
        )
    if not W.has_canonical_format or (W.data == 0).any():
        W = W.copy()
        W.sum_duplicates()
        W.eliminate_zeros()
    with np.errstate(over="ignore"):
        total = W.data.sum(dtype=np.float64)
    if not np.isfinite(total):
        raise InvalidInputError(
            f"{argument} has affinities up to {W.data.max():.3g}, whose sum overflows. Divide them by the largest: "
            "Ncut does not change."
        )
    if not W.nnz:
        raise InvalidInputError(f"{argument} has no links at all, so there is nothing to cut. Pass affinities above 0.")
    gap = abs(W - W.T)
    if gap.nnz and gap.max() > SYMMETRY_TOLERANCE * W.data.max():
        raise InvalidInputError(
            f"{argument} is not symmetric: it and its transpose differ by up to {gap.max():.6g}. "
            "Pass (W + W.T) / 2, where W is your matrix."
        )
    return sparse.csr_array((W + W.T) * W.dtype.type(0.5)) if gap.nnz else W


def nearest_neighbors_graph(
    X: FloatArray,
    n_neighbors: int = 20,
    *,
    random_state: int = 0,
    n_threads: int = 1,
    verbose: int = 0,
) -> Any:
    """Affinities between points: 1 for mutual neighbours, 1/2 where one is among the other's nearest only.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    n_neighbors : int, default=20
        Neighbours of each point, itself not counted (it is left out by its index, also where points repeat). At most
        n_samples − 1 are used. The paper's code asks for 20 and drops one as "self": 19 reproduces it.
    random_state : int, default=0
        Seed of faiss's training.
    n_threads : int, default=1
    verbose : int, default=0
        1: a line per 65,536 points.

    Returns
    -------
    W : csr_array of shape (n_samples, n_samples), float32
        (A + Aᵗ)/2, where A holds a 1 for each neighbour.

    Notes
    -----
    Exact up to 100,000 points. Above, faiss (the extra ``graph``) searches 16 of 4√n lists.

    Examples
    --------
    >>> import numpy as np
    >>> from fairclust.graphs import nearest_neighbors_graph
    >>> nearest_neighbors_graph(np.array([[0.0], [1.0], [3.0]]), 1).toarray()
    array([[0. , 1. , 0. ],
           [1. , 0. , 0.5],
           [0. , 0.5, 0. ]], dtype=float32)
    """
    n_samples = len(X)
    n_neighbors = min(n_neighbors, n_samples - 1)
    if n_neighbors < 1:
        raise InvalidInputError(f"X has {n_samples} row (n_samples={n_samples}), but a graph needs at least 2.")
    search = _exact_neighbors if n_samples <= EXACT_UP_TO else _faiss_neighbors
    return graph_of_neighbors(search(_at_hand(X), n_neighbors, random_state, n_threads, verbose))


def _at_hand(X: FloatArray) -> FloatArray:
    """The rows, by a power of two nearer to 1 where squares of their values are no numbers: neighbours stay."""
    size = float(np.abs(X).max())
    return X if size == 0 or 1e-15 <= size <= 1e15 else np.ldexp(X, -int(np.frexp(size)[1]))


def graph_of_neighbors(neighbors: IntArray) -> Any:
    """Affinities from the neighbours of each point, (n_samples, n_neighbors): (A + Aᵗ)/2, A a 1 for each."""
    n_samples, n_neighbors = neighbors.shape
    indptr = np.arange(0, neighbors.size + 1, n_neighbors, dtype=np.int64 if neighbors.size > 2**31 - 1 else np.int32)
    shape = (n_samples, n_samples)
    A = sparse.csr_array((np.full(neighbors.size, 0.5, dtype=np.float32), neighbors.ravel(), indptr), shape=shape)
    A.sort_indices()
    W = A + A.T.tocsr()
    W.sort_indices()
    return W


def affinity_from_edges(edges: Any, weights: Any = None, n_nodes: int | None = None) -> Any:
    """Affinity matrix of an undirected graph given as a list of edges.

    Parameters
    ----------
    edges : array-like of shape (n_edges, 2)
        Two node numbers per edge, from 0. Each edge is listed once, in either direction; edges that repeat add up, and
        an edge from a node to itself is a self loop.
    weights : array-like of shape (n_edges,) or None, default=None
        Affinities ≥ 0. None: 1 each.
    n_nodes : int or None, default=None
        Number of nodes. None: one more than the largest number; pass it where the last nodes have no edge.

    Returns
    -------
    W : csr_array of shape (n_nodes, n_nodes), float64

    Examples
    --------
    >>> from fairclust.graphs import affinity_from_edges
    >>> affinity_from_edges([(0, 1), (2, 1)]).toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    edges = np.asarray(edges)
    if edges.ndim != 2 or edges.shape[1] != 2 or not len(edges):
        raise InvalidInputError(f"edges has shape {edges.shape}, but two node numbers per edge are needed.")
    if edges.dtype.kind not in "iu" or edges.min() < 0:
        raise InvalidInputError("edges must hold whole numbers ≥ 0. Number the nodes from 0.")
    largest = int(edges.max())
    size = largest + 1 if n_nodes is None else int(n_nodes)
    if largest >= size:
        raise InvalidInputError(f"edges has node {largest}, but n_nodes={n_nodes}. Number the nodes from 0.")
    values = np.ones(len(edges)) if weights is None else np.asarray(weights, dtype=float)
    if values.shape != (len(edges),):
        raise InvalidInputError(f"weights has shape {values.shape}, but one number per edge ({len(edges)}) is needed.")
    loop = edges[:, 0] == edges[:, 1]
    row = np.concatenate((edges[:, 0], edges[~loop, 1]))
    column = np.concatenate((edges[:, 1], edges[~loop, 0]))
    W = sparse.coo_array((np.concatenate((values, values[~loop])), (row, column)), shape=(size, size)).tocsr()
    return check_affinity(W, "edges")


def affinity_from_networkx(graph: Any, weight: str = "weight") -> tuple[Any, list[Any]]:
    """Affinity matrix of an undirected NetworkX graph, and its nodes in the order of the rows.

    Parameters
    ----------
    graph : networkx.Graph
        Undirected. Edges without the attribute have affinity 1.
    weight : str, default="weight"
        Name of the edges' affinity.

    Returns
    -------
    W : csr_array of shape (n_nodes, n_nodes)
    nodes : list
        Node of each row: ``sensitive_features`` must be in this order.

    Examples
    --------
    >>> import networkx
    >>> from fairclust.graphs import affinity_from_networkx
    >>> W, nodes = affinity_from_networkx(networkx.path_graph(["ann", "bob", "eve"]))
    >>> nodes
    ['ann', 'bob', 'eve']
    >>> W.toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    if graph.is_directed():
        raise InvalidInputError("graph is directed, but Ncut needs symmetric affinities. Pass graph.to_undirected().")
    nodes = list(graph.nodes)
    number = {node: i for i, node in enumerate(nodes)}
    edges = [(number[a], number[b], value) for a, b, value in graph.edges(data=weight, default=1.0)]
    if not edges:
        raise InvalidInputError("graph has no edges, so there is nothing to cut.")
    pairs = np.array([edge[:2] for edge in edges], dtype=np.int64)
    return affinity_from_edges(pairs, [edge[2] for edge in edges], len(nodes)), nodes


def _exact_neighbors(X: FloatArray, n_neighbors: int, seed: int, n_threads: int, verbose: int) -> IntArray:
    """Neighbours (n_samples, n_neighbors), exact; scikit-learn leaves the point itself out by its index."""
    found = NearestNeighbors(n_neighbors=n_neighbors, n_jobs=n_threads).fit(X).kneighbors(return_distance=False)
    if verbose:
        print(f"graph: neighbours of {len(X)} points", flush=True)
    return found.astype(np.int32)


def _faiss_neighbors(X: FloatArray, n_neighbors: int, seed: int, n_threads: int, verbose: int) -> IntArray:
    """The same by an inverted file, the point itself dropped by its index."""
    faiss = _faiss(len(X))
    X = np.ascontiguousarray(X, dtype=np.float32)
    n_samples, n_features = X.shape
    n_lists = int(4 * np.sqrt(n_samples))
    faiss.omp_set_num_threads(n_threads)
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(n_features), n_features, n_lists)
    index.cp.seed = seed % (1 << 31)
    rows = np.random.RandomState(seed).permutation(n_samples)[: _TRAINING * n_lists]
    index.train(X[np.sort(rows)])
    index.add(X)
    index.nprobe = _PROBES
    neighbors = np.empty((n_samples, n_neighbors), dtype=np.int32)
    for first in range(0, n_samples, _ROWS):
        last = min(first + _ROWS, n_samples)
        _, found = index.search(X[first:last], n_neighbors + 1)
        neighbors[first:last] = _without_self(found, np.arange(first, last), n_neighbors)
        if verbose:
            print(f"graph: neighbours of {last} of {n_samples} points", flush=True)
    return neighbors


def _without_self(found: IntArray, rows: IntArray, n_neighbors: int) -> IntArray:
    """Drop the row's own number where it is found, else the farthest. A list too short is filled with its first."""
    found = np.where(found < 0, found[:, :1], found)
    is_self = found == rows[:, None]
    is_self[:, -1] |= ~is_self.any(axis=1)
    # Exactly one column per row goes: the first that is marked.
    drop = is_self.argmax(axis=1)
    keep = np.arange(n_neighbors)[None, :]
    return np.take_along_axis(found, keep + (keep >= drop[:, None]), axis=1)


def _faiss(n_samples: int) -> Any:
    try:
        import faiss
    except ImportError as error:
        raise MissingExtraError(
            f"X has {n_samples} rows, and above {EXACT_UP_TO} faiss builds the graph, which is not installed. Install "
            "it with: pip install 'fairclust[graph]'. Or build the graph yourself and pass it with "
            "affinity='precomputed'."
        ) from error
    return faiss
