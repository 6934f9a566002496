"""ProductMap: the product of two kernels, slot by slot.

test_combine.py has what it shares with Concat.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import frozen, signed_rows
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from kernelight import (
    GCWS,
    AlignedFourier,
    BinaryFourier,
    ProductMap,
    RandomFourier,
    SignProjection,
    _core,
)
from kernelight.kernels import GMM, RBF, Acos, FoldedRBF, Gaussian
from kernelight.maps.base import DenseMap
from kernelight.state import State

K = 16
GOLDEN_PAIRS = [[417, 263, 169, 178, 326, 85], [0, 0, 0, 0, 0, 0], [417, 125, 483, 178, 77, 289]]
GOLDEN_MIXED = [[38, 176, 78, 214, 231, 130], [0, 0, 0, 0, 0, 0], [38, 10, 107, 214, 95, 47]]
PAIR = frozen([[1.0, 2.0, 3.0], [3.0, 0.0, 1.0]])


def rows():
    return frozen(np.abs(signed_rows(3, 6, 5, density=0.8)))


def signs(k=K, **options):
    return SignProjection(k, projection="gaussian", **options)


@pytest.mark.parametrize(
    ("left", "right"),
    [(GCWS(K), signs()), (RandomFourier(2 * K), GCWS(K)), (GCWS(K), BinaryFourier(K))],
)
def test_expectations_are_products_of_those_of_the_parts(left, right):
    made = ProductMap(left, right).fit(rows())
    parts = made.left_.expected(rows()) * made.right_.expected(rows())
    np.testing.assert_allclose(made.expected(rows()), parts, rtol=1e-12)
    kernels = made.left_.kernel(rows()) * made.right_.kernel(rows())
    np.testing.assert_allclose(made.kernel(rows()), kernels, rtol=1e-12)


def test_reference_values():
    """MM-acos and MM-acos-chi2 of (1, 2, 3) and (3, 0, 1), and what codes of 16 bits average to."""
    made = ProductMap(GCWS(64, bits=15), signs(64)).fit(PAIR)
    assert made.kernel == GMM() * Acos()
    assert made.kernel(PAIR)[0, 1] == pytest.approx(0.167319943703, abs=1e-12)
    assert made.expected(PAIR)[0, 1] == pytest.approx(0.167319943703, abs=1e-4)
    chi2 = ProductMap(GCWS(64), SignProjection(64, distribution="cauchy")).fit(PAIR)
    assert chi2.kernel(PAIR)[0, 1] == pytest.approx(0.176812779119, abs=1e-12)
    exact = (0.25 + 0.75 / 256) * 0.722806875  # the exact chance of equal Cauchy signs
    assert chi2.expected(PAIR)[0, 1] == pytest.approx(exact, abs=1e-7)
    rbf = ProductMap(GCWS(64), RandomFourier(128, gamma=5.0)).fit(PAIR)
    assert rbf.kernel(PAIR)[0, 1] == pytest.approx(0.25 * 0.085048190523, abs=1e-12)


@pytest.mark.parametrize(
    ("fourier", "kernel"),
    [
        (RandomFourier(32), RBF()),
        (RandomFourier(32, features="folded"), FoldedRBF()),
        (RandomFourier(32, metric="euclidean", sigma=3.0), Gaussian(3.0)),
    ],
)
def test_kernels_of_fourier_products(fourier, kernel):
    assert ProductMap(GCWS(), fourier).kernel == GMM() * kernel
    assert ProductMap(fourier, GCWS()).kernel == kernel * GMM()


def test_the_same_seed_on_both_sides_draws_independently():
    X = rows()
    same = GCWS(K, sampler="cws", random_state=5)
    made = ProductMap(same, same).fit(X)
    seeds = [_core.child(_core.stream(5, _core.STREAM_POSITION), side) for side in (0, 1)]
    assert [made.left_.seed_, made.right_.seed_] == seeds
    assert not np.array_equal(made.left_.encode(X).array, made.right_.encode(X).array)
    assert same.random_state == 5
    assert not hasattr(same, "seed_")


def test_codes_are_pairs():
    X = rows()
    made = ProductMap(GCWS(K, bits=4), signs()).fit(X)
    codes = made.encode(X)
    pair = made.left_.encode(X) & made.right_.encode(X)
    assert codes.bits == 5
    assert codes.n_features == 5
    np.testing.assert_array_equal(codes.array, pair.array)
    assert codes.provenance == made.provenance
    features = made.transform(X)
    assert (type(features), features.dtype, features.indices.dtype) == (
        sp.csr_matrix,
        np.float32,
        np.int32,
    )
    assert features.shape == (6, K << 5)
    names = made.get_feature_names_out()
    assert (len(names), names[0], names[-1]) == (K << 5, "productmap0_0", f"productmap{K - 1}_31")


def test_pairs_are_mixed_as_the_specification_says():
    X = rows()
    made = ProductMap(GCWS(K, bits=12), GCWS(K, bits=8, random_state=3), bits=6).fit(X)
    key = _core.stream(_core.child(made.left_.seed_, made.right_.seed_), _core.STREAM_REMIX)
    left, right = (side.encode(X).array.astype(int) for side in (made.left_, made.right_))
    for row in range(6):
        for slot in range(K):
            pair = int(left[row, slot]) << 8 | int(right[row, slot])
            word = _core.child(_core.child(key, slot), pair)
            assert made.encode(X).array[row, slot] == word % 64
    long = clone(made).set_params(bits=16).fit(X).encode(X)
    assert long.array.dtype == np.uint16
    assert long.low_bits(6) == made.encode(X)


def test_codes_never_change():
    X = frozen([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [3.0, 0.0, 1.0]])
    made = ProductMap(GCWS(6, bits=8, sampler="cws"), signs(6)).fit(X)
    assert made.encode(X).array.tolist() == GOLDEN_PAIRS
    assert made.set_params(bits=8).encode(X).array.tolist() == GOLDEN_MIXED
    assert made.encode(X).empty.tolist() == [False, True, False]


def test_longer_runs_begin_with_the_shorter():
    X = rows()
    short, long = (
        ProductMap(GCWS(k, sampler="cws"), GCWS(k, sampler="cws"), bits=7).fit(X) for k in (16, 40)
    )
    assert short.has_prefix
    assert long.encode(X).first(16) == short.encode(X)
    short, long = (ProductMap(GCWS(k, sampler="cws"), signs(k)).fit(X) for k in (16, 40))
    assert long.encode(X).first(16) == short.encode(X)
    assert not ProductMap(GCWS(16, sampler="dart"), GCWS(16, sampler="cws")).fit(X).has_prefix


def test_provenance_says_what_a_code_means():
    X = rows()

    def provenance(*sides, **options):
        return ProductMap(*sides, **options).fit(X).provenance

    base = provenance(GCWS(K, bits=4, sampler="cws"), signs())
    assert provenance(GCWS(K, bits=6, sampler="cws"), signs()) == base, (
        "low bits of the left side are cut"
    )
    assert provenance(GCWS(8, bits=4, sampler="cws"), signs(8)) == base
    mixed = provenance(GCWS(K, bits=4, sampler="cws"), signs(), bits=3)
    others = [
        mixed,
        provenance(GCWS(K, bits=6, sampler="cws"), signs(), bits=3),
        provenance(signs(), GCWS(K, bits=4, sampler="cws")),
        provenance(signs(), GCWS(K, bits=6, sampler="cws")),
        provenance(GCWS(K, bits=4, sampler="cws", random_state=1), signs()),
        provenance(GCWS(K, bits=4, sampler="cws"), signs(random_state=1)),
    ]
    assert len({base, *others}) == 7
    assert provenance(GCWS(K, bits=4, sampler="cws"), signs(), bits=5) == mixed
    with pytest.raises(ValueError, match="only codes do"):
        _ = ProductMap(GCWS(K), RandomFourier(2 * K)).fit(X).provenance


def test_fourier_values_stand_in_the_block_of_their_code():
    X = rows()
    for fourier, per_slot in ((RandomFourier(2 * K), 2), (RandomFourier(K, features="folded"), 1)):
        made = ProductMap(GCWS(K, bits=3), fourier).fit(X)
        assert not hasattr(made, "encode")
        features = made.transform(X)
        codes, values = made.left_.encode(X).array.astype(int), made.right_.transform(X)
        dense = np.zeros((6, K, 8, per_slot), dtype=np.float32)
        for row in range(6):
            for slot in range(K):
                dense[row, slot, codes[row, slot]] = values[
                    row, per_slot * slot : per_slot * (slot + 1)
                ]
        np.testing.assert_array_equal(features.toarray(), dense.reshape(6, -1))
        assert (type(features), features.dtype) == (sp.csr_matrix, np.float32)
        assert (features.indices.dtype, features.indptr.dtype) == (np.int32, np.int32)
        again = sp.csr_matrix(
            (features.data, features.indices, features.indptr), shape=features.shape
        )
        assert again.has_canonical_format
        names = made.get_feature_names_out()
        assert len(set(names)) == len(names) == features.shape[1]
        assert names[-1] == ("productmap15_7_sin" if per_slot == 2 else "productmap15_7")
    assert hasattr(ProductMap(), "encode")


def test_sides_that_do_not_go_together():
    X = rows()

    def refused(left, right, match, error=ValueError, **options):
        with pytest.raises(error, match=match) as caught:
            ProductMap(left, right, **options).fit(X)
        assert "\n" not in str(caught.value)

    refused(
        GCWS(16),
        SignProjection(8),
        r"got 16 \(GCWS\) and 8 \(SignProjection\): give both the same n_components\.",
    )
    refused(
        GCWS(16),
        RandomFourier(16),
        r"got 16 \(GCWS\) and 8 .* RandomFourier\(n_components=32\) has 16\.",
    )
    refused(
        RandomFourier(16), GCWS(16), r"got 8 .* and 16 .* RandomFourier\(n_components=32\) has 16\."
    )
    refused(GCWS(16), RandomFourier(15), "even n_components")
    refused(GCWS(16), RandomFourier(16, features="phase"), "normalize=False")
    refused(GCWS(16), RandomFourier(16, features="phase", normalize=True), "normalize=False")
    both = (
        "codes on at least one side; RandomFourier gives dense features. "
        r"Use SignProjection or GCWS\."
    )
    refused(RandomFourier(16), RandomFourier(16), both)
    refused(ProductMap(GCWS(8), RandomFourier(16)), RandomFourier(16), both)
    refused(GCWS(4, bits=12), GCWS(4), r"12 \+ 8 = 20 bits, more than 16: pass bits=16")
    refused(GCWS(4), signs(4), "bits must be between 1 and 16, got 17", bits=17)
    refused(GCWS(4), signs(4), "bits must be a whole number", TypeError, bits=2.0)
    refused(
        LinearSVC(),
        signs(4),
        "part left must be a map such as GCWS\\(\\), got LinearSVC",
        TypeError,
    )
    refused(
        GCWS(4), SignProjection, "part right must be an instance, SignProjection\\(\\)", TypeError
    )
    refused(GCWS(0), signs(4), "n_components")


def test_dense_maps_without_slots_are_refused():
    class Dense(DenseMap):
        kernel = GMM()

        def _fit(self, X, y):
            raise AssertionError("fitted in vain")

        def _features(self, X):
            return np.zeros((X.shape[0], 1), np.float32)

    with pytest.raises(
        ValueError, match=r"Dense gives dense features without slots\. Use SignProjection, GCWS or"
    ):
        ProductMap(GCWS(4), Dense()).fit(rows())
    with pytest.raises(ValueError, match="codes on at least one side; Dense gives dense features"):
        ProductMap(Dense(), RandomFourier(8)).fit(rows())


def test_maps_that_learn_from_labels():
    X, y = rows(), [0, 1, 0, 1, 0, 1]
    bits = AlignedFourier(8, metric="euclidean", sigma=1.0, binary=True)
    made = ProductMap(GCWS(8), bits).fit(X, y)
    assert made.encode(X).bits == 9
    assert made.__sklearn_tags__().target_tags.required
    again = ProductMap.from_state(made.to_state())
    assert again.encode(X) == made.encode(X)
    assert again.provenance == made.provenance
    assert "right.indices_" in made.to_state().arrays
    with pytest.raises(ValueError, match="AlignedFourier learns its kernel"):
        made.expected(X)
    with pytest.raises(ValueError, match="AlignedFourier gives dense features without slots"):
        ProductMap(GCWS(8), clone(bits).set_params(binary=False)).fit(X, y)


def test_damaged_arrays_of_parts_are_refused():
    made = ProductMap(GCWS(8), AlignedFourier(8, sigma=1.0, metric="euclidean", binary=True)).fit(
        rows(), [0, 1] * 3
    )
    state = made.to_state()
    for arrays in (
        {},
        {name.removeprefix("right."): array for name, array in state.arrays.items()},
    ):
        with pytest.raises(
            ValueError, match=r"This state does not describe a ProductMap: .* AlignedFourier"
        ):
            ProductMap.from_state(State(state.meta, arrays))


def test_gaps_of_theory_are_those_of_the_parts():
    X = rows()
    sorf = ProductMap(GCWS(8), SignProjection(8, projection="sorf")).fit(X)
    assert sorf.theory_gap == sorf.variance_gap == sorf.right_.theory_gap
    with pytest.raises(ValueError, match="sorf"):
        sorf.expected(X)
    orthogonal = ProductMap(SignProjection(4, projection="orthogonal"), GCWS(4)).fit(X)
    assert orthogonal.theory_gap is None
    assert orthogonal.expected(X).shape == (6, 6)
    with pytest.raises(ValueError, match="'orthogonal' makes slots that depend"):
        orthogonal.variance(X)
    assert ProductMap(GCWS(t_bits=0)).theory_gap == GCWS(t_bits=0).theory_gap


def test_empty_rows_of_either_side_emit_nothing():
    X = np.array([[0.0, 0.0], [1.0, 2.0], [3.0, -1.0]])
    centred = ProductMap(GCWS(8, center=(1.0, 2.0)), signs(8)).fit(X)
    # row 0 has no direction, row 1 is the centre
    assert centred.encode(X).empty.tolist() == [True, True, False]
    for made in (
        centred,
        clone(centred).set_params(bits=4).fit(X),
        ProductMap(GCWS(8, center=(1.0, 2.0)), RandomFourier(16)).fit(X),
        ProductMap(RandomFourier(8, features="folded"), GCWS(8, center=(1.0, 2.0))).fit(X),
        ProductMap(GCWS(8, center=(1.0, 2.0)), RandomFourier(16), bits=3).fit(X),
    ):
        features = made.transform(X)
        assert (np.diff(features.indptr) > 0).tolist() == [False, False, True]
        assert not made.expected(X)[:2].any()
        assert not made.variance(X)[:2].any()
        assert made.expected(X)[2, 2] > 0
    point = ProductMap(GCWS(8), RandomFourier(16, metric="euclidean", sigma=1.0)).fit(X)
    assert point.transform(X)[0].nnz == 0
    nothing = made.transform(np.zeros((2, 2)))
    assert (nothing.shape[0], nothing.nnz) == (2, 0)


def test_parameters_of_parts_are_reached():
    made = ProductMap(GCWS(8), ProductMap(signs(8), signs(8)))
    params = made.get_params()
    assert (params["left__n_components"], params["right__left__distribution"]) == (8, "gaussian")
    made.set_params(left__bits=3, right__bits=2, bits=4)
    assert (made.left.bits, made.right.bits, made.bits) == (3, 2, 4)
    twin = clone(made)
    assert twin.left is not made.left
    assert repr(twin) == repr(made)
    fitted = made.fit(rows())
    assert (fitted.left is made.left, hasattr(made.left, "seed_")) == (True, False)
    assert ProductMap().left is None


def test_parameters_of_default_parts_are_reached():
    tuned = ProductMap().set_params(left__bits=4)
    assert (tuned.left.bits, type(tuned.left), tuned.right) == (4, GCWS, None)
    tuned.set_params(left=None, left__bits=3, right__distribution="cauchy", bits=2)
    assert (tuned.left.bits, tuned.right.distribution, tuned.bits) == (3, "cauchy", 2)
    assert clone(ProductMap()).set_params(bits=4).left is None
    with pytest.raises(ValueError, match="Invalid parameter 'colour'"):
        ProductMap().set_params(left__colour=1)


def test_a_linear_model_learns_from_it():
    rng = np.random.default_rng(0)
    X = rng.random((200, 4))
    y = ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)).astype(int)
    for part in (SignProjection(256), RandomFourier(512)):
        model = make_pipeline(ProductMap(GCWS(256), part), LinearSVC(C=10)).fit(X[:150], y[:150])
        assert model.score(X[150:], y[150:]) > 0.85
    search = GridSearchCV(
        model, {"productmap__left__bits": [2, 8], "productmap__bits": [None, 6]}, cv=2
    ).fit(X, y)
    assert search.best_score_ > 0.8
