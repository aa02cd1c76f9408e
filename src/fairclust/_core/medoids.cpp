// The medoid search; see medoids.hpp for the bound that it rests on. Work is cut into pieces that depend on the data
// alone, and pieces are added in order: no result, and no count of distances, depends on the number of threads.

#include "medoids.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "kernels.hpp"
#include "parallel.hpp"

namespace fairclust {
namespace {

constexpr int64_t kBig = 1 << 15;         // clusters of more points are searched one by one, by all threads together
constexpr int64_t kBrute = 128;           // clusters of fewer points are searched by brute force
constexpr int64_t kLeaf = 4, kBigLeaf = 16;  // least points of the smallest cells, of small and of big clusters
constexpr int64_t kNearest = 8;           // points nearest the geometric median that are tried
constexpr int64_t kSample = 2048;         // points, or cells, that the geometric median is computed from
constexpr int kMedianSteps = 40;          // of Weiszfeld: a start for the search only
constexpr int64_t kBatch = 16;            // candidates that are compared with all points at a time
constexpr int64_t kTilesPerPiece = 64;    // work that a thread takes at a time: 4096 points
constexpr int64_t kCandidatesPerPiece = 256;  // the same, of candidates against cells
constexpr int64_t kMostMoments = 64;      // features up to which cells know their second moments

// Runs pieces on this thread, or on the pool.
struct Runner {
    int n_threads;
    const std::function<bool()>* interrupted;
    bool stopped = false;

    void operator()(int64_t n_pieces, const std::function<void(int64_t)>& piece) {
        if (n_threads <= 1) {
            for (int64_t i = 0; i < n_pieces && !stopped; ++i) piece(i);
            return;
        }
        if (!stopped)
            stopped = !run_chunks(n_pieces, n_threads, [&](int64_t i, int) { piece(i); }, *interrupted);
    }
};

// Pairs in the order of their first values, NaN last: an order even where there are NaN, as sorting needs.
struct ByFirst {
    template <class P> bool operator()(const P& a, const P& b) const {
        if (a.first < b.first) return true;
        if (b.first < a.first) return false;
        const bool a_is_nan = a.first != a.first, b_is_nan = b.first != b.first;
        return a_is_nan != b_is_nan ? b_is_nan : a.second < b.second;
    }
};

template <class T>
struct TileStore {
    std::vector<T> coordinates, weight, quota, radius;
    int64_t n_features, size;

    TileStore(int64_t size_, int64_t n_features_, bool cells)
        : coordinates(n_tiles(size_) * kTile * n_features_), weight(n_tiles(size_) * kTile),
          quota(cells ? n_tiles(size_) * kTile : 0), radius(cells ? n_tiles(size_) * kTile : 0, T(1)),
          n_features(n_features_), size(size_) {}
    static int64_t n_tiles(int64_t size) { return (size + kTile - 1) / kTile; }
    int64_t n_tiles() const { return n_tiles(size); }
    T& at(int64_t i, int64_t m) { return coordinates[(i / kTile * n_features + m) * kTile + i % kTile]; }
    const T& at(int64_t i, int64_t m) const { return coordinates[(i / kTile * n_features + m) * kTile + i % kTile]; }
    void copy_point(int64_t i, T* out) const {
        for (int64_t m = 0; m < n_features; ++m) out[m] = at(i, m);
    }
    Tiles<T> view() const {
        return {coordinates.data(), weight.data(), quota.empty() ? nullptr : quota.data(),
                radius.empty() ? nullptr : radius.data(), n_tiles(), n_features};
    }
};

// Weight, mean, second moments about it (packed lower triangle, or their trace alone) and radius of a set of points.
struct Moments {
    double weight = 0, trace = 0, radius = 0;
    std::vector<double> mean, second;

