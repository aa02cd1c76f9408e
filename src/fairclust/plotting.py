"""Pictures with matplotlib, as Display classes in scikit-learn's manner: made from results, drawn by ``plot``.

"Fair" means proportional representation in clusters and nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ._audit.audit import audit_each
from ._typing import AnyArray, FloatArray
from .errors import InvalidInputError, MissingExtraError
from .goals import Goal, brief

__all__ = ["CompositionDisplay", "ConvergenceDisplay", "TradeoffDisplay"]

_GROUP_COLORS = ("#66a61e", "#8e7cc3", "#e6ab02", "#1b9e97", "#e7298a", "#a6761d", "#7fb2e5", "#d95f02", "#b3b3b3")
_LINE = "#0072b2"
_CHOSEN = "#d55e00"
_LONGEST_NAME = 30  # letters of a name in a legend or on an axis


class TradeoffDisplay:
    """The price of fair clusters: clustering objective against fairness error, one point per goal.

    Parameters
    ----------
    fairness_errors, objectives : ndarray of shape (n_points,)
        Scores along the path.
    goals : sequence of Goal or None
        What each point was asked for.
    chosen : int or None, default=None
        Point to mark.

    Attributes
    ----------
    ax_, figure_
        Matplotlib axes and figure, after ``plot``.
    line_ : matplotlib Line2D
        The curve, after ``plot``.

    Examples
    --------
    >>> from fairclust import FairKMeans, fairness_path
    >>> from fairclust.datasets import make_synthetic
    >>> from fairclust.plotting import TradeoffDisplay
    >>> blobs = make_synthetic()
    >>> path = fairness_path(FairKMeans(2, random_state=0), blobs.data, sensitive_features=blobs.sensitive_features)
    >>> display = TradeoffDisplay.from_path(path)
    """

    def __init__(
        self,
        fairness_errors: FloatArray,
        objectives: FloatArray,
        goals: Sequence[Goal | None],
        *,
        chosen: int | None = None,
    ) -> None:
        self.fairness_errors = fairness_errors
        self.objectives = objectives
        self.goals = goals
        self.chosen = chosen

    @classmethod
    def from_path(cls, path: Any, *, goal: Any = None, ax: Any = None) -> Self:
        """Draw a fairness path.

        Parameters
        ----------
        path : FairnessPath
            What :func:`fairclust.fairness_path` returned.
        goal : Goal, float or None, default=None
            Marks the cheapest point that meets this, as ``path.select(goal)`` finds it, where there is one.
        ax : matplotlib axes or None, default=None
            Where to draw. None: a new figure.

        Returns
        -------
        display : TradeoffDisplay
        """
        chosen = None if goal is None or not path.meets(goal).any() else path.index_of(goal)
        return cls(path.fairness_errors, path.objectives, path.goals, chosen=chosen).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw. None: a new figure.

        Returns
        -------
        self : TradeoffDisplay
        """
        self.ax_, self.figure_ = _axes(ax, (6.4, 4.2))
        (self.line_,) = self.ax_.plot(self.fairness_errors, self.objectives, "o-", color=_LINE, markersize=4)
        positive = self.fairness_errors[self.fairness_errors > 0]
        self.ax_.set_xscale("symlog", linthresh=max(float(positive.min()) if len(positive) else 1e-6, 1e-4))
        self.ax_.set_xlim(left=0)
        self.ax_.set_xlabel("fairness error (sum over clusters)")
        self.ax_.set_ylabel("clustering objective")
        self.ax_.set_title("The price of fair clusters")
        if self.chosen is not None:
            at = self.fairness_errors[self.chosen], self.objectives[self.chosen]
            self.ax_.plot(*at, "o", markersize=12, markerfacecolor="none", markeredgecolor=_CHOSEN, markeredgewidth=2)
            self.ax_.annotate(
                brief(self.goals[self.chosen]), at, xytext=(10, 8), textcoords="offset points", color=_CHOSEN
            )
        _tidy(self.ax_)
        return self


