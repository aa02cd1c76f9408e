// Python's door to the kernels, the part that all families share: arrays and their checks, the plan of the points, and
// the tables that chunks fill and that are added in chunk order. fairclust/_core/__init__.py says what each kernel does.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <new>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "checks.hpp"
#include "kernels.hpp"
#include "medoids.hpp"
#include "parallel.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace fairclust {

template <class T, int N>
using In = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T, int N>
using Out = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T> using Rows = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;  // stored by row or by feature
using Prices = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>;  // (cells, clusters), in any order
using Table = nb::ndarray<nb::numpy, double>;
using Labels = std::optional<In<int32_t, 1>>;
using Weights = std::optional<In<double, 1>>;
using Counts = std::optional<In<int64_t, 1>>;

// The fastest kernels that this machine (or FAIRCLUST_ISA) allows, chosen once.
const KernelSet& kernel_set();
const MedoidKernels& medoid_kernels();

// Each family's functions.
void define_rows(nb::module_& m);
void define_tables(nb::module_& m);
void define_medoids(nb::module_& m);
void define_graph(nb::module_& m);
void define_small(nb::module_& m);
void define_columns(nb::module_& m);

// The product of sizes of a table, which empty arrays can name without having it. Raises MemoryError in Python.
inline size_t table_size(std::initializer_list<size_t> shape) {
    size_t size = 1;
    for (size_t n : shape)
        if (__builtin_mul_overflow(size, n, &size)) throw std::bad_alloc();
    return std::max<size_t>(size, 1);
}

// A table of zeros that Python will own.
inline Table new_table(std::initializer_list<size_t> shape) {
    auto* data = new double[table_size(shape)]();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    return Table(data, shape, owner);
}

// A vector as an array that owns it.
template <class T> nb::ndarray<nb::numpy, T, nb::ndim<1>> hand_over(std::vector<T>&& values) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner);
}

template <class A> auto* pointer(const std::optional<A>& array) { return array ? array->data() : nullptr; }

// --- Checks -----------------------------------------------------------------------------------------------------------

constexpr int64_t kMostClusters = INT32_MAX;
constexpr int64_t kMostPoints = INT32_MAX;  // the visiting order holds int32
constexpr int64_t kMostSteps = int64_t(1) << 62;

template <class A> bool has_shape(const A& array, std::initializer_list<int64_t> shape) {
    size_t axis = 0;
    for (int64_t n : shape)
        if (static_cast<int64_t>(array.shape(axis++)) != n) return false;
    return true;
}

template <class A> void require_aligned(const char* argument, const A& array) {
    require(reinterpret_cast<uintptr_t>(array.data()) % sizeof(typename A::Scalar) == 0, argument,
            "must be aligned: pass a copy");
}

template <class A> void require_shape(const char* argument, const A& array, std::initializer_list<int64_t> shape) {
    require_aligned(argument, array);
    if (has_shape(array, shape)) return;
    std::string found, wanted;
    size_t axis = 0;
    for (int64_t n : shape) {
        found += (axis ? ", " : "") + std::to_string(array.shape(axis));
        wanted += (axis ? ", " : "") + std::to_string(n);
        ++axis;
    }
    refuse(argument, "has shape (" + found + "), but (" + wanted + ") is needed");
}

// What is written must not be what is indexed by: its values were seen before.
template <class A, class B>
void require_apart(const char* written, const A& out, const char* read, const B& in) {
    const auto begin = [](const auto& array) { return reinterpret_cast<uintptr_t>(array.data()); };
    const auto end = [&](const auto& array) { return begin(array) + array.nbytes(); };
    if (begin(out) < end(in) && begin(in) < end(out)) refuse(written, std::string("shares its memory with ") + read);
}

template <class A>
void require_labels(const char* argument, const A& labels, int64_t n_points, int64_t n_clusters) {
    require_shape(argument, labels, {n_points});
    require_indices(argument, labels.data(), labels.size(), n_clusters, "clusters");
}

inline void require_threads(int n_threads) { require(n_threads >= 1, "n_threads", "must be at least 1"); }
inline void require_clusters(int64_t n_clusters) {
    require(n_clusters >= 1 && n_clusters <= kMostClusters, "n_clusters", "must be at least 1 and below 2^31");
}
inline void require_metric(int metric, int lowest) {
    require(metric >= lowest && metric <= kManhattan, "metric", "must be 0, 1 or 2 (medoids: 1 or 2)");
}

// 0: X is stored row by row; else feature by feature, so many values apart.
template <class T> int64_t feature_stride(const Rows<T>& X) {
    const bool by_row = (X.shape(1) <= 1 || X.stride(1) == 1) && X.stride(0) == static_cast<int64_t>(X.shape(1));
    require(by_row || ((X.shape(0) <= 1 || X.stride(0) == 1) && X.stride(1) != 0), "X",
            "must be stored row by row or feature by feature");
    return by_row ? 0 : X.stride(1);
}

// --- Points -----------------------------------------------------------------------------------------------------------

// Where the points lie: tiles, the chunk borders (in tiles), and each chunk's cell. Mirrors fairclust/_data/layout.py.
// The arrays are copied, so that what was checked here stays so.
class Plan {
public:
    Plan(const In<int32_t, 1>& order, const In<int64_t, 1>& start, const In<int32_t, 1>& size,
         const In<int64_t, 1>& chunk, const In<int32_t, 1>& chunk_cell);

