"""Terms side by side: from θ to prices by cell, and the gradient and Newton system of the dual.

    D(θ) = Σ_p softmin_k (a_pk + price_k,cell(p)(θ)) − offset(θ)

The unknowns θ (n_clusters, n_unknowns) have a column per group of every term. A member of group j pays θ_j; everyone
who counts in the term's attribute receives the support function of the shares; that of the masses is lost, whoever is
there. Prices of several terms add up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from .._core import kernels
from .._typing import FloatArray, IntArray
from .oracle import Evaluation
from .terms import Rows, Term


class Priced(NamedTuple):
    """Prices at some θ, and what the derivatives of the dual need.

    Attributes
    ----------
    prices : ndarray of shape (n_clusters, n_cells)
    offset : float
    argmax : ndarray of shape (n_clusters, n_unknowns)
        Shares that the support functions are attained at; 0 where a term has none.
    share_hessian : ndarray of shape (n_clusters, n_unknowns, n_unknowns)
        Of the support functions of shares, per person.
    offset_gradient, offset_hessian : ndarrays of shapes (n_clusters, n_unknowns) and (…, n_unknowns)
    """

    prices: FloatArray
    offset: float
    argmax: FloatArray
    share_hessian: FloatArray
    offset_gradient: FloatArray
    offset_hessian: FloatArray


@dataclass(frozen=True, eq=False)
class Subproblem:
    """The convex problem at fixed point costs.

    Parameters
    ----------
    terms : tuple of Term
    memberships : tuple of ndarray of shape (n_cells, n_groups)
        What each cell counts in, one table per term; a row of zeros where it does not count.
    n_cells : int
    """

    terms: tuple[Term, ...]
    memberships: tuple[FloatArray, ...]
    n_cells: int

    @cached_property
    def n_unknowns(self) -> int:
        """Unknowns of one cluster."""
        return sum(m.shape[1] for m in self.memberships)

    @cached_property
    def membership(self) -> FloatArray:
        """The tables of all terms side by side, (n_cells, n_unknowns)."""
        return np.hstack([np.zeros((self.n_cells, 0)), *self.memberships])

    @cached_property
    def counted(self) -> FloatArray:
        """People of each cell who count in the term of each unknown, (n_cells, n_unknowns)."""
        counted = np.zeros((self.n_cells, self.n_unknowns))
        for term, membership, own in self._each():
            counted[:, own] = term.size(membership)[:, None]
        return counted

    @property
    def has_soft_terms(self) -> bool:
        """Whether some term is a cost."""
        return any(term.is_soft for term in self.terms)

    def prices(self, theta: FloatArray, temperature: float) -> Priced:
        """Prices by cell, from θ."""
        n_clusters, n_unknowns = theta.shape
        prices, offset = theta @ self.membership.T, 0.0
        argmax, offset_gradient = np.zeros((2, n_clusters, n_unknowns))
        share_hessian, offset_hessian = np.zeros((2, n_clusters, n_unknowns, n_unknowns))
        for term, _, own in self._each():
            if (shares := term.share_support(theta[:, own], temperature)) is not None:
                prices -= shares.value[:, None] * self.counted[:, own.start]
                argmax[:, own], share_hessian[:, own, own] = shares.argmax, shares.jacobian
            if (masses := term.mass_support(theta[:, own], temperature)) is not None:
                offset += float(masses.value.sum())
                offset_gradient[:, own], offset_hessian[:, own, own] = masses.argmax, masses.jacobian
        return Priced(prices, offset, argmax, share_hessian, offset_gradient, offset_hessian)

    def column_prices(self, theta: FloatArray, temperature: float) -> FloatArray:
        """What a member of each column pays, (n_clusters, n_unknowns): prices are these, times the membership."""
        found = theta.copy()
        for term, _, own in self._each():
            if (shares := term.share_support(theta[:, own], temperature)) is not None:
                last = slice(own.stop - 1, own.stop) if term.overlapping else own
                found[:, last] -= shares.value[:, None]
        return found

    def gradient(self, priced: Priced, masses: FloatArray) -> FloatArray:
        """Masses of the groups less the terms' maximisers at these prices, (n_clusters, n_unknowns)."""
        return masses @ self.membership - (masses @ self.counted) * priced.argmax - priced.offset_gradient

    def newton_matrix(self, priced: Priced, evaluation: Evaluation) -> FloatArray:
        """Minus the dual's Hessian: Jᵗ H J over cells, plus the terms' own blocks; a row per cluster and unknown."""
        n_clusters, n_unknowns = priced.argmax.shape
        jacobian = np.ascontiguousarray(self.membership - self.counted * priced.argmax[:, None, :])
        matrix = np.array(kernels.response(evaluation.hessian, jacobian))
        blocks = matrix.reshape(n_clusters, n_unknowns, n_clusters, n_unknowns)
        every = np.arange(n_clusters)
        blocks[every, :, every, :] += self._own_blocks(priced, evaluation)
        return matrix

    def newton_product(
        self, priced: Priced, evaluation: Evaluation
    ) -> tuple[Callable[[FloatArray], FloatArray], FloatArray]:
        """The same matrix as its product with a vector, and its diagonal blocks: for many unknowns."""
        own = self._own_blocks(priced, evaluation)

        def product(x: FloatArray) -> FloatArray:
            prices = x @ self.membership.T - (x * priced.argmax) @ self.counted.T
            masses = np.ascontiguousarray(np.matmul(evaluation.hessian, prices.T[:, :, None])[:, :, 0].T)
            back: FloatArray = masses @ self.membership - (masses @ self.counted) * priced.argmax
            return back + np.matmul(own, x[:, :, None])[:, :, 0]

        diagonal = np.einsum("ckk->kc", evaluation.hessian)
        jacobian = self.membership - self.counted * priced.argmax[:, None, :]
        return product, own + np.matmul(jacobian.transpose(0, 2, 1) * diagonal[:, None, :], jacobian)

    def _own_blocks(self, priced: Priced, evaluation: Evaluation) -> FloatArray:
        size = evaluation.masses @ self.counted
        return size[:, :, None] * priced.share_hessian + priced.offset_hessian

    def centered(self, theta: FloatArray) -> FloatArray:
        """The same prices from θ without drift."""
        centered = theta.copy()
        for term, _, own in self._each():
            centered[:, own] = term.centered(theta[:, own])
        return centered

    def value(self, masses: FloatArray, clusters: IntArray | None = None) -> FloatArray:
        """What each row of masses (n_rows, n_cells) costs; row r is cluster ``clusters[r]``, or cluster r."""
        values = [term.value(masses @ m, clusters) for term, m, _ in self._each()]
        return sum(values, np.zeros(len(masses)))

    def slope(self, masses: FloatArray) -> FloatArray:
        """Derivative of the value by the masses (n_clusters, n_cells)."""
        slope = np.zeros(masses.shape)
        for term, membership, _ in self._each():
            slope += term.slope(masses @ membership) @ membership.T
        return slope

    def violation(self, masses: FloatArray, clusters: IntArray | None = None) -> FloatArray:
        """People too many or too few in each row of masses."""
        people = [term.violation(masses @ m, clusters) for term, m, _ in self._each()]
        return sum(people, np.zeros(len(masses)))

    def correction(self, masses: FloatArray, theta: FloatArray) -> float:
        """Value of the solution less that in the frozen problem of this round."""
        return sum(term.correction(masses @ m, theta[:, own]) for term, m, own in self._each())

    def rows(self, masses: FloatArray, clusters: IntArray | None = None) -> Rows:
        """Linear constraints of whole tables of counts (n_rows, n_cells)."""
        parts = [(term.rows(masses @ m, clusters), m) for term, m, _ in self._each()]
        each = sparse.eye_array(len(masses))
        none = sparse.csr_array((0, masses.size))
        by_cell = [rows.matrix @ sparse.kron(each, m.T) for rows, m in parts]
        matrix = sparse.csr_array(sparse.vstack([none, *by_cell], format="csr"))
        lower = np.concatenate([np.zeros(0), *(rows.lower for rows, _ in parts)])
        upper = np.concatenate([np.zeros(0), *(rows.upper for rows, _ in parts)])
        return Rows(matrix, lower, upper)

    def updated(self, masses: FloatArray, theta: FloatArray) -> Subproblem:
        """The subproblem of the next round."""
        updated = tuple(term.updated(masses @ m, theta[:, own]) for term, m, own in self._each())
        return self if updated == self.terms else replace(self, terms=updated)

    def _each(self) -> Iterator[tuple[Term, FloatArray, slice]]:
        """Each term, its memberships, and where its unknowns are."""
        first = 0
        for term, membership in zip(self.terms, self.memberships, strict=True):
            yield term, membership, slice(first, first + membership.shape[1])
            first += membership.shape[1]
