// The module: which instruction set, the plan, and each family's functions.

#include "bindings.hpp"

#include <cstdlib>

namespace fairclust {

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

const KernelSet& kernel_set() {
    static const KernelSet chosen = choose_kernels();
    return chosen;
}

static MedoidKernels choose_medoid_kernels() {
#ifdef FAIRCLUST_X86
    const std::string isa = kernel_set().name;
    if (isa == "avx512") return medoid_kernels_avx512();
    if (isa == "avx2") return medoid_kernels_avx2();
#endif
    return medoid_kernels_baseline();
}

const MedoidKernels& medoid_kernels() {
    static const MedoidKernels chosen = choose_medoid_kernels();
    return chosen;
}

template <class T> static std::vector<T> copied(const In<T, 1>& array) {
    return {array.data(), array.data() + array.size()};
}

Plan::Plan(const In<int32_t, 1>& order, const In<int64_t, 1>& start, const In<int32_t, 1>& size,
           const In<int64_t, 1>& chunk, const In<int32_t, 1>& chunk_cell)
    : order_(copied<int32_t>(order)), start_(copied<int64_t>(start)), size_(copied<int32_t>(size)),
      chunk_(copied<int64_t>(chunk)), chunk_cell_(copied<int32_t>(chunk_cell)) {
    require(n_points() <= kMostPoints, "order", "has too many points");
    for (const int32_t row : order_) n_rows_ = std::max<int64_t>(n_rows_, int64_t(row) + 1);
    require(is_within(order_.data(), order_.size(), kMostPoints + 1), "order", "must hold rows, numbered from 0");
    require(size_.size() == start_.size(), "size", "needs one value per tile");
    int64_t next = 0;
    for (int64_t b = 0; b < n_tiles(); ++b) {
        require(start_[b] == next, "start", "must follow the tiles' sizes, from 0");
        require(size_[b] >= 1 && size_[b] <= kTile, "size", "must be from 1 to 64");
        next += size_[b];
    }
    require(next == n_points(), "size", "must add up to the number of points");
    require(chunk_.size() == chunk_cell_.size() + 1, "chunk", "needs one value more than chunk_cell");
    require(chunk_.front() == 0 && chunk_.back() == n_tiles(), "chunk", "must run from 0 to the number of tiles");
    for (int64_t c = 0; c < n_chunks(); ++c) {
        require(chunk_[c + 1] > chunk_[c], "chunk", "must rise from chunk to chunk");
        require(chunk_cell_[c] >= 0, "chunk_cell", "must hold cells, numbered from 0");
        n_cells_ = std::max<int64_t>(n_cells_, int64_t(chunk_cell_[c]) + 1);
    }
}

// For tests: one chunk of several throws.
static void fail_in_chunk(int64_t chunk, int64_t n_chunks, int n_threads) {
    run(n_chunks, n_threads, [&](int64_t c, int) {
        if (c == chunk) refuse("chunk", std::to_string(c) + " failed");
    });
}

}  // namespace fairclust

NB_MODULE(_kernels, m) {
    using namespace fairclust;
    m.doc() = "Compiled kernels; see fairclust/_core/__init__.py for what each function does.";
    m.attr("name") = kernel_set().name;
    nb::class_<Plan>(m, "Plan").def(
        nb::init<In<int32_t, 1>, In<int64_t, 1>, In<int32_t, 1>, In<int64_t, 1>, In<int32_t, 1>>(),
        "order"_a.noconvert(), "start"_a.noconvert(), "size"_a.noconvert(), "chunk"_a.noconvert(),
        "chunk_cell"_a.noconvert()).def_prop_ro(
        "order",
        [](const Plan& plan) {  // the plan's own, so that nobody needs another one
            return nb::ndarray<nb::numpy, const int32_t, nb::ndim<1>>(plan.order(), {static_cast<size_t>(plan.n_points())});
        },
        nb::rv_policy::reference_internal);
    m.def("_fail_in_chunk", &fail_in_chunk, "chunk"_a, "n_chunks"_a, "n_threads"_a);
    define_rows(m);
    define_tables(m);
    define_medoids(m);
    define_graph(m);
    define_small(m);
    define_columns(m);
}
