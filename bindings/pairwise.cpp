// Sums over features for every pair of rows, dense or sparse. Glue only; the loops, and how to add a
// form, are in core/pairwise.h.
#include "pairwise.h"

#include "arrays.h"

namespace kernelight {
namespace {

Form form_of(int form) {
    require(0 <= form && form <= static_cast<int>(Form::dot),
            "form must be 0 minmax, 1 overlap, 2 chi2 or 3 dot");
    return static_cast<Form>(form);
}

template <class T>
void dense(In2<T> x, In2<T> y, Out2<T> out, int form, bool symmetric, int threads, int simd) {
    require(x.shape(1) == y.shape(1), "x and y must be equally wide");
    require(out.shape(0) == x.shape(0) && out.shape(1) == y.shape(0),
            "out must be (rows of x, rows of y)");
    require(!symmetric || (x.data() == y.data() && x.shape(0) == y.shape(0)),
            "symmetric needs y to be x");
    const DenseRows<T> rows{x.data(), static_cast<int64_t>(x.shape(0)),
                            static_cast<int64_t>(x.shape(1))};
    const DenseRows<T> others{y.data(), static_cast<int64_t>(y.shape(0)),
                              static_cast<int64_t>(y.shape(1))};
    const Form chosen = form_of(form);
    nb::gil_scoped_release release;
    pair_sums(rows, others, out.data(), chosen, symmetric, threads, usable_level(simd));
}

template <class T, class Index>
void sparse(In1<T> x_values, In1<Index> x_indices, In1<Index> x_indptr, In1<T> y_values,
            In1<Index> y_rows, In1<Index> y_indptr, Out2<T> out, int form, int threads, int simd) {
    require(x_indptr.shape(0) >= 1 && y_indptr.shape(0) >= 1, "indptr must not be empty");
    require(x_values.shape(0) == x_indices.shape(0) && y_values.shape(0) == y_rows.shape(0),
            "values and indices must be equally long");
    const int64_t width = static_cast<int64_t>(y_indptr.shape(0)) - 1,
                  m = static_cast<int64_t>(out.shape(1));
    const CsrRows<T, Index> x{x_values.data(), x_indices.data(), x_indptr.data(),
                              static_cast<int64_t>(x_indptr.shape(0)) - 1, width};
    const Postings<T, Index> y{y_values.data(), y_rows.data(), y_indptr.data(), m, width};
    require(static_cast<int64_t>(out.shape(0)) == x.n_rows,
            "out must have a row for each row of x");
    const Form chosen = form_of(form);
    nb::gil_scoped_release release;
    pairwise::check_compressed(x.indices, x.indptr, x.n_rows, width, x_values.shape(0));
    pairwise::check_compressed(y.rows, y.indptr, width, m, y_values.shape(0));
    pair_sums(x, y, out.data(), chosen, threads, usable_level(simd));
}

template <class T>
void bind_dense(nb::module_& m) {
    m.def("pair_sums_dense", dense<T>, nb::arg("x").noconvert(), nb::arg("y").noconvert(),
          nb::arg("out").noconvert(), nb::arg("form"), nb::arg("symmetric"), nb::arg("threads"),
          nb::arg("simd"),
          "Fill out (n, m) with the form (0 minmax, 1 overlap, 2 chi2) of each pair of rows of x "
          "and y.");
}

template <class T, class Index>
void bind_sparse(nb::module_& m) {
    m.def("pair_sums_sparse", sparse<T, Index>, nb::arg("x_values").noconvert(),
          nb::arg("x_indices").noconvert(), nb::arg("x_indptr").noconvert(),
          nb::arg("y_values").noconvert(), nb::arg("y_rows").noconvert(),
          nb::arg("y_indptr").noconvert(), nb::arg("out").noconvert(), nb::arg("form"),
          nb::arg("threads"), nb::arg("simd"),
          "The same (and 3 dot) for x in CSR and y in CSC, canonical, of one value and one index "
          "type.");
}

}  // namespace

void bind_pairwise(nb::module_& m) {
    bind_dense<float>(m);
    bind_dense<double>(m);
    bind_sparse<float, int32_t>(m);
    bind_sparse<float, int64_t>(m);
    bind_sparse<double, int32_t>(m);
    bind_sparse<double, int64_t>(m);
}

}  // namespace kernelight
