"""Fair normalized cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from .. import _checks as checks
from .._fairness.term import representation
from .._fit.aims import Aim
from .._fit.problem import Problem, WeightedFit
from .._graph.levels import GraphLevel
from .._graph.problem import COARSE, MANY_LINKS, NCutProblem, open_graph
from .._objectives import KMeansObjective, NCutObjective
from .._objectives.gower import gower_starts
from .._people.attributes import Attributes, Population
from .._sweep.layout import build_layout
from .._sweep.memory import InMemorySweep
from .._sweep.seeding import starting_centers
from .._table.coded import CodedRows
from .._table.features import Features
from .._table.gower import distances, nearest
from .._table.sensitive import apart
from .._typing import FloatArray, IntArray
from ..errors import InvalidInputError
from ..graphs import check_affinity, graph_of_neighbors, nearest_neighbors_graph, to_graph
from ._base import FairClusterer
from ._docs import shared_docs
from ._gower import read_fitted, refuse_tables
from ._machine import warn_if_slow

_NOTHING = np.zeros(0, dtype=np.int32)


@shared_docs
class FairNCut(FairClusterer):
    """Normalized cut with proportional representation: each group's share in every cluster is pulled towards a target.

    %(promise)s

    Minimises ``F + fairness_weight · Σ_k KL(target ‖ shares in cluster k)``, where F is the normalized cut of a graph,
    ``K − Σ_k S_kᵗWS_k / dᵗS_k``: the share of each cluster's links that leave it, added up (Ziko et al., "Variational
    Fair Clustering", AAAI 2021).

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
    fairness_weight : float or "auto", default="auto"
        λ of the paper, a number ≥ 0; 0 is plain Ncut. Ncut is between 0 and n_clusters whatever the size of the graph,
        so weights from 1 to 100 are usual. "auto": the smallest λ found that meets ``max_fairness_error``.
    %(fairness_goals)s
    %(groups)s
    %(gower_columns)s
    solver : {"dual", "bound"}, default="dual"
        Who takes the bound steps. "dual": Newton steps on one price per cluster and group. "bound": Algorithm 1 of the
        paper, much slower; costs are counted in n_samples times Ncut, or its steps would be lost in rounding.
    %(lipschitz)s
    init : {"spectral", "k-means++", "random"}, array or callable, default="spectral"
        "spectral": plain and fair spectral embeddings of a coarse graph, many starts each, the best taken down to the
        graph. "k-means++" and "random": labels of the nearest of starting centres, as in the paper; points only. An
        array or a callable gives starting centres (n_clusters, n_features), or labels (n_samples,).
    n_init : "auto" or int, default="auto"
        Number of starts; for "spectral", of coarse graphs, compared before they are refined. "auto": 4 coarse
        graphs (1 up to 2,000 nodes and above 4,000,000 stored links), 1 k-means++ start or array, 10 "random" starts or
        callables.
    polish : bool or "auto", default="auto"
        Whether moves of single nodes and of coarse nodes follow the bound steps. "auto" is True; False is the paper's
        method.
    %(max_iter)s
    tol : float, default=1e-4
        Stop when fewer than this share of the nodes move, or cycles of moves lower the energy by less than this share.
    assignments : {"hard", "soft"}, default="hard"
        What the bound touches at. "soft" is what the paper writes: with ``polish=False`` the relaxed energy falls and
        is reported; otherwise the labels it ends with are one more start.
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
        ``objective_ + fairness_weight_ · fairness_error_``, or the relaxed energy (see ``assignments``).
    energy_history_ : ndarray of shape (n_iter_,)
        Energy after the start, each bound step and each cycle of moves; it never rises.
    %(fairness_)s
    fairness_weight_ : float
        The λ that was used.
    lower_bound_, assignment_gap_ : float
        NaN: the bound on Ncut's majoriser is no bound on Ncut.
    fairness_goal_met_ : bool
        Whether every cluster is within ``max_fairness_error``.
    n_iter_, n_sweeps_ : int
        Steps of the chosen fit; passes over the point costs of all fits.
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

    categorical_features: Any
    missing_values: str
    feature_weights: Any
    _features: Features | None  # how fit() read a table; None: X was numbers or a graph

    # Subclasses of BaseEstimator are described by their arguments alone, so the graph's come with the others.
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        affinity: str = "nearest_neighbors",
        n_neighbors: int = 20,
        metric: str = "euclidean",
        fairness_weight: float | str = "auto",
        max_fairness_error: float = checks.DEFAULT_MAX_FAIRNESS_ERROR,
        min_balance: float | None = None,
        max_cost_increase: float | None = None,
        bounds: Any = None,
        round_bounds: bool = False,
        target_proportions: Any = None,
        attribute_weights: Any = None,
        intersections: bool = False,
        missing_groups: str = "error",
        quantile_bins: Any = None,
        categorical_features: Any = "from_dtype",
        missing_values: str = "error",
        feature_weights: Any = None,
        solver: str = "dual",
        lipschitz: float = 2.0,
        init: Any = "spectral",
        n_init: int | str = "auto",
        polish: bool | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        assignments: str = "hard",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int | Callable[[int, float], None] = 0,
    ) -> None:
        super().__init__(locals())

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

    def _problem(
        self, X: Any, sensitive_features: Any, sample_weight: Any
    ) -> tuple[Problem, Population, list[FloatArray]]:
        """Check everything, build the graph, then put the parts together."""
        solver, settings, n_starts = self._checked()
        is_graph = checks.check_choice("affinity", self.affinity, ("nearest_neighbors", "precomputed")) == "precomputed"
        n_neighbors = checks.check_count("n_neighbors", self.n_neighbors)
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
        fairness = representation(population.attributes.parts, cells.membership)
        n_threads = checks.resolve_threads(self.n_jobs)
        random_state = check_random_state(self.random_state)
        seed = int(random_state.randint(np.iinfo(np.int32).max))
        warn_if_slow()
        if W is None:
            checks.check_distinct_rows(X, n_clusters)
            W = self._neighbors(X, n_neighbors, seed, n_threads)
        self.affinity_matrix_ = W
        level = GraphLevel(to_graph(W), cells.codes, None)
        openings, starts = [], [_NOTHING]
        if isinstance(self.init, str) and self.init == "spectral":
            if self.n_init == "auto":
                n_starts = 4 if n_samples > COARSE and W.nnz <= MANY_LINKS else 1
            openings = [open_graph(level, n_clusters, fairness, random_state) for _ in range(n_starts)]
        else:
            starts = [self._labels(X, n_clusters, random_state) for _ in range(n_starts)]
        problem = NCutProblem(
            objective=NCutObjective(level.graph),
            sweep=InMemorySweep(build_layout(cells.codes, cells.n_cells), n_clusters, None, n_threads),
            fairness=fairness,
            solver=solver,
            settings=settings,
            level=level,
            openings=tuple(openings),
            is_refined=bool(self.polish),
            seed=seed,
            attribute_weights=self._attribute_weights(population.attributes),
        )
        return problem, population, starts

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
        sweep = InMemorySweep(one_group, n_clusters, None, checks.resolve_threads(self.n_jobs))
        KMeansObjective(X).fill(sweep, centers)
        sweep.assign(np.zeros((n_clusters, 1)))
        labels: IntArray = one_group.to_user_order(sweep.labels)
        return labels

    def _polish(self, problem: Problem, aim: Aim, fit: WeightedFit) -> tuple[WeightedFit, bool]:
        """Nothing: every fit is polished already, and the search sees what that does."""
        return fit, False

    def _store(self, problem: Problem, attributes: Attributes, fit: WeightedFit) -> None:
        super()._store(problem, attributes, fit)
        # Prices label points by costs; there are no costs for points outside the graph.
        del self.prices_, self.size_prices_, self.temperature_, self.polished_

    def _store_parameters(self, parameters: FloatArray) -> None:
        """Nothing: the labels are the parameters."""


def _checked_labels(labels: Any, n_samples: int, n_clusters: int) -> IntArray:
    checks.check_same_length("init", labels, n_samples)
    if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= n_clusters:
        raise InvalidInputError(f"init holds labels outside 0 to {n_clusters - 1}. Number the clusters from 0.")
    checked: IntArray = np.ascontiguousarray(labels, dtype=np.int32)
    return checked
