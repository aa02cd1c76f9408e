"""Where Ncut starts: K-means on spectral embeddings of a coarse graph, plain and fair.

The plain embedding holds the leading eigenvectors of D^-½ W D^-½. The fair one (after Kleindessner et al., 2019) keeps
to vectors in which every group has its share: those at right angles to D^-½ (masses_j − target_j · size). Both come
from Lanczos steps on the coarse graph, so they cost the same for any number of nodes.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from .._typing import FloatArray, IntArray
from .levels import GraphLevel

_DENSE_UP_TO = 400  # nodes: below it all eigenvectors are found at once
_NEGLIGIBLE = 1e-10  # of the largest eigenvalue: constraints that say nothing new
_TOLERANCE = 1e-4  # of eigenvectors: K-means on them asks for no more


def embedding(
    level: GraphLevel,
    n_vectors: int,
    unfair: FloatArray | None,
    random_state: np.random.RandomState,
    *,
    normalized: bool = True,
    tolerance: float = _TOLERANCE,
) -> FloatArray:
    """Rows whose K-means clusters cut little: the leading eigenvectors, divided by √d.

    Parameters
    ----------
    level : GraphLevel
    n_vectors : int
        How many.
    unfair : ndarray of shape (n_nodes, n_constraints) or None
        What eigenvectors are at right angles to: the fair embedding. None: the plain one.
    random_state : RandomState
        Where Lanczos starts.
    normalized : bool, default=True
        False: the eigenvectors of D − W with the smallest eigenvalues, for a cut by the number of points.
    tolerance : float
        Relative accuracy of the eigenvalues.

    Returns
    -------
    rows : ndarray of shape (n_nodes, n_vectors)
        Rows of isolated nodes are 0.
    """
    degree = level.graph.degree
    affinity = level.graph.matrix.astype(np.float64)
    if normalized:
        root = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
        scale = sparse.diags_array(root)
        # The spectrum is in [−1, 1]; one is added, so that what the constraints remove (0) is not among the largest.
        matrix = scale @ affinity @ scale + sparse.diags_array((degree > 0).astype(float))
    else:
        root = np.ones_like(degree)
        # The spectrum of D − W is in [0, 2 max d]: turned round, its beginning comes last.
        matrix = affinity + sparse.diags_array(2.0 * degree.max() - degree)
    constraints = _basis(unfair * root[:, None]) if unfair is not None and unfair.shape[1] else None
    vectors = _leading(matrix, constraints, n_vectors, random_state, tolerance)
    return vectors * root[:, None]


def start_labels(
    level: GraphLevel,
    n_clusters: int,
    unfair: FloatArray | None,
    n_starts: int,
    random_state: np.random.RandomState,
) -> list[IntArray]:
    """Labels from K-means on an embedding, degrees as weights (then K-means is a relaxed Ncut), several times."""
    # One thread: sums in another order would end in other labels, and the level is small.
    with threadpool_limits(limits=1):
        rows = embedding(level, n_clusters, unfair, random_state)
        weights = np.where(level.graph.degree > 0, level.graph.degree, np.finfo(float).tiny ** 0.25)
        labels = []
        for _ in range(n_starts):
            means = KMeans(min(n_clusters, _n_distinct(rows)), n_init=1, random_state=random_state)
            labels.append(means.fit(rows, sample_weight=weights).labels_.astype(np.int32))
    return labels


def _n_distinct(rows: FloatArray) -> int:
    return len(np.unique(rows, axis=0))


def _basis(columns: FloatArray) -> FloatArray | None:
    """Orthonormal basis of what the columns span."""
    left, values, _ = np.linalg.svd(columns, full_matrices=False)
    held = values > _NEGLIGIBLE * max(values.max(initial=0.0), np.finfo(float).tiny)
    return left[:, held] if held.any() else None


def _leading(
    matrix: sparse.csr_array,
    constraints: FloatArray | None,
    n_vectors: int,
    random_state: np.random.RandomState,
    tolerance: float,
) -> FloatArray:
    """Eigenvectors of the largest eigenvalues at right angles to the constraints, (n_nodes, ≤ n_vectors)."""
    n_nodes = matrix.shape[0]
    n_vectors = min(n_vectors, n_nodes)

    def project(vectors: FloatArray) -> FloatArray:
        return vectors if constraints is None else vectors - constraints @ (constraints.T @ vectors)

    start = random_state.standard_normal(n_nodes)
    if n_nodes <= max(_DENSE_UP_TO, 4 * n_vectors):
        dense = project(project(matrix.toarray()).T)
        _, vectors = np.linalg.eigh((dense + dense.T) / 2)
        return vectors[:, ::-1][:, :n_vectors]
    operator = LinearOperator((n_nodes, n_nodes), matvec=lambda x: project(matrix @ project(x)), dtype=np.float64)
    try:
        _, vectors = eigsh(operator, n_vectors, which="LA", v0=start, tol=tolerance, ncv=max(3 * n_vectors, 20))
    except ArpackNoConvergence as error:  # what did converge is a start as well
        vectors = error.eigenvectors
        if not vectors.shape[1]:
            vectors = project(random_state.standard_normal((n_nodes, n_vectors)))
    return vectors[:, ::-1]
