// The only file that starts threads.
//
// parallel_for(threads, count, body) calls body(begin, end) on contiguous chunks that cover [0, count) once. Threads
// claim the next chunk when they are done with one, so that a core that is busy elsewhere holds up nobody. Which thread
// runs which chunk never changes a result: every body writes only to the places its own indices own. The first
// exception is rethrown in the caller after all threads have ended; chunks not yet claimed are then left out.
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

}  // namespace kernelight
