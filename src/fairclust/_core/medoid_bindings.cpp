// Python's door to medoids and medians.

#include "bindings.hpp"

namespace fairclust {

template <class T> static const MedoidLoops<T>& medoid_loops();
template <> const MedoidLoops<float>& medoid_loops<float>() { return medoid_kernels().f32; }
template <> const MedoidLoops<double>& medoid_loops<double>() { return medoid_kernels().f64; }

template <class T>
static MedoidArgs<T> medoid_args(const Plan& plan, const In<T, 2>& X, const In<int32_t, 1>& labels, const Weights& weights,
                                 int64_t n_clusters, int n_threads) {
    require_threads(n_threads);
    require_clusters(n_clusters);
    plan.require_rows(X);
    require(X.shape(1) >= 1, "X", "needs at least one feature");
    require_labels("labels", labels, plan.n_points(), n_clusters);
    plan.require_weights(weights);
    MedoidArgs<T> args{};
    args.X = X.data();
    args.order = plan.order();
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
                         int64_t n_clusters, bool exact, double free, double per_point, int n_threads) {
    require_metric(metric, kEuclidean);
    MedoidArgs<T> args = medoid_args(plan, X, labels, weights, n_clusters, n_threads);
    args.metric = metric;
    args.exact = exact;
    args.free = free;
    args.per_point = per_point;
    const size_t K = n_clusters;
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
    require_shape("centers", centers, {args.n_clusters, args.n_features});
    require_apart("centers", centers, "labels", labels);
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
    const MedoidArgs<T> args = medoid_args(plan, X, labels, weights, centers.shape(0), n_threads);
    const int64_t K = args.n_clusters, width = args.n_features + 3;
    require_shape("centers", centers, {K, args.n_features});
    require_shape("near", near, {K});
    Parts parts(plan, K * width);
    run(plan, n_threads, [&](int64_t c, int) {
        add_median_sums(args, centers.data(), near.data(), plan.first_point(c), plan.last_point(c), parts.of(c));
    });
    return parts.sum(K, width);
}

template <class T> static void define(nb::module_& m) {
    m.def("medoids", &medoids<T>, "plan"_a, "metric"_a, "X"_a.noconvert(), "labels"_a.noconvert(),
          "weights"_a.none().noconvert(), "n_clusters"_a, "exact"_a, "free"_a, "per_point"_a,
          "n_threads"_a);
    m.def("coordinate_medians", &coordinate_medians<T>, "plan"_a, "X"_a.noconvert(), "labels"_a.noconvert(),
          "weights"_a.none().noconvert(), "centers"_a.noconvert(), "n_threads"_a);
    m.def("median_sums", &median_sums<T>, "plan"_a, "X"_a.noconvert(), "centers"_a.noconvert(), "near"_a.noconvert(),
          "labels"_a.noconvert(), "weights"_a.none().noconvert(), "n_threads"_a);
}

void define_medoids(nb::module_& m) {
    define<float>(m);
    define<double>(m);
}

}  // namespace fairclust
