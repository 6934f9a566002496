"""What is no target is refused by every model in one sentence: what, where and what to do."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from kernelight import (
    KernelClassifier,
    KernelRegressor,
    LinearClassifier,
    LinearRegressor,
    SignProjection,
    TernaryClassifier,
)

N = 60
X = np.random.default_rng(0).random((N, 3))
CODES = SignProjection(16).fit(X).encode(X)
LABELS = np.arange(N) % 2
CLASSIFIERS = {
    "KernelClassifier": lambda y: KernelClassifier(n_components=8, C=1.0).fit(X, y),
    "LinearClassifier": lambda y: LinearClassifier().fit(X, y),
    "TernaryClassifier": lambda y: TernaryClassifier().fit(CODES, y),
}
REGRESSORS = {
    "KernelRegressor": lambda y: KernelRegressor(n_components=8, C=1.0).fit(X, y),
    "LinearRegressor": lambda y: LinearRegressor().fit(X, y),
}
LATER = {
    "partial_fit of classes": lambda y: (
        KernelClassifier(n_components=8, C=1.0).fit(X, LABELS).partial_fit(X, y)
    ),
    "partial_fit of quantities": lambda y: (
        KernelRegressor(n_components=8, C=1.0).fit(X, LABELS).partial_fit(X, y)
    ),
}
ROWS = "Found inconsistent numbers of samples: X has 60 rows and y has"
MISSING = "Input y contains NaN or another missing value at row 3: leave such rows out."
NEEDED = "y must be a list or an array with a target for each row, got"
SHAPE = (
    "y should be a 1d array, got the shape (60, 2): a classifier learns one target, so pass one "
    "column, such as y[:, 0] (of a frame: y['name'])."
)
TEXT = "could not convert y to numbers: it holds 'b' at row 1; use a classifier if y holds classes."


def objects(*values: object) -> np.ndarray:
    array = np.empty(N, dtype=object)
    array[:] = [values[at % len(values)] for at in range(N)]
    return array


def holed(hole: object, values: np.ndarray) -> np.ndarray:
    array = values.astype(object) if not isinstance(hole, float) else values.astype(float)
    array[3] = hole
    return array


BOTH = {
    "a number": (5, f"{NEEDED} int."),
    "a word": ("abc", f"{NEEDED} str."),
    "a dict": ({0: 1}, f"{NEEDED} dict."),
    "a generator": (iter([0, 1]), f"{NEEDED} list_iterator."),
    "too few": (LABELS[:50], f"{ROWS} 50 targets, and each row needs one."),
    "none": ([], f"{ROWS} 0 targets, and each row needs one."),
    "three dimensions": (
        np.zeros((N, 2, 2)),
        "y has the shape (60, 2, 2): it needs one target for each row, in one dimension.",
    ),
    "ragged": (
        [[1], [1, 2]] * 30,
        "y has entries of different lengths: it needs one target for each row.",
    ),
    "sparse": (
        sp.csr_matrix(LABELS[:, None]),
        "Sparse data was passed for y, but dense data is required: pass y.toarray().ravel().",
    ),
    "complex": (LABELS * 1j, "Complex data not supported: y has dtype complex128."),
    "NaN": (holed(np.nan, LABELS), MISSING),
    "None": (holed(None, LABELS), MISSING),
    "NA": (pd.Series(holed(None, LABELS), dtype="Int64"), MISSING),
    "infinity": (
        holed(np.inf, LABELS),
        "Input y contains infinity at row 3: replace it, or leave such rows out.",
    ),
    "masked": (
        np.ma.array(LABELS, mask=LABELS == 1),
        "y has masked entries: leave these rows out of X and y.",
    ),
    "dates": (
        np.full(N, np.datetime64("2024-01-01")),
        "Input y contains dates, which are neither classes nor quantities: make numbers of them "
        "(such as days since a day), or text if each date is a class.",
    ),
}
OF_CLASSES = {
    "two columns": (np.column_stack([LABELS, LABELS]), SHAPE),
    "a frame": (pd.DataFrame({"a": LABELS, "b": LABELS}), SHAPE),
    "a row": (LABELS[None], "y has the shape (1, 60): pass y.ravel()."),
    "fractions": (
        LABELS / 2,
        "Unknown label type: continuous. y holds 0.5 at row 1, and a classifier needs labels: use "
        "a regressor for quantities, or y.astype(str) if each number is a class.",
    ),
    "text and numbers": (
        objects(1, "b"),
        "Unknown label type: y holds text such as 'b' and numbers such as 1; make all labels text, "
        "for instance with y.astype(str).",
    ),
    "None among text": (holed(None, objects("a", "b")), MISSING),
}
OF_QUANTITIES = {
    "text": (np.array(["1", "b"] * 30), TEXT),
    "objects": (objects(1, "b"), TEXT),
    "a row": (LABELS[None], f"{ROWS} 1 target; pass y.ravel()."),
}


def refused(fit: object, y: object, sentence: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((TypeError, ValueError), match=f"^{re.escape(sentence)}$"):
            fit(y)


@pytest.mark.parametrize("case", BOTH)
@pytest.mark.parametrize("model", [*CLASSIFIERS, *REGRESSORS, *LATER])
def test_no_model_takes_it(model, case):
    refused({**CLASSIFIERS, **REGRESSORS, **LATER}[model], *BOTH[case])


@pytest.mark.parametrize("case", OF_CLASSES)
@pytest.mark.parametrize("model", CLASSIFIERS)
def test_no_classifier_takes_it(model, case):
    refused(CLASSIFIERS[model], *OF_CLASSES[case])


@pytest.mark.parametrize("case", OF_QUANTITIES)
@pytest.mark.parametrize("model", REGRESSORS)
def test_no_regressor_takes_it(model, case):
    refused(REGRESSORS[model], *OF_QUANTITIES[case])


def test_no_target_at_all():
    for name, fit in {**CLASSIFIERS, **REGRESSORS}.items():
        refused(fit, None, f"{name} requires y to be passed, but the target y is None.")


def test_masked_rows_are_not_filled_with_zeros():
    """NaN stands for a missing value; a zero would be invented."""
    masked = np.ma.array(X, mask=X > 0.9)
    sentence = (
        "X has masked entries: X.astype(float).filled(numpy.nan) makes missing values of them, "
        "which KernelClassifier and KernelRegressor take; others need numbers there."
    )
    model = KernelClassifier(n_components=8, C=1.0)
    for fit in (lambda y: model.fit(masked, y), lambda y: LinearClassifier().fit(masked, y)):
        refused(fit, LABELS, sentence)
    filled = masked.astype(float).filled(np.nan)
    assert model.fit(filled, LABELS).predict(filled).shape == (N,)
    weight = np.ma.array(np.ones(N), mask=LABELS == 1)
    refused(
        lambda y: model.fit(X, y, sample_weight=weight),
        LABELS,
        "sample_weight has masked entries: give these rows a weight; one of weight 0 does not "
        "count.",
    )
