"""What a goal is to a solver: a convex set of fair mixes. The masses that meet the goal are the cone over it.

For a table θ (n_clusters, n_groups) a cone names the dearest fair mix of every cluster, ``q(θ) = argmax ⟨θ_k, q⟩`` over
the fair compositions, what it is worth, ``h(θ) = ⟨θ_k, q⟩``, and how it turns with θ. Prices θ − h(θ) are then prices
that no fair mix of people pays on balance, whatever the size of the cluster: that is all a lower bound needs.

A little *softness* δ makes the mix a smooth function of θ: q maximises ⟨θ, q⟩ − δ·KL(centre ‖ q). Without it (δ = 0)
the worth is exact, as bounds need it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, Self

from .._typing import FloatArray

ROUNDING = 1e-9  # people, or a part of what is bounded: less is the rounding of sums


class Mixes(NamedTuple):
    """The dearest fair mix of every cluster.

    Attributes
    ----------
    proportions : ndarray of shape (n_clusters, n_groups)
        q: the mixes.
    worth : ndarray of shape (n_clusters,)
        h: what a person of the mix is worth on average, less the softness.
    turn : ndarray of shape (n_clusters, n_groups, n_groups)
        ∂q/∂θ, symmetric and positive semi-definite.
    offset, offset_slope, offset_turn : ndarrays, one dimension more each, or 0
        What people that are forgiven are worth, whatever the size, and how that follows θ.
    """

    proportions: FloatArray
    worth: FloatArray
    turn: FloatArray
    offset: FloatArray | float = 0.0
    offset_slope: FloatArray | float = 0.0
    offset_turn: FloatArray | float = 0.0


class Cone(ABC):
    """The fair mixes of one attribute's groups."""

    rounding_slack: float = 0.0
    """People by which whole counts of a group may be off and still meet the goal."""

    is_free_of_constants: bool = True
    """Whether a constant added to a row of θ changes no price, as the shares of a mix add up to 1."""

    @abstractmethod
    def mixes(self, theta: FloatArray, softness: float) -> Mixes:
        """The dearest fair mix of every cluster at θ."""

    @abstractmethod
    def beyond(self, masses: FloatArray, size: FloatArray, clusters: FloatArray | None = None) -> FloatArray:
        """How many people each row's masses are away from the cone: 0 where they are in it, convex elsewhere.

        ``size`` (n_rows, 1) is what the masses are shares of; ``clusters`` says which cluster each row is (None: row k
        is cluster k).
        """

    def scaled(self, fraction: float) -> Self:
        """The same for a sample with so much of the weight."""
        return self

    @property
    @abstractmethod
    def center(self) -> FloatArray:
        """A fair mix in the middle, (n_groups,) or (n_clusters, n_groups)."""
