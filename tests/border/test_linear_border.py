"""Linear models with odd rows and wrong arguments, and what the bindings of the solver refuse.

Long for its tables of wrong arguments, one line for each.
"""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import frozen, storages
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning, NotFittedError

from kernelight import Codes, LinearClassifier, LinearRegressor, _core
from kernelight.linear import design
from kernelight.linear.code_layout import code_layout
from kernelight.linear.output_group import LOSSES

RNG = np.random.default_rng(0)
X = frozen(RNG.standard_normal((30, 4)).astype(np.float32).astype(np.float64))
Y = frozen(np.arange(30) % 3)
ARRAY = frozen(RNG.integers(0, 16, (30, 6)))
CODES = Codes(ARRAY, bits=4)


def fitted(rows=X, y=Y, sample_weight=None, **params):
    return LinearClassifier(**params).fit(rows, y, sample_weight)


# --- Odd rows


@pytest.mark.parametrize("storage", storages(X))
def test_storage_changes_nothing(monkeypatch, storage):
    given = storages(X)[storage]
    wanted = fitted(tol=1e-8)
    model = fitted(given, tol=1e-8)
    np.testing.assert_allclose(model.coef_, wanted.coef_, atol=1e-4)
    np.testing.assert_allclose(
        model.decision_function(given), wanted.decision_function(X), atol=1e-3
    )
    if sp.issparse(given):
        monkeypatch.setattr(design, "DENSE_BYTES", -1)
        csr = given.tocsr()
        wide = fitted(sp.csr_matrix((csr.data, csr.indices, csr.indptr), shape=(30, 500)), tol=1e-8)
        np.testing.assert_allclose(wide.coef_[:, :4], wanted.coef_, atol=1e-4)
        assert not wide.coef_[:, 4:].any()


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.int64, np.uint16, bool])
def test_dtypes_that_become_floats(dtype):
    rows = frozen(np.abs(4 * X).astype(dtype))
    np.testing.assert_array_equal(fitted(rows).coef_, fitted(rows.astype(np.float64)).coef_)


def test_one_row_per_class_and_one_feature():
    for classes in (2, 3, 20):
        rows, y = np.eye(classes), np.arange(classes)
        assert (fitted(rows, y, C=100.0).predict(rows) == y).all()
        codes = Codes(y[:, None], bits=5)
        assert (fitted(codes, y, C=100.0).predict(codes) == y).all()
    assert fitted(X[:, :1]).coef_.shape == (3, 1)
    one = LinearRegressor(C=1e6, fit_intercept=False).fit([[2.0]], [3.0])
    np.testing.assert_allclose(one.coef_, [1.5], rtol=1e-3)


@pytest.mark.parametrize("loss", LOSSES[:3])
@pytest.mark.parametrize("intercept", [True, False])
def test_rows_of_zeros(loss, intercept):
    """From rows of zeros only the intercept is learned."""
    empty = Codes(np.zeros((30, 6), dtype=int), bits=4, empty=np.ones(30, dtype=bool))
    y = np.arange(30) % 3 > 0
    models = [
        fitted(rows, y, loss=loss, fit_intercept=intercept, tol=1e-8)
        for rows in (empty, np.zeros((30, 4)), sp.csr_matrix((30, 4)), 1e-300 * X)
    ]
    for model in models:
        assert not model.coef_.any() or np.abs(model.coef_).max() < 1e-290
        np.testing.assert_allclose(model.intercept_, models[0].intercept_, atol=1e-3)
        assert (model.intercept_ > 0.2).all() if intercept else not model.intercept_.any()
    assert (models[0].predict(empty) == intercept).all()


def test_some_empty_rows():
    """An empty row is a row of zeros: its score is the intercept, whatever its codes."""
    codes = Codes(ARRAY, bits=4, empty=np.arange(30) % 4 == 1)
    model = fitted(codes, tol=1e-8)
    as_matrix = fitted((codes.to_csr() > 0) / np.sqrt(6), tol=1e-8)
    np.testing.assert_allclose(model.coef_, as_matrix.coef_, atol=1e-4)
    scores = model.decision_function(codes)
    np.testing.assert_allclose(
        scores[codes.empty], np.tile(model.intercept_, (codes.empty.sum(), 1)), rtol=1e-6
    )


