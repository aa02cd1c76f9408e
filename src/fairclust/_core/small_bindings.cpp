// Between two sweeps: small tables of clusters by cells, whose algebra costs less than the calls it would take in NumPy.
#include <cfloat>
#include <cmath>
#include <numeric>
#include <optional>

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
static Table respond(const double* laplacians, const double* through, int64_t K, int64_t C, int64_t U) {
    const int64_t n = K * U;
    auto table = new_table({size_t(n), size_t(n)});
    for (int64_t k = 0; k < K; ++k)
        for (int64_t l = k; l < K; ++l)
            for (int64_t c = 0; c < C; ++c) {
                const double pair = laplacians[(c * K + k) * K + l];
                if (pair == 0) continue;
                const double* a = through + (k * C + c) * U;
                const double* b = through + (l * C + c) * U;
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

static Table response(In<double, 3> laplacians, In<double, 3> through) {
    const int64_t K = through.shape(0), C = through.shape(1), U = through.shape(2);
    require_shape("laplacians", laplacians, {C, K, K});
    require_aligned("through", through);
    return respond(laplacians.data(), through.data(), K, C, U);
}

// --- A fairness term's value and bend, and Newton's system at a weight. See fairclust/_fairness/kl.py. ------------------

constexpr double kRounding = 1e-12;  // of a diagonal element: what is left of it by cancellation is none

// A target of one row is that of every cluster.
static int64_t rows_of_target(const In<double, 2>& target, int64_t K, int64_t J, const char* argument = "target",
                              const char* other = "masses") {
    const int64_t rows = target.shape(0);
    require_aligned(argument, target);
    require(J >= 1, other, "need at least one group");
    require(int64_t(target.shape(1)) == J && (rows == 1 || rows == K), argument,
            "must have a column per group, and one row or one per cluster");
    return rows;
}

// OUT row (J,).
static void copy_row(const AnyOrder& table, int64_t k, std::vector<double>& row) {
    const double* first = table.data() + k * table.stride(0);
    for (size_t j = 0; j < row.size(); ++j) row[j] = first[int64_t(j) * table.stride(1)];
}

// KL(target ‖ masses/size); shares below `smallest` count as that.
static double kl_of(const std::vector<double>& masses, double size, const double* target, double smallest) {
    double sum = 0;
    for (size_t j = 0; j < masses.size(); ++j)
        if (target[j] > 0)
            sum += target[j] * std::log(target[j] / std::max(size > 0 ? masses[j] / size : 0.0, smallest));
    return std::max(sum, 0.0);
}

// That of each row. No sizes: the masses add up to them.
static Table kl_value(AnyOrder masses, std::optional<In<double, 1>> sizes, In<double, 2> target, double smallest) {
    const int64_t K = masses.shape(0), J = masses.shape(1), rows = rows_of_target(target, K, J);
    require_aligned("masses", masses);
    if (sizes) require_shape("sizes", *sizes, {K});
    auto value = new_table({size_t(K)});
    std::vector<double> m(J);
    for (int64_t k = 0; k < K; ++k) {
        copy_row(masses, k, m);
        const double size = sizes ? sizes->data()[k] : std::accumulate(m.begin(), m.end(), 0.0);
        value.data()[k] = kl_of(m, size, target.data() + (rows == 1 ? 0 : k) * J, smallest);
    }
    return value;
}

// People by which each row is beyond an error: size · (KL − limit), where that is positive. IN sizes (K, 1).
static Table kl_beyond(AnyOrder masses, AnyOrder sizes, In<double, 2> target, double limit, double smallest) {
    const int64_t K = masses.shape(0), J = masses.shape(1), rows = rows_of_target(target, K, J);
    require_aligned("masses", masses);
    require_shape("sizes", sizes, {K, 1});
    auto beyond = new_table({size_t(K)});
    std::vector<double> m(J);
    for (int64_t k = 0; k < K; ++k) {
        copy_row(masses, k, m);
        const double size = sizes.data()[k * sizes.stride(0)];
        const double error = kl_of(m, size, target.data() + (rows == 1 ? 0 : k) * J, smallest);
        beyond.data()[k] = std::max(size * (error - limit), 0.0);
    }
    return beyond;
}

// Value, slope and second derivative without its negative part: n² times that is diag(d) − 11ᵀ with d = target/shares²,
// whose one negative eigenvalue −s solves Σ 1/(d + s) = 1, with the eigenvector 1/(d + s). Newton's steps from below stay
// below.
static nb::tuple kl_expansion(AnyOrder masses, In<double, 2> target, double smallest) {
    const int64_t K = masses.shape(0), J = masses.shape(1), rows = rows_of_target(target, K, J);
    require_aligned("masses", masses);
    auto value = new_table({size_t(K)}), slope = new_table({size_t(K), size_t(J)});
    auto bend = new_table({size_t(K), size_t(J), size_t(J)});
    std::vector<double> m(J), d(J), v(J);
    for (int64_t k = 0; k < K; ++k) {
        copy_row(masses, k, m);
        const double* u = target.data() + (rows == 1 ? 0 : k) * J;
        double size = 0, s = 0, error = 0;
        for (int64_t j = 0; j < J; ++j) size += m[j];
        size = std::max(size, std::pow(DBL_MIN, 0.25));
        for (int64_t j = 0; j < J; ++j) {
            const double share = std::max(m[j] / size, smallest);
            if (u[j] > 0) error += u[j] * std::log(u[j] / share);
            slope.data()[k * J + j] = 1 / size - u[j] / (share * size);
            d[j] = u[j] / (share * share);
            if (d[j] == 0) s += 1;
        }
        value.data()[k] = std::max(error, 0.0);
        double norm = 0;
        for (int i = 0; i < 60; ++i) {  // quadratic: a handful of steps
            double sum = 0;
            norm = 0;
            for (int64_t j = 0; j < J; ++j) {
                v[j] = 1 / (d[j] + s);
                sum += v[j];
                norm += v[j] * v[j];
            }
            const double step = (sum - 1) / norm;
            if (!(step > 1e-15 * (1 + s))) break;
            s += step;
        }
        double* out = bend.data() + k * J * J;
        for (int64_t i = 0; i < J; ++i)
            for (int64_t j = 0; j < J; ++j)
                out[i * J + j] = ((i == j ? d[i] : 0.0) - 1 + s * v[i] * v[j] / norm) / (size * size);
    }
    return nb::make_tuple(value, slope, bend);
}

// Tables (K, J, U) by column → (K, C, U) by cell: the membership times each cluster's.
static std::vector<double> through_cells(const In<double, 2>& membership, const double* by_column, int64_t K, int64_t U) {
    const int64_t C = membership.shape(0), J = membership.shape(1);
    std::vector<double> through(table_size({size_t(K), size_t(C), size_t(U)}));
    for (int64_t k = 0; k < K; ++k)
        for (int64_t c = 0; c < C; ++c)
            for (int64_t j = 0; j < J; ++j)
                if (const double in = membership.data()[c * J + j]; in != 0)
                    for (int64_t u = 0; u < U; ++u) through[(k * C + c) * U + u] += in * by_column[(k * J + j) * U + u];
    return through;
}

// Newton's system for prices by column: (I + B·A) x = want with B = bend (a block per cluster, of rank r at most) and A
// how column masses answer to column prices. With B = R·Rᵀ, x = want − R·y where (I + Rᵀ·A·R) y = Rᵀ·A·want: symmetric,
// positive, and smaller. OUT that system, its right-hand side and R.
struct NewtonSystem {
    Table system, right, roots;
};

static NewtonSystem newton_system_of(const In<double, 3>& curvature, double scale, const In<double, 2>& membership,
                                     const double* bend, const double* want) {
    const int64_t C = membership.shape(0), J = membership.shape(1), K = curvature.shape(1);
    // Cholesky with the largest rest first, each in units of its own diagonal element.
    std::vector<double> all(K * J * J), rest(J * J);
    std::vector<char> is_done(J);
    int64_t rank = 0;
    for (int64_t k = 0; k < K; ++k) {
        const double* b = bend + k * J * J;
        double* root = all.data() + k * J * J;
        std::copy(b, b + J * J, rest.begin());
        std::fill(is_done.begin(), is_done.end(), 0);
        for (int64_t t = 0; t < J; ++t) {
            int64_t at = -1;
            double most = kRounding;
            for (int64_t j = 0; j < J; ++j) {
                const double left = b[j * J + j] > 0 ? rest[j * J + j] / b[j * J + j] : 0.0;
                if (!is_done[j] && left > most) at = j, most = left;
            }
            if (at < 0) break;
            is_done[at] = 1;
            rank = std::max(rank, t + 1);
            const double pivot = std::sqrt(rest[at * J + at]);
            for (int64_t j = 0; j < J; ++j) root[j * J + t] = is_done[j] && j != at ? 0.0 : rest[j * J + at] / pivot;
            for (int64_t i = 0; i < J; ++i)
                for (int64_t j = 0; j < J; ++j) rest[i * J + j] -= root[i * J + t] * root[j * J + t];
        }
    }
    auto roots = new_table({size_t(K), size_t(J), size_t(rank)});
    for (int64_t row = 0; row < K * J; ++row)
        std::copy_n(all.data() + row * J, rank, roots.data() + row * rank);
    const std::vector<double> through = through_cells(membership, roots.data(), K, rank);
    auto right = new_table({size_t(K * rank)});
    std::vector<double> asked(K);
    for (int64_t c = 0; c < C; ++c) {
        for (int64_t l = 0; l < K; ++l) {
            asked[l] = 0;
            for (int64_t j = 0; j < J; ++j) asked[l] += membership.data()[c * J + j] * want[l * J + j];
        }
        for (int64_t k = 0; k < K; ++k) {
            double answer = 0;
            for (int64_t l = 0; l < K; ++l) answer += curvature.data()[(c * K + k) * K + l] * asked[l];
            for (int64_t t = 0; t < rank; ++t)
                right.data()[k * rank + t] += scale * answer * through[(k * C + c) * rank + t];
        }
    }
    auto system = respond(curvature.data(), through.data(), K, C, rank);
    const int64_t n = K * rank;
    for (int64_t i = 0; i < n * n; ++i) system.data()[i] *= scale;
    for (int64_t i = 0; i < n; ++i) system.data()[i * n + i] += 1;
    return {system, right, roots};
}

static void require_newton(const In<double, 3>& curvature, const In<double, 2>& membership, const In<double, 3>& bend,
                           const In<double, 2>& want) {
    const int64_t C = membership.shape(0), J = membership.shape(1), K = want.shape(0);
    require_shape("curvature", curvature, {C, K, K});
    require_shape("bend", bend, {K, J, J});
    require_shape("want", want, {K, J});
    require_aligned("membership", membership);
    require(J >= 1, "membership", "needs at least one column");
}

static nb::tuple newton_system(In<double, 3> curvature, double scale, In<double, 2> membership, In<double, 3> bend,
                               In<double, 2> want) {
    require_newton(curvature, membership, bend, want);
    const NewtonSystem found = newton_system_of(curvature, scale, membership, bend.data(), want.data());
    return nb::make_tuple(found.system, found.right, found.roots);
}

// Solves a symmetric positive system by Cholesky. IN/OUT a (n, n), of which the lower triangle is read, and x (n,).
// Returns whether it is positive.
static bool solve_positive(double* a, double* x, int64_t n) {
    const auto product = [](const double* one, const double* other, int64_t count) {
        double sum[4] = {0, 0, 0, 0};
        int64_t i = 0;
        for (; i + 4 <= count; i += 4)
            for (int lane = 0; lane < 4; ++lane) sum[lane] += one[i + lane] * other[i + lane];
        for (; i < count; ++i) sum[0] += one[i] * other[i];
        return (sum[0] + sum[1]) + (sum[2] + sum[3]);
    };
    for (int64_t i = 0; i < n; ++i) {
        double* row = a + i * n;
        for (int64_t j = 0; j < i; ++j) row[j] = (row[j] - product(row, a + j * n, j)) / a[j * n + j];
        const double left = row[i] - product(row, row, i);
        if (!(left > 0)) return false;
        row[i] = std::sqrt(left);
        x[i] = (x[i] - product(row, x, i)) / row[i];
    }
    for (int64_t i = n - 1; i >= 0; --i) {
        x[i] /= a[i * n + i];
        for (int64_t j = 0; j < i; ++j) x[j] -= a[i * n + j] * x[i];
    }
    return true;
}

static bool is_finite(const Table& table) {
    return std::all_of(table.data(), table.data() + table.size(), [](double value) { return std::isfinite(value); });
}

// Newton's step for prices by column; None: a cluster lost a group.
static std::optional<Table> newton_solution(const In<double, 3>& curvature, double scale, const In<double, 2>& membership,
                                            const double* bend, const double* want) {
    const NewtonSystem found = newton_system_of(curvature, scale, membership, bend, want);
    const int64_t K = curvature.shape(1), J = membership.shape(1), rank = found.roots.shape(2);
    if (!solve_positive(found.system.data(), found.right.data(), K * rank)) return std::nullopt;
    auto step = new_table({size_t(K), size_t(J)});
    for (int64_t row = 0; row < K * J; ++row) {
        double sum = want[row];
        for (int64_t t = 0; t < rank; ++t) sum -= found.roots.data()[row * rank + t] * found.right.data()[row / J * rank + t];
        step.data()[row] = sum;
    }
    return is_finite(step) ? std::optional(step) : std::nullopt;
}

static std::optional<Table> newton_step(In<double, 3> curvature, double scale, In<double, 2> membership, In<double, 3> bend,
                                        In<double, 2> want) {
    require_newton(curvature, membership, bend, want);
    return newton_solution(curvature, scale, membership, bend.data(), want.data());
}

// A step, its lengths in temperatures, the longest of them, and what it promises along a slope.
static nb::tuple measured(const Table& step, double scale, const double* slope) {
    auto lengths = new_table({step.shape(0), step.shape(1)});
    double longest = 0, promise = 0;
    for (size_t i = 0; i < step.size(); ++i) {
        lengths.data()[i] = scale * std::abs(step.data()[i]);
        longest = std::max(longest, lengths.data()[i]);
        promise += slope[i] * step.data()[i];
    }
    return nb::make_tuple(step, lengths, longest, promise);
}

// What a sweep says of the relaxed energy at a weight. OUT that energy, its part that is a penalty, what prices by column should
// change by, how the energy falls along them, the weighted bend; Newton's step, measured, if asked for and if there is one.
static nb::tuple weighted_look(In<double, 3> curvature, In<double, 2> masses, In<double, 2> price, double scale,
                               double log_partition, In<double, 2> membership, In<double, 2> inverse,
                               In<double, 1> weights, In<double, 1> value, In<double, 2> slope, In<double, 3> bend,
                               bool solves) {
    const int64_t C = membership.shape(0), J = membership.shape(1), K = weights.shape(0);
    require(J >= 1, "membership", "needs at least one column");
    require_shape("curvature", curvature, {C, K, K});
    require_shape("masses", masses, {C, K});
    require_shape("price", price, {K, C});
    require_shape("inverse", inverse, {C, J});
    require_shape("value", value, {K});
    require_shape("slope", slope, {K, J});
    require_shape("bend", bend, {K, J, J});
    require_aligned("membership", membership);
    require_aligned("weights", weights);
    auto want = new_table({size_t(K), size_t(J)}), fall = new_table({size_t(K), size_t(J)});
    auto weighted = new_table({size_t(K), size_t(J), size_t(J)});
    double paid = 0, penalty = 0;
    for (int64_t k = 0; k < K; ++k) {
        const double weight = weights.data()[k];
        penalty += weight * value.data()[k];
        for (int64_t c = 0; c < C; ++c) paid += price.data()[k * C + c] * masses.data()[c * K + k];
        for (int64_t j = 0; j < J; ++j) {
            double own = 0;
            for (int64_t c = 0; c < C; ++c) own += price.data()[k * C + c] * inverse.data()[c * J + j];
            want.data()[k * J + j] = weight * slope.data()[k * J + j] - own;
        }
        for (int64_t i = 0; i < J * J; ++i) weighted.data()[k * J * J + i] = weight * bend.data()[k * J * J + i];
    }
    std::vector<double> asked(K);
    for (int64_t c = 0; c < C; ++c) {
        const double* in = membership.data() + c * J;
        for (int64_t l = 0; l < K; ++l) {
            asked[l] = 0;
            for (int64_t j = 0; j < J; ++j) asked[l] += in[j] * want.data()[l * J + j];
        }
        for (int64_t k = 0; k < K; ++k) {
            double answer = 0;
            for (int64_t l = 0; l < K; ++l) answer += curvature.data()[(c * K + k) * K + l] * asked[l];
            for (int64_t j = 0; j < J; ++j) fall.data()[k * J + j] += scale * answer * in[j];
        }
    }
    nb::object newton = nb::none();
    if (solves)
        if (const auto step = newton_solution(curvature, scale, membership, weighted.data(), want.data()))
            newton = measured(*step, scale, fall.data());
    return nb::make_tuple(-log_partition / scale - paid + penalty, penalty, want, fall, weighted, newton);
}

constexpr double kRidge = 1e-10;  // of the diagonal: prices have a free constant

// Solves (a + damping) · step = slope in units of the diagonal; zeros where that cannot be done. An unknown alone goes no
// farther than its length, in temperatures. Overwrites a (n, n). OUT step (n,).
static void solve_damped(double* a, const double* slope, const double* lengths, double scale, int64_t n, double* step) {
    std::vector<double> unit(n);
    for (int64_t i = 0; i < n; ++i) {
        a[i * n + i] += std::abs(slope[i]) * scale / lengths[i];
        unit[i] = std::sqrt(std::max(a[i * n + i], std::sqrt(DBL_MIN)));
    }
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j <= i; ++j) a[i * n + j] /= unit[i] * unit[j];
        a[i * n + i] += kRidge;
        step[i] = slope[i] / unit[i];
    }
    bool is_solved = solve_positive(a, step, n);
    for (int64_t i = 0; i < n; ++i) is_solved &= std::isfinite(step[i] /= unit[i]);
    if (!is_solved) std::fill_n(step, n, 0.0);
}