class CompositionDisplay:
    """Who is in each cluster: stacked bars of the groups' shares, with lines where the target wants them to meet.

    Parameters
    ----------
    proportions : ndarray of shape (n_clusters, n_groups)
        Share of each group in each cluster.
    target_proportions : ndarray of shape (n_groups,)
        The wanted shares.
    cluster_names : ndarray of shape (n_clusters,)
    group_names : ndarray of shape (n_groups,)

    Attributes
    ----------
    ax_, figure_
        Matplotlib axes and figure, after ``plot``.
    bars_ : list of matplotlib BarContainer
        One per group, after ``plot``.

    Examples
    --------
    >>> from fairclust.plotting import CompositionDisplay
    >>> display = CompositionDisplay.from_predictions([0, 0, 1, 1], ["F", "M", "F", "F"])
    """

    def __init__(
        self, proportions: FloatArray, target_proportions: FloatArray, cluster_names: AnyArray, group_names: AnyArray
    ) -> None:
        self.proportions = proportions
        self.target_proportions = target_proportions
        self.cluster_names = cluster_names
        self.group_names = group_names

    @classmethod
    def from_estimator(cls, estimator: Any, *, attribute: str | None = None, ax: Any = None) -> Self:
        """Draw the clusters of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator
        attribute : str or None, default=None
            Which of several sensitive attributes.
        ax : matplotlib axes or None, default=None
        """
        _check_fitted(estimator, "proportions_")
        names = np.arange(len(estimator.proportions_))
        own = estimator.group_attributes_ == _one_of(estimator.attribute_names_.tolist(), attribute)
        target = estimator.target_proportions_[..., own]
        return cls(estimator.proportions_[:, own], target, names, estimator.group_names_[own]).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        labels: Any,
        sensitive_features: Any,
        *,
        target_proportions: Any = None,
        attribute: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw labels from any algorithm.

        Parameters
        ----------
        labels, sensitive_features : array-like of shape (n_samples,)
        target_proportions : dict, array-like of shape (n_groups,) or None, default=None
            None: the data's shares.
        attribute : str or None, default=None
            Which of several sensitive attributes.
        ax : matplotlib axes or None, default=None
        """
        reports = audit_each(labels, sensitive_features, target_proportions=target_proportions)
        report = reports[_one_of(list(reports), attribute)]
        return cls(report.proportions, report.target_proportions, report.cluster_names, report.group_names).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw. None: a new figure.

        Returns
        -------
        self : CompositionDisplay
        """
        n_clusters, n_groups = self.proportions.shape
        self.ax_, self.figure_ = _axes(ax, (6.4, 1.6 + 0.32 * n_clusters))
        left = np.zeros(n_clusters)
        self.bars_ = []
        for j in range(n_groups):
            color = _GROUP_COLORS[j % len(_GROUP_COLORS)]
            self.bars_.append(
                self.ax_.barh(
                    np.arange(n_clusters),
                    self.proportions[:, j],
                    left=left,
                    color=color,
                    height=0.8,
                    label=_short(self.group_names[j]),
                )
            )
            left = left + self.proportions[:, j]
        for boundary in [] if np.ndim(self.target_proportions) == 2 else np.cumsum(self.target_proportions)[:-1]:
            self.ax_.axvline(boundary, color="black", linestyle="--", linewidth=1.2)
        self.ax_.set_yticks(np.arange(n_clusters), [_short(name) for name in self.cluster_names])
        self.ax_.invert_yaxis()
        self.ax_.set_xlim(0, 1)
        self.ax_.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
        self.ax_.set_xlabel("share of the cluster (dashed: where the target wants the groups to meet)")
        self.ax_.set_ylabel("cluster")
        self.ax_.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=min(n_groups, 4), frameon=False)
        _tidy(self.ax_)
        return self


class ConvergenceDisplay:
    """How a fit went: the energy after each outer iteration. It never rises.

    Parameters
    ----------
    energy_history : ndarray of shape (n_iter,)
        Energies.
    stop_reason : str, default=""
        Why the fit stopped; shown in the title.

    Attributes
    ----------
    ax_, figure_
        Matplotlib axes and figure, after ``plot``.
    line_ : matplotlib Line2D
        The curve, after ``plot``.

    Examples
    --------
    >>> from fairclust import FairKMeans
    >>> from fairclust.datasets import make_synthetic
    >>> from fairclust.plotting import ConvergenceDisplay
    >>> data = make_synthetic()
    >>> model = FairKMeans(2, random_state=0).fit(data.data, sensitive_features=data.sensitive_features)
    >>> display = ConvergenceDisplay.from_estimator(model)
    >>> len(display.line_.get_xdata()) == len(model.energy_history_)
    True
    """

    def __init__(self, energy_history: FloatArray, stop_reason: str = "") -> None:
        self.energy_history = energy_history
        self.stop_reason = stop_reason

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the history of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator
        ax : matplotlib axes or None, default=None
        """
        _check_fitted(estimator, "energy_history_")
        return cls(np.asarray(estimator.energy_history_), str(estimator.stop_reason_)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw. None: a new figure.

        Returns
        -------
        self : ConvergenceDisplay
        """
        self.ax_, self.figure_ = _axes(ax, (6.4, 3.4))
        steps = np.arange(1, len(self.energy_history) + 1)
        (self.line_,) = self.ax_.plot(steps, self.energy_history, "o-", color=_LINE, markersize=4)
        self.ax_.xaxis.get_major_locator().set_params(integer=True)
        self.ax_.set_xlabel("outer iteration")
        self.ax_.set_ylabel("energy")
        self.ax_.set_title(f"Stopped: {self.stop_reason}" if self.stop_reason else "Energy of the fit")
        _tidy(self.ax_)
        return self


def _axes(ax: Any, size: tuple[float, float]) -> tuple[Any, Any]:
    if ax is not None:
        return ax, ax.figure
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingExtraError(
            "plots need matplotlib, which is not installed. Run `pip install 'fairclust[plot]'`."
        ) from error
    figure, made = pyplot.subplots(figsize=size, layout="constrained")
    return made, figure


def _tidy(ax: Any) -> None:
    ax.spines[["top", "right"]].set_visible(False)


def _check_fitted(estimator: Any, attribute: str) -> None:
    if not hasattr(estimator, attribute):
        raise InvalidInputError(f"this {type(estimator).__name__} is not fitted yet. Call fit() first.")


def _one_of(attributes: list[str], wanted: str | None) -> str:
    """The attribute to draw."""
    if wanted is None and len(attributes) == 1:
        return attributes[0]
    if wanted not in attributes:
        raise InvalidInputError(
            f"attribute={wanted!r}, but one of {', '.join(map(repr, attributes))} is needed: one attribute is drawn."
        )
    return wanted


def _short(name: object) -> str:
    # A dollar sign would start a formula.
    text = "".join(sign if sign.isprintable() else " " for sign in str(name)).replace("$", r"\$")
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"
