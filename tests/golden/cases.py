"""The golden fits, as data: a name that stays, the rows, the estimator, what is asked for, and options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# A case whose cost, goal or bound may become worse by a change of method: its name, and why that is right.
REASONS: dict[str, str] = {}


@dataclass(frozen=True)
class Case:
    """One fit: `goal` is a kind and its value, `groups` says how groups are read, `options` is everything else."""

    name: str
    table: str
    estimator: str
    n_clusters: int
    goal: tuple[str, Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    groups: Mapping[str, Any] = field(default_factory=dict)
    source: str = "memory"
    task: str = "fit"  # "path": the goals are those of a path

    @property
    def kind(self) -> str:
        """The kind of request, over which a change of quality is averaged."""
        has_sizes = {"min_cluster_size", "max_cluster_size"} & set(self.options)
        return "sizes" if has_sizes else self.goal[0]

    @property
    def judged(self) -> str:
        """The figure that is to be small: what the goal asks the fit to minimise."""
        kind, _ = self.goal
        return {"plain": "energy", "weight": "energy", "cost increase": "max_fairness_error"}.get(kind, "objective")


PLAIN = ("plain", None)
ERROR = ("error", 0.01)
EXACT = ("exact", None)

_MANHATTAN = {"metric": "manhattan"}
_GEOMETRIC = {"center": "geometric"}
_GOWER = {"metric": "gower", "missing_values": "observed"}
_GAPS = {"missing_values": "observed"}
_GRAPH = {"affinity": "precomputed"}
_PATH_WEIGHTS = (0.0, 30.0, 300.0, 3000.0, 30000.0)

CASES = [
    # K-means, by what is asked for
    Case("kmeans plain", "blobs", "kmeans", 6, PLAIN),
    Case("kmeans plain, 100,000 rows", "large census", "kmeans", 10, PLAIN),
    Case("kmeans small weight", "blobs", "kmeans", 6, ("weight", 100.0)),
    Case("kmeans paper's weight", "planar", "kmeans", 2, ("weight", 10.0)),
    Case("kmeans weight", "census", "kmeans", 20, ("weight", 200.0)),
    Case("kmeans large weight", "blobs", "kmeans", 6, ("weight", 1e6)),
    Case("kmeans weight, 100,000 rows", "large census", "kmeans", 10, ("weight", 2000.0)),
    Case("kmeans weight, many clusters", "six groups", "kmeans", 60, ("weight", 50.0)),
    Case("kmeans error", "census", "kmeans", 20, ERROR),
    Case("kmeans error, 20 rows", "tiny", "kmeans", 3, ERROR),
    Case("kmeans error, 100,000 rows", "large census", "kmeans", 10, ERROR),
    Case("kmeans strict error", "six groups", "kmeans", 12, ("error", 0.0005)),
    Case("kmeans error, three starts", "blobs", "kmeans", 8, ERROR, {"n_init": 3}),
    Case("kmeans exact", "blobs", "kmeans", 6, EXACT),
    Case("kmeans exact, 20 rows", "tiny", "kmeans", 4, EXACT),
    Case("kmeans exact, 10,000 rows", "census", "kmeans", 10, EXACT),
    Case("kmeans balance", "planar unequal", "kmeans", 2, ("balance", 0.3)),
    Case("kmeans balance, census", "census", "kmeans", 10, ("balance", 0.8)),
    Case("kmeans balance out of reach", "small", "kmeans", 4, ("balance", 0.99)),
    Case("kmeans bounds", "blobs", "kmeans", 6, ("bounds", 0.2)),
    Case("kmeans bounds, 100,000 rows", "large census", "kmeans", 10, ("bounds", 0.1)),
    Case("kmeans bounds by name", "small", "kmeans", 4, ("bounds", {"ant": (0.4, 0.6), "cat": (0.1, 0.3)})),
    Case("kmeans rounded bounds", "rare", "kmeans", 5, ("rounded bounds", 0.1)),
    Case("kmeans cost increase", "blobs", "kmeans", 6, ("cost increase", 0.05)),
    Case("kmeans sizes, plain", "small", "kmeans", 5, PLAIN, {"min_cluster_size": 30, "max_cluster_size": 50}),
    Case("kmeans sizes and error", "blobs", "kmeans", 6, ERROR, {"min_cluster_size": 0.1, "max_cluster_size": 0.25}),
    Case("kmeans sizes and weight", "small", "kmeans", 5, ("weight", 100.0), {"min_cluster_size": 25}),
    Case("kmeans sizes and bounds", "small", "kmeans", 4, ("bounds", 0.3), {"max_cluster_size": 0.35}),
    # K-means, by the rows
    Case("kmeans duplicates, error", "whole numbers", "kmeans", 8, ERROR),
    Case("kmeans duplicates, weight", "whole numbers", "kmeans", 8, ("weight", 500.0)),
    Case("kmeans duplicates, exact", "whole numbers", "kmeans", 5, EXACT),
    Case("kmeans rare group, error", "rare", "kmeans", 5, ERROR),
    Case("kmeans rare group, exact", "rare", "kmeans", 5, EXACT),
    Case("kmeans sparse, weight", "sparse", "kmeans", 5, ("weight", 300.0)),
    Case("kmeans sparse, error", "sparse", "kmeans", 5, ERROR),
    Case("kmeans categories and gaps, error", "frame", "kmeans", 5, ERROR, _GAPS),
    Case("kmeans categories and gaps, balance", "frame", "kmeans", 4, ("balance", 0.25), {"missing_values": "own"}),
    Case("kmeans sample weights, error", "weighted", "kmeans", 5, ERROR),
    Case("kmeans sample weights, sizes", "weighted", "kmeans", 5, ("weight", 200.0), {"min_cluster_size": 0.12}),
    Case("kmeans missing groups own", "missing groups", "kmeans", 5, ERROR, groups={"missing_groups": "own"}),
    Case("kmeans missing groups ignored", "missing groups", "kmeans", 5, ERROR, groups={"missing_groups": "ignore"}),
    Case("kmeans missing groups refused", "missing groups", "kmeans", 5, ERROR),
    Case("kmeans overlap, error", "overlap", "kmeans", 5, ERROR),
    Case("kmeans overlap, weight", "overlap", "kmeans", 5, ("weight", 500.0)),
    Case("kmeans overlap, bounds", "overlap", "kmeans", 4, ("bounds", 0.2)),
    Case("kmeans attributes, error", "attributes", "kmeans", 6, ERROR, groups={"quantile_bins": {"age": 3}}),
    Case("kmeans attributes, error, 30,000 rows", "many attributes", "kmeans", 8, ERROR,
         groups={"quantile_bins": {"age": 4}}),
    Case("kmeans attributes, weight", "attributes", "kmeans", 6, ("weight", 200.0),
         groups={"quantile_bins": {"age": 3}, "attribute_weights": {"sex": 2.0}}),
    Case("kmeans attributes, bounds", "attributes", "kmeans", 4, ("bounds", 0.2), groups={"quantile_bins": {"age": 3}}),
    Case("kmeans attributes, exact", "attributes", "kmeans", 4, EXACT, groups={"quantile_bins": {"age": 2}}),
    Case("kmeans intersections", "attributes", "kmeans", 4, ("error", 0.02),
         groups={"quantile_bins": {"age": 2}, "intersections": True}),
    Case("kmeans other target", "small", "kmeans", 3, ("error", 0.05),
         groups={"target_proportions": {"ant": 0.5, "bee": 0.3, "cat": 0.2}}),
    Case("kmeans target out of reach", "small", "kmeans", 3, ("error", 0.05),
         groups={"target_proportions": {"ant": 0.3, "bee": 0.3, "cat": 0.4}}),
    Case("kmeans heavy tails, error", "heavy tails", "kmeans", 6, ERROR),
    Case("kmeans far rows, weight", "far", "kmeans", 5, ("weight", 100.0)),
    Case("kmeans far rows, error", "far", "kmeans", 5, ERROR),
    Case("kmeans scale 1e-15, error", "scale 1e-15", "kmeans", 5, ERROR),
    Case("kmeans scale 1e-15, weight", "scale 1e-15", "kmeans", 5, ("weight", 2e-28)),
    Case("kmeans scale 1e15, error", "scale 1e15", "kmeans", 5, ERROR),
    Case("kmeans scale 1e15, weight", "scale 1e15", "kmeans", 5, ("weight", 2e32)),
    # K-means, by the method
    Case("kmeans bound solver", "planar unequal", "kmeans", 2, ("weight", 10.0), {"solver": "bound"}),
    Case("kmeans bound solver, blobs", "small", "kmeans", 4, ("weight", 60.0), {"solver": "bound"}),
    Case("kmeans bound solver, error", "small", "kmeans", 4, ERROR, {"solver": "bound"}),
    Case("kmeans soft assignments", "blobs", "kmeans", 6, ("weight", 300.0), {"assignments": "soft"}),
    Case("kmeans not polished", "blobs", "kmeans", 6, ERROR, {"polish": False}),
    Case("kmeans random starts", "small", "kmeans", 4, ERROR, {"init": "random"}),
    Case("kmeans path of weights", "blobs", "kmeans", 6, ("weight", _PATH_WEIGHTS), task="path"),
    Case("kmeans path of errors", "blobs", "kmeans", 6, ("error", (0.1, 0.03, 0.01)), task="path"),
    # K-means, by the source
    Case("kmeans memory map, weight", "many", "kmeans", 6, ("weight", 2000.0), source="memmap"),
    Case("kmeans memory map, error", "many", "kmeans", 6, ERROR, source="memmap"),
    Case("kmeans Parquet, weight", "many weighted", "kmeans", 6, ("weight", 2000.0), source="parquet"),
    Case("kmeans Parquet, exact", "many", "kmeans", 5, EXACT, source="parquet"),
    Case("kmeans Parquet, balance", "many", "kmeans", 6, ("balance", 0.2), source="parquet"),
    Case("kmeans Parquet, categories", "frame", "kmeans", 5, ERROR, _GAPS, source="parquet"),
    Case("kmeans Parquet, attributes", "attributes", "kmeans", 5, ("error", 0.02), source="parquet",
         groups={"quantile_bins": {"age": 3}}),
    Case("kmeans Dask, weight", "many", "kmeans", 6, ("weight", 2000.0), source="dask"),
    Case("kmeans Dask, bounds", "many", "kmeans", 6, ("bounds", 0.2), source="dask"),
    Case("kmeans Dask cluster, error", "many weighted", "kmeans", 6, ERROR, source="dask cluster"),
    # K-median
    Case("kmedian plain", "blobs", "kmedian", 6, PLAIN),
    Case("kmedian weight", "blobs", "kmedian", 6, ("weight", 100.0)),
    Case("kmedian error", "blobs", "kmedian", 6, ERROR),
    Case("kmedian error, census", "census", "kmedian", 8, ERROR, _GEOMETRIC),
    Case("kmedian exact", "small", "kmedian", 4, EXACT),
    Case("kmedian balance, sizes", "small", "kmedian", 4, ("balance", 0.2), {"max_cluster_size": 0.4}),
    Case("kmedian manhattan, error", "blobs", "kmedian", 5, ERROR, _MANHATTAN),
    Case("kmedian Gower, error", "frame", "kmedian", 4, ERROR, _GOWER),
    Case("kmedian Gower, weight", "frame", "kmedian", 4, ("weight", 20.0), _GOWER | _GEOMETRIC),
    Case("kmedian duplicates, weight", "whole numbers", "kmedian", 6, ("weight", 200.0)),
    Case("kmedian sample weights, error", "weighted", "kmedian", 5, ERROR),
    Case("kmedian bound solver, soft", "small", "kmedian", 4, ("weight", 20.0),
         {"solver": "bound", "assignments": "soft"}),
    Case("kmedian Parquet, weight", "many", "kmedian", 5, ("weight", 1000.0), _GEOMETRIC, source="parquet"),
    Case("kmedian memory map, error", "many", "kmedian", 5, ERROR, source="memmap"),
    # Ncut
    Case("ncut plain", "blobs", "ncut", 6, PLAIN),
    Case("ncut weight", "blobs", "ncut", 6, ("weight", 10.0)),
    Case("ncut error", "blobs", "ncut", 5, ERROR),
    Case("ncut exact, 20 rows", "tiny", "ncut", 2, EXACT, {"n_neighbors": 5}),
    Case("ncut balance", "blobs", "ncut", 5, ("balance", 0.2)),
    Case("ncut bounds", "small", "ncut", 3, ("bounds", 0.3)),
    Case("ncut graph, error", "graph", "ncut", 5, ERROR, _GRAPH),
    Case("ncut Gower, weight", "frame", "ncut", 4, ("weight", 5.0), _GOWER),
    Case("ncut overlap, error", "overlap", "ncut", 4, ERROR),
    Case("ncut bound solver", "small", "ncut", 3, ("weight", 5.0), {"solver": "bound", "polish": False}),
]  # fmt: skip
