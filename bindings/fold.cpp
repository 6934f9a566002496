// Glue for the exponentiated kernel.
#include "fold.h"

#include <cmath>

#include "arrays.h"

namespace kernelight {

void bind_fold(nb::module_& m) {
    m.def(
        "poisson_counts",
        [](uint64_t seed, double gamma, Out1<int64_t> counts) {
            require(std::isfinite(gamma) && gamma > 0.0, "gamma must be finite and positive");
            nb::gil_scoped_release release;
            poisson_counts(seed, gamma, static_cast<int64_t>(counts.shape(0)), counts.data());
        },
        nb::arg("seed"), nb::arg("gamma"), nb::arg("counts").noconvert(),
        "How many base samples each slot has.");

    auto fold = [](auto codes_type) {
        using Code = decltype(codes_type);
        return [](In2<uint64_t> words, In1<int64_t> starts, In1<bool> empty, uint64_t seed,
                  int64_t first_slot, int bits, Out2<Code> codes, int threads) {
            const int64_t n_rows = static_cast<int64_t>(words.shape(0)),
                          stride = static_cast<int64_t>(words.shape(1));
            const int64_t n_slots = static_cast<int64_t>(starts.shape(0)) - 1;
            const int64_t code_stride = static_cast<int64_t>(codes.shape(1));
            require(static_cast<int64_t>(codes.shape(0)) == n_rows &&
                        static_cast<int64_t>(empty.shape(0)) == n_rows,
                    "words, codes and empty must have the same rows");
            require(n_slots >= 0 && first_slot >= 0 && first_slot + n_slots <= code_stride,
                    "the slots must lie inside the codes");
            const int64_t* start = starts.data();
            require(start[0] >= 0 && start[n_slots] <= stride &&
                        std::is_sorted(start, start + n_slots + 1),
                    "starts must rise inside the words");
            require(bits >= 1 && bits <= 8 * static_cast<int>(sizeof(Code)),
                    "bits must fit the type of the codes");
            const BaseWords base{words.data(), n_rows,  stride,      start,
                                 first_slot,   n_slots, empty.data()};
            Code* to = codes.data() + first_slot;
            nb::gil_scoped_release release;
            fold_words(base, seed, bits, to, code_stride, threads);
        };
    };
#define FOLD_ARGS \
    nb::arg("words").noconvert(), nb::arg("starts").noconvert(), nb::arg("empty").noconvert(), \
        nb::arg("seed"), nb::arg("first_slot"), nb::arg("bits"), nb::arg("codes").noconvert(), \
        nb::arg("threads"), \
        "Codes of slots first_slot .. from the base words [starts[s], starts[s + 1]) of each; " \
        "empty rows are left as they are."
    m.def("fold_words", fold(uint8_t{}), FOLD_ARGS);
    m.def("fold_words", fold(uint16_t{}), FOLD_ARGS);
}

}  // namespace kernelight
