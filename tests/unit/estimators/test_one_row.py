"""Rows that need no check take a short way: the same predictions and errors as the long way."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from kernelight import GCWS, KernelClassifier, KernelRegressor
from kernelight.base import checks
from kernelight.data.frames import frame_source, matrix_of
from kernelight.data.table_source import ColumnSelection

NAMES = ["a", "b", "c", "d"]
OPTIONS = [
    {"scale": None},
    {"scale": "minmax"},
    {"scale": "quantile+complement"},
    {"scale": "minmax", "method": "exact"},
    {"scale": "standard", "kernel": "gaussian", "gamma": 1.0},
]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    X.flags.writeable = False
    return X, np.where(X[:, 0] * X[:, 1] > 0, "yes", "no"), X[:, 0] + X[:, 1] ** 2


@pytest.fixture
def long_way(monkeypatch):
    """Calls a function with every row checked in full."""

    def called(function, X):
        with monkeypatch.context() as patch:
            patch.setattr(checks._core, "is_plain", lambda X, n_cols: False)
            return function(X)

    return called


def outcome(function, X):
    """What a function returns, or its error; and its warnings."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            result = function(X)
        except Exception as error:
            result = (type(error), str(error))
    return result, [str(each.message) for each in given]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_one_row_is_predicted_like_many(options, rows, long_way):
    X, labels, quantities = rows
    classifier = KernelClassifier(n_components=64, C=1.0, **options).fit(X, labels)
    regressor = KernelRegressor(n_components=64, C=1.0, **options).fit(X, quantities)
    functions = [
        classifier.predict,
        classifier.decision_function,
        classifier.predict_proba,
        regressor.predict,
    ]
    for function in functions:
        many = function(X)
        np.testing.assert_array_equal(many, long_way(function, X))
        for dtype in (np.float32, np.float64):
            one = X[7:8].astype(dtype)
            np.testing.assert_array_equal(function(one), long_way(function, one))
        exact = "method" not in options and "kernel" not in options
        each = np.concatenate([function(X[at : at + 1]) for at in range(20)])
        if exact:  # codes: to the bit
            np.testing.assert_array_equal(each, many[:20])
        elif each.dtype.kind == "f":
            np.testing.assert_allclose(each, many[:20], rtol=1e-5, atol=1e-6)


BAD = {
    "too narrow": lambda X: X[:, :3],
    "too wide": lambda X: np.hstack([X, X]),
    "no rows": lambda X: X[:0],
    "NaN": lambda X: np.where(X[0, 0] == X, np.nan, X),
    "infinity": lambda X: np.where(X[0, 0] == X, np.inf, X),
    "one dimension": lambda X: X[0],
    "three dimensions": lambda X: X[None],
    "words": lambda X: X.astype(str).astype(object),
    "text": lambda X: np.array([["x"] * 4]),
    "complex": lambda X: X.astype(complex),
    "dates": lambda X: X.astype("datetime64[s]"),
    "masked": lambda X: np.ma.masked_greater(X, 0),
    "integers": lambda X: (10 * X).astype(int),
    "half precision": lambda X: X.astype(np.float16),
    "big-endian": lambda X: X.astype(">f8"),
    "by columns": np.asfortranarray,
    "a list": lambda X: X.tolist(),
    "None": lambda X: None,
    "sparse": sp.csr_array,
    "a frame without names": pd.DataFrame,
    "a frame with other names": lambda X: pd.DataFrame(X, columns=list("wxyz")),
    "a frame with names in another order": lambda X: pd.DataFrame(X, columns=NAMES[::-1]),
    "a frame with the names": lambda X: pd.DataFrame(X, columns=NAMES),
    "a frame with a missing value": lambda X: pd.DataFrame(
        np.where(X[0, 0] == X, np.nan, X), columns=NAMES
    ),
    "a frame with an infinite value": lambda X: pd.DataFrame(
        np.where(X[0, 0] == X, np.inf, X), columns=NAMES
    ),
    "a frame of numbers and words": lambda X: pd.DataFrame(X, columns=NAMES).astype({"b": str}),
    "a frame of booleans and numbers": lambda X: pd.DataFrame(X, columns=NAMES).assign(b=True),
    "a frame of integers": lambda X: pd.DataFrame((9 * X).astype(int), columns=NAMES),
    "a frame of nullable numbers": lambda X: pd.DataFrame(X, columns=NAMES).convert_dtypes(),
    "a frame in single precision": lambda X: pd.DataFrame(X, columns=NAMES, dtype=np.float32),
    "a frame with two columns of a name": lambda X: pd.DataFrame(X, columns=["a", "b", "c", "c"]),
    "a sparse frame": lambda X: pd.DataFrame(X, columns=NAMES).astype("Sparse[float]"),
}


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("count", [1, 20])
def test_anything_else_is_told_as_before(count, named, what, rows, long_way):
    X, labels, _ = rows
    data = pd.DataFrame(X, columns=NAMES) if named else X
    model = KernelClassifier(n_components=16, C=1.0, scale="minmax").fit(data, labels)
    given = BAD[what](X[:count])
    short, long = (
        outcome(way, given) for way in (model.predict, lambda X: long_way(model.predict, X))
    )
    assert short[1] == long[1]
    if isinstance(long[0], tuple):
        assert short[0] == long[0]
    else:
        np.testing.assert_array_equal(short[0], long[0])


def test_a_model_that_is_not_fitted_says_so(rows):
    for model in (KernelClassifier(), KernelRegressor()):
        with pytest.raises(NotFittedError):
            model.predict(rows[0][:1])
    with pytest.raises(NotFittedError):
        GCWS().encode(rows[0][:1])
    with pytest.raises(NotFittedError):
        KernelClassifier().predict_proba(rows[0][:1])


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_caches_are_not_pickled_and_follow_the_model(options, rows):
    X, labels, _ = rows
    model = KernelClassifier(n_components=64, C=1.0, **options).fit(X, labels)
    fresh = pickle.dumps(model)
    before = model.decision_function(X)
    assert len(pickle.dumps(model)) == len(fresh)
    np.testing.assert_array_equal(pickle.loads(fresh).decision_function(X), before)
    if "method" not in options:
        model.partial_fit(X[:40], labels[::-1][:40])
        after = model.decision_function(X)
        assert not np.array_equal(after, before)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).decision_function(X), after)


@pytest.mark.parametrize(
    "dtypes", [["f8"] * 3, ["f4"] * 3, ["f4", "i2", "f4"], ["f4", "i4", "f4"], ["i8", "u1", "f8"]]
)
def test_frames_of_numbers_at_once(dtypes):
    frame = pd.DataFrame(
        {name: np.arange(5).astype(dtype) for name, dtype in zip("abc", dtypes, strict=True)}
    )
    source = frame_source(frame)
    numbers = source.whole(
        ColumnSelection(numbers=("a", "b", "c"), dtype=source.dtype.name)
    ).numbers
    actual = matrix_of(frame)
    assert actual is not None
    assert actual.dtype == numbers.dtype
    assert actual.flags.c_contiguous
    np.testing.assert_array_equal(actual, numbers)
    for other in ({"a": True}, {"a": "x"}, {"a": pd.Timestamp(0)}):
        assert matrix_of(frame.assign(**other)) is None
    assert matrix_of(frame.convert_dtypes()) is None