def test_codes_that_fit_never_saw():
    """They have no weight; the other slots decide."""
    model = fitted(Codes(ARRAY % 8, bits=4))
    unseen = Codes(np.full((2, 6), 15), bits=4)
    np.testing.assert_allclose(
        model.decision_function(unseen), np.tile(model.intercept_, (2, 1)), rtol=1e-6
    )
    half = np.array(ARRAY % 8)
    half[:, 3:] = 9
    wanted = Codes(ARRAY % 8, bits=4).to_csr().toarray()
    wanted[:, 3 * 16 :] = 0
    np.testing.assert_allclose(
        model.decision_function(Codes(half, bits=4)),
        wanted @ model.coef_.T + model.intercept_,
        atol=1e-5,
    )


@pytest.mark.parametrize("ranked", [True, False])
def test_codes_of_16_bits(monkeypatch, ranked):
    if not ranked:
        monkeypatch.setattr(design, "RANK_BYTES", 0)
    # a slot with every code of 16 bits
    every = np.stack([RNG.permutation(1 << 16), np.full(1 << 16, 65535)], axis=1)
    y = every[:, 0] % 2
    codes = Codes(every, bits=16)
    model = fitted(codes, y, tol=1e-2)
    assert model.weights_.shape == (65537, 1)
    assert (model.predict(codes) == y).mean() > 0.99
    few = Codes(RNG.integers(0, 1 << 16, (30, 5)), bits=16)
    assert (fitted(few, C=100.0).predict(few) == Y).all()


def test_constant_columns_and_huge_numbers():
    constant = np.hstack([X, np.full((30, 1), 7.0)])
    assert np.isfinite(fitted(constant).coef_).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for rows in (1e15 * X, (1e15 * X).astype(np.float32), 1e150 * X, sp.csr_matrix(1e15 * X)):
            for loss in LOSSES[:3]:
                model = fitted(rows, loss=loss, max_iter=30)
                assert np.isfinite(model.coef_).all()
    long = np.array(X)
    long[3] *= 1e200
    for rows in (long, sp.csr_matrix(long)):
        with pytest.raises(
            ValueError,
            match="Row 3 of X has too large values: its squared length overflows float64",
        ):
            fitted(rows)
    with pytest.warns(ConvergenceWarning, match="gap is inf"):
        fitted(loss="logistic", C=1e300, max_iter=5)
    with pytest.warns(ConvergenceWarning, match="gap is inf"):
        LinearRegressor(max_iter=5).fit(X, 1e200 * X[:, 0])


def test_read_only_rows_stay_as_they_are():
    sparse = sp.csr_matrix(X)
    for array in (sparse.data, sparse.indices, sparse.indptr):
        array.flags.writeable = False
    before = sparse.copy()
    weights = frozen(np.ones(30))
    for rows in (X, sparse, CODES):
        fitted(rows, Y, weights).predict(rows)
    assert (before != sparse).nnz == 0


# --- Wrong arguments


def hole(value):
    rows = np.array(X)
    rows[7, 2] = value
    return rows


