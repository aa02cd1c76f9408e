// Between two sweeps: small tables of clusters by cells, whose algebra takes less time than its calls in NumPy would.
#include <cfloat>
#include <cmath>

#include "bindings.hpp"

namespace fairclust {

// Copies what is above the diagonal to below it, a block at a time: a column of a large table is a line of memory per value.
static void mirror(double* table, int64_t n) {
    constexpr int64_t kBlock = 16;  // rows and columns at a time: both blocks stay in a first cache
    for (int64_t first = 0; first < n; first += kBlock)
        for (int64_t from = 0; from <= first; from += kBlock)
            for (int64_t l = first; l < std::min(first + kBlock, n); ++l)
                for (int64_t k = from; k < std::min(from + kBlock, l); ++k) table[l * n + k] = table[k * n + l];
}

// Adds what is above the diagonal, of a row to its own sum and to those of its columns.
static void add_symmetric(const double* row, int64_t k, int64_t n, double* sums) {
    for (int64_t l = k + 1; l < n; ++l) sums[l] += row[l];
    double own[4] = {sums[k], 0, 0, 0};  // sums that do not wait for each other
    int64_t l = k + 1;
    for (; l + 4 <= n; l += 4)
        for (int lane = 0; lane < 4; ++lane) own[lane] += row[l + lane];
    for (; l < n; ++l) own[0] += row[l];
    sums[k] = (own[0] + own[1]) + (own[2] + own[3]);
}

// Σ s_k s_l over the sampled points (above the diagonal) and Σ s_k² over all (on it) → −∂masses/∂scaled_price of all points.
static Table laplacian(In<double, 3> pairs, In<double, 2> masses, In<double, 1> sampled, double faint) {
    const int64_t C = masses.shape(0), K = masses.shape(1);
    require_shape("pairs", pairs, {C, K, K});
    require_shape("sampled", sampled, {C});
    require_aligned("masses", masses);
    auto table = new_table({size_t(C), size_t(K), size_t(K)});
    std::vector<double> crumb(K), known(K), answers(K);
    for (int64_t c = 0; c < C; ++c) {
        const double* p = pairs.data() + c * K * K;
        const double* m = masses.data() + c * K;
        double* out = table.data() + c * K * K;
        double weight = 0;
        for (int64_t k = 0; k < K; ++k) weight += m[k];
        const double grow = sampled.data()[c] > 0 ? weight / sampled.data()[c] : 0.0;
        std::fill(known.begin(), known.end(), 0.0);
        std::fill(answers.begin(), answers.end(), 0.0);
        for (int64_t k = 0; k < K; ++k) {
            for (int64_t l = k + 1; l < K; ++l) out[k * K + l] = grow * p[k * K + l];
            add_symmetric(out + k * K, k, K, known.data());
        }
        // Points that give next to nothing to a cluster are left out of the pairs: the others hold the points behind.
        for (int64_t k = 0; k < K; ++k) {
            const double undecided = std::max(m[k] - p[k * K + k], 0.0);
            const double missing = m[k] < faint * weight ? std::max(undecided - known[k], 0.0) : 0.0;
            crumb[k] = missing / std::max(weight - m[k], DBL_MIN);
        }
        for (int64_t k = 0; k < K; ++k) {
            double* row = out + k * K;
            for (int64_t l = k + 1; l < K; ++l) row[l] = -(row[l] + crumb[k] * m[l] + crumb[l] * m[k]);
            add_symmetric(row, k, K, answers.data());
            row[k] = 0.0 - answers[k];
        }
        mirror(out, K);
    }
    return table;
}

// Σ_c through_kct · L_ckl · through_lcu, as a matrix over (k, t) and (l, u): how slopes answer to unknowns.
static Table response(In<double, 3> laplacians, In<double, 3> through) {
    const int64_t K = through.shape(0), C = through.shape(1), U = through.shape(2), n = K * U;
    require_shape("laplacians", laplacians, {C, K, K});
    require_aligned("through", through);
    auto table = new_table({size_t(n), size_t(n)});
    for (int64_t k = 0; k < K; ++k)
        for (int64_t l = k; l < K; ++l)
            for (int64_t c = 0; c < C; ++c) {
                const double pair = laplacians.data()[(c * K + k) * K + l];
                if (pair == 0) continue;
                const double* a = through.data() + (k * C + c) * U;
                const double* b = through.data() + (l * C + c) * U;
                for (int64_t t = 0; t < U; ++t) {
                    const double factor = pair * a[t];
                    if (factor == 0) continue;
                    double* out = table.data() + (k * U + t) * n + l * U;
                    for (int64_t u = 0; u < U; ++u) out[u] += factor * b[u];
                }
            }
    mirror(table.data(), n);
    return table;
}

// --- max ⟨θ, q⟩ − softness·KL(centre ‖ q) where KL ≤ limit: q_j = κ·centre_j/(height − t_j), t = θ less its maximum. -------

constexpr int kMostRootSteps = 60;  // of a root search that halves its bracket where Newton's step leaves it
constexpr double kFar = 300.0;   // logarithms of heights that are looked at: squares of their inverses are still numbers

// The height at which KL is the limit: Newton on logarithms, in a bracket.
static double height_at_limit(const double* t, const double* center, int64_t J, double limit) {
    double mean = 0, variance = 0;
    for (int64_t j = 0; j < J; ++j) mean += center[j] * t[j];
    for (int64_t j = 0; j < J; ++j) variance += center[j] * (t[j] - mean) * (t[j] - mean);
    // Far away KL is variance / (2 height²), from the mean.
    double x = std::log(std::max(std::sqrt(variance / (2 * limit)) + mean, 1e-3 * std::sqrt(variance) + 1e-290));
    double low = -kFar, high = kFar;
    for (int i = 0; i < kMostRootSteps; ++i) {
        const double height = std::exp(x);
        double total = 0, squares = 0, logs = 0;
        for (int64_t j = 0; j < J; ++j) {
            const double w = height - t[j], inverse = center[j] / w;
            total += inverse;
            squares += inverse / w;
            logs += center[j] * std::log(w);
        }
        const double error = std::max(logs + std::log(total), 1e-300);
        const double gap = std::log(error / limit), slope = height * (total - squares / total) / error;
        if (gap > 0) low = x; else high = x;
        if (std::abs(gap) < 1e-11) break;
        double after = x - gap / slope;
        if (!(after > low && after < high)) after = (low + high) / 2;
        if (std::abs(after - x) < 1e-14 * std::max(std::abs(x), 1.0)) break;
        x = after;
    }
    return std::exp(x);
}

// The height at which κ = δ: κ is concave and grows with it, so that Newton's steps from below stay below.
static double height_at_kappa(const double* t, const double* center, int64_t J, double delta) {
    if (delta <= 0) return 0.0;
    int64_t top = 0;
    for (int64_t j = 1; j < J; ++j)
        if (t[j] > t[top]) top = j;
    double height = std::max(center[top] * delta, 1e-290);
    for (int i = 0; i < kMostRootSteps; ++i) {
        double total = 0, squares = 0;
        for (int64_t j = 0; j < J; ++j) {
            const double w = height - t[j], inverse = center[j] / w;
            total += inverse;
            squares += inverse / w;
        }
        const double kappa = 1.0 / total, rest = delta - kappa;
        if (rest <= 1e-13 * delta) break;
        height += rest / (kappa * kappa * squares);
    }
    return height;
}

constexpr double kFlat = 1e-9;  // of the widest row, or of the softness: rows of prices no wider are rows of equal prices

static nb::tuple kl_support(In<double, 2> theta, In<double, 2> center, double limit, In<double, 1> softnesses) {
    const int64_t K = theta.shape(0), J = theta.shape(1), n_centers = center.shape(0);
    require_aligned("theta", theta);
    require_aligned("center", center);
    require(J >= 1, "theta", "need at least one group");
    require(int64_t(center.shape(1)) == J && (n_centers == 1 || n_centers == K), "center",
            "must have a column per group, and one row or one per cluster");
    require(limit > 0, "limit", "must be positive");
    require_shape("softness", softnesses, {K});
    for (int64_t k = 0; k < K; ++k) require(softnesses.data()[k] >= 0, "softness", "must not be negative");
    auto shares = new_table({size_t(K), size_t(J)}), value_of = new_table({size_t(K)});
    auto jacobian = new_table({size_t(K), size_t(J), size_t(J)});
    const double least = std::pow(DBL_MIN, 0.25);
    std::vector<double> spread(K), t(J), a(J), across(J);
    double widest = 0;
    for (int64_t k = 0; k < K; ++k) {
        const double* row = theta.data() + k * J;
        spread[k] = *std::max_element(row, row + J) - *std::min_element(row, row + J);
        widest = std::max(widest, spread[k]);
    }
    for (int64_t k = 0; k < K; ++k) {
        const double* row = theta.data() + k * J;
        const double* u = center.data() + (n_centers == 1 ? 0 : k) * J;
        double* q = shares.data() + k * J;
        const double top = *std::max_element(row, row + J), softness = softnesses.data()[k];
        const bool is_flat = spread[k] <= std::max(kFlat * std::max(widest, softness), least);
        const double unit = is_flat ? std::max({widest, softness, least}) : spread[k];
        for (int64_t j = 0; j < J; ++j) t[j] = is_flat ? 0.0 : (row[j] - top) / unit;
        const double at_limit = is_flat ? 0.0 : height_at_limit(t.data(), u, J, limit);
        const double inner = is_flat && softness == 0 ? 1.0 : height_at_kappa(t.data(), u, J, softness / unit);
        const double height = std::max(at_limit, inner);
        double total = 0, logs = 0, value = 0;
        for (int64_t j = 0; j < J; ++j) {
            q[j] = u[j] / (height - t[j]);
            total += q[j];
            logs += u[j] * std::log(height - t[j]);
        }
        const double kappa = 1.0 / total, error = std::max(logs + std::log(total), 0.0);
        for (int64_t j = 0; j < J; ++j) {
            q[j] *= kappa;
            value += row[j] * q[j];
        }
        value_of.data()[k] = value - softness * std::min(error, limit);
        // diag(a) less its projections on the gradients of what holds: of Σ q = 1; on the boundary, of KL (u/q) too.
        double A = 0, B = 0;
        for (int64_t j = 0; j < J; ++j) {
            a[j] = q[j] * q[j] / std::max(kappa * u[j], DBL_MIN);
            A += a[j];
            B += q[j] / kappa;
        }
        for (int64_t j = 0; j < J; ++j) across[j] = q[j] / kappa - a[j] * B / A;
        const bool is_bent = !is_flat && height <= at_limit && A - B > 1e-14 * A;
        const double bend = is_bent ? B * (A - B) / A : HUGE_VAL;
        double* out = jacobian.data() + k * J * J;
        for (int64_t i = 0; i < J; ++i)
            for (int64_t j = 0; j < J; ++j)
                out[i * J + j] = ((i == j ? a[i] : 0.0) - a[i] * a[j] / A - across[i] * across[j] / bend) / unit;
    }
    return nb::make_tuple(shares, value_of, jacobian);
}

void define_small(nb::module_& m) {
    m.def("laplacian", &laplacian, "pairs"_a.noconvert(), "masses"_a.noconvert(), "sampled"_a.noconvert(), "faint"_a);
    m.def("response", &response, "laplacians"_a.noconvert(), "through"_a.noconvert());
    m.def("kl_support", &kl_support, "theta"_a.noconvert(), "center"_a.noconvert(), "limit"_a,
          "softness"_a.noconvert());
}

}  // namespace fairclust
