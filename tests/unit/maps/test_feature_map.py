"""feature_map: the right map for every kernel, and a sentence where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import frozen, signed_rows

from kernelight import (
    GCWS,
    AlignedFourier,
    BinaryFourier,
    Concat,
    IntegerFourier,
    KernelClassifier,
    KernelNystroem,
    ProductMap,
    RandomFourier,
    SignProjection,
    feature_map,
    kernels,
)
from kernelight.kernels import (
    GMM,
    NGMM,
    RBF,
    Acos,
    AcosChi2,
    ExpGMM,
    FoldedRBF,
    Gaussian,
    Intersection,
    Linear,
    MinMax,
    Sum,
)
from kernelight.maps import METHODS
from kernelight.maps.base import UnsupportedKernel

X = frozen(np.abs(signed_rows(3, 6, 3, density=0.8)))
CENTER = (0.5, 0.0, 0.25)


def same(actual, wanted):
    assert type(actual) is type(wanted)
    assert repr(actual) == repr(wanted)
    assert actual.get_params().keys() == wanted.get_params().keys()


DEFAULTS = [
    (GMM(), GCWS(64)),
    (GMM(p=2.0, center=CENTER), GCWS(64, p=2.0, center=CENTER)),
    (MinMax(), GCWS(64)),
    (NGMM(), GCWS(64, normalize="l1")),
    (ExpGMM(gamma=3.0, p=0.5), GCWS(64, gamma=3.0, p=0.5)),
    (Acos(), SignProjection(64)),
    (AcosChi2(), SignProjection(64, distribution="cauchy")),
    (RBF(gamma=5.0), RandomFourier(64, gamma=5.0)),
    (FoldedRBF(gamma=2.0), RandomFourier(64, features="folded", gamma=2.0)),
    (Gaussian(3.0), RandomFourier(64, metric="euclidean", sigma=3.0)),
    (MinMax() * Acos(), ProductMap(GCWS(64), SignProjection(64))),
    (Acos() * MinMax(), ProductMap(SignProjection(64), GCWS(64))),
    (MinMax() * RBF(2.0), ProductMap(GCWS(64), RandomFourier(128, gamma=2.0))),
    (RBF(2.0) * MinMax(), ProductMap(GCWS(64), RandomFourier(128, gamma=2.0))),
    (GMM() * FoldedRBF(2.0), ProductMap(GCWS(64), RandomFourier(64, features="folded", gamma=2.0))),
    (
        GMM() * Gaussian() * Acos(),
        ProductMap(
            ProductMap(GCWS(64), SignProjection(64)),
            RandomFourier(128, metric="euclidean", sigma=1.0),
        ),
    ),
    (kernels.Product((Acos(),)), SignProjection(64)),
    (GMM() + RBF(), Concat([GCWS(64), RandomFourier(64)])),
    (
        Sum((MinMax() * Acos(), NGMM()), weights=(0.5, 2.0)),
        Concat(
            [ProductMap(GCWS(64), SignProjection(64)), GCWS(64, normalize="l1")], weights=(0.5, 2.0)
        ),
    ),
]


@pytest.mark.parametrize(("kernel", "wanted"), DEFAULTS, ids=lambda value: repr(value)[:60])
def test_the_map_of_a_kernel(kernel, wanted):
    made = feature_map(kernel, 64)
    same(made, wanted)
    np.testing.assert_allclose(made.fit(X).kernel(X), kernel(X), atol=1e-12)
    assert made.transform(X).shape[0] == 6


def test_names_and_defaults():
    same(feature_map("rbf"), RandomFourier())
    same(
        feature_map("mm_acos_chi2", 8),
        ProductMap(GCWS(8), SignProjection(8, distribution="cauchy")),
    )
    same(feature_map("gmm", bits=4, random_state=3), GCWS(bits=4, random_state=3))
    with pytest.raises(ValueError, match="did you mean 'gmm'"):
        feature_map("gmn")
    with pytest.raises(TypeError, match=r"kernel must be a kernel such as GMM.*: write RBF"):
        feature_map(RBF)
    with pytest.raises(TypeError, match="or the name of one, got 3"):
        feature_map(3)


@pytest.mark.parametrize(
    ("kernel", "method", "wanted"),
    [
        (Gaussian(2.0), "binary", BinaryFourier(8, sigma=2.0)),
        (Gaussian(2.0), "integer", IntegerFourier(8, sigma=2.0)),
        (Gaussian(2.0), "aligned", AlignedFourier(8, metric="euclidean", sigma=2.0)),
        (RBF(3.0), "aligned", AlignedFourier(8, metric="cosine", gamma=3.0)),
        (Gaussian(2.0), "fourier", RandomFourier(8, metric="euclidean", sigma=2.0)),
        (Acos(), "sign", SignProjection(8)),
        (GMM(), "gcws", GCWS(8)),
        (MinMax() * Acos(), "product", ProductMap(GCWS(8), SignProjection(8))),
        (GMM() + Acos(), "concat", Concat([GCWS(8), SignProjection(8)])),
    ],
)
def test_methods(kernel, method, wanted):
    same(feature_map(kernel, 8, method), wanted)


def test_methods_that_do_not_have_a_kernel():
    with pytest.raises(
        ValueError, match=r"GCWS has no features of RBF\(gamma=1\.0\)\. Use method='fourier'"
    ):
        feature_map(RBF(), method="gcws")
    with pytest.raises(
        ValueError, match="Use method='fourier' or method='binary' or method='integer'"
    ):
        feature_map(Gaussian(), method="sign")
    with pytest.raises(ValueError, match="Use method='product'"):
        feature_map("mm_acos", method="gcws")
    with pytest.raises(
        ValueError, match=r"^method must be one of .*'gcws', .* got 'GCWS': did you mean 'gcws'\?"
    ):
        feature_map(GMM(), method="GCWS")


@pytest.mark.parametrize("method", METHODS)
def test_estimators_take_the_methods_of_feature_map(method):
    """What a sentence of feature_map advises must not be refused by the front door."""
    rows, labels = [[0.0], [1.0], [0.1], [0.9]], [0, 1, 0, 1]
    model = KernelClassifier("gmm", 4, method=method, scale=None, C=1.0)
    if method in ("gcws", "nystroem"):
        model.fit(rows, labels)
    else:
        with pytest.raises(UnsupportedKernel, match="Use method='gcws' or method='nystroem'"):
            model.fit(rows, labels)


def test_options_are_those_of_the_map():
    with pytest.raises(
        TypeError, match=r"RandomFourier has no parameter bits: it takes n_components, gamma,"
    ):
        feature_map(RBF(), bits=4)
    with pytest.raises(
        TypeError, match=r"GMM\(p=2\.0, center=None\) decides p of GCWS: leave p out\."
    ):
        feature_map(GMM(p=2), p=3.0)
    with pytest.raises(TypeError, match="Concat has no parameter bits"):
        feature_map(GMM() + Acos(), bits=3)
    same(feature_map(MinMax() * Acos(), 8, bits=3), ProductMap(GCWS(8), SignProjection(8), bits=3))


def test_every_part_takes_seed_and_threads():
    made = feature_map(GMM() * Acos() * RBF() + RBF() + Linear(), 4, random_state=7, n_jobs=2)
    params = made.get_params()
    seeds = [value for name, value in params.items() if name.endswith("random_state")]
    threads = [value for name, value in params.items() if name.endswith("n_jobs")]
    assert (seeds, threads) == ([7] * 5, [2] * 4)  # landmarks have no threads
    same(
        feature_map("mm_acos", 8, random_state=2, bits=3),
        ProductMap(GCWS(8, random_state=2), SignProjection(8, random_state=2), bits=3),
    )
    first, second = (
        feature_map("mm_acos", 8, random_state=seed).fit(X).encode(X) for seed in (1, 2)
    )
    assert first != second


def test_arguments_that_are_none_of_these():
    for kernel in ("mm_rbf", GMM() + RBF(), Linear()):
        for count in (None, "a", 2.5, True):
            with pytest.raises(TypeError, match=r"^n_components must be a whole number, got "):
                feature_map(kernel, count)
        with pytest.raises(ValueError, match=r"^n_components must be at least 1, got 0"):
            feature_map(kernel, 0)
        with pytest.raises(ValueError, match=r"^method must be one of .* got \['gcws'\]\."):
            feature_map(kernel, 8, ["gcws"])


def test_products_of_many_factors():
    kernel = GMM() * NGMM() * Acos()
    for method in (None, "product"):
        hashed = feature_map(kernel, 8, method).fit(X)
        assert (type(hashed), hashed.bits, hashed.left_.bits) == (ProductMap, 16, None)
        assert hashed.encode(X).bits == 16
    made = feature_map(kernel, 8, bits=12).fit(X)
    assert (made.bits, made.left_.bits, made.encode(X).bits) == (12, None, 12)
    four = feature_map(GMM() * NGMM() * GMM() * Acos(), 8, "product", bits=4).fit(X)
    assert (four.left_.bits, four.left_.left_.bits) == (16, None)
    with pytest.raises(UnsupportedKernel, match="all but one of them with codes"):
        feature_map(RBF() * Gaussian(), 8, "product")
    with pytest.raises(UnsupportedKernel, match="no slots for the factor Linear"):
        feature_map(GMM() * Linear(), 8, "product")


def test_kernels_that_no_map_has(monkeypatch):
    others = {method: name for method, name in METHODS.items() if method != "nystroem"}
    monkeypatch.setattr("kernelight.maps.feature_map.METHODS", others)
    with pytest.raises(UnsupportedKernel, match=r"No registered map has features of Linear\(\)\.$"):
        feature_map(Linear())
    with pytest.raises(
        UnsupportedKernel, match=r"\. ProductMap has no slots for the factor Linear\(\)"
    ):
        feature_map(GMM() * Linear())
    with pytest.raises(
        UnsupportedKernel, match=r"GCWS has no features of Linear\(\)\. No other method has\."
    ):
        feature_map(Linear(), method="gcws")


@pytest.mark.parametrize(
    "kernel", [Linear(), Intersection(), RBF() * Gaussian(), GMM() * Linear()], ids=repr
)
def test_what_no_other_map_has_goes_to_landmarks(kernel):
    made = feature_map(kernel, 4, landmarks="kmeans++")
    same(made, KernelNystroem(kernel, 4, landmarks="kmeans++"))
    assert made.fit_transform(X).shape == (6, 4)


def test_landmarks_where_they_are_asked_for():
    same(feature_map(GMM(), 32, "nystroem"), KernelNystroem(GMM(), 32))
    same(feature_map(Linear() + GMM(), 8), Concat([KernelNystroem(Linear(), 8), GCWS(8)]))
    mixed = feature_map(Linear() + GMM(), 6).fit(X)
    assert mixed.kernel == Linear() + GMM()
    again = Concat.from_state(mixed.to_state())
    np.testing.assert_array_equal(again.transform(X).toarray(), mixed.transform(X).toarray())
    with pytest.raises(ValueError, match="Use method='gcws' or method='nystroem'"):
        feature_map(GMM(), method="fourier")
