// The inner loops, compiled once per instruction set (FAIRCLUST_ISA names it). Nothing here may use a standard-library
// template: its code, compiled for AVX-512, could be the copy that the linker keeps for everybody.

#include "kernels.hpp"

#include <math.h>
#include <string.h>

#include "vectors.hpp"

namespace fairclust {
namespace FC_CAT(isa_, FAIRCLUST_ISA) {


template <class T> constexpr int vectors() { return kTile / lanes<T>(); }

constexpr int V = kTile / (FC_VECTOR_BYTES / 4);  // vectors of floats in a tile
constexpr int W = FC_VECTOR_BYTES / 4;            // floats in a vector

template <class T> static inline typename Simd<T>::vec splat(T x) {
    typename Simd<T>::vec zero = {};
    return x - zero;  // unlike x + 0, that is x whatever its sign: no instruction
}

static inline vhalf low_half(vfloat v) {
    vhalf low;
    memcpy(&low, &v, sizeof(low));
    return low;
}
static inline vhalf high_half(vfloat v) {
    vhalf high;
    memcpy(&high, (const char*)&v + sizeof(high), sizeof(high));
    return high;
}

// Sums of floats are carried on in double lanes, so that 10^8 points lose nothing.
static inline vdouble widened(vfloat v) { return doubles(low_half(v)) + doubles(high_half(v)); }
static inline void add_to(double* sums, vdouble v) { store<double>(sums, load<double>(sums) + v); }
static inline double total(vdouble v) {
    double sum = 0;
    for (int i = 0; i < lanes<double>(); ++i) sum += v[i];
    return sum;
}

static inline void store_float(float* p, vfloat v) { store<float>(p, v); }
static inline void store_float(float* p, vdouble v) {
    const vhalf narrow = __builtin_convertvector(v, vhalf);
    memcpy(p, &narrow, sizeof(narrow));
}

// 2^x of some vectors, x <= 0, to the last few bits. x = m + f, |f| <= 1/2; 2^f by a polynomial that is 1 at 0 and within 1e-7 elsewhere;
// 2^m is added to the exponent bits. Below 2^-115 the answer is that, which is as good as 0 here, and still normal as a share.
// Every step waits for the one before it, so the vectors take turns.
template <int n> static inline void powers_of_two(vfloat* x) {
    constexpr float kRounds = 12582912.0f;  // added and taken away it rounds to nearest; m sits in the low bits
    vfloat f[n], p[n];
    vint32 exponent[n];
    for (int v = 0; v < n; ++v) x[v] = larger<vfloat>(x[v], splat<float>(-115.0f));
    for (int v = 0; v < n; ++v) p[v] = x[v] + kRounds;
    for (int v = 0; v < n; ++v) exponent[v] = (vint32)p[v] << 23;
    for (int v = 0; v < n; ++v) f[v] = x[v] - (p[v] - kRounds);
    for (int v = 0; v < n; ++v) p[v] = splat<float>(0.0013264726404f) * f[v] + 0.0096715126969f;
    for (int v = 0; v < n; ++v) p[v] = p[v] * f[v] + 0.0555073374589f;
    for (int v = 0; v < n; ++v) p[v] = p[v] * f[v] + 0.2402224208413f;
    for (int v = 0; v < n; ++v) p[v] = p[v] * f[v] + 0.6931469775973f;
    for (int v = 0; v < n; ++v) p[v] = p[v] * f[v] + 1.0f;
    for (int v = 0; v < n; ++v) x[v] = (vfloat)((vint32)p[v] + exponent[v]);
}
static inline vfloat power_of_two(vfloat x) {
    powers_of_two<1>(&x);
    return x;
}

static inline vfloat root(vfloat v) {
    for (int i = 0; i < lanes<float>(); ++i) v[i] = sqrtf(v[i]);
    return v;
}
static inline vdouble root(vdouble v) {
    for (int i = 0; i < lanes<double>(); ++i) v[i] = sqrt(v[i]);
    return v;
}

template <int metric, class X> static inline X term(X difference) {
    if (metric == kManhattan) return difference < 0 ? -difference : difference;
    return difference * difference;
}

// Lanes 0 … n-1, as a type.
template <int... lane> struct Lanes {};
template <int n, int... lane> struct Upto : Upto<n - 1, n - 1, lane...> {};
template <int... lane> struct Upto<0, lane...> { typedef Lanes<lane...> type; };

// Transposes a square of as many vectors as they have lanes: blocks of half the size change places, then halves of those.
template <class T, int half, int... lane>
static inline void swap_blocks(typename Simd<T>::vec* square, Lanes<lane...> every) {
    if constexpr (half > 0) {
        constexpr int W = lanes<T>();
        for (int r = 0; r < W; ++r) {
            if (r & half) continue;
            const typename Simd<T>::vec upper = square[r], lower = square[r + half];
            square[r] = __builtin_shufflevector(upper, lower, (lane & half ? W + lane - half : lane)...);
            square[r + half] = __builtin_shufflevector(upper, lower, (lane & half ? W + lane : lane + half)...);
        }
        swap_blocks<T, half / 2>(square, every);
    }
}
template <class T> static inline void transpose_square(typename Simd<T>::vec* square) {
    swap_blocks<T, lanes<T>() / 2>(square, typename Upto<lanes<T>()>::type());
}

// As many rows as a vector has lanes, features [first, first + count): a whole vector of them, or fewer.
template <class T, bool whole>
static inline void turn_square(const RowArgs<T>& a, const int32_t* order, int64_t first, int64_t count, T* turned) {
    constexpr int W = lanes<T>();
    typename Simd<T>::vec square[W];
    for (int r = 0; r < W; ++r) {
        const T* row = a.X + (int64_t)order[r] * a.n_features + first;
        square[r] = whole ? load<T>(row) : load_first<T>(row, count);
    }
    transpose_square<T>(square);
    for (int c = 0; c < (whole ? W : count); ++c) store<T>(turned + c * kTile, square[c]);
}

// The rows of a tile, features [first, first + count), as [feature][point]; missing points are zero.
template <class T>
static inline void transpose_rows(const RowArgs<T>& a, int64_t start, int size, int64_t first, int64_t count, T* turned) {
    if (size < kTile) memset(turned, 0, sizeof(T) * kTile * count);
    const int32_t* order = a.order + start;
    if (a.feature_stride) {
        for (int64_t m = 0; m < count; ++m) {
            const T* column = a.X + (first + m) * a.feature_stride;
            for (int i = 0; i < size; ++i) turned[m * kTile + i] = column[order[i]];
        }
        return;
    }
    constexpr int W = lanes<T>();
    int i = 0;
    for (; count < W && i + W <= size; i += W) turn_square<T, false>(a, order + i, first, count, turned + i);
    for (; i + W <= size; i += W)
        for (int64_t m = 0; m < count; m += W) {
            const int64_t at = smaller<int64_t>(m, count - W);  // the last square overlaps the one before
            turn_square<T, true>(a, order + i, first + at, W, turned + at * kTile + i);
        }
    for (; i < size; ++i) {
        const T* row = a.X + (int64_t)order[i] * a.n_features + first;
        for (int64_t m = 0; m < count; ++m) turned[m * kTile + i] = row[m];
    }
}

constexpr int kLine = 64;  // bytes that memory hands over at a time

template <class T> static inline void fetch_row(const RowArgs<T>& a, int64_t at, int64_t count) {
    const char* row = (const char*)(a.X + (int64_t)a.order[at] * a.n_features);
    for (int64_t byte = 0; byte < count * (int64_t)sizeof(T); byte += kLine) __builtin_prefetch(row + byte);
}

// What the next tile needs, its rows and room for its costs, is fetched while this one is counted: a little before each
// block of clusters, since requests that are made all at once wait for each other.
template <class T> struct NextTile {
    const RowArgs<T>& a;
    int64_t row, end, n_rows;        // of the next tile, and how many at a time
    const char *room, *room_end;     // the same for its costs, in bytes
    int64_t n_bytes;

    NextTile(const RowArgs<T>& a_, int64_t tile, int64_t end_tile, int64_t n_blocks)
        : a(a_), row(0), end(0), room(nullptr), room_end(nullptr) {
        n_rows = (kTile + n_blocks - 1) / n_blocks;
        const int64_t n_lines = a.n_clusters * kTile * (int64_t)sizeof(float) / kLine;
        n_bytes = (n_lines + n_blocks - 1) / n_blocks * kLine;
        if (tile >= end_tile || a.feature_stride || a.is_near) return;
        row = a.tiles.start[tile];
        end = row + a.tiles.size[tile];
        room = (const char*)(a.excess + tile * a.n_clusters * kTile);
        room_end = room + n_lines * kLine;
    }
    void fetch() {
        for (const int64_t stop = smaller(row + n_rows, end); row < stop; ++row)
            fetch_row(a, row, smaller<int64_t>(a.n_features, kFeatureTile));
        if (!room) return;
        for (const char* stop = smaller(room + n_bytes, room_end); room < stop; room += kLine) __builtin_prefetch(room, 1);
    }
};

// Costs of two vectors of points in C clusters, features [0, count) of what is turned: with C = 4 the sums, what is loaded
// and what is subtracted just fit in sixteen registers.
template <class T, int metric, int C>
static inline void add_costs(const T* turned, const T* centers, int64_t stride, int64_t count, bool first, bool last, NextTile<T>& next,
                             T* costs) {
    if (last) next.fetch();
    constexpr int S = 2, WT = lanes<T>();
    typedef typename Simd<T>::vec vec;
    vec sum[C][S];
    for (int c = 0; c < C; ++c)
        for (int v = 0; v < S; ++v) sum[c][v] = first ? splat<T>(0) : load<T>(costs + c * kTile + v * WT);
    for (int64_t m = 0; m < count; ++m) {
        vec point[S];
        for (int v = 0; v < S; ++v) point[v] = load<T>(turned + m * kTile + v * WT);
        for (int c = 0; c < C; ++c) {
            const vec center = splat<T>(centers[c * stride + m]);
            for (int v = 0; v < S; ++v) sum[c][v] += term<metric>(point[v] - center);
        }
    }
    for (int c = 0; c < C; ++c)
        for (int v = 0; v < S; ++v)
            store<T>(costs + c * kTile + v * WT, metric == kEuclidean && last ? root(sum[c][v]) : sum[c][v]);
}

// Costs of a tile, [cluster][point], in the precision of X. The next one that is asked for is before `end`, if any.
template <class T, int metric>
static inline void tile_costs(const RowArgs<T>& a, int64_t tile, int64_t end, T* turned, T* costs) {
    constexpr int step = 2 * lanes<T>();
    const int64_t n_blocks = kTile / step * (a.n_clusters / 4 + a.n_clusters % 4 / 2 + a.n_clusters % 2);
    NextTile<T> next(a, tile + 1, end, n_blocks);
    for (int64_t from = 0; from < a.n_features; from += kFeatureTile) {
        const int64_t count = smaller<int64_t>(a.n_features - from, kFeatureTile), stride = a.n_features;
        const bool first = from == 0, last = from + count == a.n_features;
        transpose_rows(a, a.tiles.start[tile], a.tiles.size[tile], from, count, turned);
        for (int strip = 0; strip < kTile; strip += step) {
            int64_t k = 0;
            const T *x = turned + strip, *centers = a.centers + from;
            for (; k + 4 <= a.n_clusters; k += 4)
                add_costs<T, metric, 4>(x, centers + k * stride, stride, count, first, last, next, costs + k * kTile + strip);
            for (; k + 2 <= a.n_clusters; k += 2)
                add_costs<T, metric, 2>(x, centers + k * stride, stride, count, first, last, next, costs + k * kTile + strip);
            for (; k < a.n_clusters; ++k)
                add_costs<T, metric, 1>(x, centers + k * stride, stride, count, first, last, next, costs + k * kTile + strip);
        }
    }
}

// Weighted sum of a tile's values.
template <class T> static inline double tile_total(const T* values, const double* weights, int size) {
    constexpr int D = lanes<double>();
    vdouble sums = {};
    int i = 0;
    for (; i + D <= size; i += D) sums += weights ? load_doubles(values + i) * load_doubles(weights + i) : load_doubles(values + i);
    double sum = total(sums);
    for (; i < size; ++i) sum += (weights ? weights[i] : 1.0) * (double)values[i];
    return sum;
}

template <class T, int metric>
static void distances_metric(const RowArgs<T>& a, int64_t begin, int64_t end, T* turned, double* sums) {
    constexpr int WT = lanes<T>(), S = vectors<T>() < 4 ? vectors<T>() : 4;  // vectors at a time: minima that do not wait for each other
    typedef typename Simd<T>::vec vec;
    T* costs = turned + kTile * kFeatureTile;
    alignas(64) T low[kTile];
    for (int64_t b = begin; b < end; ++b) {
        const int64_t start = a.tiles.start[b];
        const int size = a.tiles.size[b];
        float* excess = a.excess + b * a.n_clusters * kTile;
        tile_costs<T, metric>(a, b, end, turned, costs);
        for (int first = 0; first < kTile; first += S * WT) {
            vec least[S];
            for (int v = 0; v < S; ++v) least[v] = load<T>(costs + first + v * WT);
            for (int64_t k = 1; k < a.n_clusters; ++k)
                for (int v = 0; v < S; ++v) least[v] = smaller<vec>(least[v], load<T>(costs + k * kTile + first + v * WT));
            for (int v = 0; v < S; ++v) store<T>(low + first + v * WT, least[v]);
            for (int64_t k = 0; k < a.n_clusters; ++k)
                for (int v = 0; v < S; ++v)
                    store_float(excess + k * kTile + first + v * WT, load<T>(costs + k * kTile + first + v * WT) - least[v]);
        }
        const double* weights = a.weights ? a.weights + start : nullptr;
        sums[0] += tile_total(low, weights, size);
        if (!a.labels) continue;
        for (int i = 0; i < size; ++i) low[i] = costs[(int64_t)a.labels[start + i] * kTile + i];
        sums[1] += tile_total(low, weights, size);
    }
}

template <class T>
static void distances(const RowArgs<T>& a, int metric, int64_t begin, int64_t end, T* scratch, double* sums) {
    if (metric == kManhattan) return distances_metric<T, kManhattan>(a, begin, end, scratch, sums);
    if (metric == kEuclidean) return distances_metric<T, kEuclidean>(a, begin, end, scratch, sums);
    return distances_metric<T, kSquaredEuclidean>(a, begin, end, scratch, sums);
}

// The weights of a tile's points, zero where there is no point.
static inline void tile_weights(const double* weights, int64_t start, int size, float* w) {
    for (int i = 0; i < kTile; ++i) w[i] = i < size ? (weights ? (float)weights[start + i] : 1.0f) : 0.0f;
}

constexpr int kAtOnce = kLine / FC_VECTOR_BYTES;  // vectors at a time: whole lines are read, and what is summed stays in registers

// Unnormalised softmax of one tile into e [cluster][point]; its row sums into z, the minima of the exponent into low, unless they
// are known. The costs at `next` are fetched on the way: processors that fetch ahead by themselves stop at the end of a page.
template <bool is_low_known = false>
static inline void softmax_tile(const float* a, const float* next, int64_t n_clusters, float scale, const float* scaled_price,
                                 float* e, vfloat* low, vfloat* z) {
    constexpr int S = kAtOnce;
    for (int first = 0; first < V; first += S) {
        vfloat least[S], sum[S];
        for (int v = 0; v < S; ++v) {
            least[v] = is_low_known ? low[first + v] : splat<float>(3e38f);
            sum[v] = splat<float>(0);
        }
        for (int64_t k = 0; k < (is_low_known ? 0 : n_clusters); ++k) {
            const int64_t at = k * kTile + first * W;
            for (int v = 0; v < S; ++v) least[v] = smaller<vfloat>(least[v], load<float>(a + at + v * W) * scale + scaled_price[k]);
        }
        for (int64_t k = 0; k < n_clusters; ++k) {
            __builtin_prefetch(next + (first / S * n_clusters + k) * (kLine / 4));
            const int64_t at = k * kTile + first * W;
            vfloat value[S];
            for (int v = 0; v < S; ++v) value[v] = least[v] - (load<float>(a + at + v * W) * scale + scaled_price[k]);
            powers_of_two<S>(value);
            for (int v = 0; v < S; ++v) {
                sum[v] += value[v];
                store<float>(e + at + v * W, value[v]);
            }
        }
        for (int v = 0; v < S; ++v) {
            low[first + v] = least[v];
            z[first + v] = sum[v];
        }
    }
}

// The costs of the next tile, where there is one before `end`; otherwise these.
static inline const float* next_costs(const float* excess, int64_t n_clusters, int64_t tile, int64_t end) {
    return tile + 1 < end ? excess + n_clusters * kTile : excess;
}

constexpr double kLogTwo = 0.693147180559945309;  // from bits back

constexpr float kUndecided = 1e-3f;  // a point that gives less than this to its other choices bends nothing
constexpr float kNothing = 1e-15f;   // of a point: squares of it are still normal numbers, which denormal ones slow down

// The least that a choice must have of the unnormalised softmax for its pairs to be counted; of a point that is not counted,
// beyond any. IN its sums z, and a factor for each point, 0: it is not counted. OUT floor.
static inline void pair_floors(const float* z, const float* factor, float* floor) {
    for (int v = 0; v < V; ++v) {
        const vfloat least = kUndecided * 0.1f * load<float>(z + v * W);
        store<float>(floor + v * W, load<float>(factor + v * W) != 0 ? least : splat<float>(3e38f));
    }
}

constexpr int kMostFollowed = 32;  // choices of a point whose pairs are counted; a point with more is rare and hot

// Adds s_k s_l of a point. IN n choices of it, in the order of the clusters.
static inline void add_pairs_of(const float* value, const int32_t* cluster, int n, double scale, int64_t n_clusters, double* pairs) {
    for (int p = 0; p + 1 < n; ++p) {
        const double own = scale * (double)value[p];
        double* row = pairs + cluster[p] * n_clusters;
        for (int q = p + 1; q < n; ++q) row[cluster[q]] += own * (double)value[q];
    }
}

// Of the points of a tile, each between a few of many clusters. IN e, the unnormalised softmax, and weights.
static void add_pairs(const float* e, const float* z, const float* w, const float* factor, int64_t n_clusters, double* pairs) {
    float value[kTile][kMostFollowed];
    int32_t at[kTile][kMostFollowed];
    int n[kTile] = {};
    alignas(64) float floor[kTile];
    pair_floors(z, factor, floor);
    for (int64_t k = 0; k < n_clusters; ++k) {
        uint64_t chosen = 0;
        for (int v = 0; v < V; ++v) chosen |= bits_of(load<float>(e + k * kTile + v * W) > load<float>(floor + v * W)) << v * W;
        for (; chosen; chosen &= chosen - 1) {
            const int i = __builtin_ctzll(chosen);
            if (n[i] == kMostFollowed) continue;
            value[i][n[i]] = e[k * kTile + i];
            at[i][n[i]++] = (int32_t)k;
        }
    }
    for (int i = 0; i < kTile; ++i)
        add_pairs_of(value[i], at[i], n[i], (double)w[i] / ((double)z[i] * (double)z[i]), n_clusters, pairs);
}

// Adds the products of every two rows of soft [cluster][point] to the sums, a vector of lanes per pair; four pairs at a
// time stay in registers.
static void add_products(const float* soft, int64_t n_clusters, float* sum) {
    for (int64_t k = 0; k + 1 < n_clusters; ++k) {
        vfloat own[V];
        for (int v = 0; v < V; ++v) own[v] = load<float>(soft + k * kTile + v * W);
        int64_t l = k + 1;
        for (; l + 4 <= n_clusters; l += 4, sum += 4 * W) {
            const float* other = soft + l * kTile;
            vfloat add[4] = {};
            for (int v = 0; v < V; ++v)
                for (int i = 0; i < 4; ++i) add[i] += own[v] * load<float>(other + i * kTile + v * W);
            for (int i = 0; i < 4; ++i) store<float>(sum + i * W, load<float>(sum + i * W) + add[i]);
        }
        for (; l < n_clusters; ++l, sum += W) {
            vfloat add = splat<float>(0);
            for (int v = 0; v < V; ++v) add += own[v] * load<float>(soft + l * kTile + v * W);
            store<float>(sum, load<float>(sum) + add);
        }
    }
}

static void multiply(PairSums& held, int64_t n_clusters) {
    add_products(held.soft, n_clusters, held.pairs);
    held.count = 0;
}

// The points of a tile that are to be counted, side by side with others: whole vectors, in which some count for nothing,
// for to sort these out takes longer. IN e, the unnormalised softmax, and a factor for each point, 0: it is not counted.
static inline void hold_tile(PairSums& held, const float* e, const float* factor, int64_t n_clusters) {
    for (int first = 0; first < kTile; first += W) {
        bool is_any = false;
        for (int i = first; i < first + W; ++i) is_any |= factor[i] != 0;
        if (!is_any) continue;
        for (int64_t k = 0; k < n_clusters; ++k) {
            const vfloat value = load<float>(e + k * kTile + first), kept = value > kNothing ? value : splat<float>(0);
            store<float>(held.soft + k * kTile + held.count, kept * load<float>(factor + first));
        }
        held.count += W;
        if (held.count == kTile) multiply(held, n_clusters);
    }
}

// The points of a tile, a bit each.
static inline uint64_t present(int size) { return size < kTile ? ((uint64_t)1 << size) - 1 : ~(uint64_t)0; }

// Which points of a tile are in runs that are counted, a bit each; `before`: points of the cell before the tile.
static inline uint64_t counted_runs(int64_t step, int64_t before, int size) {
    if (step == 1) return present(size);
    uint64_t counted = 0;
    int64_t turn = before / kRun % step;  // 0: this run's
    for (int first = -(int)(before % kRun); first < kTile; first += kRun, turn = turn + 1 == step ? 0 : turn + 1) {
        if (turn) continue;
        const uint64_t run = ((uint64_t)1 << kRun) - 1;
        counted |= first < 0 ? run >> -first : run << first;
    }
    return counted & present(size);
}

// What each point's softmax is multiplied by before products are summed: 0 if it is not counted, or decided.
static inline void pair_factors(const float* z, const float* w, bool weighted, uint64_t counted, float* factor) {
    vint32 lane;
    for (int i = 0; i < W; ++i) lane[i] = i;
    for (int v = 0; v < V; ++v) {
        const vint32 is_counted = ((int32_t)(counted >> v * W) >> lane & 1) != 0;
        const vfloat sum = load<float>(z + v * W), one = splat<float>(1), root_of = weighted ? root(load<float>(w + v * W)) : one;
        store<float>(factor + v * W, is_counted & (sum > 1 + kUndecided) ? root_of / sum : splat<float>(0));
    }
}

static inline double counted_weight(const float* w, bool weighted, uint64_t counted) {
    if (!weighted) return __builtin_popcountll(counted);
    double sum = 0;
    for (int i = 0; i < kTile; ++i) sum += counted >> i & 1 ? (double)w[i] : 0.0;
    return sum;
}

static void end_pairs(PairSums& held, int64_t n_clusters, double* table) {
    if (n_clusters > kDense) return;
    if (held.count) {
        for (int64_t k = 0; k < n_clusters; ++k)
            for (int i = held.count; i < kTile; ++i) held.soft[k * kTile + i] = 0.0f;
        multiply(held, n_clusters);
    }
    float* sum = held.pairs;
    for (int64_t k = 0; k < n_clusters; ++k)
        for (int64_t l = k + 1; l < n_clusters; ++l, sum += W) {
            table[k * n_clusters + l] += total(widened(load<float>(sum)));
            store<float>(sum, splat<float>(0));
        }
}

static inline bool are_alike(const float* w, int size) {
    bool are = true;
    for (int i = 1; i < size; ++i) are &= w[i] == w[0];
    return are;
}

// Weighted sum of log z over a tile. z is in [1, K], so the product of several z needs one logarithm; weights need one each,
// unless they are alike, as those of a sample's cell are.
static inline double log_total(const float* z, const float* w, int size, bool weighted, int64_t n_clusters) {
    double sum = 0;
    if (weighted) {
        if (are_alike(w, size)) return (double)w[0] * log_total(z, w, size, false, n_clusters);
        for (int i = 0; i < size; ++i) sum += (double)w[i] * log((double)z[i]);
        return sum;
    }
    const bool is_one = n_clusters <= 1 << 15;  // K^64 is finite up to 2^15 clusters, K^16 for any K
    if (is_one && size == kTile) {
        vdouble products = doubles(low_half(load<float>(z))) * doubles(high_half(load<float>(z)));
        for (int v = 1; v < V; ++v) {
            const vfloat own = load<float>(z + v * W);
            products *= doubles(low_half(own)) * doubles(high_half(own));
        }
        double product = 1;
        for (int i = 0; i < lanes<double>(); ++i) product *= products[i];
        return log(product);
    }
    const int together = is_one ? kTile : kTile / 4;
    for (int first = 0; first < size; first += together) {
        double product = 1;
        for (int i = first; i < smaller(first + together, size); ++i) product *= (double)z[i];
        sum += log(product);
    }
    return sum;
}

// What is known of a tile once its softmax is.
struct TileShares {
    alignas(64) float w[kTile], z[kTile], share[kTile], inverse[kTile];  // of each point: its weight, z, weight / z and 1 / z