static Table damped(Table& system, const In<double, 2>& slope, const In<double, 2>& lengths, double scale) {
    auto step = new_table({slope.shape(0), slope.shape(1)});
    solve_damped(system.data(), slope.data(), lengths.data(), scale, slope.size(), step.data());
    return step;
}

// A damped step at a weight: (A + A·B·A + damping) x = A·want, with A how column masses answer to column prices.
static Table damped_weight_step(In<double, 3> curvature, double scale, In<double, 2> membership, In<double, 3> bend,
                                In<double, 2> slope, In<double, 2> lengths) {
    const int64_t C = membership.shape(0), J = membership.shape(1), K = slope.shape(0), n = K * J;
    require_shape("curvature", curvature, {C, K, K});
    require_shape("bend", bend, {K, J, J});
    require_shape("slope", slope, {K, J});
    require_shape("lengths", lengths, {K, J});
    require_aligned("membership", membership);
    std::vector<double> through(table_size({size_t(K), size_t(C), size_t(J)}));
    for (int64_t k = 0; k < K; ++k) std::copy_n(membership.data(), C * J, through.data() + k * C * J);
    auto answers = respond(curvature.data(), through.data(), K, C, J);
    for (int64_t i = 0; i < n * n; ++i) answers.data()[i] *= scale;
    const double* A = answers.data();
    std::vector<double> bent(n * n);  // B·A
    for (int64_t k = 0; k < K; ++k)
        for (int64_t i = 0; i < J; ++i)
            for (int64_t j = 0; j < J; ++j) {
                const double factor = bend.data()[(k * J + i) * J + j];
                for (int64_t l = 0; l < n; ++l) bent[(k * J + i) * n + l] += factor * A[(k * J + j) * n + l];
            }
    auto system = new_table({size_t(n), size_t(n)});
    for (int64_t i = 0; i < n; ++i) {
        double* row = system.data() + i * n;
        std::copy_n(A + i * n, i + 1, row);
        for (int64_t l = 0; l < n; ++l)
            if (const double factor = A[i * n + l]; factor != 0)
                for (int64_t j = 0; j <= i; ++j) row[j] += factor * bent[l * n + j];
    }
    return damped(system, slope, lengths, scale);
}

