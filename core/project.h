// Projections of many rows: blocked and threaded, the same bits as core/portable/kl_project.h a row
// at a time.
//
// A row enters as (float)((x_i * first) * second), where the two factors are those of a RowRule;
// zeros change no sum, so dense and sparse rows give the same bits. Rows are taken in groups, so
// that what is drawn once serves several of them.
//
// Long, because dense and structured projections share how rows enter and how features are read.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "parallel.h"
#include "portable/kl_project.h"
#include "rows.h"
#include "simd/project_loops.h"

namespace kernelight {

// What a row is multiplied by before it is projected.
//   fixed         one number for all rows (1 / sigma)
//   unit          1 / its length: divided by a power of two near its largest value first, so that
//                 no square overflows or vanishes
//   power_of_two  only that power of two: enough where nothing but signs is read, and exact
struct RowRule {
    enum Kind : int { fixed = 0, unit = 1, power_of_two = 2 };
    Kind kind;
    double factor;
};

struct RowFactors {
    double first, second;
    bool empty;  // a row of zeros, unless the rule is fixed: then it is a point like any
};

inline double sum_of_lanes(const double* lanes) {
    double sum = 0.0;
    for (int64_t lane = 0; lane < kSumLanes; ++lane) sum += lanes[lane];
    return sum;
}

// The largest absolute value of a row, the sum of its squares after a factor (by column modulo
// kSumLanes, then the lanes in order), and the row itself as it enters a projection: (float)((x_i *
// first) * second), zeros left out or written.
template <class Value>
struct RowEntry {
    const ProjectLoops& loops;
    double peak(const DenseRows<Value>& rows, int64_t row) const {
        const Value* x = rows.values + row * rows.n_cols;
        if constexpr (sizeof(Value) == 4)
            return static_cast<double>(
                kl_float_of_bits(static_cast<uint32_t>(loops.peak(x, rows.n_cols))));
        else return kl_double_of_bits(loops.peak_double(x, rows.n_cols));
    }
    double squares(const DenseRows<Value>& rows, int64_t row, double factor) const {
        const Value* x = rows.values + row * rows.n_cols;
        double lanes[kSumLanes];
        if constexpr (sizeof(Value) == 4) loops.squares(x, rows.n_cols, factor, lanes);
        else loops.squares_double(x, rows.n_cols, factor, lanes);
        return sum_of_lanes(lanes);
    }
    void enter(const DenseRows<Value>& rows, int64_t row, double first, double second,
               float* to) const {
        const Value* x = rows.values + row * rows.n_cols;
        if constexpr (sizeof(Value) == 4) loops.enter(x, rows.n_cols, first, second, to);
        else loops.enter_double(x, rows.n_cols, first, second, to);
    }
    template <class Index>
    double peak(const CsrRows<Value, Index>& rows, int64_t row) const {
        double most = 0.0;
        rows.each(row, [&](int64_t, double value) { most = std::max(most, std::fabs(value)); });
        return most;
    }
    template <class Index>
    double squares(const CsrRows<Value, Index>& rows, int64_t row, double factor) const {
        double lanes[kSumLanes] = {};
        rows.each(row, [&](int64_t column, double value) {
            lanes[column % kSumLanes] += (value * factor) * (value * factor);
        });
        return sum_of_lanes(lanes);
    }
    // `to` holds zeros
    template <class Index>
    void enter(const CsrRows<Value, Index>& rows, int64_t row, double first, double second,
               float* to) const {
        rows.each(row, [&](int64_t column, double value) {
            to[column] = static_cast<float>(value * first * second);
        });
    }
};

template <class Value>
RowEntry<Value> entry_of(const DenseRows<Value>&, const ProjectLoops& loops) {
    return {loops};
}
template <class Value, class Index>
RowEntry<Value> entry_of(const CsrRows<Value, Index>&, const ProjectLoops& loops) {
    return {loops};
}

template <class Rows>
RowFactors row_factors(const Rows& rows, int64_t row, RowRule rule, const ProjectLoops& loops) {
    if (rule.kind == RowRule::fixed) return {rule.factor, 1.0, false};
    const auto entry = entry_of(rows, loops);
    const double peak = entry.peak(rows, row);
    if (peak == 0.0) return {0.0, 1.0, true};
    const double scale = std::ldexp(1.0, std::min(-std::ilogb(peak), 1023));
    if (rule.kind == RowRule::power_of_two) return {scale, 1.0, false};
    return {scale, 1.0 / kl_sqrt(entry.squares(rows, row, scale)), false};
}

// --- Structured projections ----------------------------------------------------------------------

// The numbers of all blocks of a structured projection of `width` (a power of two) and n_outputs
// outputs.
//   three HD   turns = 3, diagonal[block][turn][width] signs, no places
//   fastfood   turns = 2, diagonal[block][0] signs, [1] normals; places[block][width] the
//              permutation between them
struct Structure {
    int64_t width, n_outputs;
    int turns;
    const float* diagonal;
    const int32_t* places;

