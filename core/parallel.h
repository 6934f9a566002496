// The only file that starts threads.
//
// parallel_for(threads, count, body) calls body(begin, end) on contiguous chunks that cover [0,
// count) once. Threads claim the next chunk when they are done with one, so that a core that is
// busy elsewhere holds up nobody. Which thread runs which chunk never changes a result: every body
// writes only to the places its own indices own. The first exception is rethrown in the caller
// after all threads have ended; chunks not yet claimed are then left out.
//
// run_team(threads, body) is for work in many short steps that wait for each other: body(member)
// runs once on each thread of a team, and member.wait() returns when every member has come that
// far. Bodies must not throw: the others would wait for ever.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace kernelight {

constexpr int64_t kChunksPerThread = 8;

template <class Body>
void parallel_for(int threads, int64_t count, Body&& body) {
    if (count <= 0) return;
    const int64_t workers = std::max<int64_t>(1, std::min<int64_t>(threads, count));
    if (workers == 1) {
        body(int64_t{0}, count);
        return;
    }
    const int64_t chunks = std::min(count, workers * kChunksPerThread);
    std::atomic<int64_t> next{0};
    std::mutex lock;
    std::exception_ptr error;
    auto run = [&] {
        for (int64_t chunk; (chunk = next.fetch_add(1)) < chunks;) {
            try {
                body(count * chunk / chunks, count * (chunk + 1) / chunks);
            } catch (...) {
                const std::lock_guard<std::mutex> hold(lock);
                if (!error) error = std::current_exception();
                next = chunks;
            }
        }
    };
    std::vector<std::thread> pool;
    pool.reserve(workers - 1);
    try {
        while (static_cast<int64_t>(pool.size()) < workers - 1) pool.emplace_back(run);
    } catch (...) {
        // The system refuses more threads: those that run do all the chunks.
    }
    run();
    for (auto& thread : pool) thread.join();
    if (error) std::rethrow_exception(error);
}

// All members wait for the last. Waiting is spinning, for steps of microseconds; after a while, as
// on a machine with more threads than cores, it lets others run.
class Barrier {
   public:
    void open(int members) { members_ = members; }
    void wait() {
        const int round = round_.load(std::memory_order_relaxed);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members_) {
            arrived_.store(0, std::memory_order_relaxed);
            round_.store(round + 1, std::memory_order_release);
            return;
        }
        for (int spins = 0; round_.load(std::memory_order_acquire) == round; ++spins) {
            if (spins > kSpins) std::this_thread::yield();
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        }
    }

   private:
    static constexpr int kSpins = 2000;
    int members_ = 1;
    alignas(64) std::atomic<int> arrived_{0};
    alignas(64) std::atomic<int> round_{0};
};

struct Member {
    int number, count;
    Barrier* barrier;
    void wait() const {
        if (count > 1) barrier->wait();
    }
};

template <class Body>
void run_team(int threads, Body&& body) {
    if (threads <= 1) {
        body(Member{0, 1, nullptr});
        return;
    }
    Barrier barrier;
    std::atomic<int> count{0};  // 0: not known yet how many threads the system gives
    std::vector<std::thread> pool;
    pool.reserve(threads - 1);
    auto join = [&](int number) {
        while (count.load(std::memory_order_acquire) == 0) std::this_thread::yield();
        body(Member{number, count.load(std::memory_order_relaxed), &barrier});
    };
    try {
        for (int number = 1; number < threads; ++number) pool.emplace_back(join, number);
    } catch (...) {
        // The system refuses more threads: the team is those that run.
    }
    const int members = static_cast<int>(pool.size()) + 1;
    barrier.open(members);
    count.store(members, std::memory_order_release);
    body(Member{0, members, &barrier});
    for (auto& thread : pool) thread.join();
}

}  // namespace kernelight