// Adds B, a block per cluster, to scale · A, with A how slopes answer to unknowns behind the prices.
static void add_blocks(Table& system, const double* blocks, double scale, int64_t K, int64_t U) {
    const int64_t n = K * U;
    for (int64_t i = 0; i < n * n; ++i) system.data()[i] *= scale;
    for (int64_t k = 0; k < K; ++k)
        for (int64_t t = 0; t < U; ++t)
            for (int64_t u = 0; u < U; ++u) system.data()[(k * U + t) * n + k * U + u] += blocks[(k * U + t) * U + u];
}

// A damped step for unknowns behind the prices: (A + B + damping) x = slope.
static Table damped_cone_step(In<double, 3> curvature, double scale, In<double, 3> through, In<double, 3> bend,
                              In<double, 2> slope, In<double, 2> lengths) {
    const int64_t K = through.shape(0), C = through.shape(1), U = through.shape(2);
    require_shape("curvature", curvature, {C, K, K});
    require_aligned("through", through);
    require_shape("bend", bend, {K, U, U});
    require_shape("slope", slope, {K, U});
    require_shape("lengths", lengths, {K, U});
    auto system = respond(curvature.data(), through.data(), K, C, U);
    add_blocks(system, bend.data(), scale, K, U);
    return damped(system, slope, lengths, scale);
}

