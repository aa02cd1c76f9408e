"""The kernels: passes over the points, compiled where a compiler was at hand, in NumPy otherwise.

Both modules offer the same functions over the same arrays:

==================  ===================================================================================
Plan                where the points lie: visiting order, tiles and chunks (see :mod:`fairclust._data.layout`)
distances           excess costs from centres: squared euclidean (0), euclidean (1) or manhattan (2)
sweep               softmax(−scale·a − scaled_price[cell]) counted by cell: masses, cost, log-partition, curvature
assign              argmin(a + price[cell]) counted by cell: labels, masses, cost, gap to the second best
sweep_rows          distances and sweep at once: the costs are not kept
assign_rows         distances, assign and label_sums at once
soft_rows           that softmax written out, one row per point
label_sums          sums of the rows of X by label
cheapest_moves      points whose moves from one cluster to another cost least
soft_sums           sums of the rows of X weighted by that softmax
coded_distances     excess costs of rows of numbers and categories: a lookup per category (see rows.hpp)
coded_costs         the same costs of all rows, in double precision
coded_sums          by label: sums of the numbers, how many are there, weight of each code
sparse_distances    excess costs of sparse rows (CSR), squared euclidean
sparse_sums         sums of sparse rows by label
medoids             medoid of each cluster, a lower bound of what any medoid costs, distances computed
coordinate_medians  weighted median of each feature, by label
trial_costs         distances from the nearest seed, with each of some points as one more
visiting_order      rows sorted by cell within each stretch
halves              two centres of each cluster's points, and what they save
median_sums         what a step of Weiszfeld's iteration needs, by label
link_costs          excess costs of Ncut's bound, from the links W·S of every node
associations        links inside each cluster, and its degrees
move_nodes          single nodes change cluster while that lowers Ncut + fairness
match_nodes         pairs of strongly tied nodes, for a coarser graph
contract            the coarser graph
laplacian           sums of pairs that a sweep counted → how masses answer to prices
response            the same for unknowns behind the prices: a matrix for Newton's step
kl_support          support function of KL (a limit, or a weight): maximisers, maxima, Jacobian
==================  ===================================================================================

X is stored row by row; ``distances``, ``sweep_rows``, ``assign_rows`` and ``label_sums`` also take it feature by
feature (Fortran order).
Costs are stored as the excess over the point's cheapest cluster, ``[tile][cluster][point of the tile]``, float32.
Tables are (cells, clusters), float64. A new kernel lands with its NumPy twin, a law test and a benchmark.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from . import fallback

if TYPE_CHECKING:  # calls are checked against the stub of the compiled module, `make stubs`
    from . import _kernels as kernels
else:
    try:
        kernels = import_module("._kernels", __name__)
    except ImportError:  # installed without a compiler
        kernels = fallback

is_compiled: bool = kernels is not fallback
