"""Estimators to files and back: see :mod:`fairclust._model_files` for what a file holds."""

from __future__ import annotations

import inspect
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._model_files import StoredModel, read_model, write_model
from .._people.attributes import Attributes
from .._table.features import LearnedFeatures
from ..errors import InvalidInputError

# scikit-learn's own (set_fit_request sets it again), and comparisons, which are accounts of a model, not parts of it.
_LEFT_BEHIND = {"_metadata_request", "plain_", "moves_", "_searches", "_cut"}
_SHAPES = {
    "labels_": ("n_samples",),
    "cluster_centers_": ("n_clusters", "n_coordinates"),
    "medoid_indices_": ("n_clusters",),
    "cluster_sizes_": ("n_clusters",),
    "size_prices_": ("n_clusters",),
    "prices_": ("n_clusters", "n_groups"),
    "proportions_": ("n_clusters", "n_groups"),
    "_column_prices": ("n_clusters", "n_columns"),
    "fairness_errors_": ("n_clusters", "n_attributes"),
    "group_names_": ("n_groups",),
    "group_attributes_": ("n_groups",),
    "attribute_names_": ("n_attributes",),
    "feature_names_in_": ("n_features",),
}
_FINITE = {"cluster_centers_", "size_prices_", "prices_", "_column_prices"}


class Savable(BaseEstimator):  # type: ignore[misc]
    """An estimator that can be kept in a file."""

    def save(self, path: str | PathLike[str], *, notes: dict[str, Any] | None = None) -> None:
        """Keep the estimator, fitted or not, in a file that :func:`fairclust.load` reads.

        Parameters
        ----------
        path : path-like
            The file, by custom ``….fairclust``. It is replaced where it exists.
        notes : dict or None, default=None
            Anything to keep beside the model: text, numbers, arrays, lists and dicts of these.

        Notes
        -----
        The file holds arrays and JSON, no code: unlike a pickle it is safe to open whoever wrote it. It holds the
        labels of the fitted rows and the names of the groups, not the rows themselves (but for those that are centres,
        and the graph of a FairNCut). Functions (``init=…``) and goals of your own cannot be kept.

        Examples
        --------
        >>> import tempfile, fairclust
        >>> data = fairclust.datasets.make_synthetic(random_state=1)
        >>> model = fairclust.FairKMeans(2, random_state=0).fit(data.data, sensitive_features=data.sensitive_features)
        >>> with tempfile.TemporaryDirectory() as place:
        ...     model.save(f"{place}/people.fairclust")
        ...     again = fairclust.load(f"{place}/people.fairclust")
        >>> bool((again.labels_ == model.labels_).all())
        True
        """
        from .. import __version__

        parameters = self.get_params(deep=False)
        fitted = {name: value for name, value in vars(self).items() if name not in {*parameters, *_LEFT_BEHIND}}
        write_model(StoredModel(_kind_of(self), parameters, fitted, notes or {}, __version__), Path(path))


def load(path: str | PathLike[str]) -> Any:
    """Read an estimator that was kept with :meth:`FairKMeans.save`.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    model : FairKMeans, FairKMedian or FairNCut
        With the same arguments and fitted attributes, bit for bit.

    Raises
    ------
    InvalidInputError
        The file is no model, is damaged, or was written by a newer version.

    Notes
    -----
    Nothing in the file is run, and its contents are checked: opening a file from somebody else is safe.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import fairclust
    >>> model = fairclust.FairKMeans(2, random_state=0)
    >>> model = model.fit([[0.0], [0.1], [5.0], [5.1]], sensitive_features=["F", "M", "F", "M"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "people.fairclust")
    ...     again = fairclust.load(Path(folder) / "people.fairclust")
    >>> bool((again.labels_ == model.labels_).all())
    True
    """
    return restored(read_model(Path(path)), Path(path))


def restored(stored: StoredModel, path: Path) -> Any:
    """Make the estimator that a file holds."""
    kind = savable_estimators().get(stored.kind)
    if kind is None:
        raise InvalidInputError(
            f"{path.name} holds a {stored.kind[:40]!r}. Known are {', '.join(sorted(savable_estimators()))}."
        )
    known = inspect.signature(kind).parameters
    strange = [name for name in stored.parameters if name not in known]
    strange += [name for name in stored.fitted if hasattr(kind, name) or not name.isidentifier() or name[:2] == "__"]
    if strange:
        raise InvalidInputError(
            f"{path.name} sets {strange[0][:40]!r}, which {stored.kind} of this version does not have. Save it again "
            f"with the version that wrote it ({stored.version[:20]}), or use that one."
        )
    model = kind(**stored.parameters)
    vars(model).update(stored.fitted)
    if stored.fitted:
        _check_fitted(model, path)
    return model


def savable_estimators() -> dict[str, type[Any]]:
    """The estimators that a file may hold."""
    found, waiting = {}, [Savable]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            waiting.append(kind)
            if kind.__module__.startswith("fairclust.estimators.") and kind.__name__.startswith("Fair"):
                found[kind.__name__] = kind
    found.pop("FairClusterer", None)
    return found


def _kind_of(model: Any) -> str:
    known = savable_estimators()
    for kind in type(model).__mro__:
        if known.get(kind.__name__) is kind:
            return kind.__name__
    raise InvalidInputError(f"{type(model).__name__} cannot be saved. Known are {', '.join(sorted(known))}.")


def _check_fitted(model: Any, path: Path) -> None:
    """Look at what prediction relies on: shapes that fit together, numbers that are finite, labels that exist."""

    def refuse(name: str, found: str) -> InvalidInputError:
        return InvalidInputError(f"{path.name} is damaged: its {name} {found}. Save the model again.")

    attributes = getattr(model, "_attributes", None)
    if not isinstance(attributes, Attributes) or not len(attributes):
        raise refuse("_attributes", "are missing")
    for name in ("cluster_sizes_", "labels_"):
        if not isinstance(getattr(model, name, None), np.ndarray):
            raise refuse(name, "are missing")
    sizes = {"n_clusters": len(model.cluster_sizes_), "n_features": getattr(model, "n_features_in_", None)}
    features = getattr(model, "_features", None)
    if features is not None and (
        not isinstance(features, LearnedFeatures) or len(features.kinds) != sizes["n_features"]
    ):
        raise refuse("_features", "are not those of its table")
    sizes["n_coordinates"] = sizes["n_features"] if features is None else features.n_coordinates
    sizes |= {"n_groups": attributes.n_groups, "n_attributes": len(attributes)}
    sizes["n_columns"] = sum(attribute.n_columns for attribute in attributes)
    for name, shape in _SHAPES.items():
        value = getattr(model, name, None)
        if value is None:
            continue
        if "n_samples" in shape:
            sizes["n_samples"] = len(value)
        wanted = tuple(sizes[axis] for axis in shape)
        if not isinstance(value, np.ndarray) or value.shape != wanted:
            raise refuse(name, f"have shape {getattr(value, 'shape', None)} instead of {wanted}")
        if name in _FINITE and not np.isfinite(value).all():
            raise refuse(name, "hold NaN or infinite numbers")
    labels = model.labels_
    if labels.dtype.kind not in "iu" or (len(labels) and not 0 <= labels.min() <= labels.max() < sizes["n_clusters"]):
        raise refuse("labels_", "are not clusters")
    for attribute in attributes:
        if attribute.target.shape[-1] != attribute.n_groups or attribute.n_groups < 1:
            raise refuse("_attributes", "have groups without a target")
