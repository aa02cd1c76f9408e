// Medoids: the search, and the inner loops that each instruction set fills. fallback_medoids.py says it in NumPy.
//
// D(x) = sum_q w_q |x - q| over the points q of a cluster; the medoid is the point of the cluster with the least D. The
// cluster is cut into *cells* by a balanced tree. A cell with weight W, mean m, radius r and second moments C about m has
//
//     sum_q w_q |x - q|  >=  W R + (tr C - largest eigenvalue of C) / (2 (R + r)),       R = |x - m|,
//
// for every x: the part of q - m along x - m averages to zero, and the part p across it adds at least |p|^2 / (2 (R + r)).
// So a few distances to cells bound D from below, and few points are ever compared with all others. (The triangle
// inequality alone gives D(x) >= W |x - g| - D(g), which hardly excludes a point of a real cluster.)
#pragma once

#include <cstdint>
#include <functional>

#include "kernels.hpp"

namespace fairclust {

// Weighted points, or cells, in tiles. Points that are not there have weight 0 (and quota 0, radius 1).
template <class T>
struct Tiles {
    const T* coordinates;  // IN (n_tiles, n_features, kTile)
    const T* weight;       // IN (n_tiles, kTile)
    const T* quota;        // IN (n_tiles, kTile) or null   (tr C - largest eigenvalue of C) / 2
    const T* radius;       // IN (n_tiles, kTile) or null
    int64_t n_tiles;
    int64_t n_features;
};

template <class T>
struct MedoidLoops {
    // OUT sums (count,) += sum over tiles [begin, end) of weight * distance (+ quota / (distance + radius)).
    void (*sums)(const Tiles<T>&, int metric, const T* candidates, int64_t count, int64_t begin, int64_t end, double* sums);

    // OUT distances (n_tiles * kTile,) of all points from one place, tiles [begin, end).
    void (*distances)(const Tiles<T>&, int metric, const T* place, int64_t begin, int64_t end, T* distances);
};

struct MedoidKernels {
    MedoidLoops<float> f32;
    MedoidLoops<double> f64;
};

MedoidKernels medoid_kernels_baseline();
#ifdef FAIRCLUST_X86
MedoidKernels medoid_kernels_avx2();
MedoidKernels medoid_kernels_avx512();
#endif

template <class T>
struct MedoidArgs {
    const T* X;             // IN (n_samples, n_features), rows in the user's order
    const int32_t* order;   // IN (n_samples,) visiting order -> row of X
    const int32_t* labels;  // IN (n_samples,) in visiting order
    const double* weights;  // IN (n_samples,) in visiting order, or null
    int64_t n_samples, n_features, n_clusters;
    int metric;             // euclidean (1) or manhattan (2)
    bool exact;             // false: the best of the points nearest the geometric median
    double free, per_point; // an exact search may take so many distances, or so many per point of the cluster
    int n_threads;
};

struct MedoidResult {       // each (n_clusters,)
    int64_t* position;      // OUT in visiting order; -1 where the cluster has no weight
    double* value;          // OUT D of the medoid
    double* lower;          // OUT no point of the cluster has a smaller D; equal to value where the medoid is exact
    int64_t* evaluations;   // OUT distances computed
};

// False: interrupted.
template <class T>
bool find_medoids(const MedoidLoops<T>& loops, const MedoidArgs<T>& args, const MedoidResult& result,
                  const std::function<bool()>& interrupted);

// Coordinate-wise weighted medians of the clusters: OUT centers (n_clusters, n_features), left as they are where a
// cluster has no weight. False: interrupted.
template <class T>
bool find_coordinate_medians(const MedoidArgs<T>& args, T* centers, const std::function<bool()>& interrupted);

// What a step of Weiszfeld's iteration needs, positions [begin, end). OUT sums (n_clusters, n_features + 3): the sum of
// w (x - c) / |x - c|, then of w / |x - c|, both over the points farther from c than `near` (n_clusters,); then the weight
// of the others, then the sum of w |x - c| over all.
template <class T>
void add_median_sums(const MedoidArgs<T>& args, const T* centers, const double* near, int64_t begin, int64_t end,
                     double* sums);

}  // namespace fairclust
