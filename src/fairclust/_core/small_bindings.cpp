// Between two sweeps: small tables of clusters by cells, whose algebra costs less than the calls it would take in NumPy.
#include <cfloat>
#include <cmath>

#include "bindings.hpp"

namespace fairclust {

// Σ s_k s_l over the sampled points (above the diagonal) and Σ s_k² over all (on it) → −∂masses/∂scaled_price of all points.
static Table laplacian(In<double, 3> pairs, In<double, 2> masses, In<double, 1> sampled, double faint) {
    const int64_t C = masses.shape(0), K = masses.shape(1);
    require_shape("pairs", pairs, {C, K, K});
    require_shape("sampled", sampled, {C});
    require_aligned("masses", masses);
    auto table = new_table({size_t(C), size_t(K), size_t(K)});
    std::vector<double> crumb(K);
    for (int64_t c = 0; c < C; ++c) {
        const double* p = pairs.data() + c * K * K;
        const double* m = masses.data() + c * K;
        double* out = table.data() + c * K * K;
        double weight = 0;
        for (int64_t k = 0; k < K; ++k) weight += m[k];
        const double grow = sampled.data()[c] > 0 ? weight / sampled.data()[c] : 0.0;
        for (int64_t k = 0; k < K; ++k)
            for (int64_t l = k + 1; l < K; ++l) out[k * K + l] = out[l * K + k] = grow * p[k * K + l];
        // Points that give next to nothing to a cluster are left out of the pairs: the others hold the points behind.
        for (int64_t k = 0; k < K; ++k) {
            double known = 0;
            for (int64_t l = 0; l < K; ++l) known += out[k * K + l];
            const double undecided = std::max(m[k] - p[k * K + k], 0.0);
            const double missing = m[k] < faint * weight ? std::max(undecided - known, 0.0) : 0.0;
            crumb[k] = missing / std::max(weight - m[k], DBL_MIN);
        }
        for (int64_t k = 0; k < K; ++k)
            for (int64_t l = k + 1; l < K; ++l) {
                const double pair = out[k * K + l] + crumb[k] * m[l] + crumb[l] * m[k];
                out[k * K + l] = out[l * K + k] = -pair;
                out[k * K + k] += pair;
                out[l * K + l] += pair;
            }
    }
    return table;
}

// Σ_c through_kct · L_ckl · through_lcu, as a matrix over (k, t) and (l, u): how slopes answer to unknowns.
static Table response(In<double, 3> laplacians, In<double, 3> through) {
    const int64_t K = through.shape(0), C = through.shape(1), U = through.shape(2);
    require_shape("laplacians", laplacians, {C, K, K});
    require_aligned("through", through);
    const int64_t n = K * U;
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
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < i; ++j) table.data()[i * n + j] = table.data()[j * n + i];
    return table;
}

// --- The mixes with KL(centre ‖ q) ≤ limit: q_j = κ·centre_j/(μ − θ_j). See fairclust/_goals/error.py. ------------------

constexpr int kMostRootSteps = 60;  // of a root search that halves its bracket where Newton's step leaves it
constexpr double kFar = 300.0;   // logarithms of heights that are looked at: squares of their inverses are still numbers

// The height of μ above the dearest group at which the error is ``limit``: Newton on logarithms, in a bracket.
static double rim_height(const double* t, const double* center, int64_t J, double limit) {
    double mean = 0, variance = 0;
    for (int64_t j = 0; j < J; ++j) mean += center[j] * t[j];
    for (int64_t j = 0; j < J; ++j) variance += center[j] * (t[j] - mean) * (t[j] - mean);
    // Far away the error is variance / (2 height²), from the mean.
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
static double inner_height(const double* t, const double* center, int64_t J, double delta) {
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

static nb::tuple error_mixes(In<double, 2> theta, In<double, 2> center, double limit, double softness, double flat) {
    const int64_t K = theta.shape(0), J = theta.shape(1);
    require_aligned("theta", theta);
    require_shape("center", center, {K, J});
    require(limit > 0, "limit", "must be positive");
    require(softness >= 0, "softness", "must not be negative");
    require(J >= 1, "theta", "needs at least one group");
    auto shares = new_table({size_t(K), size_t(J)}), worth = new_table({size_t(K)});
    auto turn = new_table({size_t(K), size_t(J), size_t(J)});
    const double least = std::pow(DBL_MIN, 0.25);
    std::vector<double> spread(K), t(J), a(J), b(J), dmu(J);
    double widest = 0;
    for (int64_t k = 0; k < K; ++k) {
        const double* row = theta.data() + k * J;
        spread[k] = *std::max_element(row, row + J) - *std::min_element(row, row + J);
        widest = std::max(widest, spread[k]);
    }
    for (int64_t k = 0; k < K; ++k) {
        const double* row = theta.data() + k * J;
        const double* u = center.data() + k * J;
        double* q = shares.data() + k * J;
        const double top = *std::max_element(row, row + J);
        const bool is_flat = spread[k] <= std::max(flat * std::max(widest, softness), least);
        const double unit = is_flat ? std::max({widest, softness, least}) : spread[k];
        for (int64_t j = 0; j < J; ++j) t[j] = is_flat ? 0.0 : (row[j] - top) / unit;
        const double rim = is_flat ? 0.0 : rim_height(t.data(), u, J, limit);
        const double inner = is_flat && softness == 0 ? 1.0 : inner_height(t.data(), u, J, softness / unit);
        const double height = std::max(rim, inner);
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
        worth.data()[k] = value - softness * std::min(error, limit);
        double A = 0, B = 0;
        for (int64_t j = 0; j < J; ++j) {
            a[j] = q[j] * q[j] / std::max(kappa * u[j], DBL_MIN);
            b[j] = q[j] / kappa;
            A += a[j];
            B += b[j];
        }
        double* out = turn.data() + k * J * J;
        if (!is_flat && height <= rim) {  // along the rim: Σ q = 1 and Σ U log q stay; see _turn_on_rim
            const double scale = std::abs(A - B) > 1e-14 * std::max(A, B) ? A - B : HUGE_VAL;
            for (int64_t j = 0; j < J; ++j) dmu[j] = (a[j] - b[j]) / scale;
            for (int64_t i = 0; i < J; ++i)
                for (int64_t j = 0; j < J; ++j) {
                    const double one = q[i] * (A * dmu[j] - a[j]) - a[i] * dmu[j];
                    const double other = q[j] * (A * dmu[i] - a[i]) - a[j] * dmu[i];
                    out[i * J + j] = ((one + other) / 2 + (i == j ? a[i] : 0.0)) / unit;
                }
        } else {
            for (int64_t i = 0; i < J; ++i)
                for (int64_t j = 0; j < J; ++j)
                    out[i * J + j] = ((i == j ? a[i] : 0.0) - a[i] * a[j] / std::max(A, DBL_MIN)) / unit;
        }
    }
    return nb::make_tuple(shares, worth, turn);
}

void define_small(nb::module_& m) {
    m.def("laplacian", &laplacian, "pairs"_a.noconvert(), "masses"_a.noconvert(), "sampled"_a.noconvert(), "faint"_a);
    m.def("response", &response, "laplacians"_a.noconvert(), "through"_a.noconvert());
    m.def("error_mixes", &error_mixes, "theta"_a.noconvert(), "center"_a.noconvert(), "limit"_a, "softness"_a,
          "flat"_a);
}

}  // namespace fairclust
