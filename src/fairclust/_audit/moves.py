"""Who changed cluster between two clusterings of the same people, how far, and in which group. No fit is made here."""

from __future__ import annotations

import html
import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from .. import metrics
from .._checks import check_number, check_same_length
from .._people.attributes import Groups, Population, read_options
from .._people.columns import read_columns, to_column
from .._people.encode import EncodedGroups, encode_groups, encode_people, everyone
from .._typing import AnyArray, FloatArray, IntArray
from ..errors import InvalidInputError, MissingExtraError
from .audit import shown_name
from .hidden import Hidden

__all__ = ["GroupMoves", "Moves", "compare", "compare_encoded"]

_BLOCK = 1 << 20  # numbers held at a time


@dataclass(frozen=True)
class GroupMoves:
    """What happened to one group; the figures on distances are NaN without X or where nobody moved.

    Attributes
    ----------
    attribute, group : str
    n_people, n_moved : float
        People (or their weight), and those of them who changed cluster.
    mean, median, high, worst : float
        Extra distance to the middle of the own cluster of those who moved: mean, median, 90th percentile, largest.
    cost_before, cost_after : float
        Squared distance to the middle of the own cluster, per head of the whole group.
    """

    attribute: str
    group: str
    n_people: float
    n_moved: float
    mean: float = float("nan")
    median: float = float("nan")
    high: float = float("nan")
    worst: float = float("nan")
    cost_before: float = float("nan")
    cost_after: float = float("nan")

    @property
    def share_moved(self) -> float:
        """Share of the group that changed cluster."""
        return self.n_moved / self.n_people if self.n_people > 0 else 0.0

    @property
    def pays(self) -> float:
        """What the group pays per head (below 0: gains), in squared distance."""
        return self.cost_after - self.cost_before


