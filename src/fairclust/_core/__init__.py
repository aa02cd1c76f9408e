"""The kernels: passes over the points, compiled where a compiler was at hand, in NumPy otherwise.

Both modules offer the same functions over the same arrays:

==================  ===================================================================================
Plan                where the points lie: visiting order, tiles and chunks (see :mod:`fairclust._sweep.layout`)
distances           excess costs from centres: squared euclidean (0), euclidean (1) or manhattan (2)
sweep               softmax(−scale·a − scaled_price[cell]) counted by cell: masses, cost, log-partition, curvature
assign              argmin(a + price[cell]) counted by cell: labels, masses, cost, gap to the second best
sweep_rows          distances and sweep at once: the costs are not kept
assign_rows         distances, assign and label_sums at once
open_places         points that are near to a second choice, and what the others count
copy_costs          the costs of such points, side by side
soft_rows           that softmax written out, one row per point
label_sums          sums of the rows of X by label
label_changes       what those gain and lose where few labels change
cheapest_moves      points whose moves from one cluster to another cost least
find_moves          points that a move to another cluster would serve better
make_moves          those moves, one at a time, the means following
soft_sums           sums of the rows of X weighted by that softmax
coded_distances     excess costs of rows of numbers and categories: a lookup per category (see rows.hpp)
coded_costs         the same costs of some rows, written out in double precision
coded_sums          by label: sums of the numbers, how many are there, weight of each code
coded_moves         single rows change cluster, the means and shares following
sparse_distances    excess costs of sparse rows (CSR), squared euclidean
sparse_sums         sums of sparse rows by label
medoids             medoid of each cluster, a lower bound of what any medoid costs, distances computed
coordinate_medians  weighted median of each feature, by label
trial_costs         distances from the nearest seed, with each of some points as one more
visiting_order      rows sorted by cell within each stretch
halves              two centres of each cluster's points, and what they save
feature_moments     mean and squares about it of every feature
median_sums         what a step of Weiszfeld's iteration needs, by label
link_costs          excess costs of Ncut's bound, from the links W·S of every node
associations        links inside each cluster, and its degrees
move_nodes          single nodes change cluster while that lowers Ncut + fairness
match_nodes         pairs of strongly tied nodes, for a coarser graph
contract            the coarser graph
laplacian           sums of pairs that a sweep counted → how masses answer to prices
response            the same for unknowns behind the prices: a matrix for Newton's step
kl_value            KL(target ‖ shares) of each cluster, from masses
kl_beyond           people by which each cluster is beyond such an error
kl_expansion        the value with its slope and its second derivative without the negative part
weighted_look       what a sweep says of the relaxed energy at a weight, with Newton's step
newton_system       Newton's system for the prices at a weight, symmetric
newton_step         its solution
damped_weight_step  a step at a weight that is as long as each price is trusted
damped_cone_step    the same for unknowns behind the prices
cone_slope          slope of a goal's dual
cone_step           a step there
held_look           what a sweep says while sizes are held
held_step           a step there: each cell has a system of its own
rounding            what labels hold over what soft assignments hold
move_rows           masses of clusters with a person of each cell more, or less
note_moves          what those cost, as what it costs to enter and to leave
learned_lengths     how far each unknown's next step is trusted
error_mixes         the dearest mixes whose KL error is within a limit, their worth, how they turn
==================  ===================================================================================

X is stored row by row; ``distances``, ``sweep_rows``, ``assign_rows``, ``label_sums`` and ``label_changes`` also take
it feature by feature (Fortran order).
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