@pytest.mark.parametrize(
    ("rows", "y", "message"),
    [
        (hole(np.nan), Y, "NaN at row 7, column 2"),
        (hole(np.inf), Y, "infinity at row 7, column 2"),
        (sp.csr_matrix(hole(np.nan)), Y, "NaN at row 7, column 2"),
        (X[:0], Y[:0], "0 sample"),
        (CODES[:0], Y[:0], "no rows"),
        (X[:, :0], Y, "0 feature"),
        (X[0], Y[:4], "2D array|dimension"),
        (X.astype(complex), Y, "Complex"),
        (X.astype(str), Y, "not a number"),
        (X, Y[:5], "inconsistent"),
        (CODES, Y[:5], "inconsistent"),
        (X, None, "y should be|requires y"),
        (CODES, None, "y should be|requires y"),
        (X, np.eye(3)[Y], "1d array"),
        (X, X[:, 0], "Unknown label type"),
        (X, np.zeros(30), "one class"),
        (CODES, ["a"] * 30, "one class"),
    ],
)
def test_wrong_rows_and_labels(rows, y, message):
    with pytest.raises(ValueError, match=message):
        fitted(rows, y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0}, "C must be"),
        ({"C": -1.0}, "C must be"),
        ({"C": np.inf}, "C must be"),
        ({"C": "1"}, "C must be a number"),
        ({"loss": "squared"}, "loss must be one of"),
        ({"loss": None}, "loss must be one of"),
        ({"tol": -1e-3}, "tol must be"),
        ({"tol": np.nan}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"max_iter": 1.5}, "max_iter must be"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
        ({"random_state": "x"}, "random_state must be"),
        ({"class_weight": "even"}, "class_weight must be one of"),
        ({"class_weight": {0: -1.0}}, "weight of class 0 must be"),
        ({"class_weight": {0: np.nan}}, "weight of class 0 must be"),
        ({"class_weight": {0: "x"}}, "weight of class 0 must be"),
        ({"class_weight": {9: 1.0}}, "not in class_weight"),
    ],
)
def test_wrong_parameters(params, message):
    for rows in (X, CODES):
        with pytest.raises((ValueError, TypeError), match=message):
            fitted(rows, **params)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(3), "must be 30 numbers, one for each row"),
        (-np.ones(30), "at least 0, got -1.0 at row 0"),
        (np.full(30, np.nan), "finite and at least 0, got nan at row 0"),
        (np.full(30, np.inf), "finite and at least 0, got inf at row 0"),
        (np.zeros(30), "at least one row must count"),
    ],
)
def test_wrong_sample_weights(weight, message):
    for rows in (X, CODES):
        with pytest.raises(ValueError, match=message):
            fitted(rows, Y, weight)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y"),
        (np.full(30, np.nan), "NaN"),
        (np.zeros((30, 2, 2)), "dim"),
        (X[:, :0], "0 feature"),
        (X[:5, 0], "inconsistent"),
        (["a"] * 30, "could not convert|Unable"),
    ],
)
def test_wrong_targets(y, message):
    for rows in (X, CODES):
        with pytest.raises(ValueError, match=message):
            LinearRegressor().fit(rows, y)


def test_wrong_epsilon_and_columns_of_targets():
    for epsilon in (-0.1, np.nan, "a"):
        with pytest.raises((ValueError, TypeError), match="epsilon must"):
            LinearRegressor("epsilon_insensitive", epsilon=epsilon).fit(X, X[:, 0])
    with pytest.warns(DataConversionWarning):
        flat = LinearRegressor().fit(X, X[:, :1])
    assert flat.predict(X).shape == (30,)


def test_wrong_rows_to_predict():
    on_rows, on_codes = fitted(), fitted(CODES)
    other = Codes(ARRAY, bits=4, provenance="another map")
    with pytest.raises(NotFittedError):
        LinearClassifier().predict(X)
    for model, rows, message in (
        (on_rows, X[:, :3], "3 features"),
        (on_rows, CODES, "fitted to a matrix"),
        (on_rows, hole(np.nan), "NaN at row 7"),
        (on_codes, X, "fitted to Codes"),
        (on_codes, ARRAY, "fitted to Codes"),
        (on_codes, other, "provenance"),
        (on_codes, CODES.first(5), "5 slots of 4 bits"),
        (on_codes, CODES.low_bits(3), "6 slots of 3 bits"),
    ):
        for method in (model.predict, model.decision_function):
            with pytest.raises(ValueError, match=message):
                method(rows)
    assert on_rows.predict(sp.csr_matrix(X)).shape == on_codes.predict(CODES).shape
    assert on_codes.decision_function(CODES[:0]).shape == (0, 3)


def test_max_iter_ends_the_epochs():
    with pytest.warns(ConvergenceWarning, match="did not converge in 1 epoch:"):
        assert fitted(max_iter=1).n_iter_ == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for loss in LOSSES[:3]:
            for rows in (X, CODES):
                model = fitted(rows, loss=loss, tol=0.0, max_iter=60)
                assert model.n_iter_ <= 60
                assert (model.dual_gap_ < 1e-4 * model.objective_).all()


