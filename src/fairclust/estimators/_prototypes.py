"""Estimators whose clusters have centres: their problem, put together from rows in memory or in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, validate_data

from .. import _checks as checks
from .._data.in_memory import InMemory
from .._data.layout import build_layout
from .._data.seeding import starting_centers
from .._fit.fit import Fit
from .._fit.points import Points
from .._fit.schedule import Schedule
from .._objectives import Objective
from .._table.features import Features
from .._table.sensitive import apart
from .._typing import FloatArray
from ..solvers import Dual, read_solver
from ._base import FairClusterer, Problem
from ._machine import warn_if_slow

_SEEDS = 1 << 32  # that a generator knows


class PrototypeClusterer(FairClusterer):
    """What estimators with centres share. A subclass says what its objective is, of rows and of blocks."""

    cluster_centers_: FloatArray
    _sensitive_columns: tuple[str, ...]  # columns of X that fit() took the groups from

    def _objective(self, X: Any) -> Objective:
        raise NotImplementedError

    def _streamed_objective(self, data: Any) -> Objective:
        raise NotImplementedError

    def _table_options(self) -> Features | None:
        """How the columns of a table in blocks are to count; None: blocks hold numbers."""
        return None

    def _why_not_streamed(self) -> str | None:
        """What cannot be done block by block; None: all can."""
        return None

    def _blocks(self, X: Any) -> Any:
        """X in blocks, where it is to be streamed. An array is where its point costs do not fit in memory beside it."""
        from ..scaling import as_blocks, large_array

        blocks = as_blocks(X, self.n_clusters)
        if blocks is not None or not isinstance(X, np.ndarray) or X.dtype.kind not in "fiub":
            return blocks
        options = self._table_options()
        is_table = options is not None and options.are_given
        return None if is_table or self._why_not_streamed() is not None else large_array(X, self.n_clusters)

    def _problem(self, X: Any, sensitive_features: Any, sample_weight: Any) -> Problem:
        """Check everything, then put the parts together: rows with their objective, groups, and where to start."""
        blocks = self._blocks(X)
        if blocks is not None:
            return self._streamed_problem(blocks, sensitive_features, sample_weight)
        beside = apart(X, sensitive_features)
        self._sensitive_columns = beside.names
        rows, weights = self._read(beside.X, sample_weight)
        n_clusters = checks.check_n_clusters(self.n_clusters, len(rows))
        population = self._population(beside.sensitive_features, len(rows), weights)
        checks.check_distinct_rows(rows, n_clusters)
        starts = self._starts(rows, n_clusters, self._chance(), weights, self._n_drawn())
        warn_if_slow()
        cells = population.cells
        layout = build_layout(cells.codes, cells.n_cells)
        oracle = InMemory(
            layout,
            n_clusters,
            None if weights is None else layout.to_visiting_order(weights),
            checks.resolve_threads(self.n_jobs),
        )
        return Problem(Points(self._objective(rows), oracle), population, starts)

    def _read(self, X: Any, sample_weight: Any) -> tuple[Any, FloatArray | None]:
        """Rows of a fit, and their weights."""
        ends = checks.ends_if_plain(X)
        if ends is None:
            X = validate_data(self, X, dtype=[np.float64, np.float32], order="C")
        else:  # scikit-learn has nothing left to check
            self._remember_features(X.shape[1])
        checks.check_magnitude(X, getattr(self, "feature_names_in_", None), ends)
        return X, self._sample_weights(sample_weight, X)

    def _remember_features(self, n_features: int, names: Sequence[str] | None = None) -> None:
        """Keep what predict() compares its X with, as scikit-learn does."""
        self.n_features_in_ = n_features
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_  # of an earlier fit

    def _sample_weights(self, sample_weight: Any, rows: Any) -> FloatArray | None:
        if sample_weight is None:
            return None
        weights: FloatArray = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
        return weights

    def _chance(self) -> np.random.RandomState:
        """What starts are drawn with. Centres that are given need none, and one of its own takes as long as a pass."""
        is_drawn = isinstance(self.init, str) or callable(self.init)
        is_seed = isinstance(self.random_state, int | np.integer) and 0 <= self.random_state < _SEEDS
        return check_random_state(None if is_seed and not is_drawn else self.random_state)

    def _n_drawn(self) -> int:
        """Centres to draw: several for each search; what the user gives is one start."""
        n_starts = self._n_starts()
        is_drawn = isinstance(self.init, str) and isinstance(read_solver(self.solver), Dual)
        return n_starts * Schedule().n_starts if is_drawn else n_starts

    def _starts(
        self,
        rows: Any,
        n_clusters: int,
        random_state: np.random.RandomState,
        weights: FloatArray | None,
        n_starts: int,
    ) -> list[FloatArray]:
        """Centres to start from."""
        return starting_centers(rows, n_clusters, self.init, random_state, weights, n_starts)

    def _streamed_problem(self, blocks: Any, sensitive_features: Any, sample_weight: Any) -> Problem:
        """The same for data in blocks, which are never in memory as a whole."""
        from ..errors import InvalidInputError
        from ..scaling import InBlocks, open_blocks, streamed_starts

        reason = self._why_not_streamed()
        if reason is not None:
            raise InvalidInputError(reason)
        self._sensitive_columns = ()
        threads = checks.resolve_threads(self.n_jobs)
        data = open_blocks(blocks, sensitive_features, sample_weight, threads, self._table_options())
        n_clusters = checks.check_n_clusters(self.n_clusters, data.n_samples)
        # Everyone of a profile is alike, so one of each stands for all, with their weight.
        population = self._population(data.profiles, len(data.cells), data.profile_masses)
        data = data.with_cells(population.cells)
        oracle = InBlocks(data, n_clusters, blocks.labels_to)
        starts = streamed_starts(oracle, self.init, self._n_drawn(), check_random_state(self.random_state))
        warn_if_slow()
        self._remember_features(data.n_features, blocks.feature_names)
        return Problem(Points(self._streamed_objective(data), oracle), population, starts)

    def _store_centers(self, problem: Problem, found: Fit) -> None:
        self.cluster_centers_ = found.centers
        self._means = found.own_centers