    int64_t n_blocks() const { return (n_outputs + width - 1) / width; }
};

inline void fill_three_hd(uint64_t seed, int64_t width, int64_t n_blocks, float* diagonal,
                          int threads) {
    parallel_for(threads, n_blocks * 3, [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end; ++at) {
            const uint64_t key =
                kl_hadamard_key(seed, static_cast<uint64_t>(at / 3), static_cast<uint64_t>(at % 3));
            for (int64_t i = 0; i < width; ++i)
                diagonal[at * width + i] = kl_sign(key, static_cast<uint64_t>(i));
        }
    });
}

inline void fill_lengths(uint64_t seed, int64_t width, int64_t n_outputs, double factor,
                         float* lengths, int threads) {
    parallel_for(threads, n_outputs, [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end; ++at)
            lengths[at] = kl_hadamard_length(seed, static_cast<uint64_t>(at),
                                             static_cast<uint64_t>(width), factor);
    });
}

inline void fill_fastfood(uint64_t seed, int64_t width, int64_t n_outputs, double factor,
                          float* diagonal, int32_t* places, float* lengths, int threads) {
    parallel_for(threads, (n_outputs + width - 1) / width, [&](int64_t begin, int64_t end) {
        for (int64_t block = begin; block < end; ++block) {
            const uint64_t b = static_cast<uint64_t>(block), size = static_cast<uint64_t>(width);
            float *signs = diagonal + 2 * block * width, *normals = signs + width;
            for (uint64_t i = 0; i < size; ++i) {
                signs[i] = kl_sign(kl_fastfood_key(seed, b, 0), i);
                normals[i] = static_cast<float>(kl_normal(kl_fastfood_key(seed, b, 2), i));
            }
            kl_permutation(kl_fastfood_key(seed, b, 1), static_cast<uint32_t>(width),
                           places + block * width);
            const double length = kl_length_of(normals, size);
            const int64_t here = std::min(width, n_outputs - block * width);
            for (int64_t at = 0; at < here; ++at)
                lengths[block * width + at] =
                    kl_fastfood_length(seed, b, static_cast<uint64_t>(at), size, length, factor);
        }
    });
}

inline void fill_words(uint64_t seed, uint64_t stream, uint64_t* out, int64_t count) {
    for (int64_t at = 0; at < count; ++at)
        out[at] = kl_child(kl_stream(seed, stream), static_cast<uint64_t>(at));
}

// A number for each output: phases, thresholds or ties.
inline void fill_readout(uint64_t seed, float (*draw)(uint64_t, uint64_t), float* out,
                         int64_t count) {
    for (int64_t at = 0; at < count; ++at) out[at] = draw(seed, static_cast<uint64_t>(at));
}

// Scratch that starts where a cache line does: vectors that straddle two lines cost twice.
class AlignedFloats {
   public:
    explicit AlignedFloats(int64_t count) : room_(static_cast<size_t>(count) + kLine) {
        const auto address = reinterpret_cast<uintptr_t>(room_.data());
        start_ = room_.data() + (kLine - address / sizeof(float) % kLine) % kLine;
    }
    float* data() const { return start_; }

