// Passes over the links of a graph: the W·S products, moves of single nodes, and coarser graphs. Gathers dominate, so
// one instruction set is as good as another and this is compiled once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels.hpp"

namespace fairclust {

// A symmetric matrix W in compressed rows.
template <class T>
struct Graph {
    int64_t n_nodes;
    const int64_t* indptr;   // IN (n_nodes + 1,)
    const int32_t* indices;  // IN (n_links,)
    const T* data;           // IN (n_links,)
};

// Adds the links of `node` to every cluster to row (K,), by hard labels or by rows of soft assignments (n_nodes, K).
template <class T>
inline void add_links(const Graph<T>& graph, int64_t node, const int32_t* labels, const float* soft, int64_t K,
                      double* row) {
    for (int64_t e = graph.indptr[node]; e < graph.indptr[node + 1]; ++e) {
        const double w = graph.data[e];
        if (labels) {
            row[labels[graph.indices[e]]] += w;
        } else {
            const float* s = soft + static_cast<int64_t>(graph.indices[e]) * K;
            for (int64_t k = 0; k < K; ++k) row[k] += w * s[k];
        }
    }
}

// Point costs of blocks [begin, end), without and with the shift sigma:
//   a_pk = d_p (ratio_k + sigma) / volume_k - 2 (W S)_pk / volume_k - 2 sigma d_p s_pk / volume_k
// OUT excess (n_blocks, K, kBlock), sums {cost of the cheapest clusters}. scratch: K values.
template <class T>
void link_costs(const Graph<T>& graph, const Blocks& blocks, const int32_t* order, const double* degree,
                const int32_t* labels, const float* soft, const double* inverse_volume, const double* ratio,
                double sigma, int64_t K, int64_t begin, int64_t end, double* scratch, float* excess, double* sums) {
    for (int64_t b = begin; b < end; ++b) {
        float* out = excess + b * K * kBlock;
        std::fill(out, out + K * kBlock, 0.0f);
        for (int i = 0; i < blocks.size[b]; ++i) {
            const int64_t node = order[blocks.start[b] + i];
            std::fill(scratch, scratch + K, 0.0);
            add_links(graph, node, labels, soft, K, scratch);
            double low = HUGE_VAL;
            for (int64_t k = 0; k < K; ++k) {
                const double own = labels ? (labels[node] == k ? 1.0 : 0.0) : soft[node * K + k];
                scratch[k] = inverse_volume[k] *
                             (degree[node] * (ratio[k] + sigma - 2.0 * sigma * own) - 2.0 * scratch[k]);
                low = std::min(low, scratch[k]);
            }
            for (int64_t k = 0; k < K; ++k) out[k * kBlock + i] = static_cast<float>(scratch[k] - low);
            sums[0] += low;
        }
    }
}

// Of nodes [begin, end): OUT sums (3, K): S_k'WS_k, d'S_k and S_k'DS_k. scratch: K values.
template <class T>
void associations(const Graph<T>& graph, const double* degree, const int32_t* labels, const float* soft, int64_t K,
                  int64_t begin, int64_t end, double* scratch, double* sums) {
    for (int64_t node = begin; node < end; ++node) {
        if (labels) {
            const int32_t own = labels[node];
            double inside = 0.0;
            for (int64_t e = graph.indptr[node]; e < graph.indptr[node + 1]; ++e)
                if (labels[graph.indices[e]] == own) inside += graph.data[e];
            sums[own] += inside;
            sums[K + own] += degree[node];
            sums[2 * K + own] += degree[node];
            continue;
        }
        std::fill(scratch, scratch + K, 0.0);
        add_links(graph, node, labels, soft, K, scratch);
        for (int64_t k = 0; k < K; ++k) {
            const double s = soft[node * K + k];
            sums[k] += s * scratch[k];
            sums[K + k] += s * degree[node];
            sums[2 * K + k] += s * s * degree[node];
        }
    }
}

// Fairness of every cluster: weight_k * KL(target | shares), shares clipped as in fairness.py.
struct Fairness {
    int64_t K, J;
    const double* target;  // IN (J,)
    const double* weight;  // IN (K,)

