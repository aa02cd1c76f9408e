// Python's door to the passes over rows and their costs: cuts the work into chunks, adds the chunks' answers in order.

#include "bindings.hpp"

#include <memory>


namespace fairclust {

template <class T> static const RowKernels<T>& row_kernels();
template <> const RowKernels<float>& row_kernels<float>() { return kernel_set().f32; }
template <> const RowKernels<double>& row_kernels<double>() { return kernel_set().f64; }

template <class T> static void require_centers(const In<T, 2>& centers, int64_t n_features) {
    require_shape("centers", centers, {static_cast<int64_t>(centers.shape(0)), n_features});
    require_clusters(static_cast<int64_t>(centers.shape(0)));
}

// A (cells, clusters) table in single precision, a row of it per chunk.
struct CellTable {
    const Plan& plan;
    int64_t n_clusters;
    std::vector<float> values;
    CellTable(const Plan& plan_, const char* argument, const Prices& table, int64_t n_clusters_, double factor = 1)
        : plan(plan_), n_clusters(n_clusters_), values(table.size()) {
        plan.require_table(argument, table, n_clusters);
        float* value = values.data();
        for (size_t j = 0; j < table.shape(0); ++j)
            for (size_t k = 0; k < table.shape(1); ++k) *value++ = static_cast<float>(factor * table(j, k));
    }
    const float* of(int64_t chunk) const { return values.data() + plan.cell(chunk) * n_clusters; }
};

constexpr size_t kNear = size_t(1) << 21;  // bytes that a core's second cache keeps from pass to pass

template <class T>
static nb::tuple distances(const Plan& plan, int metric, Rows<T> X, In<T, 2> centers, Labels labels, Weights weights,
                           Out<float, 3> excess, int n_threads) {
    const int64_t K = centers.shape(0), M = X.shape(1);
    require_threads(n_threads);
    require_metric(metric, kSquaredEuclidean);
    plan.require_rows(X);
    plan.require_weights(weights);
    require_centers<T>(centers, M);
    require_shape("excess", excess, {plan.n_tiles(), K, kTile});
    if (labels) {
        require_labels("labels", *labels, plan.n_points(), K);
        require_apart("excess", excess, "labels", *labels);
    }
    const RowArgs<T> args{plan.tiles(),   X.data(),         plan.order(),  centers.data(), pointer(labels),
                          pointer(weights), excess.data(),    M,             K,              feature_stride<T>(X),
                          X.nbytes() + excess.nbytes() <= kNear};
    Scratch<T> scratch(plan.threads(n_threads), kTile * (kFeatureTile + K));
    Parts parts(plan, 2);
    run(plan, n_threads, [&](int64_t c, int worker) {
        row_kernels<T>().distances(args, metric, plan.begin(c), plan.end(c), scratch.of(worker), parts.of(c));
    });
    double sums[2] = {0, 0};
    for (int64_t c = 0; c < plan.n_chunks(); ++c) parts.add_to(sums, c, 0, 2);
    return nb::make_tuple(sums[0], sums[1]);
}

// Per chunk: how many points of its cell come before its own.
static std::vector<int64_t> points_before(const Plan& plan, const Counts& before, int64_t n_cells) {
    std::vector<int64_t> seen(n_cells, 0), result;
    if (before) {
        require_shape("before", *before, {n_cells});
        require(is_between(before->data(), before->size(), 0, kMostSteps), "before", "must hold counts of points");
        seen.assign(before->data(), before->data() + before->size());
    }
    for (int64_t c = 0; c < plan.n_chunks(); ++c) {
        result.push_back(seen[plan.cell(c)]);
        seen[plan.cell(c)] += plan.last_point(c) - plan.first_point(c);
    }
    return result;
}

// No pairs yet: only what so many clusters use is written to.
static void clear(PairSums& held, int64_t n_clusters) {
    held.count = 0;
    if (n_clusters <= kDense) std::fill_n(held.pairs, n_clusters * (n_clusters - 1) / 2 * kRun, 0.0f);
}

constexpr int64_t kMostPairs = int64_t(1) << 23;  // sums of pairs that chunks have room for, all together: 64 MB

// Chunks whose pairs are added up in one table, one after the other: of a cell, as few as room allows. They depend on the
// data alone, as chunks do. None: every chunk has a table of its own.
static std::vector<std::vector<int64_t>> pair_units(const Plan& plan, int64_t n_clusters, int64_t n_cells) {
    std::vector<std::vector<int64_t>> units;
    const int64_t most = std::max<int64_t>(kMostPairs / n_clusters / n_clusters, 1);
    if (plan.n_chunks() <= most) return units;
    std::vector<std::vector<int64_t>> of_cell(static_cast<size_t>(n_cells));
    for (int64_t c = 0; c < plan.n_chunks(); ++c) of_cell[plan.cell(c)].push_back(c);
    const int64_t of_each = std::max<int64_t>(most / n_cells, 1);
    for (const auto& chunks : of_cell) {
        const int64_t n = static_cast<int64_t>(chunks.size()), together = (n + of_each - 1) / of_each;
        for (int64_t first = 0; first < n; first += together)
            units.emplace_back(chunks.begin() + first, chunks.begin() + std::min(first + together, n));
    }
    std::sort(units.begin(), units.end());  // as chunks lie: their rows are neighbours
    return units;
}

// A sweep's answer: the chunks' tables on their way to Python.
struct SweepTables {
    const Plan& plan;
    int64_t n_clusters;
    const CellTable scaled_prices;
    float scale;
    bool is_bent;  // with curvature
    std::vector<int64_t> first, every;        // points of the chunk's cell before it; of each cell, of how many runs one is counted
    std::vector<std::vector<int64_t>> units;  // chunks that are counted one after the other; none: each is one
    Parts parts, tables;                      // of the chunks, of the units
    std::unique_ptr<PairSums[]> held;         // of each thread, where there is curvature