@dataclass(frozen=True, eq=False, repr=False)
class Moves:
    """Who changed cluster between two clusterings, after their clusters were matched. Print it, or read its numbers.

    Attributes
    ----------
    before, after : ndarray of shape (n_samples,)
        Labels; ``before`` as they were given.
    renamed : ndarray of shape (n_samples,)
        ``before`` under the names of ``after``, each cluster under the name of the one that holds most of its people
        (matched one to one); what has no partner keeps its name with "(before)".
    moved : ndarray of shape (n_samples,), bool
        Who changed cluster.
    extra_distance : ndarray of shape (n_samples,) or None
        Distance to the middle of the cluster after, minus that before; None without X.
    groups : tuple of GroupMoves
        One per group of every attribute, and the last for everybody.
    make_up_before, make_up_after : dict of str to Composition
        The make-up of the clusters by attribute; the clusters before under their new names.
    suppress_below : float or None
        Numbers of people below this, and what would give them away, are not shown in text and HTML.

    Examples
    --------
    >>> from fairclust import compare
    >>> moves = compare([0, 0, 1, 1], [0, 1, 1, 1], sensitive_features=["F", "M", "F", "M"])
    >>> moves.n_moved, moves.flows()
    (1, [('0', '1', 1)])
    """

    before: AnyArray
    after: AnyArray
    renamed: AnyArray
    moved: AnyArray
    extra_distance: FloatArray | None
    groups: tuple[GroupMoves, ...]
    make_up_before: dict[str, metrics.Composition]
    make_up_after: dict[str, metrics.Composition]
    suppress_below: float | None = None
    is_weighted: bool = False

    @property
    def n_moved(self) -> int:
        """Number of rows that changed cluster."""
        return int(self.moved.sum())

    @property
    def share_moved(self) -> float:
        """Share of everybody (or their weight) that changed cluster."""
        return self.groups[-1].share_moved

    def flows(self) -> list[tuple[str, str, int]]:
        """From which cluster to which, and how many rows: largest first, those who stayed left out."""
        pairs, counts = np.unique(
            np.column_stack((self.renamed[self.moved].astype(str), self.after[self.moved].astype(str))),
            axis=0,
            return_counts=True,
        )
        order = np.argsort(-counts, kind="stable")
        return [(str(pairs[i, 0]), str(pairs[i, 1]), int(counts[i])) for i in order]

    def hidden(self) -> dict[str, AnyArray]:
        """Which groups of each attribute have too few who moved, or too few who stayed, to be shown."""
        found = {}
        for attribute in dict.fromkeys(group.attribute for group in self.groups):
            own = [group for group in self.groups if group.attribute == attribute]
            counts = np.array([[g.n_moved for g in own], [g.n_people - g.n_moved for g in own]])
            table = metrics.Composition(
                np.array(["moved", "stayed"]), np.array([g.group for g in own]), counts, counts[0]
            )
            found[attribute] = np.asarray(Hidden.of(table, self.suppress_below).cells.any(axis=0))
        return found

    def visible(self) -> list[GroupMoves | tuple[str, str]]:
        """The groups in order; those that must stay hidden as (attribute, group) only."""
        hidden = self.hidden()
        places: dict[str, int] = {}
        found: list[GroupMoves | tuple[str, str]] = []
        for group in self.groups:
            j = places[group.attribute] = places.get(group.attribute, -1) + 1
            found.append((group.attribute, group.group) if hidden[group.attribute][j] else group)
        return found

    def sentences(self) -> list[str]:
        """Tell it in words."""
        found = []
        for group in self.visible():
            if isinstance(group, tuple):
                found.append(
                    f"How many of {shown_name(group[1])} changed cluster is not shown: the numbers are too small."
                )
                continue
            who = "all" if group.group == "everybody" else f"'{shown_name(group.group)}'"
            far = ""
            if group.n_moved > 0 and np.isfinite(group.mean):
                worst = "" if self.suppress_below is not None else f", at most {group.worst:.3g}"
                far = (
                    f"; those are {_more(group.mean)} on average (median {group.median:+.3g}, one in ten "
                    f"{group.high:+.3g} or more{worst})"
                )
            pays = ""
            if np.isfinite(group.pays):
                verb = "gain" if group.pays < 0 else "pay"
                pays = f". Per head they {verb} {abs(group.pays):.3g} in squared distance"
            found.append(
                f"Of {group.n_people:,.6g} people in {who} {group.n_moved:,.6g} ({100 * group.share_moved:.1f} %) "
                f"changed cluster{far}{pays}."
            )
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; what must be hidden is None.

        Returns
        -------
        moves : dict
        """
        rows = []
        for group in self.visible():
            if isinstance(group, tuple):
                rows.append({"attribute": group[0], "group": group[1], "n_people": None, "n_moved": None})
                continue
            row = {
                "attribute": group.attribute,
                "group": group.group,
                "n_people": group.n_people,
                "n_moved": group.n_moved,
                "share_moved": group.share_moved,
                "extra_distance_mean": group.mean,
                "extra_distance_median": group.median,
                "extra_distance_90th_percentile": group.high,
                "extra_distance_worst": None if self.suppress_below is not None else group.worst,
                "cost_per_head_before": group.cost_before,
                "cost_per_head_after": group.cost_after,
            }
            rows.append({key: _plain(value) for key, value in row.items()})
        return {"groups": rows}

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row per group. Exact: ``suppress_below`` hides nothing here.

        Returns
        -------
        frame : pandas.DataFrame
        """
        pandas = _pandas("to_frame()")
        frame = pandas.DataFrame([vars(group) for group in self.groups])
        frame.insert(4, "share_moved", [group.share_moved for group in self.groups])
        frame["pays"] = [group.pays for group in self.groups]
        return frame

    def people(self) -> dict[str, AnyArray]:
        """Return one entry per person: cluster before (under its new name) and after, who moved, the extra distance.

        Returns
        -------
        columns : dict of str to ndarray of shape (n_samples,)
        """
        columns: dict[str, AnyArray] = {"before": self.renamed, "after": self.after, "moved": self.moved}
        return columns if self.extra_distance is None else columns | {"extra_distance": self.extra_distance}

    def __repr__(self) -> str:
        return (
            f"Moves(n_samples={len(self.after)}, share_moved={self.share_moved:.3g}, n_groups={len(self.groups) - 1})"
        )

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in self.sentences())
        return f"<ul>{items}</ul>"


