// The inner loops along features, compiled once per instruction set. As in kernels.cpp, nothing here may use a
// standard-library template.

#include "columns.hpp"

#include <string.h>

#include "vectors.hpp"

namespace fairclust {
namespace FC_CAT(column_isa_, FAIRCLUST_ISA) {

// --- Two means of a heap ----------------------------------------------------------------------------------------------

typedef int64_t vlong __attribute__((vector_size(FC_VECTOR_BYTES)));
constexpr int L = lanes<double>(), V = kHeapBlock / L;

static inline double total_of(vdouble v) {
    double sum = 0;
    for (int l = 0; l < L; ++l) sum += v[l];
    return sum;
}

// The points from their mean in blocks, feature by feature, points side by side; what is no point weighs nothing.
struct Heap {
    int64_t n_blocks, M;
    double *off = nullptr, *weight = nullptr, *side = nullptr;  // (n_blocks, M, kHeapBlock), (n_blocks, kHeapBlock): all, and on the far side
    double* sums = nullptr;  // (M, L)
    double *mean = nullptr, *axis = nullptr, *next = nullptr, *rest = nullptr, *two = nullptr;  // two: (2, M), from the mean
    double total = 0;
};

// For every block: `pull` says by how far its points lie along the axis how strongly each counts. OUT out_m = Σ pull·off_m.
template <class Pull> static void pulled(const Heap& h, const double* axis, const Pull& pull, double* out) {
    for (int64_t m = 0; m < h.M; ++m) store<double>(h.sums + m * L, vdouble{});
    for (int64_t b = 0; b < h.n_blocks; ++b) {
        const double* off = h.off + b * h.M * kHeapBlock;
        vdouble far[V] = {};
        for (int64_t m = 0; m < h.M; ++m)
            for (int v = 0; v < V; ++v) far[v] += axis[m] * load(off + m * kHeapBlock + v * L);
        for (int v = 0; v < V; ++v) far[v] = pull(far[v], b * kHeapBlock + v * L);
        for (int64_t m = 0; m < h.M; ++m) {
            vdouble sum[2] = {};  // two, so that one need not wait for the other
            for (int v = 0; v < V; ++v) sum[v % 2] += far[v] * load(off + m * kHeapBlock + v * L);
            store<double>(h.sums + m * L, load(h.sums + m * L) + (sum[0] + sum[1]));
        }
    }
    for (int64_t m = 0; m < h.M; ++m) out[m] = total_of(load(h.sums + m * L));
}

// Gathers the points; OUT their mean. False: there are no two of them.
template <class T> static bool gather(const HeapArgs<T>& a, Heap& h) {
    memset(h.off, 0, sizeof(double) * h.n_blocks * kHeapBlock * (h.M + 2));
    memset(h.mean, 0, sizeof(double) * h.M);
    h.total = 0;
    for (int64_t i = 0; i < a.n_points; ++i) {
        const T* x = a.X + (int64_t)a.rows[i] * h.M;
        double* out = h.off + i / kHeapBlock * h.M * kHeapBlock + i % kHeapBlock;
        const double w = h.weight[i] = a.mass[i];
        h.total += w;
        for (int64_t m = 0; m < h.M; ++m) {
            out[m * kHeapBlock] = (double)x[m];
            h.mean[m] += w * (double)x[m];
        }
    }
    if (a.n_points < 2 || !(h.total > 0)) return false;
    for (int64_t m = 0; m < h.M; ++m) h.mean[m] /= h.total;
    for (int64_t b = 0; b < h.n_blocks; ++b) {
        const int64_t left = a.n_points - b * kHeapBlock, n = left < kHeapBlock ? left : kHeapBlock;
        for (int64_t m = 0; m < h.M; ++m)
            for (int64_t i = 0; i < n; ++i) h.off[(b * h.M + m) * kHeapBlock + i] -= h.mean[m];
    }
    return true;
}

// The feature that varies most; OUT rest: what rounding left of the mean.
static int64_t widest(const Heap& h) {
    int64_t found = 0;
    double most = -1;
    for (int64_t m = 0; m < h.M; ++m) {
        vdouble squares = {}, left = {};
        for (int64_t b = 0; b < h.n_blocks; ++b)
            for (int v = 0; v < V; ++v) {
                const vdouble x = load(h.off + (b * h.M + m) * kHeapBlock + v * L);
                const vdouble own = load(h.weight + b * kHeapBlock + v * L) * x;
                squares += own * x;
                left += own;
            }
        h.rest[m] = total_of(left);
        if (total_of(squares) > most) most = total_of(squares), found = m;
    }
    return found;
}

// Turns the axis towards the longest: power iteration.
static void turn_axis(const Heap& h, int turns) {
    for (int64_t m = 0; m < h.M; ++m) h.axis[m] = 0;
    h.axis[widest(h)] = 1;
    for (int turn = 0; turn < turns; ++turn) {
        pulled(h, h.axis, [&](vdouble far, int64_t i) { return far * load(h.weight + i); }, h.next);
        double norm = 0, squares = 0;
        for (int64_t m = 0; m < h.M; ++m) {
            const double size = __builtin_fabs(h.next[m]);
            norm = size > norm ? size : norm;
        }
        if (!(norm > 0) || norm > __DBL_MAX__) break;
        for (int64_t m = 0; m < h.M; ++m) h.next[m] /= norm, squares += h.next[m] * h.next[m];
        for (int64_t m = 0; m < h.M; ++m) h.axis[m] = h.next[m] / __builtin_sqrt(squares);
    }
}

// Which points lie beyond `middle`. OUT next: their weighted sum. Returns their weight.
static double cut(const Heap& h, double middle, bool* is_same) {
    vdouble weight = {};
    vlong differs = {};
    pulled(h, h.axis, [&](vdouble far, int64_t i) {
        const vdouble pull = far > middle ? load(h.weight + i) : vdouble{};
        differs |= pull != load(h.side + i);
        weight += pull;
        store<double>(h.side + i, pull);
        return pull;
    }, h.next);
    *is_same = true;
    for (int l = 0; l < L; ++l) *is_same &= differs[l] == 0;
    return total_of(weight);
}

// Σ w (distance from the mean − distance from the nearer of the two), distances not squared.
static double gain_of_distances(const Heap& h) {
    double gain = 0;
    for (int64_t b = 0; b < h.n_blocks; ++b)
        for (int v = 0; v < V; ++v) {
            const int64_t at = b * kHeapBlock + v * L;
            const vdouble side = load(h.side + at), weight = load(h.weight + at);
            vdouble one = {}, nearer = {};
            for (int64_t m = 0; m < h.M; ++m) {
                const vdouble x = load(h.off + (b * h.M + m) * kHeapBlock + v * L);
                const vdouble there = side > 0 ? x - h.two[h.M + m] : x - h.two[m];
                one += x * x;
                nearer += there * there;
            }
            for (int l = 0; l < L; ++l) gain += weight[l] * (__builtin_sqrt(one[l]) - __builtin_sqrt(nearer[l]));
        }
    return gain;
}

// The same of squares, from the sums of the far side: Σ w (2 x·c − c²).
static double gain_of_squares(const Heap& h, double weight) {
    double gain = 0;
    for (int64_t m = 0; m < h.M; ++m) {
        const double here = h.two[m], there = h.two[h.M + m];
        gain += 2 * (here * (h.rest[m] - h.next[m]) + there * h.next[m]);
        gain -= (h.total - weight) * here * here + weight * there * there;
    }
    return gain;
}

// Cut along the longest axis, then Lloyd's steps.
template <class T> static double two_means(const HeapArgs<T>& a, double* scratch, double* places) {
    const int64_t M = a.n_features, n_blocks = (a.n_points + kHeapBlock - 1) / kHeapBlock, n_held = n_blocks * kHeapBlock;
    Heap h{n_blocks, M, scratch, scratch + n_held * M, scratch + n_held * (M + 1), scratch + n_held * (M + 2)};
    h.mean = h.sums + M * L, h.axis = h.mean + M, h.next = h.axis + M, h.rest = h.next + M, h.two = h.rest + M;
    const bool are_two = gather(a, h);
    for (int64_t m = 0; m < M; ++m) places[m] = places[M + m] = are_two ? h.mean[m] : 0.0;
    if (!are_two) return 0;
    turn_axis(h, a.turns);
    bool is_same = false;
    double weight = cut(h, 0, &is_same);
    is_same = false;
    for (int round = 0; round < a.rounds && !is_same; ++round) {
        if (!(weight > 0) || !(h.total - weight > 0)) return 0;
        double middle = 0;  // along the axis, between the two centres
        for (int64_t m = 0; m < M; ++m) {
            const double here = h.two[m] = (h.rest[m] - h.next[m]) / (h.total - weight);
            const double there = h.two[M + m] = h.next[m] / weight;
            h.axis[m] = there - here;
            middle += (there + here) / 2 * h.axis[m];
        }
        weight = cut(h, middle, &is_same);
    }
    for (int64_t m = 0; m < M; ++m) places[m] += h.two[m], places[M + m] += h.two[M + m];
    return a.power == 2 ? gain_of_squares(h, weight) : gain_of_distances(h);
}

// --- Seeds ------------------------------------------------------------------------------------------------------------

// A block of points: its costs with the trial as a seed; returns their weighted sum.
static inline double trial_block(const TrialArgs& a, const double* block, const double* trial, int64_t first, double* costs) {
    vdouble far[V] = {}, sum = {};
    for (int64_t m = 0; m < a.n_features; ++m)
        for (int v = 0; v < V; ++v) {
            const vdouble apart = load(block + m * kHeapBlock + v * L) - trial[m];
            far[v] += apart * apart;
        }
    if (first + kHeapBlock > a.n_points) {
        double left = 0;
        for (int64_t i = first; i < a.n_points; ++i) {
            const double now = far[(i - first) / L][(i - first) % L];
            costs[i] = now < a.closest[i] ? now : a.closest[i];
            left += (a.weights ? a.weights[i] : 1.0) * costs[i];
        }
        return left;
    }
    for (int v = 0; v < V; ++v) {
        const vdouble before = load(a.closest + first + v * L), now = far[v] < before ? far[v] : before;
        store<double>(costs + first + v * L, now);
        sum += a.weights ? now * load(a.weights + first + v * L) : now;
    }
    return total_of(sum);
}

// All trials of a block while it is in the first cache.
static void trial_costs(const TrialArgs& a, double* totals) {
    const int64_t M = a.n_features;
    for (int64_t t = 0; t < a.n_trials; ++t) totals[t] = 0;
    for (int64_t i = 0; i < a.n_points; i += kHeapBlock)
        for (int64_t t = 0; t < a.n_trials; ++t)
            totals[t] += trial_block(a, a.blocks + i * M, a.trials + t * M, i, a.costs + t * a.n_points);
}

}  // namespace FC_CAT(column_isa_, FAIRCLUST_ISA)

ColumnKernels FC_CAT(column_kernels_, FAIRCLUST_ISA)() {
    namespace isa = FC_CAT(column_isa_, FAIRCLUST_ISA);
    return {isa::two_means<float>, isa::two_means<double>, isa::trial_costs};
}

}  // namespace fairclust