    SweepTables(const Plan& plan_, int64_t K, double scale_, const Prices& scaled_price, const Counts& steps,
                const Counts& before, int n_threads)
        : plan(plan_), n_clusters(K), scaled_prices(plan_, "scaled_price", scaled_price, K, kBits), scale(static_cast<float>(kBits * scale_)),
          is_bent(steps.has_value()), first(points_before(plan_, before, scaled_price.shape(0))), every(scaled_price.shape(0), 0),
          units(pair_units(plan_, steps ? K : 1, scaled_price.shape(0))),
          parts(plan_, kSums * K + 3 + (steps ? kSums * K : 0)), tables(steps ? n_units() : 0, K * K),
          held(new PairSums[steps ? plan_.threads(n_threads) : 1]) {
        for (int i = 0; steps && i < plan.threads(n_threads); ++i) clear(held[i], K);
        const int64_t n_cells = scaled_price.shape(0);
        if (!steps) return;
        require_shape("steps", *steps, {n_cells});
        require(is_between(steps->data(), steps->size(), 1, kMostSteps), "steps", "must be at least 1");
        every.assign(steps->data(), steps->data() + n_cells);
    }

    int64_t n_units() const { return units.empty() ? plan.n_chunks() : static_cast<int64_t>(units.size()); }
    int64_t first_of(int64_t unit) const { return units.empty() ? unit : units[unit].front(); }

    // Calls work(chunk, unit, worker) for every chunk.
    template <class Work> void run_units(int n_threads, const Work& work) {
        const auto one = [&](int64_t c, int64_t unit, int worker) {
            work(c, unit, worker);
            if (is_bent) kernel_set().end_pairs(held[worker], n_clusters, tables.of(unit));
        };
        run(n_units(), n_threads, [&](int64_t unit, int worker) {
            if (units.empty()) return one(unit, unit, worker);
            for (const int64_t c : units[unit]) one(c, unit, worker);
        });
    }

    // Counts the tiles [begin, end) of args; they are tiles of the chunk, so many points after its first.
    void count(int64_t chunk, int64_t unit, int worker, const SweepArgs& args, int64_t begin, int64_t end, int64_t points,
               float* scratch) {
        double* part = parts.of(chunk);
        const EveryNth own{every[plan.cell(chunk)], first[chunk] + points};
        kernel_set().sweep(args, scale, scaled_prices.of(chunk), own, begin, end, scratch, held[is_bent ? worker : 0], part, part + sums_at(),
                           part + squares_at(), is_bent ? tables.of(unit) : nullptr);
    }

    // Where a part has what: masses come first.
    int64_t sums_at() const { return kSums * n_clusters; }
    int64_t squares_at() const { return sums_at() + 3; }

