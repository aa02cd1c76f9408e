"""The gallery in the order to look through it: what it does, how to ask, who is counted, what it costs."""

from __future__ import annotations

from pathlib import Path

GALLERY = [
    "before_and_after",
    "goals",
    "exact_proportions",
    "tradeoff",
    "prices",
    "target",
    "several_attributes",
    "intersections",
    "overlapping_groups",
    "survey_weights",
    "cluster_sizes",
    "medoids",
    "shapes",
    "new_people",
    "pipeline",
    "audit_any_labels",
    "convergence",
    "baselines",
]


class TeachingOrder:
    """A key to sort file names by: tutorials by their number, examples by the list; one that is missing is an error."""

    def __init__(self, src_dir: str) -> None:
        self.is_gallery = Path(src_dir).name == "gallery"

    def __call__(self, filename: str) -> str | int:
        """Where the file stands."""
        return GALLERY.index(Path(filename).stem.removeprefix("plot_")) if self.is_gallery else filename
