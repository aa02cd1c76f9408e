// Python's door to the graph kernels.

#include "bindings.hpp"
#include "graph.hpp"

namespace fairclust {

using Soft = std::optional<In<float, 2>>;
constexpr int64_t kNodesPerChunk = 4096;  // fixed, so that sums do not depend on the number of threads

// The arrays of a graph, with the checks that keep the kernels inside them.
template <class T>
static Graph<T> as_graph(const In<int64_t, 1>& indptr, const In<int32_t, 1>& indices, const In<T, 1>& data) {
    const int64_t n = static_cast<int64_t>(indptr.shape(0)) - 1, n_links = static_cast<int64_t>(indices.shape(0));
    require_aligned("indptr", indptr);
    require_aligned("indices", indices);
    require(n >= 0 && n <= kMostPoints, "indptr", "needs one value more than there are nodes");
    require(indptr.data()[0] == 0 && indptr.data()[n] == n_links && is_rising(indptr.data(), n + 1), "indptr",
            "must rise from 0 to the number of links");
    require_shape("data", data, {n_links});
    require_indices("indices", indices.data(), indices.size(), n, "nodes");
    return {n, indptr.data(), indices.data(), data.data()};
}

static void require_assignments(int64_t n_nodes, int64_t K, const Labels& labels, const Soft& soft) {
    require(labels.has_value() != soft.has_value(), "labels", "or soft assignments are needed, and not both");
    if (labels) require_labels("labels", *labels, n_nodes, K);
    if (soft) require_shape("soft", *soft, {n_nodes, K});
}

template <class T>
static double link_costs_py(const Plan& plan, In<int64_t, 1> indptr, In<int32_t, 1> indices, In<T, 1> data,
                            In<double, 1> degree, Labels labels, Soft soft, In<double, 1> inverse_volume,
                            In<double, 1> ratio, double sigma, Out<float, 3> excess, int n_threads) {
    const Graph<T> graph = as_graph<T>(indptr, indices, data);
    const int64_t K = inverse_volume.shape(0);
    require_threads(n_threads);
    require_assignments(graph.n_nodes, K, labels, soft);
    require(plan.n_points() == graph.n_nodes && plan.n_rows() <= graph.n_nodes, "plan", "must visit every node");
    require_shape("degree", degree, {graph.n_nodes});
    require_shape("inverse_volume", inverse_volume, {K});
    require_shape("ratio", ratio, {K});
    require_shape("excess", excess, {plan.n_tiles(), K, kTile});
    require_apart("excess", excess, "indptr", indptr);
    require_apart("excess", excess, "indices", indices);
    if (labels) require_apart("excess", excess, "labels", *labels);
    Scratch<double> scratch(plan.threads(n_threads), K);
    Parts parts(plan, 1);
    run(plan, n_threads, [&](int64_t c, int worker) {
        link_costs(graph, plan.tiles(), plan.order(), degree.data(), pointer(labels), pointer(soft),
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
    require_threads(n_threads);
    require_clusters(K);
    require_assignments(graph.n_nodes, K, labels, soft);
    require_shape("degree", degree, {graph.n_nodes});
    const int64_t n_chunks = (graph.n_nodes + kNodesPerChunk - 1) / kNodesPerChunk;
    Parts parts(n_chunks, 3 * K);
    Scratch<double> scratch(static_cast<int>(std::min<int64_t>(n_threads, n_chunks)), K);
    run(n_chunks, n_threads, [&](int64_t c, int worker) {
        associations(graph, degree.data(), pointer(labels), pointer(soft), K, c * kNodesPerChunk,
                     std::min(graph.n_nodes, (c + 1) * kNodesPerChunk), scratch.of(worker), parts.of(c));
    });
    return parts.sum(3, K);
}

template <class T>
static nb::tuple move_nodes_py(In<int64_t, 1> indptr, In<int32_t, 1> indices, In<T, 1> data, In<double, 1> degree,
                               Labels codes, std::optional<In<double, 2>> node_masses, In<double, 2> membership,
                               In<double, 2> wanted, In<double, 2> logs, In<double, 2> lines, In<double, 2> weight,
                               In<int64_t, 1> first, In<uint8_t, 1> counted, In<int32_t, 1> order, int64_t max_passes, double least, Out<int32_t, 1> labels) {
    const Graph<T> graph = as_graph<T>(indptr, indices, data);
    const int64_t n = graph.n_nodes, C = membership.shape(0), J = membership.shape(1), K = weight.shape(0),
                  A = weight.shape(1);
    require_aligned("membership", membership);
    require_aligned("weight", weight);
    require(codes.has_value() != node_masses.has_value(), "codes", "or node_masses are needed, and not both");
    require_shape("degree", degree, {n});
    require_shape("order", order, {n});
    require_indices("order", order.data(), n, n, "nodes");
    require_clusters(K);
    require_labels("labels", labels, n, K);
    if (codes) {
        require_shape("codes", *codes, {n});
        require_indices("codes", codes->data(), n, C, "rows of membership");
        require_apart("labels", labels, "codes", *codes);
    }
    if (node_masses) require_shape("node_masses", *node_masses, {n, J});
    require_shape("wanted", wanted, {K, J});
    require_shape("logs", logs, {K, J});
    require_shape("lines", lines, {K, J});
    require_shape("first", first, {A + 1});
    require(first.data()[0] == 0 && first.data()[A] == J && is_rising(first.data(), A + 1), "first",
            "must rise from 0 to the number of columns");
    require_shape("counted", counted, {A});
    for (int64_t a = 0; a < A; ++a)
        require(counted.data()[a] <= (first.data()[a + 1] > first.data()[a]), "counted",
                "must be 0, or 1 where a part has columns");
    require_apart("labels", labels, "indptr", indptr);
    require_apart("labels", labels, "indices", indices);
    require_apart("labels", labels, "order", order);
    require_apart("labels", labels, "first", first);
    require_apart("labels", labels, "counted", counted);
    const Fairness fair{K,           J,             A,           wanted.data(), logs.data(),
                        lines.data(), weight.data(), first.data(), counted.data()};
    int64_t n_moved = 0, n_passes = 0;
    {
        nb::gil_scoped_release nogil;
        Mover<T> mover(graph, degree.data(), pointer(codes), pointer(node_masses), membership.data(), C, fair,
                       labels.data());
        n_passes = mover.run(order.data(), max_passes, least);
        n_moved = mover.n_moved;
    }
    return nb::make_tuple(n_passes, n_moved);
}

template <class T>
static int64_t match_nodes_py(In<int64_t, 1> indptr, In<int32_t, 1> indices, In<T, 1> data, In<double, 1> degree,
                              Labels labels, In<int32_t, 1> order, double heaviest, Out<int32_t, 1> parent) {
    const Graph<T> graph = as_graph<T>(indptr, indices, data);
    const int64_t n = graph.n_nodes;
    require_shape("degree", degree, {n});
    require_shape("order", order, {n});
    require(is_permutation(order.data(), n), "order", "must name every node once");
    require_shape("parent", parent, {n});
    if (labels) require_shape("labels", *labels, {n});
    nb::gil_scoped_release nogil;
    return match_nodes(graph, degree.data(), pointer(labels), order.data(), heaviest, parent.data());
}

template <class T>
static nb::tuple contract_py(In<int64_t, 1> indptr, In<int32_t, 1> indices, In<T, 1> data, In<int32_t, 1> parent,
                             int64_t n_parents) {
    const Graph<T> graph = as_graph<T>(indptr, indices, data);
    require_shape("parent", parent, {graph.n_nodes});
    require(n_parents >= 0 && n_parents <= graph.n_nodes, "n_parents", "must be at most the number of nodes");
    require_indices("parent", parent.data(), parent.size(), n_parents, "parents");
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

template <class T> static void define(nb::module_& m) {
    m.def("link_costs", &link_costs_py<T>, "plan"_a, "indptr"_a.noconvert(), "indices"_a.noconvert(),
          "data"_a.noconvert(), "degree"_a.noconvert(), "labels"_a.none().noconvert(), "soft"_a.none().noconvert(),
          "inverse_volume"_a.noconvert(), "ratio"_a.noconvert(), "sigma"_a, "excess"_a.noconvert(), "n_threads"_a);
    m.def("associations", &associations_py<T>, "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(),
          "degree"_a.noconvert(), "labels"_a.none().noconvert(), "soft"_a.none().noconvert(), "n_clusters"_a,
          "n_threads"_a);
    m.def("move_nodes", &move_nodes_py<T>, "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(),
          "degree"_a.noconvert(), "codes"_a.none().noconvert(), "node_masses"_a.none().noconvert(),
          "membership"_a.noconvert(), "wanted"_a.noconvert(), "logs"_a.noconvert(), "lines"_a.noconvert(),
          "weight"_a.noconvert(), "first"_a.noconvert(), "counted"_a.noconvert(), "order"_a.noconvert(), "max_passes"_a, "least"_a, "labels"_a.noconvert());
    m.def("match_nodes", &match_nodes_py<T>, "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(),
          "degree"_a.noconvert(), "labels"_a.none().noconvert(), "order"_a.noconvert(), "heaviest"_a,
          "parent"_a.noconvert());
    m.def("contract", &contract_py<T>, "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(),
          "parent"_a.noconvert(), "n_parents"_a);
}

void define_graph(nb::module_& m) {
    define<float>(m);
    define<double>(m);
}

}  // namespace fairclust
