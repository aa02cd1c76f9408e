// Python's door to the graph kernels. Included by bindings.cpp, whose helpers it uses.
#pragma once

#include "graph.hpp"

namespace fairclust {

using Soft = std::optional<In<float, 2>>;
constexpr int64_t kNodesPerChunk = 4096;  // fixed, so that sums do not depend on the number of threads

// The arrays of a graph, with the checks that keep the kernels inside them.
template <class T>
static Graph<T> as_graph(const In<int64_t, 1>& indptr, const In<int32_t, 1>& indices, const In<T, 1>& data) {
    const int64_t n = static_cast<int64_t>(indptr.shape(0)) - 1;
    require(n >= 0 && indptr.data()[n] == static_cast<int64_t>(indices.shape(0)) && indices.shape(0) == data.shape(0),
            "indptr, indices and data do not fit together");
    return {n, indptr.data(), indices.data(), data.data()};
}

static void check_assignments(int64_t n_nodes, int64_t K, const Labels& labels, const Soft& soft) {
    require(labels.has_value() != soft.has_value(), "either labels or soft assignments are needed");
    require(labels ? static_cast<int64_t>(labels->shape(0)) == n_nodes
                   : static_cast<int64_t>(soft->shape(0)) == n_nodes && static_cast<int64_t>(soft->shape(1)) == K,
            "one assignment per node is needed");
}

template <class T>
static double link_costs_py(const Plan& plan, In<int64_t, 1> indptr, In<int32_t, 1> indices, In<T, 1> data,
                            In<double, 1> degree, Labels labels, Soft soft, In<double, 1> inverse_volume,
                            In<double, 1> ratio, double sigma, Out<float, 3> excess, int n_threads) {
    const Graph<T> graph = as_graph<T>(indptr, indices, data);
    const int64_t K = inverse_volume.shape(0);
    check_assignments(graph.n_nodes, K, labels, soft);
    require(excess.shape(0) == plan.start.shape(0) && static_cast<int64_t>(excess.shape(1)) == K &&
                excess.shape(2) == kBlock && ratio.shape(0) == inverse_volume.shape(0) &&
                static_cast<int64_t>(plan.order.shape(0)) == graph.n_nodes &&
                static_cast<int64_t>(degree.shape(0)) == graph.n_nodes,
            "link_costs: shapes do not fit together");
    Scratch<double> scratch(n_threads, K);
    Parts parts(plan, 1);
    run(plan, n_threads, [&](int64_t c, int worker) {
        link_costs(graph, plan.blocks(), plan.order.data(), degree.data(), pointer(labels), pointer(soft),
                   inverse_volume.data(), ratio.data(), sigma, K, plan.begin(c), plan.end(c), scratch.of(worker),
                   excess.data(), parts.of(c));
    });
    double cheapest = 0.0;
    for (int64_t c = 0; c < plan.n_chunks(); ++c) parts.add_to(&cheapest, c, 0, 1);
    return cheapest;
}

template <class T>
static Table associations_py(In<int64_t, 1> indptr, In<int32_t, 1> indices, In<T, 1> data, In<double, 1> degree,
                             Labels labels, Soft soft, int64_t K, int n_threads) {
    const Graph<T> graph = as_graph<T>(indptr, indices, data);
    check_assignments(graph.n_nodes, K, labels, soft);
    const int64_t n_chunks = (graph.n_nodes + kNodesPerChunk - 1) / kNodesPerChunk;
    std::vector<double> parts(n_chunks * 3 * K, 0.0);
    Scratch<double> scratch(n_threads, K);
    bool finished = false;
    {
        nb::gil_scoped_release nogil;
        finished = run_chunks(
            n_chunks, n_threads,
            [&](int64_t c, int worker) {
                associations(graph, degree.data(), pointer(labels), pointer(soft), K, c * kNodesPerChunk,
                             std::min(graph.n_nodes, (c + 1) * kNodesPerChunk), scratch.of(worker), &parts[c * 3 * K]);
            },
            [] {
                nb::gil_scoped_acquire gil;
                return PyErr_CheckSignals() != 0;
            });
    }
    if (!finished) throw nb::python_error();
    auto sums = new_table({3, static_cast<size_t>(K)});
    for (int64_t c = 0; c < n_chunks; ++c)
        for (int64_t i = 0; i < 3 * K; ++i) sums.data()[i] += parts[c * 3 * K + i];
    return sums;
}

template <class T>
static nb::tuple move_nodes_py(In<int64_t, 1> indptr, In<int32_t, 1> indices, In<T, 1> data, In<double, 1> degree,
                               Labels codes, std::optional<In<double, 2>> node_masses, In<double, 2> membership,
                               In<double, 2> target, In<double, 2> weight, In<int64_t, 1> first, In<uint8_t, 1> overlaps,
                               In<int32_t, 1> order, int64_t max_passes, double least, Out<int32_t, 1> labels) {
    const Graph<T> graph = as_graph<T>(indptr, indices, data);
    const size_t n = graph.n_nodes, J = membership.shape(1);
    require(codes.has_value() != node_masses.has_value(), "either codes or node_masses are needed");
    require(order.shape(0) == n && labels.shape(0) == n && degree.shape(0) == n && target.shape(1) == J &&
                target.shape(0) == weight.shape(0) && first.shape(0) == weight.shape(1) + 1 &&
                overlaps.shape(0) == weight.shape(1) && static_cast<size_t>(first(weight.shape(1))) == J &&
                (codes ? codes->shape(0) == n : node_masses->shape(0) == n && node_masses->shape(1) == J),
            "move_nodes: shapes do not fit together");
    const Fairness fair{static_cast<int64_t>(weight.shape(0)), static_cast<int64_t>(J),
                        static_cast<int64_t>(weight.shape(1)), target.data(), weight.data(), first.data(),
                        overlaps.data()};
    int64_t n_moved = 0, n_passes = 0;
    {
        nb::gil_scoped_release nogil;
        Mover<T> mover(graph, degree.data(), pointer(codes), pointer(node_masses), membership.data(),
                       static_cast<int64_t>(membership.shape(0)), fair, labels.data());
        n_passes = mover.run(order.data(), max_passes, least);
        n_moved = mover.n_moved;
    }
    return nb::make_tuple(n_passes, n_moved);
}

template <class T>
static int64_t match_nodes_py(In<int64_t, 1> indptr, In<int32_t, 1> indices, In<T, 1> data, In<double, 1> degree,
                              Labels labels, In<int32_t, 1> order, double heaviest, Out<int32_t, 1> parent) {
    const Graph<T> graph = as_graph<T>(indptr, indices, data);
    const size_t n = graph.n_nodes;
    require(degree.shape(0) == n && order.shape(0) == n && parent.shape(0) == n && (!labels || labels->shape(0) == n),
            "match_nodes: shapes do not fit together");
    nb::gil_scoped_release nogil;
    return match_nodes(graph, degree.data(), pointer(labels), order.data(), heaviest, parent.data());
}

// A vector that Python will own.
template <class T> static nb::ndarray<nb::numpy, T> hand_over(std::vector<T>&& values) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, T>(kept->data(), {kept->size()}, owner);
}

