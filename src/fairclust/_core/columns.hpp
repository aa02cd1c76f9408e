// Loops along the features of a matrix, for what is asked of it before a fit and between fits: moments, where a heap of
// points is best cut in two, and what points that might be seeds would save.
#pragma once

#include <cstdint>

namespace fairclust {

constexpr int kHeapBlock = 32;        // points of a heap side by side: as many as registers hold
constexpr int64_t kSideBySide = 32;   // rows whose moments are added side by side, where they are short: whole vectors
constexpr int64_t kShortRow = 64;     // features; longer rows fill vectors by themselves

// Some rows of X, weighted.
template <class T>
struct HeapArgs {
    const T* X;             // IN (n_rows, n_features)
    const int32_t* rows;    // IN (n_points,) rows of X
    const double* mass;     // IN (n_points,)
    int64_t n_points, n_features;
    int power;              // 1: what is gained is a sum of distances, 2: of their squares
    int turns, rounds;      // of an axis towards the longest, of two means
};

// Points that might be the next seed.
struct TrialArgs {
    const double* blocks;   // IN (n_blocks, n_features, kHeapBlock) the points, of which the last block may have fewer
    const double* trials;   // IN (n_trials, n_features)
    const double* weights;  // IN (n_points,), or null
    const double* closest;  // IN (n_points,) squared distance from the nearest seed so far
    double* costs;          // OUT (n_trials, n_points) the same with each trial as a seed
    int64_t n_points, n_features, n_trials;
};

template <class T>
struct ColumnLoops {
    // OUT mean (M,), squares about it (M,), and the weight, of n rows of X. weights: (n,), or null.
    // scratch: moment_scratch(M).
    void (*moments)(const T* X, const double* weights, int64_t n, int64_t n_features, double* scratch, double* found);

    // OUT places (2, M). Returns what one centre costs more than the two. scratch: heap_scratch(n, M).
    double (*two_means)(const HeapArgs<T>&, double* scratch, double* places);
};

static inline int64_t moment_scratch(int64_t n_features) {
    return 2 * n_features * (n_features > kShortRow ? 1 : kSideBySide);
}

// Blocks of points, their weights and sides; for each feature a vector of sums, and six numbers.
static inline int64_t heap_scratch(int64_t n_points, int64_t n_features) {
    const int64_t n_held = (n_points + kHeapBlock - 1) / kHeapBlock * kHeapBlock;
    return n_held * (n_features + 2) + n_features * (8 + 6);
}

struct ColumnKernels {
    ColumnLoops<float> f32;
    ColumnLoops<double> f64;

    // OUT totals (n_trials,): the weighted sums of the costs.
    void (*trial_costs)(const TrialArgs&, double* totals);
};

// One definition per instruction set, from the same source (column_loops.cpp).
ColumnKernels column_kernels_baseline();
#ifdef FAIRCLUST_X86
ColumnKernels column_kernels_avx2();
ColumnKernels column_kernels_avx512();
#endif

}  // namespace fairclust
