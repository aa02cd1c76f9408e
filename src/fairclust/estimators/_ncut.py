"""Fair normalized cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from .. import _checks as checks
from .._data.in_memory import InMemory
from .._data.layout import build_layout
from .._data.seeding import starting_centers
from .._fit.fit import Fit
from .._fit.request import Request
from .._graph.fit import MANY_LINKS, Cut, fairness_of, fit_graph
from .._graph.levels import GraphLevel
from .._graph.starts import COARSE, Starts, open_graph
from .._objectives import KMeansObjective
from .._objectives.gower import gower_starts
from .._people.attributes import Groups
from .._table.coded import CodedRows
from .._table.features import Features, LearnedFeatures
from .._table.gower import distances, nearest
from .._table.sensitive import apart
from .._typing import IntArray
from ..errors import InvalidInputError
from ..goals import attributes_of
from ..graphs import check_affinity, graph_of_neighbors, nearest_neighbors_graph, to_graph
from ..solvers import BoundOptimization, Dual
from ._base import FairClusterer, Problem, _print_iteration
from ._docs import shared_docs
from ._gower import read_fitted, refuse_tables
from ._machine import warn_if_slow


@shared_docs
class FairNCut(FairClusterer):
    """Normalized cut with proportional representation: each group's share in every cluster is pulled towards a target.

    %(promise)s

    With a :class:`~fairclust.Penalty` it minimises ``F + weight · Σ_k KL(target ‖ shares in cluster k)``, where F is
    the normalized cut of a graph, ``K − Σ_k S_kᵗWS_k / dᵗS_k``: the share of each cluster's links that leave it, added
    up (Ziko et al., "Variational Fair Clustering", AAAI 2021); with any other goal F alone, over the clusterings that
    meet it.

    Parameters
    ----------
    %(n_clusters)s
    affinity : {"nearest_neighbors", "precomputed"}, default="nearest_neighbors"
        "nearest_neighbors": X holds points, and their k-nearest-neighbour graph is cut. "precomputed": X is the
        affinity matrix W, dense or sparse, symmetric, ≥ 0; see :mod:`fairclust.graphs` for edge lists and NetworkX.
    n_neighbors : int, default=20
        Neighbours of each point, itself not counted. The paper's code has 19.
    metric : {"euclidean", "gower"}, default="euclidean"
        The distance that makes neighbours. "gower": for tables of numbers, words and gaps, as in FairKMedian; all
        pairs are compared.
    %(goal)s
        Ncut is between 0 and n_clusters whatever the size of the graph, so penalties from 1 to 100 are usual.
    %(groups)s
    %(features)s
    solver : {"dual", "bound"} or a record of :mod:`fairclust.solvers`, default="dual"
        Who takes the bound steps. "dual": Newton's method on one price per cluster and group; with
        ``solvers.Dual(local_search=False)`` no cycles of moves follow. "bound": Algorithm 1 of the paper, for a
        penalty, without cycles of moves; much slower.
    init : {"spectral", "k-means++", "random"}, array or callable, default="spectral"
        "spectral": plain and fair spectral embeddings of a coarse graph, many starts each, the best taken down to the
        graph. "k-means++" and "random": labels of the nearest of starting centres, as in the paper; points only. An
        array or a callable gives starting centres (n_clusters, n_features), or labels (n_samples,).
    n_init : "auto" or int, default="auto"
        Number of starts; for "spectral", of coarse graphs, compared before they are refined. "auto": 4 coarse
        graphs (1 up to 2,000 nodes and above 4,000,000 stored links), 1 k-means++ start or array, 10 "random" starts or
        callables.
    %(max_iter)s
    tol : float, default=1e-4
        Cycles of moves end when one lowers the energy by less than this share of it.
    random_state : int, RandomState or None, default=None
        Seed of the graph, the starts and the moves.
    n_jobs : int or None, default=None
        Threads. None: all cores that the process may use (or OMP_NUM_THREADS). On a given graph the result does not
        depend on it.
    verbose : int or callable, default=0
        1: progress of the graph, and a line per outer iteration. A callable is told each iteration instead: its number
        and the energy.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each node.
    affinity_matrix_ : csr_array of shape (n_samples, n_samples)
        The graph. Pass it with ``affinity="precomputed"`` to use it again.
    objective_ : float
        Ncut of the labels, as :func:`fairclust.metrics.ncut_objective` counts it.
    energy_ : float
        ``objective_`` plus the penalty, where the goal is one.
    energy_history_ : ndarray of shape (n_iter_,)
        Energy after the start, each bound step and each cycle of moves; it never rises.
    %(fairness_)s
    goal_, goal_met_ : Goal or None, bool
        The goal as it was understood, and whether it is met.
    cluster_weights_ : ndarray of shape (n_clusters,) or (n_clusters, n_attributes)
        What the goal's constraint is worth in each cluster; of a penalty, its weight.
    fairness_weight_ : float
        λ of a penalty, else NaN.
    lower_bound_, assignment_gap_ : float
        NaN: the bound on Ncut's majoriser is no bound on Ncut.
    n_iter_, n_evaluations_ : int
        Steps of the chosen fit; evaluations of the dual of all fits.
    %(ending_)s

    Notes
    -----
    A graph has no room for new points, so there is no ``predict``. Self loops, isolated nodes and disconnected graphs
    are fine: :mod:`fairclust.graphs` says what they mean. Sample weights are not supported: give them as affinities.

    Neighbours are exact up to 100,000 points; above that faiss searches (``pip install 'fairclust[graph]'``). Time and
    memory of the fit are O(links + n_samples · n_clusters).

    Examples
    --------
    >>> from fairclust import FairNCut
    >>> from fairclust.datasets import make_synthetic
    >>> data = make_synthetic()
    >>> model = FairNCut(2, random_state=0).fit(data.data, sensitive_features=data.sensitive_features)
    >>> print(f"{model.objective_:.2f} at {model.fairness_error_:.2f}")
    0.00 at 0.00
    """

    _features: LearnedFeatures | None  # how fit() read a table; None: X was numbers or a graph

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        affinity: str = "nearest_neighbors",
        n_neighbors: int = 20,
        metric: str = "euclidean",
        goal: Any = 0.01,
        target_proportions: Any = None,
        groups: Groups | None = None,
        features: Features | None = None,
        solver: Any = "dual",
        init: Any = "spectral",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int | Callable[[int, float], None] = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.goal = goal
        self.target_proportions = target_proportions
        self.groups = groups
        self.features = features
        self.solver = solver
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, sensitive_features: Any = None) -> Self:  # type: ignore[override]
        """Cluster points, or the nodes of a graph.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or affinities of shape (n_samples, n_samples)
            Points, or with ``affinity="precomputed"`` a symmetric matrix ≥ 0, dense or sparse.
        y : ignored
            Groups go to ``sensitive_features``.
        sensitive_features : column, data frame, 2-D array, dict of columns or None
            Group of each row: one column per attribute, or a boolean membership matrix with a column per group. None:
            plain Ncut.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return super().fit(X, y, sensitive_features=sensitive_features)

    def fit_predict(self, X: Any, y: Any = None, *, sensitive_features: Any = None) -> IntArray:  # type: ignore[override]
        """Fit, and return the labels."""
        labels: IntArray = self.fit(X, y, sensitive_features=sensitive_features).labels_
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.affinity == "precomputed"
        tags.input_tags.sparse = self.affinity == "precomputed"
        return tags

    def _problem(self, X: Any, sensitive_features: Any, sample_weight: Any) -> Problem:
        """Check everything, build the graph, then put the parts together."""
        is_graph = checks.check_choice("affinity", self.affinity, ("nearest_neighbors", "precomputed")) == "precomputed"
        n_neighbors = checks.check_count("n_neighbors", self.n_neighbors)
        n_starts = self._n_starts()
        if hasattr(X, "is_directed"):
            raise InvalidInputError(
                "X is a NetworkX graph. Pass its affinity matrix: W, nodes = "
                "fairclust.graphs.affinity_from_networkx(graph), with sensitive_features in the order of nodes."
            )
        beside = apart(X, sensitive_features)
        X = self._points(beside.X, is_graph)
        n_samples = X.shape[0]
        n_clusters = checks.check_n_clusters(self.n_clusters, n_samples)
        W = check_affinity(X) if is_graph else None
        population = self._population(beside.sensitive_features, n_samples, None)
        cells = population.cells
        n_threads = checks.resolve_threads(self.n_jobs)
        random_state = check_random_state(self.random_state)
        seed = int(random_state.randint(np.iinfo(np.int32).max))
        warn_if_slow()
        if W is None:
            checks.check_distinct_rows(X, n_clusters)
            W = self._neighbors(X, n_neighbors, seed, n_threads)
        self.affinity_matrix_ = W
        level = GraphLevel(to_graph(W), cells.codes, None)
        starts: Starts | None = None
        labels: list[IntArray] = []
        if isinstance(self.init, str) and self.init == "spectral":
            if self.n_init == "auto":
                n_starts = 4 if n_samples > COARSE and W.nnz <= MANY_LINKS else 1
            fairness = fairness_of(attributes_of(population.attributes, cells.membership), cells.n_cells)
            openings = tuple(open_graph(level, n_clusters, fairness, random_state) for _ in range(n_starts))
            starts = Starts(openings, seed)
        else:
            labels = [self._labels(X, n_clusters, random_state) for _ in range(n_starts)]
        rows = InMemory(build_layout(cells.codes, cells.n_cells), n_clusters, None, n_threads)
        self._cut = Cut(level, rows, starts, seed)
        return Problem(self._cut.points(0.0, 1.0), population, labels)

    def _fitted(self, problem: Problem, request: Request, solver: Dual | BoundOptimization) -> Fit:
        """Bound steps and cycles of moves."""
        is_published = isinstance(solver, BoundOptimization)
        self._check_solver(request, solver)
        told = self.verbose if callable(self.verbose) else _print_iteration if self.verbose else None
        return fit_graph(
            self._cut,
            request,
            problem.starts,
            self._schedule(Dual() if is_published else solver),  # type: ignore[arg-type]
            max_iter=checks.check_count("max_iter", self.max_iter),
            tol=checks.check_number("tol", self.tol, lowest=0.0),
            is_refined=not is_published and solver.local_search is not False,  # type: ignore[union-attr]
            published=solver if isinstance(solver, BoundOptimization) else None,
            on_iteration=told,
        )

    def _natural_weight(self, problem: Problem, plain: Fit) -> float:
        """Ncut is a number of order 1 whatever the graph, and so is its weight."""
        return 1.0

    def _points(self, X: Any, is_graph: bool) -> Any:
        """Points, rows of a table, or affinities, which are checked later, with words for graphs."""
        metric = checks.check_choice("metric", self.metric, ("euclidean", "gower"))
        self._features = None
        if metric == "gower" and is_graph:
            raise InvalidInputError(
                "metric='gower' makes a graph of a table, but affinity='precomputed' says that X is the graph. Leave "
                "one of them at its default."
            )
        if metric == "gower":
            self._features, rows = read_fitted(self, X, None)
            return rows
        refuse_tables(self, X)
        return validate_data(
            self, checks.check_sparse(X), dtype=[np.float64, np.float32], order="C",
            accept_sparse="csr" if is_graph else False,
            ensure_min_samples=2, ensure_all_finite=not is_graph,
        )  # fmt: skip

    def _neighbors(self, X: Any, n_neighbors: int, seed: int, n_threads: int) -> Any:
        """The graph of the nearest neighbours."""
        if isinstance(X, CodedRows):
            return graph_of_neighbors(nearest(X, min(n_neighbors, len(X) - 1), n_threads))
        verbose = 0 if callable(self.verbose) else int(self.verbose)
        return nearest_neighbors_graph(X, n_neighbors, random_state=seed, n_threads=n_threads, verbose=verbose)

    def _labels(self, X: Any, n_clusters: int, random_state: np.random.RandomState) -> IntArray:
        """Labels to start from: given, or of the nearest of starting centres."""
        init = self.init
        if callable(init):
            init = init(X, n_clusters, random_state=random_state)
        if not isinstance(init, str):
            init = np.asarray(init)
            if init.ndim == 1:
                return _checked_labels(init, X.shape[0], n_clusters)
        if self.affinity == "precomputed":
            raise InvalidInputError(
                f"init={self.init!r} needs points, but affinity='precomputed' has none. Use init='spectral', or an "
                "array of labels."
            )
        if isinstance(X, CodedRows):
            if not isinstance(init, str):
                raise InvalidInputError("init holds centres, but with metric='gower' labels are needed, or a name.")
            centers = gower_starts(X, n_clusters, init, random_state, None)[0]
            return distances(X, centers).argmin(axis=1).astype(np.int32)
        centers = starting_centers(X, n_clusters, init, random_state, None)[0]
        one_group = build_layout(np.zeros(len(X), dtype=np.int32), 1)
        rows = InMemory(one_group, n_clusters, None, checks.resolve_threads(self.n_jobs))
        KMeansObjective(X).fill(rows, centers)
        return rows.user_labels(rows.assign(np.zeros((n_clusters, 1))).labels)

    def _store(self, problem: Problem, request: Request, found: Fit) -> None:
        super()._store(problem, request, found)
        # Prices label points by costs; there are no costs for points outside the graph. The graph of the fit goes too.
        del self._cut, self.prices_, self.size_prices_, self.temperature_

    def _store_centers(self, problem: Problem, found: Fit) -> None:
        """Nothing: the labels are the parameters."""


def _checked_labels(labels: Any, n_samples: int, n_clusters: int) -> IntArray:
    checks.check_same_length("init", labels, n_samples)
    if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= n_clusters:
        raise InvalidInputError(f"init holds labels outside 0 to {n_clusters - 1}. Number the clusters from 0.")
    checked: IntArray = np.ascontiguousarray(labels, dtype=np.int32)
    return checked
