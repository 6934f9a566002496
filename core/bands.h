// Pairs of rows whose codes agree in a band of slots. The definition of keys is portable/kl_bands.h;
// tables hold their upper 32 bits.
//
// A pair is a candidate in every band whose keys agree. Popular buckets are cut by one rule: each row
// meets the first `cap` rows of its bucket, in the order of rows. Candidates pass a sketch (slots
// that no band holds, counted equal) and then the exact similarity.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "minmax_rows.h"
#include "parallel.h"
#include "portable/kl_bands.h"

namespace kernelight {

// The upper 32 bits of a key, or all of it.
template <class Key>
Key key_of(uint64_t h) {
    return static_cast<Key>(sizeof(Key) == sizeof(uint64_t) ? h : h >> 32);
}

// keys (n, bands) of codes (n, slots); the bands take the first bands * rows slots.
template <class Slot, class Key>
void band_keys(const Slot* codes, int64_t n_rows, int64_t slots, int64_t bands, int64_t rows,
               Key* keys, int threads) {
    std::vector<uint64_t> starts(static_cast<size_t>(bands));
    for (int64_t band = 0; band < bands; ++band)
        starts[static_cast<size_t>(band)] = kl_band_start(static_cast<uint64_t>(band));
    parallel_for(threads, n_rows, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row)
            for (int64_t band = 0; band < bands; ++band) {
                uint64_t h = starts[static_cast<size_t>(band)];
                const Slot* code = codes + row * slots + band * rows;
                for (int64_t at = 0; at < rows; ++at) h = kl_band_step(h, code[at]);
                keys[row * bands + band] = key_of<Key>(h);
            }
    });
}

// Keys of n rows, (n, bands); rows marked in `empty` have none.
struct BandKeys {
    const uint32_t* keys;
    const bool* empty;  // null where no row is
    int64_t n_rows, n_bands;
};

// The rows of one band by ascending key, then ascending row: key * 2^32 + row.
class BandSort {
   public:
    const std::vector<uint64_t>& operator()(const BandKeys& keys, int64_t band) {
        entries_.clear();
        for (int64_t row = 0; row < keys.n_rows; ++row)
            if (!keys.empty || !keys.empty[row])
                entries_.push_back(uint64_t{keys.keys[row * keys.n_bands + band]} << 32 |
                                   static_cast<uint32_t>(row));
        other_.resize(entries_.size());
        for (int shift = 32; shift < 64; shift += kDigit) {  // stable, so that rows stay ascending
            std::vector<uint32_t> starts((size_t{1} << kDigit) + 1, 0);
            const uint64_t mask = (uint64_t{1} << kDigit) - 1;
            for (const uint64_t entry : entries_) ++starts[((entry >> shift) & mask) + 1];
            for (size_t digit = 1; digit < starts.size(); ++digit)
                starts[digit] += starts[digit - 1];
            for (const uint64_t entry : entries_) other_[starts[(entry >> shift) & mask]++] = entry;
            entries_.swap(other_);
        }
        return entries_;
    }

   private:
    static constexpr int kDigit = 11;
    std::vector<uint64_t> entries_, other_;
};

// body(begin, end) for each bucket of at least two rows in a sorted band.
template <class Body>
void each_bucket(const std::vector<uint64_t>& entries, Body&& body) {
    for (size_t begin = 0; begin < entries.size();) {
        size_t end = begin + 1;
        while (end < entries.size() && entries[end] >> 32 == entries[begin] >> 32) ++end;
        if (end - begin > 1) body(begin, end);
        begin = end;
    }
}

// What one band holds: the largest bucket, pairs of rows that meet, buckets above the cap, rows in
// these.
struct BandCounts {
    int64_t largest, pairs, capped, capped_rows;
};

inline BandCounts band_counts(const std::vector<uint64_t>& entries, int64_t cap) {
    BandCounts counts{entries.empty() ? 0 : 1, 0, 0, 0};
    each_bucket(entries, [&](size_t begin, size_t end) {
        const auto size = static_cast<int64_t>(end - begin), met = std::min(size, cap);
        counts.largest = std::max(counts.largest, size);
        counts.pairs += met * (met - 1) / 2 + (size - met) * cap;
        counts.capped += size > cap;
        counts.capped_rows += size > cap ? size : 0;
    });
    return counts;
}

