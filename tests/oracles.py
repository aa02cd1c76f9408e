"""Slow, obvious versions of what the package computes: all of N×K in memory, double precision, one formula per line.

Nothing here imports the package: a test that compares with an oracle compares with the mathematics.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

# --- point costs ------------------------------------------------------------------------------------------------------


def point_costs(X, centers, metric=0):
    """a_pk, shape (n_samples, n_clusters): squared euclidean (0), euclidean (1) or manhattan (2) distances."""
    difference = X.astype(float)[:, None, :] - centers.astype(float)[None, :, :]
    if metric == 2:
        return np.abs(difference).sum(axis=2)
    squared = (difference**2).sum(axis=2)
    return np.sqrt(squared) if metric == 1 else squared


def kmeans_objective(X, labels, weights=None):
    """Σ_p w_p ‖x_p − mean of p's cluster‖²."""
    weights = np.ones(len(X)) if weights is None else weights
    value = 0.0
    for k in np.unique(labels):
        inside = labels == k
        if weights[inside].sum() > 0:
            mean = np.average(X[inside].astype(float), axis=0, weights=weights[inside])
            value += float(weights[inside] @ ((X[inside] - mean) ** 2).sum(axis=1))
    return value


def _sum_of_distances(place, X, metric):
    return point_costs(X, place[None], metric).sum()


def kmedian_objective(X, labels, metric=1, center="medoid"):
    """Σ_p d(x_p, centre of p's cluster): the best row of the cluster, or the best place in space."""
    value = 0.0
    for k in np.unique(labels):
        inside = X[labels == k].astype(float)
        if center == "medoid":
            value += point_costs(inside, inside, metric).sum(axis=0).min()
        elif metric == 2:
            value += point_costs(inside, np.median(inside, axis=0)[None], metric).sum()
        else:  # a convex function of the place: followed down from the mean
            value += minimize(_sum_of_distances, inside.mean(axis=0), args=(inside, metric)).fun
    return value


def gaussian_affinities(X):
    """exp(−‖x_p − x_q‖² / 4): positive semi-definite, so the bound on Ncut needs no shift."""
    return np.exp(-point_costs(X, X) / 4)


def ncut_objective(X, labels):
    """K − Σ_k S_kᵗWS_k / dᵗS_k on the gaussian affinities."""
    W = gaussian_affinities(X)
    return sum(1.0 - W[np.ix_(labels == k, labels == k)].sum() / W[labels == k].sum() for k in np.unique(labels))


def ncut_costs(W, S, shift=0.0):
    """a_pk of the graph W + shift·D for assignments S (N×K): d_p z_k − 2 (WS)_pk / dᵗS_k."""
    degree = W.sum(axis=1)
    shifted = W + shift * np.diag(degree)
    volume = degree @ S
    ratio = np.einsum("pk,pq,qk->k", S, shifted, S) / volume
    return (degree[:, None] * ratio - 2 * shifted @ S) / volume


def observed_costs(X, centers):
    """a_pk over the values that are there: NaN costs nothing."""
    return np.nansum((X.astype(float)[:, None, :] - centers.astype(float)[None, :, :]) ** 2, axis=2)


def observed_means(X, labels, n_clusters, weights):
    """Weighted means of the values that are there, by label; where there is none, the mean of all values."""
    means = np.zeros((n_clusters, X.shape[1]))
    for d in range(X.shape[1]):
        there = ~np.isnan(X[:, d])
        for k in range(n_clusters):
            inside = there & (labels == k)
            inside = inside if weights[inside].sum() > 0 else there
            means[k, d] = np.average(X[inside, d].astype(float), weights=weights[inside])
    return means


# --- the sweep --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SoftCount:
    """The softmax of every point, counted."""

    soft: np.ndarray
    masses: np.ndarray
    cost: float
    log_partition: float
    curvature: np.ndarray


@dataclass(frozen=True)
class HardCount:
    """The cheapest cluster of every point, counted."""

    labels: np.ndarray
    masses: np.ndarray
    cost: float
    gap: float


def soft_count(costs, codes, n_groups, scale, scaled_price, weights=None):
    """softmax(−scale·a_p − scaled_price[:, group(p)]), counted by group, one point after the other."""
    n_samples, n_clusters = costs.shape
    weights = np.ones(n_samples) if weights is None else weights
    soft = np.zeros((n_samples, n_clusters))
    masses = np.zeros((n_clusters, n_groups))
    curvature = np.zeros((n_groups, n_clusters, n_clusters))
    cost = log_partition = 0.0
    for p in range(n_samples):
        exponent = -scale * costs[p] - scaled_price[:, codes[p]]
        highest = exponent.max()
        total = np.exp(exponent - highest).sum()
        soft[p] = np.exp(exponent - highest) / total
        masses[:, codes[p]] += weights[p] * soft[p]
        cost += weights[p] * float(soft[p] @ costs[p])
        log_partition += weights[p] * float(highest + np.log(total))
        # −∂s_k/∂pull_l = s_k·[k = l] − s_k·s_l
        curvature[codes[p]] += weights[p] * (np.diag(soft[p]) - np.outer(soft[p], soft[p]))
    return SoftCount(soft, masses, cost, log_partition, curvature)