// --- A goal's prices and how they follow θ. See fairclust/_solvers/cone.py. ----------------------------------------------

static void require_cone(const In<double, 2>& membership, const In<double, 3>& jacobian) {
    require_aligned("membership", membership);
    require_aligned("jacobian", jacobian);
    require(jacobian.shape(1) == membership.shape(1), "jacobian", "must have a row per column of the membership");
}

// The dual's slope: what clusters hold, as θ moves their prices, less the offset's.
static Table cone_slope(In<double, 2> masses, In<double, 2> membership, In<double, 3> jacobian, In<double, 2> offset_slope) {
    const int64_t C = membership.shape(0), K = jacobian.shape(0), U = jacobian.shape(2);
    require_cone(membership, jacobian);
    require_shape("masses", masses, {C, K});
    require_shape("offset_slope", offset_slope, {K, U});
    const std::vector<double> through = through_cells(membership, jacobian.data(), K, U);
    auto slope = new_table({size_t(K), size_t(U)});
    for (int64_t k = 0; k < K; ++k)
        for (int64_t u = 0; u < U; ++u) {
            double sum = -offset_slope.data()[k * U + u];
            for (int64_t c = 0; c < C; ++c) sum += masses.data()[c * K + k] * through[(k * C + c) * U + u];
            slope.data()[k * U + u] = sum;
        }
    return slope;
}

