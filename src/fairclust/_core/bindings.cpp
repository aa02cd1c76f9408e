// Python's door to the kernels: checks shapes, cuts the work into chunks, adds the chunks' answers in order.
// Arrays in, arrays out; fairclust/_core/__init__.py says what each function does.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

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
using Table = nb::ndarray<nb::numpy, double>;
using Labels = std::optional<In<int32_t, 1>>;
using Weights = std::optional<In<double, 1>>;

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

static MedoidKernels choose_medoid_kernels() {
#ifdef FAIRCLUST_X86
    const std::string isa = g_kernels.name;
    if (isa == "avx512") return medoid_kernels_avx512();
    if (isa == "avx2") return medoid_kernels_avx2();
#endif
    return medoid_kernels_baseline();
}
static const MedoidKernels g_medoids = choose_medoid_kernels();

template <class T> const MedoidLoops<T>& medoid_loops();
template <> const MedoidLoops<float>& medoid_loops<float>() { return g_medoids.f32; }
template <> const MedoidLoops<double>& medoid_loops<double>() { return g_medoids.f64; }

template <class T> const RowKernels<T>& row_kernels();
template <> const RowKernels<float>& row_kernels<float>() { return g_kernels.f32; }
template <> const RowKernels<double>& row_kernels<double>() { return g_kernels.f64; }

// A table of zeros that Python will own.
static Table new_table(std::initializer_list<size_t> shape) {
    size_t size = 1;
    for (size_t n : shape) size *= n;
    auto* data = new double[std::max<size_t>(size, 1)]();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    return Table(data, shape, owner);
}

template <class A> static auto* pointer(const std::optional<A>& array) { return array ? array->data() : nullptr; }

static void require(bool fits, const char* message) {
    if (!fits) throw std::invalid_argument(message);
}

// 0: X is stored row by row; else feature by feature, so many values apart.
template <class T> static int64_t feature_stride(const Rows<T>& X) {
    const bool by_row = (X.shape(1) <= 1 || X.stride(1) == 1) && X.stride(0) == static_cast<int64_t>(X.shape(1));
    require(by_row || X.shape(0) <= 1 || X.stride(0) == 1, "X must be stored row by row or feature by feature");
    return by_row ? 0 : X.stride(1);
}

// Where the points lie: blocks, the chunk borders (in blocks), and each chunk's cell. Mirrors fairclust/layout.py.
struct Plan {
    In<int32_t, 1> order;
    In<int64_t, 1> start;
    In<int32_t, 1> size;
    In<int64_t, 1> chunk;
    In<int32_t, 1> chunk_cell;

    Plan(In<int32_t, 1> order_, In<int64_t, 1> start_, In<int32_t, 1> size_, In<int64_t, 1> chunk_,
         In<int32_t, 1> chunk_cell_)
        : order(order_), start(start_), size(size_), chunk(chunk_), chunk_cell(chunk_cell_) {
        require(start.shape(0) == size.shape(0) && chunk.shape(0) == chunk_cell.shape(0) + 1 &&
                    chunk.data()[n_chunks()] == static_cast<int64_t>(start.shape(0)),
                "blocks and chunks do not fit together");
    }
    int64_t n_chunks() const { return static_cast<int64_t>(chunk_cell.shape(0)); }
    int64_t begin(int64_t c) const { return chunk.data()[c]; }
    int64_t end(int64_t c) const { return chunk.data()[c + 1]; }
    int64_t cell(int64_t c) const { return chunk_cell.data()[c]; }
    Blocks blocks() const { return {start.data(), size.data()}; }
};

