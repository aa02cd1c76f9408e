// The inner loops, compiled once per instruction set (FAIRCLUST_ISA names it). Nothing here may use a standard-library
// template: its code, compiled for AVX-512, could be the copy that the linker keeps for everybody.

#include "kernels.hpp"

#include <math.h>
#include <string.h>

#define FC_CAT2(a, b) a##b
#define FC_CAT(a, b) FC_CAT2(a, b)

#if defined(__AVX512F__)
#define FC_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define FC_VECTOR_BYTES 32
#else
#define FC_VECTOR_BYTES 16
#endif

namespace fairclust {
namespace FC_CAT(isa_, FAIRCLUST_ISA) {

typedef float vfloat __attribute__((vector_size(FC_VECTOR_BYTES)));
typedef double vdouble __attribute__((vector_size(FC_VECTOR_BYTES)));
typedef int32_t vint32 __attribute__((vector_size(FC_VECTOR_BYTES)));
typedef int64_t vint64 __attribute__((vector_size(FC_VECTOR_BYTES)));

template <class T> struct Simd;
template <> struct Simd<float> {
    typedef vfloat vec;
    typedef vint32 ivec;
    typedef int32_t integer;
};
template <> struct Simd<double> {
    typedef vdouble vec;
    typedef vint64 ivec;
    typedef int64_t integer;
};

template <class T> constexpr int lanes() { return FC_VECTOR_BYTES / (int)sizeof(T); }
template <class T> constexpr int vectors() { return kBlock / lanes<T>(); }

template <class T> static inline typename Simd<T>::vec load(const T* p) {
    typename Simd<T>::vec v;
    memcpy(&v, p, sizeof(v));
    return v;
}
template <class T> static inline void store(T* p, typename Simd<T>::vec v) { memcpy(p, &v, sizeof(v)); }
template <class T> static inline typename Simd<T>::vec splat(T x) {
    typename Simd<T>::vec zero = {};
    return zero + x;
}
template <class V> static inline V smaller(V a, V b) { return a < b ? a : b; }
template <class V> static inline V larger(V a, V b) { return a > b ? a : b; }

template <class T> static inline double total(typename Simd<T>::vec v) {
    double sum = 0;
    for (int i = 0; i < lanes<T>(); ++i) sum += (double)v[i];
    return sum;
}

// exp(x) for x <= 0, to the last few bits. x = n ln 2 + r, |r| <= ln(2)/2; exp(r) by its Taylor polynomial; 2^n is added
// to the exponent bits. Below the smallest normal number the answer is that number, which is as good as 0 here.
static inline vfloat exp_nonpositive(vfloat x) {
    x = larger(x, splat<float>(-87.0f));
    const vfloat shifted = x * 1.44269504088896341f + 12582912.0f;  // round to nearest: n sits in the low bits
    const vfloat n = shifted - 12582912.0f;
    const vfloat r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    vfloat p = splat<float>(1.0f / 720);
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    return (vfloat)((vint32)p + ((vint32)shifted << 23));
}
static inline vdouble exp_nonpositive(vdouble x) {
    x = larger(x, splat<double>(-707.0));
    const vdouble shifted = x * 1.4426950408889634074 + 6755399441055744.0;
    const vdouble n = shifted - 6755399441055744.0;
    const vdouble r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
    vdouble p = splat<double>(1.0 / 479001600);
    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    return (vdouble)((vint64)p + ((vint64)shifted << 52));
}

static inline vfloat root(vfloat v) {
    for (int i = 0; i < lanes<float>(); ++i) v[i] = sqrtf(v[i]);
    return v;
}
static inline vdouble root(vdouble v) {
    for (int i = 0; i < lanes<double>(); ++i) v[i] = sqrt(v[i]);
    return v;
}

template <int metric, class V> static inline V term(V difference) {
    if (metric == kManhattan) return difference < 0 ? -difference : difference;
    return difference * difference;
}

// The rows of a block, features [first, first + count), as [feature][point]; missing points are zero.
template <class T>
static inline void transpose_rows(const DistanceArgs<T>& a, int64_t start, int size, int64_t first, int64_t count, T* tile) {
    if (size < kBlock) memset(tile, 0, sizeof(T) * kBlock * count);
    for (int i = 0; i < size; ++i) {
        const T* row = a.X + (int64_t)a.order[start + i] * a.n_features + first;
        for (int64_t m = 0; m < count; ++m) tile[m * kBlock + i] = row[m];
    }
}

template <class T, int metric>
static double distances_metric(const DistanceArgs<T>& a, int64_t begin, int64_t end, T* tile) {
    constexpr int V = vectors<T>(), W = lanes<T>();
    typedef typename Simd<T>::vec vec;
    double cost = 0;
    for (int64_t b = begin; b < end; ++b) {
        const int64_t start = a.blocks.start[b];
        const int size = a.blocks.size[b];
        T* out = a.point_cost + b * a.n_clusters * kBlock;
        for (int64_t first = 0; first < a.n_features; first += kFeatureTile) {
            const int64_t count = a.n_features - first < kFeatureTile ? a.n_features - first : kFeatureTile;
            transpose_rows(a, start, size, first, count, tile);
            for (int64_t k = 0; k < a.n_clusters; ++k) {
                const T* center = a.centers + k * a.n_features + first;
                T* cell = out + k * kBlock;
                vec sum[V];
                for (int v = 0; v < V; ++v) sum[v] = first == 0 ? splat<T>(0) : load<T>(cell + v * W);
                for (int64_t m = 0; m < count; ++m) {
                    const vec c = splat<T>(center[m]);
                    const T* x = tile + m * kBlock;
                    for (int v = 0; v < V; ++v) sum[v] += term<metric>(load<T>(x + v * W) - c);
                }
                const bool last = first + count == a.n_features;
                for (int v = 0; v < V; ++v)
                    store<T>(cell + v * W, metric == kEuclidean && last ? root(sum[v]) : sum[v]);
            }
        }
        if (a.labels != nullptr) {
            double block_cost = 0;
            for (int i = 0; i < size; ++i) {
                const double w = a.weights ? (double)a.weights[start + i] : 1.0;
                block_cost += w * (double)out[(int64_t)a.labels[start + i] * kBlock + i];
            }
            cost += block_cost;
        }
    }
    return cost;
}

template <class T>
static double distances(const DistanceArgs<T>& a, int metric, int64_t begin, int64_t end, T* scratch) {
    if (metric == kManhattan) return distances_metric<T, kManhattan>(a, begin, end, scratch);
    if (metric == kEuclidean) return distances_metric<T, kEuclidean>(a, begin, end, scratch);
    return distances_metric<T, kSquaredEuclidean>(a, begin, end, scratch);
}

// The weights of a block's points, zero where there is no point.
template <class T> static inline void block_weights(const T* weights, int64_t start, int size, T* w) {
    for (int i = 0; i < kBlock; ++i) w[i] = i < size ? (weights ? weights[start + i] : T(1)) : T(0);
}

// Unnormalised softmax of one block into e [k][point]; its row sums into z and the row minima of the exponent into low.
template <class T>
static inline void softmax_block(const T* cost, int64_t n_clusters, T scale, const T* pull, T* e,
                                 typename Simd<T>::vec* low, typename Simd<T>::vec* z) {
    constexpr int V = vectors<T>(), W = lanes<T>();
    typedef typename Simd<T>::vec vec;
    for (int v = 0; v < V; ++v) {
        low[v] = load<T>(cost + v * W) * scale + pull[0];
        z[v] = splat<T>(0);
    }
    for (int64_t k = 1; k < n_clusters; ++k)
        for (int v = 0; v < V; ++v) low[v] = smaller<vec>(low[v], load<T>(cost + k * kBlock + v * W) * scale + pull[k]);
    for (int64_t k = 0; k < n_clusters; ++k)
        for (int v = 0; v < V; ++v) {
            const int64_t at = k * kBlock + v * W;
            const vec value = exp_nonpositive(low[v] - (load<T>(cost + at) * scale + pull[k]));
            z[v] += value;
            store<T>(e + at, value);
        }
}

// Adds s_k s_l of the block's undecided points to the upper triangle of the curvature.
template <class T>
static inline void add_curvature(const T* e, const T* z, const T* w, int64_t n_clusters, double* curvature) {
    constexpr double kDecided = 1e-3;  // a point that gives less than this to its second choice bends nothing
    for (int i = 0; i < kBlock; ++i) {
        if (!(z[i] > 1 + kDecided) || w[i] == 0) continue;
        const double inverse = 1.0 / (double)z[i];
        for (int64_t k = 0; k < n_clusters; ++k) {
            const double sk = (double)e[k * kBlock + i] * inverse;
            if (sk < kDecided * 0.1) continue;
            for (int64_t l = k + 1; l < n_clusters; ++l)
                curvature[k * n_clusters + l] += (double)w[i] * sk * ((double)e[l * kBlock + i] * inverse);
        }
    }
}

template <class T>
static void sweep(const SweepArgs<T>& a, T scale, const T* pull, int64_t begin, int64_t end, T* e, double* masses,
                  double* sums, double* curvature) {
    constexpr int V = vectors<T>(), W = lanes<T>();
    typedef typename Simd<T>::vec vec;
    alignas(64) T w[kBlock];
    alignas(64) T z_values[kBlock];
    vec low[V], z[V], share[V];
    for (int64_t b = begin; b < end; ++b) {
        const T* cost = a.point_cost + b * a.n_clusters * kBlock;
        softmax_block(cost, a.n_clusters, scale, pull, e, low, z);
        block_weights(a.weights, a.blocks.start[b], a.blocks.size[b], w);
        vec cost_sum = splat<T>(0), low_sum = splat<T>(0);
        for (int v = 0; v < V; ++v) {
            share[v] = load<T>(w + v * W) / z[v];
            low_sum += load<T>(w + v * W) * low[v];
        }
        for (int64_t k = 0; k < a.n_clusters; ++k) {
            vec mass = splat<T>(0);
            for (int v = 0; v < V; ++v) {
                const vec s = load<T>(e + k * kBlock + v * W) * share[v];
                mass += s;
                cost_sum += s * load<T>(cost + k * kBlock + v * W);
            }
            masses[k] += total<T>(mass);
        }
        for (int v = 0; v < V; ++v) store<T>(z_values + v * W, z[v]);
        // z is in [1, K], so the product of a block's z needs one logarithm; weights need one each.
        double log_z = 0;
        if (a.weights) {
            for (int i = 0; i < a.blocks.size[b]; ++i) log_z += (double)w[i] * log((double)z_values[i]);
        } else {
            double product = 1;
            for (int i = 0; i < a.blocks.size[b]; ++i) {
                product *= (double)z_values[i];
                if (product > 1e200) {
                    log_z += log(product);
                    product = 1;
                }
            }
            log_z += log(product);
        }
        sums[0] += total<T>(cost_sum);
        sums[1] += log_z - total<T>(low_sum);
        if (a.curvature_stride && b % a.curvature_stride == 0) {
            double weight = 0;
            for (int i = 0; i < kBlock; ++i) weight += (double)w[i];
            sums[2] += weight;
            add_curvature(e, z_values, w, a.n_clusters, curvature);
        }
    }
}

template <class T>
static void assign(const SweepArgs<T>& a, const T* price, int64_t begin, int64_t end, int32_t* labels, double* masses,
                   double* sums) {
    constexpr int V = vectors<T>(), W = lanes<T>();
    typedef typename Simd<T>::vec vec;
    typedef typename Simd<T>::ivec ivec;
    typedef typename Simd<T>::integer integer;
    for (int64_t b = begin; b < end; ++b) {
        const T* cost = a.point_cost + b * a.n_clusters * kBlock;
        vec best[V], second[V];
        ivec choice[V];
        for (int v = 0; v < V; ++v) {
            best[v] = load<T>(cost + v * W) + price[0];
            second[v] = splat<T>(sizeof(T) == 4 ? T(3e38) : T(1e300));
            choice[v] = ivec{};
        }
        for (int64_t k = 1; k < a.n_clusters; ++k)
            for (int v = 0; v < V; ++v) {
                const vec t = load<T>(cost + k * kBlock + v * W) + price[k];
                const ivec wins = t < best[v];
                second[v] = wins ? best[v] : smaller<vec>(second[v], t);
                choice[v] = wins ? (ivec{} + (integer)k) : choice[v];
                best[v] = wins ? t : best[v];
            }
        const int64_t start = a.blocks.start[b];
        double block_cost = 0, block_gap = 0;
        for (int i = 0; i < a.blocks.size[b]; ++i) {
            const int64_t k = (int64_t)choice[i / W][i % W];
            const double w = a.weights ? (double)a.weights[start + i] : 1.0;
            labels[start + i] = (int32_t)k;
            masses[k] += w;
            block_cost += w * (double)cost[k * kBlock + i];
            block_gap += w * ((double)second[i / W][i % W] - (double)best[i / W][i % W]);
        }
        sums[0] += block_cost;
        sums[1] += block_gap;
    }
}

template <class T>
static void soft_rows(const SweepArgs<T>& a, const int32_t* order, T scale, const T* pull, int64_t begin, int64_t end,
                      T* e, T* rows) {
    constexpr int V = vectors<T>(), W = lanes<T>();
    typename Simd<T>::vec low[V], z[V];
    for (int64_t b = begin; b < end; ++b) {
        softmax_block(a.point_cost + b * a.n_clusters * kBlock, a.n_clusters, scale, pull, e, low, z);
        for (int i = 0; i < a.blocks.size[b]; ++i) {
            T* row = rows + (int64_t)order[a.blocks.start[b] + i] * a.n_clusters;
            const T inverse = T(1) / z[i / W][i % W];
            for (int64_t k = 0; k < a.n_clusters; ++k) row[k] = e[k * kBlock + i] * inverse;
        }
    }
}

template <class T> static void label_sums(const DistanceArgs<T>& a, int64_t begin, int64_t end, double* sums) {
    for (int64_t b = begin; b < end; ++b)
        for (int64_t at = a.blocks.start[b], stop = at + a.blocks.size[b]; at < stop; ++at) {
            const T* row = a.X + (int64_t)a.order[at] * a.n_features;
            double* sum = sums + (int64_t)a.labels[at] * a.n_features;
            const double w = a.weights ? (double)a.weights[at] : 1.0;
            for (int64_t m = 0; m < a.n_features; ++m) sum[m] += w * (double)row[m];
        }
}

template <class T>
static void soft_sums(const SweepArgs<T>& a, const DistanceArgs<T>& d, T scale, const T* pull, int64_t begin, int64_t end,
                      T* e, double* sums) {
    constexpr int V = vectors<T>(), W = lanes<T>();
    typename Simd<T>::vec low[V], z[V];
    for (int64_t b = begin; b < end; ++b) {
        softmax_block(a.point_cost + b * a.n_clusters * kBlock, a.n_clusters, scale, pull, e, low, z);
        for (int i = 0; i < a.blocks.size[b]; ++i) {
            const int64_t at = a.blocks.start[b] + i;
            const T* row = d.X + (int64_t)d.order[at] * d.n_features;
            const double w = (a.weights ? (double)a.weights[at] : 1.0) / (double)z[i / W][i % W];
            for (int64_t k = 0; k < a.n_clusters; ++k) {
                const double s = w * (double)e[k * kBlock + i];
                if (s < 1e-12) continue;
                for (int64_t m = 0; m < d.n_features; ++m) sums[k * d.n_features + m] += s * (double)row[m];
            }
        }
    }
}

template <class T> static Kernels<T> table() {
    return {distances<T>, sweep<T>, assign<T>, soft_rows<T>, label_sums<T>, soft_sums<T>};
}

}  // namespace FC_CAT(isa_, FAIRCLUST_ISA)

KernelSet FC_CAT(kernels_, FAIRCLUST_ISA)() {
    namespace isa = FC_CAT(isa_, FAIRCLUST_ISA);
#define FC_TEXT2(a) #a
#define FC_TEXT(a) FC_TEXT2(a)
    return {FC_TEXT(FAIRCLUST_ISA), isa::table<float>(), isa::table<double>()};
}

}  // namespace fairclust
