// Sums of pairs of very many clusters, of which few have points between them: a map from pairs to sums. Nothing here knows of points.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace fairclust {

// Open addressing: a pair's place is the first free one from where its number, well stirred, points to. What it holds, and
// in which order sums were added, depends on the pairs alone. Maps of several threads share no cache line.
class alignas(64) PairMap {
public:
    // Adds scale · value_p · value_q of all pairs of n choices of a point, in the order of the clusters.
    void add(const float* value, const int32_t* cluster, int n, double scale) {
        for (int p = 0; p + 1 < n; ++p) {
            const double own = scale * static_cast<double>(value[p]);
            const uint64_t row = static_cast<uint64_t>(static_cast<uint32_t>(cluster[p])) << 32;
            for (int q = p + 1; q < n; ++q) sum_of(row | static_cast<uint32_t>(cluster[q])) += own * static_cast<double>(value[q]);
        }
    }

    void add(const PairMap& other) {
        for (const auto& [pair, sum] : other.places_)
            if (pair != kFree) sum_of(pair) += sum;
    }

    // Pairs, the first cluster's number above the second's 32 bits, and their sums, by first and second cluster.
    std::vector<std::pair<uint64_t, double>> sorted() const {
        std::vector<std::pair<uint64_t, double>> found;
        found.reserve(count_);
        for (const auto& place : places_)
            if (place.first != kFree) found.push_back(place);
        std::sort(found.begin(), found.end());
        return found;
    }

private:
    static constexpr uint64_t kFree = ~uint64_t(0);  // no pair: clusters have fewer bits
    static constexpr uint64_t kStir = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio

    double& sum_of(uint64_t pair) {
        if (2 * (count_ + 1) > places_.size()) grow();
        auto& place = places_[find(pair)];
        if (place.first == kFree) {
            place = {pair, 0.0};
            ++count_;
        }
        return place.second;
    }

    size_t find(uint64_t pair) const {
        const uint64_t stirred = (pair ^ pair >> 32) * kStir;
        size_t at = static_cast<size_t>(stirred >> shift_);
        while (places_[at].first != pair && places_[at].first != kFree) at = (at + 1) & (places_.size() - 1);
        return at;
    }

    void grow() {
        std::vector<std::pair<uint64_t, double>> before(std::max<size_t>(2 * places_.size(), size_t(1) << kFirst), {kFree, 0.0});
        before.swap(places_);
        shift_ = before.empty() ? 64 - kFirst : shift_ - 1;
        for (const auto& place : before)
            if (place.first != kFree) places_[find(place.first)] = place;
    }

    static constexpr int kFirst = 12;  // bits of the first places' numbers
    std::vector<std::pair<uint64_t, double>> places_;
    size_t count_ = 0;
    int shift_ = 0;
};

}  // namespace fairclust