    void merge(const Moments& other) {
        if (other.weight <= 0) return;
        if (weight <= 0) {
            *this = other;
            return;
        }
        const double total = weight + other.weight, share = other.weight / total, joint = weight * share;
        std::vector<double> gap(mean.size());
        double square = 0;
        for (size_t m = 0; m < mean.size(); ++m) {
            gap[m] = other.mean[m] - mean[m];
            square += gap[m] * gap[m];
            mean[m] += share * gap[m];
        }
        for (size_t i = 0, at = 0; i < mean.size() && !second.empty(); ++i)
            for (size_t j = 0; j <= i; ++j, ++at) second[at] += other.second[at] + joint * gap[i] * gap[j];
        const double far = std::sqrt(square);
        radius = std::max(radius + share * far, other.radius + (1 - share) * far);
        trace += other.trace + joint * square;
        weight = total;
    }

    // (tr C - largest eigenvalue) / 2 or less: the Frobenius norm of C is at least its largest eigenvalue.
    double quota() const {
        if (second.empty()) return 0;
        double squares = 0;
        for (size_t i = 0, at = 0; i < mean.size(); ++i)
            for (size_t j = 0; j <= i; ++j, ++at) squares += (i == j ? 1 : 2) * second[at] * second[at];
        return std::max(0.0, (trace - std::sqrt(squares)) * (0.5 - 1e-9));
    }
};

template <class T>
class Search {
public:
    // members: positions (visiting order) of the cluster's points with weight, sorted.
    Search(const MedoidLoops<T>& loops, const MedoidArgs<T>& args, std::vector<int32_t> members, Runner& run)
        : loops_(loops), args_(args), run_(run), M_(args.n_features), n_(static_cast<int64_t>(members.size())),
          members_(std::move(members)), points_(0, M_, false), origin_(M_) {
        slack_ = 1 + 2 * (M_ + 16) * static_cast<double>(std::numeric_limits<T>::epsilon());
    }

    int64_t position() const { return best_ < 0 ? -1 : members_[best_]; }
    double value() const { return value_; }
    double lower() const { return std::min(lower_, value_); }
    int64_t evaluations() const { return evaluations_; }

    void find() {
        if (args_.exact && args_.metric == kManhattan) return find_sorted();
        const bool brute = n_ <= kBrute;
        if (args_.exact && !brute) build_tree();
        gather();
        if (brute) {
            std::vector<int64_t> all(n_);
            std::iota(all.begin(), all.end(), 0);
            try_points(all);
            lower_ = value_;
            return;
        }
        if (args_.exact) build_cells();
        start();
        if (args_.exact) prune();
    }

private:
    const T* row(int64_t i) const { return args_.X + static_cast<int64_t>(args_.order[members_[i]]) * M_; }
    double weight(int64_t i) const { return args_.weights ? args_.weights[members_[i]] : 1.0; }

    // Halves the members again and again across their widest feature; cell j of depth d is a stretch of members_.
    void build_tree() {
        depth_ = 0;
        while ((n_ >> (depth_ + 1)) >= (n_ <= kBig ? kLeaf : kBigLeaf)) ++depth_;
        for (int d = 0; d < depth_; ++d)
            run_(int64_t(1) << d, [&](int64_t j) {
                split(border(d, j), border(d + 1, 2 * j + 1), border(d, j + 1));
            });
    }
    int64_t border(int depth, int64_t j) const { return n_ * j >> depth; }

    void split(int64_t begin, int64_t middle, int64_t end) {
        const int64_t step = std::max<int64_t>(1, (end - begin) / 128);
        std::vector<double> sum(M_), squares(M_);
        int64_t count = 0;
        for (int64_t i = begin; i < end; i += step, ++count)
            for (int64_t m = 0; m < M_; ++m) {
                const double x = static_cast<double>(row(i)[m]) - static_cast<double>(row(begin)[m]);
                sum[m] += x;
                squares[m] += x * x;
            }
        int64_t widest = 0;
        double spread = -1;
        for (int64_t m = 0; m < M_; ++m) {
            const double variance = squares[m] - sum[m] * sum[m] / static_cast<double>(count);
            if (variance > spread) spread = variance, widest = m;
        }
        std::vector<std::pair<T, int32_t>> keys(end - begin);
        for (int64_t i = begin; i < end; ++i) keys[i - begin] = {row(i)[widest], members_[i]};
        std::nth_element(keys.begin(), keys.begin() + (middle - begin), keys.end(), ByFirst());
        for (int64_t i = begin; i < end; ++i) members_[i] = keys[i - begin].second;
    }