// Runs work(chunk, worker) without the GIL; raises KeyboardInterrupt (or what a signal handler raised) when interrupted.
static void run(const Plan& plan, int n_threads, const std::function<void(int64_t, int)>& work) {
    bool finished = false;
    {
        nb::gil_scoped_release nogil;
        finished = run_chunks(plan.n_chunks(), n_threads, work, [] {
            nb::gil_scoped_acquire gil;
            return PyErr_CheckSignals() != 0;
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

// The chunks' partial tables, added in chunk order.
struct Parts {
    int64_t width;
    std::vector<double> data;
    Parts(const Plan& plan, int64_t width_) : width(width_), data(plan.n_chunks() * width_, 0.0) {}
    double* of(int64_t chunk) { return data.data() + chunk * width; }
    void add_to(double* out, int64_t chunk, int64_t first, int64_t count) const {
        for (int64_t i = 0; i < count; ++i) out[i] += data[chunk * width + first + i];
    }
};

// A (cells, clusters) table in single precision, a row of it per chunk.
struct CellTable {
    const Plan& plan;
    int64_t n_clusters;
    std::vector<float> values;
    CellTable(const Plan& plan_, const In<double, 2>& table, int64_t n_clusters_)
        : plan(plan_), n_clusters(n_clusters_), values(table.data(), table.data() + table.size()) {
        require(static_cast<int64_t>(table.shape(1)) == n_clusters, "one column per cluster is needed");
        for (int64_t c = 0; c < plan.n_chunks(); ++c)
            require(plan.cell(c) < static_cast<int64_t>(table.shape(0)), "one row per cell is needed");
    }
    const float* of(int64_t chunk) const { return values.data() + plan.cell(chunk) * n_clusters; }
};

template <class T>
static nb::tuple distances(const Plan& plan, int metric, Rows<T> X, In<T, 2> centers, Labels labels, Weights weights,
                           Out<float, 3> excess, int n_threads) {
    require(centers.shape(1) == X.shape(1) && excess.shape(0) == plan.start.shape(0) &&
                excess.shape(1) == centers.shape(0) && excess.shape(2) == kBlock,
            "distances: shapes do not fit together");
    const int64_t K = centers.shape(0);
    const RowArgs<T> args{plan.blocks(),    X.data(),         plan.order.data(), centers.data(),
                          pointer(labels),  pointer(weights), excess.data(),     static_cast<int64_t>(X.shape(1)),
                          K,                feature_stride<T>(X)};
    Scratch<T> scratch(n_threads, kBlock * (kFeatureTile + K));
    Parts parts(plan, 2);
    run(plan, n_threads, [&](int64_t c, int worker) {
        row_kernels<T>().distances(args, metric, plan.begin(c), plan.end(c), scratch.of(worker), parts.of(c));
    });
    double sums[2] = {0, 0};
    for (int64_t c = 0; c < plan.n_chunks(); ++c) parts.add_to(sums, c, 0, 2);
    return nb::make_tuple(sums[0], sums[1]);
}

// Per chunk: which of its points curvature is counted over.
static std::vector<EveryNth> every_nth(const Plan& plan, const In<int64_t, 1>& steps,
                                       const std::optional<In<int64_t, 1>>& before) {
    std::vector<int64_t> seen(steps.shape(0), 0);
    if (before) seen.assign(before->data(), before->data() + before->size());
    std::vector<EveryNth> result;
    for (int64_t c = 0; c < plan.n_chunks(); ++c) {
        const int64_t j = plan.cell(c), last = plan.end(c) - 1;
        result.push_back({steps.data()[j], seen[j]});
        seen[j] += plan.start.data()[last] + plan.size.data()[last] - plan.start.data()[plan.begin(c)];
    }
    return result;
}

static Table add_up(const Plan& plan, const Parts& parts, size_t K, size_t M) {
    auto sums = new_table({K, M});
    for (int64_t c = 0; c < plan.n_chunks(); ++c) parts.add_to(sums.data(), c, 0, K * M);
    return sums;
}

// A sweep's answer: the chunks' tables on their way to Python.
struct SweepTables {
    const Plan& plan;
    int64_t n_clusters;
    const CellTable pulls;
    float scale;
    bool is_bent;  // with curvature
    std::vector<EveryNth> every;
    Parts parts;

    SweepTables(const Plan& plan_, int64_t K, double scale_, const In<double, 2>& pull,
                const std::optional<In<int64_t, 1>>& steps, const std::optional<In<int64_t, 1>>& before)
        : plan(plan_), n_clusters(K), pulls(plan_, pull, K), scale(static_cast<float>(scale_)), is_bent(steps.has_value()),
          every(plan_.n_chunks(), EveryNth{0, 0}), parts(plan_, K + 3 + (steps ? K * K : 0)) {
        require((!steps || steps->shape(0) == pull.shape(0)) && (!before || before->shape(0) == pull.shape(0)),
                "sweep: one step per cell is needed");
        if (steps) every = every_nth(plan, *steps, before);
    }

    // Counts the blocks [begin, end) of args; they are blocks of the chunk, so many points after its first.
    void count(int64_t chunk, const SweepArgs& args, int64_t begin, int64_t end, int64_t points, float* scratch) {
        double* part = parts.of(chunk);
        const EveryNth own{every[chunk].step, every[chunk].before + points};
        g_kernels.sweep(args, scale, pulls.of(chunk), own, begin, end, scratch, part, part + n_clusters,
                        part + n_clusters + 3);
    }

    nb::tuple answer(size_t n_cells) const {
        const size_t K = n_clusters;
        auto masses = new_table({n_cells, K});
        auto sampled = new_table({n_cells});
        auto curvature = new_table({is_bent ? n_cells : 0, K, K});
        double sums[2] = {0, 0};
        for (int64_t c = 0; c < plan.n_chunks(); ++c) {
            const int64_t j = plan.cell(c);
            parts.add_to(masses.data() + j * K, c, 0, K);
            parts.add_to(sums, c, K, 2);
            parts.add_to(sampled.data() + j, c, K + 2, 1);
            if (is_bent) parts.add_to(curvature.data() + j * K * K, c, K + 3, K * K);
        }
        return nb::make_tuple(masses, sums[0], sums[1], curvature, sampled);
    }
};

static nb::tuple sweep(const Plan& plan, In<float, 3> excess, Weights weights, double scale, In<double, 2> pull,
                       std::optional<In<int64_t, 1>> steps, std::optional<In<int64_t, 1>> before, int n_threads) {
    const int64_t K = excess.shape(1);
    const SweepArgs args{plan.blocks(), excess.data(), pointer(weights), K};
    SweepTables tables(plan, K, scale, pull, steps, before);
    Scratch<float> scratch(n_threads, kBlock * K);
    run(plan, n_threads, [&](int64_t c, int worker) {
        tables.count(c, args, plan.begin(c), plan.end(c), 0, scratch.of(worker));
    });
    return tables.answer(pull.shape(0));
}

// The hard sweep's answer.
struct AssignTables {
    const Plan& plan;
    int64_t n_clusters;
    const CellTable prices;
    Parts parts;

    AssignTables(const Plan& plan_, int64_t K, const In<double, 2>& price)
        : plan(plan_), n_clusters(K), prices(plan_, price, K), parts(plan_, K + 2) {}

    void count(int64_t chunk, const SweepArgs& args, int64_t begin, int64_t end, int32_t* labels, float* gaps) {
        double* part = parts.of(chunk);
        g_kernels.assign(args, prices.of(chunk), begin, end, labels, gaps, part, part + n_clusters);
    }

    nb::tuple answer(size_t n_cells) const {
        auto masses = new_table({n_cells, static_cast<size_t>(n_clusters)});
        double sums[2] = {0, 0};
        for (int64_t c = 0; c < plan.n_chunks(); ++c) {
            parts.add_to(masses.data() + plan.cell(c) * n_clusters, c, 0, n_clusters);
            parts.add_to(sums, c, n_clusters, 2);
        }
        return nb::make_tuple(masses, sums[0], sums[1]);
    }
};

static nb::tuple assign(const Plan& plan, In<float, 3> excess, Weights weights, In<double, 2> price,
                        Out<int32_t, 1> labels, std::optional<Out<float, 1>> gaps, int n_threads) {
    const int64_t K = excess.shape(1);
    require(labels.shape(0) == plan.order.shape(0), "assign: one label per point is needed");
    const SweepArgs args{plan.blocks(), excess.data(), pointer(weights), K};
    AssignTables tables(plan, K, price);
    run(plan, n_threads, [&](int64_t c, int) {
        tables.count(c, args, plan.begin(c), plan.end(c), labels.data(), pointer(gaps));
    });
    return tables.answer(price.shape(0));
}

// Costs of a few blocks at a time, for passes that do not keep them: they never leave the core's first cache.
template <class T> struct PassingCosts {
    const Plan& plan;
    int metric;
    RowArgs<T> rows;
    SweepArgs costs;
    Scratch<T> scratch;
    Scratch<float> excess, room;
    Parts parts;

    PassingCosts(const Plan& plan_, int metric_, const Rows<T>& X, const In<T, 2>& centers, const Weights& weights,
                 int n_threads)
        : plan(plan_), metric(metric_),
          rows{plan_.blocks(), X.data(), plan_.order.data(), centers.data(), nullptr, pointer(weights), nullptr,
               static_cast<int64_t>(X.shape(1)), static_cast<int64_t>(centers.shape(0)), feature_stride<T>(X)},
          costs{plan_.blocks(), nullptr, pointer(weights), rows.n_clusters},
          scratch(n_threads, kBlock * (kFeatureTile + rows.n_clusters)), excess(n_threads, kBlock * rows.n_clusters),
          room(n_threads, kBlock * rows.n_clusters), parts(plan_, 2) {
        require(centers.shape(1) == X.shape(1), "shapes do not fit together");
    }

    // Calls work(rows, costs, points of the chunk before these) with one block each, number 0 of both.
    template <class Work> void of(int64_t chunk, int worker, const Work& work) {
        RowArgs<T> one = rows;
        SweepArgs its = costs;
        its.excess = one.excess = excess.of(worker);
        const int64_t first = plan.start.data()[plan.begin(chunk)];
        for (int64_t b = plan.begin(chunk); b < plan.end(chunk); ++b) {
            its.blocks = one.blocks = {plan.start.data() + b, plan.size.data() + b};
            row_kernels<T>().distances(one, metric, 0, 1, scratch.of(worker), parts.of(chunk));
            work(one, its, one.blocks.start[0] - first);
        }
    }

    double base_cost() const {
        double sums[2] = {0, 0};
        for (int64_t c = 0; c < plan.n_chunks(); ++c) parts.add_to(sums, c, 0, 2);
        return sums[0];
    }
};

template <class T>
static nb::tuple sweep_rows(const Plan& plan, int metric, Rows<T> X, In<T, 2> centers, Weights weights, double scale,
                            In<double, 2> pull, std::optional<In<int64_t, 1>> steps,
                            std::optional<In<int64_t, 1>> before, int n_threads) {
    PassingCosts<T> passing(plan, metric, X, centers, weights, n_threads);
    SweepTables tables(plan, passing.rows.n_clusters, scale, pull, steps, before);
    run(plan, n_threads, [&](int64_t c, int worker) {
        passing.of(c, worker, [&](const RowArgs<T>&, const SweepArgs& costs, int64_t points) {
            tables.count(c, costs, 0, 1, points, passing.room.of(worker));
        });
    });
    return nb::make_tuple(passing.base_cost(), tables.answer(pull.shape(0)));
}

template <class T>
static nb::tuple assign_rows(const Plan& plan, int metric, Rows<T> X, In<T, 2> centers, Weights weights,
                             In<double, 2> price, Out<int32_t, 1> labels, int n_threads) {
    PassingCosts<T> passing(plan, metric, X, centers, weights, n_threads);
    require(labels.shape(0) == plan.order.shape(0), "assign_rows: one label per point is needed");
    AssignTables tables(plan, passing.rows.n_clusters, price);
    Parts sums(plan, passing.rows.n_clusters * passing.rows.n_features);
    run(plan, n_threads, [&](int64_t c, int worker) {
        passing.of(c, worker, [&](RowArgs<T>& rows, const SweepArgs& costs, int64_t) {
            tables.count(c, costs, 0, 1, labels.data(), nullptr);
            rows.labels = labels.data();
            row_kernels<T>().label_sums(rows, 0, 1, sums.of(c));
            rows.labels = nullptr;
        });
    });
    return nb::make_tuple(passing.base_cost(), tables.answer(price.shape(0)),
                          add_up(plan, sums, passing.rows.n_clusters, passing.rows.n_features));
}

static void soft_rows(const Plan& plan, In<float, 3> excess, double scale, In<double, 2> pull, Out<float, 2> rows,
                      int n_threads) {
    const int64_t K = excess.shape(1);
    const SweepArgs args{plan.blocks(), excess.data(), nullptr, K};
    const CellTable pulls(plan, pull, K);
    Scratch<float> scratch(n_threads, kBlock * K);
    run(plan, n_threads, [&](int64_t c, int worker) {
        g_kernels.soft_rows(args, plan.order.data(), static_cast<float>(scale), pulls.of(c), plan.begin(c), plan.end(c),
                            scratch.of(worker), rows.data());
    });
}

template <class T>
static Table label_sums(const Plan& plan, Rows<T> X, In<int32_t, 1> labels, Weights weights, int64_t n_clusters,
                        int n_threads) {
    const int64_t M = X.shape(1);
    const RowArgs<T> args{plan.blocks(), X.data(), plan.order.data(), nullptr, labels.data(), pointer(weights),
                          nullptr,       M,        n_clusters,        feature_stride<T>(X)};
    Parts parts(plan, n_clusters * M);
    run(plan, n_threads,
        [&](int64_t c, int) { row_kernels<T>().label_sums(args, plan.begin(c), plan.end(c), parts.of(c)); });
    return add_up(plan, parts, n_clusters, M);
}

template <class T>
static Table soft_sums(const Plan& plan, In<float, 3> excess, In<T, 2> X, Weights weights, double scale,
                       In<double, 2> pull, int n_threads) {
    const int64_t M = X.shape(1), K = excess.shape(1);
    const SweepArgs args{plan.blocks(), excess.data(), pointer(weights), K};
    const RowArgs<T> rows{plan.blocks(), X.data(), plan.order.data(), nullptr, nullptr, nullptr, nullptr, M, K};
    const CellTable pulls(plan, pull, K);
    Scratch<float> scratch(n_threads, kBlock * K);
    Parts parts(plan, K * M);
    run(plan, n_threads, [&](int64_t c, int worker) {
        row_kernels<T>().soft_sums(args, rows, static_cast<float>(scale), pulls.of(c), plan.begin(c), plan.end(c),
                                   scratch.of(worker), parts.of(c));
    });
    return add_up(plan, parts, K, M);
}

// Positions of points that some single move would serve better; weights play no part.
template <class T>
static nb::ndarray<nb::numpy, int32_t> find_moves(const Plan& plan, int metric, In<T, 2> X, In<T, 2> centers,
                                                  In<int32_t, 1> labels, In<double, 2> enter, In<double, 2> leave,
                                                  In<double, 1> enter_share, In<double, 1> leave_share, double least,
                                                  int n_threads) {
    const int64_t K = centers.shape(0);
    require(enter.shape(1) == centers.shape(0) && leave.shape(1) == centers.shape(0) &&
                enter_share.shape(0) == centers.shape(0) && leave_share.shape(0) == centers.shape(0),
            "find_moves: one value per cluster is needed");
    const RowArgs<T> args{plan.blocks(), X.data(), plan.order.data(), centers.data(), labels.data(), nullptr,
                          nullptr,       static_cast<int64_t>(X.shape(1)), K};
    Scratch<T> scratch(n_threads, kBlock * (kFeatureTile + K));
    auto* positions = new int32_t[std::max<size_t>(plan.order.shape(0), 1)];
    nb::capsule owner(positions, [](void* p) noexcept { delete[] static_cast<int32_t*>(p); });
    std::vector<int64_t> found(plan.n_chunks(), 0);
    run(plan, n_threads, [&](int64_t c, int worker) {
        const int64_t j = plan.cell(c), first = plan.start.data()[plan.begin(c)];
        const MoveTables tables{enter.data() + j * K, leave.data() + j * K, enter_share.data(), leave_share.data()};
        found[c] = row_kernels<T>().find_moves(args, metric, tables, least, plan.begin(c), plan.end(c),
                                               scratch.of(worker), positions + first);
    });
    size_t n = 0;
    for (int64_t c = 0; c < plan.n_chunks(); ++c) {
        const int64_t first = plan.start.data()[plan.begin(c)];
        for (int64_t i = 0; i < found[c]; ++i) positions[n++] = positions[first + i];
    }
    return nb::ndarray<nb::numpy, int32_t>(positions, {n}, owner);
}

// Makes those of the found moves that still pay when their turn comes; one at a time, the means follow.
// IN/OUT labels, sums (K, M), sizes (K,); `moved(cell, source, destination)` brings enter and leave (K, J) up to date.
template <class T>
static int64_t make_moves(In<T, 2> X, In<int32_t, 1> rows, In<int32_t, 1> positions, In<int32_t, 1> cells,
                          Out<int32_t, 1> labels, Out<double, 2> sums, Out<double, 1> sizes, In<double, 2> enter,
                          In<double, 2> leave, double least, nb::callable moved) {
    const int64_t K = sums.shape(0), M = sums.shape(1), J = enter.shape(1);
    double* n = sizes.data();
    int64_t n_moves = 0;
    for (size_t i = 0; i < positions.shape(0); ++i) {
        const T* x = X.data() + static_cast<int64_t>(rows.data()[i]) * M;
        const int64_t j = cells.data()[i], source = labels.data()[positions.data()[i]];
        if (n[source] <= 1) continue;
        double best = 0, stay = 0;
        int64_t destination = -1;
        for (int64_t k = 0; k < K; ++k) {
            double cost = 0;
            for (int64_t m = 0; m < M; ++m) {
                const double difference = sums.data()[k * M + m] / n[k] - static_cast<double>(x[m]);
                cost += difference * difference;
            }
            if (k == source) {
                stay = cost * n[k] / (n[k] - 1) - leave.data()[k * J + j];
                continue;
            }
            const double value = cost * n[k] / (n[k] + 1) + enter.data()[k * J + j];
            if (destination < 0 || value < best) best = value, destination = k;
        }
        if (destination < 0 || !(best < stay - least)) continue;
        for (int64_t m = 0; m < M; ++m) {
            sums.data()[source * M + m] -= static_cast<double>(x[m]);
            sums.data()[destination * M + m] += static_cast<double>(x[m]);
        }
        n[source] -= 1;
        n[destination] += 1;
        labels.data()[positions.data()[i]] = static_cast<int32_t>(destination);
        moved(j, source, destination);
        ++n_moves;
    }
    return n_moves;
}

static bool has_signal() {
    nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

template <class T>
static MedoidArgs<T> medoid_args(const Plan& plan, const In<T, 2>& X, const In<int32_t, 1>& labels, const Weights& weights,
                                 int64_t n_clusters, int n_threads) {
    require(labels.shape(0) == plan.order.shape(0) && (!weights || weights->shape(0) == labels.shape(0)),
            "medoids: one label (and one weight) per point is needed");
    MedoidArgs<T> args{};
    args.X = X.data();
    args.order = plan.order.data();
    args.labels = labels.data();
    args.weights = pointer(weights);
    args.n_samples = labels.shape(0);
    args.n_features = X.shape(1);
    args.n_clusters = n_clusters;
    args.n_threads = n_threads;
    return args;
}

template <class T>
static nb::tuple medoids(const Plan& plan, int metric, In<T, 2> X, In<int32_t, 1> labels, Weights weights,
                         In<int64_t, 1> old, bool exact, double free, double per_point, int n_threads) {
    MedoidArgs<T> args = medoid_args(plan, X, labels, weights, old.shape(0), n_threads);
    args.old = old.data();
    args.metric = metric;
    args.exact = exact;
    args.free = free;
    args.per_point = per_point;
    const size_t K = old.shape(0);
    auto position = new_table({K}), value = new_table({K}), lower = new_table({K}), evaluations = new_table({K});
    std::vector<int64_t> positions(K), counts(K);
    bool finished = false;
    {
        nb::gil_scoped_release nogil;
        finished = find_medoids(medoid_loops<T>(), args, {positions.data(), value.data(), lower.data(), counts.data()},
                                has_signal);
    }
    if (!finished) throw nb::python_error();
    std::copy(positions.begin(), positions.end(), position.data());
    std::copy(counts.begin(), counts.end(), evaluations.data());
    return nb::make_tuple(position, value, lower, evaluations);
}

template <class T>
static void coordinate_medians(const Plan& plan, In<T, 2> X, In<int32_t, 1> labels, Weights weights, Out<T, 2> centers,
                               int n_threads) {
    const MedoidArgs<T> args = medoid_args(plan, X, labels, weights, centers.shape(0), n_threads);
    bool finished = false;
    {
        nb::gil_scoped_release nogil;
        finished = find_coordinate_medians(args, centers.data(), has_signal);
    }
    if (!finished) throw nb::python_error();
}

template <class T>
static Table median_sums(const Plan& plan, In<T, 2> X, In<T, 2> centers, In<double, 1> near, In<int32_t, 1> labels,
                         Weights weights, int n_threads) {
    require(near.shape(0) == centers.shape(0), "median_sums: one distance per centre is needed");
    const MedoidArgs<T> args = medoid_args(plan, X, labels, weights, centers.shape(0), n_threads);
    const int64_t K = centers.shape(0), width = X.shape(1) + 3;
    Parts parts(plan, K * width);
    run(plan, n_threads, [&](int64_t c, int) {
        const int64_t last = plan.end(c) - 1;
        add_median_sums(args, centers.data(), near.data(), plan.start.data()[plan.begin(c)],
                    plan.start.data()[last] + plan.size.data()[last], parts.of(c));
    });
    return add_up(plan, parts, K, width);
}

template <class T> static void define_rows(nb::module_& m) {
    m.def("distances", &distances<T>, "plan"_a, "metric"_a, "X"_a.noconvert(), "centers"_a.noconvert(),
          "labels"_a.none().noconvert(), "weights"_a.none().noconvert(), "excess"_a.noconvert(), "n_threads"_a);
    m.def("sweep_rows", &sweep_rows<T>, "plan"_a, "metric"_a, "X"_a.noconvert(), "centers"_a.noconvert(),
          "weights"_a.none().noconvert(), "scale"_a, "pull"_a.noconvert(), "steps"_a.none().noconvert(),
          "before"_a.none().noconvert(), "n_threads"_a);
    m.def("assign_rows", &assign_rows<T>, "plan"_a, "metric"_a, "X"_a.noconvert(), "centers"_a.noconvert(),
          "weights"_a.none().noconvert(), "price"_a.noconvert(), "labels"_a.noconvert(), "n_threads"_a);
    m.def("label_sums", &label_sums<T>, "plan"_a, "X"_a.noconvert(), "labels"_a.noconvert(),
          "weights"_a.none().noconvert(), "n_clusters"_a, "n_threads"_a);
    m.def("find_moves", &find_moves<T>, "plan"_a, "metric"_a, "X"_a.noconvert(), "centers"_a.noconvert(),
          "labels"_a.noconvert(), "enter"_a.noconvert(), "leave"_a.noconvert(), "enter_share"_a.noconvert(),
          "leave_share"_a.noconvert(), "least"_a, "n_threads"_a);
    m.def("make_moves", &make_moves<T>, "X"_a.noconvert(), "rows"_a.noconvert(), "positions"_a.noconvert(),
          "cells"_a.noconvert(), "labels"_a.noconvert(), "sums"_a.noconvert(), "sizes"_a.noconvert(),
          "enter"_a.noconvert(), "leave"_a.noconvert(), "least"_a, "moved"_a);
    m.def("soft_sums", &soft_sums<T>, "plan"_a, "excess"_a.noconvert(), "X"_a.noconvert(), "weights"_a.none().noconvert(),
          "scale"_a, "pull"_a.noconvert(), "n_threads"_a);
    m.def("medoids", &medoids<T>, "plan"_a, "metric"_a, "X"_a.noconvert(), "labels"_a.noconvert(),
          "weights"_a.none().noconvert(), "old"_a.noconvert(), "exact"_a, "free"_a, "per_point"_a,
          "n_threads"_a);
    m.def("coordinate_medians", &coordinate_medians<T>, "plan"_a, "X"_a.noconvert(), "labels"_a.noconvert(),
          "weights"_a.none().noconvert(), "centers"_a.noconvert(), "n_threads"_a);
    m.def("median_sums", &median_sums<T>, "plan"_a, "X"_a.noconvert(), "centers"_a.noconvert(), "near"_a.noconvert(),
          "labels"_a.noconvert(), "weights"_a.none().noconvert(), "n_threads"_a);
}

}  // namespace fairclust

#include "graph_bindings.hpp"
#include "row_bindings.hpp"

NB_MODULE(_kernels, m) {
    using namespace fairclust;
    m.doc() = "Compiled kernels; see fairclust/_core/__init__.py for what each function does.";
    m.attr("name") = g_kernels.name;
    nb::class_<Plan>(m, "Plan").def(
        nb::init<In<int32_t, 1>, In<int64_t, 1>, In<int32_t, 1>, In<int64_t, 1>, In<int32_t, 1>>(),
        "order"_a.noconvert(), "start"_a.noconvert(), "size"_a.noconvert(), "chunk"_a.noconvert(),
        "chunk_cell"_a.noconvert());
    m.def("sweep", &sweep, "plan"_a, "excess"_a.noconvert(), "weights"_a.none().noconvert(), "scale"_a,
          "pull"_a.noconvert(), "steps"_a.none().noconvert(), "before"_a.none().noconvert(), "n_threads"_a);
    m.def("assign", &assign, "plan"_a, "excess"_a.noconvert(), "weights"_a.none().noconvert(), "price"_a.noconvert(),
          "labels"_a.noconvert(), "gaps"_a.none().noconvert(), "n_threads"_a);
    m.def("soft_rows", &soft_rows, "plan"_a, "excess"_a.noconvert(), "scale"_a, "pull"_a.noconvert(),
          "rows"_a.noconvert(), "n_threads"_a);
    define_rows<float>(m);
    define_rows<double>(m);
    define_graph<float>(m);
    define_graph<double>(m);
    define_row_kernels(m);
}