// A damped step for θ: (A + people · turn + offset_turn + damping) x = slope; people (K, U) are those whose mix turns with an
// unknown. OUT the step, measured.
static nb::tuple cone_step(In<double, 3> curvature, double scale, In<double, 2> membership, In<double, 3> jacobian,
                           In<double, 3> turn, In<double, 3> offset_turn, In<double, 2> people, In<double, 2> slope,
                           In<double, 2> lengths) {
    const int64_t C = membership.shape(0), K = jacobian.shape(0), U = jacobian.shape(2);
    require_cone(membership, jacobian);
    require_shape("curvature", curvature, {C, K, K});
    require_shape("turn", turn, {K, U, U});
    require_shape("offset_turn", offset_turn, {K, U, U});
    require_shape("people", people, {K, U});
    require_shape("slope", slope, {K, U});
    require_shape("lengths", lengths, {K, U});
    std::vector<double> bend(table_size({size_t(K), size_t(U), size_t(U)}));
    for (int64_t i = 0; i < K * U * U; ++i) bend[i] = offset_turn.data()[i] + people.data()[i / U] * turn.data()[i];
    const std::vector<double> through = through_cells(membership, jacobian.data(), K, U);
    auto system = respond(curvature.data(), through.data(), K, C, U);
    add_blocks(system, bend.data(), scale, K, U);
    return measured(damped(system, slope, lengths, scale), scale, slope.data());
}

