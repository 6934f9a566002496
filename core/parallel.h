// The only file that starts threads.
//
// parallel_for(threads, count, body) calls body(begin, end) on contiguous static chunks of [0, count).
// Which thread runs which chunk never changes a result: every body writes only to the places its own
// indices own. The first exception of any chunk is rethrown in the caller after all threads have ended.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace kernelight {

template <class Body>
void parallel_for(int threads, int64_t count, Body&& body) {
    if (count <= 0) return;
    const int64_t workers = std::max<int64_t>(1, std::min<int64_t>(threads, count));
    if (workers == 1) {
        body(int64_t{0}, count);
        return;
    }
    std::vector<std::exception_ptr> errors(workers);
    auto run = [&](int64_t worker) {
        try {
            body(count * worker / workers, count * (worker + 1) / workers);
        } catch (...) {
            errors[worker] = std::current_exception();
        }
    };
    std::vector<std::thread> pool;
    pool.reserve(workers - 1);
    int64_t started = 1;
    try {
        for (; started < workers; ++started) pool.emplace_back(run, started);
    } catch (...) {
        // The system refuses more threads: the caller does the chunks that have no thread.
    }
    run(0);
    for (int64_t worker = started; worker < workers; ++worker) run(worker);
    for (auto& thread : pool) thread.join();
    for (auto& error : errors)
        if (error) std::rethrow_exception(error);
}

}  // namespace kernelight
