// Python's door to the kernels: checks shapes, cuts the work into chunks, adds the chunks' answers in order.
// Arrays in, arrays out; every function names its arguments as fairclust/_core/__init__.py documents them.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels.hpp"
#include "parallel.hpp"

namespace nb = nanobind;

namespace fairclust {

template <class T, int N>
using In = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T, int N>
using Out = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;

static KernelSet choose_kernels() {
    const char* asked = std::getenv("FAIRCLUST_ISA");
    const std::string isa = asked ? asked : "";
#ifdef FAIRCLUST_X86
    __builtin_cpu_init();
    const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                            __builtin_cpu_supports("avx512vl");
    const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (has_avx512 && (isa.empty() || isa == "avx512")) return kernels_avx512();
    if (has_avx2 && isa != "baseline") return kernels_avx2();
#endif
    return kernels_baseline();
}
static const KernelSet g_kernels = choose_kernels();

template <class T> const Kernels<T>& kernels();
template <> const Kernels<float>& kernels<float>() { return g_kernels.f32; }
template <> const Kernels<double>& kernels<double>() { return g_kernels.f64; }

// A table that Python will own.
static nb::ndarray<nb::numpy, double> new_table(std::initializer_list<size_t> shape) {
    size_t size = 1;
    for (size_t n : shape) size *= n;
    auto* data = new double[std::max<size_t>(size, 1)]();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    return nb::ndarray<nb::numpy, double>(data, shape, owner);
}

// Where the points lie: blocks, the chunk borders (in blocks), and each chunk's cell.
struct Plan {
    Blocks blocks;
    const int64_t* chunk;        // (n_chunks + 1,)
    const int32_t* chunk_cell;   // (n_chunks,)
    int64_t n_chunks;
};

static Plan make_plan(const In<int64_t, 1>& start, const In<int32_t, 1>& size, const In<int64_t, 1>& chunk,
                      const In<int32_t, 1>& chunk_cell) {
    if (start.shape(0) != size.shape(0) || chunk.shape(0) != chunk_cell.shape(0) + 1 ||
        chunk.data()[chunk_cell.shape(0)] != static_cast<int64_t>(start.shape(0)))
        throw std::invalid_argument("blocks and chunks do not fit together");
    return {{start.data(), size.data()}, chunk.data(), chunk_cell.data(), static_cast<int64_t>(chunk_cell.shape(0))};
}

// Runs work(chunk, worker) without the GIL; raises KeyboardInterrupt (or what a signal handler raised) when interrupted.
static void run(const Plan& plan, int n_threads, const std::function<void(int64_t, int)>& work) {
    bool finished = false, raised = false;
    {
        nb::gil_scoped_release nogil;
        finished = run_chunks(plan.n_chunks, n_threads, work, [&] {
            nb::gil_scoped_acquire gil;
            raised = raised || PyErr_CheckSignals() != 0;
            return raised;
        });
    }
    if (!finished) throw nb::python_error();
}

template <class T> struct Scratch {  // a buffer per worker, on cache lines of its own
    size_t stride;
    std::vector<T> data;
    Scratch(int n_threads, size_t size) : stride((size + 63) / 64 * 64 + 64), data(stride * std::max(n_threads, 1)) {}
    T* of(int worker) { return data.data() + stride * worker; }
};

template <class T> static std::vector<T> cast_table(const In<double, 2>& table) {
    return std::vector<T>(table.data(), table.data() + table.size());
}

template <class T>
static double distances(int metric, In<T, 2> X, In<int32_t, 1> order, In<int64_t, 1> start, In<int32_t, 1> size,
                        In<int64_t, 1> chunk, In<int32_t, 1> chunk_cell, In<T, 2> centers,
                        std::optional<In<int32_t, 1>> labels, std::optional<In<T, 1>> weights, Out<T, 3> point_cost,
                        int n_threads) {
    const Plan plan = make_plan(start, size, chunk, chunk_cell);
    if (centers.shape(1) != X.shape(1) || point_cost.shape(0) != start.shape(0) ||
        point_cost.shape(1) != centers.shape(0) || point_cost.shape(2) != kBlock)
        throw std::invalid_argument("distances: shapes do not fit together");
    const DistanceArgs<T> args{plan.blocks, X.data(), order.data(), centers.data(), labels ? labels->data() : nullptr,
                               weights ? weights->data() : nullptr, point_cost.data(),
                               static_cast<int64_t>(X.shape(1)), static_cast<int64_t>(centers.shape(0))};
    Scratch<T> scratch(n_threads, kBlock * kFeatureTile);
    std::vector<double> cost(plan.n_chunks, 0.0);
    run(plan, n_threads, [&](int64_t c, int worker) {
        cost[c] = kernels<T>().distances(args, metric, plan.chunk[c], plan.chunk[c + 1], scratch.of(worker));
    });
    double total = 0;
    for (double part : cost) total += part;
    return total;
}

template <class T>
static SweepArgs<T> sweep_args(const Plan& plan, const In<T, 3>& point_cost, const std::optional<In<T, 1>>& weights,
                               const In<double, 2>& table, int64_t stride) {
    if (table.shape(1) != point_cost.shape(1)) throw std::invalid_argument("sweep: one column per cluster is needed");
    for (int64_t c = 0; c < plan.n_chunks; ++c)
        if (plan.chunk_cell[c] >= static_cast<int64_t>(table.shape(0)))
            throw std::invalid_argument("sweep: one row per cell is needed");
    return {plan.blocks, point_cost.data(), weights ? weights->data() : nullptr,
            static_cast<int64_t>(point_cost.shape(1)), stride};
}

template <class T>
static nb::tuple sweep(In<T, 3> point_cost, In<int64_t, 1> start, In<int32_t, 1> size, In<int64_t, 1> chunk,
                       In<int32_t, 1> chunk_cell, std::optional<In<T, 1>> weights, double scale, In<double, 2> pull,
                       int64_t curvature_stride, int n_threads) {
    const Plan plan = make_plan(start, size, chunk, chunk_cell);
    const auto args = sweep_args<T>(plan, point_cost, weights, pull, curvature_stride);
    const int64_t K = args.n_clusters, J = pull.shape(0);
    const int64_t table = K + 3 + (curvature_stride ? K * K : 0);
    const auto pull_t = cast_table<T>(pull);
    Scratch<T> scratch(n_threads, kBlock * K);
    std::vector<double> parts(plan.n_chunks * table, 0.0);
    run(plan, n_threads, [&](int64_t c, int worker) {
        double* part = parts.data() + c * table;
        kernels<T>().sweep(args, static_cast<T>(scale), pull_t.data() + plan.chunk_cell[c] * K, plan.chunk[c],
                           plan.chunk[c + 1], scratch.of(worker), part, part + K, part + K + 3);
    });
    const size_t uK = K, uJ = J;
    auto masses = new_table({uJ, uK});
    auto sampled = new_table({uJ});
    auto curvature = new_table({curvature_stride ? uJ : 0, uK, uK});
    double cost = 0, log_sum = 0;
    for (int64_t c = 0; c < plan.n_chunks; ++c) {
        const double* part = parts.data() + c * table;
        const int64_t j = plan.chunk_cell[c];
        for (int64_t k = 0; k < K; ++k) masses.data()[j * K + k] += part[k];
        cost += part[K];
        log_sum += part[K + 1];
        sampled.data()[j] += part[K + 2];
        if (!curvature_stride) continue;
        double* out = curvature.data() + j * K * K;
        for (int64_t k = 0; k < K; ++k)
            for (int64_t l = k + 1; l < K; ++l) out[k * K + l] += part[K + 3 + k * K + l];
    }
    return nb::make_tuple(masses, cost, log_sum, curvature, sampled);
}

template <class T>
static nb::tuple assign(In<T, 3> point_cost, In<int64_t, 1> start, In<int32_t, 1> size, In<int64_t, 1> chunk,
                        In<int32_t, 1> chunk_cell, std::optional<In<T, 1>> weights, In<double, 2> price,
                        Out<int32_t, 1> labels, int n_threads) {
    const Plan plan = make_plan(start, size, chunk, chunk_cell);
    const auto args = sweep_args<T>(plan, point_cost, weights, price, 0);
    const int64_t K = args.n_clusters, table = K + 2;
    const auto price_t = cast_table<T>(price);
    std::vector<double> parts(plan.n_chunks * table, 0.0);
    run(plan, n_threads, [&](int64_t c, int) {
        double* part = parts.data() + c * table;
        kernels<T>().assign(args, price_t.data() + plan.chunk_cell[c] * K, plan.chunk[c], plan.chunk[c + 1],
                            labels.data(), part, part + K);
    });
    auto masses = new_table({price.shape(0), static_cast<size_t>(K)});
    double cost = 0, gap = 0;
    for (int64_t c = 0; c < plan.n_chunks; ++c) {
        const double* part = parts.data() + c * table;
        for (int64_t k = 0; k < K; ++k) masses.data()[plan.chunk_cell[c] * K + k] += part[k];
        cost += part[K];
        gap += part[K + 1];
    }
    return nb::make_tuple(masses, cost, gap);
}

template <class T>
static void soft_rows(In<T, 3> point_cost, In<int64_t, 1> start, In<int32_t, 1> size, In<int64_t, 1> chunk,
                      In<int32_t, 1> chunk_cell, In<int32_t, 1> order, double scale, In<double, 2> pull, Out<T, 2> rows,
                      int n_threads) {
    const Plan plan = make_plan(start, size, chunk, chunk_cell);
    const auto args = sweep_args<T>(plan, point_cost, std::nullopt, pull, 0);
    const auto pull_t = cast_table<T>(pull);
    Scratch<T> scratch(n_threads, kBlock * args.n_clusters);
    run(plan, n_threads, [&](int64_t c, int worker) {
        kernels<T>().soft_rows(args, order.data(), static_cast<T>(scale),
                               pull_t.data() + plan.chunk_cell[c] * args.n_clusters, plan.chunk[c], plan.chunk[c + 1],
                               scratch.of(worker), rows.data());
    });
}

// Adds the chunks' K x M tables in chunk order.
static nb::ndarray<nb::numpy, double> add_up(const std::vector<double>& parts, int64_t n_chunks, size_t K, size_t M) {
    auto sums = new_table({K, M});
    for (int64_t c = 0; c < n_chunks; ++c)
        for (size_t i = 0; i < K * M; ++i) sums.data()[i] += parts[c * K * M + i];
    return sums;
}

template <class T>
static nb::ndarray<nb::numpy, double> label_sums(In<T, 2> X, In<int32_t, 1> order, In<int64_t, 1> start,
                                                 In<int32_t, 1> size, In<int64_t, 1> chunk, In<int32_t, 1> chunk_cell,
                                                 In<int32_t, 1> labels, std::optional<In<T, 1>> weights,
                                                 int64_t n_clusters, int n_threads) {
    const Plan plan = make_plan(start, size, chunk, chunk_cell);
    const int64_t M = X.shape(1);
    const DistanceArgs<T> args{plan.blocks, X.data(), order.data(), nullptr, labels.data(),
                               weights ? weights->data() : nullptr, nullptr, M, n_clusters};
    std::vector<double> parts(plan.n_chunks * n_clusters * M, 0.0);
    run(plan, n_threads, [&](int64_t c, int) {
        kernels<T>().label_sums(args, plan.chunk[c], plan.chunk[c + 1], parts.data() + c * n_clusters * M);
    });
    return add_up(parts, plan.n_chunks, n_clusters, M);
}

template <class T>
static nb::ndarray<nb::numpy, double> soft_sums(In<T, 3> point_cost, In<T, 2> X, In<int32_t, 1> order,
                                                In<int64_t, 1> start, In<int32_t, 1> size, In<int64_t, 1> chunk,
                                                In<int32_t, 1> chunk_cell, std::optional<In<T, 1>> weights,
                                                double scale, In<double, 2> pull, int n_threads) {
    const Plan plan = make_plan(start, size, chunk, chunk_cell);
    const auto args = sweep_args<T>(plan, point_cost, weights, pull, 0);
    const int64_t M = X.shape(1), K = args.n_clusters;
    const DistanceArgs<T> rows{plan.blocks, X.data(), order.data(), nullptr, nullptr, nullptr, nullptr, M, K};
    const auto pull_t = cast_table<T>(pull);
    Scratch<T> scratch(n_threads, kBlock * K);
    std::vector<double> parts(plan.n_chunks * K * M, 0.0);
    run(plan, n_threads, [&](int64_t c, int worker) {
        kernels<T>().soft_sums(args, rows, static_cast<T>(scale), pull_t.data() + plan.chunk_cell[c] * K, plan.chunk[c],
                               plan.chunk[c + 1], scratch.of(worker), parts.data() + c * K * M);
    });
    return add_up(parts, plan.n_chunks, K, M);
}

template <class T> static void define(nb::module_& m) {
    using namespace nb::literals;
    m.def("distances", &distances<T>, "metric"_a, "X"_a.noconvert(), "order"_a.noconvert(), "start"_a.noconvert(),
          "size"_a.noconvert(), "chunk"_a.noconvert(), "chunk_cell"_a.noconvert(), "centers"_a.noconvert(),
          "labels"_a.none().noconvert(), "weights"_a.none().noconvert(), "point_cost"_a.noconvert(), "n_threads"_a);
    m.def("sweep", &sweep<T>, "point_cost"_a.noconvert(), "start"_a.noconvert(), "size"_a.noconvert(),
          "chunk"_a.noconvert(), "chunk_cell"_a.noconvert(), "weights"_a.none().noconvert(), "scale"_a,
          "pull"_a.noconvert(), "curvature_stride"_a, "n_threads"_a);
    m.def("assign", &assign<T>, "point_cost"_a.noconvert(), "start"_a.noconvert(), "size"_a.noconvert(),
          "chunk"_a.noconvert(), "chunk_cell"_a.noconvert(), "weights"_a.none().noconvert(), "price"_a.noconvert(),
          "labels"_a.noconvert(), "n_threads"_a);
    m.def("soft_rows", &soft_rows<T>, "point_cost"_a.noconvert(), "start"_a.noconvert(), "size"_a.noconvert(),
          "chunk"_a.noconvert(), "chunk_cell"_a.noconvert(), "order"_a.noconvert(), "scale"_a, "pull"_a.noconvert(),
          "rows"_a.noconvert(), "n_threads"_a);
    m.def("label_sums", &label_sums<T>, "X"_a.noconvert(), "order"_a.noconvert(), "start"_a.noconvert(),
          "size"_a.noconvert(), "chunk"_a.noconvert(), "chunk_cell"_a.noconvert(), "labels"_a.noconvert(),
          "weights"_a.none().noconvert(), "n_clusters"_a, "n_threads"_a);
    m.def("soft_sums", &soft_sums<T>, "point_cost"_a.noconvert(), "X"_a.noconvert(), "order"_a.noconvert(),
          "start"_a.noconvert(), "size"_a.noconvert(), "chunk"_a.noconvert(), "chunk_cell"_a.noconvert(),
          "weights"_a.none().noconvert(), "scale"_a, "pull"_a.noconvert(), "n_threads"_a);
}

}  // namespace fairclust

NB_MODULE(_kernels, m) {
    m.doc() = "Compiled kernels; see fairclust/_core/__init__.py for what each function does.";
    m.attr("name") = fairclust::g_kernels.name;
    m.attr("block") = fairclust::kBlock;
    fairclust::define<float>(m);
    fairclust::define<double>(m);
}