// --- Prices while sizes are held. See fairclust/_solvers/held.py. ---------------------------------------------------------

static void require_held(int64_t K, int64_t J, const In<double, 2>& price, const In<double, 2>& line, const In<double, 2>& pull) {
    require_shape("price", price, {K, J});
    require_shape("line", line, {K, J});
    require_shape("pull", pull, {K, J});
}

// The dual at some prices by column: its value, what clusters want, and its slope. Without a pull nothing is wanted but what is.
static nb::tuple held_look(In<double, 2> masses, In<double, 2> price, In<double, 2> line, In<double, 2> pull, double scale,
                           double log_partition) {
    const int64_t K = masses.shape(0), J = masses.shape(1);
    require_aligned("masses", masses);
    require_held(K, J, price, line, pull);
    auto wanted = new_table({size_t(K), size_t(J)}), slope = new_table({size_t(K), size_t(J)});
    double conjugate = 0;
    for (int64_t i = 0; i < K * J; ++i) {
        const double own = pull.data()[i], held = masses.data()[i];
        const double asked = own > 0 ? own / (line.data()[i] - price.data()[i]) : held;
        if (own > 0) conjugate += own * (1 - std::log(asked));
        wanted.data()[i] = asked;
        slope.data()[i] = held - asked;
    }
    return nb::make_tuple(conjugate - log_partition / scale, wanted, slope);
}

// A damped step where cells are columns: a system of clusters per cell, in which what is wanted bends by wanted²/pull. A price
// goes no farther than `stride` of the way to its line. OUT the step, measured.
static nb::tuple held_step(In<double, 3> curvature, double scale, In<double, 2> price, In<double, 2> line, In<double, 2> pull,
                           In<double, 2> wanted, In<double, 2> slope, In<double, 2> lengths, double stride) {
    const int64_t C = curvature.shape(0), K = curvature.shape(1);
    require_shape("curvature", curvature, {C, K, K});
    require_held(K, C, price, line, pull);
    require_shape("wanted", wanted, {K, C});
    require_shape("slope", slope, {K, C});
    require_shape("lengths", lengths, {K, C});
    auto steps = new_table({size_t(K), size_t(C)});
    std::vector<double> system(table_size({size_t(K), size_t(K)})), own(K), far(K), step(K);
    for (int64_t c = 0; c < C; ++c) {
        for (int64_t i = 0; i < K * K; ++i) system[i] = scale * curvature.data()[c * K * K + i];
        for (int64_t k = 0; k < K; ++k) {
            const int64_t at = k * C + c;
            const double asked = wanted.data()[at];
            system[k * K + k] += pull.data()[at] > 0 ? asked * asked / pull.data()[at] : 1.0;
            own[k] = slope.data()[at];
            far[k] = lengths.data()[at];
        }
        solve_damped(system.data(), own.data(), far.data(), scale, K, step.data());
        for (int64_t k = 0; k < K; ++k) {
            const int64_t at = k * C + c;
            const double room = stride * (line.data()[at] - price.data()[at]);
            steps.data()[at] = pull.data()[at] > 0 ? std::min(step[k], room) : 0.0;
        }
    }
    return measured(steps, scale, slope.data());
}

