// Loops along the features of a matrix, for what is asked of it before a fit and between fits: where a heap of
// points is best cut in two, and what points that might be seeds would save.
#pragma once

#include <cstdint>

namespace fairclust {

constexpr int kHeapBlock = 32;        // points of a heap side by side: as many as registers hold

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

// Blocks of points, their weights and sides; for each feature a vector of sums, and six numbers.
static inline int64_t heap_scratch(int64_t n_points, int64_t n_features) {
    const int64_t n_held = (n_points + kHeapBlock - 1) / kHeapBlock * kHeapBlock;
    return n_held * (n_features + 2) + n_features * (8 + 6);
}

struct ColumnKernels {
    // OUT places (2, M). Return what one centre costs more than the two. scratch: heap_scratch(n, M).
    double (*two_means_f32)(const HeapArgs<float>&, double* scratch, double* places);
    double (*two_means_f64)(const HeapArgs<double>&, double* scratch, double* places);

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
