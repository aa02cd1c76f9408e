// The inner loops over coded and sparse rows, compiled once per instruction set. As in kernels.cpp, nothing here may use a
// standard-library template.

#include "rows.hpp"

#include <string.h>

#include "vectors.hpp"

namespace fairclust {
namespace FC_CAT(row_isa_, FAIRCLUST_ISA) {

// Costs of one row in S vectors of clusters: the sums stay in registers while the row's features pass by.
template <int S, class T, class C>
static inline void add_up(const CodedArgs<T, C>& a, int64_t row, int64_t at, T* costs) {
    typedef typename Simd<T>::vec vec;
    vec sum[S];
    for (int v = 0; v < S; ++v) sum[v] = vec{};
    const C* codes = a.codes + row * a.n_categories;
    for (int64_t q = 0; q < a.n_categories; ++q) {
        const T* table = a.tables + (a.first[q] + (int64_t)codes[q]) * a.width + at;
        for (int v = 0; v < S; ++v) sum[v] += load<T>(table + v * lanes<T>());
    }
    const T* x = a.X + row * a.n_numbers;
    for (int64_t m = 0; m < a.n_numbers; ++m) {
        if (x[m] != x[m]) continue;
        const vec value = vec{} + x[m];
        const T* center = a.centers + m * a.width + at;
        for (int v = 0; v < S; ++v) {
            const vec difference = value - load<T>(center + v * lanes<T>());
            sum[v] += difference * difference;
        }
    }
    for (int v = 0; v < S; ++v) store<T>(costs + at + v * lanes<T>(), sum[v]);
}

// The same of a sparse row, without its squared length.
template <int S, class T>
static inline void add_up(const SparseArgs<T>& a, int64_t row, int64_t at, T* costs) {
    typedef typename Simd<T>::vec vec;
    vec sum[S];
    for (int v = 0; v < S; ++v) sum[v] = load<T>(a.base + at + v * lanes<T>());
    for (int64_t e = a.begin[row]; e < a.begin[row + 1]; ++e) {
        const vec value = vec{} + a.values[e];
        const T* center = a.centers + (int64_t)a.columns[e] * a.width + at;
        for (int v = 0; v < S; ++v) sum[v] += value * load<T>(center + v * lanes<T>());
    }
    for (int v = 0; v < S; ++v) store<T>(costs + at + v * lanes<T>(), sum[v]);
}

template <class T, class Args> static inline void row_costs(const Args& a, int64_t row, T* costs) {
    int64_t left = a.width / lanes<T>(), at = 0;
    for (; left >= 8; left -= 8, at += 8 * lanes<T>()) add_up<8>(a, row, at, costs);
    if (left >= 4) add_up<4>(a, row, at, costs), left -= 4, at += 4 * lanes<T>();
    if (left == 3) add_up<3>(a, row, at, costs);
    if (left == 2) add_up<2>(a, row, at, costs);
    if (left == 1) add_up<1>(a, row, at, costs);
}

template <class T, class C> static inline double own_part(const CodedArgs<T, C>&, int64_t) { return 0.0; }
template <class T> static inline double own_part(const SparseArgs<T>& a, int64_t row) { return a.squares[row]; }

// Costs of the tiles, turned to [cluster][point] as the sweep reads them.
template <class T, class Args>
static void distances(const Args& a, int64_t begin, int64_t end, T* costs, double* sums) {
    for (int64_t b = begin; b < end; ++b) {
        const int64_t start = a.tiles.start[b];
        const int size = a.tiles.size[b];
        float* excess = a.excess + b * a.n_clusters * kTile;
        double cheapest = 0, labelled = 0;
        for (int i = 0; i < size; ++i) {
            const int64_t row = a.order[start + i];
            T* own = costs + i * a.width;
            row_costs<T>(a, row, own);
            T low = own[0];
            for (int64_t k = 1; k < a.n_clusters; ++k) low = own[k] < low ? own[k] : low;
            const double w = a.weights ? a.weights[start + i] : 1.0;
            const double rest = own_part(a, row);
            cheapest += w * ((double)low + rest);
            if (a.labels) labelled += w * ((double)own[a.labels[start + i]] + rest);
            for (int64_t k = 0; k < a.n_clusters; ++k) own[k] -= low;
        }
        for (int64_t k = 0; k < a.n_clusters; ++k) {
            for (int i = 0; i < size; ++i) excess[k * kTile + i] = (float)costs[i * a.width + k];
            for (int i = size; i < kTile; ++i) excess[k * kTile + i] = 0;
        }
        sums[0] += cheapest;
        sums[1] += labelled;
    }
}

template <class T> static TableKernels<T> table_kernels() {
    return {distances<T, CodedArgs<T, uint8_t>>, distances<T, CodedArgs<T, uint16_t>>, distances<T, SparseArgs<T>>};
}

}  // namespace FC_CAT(row_isa_, FAIRCLUST_ISA)

TableKernelSet FC_CAT(table_kernels_, FAIRCLUST_ISA)() {
    namespace isa = FC_CAT(row_isa_, FAIRCLUST_ISA);
    return {lanes<float>(), isa::table_kernels<float>(), isa::table_kernels<double>()};
}

}  // namespace fairclust
