// The inner loops of the medoid search, compiled once per instruction set. As in kernels.cpp, nothing here may use a
// standard-library template.

#include "medoids.hpp"

#include <math.h>
#include <string.h>

#include "vectors.hpp"

namespace fairclust {
namespace FC_CAT(medoid_isa_, FAIRCLUST_ISA) {

template <class T> constexpr int strip() { return kTile / lanes<T>() < 8 ? kTile / lanes<T>() : 8; }  // stays in registers

static inline vfloat root(vfloat v) {
    for (int i = 0; i < lanes<float>(); ++i) v[i] = sqrtf(v[i]);
    return v;
}
static inline vdouble root(vdouble v) {
    for (int i = 0; i < lanes<double>(); ++i) v[i] = sqrt(v[i]);
    return v;
}

// Distances of strip() vectors of points from one place.
template <class T, int metric>
static inline void strip_distances(const T* x, const T* place, int64_t n_features, typename Simd<T>::vec* d) {
    typedef typename Simd<T>::vec vec;
    for (int v = 0; v < strip<T>(); ++v) d[v] = vec{};
    for (int64_t m = 0; m < n_features; ++m) {
        const vec c = vec{} + place[m];
        for (int v = 0; v < strip<T>(); ++v) {
            const vec difference = load<T>(x + m * kTile + v * lanes<T>()) - c;
            d[v] += metric == kManhattan ? (difference < 0 ? -difference : difference) : difference * difference;
        }
    }
    if (metric != kManhattan)
        for (int v = 0; v < strip<T>(); ++v) d[v] = root(d[v]);
}

template <class T, int metric>
static void sums_metric(const Tiles<T>& tiles, const T* candidates, int64_t count, int64_t begin, int64_t end, double* sums) {
    typedef typename Simd<T>::vec vec;
    constexpr int S = strip<T>(), L = lanes<T>();
    const int64_t M = tiles.n_features;
    for (int64_t t = begin; t < end; ++t)
        for (int first = 0; first < kTile; first += S * L) {
            const T* x = tiles.coordinates + t * M * kTile + first;
            const int64_t at = t * kTile + first;
            for (int64_t c = 0; c < count; ++c) {
                vec d[S], sum = {};
                strip_distances<T, metric>(x, candidates + c * M, M, d);
                for (int v = 0; v < S; ++v) sum += d[v] * load<T>(tiles.weight + at + v * L);
                if (tiles.quota)
                    for (int v = 0; v < S; ++v)
                        sum += load<T>(tiles.quota + at + v * L) / (d[v] + load<T>(tiles.radius + at + v * L));
                double total = 0;
                for (int i = 0; i < L; ++i) total += (double)sum[i];
                sums[c] += total;
            }
        }
}

template <class T>
static void sums(const Tiles<T>& tiles, int metric, const T* candidates, int64_t count, int64_t begin, int64_t end,
                 double* out) {
    if (metric == kManhattan) return sums_metric<T, kManhattan>(tiles, candidates, count, begin, end, out);
    return sums_metric<T, kEuclidean>(tiles, candidates, count, begin, end, out);
}

template <class T, int metric>
static void distances_metric(const Tiles<T>& tiles, const T* place, int64_t begin, int64_t end, T* out) {
    const int64_t M = tiles.n_features;
    typename Simd<T>::vec d[strip<T>()];
    for (int64_t at = begin * kTile; at < end * kTile; at += strip<T>() * lanes<T>()) {
        strip_distances<T, metric>(tiles.coordinates + at / kTile * M * kTile + at % kTile, place, M, d);
        memcpy(out + at, d, sizeof(d));
    }
}

template <class T>
static void distances(const Tiles<T>& tiles, int metric, const T* place, int64_t begin, int64_t end, T* out) {
    if (metric == kManhattan) return distances_metric<T, kManhattan>(tiles, place, begin, end, out);
    return distances_metric<T, kEuclidean>(tiles, place, begin, end, out);
}

}  // namespace FC_CAT(medoid_isa_, FAIRCLUST_ISA)

MedoidKernels FC_CAT(medoid_kernels_, FAIRCLUST_ISA)() {
    namespace isa = FC_CAT(medoid_isa_, FAIRCLUST_ISA);
    return {{isa::sums<float>, isa::distances<float>}, {isa::sums<double>, isa::distances<double>}};
}

}  // namespace fairclust
