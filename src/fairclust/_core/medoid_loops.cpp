// The inner loops of the medoid search, compiled once per instruction set. As in kernels.cpp, nothing here may use a
// standard-library template.

#include "medoids.hpp"

#include <math.h>
#include <string.h>

#include "kernels.hpp"

#define FC_CAT2(a, b) a##b
#define FC_CAT(a, b) FC_CAT2(a, b)

namespace fairclust {
namespace FC_CAT(medoid_isa_, FAIRCLUST_ISA) {

// 16 values at a time; the compiler splits them where registers are narrower.
typedef float vfloat __attribute__((vector_size(64)));
typedef double vdouble __attribute__((vector_size(128)));
template <class T> struct Simd;
template <> struct Simd<float> { typedef vfloat vec; };
template <> struct Simd<double> { typedef vdouble vec; };
constexpr int kLanes = 16;

template <class T> static inline typename Simd<T>::vec load(const T* p) {
    typename Simd<T>::vec v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static inline void take_root(vfloat& v) {
    for (int i = 0; i < kLanes; ++i) v[i] = sqrtf(v[i]);
}
static inline void take_root(vdouble& v) {
    for (int i = 0; i < kLanes; ++i) v[i] = sqrt(v[i]);
}

// Distances of `strip` * kLanes points from one place.
template <class T, int metric, int strip>
static inline void strip_distances(const T* x, const T* place, int64_t n_features, typename Simd<T>::vec* d) {
    typedef typename Simd<T>::vec vec;
    for (int v = 0; v < strip; ++v) d[v] = vec{};
    for (int64_t m = 0; m < n_features; ++m) {
        const T c = place[m];
        for (int v = 0; v < strip; ++v) {
            const vec difference = load<T>(x + m * kTile + v * kLanes) - c;
            if (metric == kManhattan)
                d[v] += difference < 0 ? -difference : difference;
            else
                d[v] += difference * difference;
        }
    }
    if (metric != kManhattan)
        for (int v = 0; v < strip; ++v) take_root(d[v]);
}

template <class T, int metric>
static void sums_metric(const Tiles<T>& tiles, const T* candidates, int64_t count, int64_t begin, int64_t end, double* sums) {
    constexpr int strip = sizeof(T) == 4 ? 4 : 2;  // what stays in registers
    typedef typename Simd<T>::vec vec;
    const int64_t M = tiles.n_features;
    for (int64_t t = begin; t < end; ++t)
        for (int first = 0; first < kTile; first += strip * kLanes) {
            const T* x = tiles.coordinates + t * M * kTile + first;
            const int64_t at = t * kTile + first;
            for (int64_t c = 0; c < count; ++c) {
                vec d[strip], sum = {};
                strip_distances<T, metric, strip>(x, candidates + c * M, M, d);
                for (int v = 0; v < strip; ++v) {
                    sum += d[v] * load<T>(tiles.weight + at + v * kLanes);
                    if (tiles.quota)
                        sum += load<T>(tiles.quota + at + v * kLanes) / (d[v] + load<T>(tiles.radius + at + v * kLanes));
                }
                const vdouble wide = __builtin_convertvector(sum, vdouble);
                double total = 0;
                for (int i = 0; i < kLanes; ++i) total += wide[i];
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

template <class T>
static void distances(const Tiles<T>& tiles, int metric, const T* place, int64_t begin, int64_t end, T* out) {
    typedef typename Simd<T>::vec vec;
    const int64_t M = tiles.n_features;
    for (int64_t at = begin * kTile; at < end * kTile; at += kLanes) {
        const T* x = tiles.coordinates + at / kTile * M * kTile + at % kTile;
        vec d[1];
        if (metric == kManhattan)
            strip_distances<T, kManhattan, 1>(x, place, M, d);
        else
            strip_distances<T, kEuclidean, 1>(x, place, M, d);
        memcpy(out + at, d, sizeof(d));
    }
}

}  // namespace FC_CAT(medoid_isa_, FAIRCLUST_ISA)

MedoidKernels FC_CAT(medoid_kernels_, FAIRCLUST_ISA)() {
    namespace isa = FC_CAT(medoid_isa_, FAIRCLUST_ISA);
    return {{isa::sums<float>, isa::distances<float>}, {isa::sums<double>, isa::distances<double>}};
}

}  // namespace fairclust
