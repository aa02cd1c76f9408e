// The kernels' vocabulary: what a chunk of points looks like, and the table of functions that each instruction set fills.
//
// Points are visited stretch by stretch of rows, sorted by *cell* (the combination of groups that a point belongs to)
// within a stretch. They are cut into tiles of kTile points, and tiles into chunks, that lie within one stretch and
// one cell. So within a chunk the prices are one vector of length K. A chunk's answer is written to a place of its own, and
// the places are added in chunk order: no result depends on the number of threads.
//
// Point costs are stored as the *excess* over the point's cheapest cluster, in single precision: assignments depend on
// differences alone, so nothing that matters is lost even where the costs are huge and alike.
#pragma once

#include <cstdint>

namespace fairclust {

constexpr int kTile = 64;         // points in a tile: four AVX-512 vectors of floats; costs are stored [tile][cluster][point of the tile]
constexpr int kFeatureTile = 64;  // features of a tile that are transposed at a time: 16 kB of floats, half a first cache

enum Metric : int { kSquaredEuclidean = 0, kEuclidean = 1, kManhattan = 2 };

struct TileSpans {
    const int64_t* start;  // IN (n_tiles,)  position of the tile's first point in visiting order
    const int32_t* size;   // IN (n_tiles,)  1..kTile
};

// Passes over the rows of X; T is float or double.
template <class T>
struct RowArgs {
    TileSpans tiles;
    const T* X;              // IN  (n_samples, n_features), rows in the user's order; see feature_stride
    const int32_t* order;    // IN  (n_samples,) visiting order -> row of X
    const T* centers;        // IN  (n_clusters, n_features)
    const int32_t* labels;   // IN  (n_samples,) in visiting order, or null
    const double* weights;   // IN  (n_samples,) in visiting order, or null
    float* excess;           // OUT (n_tiles, n_clusters, kTile)
    int64_t n_features;
    int64_t n_clusters;
    int64_t feature_stride = 0;  // 0: X is stored row by row; else feature by feature, so many values apart
    bool is_near = false;        // X and excess are in a core's cache anyway: nothing is fetched ahead
};

// Passes over the excess costs.
struct SweepArgs {
    TileSpans tiles;
    const float* excess;       // IN (n_tiles, n_clusters, kTile)
    const double* weights;     // IN (n_samples,) in visiting order, or null
    int64_t n_clusters;
};

constexpr int kRun = 16;  // points of a cell, one after the other: an AVX-512 vector of floats

// The points of a cell that curvature is counted over: its first run of points, and every step-th after it. They are the
// same rows however the data are cut, since a cell's points are visited in the order of the rows.
struct EveryNth {
    int64_t step;    // 0: no point
    int64_t before;  // points of the cell before the chunk's first
};

// Exponents are in bits, for powers of two take fewer steps than those of e: scales and scaled prices times this.
constexpr double kBits = 1.44269504088896341;

constexpr int kSums = 8;  // sums that take turns: an AVX-512 vector of doubles, of which narrower ones use the first lanes

// Room for so many doubles, in vectors of any instruction set.
constexpr int64_t whole_vectors(int64_t count) { return (count + kSums - 1) / kSums * kSums; }

constexpr int kDense = 32;  // clusters up to which all pairs of a point are counted; of more, those that it is between

// Undecided points of a chunk, side by side, until there are enough of them to multiply all at once; and the sums of
// those that were, several lanes each. It is passed on from block to block, so that sums do not depend on how many blocks
// are counted at a time.
struct PairSums {
    int count;
    alignas(64) float soft[kDense * kTile];  // [cluster][point]
    alignas(64) float pairs[kDense * (kDense - 1) / 2 * kRun];
};

// People who are alike are split: a point that is undecided at this scale chooses by its soft assignment and its number
// in the cell, r: the first cluster at which the cumulated assignment passes the fractional part of r times the golden
// ratio. So many of each kind go where the soft assignment says, however the data are cut.
struct Split {
    double scale;    // 0: every point takes its cheapest cluster
    int64_t before;  // points of the cell before the chunk's first
};

template <class T>
struct RowKernels {
    // Fills excess for tiles [begin, end). OUT sums {weighted cost of the cheapest clusters, of `labels`}.
    // scratch: kTile * (kFeatureTile + n_clusters) values.
    void (*distances)(const RowArgs<T>&, int metric, int64_t begin, int64_t end, T* scratch, double* sums);

    // OUT sums (K, whole_vectors(M)): weighted sums of the rows of X by label. The sum over points is in visiting order,
    // however X is stored.
    void (*label_sums)(const RowArgs<T>&, int64_t begin, int64_t end, double* sums);

    // OUT sums (K, M): sums of the rows of X weighted by the softmax of the sweep. scratch: kTile * n_clusters.
    void (*soft_sums)(const SweepArgs&, const RowArgs<T>&, float scale, const float* scaled_price, int64_t begin, int64_t end,
                      float* scratch, double* sums);
};

struct KernelSet {
    const char* name;
    RowKernels<float> f32;
    RowKernels<double> f64;

    // softmax_k(-scale * a_pk - pull_k), counted; scale and prices in bits, here and below. OUT masses (K, kSums), sums {excess cost, log-partition, curvature
    // weight}, squares (K, kSums): of s_k, pairs: the sum of s_k s_l, k < l, over one run of points in
    // `every.step`. scratch: kTile * n_clusters. Pairs of up to kDense clusters stay in `held` until the chunk's end.
    void (*sweep)(const SweepArgs&, float scale, const float* scaled_price, EveryNth every, int64_t begin, int64_t end,
                  float* scratch, PairSums& held, double* masses, double* sums, double* squares, double* pairs);

    // Adds the pairs of a chunk to its table, and leaves none.
    void (*end_pairs)(PairSums& held, int64_t n_clusters, double* table);

    // argmin_k(a_pk + price_k), counted; near-ties are split if asked for. OUT labels and (unless null) gaps to the second best, in visiting order;
    // masses (K,), sums {excess cost, gap}.
    void (*assign)(const SweepArgs&, const float* price, Split split, int64_t begin, int64_t end, int32_t* labels,
                   float* gaps, double* masses, double* sums);

    // The same softmax written out, a row of n_clusters values per point, in the user's order.
    void (*soft_rows)(const SweepArgs&, const int32_t* order, float scale, const float* scaled_price, int64_t begin, int64_t end,
                      float* scratch, float* rows);
};

// One definition per instruction set, from the same source (kernels.cpp).
KernelSet kernels_baseline();
#ifdef FAIRCLUST_X86
KernelSet kernels_avx2();
KernelSet kernels_avx512();
#endif

}  // namespace fairclust