# --- Bindings

REALS = [np.float32, np.float64]
N, OUTPUTS = 30, 4


def view_of(kind, real):
    size = "32" if real == np.float32 else "64"
    if kind == "codes":
        layout = code_layout(np.ones((6, 16), dtype=bool), OUTPUTS, np.dtype(real).itemsize)
        return getattr(_core, f"linear_codes_{size}")(
            CODES.array,
            None,
            4,
            layout.local,
            False,
            layout.segment_slot,
            layout.segment_entry,
            layout.part_segment,
            0,
        ), layout.n_entries
    make, rows = getattr(_core, f"linear_matrix_{size}"), X.astype(real)
    if kind == "dense":
        return make(rows, None, None, 4, 0), 4
    rows = sp.csr_matrix(rows)
    return make(rows.data, rows.indices, rows.indptr, 4, 0), 4


def targets_of(real, **changes):
    size = "32" if real == np.float32 else "64"
    given = {
        "labels": Y.astype(np.int32),
        "targets": None,
        "row_cost": np.ones(N, real),
        "cost_above": np.ones(OUTPUTS, real),
        "cost_below": np.ones(OUTPUTS, real),
        "norms": np.full(N, 2, real),
        "intercept": True,
        "loss": 0,
        "epsilon": 0.0,
    }
    return getattr(_core, f"LinearTargets{size}")(**{**given, **changes})


def arguments(real, n_entries):
    return {
        "targets": targets_of(real),
        "weights": np.zeros((n_entries, OUTPUTS), real),
        "bias": np.zeros(OUTPUTS, real),
        "dual": np.zeros((N, OUTPUTS), real),
        "open": np.ones(OUTPUTS, dtype=bool),
    }


def epoch_arguments(real, n_entries):
    return {
        **arguments(real, n_entries),
        "order": np.arange(N, dtype=np.int32),
        "sweeps": 2,
        "shrink_threshold": 0.05,
        "shrunk_for": np.zeros(N, np.uint8),
        "times_shrunk": np.zeros(N, np.uint8),
        "loss": np.zeros(OUTPUTS),
        "gap": np.zeros(OUTPUTS),
        "threads": 1,
    }


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("kind", ["codes", "dense", "csr"])
def test_bindings_work_and_refuse(kind, real):
    view, entries = view_of(kind, real)
    assert view.epoch(**epoch_arguments(real, entries)) > 0
    other = np.float64 if real == np.float32 else np.float32
    wrong = {
        "weights": [
            np.zeros((entries + 1, OUTPUTS), real),
            np.zeros((entries, 3), real),
            np.zeros((entries, 0), real),
        ],
        "bias": [np.zeros(OUTPUTS + 1, real), np.zeros(0, real)],
        "dual": [np.zeros((N - 1, OUTPUTS), real), np.zeros((N, 8), real)],
        "open": [np.ones(3, dtype=bool)],
        "targets": [
            targets_of(real, labels=np.zeros(N - 1, np.int32)),
            targets_of(real, labels=None),
            targets_of(real, targets=np.zeros((N, OUTPUTS), real)),
            targets_of(real, row_cost=np.ones(2, real)),
            targets_of(real, labels=None, targets=np.zeros((N, 3), real)),
            targets_of(real, norms=np.ones(2, real)),
            targets_of(real, cost_above=np.ones(2, real)),
            targets_of(real, cost_below=np.ones(16, real)),
            targets_of(real, loss=-1),
            targets_of(real, loss=len(LOSSES)),
        ],
        "order": [np.array([N], np.int32), np.array([-1], np.int32)],
        "shrunk_for": [np.zeros(N + 1, np.uint8)],
        "times_shrunk": [np.zeros(0, np.uint8)],
        "loss": [np.zeros(OUTPUTS + 1)],
        "gap": [np.zeros(0)],
    }
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(ValueError, match=r"must|no such|either|one sum"):
                view.epoch(**{**epoch_arguments(real, entries), name: value})
            if name in arguments(real, entries):
                with pytest.raises(ValueError, match=r"must|no such|either"):
                    view.objective(
                        **{**arguments(real, entries), name: value},
                        loss=np.zeros(OUTPUTS),
                        conjugate=np.zeros(OUTPUTS),
                        begin=0,
                        end=N,
                        threads=1,
                    )
    for name, value in {
        "weights": np.zeros((entries, OUTPUTS), other),
        "bias": np.zeros(OUTPUTS, other),
        "dual": np.zeros((OUTPUTS, N), real).T,
        "open": np.ones(OUTPUTS, np.uint8),
        "order": np.arange(N),
        "shrunk_for": np.zeros(N),
        "targets": None,
        "times_shrunk": frozen(np.zeros(N, np.uint8)),
    }.items():
        with pytest.raises(TypeError):
            view.epoch(**{**epoch_arguments(real, entries), name: value})


