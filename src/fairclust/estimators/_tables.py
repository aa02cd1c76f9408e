"""Rows of every kind that K-means takes: numbers, tables with categories and gaps, sparse rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import _checks as checks
from .._objectives import CodedKMeansObjective, KMeansObjective, Objective, SparseKMeansObjective
from .._objectives.coded_seeds import coded_starts, row_centers
from .._table.coded import CodedRows
from .._table.features import Features, LearnedFeatures, has_words, is_table, learn_features, read_features, read_table
from .._table.sparse import SparseRows, sparse_rows
from .._typing import AnyArray, FloatArray
from ..errors import InvalidInputError
from ._predict import PredictingClusterer

Rows = AnyArray | CodedRows | SparseRows
_NUMBERS = [np.float64, np.float32]


class TableClusterer(PredictingClusterer):
    """An estimator of means, which takes rows of every kind."""

    features: Any
    _features: LearnedFeatures | None  # how fit() read a table; None: X was numbers

    @property
    def cluster_profiles_(self) -> Any:
        """What the rows of each cluster are like, in the table's own units: means, and shares of the categories.

        A data frame with a row per cluster; of the kind that fit() was given, of pandas for arrays. A column per
        numeric feature (its mean) and per category (its share, named ``feature=category``), over the rows that have
        the feature.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)])
        means = getattr(self, "_means", self.cluster_centers_)
        features = getattr(self, "_features", None)
        if features is not None:
            return features.frame(features.profiles(means))
        plain = LearnedFeatures(tuple(map(str, names)), (), False, "float64", None)
        return plain.frame({str(name): means[:, i] for i, name in enumerate(names)})

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = read_features(self.features).missing != "error"
        return tags

    def _read(self, X: Any, sample_weight: Any) -> tuple[Rows, FloatArray | None]:
        """Rows of a fit, whatever X is, and their weights."""
        options = self._table_options()
        self._features = None
        if sparse.issparse(X):
            if options.are_given:
                raise InvalidInputError(
                    "X is sparse, so features=Features(...) does not apply: a sparse "
                    "matrix holds numbers without gaps. Leave them at their defaults, or pass a data frame."
                )
            rows: Rows = sparse_rows(
                validate_data(self, checks.check_sparse(X), accept_sparse="csr", dtype=_NUMBERS, order="C")
            )
            return rows, self._sample_weights(sample_weight, rows)
        if not options.are_given and not has_words(X):
            return super()._read(X, sample_weight)
        columns = read_table(X)
        validate_data(self, X if is_table(X) else np.asarray(X), skip_check_array=True)
        weights = self._sample_weights(sample_weight, columns)
        self._features = learn_features(columns, options, weights)
        return self._features.encode(columns), weights

    def _validated(self, X: Any) -> Any:
        """Rows of a new X, read as those of the fit were."""
        check_is_fitted(self)
        features = getattr(self, "_features", None)
        if features is not None:
            validate_data(self, X if is_table(X) else np.asarray(X), skip_check_array=True, reset=False)
            return features.encode(read_table(X))
        if sparse.issparse(X):
            return sparse_rows(
                validate_data(self, checks.check_sparse(X), accept_sparse="csr", dtype=_NUMBERS, order="C", reset=False)
            )
        return super()._validated(X)

    def points(self, X: Any) -> Any:
        """Rows of X as points in the space of ``cluster_centers_``: of a table, its scaled one-hot matrix.

        A gap is in the middle of all rows.
        """
        rows = super().points(X)
        return row_centers(rows) if isinstance(rows, CodedRows) else getattr(rows, "matrix", rows)

    def _starts(
        self,
        rows: Rows,
        n_clusters: int,
        random_state: np.random.RandomState,
        weights: FloatArray | None,
        n_starts: int,
    ) -> list[FloatArray]:
        """Centres to start from."""
        if not isinstance(rows, CodedRows):
            X = rows.matrix if isinstance(rows, SparseRows) else rows
            return super()._starts(X, n_clusters, random_state, weights, n_starts)
        if isinstance(self.init, str):
            n_threads = checks.resolve_threads(self.n_jobs)
            return coded_starts(rows, n_clusters, self.init, random_state, weights, n_starts, n_threads)
        if callable(self.init):
            raise InvalidInputError(
                "init is a function, which takes a matrix of numbers, but X is a table with categories, gaps or "
                "weights. Use 'k-means++', 'random', or a data frame with n_clusters rows like those of X."
            )
        if not is_table(self.init):
            given = checks.check_centers(np.asarray(self.init), n_clusters, rows.shape[1])
            return [np.ascontiguousarray(given, dtype=rows.dtype)]
        assert self._features is not None
        return [row_centers(self._features.starts(self.init, n_clusters), rows.middle())]

    def _objective(self, X: Any) -> Objective:
        if isinstance(X, CodedRows):
            return CodedKMeansObjective(X)
        return SparseKMeansObjective(X) if isinstance(X, SparseRows) else KMeansObjective(X)

    def _distances(self, rows: Any) -> FloatArray:
        """Distances of rows, read already, to the centres."""
        if isinstance(rows, CodedRows):
            threads = checks.resolve_threads(self.n_jobs)
            return np.sqrt(CodedKMeansObjective(rows).costs(self.cluster_centers_, n_threads=threads))
        return super()._distances(rows.matrix if isinstance(rows, SparseRows) else rows)

    def _table_options(self) -> Features:
        return read_features(self.features)
