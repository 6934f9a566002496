"""Projections at the border: odd shapes and scales, wrong parameters and arrays, memory."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from peak import started

from kernelight import BinaryFourier, IntegerFourier, RandomFourier, SignProjection, _core
from kernelight.state import State

X = np.random.default_rng(0).standard_normal((5, 3))
ONE_SENTENCE = r"^[^\n]+[.?]$"
MAPS = [RandomFourier, SignProjection, BinaryFourier, IntegerFourier]


@pytest.mark.parametrize(
    ("cls", "options", "message"),
    [
        (RandomFourier, {"gamma": 0}, "gamma must be a finite number above 0, got 0"),
        (
            RandomFourier,
            {"gamma": "mean"},
            "gamma must be a positive number or \"median\", got 'mean'",
        ),
        (RandomFourier, {"gamma": float("nan")}, "gamma must be a finite number"),
        (
            RandomFourier,
            {"features": "sine"},
            "features must be one of 'paired', 'phase', 'folded'",
        ),
        (RandomFourier, {"normalize": "l2"}, "normalize must be one of"),
        (RandomFourier, {"features": "folded", "normalize": True}, "leave normalize='auto'"),
        (RandomFourier, {"features": "folded", "metric": "euclidean"}, "needs metric='cosine'"),
        (RandomFourier, {"metric": "manhattan"}, "metric must be one of 'cosine', 'euclidean'"),
        (RandomFourier, {"sigma": 1.0}, "sigma goes with metric='euclidean'"),
        (RandomFourier, {"metric": "euclidean", "gamma": 2.0}, "gamma goes with metric='cosine'"),
        (
            RandomFourier,
            {"metric": "euclidean", "sigma": -1.0},
            "sigma must be a finite number above 0",
        ),
        (RandomFourier, {"projection": "hadamard"}, "projection must be one of"),
        (RandomFourier, {"n_components": 0}, "n_components must be between 1 and"),
        (RandomFourier, {"n_components": 1 << 30}, "n_components must be between 1 and"),
        (RandomFourier, {"n_jobs": 0}, "n_jobs must not be 0"),
        (RandomFourier, {"random_state": -1}, "random_state must be"),
        (
            SignProjection,
            {"distribution": "normal"},
            "distribution must be one of 'gaussian', 'cauchy'",
        ),
        (
            SignProjection,
            {"distribution": "cauchy", "projection": "sorf"},
            "leave projection='auto'",
        ),
        (SignProjection, {"distribution": "cauchy"}, "needs nonnegative values, but X has -"),
        (SignProjection, {"projection": "sobol"}, "projection must be one of"),
        (
            BinaryFourier,
            {"sigma": "mean"},
            "sigma must be a positive number or \"median\", got 'mean'",
        ),
        (BinaryFourier, {"sigma": 0.0}, "sigma must be a finite number above 0"),
        (BinaryFourier, {"threshold": 1}, "threshold must be one of True, False"),
        (BinaryFourier, {"projection": "auto"}, "projection must be one of"),
        (
            IntegerFourier,
            {"sigma": "mean"},
            "sigma must be a positive number or \"median\", got 'mean'",
        ),
        (IntegerFourier, {"sigma": -1.0}, "sigma must be a finite number above 0"),
        (IntegerFourier, {"n_components": 0}, "n_components must be between 1 and"),
        (IntegerFourier, {"n_jobs": 0}, "n_jobs must not be 0"),
        (IntegerFourier, {"random_state": -1}, "random_state must be"),
    ],
)
def test_wrong_parameters(cls, options, message):
    with pytest.raises(ValueError, match=ONE_SENTENCE) as caught:
        cls(**options).fit(X)
    assert message in str(caught.value)


@pytest.mark.parametrize("value", [1.5, True, None, "8"])
@pytest.mark.parametrize("cls", MAPS)
def test_components_are_whole_numbers(cls, value):
    with pytest.raises(TypeError, match="n_components must be a whole number"):
        cls(n_components=value).fit(X)


def test_wide_rows_are_refused_where_they_cost_too_much():
    wide = sp.csr_array(([1.0], ([0], [5])), shape=(1, 50_000))
    for projection in ("orthogonal", "sobol"):
        with pytest.raises(ValueError, match="use projection='sorf'"):
            RandomFourier(8, projection=projection).fit(wide)


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
def test_scale_does_not_matter(scale):
    """Directions have none, and the median carries that of distances."""
    for cls, options in [
        (SignProjection, {}),
        (BinaryFourier, {}),
        (BinaryFourier, {"projection": "gaussian"}),
    ]:
        near = cls(64, **options).fit(X).encode(X).array
        far = cls(64, **options).fit(X * scale).encode(X * scale).array
        # the scale is not a power of two: a bit may sit on its threshold
        assert (near != far).mean() < 0.02, cls
    near, far = (IntegerFourier(64).fit(X * by).integers(X * by) for by in (1.0, scale))
    assert np.abs(near - far).max() <= 4, "an angle may be rounded the other way"
    for options in ({}, {"metric": "euclidean"}, {"gamma": "median", "projection": "sorf"}):
        near = RandomFourier(64, **options).fit(X).transform(X)
        far = RandomFourier(64, **options).fit(X * scale).transform(X * scale)
        np.testing.assert_allclose(far, near, atol=2e-6)


def test_powers_of_two_change_no_sign():
    signs = SignProjection(256).fit(X)
    np.testing.assert_array_equal(
        signs.encode(X * 2.0**-900).array, signs.encode(X * 2.0**700).array
    )


def test_subnormal_rows_are_rows():
    tiny = np.array([[5e-324, 0.0, 0.0], [0.0, 5e-324, 5e-324]])
    for projection in ("gaussian", "sorf"):
        features = RandomFourier(256, projection=projection).fit(X).transform(tiny)
        np.testing.assert_allclose((features**2).sum(axis=1), 1.0, rtol=1e-5)
        codes = SignProjection(256, projection=projection).fit(X).encode(tiny)
        assert not codes.empty.any()
        assert 0 < codes.array.mean() < 1


@pytest.mark.parametrize("cls", [RandomFourier, BinaryFourier, IntegerFourier])
def test_rows_far_from_the_origin_are_refused(cls):
    options = {"metric": "euclidean"} if cls is RandomFourier else {}
    made = cls(8, sigma=1.0, **options).fit(X)
    run = made.encode if cls is BinaryFourier else made.transform
    for rows in (X * 1e7, sp.csr_array(X * 1e7)):
        with pytest.raises(
            ValueError, match=r"Row 0 is .* sigma from the origin.*subtract the mean"
        ):
            run(rows)
    run(X * 1e3)


def test_the_kernel_needs_fit_where_the_data_decide():
    for unknown in (
        RandomFourier(gamma="median"),
        RandomFourier(metric="euclidean"),
        BinaryFourier(),
        IntegerFourier(),
    ):
        with pytest.raises(ValueError, match="call fit first"):
            _ = unknown.kernel


@pytest.mark.parametrize("rows", [np.ones((1, 3)), np.ones((6, 3)), np.zeros((4, 3))])
def test_a_median_of_nothing_is_one(rows):
    assert BinaryFourier(8).fit(rows).bandwidth_ == 1.0
    assert IntegerFourier(8).fit(rows).bandwidth_ == 1.0
    assert RandomFourier(8, gamma="median").fit(rows).bandwidth_ == 1.0
    assert RandomFourier(8, metric="euclidean").fit(rows).bandwidth_ == 1.0


def test_components_may_be_changed_after_fit():
    for cls in MAPS:
        made = cls(8).fit(X).set_params(n_components=130)
        np.testing.assert_array_equal(
            as_array(made.transform(X)), as_array(cls(130).fit(X).transform(X))
        )


def as_array(features):
    return features.toarray() if sp.issparse(features) else features


@pytest.mark.parametrize("n_components", [1, 2, 3, 63, 65])
@pytest.mark.parametrize("width", [1, 2, 3, 64, 65])
def test_odd_shapes(n_components, width):
    rows = np.random.default_rng(width).exponential(size=(3, width))
    for cls, options in [
        (RandomFourier, {}),
        (RandomFourier, {"features": "phase", "projection": "sorf"}),
        (RandomFourier, {"projection": "fastfood"}),
        (RandomFourier, {"projection": "orthogonal"}),
        (RandomFourier, {"projection": "sobol"}),
        (SignProjection, {"projection": "sorf"}),
        (SignProjection, {"distribution": "cauchy"}),
        (BinaryFourier, {}),
        (IntegerFourier, {}),
    ]:
        features = cls(n_components, **options).fit(rows).transform(rows)
        dense = cls in (RandomFourier, IntegerFourier)
        assert features.shape == (3, n_components if dense else 2 * n_components)
        assert np.isfinite(as_array(features)).all()
        assert as_array(features).any(axis=1).all()


@pytest.mark.parametrize(
    "damage", [{"seed_": -1}, {"seed_": "0"}, {"bandwidth_": 0.0}, {"bandwidth_": "wide"}, {}]
)
@pytest.mark.parametrize("cls", [RandomFourier, BinaryFourier, IntegerFourier])
def test_damaged_states(cls, damage):
    state = cls(8).fit(X).to_state()
    decided = {**state.meta["decided"], **damage} if damage else {}
    with pytest.raises(ValueError, match=f"This state does not describe a {cls.__name__}"):
        cls.from_state(State({**state.meta, "decided": decided}, state.arrays))


def floats(*shape):
    return np.zeros(shape, dtype=np.float32)


PLACES = np.zeros((1, 64), np.int32)
BITS = (np.zeros((5, 64), np.uint8), np.zeros(5, np.uint8), 1, 0)


@pytest.mark.parametrize(
    ("rows", "structure"),
    [
        (X, (63, 64, floats(1, 3, 63), None)),  # not a power of two
        (X, (2, 64, floats(32, 3, 2), None)),  # narrower than the rows
        (X, (64, 64, floats(2, 3, 64), None)),  # too many blocks
        (X, (64, 64, floats(1, 2, 64), None)),  # two diagonals need places
        (X, (64, 64, floats(1, 2, 64), PLACES + 64)),  # a place outside
        (X, (64, 64, floats(1, 2, 64), PLACES - 1)),
        (X, (64, 64, floats(1, 3, 64).astype(np.float64), None)),
        (np.asfortranarray(X), (64, 64, floats(1, 3, 64), None)),
        (X.astype(np.int64), (64, 64, floats(1, 3, 64), None)),
        (X[0], (64, 64, floats(1, 3, 64), None)),
    ],
)
def test_compiled_structures_are_checked(rows, structure):
    def project():
        view = _core.ScaledRows(rows, None, None, 3, 2, 1.0)
        signs = _core.BitReadout(None, None, None, None)
        _core.project_bits(view, _core.Structure(*structure), signs, *BITS)

    with pytest.raises((TypeError, ValueError)):
        project()


def test_compiled_outputs_are_checked():
    tables, y, out = floats(1, 3 * 64), floats(5, 64), floats(5, 128)
    scale = np.ones(64, np.float32)
    readout = _core.FourierReadout(scale, scale, True, 1.0)
    rows = _core.ScaledRows(X, None, None, 3, 1, 1.0)
    _core.project_dense(rows, tables, 0, y, 1, 0)
    for first_feature, wrong in [(1, y), (-1, y), (0, floats(4, 64)), (0, floats(5, 63))]:
        with pytest.raises(ValueError, match="tables must be"):
            _core.project_dense(rows, tables, first_feature, wrong, 1, 0)
    _core.read_features(y, 0, 64, None, readout, out, 1, 0)
    for first, count, empty, wrong in [
        (1, 64, None, out),
        (0, 65, None, out),
        (0, 64, np.zeros(4, bool), out),
        (0, 64, None, floats(5, 127)),
        (-1, 64, None, out),
    ]:
        with pytest.raises(ValueError, match=r"outputs must lie inside|one place a row"):
            _core.read_features(y, first, count, empty, readout, wrong, 1, 0)
    with pytest.raises(ValueError, match="outputs must lie inside"):
        _core.project_and_read(rows, tables, 0, 65, readout, out, 1, 0)
    with pytest.raises(ValueError, match="rule of a row"):
        _core.ScaledRows(X, None, None, 3, 7, 1.0)
    pairs = np.array([0, 5])
    with pytest.raises(ValueError, match="outside the matrix"):
        _core.square_distances(rows, pairs, pairs, np.zeros(2), 1, 0)


def words(*shape):
    return np.zeros(shape, dtype=np.uint16)


@pytest.mark.parametrize(
    ("signs", "phases", "out", "rule"),
    [
        (words(2, 63), words(64), (5, 64), 0),  # not a power of two
        (words(33, 2), words(64), (5, 64), 0),  # narrower than the rows
        (words(1, 64), words(64), (5, 64), 0),  # too few blocks
        (words(3, 64), words(64), (5, 64), 0),  # too many
        (words(2, 64), words(64), (4, 64), 0),
        (words(2, 64), words(64), (5, 63), 0),
        (words(2, 64), words(64), (5, 64), 2),  # not one factor for all rows
        (words(2, 64).astype(np.int16), words(64), (5, 64), 0),
        (words(2, 64), words(2, 64)[:, 0], (5, 2), 0),
    ],
)
def test_compiled_blocks_of_whole_numbers_are_checked(signs, phases, out, rule):
    rows = _core.ScaledRows(X, None, None, 3, rule, 1.0)
    with pytest.raises((TypeError, ValueError)):
        _core.integer_fourier(rows, signs, phases, np.zeros(out, np.int16), 1, 0)
    with pytest.raises((TypeError, ValueError)):
        _core.integer_fourier_features(rows, signs, phases, 1.0, floats(*out), 1, 0)


def test_whole_numbers_of_wide_rows_are_refused():
    made = IntegerFourier(8).fit(np.ones((2, 4096)))
    assert made.transform(np.ones((2, 4096))).shape == (2, 8)
    for wide in (np.ones((2, 4097)), sp.csr_array(([1.0], ([0], [5])), shape=(1, 10**9))):
        with pytest.raises(ValueError, match=ONE_SENTENCE) as caught:
            IntegerFourier(8, sigma=1.0).fit(wide)
        assert "at most 4,096 columns" in str(caught.value)
        assert "use RandomFourier(metric='euclidean')" in str(caught.value)


@pytest.mark.parametrize(
    ("sigma", "message"),
    [
        (5e-324, r"sigma = 4\.94e-324 is too small.*: scale the data up\."),
        (1e-307, r"sigma = 1e-307 is too small for double precision: scale the data up\."),
        (1.7e308, r"sigma = 1\.7e\+308 is too large for double precision: scale the data down\."),
    ],
)
def test_bandwidths_whose_factor_is_no_number(sigma, message):
    made = IntegerFourier(8, sigma=sigma).fit(X)
    for call in (made.transform, made.integers, lambda rows: made.multiplier):
        with pytest.raises(ValueError, match=f"^{message}$"):
            call(np.zeros((1, 3)))


def test_the_factor_of_whole_numbers():
    made = IntegerFourier(8, sigma=3.0).fit(X)
    exact = 65536.0 / (2 * np.pi * 3.0 * 8.0)
    assert 2**15 <= made.multiplier < 2**16
    assert made.multiplier * 2.0**made.exponent == pytest.approx(exact, rel=2.0**-16)


def test_what_whole_numbers_take():
    """Of the two numbers that are kept, all others are made."""
    made = IntegerFourier(100).fit(np.ones((3, 70)))
    of_map = {"stored": {"signs": 32}, "regenerated": {"seed": 8, "bandwidth": 8}}
    assert made.memory() == of_map


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.int64, bool])
def test_whole_numbers_of_other_types(dtype):
    rows = np.asfortranarray((10 * X).astype(dtype))
    made = IntegerFourier(70, sigma=9.0).fit(rows)
    wanted = IntegerFourier(70, sigma=9.0).fit(X).integers(rows.astype(np.float64))
    np.testing.assert_array_equal(made.integers(rows), wanted)


def test_no_rows_and_rows_that_are_no_numbers():
    made = IntegerFourier(70).fit(X)
    for wrong, message in [
        (X[:0], "0 sample"),
        (X * np.nan, "NaN"),
        (X[0], "Expected 2D array"),
        (X[:, :2], "3 features"),
    ]:
        with pytest.raises(ValueError, match=message):
            made.integers(wrong)


PROGRAM = """
import numpy as np, scipy.sparse as sp
from peak import peak
from kernelight import BinaryFourier, IntegerFourier, RandomFourier, SignProjection