@pytest.mark.parametrize("kind", ["codes", "dense", "csr"])
def test_margins_duals_and_objectives_refuse(kind):
    view, entries = view_of(kind, np.float64)
    weights, bias, out = np.ones((entries, OUTPUTS)), np.ones(OUTPUTS), np.zeros((N, OUTPUTS))
    view.margins(weights, bias, out, 0, N, 1)
    assert out.any()
    for changed in (
        (weights[1:], bias, out),
        (weights, bias[1:], out),
        (weights, bias, out[1:]),
        (weights[:, :3].copy(), bias, out),
    ):
        with pytest.raises(ValueError, match="must"):
            view.margins(*changed, 0, N, 1)
    for dual in (np.zeros((N - 1, OUTPUTS)), np.zeros((N, 8))):
        with pytest.raises(ValueError, match="must"):
            view.add_duals(dual, True, weights, bias, 0, N, 1)
    for span in ((-1, N), (0, N + 1), (2, 1)):
        with pytest.raises(ValueError, match="range of rows"):
            view.margins(weights, bias, out, *span, 1)
        with pytest.raises(ValueError, match="range of rows"):
            view.add_duals(np.zeros((N, OUTPUTS)), True, weights, bias, *span, 1)
    sums = (np.zeros(3), np.zeros(OUTPUTS)), (np.zeros(OUTPUTS), np.zeros(5))
    for loss, conjugate in sums:
        with pytest.raises(ValueError, match="one sum an output"):
            view.objective(
                **arguments(np.float64, entries),
                loss=loss,
                conjugate=conjugate,
                begin=0,
                end=N,
                threads=1,
            )


def test_labels_of_no_output_belong_to_the_others():
    view, entries = view_of("dense", np.float64)
    given = epoch_arguments(np.float64, entries)
    given["targets"] = targets_of(np.float64, labels=np.full(N, -(2**31), np.int32))
    view.epoch(**given)
    assert (given["dual"] <= 0).all()


@pytest.mark.parametrize("threads", [-1, 0, 1, 100])
def test_any_number_of_threads(threads):
    for kind in ("codes", "dense", "csr"):
        view, entries = view_of(kind, np.float64)
        assert view.epoch(**{**epoch_arguments(np.float64, entries), "threads": threads}) > 0


LAYOUT = code_layout(np.ones((6, 16), dtype=bool), OUTPUTS, 8)


@pytest.mark.parametrize(
    "changes",
    [
        {"bits": 0},
        {"bits": 17},
        {"bits": 5},
        {"empty": np.zeros(3, dtype=bool)},
        {"local": LAYOUT.local[1:].copy()},
        {"local": np.full(96, 96, np.uint16)},
        {"array": CODES.array[:, :5].copy()},
        {"array": np.zeros((3, 0), np.uint8)},
        {"segment_slot": np.array([0, 7])},
        {"segment_slot": np.array([1, 6])},
        {"segment_slot": np.array([0])},
        {"segment_slot": np.array([0, 3, 6])},
        {"segment_entry": np.array([0, 95])},
        {"segment_entry": np.array([5, 96])},
        {"part_segment": np.array([0, 2])},
        {"part_segment": np.array([0])},
        {"part_segment": np.array([1, 1])},
        {"part_segment": np.array([0, -1, 1])},
        {"local": LAYOUT.first, "bits": 4},
    ],
)
def test_layouts_that_lead_outside_are_refused(changes):
    given = {
        "array": CODES.array,
        "empty": None,
        "bits": 4,
        "local": LAYOUT.local,
        "ranked": False,
        "segment_slot": LAYOUT.segment_slot,
        "segment_entry": LAYOUT.segment_entry,
        "part_segment": LAYOUT.part_segment,
        "simd": 0,
    }
    _core.linear_codes_64(**given)
    with pytest.raises(ValueError, match="must"):
        _core.linear_codes_64(**{**given, **changes})


