// Single points change cluster, one at a time, and the means follow.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "checks.hpp"

namespace fairclust {

template <class T>
struct MoveArgs {
    const T* X;                // IN (n_rows, n_features)
    const int32_t* rows;       // IN (n_found,) rows of X
    const int32_t* positions;  // IN (n_found,) positions of their labels
    const int32_t* cells;      // IN (n_found,)
    int32_t* labels;           // IN/OUT (n_labels,)
    double* sums;              // IN/OUT (n_clusters, n_features) of the rows of X by label
    double* sizes;             // IN/OUT (n_clusters,)
    const double* enter;       // IN (n_clusters, n_cells) change of the penalty when a point of the cell enters
    const double* leave;       // IN (n_clusters, n_cells) ... leaves
    int64_t n_found, n_rows, n_labels, n_clusters, n_features, n_cells;
};

// The cluster that a point is in, after a look at everything that one move indexes by.
inline int64_t require_move(int64_t row, int64_t n_rows, int64_t position, int64_t n_labels, int64_t cell,
                            int64_t n_cells, const int32_t* labels, int64_t n_clusters) {
    require(row >= 0 && row < n_rows, "rows", "must hold rows of X");
    require(position >= 0 && position < n_labels, "positions", "must hold positions of labels");
    require(cell >= 0 && cell < n_cells, "cells", "must hold columns of enter");
    const int64_t source = labels[position];
    require(source >= 0 && source < n_clusters, "labels", "must hold rows of sums");
    return source;
}

// Squared distance from a mean, or, as soon as it is known to be at least `enough`, a part of it that is.
template <class T> double distance_up_to(const double* mean, const T* x, int64_t n_features, double enough) {
    constexpr int64_t kTogether = 8;  // features between two looks; sums that take turns do not wait for each other
    double sum[4] = {};
    int64_t m = 0;
    for (; m + kTogether <= n_features; m += kTogether) {
        for (int64_t i = 0; i < kTogether; ++i) {
            const double difference = mean[m + i] - static_cast<double>(x[m + i]);
            sum[i % 4] += difference * difference;
        }
        const double so_far = (sum[0] + sum[1]) + (sum[2] + sum[3]);
        if (so_far >= enough) return so_far;
    }
    for (; m < n_features; ++m) {
        const double difference = mean[m] - static_cast<double>(x[m]);
        sum[m % 4] += difference * difference;
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// Makes those of the found moves that still pay by more than `least` when their turn comes; returns how many.
// `moved(cell, source, destination)` brings enter and leave up to date. It is Python code and may change any array, so
// what indexes one is looked at when it is used.
template <class T>
int64_t make_moves(const MoveArgs<T>& a, double least, const std::function<void(int64_t, int64_t, int64_t)>& moved) {
    const int64_t K = a.n_clusters, M = a.n_features, J = a.n_cells;
    std::vector<double> means(static_cast<size_t>(K * M));
    const auto update = [&](int64_t k) {
        for (int64_t m = 0; m < M; ++m) means[k * M + m] = a.sums[k * M + m] / a.sizes[k];
    };
    for (int64_t k = 0; k < K; ++k) update(k);
    int64_t n_moves = 0;
    for (int64_t i = 0; i < a.n_found; ++i) {
        const int64_t row = a.rows[i], position = a.positions[i], j = a.cells[i];
        const int64_t source = require_move(row, a.n_rows, position, a.n_labels, j, J, a.labels, K);
        const T* x = a.X + row * M;
        double* n = a.sizes;
        if (n[source] <= 1) continue;
        const double own = distance_up_to(means.data() + source * M, x, M, INFINITY);
        double best = own * n[source] / (n[source] - 1) - a.leave[source * J + j] - least;  // to beat
        int64_t destination = -1;
        for (int64_t k = 0; k < K; ++k) {
            const double share = n[k] / (n[k] + 1), enter = a.enter[k * J + j];
            if (k == source || !(enter < best)) continue;
            // A little beyond what would do: so that rounding does not tell.
            const double enough = (best - enter) / share * (1 + 1e-12);
            const double value = distance_up_to(means.data() + k * M, x, M, enough) * share + enter;
            if (value < best) best = value, destination = k;
        }
        if (destination < 0) continue;
        for (int64_t m = 0; m < M; ++m) {
            a.sums[source * M + m] -= static_cast<double>(x[m]);
            a.sums[destination * M + m] += static_cast<double>(x[m]);
        }
        n[source] -= 1;
        n[destination] += 1;
        update(source), update(destination);
        a.labels[position] = static_cast<int32_t>(destination);
        moved(j, source, destination);
        ++n_moves;
    }
    return n_moves;
}

}  // namespace fairclust
