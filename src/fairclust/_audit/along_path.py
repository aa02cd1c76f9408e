"""The make-up of the clusters at each point of a fairness path, and which points may be shown."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..metrics import Composition
from .hidden import Hidden


def tables_at(path: Any, i: int) -> list[Composition]:
    """Count the groups of each attribute at one point of a path."""
    keep = path.sizes[i] > 0
    counts = (path.proportions[i] * path.sizes[i][:, None])[keep]
    target = path.target_proportions if path.target_proportions.ndim == 1 else path.target_proportions[keep]
    tables = []
    for attribute in dict.fromkeys(path.group_attributes.tolist()):
        own = path.group_attributes == attribute
        tables.append(
            Composition(
                np.flatnonzero(keep),
                path.group_names[own],
                counts[:, own],
                target[..., own],
                attribute,
                path.sizes[i][keep],
            )
        )
    return tables


def is_hidden_at(path: Any, i: int, suppress_below: float | None) -> bool:
    """Whether a point of a path has a count that must not be shown."""
    return any(Hidden.of(table, suppress_below).any for table in tables_at(path, i))