   private:
    static constexpr size_t kLine = 64 / sizeof(float);
    std::vector<float> room_;
    float* start_;
};

// reader.read(row, first, y, count, turn) takes the projections first .. first + count of a row,
// turn the sign of its first number that is not 0; reader.close(row, empty) ends it.
template <class Rows, class Reader>
void project_structured(const Rows& rows, RowRule rule, const Structure& structure,
                        const Reader& reader, const ProjectLoops& loops, int threads) {
    const int64_t width = structure.width;
    const int64_t group =
        std::clamp<int64_t>((int64_t{1} << 15) / width, 1, 16);  // some 128 KB of rows
    parallel_for(threads, (rows.n_rows + group - 1) / group, [&](int64_t begin, int64_t end) {
        AlignedFloats entered(group * width), work(2 * width);
        for (int64_t at = begin; at < end; ++at) {
            const int64_t first_row = at * group, n_rows = std::min(group, rows.n_rows - first_row);
            bool empty[16];
            float turn[16];
            std::fill(entered.data(), entered.data() + group * width, 0.0f);
            for (int64_t r = 0; r < n_rows; ++r) {
                const RowFactors by = row_factors(rows, first_row + r, rule, loops);
                float* to = entered.data() + r * width;
                entry_of(rows, loops).enter(rows, first_row + r, by.first, by.second, to);
                empty[r] = by.empty;
                turn[r] = *std::find_if(to, to + width - 1,
                                        [](float value) { return value != 0.0f; }) < 0.0f
                              ? -1.0f
                              : 1.0f;
            }
            for (int64_t block = 0; block < structure.n_blocks(); ++block) {
                const int64_t first = block * width,
                              count = std::min(width, structure.n_outputs - first);
                const float* diagonal = structure.diagonal + block * structure.turns * width;
                for (int64_t r = 0; r < n_rows; ++r) {
                    if (empty[r]) continue;
                    float *x = work.data(), *y = x;
                    loops.hadamard(entered.data() + r * width, x, diagonal, width);
                    if (structure.places) {
                        y = x + width;
                        loops.gather(x, structure.places + first, width, y);
                    }
                    for (int turn = 1; turn < structure.turns; ++turn)
                        loops.hadamard(y, y, diagonal + turn * width, width);
                    reader.read(first_row + r, first, y, count, turn[r]);
                }
            }
            for (int64_t r = 0; r < n_rows; ++r) reader.close(first_row + r, empty[r]);
        }
    });
}

// --- Dense projections ---------------------------------------------------------------------------

// tables[tile][feature][kTile] of the features `ids`, outputs first_output .. first_output + tiles
// * kTile.
inline void fill_dense(uint64_t seed, bool cauchy, const uint64_t* ids, int64_t n_features,
                       uint64_t first_output, int64_t n_tiles, float* tables,
                       const ProjectLoops& loops, int threads) {
    const uint64_t stream = kl_stream(seed, cauchy ? KL_STREAM_CAUCHY : KL_STREAM_GAUSSIAN);
    const auto fill = cauchy ? loops.fill_cauchy : loops.fill_gaussian;
    parallel_for(threads, n_features, [&](int64_t begin, int64_t end) {
        for (int64_t feature = begin; feature < end; ++feature)
            for (int64_t tile = 0; tile < n_tiles; ++tile)
                fill(kl_child(stream, ids[feature]),
                     first_output + static_cast<uint64_t>(tile * kTile),
                     tables + (tile * n_features + feature) * kTile);
    });
}