    void set(const vfloat* sums) {
        for (int v = 0; v < V; ++v) {
            const vfloat own = 1.0f / sums[v];
            store<float>(z + v * W, sums[v]);
            store<float>(inverse + v * W, own);
            store<float>(share + v * W, load<float>(w + v * W) * own);
        }
    }
};

constexpr int kChains = 4;  // sums that do not wait for each other: as many as an addition takes steps

// Adds a tile's masses and squares; returns its excess cost. IN e, the unnormalised softmax.
template <bool bent>
static inline double add_tile(const float* excess, const float* e, const TileShares& t, int64_t n_clusters, double* masses,
                              double* squares) {
    vfloat share[V], inverse[V], cost_sum[kChains] = {};
    for (int v = 0; v < V; ++v) {
        share[v] = load<float>(t.share + v * W);
        inverse[v] = load<float>(t.inverse + v * W);
    }
    for (int64_t k = 0; k < n_clusters; ++k) {
        vfloat mass = splat<float>(0), square = splat<float>(0);
        for (int v = 0; v < V; ++v) {
            const vfloat value = load<float>(e + k * kTile + v * W), s = value * share[v];
            mass += s;
            cost_sum[v % kChains] += s * load<float>(excess + k * kTile + v * W);
            if (bent) square += s * (value > kNothing ? value * inverse[v] : splat<float>(0));
        }
        add_to(masses + k * kSums, widened(mass));
        if (bent) add_to(squares + k * kSums, widened(square));
    }
    return total(widened((cost_sum[0] + cost_sum[1]) + (cost_sum[2] + cost_sum[3])));
}

// --- Of many clusters a point is between a few: those are listed, and the others are not looked at again. ---------------

constexpr int kMany = 96;  // clusters, up to which it takes as long to list the near ones as to count all
constexpr float kNear = (float)(24 * kBits);  // temperatures beyond the best: exp(-24) of a point is nobody
constexpr double kNobody = 1e-10;  // people: a cluster that has fewer is told of its nearest point, however far that is
constexpr int kUsual = 4;          // points of a tile that are near one of many clusters: seldom more
constexpr int kFew = 8;            // one in so many of a tile's pairs of point and cluster is listed: where more are near, all are counted
constexpr int kAhead = 8;          // clusters whose choices may be listed in advance: of hot points, few are listed in vain

typedef uint32_t __attribute__((may_alias)) Place;  // cluster * kTile + point, in room that is a softmax's at other times

// The choices of a tile's points that are near their best, in the order of the clusters.
struct Listed {
    Place* place;
    float* value;     // unnormalised softmax
    int64_t n;