// What labels hold over what soft assignments hold after a change from some scaled prices (K, C) to others, by the curvature
// before it; from 1/most to most, for where few points are left it says little.
static Table rounding(In<double, 3> curvature, In<double, 2> masses, AnyOrder before, AnyOrder after, In<double, 2> labelled,
                      double most) {
    const int64_t C = masses.shape(0), K = masses.shape(1);
    require_shape("curvature", curvature, {C, K, K});
    require_shape("before", before, {K, C});
    require_shape("after", after, {K, C});
    require_shape("labelled", labelled, {C, K});
    require_aligned("masses", masses);
    const auto at = [](const AnyOrder& table, int64_t k, int64_t c) {
        return table.data()[k * table.stride(0) + c * table.stride(1)];
    };
    auto table = new_table({size_t(K), size_t(C)});
    std::vector<double> change(K);
    for (int64_t c = 0; c < C; ++c) {
        for (int64_t k = 0; k < K; ++k) change[k] = at(after, k, c) - at(before, k, c);
        for (int64_t k = 0; k < K; ++k) {
            double soft = masses.data()[c * K + k];
            for (int64_t l = 0; l < K; ++l) soft -= curvature.data()[(c * K + k) * K + l] * change[l];
            const double hard = labelled.data()[c * K + k];
            table.data()[k * C + c] = std::max(hard / std::max(soft, std::max(hard / most, DBL_MIN)), 1 / most);
        }
    }
    return table;
}

// --- What one person's move does to the tables. See fairclust/_goals/moves.py. --------------------------------------------

// Rows of masses to be weighed, for each of some clusters: as it is, with a person of each cell more, with one less.
static Table move_rows(In<double, 2> masses, In<int64_t, 1> clusters, double unit) {
    const int64_t K = masses.shape(0), C = masses.shape(1), n = clusters.shape(0), per = 1 + 2 * C;
    require_aligned("masses", masses);
    require_aligned("clusters", clusters);
    require(is_between(clusters.data(), n, 0, K - 1), "clusters", "must be numbers of clusters");
    auto rows = new_table({size_t(n * per), size_t(C)});
    for (int64_t i = 0; i < n; ++i) {
        const double* own = masses.data() + clusters.data()[i] * C;
        double* out = rows.data() + i * per * C;
        for (int64_t r = 0; r < per; ++r)
            for (int64_t c = 0; c < C; ++c) {
                const double change = r == 1 + c ? unit : r == 1 + C + c ? -unit : 0.0;
                out[r * C + c] = std::max(own[c] + change, 0.0);
            }
    }
    return rows;
}

// What those rows cost, taken apart: IN values, one per row. OUT, of these clusters, value (K,), enter and leave (K, C).
static void note_moves(In<double, 1> values, In<int64_t, 1> clusters, Out<double, 1> value, Out<double, 2> enter,
                       Out<double, 2> leave) {
    const int64_t K = enter.shape(0), C = enter.shape(1), n = clusters.shape(0), per = 1 + 2 * C;
    require_shape("values", values, {n * per});
    require_aligned("clusters", clusters);
    require(is_between(clusters.data(), n, 0, K - 1), "clusters", "must be numbers of clusters");
    require_shape("value", value, {K});
    require_aligned("enter", enter);
    require_shape("leave", leave, {K, C});
    require_apart("value", value, "clusters", clusters);
    require_apart("enter", enter, "clusters", clusters);
    require_apart("leave", leave, "clusters", clusters);
    for (int64_t i = 0; i < n; ++i) {
        const double* own = values.data() + i * per;
        const int64_t k = clusters.data()[i];
        value.data()[k] = own[0];
        for (int64_t c = 0; c < C; ++c) {
            enter.data()[k * C + c] = own[1 + c] - own[0];
            leave.data()[k * C + c] = own[1 + C + c] - own[0];
        }
    }
}