    // Copies the points into tiles, around an origin near their middle: nothing is lost where coordinates are large.
    void gather() {
        points_ = TileStore<T>(n_, M_, false);
        const int64_t step = std::max<int64_t>(1, n_ / 256);
        std::vector<double> sum(M_);
        int64_t count = 0;
        for (int64_t i = 0; i < n_; i += step, ++count)
            for (int64_t m = 0; m < M_; ++m) sum[m] += static_cast<double>(row(i)[m]);
        for (int64_t m = 0; m < M_; ++m) origin_[m] = static_cast<T>(sum[m] / static_cast<double>(count));
        run_((n_ + kTile * kTilesPerPiece - 1) / (kTile * kTilesPerPiece), [&](int64_t piece) {
            const int64_t end = std::min(n_, (piece + 1) * kTile * kTilesPerPiece);
            for (int64_t i = piece * kTile * kTilesPerPiece; i < end; ++i) {
                for (int64_t m = 0; m < M_; ++m) points_.at(i, m) = row(i)[m] - origin_[m];
                points_.weight[i] = static_cast<T>(weight(i));
            }
        });
    }

    // Cells at every second depth, the deepest first; moments of a cell are those of its halves together.
    void build_cells() {
        for (int d = depth_; d >= std::min(depth_, 2); d -= 2) levels_.emplace_back(d, TileStore<T>(int64_t(1) << d, M_, true));
        const int top = std::min(depth_, 6);
        std::vector<Moments> tops(size_t(1) << top);
        run_(static_cast<int64_t>(tops.size()), [&](int64_t j) { tops[j] = moments(top, j); });
        for (int d = top - 1; d >= 0; --d)
            for (int64_t j = 0; j < int64_t(1) << d; ++j) {
                tops[2 * j].merge(tops[2 * j + 1]);
                std::swap(tops[j], tops[2 * j]);
                store(d, j, tops[j]);
            }
    }

    Moments moments(int depth, int64_t j) {
        Moments result;
        if (depth < depth_) {
            result = moments(depth + 1, 2 * j);
            result.merge(moments(depth + 1, 2 * j + 1));
        } else {
            const int64_t begin = border(depth, j), end = border(depth, j + 1);
            std::vector<double> offset(M_);
            double square = 0;
            result.mean.resize(M_);
            if (M_ <= kMostMoments) result.second.resize(M_ * (M_ + 1) / 2);
            for (int64_t i = begin; i < end; ++i) result.weight += weight(i);
            for (int64_t i = begin; i < end; ++i)
                for (int64_t m = 0; m < M_; ++m)
                    result.mean[m] += weight(i) / result.weight * static_cast<double>(points_.at(i, m));
            for (int64_t i = begin; i < end; ++i) {
                const double w = weight(i);
                double sum = 0;
                for (int64_t m = 0; m < M_; ++m) {
                    offset[m] = static_cast<double>(points_.at(i, m)) - result.mean[m];
                    sum += offset[m] * offset[m];
                }
                square = std::max(square, sum);
                result.trace += w * sum;
                double* second = result.second.data();
                for (int64_t r = 0; r < M_ && M_ <= kMostMoments; second += ++r)
                    for (int64_t c = 0; c <= r; ++c) second[c] += w * offset[r] * offset[c];
            }
            result.radius = std::sqrt(square);
        }
        store(depth, j, result);
        return result;
    }

    void store(int depth, int64_t j, const Moments& cell) {
        for (auto& [d, cells] : levels_) {
            if (d != depth) continue;
            for (int64_t m = 0; m < M_; ++m) cells.at(j, m) = static_cast<T>(cell.mean[m]);
            cells.weight[j] = static_cast<T>(cell.weight);
            cells.quota[j] = static_cast<T>(cell.quota());
            cells.radius[j] = static_cast<T>(cell.radius * (1 + 1e-6) + std::numeric_limits<float>::min());
        }
    }