    nb::tuple answer(size_t n_cells) {
        const size_t K = n_clusters;
        auto masses = new_table({n_cells, K});
        double sums[2] = {0, 0};
        for (int64_t c = 0; c < plan.n_chunks(); ++c) {
            parts.add_totals_to(masses.data() + plan.cell(c) * K, 1, c, 0, K, kSums);
            parts.add_to(sums, c, sums_at(), 2);
        }
        if (!is_bent) return nb::make_tuple(masses, sums[0], sums[1], nb::none(), nb::none());
        auto sampled = new_table({n_cells});
        for (int64_t c = 0; c < plan.n_chunks(); ++c) parts.add_to(sampled.data() + plan.cell(c), c, sums_at() + 2, 1);
        return nb::make_tuple(masses, sums[0], sums[1], pair_table(n_cells), sampled);
    }

    // The sums of pairs, above the diagonal; on it those of squares.
    Table pair_table(size_t n_cells) const {
        const size_t K = n_clusters;
        auto table = new_table({n_cells, K, K});
        for (int64_t c = 0; c < plan.n_chunks(); ++c)
            parts.add_totals_to(table.data() + plan.cell(c) * K * K, K + 1, c, squares_at(), K, kSums);
        for (int64_t u = 0; u < n_units(); ++u)
            for (size_t k = 0; k + 1 < K; ++k) {
                const size_t first = k * K + k + 1;
                tables.add_to(table.data() + plan.cell(first_of(u)) * K * K + first, u, first, K - k - 1);
            }
        return table;
    }
};

static SweepArgs sweep_args(const Plan& plan, const In<float, 3>& excess, const Weights& weights, int n_threads) {
    require_threads(n_threads);
    plan.require_excess(excess);
    plan.require_weights(weights);
    return {plan.tiles(), excess.data(), pointer(weights), static_cast<int64_t>(excess.shape(1))};
}

static nb::tuple sweep(const Plan& plan, In<float, 3> excess, Weights weights, double scale, Prices scaled_price,
                       Counts steps, Counts before, int n_threads) {
    const SweepArgs args = sweep_args(plan, excess, weights, n_threads);
    SweepTables tables(plan, args.n_clusters, scale, scaled_price, steps, before, n_threads);
    Scratch<float> scratch(plan.threads(n_threads), kTile * args.n_clusters);
    tables.run_units(n_threads, [&](int64_t c, int64_t unit, int worker) {
        tables.count(c, unit, worker, args, plan.begin(c), plan.end(c), 0, scratch.of(worker));
    });
    return tables.answer(scaled_price.shape(0));
}

// The hard sweep's answer.
struct AssignTables {
    const Plan& plan;
    int64_t n_clusters;
    const CellTable prices;
    double scale;                // at which near-ties are split; 0: they are not
    std::vector<int64_t> first;  // points of the chunk's cell before it
    Parts parts;

    AssignTables(const Plan& plan_, int64_t K, const Prices& price, double scale_, const Counts& before)
        : plan(plan_), n_clusters(K), prices(plan_, "price", price, K), scale(scale_),
          first(points_before(plan_, before, price.shape(0))), parts(plan_, K + 2) {
        require(scale >= 0, "scale", "must not be negative");
    }

