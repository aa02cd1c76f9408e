// Python's door to the loops along features, and to the order that points are visited in.

#include "bindings.hpp"
#include "columns.hpp"

#include <numeric>
#include <utility>

namespace fairclust {

static ColumnKernels choose_column_kernels() {
#ifdef FAIRCLUST_X86
    const std::string isa = kernel_set().name;
    if (isa == "avx512") return column_kernels_avx512();
    if (isa == "avx2") return column_kernels_avx2();
#endif
    return column_kernels_baseline();
}

static const ColumnKernels& column_kernels() {
    static const ColumnKernels chosen = choose_column_kernels();
    return chosen;
}

static auto* two_means_of(float) { return column_kernels().two_means_f32; }
static auto* two_means_of(double) { return column_kernels().two_means_f64; }

// --- Points by cell and by cluster ------------------------------------------------------------------------------------

constexpr int64_t kRuns = 4;  // that are counted side by side: with few codes, one alone waits for itself at every point
constexpr int64_t kFewCodes = 256;  // with more, two points of a code seldom follow each other, and the runs' tables cost more

static int64_t n_runs(int64_t n_codes) { return n_codes <= kFewCodes ? kRuns : 1; }

// OUT positions first ... first + n - 1 sorted by code, equal ones in their order, and counts (n_codes,).
// next: room for n_runs(n_codes) * n_codes.
static void sort_by_code(const int32_t* codes, int64_t n, int64_t n_codes, int64_t first, int64_t* counts, int64_t* next,
                         int32_t* positions) {
    const int64_t runs = n_runs(n_codes), length = n / runs;
    const auto in_runs = [&](const auto& visit) {  // visit(point, its run's numbers)
        if (runs == kRuns)
            for (int64_t i = 0; i < length; ++i)
                for (int64_t r = 0; r < kRuns; ++r) visit(r * length + i, next + r * n_codes);
        for (int64_t i = runs == kRuns ? runs * length : 0; i < n; ++i) visit(i, next + (runs - 1) * n_codes);
    };
    std::fill(next, next + runs * n_codes, 0);
    in_runs([&](int64_t i, int64_t* own) { ++own[codes[i]]; });
    for (int64_t j = 0, before = 0; j < n_codes; ++j) {
        const int64_t start = before;
        for (int64_t r = 0; r < runs; ++r) before += std::exchange(next[r * n_codes + j], before);
        counts[j] = before - start;
    }
    in_runs([&](int64_t i, int64_t* own) { positions[own[codes[i]]++] = static_cast<int32_t>(first + i); });
}

constexpr int64_t kMostCounts = int64_t(1) << 24;  // of cells by stretch: 128 MB; layouts have one for some thousand rows

// The rows sorted by cell within each stretch of so many. OUT order (n_rows,). Returns counts (n_stretches, n_cells).
static nb::ndarray<nb::numpy, int64_t> visiting_order(In<int32_t, 1> codes, int64_t n_cells, int64_t stretch,
                                                      Out<int32_t, 1> order) {
    const int64_t n = codes.shape(0);
    require_aligned("codes", codes);
    require_shape("order", order, {n});
    require_apart("order", order, "codes", codes);
    require(n <= kMostPoints, "codes", "has too many points");
    require(n_cells >= 1 && n_cells <= kMostCounts, "n_cells", "must be at least 1 and at most 2^24");
    require(stretch >= 1, "stretch", "must be at least 1");
    require_indices("codes", codes.data(), n, n_cells, "cells");
    const int64_t n_stretches = n / stretch + (n % stretch != 0);
    require(n_stretches <= kMostCounts / n_cells + 1, "stretch", "is too short for so many cells");
    auto* counts = new int64_t[table_size({size_t(n_stretches), size_t(n_cells)})];
    nb::capsule owner(counts, [](void* p) noexcept { delete[] static_cast<int64_t*>(p); });
    std::vector<int64_t> next(n_runs(n_cells) * n_cells);
    for (int64_t s = 0; s < n_stretches; ++s) {
        const int64_t first = s * stretch, length = std::min(stretch, n - first);
        sort_by_code(codes.data() + first, length, n_cells, first, counts + s * n_cells, next.data(), order.data() + first);
    }
    return nb::ndarray<nb::numpy, int64_t>(counts, {size_t(n_stretches), size_t(n_cells)}, owner);
}

constexpr int kMostRounds = 1000;  // more than anyone needs, and few enough to end

// Two centres for each cluster, of every so-manieth of its points, `most` at the most. See fairclust/_objectives/centers.py.
// OUT gains (K,): what one centre costs more than the two, for all points; places (K, 2, M).
template <class T>
static nb::tuple halves(In<T, 2> X, In<int32_t, 1> order, In<int32_t, 1> labels, Weights weights, int64_t n_clusters,
                        int64_t most, int power, int turns, int rounds, int n_threads) {
    const int64_t n = order.shape(0), M = X.shape(1);
    require_threads(n_threads);
    require_aligned("X", X);
    require_aligned("order", order);
    require(M >= 1, "X", "needs at least one feature");
    require_indices("order", order.data(), n, X.shape(0), "rows of X");
    require_clusters(n_clusters);
    require_labels("labels", labels, n, n_clusters);
    if (weights) require_shape("weights", *weights, {n});
    require(n <= kMostPoints, "order", "has too many points");
    require(1 <= most && most <= kMostPoints, "most", "must be at least 1 and below 2^31");
    require(power == 1 || power == 2, "power", "must be 1 or 2");
    require(0 <= turns && turns <= kMostRounds, "turns", "must be from 0 to 1000");
    require(1 <= rounds && rounds <= kMostRounds, "rounds", "must be from 1 to 1000");
    auto gains = new_table({size_t(n_clusters)}), places = new_table({size_t(n_clusters), 2, size_t(M)});
    std::vector<int64_t> counts(n_clusters), starts(table_size({size_t(n_runs(n_clusters)), size_t(n_clusters)}));
    std::vector<int32_t> by_cluster(n);
    sort_by_code(labels.data(), n, n_clusters, 0, counts.data(), starts.data(), by_cluster.data());
    std::exclusive_scan(counts.begin(), counts.end(), starts.begin(), int64_t(0));
    const int64_t largest = std::min(most, n);
    const int n_workers = static_cast<int>(std::min<int64_t>(n_threads, n_clusters));
    Scratch<double> scratch(n_workers, largest + heap_scratch(largest, M));
    Scratch<int32_t> rows(n_workers, largest);
    run(n_clusters, n_workers, [&](int64_t k, int worker) {
        const int32_t* members = by_cluster.data() + starts[k];
        const int64_t step = std::max<int64_t>(1, (counts[k] + most - 1) / most);
        double* mass = scratch.of(worker);
        int64_t taken = 0;
        for (int64_t i = 0; i < counts[k]; i += step, ++taken) {
            rows.of(worker)[taken] = order.data()[members[i]];
            mass[taken] = weights ? weights->data()[members[i]] : 1.0;
        }
        const HeapArgs<T> args{X.data(), rows.of(worker), mass, taken, M, power, turns, rounds};
        const double gain = two_means_of(T())(args, mass + largest, places.data() + k * 2 * M);
        gains.data()[k] = gain * double(counts[k]) / double(std::max<int64_t>(taken, 1));
    });
    return nb::make_tuple(gains, places);
}

// --- Seeds ------------------------------------------------------------------------------------------------------------

// Squared distance of each point from the nearest seed, with each of some points as one more. The points lie in blocks,
// feature by feature. OUT costs (trials, points). Returns their weighted sums.
static Table trial_costs(In<double, 3> blocks, In<int64_t, 1> trials, Weights weights, In<double, 1> closest,
                         Out<double, 2> costs) {
    const int64_t M = blocks.shape(1), N = closest.shape(0), n_trials = trials.shape(0);
    require_shape("blocks", blocks, {N / kHeapBlock + (N % kHeapBlock != 0), M, kHeapBlock});
    require_aligned("trials", trials);
    require(is_between(trials.data(), trials.size(), 0, N - 1), "trials", "must hold numbers of points");
    if (weights) require_shape("weights", *weights, {N});
    require_aligned("closest", closest);
    require_shape("costs", costs, {n_trials, N});
    std::vector<double> rows(table_size({size_t(n_trials), size_t(M)}));
    for (int64_t t = 0; t < n_trials; ++t) {
        const int64_t i = trials.data()[t];
        for (int64_t m = 0; m < M; ++m) rows[t * M + m] = blocks.data()[(i / kHeapBlock * M + m) * kHeapBlock + i % kHeapBlock];
    }
    auto totals = new_table({size_t(n_trials)});
    column_kernels().trial_costs({blocks.data(), rows.data(), pointer(weights), closest.data(), costs.data(), N, M, n_trials},
                                 totals.data());
    return totals;
}

template <class T> static void define(nb::module_& m) {
    m.def("halves", &halves<T>, "X"_a.noconvert(), "order"_a.noconvert(), "labels"_a.noconvert(),
          "weights"_a.none().noconvert(), "n_clusters"_a, "most"_a, "power"_a, "turns"_a, "rounds"_a, "n_threads"_a);
}

void define_columns(nb::module_& m) {
    define<float>(m);
    define<double>(m);
    m.def("trial_costs", &trial_costs, "blocks"_a.noconvert(), "trials"_a.noconvert(), "weights"_a.none().noconvert(),
          "closest"_a.noconvert(), "costs"_a.noconvert());
    m.def("visiting_order", &visiting_order, "codes"_a.noconvert(), "n_cells"_a, "stretch"_a,
          "order"_a.noconvert());
}

}  // namespace fairclust