// Tables of all bands, (bands, n): keys and rows in the order of `BandSort`. Where rows are empty the
// end of a table is filled with row n, which is none, and the largest key. counts is (bands, 4).
inline void band_tables(const BandKeys& keys, int64_t cap, uint32_t* table_keys,
                        uint32_t* table_rows, int64_t* counts, int threads) {
    parallel_for(threads, keys.n_bands, [&](int64_t begin, int64_t end) {
        BandSort sort;
        for (int64_t band = begin; band < end; ++band) {
            const std::vector<uint64_t>& entries = sort(keys, band);
            const BandCounts found = band_counts(entries, cap);
            const int64_t four[] = {found.largest, found.pairs, found.capped, found.capped_rows};
            std::copy_n(four, 4, counts + band * 4);
            if (!table_keys) continue;
            uint32_t *to_keys = table_keys + band * keys.n_rows,
                     *to_rows = table_rows + band * keys.n_rows;
            const auto count = static_cast<int64_t>(entries.size());
            for (int64_t at = 0; at < keys.n_rows; ++at) {
                const uint64_t entry =
                    at < count ? entries[static_cast<size_t>(at)]
                               : uint64_t{UINT32_MAX} << 32 | static_cast<uint64_t>(keys.n_rows);
                to_keys[at] = static_cast<uint32_t>(entry >> 32);
                to_rows[at] = static_cast<uint32_t>(entry);
            }
        }
    });
}

// late, (n, bands): the rows of a bucket that come after the first `cap`, which no later row meets.
inline void band_late_rows(const BandKeys& keys, int64_t cap, bool* late, int threads) {
    std::fill_n(late, keys.n_rows * keys.n_bands, false);
    parallel_for(threads, keys.n_bands, [&](int64_t begin, int64_t end) {
        BandSort sort;
        for (int64_t band = begin; band < end; ++band) {
            const std::vector<uint64_t>& entries = sort(keys, band);
            each_bucket(entries, [&](size_t first, size_t last) {
                for (size_t at = first + static_cast<size_t>(cap); at < last; ++at)
                    late[int64_t{static_cast<uint32_t>(entries[at])} * keys.n_bands + band] = true;
            });
        }
    });
}

// Slots that are compared before rows are: (n, slots) bytes, at least `least` equal ones.
struct Sketch {
    const uint8_t* codes;  // null for none
    int64_t slots;
    int32_t least;
    const SearchLoops* loops;

    void prefetch(int64_t row) const {
        if (codes) __builtin_prefetch(codes + row * slots);
    }
    bool passes(int64_t i, int64_t j) const {
        return !codes || loops->equal_8(codes + i * slots, codes + j * slots, slots) >= least;
    }
};

// Sums of groups of values of nonnegative dense rows, (n, groups), in units and rounded up, as a
// filter: the sum of minima L of two rows is at most that of their group sums, and a similarity of t
// needs L >= t / (1 + t) (|u| + |v|).
struct GroupBounds {
    const uint8_t* units;  // null for none
    int64_t groups;        // a multiple of 64
    double unit;
    const SearchLoops* loops;

    // Whether L can reach `need`; a hair of room for rounding.
    bool reach(int64_t i, int64_t j, double need) const {
        return !units || static_cast<double>(
                             loops->minima_8(units + i * groups, units + j * groups, groups)) *
                                 unit >=
                             need * (1 - 1e-5);
    }
};

// What became of the candidates of some bands.
struct JoinWork {
    int64_t met = 0, passed = 0, verified = 0;  // passed: the sketch, once
};