def compare(
    before: Any,
    after: Any,
    *,
    sensitive_features: Any = None,
    X: Any = None,
    groups: Groups | None = None,
    sample_weight: Any = None,
    suppress_below: float | None = None,
) -> Moves:
    """Tell who changed cluster between two clusterings of the same people, and what that means for each group.

    Clusters are matched one to one so that as many people as possible stay (the Hungarian method); names of clusters
    do not matter.

    Parameters
    ----------
    before, after : array-like of shape (n_samples,)
        Labels, from any algorithm; usually those of plain and of fair clustering.
    sensitive_features : column, data frame, 2-D array, dict of columns or None
        The groups of each person. None: everybody is one group.
    X : array-like of shape (n_samples, n_features) or None, default=None
        The data: adds distances to the means of the clusters.
    groups : Groups or None, default=None
        How sensitive columns become groups.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights ≥ 0.
    suppress_below : float > 0 or None, default=None
        For privacy: groups in which fewer people moved (or stayed) are not shown in text, HTML and ``to_dict()``.

    Returns
    -------
    moves : Moves

    Examples
    --------
    >>> from fairclust import compare
    >>> moves = compare([0, 0, 1, 1, 1], ["b", "b", "a", "a", "b"], sensitive_features=["F", "M", "F", "M", "M"])
    >>> print(moves)
    Of 2 people in 'F' 0 (0.0 %) changed cluster.
    Of 3 people in 'M' 1 (33.3 %) changed cluster.
    Of 5 people in all 1 (20.0 %) changed cluster.
    """
    first, second = to_column(before, "before"), to_column(after, "after")
    if len(first) != len(second):
        raise InvalidInputError(
            f"before has {len(first)} labels, but after has {len(second)}. Pass one of each per row."
        )
    weights = None
    if sample_weight is not None:
        weights = np.asarray(sample_weight, dtype=float)
        check_same_length("sample_weight", weights, len(first))
    if sensitive_features is None:
        people = everyone(len(first))
    else:
        table = read_columns(sensitive_features)
        check_same_length("sensitive_features", table.columns[0], len(first))
        people = encode_people(table, options=read_options(groups), weights=weights)
    return compare_encoded(first, second, people, X=X, sample_weight=weights, suppress_below=suppress_below)


def compare_encoded(
    before: AnyArray,
    after: AnyArray,
    people: Population,
    *,
    X: Any = None,
    sample_weight: FloatArray | None = None,
    suppress_below: float | None = None,
) -> Moves:
    """Do what :func:`compare` does for people who are encoded already.

    Parameters
    ----------
    before, after : ndarray of shape (n_samples,)
    people : Population
    X, sample_weight, suppress_below
        As for :func:`compare`.
    """
    if suppress_below is not None:
        check_number("suppress_below", suppress_below, lowest=0.0, above=True)
    old, new = encode_groups(before, argument="before"), encode_groups(after, argument="after")
    weights = np.ones(len(new.codes)) if sample_weight is None else sample_weight
    partner = match_clusters(old.codes, new.codes, old.n_groups, new.n_groups, weights)
    moved = partner[old.codes] != new.codes
    names = np.array([_new_name(i, partner, old, new) for i in range(old.n_groups)], dtype=object)
    distances = None if X is None else [_distances(np.asarray(X), one, weights) for one in (old, new)]
    extra = None if distances is None else distances[1] - distances[0]
    renamed = EncodedGroups(old.codes, names, old.target)
    return Moves(
        before=before,
        after=after,
        renamed=names[old.codes]
        if any(isinstance(n, str) for n in names)
        else names[old.codes].astype(new.names.dtype),
        moved=moved,
        extra_distance=extra,
        groups=tuple(_by_group(people, moved, extra, distances, weights)),
        make_up_before=metrics.count_cells(renamed, people, weights),
        make_up_after=metrics.count_cells(new, people, weights),
        suppress_below=suppress_below,
        is_weighted=sample_weight is not None,
    )


