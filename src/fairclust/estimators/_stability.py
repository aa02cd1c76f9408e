"""How sure clusters are: the same fit from other seeds and on other samples, and who stays with whom."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from .. import _checks as checks
from .._audit.moves import match_clusters
from .._people.attributes import Population, read_options
from .._people.encode import encode_groups
from .._typing import AnyArray, FloatArray, IntArray
from ..errors import FairclustWarning
from ..metrics import count_cells

_BORDER = 0.6  # one who is in the own cluster in fewer of the runs is on its border


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """What :func:`stability` found. Print it, or read its numbers.

    Attributes
    ----------
    kinds : ndarray of shape (n_runs,)
        "seed" or "bootstrap".
    objectives, max_fairness_errors : ndarray of shape (n_runs,)
        Of each run. Bootstrap samples hold other people: their objectives are per person, times the number of people.
    lowest_shares, highest_shares : ndarray of shape (n_clusters, n_groups)
        The smallest and largest share of each group in each cluster, over the model and all runs, clusters matched.
    kept_pairs : ndarray of shape (n_clusters,)
        Of two people of a cluster, how often they are together in a run.
    agreement : ndarray of shape (n_samples,)
        In how many of the runs each person is in the cluster that matches the own one, as a share.
    labels : ndarray of shape (n_samples,)
        The model's.

    Examples
    --------
    >>> import numpy as np
    >>> from fairclust import FairKMeans, stability
    >>> X, sex = np.arange(40.0)[:, None], ["F", "M"] * 20
    >>> model = FairKMeans(2, random_state=0).fit(X, sensitive_features=sex)
    >>> stability(model, X, sensitive_features=sex, n_runs=1).kept_pairs.shape
    (2,)
    """

    kinds: AnyArray
    objectives: FloatArray
    max_fairness_errors: FloatArray
    lowest_shares: FloatArray
    highest_shares: FloatArray
    kept_pairs: FloatArray
    agreement: FloatArray
    labels: IntArray

    @property
    def on_border(self) -> AnyArray:
        """Who is in the own cluster in fewer than 60 % of the runs, shape (n_samples,), bool."""
        return self.agreement < _BORDER

    @property
    def border_shares(self) -> FloatArray:
        """Share of each cluster's people who are on its border, shape (n_clusters,)."""
        sizes = np.bincount(self.labels, minlength=len(self.kept_pairs))
        border = np.bincount(self.labels[self.on_border], minlength=len(sizes))
        return border / np.maximum(sizes, 1)

    def sentences(self) -> list[str]:
        """Tell it in words."""
        found = []
        for kind, words in (("seed", "other seeds"), ("bootstrap", "bootstrap samples")):
            own = self.kinds == kind
            if own.any():
                costs, errors = self.objectives[own], self.max_fairness_errors[own]
                found.append(
                    f"{int(own.sum())} {words}: objective {costs.min():.6g} to {costs.max():.6g}, worst fairness error "
                    f"{errors.min():.3g} to {errors.max():.3g}."
                )
        found.append(
            f"Two people of a cluster stay together in {100 * float(np.mean(self.kept_pairs)):.0f} % of the runs "
            f"({100 * self.kept_pairs.min():.0f} % in the least stable cluster, {int(self.kept_pairs.argmin())})."
        )
        found.append(
            f"{int(self.on_border.sum()):,} of {len(self.labels):,} people ({100 * self.on_border.mean():.1f} %) are "
            f"on a border: in fewer than {100 * _BORDER:.0f} % of the runs they are in the cluster they are in."
        )
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON: nothing on single people."""
        return {
            "kinds": self.kinds.tolist(),
            "objectives": self.objectives.tolist(),
            "max_fairness_errors": self.max_fairness_errors.tolist(),
            "kept_pairs": self.kept_pairs.tolist(),
            "border_shares": self.border_shares.tolist(),
            "share_on_border": float(self.on_border.mean()),
        }

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def __repr__(self) -> str:
        return f"Stability(n_runs={len(self.kinds)}, share_on_border={self.on_border.mean():.3g})"


def stability(
    model: Any,
    X: Any,
    *,
    sensitive_features: Any,
    n_runs: int = 5,
    sample_weight: Any = None,
    on_fit: Callable[[], None] | None = None,
) -> Stability:
    """Fit a model again, from other seeds and on bootstrap samples, and tell how much of it stays.

    Parameters
    ----------
    model : fitted estimator
    X : ndarray of shape (n_samples, n_features)
        What it was fitted to.
    sensitive_features
        Its groups.
    n_runs : int, default=5
        Runs from other seeds, and as many on bootstrap samples (where the model can label rows: not for Ncut).
    sample_weight : array-like of shape (n_samples,) or None
    on_fit : callable or None
        Called after each fit.

    Returns
    -------
    stability : Stability

    Examples
    --------
    >>> from fairclust import FairKMeans, stability
    >>> from fairclust.datasets import make_synthetic
    >>> data = make_synthetic()
    >>> model = FairKMeans(2, random_state=0).fit(data.data, sensitive_features=data.sensitive_features)
    >>> found = stability(model, data.data, sensitive_features=data.sensitive_features, n_runs=2)
    >>> len(found.kinds)
    4
    """
    checks.check_count("n_runs", n_runs)
    rows = np.asarray(X)
    weights = np.ones(len(rows)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    weighted: dict[str, Any] = {} if sample_weight is None else {"sample_weight": weights}
    cells = model.attributes_.encode(sensitive_features)
    people, columns = Population(model.attributes_, cells), _Rows(sensitive_features)
    first = int(model.random_state) if isinstance(model.random_state, int | np.integer) else 0
    rng = np.random.default_rng(first)
    runs: list[tuple[str, float, float, IntArray]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairclustWarning)
        for i in range(n_runs):
            other = clone(model).set_params(random_state=first + 1 + i, verbose=0)
            other.fit(rows, sensitive_features=sensitive_features, **weighted)
            runs.append(("seed", float(other.objective_), float(other.max_fairness_error_), np.asarray(other.labels_)))
            if on_fit is not None:
                on_fit()
        for i in range(n_runs if hasattr(model, "predict") else 0):
            drawn = np.sort(rng.choice(len(rows), len(rows), p=weights / weights.sum()))
            other = clone(model).set_params(random_state=first + 1 + i, verbose=0)
            wanted = _targets(model) if model.target_proportions is None else model.target_proportions
            other.set_params(target_proportions=wanted, groups=replace(read_options(model.groups), unknown="nearest"))
            other.fit(rows[drawn], sensitive_features=columns.of(drawn))
            labels = other.predict(rows, sensitive_features)
            cost = float(other.objective_) * float(weights.sum()) / len(drawn)
            runs.append(("bootstrap", cost, float(other.max_fairness_error_), np.asarray(labels)))
            if on_fit is not None:
                on_fit()
    return _collected(model, people, weights, runs)


class _Rows:
    """Rows of sensitive features, in whatever form they came."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def of(self, rows: IntArray) -> Any:
        if isinstance(self._values, dict):
            return {name: np.asarray(column)[rows] for name, column in self._values.items()}
        if hasattr(self._values, "iloc"):
            return self._values.iloc[rows]
        if hasattr(self._values, "gather") or hasattr(self._values, "take"):
            return self._values.gather(rows) if hasattr(self._values, "gather") else self._values.take(rows, axis=0)
        return np.asarray(self._values)[rows]