// All verified pairs (i < j) of bands [begin, end), each in the first band in which the two meet.
// They meet where their keys agree, unless row i is a late one (`band_late_rows`; null where no
// bucket is above the cap). Without `sums`, those of the rows, no pair is passed over for them.
template <class Pairs>
PairColumns band_join(const BandKeys& keys, int64_t begin, int64_t end, const bool* late,
                      int64_t cap, const Sketch& sketch, const double* sums,
                      const GroupBounds& groups, double threshold, const Pairs& similarity,
                      int threads, JoinWork* work) {
    constexpr size_t kBlock =
        64;  // rows of a bucket lie anywhere in memory: two blocks fit a cache
    const double shared_part = threshold / (1 + threshold);
    std::vector<JoinWork> works(static_cast<size_t>(end - begin));
    PairColumns found = collected(threads, end - begin, [&](int64_t piece, PairColumns& columns) {
        const int64_t band = begin + piece;
        JoinWork& mine = works[static_cast<size_t>(piece)];
        BandSort sort;
        const std::vector<uint64_t>& entries = sort(keys, band);
        const auto row_at = [&](size_t at) {
            return static_cast<int64_t>(static_cast<uint32_t>(entries[at]));
        };
        const auto met_before = [&](int64_t i, int64_t j) {
            const uint32_t *i_keys = keys.keys + i * keys.n_bands,
                           *j_keys = keys.keys + j * keys.n_bands;
            uint32_t met = 0;  // all bands are looked at, several in one instruction
            if (late) {
                const bool* i_late = late + i * keys.n_bands;
                for (int64_t earlier = 0; earlier < band; ++earlier)
                    met |=
                        uint32_t{i_keys[earlier] == j_keys[earlier]} & uint32_t{!i_late[earlier]};
            } else {
                for (int64_t earlier = 0; earlier < band; ++earlier)
                    met |= uint32_t{i_keys[earlier] == j_keys[earlier]};
            }
            return met != 0;
        };
        // Row j and some rows i of its bucket. Filters in the order of what they stop for their
        // price; each goes over all rows that are left and keeps those that pass, without a branch
        // that a processor would have to guess.
        int64_t left[kBlock];
        const auto meet = [&](int64_t j, size_t from, size_t to) {
            size_t count = 0;
            for (size_t p = from; p < to; ++p) {
                const int64_t i = row_at(p);
                left[count] = i;
                count += sketch.passes(i, j);
            }
            const auto keep = [&](const auto& passes) {
                size_t kept = 0;
                for (size_t at = 0; at < count; ++at) {
                    const int64_t i = left[at];
                    left[kept] = i;
                    kept += passes(i);
                }
                count = kept;
            };
            const auto need = [&](int64_t i) {  // with room for rounding
                return (1 - 1e-5) * shared_part * (sums[i] + sums[j]);
            };
            // L is at most the lesser sum
            if (sums) keep([&](int64_t i) { return std::min(sums[i], sums[j]) >= need(i); });
            keep([&](int64_t i) { return !met_before(i, j); });
            mine.passed += static_cast<int64_t>(count);
            if (sums) keep([&](int64_t i) { return groups.reach(i, j, need(i)); });
            mine.verified += static_cast<int64_t>(count);
            for (size_t at = 0; at < count; ++at) {
                const double value = similarity(left[at], j);
                if (value >= threshold) columns.add(left[at], j, value);
            }
        };
        each_bucket(entries, [&](size_t first, size_t last) {
            const size_t met = std::min(last, first + static_cast<size_t>(cap));
            for (size_t to = first; to < last; to += kBlock)
                for (size_t from = first; from < std::min(to + kBlock, met); from += kBlock)
                    for (size_t q = to; q < std::min(to + kBlock, last); ++q) {
                        const size_t end = std::min({q, from + kBlock, met});
                        if (end <= from) continue;
                        mine.met += static_cast<int64_t>(end - from);
                        meet(row_at(q), from, end);
                    }
        });
    });
    for (const JoinWork& one : works)
        work->met += one.met, work->passed += one.passed, work->verified += one.verified;
    return found;
}

// Candidates of queries: for each, the rows that agree with it in some band, ascending, each once.
// tables are those of `band_tables`; of a bucket the first `cap` rows count. The candidates of query
// q are rows[starts[q]] to rows[starts[q + 1]].
struct BandMatches {
    std::vector<int64_t> starts, rows;
};

inline BandMatches band_matches(const uint32_t* table_keys, const uint32_t* table_rows,
                                int64_t n_rows, const BandKeys& queries, int64_t cap, int threads) {
    std::vector<std::vector<int64_t>> found(static_cast<size_t>(queries.n_rows));
    parallel_for(threads, queries.n_rows, [&](int64_t begin, int64_t end) {
        for (int64_t query = begin; query < end; ++query) {
            if (queries.empty && queries.empty[query]) continue;
            std::vector<int64_t>& rows = found[static_cast<size_t>(query)];
            for (int64_t band = 0; band < queries.n_bands; ++band) {
                const uint32_t *first = table_keys + band * n_rows, *last = first + n_rows;
                const uint32_t key = queries.keys[query * queries.n_bands + band];
                const uint32_t* at = std::lower_bound(first, last, key);
                for (int64_t met = 0; met < cap && at < last && *at == key; ++met, ++at) {
                    const int64_t row = table_rows[band * n_rows + (at - first)];
                    if (row < n_rows) rows.push_back(row);
                }
            }
            std::sort(rows.begin(), rows.end());
            rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
        }
    });
    BandMatches matches;
    matches.starts.push_back(0);
    for (const std::vector<int64_t>& rows : found) {
        matches.rows.insert(matches.rows.end(), rows.begin(), rows.end());
        matches.starts.push_back(static_cast<int64_t>(matches.rows.size()));
    }
    return matches;
}

}  // namespace kernelight
