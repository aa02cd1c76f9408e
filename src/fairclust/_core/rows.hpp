// Rows that are not a matrix of numbers: tables of numbers and categories (codes), and sparse rows. Point costs are those
// of K-means on the matrix that such rows stand for, which is never built.
//
// A row's costs are a sum of table rows, one value per cluster: for a category the table's row of its code, for a sparse
// entry the row of its column times its value. So the inner loop runs over clusters, whose values lie side by side.
#pragma once

#include <cstdint>

#include "kernels.hpp"

namespace fairclust {

// Numbers and categories; T is float or double, C (codes) uint8_t or uint16_t. NaN is a gap, and costs nothing.
template <class T, class C>
struct CodedArgs {
    TileSpans tiles;
    const int32_t* order;    // IN (n_samples,) visiting order -> row
    const T* X;              // IN (n_rows, n_numbers)
    const C* codes;          // IN (n_rows, n_categories)
    const int64_t* first;    // IN (n_categories,) first table row of each categorical feature
    const T* centers;        // IN (n_numbers, width) centres, feature by feature, clusters side by side
    const T* tables;         // IN (n_codes, width) what each code costs in each cluster
    const int32_t* labels;   // IN (n_samples,) in visiting order, or null
    const double* weights;   // IN (n_samples,) in visiting order, or null
    float* excess;           // OUT (n_tiles, n_clusters, kTile)
    int64_t n_numbers;
    int64_t n_categories;
    int64_t n_clusters;
    int64_t width;           // n_clusters, rounded up to whole vectors
};

// Sparse rows in CSR form.
template <class T>
struct SparseArgs {
    TileSpans tiles;
    const int32_t* order;    // IN (n_samples,) visiting order -> row
    const int64_t* begin;    // IN (n_rows + 1,) where each row's entries begin
    const int32_t* columns;  // IN (n_entries,)
    const T* values;         // IN (n_entries,)
    const double* squares;   // IN (n_rows,) squared length of each row
    const T* centers;        // IN (n_features, width): minus two times the centres, clusters side by side
    const T* base;           // IN (width,) squared length of each centre
    const int32_t* labels;   // IN (n_samples,) in visiting order, or null
    const double* weights;   // IN (n_samples,) in visiting order, or null
    float* excess;           // OUT (n_tiles, n_clusters, kTile)
    int64_t n_clusters;
    int64_t width;
};

// Each fills excess for tiles [begin, end). OUT sums {weighted cost of the cheapest clusters, of `labels`}.
// scratch: kTile * width values.
template <class T>
struct TableKernels {
    void (*coded8)(const CodedArgs<T, uint8_t>&, int64_t begin, int64_t end, T* scratch, double* sums);
    void (*coded16)(const CodedArgs<T, uint16_t>&, int64_t begin, int64_t end, T* scratch, double* sums);
    void (*sparse)(const SparseArgs<T>&, int64_t begin, int64_t end, T* scratch, double* sums);
};

struct TableKernelSet {
    int lanes;  // single-precision values in a vector: what width is a multiple of
    TableKernels<float> f32;
    TableKernels<double> f64;
};

TableKernelSet table_kernels_baseline();
#ifdef FAIRCLUST_X86
TableKernelSet table_kernels_avx2();
TableKernelSet table_kernels_avx512();
#endif

}  // namespace fairclust