template <class T>
static nb::tuple contract_py(In<int64_t, 1> indptr, In<int32_t, 1> indices, In<T, 1> data, In<int32_t, 1> parent,
                             int64_t n_parents) {
    const Graph<T> graph = as_graph<T>(indptr, indices, data);
    require(static_cast<int64_t>(parent.shape(0)) == graph.n_nodes, "contract: one parent per node is needed");
    std::vector<int64_t> new_indptr;
    std::vector<int32_t> new_indices;
    std::vector<T> new_data;
    {
        nb::gil_scoped_release nogil;
        contract(graph, parent.data(), n_parents, new_indptr, new_indices, new_data);
    }
    return nb::make_tuple(hand_over(std::move(new_indptr)), hand_over(std::move(new_indices)),
                          hand_over(std::move(new_data)));
}

template <class T> static void define_graph(nb::module_& m) {
    m.def("link_costs", &link_costs_py<T>, "plan"_a, "indptr"_a.noconvert(), "indices"_a.noconvert(),
          "data"_a.noconvert(), "degree"_a.noconvert(), "labels"_a.none().noconvert(), "soft"_a.none().noconvert(),
          "inverse_volume"_a.noconvert(), "ratio"_a.noconvert(), "sigma"_a, "excess"_a.noconvert(), "n_threads"_a);
    m.def("associations", &associations_py<T>, "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(),
          "degree"_a.noconvert(), "labels"_a.none().noconvert(), "soft"_a.none().noconvert(), "n_clusters"_a,
          "n_threads"_a);
    m.def("move_nodes", &move_nodes_py<T>, "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(),
          "degree"_a.noconvert(), "codes"_a.none().noconvert(), "node_masses"_a.none().noconvert(),
          "membership"_a.noconvert(), "target"_a.noconvert(), "weight"_a.noconvert(), "first"_a.noconvert(),
          "overlaps"_a.noconvert(), "order"_a.noconvert(), "max_passes"_a, "least"_a, "labels"_a.noconvert());
    m.def("match_nodes", &match_nodes_py<T>, "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(),
          "degree"_a.noconvert(), "labels"_a.none().noconvert(), "order"_a.noconvert(), "heaviest"_a,
          "parent"_a.noconvert());
    m.def("contract", &contract_py<T>, "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(),
          "parent"_a.noconvert(), "n_parents"_a);
}

}  // namespace fairclust