    // The points nearest the geometric median (manhattan: the coordinate-wise median).
    void start() {
        std::vector<T> place(M_);
        if (args_.metric == kManhattan)
            place_median(place.data());
        else if (const TileStore<T>* cells = coarse_cells())
            geometric_median(*cells, place.data());
        else
            geometric_median(sampled(), place.data());
        std::vector<T> distance(points_.n_tiles() * kTile);
        run_((points_.n_tiles() + kTilesPerPiece - 1) / kTilesPerPiece, [&](int64_t piece) {
            loops_.distances(points_.view(), args_.metric, place.data(), piece * kTilesPerPiece,
                             std::min(points_.n_tiles(), (piece + 1) * kTilesPerPiece), distance.data());
        });
        evaluations_ += n_;
        const auto is_nearer = [&](int64_t a, int64_t b) {
            return distance[a] != distance[b] ? distance[a] < distance[b] : args_.order[members_[a]] < args_.order[members_[b]];
        };
        std::vector<int64_t> nearest;  // nearest first
        for (int64_t i = 0; i < n_; ++i) {
            if (static_cast<int64_t>(nearest.size()) == kNearest && !is_nearer(i, nearest.back())) continue;
            nearest.insert(std::upper_bound(nearest.begin(), nearest.end(), i, is_nearer), i);
            if (static_cast<int64_t>(nearest.size()) > kNearest) nearest.pop_back();
        }
        std::sort(nearest.begin(), nearest.end());
        try_points(nearest);
        tried_ = nearest;
    }

    const TileStore<T>* coarse_cells() const {
        for (const auto& [d, cells] : levels_)
            if (cells.size <= kSample) return &cells;
        return nullptr;
    }

    TileStore<T> sampled() const {
        const int64_t step = std::max<int64_t>(1, n_ / kSample);
        TileStore<T> sample((n_ + step - 1) / step, M_, false);
        for (int64_t i = 0, s = 0; i < n_; i += step, ++s) {
            for (int64_t m = 0; m < M_; ++m) sample.at(s, m) = points_.at(i, m);
            sample.weight[s] = points_.weight[i];
        }
        return sample;
    }

    // Weiszfeld's iteration from the mean. A start for the search only, so a floor under the distances is safeguard enough.
    void geometric_median(const TileStore<T>& set, T* place) {
        std::vector<double> sums(M_);
        std::vector<T> distance(set.n_tiles() * kTile, T(1));
        for (int step = 0; step <= kMedianSteps; ++step) {
            double total = 0, mean = 0, weight = 0;
            for (int64_t i = 0; i < set.size; ++i) {
                mean += static_cast<double>(set.weight[i]) * static_cast<double>(distance[i]);
                weight += static_cast<double>(set.weight[i]);
            }
            const double floor = 1e-6 * mean / weight;
            if (!(floor > 0)) return;
            std::fill(sums.begin(), sums.end(), 0.0);
            for (int64_t i = 0; i < set.size; ++i) {
                const double w = static_cast<double>(set.weight[i]) / std::max(static_cast<double>(distance[i]), floor);
                total += w;
                for (int64_t m = 0; m < M_; ++m) sums[m] += w * static_cast<double>(set.at(i, m));
            }
            double moved = 0;
            for (int64_t m = 0; m < M_; ++m) {
                const T next = static_cast<T>(sums[m] / total);
                moved += std::pow(static_cast<double>(next) - static_cast<double>(place[m]), 2);
                place[m] = next;
            }
            if (step == kMedianSteps || (step > 0 && moved <= 1e-8 * std::pow(mean / weight, 2))) break;
            loops_.distances(set.view(), kEuclidean, place, 0, set.n_tiles(), distance.data());
            evaluations_ += set.size;
        }
    }