// The same for one block of orthogonal outputs, n_features of them (the last block is cut), of all
// tables. Rows become orthogonal to those before them in groups, so that those are read once for a
// group; lengths are those of kl_hadamard_length.
inline void fill_orthogonal(uint64_t seed, int64_t n_features, int64_t n_outputs, int64_t block,
                            float* tables, const ProjectLoops& loops, int threads) {
    constexpr int64_t kGroup = 16, kTogether = 4;
    const uint64_t stream = kl_stream(seed, KL_STREAM_GAUSSIAN),
                   lengths = kl_stream(seed, KL_STREAM_LENGTH);
    const int64_t first = block * n_features, count = std::min(n_features, n_outputs - first);
    std::vector<double> rows(static_cast<size_t>(n_features * count));
    parallel_for(threads, n_features, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const uint64_t key = kl_child(stream, static_cast<uint64_t>(i));
            for (int64_t at = 0; at < count; ++at)
                rows[static_cast<size_t>(at * n_features + i)] =
                    kl_normal(key, static_cast<uint64_t>(first + at));
        }
    });
    const uint64_t width = static_cast<uint64_t>(n_features);
    for (int64_t start = 0; start < count; start += kGroup) {
        const int64_t group = std::min(kGroup, count - start);
        double* mine = rows.data() + start * n_features;
        // Small groups are not worth a thread.
        parallel_for(
            start * n_features > (1 << 18) ? threads : 1, (group + kTogether - 1) / kTogether,
            [&](int64_t begin, int64_t end) {
                const int64_t from = begin * kTogether, to = std::min(end * kTogether, group);
                loops.take_off(mine + from * n_features, to - from, rows.data(), start, width);
            });
        loops.orthonormalize(mine, static_cast<uint64_t>(group), width);
    }
    parallel_for(threads, count, [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end; ++at) {
            const int64_t output = first + at, tile = output / kTile;
            const double length = kl_chi(kl_child(lengths, static_cast<uint64_t>(output)), width);
            for (int64_t i = 0; i < n_features; ++i)
                tables[(tile * n_features + i) * kTile + output % kTile] =
                    static_cast<float>(rows[static_cast<size_t>(at * n_features + i)] * length);
        }
    });
}

template <class Real>
struct AddLoops;
template <>
struct AddLoops<float> {
    const ProjectLoops& loops;
    void dense(const float* x, int64_t stride, int64_t rows, const float* t, int64_t n, float* y,
               int64_t y_stride) const {
        loops.add_dense(x, stride, rows, t, n, y, y_stride);
    }
    void sparse(const int32_t* f, const float* x, int64_t n, const float* t, float* y) const {
        loops.add_sparse(f, x, n, t, y);
    }
};
template <>
struct AddLoops<double> {
    const ProjectLoops& loops;
    void dense(const double* x, int64_t stride, int64_t rows, const float* t, int64_t n, double* y,
               int64_t y_stride) const {
        loops.add_dense_double(x, stride, rows, t, n, y, y_stride);
    }
    void sparse(const int32_t* f, const double* x, int64_t n, const float* t, double* y) const {
        loops.add_sparse_double(f, x, n, t, y);
    }
};

// Features first_feature .. first_feature + n_features of the rows, as columns of the tables; y is
// (rows, n_tiles * kTile) and is added to, so that features may come in several calls: the order of
// every sum is that of the features.
struct DenseTables {
    const float* tables;
    int64_t first_feature, n_features, n_tiles;
};

constexpr int64_t kDenseGroup = 48, kLargeGroup = 240;

template <class Real, class Value>
void project_dense(const DenseRows<Value>& rows, RowRule rule, const DenseTables& in, Real* y,
                   const AddLoops<Real>& add, int threads) {
    const int64_t stride = in.n_tiles * kTile, n = in.n_features;
    parallel_for(
        threads, (rows.n_rows + kDenseGroup - 1) / kDenseGroup, [&](int64_t begin, int64_t end) {
            std::vector<Real> entered(static_cast<size_t>(kDenseGroup * n));
            for (int64_t at = begin; at < end; ++at) {
                const int64_t first = at * kDenseGroup,
                              count = std::min(kDenseGroup, rows.n_rows - first);
                for (int64_t r = 0; r < count; ++r) {
                    const RowFactors by = row_factors(rows, first + r, rule, add.loops);
                    const Value* from = rows.values + (first + r) * rows.n_cols + in.first_feature;
                    for (int64_t i = 0; i < n; ++i)
                        entered[static_cast<size_t>(r * n + i)] =
                            static_cast<Real>(static_cast<double>(from[i]) * by.first * by.second);
                }
                for (int64_t tile = 0; tile < in.n_tiles; ++tile)
                    add.dense(entered.data(), n, count, in.tables + tile * n * kTile, n,
                              y + first * stride + tile * kTile, stride);
            }
        });
}