rng = np.random.default_rng(0)
X = {rows}
small = np.ones((8, 3))
for cls in (BinaryFourier, IntegerFourier, RandomFourier, SignProjection):
    cls(8).fit(small).transform(small)
before = peak()
actual = {call}
print(peak() - before - actual.nbytes)
"""


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the peak of a process is read from /proc"
)
@pytest.mark.parametrize(
    ("rows", "call", "limit"),
    [
        (
            "rng.standard_normal((500, 1024), dtype=np.float32)",
            "BinaryFourier(65_536, sigma=30.0).fit(X).encode(X)",
            10e6,
        ),
        (
            "rng.standard_normal((500, 1024), dtype=np.float32)",
            "IntegerFourier(65_536, sigma=30.0).fit(X).integers(X)",
            10e6,
        ),
        (
            "rng.standard_normal((4, 200_000), dtype=np.float32)",
            "RandomFourier(512).fit(X).transform(X)",
            256e6,
        ),
        pytest.param(
            "sp.csr_array((rng.random(4000), (np.arange(4000) % 40, rng.integers(0, 10**9, "
            "4000))), shape=(40, 10**9))",
            "RandomFourier(2048).fit(X).transform(X)",
            256e6,
            marks=pytest.mark.nightly,
        ),
        (
            "sp.csr_array((rng.random(4000), (np.arange(4000) % 40, rng.integers(0, 10**9, "
            "4000))), shape=(40, 10**9))",
            "SignProjection(2048, distribution='cauchy').fit(X).encode(X)",
            256e6,
        ),
    ],
)
def test_memory(rows, call, limit):
    """In a process of its own, because the peak of a process never falls."""
    program = PROGRAM.format(rows=rows, call=call)
    printed = started(program)
    assert int(printed) < limit


@pytest.mark.parametrize("gamma", [2.0**33, 1e17, 1e300])
def test_gammas_beyond_single_precision_are_refused(gamma):
    with pytest.raises(ValueError, match="gamma must be at most"):
        RandomFourier(8, gamma=gamma).fit(X)
    RandomFourier(8, gamma=2.0**32).fit(X)


def test_parallel_rows_do_not_decide_the_median():
    rng = np.random.default_rng(0)
    parallel = np.outer(rng.random(30) + 0.1, rng.random(7))
    assert RandomFourier(8, gamma="median").fit(parallel).bandwidth_ == 1.0
    mixed = np.concatenate([parallel, parallel[:, ::-1]])
    assert 0.1 < RandomFourier(8, gamma="median").fit(mixed).bandwidth_ < 1e3


def test_parallel_rows_have_equal_signs():
    """Sums of equal numbers are 0 up to rounding only."""
    rows = np.zeros((4, 100))
    rows[0, :2], rows[1, :2], rows[2, 5], rows[3, 5] = 0.3, 0.7, 0.1, -0.9
    codes = SignProjection(1 << 14, projection="sorf").fit(rows).encode(rows).array
    np.testing.assert_array_equal(codes[0], codes[1])
    np.testing.assert_array_equal(codes[2], 1 - codes[3])


def test_what_was_decided_at_fit_is_not_mixed_with_what_is_set_later():
    made = RandomFourier(64, gamma=9.0).fit(X).set_params(metric="euclidean", gamma=1.0)
    with pytest.raises(ValueError, match="metric was changed after fit"):
        made.transform(X)
    signs = SignProjection(64).fit(np.abs(X)).set_params(distribution="cauchy")
    for call in (signs.encode, lambda rows: signs.provenance):
        with pytest.raises(ValueError, match="distribution was changed after fit"):
            call(np.abs(X))
    binary = BinaryFourier(64, sigma=1.0).fit(X)
    other = BinaryFourier(64, sigma=1.0, projection="gaussian").fit(X)
    assert binary.set_params(projection="gaussian").provenance == other.provenance


@pytest.mark.parametrize(
    ("made", "wrong"),
    [
        (RandomFourier(8), {"gamma": -1.0}),
        (RandomFourier(8), {"n_jobs": 0}),
        (SignProjection(8), {"projection": "bogus"}),
        (BinaryFourier(8), {"threshold": "x"}),
        (BinaryFourier(8), {"sigma": -1.0}),
        (IntegerFourier(8), {"sigma": -1.0}),
    ],
)
def test_what_cannot_be_loaded_is_not_stored(made, wrong, tmp_path):
    made.fit(X).set_params(**wrong)
    with pytest.raises(ValueError, match=ONE_SENTENCE) as caught:
        made.save(tmp_path / "map.kl")
    assert "cannot be stored as it is" in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("cls", MAPS)
def test_small_integers_of_numpy(cls):
    wide = np.random.default_rng(0).standard_normal((3, 100))
    actual = cls(n_components=np.int16(1024)).fit(wide).transform(wide)
    np.testing.assert_array_equal(as_array(actual), as_array(cls(1024).fit(wide).transform(wide)))


def test_structured_projections_of_enormous_rows_are_refused():
    wide = sp.csr_array(([1.0], ([0], [5])), shape=(1, 10**9))
    for made in (
        BinaryFourier(8, sigma=1.0),
        RandomFourier(8, projection="sorf"),
        RandomFourier(8, projection="orthogonal"),
    ):
        with pytest.raises(ValueError, match="projection='gaussian'"):
            made.fit(wide)


def test_expectations_need_the_same_width():
    with pytest.raises(ValueError, match="X has 2 features, but RandomFourier is expecting 3"):
        RandomFourier(8).fit(X).expected(X[:, :2])
