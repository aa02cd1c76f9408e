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

// Point costs of tiles [begin, end), without and with the shift sigma:
//   a_pk = d_p (ratio_k + sigma) / volume_k - 2 (W S)_pk / volume_k - 2 sigma d_p s_pk / volume_k
// OUT excess (n_tiles, K, kTile), sums {cost of the cheapest clusters}. scratch: K values.
template <class T>
void link_costs(const Graph<T>& graph, const TileSpans& tiles, const int32_t* order, const double* degree,
                const int32_t* labels, const float* soft, const double* inverse_volume, const double* ratio,
                double sigma, int64_t K, int64_t begin, int64_t end, double* scratch, float* excess, double* sums) {
    for (int64_t b = begin; b < end; ++b) {
        float* out = excess + b * K * kTile;
        std::fill(out, out + K * kTile, 0.0f);
        for (int i = 0; i < tiles.size[b]; ++i) {
            const int64_t node = order[tiles.start[b] + i];
            std::fill(scratch, scratch + K, 0.0);
            add_links(graph, node, labels, soft, K, scratch);
            double low = HUGE_VAL;
            for (int64_t k = 0; k < K; ++k) {
                const double own = labels ? (labels[node] == k ? 1.0 : 0.0) : soft[node * K + k];
                scratch[k] = inverse_volume[k] *
                             (degree[node] * (ratio[k] + sigma - 2.0 * sigma * own) - 2.0 * scratch[k]);
                low = std::min(low, scratch[k]);
            }
            for (int64_t k = 0; k < K; ++k) out[k * kTile + i] = static_cast<float>(scratch[k] - low);
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

// Fairness of every cluster: sum over parts of weight_ka times the sum over the part's groups of
//     logs log(wanted / share) + lines (share - wanted),       or 0 where that is negative.
// Which notion of fairness has these numbers is Python's affair. A part reads the columns first[a] to first[a + 1]; where
// `counted` is 1 the last of them counts everyone and is what shares are shares of, else the columns' sum is. Shares are
// clipped as in _dual/terms.py.
struct Fairness {
    int64_t K, J, A;
    const double* wanted;    // IN (K, J); nothing is read for the columns that count everyone, here and below
    const double* logs;      // IN (K, J) >= 0
    const double* lines;     // IN (K, J)
    const double* weight;    // IN (K, A)
    const int64_t* first;    // IN (A + 1,)
    const uint8_t* counted;  // IN (A,)

    double size(int64_t a, const double* masses) const {
        if (counted[a]) return masses[first[a + 1] - 1];
        double size = 0.0;
        for (int64_t j = first[a]; j < first[a + 1]; ++j) size += masses[j];
        return size;
    }

    double value(int64_t k, const double* masses) const {
        double value = 0.0;
        for (int64_t a = 0; a < A; ++a) {
            if (weight[k * A + a] == 0.0) continue;
            const double whole = size(a, masses);
            double sum = 0.0;
            for (int64_t j = first[a]; j < first[a + 1] - counted[a]; ++j) {
                const int64_t at = k * J + j;
                const double share = whole > 0.0 ? masses[j] / whole : 0.0;
                if (logs[at] > 0.0) sum += logs[at] * std::log(wanted[at] / std::max(share, 1e-20));
                if (lines[at] != 0.0) sum += lines[at] * (share - wanted[at]);
            }
            value += weight[k * A + a] * std::max(sum, 0.0);
        }
        return value;
    }
};

inline double kept(double inside, double volume) { return volume > 0.0 ? inside / volume : 0.0; }

// Moves single nodes as long as that lowers  K - sum_k inside_k / volume_k + sum_k fairness_k.
//
// Nodes are visited in `order`; a node goes to the cluster where the energy is lowest. A full pass is followed by passes
// over the nodes that moved and their neighbours, until those rest too. A node brings its masses: what its cell is a
// member of (codes, membership (n_cells, J)), or a row of node_masses (n_nodes, J). The last node of a cluster stays. Ends when a full pass lowers the
// energy by no more than `least`, or after max_passes of either kind. IN/OUT labels. Returns the passes.
template <class T>
class Mover {
public:
    Mover(const Graph<T>& graph_, const double* degree_, const int32_t* codes_, const double* node_masses_,
          const double* membership_, int64_t n_cells, const Fairness& fair_, int32_t* labels_)
        : graph(graph_), degree(degree_), codes(codes_), node_masses(node_masses_), membership(membership_), fair(fair_),
          labels(labels_), C(n_cells), K(fair_.K), J(fair_.J), inside(K, 0.0), volume(K, 0.0), ratio(K),
          masses(K * J, 0.0), fairness(K), slope(K * J), weight_per_size(K * fair_.A), inverse_size(K * fair_.A), bounded(K * fair_.A),
          count(K, 0), link(K), changed(J), cached(codes ? 2 * K * C : 0), fresh(codes ? 2 * K * C : 0),
          waits(graph_.n_nodes, 0) {
        for (int64_t node = 0; node < graph.n_nodes; ++node) {
            const int32_t own = labels[node];
            for (int64_t e = graph.indptr[node]; e < graph.indptr[node + 1]; ++e)
                if (labels[graph.indices[e]] == own) inside[own] += graph.data[e];
            volume[own] += degree[node];
            count[own] += 1;
            const double* brought = brings(node);
            for (int64_t j = 0; j < J; ++j) masses[own * J + j] += brought[j];
        }
        for (int64_t k = 0; k < K; ++k) {
            refresh(k);
            for (int64_t a = 0; a < fair.A; ++a) bounded[k * fair.A + a] = has_bound(k, a);
        }
    }

    int64_t run(const int32_t* order, int64_t max_passes, double least) {
        bool full = true;
        for (int64_t pass = 0; pass < max_passes; ++pass) {
            double gained = 0.0;
            for (int64_t at = 0; at < graph.n_nodes; ++at)
                if (full || waits[order[at]]) gained += visit(order[at]);
            if (gained <= least) {
                if (full) return pass + 1;
                full = true;
            } else {
                full = false;
            }
        }
        return max_passes;
    }

    int64_t n_moved = 0;

private:
    const Graph<T> graph;
    const double* degree;
    const int32_t* codes;
    const double* node_masses;
    const double* membership;
    const Fairness fair;
    int32_t* labels;
    const int64_t C, K, J;
    std::vector<double> inside, volume, ratio, masses, fairness;
    std::vector<double> slope;  // (K, J) weight_ka logs_kj / mass_kj, infinite where a wanted group is missing
    std::vector<double> weight_per_size, inverse_size;  // (K, A)
    std::vector<char> bounded;                          // (K, A) whether the part's change has a bound
    std::vector<int64_t> count;
    std::vector<double> link, changed, cached;
    std::vector<char> fresh, waits;

    const double* brings(int64_t node) const { return codes ? membership + codes[node] * J : node_masses + node * J; }

    bool has_bound(int64_t k, int64_t a) const {
        double sum = 0.0;
        for (int64_t j = fair.first[a]; j < fair.first[a + 1]; ++j) {
            if (fair.lines[k * J + j] != 0.0) return false;
            sum += fair.logs[k * J + j];
        }
        return !fair.counted[a] && std::abs(sum - 1.0) < 1e-6;
    }

    void refresh(int64_t k) {
        ratio[k] = kept(inside[k], volume[k]);
        const double* held = &masses[k * J];
        fairness[k] = fair.value(k, held);
        for (int64_t a = 0; a < fair.A; ++a) {
            const double weight = fair.weight[k * fair.A + a], size = fair.size(a, held);
            inverse_size[k * fair.A + a] = size > 0.0 ? 1.0 / size : HUGE_VAL;
            weight_per_size[k * fair.A + a] = weight * inverse_size[k * fair.A + a];
            for (int64_t j = fair.first[a]; j < fair.first[a + 1]; ++j) {
                const double logs = fair.logs[k * J + j];
                slope[k * J + j] = logs <= 0.0 || weight == 0.0 ? 0.0 : held[j] > 0.0 ? weight * logs / held[j] : HUGE_VAL;
            }
        }
        if (codes) std::fill(fresh.begin() + k * C * 2, fresh.begin() + (k + 1) * C * 2, 0);
    }

    // Fairness of a cluster with a node's masses added (side 1) or taken away (side 0). Where nodes are points the
    // answer depends on the cell alone, and is kept until the cluster changes.
    double fairness_with(int64_t k, int64_t node, int side) {
        const int64_t at = codes ? (k * C + codes[node]) * 2 + side : 0;
        if (codes && fresh[at]) return cached[at];
        const double* brought = brings(node);
        for (int64_t j = 0; j < J; ++j)
            changed[j] = std::max(masses[k * J + j] + (side ? 1.0 : -1.0) * brought[j], 0.0);
        const double value = fair.value(k, changed.data());
        if (codes) cached[at] = value, fresh[at] = 1;
        return value;
    }

    // Below the change of fairness when coarse node `node` enters cluster k, part by part:
    // log(1 + x) >= x - x^2/2 and -log(1 + y) >= -y, where the logs of a part add up to 1 and it has no lines. Of other
    // parts nothing is known but that their value is >= 0.
    double least_change(int64_t k, int64_t node) const {
        const double* brought = node_masses + node * J;
        double change = 0.0;
        for (int64_t a = 0; a < fair.A; ++a) {
            if (fair.weight[k * fair.A + a] == 0.0) continue;
            if (!bounded[k * fair.A + a]) return -fairness[k];
            const double size = fair.size(a, brought), x = size * inverse_size[k * fair.A + a];
            if (size > 0.0) change += weight_per_size[k * fair.A + a] * size * (1.0 - 0.5 * x);
            for (int64_t j = fair.first[a]; j < fair.first[a + 1]; ++j)
                if (brought[j] > 0.0) change -= slope[k * J + j] * brought[j];
        }
        return change;
    }

    // Moves one node where that pays; returns what it gains.
    double visit(int64_t node) {
        waits[node] = 0;
        const int32_t own = labels[node];
        if (count[own] <= 1) return 0.0;
        std::fill(link.begin(), link.end(), 0.0);
        double loop = 0.0;
        for (int64_t e = graph.indptr[node]; e < graph.indptr[node + 1]; ++e) {
            if (graph.indices[e] == node) loop += graph.data[e];
            else link[labels[graph.indices[e]]] += graph.data[e];
        }
        const double d = degree[node];
        const double inside_left = inside[own] - 2.0 * link[own] - loop;
        const double leave =
            ratio[own] - kept(inside_left, volume[own] - d) + fairness_with(own, node, 0) - fairness[own];
        double best = -1e-12;
        int64_t to = -1;
        for (int64_t k = 0; k < K; ++k) {
            if (k == own) continue;
            const double cut = leave + ratio[k] - kept(inside[k] + 2.0 * link[k] + loop, volume[k] + d);
            if (!codes && !(cut + least_change(k, node) < best + 1e-12)) continue;
            const double change = cut + fairness_with(k, node, 1) - fairness[k];
            if (change < best) best = change, to = k;
        }
        if (to < 0) return 0.0;
        inside[own] = inside_left, inside[to] += 2.0 * link[to] + loop;
        volume[own] -= d, volume[to] += d;
        count[own] -= 1, count[to] += 1;
        const double* brought = brings(node);
        for (int64_t j = 0; j < J; ++j) {
            masses[own * J + j] = std::max(masses[own * J + j] - brought[j], 0.0);
            masses[to * J + j] += brought[j];
        }
        refresh(own), refresh(to);
        labels[node] = static_cast<int32_t>(to);
        for (int64_t e = graph.indptr[node]; e < graph.indptr[node + 1]; ++e) waits[graph.indices[e]] = 1;
        n_moved += 1;
        return -best;
    }
};

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

// The graph of the parents: the links of all children, added. OUT indptr (n_parents + 1,), indices (in no order),
// data.
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
    const size_t expected = static_cast<size_t>(graph.indptr[n]) * 3 / 4;
    indices.reserve(expected), data.reserve(expected);
    for (int64_t p = 0; p < n_parents; ++p) {
        row.clear();
        for (int64_t i = first[p]; i < first[p + 1]; ++i)
            for (int64_t e = graph.indptr[child[i]]; e < graph.indptr[child[i] + 1]; ++e) {
                const int32_t q = parent[graph.indices[e]];
                if (!touched[q]) touched[q] = 1, row.push_back(q);
                sum[q] += graph.data[e];
            }
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