def match_clusters(old: IntArray, new: IntArray, n_old: int, n_new: int, weights: FloatArray) -> IntArray:
    """Partner of each old cluster among the new ones, so that most people stay; -1 where there is none."""
    together = np.bincount(old.astype(np.intp) * n_new + new, weights=weights, minlength=n_old * n_new)
    rows, columns = linear_sum_assignment(together.reshape(n_old, n_new), maximize=True)
    partner = np.full(n_old, -1, dtype=np.intp)
    partner[rows] = columns
    return partner


def _new_name(i: int, partner: IntArray, old: EncodedGroups, new: EncodedGroups) -> Any:
    return new.names.tolist()[partner[i]] if partner[i] >= 0 else f"{old.names.tolist()[i]} (before)"


def _distances(X: AnyArray, clusters: EncodedGroups, weights: FloatArray) -> FloatArray:
    """Distance of every row to the mean of its cluster, some rows at a time."""
    if X.ndim != 2 or len(X) != len(clusters.codes):
        raise InvalidInputError(f"X has shape {X.shape}, but there are {len(clusters.codes)} labels.")
    mass = np.bincount(clusters.codes, weights=weights, minlength=clusters.n_groups)
    means = np.zeros((clusters.n_groups, X.shape[1]))
    step = max(1, _BLOCK // X.shape[1])
    for i in range(0, len(X), step):
        own = slice(i, i + step)
        np.add.at(means, clusters.codes[own], X[own].astype(float) * weights[own, None])
    means /= np.where(mass > 0, mass, 1.0)[:, None]
    found = np.empty(len(X))
    for i in range(0, len(X), step):
        own = slice(i, i + step)
        found[own] = np.linalg.norm(X[own].astype(float) - means[clusters.codes[own]], axis=1)
    return found


def _by_group(
    people: Population,
    moved: AnyArray,
    extra: FloatArray | None,
    distances: Sequence[FloatArray] | None,
    weights: FloatArray,
) -> list[GroupMoves]:
    found, cells, first = [], people.cells, 0
    for attribute in people.attributes if people.has_groups else ():
        for j, name in enumerate(attribute.names.tolist()):
            members = (cells.membership[:, first + j] > 0)[cells.codes]
            found.append(_one_group(attribute.name, str(name), members, moved, extra, distances, weights))
        first += attribute.n_columns
    everybody = np.ones(len(moved), dtype=bool)
    return [*found, _one_group("", "everybody", everybody, moved, extra, distances, weights)]


def _one_group(
    attribute: str,
    name: str,
    members: AnyArray,
    moved: AnyArray,
    extra: FloatArray | None,
    distances: Sequence[FloatArray] | None,
    weights: FloatArray,
) -> GroupMoves:
    gone = members & moved & (weights > 0)
    n_people, n_moved = float(weights[members].sum()), float(weights[gone].sum())
    if extra is None or distances is None or n_people <= 0:
        return GroupMoves(attribute, name, n_people, n_moved)
    per_head = [float(weights[members] @ one[members] ** 2) / n_people for one in distances]
    if not gone.any():
        return GroupMoves(attribute, name, n_people, n_moved, cost_before=per_head[0], cost_after=per_head[1])
    far = extra[gone]
    median, high = np.quantile(far, [0.5, 0.9])
    mean = float(np.average(far, weights=weights[gone]))
    return GroupMoves(attribute, name, n_people, n_moved, mean, float(median), float(high), float(far.max()), *per_head)


def _more(distance: float) -> str:
    return f"{abs(distance):.3g} {'further from' if distance >= 0 else 'nearer to'} the middle of their cluster"


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _pandas(what: str) -> Any:
    try:
        return importlib.import_module("pandas")
    except ImportError as error:
        raise MissingExtraError(f"{what} needs pandas, which is not installed. Run `pip install pandas`.") from error