// Projections of dense rows read as soon as they are there: y never leaves the cache. Sums are
// fused, so the reader must be one of features. Outputs beyond the reader's are drawn to fill the
// last tile, and dropped.
template <class Value, class Reader>
void project_and_read(const DenseRows<Value>& rows, RowRule rule, const DenseTables& in,
                      int64_t first_output, int64_t count, const Reader& reader,
                      const ProjectLoops& loops, int threads) {
    const int64_t n = in.n_features,
                  stride =
                      n + 16;  // not a power of two: the rows of a group would share cache sets
    // Tables beyond the cache are read again for every group: then by fewer, larger ones.
    const int64_t group = n * in.n_tiles * kTile > (int64_t{1} << 19) ? kLargeGroup : kDenseGroup;
    parallel_for(threads, (rows.n_rows + group - 1) / group, [&](int64_t begin, int64_t end) {
        AlignedFloats entered(group * stride), y(group * kTile);
        bool empty[kLargeGroup];
        for (int64_t at = begin; at < end; ++at) {
            const int64_t first = at * group, n_rows = std::min(group, rows.n_rows - first);
            for (int64_t r = 0; r < n_rows; ++r) {
                const RowFactors by = row_factors(rows, first + r, rule, loops);
                entry_of(rows, loops)
                    .enter(rows, first + r, by.first, by.second, entered.data() + r * stride);
                empty[r] = by.empty;
            }
            for (int64_t tile = 0; tile < in.n_tiles; ++tile) {
                std::fill(y.data(), y.data() + n_rows * kTile, 0.0f);
                loops.add_dense_fused(entered.data(), stride, n_rows, in.tables + tile * n * kTile,
                                      n, y.data(), kTile);
                const int64_t here = std::min(kTile, count - tile * kTile);
                for (int64_t r = 0; r < n_rows; ++r)
                    if (!empty[r])
                        reader.read(first + r, first_output + tile * kTile, y.data() + r * kTile,
                                    here);
            }
            for (int64_t r = 0; r < n_rows; ++r) reader.close(first + r, empty[r]);
        }
    });
}

template <class Real, class Value, class Index>
void project_dense(const CsrRows<Value, Index>& rows, RowRule rule, const DenseTables& in, Real* y,
                   const AddLoops<Real>& add, int threads) {
    const int64_t stride = in.n_tiles * kTile;
    parallel_for(threads, rows.n_rows, [&](int64_t begin, int64_t end) {
        std::vector<int32_t> feature;
        std::vector<Real> entered;
        for (int64_t row = begin; row < end; ++row) {
            const RowFactors by = row_factors(rows, row, rule, add.loops);
            feature.clear();
            entered.clear();
            rows.each(row, [&](int64_t column, double value) {
                const int64_t local = column - in.first_feature;
                if (local < 0 || local >= in.n_features) return;
                feature.push_back(static_cast<int32_t>(local));
                entered.push_back(static_cast<Real>(value * by.first * by.second));
            });
            for (int64_t tile = 0; tile < in.n_tiles; ++tile)
                add.sparse(feature.data(), entered.data(), static_cast<int64_t>(feature.size()),
                           in.tables + tile * in.n_features * kTile,
                           y + row * stride + tile * kTile);
        }
    });
}

// --- Readers -------------------------------------------------------------------------------------

// Features: two columns a projection for pairs, else one. scale and shift have a place for each
// output.
struct FeatureReader {
    const ProjectLoops& loops;
    const float *scale, *shift;
    bool pairs;
    float amplitude;
    float* out;
    int64_t n_columns;