def test_matrices_and_histograms_refuse():
    rows = sp.csr_matrix(X)
    for given in (
        (X.astype(np.float32), None, None, 4),
        (X, None, None, 5),
        (X[0], None, None, 4),
        (rows.data, rows.indices, None, 4),
        (rows.data, None, rows.indptr, 4),
        (rows.data[1:], rows.indices, rows.indptr, 4),
        (rows.data, rows.indices, rows.indptr[:-1], 4),
        (rows.data, rows.indices.astype(np.int64), rows.indptr, 4),
    ):
        with pytest.raises((ValueError, TypeError)):
            _core.linear_matrix_64(*given, 0)
    counts = np.zeros(96, np.int32)
    _core.code_histogram(CODES.array, None, 4, counts, 1)
    assert counts.sum() == 180
    for changed in ((3, counts), (17, counts), (0, counts), (4, counts[1:].copy())):
        with pytest.raises(ValueError, match="out must"):
            _core.code_histogram(CODES.array, None, *changed, 1)
    ranks = np.zeros_like(CODES.array)
    for local, first, out in (
        (LAYOUT.local[1:].copy(), LAYOUT.first, ranks),
        (LAYOUT.local, LAYOUT.first[1:].copy(), ranks),
        (LAYOUT.local, LAYOUT.first, np.zeros((30, 5), np.uint8)),
    ):
        with pytest.raises(ValueError, match="must have"):
            _core.code_ranks(CODES.array, None, 4, local, first, out, 1)
    with pytest.raises(TypeError):
        _core.code_ranks(
            CODES.array, None, 4, LAYOUT.local, LAYOUT.first, np.zeros((30, 6), np.uint16), 1
        )


def test_wrong_types_of_arguments():
    with pytest.raises(
        ValueError, match="LinearClassifier requires y to be passed, but the target y is None"
    ):
        LinearClassifier().fit(X, None)
    with pytest.raises(TypeError, match="fit_intercept must be True or False, got 'no'"):
        fitted(fit_intercept="no")
    with pytest.raises(ValueError, match="tol must be a finite number, at least 0"):
        fitted(tol=10**400)
    with pytest.raises(ValueError, match="max_iter must be between 1 and"):
        fitted(max_iter=10**30)
    for validation in (X, (X,), (X, Y, Y)):
        with pytest.raises(ValueError, match=r"validation must be a pair \(X, y\)"):
            LinearClassifier().fit_path(X, Y, [1.0], validation=validation)
    with pytest.raises(ValueError, match="y has masked entries"):
        LinearClassifier().fit(X, np.ma.masked_equal(Y, 1))
    with pytest.raises(ValueError, match="only one class: 2"):
        LinearClassifier().fit(X, np.full(30, 2))


def test_weights_beyond_single_precision():
    with pytest.raises(ValueError, match="beyond single precision: scale y down"):
        LinearRegressor().fit(CODES, 1e60 * RNG.standard_normal(30))


def test_large_targets_of_codes_keep_their_digits():
    """Intercepts are added in double precision."""
    model = LinearRegressor().fit(CODES, ARRAY[:, 0])
    before = model.predict(CODES)
    model.intercept_ = model.intercept_ + 1e9
    np.testing.assert_allclose(model.predict(CODES) - 1e9, before, atol=1e-6)


def test_fractions_are_numbers(tmp_path):
    fitted(C=Fraction(1, 3)).save(tmp_path / "model.kl")
    assert LinearClassifier.load(tmp_path / "model.kl").C == 1 / 3