    void place_median(T* place) const {
        const int64_t step = std::max<int64_t>(1, n_ / kSample);
        for (int64_t m = 0; m < M_; ++m) {
            std::vector<std::pair<T, double>> values;
            for (int64_t i = 0; i < n_; i += step) values.push_back({points_.at(i, m), weight(i)});
            place[m] = weighted_median(values);
        }
    }

public:
    static T weighted_median(std::vector<std::pair<T, double>>& values) {
        std::sort(values.begin(), values.end(), ByFirst());
        double total = 0, sum = 0;
        for (const auto& [x, w] : values) total += w;
        for (size_t i = 0; i < values.size(); ++i) {
            sum += values[i].second;
            if (sum > total / 2 || i + 1 == values.size()) return values[i].first;
            if (sum == total / 2) return values[i].first + (values[i + 1].first - values[i].first) / 2;
        }
        return T(0);
    }

private:
    // D of some points (indices of members_); the best so far is kept, the lowest row of X among equals.
    void try_points(const std::vector<int64_t>& candidates) {
        const int64_t count = static_cast<int64_t>(candidates.size());
        const int64_t n_pieces = (points_.n_tiles() + kTilesPerPiece - 1) / kTilesPerPiece;
        std::vector<T> places(count * M_);
        for (int64_t c = 0; c < count; ++c) points_.copy_point(candidates[c], places.data() + c * M_);
        std::vector<double> parts(n_pieces * count);
        run_(n_pieces, [&](int64_t piece) {
            loops_.sums(points_.view(), args_.metric, places.data(), count, piece * kTilesPerPiece,
                        std::min(points_.n_tiles(), (piece + 1) * kTilesPerPiece), parts.data() + piece * count);
        });
        for (int64_t c = 0; c < count; ++c) {
            double sum = 0;
            for (int64_t piece = 0; piece < n_pieces; ++piece) sum += parts[piece * count + c];
            offer(candidates[c], sum);
        }
        evaluations_ += count * n_;
    }

    void offer(int64_t i, double sum) {
        if (best_ < 0 || sum < value_ || (sum == value_ && goes_before(i))) best_ = i, value_ = sum;
    }

    // Among equals the first row.
    bool goes_before(int64_t i) const { return args_.order[members_[i]] < args_.order[members_[best_]]; }

    bool affords(double more) const { return evaluations_ + more <= std::max(args_.free, args_.per_point * n_); }

    // Excludes points by their bounds, level by level; compares what is left with all points, lowest bound first.
    void prune() {
        std::vector<int32_t> alive;
        alive.reserve(n_);
        std::vector<double> bound(n_, 0.0);
        for (int64_t i = 0, next = 0; i < n_; ++i) {
            const bool done = next < static_cast<int64_t>(tried_.size()) && tried_[next] == i;
            if (done) ++next; else alive.push_back(static_cast<int32_t>(i));
        }
        for (auto level = levels_.rbegin(); level != levels_.rend() && !alive.empty(); ++level) {
            const double cost = static_cast<double>(alive.size()) * static_cast<double>(level->second.size);
            if (level != levels_.rbegin() && !affords(cost)) break;
            raise_bounds(level->second, alive, bound);
            drop(alive, bound);
        }
        std::sort(alive.begin(), alive.end(), [&](int64_t a, int64_t b) { return bound[a] != bound[b] ? bound[a] < bound[b] : a < b; });
        for (size_t next = 0; !run_.stopped;) {
            while (alive.size() > next && bound[alive.back()] > value_ * slack_) alive.pop_back();
            if (next >= alive.size()) {
                lower_ = value_;
                return;
            }
            const size_t count = std::min<size_t>(kBatch, alive.size() - next);
            if (!affords(static_cast<double>(count) * static_cast<double>(n_))) {
                lower_ = bound[alive[next]] / slack_;
                return;
            }
            try_points({alive.begin() + next, alive.begin() + next + count});
            next += count;
        }
    }