// How far each unknown is trusted after a step. See fairclust/_solvers/trust.py. IN/OUT lengths.
static void learned_lengths(Out<double, 2> lengths, In<double, 2> step, In<double, 2> length, In<double, 2> before,
                            In<double, 2> after, bool is_taken, bool is_kept, double matters, double growth) {
    const int64_t K = lengths.shape(0), J = lengths.shape(1), n = K * J;
    require_aligned("lengths", lengths);
    for (const auto& [name, table] : {std::pair{"step", &step}, {"length", &length}, {"before", &before}, {"after", &after}})
        require_shape(name, *table, {K, J});
    double least = 0;
    for (int64_t i = 0; i < n; ++i) least = std::min(least, after.data()[i] * step.data()[i]);
    for (int64_t i = 0; i < n; ++i) {
        const double start = std::abs(before.data()[i]), end = std::abs(after.data()[i]), went = length.data()[i];
        const double turning = start / std::max(start + end, DBL_MIN);
        const bool is_too_far = std::min(after.data()[i] * step.data()[i], 0.0) < matters * least;
        double& own = lengths.data()[i];
        if (!is_taken) {
            if (is_too_far) own = std::min(std::min(turning, 0.5) * went, own);
        } else if (is_too_far && turning < 0.5) {
            own = std::min(2 * turning * went, own);
        } else {
            own = growth * (is_kept ? own : std::max(own / growth, went));
        }
    }
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
    const int64_t K = theta.shape(0), J = theta.shape(1), rows = rows_of_target(center, K, J, "center", "theta");
    require_aligned("theta", theta);
    require(limit > 0, "limit", "must be positive");
    require(softness >= 0, "softness", "must not be negative");
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
        const double* u = center.data() + (rows == 1 ? 0 : k) * J;
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
    m.def("kl_value", &kl_value, "masses"_a, "sizes"_a.noconvert().none(), "target"_a.noconvert(), "smallest"_a);
    m.def("kl_beyond", &kl_beyond, "masses"_a, "sizes"_a, "target"_a.noconvert(), "limit"_a, "smallest"_a);
    m.def("kl_expansion", &kl_expansion, "masses"_a, "target"_a.noconvert(), "smallest"_a);
    m.def("newton_system", &newton_system, "curvature"_a.noconvert(), "scale"_a, "membership"_a.noconvert(),
          "bend"_a.noconvert(), "want"_a.noconvert());
    m.def("newton_step", &newton_step, "curvature"_a.noconvert(), "scale"_a, "membership"_a.noconvert(),
          "bend"_a.noconvert(), "want"_a.noconvert());
    m.def("weighted_look", &weighted_look, "curvature"_a.noconvert(), "masses"_a.noconvert(), "price"_a.noconvert(),
          "scale"_a, "log_partition"_a, "membership"_a.noconvert(), "inverse"_a.noconvert(), "weights"_a.noconvert(),
          "value"_a.noconvert(), "slope"_a.noconvert(), "bend"_a.noconvert(), "solves"_a);
    m.def("damped_weight_step", &damped_weight_step, "curvature"_a.noconvert(), "scale"_a, "membership"_a.noconvert(),
          "bend"_a.noconvert(), "slope"_a.noconvert(), "lengths"_a.noconvert());
    m.def("damped_cone_step", &damped_cone_step, "curvature"_a.noconvert(), "scale"_a, "through"_a.noconvert(),
          "bend"_a.noconvert(), "slope"_a.noconvert(), "lengths"_a.noconvert());
    m.def("cone_slope", &cone_slope, "masses"_a.noconvert(), "membership"_a.noconvert(), "jacobian"_a.noconvert(),
          "offset_slope"_a.noconvert());
    m.def("cone_step", &cone_step, "curvature"_a.noconvert(), "scale"_a, "membership"_a.noconvert(), "jacobian"_a.noconvert(),
          "turn"_a.noconvert(), "offset_turn"_a.noconvert(), "people"_a.noconvert(), "slope"_a.noconvert(),
          "lengths"_a.noconvert());
    m.def("held_look", &held_look, "masses"_a.noconvert(), "price"_a.noconvert(), "line"_a.noconvert(), "pull"_a.noconvert(),
          "scale"_a, "log_partition"_a);
    m.def("held_step", &held_step, "curvature"_a.noconvert(), "scale"_a, "price"_a.noconvert(), "line"_a.noconvert(),
          "pull"_a.noconvert(), "wanted"_a.noconvert(), "slope"_a.noconvert(), "lengths"_a.noconvert(), "stride"_a);
    m.def("rounding", &rounding, "curvature"_a.noconvert(), "masses"_a.noconvert(), "before"_a.noconvert(),
          "after"_a.noconvert(), "labelled"_a.noconvert(), "most"_a);
    m.def("move_rows", &move_rows, "masses"_a.noconvert(), "clusters"_a.noconvert(), "unit"_a);
    m.def("note_moves", &note_moves, "values"_a.noconvert(), "clusters"_a.noconvert(), "value"_a.noconvert(),
          "enter"_a.noconvert(), "leave"_a.noconvert());
    m.def("learned_lengths", &learned_lengths, "lengths"_a.noconvert(), "step"_a.noconvert(), "length"_a.noconvert(),
          "before"_a.noconvert(), "after"_a.noconvert(), "is_taken"_a, "is_kept"_a, "matters"_a, "growth"_a);
    m.def("error_mixes", &error_mixes, "theta"_a.noconvert(), "center"_a.noconvert(), "limit"_a, "softness"_a,
          "flat"_a);
}

}  // namespace fairclust