    int64_t n_points() const { return static_cast<int64_t>(order_.size()); }
    int64_t n_rows() const { return n_rows_; }  // that X must have at least
    int64_t n_cells() const { return n_cells_; }  // that a table must have at least
    int64_t n_tiles() const { return static_cast<int64_t>(start_.size()); }
    int64_t n_chunks() const { return static_cast<int64_t>(chunk_cell_.size()); }
    int64_t begin(int64_t c) const { return chunk_[c]; }
    int64_t end(int64_t c) const { return chunk_[c + 1]; }
    int64_t first_point(int64_t c) const { return start_[begin(c)]; }
    int64_t last_point(int64_t c) const { return start_[end(c) - 1] + size_[end(c) - 1]; }  // one past it
    int64_t cell(int64_t c) const { return chunk_cell_[c]; }
    const int32_t* order() const { return order_.data(); }
    TileSpans tiles(int64_t first = 0) const { return {start_.data() + first, size_.data() + first}; }
    int threads(int n_threads) const {
        return static_cast<int>(std::clamp<int64_t>(n_threads, 1, std::max<int64_t>(n_chunks(), 1)));
    }

    template <class A> void require_rows(const A& X) const {
        require(static_cast<int64_t>(X.shape(0)) >= n_rows_, "X", "has fewer rows than the plan visits");
        require_aligned("X", X);
    }
    void require_excess(const In<float, 3>& excess) const {
        require_shape("excess", excess, {n_tiles(), static_cast<int64_t>(excess.shape(1)), kTile});
        require_clusters(static_cast<int64_t>(excess.shape(1)));
    }
    template <class A> void require_table(const char* argument, const A& table, int64_t n_clusters) const {
        require_shape(argument, table, {static_cast<int64_t>(table.shape(0)), n_clusters});
        require(static_cast<int64_t>(table.shape(0)) >= n_cells_, argument, "needs one row per cell");
    }
    void require_weights(const Weights& weights) const {
        if (weights) require_shape("weights", *weights, {n_points()});
    }

private:
    std::vector<int32_t> order_;
    std::vector<int64_t> start_;
    std::vector<int32_t> size_;
    std::vector<int64_t> chunk_;
    std::vector<int32_t> chunk_cell_;
    int64_t n_rows_ = 0, n_cells_ = 0;
};

// --- Work -------------------------------------------------------------------------------------------------------------

inline bool has_signal() {
    nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

// Runs work(chunk, worker) without the GIL; raises KeyboardInterrupt (or what a signal handler raised) when interrupted.
inline void run(int64_t n_chunks, int n_threads, const std::function<void(int64_t, int)>& work) {
    bool finished = false;
    {
        nb::gil_scoped_release nogil;
        finished = run_chunks(n_chunks, n_threads, work, has_signal);
    }
    if (!finished) throw nb::python_error();
}
inline void run(const Plan& plan, int n_threads, const std::function<void(int64_t, int)>& work) {
    run(plan.n_chunks(), n_threads, work);
}

// A buffer per worker, on cache lines of its own, from the beginning of one on: vectors are as long as a line.
template <class T> struct Scratch {
    static constexpr size_t kLine = 64 / sizeof(T);  // values in a cache line
    size_t stride;
    std::vector<T> data;
    T* first;
    Scratch(int n_threads, size_t size)
        : stride((size + 63) / 64 * 64 + 64), data(stride * std::max(n_threads, 1) + kLine),
          first(data.data() + (kLine - reinterpret_cast<uintptr_t>(data.data()) / sizeof(T) % kLine) % kLine) {}
    Scratch(const Scratch&) = delete;
    T* of(int worker) { return first + stride * worker; }
};

// The chunks' partial tables, added in chunk order.
struct Parts {
    static constexpr int64_t kApart = 16;  // doubles, two cache lines: the tables of chunks that are under way share none
    int64_t n_chunks, width, stride;
    std::vector<double> data;
    double* first;
    Parts(int64_t n_chunks_, int64_t width_)
        : n_chunks(n_chunks_), width(width_), stride((width_ + kApart - 1) / kApart * kApart),
          data(table_size({size_t(n_chunks_) + 1, size_t(stride)}), 0.0) {
        first = data.data() + kApart - reinterpret_cast<uintptr_t>(data.data()) / sizeof(double) % kApart;
    }
    Parts(const Plan& plan, int64_t width_) : Parts(plan.n_chunks(), width_) {}
    Parts(const Parts&) = delete;
    double* of(int64_t chunk) { return first + chunk * stride; }
    void add_to(double* out, int64_t chunk, int64_t from, int64_t count) const {
        for (int64_t i = 0; i < count; ++i) out[i] += first[chunk * stride + from + i];
    }
    // The same for sums of so many values each, to places so far apart.
    void add_totals_to(double* out, int64_t apart, int64_t chunk, int64_t at, int64_t count, int64_t values) const {
        const double* from = first + chunk * stride + at;
        for (int64_t i = 0; i < count; ++i, from += values) out[i * apart] += std::accumulate(from, from + values, 0.0);
    }
    Table sum(size_t rows, size_t columns) const { return sum(rows, columns, columns); }
    // The same of tables whose rows are so far apart.
    Table sum(size_t rows, size_t columns, size_t apart) const {
        auto sums = new_table({rows, columns});
        for (int64_t c = 0; c < n_chunks; ++c)
            for (size_t r = 0; r < rows; ++r) add_to(sums.data() + r * columns, c, r * apart, columns);
        return sums;
    }
};

}  // namespace fairclust