    void drop(std::vector<int32_t>& alive, const std::vector<double>& bound) const {
        alive.erase(std::remove_if(alive.begin(), alive.end(), [&](int64_t i) { return bound[i] > value_ * slack_; }), alive.end());
    }

    void raise_bounds(const TileStore<T>& cells, const std::vector<int32_t>& alive, std::vector<double>& bound) {
        const int64_t count = static_cast<int64_t>(alive.size());
        run_((count + kCandidatesPerPiece - 1) / kCandidatesPerPiece, [&](int64_t piece) {
            const int64_t first = piece * kCandidatesPerPiece, last = std::min(count, first + kCandidatesPerPiece);
            std::vector<T> places((last - first) * M_);
            std::vector<double> sums(last - first);
            for (int64_t c = first; c < last; ++c) points_.copy_point(alive[c], places.data() + (c - first) * M_);
            loops_.sums(cells.view(), args_.metric, places.data(), last - first, 0, cells.n_tiles(), sums.data());
            for (int64_t c = first; c < last; ++c) bound[alive[c]] = std::max(bound[alive[c]], sums[c - first]);
        });
        evaluations_ += count * cells.size;
    }

    // Manhattan: D is a sum over features of functions of one coordinate, which sorting tabulates for all points at once.
    // A coordinate looked up counts as the n_features-th part of a distance: n distances in all.
    void find_sorted() {
        std::vector<double> total(n_);
        std::vector<std::pair<T, int32_t>> sorted(n_);
        double weight_sum = 0;
        for (int64_t i = 0; i < n_; ++i) weight_sum += weight(i);
        for (int64_t m = 0; m < M_ && !run_.stopped; ++m) {
            for (int64_t i = 0; i < n_; ++i) sorted[i] = {row(i)[m], static_cast<int32_t>(i)};
            std::sort(sorted.begin(), sorted.end(), ByFirst());
            const double base = static_cast<double>(sorted[0].first);
            double sum = 0;  // of w (x - base), then D of the first point; D changes by (weight below - above) per step
            for (int64_t i = 0; i < n_; ++i) sum += weight(sorted[i].second) * (static_cast<double>(sorted[i].first) - base);
            double below = 0, before = base;
            for (int64_t i = 0; i < n_; ++i) {
                const double x = static_cast<double>(sorted[i].first);
                sum += (x - before) * (2 * below - weight_sum);
                before = x;
                below += weight(sorted[i].second);
                total[sorted[i].second] += sum;
            }
        }
        for (int64_t i = 0; i < n_; ++i) offer(i, total[i]);
        lower_ = value_;
        evaluations_ += n_;
    }