    Listed(float* scratch, int64_t n_clusters) : place((Place*)scratch), value(scratch + n_clusters * (kTile / 2)), n(0) {}
    int point(int64_t j) const { return (int)(place[j] % kTile); }
    int64_t cluster(int64_t j) const { return place[j] / kTile; }
};

// The point of a tile that is nearest to a cluster, as a bit.
static uint64_t nearest(const float* costs, float scale, float price, const vfloat* low, int size) {
    alignas(64) float less[kTile];
    for (int v = 0; v < V; ++v) store<float>(less + v * W, low[v] - (load<float>(costs + v * W) * scale + price));
    int at = 0;
    for (int i = 1; i < size; ++i) at = less[i] > less[at] ? i : at;
    return (uint64_t)1 << at;
}

// Lists them; false: they are many. OUT low: the minima of the exponent.
static inline bool list_choices(const float* a, const float* next, int size, int64_t n_clusters, float scale,
                                const float* scaled_price, const double* masses, Listed& list, vfloat* low) {
    constexpr int S = V < 8 ? V : 8;  // minima that stay in registers
    for (int first = 0; first < V; first += S) {
        vfloat least[S];
        for (int v = 0; v < S; ++v) least[v] = splat<float>(3e38f);
        for (int64_t k = 0; k < n_clusters; ++k) {
            const float* costs = a + k * kTile + first * W;
            for (int v = 0; v < S; ++v) least[v] = smaller<vfloat>(least[v], load<float>(costs + v * W) * scale + scaled_price[k]);
        }
        for (int v = 0; v < S; ++v) low[first + v] = least[v];
    }
    const uint64_t points = present(size), last = (uint64_t)1 << (kTile - 1);
    int64_t n = 0;
    for (int64_t k = 0; k < n_clusters; ++k) {
        for (int at = 0; at < kTile; at += kLine / 4) __builtin_prefetch(next + k * kTile + at);
        uint64_t near = 0;
        for (int v = 0; v < V; ++v) {
            const vfloat less = low[v] - (load<float>(a + k * kTile + v * W) * scale + scaled_price[k]);
            near |= bits_of(less > -kNear) << v * W;
        }
        near &= points;
        if (__builtin_expect(!near & !(masses[k * kSums] > kNobody), 0))
            near = nearest(a + k * kTile, scale, scaled_price[k], low, size);
        if (n > (k + kAhead) * (kTile / kFew)) return false;
        // As many as usual are written in any case, for a processor cannot guess how many there are.
        const int count = __builtin_popcountll(near);
        Place* place = list.place + n;
        const uint32_t first = (uint32_t)(k * kTile);
        for (int j = 0; j < kUsual; ++j, near &= near - 1) place[j] = first + (uint32_t)__builtin_ctzll(near | last);
        for (int j = kUsual; j < count; ++j, near &= near - 1) place[j] = first + (uint32_t)__builtin_ctzll(near);
        n += count;
    }
    list.n = n;
    return true;
}

// Softmax of what is listed, and its sums by point; false: a point's best is not listed, for its costs are no numbers in bits.
static inline bool softmax_list(const float* a, float scale, const float* scaled_price, int size, Listed& list, const vfloat* low, vfloat* z) {
    alignas(64) float least[kTile], sum[kTile];
    for (int v = 0; v < V; ++v) store<float>(least + v * W, low[v]);
    for (int i = 0; i < kTile; ++i) sum[i] = i < size ? 0.0f : 1.0f;
    for (int64_t j = 0; j < list.n; ++j)
        list.value[j] = least[list.point(j)] - (a[list.place[j]] * scale + scaled_price[list.cluster(j)]);
    for (int64_t j = 0; j < list.n; j += W) store<float>(list.value + j, power_of_two(load<float>(list.value + j)));
    for (int64_t j = 0; j < list.n; ++j) sum[list.point(j)] += list.value[j];
    bool are_placed = true;
    for (int i = 0; i < kTile; ++i) are_placed &= sum[i] >= 1;
    for (int v = 0; v < V; ++v) z[v] = load<float>(sum + v * W);
    return are_placed;
}

// What add_tile adds, of what is listed.
template <bool bent>
static inline double add_list(const float* excess, const Listed& list, const TileShares& t, double* masses, double* squares) {
    double cost[kChains] = {};
    const auto add = [&](int64_t j, int turn) {
        const int i = list.point(j);
        const int64_t k = list.cluster(j);
        const double s = (double)(list.value[j] * t.share[i]);
        masses[k * kSums] += s;
        cost[turn] += s * (double)excess[list.place[j]];
        if (bent) squares[k * kSums] += s * (double)(list.value[j] * t.inverse[i]);
    };
    int64_t j = 0;
    for (; j + kChains <= list.n; j += kChains)
        for (int turn = 0; turn < kChains; ++turn) add(j + turn, turn);
    for (; j < list.n; ++j) add(j, 0);
    return (cost[0] + cost[1]) + (cost[2] + cost[3]);
}

// What add_pairs adds, of what is listed.
static void add_list_pairs(const Listed& list, const TileShares& t, const float* factor, int64_t n_clusters, double* pairs) {
    constexpr int kRoom = kTile * (kMostFollowed + 1);
    float value[kRoom];  // of each point its own, one after the other, and a place that is written in any case
    int32_t cluster[kRoom];
    alignas(64) float floor[kTile];
    pair_floors(t.z, factor, floor);
    int n[kTile] = {}, begin[kTile], end[kTile];
    for (int64_t j = 0; j < list.n; ++j) n[list.point(j)] += list.value[j] > floor[list.point(j)];
    for (int i = 0, at = 0; i < kTile; at = end[i++] + 1) {
        begin[i] = at;
        end[i] = at + smaller(n[i], kMostFollowed);
        n[i] = at;
    }
    for (int64_t j = 0; j < list.n; ++j) {
        const int i = list.point(j);
        value[n[i]] = list.value[j];
        cluster[n[i]] = (int32_t)list.cluster(j);
        n[i] += (list.value[j] > floor[i]) & (n[i] < end[i]);
    }
    for (int i = 0; i < kTile; ++i)
        add_pairs_of(value + begin[i], cluster + begin[i], end[i] - begin[i],
                     (double)t.w[i] / ((double)t.z[i] * (double)t.z[i]), n_clusters, pairs);
}

template <bool bent>
static void sweep_tiles(const SweepArgs& a, float scale, const float* scaled_price, EveryNth every, int64_t begin, int64_t end,
                         float* e, PairSums& held, double* masses, double* sums, double* squares, double* pairs) {
    alignas(64) float factor[kTile];
    TileShares t;
    vfloat low[V], z[V];
    const int64_t K = a.n_clusters;
    Listed list(e, K);
    for (int64_t b = begin; b < end; ++b) {
        const float *excess = a.excess + b * K * kTile, *next = next_costs(excess, K, b, end);
        const int size = a.tiles.size[b];
        bool is_listed = false;
        if (K > kMany) {
            is_listed = list_choices(excess, next, size, K, scale, scaled_price, masses, list, low) &&
                        softmax_list(excess, scale, scaled_price, size, list, low, z);
            if (!is_listed) softmax_tile<true>(excess, next, K, scale, scaled_price, e, low, z);
        } else {
            softmax_tile(excess, next, K, scale, scaled_price, e, low, z);
        }
        tile_weights(a.weights, a.tiles.start[b], size, t.w);
        t.set(z);
        vfloat low_sum = splat<float>(0);
        for (int v = 0; v < V; ++v) low_sum += load<float>(t.w + v * W) * low[v];
        sums[0] += is_listed ? add_list<bent>(excess, list, t, masses, squares) : add_tile<bent>(excess, e, t, K, masses, squares);
        sums[1] += log_total(t.z, t.w, size, a.weights != nullptr, K) - kLogTwo * total(widened(low_sum));
        if (!bent) continue;
        const uint64_t counted = counted_runs(every.step, every.before + a.tiles.start[b] - a.tiles.start[begin], size);
        if (!counted) continue;
        sums[2] += counted_weight(t.w, a.weights != nullptr, counted);
        pair_factors(t.z, t.w, a.weights != nullptr, counted, factor);
        if (K <= kDense) hold_tile(held, e, factor, K);
        else if (is_listed) add_list_pairs(list, t, factor, K, pairs);
        else add_pairs(e, t.z, t.w, factor, K, pairs);
    }
}

static void sweep(const SweepArgs& a, float scale, const float* scaled_price, EveryNth every, int64_t begin, int64_t end, float* e,
                  PairSums& held, double* masses, double* sums, double* squares, double* pairs) {
    if (every.step) sweep_tiles<true>(a, scale, scaled_price, every, begin, end, e, held, masses, sums, squares, pairs);
    else sweep_tiles<false>(a, scale, scaled_price, every, begin, end, e, held, masses, sums, squares, pairs);
}

constexpr double kDecided = 16;  // temperatures beyond the best: exp(-16) of a point is nobody

constexpr double kGolden = 0.6180339887498949;  // multiples of the golden ratio are never near to each other
constexpr float kClear = 1e-5f;  // of a fraction: less may be rounding in single precision

// Fractions of consecutive points, spread evenly over 0 … 1 however many there are.
static inline double golden_fraction(int64_t r) {
    const double golden = (double)r * kGolden;
    return golden - floor(golden);
}

struct GoldenFractions {
    alignas(64) float of[kTile];
    constexpr GoldenFractions() : of() {
        for (int i = 0; i < kTile; ++i) of[i] = (float)(i * kGolden - (double)(int)(i * kGolden));
    }
};
constexpr GoldenFractions kFractions;

// Of a vector of points of a tile whose first point's is `start`, in single precision.
static inline vfloat fractions(const float* of, vfloat start) {
    const vfloat sum = load<float>(of) + start;
    return sum >= 1 ? sum - 1 : sum;
}

// The cluster that the r-th point of its cell chooses by its soft assignment; excess is its column of the tile, `second`
// what its second choice costs.
static inline int64_t split_choice(const float* excess, const float* price, int64_t n_clusters, double scale, int64_t first,
                                   double best, double second, int64_t r) {
    const double fraction = golden_fraction(r);
    // All others together are worth at most so much of the best: where the fraction is within its part in any case, the
    // others need not be looked at.
    const double others = (double)(n_clusters - 1) * exp((best - second) * scale) * (1 + 1e-9);
    if (fraction > others && fraction * (1 + others) < 1) return first;
    constexpr int kKept = 64;  // parts of a point that are kept, and not counted twice
    double total = 0, kept[kKept];
    int64_t at[kKept], n = 0, k = 0;
    const auto part = [&] {
        const double beyond = ((double)(excess[k * kTile] + price[k]) - best) * scale;
        return beyond < kDecided ? exp(-beyond) : 0.0;
    };
    for (; k < n_clusters; ++k) {
        const double own = part();
        if (own == 0) continue;
        total += own;
        if (n < kKept) at[n] = k, kept[n] = own;
        ++n;
    }
    const double wanted = fraction * total;
    double sum = 0;
    int64_t last = first;
    for (int64_t i = 0; i < smaller<int64_t>(n, kKept); ++i) {
        sum += kept[i];
        last = at[i];
        if (sum > wanted) return last;
    }
    for (k = last + 1; n > kKept && k < n_clusters; ++k) {
        const double own = part();
        if (own == 0) continue;
        sum += own;
        last = k;
        if (sum > wanted) return last;
    }
    return last;
}

// The cheapest cluster of each point of a tile, what it and the second cheapest cost with prices, and its excess.
struct Choices {
    alignas(64) int32_t choice[kTile];
    alignas(64) float best[kTile], second[kTile], excess[kTile];
};

static inline void choose(const float* excess, const float* next, const float* price, int64_t n_clusters, Choices& out) {
    constexpr int S = kAtOnce;
    for (int first = 0; first < kTile; first += S * W) {
        vfloat best[S], second[S];
        vint32 choice[S];
        for (int v = 0; v < S; ++v) {
            best[v] = load<float>(excess + first + v * W) + price[0];
            second[v] = splat<float>(3e38f);
            choice[v] = vint32{};
        }
        const float* ahead = next + first / (S * W) * n_clusters * (kLine / 4);
        __builtin_prefetch(ahead);
        for (int64_t k = 1; k < n_clusters; ++k) {
            __builtin_prefetch(ahead + k * (kLine / 4));
            for (int v = 0; v < S; ++v) {
                const vfloat t = load<float>(excess + k * kTile + first + v * W) + price[k];
                choice[v] = t < best[v] ? (vint32{} + (int32_t)k) : choice[v];
                second[v] = smaller<vfloat>(second[v], larger<vfloat>(best[v], t));
                best[v] = smaller<vfloat>(best[v], t);
            }
        }
        for (int v = 0; v < S; ++v) {
            memcpy(out.choice + first + v * W, &choice[v], sizeof(choice[v]));
            store<float>(out.best + first + v * W, best[v]);
            store<float>(out.second + first + v * W, second[v]);
        }
    }
    for (int i = 0; i < kTile; ++i) out.excess[i] = excess[(int64_t)out.choice[i] * kTile + i];
}

constexpr int kSplitAtOnce = 256;  // clusters whose parts of a vector of points are kept meanwhile

// The same choice for the points of a tile that are waiting, which are few: a vector of them at a time, side by side. Those
// for which single precision cannot tell are left waiting. `start`: the fraction of the tile's first point.
static inline void split_vectors(const float* excess, const float* price, int64_t n_clusters, double scale, vfloat start,
                                 uint64_t& waiting, Choices& c) {
    alignas(64) float costs[kSplitAtOnce * W], best_of[W], fraction_of[W];
    vfloat part[kSplitAtOnce];
    const float bits = (float)(kBits * scale);
    for (uint64_t open = waiting; open;) {
        int at[W], n = 0;
        for (; n < W && open; open &= open - 1) at[n++] = __builtin_ctzll(open);
        for (int i = n; i < W; ++i) at[i] = at[0];
        for (int i = 0; i < W; ++i) {
            best_of[i] = c.best[at[i]];
            fraction_of[i] = kFractions.of[at[i]];
        }
        for (int64_t k = 0; k < n_clusters; ++k)
            for (int i = 0; i < W; ++i) costs[k * W + i] = excess[k * kTile + at[i]];
        const vfloat best = load<float>(best_of);
        vfloat total = splat<float>(0);
        for (int64_t k = 0; k < n_clusters; ++k) {
            const vfloat beyond = (load<float>(costs + k * W) + price[k] - best) * bits;
            part[k] = beyond < (float)(kBits * kDecided) ? power_of_two(-beyond) : splat<float>(0);
            total += part[k];
        }
        const vfloat wanted = fractions(fraction_of, start) * total;
        vfloat sum = -wanted, nearest = total;  // of the sums so far, less what is wanted, the nearest to 0
        vint32 choice = {};
        for (int64_t k = 0; k < n_clusters; ++k) {
            sum += part[k];
            choice -= sum <= 0;
            nearest = smaller<vfloat>(nearest, larger<vfloat>(sum, -sum));
        }
        const vint32 is_clear = nearest > total * kClear;
        for (int i = 0; i < n; ++i) {
            if (!is_clear[i]) continue;
            c.choice[at[i]] = choice[i];
            c.excess[at[i]] = costs[choice[i] * W + i];
            waiting &= ~((uint64_t)1 << at[i]);
        }
    }
}

// Points that are near to another cluster choose by their soft assignments. `before`: points of the cell before the tile.
static inline void split_tile(const float* excess, const float* price, int64_t n_clusters, double scale, int64_t before,
                              int size, Choices& c) {
    // Which points need a look: all vectors at once, for a processor cannot guess them. exp(g) is more than its first terms.
    uint64_t waiting = 0;
    const vfloat start = splat<float>((float)golden_fraction(before)), many = splat<float>(1.0001f * (float)(n_clusters - 1));
    for (int v = 0; v < V; ++v) {
        const vfloat g = (load<float>(c.second + v * W) - load<float>(c.best + v * W)) * (float)scale;
        const vfloat about = many / (1 + g * (1 + g * (0.5f + g * (1.0f / 6 + g * (1.0f / 24)))));
        const vfloat fraction = fractions(kFractions.of + v * W, start);
        waiting |= bits_of(~((fraction > about + kClear) & (fraction * (1 + about) < 1 - kClear))) << v * W;
    }
    waiting &= present(size);
    if (n_clusters <= kSplitAtOnce) split_vectors(excess, price, n_clusters, scale, start, waiting, c);
    for (; waiting; waiting &= waiting - 1) {
        const int i = __builtin_ctzll(waiting);
        if (!((c.second[i] - c.best[i]) * scale < kDecided)) continue;
        const int64_t k = split_choice(excess + i, price, n_clusters, scale, c.choice[i], (double)c.best[i],
                                       (double)c.second[i], before + i);
        c.choice[i] = (int32_t)k;
        c.excess[i] = excess[k * kTile + i];
    }
}

// A whole tile whose points all weigh 1: sums in lanes, counts in tables that take turns,
// so that neighbours in the same cluster do not wait for each other.
constexpr int kTurns = 4, kCounted = 64;  // tables, and clusters that they have room for

static inline void count_tile(const Choices& c, int32_t* labels, float* gaps, int32_t* counts, double* sums) {
    memcpy(labels, c.choice, sizeof(c.choice));
    vdouble cost = {}, gap = {};
    for (int v = 0; v < V; ++v) {
        const vfloat beyond = load<float>(c.second + v * W) - load<float>(c.best + v * W);
        cost += widened(load<float>(c.excess + v * W));
        gap += widened(beyond);
        if (gaps) store<float>(gaps + v * W, beyond);
    }
    for (int i = 0; i < kTile; i += kTurns)
        for (int turn = 0; turn < kTurns; ++turn) ++counts[turn * kCounted + c.choice[i + turn]];
    sums[0] += total(cost);
    sums[1] += total(gap);
}

static void assign(const SweepArgs& a, const float* price, Split split, int64_t begin, int64_t end, int32_t* labels,
                   float* gaps, double* masses, double* sums) {
    const bool is_simple = !a.weights && a.n_clusters <= kCounted;
    int32_t counts[kTurns * kCounted] = {};
    Choices c;
    for (int64_t b = begin; b < end; ++b) {
        const float* excess = a.excess + b * a.n_clusters * kTile;
        const int64_t start = a.tiles.start[b];
        choose(excess, next_costs(excess, a.n_clusters, b, end), price, a.n_clusters, c);
        if (split.scale > 0)
            split_tile(excess, price, a.n_clusters, split.scale, split.before + start - a.tiles.start[begin], a.tiles.size[b], c);
        if (is_simple && a.tiles.size[b] == kTile) {
            count_tile(c, labels + start, gaps ? gaps + start : nullptr, counts, sums);
            continue;
        }
        double cost = 0, gap = 0;
        for (int i = 0; i < a.tiles.size[b]; ++i) {
            const double w = a.weights ? a.weights[start + i] : 1.0;
            labels[start + i] = c.choice[i];
            masses[c.choice[i]] += w;
            cost += w * (double)c.excess[i];
            gap += w * (double)(c.second[i] - c.best[i]);
            if (gaps) gaps[start + i] = c.second[i] - c.best[i];
        }
        sums[0] += cost;
        sums[1] += gap;
    }
    if (is_simple)
        for (int64_t k = 0; k < a.n_clusters; ++k)
            for (int turn = 0; turn < kTurns; ++turn) masses[k] += counts[turn * kCounted + k];
}

static void soft_rows(const SweepArgs& a, const int32_t* order, float scale, const float* scaled_price, int64_t begin, int64_t end,
                      float* e, float* rows) {
    vfloat low[V], z[V];
    for (int64_t b = begin; b < end; ++b) {
        const float* excess = a.excess + b * a.n_clusters * kTile;
        softmax_tile(excess, next_costs(excess, a.n_clusters, b, end), a.n_clusters, scale, scaled_price, e, low, z);
        for (int i = 0; i < a.tiles.size[b]; ++i) {
            float* row = rows + (int64_t)order[a.tiles.start[b] + i] * a.n_clusters;
            const float inverse = 1.0f / z[i / W][i % W];
            for (int64_t k = 0; k < a.n_clusters; ++k) row[k] = e[k * kTile + i] * inverse;
        }
    }
}

// sum[m] += w * row[m], in double; there is room for whole vectors. Where the rest of a vector has no instruction of its
// own, the compiler's loop is faster.
template <class T> static inline void add_row(const T* row, double w, int64_t count, double* sum) {
    int64_t m = 0;
#if FC_VECTOR_BYTES == 64
    constexpr int D = lanes<double>();
    for (; m + D <= count; m += D) add_to(sum + m, w * load_doubles(row + m));
    if (m < count) add_to(sum + m, w * load_first_doubles(row + m, count - m));
    m = count;
#endif
    for (; m < count; ++m) sum[m] += w * (double)row[m];
}

// Rows that are stored feature by feature are put together first, a tile at a time.
template <class T> static void label_sums_by_feature(const RowArgs<T>& a, int64_t begin, int64_t end, double* sums) {
    T rows[kTile * kFeatureTile];
    for (int64_t b = begin; b < end; ++b) {
        const int64_t start = a.tiles.start[b];
        const int size = a.tiles.size[b];
        const int32_t* order = a.order + start;
        for (int64_t first = 0; first < a.n_features; first += kFeatureTile) {
            const int64_t count = smaller<int64_t>(a.n_features - first, kFeatureTile);
            for (int64_t m = 0; m < count; ++m) {
                const T* column = a.X + (first + m) * a.feature_stride;
                for (int i = 0; i < size; ++i) rows[i * kFeatureTile + m] = column[order[i]];
            }
            for (int i = 0; i < size; ++i)
                add_row(rows + i * kFeatureTile, a.weights ? a.weights[start + i] : 1.0, count,
                        sums + (int64_t)a.labels[start + i] * whole_vectors(a.n_features) + first);
        }
    }
}

constexpr int kRowsAhead = 16;  // that are fetched while others are added: their sums take longer than a row is on its way

template <class T> static void label_sums(const RowArgs<T>& a, int64_t begin, int64_t end, double* sums) {
    if (a.feature_stride) return label_sums_by_feature(a, begin, end, sums);
    const int64_t width = whole_vectors(a.n_features);
    const int64_t stop = a.tiles.start[end - 1] + a.tiles.size[end - 1];
    for (int64_t at = a.tiles.start[begin]; at < stop; ++at) {
        if (!a.is_near && at + kRowsAhead < stop) fetch_row(a, at + kRowsAhead, a.n_features);
        add_row(a.X + (int64_t)a.order[at] * a.n_features, a.weights ? a.weights[at] : 1.0, a.n_features,
                sums + (int64_t)a.labels[at] * width);
    }
}

template <class T>
static void soft_sums(const SweepArgs& a, const RowArgs<T>& r, float scale, const float* scaled_price, int64_t begin, int64_t end,
                      float* e, double* sums) {
    vfloat low[V], z[V];
    for (int64_t b = begin; b < end; ++b) {
        const float* excess = a.excess + b * a.n_clusters * kTile;
        softmax_tile(excess, next_costs(excess, a.n_clusters, b, end), a.n_clusters, scale, scaled_price, e, low, z);
        for (int i = 0; i < a.tiles.size[b]; ++i) {
            const int64_t at = a.tiles.start[b] + i;
            const T* row = r.X + (int64_t)r.order[at] * r.n_features;
            const double w = (a.weights ? a.weights[at] : 1.0) / (double)z[i / W][i % W];
            for (int64_t k = 0; k < a.n_clusters; ++k) {
                const double s = w * (double)e[k * kTile + i];
                if (s < 1e-12) continue;
                for (int64_t m = 0; m < r.n_features; ++m) sums[k * r.n_features + m] += s * (double)row[m];
            }
        }
    }
}

}  // namespace FC_CAT(isa_, FAIRCLUST_ISA)

KernelSet FC_CAT(kernels_, FAIRCLUST_ISA)() {
    namespace isa = FC_CAT(isa_, FAIRCLUST_ISA);
    return {FC_TEXT(FAIRCLUST_ISA),
            {isa::distances<float>, isa::label_sums<float>, isa::soft_sums<float>},
            {isa::distances<double>, isa::label_sums<double>, isa::soft_sums<double>},
            isa::sweep,
            isa::end_pairs,
            isa::assign,
            isa::soft_rows};
}

}  // namespace fairclust
