"""Targets: the share of each group that is asked for, by name or in order, checked. Knows names, not people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._typing import AnyArray, FloatArray
from ..errors import InvalidInputError
from .columns import listed


def target_of(wanted: Any, names: AnyArray, shares: FloatArray, *, adds_up: bool = True) -> FloatArray:
    """Check a target, by name or in order.

    Parameters
    ----------
    wanted : mapping, array-like or None
        None: the data's shares.
    names : ndarray of shape (n_groups,)
    shares : ndarray of shape (n_groups,)
        The data's.
    adds_up : bool
        Whether the shares must add up to 1: not where groups overlap.
    """
    if wanted is None:
        return shares
    target = _target_by_name(wanted, names) if isinstance(wanted, Mapping) else _target_in_order(wanted, names)
    if not np.isfinite(target).all() or (target < 0).any() or (target > 1 + 1e-6).any():
        raise InvalidInputError(f"target_proportions must be shares between 0 and 1, but holds {wanted!r}.")
    if adds_up and abs(target.sum() - 1.0) > 1e-6:
        raise InvalidInputError(
            f"target_proportions adds up to {target.sum():.6g}, not 1: {wanted!r}. Divide each share by that sum."
        )
    impossible = np.flatnonzero((target > 0) & (shares <= 0))
    if len(impossible):
        raise InvalidInputError(
            f"target_proportions gives {target[impossible[0]]:.2f} to group {names[impossible[0]]!r}, which has no "
            "weight in the data, so no clustering can reach it. Set its share to 0."
        )
    return target / target.sum() if adds_up else target


def targets_by_attribute(
    wanted: Any, names: Sequence[str], groups_by_label: Mapping[Any, tuple[str, Any]]
) -> list[Any]:
    """The target that was asked for of each attribute.

    Parameters
    ----------
    wanted : mapping, array-like or None
    names : sequence of str
        The attributes'.
    groups_by_label : mapping
        Attribute and group behind every ``attribute=group``.
    """
    if len(names) == 1:
        only = names[0]
        is_nested = isinstance(wanted, Mapping) and list(wanted) == [only] and isinstance(wanted[only], Mapping)
        return [wanted[only] if is_nested else wanted]
    if wanted is None:
        return [None] * len(names)
    if not isinstance(wanted, Mapping):
        raise InvalidInputError(
            f"target_proportions={wanted!r}, but there are {len(names)} attributes: {listed(names)}. Give a dict "
            "{attribute: shares}."
        )
    wanted = _nested(wanted, groups_by_label)
    unknown = [name for name in wanted if str(name) not in names]
    if unknown:
        raise InvalidInputError(
            f"target_proportions names {listed(unknown)}, but the attributes are {listed(names)}. With several "
            "attributes, give a dict {attribute: shares}."
        )
    by_text = {str(name): shares for name, shares in wanted.items()}
    return [by_text.get(name) for name in names]


def _nested(wanted: Mapping[Any, Any], groups_by_label: Mapping[Any, tuple[str, Any]]) -> Mapping[Any, Any]:
    """Shares by ``attribute=group`` → shares by attribute; what is by attribute already stays."""
    if not wanted or not all(name in groups_by_label for name in wanted):
        return wanted
    nested: dict[str, dict[Any, Any]] = {}
    for label, share in wanted.items():
        attribute, group = groups_by_label[label]
        nested.setdefault(attribute, {})[group] = share
    return nested


def target_of_attribute(
    wanted: Any, name: str, names: AnyArray, mass: FloatArray, *, overlaps: bool, n_clusters: int | None, argument: str
) -> FloatArray:
    """Check the target of one attribute, of all clusters or of each.

    Parameters
    ----------
    wanted : mapping, array-like or None
        One target, or one per cluster. None: the shares of the masses.
    name, names : str, ndarray of shape (n_groups,)
        The attribute's, and its groups'.
    mass : ndarray of shape (n_groups,) or (n_groups + 1,)
        Weight of each group; where groups overlap, also of everyone.
    overlaps : bool
    n_clusters : int or None
        Rows that a target per cluster must have.
    argument : str
        How messages call the sensitive features.
    """
    total = float(mass[-1] if overlaps else mass.sum())
    if total <= 0:
        raise InvalidInputError(
            f"{argument}: nobody with a positive weight counts in attribute {name!r}, so it has no shares. "
            "Leave it out."
        )
    shares = mass[: len(names)] / total
    rows = _target_rows(wanted)
    if rows is None:
        return target_of(wanted, names, shares, adds_up=not overlaps)
    if n_clusters is not None and len(rows) != n_clusters:
        raise InvalidInputError(
            f"target_proportions has {len(rows)} rows but n_clusters={n_clusters}. Give one row of shares per cluster."
        )
    return np.stack([target_of(row, names, shares, adds_up=not overlaps) for row in rows])


def _target_rows(wanted: Any) -> list[Any] | None:
    """One target per cluster, if that is what was given."""
    if wanted is None or isinstance(wanted, Mapping):
        return None
    rows = list(wanted)
    is_table = bool(rows) and all(isinstance(row, Mapping) or np.ndim(row) == 1 for row in rows)
    return rows if is_table else None


def _target_by_name(wanted: Mapping[Any, float], names: AnyArray) -> FloatArray:
    groups = names.tolist()
    by_text = {str(name): name for name in groups}
    shares = {name if name in groups else by_text.get(str(name), name): share for name, share in wanted.items()}
    unknown = [name for name in shares if name not in groups]
    if unknown:
        raise InvalidInputError(
            f"target_proportions names {listed(unknown)}, but the groups are {listed(groups)}. "
            "Use the groups' names as they are in sensitive_features."
        )
    absent = [name for name in groups if name not in shares]
    if absent:
        raise InvalidInputError(
            f"target_proportions has no share for {listed(absent)}. Give every group a share (0 is allowed)."
        )
    return np.array([float(shares[name]) for name in groups])


def _target_in_order(wanted: Any, names: AnyArray) -> FloatArray:
    target = np.asarray(wanted, dtype=float)
    if target.shape != (len(names),):
        raise InvalidInputError(
            f"target_proportions has shape {target.shape}, but there are {len(names)} groups: "
            f"{listed(names.tolist())}. Give one share per group, in this order, or a dict {{group: share}}."
        )
    return target
