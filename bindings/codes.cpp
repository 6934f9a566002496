// Codes: counting equal slots, packing, one-hot columns. Glue only; the loops are in core/codes.h.
#include "codes.h"

#include "arrays.h"

namespace kernelight {
namespace {

using Empty = std::optional<In1<bool>>;

template <class Slot>
CodeRows<Slot> code_rows(const In2<Slot>& array, const Empty& empty) {
    require(!empty || empty->shape(0) == array.shape(0), "empty must have one entry a row");
    return {array.data(), empty ? empty->data() : nullptr, static_cast<int64_t>(array.shape(0)),
            static_cast<int64_t>(array.shape(1))};
}

void require_lane(int lane_bits, size_t slot_bytes, size_t n_slots, size_t n_words) {
    require(lane_bits == 1 || lane_bits == 2 || lane_bits == 4 || lane_bits == 8 || lane_bits == 16,
            "lane_bits must be 1, 2, 4, 8 or 16");
    require(static_cast<size_t>(lane_bits) <= 8 * slot_bytes,
            "lane_bits must not exceed the width of a slot");
    const size_t per_word = 64 / static_cast<size_t>(lane_bits);
    require(n_words == (n_slots + per_word - 1) / per_word,
            "words must have ceil(slots * lane_bits / 64) columns");
}

template <class Slot>
void bind_for_slot(nb::module_& m) {
    m.def(
        "codes_collisions",
        [](In2<Slot> a, Empty a_empty, In2<Slot> b, Empty b_empty, Out2<int32_t> out, int threads,
           int simd) {
            const auto left = code_rows(a, a_empty), right = code_rows(b, b_empty);
            require(left.n_slots == right.n_slots, "both sides must have the same number of slots");
            require(left.n_slots <= INT32_MAX, "too many slots to count in 32 bits");
            require(out.shape(0) == a.shape(0) && out.shape(1) == b.shape(0),
                    "out must be (rows of a, rows of b)");
            nb::gil_scoped_release release;
            collisions(left, right, out.data(), threads, simd);
        },
        nb::arg("a").noconvert(), nb::arg("a_empty").none().noconvert(), nb::arg("b").noconvert(),
        nb::arg("b_empty").none().noconvert(), nb::arg("out").noconvert(), nb::arg("threads"),
        nb::arg("simd"),
        "out[i, j] = number of equal slots of row i of a and row j of b; 0 where either is empty.");
    m.def(
        "codes_pack",
        [](In2<Slot> array, int lane_bits, Out2<uint64_t> out, int threads) {
            require(out.shape(0) == array.shape(0), "out must have as many rows as array");
            require_lane(lane_bits, sizeof(Slot), array.shape(1), out.shape(1));
            nb::gil_scoped_release release;
            pack(array.data(), array.shape(0), array.shape(1), lane_bits, out.data(), threads);
        },
        nb::arg("array").noconvert(), nb::arg("lane_bits"), nb::arg("out").noconvert(),
        nb::arg("threads"),
        "Slots into 64-bit words, lowest bits first; every slot must be below 2**lane_bits.");
    m.def(
        "codes_unpack",
        [](In2<uint64_t> words, int lane_bits, Out2<Slot> out, int threads) {
            require(out.shape(0) == words.shape(0), "out must have as many rows as words");
            require_lane(lane_bits, sizeof(Slot), out.shape(1), words.shape(1));
            nb::gil_scoped_release release;
            unpack(words.data(), out.shape(0), out.shape(1), lane_bits, out.data(), threads);
        },
        nb::arg("words").noconvert(), nb::arg("lane_bits"), nb::arg("out").noconvert(),
        nb::arg("threads"), "The inverse of codes_pack.");
}

template <class Slot, class Index>
void bind_columns(nb::module_& m) {
    m.def(
        "codes_columns",
        [](In2<Slot> array, int bits, In1<Index> indptr, Out1<Index> out, int threads) {
            const size_t n_rows = array.shape(0), n_slots = array.shape(1);
            require(bits >= 1 && bits <= 16, "bits must be between 1 and 16");
            require(indptr.shape(0) == n_rows + 1,
                    "indptr must have one entry more than array has rows");
            require(valid_indptr(indptr.data(), n_rows, n_slots, out.shape(0)),
                    "indptr must start at 0, grow by 0 or the number of slots, and end at the "
                    "length of out");
            nb::gil_scoped_release release;
            one_hot_columns(array.data(), n_rows, n_slots, bits, indptr.data(), out.data(),
                            threads);
        },
        nb::arg("array").noconvert(), nb::arg("bits"), nb::arg("indptr").noconvert(),
        nb::arg("out").noconvert(), nb::arg("threads"),
        "Columns of the one-hot CSR matrix; the caller chooses an index type that is wide enough.");
}

}  // namespace

void bind_codes(nb::module_& m) {
    bind_for_slot<uint8_t>(m);
    bind_for_slot<uint16_t>(m);
    bind_columns<uint8_t, int32_t>(m);
    bind_columns<uint8_t, int64_t>(m);
    bind_columns<uint16_t, int32_t>(m);
    bind_columns<uint16_t, int64_t>(m);
}

}  // namespace kernelight