    // Labels the tiles [begin, end) of args; they are tiles of the chunk, so many points after its first.
    void count(int64_t chunk, const SweepArgs& args, int64_t begin, int64_t end, int64_t points, int32_t* labels,
               float* gaps) {
        double* part = parts.of(chunk);
        kernel_set().assign(args, prices.of(chunk), Split{scale, first[chunk] + points}, begin, end, labels, gaps, part,
                            part + n_clusters);
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

static nb::tuple assign(const Plan& plan, In<float, 3> excess, Weights weights, Prices price,
                        Out<int32_t, 1> labels, std::optional<Out<float, 1>> gaps, int n_threads, double scale,
                        Counts before) {
    const SweepArgs args = sweep_args(plan, excess, weights, n_threads);
    require_shape("labels", labels, {plan.n_points()});
    if (gaps) require_shape("gaps", *gaps, {plan.n_points()});
    AssignTables tables(plan, args.n_clusters, price, scale, before);
    run(plan, n_threads, [&](int64_t c, int) {
        tables.count(c, args, plan.begin(c), plan.end(c), 0, labels.data(), pointer(gaps));
    });
    return tables.answer(price.shape(0));
}

// Costs of a few tiles at a time, for passes that do not keep them: they never leave the core's first cache.
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
        : plan(plan_), metric(metric_), rows(checked(plan_, metric_, X, centers, weights, n_threads)),
          costs{plan_.tiles(), nullptr, pointer(weights), rows.n_clusters},
          scratch(plan_.threads(n_threads), kTile * (kFeatureTile + rows.n_clusters)),
          excess(plan_.threads(n_threads), kTile * rows.n_clusters),
          room(plan_.threads(n_threads), kTile * rows.n_clusters), parts(plan_, 2) {}

    static RowArgs<T> checked(const Plan& plan, int metric, const Rows<T>& X, const In<T, 2>& centers,
                              const Weights& weights, int n_threads) {
        const int64_t M = X.shape(1);
        require_threads(n_threads);
        require_metric(metric, kSquaredEuclidean);
        plan.require_rows(X);
        plan.require_weights(weights);
        require_centers<T>(centers, M);
        return {plan.tiles(), X.data(), plan.order(), centers.data(), nullptr, pointer(weights), nullptr, M,
                static_cast<int64_t>(centers.shape(0)), feature_stride<T>(X)};
    }

    // Calls work(rows, costs, points of the chunk before these) with one tile each, number 0 of both.
    template <class Work> void of(int64_t chunk, int worker, const Work& work) {
        RowArgs<T> one = rows;
        SweepArgs its = costs;
        its.excess = one.excess = excess.of(worker);
        const int64_t first = plan.first_point(chunk);
        for (int64_t b = plan.begin(chunk); b < plan.end(chunk); ++b) {
            its.tiles = one.tiles = plan.tiles(b);
            row_kernels<T>().distances(one, metric, 0, 1, scratch.of(worker), parts.of(chunk));
            work(one, its, one.tiles.start[0] - first);
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
                            Prices scaled_price, Counts steps, Counts before, int n_threads) {
    PassingCosts<T> passing(plan, metric, X, centers, weights, n_threads);
    SweepTables tables(plan, passing.rows.n_clusters, scale, scaled_price, steps, before, n_threads);
    tables.run_units(n_threads, [&](int64_t c, int64_t unit, int worker) {
        passing.of(c, worker, [&](const RowArgs<T>&, const SweepArgs& costs, int64_t points) {
            tables.count(c, unit, worker, costs, 0, 1, points, passing.room.of(worker));
        });
    });
    return nb::make_tuple(passing.base_cost(), tables.answer(scaled_price.shape(0)));
}

template <class T>
static nb::tuple assign_rows(const Plan& plan, int metric, Rows<T> X, In<T, 2> centers, Weights weights,
                             Prices price, Out<int32_t, 1> labels, int n_threads, double scale, Counts before,
                             bool with_sums) {
    PassingCosts<T> passing(plan, metric, X, centers, weights, n_threads);
    require_shape("labels", labels, {plan.n_points()});
    AssignTables tables(plan, passing.rows.n_clusters, price, scale, before);
    const int64_t width = whole_vectors(passing.rows.n_features);
    Parts sums(plan, passing.rows.n_clusters * width);
    run(plan, n_threads, [&](int64_t c, int worker) {
        passing.of(c, worker, [&](RowArgs<T>& rows, const SweepArgs& costs, int64_t points) {
            tables.count(c, costs, 0, 1, points, labels.data(), nullptr);
            if (!with_sums) return;
            rows.labels = labels.data();
            row_kernels<T>().label_sums(rows, 0, 1, sums.of(c));
            rows.labels = nullptr;
        });
    });
    return nb::make_tuple(passing.base_cost(), tables.answer(price.shape(0)),
                          sums.sum(passing.rows.n_clusters, passing.rows.n_features, width));
}

static void soft_rows(const Plan& plan, In<float, 3> excess, double scale, Prices scaled_price, Out<float, 2> rows,
                      int n_threads) {
    const SweepArgs args = sweep_args(plan, excess, std::nullopt, n_threads);
    require_shape("rows", rows, {static_cast<int64_t>(rows.shape(0)), args.n_clusters});
    require(static_cast<int64_t>(rows.shape(0)) >= plan.n_rows(), "rows", "has fewer rows than the plan visits");
    const CellTable scaled_prices(plan, "scaled_price", scaled_price, args.n_clusters, kBits);
    Scratch<float> scratch(plan.threads(n_threads), kTile * args.n_clusters);
    run(plan, n_threads, [&](int64_t c, int worker) {
        kernel_set().soft_rows(args, plan.order(), static_cast<float>(kBits * scale), scaled_prices.of(c), plan.begin(c), plan.end(c),
                               scratch.of(worker), rows.data());
    });
}

template <class T>
static Table label_sums(const Plan& plan, Rows<T> X, In<int32_t, 1> labels, Weights weights, int64_t n_clusters,
                        int n_threads) {
    const int64_t M = X.shape(1);
    require_threads(n_threads);
    require_clusters(n_clusters);
    plan.require_rows(X);
    plan.require_weights(weights);
    require_labels("labels", labels, plan.n_points(), n_clusters);
    const RowArgs<T> args{plan.tiles(), X.data(), plan.order(), nullptr,              labels.data(), pointer(weights),
                          nullptr,      M,        n_clusters,   feature_stride<T>(X), X.nbytes() <= kNear};
    Parts parts(plan, n_clusters * whole_vectors(M));
    run(plan, n_threads,
        [&](int64_t c, int) { row_kernels<T>().label_sums(args, plan.begin(c), plan.end(c), parts.of(c)); });
    return parts.sum(n_clusters, M, whole_vectors(M));
}

template <class T>
static Table soft_sums(const Plan& plan, In<float, 3> excess, In<T, 2> X, Weights weights, double scale,
                       Prices scaled_price, int n_threads) {
    const SweepArgs args = sweep_args(plan, excess, weights, n_threads);
    plan.require_rows(X);
    const int64_t M = X.shape(1), K = args.n_clusters;
    const RowArgs<T> rows{plan.tiles(), X.data(), plan.order(), nullptr, nullptr, nullptr, nullptr, M, K};
    const CellTable scaled_prices(plan, "scaled_price", scaled_price, K, kBits);
    Scratch<float> scratch(plan.threads(n_threads), kTile * K);
    Parts parts(plan, K * M);
    run(plan, n_threads, [&](int64_t c, int worker) {
        row_kernels<T>().soft_sums(args, rows, static_cast<float>(kBits * scale), scaled_prices.of(c), plan.begin(c), plan.end(c),
                                   scratch.of(worker), parts.of(c));
    });
    return parts.sum(K, M);
}

// Of each kind of move (cell, from, to) the points whose costs rise least, up to `count`, the first of equals first. OUT rows of
// kind, position, and by how much. One pass, and room for those alone.
static Table cheapest_moves(const Plan& plan, In<float, 3> excess, In<int32_t, 1> labels, In<int64_t, 2> kinds, int64_t count) {
    plan.require_excess(excess);
    const int64_t K = excess.shape(1), n_kinds = kinds.shape(0), n_cells = std::max<int64_t>(plan.n_cells(), 1);
    require_labels("labels", labels, plan.n_points(), K);
    require_shape("kinds", kinds, {n_kinds, 3});
    require(1 <= count && count <= kMostSteps, "count", "must be at least 1");
    std::vector<std::vector<int64_t>> of(table_size({size_t(n_cells), size_t(K)}));  // kinds of each cell and cluster
    for (int64_t i = 0; i < n_kinds; ++i) {
        const int64_t* kind = kinds.data() + 3 * i;
        require(kind[0] >= 0 && is_between(kind + 1, 2, 0, K - 1), "kinds", "must be (cell, from, to)");
        if (kind[0] < n_cells) of[kind[0] * K + kind[1]].push_back(i);
    }
    typedef std::pair<double, int64_t> Rise;  // and the position
    std::vector<std::vector<Rise>> best(n_kinds);
    const TileSpans tiles = plan.tiles();
    std::vector<uint8_t> is_asked(static_cast<size_t>(K));
    for (int64_t c = 0; c < plan.n_chunks(); ++c) {
        const auto* own = of.data() + plan.cell(c) * K;
        for (int64_t k = 0; k < K; ++k) is_asked[k] = !own[k].empty();
        if (!std::count(is_asked.begin(), is_asked.end(), 1)) continue;
        for (int64_t b = plan.begin(c); b < plan.end(c); ++b) {
            const int32_t* label = labels.data() + tiles.start[b];
            int asked[kTile], n_asked = 0;  // found without a branch, which a processor could not guess
            for (int i = 0; i < tiles.size[b]; ++i) {
                asked[n_asked] = i;
                n_asked += is_asked[label[i]];
            }
            for (int a = 0; a < n_asked; ++a) {
                const int64_t at = tiles.start[b] + asked[a], k = label[asked[a]];
                const float* costs = excess.data() + b * K * kTile + asked[a];
                for (const int64_t kind : own[k]) {
                    const Rise rise(double(costs[kinds.data()[3 * kind + 2] * kTile]) - double(costs[k * kTile]), at);
                    auto& heap = best[kind];  // the dearest on top
                    if (int64_t(heap.size()) == count && !(rise < heap.front())) continue;
                    if (int64_t(heap.size()) == count) {
                        std::pop_heap(heap.begin(), heap.end());
                        heap.pop_back();
                    }
                    heap.push_back(rise);
                    std::push_heap(heap.begin(), heap.end());
                }
            }
        }
    }
    size_t n = 0;
    for (const auto& heap : best) n += heap.size();
    auto found = new_table({n, 3});
    double* row = found.data();
    for (int64_t kind = 0; kind < n_kinds; ++kind) {
        std::sort_heap(best[kind].begin(), best[kind].end());
        for (const auto& [rise, at] : best[kind]) {
            row[0] = double(kind), row[1] = double(at), row[2] = rise;
            row += 3;
        }
    }
    return found;
}

template <class T> static void define(nb::module_& m) {
    m.def("distances", &distances<T>, "plan"_a, "metric"_a, "X"_a.noconvert(), "centers"_a.noconvert(),
          "labels"_a.none().noconvert(), "weights"_a.none().noconvert(), "excess"_a.noconvert(), "n_threads"_a);
    m.def("sweep_rows", &sweep_rows<T>, "plan"_a, "metric"_a, "X"_a.noconvert(), "centers"_a.noconvert(),
          "weights"_a.none().noconvert(), "scale"_a, "scaled_price"_a.noconvert(), "steps"_a.none().noconvert(),
          "before"_a.none().noconvert(), "n_threads"_a);
    m.def("assign_rows", &assign_rows<T>, "plan"_a, "metric"_a, "X"_a.noconvert(), "centers"_a.noconvert(),
          "weights"_a.none().noconvert(), "price"_a.noconvert(), "labels"_a.noconvert(), "n_threads"_a,
          "scale"_a = 0.0, "before"_a.none().noconvert() = nb::none(), "with_sums"_a = true);
    m.def("label_sums", &label_sums<T>, "plan"_a, "X"_a.noconvert(), "labels"_a.noconvert(),
          "weights"_a.none().noconvert(), "n_clusters"_a, "n_threads"_a);
    m.def("soft_sums", &soft_sums<T>, "plan"_a, "excess"_a.noconvert(), "X"_a.noconvert(), "weights"_a.none().noconvert(),
          "scale"_a, "scaled_price"_a.noconvert(), "n_threads"_a);
}

void define_rows(nb::module_& m) {
    m.def("sweep", &sweep, "plan"_a, "excess"_a.noconvert(), "weights"_a.none().noconvert(), "scale"_a,
          "scaled_price"_a.noconvert(), "steps"_a.none().noconvert(), "before"_a.none().noconvert(), "n_threads"_a);
    m.def("assign", &assign, "plan"_a, "excess"_a.noconvert(), "weights"_a.none().noconvert(), "price"_a.noconvert(),
          "labels"_a.noconvert(), "gaps"_a.none().noconvert(), "n_threads"_a, "scale"_a = 0.0,
          "before"_a.none().noconvert() = nb::none());
    m.def("cheapest_moves", &cheapest_moves, "plan"_a, "excess"_a.noconvert(), "labels"_a.noconvert(), "kinds"_a.noconvert(),
          "count"_a);
    m.def("soft_rows", &soft_rows, "plan"_a, "excess"_a.noconvert(), "scale"_a, "scaled_price"_a.noconvert(),
          "rows"_a.noconvert(), "n_threads"_a);
    define<float>(m);
    define<double>(m);
}

}  // namespace fairclust
