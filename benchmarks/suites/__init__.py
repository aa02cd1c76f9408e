"""The suites by name, in the order in which they run. A new one is one file and one line here.

Quality comes last: it imports the heavy peers, which must not disturb the timings of the others.
"""

from __future__ import annotations

from collections.abc import Callable

from ..context import Context
from ..records import SuiteResult
from . import clusters, frontier, goals, hard, memory, parity, quality, speed, starts, sweep, threads

SUITES: dict[str, tuple[str, Callable[[Context, SuiteResult], None]]] = {
    "speed": ("A whole fit against plain K-means", speed.run),
    "starts": ("Whole calls that draw their starts", starts.run),
    "clusters": ("Many clusters and many groups", clusters.run),
    "sweep": ("Cost of one pass per point, by number of points", sweep.run),
    "memory": ("Peak memory of a fit beyond its input", memory.run),
    "parity": ("λ=0 against scikit-learn's KMeans", parity.run),
    "threads": ("The same bits for 1, 2 and 4 threads", threads.run),
    "goals": ("What it costs to ask for a fairness level", goals.run),
    "hard": ("Goals on ordinary tables", hard.run),
    "frontier": ("The cheapest clustering at a given fairness", frontier.run),
    "quality": ("Objective and fairness at common seeds", quality.run),
}
"""Name → title, and the function that fills the result."""

FULL_ONLY = frozenset({"clusters", "frontier", "hard"})
"""Suites of many minutes: in a quick run only when asked for by name."""