    const MedoidLoops<T>& loops_;
    const MedoidArgs<T>& args_;
    Runner& run_;
    int64_t M_, n_;
    std::vector<int32_t> members_;
    TileStore<T> points_;
    std::vector<T> origin_;
    int depth_ = 0;
    std::vector<std::pair<int, TileStore<T>>> levels_;  // deepest first
    std::vector<int64_t> tried_;
    int64_t best_ = -1, evaluations_ = 0;
    double value_ = std::numeric_limits<double>::infinity(), lower_ = 0, slack_;
};

// Points of each cluster that have weight.
template <class T>
std::vector<int64_t> count_members(const MedoidArgs<T>& args) {
    std::vector<int64_t> count(args.n_clusters);
    for (int64_t i = 0; i < args.n_samples; ++i) count[args.labels[i]] += !args.weights || args.weights[i] > 0;
    return count;
}

// Their positions, in order. A pass over all labels per cluster: cheap, and no list of all points is needed.
template <class T>
std::vector<int32_t> members_of(const MedoidArgs<T>& args, int64_t k, int64_t count) {
    std::vector<int32_t> members;
    members.reserve(count);
    for (int64_t i = 0; i < args.n_samples; ++i)
        if (args.labels[i] == k && (!args.weights || args.weights[i] > 0)) members.push_back(static_cast<int32_t>(i));
    return members;
}

}  // namespace

// Copies of big clusters come and go; the C library would keep the room of the largest for ever.
static void give_back_memory() {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

template <class T>
bool find_medoids(const MedoidLoops<T>& loops, const MedoidArgs<T>& args, const MedoidResult& result,
                  const std::function<bool()>& interrupted) {
    const std::vector<int64_t> count = count_members(args);
    const auto find = [&](int64_t k, Runner& run) {
        result.position[k] = -1;
        result.value[k] = result.lower[k] = 0;
        result.evaluations[k] = 0;
        if (count[k] == 0) return;
        Search<T> search(loops, args, members_of(args, k, count[k]), run);
        search.find();
        result.position[k] = search.position();
        result.value[k] = search.value();
        result.lower[k] = search.lower();
        result.evaluations[k] = search.evaluations();
    };
    std::vector<int64_t> small;
    for (int64_t k = 0; k < args.n_clusters; ++k) {
        if (count[k] <= kBig) {
            small.push_back(k);
            continue;
        }
        Runner together{args.n_threads, &interrupted};
        give_back_memory();
        find(k, together);
        give_back_memory();
        if (together.stopped || (args.n_threads <= 1 && interrupted())) return false;
    }
    return run_chunks(static_cast<int64_t>(small.size()), args.n_threads, [&](int64_t i, int) {
        Runner alone{1, &interrupted};
        find(small[i], alone);
    }, interrupted);
}

template <class T>
bool find_coordinate_medians(const MedoidArgs<T>& args, T* centers, const std::function<bool()>& interrupted) {
    const std::vector<int64_t> count = count_members(args);
    return run_chunks(args.n_clusters * args.n_features, args.n_threads, [&](int64_t piece, int) {
        const int64_t k = piece / args.n_features, m = piece % args.n_features;
        if (count[k] == 0) return;
        std::vector<std::pair<T, double>> values;
        values.reserve(count[k]);
        for (const int32_t i : members_of(args, k, count[k]))
            values.push_back({args.X[static_cast<int64_t>(args.order[i]) * args.n_features + m],
                              args.weights ? args.weights[i] : 1.0});
        centers[piece] = Search<T>::weighted_median(values);
    }, interrupted);
}

template <class T>
void add_median_sums(const MedoidArgs<T>& args, const T* centers, const double* near, int64_t begin, int64_t end,
                     double* sums) {
    const int64_t M = args.n_features;
    std::vector<double> difference(M);
    for (int64_t at = begin; at < end; ++at) {
        const T* x = args.X + static_cast<int64_t>(args.order[at]) * M;
        const T* c = centers + static_cast<int64_t>(args.labels[at]) * M;
        double* sum = sums + static_cast<int64_t>(args.labels[at]) * (M + 3);
        const double w = args.weights ? args.weights[at] : 1.0;
        double square = 0;
        for (int64_t m = 0; m < M; ++m) {
            difference[m] = static_cast<double>(x[m]) - static_cast<double>(c[m]);
            square += difference[m] * difference[m];
        }
        const double distance = std::sqrt(square);
        sum[M + 2] += w * distance;
        if (distance <= near[args.labels[at]]) {
            sum[M + 1] += w;
            continue;
        }
        const double nearness = w / distance;
        for (int64_t m = 0; m < M; ++m) sum[m] += nearness * difference[m];
        sum[M] += nearness;
    }
}

template bool find_medoids<float>(const MedoidLoops<float>&, const MedoidArgs<float>&, const MedoidResult&, const std::function<bool()>&);
template bool find_medoids<double>(const MedoidLoops<double>&, const MedoidArgs<double>&, const MedoidResult&, const std::function<bool()>&);
template bool find_coordinate_medians<float>(const MedoidArgs<float>&, float*, const std::function<bool()>&);
template bool find_coordinate_medians<double>(const MedoidArgs<double>&, double*, const std::function<bool()>&);
template void add_median_sums<float>(const MedoidArgs<float>&, const float*, const double*, int64_t, int64_t, double*);
template void add_median_sums<double>(const MedoidArgs<double>&, const double*, const double*, int64_t, int64_t, double*);

}  // namespace fairclust
