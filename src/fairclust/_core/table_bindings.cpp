// Python's door to the kernels over coded and sparse rows.

#include "bindings.hpp"
#include "rows.hpp"

namespace fairclust {

static TableKernelSet choose_table_kernels() {
#ifdef FAIRCLUST_X86
    const std::string isa = kernel_set().name;
    if (isa == "avx512") return table_kernels_avx512();
    if (isa == "avx2") return table_kernels_avx2();
#endif
    return table_kernels_baseline();
}
static const TableKernelSet& table_kernel_set() {
    static const TableKernelSet chosen = choose_table_kernels();
    return chosen;
}

template <class T> static const TableKernels<T>& table_kernels();
template <> const TableKernels<float>& table_kernels<float>() { return table_kernel_set().f32; }
template <> const TableKernels<double>& table_kernels<double>() { return table_kernel_set().f64; }

// Number of values per table row: one per cluster, and zeros up to whole vectors.
template <class T> static int64_t table_width(int64_t n_clusters) {
    const int64_t lanes = table_kernel_set().lanes * static_cast<int64_t>(sizeof(float)) / static_cast<int64_t>(sizeof(T));
    return (n_clusters + lanes - 1) / lanes * lanes;
}

// (rows, clusters) -> (rows, width), and so many rows of zeros.
template <class T> static std::vector<T> padded(const In<T, 2>& table, int64_t width, int64_t n_more = 1) {
    const int64_t n_rows = table.shape(0), n_clusters = table.shape(1);
    std::vector<T> result((n_rows + n_more) * width, T(0));
    for (int64_t r = 0; r < n_rows; ++r)
        std::copy(table.data() + r * n_clusters, table.data() + (r + 1) * n_clusters, result.data() + r * width);
    return result;
}

// Where the codes of each categorical feature begin, copied: what was checked stays so.
template <class C> struct Features {
    std::vector<int64_t> first;
    Features(const In<int64_t, 1>& first_, const In<C, 2>& codes) : first(first_.data(), first_.data() + first_.size()) {
        require(first.size() == codes.shape(1) + 1, "first", "needs one value more than codes has columns");
        require(first.front() == 0 && is_rising(first.data(), first.size()) && first.back() <= kMostClusters, "first",
                "must rise from 0");
        require_aligned("codes", codes);
    }
    int64_t n_codes() const { return first.back(); }
    int64_t size(int64_t q) const { return first[q + 1] - first[q]; }
    // Place of a code among those of all features.
    int64_t at(int64_t q, C code) const {
        if (code >= size(q)) refuse("codes", "holds " + std::to_string(code) + " in column " + std::to_string(q) +
                                                 ", which has " + std::to_string(size(q)) + " codes");
        return first[q] + code;
    }
};

// The positions of each cluster's points, in visiting order: sums by cluster need no partial tables, however wide they
// are, and do not depend on the number of threads.
struct Members {
    std::vector<int64_t> border;
    std::vector<int32_t> position;
    Members(const Plan& plan, const In<int32_t, 1>& labels, int64_t n_clusters) : position(labels.shape(0)) {
        require_clusters(n_clusters);
        require_labels("labels", labels, plan.n_points(), n_clusters);
        border.assign(n_clusters + 1, 0);
        const int64_t n = labels.shape(0);
        for (int64_t i = 0; i < n; ++i) ++border[labels.data()[i] + 1];
        for (int64_t k = 0; k < n_clusters; ++k) border[k + 1] += border[k];
        std::vector<int64_t> next(border.begin(), border.end() - 1);
        for (int64_t i = 0; i < n; ++i) position[next[labels.data()[i]]++] = static_cast<int32_t>(i);
    }
};

template <class T> static auto* coded(uint8_t) { return table_kernels<T>().coded8; }
template <class T> static auto* coded(uint16_t) { return table_kernels<T>().coded16; }

static nb::tuple costs_of(const Plan& plan, const Parts& parts) {
    double sums[2] = {0, 0};
    for (int64_t c = 0; c < plan.n_chunks(); ++c) parts.add_to(sums, c, 0, 2);
    return nb::make_tuple(sums[0], sums[1]);
}

static void require_points(const Plan& plan, int64_t n_clusters, const Labels& labels, const Weights& weights,
                           const Out<float, 3>& excess, int n_threads) {
    require_threads(n_threads);
    require_clusters(n_clusters);
    plan.require_weights(weights);
    require_shape("excess", excess, {plan.n_tiles(), n_clusters, kTile});
    if (!labels) return;
    require_labels("labels", *labels, plan.n_points(), n_clusters);
    require_apart("excess", excess, "labels", *labels);
}

template <class T, class C>
static nb::tuple coded_distances(const Plan& plan, In<T, 2> X, In<C, 2> codes, In<int64_t, 1> first, In<T, 2> centers,
                                 In<T, 2> tables, Labels labels, Weights weights, Out<float, 3> excess, int n_threads) {
    const int64_t K = excess.shape(1), M = X.shape(1), width = table_width<T>(K);
    const Features<C> features(first, codes);
    require_points(plan, K, labels, weights, excess, n_threads);
    plan.require_rows(X);
    require_shape("codes", codes, {static_cast<int64_t>(X.shape(0)), static_cast<int64_t>(codes.shape(1))});
    require_shape("centers", centers, {M, K});
    require_shape("tables", tables, {features.n_codes(), K});
    require_apart("excess", excess, "codes", codes);
    // A look at every code's feature would take longer than the sums below: a wrong code finds a row of zeros.
    const int64_t largest = largest_of(codes.data(), codes.size());
    const std::vector<T> own_centers = padded(centers, width), own_tables = padded(tables, width, largest + 1);
    CodedArgs<T, C> args{};
    args.tiles = plan.tiles();
    args.order = plan.order();
    args.X = X.data();
    args.codes = codes.data();
    args.first = features.first.data();
    args.centers = own_centers.data();
    args.tables = own_tables.data();
    args.labels = pointer(labels);
    args.weights = pointer(weights);
    args.excess = excess.data();
    args.n_numbers = M;
    args.n_categories = codes.shape(1);
    args.n_clusters = K;
    args.width = width;
    Scratch<T> scratch(plan.threads(n_threads), kTile * width);
    Parts parts(plan, 2);
    run(plan, n_threads, [&](int64_t c, int worker) {
        coded<T>(C())(args, plan.begin(c), plan.end(c), scratch.of(worker), parts.of(c));
    });
    return costs_of(plan, parts);
}

// Costs of all rows, (n, K), in double.
template <class T, class C>
static void coded_costs(In<T, 2> X, In<C, 2> codes, In<int64_t, 1> first, In<double, 2> centers, In<double, 2> tables,
                        Out<double, 2> costs, int n_threads) {
    const int64_t K = costs.shape(1), M = X.shape(1), Q = codes.shape(1), n = X.shape(0);
    const Features<C> features(first, codes);
    require_threads(n_threads);
    require_aligned("X", X);
    require_shape("codes", codes, {n, Q});
    require_shape("centers", centers, {M, K});
    require_shape("tables", tables, {features.n_codes(), K});
    require_shape("costs", costs, {n, K});
    require_apart("costs", costs, "codes", codes);
    constexpr int64_t kRows = 1024;  // that a thread takes at a time
    run((n + kRows - 1) / kRows, n_threads, [&](int64_t part, int) {
        for (int64_t row = part * kRows; row < std::min(n, (part + 1) * kRows); ++row) {
            double* out = costs.data() + row * K;
            std::fill(out, out + K, 0.0);
            for (int64_t q = 0; q < Q; ++q) {
                const double* table = tables.data() + features.at(q, codes.data()[row * Q + q]) * K;
                for (int64_t k = 0; k < K; ++k) out[k] += table[k];
            }
            for (int64_t m = 0; m < M; ++m) {
                const double x = static_cast<double>(X.data()[row * M + m]);
                if (x != x) continue;
                const double* center = centers.data() + m * K;
                for (int64_t k = 0; k < K; ++k) out[k] += (x - center[k]) * (x - center[k]);
            }
        }
    });
}

// By label, (K, 2 M + codes): weighted sums of the numbers, weight of those that are there, weight of each code.
template <class T, class C>
static Table coded_sums(const Plan& plan, In<T, 2> X, In<C, 2> codes, In<int64_t, 1> first, In<int32_t, 1> labels,
                        Weights weights, int64_t n_clusters, int n_threads) {
    const Features<C> features(first, codes);
    const int64_t M = X.shape(1), Q = codes.shape(1), width = 2 * M + features.n_codes();
    require_threads(n_threads);
    plan.require_rows(X);
    plan.require_weights(weights);
    require_shape("codes", codes, {static_cast<int64_t>(X.shape(0)), Q});
    const Members members(plan, labels, n_clusters);
    auto table = new_table({static_cast<size_t>(n_clusters), static_cast<size_t>(width)});
    run(n_clusters, n_threads, [&](int64_t k, int) {
        double *sum = table.data() + k * width, *seen = sum + M, *count = seen + M;
        for (int64_t i = members.border[k]; i < members.border[k + 1]; ++i) {
            const int64_t at = members.position[i], row = plan.order()[at];
            const double w = weights ? weights->data()[at] : 1.0;
            for (int64_t m = 0; m < M; ++m) {
                const double x = static_cast<double>(X.data()[row * M + m]);
                const bool is_there = x == x;
                sum[m] += is_there ? w * x : 0.0;
                seen[m] += is_there ? w : 0.0;
            }
            for (int64_t q = 0; q < Q; ++q) count[features.at(q, codes.data()[row * Q + q])] += w;
        }
    });
    return table;
}

template <class T>
static void require_entries(const Plan& plan, const In<int64_t, 1>& begin, const In<int32_t, 1>& columns,
                            const In<T, 1>& values, int64_t n_features) {
    const int64_t n_rows = static_cast<int64_t>(begin.shape(0)) - 1, n_entries = columns.shape(0);
    require_aligned("begin", begin);
    require_aligned("columns", columns);
    require(n_rows >= plan.n_rows() && n_rows >= 0, "begin", "has fewer rows than the plan visits");
    require(begin.data()[0] == 0 && begin.data()[n_rows] == n_entries && is_rising(begin.data(), n_rows + 1), "begin",
            "must rise from 0 to the number of entries");
    require_shape("values", values, {n_entries});
    require_indices("columns", columns.data(), n_entries, n_features, "features");
}

template <class T>
static nb::tuple sparse_distances(const Plan& plan, In<int64_t, 1> begin, In<int32_t, 1> columns, In<T, 1> values,
                                  In<double, 1> squares, In<T, 2> centers, Labels labels, Weights weights,
                                  Out<float, 3> excess, int n_threads) {
    const int64_t K = centers.shape(0), D = centers.shape(1), width = table_width<T>(K);
    require_points(plan, K, labels, weights, excess, n_threads);
    require_entries(plan, begin, columns, values, D);
    require_aligned("centers", centers);
    require_shape("squares", squares, {static_cast<int64_t>(begin.shape(0)) - 1});
    require_apart("excess", excess, "begin", begin);
    require_apart("excess", excess, "columns", columns);
    std::vector<T> table(std::max<int64_t>(D, 1) * width, T(0)), base(width, T(0));
    for (int64_t k = 0; k < K; ++k) {
        double square = 0;
        const T* center = centers.data() + k * D;
        for (int64_t d = 0; d < D; ++d) square += static_cast<double>(center[d]) * static_cast<double>(center[d]);
        base[k] = static_cast<T>(square);
    }
    constexpr int64_t kColumns = 512;  // turned a piece at a time: a piece of the table stays in the cache
    run((D + kColumns - 1) / kColumns, n_threads, [&](int64_t part, int) {
        for (int64_t k = 0; k < K; ++k)
            for (int64_t d = part * kColumns; d < std::min(D, (part + 1) * kColumns); ++d)
                table[d * width + k] = -2 * centers.data()[k * D + d];
    });
    SparseArgs<T> args{};
    args.tiles = plan.tiles();
    args.order = plan.order();
    args.begin = begin.data();
    args.columns = columns.data();
    args.values = values.data();
    args.squares = squares.data();
    args.centers = table.data();
    args.base = base.data();
    args.labels = pointer(labels);
    args.weights = pointer(weights);
    args.excess = excess.data();
    args.n_clusters = K;
    args.width = width;
    Scratch<T> scratch(plan.threads(n_threads), kTile * width);
    Parts parts(plan, 2);
    run(plan, n_threads, [&](int64_t c, int worker) {
        table_kernels<T>().sparse(args, plan.begin(c), plan.end(c), scratch.of(worker), parts.of(c));
    });
    return costs_of(plan, parts);
}

template <class T>
static Table sparse_sums(const Plan& plan, In<int64_t, 1> begin, In<int32_t, 1> columns, In<T, 1> values,
                         In<int32_t, 1> labels, Weights weights, int64_t n_clusters, int64_t n_features, int n_threads) {
    require_threads(n_threads);
    require(n_features >= 0 && n_features <= kMostClusters, "n_features", "must be from 0 to below 2^31");
    require_entries(plan, begin, columns, values, n_features);
    plan.require_weights(weights);
    const Members members(plan, labels, n_clusters);
    auto table = new_table({static_cast<size_t>(n_clusters), static_cast<size_t>(n_features)});
    run(n_clusters, n_threads, [&](int64_t k, int) {
        double* sum = table.data() + k * n_features;
        for (int64_t i = members.border[k]; i < members.border[k + 1]; ++i) {
            const int64_t at = members.position[i], row = plan.order()[at];
            const double w = weights ? weights->data()[at] : 1.0;
            for (int64_t e = begin.data()[row]; e < begin.data()[row + 1]; ++e)
                sum[columns.data()[e]] += w * static_cast<double>(values.data()[e]);
        }
    });
    return table;
}

template <class T, class C> static void define_coded(nb::module_& m) {
    m.def("coded_distances", &coded_distances<T, C>, "plan"_a, "X"_a.noconvert(), "codes"_a.noconvert(),
          "first"_a.noconvert(), "centers"_a.noconvert(), "tables"_a.noconvert(), "labels"_a.none().noconvert(),
          "weights"_a.none().noconvert(), "excess"_a.noconvert(), "n_threads"_a);
    m.def("coded_costs", &coded_costs<T, C>, "X"_a.noconvert(), "codes"_a.noconvert(), "first"_a.noconvert(),
          "centers"_a.noconvert(), "tables"_a.noconvert(), "costs"_a.noconvert(), "n_threads"_a);
    m.def("coded_sums", &coded_sums<T, C>, "plan"_a, "X"_a.noconvert(), "codes"_a.noconvert(), "first"_a.noconvert(),
          "labels"_a.noconvert(), "weights"_a.none().noconvert(), "n_clusters"_a, "n_threads"_a);
}

template <class T> static void define_sparse(nb::module_& m) {
    m.def("sparse_distances", &sparse_distances<T>, "plan"_a, "begin"_a.noconvert(), "columns"_a.noconvert(),
          "values"_a.noconvert(), "squares"_a.noconvert(), "centers"_a.noconvert(), "labels"_a.none().noconvert(),
          "weights"_a.none().noconvert(), "excess"_a.noconvert(), "n_threads"_a);
    m.def("sparse_sums", &sparse_sums<T>, "plan"_a, "begin"_a.noconvert(), "columns"_a.noconvert(),
          "values"_a.noconvert(), "labels"_a.noconvert(), "weights"_a.none().noconvert(), "n_clusters"_a,
          "n_features"_a, "n_threads"_a);
}

void define_tables(nb::module_& m) {
    define_coded<float, uint8_t>(m);
    define_coded<float, uint16_t>(m);
    define_coded<double, uint8_t>(m);
    define_coded<double, uint16_t>(m);
    define_sparse<float>(m);
    define_sparse<double>(m);
}

}  // namespace fairclust
