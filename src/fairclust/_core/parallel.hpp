// Chunks over threads, with Ctrl-C heard. Which thread takes which chunk varies; what a chunk writes does not.
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace fairclust {

// Threads that stay: a sweep over a small data set takes less time than starting one. They listen for a moment after
// each job, then sleep. The pool is never destroyed, so that nothing has to be joined when Python exits.
class Pool {
    static constexpr int kListens = 16000;  // about 0.2 ms: longer than Python takes between two kernels
    static constexpr int kWaits = 1600;     // a tenth of it: a chunk that is under way ends sooner, unless its thread lost its turn
    // Bits of the gate: the number of the round is above these, whether it is open, how many are inside.
    static constexpr int kRound = 32;
    static constexpr uint64_t kOpen = uint64_t{1} << 31, kInside = kOpen - 1;

public:
    // The process's pool; a forked child gets a new one, since threads do not survive a fork.
    static Pool& instance() {
        static std::once_flag once;
        std::call_once(once, [] {
            current() = new Pool;
            pthread_atfork(nullptr, nullptr, [] { current() = new Pool; });
        });
        return *current();
    }

    // Runs job(worker) on the caller (worker 0) and on up to n_threads - 1 others; returns when all that began are done.
    // Who does not come in time is not waited for: on a busy machine, a thread may get its turn long after the caller has
    // done everything. So a job must be done when one of them returns. What any of them throws is thrown here, the first
    // of several. A second caller at the same time works alone.
    void run(int n_threads, const std::function<void(int)>& job) {
        std::unique_lock<std::mutex> turn(busy_, std::try_to_lock);
        if (n_threads <= 1 || !turn.owns_lock()) return job(0);
        n_threads = std::min(n_threads, 1 + hire(n_threads - 1));
        {
            std::lock_guard<std::mutex> lock(mutex_);
            job_ = &job;
            n_wanted_ = n_threads - 1;
            gate_.store(((gate_.load() >> kRound) + 1) << kRound | kOpen);
        }
        wake_.notify_all();
        work(job, 0);
        gate_.fetch_and(~kOpen);
        for (int spin = 0; gate_.load() & kInside; ++spin) spin < kWaits ? pause() : std::this_thread::yield();
        if (const std::exception_ptr failure = std::exchange(failure_, nullptr)) std::rethrow_exception(failure);
    }

private:
    static Pool*& current() {
        static Pool* pool = nullptr;
        return pool;
    }

    // Starts threads until there are so many; returns how many there are.
    int hire(int wanted) {
        try {
            for (; n_workers_ < wanted; ++n_workers_) std::thread(&Pool::serve, this, n_workers_ + 1).detach();
        } catch (const std::system_error&) {
        }
        return n_workers_;
    }

    void serve(int worker) {
        uint64_t seen = 0;
        const auto is_new = [&] { return gate_.load(std::memory_order_acquire) >> kRound != seen; };
        for (;;) {
            for (int spin = 0; spin < kListens && !is_new(); ++spin) pause();
            if (!is_new()) {
                std::unique_lock<std::mutex> lock(mutex_);
                wake_.wait(lock, is_new);
            }
            seen = gate_.load() >> kRound;
            if (!enter(seen)) continue;
            if (worker <= n_wanted_) work(*job_, worker);  // inside, the round and what is said of it stay
            gate_.fetch_sub(1);
        }
    }

    // Counts the caller among those inside, unless the round is over.
    bool enter(uint64_t round) {
        uint64_t now = gate_.load();
        while (now >> kRound == round && now & kOpen)
            if (gate_.compare_exchange_weak(now, now + 1)) return true;
        return false;
    }

    // An exception must not leave a thread (the process would end), nor the caller while others work on its job.
    void work(const std::function<void(int)>& job, int worker) {
        try {
            job(worker);
        } catch (...) {
            std::lock_guard<std::mutex> lock(mutex_);
            if (!failure_) failure_ = std::current_exception();
        }
    }

    static void pause() {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }

    std::mutex busy_, mutex_;
    std::condition_variable wake_;
    std::atomic<uint64_t> gate_{0};
    const std::function<void(int)>* job_ = nullptr;
    std::exception_ptr failure_;
    int n_wanted_ = 0;
    int n_workers_ = 0;
};

// Runs work(chunk, worker) for every chunk. `interrupted` is asked by the calling thread about ten times a second; when
// it answers true, chunks not yet begun are dropped and the function returns false. So they are when a chunk throws.
inline bool run_chunks(int64_t n_chunks, int n_threads, const std::function<void(int64_t, int)>& work,
                       const std::function<bool()>& interrupted) {
    std::atomic<int64_t> next{0};
    std::atomic<bool> stop{false};
    if (n_threads > n_chunks) n_threads = static_cast<int>(n_chunks);
    Pool::instance().run(n_threads, [&](int worker) {
        auto asked = std::chrono::steady_clock::now();
        for (;;) {
            const int64_t chunk = next.fetch_add(1, std::memory_order_relaxed);
            if (chunk >= n_chunks || stop.load(std::memory_order_relaxed)) return;
            try {
                work(chunk, worker);
            } catch (...) {
                stop.store(true);
                throw;
            }
            if (worker != 0) continue;
            const auto now = std::chrono::steady_clock::now();
            if (now - asked < std::chrono::milliseconds(100)) continue;
            asked = now;
            if (interrupted()) stop.store(true);
        }
    });
    return !stop.load();
}

}  // namespace fairclust