def _targets(model: Any) -> Any:
    """The model's own target, so that a sample is held against the same shares."""
    if model.target_proportions_.ndim != 1:
        return None
    by_attribute: dict[str, dict[Any, float]] = {}
    for attribute in model.attributes_:
        by_attribute[attribute.name] = dict(zip(attribute.names.tolist(), attribute.target.tolist(), strict=True))
    return next(iter(by_attribute.values())) if len(by_attribute) == 1 else by_attribute


def _collected(
    model: Any, people: Population, weights: FloatArray, runs: list[tuple[str, float, float, IntArray]]
) -> Stability:
    labels, n_clusters = np.asarray(model.labels_), int(model.n_clusters)
    low, high = model.proportions_.copy(), model.proportions_.copy()
    together, agreed = np.zeros((len(runs), n_clusters)), np.zeros(len(labels))
    for i, (_, _, _, other) in enumerate(runs):
        table = np.bincount(labels * n_clusters + other, weights=weights, minlength=n_clusters**2)
        table = table.reshape(n_clusters, n_clusters)
        sizes = table.sum(axis=1)
        pairs = np.maximum(sizes * (sizes - 1), 1.0)
        together[i] = np.where(sizes > 1, (table * (table - 1)).clip(0).sum(axis=1) / pairs, 1.0)
        partner = match_clusters(other, labels, n_clusters, n_clusters, weights)
        renamed = partner[other]
        agreed += renamed == labels
        tables = count_cells(encode_groups(renamed, argument="labels"), people, weights)
        shares = np.full_like(low, np.nan)
        found = next(iter(tables.values())).cluster_names.astype(int)
        shares[found] = np.concatenate([one.proportions for one in tables.values()], axis=1)
        low, high = np.fmin(low, shares), np.fmax(high, shares)
    return Stability(
        kinds=np.array([kind for kind, *_ in runs]),
        objectives=np.array([cost for _, cost, _, _ in runs]),
        max_fairness_errors=np.array([error for _, _, error, _ in runs]),
        lowest_shares=low,
        highest_shares=high,
        kept_pairs=together.mean(axis=0),
        agreement=agreed / len(runs),
        labels=labels,
    )
