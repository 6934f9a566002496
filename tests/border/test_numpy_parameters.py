"""Parameters as NumPy's scalars, which a search over an array gives: the same as Python's."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV

from kernelight import (
    GCWS,
    AlignedFourier,
    BinaryFourier,
    IntegerFourier,
    KernelClassifier,
    KernelNystroem,
    KernelRegressor,
    LinearClassifier,
    LinearRegressor,
    RandomFourier,
    SignProjection,
    TernaryClassifier,
    hashing,
    kernels,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)
BITS = BinaryFourier(32, sigma=1.0, random_state=0).fit(X).encode(X)

#: estimator, rows, its choices and numbers
CASES = {
    "GCWS": (GCWS, X, {"sampler": "cws", "coding": "lowest", "t_bits": 0, "bits": 4, "p": 2.0}),
    "GCWS l1": (GCWS, X, {"sampler": "dart", "normalize": "l1", "n_components": 8}),
    "RandomFourier": (
        RandomFourier,
        X,
        {
            "features": "phase",
            "projection": "sorf",
            "normalize": False,
            "metric": "cosine",
            "gamma": 2.0,
        },
    ),
    "RandomFourier auto": (
        RandomFourier,
        X,
        {"projection": "auto", "normalize": True, "gamma": "median"},
    ),
    "SignProjection": (SignProjection, np.abs(X), {"distribution": "cauchy"}),
    "BinaryFourier": (
        BinaryFourier,
        X,
        {"threshold": False, "projection": "fastfood", "sigma": 2.0},
    ),
    "IntegerFourier": (IntegerFourier, X, {"sigma": 2.0, "n_components": 8}),
    "AlignedFourier": (
        AlignedFourier,
        X,
        {"binary": True, "weighting": "sample", "n_components": 8},
    ),
    "KernelNystroem": (
        KernelNystroem,
        X,
        {"kernel": "gmm", "landmarks": "kmeans++", "n_components": 5},
    ),
    "LinearClassifier": (
        LinearClassifier,
        X,
        {"loss": "hinge", "C": 2.0, "class_weight": "balanced"},
    ),
    "LinearRegressor": (LinearRegressor, X, {"loss": "epsilon_insensitive", "epsilon": 0.1}),
    "TernaryClassifier": (TernaryClassifier, BITS, {"loss": "logistic", "sparsity": 0.5}),
    "KernelClassifier": (
        KernelClassifier,
        X,
        {"kernel": "gmm", "loss": "hinge", "scale": "minmax", "C": 1.0, "n_components": 16},
    ),
    "KernelClassifier exact": (
        KernelClassifier,
        X,
        {"kernel": "rbf", "method": "exact", "scale": "standard", "gamma": "tune", "C": 1.0},
    ),
    "KernelRegressor": (
        KernelRegressor,
        X,
        {"kernel": "rbf", "gamma": 1.0, "C": "tune", "n_components": 16},
    ),
}


def as_numpy(value):
    return {str: np.str_, bool: np.bool_, int: np.int64, float: np.float64}[type(value)](value)


@pytest.mark.parametrize("name", CASES)
def test_numpy_scalars_are_the_values_they_stand_for(name):
    kind, rows, params = CASES[name]
    plain = kind(random_state=0, **params)
    other = kind(
        random_state=np.int64(0), **{key: as_numpy(value) for key, value in params.items()}
    )
    for made in (plain, other):
        made.fit(rows, Y)
    assert clone(other).get_params() == plain.get_params()
    state = other.to_state()
    assert state == plain.to_state()
    assert json.dumps(state.meta, sort_keys=True) == json.dumps(
        plain.to_state().meta, sort_keys=True
    )
    _refuse_numpy(state.meta)
    if hasattr(plain, "encode"):
        assert other.encode(rows).provenance == plain.encode(rows).provenance
        np.testing.assert_array_equal(other.encode(rows).array, plain.encode(rows).array)
    again = kind.from_state(state)
    for use in ("predict", "transform"):
        if hasattr(plain, use):
            actual, wanted = (_dense(getattr(made, use)(rows)) for made in (again, plain))
            np.testing.assert_array_equal(actual, wanted)


def _dense(actual):
    return actual.toarray() if hasattr(actual, "toarray") else actual


def _refuse_numpy(value):
    assert not isinstance(value, (np.generic, np.ndarray)), repr(value)
    for inner in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        _refuse_numpy(inner)


@pytest.mark.parametrize(
    ("model", "space"),
    [
        (LinearClassifier(), {"loss": np.array(["hinge", "logistic"]), "C": np.array([0.1, 1.0])}),
        (
            KernelClassifier(n_components=16, C=1.0, random_state=0),
            {
                "loss": np.array(["hinge", "logistic"]),
                "kernel": np.array(["gmm"]),
                "scale": np.array(["minmax"]),
            },
        ),
    ],
    ids=["linear", "front door"],
)
def test_a_search_over_arrays(model, space):
    for search in (
        RandomizedSearchCV(model, space, n_iter=2, cv=2, random_state=0),
        GridSearchCV(model, space, cv=2),
    ):
        assert search.fit(X, Y).best_score_ > 0.6
        search.best_estimator_.to_state()


def test_other_strings_and_values_are_still_refused():
    for wrong in (np.str_("hing"), np.bytes_(b"hinge"), b"hinge", 1, None, np.array(["hinge"])):
        with pytest.raises(ValueError, match="loss must be one of"):
            LinearClassifier(loss=wrong).fit(X, Y)
    for wrong in (1, np.int64(1), "True"):
        with pytest.raises(ValueError, match="threshold must be one of"):
            BinaryFourier(8, threshold=wrong).fit(X)


# -- Parameters at the end of the range

ENDS = [
    kernels.GMM(p=1e12),
    kernels.GMM(p=1e-308),
    kernels.ExpGMM(gamma=1e308),
    kernels.ExpGMM(gamma=1e-308, p=1e12),
    kernels.RBF(gamma=1.7e308),
    kernels.RBF(gamma=5e-324),
    kernels.FoldedRBF(gamma=1.7e308),
    kernels.FoldedRBF(gamma=5e-324),
    kernels.Gaussian(sigma=5e-324),
    kernels.Gaussian(sigma=1e-308),
    kernels.Gaussian(sigma=1.7e308),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", ENDS, ids=repr)
def test_extreme_parameters_have_their_limits(kernel, dtype):
    rows = np.vstack([X[:5], X[:5] * 1e20, -X[:1], np.zeros((1, 4)), X[:1]]).astype(dtype)
    for K in (kernel(rows), kernel(rows, rows[::-1].copy())[:, ::-1]):
        assert np.isfinite(K).all()
        assert K.min() >= 0
        assert K.max() <= 1 + 1e-6
        if "RBF" not in repr(kernel):  # whose correlations of equal rows are 1 up to rounding
            assert K[0, 12] == pytest.approx(kernel.diag(rows)[0])


def test_powers_beyond_the_limit_are_refused():
    for make in (kernels.GMM, kernels.ExpGMM):
        with pytest.raises(ValueError, match=r"^p must be at most 1e\+12, got 1e\+308: .*\.$"):
            make(p=1e308)
    for p in (1e308, 10**400):
        for call in (
            lambda p: GCWS(8, p=p).fit(X),
            lambda p: hashing.gcws(X, 8, p=p),
            lambda p: KernelClassifier("gmm", p=p).fit(X, Y),
        ):
            with pytest.raises(ValueError, match=r"^p must be .*\.$"):
                call(p)


@pytest.mark.filterwarnings("error")
def test_whole_numbers_beyond_every_float_are_refused():
    huge = X.astype(object)
    huge[3, 1] = 10**400
    sentence = (
        r"^X holds a whole number beyond the range of floating-point numbers \(1.8e308\): "
        r"scale it down\.$"
    )
    for call in (
        lambda X: GCWS(8).fit(X),
        lambda X: hashing.gcws(X, 8),
        lambda X: kernels.GMM()(X),
        lambda X: LinearClassifier().fit(X, Y),
    ):
        for given in (huge, huge.tolist()):
            with pytest.raises(ValueError, match=sentence):
                call(given)
    # the front door takes objects column by column, and knows the place
    for given in (huge, huge.tolist()):
        with pytest.raises(
            ValueError, match=r"^X, row 4, column 'column_2': .*\(numbers go up to 1.8e308\)\.$"
        ):
            KernelClassifier("gmm").fit(given, Y)
    target = Y.astype(object)
    target[3] = 10**400
    for model in (LinearRegressor(), KernelRegressor("gmm")):
        with pytest.raises(ValueError, match=r"^y holds a whole number beyond"):
            model.fit(X, target)
    with pytest.raises(ValueError, match=r"^center holds a whole number beyond"):
        kernels.GMM(center=[10**400])
    with pytest.raises(ValueError, match="contains infinity at row 0"):
        kernels.GMM()(np.array([[np.longdouble("1e4000")]]))


MAPS = [
    RandomFourier(16, gamma=5e-324),
    RandomFourier(16, metric="euclidean", sigma=1.7e308),
    BinaryFourier(16, sigma=1.7e308),
    GCWS(16, gamma=1e-308),
    AlignedFourier(16, metric="euclidean", sigma=1.7e308),
]
BEYOND = [
    RandomFourier(16, gamma=1.7e308),
    RandomFourier(16, metric="euclidean", sigma=1e-308),
    BinaryFourier(16, sigma=1e-308),
    GCWS(16, gamma=1e308),
    GCWS(16, p=1e308),
    GCWS(16, center=[1.7e308] * 4),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("made", MAPS, ids=repr)
def test_maps_take_extreme_parameters(made):
    assert np.isfinite(_dense(made.fit(X, Y).transform(X))).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("made", BEYOND, ids=repr)
def test_maps_refuse_what_would_overflow(made):
    rows = X * -1e307 if made.get_params().get("center") is not None else X
    with pytest.raises(ValueError, match=r"^[^\n]*\.$"):
        made.fit(rows).transform(rows)
