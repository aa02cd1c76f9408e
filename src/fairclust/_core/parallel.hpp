// Chunks over threads, with Ctrl-C heard. Which thread takes which chunk varies; what a chunk writes does not.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace fairclust {

// Runs work(chunk, worker) for every chunk. `interrupted` is asked by the calling thread about ten times a second; when
// it answers true, chunks not yet begun are dropped and the function returns false.
inline bool run_chunks(int64_t n_chunks, int n_threads, const std::function<void(int64_t, int)>& work,
                       const std::function<bool()>& interrupted) {
    std::atomic<int64_t> next{0};
    std::atomic<bool> stop{false};
    if (n_threads > n_chunks) n_threads = static_cast<int>(n_chunks);
    auto drain = [&](int worker, bool listens) {
        auto asked = std::chrono::steady_clock::now();
        for (;;) {
            const int64_t chunk = next.fetch_add(1, std::memory_order_relaxed);
            if (chunk >= n_chunks || stop.load(std::memory_order_relaxed)) return;
            work(chunk, worker);
            if (!listens) continue;
            const auto now = std::chrono::steady_clock::now();
            if (now - asked < std::chrono::milliseconds(100)) continue;
            asked = now;
            if (interrupted()) stop.store(true);
        }
    };
    std::vector<std::thread> helpers;
    for (int t = 1; t < n_threads; ++t) helpers.emplace_back(drain, t, false);
    drain(0, true);
    for (auto& helper : helpers) helper.join();
    return !stop.load();
}

}  // namespace fairclust
