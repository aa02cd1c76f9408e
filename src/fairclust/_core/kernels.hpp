// The kernels' vocabulary: what a chunk of points looks like, and the table of functions that each instruction set fills.
//
// Points are visited in *cell order*: sorted by cell (the combination of groups that a point belongs to), in the user's
// order within a cell. They are cut into blocks of kBlock points that never straddle two cells, and blocks into chunks
// that never straddle two cells either. So within a chunk the pull is one vector of length K. A chunk's answer is
// written to a place of its own, and the places are added in chunk order: no result depends on the number of threads.
#pragma once

#include <cstdint>

namespace fairclust {

constexpr int kBlock = 64;  // points in a block; point costs are stored [block][cluster][point of the block]

struct Blocks {
    const int64_t* start;  // IN (n_blocks,)  position of the block's first point in cell order
    const int32_t* size;   // IN (n_blocks,)  1..kBlock
};

template <class T>
struct DistanceArgs {
    Blocks blocks;
    const T* X;              // IN  (n_samples, n_features), rows in the user's order
    const int32_t* order;    // IN  (n_samples,) cell order -> row of X
    const T* centers;        // IN  (n_clusters, n_features)
    const int32_t* labels;   // IN  (n_samples,) in cell order, or null
    const T* weights;        // IN  (n_samples,) in cell order, or null
    T* point_cost;           // OUT (n_blocks, n_clusters, kBlock)
    int64_t n_features;
    int64_t n_clusters;
};

template <class T>
struct SweepArgs {
    Blocks blocks;
    const T* point_cost;  // IN (n_blocks, n_clusters, kBlock)
    const T* weights;     // IN (n_samples,) in cell order, or null
    int64_t n_clusters;
    int64_t curvature_stride;  // a block in so many adds to the curvature; 0: none
};

enum Metric : int { kSquaredEuclidean = 0, kEuclidean = 1, kManhattan = 2 };

template <class T>
struct Kernels {
    // Fills point_cost for blocks [begin, end); returns the weighted cost of `labels` (0 when null).
    // scratch: kBlock * (kFeatureTile + n_clusters) values.
    double (*distances)(const DistanceArgs<T>&, int metric, int64_t begin, int64_t end, T* scratch);

    // softmax_k(-scale * a_pk - pull_k), counted. OUT masses (K,), sums {cost, log-partition, curvature weight},
    // curvature (K, K) upper triangle of sum s_k s_l, or untouched. scratch: kBlock * n_clusters values.
    void (*sweep)(const SweepArgs<T>&, T scale, const T* pull, int64_t begin, int64_t end, T* scratch,
                  double* masses, double* sums, double* curvature);

    // argmin_k(a_pk + price_k), counted. OUT labels in cell order, masses (K,), sums {cost, gap to the second best}.
    void (*assign)(const SweepArgs<T>&, const T* price, int64_t begin, int64_t end, int32_t* labels, double* masses,
                   double* sums);

    // The same softmax written out, a row of n_clusters values per point, in the user's order.
    void (*soft_rows)(const SweepArgs<T>&, const int32_t* order, T scale, const T* pull, int64_t begin, int64_t end,
                      T* scratch, T* rows);

    // OUT sums (K, M): weighted sums of the rows of X by label.
    void (*label_sums)(const DistanceArgs<T>&, int64_t begin, int64_t end, double* sums);

    // OUT sums (K, M): sums of the rows of X weighted by the softmax of the sweep.
    void (*soft_sums)(const SweepArgs<T>&, const DistanceArgs<T>&, T scale, const T* pull, int64_t begin, int64_t end,
                      T* scratch, double* sums);
};

constexpr int kFeatureTile = 64;

struct KernelSet {
    const char* name;
    Kernels<float> f32;
    Kernels<double> f64;
};

// One definition per instruction set, from the same source (kernels.cpp).
KernelSet kernels_baseline();
#ifdef FAIRCLUST_X86
KernelSet kernels_avx2();
KernelSet kernels_avx512();
#endif

}  // namespace fairclust