def hard_count(costs, codes, n_groups, price, weights=None):
    """argmin(a_p + price[:, group(p)]), counted by group; the gap is the weighted mean distance to the second best."""
    n_samples, n_clusters = costs.shape
    weights = np.ones(n_samples) if weights is None else weights
    priced = costs + price[:, codes].T
    labels = priced.argmin(axis=1)
    masses = np.zeros((n_clusters, n_groups))
    np.add.at(masses, (labels, codes), weights)
    cost = float(weights @ costs[np.arange(n_samples), labels])
    ordered = np.sort(priced, axis=1)
    gap = float(np.average(ordered[:, 1] - ordered[:, 0], weights=weights)) if n_clusters > 1 else 0.0
    return HardCount(labels, masses, cost, gap)


def split_count(costs, codes, n_groups, price, scale, weights=None):
    """The same, where points within 16 temperatures of their second choice are split by their soft assignments.

    The r-th person of a group takes the first cluster at which these, cumulated, pass the fraction of r golden ratios.
    """
    plain = hard_count(costs, codes, n_groups, price, weights)
    labels, seen = plain.labels.copy(), np.zeros(n_groups, dtype=int)
    for p, group in enumerate(codes):
        beyond = costs[p] + price[:, group]
        beyond = (beyond - beyond.min()) * scale
        if len(beyond) > 1 and np.sort(beyond)[1] < 16:
            soft = np.where(beyond < 16, np.exp(-beyond), 0.0)
            fraction = seen[group] * 0.6180339887498949 % 1.0
            labels[p] = np.flatnonzero(soft.cumsum() > fraction * soft.sum())[0]
        seen[group] += 1
    weights = np.ones(len(labels)) if weights is None else weights
    masses = np.zeros(plain.masses.shape)
    np.add.at(masses, (labels, codes), weights)
    return HardCount(labels, masses, float(weights @ costs[np.arange(len(labels)), labels]), plain.gap)


# --- fairness ---------------------------------------------------------------------------------------------------------


def kl(target, masses):
    """KL(target ‖ shares) of every cluster; shares are clipped at 1e-20."""
    values = []
    for row in masses:
        shares = row / row.sum() if row.sum() > 0 else np.zeros_like(row)
        terms = [t * np.log(t / max(s, 1e-20)) for t, s in zip(target, shares, strict=True) if t > 0]
        values.append(max(sum(terms), 0.0))
    return np.array(values)


def overlap_error(target, masses):
    """Σ_j μ_j log(μ_j/p_j) − μ_j + p_j of every cluster; the last column of the masses counts everyone."""
    values = []
    for *row, size in masses:
        shares = [mass / size if size > 0 else 0.0 for mass in row]
        terms = [(t * np.log(t / max(s, 1e-20)) if t > 0 else 0.0) - t + s for t, s in zip(target, shares, strict=True)]
        values.append(max(sum(terms), 0.0))
    return np.array(values)


def masses_of(labels, codes, n_clusters, n_groups, weights=None):
    """How much of each group each cluster holds."""
    masses = np.zeros((n_clusters, n_groups))
    np.add.at(masses, (labels, codes), 1.0 if weights is None else weights)
    return masses


def finite_difference(function, at, step):
    """Central differences of a function of a table, entry by entry; a leading axis per entry of the answer is kept."""
    slopes = np.zeros(np.shape(function(at)) + at.shape)
    for place in np.ndindex(at.shape):
        change = np.zeros_like(at)
        change[place] = step * max(abs(at[place]), 1e-3)
        slopes[(..., *place)] = (function(at + change) - function(at - change)) / (2 * change[place])
    return slopes


# --- Algorithm 1 of the paper, and the best there is ------------------------------------------------------------------


@dataclass(frozen=True)
class BoundRun:
    """Where the inner loop of Algorithm 1 ended: S (N×K), its relaxed energy, and every energy on the way."""

    soft: np.ndarray
    energy: float
    energies: list[float]


def algorithm_1(costs, codes, target, fairness_weight, lipschitz, n_steps):
    """S ← S·exp(−(a + λb)/L), normalised, from softmax(−a). S is stored; L doubles when the energy would rise."""
    groups = np.eye(len(target))[codes]

    def energy(soft):
        return float((soft * costs).sum() + fairness_weight * kl(target, soft.T @ groups).sum())

    def normalised(log_soft):
        log_soft = log_soft - log_soft.max(axis=1, keepdims=True)
        return log_soft - np.log(np.exp(log_soft).sum(axis=1, keepdims=True))

    log_soft = normalised(-costs)
    energies = [energy(np.exp(log_soft))]
    for _ in range(n_steps):
        masses = np.exp(log_soft).T @ groups
        slope = 1.0 / masses.sum(axis=1, keepdims=True) - target / masses
        gradient = costs + fairness_weight * slope[:, codes].T
        while True:
            proposal = normalised(log_soft - gradient / lipschitz)
            if energy(np.exp(proposal)) <= energies[-1] + 1e-9 * abs(energies[-1]):
                break
            lipschitz *= 2.0
        log_soft = proposal
        energies.append(energy(np.exp(log_soft)))
    return BoundRun(np.exp(log_soft), energies[-1], energies)


def best_energy(X, codes, target, fairness_weight, n_clusters):
    """The lowest K-means energy over every labelling without an empty cluster: K^N of them, so N ≤ 10."""
    best = np.inf
    for labels in itertools.product(range(n_clusters), repeat=len(X)):
        labels = np.array(labels)
        if labels[0] != 0 or len(np.unique(labels)) < n_clusters:
            continue
        masses = masses_of(labels, codes, n_clusters, len(target))
        best = min(best, kmeans_objective(X, labels) + fairness_weight * float(kl(target, masses).sum()))
    return best