    double value(int64_t k, const double* masses) const {
        if (weight[k] == 0.0) return 0.0;
        double size = 0.0;
        for (int64_t j = 0; j < J; ++j) size += masses[j];
        double sum = 0.0;
        for (int64_t j = 0; j < J; ++j) {
            if (target[j] <= 0.0) continue;
            const double share = size > 0.0 ? masses[j] / size : 0.0;
            sum += target[j] * std::log(target[j] / std::max(share, 1e-20));
        }
        return weight[k] * std::max(sum, 0.0);
    }
};

// What a labelling adds up to, cluster by cluster.
struct Clusters {
    std::vector<double> inside, volume, masses, fairness;
    std::vector<int64_t> count;
};

inline double kept(double inside, double volume) { return volume > 0.0 ? inside / volume : 0.0; }

// Moves single nodes as long as that lowers  K - sum_k inside_k / volume_k + sum_k fairness_k.
//
// Nodes are visited in `order`, pass after pass; a node goes to the cluster where the energy is lowest. A node brings its
// masses: one unit of its group (codes), or a row of node_masses (n_nodes, J). The last node of a cluster stays. Ends
// when a pass lowers the energy by no more than `least`, or after max_passes. IN/OUT labels. Returns the passes.
template <class T>
int64_t move_nodes(const Graph<T>& graph, const double* degree, const int32_t* codes, const double* node_masses,
                   const Fairness& fair, const int32_t* order, int64_t max_passes, double least, int32_t* labels,
                   int64_t* n_moved) {
    const int64_t K = fair.K, J = fair.J, n = graph.n_nodes;
    Clusters c;
    c.inside.assign(K, 0.0), c.volume.assign(K, 0.0), c.masses.assign(K * J, 0.0), c.fairness.assign(K, 0.0);
    c.count.assign(K, 0);
    for (int64_t node = 0; node < n; ++node) {
        const int32_t own = labels[node];
        for (int64_t e = graph.indptr[node]; e < graph.indptr[node + 1]; ++e)
            if (labels[graph.indices[e]] == own) c.inside[own] += graph.data[e];
        c.volume[own] += degree[node];
        c.count[own] += 1;
        if (codes) c.masses[own * J + codes[node]] += 1.0;
        else for (int64_t j = 0; j < J; ++j) c.masses[own * J + j] += node_masses[node * J + j];
    }
    std::vector<double> changed(J);
    // Fairness of a cluster with a node's masses added (sign 1) or taken away (sign -1).
    const auto with = [&](int64_t k, int64_t node, double sign) {
        for (int64_t j = 0; j < J; ++j) changed[j] = c.masses[k * J + j];
        if (codes) changed[codes[node]] += sign;
        else for (int64_t j = 0; j < J; ++j) changed[j] += sign * node_masses[node * J + j];
        for (int64_t j = 0; j < J; ++j) changed[j] = std::max(changed[j], 0.0);
        return fair.value(k, changed.data());
    };
    // With unit masses the answer depends on the group alone: kept until the cluster changes.
    std::vector<double> cached(codes ? 2 * K * J : 0);
    std::vector<char> fresh(codes ? 2 * K * J : 0, 0);
    const auto fairness_with = [&](int64_t k, int64_t node, int side) {
        if (!codes) return with(k, node, side ? 1.0 : -1.0);
        const int64_t at = (k * J + codes[node]) * 2 + side;
        if (!fresh[at]) cached[at] = with(k, node, side ? 1.0 : -1.0), fresh[at] = 1;
        return cached[at];
    };
    for (int64_t k = 0; k < K; ++k) c.fairness[k] = fair.value(k, &c.masses[k * J]);

    std::vector<double> link(K, 0.0);
    int64_t pass = 0;
    *n_moved = 0;
    for (; pass < max_passes; ++pass) {
        double gained = 0.0;
        for (int64_t at = 0; at < n; ++at) {
            const int64_t node = order[at];
            const int32_t own = labels[node];
            if (c.count[own] <= 1) continue;
            std::fill(link.begin(), link.end(), 0.0);
            double loop = 0.0;
            for (int64_t e = graph.indptr[node]; e < graph.indptr[node + 1]; ++e) {
                if (graph.indices[e] == node) loop += graph.data[e];
                else link[labels[graph.indices[e]]] += graph.data[e];
            }
            const double d = degree[node];
            const double inside_left = c.inside[own] - 2.0 * link[own] - loop;
            const double fair_left = fairness_with(own, node, 0);
            const double leave = kept(c.inside[own], c.volume[own]) - kept(inside_left, c.volume[own] - d) +
                                 fair_left - c.fairness[own];
            double best = -1e-12;
            int64_t to = -1;
            for (int64_t k = 0; k < K; ++k) {
                if (k == own) continue;
                const double change = leave + kept(c.inside[k], c.volume[k]) -
                                      kept(c.inside[k] + 2.0 * link[k] + loop, c.volume[k] + d) +
                                      fairness_with(k, node, 1) - c.fairness[k];
                if (change < best) best = change, to = k;
            }
            if (to < 0) continue;
            const double fair_joined = fairness_with(to, node, 1);
            c.fairness[own] = fair_left, c.fairness[to] = fair_joined;
            c.inside[own] = inside_left, c.inside[to] += 2.0 * link[to] + loop;
            c.volume[own] -= d, c.volume[to] += d;
            c.count[own] -= 1, c.count[to] += 1;
            for (int64_t j = 0; j < J; ++j) {
                const double m = codes ? (codes[node] == j ? 1.0 : 0.0) : node_masses[node * J + j];
                c.masses[own * J + j] = std::max(c.masses[own * J + j] - m, 0.0);
                c.masses[to * J + j] += m;
            }
            if (codes) {
                std::fill(fresh.begin() + own * J * 2, fresh.begin() + (own + 1) * J * 2, 0);
                std::fill(fresh.begin() + to * J * 2, fresh.begin() + (to + 1) * J * 2, 0);
            }
            labels[node] = static_cast<int32_t>(to);
            gained -= best;
            *n_moved += 1;
        }
        if (gained <= least) return pass + 1;
    }
    return pass;
}

// Pairs every node with the free neighbour it is tied to most strongly, w (1/d_u + 1/d_v), among those of its own label
// (if labels are given) while the pair's degree stays within `heaviest`. OUT parent (n_nodes,): the pair's number, in
// node order. Returns the number of pairs and single nodes.
template <class T>
int64_t match_nodes(const Graph<T>& graph, const double* degree, const int32_t* labels, const int32_t* order,
                    double heaviest, int32_t* parent) {
    const int64_t n = graph.n_nodes;
    std::vector<int32_t> mate(n, -1);
    for (int64_t at = 0; at < n; ++at) {
        const int32_t u = order[at];
        if (mate[u] >= 0) continue;
        double best = 0.0;
        int32_t found = u;
        for (int64_t e = graph.indptr[u]; e < graph.indptr[u + 1]; ++e) {
            const int32_t v = graph.indices[e];
            if (v == u || mate[v] >= 0 || (labels && labels[v] != labels[u]) || degree[u] + degree[v] > heaviest) continue;
            const double tie = graph.data[e] * (1.0 / degree[u] + 1.0 / degree[v]);
            if (tie > best) best = tie, found = v;
        }
        mate[u] = found;
        mate[found] = u;
    }
    int64_t n_pairs = 0;
    for (int64_t u = 0; u < n; ++u) parent[u] = mate[u] < u ? parent[mate[u]] : static_cast<int32_t>(n_pairs++);
    return n_pairs;
}

// The graph of the parents: the links of all children, added. OUT indptr (n_parents + 1,), indices, data.
template <class T>
void contract(const Graph<T>& graph, const int32_t* parent, int64_t n_parents, std::vector<int64_t>& indptr,
              std::vector<int32_t>& indices, std::vector<T>& data) {
    const int64_t n = graph.n_nodes;
    std::vector<int64_t> first(n_parents + 1, 0);
    std::vector<int32_t> child(n);
    for (int64_t u = 0; u < n; ++u) ++first[parent[u] + 1];
    for (int64_t p = 0; p < n_parents; ++p) first[p + 1] += first[p];
    {
        std::vector<int64_t> next(first.begin(), first.end() - 1);
        for (int64_t u = 0; u < n; ++u) child[next[parent[u]]++] = static_cast<int32_t>(u);
    }
    std::vector<double> sum(n_parents, 0.0);
    std::vector<char> touched(n_parents, 0);
    std::vector<int32_t> row;
    indptr.assign(n_parents + 1, 0);
    for (int64_t p = 0; p < n_parents; ++p) {
        row.clear();
        for (int64_t i = first[p]; i < first[p + 1]; ++i)
            for (int64_t e = graph.indptr[child[i]]; e < graph.indptr[child[i] + 1]; ++e) {
                const int32_t q = parent[graph.indices[e]];
                if (!touched[q]) touched[q] = 1, row.push_back(q);
                sum[q] += graph.data[e];
            }
        std::sort(row.begin(), row.end());
        for (int32_t q : row) {
            indices.push_back(q);
            data.push_back(static_cast<T>(sum[q]));
            sum[q] = 0.0;
            touched[q] = 0;
        }
        indptr[p + 1] = static_cast<int64_t>(indices.size());
    }
}

}  // namespace fairclust
