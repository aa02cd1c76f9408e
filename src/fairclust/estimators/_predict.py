"""New rows: labels by the fitted centres and prices, one by one or as a batch that meets the goal itself."""

from __future__ import annotations

import warnings
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .. import _checks as checks
from .._data.in_memory import InMemory
from .._data.layout import build_layout
from .._fit.fit import fit
from .._fit.points import Points
from .._fit.request import Request, read_sizes
from .._objectives import FixedObjective
from .._onnx_files import Rule, write_onnx
from .._people.attributes import Attributes, Cells, read_options
from .._people.columns import read_columns
from .._people.encode import everyone
from .._table.sensitive import apart
from .._typing import FloatArray, IntArray
from ..errors import FairnessGoalMissed, InvalidInputError
from ..goals import attributes_of, read_goal
from ..solvers import Dual
from ._machine import one_blas_thread
from ._prototypes import PrototypeClusterer


class PredictingClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PrototypeClusterer):  # type: ignore[misc]
    """Estimators that label rows which they were not fitted on."""

    __metadata_request__predict = {"sensitive_features": True}  # noqa: RUF012
    __metadata_request__predict_proba = {"sensitive_features": True}  # noqa: RUF012

    def fit_transform(
        self, X: Any, y: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> FloatArray:
        """Fit, and return the distances to the centres."""
        return self.fit(X, y, sensitive_features=sensitive_features, sample_weight=sample_weight).transform(X)

    def predict(self, X: Any, sensitive_features: Any = None) -> IntArray:
        """Label new rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        sensitive_features : as for :meth:`fit`, or None
            Groups of each row: the fitted prices then apply, so that a new sample of the same population comes out
            close to the target. None: the nearest centre. A group that fit() did not see is an error, unless
            ``unknown_groups="nearest"``.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        oracle, prices = self._oracle_for(X, sensitive_features)
        return oracle.user_labels(oracle.assign(prices).labels)

    def predict_batch(
        self, X: Any, sensitive_features: Any, *, sample_weight: Any = None, target: str = "fitted"
    ) -> IntArray:
        """Label a batch of new rows so that the goal of the fit holds on the batch itself.

        :meth:`predict` labels each row by itself, with prices that suit the people of the fit: a batch of the same
        population comes out close to the target, not exactly at it. Here the centres stay and the prices are found
        anew, for all rows of the batch together; with ``goal=0`` counts are exact up to rounding.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        sensitive_features : as for :meth:`fit`
        sample_weight : array-like of shape (n_samples,) or None
        target : {"fitted", "batch"}, default="fitted"
            What shares are wanted: those of the fit, or the batch's own. A batch whose shares are too far from those
            of the fit cannot meet the goal with "fitted"; a :class:`FairnessGoalMissed` warning says so.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Clusters that no row of the batch is near to may stay empty; the goal then holds in the others.
        """
        checks.check_choice("target", target, ("fitted", "batch"))
        X, sensitive_features = self._beside(X, sensitive_features)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        cells = self._cells_of(X, sensitive_features)
        attributes = self._attributes if target == "fitted" else self._attributes.reshared(cells, weights)
        centers = np.ascontiguousarray(self.cluster_centers_, dtype=X.dtype)
        # Clusters that nobody is near to take no part.
        points = self._batch(X, cells, weights, centers)
        prices = self._column_prices @ cells.membership.T + self.size_prices_[:, None] * cells.is_known
        used = np.flatnonzero(points.oracle(centers).assign(prices).masses.sum(axis=1) > 0)
        points = self._batch(X, cells, weights, centers[used])
        request = self._batch_request(points, attributes, cells, used)
        with one_blas_thread():
            found = fit(points, request, [centers[used]], self._schedule(Dual()).at_fixed_centers())
        if not found.is_met:
            warnings.warn(self._missed(request, found), FairnessGoalMissed, stacklevel=2)
        return used[points.rows.user_labels(found.assigned.labels)].astype(np.int32)

    def _batch(self, X: Any, cells: Cells, weights: FloatArray | None, centers: FloatArray) -> Points:
        """New rows, with these centres for good."""
        layout = build_layout(cells.codes, cells.n_cells)
        own = None if weights is None else layout.to_visiting_order(np.asarray(weights, dtype=np.float64))
        oracle = InMemory(layout, len(centers), own, checks.resolve_threads(self.n_jobs))
        return Points(FixedObjective(self._objective(X), centers), oracle)

    def _batch_request(self, points: Points, attributes: Attributes, cells: Cells, used: IntArray) -> Request:
        """The goal of the fit, and its sizes as shares of the batch, for the clusters in use."""
        rows, goal = points.rows, read_goal(self.goal)
        person = self._largest_weight(rows) if rows.is_weighted else 1.0
        seen = tuple(
            one if one.target.ndim == 1 else one._replace(target=one.target[used])
            for one in attributes_of(attributes, cells.membership, person)
        )
        asked = None if attributes.is_trivial or (goal is not None and goal.asks_nothing) else goal
        share = rows.total / self._total_weight
        smallest, largest = np.zeros(len(used)), np.full(len(used), rows.total)
        sizes = {name: getattr(self, name, None) for name in ("cluster_sizes", "min_cluster_size", "max_cluster_size")}
        if any(value is not None for value in sizes.values()) and len(used) == self.n_clusters:
            given = read_sizes(
                self.n_clusters, self._total_weight, rows.n_samples, True, sizes["cluster_sizes"],
                sizes["min_cluster_size"], sizes["max_cluster_size"],
            )  # fmt: skip
            smallest, largest = np.floor(given[0] * share), np.ceil(given[1] * share)
        scaled = goal.scaled(share) if asked is not None and goal is not None else None
        return Request(len(used), rows.cell_totals, seen, scaled, smallest, largest, rows.is_weighted, person)

    def predict_proba(self, X: Any, sensitive_features: Any = None) -> FloatArray:
        """Soft assignments softmax(−(cost + price)/temperature_) of new rows, shape (n_samples, n_clusters).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        sensitive_features : as for :meth:`fit`, or None
            As for :meth:`predict`.

        Returns
        -------
        assignments : ndarray of shape (n_samples, n_clusters)
            Rows sum to 1.
        """
        oracle, prices = self._oracle_for(X, sensitive_features)
        return oracle.soft_rows(prices, self.temperature_)

    def transform(self, X: Any) -> FloatArray:
        """Distances to the centres, shape (n_samples, n_clusters)."""
        return self._distances(self._beside(X, None)[0])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the sum of squared distances to the nearest centre: larger is better."""
        X, _ = self._beside(X, None)
        nearest = self._distances(X).min(axis=1) ** 2
        return -float(nearest.sum() if sample_weight is None else nearest @ _check_sample_weight(sample_weight, X))

    def to_onnx(self, path: str | PathLike[str], *, prices: bool = True) -> None:
        """Write :meth:`predict` as an ONNX graph, which labels rows without Python or fairclust (extra ``onnx``).

        Parameters
        ----------
        path : path-like
            The file, by custom ``….onnx``. It is replaced where it exists.
        prices : bool, default=True
            False: every row goes to the nearest centre, and the graph asks for no groups.

        Notes
        -----
        Inputs are ``X``, a matrix of the precision that the model was fitted in (of a table, one column each, by name),
        and one column of groups per sensitive column, by name: text, whole numbers, numbers, or yes and no. A missing
        value is NaN or an empty text. Outputs are ``label`` and ``cost``, which is distance + price per cluster, in
        double precision: labels are those of ``predict`` but for ties within rounding. Rows that ``predict`` would
        refuse, as a value is missing or a group was never seen, get the label −1.

        Examples
        --------
        >>> import tempfile, fairclust
        >>> data = fairclust.datasets.make_synthetic(random_state=1)
        >>> model = fairclust.FairKMeans(2, random_state=0).fit(data.data, sensitive_features=data.sensitive_features)
        >>> with tempfile.TemporaryDirectory() as place:
        ...     model.to_onnx(f"{place}/people.onnx")
        """
        from .. import __version__

        check_is_fitted(self)
        rule = Rule(
            metric=getattr(self, "metric", "squared"),
            centers=np.asarray(self.cluster_centers_),
            features=getattr(self, "_features", None),
            attributes=self._attributes if prices and not self._attributes.is_trivial else None,
            column_prices=self._column_prices,
            size_prices=self.size_prices_,
            refuses_unknown=read_options(self.groups).unknown == "error",
        )
        write_onnx(rule, Path(path), __version__)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def _distances(self, rows: Any) -> FloatArray:
        """Distances of rows, checked already, to the centres."""
        distances: FloatArray = euclidean_distances(rows, self.cluster_centers_)
        return distances

    def points(self, X: Any) -> Any:
        """Rows of X as points in the space of ``cluster_centers_``, an array or a sparse one."""
        return self._beside(X, None)[0]

    def _beside(self, X: Any, sensitive_features: Any) -> tuple[Any, Any]:
        """Rows of a new X, without the columns that fit() took the groups from, and the groups."""
        check_is_fitted(self)
        beside = apart(X, sensitive_features, getattr(self, "_sensitive_columns", ()))
        return self._validated(beside.X), beside.sensitive_features

    def _validated(self, X: Any) -> Any:
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=[np.float64, np.float32], order="C", reset=False)
        checks.check_new_magnitude(rows, getattr(self, "feature_names_in_", None))
        return rows

    def _oracle_for(self, X: Any, sensitive_features: Any) -> tuple[InMemory, FloatArray]:
        """An oracle over new rows at the fitted centres, and the prices that apply."""
        X, sensitive_features = self._beside(X, sensitive_features)
        if sensitive_features is None:
            cells, prices = everyone(len(X)).cells, np.zeros((len(self.cluster_centers_), 1))
        else:
            cells = self._cells_of(X, sensitive_features)
            prices = self._column_prices @ cells.membership.T + self.size_prices_[:, None] * cells.is_known
        layout = build_layout(cells.codes, cells.n_cells)
        oracle = InMemory(layout, len(prices), n_threads=checks.resolve_threads(self.n_jobs))
        self._objective(X).fill(oracle, np.ascontiguousarray(self.cluster_centers_, dtype=X.dtype))
        return oracle, prices

    def _cells_of(self, X: FloatArray, sensitive_features: Any) -> Cells:
        """Cells of new people. One with a group that was never seen is a member of nothing, and so pays no price."""
        table = read_columns(sensitive_features)
        checks.check_same_length("sensitive_features", table.columns[0], len(X))
        cells = self._attributes.encode(table)
        if not cells.is_known.all() and read_options(self.groups).unknown == "error":
            raise InvalidInputError(
                f"{self._attributes.unknown(table)} Drop these rows, or use groups=Groups(unknown='nearest') to send "
                "them to the nearest centre."
            )
        return replace(cells, membership=cells.membership * cells.is_known[:, None])