    void read(int64_t row, int64_t first, const float* y, int64_t count, float = 1.0f) const {
        float* to = out + row * n_columns;
        if (pairs) loops.read_pairs(y, scale + first, count, amplitude, to + 2 * first);
        else loops.read_cosines(y, scale + first, shift + first, count, amplitude, to + first);
    }
    void close(int64_t row, bool empty) const {
        if (empty) std::fill(out + row * n_columns, out + (row + 1) * n_columns, 0.0f);
    }
};

// Bits, one a byte: of the cosine where there is a scale, else of the sign, ties broken where there
// are some for it.
struct BitReader {
    const ProjectLoops& loops;
    const float *scale, *shift, *threshold, *tie;
    float slack;
    uint8_t *out, *empty_rows;
    int64_t n_columns;

    void read(int64_t row, int64_t first, const float* y, int64_t count, float turn = 1.0f) const {
        uint8_t* to = out + row * n_columns + first;
        if (scale)
            loops.read_cosine_bits(y, scale + first, shift + first, threshold + first, count, to);
        else if (tie) loops.read_signs_tied(y, slack, tie + first, turn, count, to);
        else loops.read_signs(y, count, to);
    }
    void read(int64_t row, int64_t first, const double* y, int64_t count) const {
        uint8_t* to = out + row * n_columns + first;
        for (int64_t at = 0; at < count; ++at) to[at] = y[at] >= 0.0;
    }
    void close(int64_t row, bool empty) const {
        if (empty_rows) empty_rows[row] = empty;
        if (empty) std::fill(out + row * n_columns, out + (row + 1) * n_columns, uint8_t{0});
    }
};

// Outputs first .. first + count, whose projections are already there: y is (rows, stride). empty
// may be null.
template <class Real, class Reader>
void read_projections(const Real* y, int64_t n_rows, int64_t stride, int64_t first, int64_t count,
                      const bool* empty, const Reader& reader, int threads) {
    parallel_for(threads, n_rows, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            const bool none = empty && empty[row];
            if (!none) reader.read(row, first, y + row * stride, count);
            reader.close(row, none);
        }
    });
}

// Rows of features brought to length 1; rows of zeros stay.
inline void normalize_rows(float* features, int64_t n_rows, int64_t n_columns, int threads) {
    parallel_for(threads, n_rows, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            float* to = features + row * n_columns;
            double squares = 0.0;
            for (int64_t at = 0; at < n_columns; ++at)
                squares += static_cast<double>(to[at]) * to[at];
            const float by = squares > 0.0 ? static_cast<float>(1.0 / std::sqrt(squares)) : 0.0f;
            for (int64_t at = 0; at < n_columns; ++at) to[at] *= by;
        }
    });
}

// --- Pairs of rows -------------------------------------------------------------------------------

// |u - v|^2 of rows left[at] and right[at] after the rule, in double, ascending by column: the same
// bits dense or sparse.
template <class Rows>
void square_distances(const Rows& rows, RowRule rule, const int64_t* left, const int64_t* right,
                      int64_t count, double* out, const ProjectLoops& loops, int threads) {
    parallel_for(threads, count, [&](int64_t begin, int64_t end) {
        std::vector<std::pair<int64_t, double>> u, v;
        for (int64_t at = begin; at < end; ++at) {
            const auto collect = [&](int64_t row, std::vector<std::pair<int64_t, double>>& to) {
                const RowFactors by = row_factors(rows, row, rule, loops);
                to.clear();
                rows.each(row, [&](int64_t column, double value) {
                    to.emplace_back(column, value * by.first * by.second);
                });
            };
            collect(left[at], u);
            collect(right[at], v);
            double sum = 0.0;
            for (size_t i = 0, j = 0; i < u.size() || j < v.size();) {
                const bool from_u = j == v.size() || (i < u.size() && u[i].first <= v[j].first);
                const bool from_v = i == u.size() || (j < v.size() && v[j].first <= u[i].first);
                const double difference =
                    (from_u ? u[i].second : 0.0) - (from_v ? v[j].second : 0.0);
                sum += difference * difference;
                i += from_u;
                j += from_v;
            }
            out[at] = sum;
        }
    });
}

}  // namespace kernelight
