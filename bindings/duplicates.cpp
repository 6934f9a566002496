// Glue for de-duplication: the loop is in core/duplicates.h.
#include "duplicates.h"

#include "arrays.h"

namespace kernelight {

void bind_duplicates(nb::module_& m) {
    m.def(
        "leaders",
        [](In1<int64_t> earlier, In1<int64_t> later, In1<double> similarities, Out1<uint8_t> kept,
           Out1<int64_t> survivor, Out1<double> similarity) {
            const auto count = static_cast<int64_t>(earlier.shape(0));
            const auto n_rows = static_cast<int64_t>(kept.shape(0));
            require(later.shape(0) == earlier.shape(0) && similarities.shape(0) == earlier.shape(0),
                    "earlier, later and similarities must match");
            require(survivor.shape(0) == kept.shape(0) && similarity.shape(0) == kept.shape(0),
                    "kept, survivor and similarity must match");
            require_inside(earlier.data(), count, n_rows);
            require_inside(later.data(), count, n_rows);
            require(std::is_sorted(later.data(), later.data() + count),
                    "pairs must be ordered by their later row");
            nb::gil_scoped_release release;
            leaders(earlier.data(), later.data(), similarities.data(), count, kept.data(),
                    survivor.data(), similarity.data());
        },
        nb::arg("earlier").noconvert(), nb::arg("later").noconvert(),
        nb::arg("similarities").noconvert(), nb::arg("kept").noconvert(),
        nb::arg("survivor").noconvert(), nb::arg("similarity").noconvert(),
        "Let rows go that have an earlier partner that stays, in the order of the rows.");
}

}  // namespace kernelight
